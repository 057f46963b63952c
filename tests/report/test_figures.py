"""Figures show the numbers of the fitted object."""

import builtins

import matplotlib as mpl
import numpy as np
import pytest

from counterpoise import KLIEP, plot_convergence, plot_selection, plot_weights
from counterpoise.datasets import make_sinc_shift

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
