"""One method, and another where the first gets stuck."""

from dataclasses import dataclass, replace
from typing import Any

from counterpoise.convex.loop import Solver, State
from counterpoise.convex.requirements import Acceptance
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True)
class Fallback:
    """The steps of a method, so many at most; then those of another from its point.

    Parameters
    ----------
    first, then : Solver
    most : int
        Steps of the first, unless it stalls before.
    """

    first: Solver
    then: Solver
    most: int

    @property
    def accepts(self) -> Acceptance:
        """What the first accepts; the other accepts that too."""
        return self.first.accepts

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state of the first method."""
        state = self.first.begin(problem, x)
        return replace(state, memory=(1, self.first, state))

    def step(self, problem: Any, state: State) -> State:
        """Return the next state of the method that is at work."""
        count, solver, before = state.memory
        after = solver.step(problem, before)
        if solver is self.first and (after.stalled or count == self.most):
            solver = self.then
            after = solver.begin(problem, after.x)
        return replace(after, memory=(count + 1, solver, after))
