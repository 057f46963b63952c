"""Every example runs, stays short, draws, and has its place in the gallery."""

import importlib.util
import runpy
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
# Two processes beside the one that runs it: no picture, no page of the gallery.
ON_A_CLUSTER = ROOT / "examples" / "boosting_on_dask.py"


def test_there_are_at_least_twenty_examples():
    assert len(EXAMPLES) >= 20


@pytest.mark.filterwarnings(
    # What these say is part of an example: its reader sees them.
    "ignore::counterpoise.PartialOverlapWarning",
    "ignore:the search",
    "ignore:GPR is better",
    "ignore:the weights leave an effective sample size",
    "ignore:FigureCanvasAgg is non-interactive",
)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(path, capsys):
    matplotlib.use("agg", force=True)
    from matplotlib import pyplot as plt

    plt.close("all")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    assert plt.get_fignums()
    plt.close("all")


@pytest.mark.filterwarnings(
    # Of LightGBM to programmers: a parameter at its default.
    "ignore:Parameter n_jobs will be ignored",
)
def test_boosting_on_a_cluster_takes_the_weights(capsys):
    try:
        import lightgbm  # noqa: F401
    except OSError as error:
        pytest.skip(f"LightGBM does not load on this system: {error}")
    runpy.run_path(str(ON_A_CLUSTER), run_name="__main__")
    # LightGBM tells of its ports in between.
    plain, weighed = (
        float(line.split()[-1])
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("rows")
    )
    assert weighed < plain


def test_every_example_is_short_and_begins_with_a_question():
    for path in EXAMPLES:
        lines = path.read_text().splitlines()
        title, underline = lines[1:3]
        assert len(lines) <= 100, path
        assert title.endswith("?"), path
        assert underline == "=" * len(title), path


def test_the_gallery_has_every_example_in_the_order_of_a_reader():
    place = ROOT / "docs" / "extensions" / "reading_order.py"
    spec = importlib.util.spec_from_file_location("reading_order", place)
    reading = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reading)
    listed = {
        f"{folder}/{name}.py"
        for folder, names in reading.ORDER.items()
        for name in names
    }
    there = {path.relative_to(ROOT / "examples").as_posix() for path in EXAMPLES}
    assert listed == there
