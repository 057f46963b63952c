"""Discrepancy in the Frobenius norm: an upper bound that is a quadratic program."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.loop import Requirements, State, solve
from counterpoise.optim.objectives import KernelDistance
from counterpoise.optim.problems import Constrained
from counterpoise.optim.sets import CappedSimplex
from counterpoise.optim.solvers.corrective import simplex_quadratic
from counterpoise.optim.solvers.interior_point import InteriorPoint
from counterpoise.optim.spectral.working_set import (
    NEEDS_MOMENTS_OR_KERNEL,
    Incumbent,
    refuse_spread,
)

# Programs of at most this many rows are solved whole.
WHOLE = 800
# Programs of at most this many rows are tried by pivots: J is then stored.
PIVOTED = 3000
# The gap of a program, in units of its linear term.
ACCURACY = 1e-12
# The gap at which no further row joins, and how often rows may join.
PRICED = 1e-10
MOST_PRICINGS = 40
# Weights below this share of the largest are none, and the pivots that may be tried.
SPENT_WEIGHT = 1e-9
MOST_PIVOTS = 50


@dataclass(frozen=True, eq=False)
class RowSquares:
    """The matrix of squared inner products of rows, formed where it is needed."""

    rows: Array

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, some: Indices) -> Array:
        """Return the part of some rows; O(k^2 N)."""
        rows = self.rows[some]
        out: Array = (rows @ rows.T) ** 2
        return out

    def image(self, u: Array) -> Array:
        """Return Ju, as x'(sum u xx')x of every row; O(mN^2)."""
        some = np.flatnonzero(u)
        moment = (self.rows[some] * u[some][:, None]).T @ self.rows[some]
        out: Array = np.einsum("ij,ij->i", self.rows @ moment, self.rows)
        return out

    @cached_property
    def diagonal(self) -> Array:
        """The fourth powers of the rows' lengths."""
        out: Array = np.einsum("ij,ij->i", self.rows, self.rows) ** 2
        return out


@dataclass(frozen=True, eq=False)
class KernelSquares:
    """The matrix of squared kernel values of source rows, stored."""

    squares: Array

    def __len__(self) -> int:
        return len(self.squares)

    def block(self, some: Indices) -> Array:
        """Return the part of some rows."""
        return self.squares[np.ix_(some, some)]

    def image(self, u: Array) -> Array:
        """Return Ju; O(m^2)."""
        some = np.flatnonzero(u)
        out: Array = self.squares[:, some] @ u[some]
        return out

    @property
    def diagonal(self) -> Array:
        """The squares of the kernel's diagonal."""
        return self.squares.diagonal()


@dataclass(frozen=True, eq=False)
class MomentQuadratics:
    r"""Quadratic programs with the curvature of the Frobenius norm.

    :math:`\|\sum_i u_i x_i x_i'\|_F^2 = u'Ju` with :math:`J_{ij} = (x_i'x_j)^2`, for a
    kernel :math:`K_{ij}^2`; J is singular where m exceeds :math:`N(N+1)/2` or rows
    repeat. The programs are solved by an interior point, one factor of order m a
    step; with many rows on a growing set of them, the others priced by one product. One
    that is near another's answer is solved by pivots from there, O(m^2) each.

    Parameters
    ----------
    curvature : RowSquares or KernelSquares
        J.
    domain : Simplex or CappedSimplex
    """

    curvature: Any
    domain: Any

    def minimize(
        self, factor: float, linear: Array, near: Array | None = None
    ) -> Array:
        r"""Return the minimizer of :math:`c\,u'Ju/2 + b'u` over the domain.

        `near` is the answer to a similar program.
        """
        goal = -linear / factor
        diagonal = self.curvature.diagonal
        scale = max(float(np.abs(goal).max()), float(diagonal.max()), 1e-300)
        if (
            near is not None
            and len(goal) <= PIVOTED
            and not hasattr(self.domain, "caps")
        ):
            pivoted = self._pivoted(goal, near, scale)
            if pivoted is not None:
                return pivoted
        if len(goal) <= WHOLE:
            return self._on(np.arange(len(goal)), self._whole, goal, scale)
        # A row matters by what it would gain alone.
        order = np.argsort(0.5 * diagonal - goal, kind="stable")
        some = np.sort(order[: max(WHOLE, self._fewest())])
        for _ in range(MOST_PRICINGS):
            u = np.zeros(len(goal))
            u[some] = self._on(some, self.curvature.block(some), goal, scale)
            slopes = self.curvature.image(u) - goal
            if float(slopes @ (u - self.domain.vertex(slopes))) <= PRICED * scale:
                break
            kept = np.flatnonzero(u > SPENT_WEIGHT * u.max())
            outside = np.setdiff1d(np.arange(len(goal)), some)
            worst = outside[np.argsort(slopes[outside], kind="stable")]
            some = np.union1d(kept, worst[: max(WHOLE // 2, kept.size // 2)])
        return u

    def _pivoted(self, goal: Array, near: Array, scale: float) -> Array | None:
        """Return the minimizer by pivots, None if there would be too many."""
        start = np.where(near > SPENT_WEIGHT * near.max(), near, 0.0)
        u = simplex_quadratic(
            self._whole, goal, start, ACCURACY * scale, MOST_PIVOTS + len(goal) // 4
        )
        slopes = self._whole @ u - goal
        return u if float(u @ slopes - slopes.min()) <= PRICED * scale else None

    def _on(self, some: Indices, block: Array, goal: Array, scale: float) -> Array:
        """Return the minimizer of u'Ju/2 - goal'u over some of the rows."""
        if some.size == 1:
            return np.ones(1)
        caps = getattr(self.domain, "caps", np.ones(len(goal)))[some]
        program = Constrained(
            KernelDistance(block, goal[some], 0.0, np.zeros(some.size)),
            CappedSimplex(some.size, caps),
            scale,
        )
        return solve(program, InteriorPoint(), tol=ACCURACY, max_iter=80).x

    def _fewest(self) -> int:
        """Return how many rows the caps need to hold the whole mass, and some more."""
        caps = getattr(self.domain, "caps", None)
        return 0 if caps is None else int(np.ceil(1.5 / float(caps.max())))

    @cached_property
    def _whole(self) -> Array:
        block: Array = self.curvature.block(np.arange(len(self.curvature)))
        return block


@dataclass(frozen=True)
class Frobenius:
    r"""The weights that minimize the Frobenius norm of M(z), at once.

    .. math:: \min_z \tfrac12 z'Jz - j_0'z, \quad J_{ij} = (x_i'x_j)^2, \quad
              j_{0i} = x_i'A_P x_i

    (of a kernel :math:`K_{ij}^2` and :math:`\sum_k P_k K_{ik}^2`).

    It is the starting point :math:`u_0` of Cortes and Mohri's second algorithm, and
    cheap: one quadratic program, some twenty factors of order m. It does not
    minimize the spectral norm; the certificate says how far from it the weights are,
    with :math:`M(z)` itself as the dual matrix.

    References
    ----------
    Cortes and Mohri (2011), section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim import Discrepancy
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy(rows, np.array([[0.75, 0.5], [0.5, 0.75]]))
    >>> solution = solve(problem, Frobenius(), tol=1e-6)
    >>> solution.x.round(3)
    array([0.25, 0.25, 0.5 ])
    """

    accepts: ClassVar[Requirements] = NEEDS_MOMENTS_OR_KERNEL

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the state at the minimizer, wherever a search should begin."""
        refuse_spread(problem, "the program of the Frobenius norm")
        z = frobenius_weights(problem)
        found = Incumbent(z, problem.value(z))
        if hasattr(problem, "rows"):
            found = found.or_dual(problem, problem.operator(z))
        return found.state(problem, None, stalled=True)

    def step(self, problem: Any, state: State) -> State:
        """Return the same state: there is nothing more to do."""
        return state


def frobenius_weights(problem: Any) -> Array:
    """Return the weights that minimize the Frobenius norm of M(z)."""
    programs, pull = moment_quadratics(problem)
    return programs.minimize(1.0, -pull)


def moment_quadratics(problem: Any) -> tuple[MomentQuadratics, Array]:
    """Return the programs of a problem and j_0, <A_P, xx'> of every row."""
    if hasattr(problem, "rows"):
        curvature: Any = RowSquares(problem.rows)
        pull = problem.pull(problem.target_moment)
    else:
        source = np.arange(problem.size)
        target = np.arange(problem.size, problem.kernel.size)
        curvature = KernelSquares(problem.kernel.block(source, source) ** 2)
        pull = problem.kernel.block(source, target) ** 2 @ problem.target_share
    return MomentQuadratics(curvature, problem.domain), pull
