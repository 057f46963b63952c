"""The way to the weights: objective and certified gap, and what was chosen by."""

import math
from typing import Any

import numpy as np

# Steps that are listed of a long search, at equal intervals.
_STEPS_RECORDED = 150


def solver_section(weighter: Any) -> dict[str, Any] | None:
    """Return the history of the search and of the choice of a width."""
    solution = getattr(weighter, "solution_", None)
    if solution is None:
        return None
    history = getattr(solution, "history", ())
    found: dict[str, Any] = {
        "goal": solution.tol * solution.certificate.scale,
        "steps": solution.n_iter,
    }
    if history:
        places = np.unique(
            np.linspace(0, len(history) - 1, _STEPS_RECORDED).round().astype(int)
        )
        lines = [history[k] for k in places.tolist()]
        found["history"] = {
            "step": [line.n_iter for line in lines],
            "objective": [_finite(line.objective) for line in lines],
            "gap": [_finite(line.gap) for line in lines],
        }
    found["widths"] = _widths(weighter)
    return found


def _widths(weighter: Any) -> list[dict[str, Any]]:
    results = getattr(weighter, "cv_results_", None)
    if not isinstance(results, dict) or "width" not in results:
        return []
    offered = ("width", "score", "standard_error", "one_sided_score", "chosen")
    # Least-squares weighters have no one-sided likelihood.
    keys = tuple(key for key in offered if key in results)
    columns = [np.asarray(results[key]).tolist() for key in keys]
    return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
