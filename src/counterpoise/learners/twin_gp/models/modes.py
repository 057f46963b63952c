"""The distinct minima of a test row: the ambiguity itself."""

from typing import NamedTuple

import numpy as np

from counterpoise.learners.twin_gp.models.building import Model
from counterpoise.learners.twin_gp.models.problems import PUSH
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel

# Minima nearer to one another than this, in widths of the output kernel, are one.
SAME = 0.05
# Training rows, the most similar to the test input, among which starts are chosen.
NEAR = 100
# A point whose residual is above this has not come to a minimum.
SETTLED = 1e-4


class Modes(NamedTuple):
    """The minima of one test row, the best first.

    Attributes
    ----------
    outputs : array of shape (k,) or (k, d)
    losses : array of shape (k,)
        The divergence in nats, up to a constant of the row.
    gaps : array of shape (k,)
        Each loss above what no y goes below.
    """

    outputs: Array
    losses: Array
    gaps: Array


def starts(model: Model, x: Array, n_starts: int) -> Array:
    """Return outputs to start from: of rows like x, far from one another."""
    rows, settings = model.rows, model.settings
    similar = Kernel("rbf", settings.gamma_x).matrix(x[None], rows.X)[0] * rows.root
    near = np.argsort(-similar, kind="stable")[:NEAR]
    chosen = [near[0]]
    away = np.linalg.norm(rows.Y[near] - rows.Y[near[0]], axis=1)
    while len(chosen) < min(n_starts, near.size):
        k = int(np.argmax(away))
        chosen.append(near[k])
        away = np.minimum(away, np.linalg.norm(rows.Y[near] - rows.Y[near[k]], axis=1))
    return rows.Y[np.array(chosen)]


def minima(model: Model, x: Array, n_starts: int, tol: float) -> Modes:
    """Return the distinct minima found from the GPR mean and other starts.

    Each point is pushed a little and let go again: a minimum comes back, a saddle does
    not. A row that is like no training input has one mode, the GPR mean.
    """
    one = model.pose(x[None])
    if one.lost[0]:
        mean = one.mean()
        proof = one.prove(mean)
        return Modes(mean, proof.value, proof.gap)
    first = one.start()
    if n_starts > 1:
        first = np.vstack([first, starts(model, x, n_starts - 1)])
    row = np.zeros(len(first), dtype=np.intp)
    found = one.solve(first, row, tol)
    push: Array = np.random.default_rng(0).normal(size=(first.shape[1],))
    if one.directions is not None:
        push = one.directions @ (push @ one.directions)
    unit = push / np.linalg.norm(push)
    found = one.solve(found.x + PUSH * model.settings.radius * unit, row, tol)
    order = np.argsort(found.value, kind="stable")
    settled = order[found.residual[order] <= max(SETTLED, tol)]
    kept = _distinct(found.x, settled if settled.size else order[:1], model)
    losses = found.value[kept]
    return Modes(found.x[kept], losses, np.maximum(losses - one.bounds()[0], 0.0))


def _distinct(Y: Array, order: Indices, model: Model) -> Indices:
    """Return the points that are no copies of a better one."""
    kept: list[int] = []
    least = SAME * model.settings.radius
    for row in order:
        away = [np.linalg.norm(Y[row] - Y[other]) for other in kept]
        if not away or min(away) > least:
            kept.append(int(row))
    return np.array(kept, dtype=np.intp)
