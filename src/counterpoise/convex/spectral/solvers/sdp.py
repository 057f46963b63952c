"""The discrepancy as one semidefinite programme, by Clarabel."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.solvers.incumbent import Incumbent, of_moments
from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True)
class DiscrepancySDP:
    r"""The reference: the whole problem as a semidefinite programme, in one step.

    .. math:: \min_{z, t}\ t + s f_0 (m|z|^2 - 1) \quad\text{with}\quad
              -tI \preceq M(z) \preceq tI

    in two cones of order N, which is what a general solver does best. Its Newton
    systems are of order :math:`N(N+1)`, dense: it takes some :math:`30 N^4` bytes
    and :math:`N^6/3` operations an iteration. It serves small problems and as a judge
    of the others; above `largest` it refuses beforehand. The dual matrix is the
    difference of the two cones' multipliers.

    Parameters
    ----------
    accuracy : float
        Clarabel's own tolerance on gap and feasibility.
    max_seconds : float
        Clarabel's own time limit; no other budget can cut the one step short.
    largest : int
        Largest order N that is attempted.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import solve
    >>> from counterpoise.convex.spectral import Discrepancy
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy(rows, np.array([[0.75, 0.5], [0.5, 0.75]]))
    >>> solution = solve(problem, DiscrepancySDP(), tol=1e-6)
    >>> solution.x.round(3)
    array([0.25, 0.25, 0.5 ])
    """

    accuracy: float = 1e-9
    max_seconds: float = math.inf
    largest: int = 120

    @property
    def accepts(self) -> Requirements:
        """Second moments of rows."""
        return of_moments()

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        width = len(problem.target_moment)
        if width > self.largest:
            raise ValueError(
                f"the semidefinite programme has order {width}, at most "
                f"{self.largest} is attempted: it would need some "
                f"{memory_needed(width) / 1e9:.2g} GB; the interior point solves the "
                "same problem without matrices of order N^2"
            )
        best = Incumbent.at(problem, x)
        return best.state(problem, best, stalled=best.value == 0.0)

    def step(self, problem: Any, state: State) -> State:
        """Return the answer of Clarabel; there is no second step."""
        best: Incumbent = state.memory
        z, Y = _solved(problem, self.accuracy, self.max_seconds)
        if np.isfinite(z).all() and np.isfinite(Y).all():
            best = best.or_point(problem, problem.domain.project(z))
            best = best.or_dual(problem, Y)
        return best.state(problem, best, stalled=True)


def memory_needed(width: int) -> int:
    """Return the bytes that Clarabel takes for two cones of this order, as measured.

    A dense factor of order N(N + 1), and six times as much about it.
    """
    order = width * (width + 1)
    return 30 * order * order


def _solved(problem: Any, accuracy: float, max_seconds: float) -> tuple[Array, Array]:
    """Return Clarabel's weights and dual matrix."""
    import clarabel

    m, width = problem.rows.shape
    # In units of the value at equal weights, the tolerances mean what they say.
    unit = problem.uniform_value or 1.0
    rows, columns = _upper_triangle(width)
    factor = np.where(rows == columns, 1.0, math.sqrt(2.0))
    products = problem.rows[:, rows] * problem.rows[:, columns] * (factor / unit)
    moment = problem.target_moment[rows, columns] * (factor / unit)
    eye = (rows == columns).astype(float)[:, None]
    one, right, bounds, limits = problem.domain.polyhedron()
    none = sparse.csc_matrix((len(limits) + len(right), 1))
    A = sparse.vstack(
        [
            sparse.hstack([sparse.vstack([sparse.csc_matrix(one), bounds]), none]),
            sparse.csc_matrix(np.hstack([-products.T, -eye])),
            sparse.csc_matrix(np.hstack([products.T, -eye])),
        ],
        format="csc",
    )
    b = np.concatenate([right, limits, -moment, moment])
    curvature = np.append(np.full(m, 2.0 * problem.bend / unit), 0.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = max_seconds
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    settings.presolve_enable = False
    cones = [
        clarabel.ZeroConeT(len(right)),
        clarabel.NonnegativeConeT(len(limits)),
        clarabel.PSDTriangleConeT(width),
        clarabel.PSDTriangleConeT(width),
    ]
    answer = clarabel.DefaultSolver(
        sparse.diags(curvature, format="csc"),
        np.append(np.zeros(m), 1.0),
        A,
        b,
        cones,
        settings,
    ).solve()
    multipliers = np.asarray(answer.z, dtype=float)[len(right) + len(limits) :]
    plus, minus = np.split(multipliers, 2)
    Y = np.zeros((width, width))
    Y[rows, columns] = Y[columns, rows] = (plus - minus) / factor
    return np.asarray(answer.x, dtype=float)[:m], Y


def _upper_triangle(width: int) -> tuple[Indices, Indices]:
    """Return the places of the upper triangle, column after column."""
    columns, rows = np.tril_indices(width)
    return rows, columns
