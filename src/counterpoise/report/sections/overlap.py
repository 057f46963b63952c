"""Where source and target lie by how much a row looks like the target."""

from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.samples.overlap_verdict import Overlap

_SCORE_BINS, _SCORE_POINTS = 30, 100


def overlap_section(seen: Overlap, weights: Array | None) -> dict[str, Any]:
    """Return the curve of the domain classifier, and the densities of its scores.

    Parameters
    ----------
    seen : Overlap
        With the scores of both samples.
    weights : array of shape (n,) or None
        The weights of the source rows that `seen.rows` are places of.
    """
    return {
        "auc": seen.auc,
        "auc_low": seen.auc_low,
        "auc_high": seen.auc_high,
        "thin": seen.thin,
        "threshold": seen.threshold,
        "scored_source": int(seen.scores.size),
        "scored_target": int(seen.scores_target.size),
        "roc": _roc(seen.scores, seen.scores_target),
        "densities": _densities(seen, weights),
    }


def _roc(scores: Array, scores_target: Array) -> dict[str, list[float]]:
    """Return the shares of source and of target rows above every threshold."""
    at = np.unique(np.concatenate([scores, scores_target]))[::-1]
    false, true = (
        np.concatenate([[0.0], 1 - np.searchsorted(np.sort(s), at) / s.size])
        for s in (scores, scores_target)
    )
    grid = np.linspace(0.0, 1.0, _SCORE_POINTS + 1)
    return {"source": grid.tolist(), "target": _upper(false, true, grid).tolist()}


def _upper(x: Array, y: Array, at: Array) -> Array:
    """Return a rising curve at places; where it jumps, its upper end."""
    last = np.searchsorted(x, at, side="right") - 1
    following = np.minimum(last + 1, x.size - 1)
    width = x[following] - x[last]
    part = np.divide(at - x[last], width, out=np.zeros(at.size), where=width > 0)
    return y[last] + part * (y[following] - y[last])


def _densities(seen: Overlap, weights: Array | None) -> dict[str, Any]:
    edges = np.linspace(0.0, 1.0, _SCORE_BINS + 1)
    found: dict[str, Any] = {
        "edges": edges.tolist(),
        "source": _shares(seen.scores, None, edges),
        "target": _shares(seen.scores_target, None, edges),
        "weighted": None,
    }
    if weights is not None:
        found["weighted"] = _shares(seen.scores, weights[seen.rows], edges)
    return found


def _shares(scores: Array, weights: Array | None, edges: Array) -> list[float]:
    shares, _ = np.histogram(scores, edges, weights=weights)
    total = float(shares.sum())
    return (shares / total).tolist() if total > 0 else shares.tolist()
