"""How much of the weights, and which weights: the scores behind the choices."""

import re
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    INK,
    MUTED,
    ORANGE,
    axes,
    name_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing
from counterpoise.report.record import Record
from counterpoise.report.wording import Cell, Name, Sentence, brief, figures, sentence
from counterpoise.validation import InvalidInput

_CANDIDATES = {
    "uniform": "equal weights",
    "log-ratio linear": "means",
    "log-ratio diag": "means and spreads",
    "log-ratio full": "products of columns",
    "log-ratio full, ridge 0.1": "products, shrunk",
    "two Gaussians": "two normal laws",
    "two Gaussians of ranks": "normal laws of ranks",
    "logistic": "linear classifier",
    "logistic on squares": "classifier of squares",
    "logistic on products, C = 0.01": "classifier of products",
    "logistic on products, C = 0.1": "the same, shrunk less",
    "boosted": "boosted trees",
}


def plot_selection(fitted: Any, *, ax: Any = None) -> Any:
    """Return an Axes with the held-out scores behind a choice of weights.

    For a width, both scores: the two-sided one that was used, with the deficit it
    allows, and the textbook one-sided one, which an exact solver drives to ever
    narrower kernels. For a choice among families, a bar a candidate.

    Parameters
    ----------
    fitted : weighter, Adapted or Record
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF, plot_selection
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(random_state=0)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_selection(fitted).get_xlabel()
    'width of the kernel'
    """
    record = fitted
    if not isinstance(fitted, Record):
        check_is_fitted(fitted)
        if getattr(fitted, "cv_results_", None) is None and not hasattr(
            fitted, "weighter_"
        ):
            raise InvalidInput(f"{type(fitted).__name__} has selected nothing")
        record = Record.of(fitted)
    candidates, widths = _choices(record)
    if not candidates and not widths:
        raise InvalidInput(f"{type(fitted).__name__} has selected nothing")
    ax = axes(ax)
    return draw_candidates(ax, candidates) if candidates else draw_widths(ax, widths)


def _choices(record: Record) -> tuple[list[Any], list[Any]]:
    return record.at("weights.candidates", []), record.at("solver.widths", [])


def draw_candidates(ax: Any, candidates: list[dict[str, Any]]) -> Any:
    """Draw a bar a candidate that was tried, the chosen one marked."""
    candidates = _drawn(candidates)
    scores = [np.nan if one["score"] is None else one["score"] for one in candidates]
    colors = [BLUE if one["admissible"] else MUTED for one in candidates]
    place = np.arange(len(scores))
    ax.barh(place, scores, color=colors, height=0.62)
    for k, one in enumerate(candidates):
        if one["chosen"]:
            ax.plot(scores[k], k, "D", color=INK, markersize=7)
    ax.axvline(0.0, color=MUTED, linewidth=0.8)
    name_ticks(ax, [candidate_in_words(one["candidate"]) for one in candidates])
    ax.set_ylim(len(scores) - 0.4, -0.6)
    # One that is far off would press the others together.
    known = [score for score in scores if np.isfinite(score)]
    high = max([*known, 0.05])
    ax.set_xlim(max(min([*known, 0.0]), -2 * high), 1.12 * high)
    ax.set_xlabel("better than equal weights by\n(on held-out rows, more is better)")
    return ax


def _tried(candidates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the candidates that have a score; all where none has."""
    return [one for one in candidates if one["score"] is not None] or candidates


def _drawn(candidates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those with a bar, and the chosen one; equal weights are where bars begin.

    All where none has.
    """
    tried = _tried(candidates)
    return [one for one in tried if _has_bar(one) or one["chosen"]] or tried


def _has_bar(one: dict[str, Any]) -> bool:
    # What rounding makes of the score of equal weights is nothing to see.
    return one["score"] is not None and abs(one["score"]) > 1e-9


def candidate_in_words(name: str) -> str:
    """Return what a candidate is called on the page.

    Examples
    --------
    >>> candidate_in_words("kernel 0.18 median"), candidate_in_words("boosted")
    ('kernels, width 0.18', 'boosted trees')
    """
    found = re.fullmatch(r"kernel (\S+) median", name)
    if found:
        return f"kernels, width {found[1]}"
    return _CANDIDATES.get(name, name)


def draw_widths(ax: Any, widths: list[dict[str, Any]]) -> Any:
    """Draw both scores of every width."""
    width = [one["width"] for one in widths]
    score, error, one_sided = (
        [np.nan if one.get(key) is None else one[key] for one in widths]
        for key in ("score", "standard_error", "one_sided_score")
    )
    ax.errorbar(width, score, yerr=error, color=BLUE, marker="o", label="two-sided")
    if np.isfinite(one_sided).any():
        ax.plot(width, one_sided, color=MUTED, marker=".", label="one-sided")
    for one in widths:
        if one["chosen"]:
            ax.axvline(one["width"], color=INK, linewidth=1, linestyle=":")
    ax.set_xscale("log")
    # Few powers of ten lie between the widths: these are the marks themselves.
    marks = sorted(width)[:: max(len(width) // 4, 1)]
    ax.set_xticks(marks, [f"{one:.2g}" for one in marks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("width of the kernel")
    ax.set_ylabel("score on held-out rows\n(more is better)")
    ax.legend(frameon=False)
    return ax


def draw_guard(ax: Any, guard: dict[str, Any]) -> Any:
    """Draw the model's estimated loss against the power of the weights."""
    ax.errorbar(
        guard["exponents"],
        guard["values"],
        yerr=guard["errors"],
        color=BLUE,
        marker="o",
        markersize=5,
        capsize=3,
    )
    k = guard["exponents"].index(guard["chosen"])
    ax.plot(
        guard["chosen"],
        guard["values"][k],
        "D",
        color=ORANGE,
        markersize=10,
        label="used",
    )
    if guard.get("kind") == "mixing":
        ax.set_xticks((0.0, 0.25, 0.5, 0.75, 1.0))
    else:
        ax.set_xticks(guard["exponents"])
    ax.set_xlabel("how much of the weights (0: none, 1: all)")
    better = "higher" if guard["higher_is_better"] else "lower"
    ax.set_ylabel(f"estimate for the new data\n({better} is better)")
    ax.legend()
    return ax


def validation_drawing(record: Record) -> Drawing | None:
    """Return the pictures of what was tried: how much of which weights."""
    guard = record.at("guard")
    candidates, widths = _choices(record)
    pictures, told = [], []
    rows: list[tuple[Cell, ...]] = []
    if guard is not None:
        pictures.append(
            svg(lambda ax: draw_guard(ax, guard), "validation", height=FIGURE_HEIGHT)
        )
        told.append(_guard_told(guard))
        rows += [
            (sentence_name(_amount(guard), e), figures(v), figures(error))
            for e, v, error in zip(
                guard["exponents"], guard["values"], guard["errors"], strict=True
            )
        ]
    if candidates:
        height = 1.2 + 0.24 * len(_drawn(candidates))
        pictures.append(
            svg(lambda ax: draw_candidates(ax, candidates), "selection", height=height)
        )
        chosen = next(k for k, one in enumerate(candidates) if one["chosen"])
        taken_one = Name(candidate_in_words(candidates[chosen]["candidate"]))
        told.append(
            sentence(
                "Of {} ways to weigh, {} was taken: the simplest whose held-out score "
                "is as good as the best.",
                str(len(candidates)),
                taken_one,
            )
            if len(candidates) > 1
            else sentence(
                "There were too few rows to choose weights by cross-validation: {} was "
                "taken.",
                taken_one,
            )
        )
        rows += [
            (
                Name(candidate_in_words(one["candidate"])),
                "not tried" if one["score"] is None else figures(one["score"]),
                None
                if one["standard_error"] is None
                else figures(one["standard_error"]),
            )
            for one in candidates
        ]
    elif widths:
        pictures.append(
            svg(lambda ax: draw_widths(ax, widths), "selection", height=FIGURE_HEIGHT)
        )
        taken = next(k for k, one in enumerate(widths) if one["chosen"])
        told.append(
            sentence(
                "Of {} widths of the kernel, {} was taken.",
                str(len(widths)),
                figures(widths[taken]["width"], f"solver.widths.{taken}.width"),
            )
        )
        rows += [
            (
                sentence_name("kernel of width", one["width"]),
                None if one["score"] is None else figures(one["score"]),
                None
                if one["standard_error"] is None
                else figures(one["standard_error"]),
            )
            for one in widths
        ]
    if not pictures:
        return None
    return Drawing(
        "validation",
        "What was tried, and what was chosen?",
        sentence(
            "Weights are used only as far as they help. Everything is judged on rows "
            "held out from the fit; the diamond marks what was taken, the bars what "
            "chance may do."
        ),
        tuple(part for words in told for part in (*words, " "))[:-1],
        tuple(pictures),
        DataTable(("tried", "score or loss", "standard error"), tuple(rows)),
    )


def _guard_told(guard: dict[str, Any]) -> Sentence:
    last = len(guard["values"]) - 1
    if guard["chosen"] == 0:
        return sentence(
            "The model uses no weights: it is estimated at {} without them and at {} "
            "with all of them.",
            figures(guard["values"][0], "guard.values.0"),
            figures(guard["values"][last], f"guard.values.{last}"),
        )
    words = "The model uses the weights to the power {}: "
    if guard.get("kind") == "mixing":
        words = "The model uses {} of the weights, beside equal ones: "
    return sentence(
        words + "{} better than without weights, give or take {}.",
        brief(guard["chosen"], "guard.chosen"),
        figures(guard["gain"], "guard.gain"),
        figures(guard["gain_error"], "guard.gain_error"),
    )


def _amount(guard: dict[str, Any]) -> str:
    mixing = guard.get("kind") == "mixing"
    return "share of the weights" if mixing else "weights to the power"


def sentence_name(told: str, value: float) -> str:
    """Return the name of something tried by its number."""
    return f"{told} {value:g}"
