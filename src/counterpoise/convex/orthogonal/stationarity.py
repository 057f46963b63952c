"""What the optimality conditions of a frame lack, with the multipliers that say so."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.orthogonal.relaxations.conic_rows import ConicRows
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.frames import tangent

# Forms that are this many times the slope below the largest get no multiplier: it would
# cost more than it could save.
FAR_BELOW = 0.1
# At most so many forms, the largest, get one.
MOST_FORMS = 300
# Entries of a non-negative frame up to this are zero.
ZERO_ENTRY = 1e-9
# Non-negative problems with further terms have their multipliers found up to this size.
MOST_ENTRIES = 5000


@dataclass(frozen=True, eq=False)
class Stationarity:
    """Multipliers of a problem at a frame.

    Attributes
    ----------
    residual : float
        Norm of the Lagrangian's gradient, and what complementarity lacks.
    weights : array of shape (K,)
        Of the forms under the maximum; sum one.
    signs : array of shape (q,)
        Of the absolute values, between -1 and 1.
    prices : array of shape (p,)
        Of the constraints, not negative.
    """

    residual: float
    weights: Array
    signs: Array
    prices: Array


def stationarity(problem: Any, P: Array) -> Stationarity:
    """Return multipliers that make the residual small, and the residual by them."""
    none = np.zeros(0)
    if problem.is_smooth and not problem.constraints:
        G = problem.smooth_gradient(P)
        if problem.nonnegative:
            return Stationarity(_on_supports(P, G), none, none, none)
        return Stationarity(float(np.linalg.norm(tangent(P, G))), none, none, none)
    if problem.nonnegative and P.size > MOST_ENTRIES:
        return Stationarity(np.inf, *_defaults(problem, P))
    return _by_programme(problem, P)


def near_the_largest(values: Array, slope: float) -> Indices:
    """Return the forms that may attain the maximum after a small step, largest first.

    Those at most a tenth of the slope below it, and at most 300 of them.
    """
    slack = values.max() - values
    chosen = np.argsort(slack, kind="stable")[:MOST_FORMS]
    return chosen[slack[chosen] <= FAR_BELOW * slope]


def _on_supports(P: Array, G: Array) -> float:
    """Return the residual of a smooth problem with P >= 0, multipliers in closed form.

    The gradient must be P Lambda + nu with Lambda symmetric, nu >= 0 and zero on the
    supports. Entries of Lambda beside the diagonal are as large as nu >= 0 allows.
    """
    on = P > ZERO_ENTRY
    m = P.shape[1]
    Lambda = np.diag(np.einsum("ij,ij->j", P, G))
    for j in range(m):
        for k in range(j):
            most = np.inf
            for here, there in ((j, k), (k, j)):
                rows = on[:, here] & ~on[:, there]
                if rows.any():
                    most = min(most, float((G[rows, there] / P[rows, here]).min()))
            both = on[:, j] & on[:, k]
            if both.any() or not np.isfinite(most):
                inner = (P[:, j] @ G[:, k] + P[:, k] @ G[:, j]) / 2.0
                most = min(most, float(inner))
            Lambda[j, k] = Lambda[k, j] = most
    rest = G - P @ Lambda
    lacking = np.where(on, rest, np.minimum(rest, 0.0))
    slack = float(np.sum(np.where(on, 0.0, np.maximum(rest, 0.0) * np.abs(P))))
    return float(np.linalg.norm(lacking)) + slack


def _defaults(problem: Any, P: Array) -> tuple[Array, Array, Array]:
    """Return the multipliers that the terms themselves suggest."""
    weights = np.zeros(0)
    if problem.forms is not None:
        weights = np.zeros(problem.forms.count)
        weights[int(np.argmax(problem.forms.values(P)))] = 1.0
    signs = np.zeros(0) if problem.l1 is None else np.sign(problem.residuals(P))
    return weights, signs, np.zeros(len(problem.constraints))


def _by_programme(problem: Any, P: Array) -> Stationarity:
    """Return the multipliers of least residual, by one second-order cone programme."""
    weights, signs, prices = _defaults(problem, P)
    columns: list[Array] = []
    costs: list[float] = []
    fixed = problem.smooth_gradient(P)
    chosen = np.zeros(0, dtype=np.intp)
    if problem.forms is not None:
        values = problem.forms.values(P)
        chosen = near_the_largest(values, problem.slope)
        columns += list(2.0 * problem.forms.images(P, chosen))
        costs += list(values.max() - values[chosen])
    if problem.l1 is not None:
        r = problem.residuals(P)
        columns += list(problem.l1[0])
        costs += list(-r)
    for one, value in zip(
        problem.constraints, problem.constraint_values(P), strict=True
    ):
        columns.append(one.gradient(P))
        costs.append(abs(float(value)))
    if problem.nonnegative:
        found = _with_signs(P, fixed, columns, costs, len(chosen), len(signs))
    else:
        along = tangent(P, np.stack([*columns, fixed]))
        unit = max(float(np.abs(along).max()), 1e-6 * problem.slope)
        found = _least(along / unit, np.array(costs) / unit, len(chosen), len(signs))
    suggested = Stationarity(
        _residual(problem, P, weights, signs, prices), weights, signs, prices
    )
    if found is None:
        return suggested
    better = np.zeros_like(weights)
    better[chosen] = found[: len(chosen)]
    signs = found[len(chosen) : len(chosen) + len(signs)]
    prices = found[len(chosen) + len(signs) :]
    residual = _residual(problem, P, better, signs, prices)
    if residual > suggested.residual:
        return suggested
    return Stationarity(residual, better, signs, prices)


def _residual(
    problem: Any, P: Array, weights: Array, signs: Array, prices: Array
) -> float:
    """Return the residual of given multipliers, from the frame alone."""
    G = problem.smooth_gradient(P)
    lacking = 0.0
    if problem.forms is not None:
        values = problem.forms.values(P)
        G = G + 2.0 * problem.forms.pull(weights, P)
        lacking += float(weights @ (values.max() - values))
    if problem.l1 is not None:
        r = problem.residuals(P)
        G = G + np.tensordot(signs, problem.l1[0], 1)
        lacking += float(np.abs(r).sum() - signs @ r)
    for price, one in zip(prices, problem.constraints, strict=True):
        if price:
            G = G + price * one.gradient(P)
            lacking += float(price) * abs(one.value(P))
    if problem.nonnegative:
        return _on_supports(P, G) + lacking
    return float(np.linalg.norm(tangent(P, G))) + lacking


def _least(along: Array, costs: Array, n_weights: int, n_signs: int) -> Array | None:
    """Return u that minimises |sum_i u_i G_i + G_0| + c'u over its polyhedron.

    Only the triangular factor of the gradients matters, of order len(u) + 1.
    """
    stack = along.reshape(len(along), -1).T
    R: Any = np.linalg.qr(stack, mode="r")
    count = len(costs)
    rows = ConicRows(count + 1)
    _polyhedron(rows, count, n_weights, n_signs)
    norm = np.zeros((1 + len(R), count + 1))
    norm[0, -1] = 1.0
    norm[1:, :count] = R[:, :count]
    rows.cone("second-order", norm, np.append(0.0, R[:, -1]))
    x = rows.solve(np.append(costs, 1.0)).x
    return _clipped(x[:count], n_weights, n_signs)


def _with_signs(
    P: Array, fixed: Array, columns: list[Array], costs: list[float], *counts: int
) -> Array | None:
    """Return the same where P >= 0: its multipliers and P's own are unknown too."""
    n, m = P.shape
    count, pairs = len(costs), [(j, k) for j in range(m) for k in range(j + 1)]
    stack: Array = np.stack([*columns, fixed]).reshape(count + 1, n * m).T
    unit = max(float(np.abs(stack).max()), 1e-300)
    normal = np.zeros((n * m, len(pairs)))
    for at, (j, k) in enumerate(pairs):
        part = np.zeros((n, m))
        part[:, j] += P[:, k]
        if j != k:
            part[:, k] += P[:, j]
        normal[:, at] = part.ravel()
    off = np.flatnonzero(P.ravel() <= ZERO_ENTRY)
    signs = sparse.csr_array(
        (np.ones(len(off)), (off, np.arange(len(off)))), shape=(n * m, len(off))
    )
    size = count + len(pairs) + len(off) + 1
    rows = ConicRows(size)
    _polyhedron(rows, count, *counts)
    first = count + len(pairs)
    positive = sparse.csr_array(
        (np.ones(len(off)), (np.arange(len(off)), first + np.arange(len(off)))),
        shape=(len(off), size),
    )
    rows.cone("nonnegative", positive, np.zeros(len(off)))
    top = sparse.csr_array(([1.0], ([0], [size - 1])), shape=(1, size))
    body = sparse.hstack(
        [stack[:, :count] / unit, -normal, -signs, np.zeros((n * m, 1))]
    )
    rows.cone(
        "second-order",
        sparse.vstack([top, body]),
        np.append(0.0, stack[:, -1] / unit),
    )
    q = np.zeros(size)
    q[:count], q[-1] = np.array(costs) / unit, 1.0
    return _clipped(rows.solve(q).x[:count], *counts)


def _polyhedron(rows: ConicRows, count: int, n_weights: int, n_signs: int) -> None:
    """Add weights on the simplex, signs between -1 and 1, prices not negative."""
    eye = np.eye(count, rows.size)
    if n_weights:
        rows.cone("zero", -eye[:n_weights].sum(axis=0)[None], np.ones(1))
        rows.cone("nonnegative", eye[:n_weights], np.zeros(n_weights))
    part = eye[n_weights : n_weights + n_signs]
    if n_signs:
        rows.cone("nonnegative", np.vstack([part, -part]), np.ones(2 * n_signs))
    part = eye[n_weights + n_signs : count]
    if len(part):
        rows.cone("nonnegative", part, np.zeros(len(part)))


def _clipped(u: Array, n_weights: int, n_signs: int) -> Array | None:
    """Return multipliers that keep their polyhedron, None where there are none."""
    if not np.isfinite(u).all():
        return None
    out = np.maximum(u, 0.0)
    last = n_weights + n_signs
    out[n_weights:last] = np.clip(u[n_weights:last], -1.0, 1.0)
    if n_weights:
        total = out[:n_weights].sum()
        if not total > 0.0:
            return None
        out[:n_weights] /= total
    return out
