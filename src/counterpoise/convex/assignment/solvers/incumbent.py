"""The best assignment and the best bound that a search has seen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.convex.assignment.problem import AssignmentDual
from counterpoise.convex.assignment.swaps import improved_set
from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class BestAssignment:
    """An assignment with its value, and a dual point with its bound.

    Both are above the least costs. They need not come from the same iteration.
    """

    U: Array
    excess: float
    dual: AssignmentDual | None = None
    bound: float = -math.inf

    @classmethod
    def at(cls, problem: Any, x: Array | None) -> "BestAssignment":
        """Return the incumbent of a search that begins at x, or at equal shares."""
        first = problem.matrix(problem.start() if x is None else problem.inside(x))
        return cls(first, problem.excess(first))

    def or_point(self, problem: Any, U: Array) -> "BestAssignment":
        """Return the better of this assignment and U."""
        excess = problem.excess(U)
        return replace(self, U=U, excess=excess) if excess < self.excess else self

    def or_rounded(self, problem: Any, U: Array) -> "BestAssignment":
        """Return the better of this assignment and one of whole items near U.

        Words with an entry of one half or more are improved word by word, and every
        item takes the cheapest. Without a graph an optimum is often such a vertex, and
        where words tie, U is between several.
        """
        tops = U.max(axis=0)
        words = np.flatnonzero(tops >= 0.5)
        if words.size == 0:
            words = np.array([int(tops.argmax())])
        words = improved_set(problem.excess_costs, words, problem.penalties)
        cheapest = words[problem.excess_costs[:, words].argmin(axis=1)]
        whole = np.zeros_like(U)
        whole[np.arange(len(U)), cheapest] = 1.0
        return self.or_point(problem, whole)

    def or_dual(self, problem: Any, dual: AssignmentDual) -> "BestAssignment":
        """Return the better of this dual point and another."""
        bound = problem.excess_bound(dual)
        return replace(self, dual=dual, bound=bound) if bound > self.bound else self

    def state(
        self,
        problem: Any,
        memory: Any,
        counts: Mapping[str, int],
        stalled: bool = False,
    ) -> State:
        """Return the state that offers the assignment and the dual point."""
        x = self.U.ravel()
        claim = problem.claim(x, self.excess, self.bound)
        return State(x, claim, memory, self.dual, counts, stalled)


def of_words() -> Requirements:
    """Return what the solvers need that assign items to words."""
    return Requirements(
        objective=("value", "gradient"),
        problem=("excess_costs", "penalties", "excess", "excess_bound", "claim"),
        hint="a SparseAssignment is needed",
    )
