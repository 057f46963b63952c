"""Column generation: an interior point on the rows that may carry weight."""

from dataclasses import dataclass

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.discrepancy import Discrepancy
from counterpoise.convex.spectral.solvers.first_rows import first_rows
from counterpoise.convex.spectral.solvers.incumbent import Incumbent, of_moments
from counterpoise.convex.spectral.solvers.interior_point import no_choice
from counterpoise.convex.spectral.solvers.working_set import WorkingSet
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True)
class ColumnGeneration:
    r"""Interior-point steps on a working set of rows, each priced on all rows.

    Few of many rows carry weight. The first working set are the heaviest rows of some
    accelerated smoothed steps; a point on it, with zeros elsewhere, is feasible, and
    :math:`x_i'Yx_i` of *all* rows makes its bound valid. Once the rows left out limit
    the gap, weightless ones are dropped and those that violate join, and the search
    goes on warm. Where the rows
    could match the moment exactly, the first set is a sample in proportion to those
    weights instead. A step on w of m rows costs :math:`O(w^2N + w^3/3 + N^3 + mN^2)`.

    Parameters
    ----------
    first : int
        Least size of the first working set.
    warm_steps : int
        Accelerated steps that choose it.
    """

    first: int = 300
    warm_steps: int = 20

    @property
    def accepts(self) -> Requirements:
        """A discrepancy in features."""
        return of_moments()

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the first state."""
        incumbent = Incumbent.at(problem, x)
        if no_choice(problem):
            return incumbent.state(problem, None, stalled=True)
        columns, z = first_rows(problem, x, self.warm_steps, self.first)
        work = WorkingSet.of(problem, columns, z, incumbent)
        return work.incumbent.state(problem, work)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after one step."""
        work: WorkingSet = state.memory.advanced()
        return work.incumbent.state(
            problem, work, work.spent, {"rows in use": work.columns.size}
        )
