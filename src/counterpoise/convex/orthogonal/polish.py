"""From a frame near a stationary one to it: sequential quadratic programmes."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from counterpoise.convex.orthogonal.relaxations.conic_rows import ConicRows
from counterpoise.convex.orthogonal.spectrum import dense
from counterpoise.convex.orthogonal.stationarity import (
    ZERO_ENTRY,
    Stationarity,
    near_the_largest,
)
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import polar, tangent

# Hessians are stored whole; frames of more entries are left as they are.
NEWTON_ENTRIES = 400
NEWTON_STEPS = 12
# No step goes further than this.
LONGEST_STEP = 0.3


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
    keep their column. A step may raise the value on the way (Maratos); what is returned
    does not.
    """
    if P.size > NEWTON_ENTRIES:
        return P
    at = problem.stationarity(P)
    best, least = P, at.residual
    highest = problem.value(P)
    highest += 1e-13 * max(abs(highest), problem.slope)
    outside = max(problem.infeasibility(P), 1e-10)
    here, radius, idle = P, LONGEST_STEP, 0
    for _ in range(NEWTON_STEPS):
        if least <= 1e-11 * problem.slope or idle >= 3:
            break
        found = _step(problem, here, at, radius)
        if found is None:
            break
        here = _moved(problem, here, found)
        at = problem.stationarity(here)
        lower = problem.value(here) <= highest
        if lower and problem.infeasibility(here) <= outside and at.residual < least:
            best, least, idle = here, at.residual, 0
        else:
            idle += 1
            radius /= 4.0
            if not lower:
                here, at = best, problem.stationarity(best)
    return best


def _moved(problem: Any, P: Array, step: Array) -> Array:
    """Return the frame after a step."""
    there = P + step
    if problem.nonnegative:
        # Supports are apart, so that lengths are all that is to be put right.
        there = np.where(_free(problem, P) & (there > ZERO_ENTRY), there, 0.0)
        return there / np.maximum(np.linalg.norm(there, axis=0), 1e-300)
    return restored(problem, polar(there), 5)


def _step(problem: Any, P: Array, at: Stationarity, radius: float) -> Array | None:
    """Return the step of one quadratic programme."""
    n, m = P.shape
    free = _free(problem, P).ravel()
    T = _tangent_basis(P, free)
    if not T.shape[1]:
        return None
    H, g = _model(problem, P, at, free, T)
    forms = problem.forms is not None
    count = T.shape[1]
    signs = 0 if problem.l1 is None else len(problem.l1[1])
    size = count + forms + signs
    rows = ConicRows(size)
    unit = problem.slope
    q = np.zeros(size)
    q[:count] = g / unit
    q[count:] = 1.0

    def along(G: Array) -> Array:
        return G.reshape(len(G), -1)[:, free] @ T / unit

    if forms:
        values = problem.forms.values(P)
        chosen = near_the_largest(values, unit)
        part = along(2.0 * problem.forms.images(P, chosen))
        F = np.zeros((len(chosen), size))
        F[:, :count], F[:, count] = -part, 1.0
        rows.cone("nonnegative", F, (values.max() - values[chosen]) / unit)
    if signs:
        part, r = along(problem.l1[0]), problem.residuals(P) / unit
        F = np.zeros((2 * signs, size))
        F[:signs, :count], F[signs:, :count] = -part, part
        F[:, count + forms :] = np.vstack([np.eye(signs), np.eye(signs)])
        rows.cone("nonnegative", F, np.concatenate([-r, r]))
    if problem.constraints:
        part = along(np.stack([one.gradient(P) for one in problem.constraints]))
        F = np.zeros((len(part), size))
        F[:, :count] = -part
        rows.cone("nonnegative", F, -problem.constraint_values(P) / unit)
    if problem.nonnegative:
        F = np.zeros((int(free.sum()), size))
        F[:, :count] = T
        rows.cone("nonnegative", F, P.ravel()[free])
    ball = sparse.vstack([sparse.csr_array((1, size)), sparse.eye_array(count, size)])
    rows.cone("second-order", ball, np.append(radius, np.zeros(count)))
    Q = np.zeros((size, size))
    Q[:count, :count] = H / unit
    y = rows.solve(q, Q).x[:count]
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
    Q, R, _ = qr(np.stack(normals).T, mode="full", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int((size > 1e-9 * max(float(size.max()), 1e-300)).sum())
    return Q[:, rank:]


def _model(
    problem: Any, P: Array, at: Stationarity, free: Any, T: Array
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
    values, vectors = np.linalg.eigh(T.T @ H[np.ix_(free, free)] @ T)
    floor = 1e-8 * max(problem.slope, float(np.abs(values).max()))
    H = (vectors * np.maximum(np.abs(values), floor)) @ vectors.T
    return H, smooth.ravel()[free] @ T
