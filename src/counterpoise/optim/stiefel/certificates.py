"""Stationarity and global bounds over orthonormal matrices."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import dense, ky_fan, tangent
from counterpoise.optim.stiefel.relaxations import (
    ConicAnswer,
    ConicRows,
    LiftedTerms,
    add_schur,
    triangle,
)

# -----------------------------------------------------------------------------
# What the optimality conditions of a frame lack, with the multipliers that say so.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# Numbers below every feasible value of a problem over frames.
# -----------------------------------------------------------------------------


# The semidefinite relaxation is solved while n + m is at most this: it takes 3 GB at
# n = 100.
LARGEST_FANTOPE = 60
# What sums of this library's length may lose, as a share of their terms.
ROUNDING = 1e-12
# Steps of the subgradient method on the weights of a maximum beyond that size.
WEIGHT_STEPS = 200


def global_bound(problem: Any) -> float:
    """Return a number that is never above any feasible value, rounding taken off.

    That of the Fantope relaxation while n + m is at most 60, else that of the terms.
    """
    bound = _bound_before_rounding(problem)
    return bound - ROUNDING * (abs(bound) + problem.slope)


def _bound_before_rounding(problem: Any) -> float:
    n, m = problem.shape
    only_quadratic = problem.is_smooth and problem.linear is None
    if only_quadratic and not problem.constraints:
        return 0.0 if problem.quadratic is None else ky_fan(problem.quadratic, m)
    if n + m > LARGEST_FANTOPE:
        return bound_by_terms(problem)
    bound = fantope_bound(problem)
    # Weights of a maximum are found by the relaxation already.
    if problem.forms is None or not math.isfinite(bound):
        bound = max(bound, bound_by_terms(problem))
    return bound


def bound_by_terms(problem: Any) -> float:
    """Return the bound of the terms without the constraints, by eigenvalues alone.

    The quadratic with the linear term, once each by itself and once together, the
    absolute values one by one, and the maximum by weights of its forms: whatever the
    weights w, max_k <A_k, X> is at least <sum_k w_k A_k, X>.
    """
    n, m = problem.shape
    M, extra = problem.quadratic, 0.0
    if problem.l1 is not None:
        B, b = problem.l1
        reach = np.array([np.linalg.svd(one, compute_uv=False).sum() for one in B])
        extra = float(np.maximum(np.abs(b) - reach, 0.0).sum())
    if problem.forms is not None:
        base = np.zeros((n, n)) if M is None else dense(M)
        weights = best_weights(base, problem.forms, m)
        M = base + problem.forms.combined(weights)
    if problem.linear is None:
        return extra + (0.0 if M is None else ky_fan(M, m))
    nuclear = float(np.linalg.svd(problem.linear, compute_uv=False).sum())
    apart = (0.0 if M is None else ky_fan(M, m)) - nuclear
    if sparse.issparse(M):
        return extra + apart
    both = bound_in_eigenbasis(np.zeros((n, n)) if M is None else M, problem.linear)
    return extra + max(apart, both)


def best_weights(base: Array, forms: Any, m: int, first: Array | None = None) -> Array:
    """Return weights w that make the Ky Fan sum of base + sum_k w_k A_k large.

    Exponentiated subgradients; one eigenproblem a step.
    """
    w = np.full(forms.count, 1.0 / forms.count) if first is None else first
    best, kept = -np.inf, w
    for k in range(WEIGHT_STEPS if forms.count > 1 else 1):
        values, vectors = np.linalg.eigh(base + forms.combined(w))
        if values[:m].sum() > best:
            best, kept = float(values[:m].sum()), w
        g = forms.values(vectors[:, :m])
        spread = max(float(g.max() - g.min()), 1e-300)
        w = (w + 1e-12) * np.exp((g - g.max()) / spread / np.sqrt(k + 1.0))
        w = w / w.sum()
    return kept


def bound_in_eigenbasis(M: Array, N: Array) -> float:
    r"""Return a bound of <M, PP'> + <N, P> by one eigen-decomposition.

    For any number theta, with l_i the eigenvalues and a_i the norms of N's rows in
    their basis,

    .. math:: -\theta m - \sum_i \left(h_i - l_i - \theta + \frac{a_i^2}{4 h_i}\right),
              \quad h_i = \max(l_i + \theta, a_i / 2)

    is the dual value of the relaxation :math:`PP' \preceq X \preceq I` at a diagonal
    multiplier; it is concave in theta and equals the Ky Fan sum where N is zero.
    """
    m = N.shape[1]
    values, vectors = np.linalg.eigh(M)
    a = np.linalg.norm(vectors.T @ N, axis=1)

    def dual(theta: float) -> float:
        h = np.maximum(values + theta, a / 2.0)
        inverse = np.divide(a * a, 4.0 * h, out=np.zeros_like(h), where=h > 0.0)
        return float(-theta * m - (h - values - theta + inverse).sum())

    reach = float(np.ptp(values) + a.sum()) + 1e-300
    return _largest(dual, -float(values[-1]) - reach, -float(values[0]) + reach)


def _largest(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the largest value of a concave function of one number seen on the way."""
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    best = max(at_left, at_right)
    for _ in range(100):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
        best = max(best, at_left, at_right)
    return best


def fantope_bound(problem: Any) -> float:
    """Return the value of the Fantope relaxation, from below: at a dual point.

    Clarabel's multipliers are made feasible and evaluated, so that its rounding costs
    tightness and never truth.
    """
    n, m = problem.shape
    unit = problem.slope
    _, names, answer = _fantope(problem)
    found = dict(zip(names, answer.multipliers, strict=False))
    if not all(np.isfinite(z).all() for z in answer.multipliers):
        return -np.inf
    M, N, constant = _lagrangian(problem, found, unit)
    upper = _matrix_of(answer.multipliers[-1], n) * unit
    return constant + _dual_value(M, N, m, upper)


def fantope_frame(problem: Any) -> Array:
    """Return the m largest eigenvectors of the X that solves the Fantope relaxation."""
    n, m = problem.shape
    terms, _, answer = _fantope(problem)
    X = np.zeros((n, n))
    X[terms.rows, terms.columns] = answer.x[terms.lifted]
    X[terms.columns, terms.rows] = answer.x[terms.lifted]
    if not np.isfinite(X).all():
        return problem.start()
    return np.ascontiguousarray(np.linalg.eigh(X)[1][:, -m:])


def _fantope(problem: Any) -> tuple[LiftedTerms, list[str], ConicAnswer]:
    """Return Clarabel's solution of the relaxation, in units of the slope."""
    terms = LiftedTerms(problem, with_frame=not problem.sees_only_the_span)
    rows = ConicRows(terms.size)
    names = terms.add_terms(rows)
    _add_fantope(rows, terms)
    return terms, names, rows.solve(terms.objective() / problem.slope)


def _add_fantope(rows: ConicRows, terms: LiftedTerms) -> None:
    """Ask for PP' <= X <= I; the upper bound is the last cone."""
    n, m = terms.problem.shape
    where = np.zeros((n, n), dtype=np.intp)
    where[terms.rows, terms.columns] = terms.lifted.start + np.arange(len(terms.rows))
    add_schur(rows, where, m if terms.with_frame else 0)
    r, c, factor = triangle(n)
    F = sparse.csr_array(
        (-factor, (np.arange(len(r)), where[r, c])), shape=(len(r), terms.size)
    )
    rows.cone("semidefinite", F, (r == c).astype(float), n)


def _lagrangian(
    problem: Any, found: dict[str, Array], unit: float
) -> tuple[Array, Array | None, float]:
    """Return M, N and the constant of the Lagrangian at multipliers made feasible."""
    n, m = problem.shape
    M = np.zeros((n, n)) if problem.quadratic is None else dense(problem.quadratic)
    N = np.zeros((n, m)) if problem.linear is None else problem.linear.copy()
    constant = 0.0
    if problem.forms is not None:
        w = np.maximum(found["weights"], 0.0)
        w = w / w.sum() if w.sum() > 0.0 else np.full(len(w), 1.0 / len(w))
        M = M + problem.forms.combined(w)
    if problem.l1 is not None:
        B, b = problem.l1
        plus, minus = np.split(np.maximum(found["signs"], 0.0), 2)
        s = np.clip((plus - minus) * unit, -1.0, 1.0)
        N = N + np.tensordot(s, B, 1)
        constant += float(s @ b)
    if problem.constraints:
        prices = np.maximum(found["prices"], 0.0) * unit
        for price, one in zip(prices, problem.constraints, strict=True):
            constant += float(price) * one.constant
            if one.quadratic is not None:
                M = M + price * dense(one.quadratic)
            if one.linear is not None:
                N = N + price * one.linear
    if problem.nonnegative and "signs of P" in found:
        N = N - np.maximum(found["signs of P"], 0.0).reshape(n, m) * unit
    return M, (N if N.any() else None), constant


def _dual_value(M: Array, N: Array | None, m: int, upper: Array) -> float:
    r"""Return the best of a few dual values of <M, X> + <N, P> over the relaxation.

    With Y >= 0 for X <= I and theta for the trace,
    :math:`-\mathrm{tr} Y - \theta m - \mathrm{tr} N'H^{-1}N / 4` where
    :math:`H = M + Y + \theta I` is positive definite.
    """
    if N is None:
        return ky_fan(M, m)
    best = bound_in_eigenbasis(M, N)
    values, vectors = np.linalg.eigh(upper)
    Y = (vectors * np.maximum(values, 0.0)) @ vectors.T
    values, vectors = np.linalg.eigh(M + Y)
    a = ((vectors.T @ N) ** 2).sum(axis=1)
    unit = max(float(np.ptp(values)), float(np.sqrt(a.sum())), 1e-300)

    def dual(log_margin: float) -> float:
        h = values - values[0] + unit * math.exp(log_margin)
        theta = float(h[0] - values[0])
        return -float(np.trace(Y)) - theta * m - float((a / h).sum()) / 4.0

    # Concave in theta, so with a single peak in its logarithm.
    return max(best, _largest(dual, math.log(1e-13), math.log(1e2)))


def _matrix_of(triangular: Array, order: int) -> Array:
    """Return the symmetric matrix of a cone's multiplier."""
    rows, columns, factor = triangle(order)
    out = np.zeros((order, order))
    out[rows, columns] = out[columns, rows] = triangular / factor
    return out
