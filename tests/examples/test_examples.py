"""Every example runs, and stays short."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))

# Packages of others that an example is about; those of the extra "test" are there.
NEEDS = {"boosting_on_dask": "lightgbm"}


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.filterwarnings(
    # What these say is part of an example: its reader sees them.
    "ignore::counterpoise.PartialOverlapWarning",
    "ignore:the search",
    "ignore:GPR is better",
    "ignore:the weights leave an effective sample size",
    # Of LightGBM to programmers: a parameter at its default.
    "ignore:Parameter n_jobs will be ignored",
)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, capsys):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_at_most_eighty_lines(path):
    assert len(path.read_text().splitlines()) <= 80
