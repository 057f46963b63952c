"""All solutions of LSIF: exact, piecewise linear in the penalty."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dposv

from counterpoise.convex import Breakpoint, Certificate, PathError
from counterpoise.convex.problems.least_squares import NonnegativeQuadratic
from counterpoise.numerics.arrays import Array, Indices

# Of the mean diagonal entry of H, added to the diagonal; without it the path of nearly
# dependent basis functions is followed through rounding errors. The mean is not taken
# below the second number, so that samples far apart still pose a bounded problem.
PATH_RIDGE, LEAST_DIAGONAL = 1e-10, 1e-6


@dataclass(frozen=True)
class _Active:
    """The free entries from here on, and how often nothing has moved since."""

    free: Indices
    standing: int = 0


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    r"""Minimise :math:`x'(H + \rho I)x/2 - h'x + \lambda \sum x` over :math:`x \ge 0`.

    :math:`\rho` is 1e-10 of the mean diagonal entry of H (at least 1e-16). For
    :math:`\lambda \ge \max h` the solution is zero; as :math:`\lambda` falls, the free
    entries F move on lines, :math:`x_F = (H + \rho I)_{FF}^{-1} (h_F - \lambda 1)`,
    until one of them reaches zero and is fixed, or the slope of a fixed entry reaches
    zero and it is freed.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric, positive semidefinite, no negative entries.
    h : array of shape (n,)
        With a positive entry.
    stop : float
        The smallest penalty.
    """

    H: Array
    h: Array
    stop: float = 0.0

    @property
    def start(self) -> float:
        """The penalty from which on the solution is zero."""
        return float(self.h.max())

    @cached_property
    def ridged(self) -> Array:
        """H with its small ridge."""
        out = self.H.copy()
        mean = max(float(np.trace(self.H)) / len(self.h), LEAST_DIAGONAL)
        out[np.diag_indices_from(out)] += PATH_RIDGE * mean
        return out

    def problem(self, penalty: float) -> NonnegativeQuadratic:
        """Return the problem at one penalty."""
        return NonnegativeQuadratic(self.ridged, self.h - penalty)

    def certify(self, theta: float, x: Array) -> Certificate:
        """Bound how far x is from optimal at theta, whoever found it."""
        return self.problem(theta).certify(x)

    def begin(self) -> Breakpoint:
        """Return zero, with the first entry to be freed."""
        first = int(np.argmax(self.h))
        return Breakpoint(self.start, np.zeros(len(self.h)), _Active(np.array([first])))

    def advance(self, here: Breakpoint) -> Breakpoint:
        """Return the end of the linear piece that begins here, `stop` at the latest."""
        active = here.memory
        assert isinstance(active, _Active)
        free = active.free
        if active.standing > 2 * len(self.h) or not len(free):
            raise PathError("entries come and go at one penalty", here.theta)
        # On the free entries x = level - theta * pull; the slopes of the others are
        # base + theta * tilt.
        right = np.ones((len(free), 2))
        right[:, 0] = self.h[free]
        columns = self.ridged[:, free]
        _, ends, failed = dposv(columns[free], right)
        if failed:
            raise PathError("the free basis functions depend on each other", here.theta)
        level, pull = ends.T
        images = columns @ ends
        base, tilt = images[:, 0] - self.h, 1.0 - images[:, 1]
        event = np.full(len(self.h), -np.inf)
        falls = tilt > 0.0
        event[falls] = -base[falls] / tilt[falls]
        event[free] = np.divide(
            level, pull, out=np.full(len(free), -np.inf), where=pull < 0.0
        )
        np.minimum(event, here.theta, out=event)
        moved = int(np.argmax(event))
        theta = max(float(event[moved]), self.stop)
        x = np.zeros(len(self.h))
        x[free] = np.maximum(level - theta * pull, 0.0)
        if moved in free:
            if theta > self.stop:
                x[moved] = 0.0
            following = free[free != moved]
        else:
            following = np.append(free, moved)
        standing = active.standing + 1 if theta == here.theta else 0
        return Breakpoint(theta, x, _Active(following, standing))
