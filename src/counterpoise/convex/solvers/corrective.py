"""Active-set Newton steps over the simplex: few atoms, each with its best share."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.objectives.columns import beside
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.solvers.point import few_atoms
from counterpoise.convex.solvers.simplex_newton import ActiveAtoms
from counterpoise.numerics.arrays import Array, Indices

# Coordinates among which those that join are looked for.
MOST_COORDINATES = 20_000
MOST_JOINING = 320
# A slope so many times the mean one tells of a point far from the optimum.
STEEP = 1e3


@dataclass(frozen=True)
class _CorrectiveMemory:
    active: Indices
    shares: Array
    columns: Any
    image: Array
    gradient: Array
    n_join: int
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Corrective:
    r"""Fully corrective Frank-Wolfe with second-order corrections.

    A step computes one full gradient, lets the coordinates that promise most join the
    active ones (no two that are nearly alike), and minimises over the active ones by
    Newton steps: the second-order model over their simplex, solved exactly by a primal
    active-set method, then an exact line search. Cost: one product with all columns a
    step, O(m k^2) a Newton step for k active atoms. The negative logarithm is
    self-concordant and a quadratic is its own model, so some tens of Newton steps give
    six digits and more.

    Parameters
    ----------
    n_join : int
        Largest number of coordinates that join in the first step; it doubles after a
        step in which as many joined and the gap hardly fell.
    n_newton : int
        Largest number of Newton steps on the active coordinates in a step.
    alike : float
        A coordinate more similar than this to one that has just joined must wait.

    Notes
    -----
    `counts` of the history holds the Newton steps.

    References
    ----------
    Wang (2007), on the constrained Newton method for mixtures.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import MixtureLikelihood, Corrective, solve
    >>> problem = MixtureLikelihood(np.random.default_rng(0).random((20, 4)) + 0.1)
    >>> solve(problem, Corrective(), tol=1e-6).converged
    True
    """

    n_join: int = 10
    n_newton: int = 5
    alike: float = 0.9

    @property
    def accepts(self) -> Requirements:
        """A simplex and an objective with columns and second-order models."""
        return Requirements(
            objective=("image", "along", "columns", "model", "distinct"),
            domain=("coordinates",),
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = few_atoms(problem) if x is None else x
        active = np.flatnonzero(x)
        return self._state(
            problem,
            active,
            x[active] / x[active].sum(),
            problem.objective.columns(active),
            self.n_join,
            Counter(),
        )

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one join and its Newton steps."""
        memory: _CorrectiveMemory = state.memory
        objective = problem.objective
        joining = self._joining(objective, memory, state.claim.gap)
        active = np.concatenate([memory.active, joining])
        shares = np.concatenate([memory.shares, np.zeros(joining.size)])
        columns = beside(memory.columns, objective.columns(joining))
        atoms = ActiveAtoms(objective, active, columns, problem.domain.size)
        level = memory.shares @ memory.gradient[memory.active]
        steepest = -memory.gradient[joining].min(initial=0.0)
        if steepest > STEEP * abs(level):
            shares = atoms.mixed_in(shares, memory.image, memory.active.size, STEEP)
        noise = 1e-10 * max(1.0, abs(state.claim.objective))
        shares, taken = atoms.corrected(shares, state.claim.gap, noise, self.n_newton)
        counts = Counter(memory.counts)
        counts["newton"] += taken
        keep = shares > 0.0
        # Where a full group of newcomers hardly helps, the optimum has many atoms.
        slow = joining.size == memory.n_join
        after = self._state(
            problem,
            active[keep],
            shares[keep],
            columns[:, keep],
            min(2 * memory.n_join, MOST_JOINING) if slow else memory.n_join,
            counts,
        )
        if after.claim.gap < 0.3 * state.claim.gap:
            after = replace(after, memory=replace(after.memory, n_join=memory.n_join))
        if (
            after.claim.objective >= state.claim.objective
            and after.claim.gap >= state.claim.gap
        ):
            return State(
                state.x, state.claim, memory, counts=state.counts, stalled=True
            )
        return after

    def _state(
        self,
        problem: Any,
        active: Indices,
        shares: Array,
        columns: Any,
        n_join: int,
        counts: Counter[str],
    ) -> State:
        objective = problem.objective
        x = np.zeros(problem.domain.size)
        x[active] = shares
        image = columns @ shares
        gradient = objective.gradient_at(x, image)
        claim = problem.judge(x, objective.value_at(x, image), gradient)
        memory = _CorrectiveMemory(
            active, shares, columns, image, gradient, n_join, counts
        )
        return State(x, claim, memory, counts=dict(counts))

    def _joining(
        self, objective: Any, memory: _CorrectiveMemory, gap: float
    ) -> Indices:
        """Return the inactive coordinates that promise most, no two of them alike."""
        level = float(memory.shares @ memory.gradient[memory.active])
        promise = level - memory.gradient
        promise[memory.active] = -np.inf
        count = min(MOST_COORDINATES, promise.size)
        candidates = np.argpartition(-promise, count - 1)[:count]
        candidates = candidates[promise[candidates] > 0.02 * gap]
        order = np.lexsort((candidates, -promise[candidates]))
        chosen: Indices = objective.distinct(
            candidates[order], memory.n_join, self.alike
        )
        return chosen
