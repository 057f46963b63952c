"""Spectral projected gradient steps."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.solvers.point import (
    Point,
    armijo_step,
    evaluate,
    gradient_of,
    image_of,
    shifted,
)
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True)
class _ProjectedGradientMemory:
    point: Point
    gradient: Array
    length: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class ProjectedGradient:
    r"""Spectral projected gradient with a non-monotone line search.

    The direction is :math:`P(x - t g) - x` with the Barzilai-Borwein length
    :math:`t = |s|^2 / s'y`; the step along it is halved until the value falls enough
    below the worst of the last `memory` values. A step costs one gradient, one
    projection and one image.

    References
    ----------
    Birgin, Martinez and Raydan (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import MixtureLikelihood, ProjectedGradient, solve
    >>> problem = MixtureLikelihood(np.random.default_rng(0).random((20, 4)) + 0.1)
    >>> solve(problem, ProjectedGradient(), tol=1e-6).converged
    True
    """

    memory: int = 10

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise ValueError(f"memory must be at least 1, got {self.memory}")

    @property
    def accepts(self) -> Requirements:
        """A domain with a projection."""
        return Requirements(domain=("project",))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        point = evaluate(problem.objective, x)
        gradient = gradient_of(problem.objective, point)
        length = 1.0 / max(float(np.abs(gradient).max()), 1e-10)
        return self._state(problem, point, gradient, length, (point.value,))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one step."""
        memory: _ProjectedGradientMemory = state.memory
        objective, here = problem.objective, memory.point
        direction = problem.domain.project(here.x - memory.length * memory.gradient)
        direction -= here.x
        slope = -float(memory.gradient @ direction)
        stalled = State(state.x, state.claim, memory, stalled=True)
        if slope <= 0.0:
            return stalled
        image = image_of(objective, direction)
        reference = max(memory.values)
        length = armijo_step(objective, here, direction, image, 1.0, slope, reference)
        if length <= 0.0:
            return stalled
        there = shifted(objective, here, direction, image, length)
        # Rounding may leave the set by an ulp: the projection of a point this near is
        # cheap, and keeps the iterates inside.
        if problem.domain.infeasibility(there.x) > 0.0:
            there = evaluate(objective, problem.domain.project(there.x))
        gradient = gradient_of(objective, there)
        moved, turned = there.x - here.x, gradient - memory.gradient
        bend = float(moved @ turned)
        spectral = float(moved @ moved) / bend if bend > 0.0 else 1e10
        values = (*memory.values, there.value)[-self.memory :]
        return self._state(
            problem, there, gradient, float(np.clip(spectral, 1e-10, 1e10)), values
        )

    @staticmethod
    def _state(
        problem: Any,
        point: Point,
        gradient: Array,
        length: float,
        values: tuple[float, ...],
    ) -> State:
        claim = problem.judge(point.x, point.value, gradient)
        return State(
            point.x, claim, _ProjectedGradientMemory(point, gradient, length, values)
        )
