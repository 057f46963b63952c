"""How the rows were weighed: what the weights are like and what they are worth."""

from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.samples.effective_size import clip, effective_sample_size

# From this ratio of the largest to the median weight on, the axis is logarithmic.
LOG_FROM = 50.0
_WEIGHT_BINS, _WEIGHT_POINTS, _CLIPPING_BOUNDS = 30, 100, 12


def weights_section(weighter: Any, ratio: Array) -> dict[str, Any]:
    """Return the density ratio at the source rows in aggregates.

    Parameters
    ----------
    weighter : fitted weighter or None
    ratio : array of shape (n,)
        Of mean one.
    """
    inner = getattr(weighter, "weighter_", weighter)
    size = float(effective_sample_size(ratio))
    return {
        "weighter": _name(weighter),
        "chosen": _name(inner),
        "parameters": _parameters(inner),
        "candidates": candidates_of(weighter),
        "rows": int(ratio.size),
        "effective_size": size,
        "effective_share": size / ratio.size,
        "largest": float(ratio.max()),
        "smallest": float(ratio.min()),
        "share_of_top_percent": top_share(ratio),
        "uncovered": getattr(weighter, "uncovered_", None),
        "certificate": certificate_of(getattr(weighter, "solution_", None)),
        "curve": _curve(ratio),
        "histogram": _histogram(ratio),
        "lorenz": _lorenz(ratio),
        "clipping": _clipping(ratio),
    }


def top_share(ratio: Array) -> float:
    """Return the share of all weight that the largest 1 % of the rows have."""
    count = max(1, round(0.01 * ratio.size))
    return float(np.partition(ratio, -count)[-count:].sum() / ratio.sum())


def certificate_of(solution: Any) -> dict[str, Any] | None:
    """Return what is proved about the weights."""
    if solution is None:
        return None
    proof = solution.certificate
    return {
        "kind": proof.kind,
        "objective": proof.objective,
        "bound": proof.bound,
        "gap": proof.gap,
        "scale": proof.scale,
        "residual": proof.residual,
        "infeasibility": proof.infeasibility,
        "tol": solution.tol,
        "holds": bool(solution.converged),
        "steps": solution.n_iter,
        "words": str(proof),
    }


def candidates_of(weighter: Any) -> list[dict[str, Any]]:
    """Return the families that were ranked, with their held-out scores."""
    results = getattr(weighter, "cv_results_", None)
    if not isinstance(results, dict) or "candidate" not in results:
        return []
    keys = ("candidate", "score", "standard_error", "admissible", "chosen")
    columns = [np.asarray(results[key]).tolist() for key in keys]
    return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _curve(ratio: Array) -> dict[str, list[float]]:
    """Return the weights in descending order at equal intervals."""
    n = ratio.size
    ranks = np.unique(np.linspace(0, n - 1, min(n, 2 * _WEIGHT_POINTS + 1)).round())
    ordered = np.sort(ratio)[::-1][ranks.astype(int)]
    return {"share": ((ranks + 0.5) / n).tolist(), "weight": ordered.tolist()}


def _histogram(ratio: Array) -> dict[str, Any]:
    largest, median = float(ratio.max()), float(np.median(ratio))
    is_log = largest > LOG_FROM * median
    if is_log:
        low = max(float(ratio.min()), largest * 1e-6)
        edges = np.geomspace(low, largest, _WEIGHT_BINS + 1)
        counts, _ = np.histogram(np.maximum(ratio, low), edges)
    else:
        # Uniform weights have no width of their own.
        high = largest if largest > float(ratio.min()) else 2 * largest
        counts, edges = np.histogram(ratio, _WEIGHT_BINS, (0.0, high))
    return {"log": is_log, "edges": edges.tolist(), "rows": counts.tolist()}


def _lorenz(ratio: Array) -> dict[str, Any]:
    """Return how much of the weight the rows with the smallest weights have."""
    mass = np.concatenate([[0.0], np.cumsum(np.sort(ratio))])
    mass /= mass[-1]
    rows = np.linspace(0.0, 1.0, mass.size)
    at = np.linspace(0.0, 1.0, _WEIGHT_POINTS + 1)
    gini = 1.0 - float(np.sum(mass[1:] + mass[:-1])) / ratio.size
    return {
        "rows": at.tolist(),
        "mass": np.interp(at, rows, mass).tolist(),
        "gini": max(gini, 0.0),
    }


def _clipping(ratio: Array) -> list[dict[str, float]]:
    """Return what the weights would be worth if none exceeded a bound."""
    largest = float(ratio.max())
    if largest <= 1.0 + 1e-9:
        return []
    bounds = np.geomspace(1.0, largest, _CLIPPING_BOUNDS)
    found = []
    for bound in bounds.tolist():
        cut = clip(ratio, max(bound, 1.0))
        moved = float(np.abs(cut - ratio).sum() / (2 * ratio.sum()))
        worth = effective_sample_size(cut) / ratio.size
        found.append({"bound": bound, "effective_share": worth, "moved": moved})
    return found


def _name(weighter: Any) -> str | None:
    return None if weighter is None else type(weighter).__name__


def _parameters(weighter: Any) -> dict[str, Any]:
    """Return a weighter's own parameters, those of plain types."""
    if weighter is None:
        return {}
    return {
        key: value
        for key, value in sorted(weighter.get_params(deep=False).items())
        if value is None or isinstance(value, bool | int | float | str)
    }
