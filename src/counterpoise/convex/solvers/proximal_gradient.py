"""Accelerated proximal gradient steps."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.solvers.point import Point, evaluate, gradient_of, near_point
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True)
class _ProximalGradientMemory:
    point: Point
    ahead: Point
    momentum: float
    length: float


@dataclass(frozen=True)
class ProximalGradient:
    r"""Accelerated proximal gradient with backtracking and restarts.

    :math:`x^+ = \mathrm{prox}(y - t \nabla f(y))`, with y ahead of x by Nesterov's
    momentum; over a domain the prox is the projection. The length t is halved until f
    lies below its quadratic model at y, and grows again slowly; the momentum restarts
    where it points uphill, or where y leaves the region in which f is defined. A step
    costs two gradients (one for the proof) and one prox or projection.

    Parameters
    ----------
    growth : float
        What the length is multiplied with before a step.

    References
    ----------
    Beck and Teboulle (2009). O'Donoghue and Candes (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import L1, LeastSquares, Penalized
    >>> from counterpoise.convex import ProximalGradient, solve
    >>> A = np.random.default_rng(0).standard_normal((20, 4))
    >>> problem = Penalized(LeastSquares(A, A[:, 0]), L1(4, 0.1))
    >>> solve(problem, ProximalGradient(), tol=1e-6).converged
    True
    """

    growth: float = 1.1

    def __post_init__(self) -> None:
        if not self.growth >= 1.0:
            raise ValueError(f"growth must be at least 1, got {self.growth}")

    @property
    def accepts(self) -> Requirements:
        """A domain with a projection, or a penalty with a prox."""
        return Requirements(domain=("project",), penalty=("prox",))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        point = evaluate(problem.objective, x)
        size = float(np.linalg.norm(gradient_of(problem.objective, point)))
        length = max(float(np.linalg.norm(x)), 1.0) / max(size, 1e-10)
        return self._state(problem, point, point, 1.0, length)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one step."""
        memory: _ProximalGradientMemory = state.memory
        objective = problem.objective
        ahead, momentum = memory.ahead, memory.momentum
        if not math.isfinite(ahead.value):
            ahead, momentum = memory.point, 1.0
        slope = gradient_of(objective, ahead)
        length = self.growth * memory.length
        halvings = 0
        while True:
            near = near_point(problem, ahead.x - length * slope, length)
            there = evaluate(objective, near)
            moved = there.x - ahead.x
            model = float(slope @ moved) + float(moved @ moved) / (2.0 * length)
            # Below rounding of the value the comparison says nothing any more.
            noise = 1e-15 * max(abs(ahead.value), 1.0)
            if there.value <= ahead.value + model + noise:
                break
            length *= 0.5
            halvings += 1
            if halvings > 200:
                return State(state.x, state.claim, memory, stalled=True)
        progress = there.x - memory.point.x
        if float((ahead.x - there.x) @ progress) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        push = (momentum - 1.0) / following
        image = None
        if there.image is not None and memory.point.image is not None:
            image = there.image + push * (there.image - memory.point.image)
        ahead = evaluate(objective, there.x + push * progress, image)
        return self._state(problem, there, ahead, following, length)

    @staticmethod
    def _state(
        problem: Any, point: Point, ahead: Point, momentum: float, length: float
    ) -> State:
        gradient = gradient_of(problem.objective, point)
        claim = problem.judge(point.x, point.value, gradient)
        return State(
            point.x, claim, _ProximalGradientMemory(point, ahead, momentum, length)
        )
