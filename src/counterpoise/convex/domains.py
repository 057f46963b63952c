r"""Sets to minimise over, each known by its oracles.

A domain has `size`, `start()` (a point well inside), `vertex(gradient)` (a minimiser of
gradient'x), `project(point)` and `infeasibility(x)`. What else it can do has a name:

==============  ====================================================================
`coordinates`   true where the vertices are the coordinate vectors
`polyhedron`    `polyhedron()`: arrays (A, b, G, h) with Ax = b and Gx <= h
==============  ====================================================================
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, finite_array
from counterpoise.numerics.projections import (
    project_box,
    project_capped_simplex,
    project_simplex,
)

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
        """Return a minimiser of gradient'x."""
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
        """Return the barycentre."""
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
        """Return the centre."""
        return 0.5 * (self.lower + self.upper)

    def vertex(self, gradient: Array) -> Array:
        """Return the corner that minimises gradient'x."""
        return np.where(gradient < 0.0, self.upper, self.lower)

    def project(self, point: Array) -> Array:
        """Return the nearest point of the set."""
        return project_box(point, self.lower, self.upper)

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
