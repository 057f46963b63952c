"""Newton's method, and expectation maximization with Newton steps."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import Problem
from counterpoise.optim.likelihoods import MixedTilts
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import (
    DIRECT,
    Evaluation,
    Objective,
    newton_direction,
)
from counterpoise.optim.problems import LogLinearMixture
from counterpoise.optim.solvers.first_order import armijo_step


def newton_step(objective: Objective, here: Evaluation, direct: int) -> Evaluation:
    """Return the evaluation after one damped Newton step; `here` if none descends."""
    direction = newton_direction(here, direct)
    slope = -float(here.gradient @ direction)
    if not slope > 0.0:
        return here
    length = 1.0
    # Below this a line search would only see rounding; Newton's step is right.
    if slope > 1e-10 * max(1.0, abs(here.value)):
        image = objective.image(direction)
        after = partial(objective.after_step, here, direction, image)
        length, _ = armijo_step(after, here.value, 1.0, slope)
    return objective.evaluate(here.x + length * direction) if length > 0.0 else here


@dataclass(frozen=True)
class Newton:
    r"""Newton's method with a halving line search.

    The direction solves :math:`H d = -g` by a Cholesky factor; with more than `direct`
    coordinates, where the objective has products with its Hessian, by conjugate
    gradients to a relative residual of :math:`\min(0.1, |g|)`, and no matrix of second
    derivatives is made. The step is halved until the value falls by a ten-thousandth of
    what the slope promises.

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

    accepts: ClassVar[Requirements] = Requirements(objective=("evaluate", "hessian"))

    def begin(self, problem: Problem, x: Array | None) -> State:
        """Return the first state."""
        here = problem.objective.evaluate(problem.start() if x is None else x)
        return State(here.x, problem.judge(here.x, here.value, here.gradient), here)

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after one step."""
        here: Evaluation = state.memory
        there = newton_step(problem.objective, here, self.direct)
        is_flatter = np.linalg.norm(there.gradient) < np.linalg.norm(here.gradient)
        # Where values differ by rounding alone, only the gradient can still fall.
        if not there.value < here.value and not is_flatter:
            return replace(state, stalled=True)
        claim = problem.judge(there.x, there.value, there.gradient)
        return State(there.x, claim, there)


@dataclass(frozen=True)
class ExpectationMaximization:
    r"""EM for mixtures, with convex M-steps and a guarded extrapolation.

    The expectation splits the sample among the components, which gives the new
    proportions and a convex problem for each component; the maximization takes damped
    Newton steps on each. A step is two of these, from x to y to z, then a try at
    :math:`x + 2 a (y - x) + a^2 (z - 2 y + x)` with
    :math:`a = |y - x| / |z - 2y + x|`, taken where it is better than z. The objective
    never rises.

    Parameters
    ----------
    n_newton : int
        Newton steps a component and maximization.
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

    accepts: ClassVar[Requirements] = Requirements(
        objective=("evaluate", "split", "parts")
    )

    def begin(self, problem: LogLinearMixture, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        return State(x, problem.certify(x), counts={"extrapolations": 0})

    def step(self, problem: LogLinearMixture, state: State) -> State:
        """Return the state after two rounds of EM and an extrapolation."""
        objective, counts = problem.objective, dict(state.counts)
        first = self._round(objective, state.x)
        x = self._round(objective, first)
        ahead = _extrapolated(objective, state.x, first, x)
        if ahead is not None and objective.value(ahead) < objective.value(x):
            x = ahead
            counts["extrapolations"] += 1
        claim = problem.certify(x)
        # Where values differ by rounding alone, only the residual can still fall.
        assert claim.residual is not None
        assert state.claim.residual is not None
        risen = claim.objective >= state.claim.objective
        if risen and not claim.residual < state.claim.residual:
            return State(state.x, state.claim, counts=counts, stalled=True)
        return State(x, claim, counts=counts)

    def _round(self, objective: MixedTilts, x: Array) -> Array:
        """Return x after one expectation and one maximization."""
        proportions, parts = objective.parts(x)
        better = [proportions]
        for part, eta in zip(parts, objective.split(x)[1], strict=True):
            here = part.evaluate(eta)
            for _ in range(self.n_newton):
                here = newton_step(part, here, self.direct)
            better.append(here.x)
        return np.concatenate(better)


def _extrapolated(objective: MixedTilts, x: Array, y: Array, z: Array) -> Array | None:
    """Return the point ahead of x, y and z on a parabola."""
    moved, bent = y - x, z - 2.0 * y + x
    bend = float(np.linalg.norm(bent))
    if not bend > 0.0:
        return None
    length = max(float(np.linalg.norm(moved)) / bend, 1.0)
    ahead = x + 2.0 * length * moved + length**2 * bent
    proportions, _ = objective.split(ahead)
    # A component whose share reaches zero never comes back.
    np.maximum(proportions, 0.1 * objective.split(z)[0], out=proportions)
    proportions /= proportions.sum()
    return ahead
