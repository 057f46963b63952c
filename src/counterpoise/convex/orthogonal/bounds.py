"""Numbers below every feasible value of a problem over frames."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.orthogonal.relaxations.conic_rows import (
    ConicAnswer,
    ConicRows,
    triangle,
)
from counterpoise.convex.orthogonal.relaxations.frame_cones import add_schur
from counterpoise.convex.orthogonal.relaxations.lifted_terms import LiftedTerms
from counterpoise.convex.orthogonal.spectrum import dense, ky_fan
from counterpoise.numerics.arrays import Array

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
