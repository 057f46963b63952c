"""The alternating direction method of multipliers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.solvers.point import claimed, near_point
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True)
class _ADMMMemory:
    z: Array
    u: Array
    step: float


@dataclass(frozen=True)
class ADMM:
    r"""ADMM on the splitting f(x) + h(z), x = z, h a penalty or a set.

    .. math::

        x = \mathrm{prox}_{t f}(z - u), \quad
        z^+ = \mathrm{prox}_{t h}(a x + (1 - a) z + u), \quad
        u^+ = u + a x + (1 - a) z - z^+

    with relaxation a. The point is z, which is feasible always. The step t is doubled
    or halved while one of the two residuals is ten times the other, less and less
    often, so that the method converges. A step costs one prox of f, one of h, and a
    gradient for the proof.

    Parameters
    ----------
    relaxation : float
        Between 1 and 2.
    step_size : float
        The first t, in units of the inverse curvature of f at the start.

    References
    ----------
    Boyd, Parikh, Chu, Peleato and Eckstein (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import L1, LeastSquares, Penalized, ADMM, solve
    >>> A = np.random.default_rng(0).standard_normal((20, 4))
    >>> problem = Penalized(LeastSquares(A, A[:, 0]), L1(4, 0.1))
    >>> solve(problem, ADMM(), tol=1e-6).converged
    True
    """

    relaxation: float = 1.6
    step_size: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.relaxation < 2.0:
            raise ValueError(f"relaxation must be in (0, 2), got {self.relaxation}")
        if not self.step_size > 0.0:
            raise ValueError(f"step_size must be positive, got {self.step_size}")

    @property
    def accepts(self) -> Requirements:
        """An objective with a prox; a domain with a projection or a penalty."""
        return Requirements(
            objective=("value", "gradient", "prox"),
            domain=("project",),
            penalty=("prox",),
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        gradient = problem.objective.gradient(x)
        trial = x - 1e-3 * gradient
        bend = float(
            np.linalg.norm(problem.objective.gradient(trial) - gradient)
        ) / max(1e-3 * float(np.linalg.norm(gradient)), 1e-300)
        step = self.step_size / bend if bend > 1e-10 else self.step_size
        return self._state(problem, x, np.zeros_like(x), step, 0)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        memory: _ADMMMemory = state.memory
        z, u, step = memory.z, memory.u, memory.step
        x = problem.objective.prox(z - u, step)
        mixed = self.relaxation * x + (1.0 - self.relaxation) * z
        v = mixed + u
        following = near_point(problem, v, step)
        u = v - following
        apart = float(np.linalg.norm(x - following))
        moved = float(np.linalg.norm(following - z))
        rounds = state.counts.get("rounds", 0) + 1
        # Powers of two as round numbers: ever rarer changes keep the proof of
        # convergence.
        if rounds & (rounds - 1) == 0 or (rounds < 200 and rounds % 10 == 0):
            if apart > 10.0 * moved:
                step, u = 0.5 * step, 0.5 * u
            elif moved > 10.0 * apart:
                step, u = 2.0 * step, 2.0 * u
        return self._state(problem, following, u, step, rounds)

    @staticmethod
    def _state(problem: Any, z: Array, u: Array, step: float, rounds: int) -> State:
        _, _, claim = claimed(problem, z)
        return State(z, claim, _ADMMMemory(z, u, step), counts={"rounds": rounds})
