"""The loop of the first KLIEP publication, step by step."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex import Requirements, State
from counterpoise.numerics.arrays import Array

LENGTHS = tuple(10.0**k for k in range(3, -4, -1))
TRIALS = 100


@dataclass(frozen=True)
class _Memory:
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
        return self._state(problem, _Memory(self._feasible(ones)))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one trial."""
        memory: _Memory = state.memory
        if memory.length == len(LENGTHS):
            return State(state.x, state.claim, memory, stalled=True)
        gradient = problem.objective.gradient(state.x) * -self.scale
        # The published ascent sums over the target rows; ours is a mean.
        rise = LENGTHS[memory.length] * problem.objective.weights.size * gradient
        trial = self._feasible(memory.alpha + rise)
        value = problem.objective.value(trial * self.scale)
        if value < state.claim.objective:
            kept = memory.trial + 1
            following = (
                _Memory(trial, memory.length + 1)
                if kept == TRIALS
                else _Memory(trial, memory.length, kept)
            )
            return self._state(problem, following)
        return State(
            state.x, state.claim, _Memory(memory.alpha, memory.length + 1), counts={}
        )

    def _state(self, problem: Any, memory: _Memory) -> State:
        x = memory.alpha * self.scale
        x = x / x.sum()
        return State(x, problem.certify(x), memory)

    def _feasible(self, alpha: Array) -> Array:
        b = self.scale
        moved = alpha + (1.0 - b @ alpha) * b / (b @ b)
        cut = np.maximum(moved, 0.0)
        return cut / (b @ cut)
