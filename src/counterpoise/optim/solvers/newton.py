"""Newton's method with a line search."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.linalg.arrays import Array
from counterpoise.linalg.cholesky import DIRECT
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.solvers.first_order import Point, descend, evaluate, gradient_of


@dataclass(frozen=True)
class _NewtonMemory:
    point: Point
    gradient: Array


@dataclass(frozen=True)
class Newton:
    r"""Newton's method with a halving line search.

    The direction solves :math:`H d = -g` by a Cholesky factor; with more than `direct`
    coordinates, where the objective has a `hessian_operator`, by conjugate gradients to
    a relative residual of :math:`\min(0.1, |g|)`, and no matrix of second derivatives
    is made. The step is halved until the value falls by a ten-thousandth of what the
    slope promises.

    Parameters
    ----------
    direct : int
        Largest number of coordinates for which the Hessian is written out.

    References
    ----------
    Dembo, Eisenstat and Steihaug (1982), on inexact Newton methods.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import LogLinearRatio, Newton, solve
    >>> S = np.random.default_rng(0).normal(size=(30, 2))
    >>> t, shares = np.array([0.5, 0.0]), np.full(30, 1 / 30)
    >>> problem = LogLinearRatio(S, t, shares, ridge=0.1)
    >>> solve(problem, Newton(), tol=1e-6).converged
    True
    """

    direct: int = DIRECT

    @property
    def accepts(self) -> Requirements:
        """A smooth objective with a Hessian on the whole space."""
        return Requirements(objective=("value", "gradient", "hessian"))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        point = evaluate(problem.objective, problem.start() if x is None else x)
        return self._state(problem, point, gradient_of(problem.objective, point))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one step."""
        memory: _NewtonMemory = state.memory
        there = descend(problem.objective, memory.point, memory.gradient, self.direct)
        gradient = gradient_of(problem.objective, there)
        steepness, before = np.linalg.norm(gradient), np.linalg.norm(memory.gradient)
        # Where values differ by rounding alone, only the gradient can still fall.
        if not there.value < memory.point.value and not steepness < before:
            return State(state.x, state.claim, memory, stalled=True)
        return self._state(problem, there, gradient)

    @staticmethod
    def _state(problem: Any, point: Point, gradient: Array) -> State:
        claim = problem.judge(point.x, point.value, gradient)
        return State(point.x, claim, _NewtonMemory(point, gradient))


@dataclass(frozen=True)
class ExpectationMaximization:
    r"""EM for mixtures, with convex M-steps and a guarded extrapolation.

    The expectation splits the sample among the components, which gives the new
    proportions and a convex problem for each component; the maximisation takes damped
    Newton steps on each. A step is two of these, from x to y to z, then a try at
    :math:`x + 2 a (y - x) + a^2 (z - 2 y + x)` with
    :math:`a = |y - x| / |z - 2y + x|`, taken where it is better than z. The objective
    never rises.

    Parameters
    ----------
    n_newton : int
        Newton steps a component and maximisation.
    direct : int
        As of `Newton`.

    Notes
    -----
    `counts` of the history holds the extrapolations that were taken.

    References
    ----------
    Dempster, Laird and Rubin (1977); Varadhan and Roland (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise import LogLinearKLIEP
    >>> X, X_target = np.arange(60.0)[:, None], np.arange(20.0, 50.0)[:, None]
    >>> estimator = LogLinearKLIEP(n_components=2, random_state=0)
    >>> fitted = estimator.fit(X, X_target=X_target)
    >>> fitted.solution_.certificate.kind
    'stationarity'
    """

    n_newton: int = 2
    direct: int = DIRECT

    @property
    def accepts(self) -> Requirements:
        """A mixture that splits into convex parts."""
        return Requirements(objective=("value", "gradient", "split", "parts"))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        return State(x, problem.certify(x), counts={"extrapolations": 0})

    def step(self, problem: Any, state: State) -> State:
        """Return the state after two rounds of EM and an extrapolation."""
        objective, counts = problem.objective, dict(state.counts)
        first = self._improved(objective, state.x)
        x = self._improved(objective, first)
        further = self._further(objective, state.x, first, x)
        if further is not None and objective.value(further) < objective.value(x):
            x = further
            counts["extrapolations"] += 1
        claim = problem.certify(x)
        # Where values differ by rounding alone, only the residual can still fall.
        risen = claim.objective >= state.claim.objective
        if risen and not claim.residual < state.claim.residual:
            return State(state.x, state.claim, counts=counts, stalled=True)
        return State(x, claim, counts=counts)

    def _improved(self, objective: Any, x: Array) -> Array:
        """Return x after one expectation and one maximisation."""
        proportions, parts = objective.parts(x)
        _, slopes = objective.split(x)
        better = [
            self._maximized(part, eta) for part, eta in zip(parts, slopes, strict=True)
        ]
        return np.concatenate([proportions, *better])

    def _maximized(self, part: Any, eta: Array) -> Array:
        point = evaluate(part, eta)
        for _ in range(self.n_newton):
            there = descend(part, point, gradient_of(part, point), self.direct)
            if there is point:
                break
            point = there
        return point.x

    @staticmethod
    def _further(objective: Any, x: Array, y: Array, z: Array) -> Array | None:
        moved, bent = y - x, z - 2.0 * y + x
        bend = float(np.linalg.norm(bent))
        if not bend > 0.0:
            return None
        length = max(float(np.linalg.norm(moved)) / bend, 1.0)
        further = x + 2.0 * length * moved + length**2 * bent
        proportions, _ = objective.split(further)
        # A component whose share reaches zero never comes back.
        np.maximum(proportions, 0.1 * objective.split(z)[0], out=proportions)
        proportions /= proportions.sum()
        return further
