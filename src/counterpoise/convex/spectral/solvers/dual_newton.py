"""Newton's method on the dual matrix, for problems with a spread."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.discrepancy import Discrepancy, DualMatrix
from counterpoise.convex.spectral.solvers.incumbent import Incumbent, of_moments
from counterpoise.convex.spectral.solvers.interior_point import no_choice
from counterpoise.convex.spectral.steps.dual_newton import (
    FreeRows,
    newton_point,
    worst_direction,
)
from counterpoise.numerics.arrays import Array

# A Newton step is halved at most so often, and taken if it brings this share of what
# its slope promises.
STEP_HALVINGS, ENOUGH = 20, 1e-4


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A dual matrix, its bound, its weights, and the moment that they leave."""

    form: Array
    bound: float
    z: Array
    gradient: Array

    @classmethod
    def at(cls, problem: Discrepancy, form: Array) -> "DualPoint":
        """Return the point; O(m N^2 + m log m)."""
        pulls = problem.pull(form)
        z = problem.domain.project(pulls / (2.0 * problem.smooth_dual))
        bound = float(np.sum(problem.target_moment * form)) - float(pulls @ z)
        bound += problem.spread_term(z)
        return cls(form, bound, z, problem.operator(z))


@dataclass(frozen=True)
class DualNewton:
    r"""Newton steps on the dual of a discrepancy with a spread.

    Maximises over symmetric Y of nuclear norm at most one the smooth

    .. math:: L(Y) = \langle A_P, Y \rangle + \min_z \Bigl[s f_0 (m |z|^2 - 1)
        - \sum_i z_i x_i'Yx_i\Bigr],

    by its second-order model over the ball (`steps/dual_newton.py`), halved until L
    rises as its slope promises. The weights of Y are the projection of
    :math:`x_i'Yx_i / 2 s f_0 m` onto the simplex: every row may carry weight, as
    it does where a spread counts, and nothing of the order m x m is stored. A step
    costs :math:`O(m N^4 / 4 + N^6 / 6)` for the model and its largest curvature,
    :math:`O(N^4 / 4)` a step on it (3,000 at most) and :math:`O(m N^2)` a value of L,
    so it is the method of many rows and few columns; above `largest` it refuses. With a
    spread near its default three to ten steps reach a gap of 1e-3;
    with a small one the model is ill conditioned, and L hardly rises.

    Parameters
    ----------
    largest : int
        Columns that are taken at most.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import solve
    >>> from counterpoise.convex.spectral import Discrepancy
    >>> rows = np.random.default_rng(0).normal(size=(2000, 3))
    >>> problem = Discrepancy.of(rows, rows[:500] + 0.2, spread=0.01)
    >>> solve(problem, DualNewton(), tol=1e-8).converged
    True
    """

    largest: int = 60

    @property
    def accepts(self) -> Requirements:
        """A discrepancy in features, with a spread."""
        moments = of_moments()
        return replace(
            moments,
            problem=(*moments.problem, "smooth_dual"),
            hint="a Discrepancy with a spread above zero is needed",
        )

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the state at the worst direction of x or of equal weights."""
        N = problem.rows.shape[1]
        if self.largest < N:
            raise ValueError(
                f"the dual's Newton method takes {self.largest} columns at most, got "
                f"{N}: it stores a matrix of {N * (N + 1) // 2} by {N * (N + 1) // 2}"
            )
        incumbent = Incumbent.at(problem, x)
        if no_choice(problem):
            return incumbent.state(problem, None, stalled=True)
        first = worst_direction(problem.operator(incumbent.z))
        return _told(problem, DualPoint.at(problem, first), incumbent, False)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after one Newton step."""
        here, incumbent = state.memory
        highest = 1.0 if problem.cap is None else problem.cap
        is_free = (here.z > 0.0) & (here.z < highest)
        free = FreeRows.of(problem.rows[is_free])
        goal = newton_point(
            here.form, here.gradient, free.curvature(problem.smooth_dual)
        )
        move = goal - here.form
        slope = float(np.sum(here.gradient * move))
        length = 1.0
        for _ in range(STEP_HALVINGS):
            there = DualPoint.at(problem, here.form + length * move)
            if there.bound >= here.bound + ENOUGH * length * slope:
                return _told(problem, there, incumbent, False)
            length *= 0.5
        return _told(problem, here, incumbent, True)


def _told(
    problem: Discrepancy, point: DualPoint, incumbent: Incumbent, stalled: bool
) -> State:
    """Return the state with the better of a point and the incumbent."""
    z = problem.inside(point.z)
    incumbent = incumbent.or_point(problem, z)
    values, vectors = eigh(point.form, check_finite=False)
    used = np.abs(values) > 0.0
    dual = DualMatrix(vectors[:, used], values[used])
    incumbent = incumbent.or_bounded(dual, point.bound)
    return incumbent.state(
        problem, (point, incumbent), stalled, {"rows in use": int(np.sum(z > 0.0))}
    )
