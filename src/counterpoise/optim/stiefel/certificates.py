"""Certificates for orthogonality constraints: stationarity and global bounds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import dense, ky_fan, tangent
from counterpoise.optim.stiefel.relaxations import (
    ConicProgram,
    ConicSolution,
    LiftedTerms,
    add_schur,
    triangle,
)

if TYPE_CHECKING:
    from counterpoise.optim.stiefel.problem import OrthogonalProblem, QuadraticForms

# -----------------------------------------------------------------------------
# Stationarity: multipliers and the residual of the optimality conditions.
# -----------------------------------------------------------------------------


# Forms that are this many times the slope below the largest get no multiplier: it would
# cost more than it could save.
FAR_BELOW = 0.1
# At most so many forms, the largest, get one.
MOST_FORMS = 300
# Entries of a nonnegative P up to this are zero.
ZERO_ENTRY = 1e-9
# Nonnegative problems with further terms have their multipliers computed up to this
# size.
MOST_ENTRIES = 5000


@dataclass(frozen=True, eq=False)
class Stationarity:
    """Multipliers of a problem at a point.

    Attributes
    ----------
    residual : float
        Norm of the Lagrangian's gradient, and the violation of complementarity.
    weights : array of shape (K,)
        Of the forms under the maximum; sum one.
    signs : array of shape (q,)
        Of the absolute values, between -1 and 1.
    prices : array of shape (p,)
        Of the constraints, nonnegative.
    """

    residual: float
    weights: Array
    signs: Array
    prices: Array


def stationarity(problem: "OrthogonalProblem", P: Array) -> Stationarity:
    """Return multipliers that make the residual small, and the residual.

    Those that the terms suggest, or those of one second-order cone program where their
    residual is smaller.
    """
    weights = np.zeros(len(problem.forms))
    if len(weights):
        weights[int(np.argmax(problem.forms.values(P)))] = 1.0
    signs = np.sign(problem.residuals(P))
    prices = np.zeros(len(problem.constraints))
    if problem.is_smooth and not problem.constraints:
        G = problem.smooth.gradient(P)
        if problem.nonnegative:
            return Stationarity(_support_residual(P, G), weights, signs, prices)
        return Stationarity(
            float(np.linalg.norm(tangent(P, G))), weights, signs, prices
        )
    if problem.nonnegative and P.size > MOST_ENTRIES:
        return Stationarity(np.inf, weights, signs, prices)
    suggested = Stationarity(
        _residual(problem, P, weights, signs, prices), weights, signs, prices
    )
    chosen = np.zeros(0, dtype=np.intp)
    costs = [-problem.residuals(P), np.abs(problem.constraint_values(P))]
    if len(weights):
        values = problem.forms.values(P)
        chosen = near_the_largest(values, problem.slope)
        costs = [values.max() - values[chosen], *costs]
    gradients = np.concatenate(
        [
            2.0 * problem.forms.images(P, chosen),
            problem.l1[0],
            problem.constraint_gradients(P),
            problem.smooth.gradient(P)[None],
        ]
    )
    counts = len(chosen), len(signs), len(prices)
    solved = _least_multipliers(problem, P, gradients, np.concatenate(costs), counts)
    if solved is None:
        return suggested
    better = np.zeros_like(weights)
    better[chosen], signs, prices = np.split(solved, np.cumsum(counts)[:2])
    residual = _residual(problem, P, better, signs, prices)
    if residual > suggested.residual:
        return suggested
    return Stationarity(residual, better, signs, prices)


def near_the_largest(values: Array, slope: float) -> Indices:
    """Return the forms that may attain the maximum after a small step, largest first.

    Those at most a tenth of the slope below it, and at most 300 of them.
    """
    slack = values.max() - values
    chosen = np.argsort(slack, kind="stable")[:MOST_FORMS]
    return chosen[slack[chosen] <= FAR_BELOW * slope]


def _residual(
    problem: "OrthogonalProblem", P: Array, weights: Array, signs: Array, prices: Array
) -> float:
    """Return the residual of the given multipliers."""
    G = problem.lagrangian_gradient(P, weights, signs, prices)
    slack = 0.0
    if len(weights):
        values = problem.forms.values(P)
        slack += float(weights @ (values.max() - values))
    r = problem.residuals(P)
    slack += float(np.abs(r).sum() - signs @ r)
    slack += float(prices @ np.abs(problem.constraint_values(P)))
    if problem.nonnegative:
        return _support_residual(P, G) + slack
    return float(np.linalg.norm(tangent(P, G))) + slack


def _support_residual(P: Array, G: Array) -> float:
    """Return the residual of a gradient G with P >= 0, multipliers in closed form.

    The gradient must be P Lambda + nu with Lambda symmetric, nu >= 0 and zero on the
    supports. Off-diagonal entries of Lambda are as large as nu >= 0 allows.
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
    violation = np.where(on, rest, np.minimum(rest, 0.0))
    slack = float(np.sum(np.where(on, 0.0, np.maximum(rest, 0.0) * np.abs(P))))
    return float(np.linalg.norm(violation)) + slack


def _least_multipliers(
    problem: "OrthogonalProblem",
    P: Array,
    gradients: Array,
    costs: Array,
    counts: tuple[int, int, int],
) -> Array | None:
    """Return u that minimizes |sum_i u_i G_i + G_0| + c'u, G_0 the last gradient.

    u are weights on the simplex, signs between -1 and 1 and prices >= 0, as many as
    `counts`; None where Clarabel fails. Without P >= 0 the norm is that of the
    tangential part, of which only the triangular factor of order len(u) + 1 matters.
    With P >= 0 the multipliers of P'P = I and P >= 0 are variables too.
    """
    count = len(costs)
    if not problem.nonnegative:
        along = tangent(P, gradients)
        unit = max(float(np.abs(along).max()), 1e-6 * problem.slope)
        stack = (along / unit).reshape(count + 1, -1).T
        stack = np.asarray(np.linalg.qr(stack, mode="r"))
        normal = sparse.csr_array((len(stack), 0))
        n_normal = n_positive = 0
    else:
        unit = max(float(np.abs(gradients).max()), 1e-300)
        stack = gradients.reshape(count + 1, -1).T / unit
        off = np.flatnonzero(P.ravel() <= ZERO_ENTRY)
        n_normal, n_positive = P.shape[1] * (P.shape[1] + 1) // 2, len(off)
        signs = sparse.csr_array(
            (np.ones(len(off)), (off, np.arange(len(off)))), shape=(P.size, len(off))
        )
        normal = sparse.hstack([-normal_directions(P).T, -signs])
    size = count + n_normal + n_positive + 1
    program = ConicProgram(size)
    eye = np.eye(count, size)
    weights, signs_u, prices = np.split(eye, np.cumsum(counts)[:2])
    program.add("zero", -weights.sum(axis=0)[None], np.ones(min(len(weights), 1)))
    program.add("nonnegative", weights, np.zeros(len(weights)))
    program.add("nonnegative", np.vstack([signs_u, -signs_u]), np.ones(2 * counts[1]))
    program.add("nonnegative", prices, np.zeros(len(prices)))
    first = count + n_normal
    program.add(
        "nonnegative", sparse.eye_array(n_positive, size, k=first), np.zeros(n_positive)
    )
    top = sparse.csr_array(([1.0], ([0], [size - 1])), shape=(1, size))
    body = sparse.hstack([stack[:, :count], normal, np.zeros((len(stack), 1))])
    program.add(
        "second-order", sparse.vstack([top, body]), np.append(0.0, stack[:, -1])
    )
    q = np.zeros(size)
    q[:count], q[-1] = costs / unit, 1.0
    u = program.solve(q).x[:count]
    if not np.isfinite(u).all():
        return None
    weights, signs_u, prices = np.split(u, np.cumsum(counts)[:2])
    weights = np.maximum(weights, 0.0)
    if len(weights) and not weights.sum() > 0.0:
        return None
    weights = weights / weights.sum()
    return np.concatenate([weights, np.clip(signs_u, -1, 1), np.maximum(prices, 0.0)])


def normal_directions(P: Array, diagonal: float = 1.0) -> Array:
    """Return a basis of the directions normal to P'P = I, one flat matrix in a row.

    Each puts column k of P into column j and column j into column k; where both are the
    same, `diagonal` times that column.
    """
    n, m = P.shape
    out = []
    for j in range(m):
        for k in range(j + 1):
            part = np.zeros((n, m))
            part[:, k] = P[:, j]
            part[:, j] = P[:, k] if j != k else diagonal * P[:, j]
            out.append(part.ravel())
    return np.stack(out)


# -----------------------------------------------------------------------------
# Global bounds: numbers below every feasible value.
# -----------------------------------------------------------------------------


# The semidefinite relaxation is solved while n + m is at most this: it takes 3 GB at
# n = 100.
LARGEST_FANTOPE = 60
# What sums of this library's length may lose, as a share of their terms.
ROUNDING = 1e-12
# Steps of the subgradient method on the weights of a maximum beyond that size.
WEIGHT_STEPS = 200


def global_bound(problem: "OrthogonalProblem") -> float:
    """Return a number that is never above any feasible value, rounding taken off.

    That of the Fantope relaxation while n + m is at most 60, else that of the terms.
    """
    n, m = problem.shape
    if problem.terms in ((), ("nonnegative",)):
        bound = ky_fan(problem.quadratic, m)
    elif n + m > LARGEST_FANTOPE:
        bound = bound_by_terms(problem)
    else:
        bound = fantope_bound(problem)
        # The relaxation optimizes the weights of a maximum already.
        if not len(problem.forms) or not math.isfinite(bound):
            bound = max(bound, bound_by_terms(problem))
    return bound - ROUNDING * (abs(bound) + problem.slope)


def bound_by_terms(problem: "OrthogonalProblem") -> float:
    """Return the bound of the terms without the constraints, by eigenvalues alone.

    The quadratic with the linear term, once each by itself and once together, the
    absolute values one by one, and the maximum by weights of its forms: whatever the
    weights w, max_k <A_k, X> is at least <sum_k w_k A_k, X>.
    """
    m = problem.shape[1]
    M, N = problem.quadratic, problem.linear
    B, b = problem.l1
    reach = np.array([np.linalg.svd(one, compute_uv=False).sum() for one in B])
    extra = float(np.maximum(np.abs(b) - reach, 0.0).sum())
    if len(problem.forms):
        M = dense(M) + problem.forms.combined(best_weights(dense(M), problem.forms, m))
    nuclear = float(np.linalg.svd(N, compute_uv=False).sum())
    apart = ky_fan(M, m) - nuclear
    if sparse.issparse(M) or not N.any():
        return extra + apart
    return extra + max(apart, bound_in_eigenbasis(M, N))


def best_weights(base: Array, forms: "QuadraticForms", m: int) -> Array:
    """Return weights w that make the Ky Fan sum of base + sum_k w_k A_k large.

    Exponentiated subgradients; one eigenproblem a step.
    """
    w = np.full(len(forms), 1.0 / len(forms))
    best, best_w = -np.inf, w
    for k in range(WEIGHT_STEPS if len(forms) > 1 else 1):
        values, vectors = np.linalg.eigh(base + forms.combined(w))
        if values[:m].sum() > best:
            best, best_w = float(values[:m].sum()), w
        g = forms.values(vectors[:, :m])
        spread = max(float(g.max() - g.min()), 1e-300)
        w = (w + 1e-12) * np.exp((g - g.max()) / spread / np.sqrt(k + 1.0))
        w = w / w.sum()
    return best_w


def bound_in_eigenbasis(M: Array, N: Array) -> float:
    r"""Return a bound of <M, PP'> + <N, P> by one eigendecomposition.

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
    return _golden_section(dual, -float(values[-1]) - reach, -float(values[0]) + reach)


def _golden_section(
    function: Callable[[float], float], low: float, high: float
) -> float:
    """Return the largest evaluated value of a concave function of one number."""
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


# -----------------------------------------------------------------------------
# The Fantope relaxation.
# -----------------------------------------------------------------------------


def _solve_fantope(problem: "OrthogonalProblem") -> tuple[LiftedTerms, ConicSolution]:
    """Return Clarabel's solution of the relaxation, in units of the slope.

    The multiplier of X <= I is the last one.
    """
    n, m = problem.shape
    by_span = set(problem.terms) <= {"maximum", "constraints"} and not any(
        one.linear.any() for one in problem.constraints
    )
    terms = LiftedTerms(problem, with_P=not by_span)
    program = ConicProgram(terms.size)
    for cone in terms.cones().values():
        program.add(*cone)
    where = terms.places()
    add_schur(program, where, m if terms.with_P else 0)
    r, c, factor = triangle(n)
    F = sparse.csr_array(
        (-factor, (np.arange(len(r)), where[r, c])), shape=(len(r), terms.size)
    )
    program.add("semidefinite", F, (r == c).astype(float), n)
    return terms, program.solve(terms.objective() / problem.slope)


def fantope_point(problem: "OrthogonalProblem") -> Array:
    """Return the m largest eigenvectors of the X that solves the Fantope relaxation."""
    n, m = problem.shape
    terms, solution = _solve_fantope(problem)
    X = np.zeros((n, n))
    X[terms.rows, terms.columns] = solution.x[terms.X]
    X[terms.columns, terms.rows] = solution.x[terms.X]
    if not np.isfinite(X).all():
        return problem.start()
    return np.ascontiguousarray(np.linalg.eigh(X)[1][:, -m:])


def fantope_bound(problem: "OrthogonalProblem") -> float:
    r"""Return the value of the Fantope relaxation, from below: at a dual point.

    Clarabel's multipliers are made feasible and evaluated, so that its rounding costs
    tightness and never validity. With M and N of the Lagrangian, Y >= 0 the multiplier
    of X <= I and theta that of the trace, the dual value is

    .. math:: -\mathrm{tr} Y - \theta m - \mathrm{tr} N'H^{-1}N / 4,\quad
              H = M + Y + \theta I \succ 0.
    """
    n, m = problem.shape
    terms, (_, multipliers) = _solve_fantope(problem)
    if not all(np.isfinite(z).all() for z in multipliers):
        return -np.inf
    M, N, constant = _lagrangian(problem, terms, multipliers)
    if not N.any():
        return constant + ky_fan(M, m)
    best = bound_in_eigenbasis(M, N)
    rows, columns, factor = triangle(n)
    Y = np.zeros((n, n))
    Y[rows, columns] = Y[columns, rows] = multipliers[-1] / factor * problem.slope
    values, vectors = np.linalg.eigh(Y)
    Y = (vectors * np.maximum(values, 0.0)) @ vectors.T
    values, vectors = np.linalg.eigh(M + Y)
    a = ((vectors.T @ N) ** 2).sum(axis=1)
    unit = max(float(np.ptp(values)), float(np.sqrt(a.sum())), 1e-300)

    def dual(log_margin: float) -> float:
        h = values - values[0] + unit * math.exp(log_margin)
        theta = float(h[0] - values[0])
        return -float(np.trace(Y)) - theta * m - float((a / h).sum()) / 4.0

    # Concave in theta, so with a single peak in its logarithm.
    return constant + max(best, _golden_section(dual, math.log(1e-13), math.log(1e2)))


def _lagrangian(
    problem: "OrthogonalProblem", terms: LiftedTerms, multipliers: list[Array]
) -> tuple[Array, Array, float]:
    """Return M, N and the constant of the Lagrangian at multipliers made feasible."""
    unit = problem.slope
    named = dict(zip(terms.cones(), multipliers, strict=False))
    M, N, constant = dense(problem.quadratic), problem.linear, 0.0
    if "weights" in named:
        w = np.maximum(named["weights"], 0.0)
        w = w / w.sum() if w.sum() > 0.0 else np.full(len(w), 1.0 / len(w))
        M = M + problem.forms.combined(w)
    if "signs" in named:
        B, b = problem.l1
        plus, minus = np.split(np.maximum(named["signs"], 0.0), 2)
        s = np.clip((plus - minus) * unit, -1.0, 1.0)
        N = N + np.tensordot(s, B, 1)
        constant += float(s @ b)
    if "prices" in named:
        prices = np.maximum(named["prices"], 0.0) * unit
        for price, one in zip(prices, problem.constraints, strict=True):
            constant += float(price) * one.constant
            M = M + price * dense(one.quadratic)
            N = N + price * one.linear
    if "signs of P" in named:
        N = N - np.maximum(named["signs of P"], 0.0).reshape(N.shape) * unit
    return M, N, constant
