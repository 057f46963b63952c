"""Feasible sets and penalties, with their projections and proximal maps."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from counterpoise.linalg.arrays import Array, finite_array

# -----------------------------------------------------------------------------
# Euclidean projections onto simple sets, exact up to rounding.
# -----------------------------------------------------------------------------


def project_simplex(point: Array, total: float = 1.0) -> Array:
    r"""Return the nearest point of :math:`\{x \ge 0, \sum x = total\}`.

    Sorting finds the multiplier :math:`\tau` with :math:`x = \max(v - \tau, 0)` in
    O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> project_simplex(np.array([0.5, 1.5, -1.0]))
    array([0., 1., 0.])
    """
    descending = np.sort(point)[::-1]
    excess = np.cumsum(descending) - total
    count = np.arange(1, point.size + 1)
    last = np.flatnonzero(descending * count > excess)[-1]
    # Subtracting the largest entry first keeps digits when the entries are huge.
    top = descending[0]
    tau = (np.sum(descending[: last + 1] - top) - total) / (last + 1)
    return np.maximum((point - top) - tau, 0.0)


def project_capped_simplex(point: Array, upper: Array, total: float = 1.0) -> Array:
    r"""Return the nearest point of :math:`\{0 \le x \le upper, \sum x = total\}`.

    The sum of :math:`\min(\max(v - \tau, 0), u)` falls piecewise linearly in
    :math:`\tau` with breakpoints :math:`v_i` and :math:`v_i - u_i`; sorting them
    brackets the multiplier, and one linear equation gives it.

    Examples
    --------
    >>> import numpy as np
    >>> project_capped_simplex(np.array([2.0, 1.0, 0.0]), np.full(3, 0.5))
    array([0.5, 0.5, 0. ])
    """
    room = float(upper.sum())
    if total >= room:
        return upper.copy()
    top = float(point.max())
    shifted = point - top
    breaks = np.sort(np.concatenate([shifted, shifted - upper]))

    def mass(tau: float) -> float:
        return float(np.clip(shifted - tau, 0.0, upper).sum())

    low, high = 0, breaks.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if mass(breaks[middle]) >= total:
            low = middle
        else:
            high = middle
    inside = 0.5 * (breaks[low] + breaks[high])
    capped = shifted - inside >= upper
    free = (shifted > inside) & ~capped
    if free.any():
        tau = (shifted[free].sum() + upper[capped].sum() - total) / free.sum()
    else:
        tau = inside
    return np.clip(shifted - tau, 0.0, upper)


def project_rows(points: Array) -> Array:
    r"""Return the nearest point of the unit simplex to every row.

    Examples
    --------
    >>> import numpy as np
    >>> project_rows(np.array([[0.5, 1.5, -1.0], [0.2, 0.3, 0.5]]))
    array([[0. , 1. , 0. ],
           [0.2, 0.3, 0.5]])
    """
    shifted = points - points.max(axis=1, keepdims=True)
    descending = -np.sort(-shifted, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    count = np.arange(1, points.shape[1] + 1)
    last = np.count_nonzero(descending * count > excess, axis=1)
    tau = excess[np.arange(len(points)), last - 1] / last
    return np.maximum(shifted - tau[:, None], 0.0)


# -----------------------------------------------------------------------------
# Proximal maps of norms: the point that trades distance for a smaller norm.
# -----------------------------------------------------------------------------


def soft_threshold(point: Array, level: float) -> Array:
    r"""Return the minimizer of :math:`\|x - v\|^2 / 2 + level \, \|x\|_1`.

    Examples
    --------
    >>> import numpy as np
    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
    array([ 2., -0., -1.])
    """
    return np.sign(point) * np.maximum(np.abs(point) - level, 0.0)


def row_threshold(rows: Array, level: float) -> Array:
    r"""Return the minimizer of :math:`\|X - V\|_F^2 / 2 + level \sum_i \|X_i\|_2`."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    keep = np.maximum(norms - level, 0.0)
    return rows * np.divide(keep, norms, out=np.zeros_like(norms), where=norms > 0)


# -----------------------------------------------------------------------------
# Sets to minimize over, each known by its oracles.
#
# A domain has `size`, `start()` (a point well inside), `vertex(gradient)` (a
# minimizer of
# gradient'x), `project(point)` and `infeasibility(x)`. What else it can do has a
# name:
#
# ==============  ====================================================================
# `coordinates`   true where the vertices are the coordinate vectors
# `polyhedron`    `polyhedron()`: arrays (A, b, G, h) with Ax = b and Gx <= h
# ==============  ====================================================================
# -----------------------------------------------------------------------------


Polyhedron = tuple[Any, Array, Any, Array]


class Domain(Protocol):
    """A bounded convex set."""

    @property
    def size(self) -> int:
        """The number of entries of a point."""
        ...

    def start(self) -> Array:
        """Return a point well inside."""
        ...

    def vertex(self, gradient: Array) -> Array:
        """Return a minimizer of gradient'x."""
        ...

    def project(self, point: Array) -> Array:
        """Return the nearest point of the set."""
        ...

    def infeasibility(self, x: Array) -> float:
        """Return how far x is outside, 0 if it is not."""
        ...


@dataclass(frozen=True)
class Simplex:
    r"""The unit simplex :math:`\{x \ge 0, \sum x = 1\}`.

    Examples
    --------
    >>> import numpy as np
    >>> Simplex(3).vertex(np.array([2.0, -1.0, 0.0]))
    array([0., 1., 0.])
    """

    size: int
    coordinates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be at least 1, got {self.size}")

    def start(self) -> Array:
        """Return the barycenter."""
        return np.full(self.size, 1.0 / self.size)

    def vertex(self, gradient: Array) -> Array:
        """Return the coordinate vector of the smallest entry."""
        out = np.zeros(self.size)
        out[int(np.argmin(gradient))] = 1.0
        return out

    def project(self, point: Array) -> Array:
        """Return the nearest point of the set."""
        return project_simplex(point)

    def infeasibility(self, x: Array) -> float:
        """Return the larger of the most negative entry and the error of the sum."""
        return max(0.0, float(-x.min()), abs(float(x.sum()) - 1.0) - _rounding(x))

    def polyhedron(self) -> Polyhedron:
        """Return the set as linear equations and inequalities."""
        n = self.size
        return np.ones((1, n)), np.ones(1), -sparse.identity(n), np.zeros(n)


@dataclass(frozen=True, eq=False)
class CappedSimplex:
    r"""The set :math:`\{0 \le x \le upper, |\sum x - total| \le slack\}`.

    Parameters
    ----------
    size : int
    upper : float or array of shape (size,)
        Largest value of an entry.
    total, slack : float
        The sum lies in [total - slack, total + slack].

    Examples
    --------
    >>> import numpy as np
    >>> CappedSimplex(3, 0.5).vertex(np.array([2.0, -1.0, 0.0]))
    array([0. , 0.5, 0.5])
    """

    size: int
    upper: float | Array
    total: float = 1.0
    slack: float = 0.0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be at least 1, got {self.size}")
        shape = np.shape(self.upper)
        if shape not in ((), (self.size,)):
            raise ValueError(
                f"upper must be a number or have shape ({self.size},), got {shape}"
            )
        caps = self.caps
        if not (caps.min() >= 0.0 and np.isfinite(caps).all()):
            worst = caps[int(np.argmax(~((caps >= 0.0) & np.isfinite(caps))))]
            raise ValueError(f"upper must be non-negative and finite, got {worst}")
        if not 0.0 < self.total < np.inf:
            raise ValueError(f"total must be positive, got {self.total}")
        if not 0.0 <= self.slack <= self.total:
            raise ValueError(
                f"slack must be between 0 and total = {self.total}, got {self.slack}"
            )
        if caps.sum() < self.total - self.slack - 1e-12 * self.total:
            raise ValueError(
                f"upper allows a sum of {caps.sum():g} at most, "
                f"but total - slack is {self.total - self.slack:g}: the set is empty"
            )

    @property
    def caps(self) -> Array:
        """The largest value of each entry."""
        return np.broadcast_to(np.asarray(self.upper, dtype=float), (self.size,))

    def start(self) -> Array:
        """Return the point in proportion to the caps."""
        caps = self.caps
        return np.minimum(caps * (self.total / caps.sum()), caps)

    def vertex(self, gradient: Array) -> Array:
        """Return the cheapest filling.

        The smallest entries are filled to their caps until the least sum is reached,
        and beyond it only where the gradient is negative.
        """
        order = np.argsort(gradient, kind="stable")
        caps = self.caps[order]
        before = np.concatenate([[0.0], np.cumsum(caps)[:-1]])
        goal = np.where(
            gradient[order] < 0.0, self.total + self.slack, self.total - self.slack
        )
        out = np.empty(self.size)
        out[order] = np.clip(goal - before, 0.0, caps)
        return out

    def project(self, point: Array) -> Array:
        """Return the nearest point of the set."""
        caps = self.caps
        inside = np.clip(point, 0.0, caps)
        mass = float(inside.sum())
        if mass > self.total + self.slack:
            return project_capped_simplex(point, caps, self.total + self.slack)
        if mass < self.total - self.slack:
            return project_capped_simplex(point, caps, self.total - self.slack)
        return inside

    def infeasibility(self, x: Array) -> float:
        """Return the largest violation of the bounds and of the sum."""
        off = abs(float(x.sum()) - self.total) - self.slack - _rounding(x)
        return max(0.0, float(-x.min()), float((x - self.caps).max()), off)

    def polyhedron(self) -> Polyhedron:
        """Return the set as linear equations and inequalities."""
        n = self.size
        one = np.ones((1, n))
        bounds = [-sparse.identity(n), sparse.identity(n)]
        limits = [np.zeros(n), self.caps]
        if self.slack == 0.0:
            return (
                one,
                np.array([self.total]),
                sparse.vstack(bounds),
                np.concatenate(limits),
            )
        return (
            np.zeros((0, n)),
            np.zeros(0),
            sparse.vstack([*bounds, one, -one]),
            np.concatenate(
                [*limits, [self.total + self.slack, self.slack - self.total]]
            ),
        )


@dataclass(frozen=True, eq=False)
class Box:
    r"""The set :math:`\{lower \le x \le upper\}`, with finite bounds.

    Examples
    --------
    >>> import numpy as np
    >>> Box(np.zeros(2), np.ones(2)).vertex(np.array([2.0, -1.0]))
    array([0., 1.])
    """

    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", finite_array("lower", self.lower, 1))
        object.__setattr__(self, "upper", finite_array("upper", self.upper, 1))
        if self.lower.shape != self.upper.shape:
            raise ValueError(
                f"lower and upper must be vectors of one length, got shapes "
                f"{self.lower.shape} and {self.upper.shape}"
            )
        if (self.lower > self.upper).any():
            i = int(np.argmax(self.lower > self.upper))
            raise ValueError(
                f"lower must not exceed upper, got {self.lower[i]} > {self.upper[i]} "
                f"at entry {i}"
            )

    @property
    def size(self) -> int:
        """The number of entries of a point."""
        return len(self.lower)

    def start(self) -> Array:
        """Return the center."""
        return 0.5 * (self.lower + self.upper)

    def vertex(self, gradient: Array) -> Array:
        """Return the corner that minimizes gradient'x."""
        return np.where(gradient < 0.0, self.upper, self.lower)

    def project(self, point: Array) -> Array:
        """Return the nearest point of the set."""
        return np.clip(point, self.lower, self.upper)

    def infeasibility(self, x: Array) -> float:
        """Return the largest violation of a bound, in units of the largest bound."""
        size = max(
            1.0, float(np.abs(self.lower).max()), float(np.abs(self.upper).max())
        )
        return max(0.0, *((self.lower - x).max() / size, (x - self.upper).max() / size))

    def polyhedron(self) -> Polyhedron:
        """Return the set as linear inequalities."""
        n = self.size
        eye = sparse.identity(n)
        return (
            np.zeros((0, n)),
            np.zeros(0),
            sparse.vstack([-eye, eye]),
            np.concatenate([-self.lower, self.upper]),
        )


def _rounding(x: Array) -> float:
    """Return the error that scaling and summing x may make by themselves."""
    ulps = 8.0 + float(np.sqrt(x.size))
    return ulps * float(np.finfo(float).eps) * (1.0 + float(np.abs(x).sum()))


# -----------------------------------------------------------------------------
# Norms to add to an objective, each known by its prox.
# -----------------------------------------------------------------------------


class Penalty(Protocol):
    """A norm times its weight."""

    @property
    def size(self) -> int:
        """The number of entries of a point."""
        ...

    def value(self, x: Array) -> float:
        """Return the penalty at x."""
        ...

    def prox(self, v: Array, step: float) -> Array:
        """Return the minimizer of step * value(x) + |x - v|^2 / 2."""
        ...

    def dual_norm(self, g: Array) -> float:
        """Return the largest g's over s with value(s) <= 1."""
        ...


@dataclass(frozen=True)
class L1:
    r"""The penalty :math:`weight \, \|x\|_1`.

    Examples
    --------
    >>> import numpy as np
    >>> L1(2, weight=0.5).value(np.array([1.0, -3.0]))
    2.0
    """

    size: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    def value(self, x: Array) -> float:
        """Return the penalty at x."""
        return self.weight * float(np.abs(x).sum())

    def prox(self, v: Array, step: float) -> Array:
        """Return the minimizer of step * value(x) + |x - v|^2 / 2."""
        return soft_threshold(v, step * self.weight)

    def dual_norm(self, g: Array) -> float:
        """Return the largest absolute entry over the weight."""
        return float(np.abs(g).max()) / self.weight


@dataclass(frozen=True)
class RowNorms:
    r"""The penalty :math:`weight \sum_i \|X_i\|_2` over the rows of a matrix.

    The matrix of shape (rows, columns) travels as the vector of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> RowNorms(2, 2).value(np.array([3.0, 4.0, 0.0, 1.0]))
    6.0
    """

    rows: int
    columns: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    @property
    def size(self) -> int:
        """The number of entries of a point."""
        return self.rows * self.columns

    def value(self, x: Array) -> float:
        """Return the penalty at x."""
        return self.weight * float(np.linalg.norm(self._matrix(x), axis=1).sum())

    def prox(self, v: Array, step: float) -> Array:
        """Return the minimizer of step * value(x) + |x - v|^2 / 2."""
        return row_threshold(self._matrix(v), step * self.weight).ravel()

    def dual_norm(self, g: Array) -> float:
        """Return the largest norm of a row over the weight."""
        return float(np.linalg.norm(self._matrix(g), axis=1).max()) / self.weight

    def _matrix(self, x: Array) -> Array:
        return x.reshape(self.rows, self.columns)


def _check_weight(weight: float) -> None:
    if not weight > 0.0:
        raise ValueError(f"weight must be positive, got {weight}")
