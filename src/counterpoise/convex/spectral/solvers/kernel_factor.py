"""A kernel whose numerical rank is small, solved in the coordinates of its factor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from counterpoise.convex.loop import Solver, State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.discrepancy import DualMatrix
from counterpoise.convex.spectral.kernel_discrepancy import (
    FEW,
    MARGINS,
    KernelDiscrepancy,
)
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.pivoted_cholesky import ColumnFactor


@dataclass(frozen=True)
class KernelFactor:
    r"""Solve the feature form on :math:`K \approx FF'` of full numerical rank.

    Pivots p of a Cholesky factor give :math:`F = K_{\cdot p} L^{-T}`, the features of
    all rows in the orthonormal basis :math:`\Phi_p L^{-T}`: what the basis leaves of a
    row has a squared length below 1e-12 of the longest. So the reduced problem is the
    whole one but for rounding, its dual matrix bounds the whole problem below with no
    error term, and the problem proves the norm of the whole operator. Making F costs
    :math:`O(q r^2)`; a step is one of `inner`.

    Parameters
    ----------
    pivots : ColumnFactor
        Of the problem's kernel.
    inner : Solver
        For the feature form.
    """

    pivots: ColumnFactor
    inner: Solver

    @property
    def accepts(self) -> Requirements:
        """A discrepancy seen through a kernel."""
        return Requirements(
            objective=("value",),
            domain=("project",),
            problem=("kernel", "target_share", "reduced", "claim"),
            hint="a KernelDiscrepancy is needed",
        )

    def begin(self, problem: KernelDiscrepancy, x: Array | None) -> State:
        """Return the first state."""
        part = problem.reduced(self.pivots.factor)
        return self._lifted(problem, part, self.inner.begin(part, x))

    def step(self, problem: KernelDiscrepancy, state: State) -> State:
        """Return the state after one step of the inner method."""
        part, within = state.memory
        return self._lifted(problem, part, self.inner.step(part, within))

    def _lifted(self, problem: KernelDiscrepancy, part: Any, within: State) -> State:
        """Return the whole problem's state: the dual matrix by coefficients on rows."""
        hint = within.hint
        if isinstance(hint, np.ndarray):
            values, vectors = np.linalg.eigh(0.5 * (hint + hint.T))
            hint = DualMatrix(vectors, values)
        if isinstance(hint, DualMatrix):
            hint = DualMatrix(self._coefficients(hint.directions), hint.values)
        # The proof of the norm needs a margin where it is no eigenvalue.
        margin = MARGINS[0] if problem.kernel.size > FEW else 0.0
        claim = problem.claim(
            within.x, within.claim.objective * (1.0 + margin), within.claim.bound
        )
        return State(
            within.x, claim, (part, within), hint, within.counts, within.stalled
        )

    def _coefficients(self, directions: Array) -> Array:
        """Return directions of the basis as coefficients on all rows."""
        places = self.pivots.pivots
        triangle = self.pivots.factor[places]
        out = np.zeros((len(self.pivots.factor), directions.shape[1]))
        out[places] = solve_triangular(
            triangle, directions, lower=True, trans=1, check_finite=False
        )
        return out
