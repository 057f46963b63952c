"""Non-negative frames: every row in one column, every column best on its rows."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.orthogonal.spectrum import smallest_eigenpairs
from counterpoise.convex.orthogonal.stationarity import ZERO_ENTRY
from counterpoise.numerics.arrays import Array, Indices

SUPPORT_STEPS = 200
# How often rows of zeros change their column, at most.
MOST_MOVES = 20


def labels_of(P: Array) -> Indices:
    """Return the largest column of every row; no column is left without a row.

    A column that would be empty takes the row that its own column misses least.
    """
    labels = np.argmax(P, axis=1)
    size = P[np.arange(len(P)), labels].copy()
    counts = np.bincount(labels, minlength=P.shape[1])
    for j in np.flatnonzero(counts == 0):
        spare = np.where(counts[labels] > 1, size, np.inf)
        row = int(np.argmin(spare))
        counts[labels[row]] -= 1
        labels[row], counts[j], size[row] = j, 1, np.inf
    return labels


def on_supports(problem: Any, labels: Indices) -> Array:
    """Return the frame P >= 0 of least value whose columns live on given rows.

    Without a linear term, and where M has no positive entries beside its diagonal (a
    Laplacian), column j is the eigenvector of the smallest eigenvalue of M on its rows,
    which is not negative: exactly feasible and optimal for the labels. Else tangents of
    the quadratic are minimised over the non-negative part of the sphere, from there.
    Rows whose entry is zero (parts of a column's rows that nothing joins) go to the
    column that gains most, until none gains.
    """
    P = np.zeros(problem.shape)
    labels, changed = labels.copy(), set(range(problem.shape[1]))
    for _ in range(MOST_MOVES):
        for j in changed:
            rows = np.flatnonzero(labels == j)
            P[:, j] = 0.0
            P[rows, j] = _column_on(problem, rows, j)
        empty = np.flatnonzero(P.max(axis=1) <= ZERO_ENTRY)
        if not len(empty):
            break
        gain = problem.smooth_gradient(P)[empty]
        best = np.argmin(gain, axis=1)
        moves = (gain[np.arange(len(empty)), best] < -1e-9 * problem.slope) & (
            best != labels[empty]
        )
        if not moves.any():
            break
        rows, best = empty[moves], best[moves]
        changed = {*labels[rows].tolist(), *best.tolist()}
        labels[rows] = best
    return P


def _column_on(problem: Any, rows: Indices, j: int) -> Array:
    """Return the best column j on its rows."""
    M = problem.quadratic
    part = None if M is None else M[rows][:, rows]
    pull = None if problem.linear is None else problem.linear[rows, j]
    return _best_column(part, pull, len(rows))


def _best_column(M: Any, pull: Array | None, count: int) -> Array:
    if M is None or count == 1:
        if pull is None:
            return np.full(count, 1.0 / np.sqrt(count))
        p = np.maximum(-pull, 0.0)
        if not p.any():
            p[int(np.argmin(pull))] = 1.0
        return p / np.linalg.norm(p)
    p = np.abs(smallest_eigenpairs(M, 1)[1][:, 0])
    own = M.diagonal()
    beside = M - (sparse.diags_array(own) if sparse.issparse(M) else np.diag(own))
    if pull is None and not (beside > 0).sum():
        return p / np.linalg.norm(p)
    top = float(abs(M).sum(axis=1).max())
    for _ in range(SUPPORT_STEPS):
        there = np.maximum(2.0 * (top * p - M @ p) - (0.0 if pull is None else pull), 0)
        length = float(np.linalg.norm(there))
        if not length > 0.0:
            break
        moved = float(np.linalg.norm(there / length - p))
        p = there / length
        if moved <= 1e-13:
            break
    return p / np.linalg.norm(p)
