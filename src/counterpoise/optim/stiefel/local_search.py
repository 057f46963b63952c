"""Local search over orthonormal matrices: descent, polishing, supports."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import dense, polar, smallest_eigenpairs, tangent
from counterpoise.optim.stiefel.certificates import (
    ZERO_ENTRY,
    Stationarity,
    near_the_largest,
)
from counterpoise.optim.stiefel.relaxations import ConicRows

# -----------------------------------------------------------------------------
# Newton steps by conjugate gradients along the frames, for smooth problems.
# -----------------------------------------------------------------------------


LARGEST_RADIUS = 1.0


def descend(problem: Any, P: Array, tol: float, steps: int = 200) -> Array:
    """Return a frame with a gradient of at most `tol`, by a trust region, if it can.

    For smooth problems without constraints. A step solves the model of second order by
    conjugate gradients (Steihaug) within a radius and retracts by the polar factor; the
    value never rises. O(n^2 m) a product.

    With E the way from one frame to another, E'P + P'E = -E'E, and the value changes by
    <g, E> + <E, M E> - <E, E Lambda> / 2, exactly. The terms are as small as their sum,
    unlike the two values, whose difference is lost in rounding near the end.
    """
    radius = 0.1 * LARGEST_RADIUS * np.sqrt(P.shape[1])
    for _ in range(steps):
        G = problem.smooth_gradient(P)
        inner = P.T @ G
        Lambda = (inner + inner.T) / 2.0
        # Projected twice: near the end what rounding leaves across the frames is not
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
        ratio = _fall(g, way, _bent(problem, Lambda, way)) / decrease
        if ratio < 0.1:
            radius = 0.25 * min(radius, float(np.linalg.norm(step)))
            if radius < 1e-14:
                break
            continue
        P = there
        if ratio > 0.75:
            radius = min(2.0 * radius, LARGEST_RADIUS * np.sqrt(P.shape[1]))
    return P


def _bent(problem: Any, Lambda: Array, D: Array) -> Array:
    """Return 2 M D - D Lambda."""
    if problem.quadratic is None:
        return -D @ Lambda
    return 2.0 * np.asarray(problem.quadratic @ D) - D @ Lambda


def _fall(g: Array, D: Array, image: Array) -> float:
    """Return by how much the model of second order falls along D."""
    return -float(np.sum(g * D) + 0.5 * np.sum(D * image))


def _steihaug(
    problem: Any, P: Array, Lambda: Array, g: Array, radius: float
) -> tuple[Array, float]:
    """Return a step within the radius, and by how much the model falls."""
    size = float(np.linalg.norm(g))
    D, HD = np.zeros_like(g), np.zeros_like(g)
    rest, direction = g.copy(), -g
    square = size * size
    flat = 1e-14 * problem.slope
    # More than a double can hold is not asked for.
    enough = size * min(0.1, max(size / problem.slope, 1e-8))
    for _ in range(2 * g.size):
        image = tangent(P, _bent(problem, Lambda, direction))
        bend = float(np.sum(direction * image))
        length = float(np.sum(direction * direction))
        along = float(np.sum(D * direction))
        room = radius * radius - float(np.sum(D * D))
        furthest = (-along + np.sqrt(along * along + length * room)) / length
        step = furthest if bend <= flat * length else square / bend
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
    return D, _fall(g, D, HD)


# -----------------------------------------------------------------------------
# From a frame near a stationary one to it: sequential quadratic programmes.
# -----------------------------------------------------------------------------


# Hessians are stored whole; frames of more entries are left as they are.
NEWTON_ENTRIES = 400
NEWTON_STEPS = 20
# Multipliers below this share of their unit belong to nothing active.
INACTIVE = 1e-6
# No step goes further than this.
LONGEST_STEP, SHORTEST_RADIUS = 0.3, 1e-4


def restored(problem: Any, P: Array, steps: int = 15) -> Array:
    """Return a frame near P that keeps the constraints, if Gauss-Newton finds one.

    Shortest steps along the frames onto all constraints that have been violated so far;
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
        gradients = [
            one.gradient(P)
            for one, out in zip(problem.constraints, violated, strict=True)
            if out
        ]
        J = tangent(P, np.stack(gradients)).reshape(int(violated.sum()), -1)
        step = np.linalg.lstsq(J, -values[violated], rcond=1e-10)[0]
        length = float(np.linalg.norm(step))
        P = polar(P + (step * min(1.0, 1.0 / max(length, 1e-300))).reshape(P.shape))
        if problem.infeasibility(P) < least:
            best, least = P, problem.infeasibility(P)
    return best


def polished(problem: Any, P: Array) -> Array:
    """Return a frame that is no worse and nearer to stationary, or P itself.

    Every step minimises the Lagrangian's second-order model, its eigenvalues made
    positive, over steps along the frames that keep the linearised forms, absolute
    values and constraints: what is active finds itself. Rows of a non-negative frame
    keep their column. No step raises the value; of several, one that halves the
    residual is taken, else the lowest.
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
        found = None
        for there in _candidates(problem, P, at, radius):
            then = problem.value(there)
            if then > value + noise or problem.infeasibility(there) > outside:
                continue
            fresh = problem.stationarity(there)
            if fresh.residual >= at.residual and then >= value - 1e-9 * problem.slope:
                continue
            if found is None or then < found[2]:
                found = there, fresh, then
            if fresh.residual <= 0.5 * at.residual:
                found = there, fresh, then
                break
        if found is None:
            radius /= 4.0
        else:
            P, at, value = found[0], found[1], min(value, found[2])
    return P


def _candidates(
    problem: Any, P: Array, at: Stationarity, radius: float
) -> Iterator[Array]:
    """Yield frames to go to: Newton's, the same corrected, one that surely descends.

    The correction takes into account how far the terms have bent at Newton's frame.
    """
    step = _step(problem, P, at, radius, keep=True)
    if step is not None:
        there = _moved(problem, P, step)
        yield there
        if not problem.is_smooth or problem.constraints:
            second = _step(problem, P, at, radius, keep=True, bent=(step, there))
            if second is not None:
                yield _moved(problem, P, second)
    step = _step(problem, P, at, radius, keep=False)
    if step is not None:
        yield _moved(problem, P, step)


def _moved(problem: Any, P: Array, step: Array) -> Array:
    """Return the frame after a step."""
    there = P + step
    if problem.nonnegative:
        # Supports are apart, so that lengths are all that is to be put right.
        there = np.where(_free(problem, P) & (there > ZERO_ENTRY), there, 0.0)
        return there / np.maximum(np.linalg.norm(there, axis=0), 1e-300)
    return restored(problem, polar(there), 5)


def _step(
    problem: Any,
    P: Array,
    at: Stationarity,
    radius: float,
    *,
    keep: bool,
    bent: tuple[Array, Array] | None = None,
) -> Array | None:
    """Return the step of one quadratic programme.

    Parameters
    ----------
    keep : bool
        Whether curvature counts only along what keeps active terms active.
    bent : pair of arrays, optional
        A step and the frame it led to: terms are linear about P through their values
        there.
    """
    n, m = P.shape
    free = _free(problem, P).ravel()
    T = _tangent_basis(P, free)
    if not T.shape[1]:
        return None
    H, g = _model(problem, P, at, free, T, keep)
    D, Q = (np.zeros_like(P), P) if bent is None else bent
    forms = problem.forms is not None
    count = T.shape[1]
    signs = 0 if problem.l1 is None else len(problem.l1[1])
    size = count + forms + signs
    # What is left of a constraint costs its price: steps must end on it.
    rows = ConicRows(size, accuracy=1e-13)
    unit = problem.slope
    q = np.zeros(size)
    q[:count] = g / unit
    q[count:] = 1.0

    def along(G: Array) -> Array:
        return G.reshape(len(G), -1)[:, free] @ T / unit

    if forms:
        values = problem.forms.values(P)
        chosen = near_the_largest(values, unit)
        gradients = 2.0 * problem.forms.images(P, chosen)
        there = problem.forms.values(Q)[chosen] - np.tensordot(gradients, D, 2)
        F = np.zeros((len(chosen), size))
        F[:, :count], F[:, count] = -along(gradients), 1.0
        rows.cone("nonnegative", F, (values.max() - there) / unit)
    if signs:
        part = along(problem.l1[0])
        r = (problem.residuals(Q) - np.tensordot(problem.l1[0], D, 2)) / unit
        F = np.zeros((2 * signs, size))
        F[:signs, :count], F[signs:, :count] = -part, part
        F[:, count + forms :] = np.vstack([np.eye(signs), np.eye(signs)])
        rows.cone("nonnegative", F, np.concatenate([-r, r]))
    if problem.constraints:
        gradients = np.stack([one.gradient(P) for one in problem.constraints])
        there = problem.constraint_values(Q) - np.tensordot(gradients, D, 2)
        F = np.zeros((len(gradients), size))
        F[:, :count] = -along(gradients)
        rows.cone("nonnegative", F, -there / unit)
    if problem.nonnegative:
        F = np.zeros((int(free.sum()), size))
        F[:, :count] = T
        rows.cone("nonnegative", F, P.ravel()[free])
    ball = sparse.vstack([sparse.csr_array((1, size)), sparse.eye_array(count, size)])
    rows.cone("second-order", ball, np.append(radius, np.zeros(count)))
    curvature = np.zeros((size, size))
    curvature[:count, :count] = H / unit
    y = rows.solve(q, curvature).x[:count]
    if not np.isfinite(y).all() or np.linalg.norm(y) > 2.0 * radius:
        return None
    out = np.zeros(n * m)
    out[free] = T @ y
    return out.reshape(n, m)


def _free(problem: Any, P: Array) -> Any:
    """Return which entries may move: all, or those of every row's own column."""
    if not problem.nonnegative:
        return np.ones(P.shape, dtype=bool)
    return np.argmax(P, axis=1)[:, None] == np.arange(P.shape[1])


def _tangent_basis(P: Array, free: Any) -> Array:
    """Return an orthonormal basis of the steps along the frames, on free entries."""
    n, m = P.shape
    normals = []
    for j in range(m):
        for k in range(j + 1):
            part = np.zeros((n, m))
            part[:, j] += P[:, k]
            part[:, k] += P[:, j]
            normals.append(part.ravel()[free])
    return _null_and_range(np.stack(normals), int(free.sum()))[0]


def _model(
    problem: Any, P: Array, at: Stationarity, free: Any, T: Array, keep: bool
) -> tuple[Array, Array]:
    """Return the Hessian of the Lagrangian, made positive, and the smooth gradient."""
    n, m = P.shape
    smooth = problem.smooth_gradient(P)
    M = np.zeros((n, n)) if problem.quadratic is None else dense(problem.quadratic)
    G = smooth
    if problem.forms is not None:
        G = G + 2.0 * problem.forms.pull(at.weights, P)
        M = M + problem.forms.combined(at.weights)
    if problem.l1 is not None:
        G = G + np.tensordot(at.signs, problem.l1[0], 1)
    for price, one in zip(at.prices, problem.constraints, strict=True):
        G = G + price * one.gradient(P)
        if one.quadratic is not None:
            M = M + price * dense(one.quadratic)
    inner = P.T @ G
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
    return H + top * leaving @ leaving.T, smooth.ravel()[free] @ T


def _active_gradients(problem: Any, P: Array, at: Stationarity) -> Array:
    """Return gradients of what has a multiplier and is nearly active, one a row.

    Multipliers of least residual r also go to terms far from active, about r in size: a
    norm pays for that. What is active at a solution is within a distance of order r,
    what is not stays away, so the root of r tells them apart (Facchinei, Fischer and
    Kanzow, 1998).
    """
    rows = [np.zeros((0, P.size))]
    near = np.sqrt(at.residual / problem.slope)
    if problem.forms is not None:
        values = problem.forms.values(P)
        close = values.max() - values <= near * problem.slope
        chosen = np.flatnonzero((at.weights > INACTIVE) & close)
        images = problem.forms.images(P, chosen).reshape(len(chosen), -1)
        rows.append(images[1:] - images[:1])
    if problem.l1 is not None:
        lengths = np.linalg.norm(problem.l1[0], axis=(1, 2))
        close = np.abs(problem.residuals(P)) <= near * lengths
        inside = (np.abs(at.signs) < 1.0 - INACTIVE) & close
        rows.append(problem.l1[0][inside].reshape(-1, P.size))
    for price, one in zip(at.prices, problem.constraints, strict=True):
        gradient = one.gradient(P)
        length = float(np.linalg.norm(gradient))
        close = abs(one.value(P)) <= near * length
        if close and price * length > INACTIVE * problem.slope:
            rows.append(gradient.reshape(1, -1))
    return np.vstack(rows)


def _null_and_range(J: Array, size: int) -> tuple[Array, Array]:
    """Return orthonormal bases of the directions that J sends to zero, and the rest."""
    if not len(J):
        return np.eye(size), np.zeros((size, 0))
    Q, R, _ = qr(J.T, mode="full", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > 1e-9 * max(float(diagonal.max()), 1e-300)).sum())
    return Q[:, rank:], Q[:, :rank]


# -----------------------------------------------------------------------------
# Non-negative frames: every row in one column, every column best on its rows.
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
