"""The best point and the best dual matrix that a search has seen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.discrepancy import Priced
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A point with its value, and a dual matrix with the bound that it gives.

    Methods that move between poor points keep the best of each kind; the two need not
    come from the same step.
    """

    z: Array
    value: float
    dual: Any = None
    bound: float = -math.inf

    @classmethod
    def at(cls, problem: Any, z: Array | None) -> "Incumbent":
        """Return the incumbent of a search that begins at z, or at equal weights."""
        first: Array = problem.start() if z is None else problem.inside(z)
        return cls(first, problem.value(first))

    def or_point(self, problem: Any, z: Array) -> "Incumbent":
        """Return the better of this point and z; O(mN^2 + N^3)."""
        z = problem.inside(z)
        return self.or_valued(z, problem.value(z))

    def or_valued(self, z: Array, value: float) -> "Incumbent":
        """Return the better of this point and z, whose value is known."""
        return replace(self, z=z, value=value) if value < self.value else self

    def or_dual(self, problem: Any, Y: Array) -> "Incumbent":
        """Return the better of this dual matrix and Y, scaled; O(mN^2 + N^3).

        Of Y the best truncation counts: small eigenvalues of a dual matrix on its way
        cost nuclear norm and prove little.
        """
        bound, dual, _ = problem.truncated(Y)
        return self.or_bounded(dual, bound)

    def or_bounded(self, Y: Any, bound: float) -> "Incumbent":
        """Return the better of this dual matrix and Y, whose bound is known."""
        return replace(self, dual=Y, bound=bound) if bound > self.bound else self

    def or_priced(self, z: Array, priced: Priced) -> "Incumbent":
        """Return the better of each, where both are known."""
        better = self.or_valued(z, priced.value)
        return better.or_bounded(priced.dual, priced.bound)

    def state(
        self,
        problem: Any,
        memory: Any,
        stalled: bool = False,
        counts: Mapping[str, int] | None = None,
    ) -> State:
        """Return the state that offers the point and the dual matrix."""
        claim = problem.claim(self.z, self.value, max(self.bound, 0.0))
        return State(self.z, claim, memory, self.dual, counts or {}, stalled)


def of_moments() -> Requirements:
    """Return what solvers need that work on second moments of rows."""
    return Requirements(
        objective=("value",),
        domain=("vertex", "project"),
        problem=("rows", "target_moment", "operator", "pull", "truncated", "claim"),
        hint="a Discrepancy is needed; of a KernelDiscrepancy take `features()`",
    )


def of_moments_or_kernel() -> Requirements:
    """Return what the solvers need that have a kernel form as well."""
    return Requirements(
        objective=("value",),
        domain=("vertex", "project"),
        problem=("spread", "inside", "claim"),
        hint="a Discrepancy or a KernelDiscrepancy is needed",
    )


def refuse_spread(problem: Any, name: str) -> None:
    """Raise an error if the problem has a term that a published method lacks."""
    if problem.spread > 0.0:
        raise ValueError(
            f"{name} minimises the norm alone, got spread = {problem.spread:g}; the "
            "interior point, column generation, the semidefinite programme and the "
            "subgradient method take a spread"
        )
