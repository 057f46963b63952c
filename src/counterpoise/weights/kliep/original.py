"""The loop of the first KLIEP publication, step by step."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex import Requirements, State
from counterpoise.numerics.arrays import Array

STEP_LENGTHS = tuple(10.0**k for k in range(3, -4, -1))
TRIALS_A_LENGTH = 100


@dataclass(frozen=True)
class OriginalMemory:
    """The coefficients, and which length is tried how often."""

    alpha: Array
    length: int = 0
    trial: int = 0


@dataclass(frozen=True)
class OriginalKLIEP:
    """Projected gradient as published: fixed lengths, and a projection that is none.

    In the coefficients alpha = x / b: ascend by K'(1 / K alpha), move to the plane
    b'alpha = 1, cut negative entries, divide by b'alpha; keep the trial if the mean log
    rises, else go on with a tenth of the length, from 1000 down to 0.001, a hundred
    trials each. The three moves are not the Euclidean projection, and the loop ends
    where no length helps, which may be far from the optimum: the certificate says how
    far.

    Parameters
    ----------
    scale : array of shape (n,)
        b, the means of the kernels over the source rows.

    References
    ----------
    Sugiyama, Nakajima, Kashima, von Buenau and Kawanabe (2008).
    """

    scale: Array

    @property
    def accepts(self) -> Requirements:
        """A mixture over the simplex."""
        return Requirements(objective=("image", "columns"), domain=("coordinates",))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state: all coefficients equal."""
        ones = np.ones_like(self.scale) if x is None else x / self.scale
        return self._state(problem, OriginalMemory(self._feasible(ones)))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one trial."""
        memory: OriginalMemory = state.memory
        if memory.length == len(STEP_LENGTHS):
            return State(state.x, state.claim, memory, stalled=True)
        gradient = problem.objective.gradient(state.x) * -self.scale
        # The published ascent sums over the target rows; ours is a mean.
        rise = STEP_LENGTHS[memory.length] * problem.objective.weights.size * gradient
        trial = self._feasible(memory.alpha + rise)
        value = problem.objective.value(trial * self.scale)
        if value < state.claim.objective:
            kept = memory.trial + 1
            following = (
                OriginalMemory(trial, memory.length + 1)
                if kept == TRIALS_A_LENGTH
                else OriginalMemory(trial, memory.length, kept)
            )
            return self._state(problem, following)
        return State(
            state.x,
            state.claim,
            OriginalMemory(memory.alpha, memory.length + 1),
            counts={},
        )

    def _state(self, problem: Any, memory: OriginalMemory) -> State:
        x = memory.alpha * self.scale
        x = x / x.sum()
        return State(x, problem.certify(x), memory)

    def _feasible(self, alpha: Array) -> Array:
        b = self.scale
        moved = alpha + (1.0 - b @ alpha) * b / (b @ b)
        cut = np.maximum(moved, 0.0)
        return cut / (b @ cut)
