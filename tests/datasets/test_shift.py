import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from counterpoise.datasets import Shift, make_sinc_shift


def test_a_shift_unpacks_to_its_first_five_fields():
    shift = make_sinc_shift(n=4, m=3, random_state=0)
    X, y, X_target, y_target, ratio = shift
    assert X is shift.X
    assert y is shift.y
    assert X_target is shift.X_target
    assert y_target is shift.y_target
    assert ratio is shift.ratio


def test_a_shift_cannot_be_changed():
    shift = make_sinc_shift(n=4, m=3, random_state=0)
    with pytest.raises(FrozenInstanceError):
        shift.ratio = None


def test_a_shift_compares_by_identity():
    one = make_sinc_shift(n=4, m=3, random_state=0)
    assert one == one
    assert one != make_sinc_shift(n=4, m=3, random_state=0)


def test_names_and_cover_are_absent_unless_given():
    shift = make_sinc_shift(n=4, m=3, random_state=0)
    assert isinstance(shift, Shift)
    assert shift.feature_names is None
    assert shift.covered is None


def test_importing_the_room_loads_no_scikit_learn():
    code = (
        "import sys, counterpoise.datasets; "
        "sys.exit(any(name.startswith(('sklearn', 'pandas')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
