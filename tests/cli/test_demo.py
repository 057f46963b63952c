"""The demo runs and tells the truth that it knows."""

import re

import pytest

from counterpoise.cli.main import main


def test_the_demo_proves_its_weights(capsys):
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "converged at tol 1e-06" in out
    correlation = re.search(r"known ratio: ([\d.]+)", out)
    assert float(correlation.group(1)) > 0.8


def test_a_command_that_does_not_exist_is_wrong_use(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["nonsense"])
    assert caught.value.code == 2
    assert "invalid choice" in capsys.readouterr().err
