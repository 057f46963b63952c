"""From a frame near a stationary one to it: Newton steps on what is active."""

from typing import Any

import numpy as np
from scipy.linalg import qr

from counterpoise.convex.orthogonal.spectrum import dense
from counterpoise.convex.orthogonal.stationarity import ZERO_ENTRY, Stationarity
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import polar, tangent

# Newton systems are stored whole; frames of more entries are left as they are.
NEWTON_ENTRIES = 600
NEWTON_STEPS = 12
# Multipliers below this share of their unit belong to nothing active.
INACTIVE = 1e-6
# No Newton step goes further than this.
LONGEST_STEP = 0.5


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
    """Return a frame that is no worse and nearer to stationary, by Newton's method.

    Forms, absolute values, constraints and zero entries that have a multiplier are kept
    active; on what is left, the Lagrangian's Hessian with absolute eigenvalues gives
    the step. A step counts if the frame stays feasible and the value does not rise.
    """
    if P.size > NEWTON_ENTRIES:
        return P
    value, outside = problem.value(P), problem.infeasibility(P)
    now = problem.stationarity(P)
    for _ in range(NEWTON_STEPS):
        if now.residual <= 1e-11 * problem.slope:
            break
        step = _newton_step(problem, P, now)
        if step is None:
            break
        for shorter in (1.0, 0.5, 0.1):
            there = _moved(problem, P, shorter * step)
            noise = 1e-13 * max(abs(value), problem.slope)
            keeps = problem.infeasibility(there) <= max(outside, 1e-10)
            if keeps and problem.value(there) <= value + noise:
                break
        else:
            break
        then = problem.stationarity(there)
        gain = value - problem.value(there)
        if then.residual >= now.residual and gain <= 1e-9 * problem.slope:
            break
        P, now = there, then
        value, outside = problem.value(P), problem.infeasibility(P)
    return P


def _moved(problem: Any, P: Array, step: Array) -> Array:
    """Return the frame after a step."""
    there = P + step
    if problem.nonnegative:
        # Supports are apart, so that lengths are all that is to be put right.
        there = np.where(P > ZERO_ENTRY, there, 0.0)
        return there / np.maximum(np.linalg.norm(there, axis=0), 1e-300)
    return restored(problem, polar(there), 5)


def _newton_step(problem: Any, P: Array, at: Stationarity) -> Array | None:
    """Return the step of Newton's method on the active terms."""
    n, m = P.shape
    free = (P > ZERO_ENTRY).ravel() if problem.nonnegative else np.ones(n * m, bool)
    G, M = _lagrangian_at(problem, P, at)
    inner = P.T @ G
    Lambda = (inner + inner.T) / 2.0
    H = np.kron(2.0 * M, np.eye(m)) - np.kron(np.eye(n), Lambda)
    rows, lacking = _active(problem, P, at)
    for j in range(m):
        for k in range(j + 1):
            part = np.zeros((n, m))
            part[:, j] += P[:, k]
            part[:, k] += P[:, j]
            rows.append(part.ravel())
            lacking.append(0.0)
    J, h = np.stack(rows)[:, free], np.array(lacking)
    H, g = H[np.ix_(free, free)], (G - P @ Lambda).ravel()[free]
    Q, R, _ = qr(J.T, mode="full", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int((size > 1e-9 * max(float(size.max()), 1e-300)).sum())
    Z = Q[:, rank:]
    onto = np.linalg.lstsq(J, -h, rcond=1e-10)[0]
    step = onto
    if Z.shape[1]:
        values, vectors = np.linalg.eigh(Z.T @ H @ Z)
        floor = 1e-8 * max(problem.slope, float(np.abs(values).max()))
        y = vectors.T @ (Z.T @ (g + H @ onto))
        step = onto - Z @ (vectors @ (y / np.maximum(np.abs(values), floor)))
    if not np.isfinite(step).all():
        return None
    length = float(np.linalg.norm(step))
    out = np.zeros(n * m)
    out[free] = step * min(1.0, LONGEST_STEP / max(length, 1e-300))
    return out.reshape(n, m)


def _lagrangian_at(problem: Any, P: Array, at: Stationarity) -> tuple[Array, Array]:
    """Return gradient and matrix of the Lagrangian at P."""
    n = len(P)
    G = problem.smooth_gradient(P)
    M = np.zeros((n, n)) if problem.quadratic is None else dense(problem.quadratic)
    if problem.forms is not None:
        G = G + 2.0 * problem.forms.pull(at.weights, P)
        M = M + problem.forms.combined(at.weights)
    if problem.l1 is not None:
        G = G + np.tensordot(at.signs, problem.l1[0], 1)
    for price, one in zip(at.prices, problem.constraints, strict=True):
        G = G + price * one.gradient(P)
        if one.quadratic is not None:
            M = M + price * dense(one.quadratic)
    return G, M


def _active(
    problem: Any, P: Array, at: Stationarity
) -> tuple[list[Array], list[float]]:
    """Return gradients and values of what must become zero."""
    rows: list[Array] = []
    lacking: list[float] = []
    if problem.forms is not None:
        chosen = np.flatnonzero(at.weights > INACTIVE)
        values = problem.forms.values(P)
        images = 2.0 * problem.forms.images(P, chosen)
        for k in range(1, len(chosen)):
            rows.append((images[k] - images[0]).ravel())
            lacking.append(float(values[chosen[k]] - values[chosen[0]]))
    if problem.l1 is not None:
        r = problem.residuals(P)
        for i in np.flatnonzero(np.abs(at.signs) < 1.0 - INACTIVE):
            rows.append(problem.l1[0][i].ravel())
            lacking.append(float(r[i]))
    unit = problem.slope
    for price, one in zip(at.prices, problem.constraints, strict=True):
        gradient = one.gradient(P)
        if price * float(np.linalg.norm(gradient)) > INACTIVE * unit:
            rows.append(gradient.ravel())
            lacking.append(one.value(P))
    return rows, lacking
