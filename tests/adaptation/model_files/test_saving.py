"""Model files of earlier versions."""

from pathlib import Path

import numpy as np
import pytest

from counterpoise import load

MODELS = Path(__file__).parent / "models"


def test_a_model_that_was_saved_before_its_types_moved_is_read():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("skops")
    model = load(MODELS / "mixed_table_of_0_1_0.skops")
    few = pandas.DataFrame(
        {
            "size": [np.nan, -0.5, 1.0],
            "colour": ["red", "blue", "green"],
            "when": pandas.to_datetime(["2024-02-01", "2024-07-05", "2024-12-24"]),
        }
    )
    # What version 0.1.0 said of these rows.
    np.testing.assert_allclose(
        model.weigh(few), [0.786357595534049, 0.9647623962054082, 1.4267358899446698]
    )
    np.testing.assert_allclose(
        model.predict_interval(few, 0.8)[0], [-1.7738382234168468, 1.9796554641263162]
    )
    assert model.diagnose(few.loc[[0, 1, 2] * 10]).n_target == 30
