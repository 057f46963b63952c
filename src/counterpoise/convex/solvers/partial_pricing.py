"""Column generation: solve on few columns, look at all of them now and then."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.solvers.corrective import Corrective
from counterpoise.convex.solvers.point import few_atoms
from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True)
class _PartialPricingMemory:
    pool: Indices
    gradient: Array
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class PartialPricing:
    """The corrective method on a pool of columns, refilled from full gradients.

    A step minimises over the pool to a tenth of the present gap, then computes one
    full gradient, which proves the gap over *all* columns and says which join the
    pool. For problems whose matrix is too large to store: a step reads all columns
    once, and some four to nine steps give six digits.

    Parameters
    ----------
    pool : int
        Columns kept from one step to the next, beside the active ones.
    refill : int
        Columns that join after a full gradient.
    inner : Corrective
        The method on the pool.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import MixtureLikelihood, PartialPricing, solve
    >>> problem = MixtureLikelihood(np.random.default_rng(0).random((20, 4)) + 0.1)
    >>> solve(problem, PartialPricing(), tol=1e-6).converged
    True
    """

    pool: int = 400
    refill: int = 300
    inner: Corrective = field(default_factory=lambda: Corrective(n_join=30))

    @property
    def accepts(self) -> Requirements:
        """What the inner method accepts, of a problem that can leave columns out."""
        return replace(self.inner.accepts, problem=("restricted",))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = few_atoms(problem) if x is None else x
        return self._state(problem, x, np.flatnonzero(x), Counter())

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one pool and one full gradient."""
        memory: _PartialPricingMemory = state.memory
        part = problem.restricted(memory.pool)
        inside = self.inner.begin(part, state.x[memory.pool])
        steps = 0
        while inside.claim.gap > 0.1 * state.claim.gap and steps < 100:
            inside = self.inner.step(part, inside)
            steps += 1
            if inside.stalled:
                break
        x = np.zeros_like(state.x)
        x[memory.pool] = inside.x
        counts = memory.counts + Counter(inside.counts) + Counter({"passes": 1})
        after = self._state(problem, x, memory.pool, counts)
        if (
            after.claim.gap >= state.claim.gap
            and after.claim.objective >= state.claim.objective
        ):
            return State(
                state.x, state.claim, memory, counts=state.counts, stalled=True
            )
        return after

    def _state(
        self, problem: Any, x: Array, old: Indices, counts: Counter[str]
    ) -> State:
        objective = problem.objective
        image = objective.image(x)
        gradient = objective.gradient_at(x, image)
        claim = problem.judge(x, objective.value_at(x, image), gradient)
        best = _smallest(gradient, self.refill)
        kept = old[_smallest(gradient[old], self.pool)]
        pool = np.unique(np.concatenate([np.flatnonzero(x), kept, best]))
        return State(
            x, claim, _PartialPricingMemory(pool, gradient, counts), counts=dict(counts)
        )


def _smallest(values: Array, count: int) -> Indices:
    """Return the places of the smallest values."""
    if count >= values.size:
        return np.arange(values.size)
    return np.argpartition(values, count)[:count]
