"""Newton steps by conjugate gradients along the frames, for smooth problems."""

from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import polar, tangent

LARGEST_RADIUS = 1.0


def descend(problem: Any, P: Array, tol: float, steps: int = 200) -> Array:
    """Return a frame with a gradient of at most `tol`, by a trust region, if it can.

    For smooth problems without constraints. A step solves the model of second order by
    conjugate gradients (Steihaug) within a radius and retracts by the polar factor; the
    value never rises. O(n^2 m) a product.
    """
    value = problem.value(P)
    radius = 0.1 * LARGEST_RADIUS * np.sqrt(P.shape[1])
    noise = 1e-15 * max(problem.slope, abs(value))
    for _ in range(steps):
        G = problem.smooth_gradient(P)
        inner = P.T @ G
        Lambda = (inner + inner.T) / 2.0
        g = G - P @ Lambda
        size = float(np.linalg.norm(g))
        if size <= tol:
            break
        step, decrease = _steihaug(problem, P, Lambda, g, radius)
        there = polar(P + step)
        then = problem.value(there)
        ratio = (value - then + noise) / (decrease + noise)
        if ratio < 0.1:
            radius = 0.25 * min(radius, float(np.linalg.norm(step)))
            if radius < 1e-14:
                break
            continue
        P, value = there, min(then, value)
        if ratio > 0.75:
            radius = min(2.0 * radius, LARGEST_RADIUS * np.sqrt(P.shape[1]))
    return P


def _steihaug(
    problem: Any, P: Array, Lambda: Array, g: Array, radius: float
) -> tuple[Array, float]:
    """Return a step within the radius, and by how much the model falls."""

    def curved(D: Array) -> Array:
        image = np.zeros_like(D)
        if problem.quadratic is not None:
            image = 2.0 * np.asarray(problem.quadratic @ D)
        return tangent(P, image - D @ Lambda)

    def model(D: Array, image: Array) -> float:
        return -float(np.sum(g * D) + 0.5 * np.sum(D * image))

    size = float(np.linalg.norm(g))
    D, HD = np.zeros_like(g), np.zeros_like(g)
    rest, direction = g.copy(), -g
    square = size * size
    for _ in range(2 * g.size):
        image = curved(direction)
        bend = float(np.sum(direction * image))
        length = float(np.sum(direction * direction))
        along = float(np.sum(D * direction))
        room = radius * radius - float(np.sum(D * D))
        furthest = (-along + np.sqrt(along * along + length * room)) / length
        step = furthest if bend <= 1e-14 * length else square / bend
        if step >= furthest:
            D, HD = D + furthest * direction, HD + furthest * image
            break
        D, HD = D + step * direction, HD + step * image
        rest = rest + step * image
        fresh = float(np.sum(rest * rest))
        if np.sqrt(fresh) <= size * min(0.1, size / problem.slope):
            break
        direction = -rest + (fresh / square) * direction
        square = fresh
    return D, model(D, HD)
