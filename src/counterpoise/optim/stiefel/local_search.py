"""Local search over orthonormal matrices: descent, Newton steps, supports."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import qr

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import (
    SymmetricMatrix,
    dense,
    polar,
    smallest_eigenpairs,
    tangent,
)
from counterpoise.optim.stiefel.certificates import (
    ZERO_ENTRY,
    Stationarity,
    near_the_largest,
    normal_directions,
)
from counterpoise.optim.stiefel.relaxations import ConicProgram

if TYPE_CHECKING:
    from counterpoise.optim.stiefel.problem import OrthogonalProblem

# -----------------------------------------------------------------------------
# Riemannian trust region, for smooth problems.
# -----------------------------------------------------------------------------


LARGEST_RADIUS = 1.0


def descend(
    problem: "OrthogonalProblem", P: Array, tol: float, steps: int = 200
) -> Array:
    """Return a point with a Riemannian gradient of at most `tol`, by a trust region.

    For smooth problems without constraints. A step solves the model of second order by
    conjugate gradients (Steihaug) within a radius and retracts by the polar factor; the
    value never rises. O(n^2 m) a product.

    With E the way from one point to another, E'P + P'E = -E'E, and the value changes by
    <g, E> + <E, M E> - <E, E Lambda> / 2, exactly. The terms are as small as their sum,
    unlike the two values, whose difference is lost in rounding near the end.
    """
    radius = 0.1 * LARGEST_RADIUS * np.sqrt(P.shape[1])
    for _ in range(steps):
        G = problem.smooth.gradient(P)
        inner = P.T @ G
        Lambda = (inner + inner.T) / 2.0
        # Projected twice: near the end the normal part that rounding leaves is not
        # small beside the gradient, and conjugate gradients would magnify it.
        g = tangent(P, G - P @ Lambda)
        size = float(np.linalg.norm(g))
        if size <= tol:
            break
        step, decrease = _steihaug(problem, P, Lambda, g, radius)
        if decrease <= 0.0:
            break
        there = polar(P + step)
        way = there - P
        ratio = _model_decrease(g, way, _hessian(problem, Lambda, way)) / decrease
        if ratio < 0.1:
            radius = 0.25 * min(radius, float(np.linalg.norm(step)))
            if radius < 1e-14:
                break
            continue
        P = there
        if ratio > 0.75:
            radius = min(2.0 * radius, LARGEST_RADIUS * np.sqrt(P.shape[1]))
    return P


def _hessian(problem: "OrthogonalProblem", Lambda: Array, D: Array) -> Array:
    """Return 2 M D - D Lambda."""
    return 2.0 * np.asarray(problem.quadratic @ D) - D @ Lambda


def _model_decrease(g: Array, D: Array, image: Array) -> float:
    return -float(np.sum(g * D) + 0.5 * np.sum(D * image))


def _steihaug(
    problem: "OrthogonalProblem", P: Array, Lambda: Array, g: Array, radius: float
) -> tuple[Array, float]:
    """Return a step within the radius, and the decrease of the model."""
    size = float(np.linalg.norm(g))
    D, HD = np.zeros_like(g), np.zeros_like(g)
    rest, direction = g.copy(), -g
    square = size * size
    flat = 1e-14 * problem.slope
    # Beyond double precision nothing is gained.
    enough = size * min(0.1, max(size / problem.slope, 1e-8))
    for _ in range(2 * g.size):
        image = tangent(P, _hessian(problem, Lambda, direction))
        curvature = float(np.sum(direction * image))
        length = float(np.sum(direction * direction))
        along = float(np.sum(D * direction))
        room = radius * radius - float(np.sum(D * D))
        furthest = (-along + np.sqrt(along * along + length * room)) / length
        step = furthest if curvature <= flat * length else square / curvature
        if step >= furthest:
            D, HD = D + furthest * direction, HD + furthest * image
            break
        D, HD = D + step * direction, HD + step * image
        rest = rest + step * image
        fresh = float(np.sum(rest * rest))
        if np.sqrt(fresh) <= enough:
            break
        direction = -rest + (fresh / square) * direction
        square = fresh
    return D, _model_decrease(g, D, HD)


# -----------------------------------------------------------------------------
# Sequential quadratic programming, from a point near a stationary one.
# -----------------------------------------------------------------------------


# Hessians are dense; matrices P of more entries are left as they are.
NEWTON_ENTRIES = 400
NEWTON_STEPS = 20
# Multipliers below this share of their unit belong to nothing active.
INACTIVE = 1e-6
# No step goes further than this.
LONGEST_STEP, SHORTEST_RADIUS = 0.3, 1e-4


def restored(problem: "OrthogonalProblem", P: Array, steps: int = 15) -> Array:
    """Return a point near P that is feasible, if Gauss-Newton steps reach one.

    Shortest tangential steps onto all constraints that have been violated so far;
    P >= 0 is not restored.
    """
    if not problem.constraints or problem.nonnegative:
        return P
    best, least = P, problem.infeasibility(P)
    violated = np.zeros(len(problem.constraints), dtype=bool)
    for _ in range(steps):
        values = problem.constraint_values(P)
        if values.max() <= 1e-13:
            break
        violated |= values > 0.0
        gradients = problem.constraint_gradients(P)[violated]
        J = tangent(P, gradients).reshape(len(gradients), -1)
        step = np.linalg.lstsq(J, -values[violated], rcond=1e-10)[0]
        length = float(np.linalg.norm(step))
        P = polar(P + (step * min(1.0, 1.0 / max(length, 1e-300))).reshape(P.shape))
        if problem.infeasibility(P) < least:
            best, least = P, problem.infeasibility(P)
    return best


def polished(problem: "OrthogonalProblem", P: Array) -> Array:
    """Return a point that is no worse and nearer to stationary, or P itself.

    Every step minimizes the Lagrangian's second-order model, its eigenvalues made
    positive, over tangential steps that keep the linearized forms, absolute values and
    constraints: the program determines what is active. Rows of a nonnegative P keep
    their column. No step raises the value; of several, one that halves the residual is
    taken, else the lowest.
    """
    if P.size > NEWTON_ENTRIES:
        return P
    at, value = problem.stationarity(P), problem.value(P)
    noise = 1e-12 * max(abs(value), problem.slope)
    outside = max(problem.infeasibility(P), 1e-10)
    radius = LONGEST_STEP
    for _ in range(NEWTON_STEPS):
        if at.residual <= 1e-11 * problem.slope or radius < SHORTEST_RADIUS:
            break
        best = None
        for there in _candidates(problem, P, at, radius):
            then = problem.value(there)
            if then > value + noise or problem.infeasibility(there) > outside:
                continue
            fresh = problem.stationarity(there)
            if fresh.residual >= at.residual and then >= value - 1e-9 * problem.slope:
                continue
            halves = fresh.residual <= 0.5 * at.residual
            if best is None or then < best[2] or halves:
                best = there, fresh, then
            if halves:
                break
        if best is None:
            radius /= 4.0
        else:
            P, at, value = best[0], best[1], min(value, best[2])
    return P


def _candidates(
    problem: "OrthogonalProblem", P: Array, at: Stationarity, radius: float
) -> Iterator[Array]:
    """Yield points to go to: Newton's, the same corrected, one that surely descends.

    The correction accounts for the curvature of the terms at Newton's point.
    """
    step = _step(problem, P, at, radius, keep=True)
    if step is not None:
        there = _moved(problem, P, step)
        yield there
        if not problem.is_smooth or problem.constraints:
            second = _step(problem, P, at, radius, keep=True, corrected=(step, there))
            if second is not None:
                yield _moved(problem, P, second)
    step = _step(problem, P, at, radius, keep=False)
    if step is not None:
        yield _moved(problem, P, step)


def _moved(problem: "OrthogonalProblem", P: Array, step: Array) -> Array:
    """Return the point after a step."""
    there = P + step
    if problem.nonnegative:
        # Supports are disjoint, so that only the lengths need correction.
        there = np.where(_free(problem, P) & (there > ZERO_ENTRY), there, 0.0)
        return there / np.maximum(np.linalg.norm(there, axis=0), 1e-300)
    return restored(problem, polar(there), 5)


def _step(
    problem: "OrthogonalProblem",
    P: Array,
    at: Stationarity,
    radius: float,
    *,
    keep: bool,
    corrected: tuple[Array, Array] | None = None,
) -> Array | None:
    """Return the step of one quadratic program.

    Parameters
    ----------
    keep : bool
        Whether curvature counts only along what keeps active terms active.
    corrected : pair of arrays, optional
        A step and the point it led to: terms are linear about P through their values
        there.
    """
    free = _free(problem, P).ravel()
    normal = normal_directions(P, diagonal=2.0)[:, free]
    T = _null_and_range(normal, int(free.sum()))[0]
    if not T.shape[1]:
        return None
    H, g = _model(problem, P, at, free, T, keep)
    D, Q = (np.zeros_like(P), P) if corrected is None else corrected
    n_forms, n_signs = int(len(problem.forms) > 0), len(problem.l1[1])
    count = T.shape[1]
    size = count + n_forms + n_signs
    # What is left of a constraint costs its price: steps must end on it.
    program = ConicProgram(size, accuracy=1e-13)
    unit = problem.slope

    def require(G: Array, above: Array, constant: Array) -> None:
        """Require <G_i, step> <= constant_i + above_i, with variables in `above`."""
        along = G.reshape(len(G), P.size)[:, free] @ T / unit
        program.add("nonnegative", np.hstack([-along, above]), constant / unit)

    if n_forms:
        values = problem.forms.values(P)
        chosen = near_the_largest(values, unit)
        G = 2.0 * problem.forms.images(P, chosen)
        there = problem.forms.values(Q)[chosen] - np.tensordot(G, D, 2)
        above = np.eye(1, n_forms + n_signs).repeat(len(chosen), axis=0)
        require(G, above, values.max() - there)
    B = problem.l1[0]
    r = problem.residuals(Q) - np.tensordot(B, D, 2)
    above = np.eye(n_signs, n_forms + n_signs, k=n_forms)
    require(np.vstack([B, -B]), np.vstack([above, above]), np.concatenate([-r, r]))
    G = problem.constraint_gradients(P)
    there = problem.constraint_values(Q) - np.tensordot(G, D, 2)
    require(G, np.zeros((len(G), n_forms + n_signs)), -there)
    if problem.nonnegative:
        F = np.hstack([T, np.zeros((len(T), n_forms + n_signs))])
        program.add("nonnegative", F, P.ravel()[free])
    ball = sparse.vstack([sparse.csr_array((1, size)), sparse.eye_array(count, size)])
    program.add("second-order", ball, np.append(radius, np.zeros(count)))
    curvature = np.zeros((size, size))
    curvature[:count, :count] = H / unit
    y = program.solve(np.append(g / unit, np.ones(n_forms + n_signs)), curvature).x
    y = y[:count]
    if not np.isfinite(y).all() or np.linalg.norm(y) > 2.0 * radius:
        return None
    out = np.zeros(P.size)
    out[free] = T @ y
    return out.reshape(P.shape)


def _free(problem: "OrthogonalProblem", P: Array) -> NDArray[np.bool_]:
    """Return which entries may move: all, or those of every row's own column."""
    if not problem.nonnegative:
        return np.ones(P.shape, dtype=bool)
    return np.argmax(P, axis=1)[:, None] == np.arange(P.shape[1])


def _model(
    problem: "OrthogonalProblem",
    P: Array,
    at: Stationarity,
    free: NDArray[np.bool_],
    T: Array,
    keep: bool,
) -> tuple[Array, Array]:
    """Return the Hessian of the Lagrangian, made positive, and the smooth gradient."""
    n, m = P.shape
    M = dense(problem.quadratic)
    if len(at.weights):
        M = M + problem.forms.combined(at.weights)
    for price, one in zip(at.prices, problem.constraints, strict=True):
        M = M + price * dense(one.quadratic)
    inner = P.T @ problem.lagrangian_gradient(P, at.weights, at.signs, at.prices)
    Lambda = (inner + inner.T) / 2.0
    H = np.kron(2.0 * M, np.eye(m)) - np.kron(np.eye(n), Lambda)
    H = T.T @ H[np.ix_(free, free)] @ T
    # What is active stays so: only steps that keep it feel the curvature, others a
    # large one in its place.
    J = _active_gradients(problem, P, at)[:, free] @ T
    J = J if keep else J[:0]
    keeping, leaving = _null_and_range(J, H.shape[0])
    values, vectors = np.linalg.eigh(keeping.T @ H @ keeping)
    top = max(problem.slope, float(np.abs(H).max()))
    turned = keeping @ vectors
    H = (turned * np.maximum(np.abs(values), 1e-8 * top)) @ turned.T
    smooth = problem.smooth.gradient(P)
    return H + top * leaving @ leaving.T, smooth.ravel()[free] @ T


def _active_gradients(
    problem: "OrthogonalProblem", P: Array, at: Stationarity
) -> Array:
    """Return gradients of what has a multiplier and is nearly active, one a row.

    Multipliers of least residual r also go to terms far from active, about r in size: a
    norm pays for that. What is active at a solution is within a distance of order r,
    what is not stays away, so the root of r separates them (Facchinei, Fischer and
    Kanzow, 1998).
    """
    near = np.sqrt(at.residual / problem.slope)
    rows = []
    if len(problem.forms):
        values = problem.forms.values(P)
        close = values.max() - values <= near * problem.slope
        chosen = np.flatnonzero((at.weights > INACTIVE) & close)
        images = problem.forms.images(P, chosen).reshape(len(chosen), -1)
        rows.append(images[1:] - images[:1])
    B = problem.l1[0]
    close = np.abs(problem.residuals(P)) <= near * np.linalg.norm(B, axis=(1, 2))
    inside = (np.abs(at.signs) < 1.0 - INACTIVE) & close
    rows.append(B[inside].reshape(-1, P.size))
    gradients = problem.constraint_gradients(P)
    lengths = np.linalg.norm(gradients, axis=(1, 2))
    close = np.abs(problem.constraint_values(P)) <= near * lengths
    close &= at.prices * lengths > INACTIVE * problem.slope
    rows.append(gradients[close].reshape(-1, P.size))
    return np.vstack(rows)


def _null_and_range(J: Array, size: int) -> tuple[Array, Array]:
    """Return orthonormal bases of the null space of J and of its complement."""
    if not len(J):
        return np.eye(size), np.zeros((size, 0))
    Q, R, _ = qr(J.T, mode="full", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > 1e-9 * max(float(diagonal.max()), 1e-300)).sum())
    return Q[:, rank:], Q[:, :rank]


# -----------------------------------------------------------------------------
# Nonnegative P: every row in one column, every column optimal on its rows.
# -----------------------------------------------------------------------------


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


def on_supports(problem: "OrthogonalProblem", labels: Indices) -> Array:
    """Return the P >= 0 of least value whose columns have the given rows as supports.

    Without a linear term, and where M has no positive entries beside its diagonal (a
    Laplacian), column j is the eigenvector of the smallest eigenvalue of M on its rows,
    which is nonnegative: exactly feasible and optimal for the labels. Else tangents of
    the quadratic are minimized over the nonnegative part of the sphere, from there.
    Rows whose entry is zero (parts of a column's rows that nothing joins) go to the
    column that gains most, until none gains.
    """
    P = np.zeros(problem.shape)
    labels, changed = labels.copy(), set(range(problem.shape[1]))
    M = problem.quadratic
    for _ in range(MOST_MOVES):
        for j in changed:
            rows = np.flatnonzero(labels == j)
            P[:, j] = 0.0
            part = None if problem.smooth.is_linear else M[rows][:, rows]
            P[rows, j] = _best_column(part, problem.linear[rows, j])
        empty = np.flatnonzero(P.max(axis=1) <= ZERO_ENTRY)
        if not len(empty):
            break
        gain = problem.smooth.gradient(P)[empty]
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


def _best_column(M: SymmetricMatrix, pull: Array) -> Array:
    """Return the p >= 0 of length one that minimizes p'Mp + pull'p."""
    count = len(pull)
    if M is None or count == 1:
        if not pull.any():
            return np.full(count, 1.0 / np.sqrt(count))
        p = np.maximum(-pull, 0.0)
        if not p.any():
            p[int(np.argmin(pull))] = 1.0
        return p / np.linalg.norm(p)
    p = np.abs(smallest_eigenpairs(M, 1)[1][:, 0])
    own = M.diagonal()
    beside = M - (sparse.diags_array(own) if sparse.issparse(M) else np.diag(own))
    if not pull.any() and not (beside > 0).sum():
        return p / np.linalg.norm(p)
    top = float(abs(M).sum(axis=1).max())
    for _ in range(SUPPORT_STEPS):
        there = np.maximum(2.0 * (top * p - M @ p) - pull, 0.0)
        length = float(np.linalg.norm(there))
        if not length > 0.0:
            break
        moved = float(np.linalg.norm(there / length - p))
        p = there / length
        if moved <= 1e-13:
            break
    return p / np.linalg.norm(p)
