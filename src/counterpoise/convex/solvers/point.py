"""A point with all that a method knows there, and the steps that lead from it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.newton_direction import DIRECT, newton_direction
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class Point:
    """A feasible point, its value, and its image where the objective has one."""

    x: Array
    value: float
    image: Array | None


def evaluate(objective: Any, x: Array, image: Array | None = None) -> Point:
    """Return the point x with its value; an image at hand saves a product."""
    if not hasattr(objective, "image"):
        return Point(x, float(objective.value(x)), None)
    if image is None:
        image = objective.image(x)
    return Point(x, float(objective.value_at(x, image)), image)


def gradient_of(objective: Any, point: Point) -> Array:
    """Return the gradient at the point."""
    if point.image is None:
        out: Array = objective.gradient(point.x)
    else:
        out = objective.gradient_at(point.x, point.image)
    if math.isfinite(point.value) and not np.isfinite(out).all():
        k = int(np.argmax(~np.isfinite(out)))
        raise ValueError(
            f"the gradient of {type(objective).__name__} is {out[k]} at entry {k}, "
            f"where x is {point.x[k]:g} and the value finite: keep x off that edge, "
            "for example by Box(1e-9, ...)"
        )
    return out


def image_of(objective: Any, direction: Array) -> Array | None:
    """Return the image of a direction, if the objective has images."""
    return objective.image(direction) if hasattr(objective, "image") else None


def shifted(
    objective: Any, point: Point, direction: Array, image: Array | None, step: float
) -> Point:
    """Return the point after a step; `image` is that of the direction."""
    moved = None
    if point.image is not None and image is not None:
        moved = point.image + step * image
    return evaluate(objective, point.x + step * direction, moved)


def exact_step(
    objective: Any, point: Point, direction: Array, image: Array | None, limit: float
) -> float:
    """Return the best step in [0, limit]."""
    images = None if image is None else (point.image, image)
    return float(objective.along(point.x, direction, limit, images))


def armijo_step(
    objective: Any,
    point: Point,
    direction: Array,
    image: Array | None,
    limit: float,
    slope: float,
    reference: float | None = None,
) -> float:
    """Return the first of limit, limit/2, ... that lowers the value enough.

    Enough is a ten-thousandth of `step * slope`, the fall that the gradient predicts,
    below the value at the point (or `reference`), up to rounding of that value. 0 if no
    step does so.
    """
    ceiling = point.value if reference is None else reference
    ceiling += 2e-16 * max(1.0, abs(ceiling))
    step = limit
    while step > 1e-16 * limit:
        value = shifted(objective, point, direction, image, step).value
        if math.isfinite(value) and value <= ceiling - 1e-4 * step * slope:
            return step
        step *= 0.5
    return 0.0


def descend(
    objective: Any, point: Point, gradient: Array, direct: int = DIRECT
) -> Point:
    """Return the point after one damped Newton step; itself if none goes down."""
    rtol = min(0.1, float(np.linalg.norm(gradient)))
    direction = newton_direction(objective, point.x, gradient, rtol, direct)
    slope = -float(gradient @ direction)
    if not slope > 0.0:
        return point
    length = 1.0
    # Below this a line search would only see rounding; Newton's step is right.
    if slope > 1e-10 * max(1.0, abs(point.value)):
        image = image_of(objective, direction)
        length = armijo_step(objective, point, direction, image, 1.0, slope)
    if not length > 0.0:
        return point
    return evaluate(objective, point.x + length * direction)


def few_atoms(problem: Any) -> Array:
    """Return a start that is a single vertex if the objective allows it.

    A problem's own start may be a mixture of all atoms; a method that keeps the
    atoms of its point wants few of them. A vertex whose gap is far larger than that
    of the start lies at the edge of where the objective is defined, and is not taken.
    """
    start: Array = problem.start()
    if np.count_nonzero(start) < 0.5 * start.size:
        return start
    vertex: Array = problem.domain.vertex(problem.objective.gradient(start))
    there, here = problem.certify(vertex), problem.certify(start)
    # A gap in nats hides how steep a point is; its residual does not.
    far, near = there.residual or there.gap, here.residual or here.gap
    return vertex if far <= 1e3 * near else start


def claimed(problem: Any, x: Array) -> tuple[Point, Array, Certificate]:
    """Return the point x, its gradient, and what they prove."""
    point = evaluate(problem.objective, x)
    gradient = gradient_of(problem.objective, point)
    return point, gradient, problem.judge(x, point.value, gradient)


def near_point(problem: Any, v: Array, step: float) -> Array:
    """Return the prox of the penalty at v, or the projection on the domain."""
    out: Array
    if hasattr(problem, "penalty"):
        out = problem.penalty.prox(v, step)
    else:
        out = problem.domain.project(v)
    return out
