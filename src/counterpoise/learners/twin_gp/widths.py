"""Kernel widths and ridges: what the parameters say, and what a search offers."""

from collections.abc import Iterable
from typing import Any

from counterpoise.learners.twin_gp.models.rows import TwinRows, width_rule
from counterpoise.learners.twin_gp.search import Axis
from counterpoise.numerics.arrays import Array
from counterpoise.validation import check_number, warn_user

# Widths in units of the rule's, of which a search tries FIRST first.
RHO_X = (0.12, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5, 7.0)
RHO_Y = (0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.7, 3.0, 5.5, 10.0)
FIRST_X, FIRST_Y = (0.5, 1.0, 2.0, 3.0), (0.35, 0.5, 1.0, 3.0)
RIDGE = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
# Below this rounding decides.
SMALLEST_RIDGE = 1e-8


def check_widths(model: Any, names: Iterable[str]) -> None:
    """Refuse widths and ridges that are not positive; warn of too small a ridge."""
    for name in names:
        value = getattr(model, name)
        if name.startswith("gamma"):
            check_number(name, value, low=0.0, closed="neither", options=[None])
            continue
        ridge = check_number(name, value, low=0.0, closed="neither")
        # A search chooses ridges of its own.
        if ridge < SMALLEST_RIDGE and model.search is None:
            warn_user(
                f"{name} = {ridge:g} is below {SMALLEST_RIDGE:g}: rounding may decide "
                "the answers"
            )


def given_widths(model: Any, rows: TwinRows) -> dict[str, float]:
    """Return widths and ridges that the parameters say, rules applied."""
    gamma_x, gamma_y = model.gamma_x, model.gamma_y
    if gamma_x is None:
        gamma_x = width_rule(rows.X, rows.weight)
    if gamma_y is None:
        gamma_y = width_rule(rows.Y, rows.weight)
    return {
        "gamma_x": float(gamma_x),
        "gamma_y": float(gamma_y),
        "ridge_x": float(model.ridge_x),
        "ridge_y": float(model.ridge_y),
    }


def gpr_axes(gamma_x: float | None, rows: TwinRows) -> dict[str, Axis]:
    """Return widths, where none is given, and ridges to choose from."""
    axes = {"ridge_x": Axis(RIDGE, (1e-4, 1e-3, 1e-2, 1e-1))}
    if gamma_x is None:
        axes = {"gamma_x": gamma_axis(rows.X, rows.weight, RHO_X, FIRST_X)} | axes
    return axes


def twin_axes(model: Any, rows: TwinRows) -> tuple[dict[str, Axis], dict[str, str]]:
    """Return widths, where none are given, and ridges to choose from."""
    axes: dict[str, Axis] = {}
    if model.gamma_x is None:
        axes["gamma_x"] = gamma_axis(rows.X, rows.weight, RHO_X, FIRST_X)
    if model.gamma_y is None:
        axes["gamma_y"] = gamma_axis(rows.Y, rows.weight, RHO_Y, FIRST_Y)
    axes["ridge_x"] = Axis(RIDGE, (1e-4, 1e-3, 1e-2, 1e-1))
    axes["ridge_y"] = axes["ridge_x"]
    return axes, {"ridge_y": "ridge_x"}


def gamma_axis(
    A: Array, weight: Array, rho: tuple[float, ...], first: tuple[float, ...]
) -> Axis:
    """Return widths as multiples of the rule's, in ascending order of rho."""
    rule = width_rule(A, weight)
    return Axis(tuple(rule / r**2 for r in rho), tuple(rule / r**2 for r in first))
