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
