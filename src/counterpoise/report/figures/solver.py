"""Objective and certified gap of the search for the weights."""

from typing import Any

from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    MUTED,
    ORANGE,
    axes,
    plain_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing, section_of, thinned
from counterpoise.report.record import Record
from counterpoise.report.wording import ShownNumber, figures, sentence, whole
from counterpoise.validation import InvalidInput


def plot_convergence(*fitted: Any, by: str = "seconds", ax: Any = None) -> Any:
    """Return an Axes with the proved gap against time or steps.

    Parameters
    ----------
    *fitted : weighter, Adapted, Solution or Record
        One line each. Records know steps only.
    by : {"seconds", "steps"}
        What goes to the right.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import KLIEP, plot_convergence
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = KLIEP(gamma=1.0)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_convergence(fitted).get_xlabel()
    'seconds'
    """
    if by not in ("seconds", "steps"):
        raise InvalidInput(f"by must be 'seconds' or 'steps', got {by!r}")
    if any(isinstance(one, Record) for one in fitted):
        by = "steps"
    ax = axes(ax)
    for one in fitted:
        x, gaps, goal, told = _line(one, by)
        ax.plot(x, gaps, marker="." if len(x) < 50 else "", label=told)
        ax.axhline(goal, color=MUTED, linewidth=1, linestyle=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("seconds" if by == "seconds" else "step")
    ax.set_ylabel("proved gap")
    if len(fitted) > 1:
        ax.legend(frameon=False)
    return ax


def _line(one: Any, by: str) -> tuple[list[float], list[float], float, str]:
    if isinstance(one, Record):
        section = section_of(one, "solver")
        history = section.get("history")
        if not history:
            raise InvalidInput("the record has no history to draw")
        steps = [step + 1 for step in history["step"]]
        told = str(one.at("weights.chosen", "record"))
        return steps, _positive(history["gap"]), section["goal"], told
    fitted = getattr(one, "weighter_", one) if hasattr(one, "estimator_") else one
    solution = getattr(fitted, "solution_", fitted)
    lines = getattr(solution, "history", ())
    if not lines:
        raise InvalidInput(f"{type(one).__name__} has no history to draw")
    x = [line.seconds if by == "seconds" else line.n_iter + 1 for line in lines]
    told = str(getattr(one, "solver", None) or type(one).__name__)
    goal = solution.tol * solution.certificate.scale
    return x, _positive([line.gap for line in lines]), goal, told


def _positive(gaps: list[float | None]) -> list[float]:
    return [float("nan") if gap is None else max(gap, 1e-16) for gap in gaps]


def draw_gap(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the certified gap, step by step."""
    history = section["history"]
    steps = [step + 1 for step in history["step"]]
    marker = "o" if len(steps) < 40 else ""
    gaps = _positive(history["gap"])
    ax.plot(steps, gaps, color=BLUE, marker=marker, markersize=4)
    ax.axhline(section["goal"], color=MUTED, linewidth=1.4, linestyle=(0, (4, 3)))
    ax.set_yscale("log")
    if len(steps) > 30:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    else:
        ax.locator_params(axis="x", integer=True)
    plain_ticks(ax.yaxis)
    ax.set_xlabel("step")
    ax.set_ylabel("at most this far from the best")
    return ax


def draw_objective(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the objective, step by step."""
    history = section["history"]
    steps = [step + 1 for step in history["step"]]
    values = [float("nan") if v is None else v for v in history["objective"]]
    marker = "s" if len(steps) < 40 else ""
    ax.plot(steps, values, color=ORANGE, marker=marker, markersize=4)
    if len(steps) > 30:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    else:
        ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("step")
    ax.set_ylabel("objective")
    return ax


def convergence_drawing(record: Record) -> Drawing | None:
    """Return the picture of the search for the weights."""
    section = record.at("solver")
    proof = record.at("weights.certificate")
    if section is None or proof is None or not section.get("history"):
        return None
    if len(section["history"]["step"]) < 2:
        return None
    history = section["history"]
    rows = [
        (str(step + 1), *(None if v is None else figures(v, digits=4) for v in values))
        for step, *values in zip(
            history["step"], history["objective"], history["gap"], strict=True
        )
    ]
    ends = "and the proof holds" if proof["holds"] else "and the proof does NOT hold"
    gap = proof.get("gap")
    reached: Any = "not bounded" if gap is None else _gap(gap)
    return Drawing(
        "convergence",
        "Were the best weights found?",
        sentence(
            "The weights are the answer to an optimisation problem. After every step a "
            "proof says how far from the best possible answer they still can be "
            "(blue); the search ends below the dashed line."
        ),
        sentence(
            "{} steps; the weights are proved to be within {} of the optimum, where "
            "{} was asked for, {}.",
            whole(proof["steps"], "weights.certificate.steps"),
            reached,
            ShownNumber(section["goal"], f"{section['goal']:.2g}", "solver.goal"),
            ends,
        ),
        (
            svg(lambda ax: draw_gap(ax, section), "convergence", height=FIGURE_HEIGHT),
            svg(
                lambda ax: draw_objective(ax, section),
                "objective",
                height=FIGURE_HEIGHT,
            ),
        ),
        DataTable(("step", "objective", "certified gap"), thinned(rows)),
    )


def _gap(gap: float) -> ShownNumber:
    return ShownNumber(gap, f"{gap:.2g}", "weights.certificate.gap")
