"""Solution paths: breakpoints, pieces and a follower for parametric problems."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import Certificate


class PathError(RuntimeError):
    """A path could not be followed to its end; `theta` is how far it came."""

    def __init__(self, message: str, theta: float) -> None:
        super().__init__(f"{message} (reached theta = {theta:g})")
        self.theta = theta


@dataclass(frozen=True, eq=False)
class Breakpoint:
    """A solution at the end of a linear piece; `memory` is the program's own."""

    theta: float
    x: Array
    memory: object = None


class ParametricProblem(Protocol):
    """A family of problems in theta whose solution is piecewise linear."""

    @property
    def start(self) -> float:
        """Where the path begins."""
        ...

    @property
    def stop(self) -> float:
        """Where it ends; smaller than `start` if theta falls."""
        ...

    def begin(self) -> Breakpoint:
        """Return the solution at `start`."""
        ...

    def advance(self, here: Breakpoint) -> Breakpoint:
        """Return the end of the linear piece that begins here, `stop` at the latest."""
        ...

    def certify(self, theta: float, x: Array) -> Certificate:
        """Bound how far x is from optimal at theta, whoever found it."""
        ...


@dataclass(frozen=True, eq=False)
class SolutionPath:
    """A solution for every theta between two ends, exact between breakpoints.

    Attributes
    ----------
    thetas : array of shape (k,)
        The breakpoints, in the order in which they were met.
    points : array of shape (k, n)
        The solutions there; between two of them the solution is linear in theta.
    """

    program: ParametricProblem
    thetas: Array
    points: Array

    @property
    def n_events(self) -> int:
        """The number of linear pieces."""
        return len(self.thetas) - 1

    def at(self, theta: float) -> Array:
        """Return the solution at theta."""
        low, high = sorted((self.thetas[0], self.thetas[-1]))
        if not low <= theta <= high:
            raise ValueError(
                f"theta must be between {low:g} and {high:g}, got {theta:g}"
            )
        sign = 1.0 if self.thetas[-1] >= self.thetas[0] else -1.0
        k = int(np.searchsorted(sign * self.thetas, sign * theta, side="left"))
        if self.thetas[k] == theta:
            point: Array = self.points[k].copy()
            return point
        share = (theta - self.thetas[k - 1]) / (self.thetas[k] - self.thetas[k - 1])
        between: Array = (1.0 - share) * self.points[k - 1] + share * self.points[k]
        return between

    def certify(self, theta: float) -> Certificate:
        """Prove the solution at theta from scratch."""
        return self.program.certify(theta, self.at(theta))


def follow(
    program: ParametricProblem,
    *,
    max_events: int = 100_000,
    callback: Callable[[Breakpoint], object] | None = None,
) -> SolutionPath:
    """Return the solution path of a program, one step an event.

    Parameters
    ----------
    program : Program
    max_events : int
        More linear pieces than this are an error.
    callback : callable, optional
        Called at every breakpoint; True is an error that tells the theta reached,
        because a truncated path is never returned.

    Raises
    ------
    PathError
        If the end is not reached, with the theta that was.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise import LSIF
    >>> X, X_target = np.arange(60.0)[:, None], np.arange(20.0, 50.0)[:, None]
    >>> fitted = LSIF(gamma=0.1, n_centers=3, random_state=0).fit(X, X_target=X_target)
    >>> path = fitted.path_
    >>> path.certify(path.thetas[-1]).holds(1e-9)
    True
    """
    direction = 1.0 if program.stop >= program.start else -1.0
    here = program.begin()
    met = [here]
    while here.theta != program.stop:
        if len(met) > max_events:
            raise PathError(f"more than {max_events} events", here.theta)
        if callback is not None and callback(here) is True:
            raise PathError("ended by the callback", here.theta)
        following = program.advance(here)
        if direction * (following.theta - here.theta) < 0.0:
            raise PathError("theta went backwards", here.theta)
        here = following
        met.append(here)
    return SolutionPath(
        program,
        np.array([point.theta for point in met]),
        np.array([point.x for point in met]),
    )
