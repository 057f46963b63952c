"""Figures show the numbers of the fitted object."""

import builtins

import matplotlib as mpl
import numpy as np
import pytest
from report.records_at_hand import full

from counterpoise import KLIEP
from counterpoise.datasets import make_sinc_shift
from counterpoise.report import (
    Record,
    plot_balance,
    plot_convergence,
    plot_overlap,
    plot_performance,
    plot_selection,
    plot_weights,
)

mpl.use("agg")


@pytest.fixture(scope="module")
def kliep():
    shift = make_sinc_shift(random_state=0)
    return KLIEP(random_state=0).fit(shift.X, X_target=shift.X_target)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    mpl.pyplot.close("all")


def test_the_weights_are_drawn_largest_first(kliep):
    ax = plot_weights(kliep)
    drawn = ax.lines[0].get_ydata()
    np.testing.assert_allclose(drawn, np.sort(kliep.weights_)[::-1])
    assert f"{kliep.effective_sample_size_:.0f} effective rows of 500" in ax.get_title()


def test_the_gap_is_drawn_against_time_or_steps(kliep):
    ax = plot_convergence(kliep)
    seconds = [line.seconds for line in kliep.solution_.history]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), seconds)
    steps = plot_convergence(kliep, kliep.solution_, by="steps")
    assert steps.get_xlabel() == "step"
    assert len(steps.get_legend().get_texts()) == 2
    with pytest.raises(ValueError, match="by must be 'seconds' or 'steps'"):
        plot_convergence(kliep, by="hours")


def test_both_scores_of_a_selection_are_drawn(kliep):
    ax = plot_selection(kliep)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "one-sided",
        "two-sided",
    ]
    chosen = kliep.cv_results_["width"][kliep.cv_results_["chosen"]][0]
    assert any(np.allclose(line.get_xdata(), chosen) for line in ax.lines)


def test_an_object_without_a_selection_or_history_is_refused():
    shift = make_sinc_shift(random_state=0)
    fixed = KLIEP(gamma=1.0).fit(shift.X, X_target=shift.X_target)
    with pytest.raises(ValueError, match="KLIEP has selected nothing"):
        plot_selection(fixed)


def test_a_missing_matplotlib_names_the_extra(kliep, monkeypatch):
    genuine = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return genuine(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"counterpoise\[report\]"):
        plot_weights(kliep)


PLOTS = (
    plot_balance,
    plot_convergence,
    plot_overlap,
    plot_performance,
    plot_selection,
    plot_weights,
)


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)
def test_a_record_is_drawn_where_one_wants_it(plot):
    _, ax = mpl.pyplot.subplots()
    assert plot(Record.from_dict(full()), ax=ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("plot", [plot_balance, plot_overlap, plot_weights])
def test_a_fitted_object_is_drawn_like_its_record(plot, kliep):
    drawn = [plot(one) for one in (kliep, Record.of(kliep))]
    extents = [ax.dataLim.get_points() for ax in drawn]
    np.testing.assert_allclose(*extents, atol=2e-3)


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)
def test_a_record_without_the_section_is_refused(plot):
    with pytest.raises(ValueError, match=r"no section|no history|selected nothing"):
        plot(Record.from_dict({}))


@pytest.mark.parametrize("kind", ["sorted", "histogram", "lorenz", "clipping"])
def test_the_weights_are_drawn_in_every_kind(kliep, kind):
    ax = plot_weights(kliep, kind=kind)
    assert ax.has_data()
    with pytest.raises(ValueError, match="kind must be one of"):
        plot_weights(kliep, kind="pie")


def test_the_columns_of_the_love_plot_are_the_worst_first():
    ax = plot_balance(Record.from_dict(full()), most=5)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [one["name"] for one in full()["balance"]["features"][:5]]


def test_a_column_named_in_mathematics_is_drawn_as_it_is():
    found = full()
    found["balance"]["features"][0]["name"] = "$\\frac{"
    ax = plot_balance(Record.from_dict(found))
    ax.figure.canvas.draw()
    assert ax.get_yticklabels()[0].get_text() == "$\\frac{"


def test_one_metric_of_several_can_be_drawn():
    record = Record.from_dict(full())
    assert "accuracy" in plot_performance(record, metric="accuracy").get_xlabel()
    with pytest.raises(ValueError, match="metric must be one of neg_log_loss"):
        plot_performance(record, metric="f1")
