"""Figures: each reads public attributes of a fitted object and returns an Axes."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from counterpoise.samples.effective_size import effective_sample_size

COLOR, MUTED = "#1f6f8b", "#b0b0b0"


def plot_weights(fitted: Any, *, ax: Any = None) -> Any:
    """Return an Axes with the weights, largest first, and what they are worth.

    Parameters
    ----------
    fitted : WeightEstimator
        Anything with `weights_`.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.
    """
    check_is_fitted(fitted, "weights_")
    weights = np.sort(np.asarray(fitted.weights_))[::-1]
    n = weights.size
    ax = _axes(ax)
    share = (np.arange(n) + 0.5) / n
    ax.fill_between(share, weights, step="mid", color=COLOR, alpha=0.25)
    ax.plot(share, weights, color=COLOR)
    ax.axhline(1.0, color=MUTED, linewidth=1)
    worth = effective_sample_size(weights)
    ax.set_title(
        f"{worth:.0f} effective rows of {n}; largest weight {weights[0]:.3g}",
        fontsize=10,
    )
    ax.set_xlabel("share of the source rows")
    ax.set_ylabel("weight")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    return ax


def plot_convergence(*fitted: Any, by: str = "seconds", ax: Any = None) -> Any:
    """Return an Axes with the proved gap against time or steps.

    Parameters
    ----------
    *fitted : WeightEstimator or Solution
        One line each.
    by : {"seconds", "steps"}
        What goes to the right.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.
    """
    if by not in ("seconds", "steps"):
        raise ValueError(f"by must be 'seconds' or 'steps', got {by!r}")
    ax = _axes(ax)
    for one in fitted:
        solution = getattr(one, "solution_", one)
        lines = getattr(solution, "history", ())
        if not lines:
            raise ValueError(f"{type(one).__name__} has no history to draw")
        x = [line.seconds if by == "seconds" else line.n_iter + 1 for line in lines]
        gaps = [max(line.gap, 1e-16) for line in lines]
        label = getattr(one, "solver", None) or type(one).__name__
        ax.plot(x, gaps, marker="." if len(x) < 50 else "", label=str(label))
        goal = solution.tol * solution.certificate.scale
        ax.axhline(goal, color=MUTED, linewidth=1, linestyle=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("seconds" if by == "seconds" else "step")
    ax.set_ylabel("proved gap")
    if len(fitted) > 1:
        ax.legend(frameon=False)
    return ax


def plot_selection(fitted: Any, *, ax: Any = None) -> Any:
    """Return an Axes with the held-out scores behind a choice.

    For a width, both scores: the two-sided one that was used, with the deficit it
    allows, and the textbook one-sided one, which an exact solver drives to ever
    narrower kernels. For a choice among families, a bar a candidate.

    Parameters
    ----------
    fitted : WeightEstimator
        Anything with `cv_results_`.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.
    """
    check_is_fitted(fitted)
    results = getattr(fitted, "cv_results_", None)
    if results is None:
        raise ValueError(f"{type(fitted).__name__} has selected nothing")
    ax = _axes(ax)
    chosen = int(np.argmax(results["chosen"]))
    if "candidate" in results:
        place = np.arange(len(results["score"]))
        able = results["admissible"]
        ax.barh(place, results["score"], color=np.where(able, COLOR, MUTED))
        ax.plot(results["score"][chosen], chosen, "o", color="black")
        ax.set_yticks(place, results["candidate"], fontsize=8)
        ax.invert_yaxis()
        ax.set_xlabel("two-sided held-out score (nats)")
        return ax
    width = results["width"]
    ax.errorbar(
        width,
        results["score"],
        yerr=results["standard_error"],
        color=COLOR,
        marker="o",
        label="two-sided",
    )
    ax.plot(
        width, results["one_sided_score"], color=MUTED, marker=".", label="one-sided"
    )
    ax.axvline(width[chosen], color="black", linewidth=1, linestyle=":")
    ax.set_xscale("log")
    ax.set_xlabel("width of the kernel")
    ax.set_ylabel("held-out score (nats)")
    ax.legend(frameon=False)
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib: pip install 'counterpoise[report]'"
        ) from error
    _, ax = plt.subplots(figsize=(6.0, 3.5), layout="constrained")
    return ax
