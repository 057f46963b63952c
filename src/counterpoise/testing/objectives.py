"""What an objective must satisfy."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from counterpoise.numerics.arrays import Array


def check_objective(objective: Any, points: Array, rtol: float = 1e-5) -> None:
    """Check an objective at points where it is finite.

    The gradient equals central differences, the function is convex on the segments
    between the points, and every capability that the objective has agrees with its
    `value` and `gradient`.

    Parameters
    ----------
    objective : Objective
    points : array of shape (k, n)
        At least two points at which the value is finite.
    rtol : float
        Relative tolerance of differences.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import Quadratic
    >>> from counterpoise.testing import check_objective
    >>> check_objective(Quadratic(np.eye(3), np.ones(3)), np.eye(3))
    """
    points = np.atleast_2d(np.asarray(points, dtype=float))
    assert len(points) >= 2, "at least two points are needed"
    values = [objective.value(x) for x in points]
    assert np.isfinite(values).all(), "the value must be finite at the given points"
    for x in points:
        _check_gradient(objective, x, rtol)
    for x, y in pairwise(points):
        _check_convex(objective, x, y)
    for name, check in _CAPABILITY_CHECKS.items():
        if hasattr(objective, name):
            check(objective, points, rtol)


def _check_gradient(objective: Any, x: Array, rtol: float) -> None:
    gradient = objective.gradient(x)
    assert gradient.shape == x.shape, "the gradient must have the shape of the point"
    assert np.isfinite(gradient).all(), "the gradient must be finite where the value is"
    slopes = _differences(lambda y: objective.value(y), x)
    size = max(1.0, float(np.abs(gradient).max()))
    np.testing.assert_allclose(
        gradient,
        slopes,
        rtol=rtol,
        atol=rtol * size,
        err_msg="the gradient (ACTUAL) and central differences (DESIRED)",
    )


def _differences(function: Any, x: Array) -> Array:
    """Return central differences with a step that keeps the function finite."""
    out = []
    for i in range(x.size):
        step = 1e-6 * max(1.0, abs(float(x[i])))
        for _ in range(40):
            low, high = x.copy(), x.copy()
            low[i] -= step
            high[i] += step
            a, b = function(low), function(high)
            if np.isfinite(a).all() and np.isfinite(b).all():
                break
            step *= 0.5
        out.append((b - a) / (2.0 * step))
    return np.array(out)


def _check_convex(objective: Any, x: Array, y: Array) -> None:
    a, b = objective.value(x), objective.value(y)
    for share in (0.1, 0.5, 0.8):
        between = objective.value((1 - share) * x + share * y)
        chord = (1 - share) * a + share * b
        slack = 1e-10 * max(1.0, abs(a), abs(b))
        assert between <= chord + slack, f"not convex: {between} above {chord}"


def _check_image(objective: Any, points: Array, rtol: float) -> None:
    x, y = points[0], points[1]
    both = objective.image(2.0 * x - 3.0 * y)
    apart = 2.0 * objective.image(x) - 3.0 * objective.image(y)
    np.testing.assert_allclose(both, apart, rtol=1e-9, atol=1e-9 * np.abs(apart).max())
    image = objective.image(x)
    assert math.isclose(objective.value_at(x, image), objective.value(x), rel_tol=1e-12)
    np.testing.assert_allclose(
        objective.gradient_at(x, image), objective.gradient(x), rtol=1e-12
    )


def _check_along(objective: Any, points: Array, rtol: float) -> None:
    x, y = points[0], points[1]
    for direction in (y - x, x - y, -objective.gradient(x)):
        for limit in (0.3, 1.0):
            step = objective.along(x, direction, limit)
            assert 0.0 <= step <= limit, f"a step of {step} is outside [0, {limit}]"
            found = objective.value(x + step * direction)

            def value(t: float, d: Array = direction) -> float:
                here = objective.value(x + t * d)
                return float(here) if math.isfinite(here) else 1e300

            best = minimize_scalar(
                value, bounds=(0.0, limit), method="bounded", options={"xatol": 1e-10}
            ).fun
            best = min(best, value(0.0), value(limit))
            slack = 1e-9 * max(1.0, abs(best))
            assert found <= best + slack, f"along: {found} where {best} is possible"


def _check_columns(objective: Any, points: Array, rtol: float) -> None:
    n = points.shape[1]
    some = np.unique([0, n // 2, n - 1])
    columns = objective.columns(some)
    for k, i in enumerate(some):
        unit = np.zeros(n)
        unit[i] = 1.0
        np.testing.assert_allclose(columns[:, k], objective.image(unit), rtol=1e-12)


def _check_model(objective: Any, points: Array, rtol: float) -> None:
    x = points[0]
    every = np.arange(x.size)
    slopes, bend = objective.model(every, objective.columns(every), objective.image(x))
    np.testing.assert_allclose(slopes, objective.gradient(x), rtol=1e-9, atol=1e-12)
    turned = _differences(objective.gradient, x)
    size = max(1.0, float(np.abs(bend).max()))
    np.testing.assert_allclose(bend, turned, rtol=10 * rtol, atol=10 * rtol * size)


def _check_distinct(objective: Any, points: Array, rtol: float) -> None:
    every = np.arange(points.shape[1])
    first = objective.distinct(every, 1, 0.5)
    assert first.tolist() == [0], "the first candidate must be taken"
    all_of_them = objective.distinct(every, every.size, 1.0 + 1e-9)
    assert all_of_them.tolist() == every.tolist(), "nothing is more alike than equal"
    few = objective.distinct(every, every.size, -2.0)
    assert few.tolist() == [0], "everything is more alike than that"


def _check_prox(objective: Any, points: Array, rtol: float) -> None:
    for step in (0.01, 1.0, 100.0):
        v = points[0]
        x = objective.prox(v, step)
        pull = objective.gradient(x) + (x - v) / step
        size = max(1.0, float(np.abs(objective.gradient(v)).max()))
        assert np.abs(pull).max() <= 1e-8 * size, "prox is not stationary"


def _check_blocks(objective: Any, points: Array, rtol: float) -> None:
    x = points[0]
    shares, values, slopes = [], [], []
    for share, block in objective.blocks(3):
        shares.append(share)
        values.append(share * block.value(x))
        slopes.append(share * block.gradient(x))
    assert math.isclose(sum(shares), 1.0, rel_tol=1e-12), "shares must sum to one"
    assert math.isclose(sum(values), objective.value(x), rel_tol=1e-10, abs_tol=1e-12)
    np.testing.assert_allclose(
        sum(slopes), objective.gradient(x), rtol=1e-9, atol=1e-12
    )


def _check_lower_bound(objective: Any, points: Array, rtol: float) -> None:
    for x in points:
        for y in (x, -x, 0.0 * x, x - objective.gradient(x)):
            value = objective.value(y)
            assert value >= objective.lower_bound, (
                f"the value {value} is below lower_bound {objective.lower_bound}"
            )


_CAPABILITY_CHECKS = {
    "image": _check_image,
    "along": _check_along,
    "columns": _check_columns,
    "model": _check_model,
    "distinct": _check_distinct,
    "prox": _check_prox,
    "blocks": _check_blocks,
    "lower_bound": _check_lower_bound,
}
