"""The demo runs and tells the truth that it knows."""

import re

import pytest

from counterpoise.cli.main import main


def test_the_demo_proves_its_weights_and_compares_them_with_the_truth(capsys):
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "proved within" in out
    found = [float(c) for c in re.findall(r"known ratio: ([\d.]+)", out)]
    assert len(found) == 2
    assert min(found) > 0.7
    closer = re.findall(r"([\d.]+) standard deviations before, ([\d.]+) after", out)
    assert all(float(after) < 0.5 * float(before) for before, after in closer)


def test_a_command_that_does_not_exist_is_wrong_use(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["nonsense"])
    assert caught.value.code == 2
    assert "invalid choice" in capsys.readouterr().err
