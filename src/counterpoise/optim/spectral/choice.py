"""The default solver of a discrepancy problem."""

from typing import Any

from counterpoise.linalg.cholesky import small_rank_factor
from counterpoise.optim.loop import Solver
from counterpoise.optim.spectral.dual_newton import DualNewton
from counterpoise.optim.spectral.subspace import (
    FeatureSubspace,
    KernelFactor,
    KernelSubspace,
)
from counterpoise.optim.spectral.working_set import (
    ColumnGeneration,
    Fallback,
    RankOneInteriorPoint,
)

# Measured to a gap of 1e-3 (benchmarks/discrepancy): below so many columns or rows a
# subspace saves nothing; above so many rows it is not smaller than the whole.
SUBSPACE_COLUMNS, SUBSPACE_ROWS, SUBSPACE_MOST_ROWS = 30, 20, 6000
# A kernel of this rank at most is solved in so many columns: always with few rows, and
# for a gap below this.
LARGEST_KERNEL_RANK, FEW_KERNEL_ROWS, FINE_GAP = 1000, 600, 5e-3
# With a spread of this much most rows carry weight, and from so many rows on, of at
# most so many columns, Newton steps on the dual are the fastest; if not, so many.
LEAST_SPREAD, DUAL_ROWS, DUAL_COLUMNS, DUAL_STEPS = 1e-3, 3000, 45, 15


def best_solver(problem: Any, tol: float = 1e-2) -> Solver:
    """Return the fastest method for a discrepancy, "auto" of `DiscrepancyWeights`.

    A kernel: its subspace; or its factor where rows are few, where the rank is small,
    and up to 1,000 rows for a `tol` below 5e-3, which the subspace is slow to reach
    where the least discrepancy is small. Features: the subspace as well, up to 6,000
    rows and again where rows are so many that they could match all moments. Else column
    generation, or with few columns or rows the interior point. With a spread of at
    least 1e-3, from 3,000 rows on and up to 45 columns: the dual's Newton method, and
    after 15 steps of it column generation.
    """
    if hasattr(problem, "kernel"):
        q = problem.kernel.size
        whole = q <= FEW_KERNEL_ROWS or (q <= LARGEST_KERNEL_RANK and tol < FINE_GAP)
        rank = q if whole else min(q // 2, LARGEST_KERNEL_RANK)
        pivots = small_rank_factor(problem.kernel, rank)
        if pivots is None:
            return KernelSubspace()
        m, N = problem.size, pivots.factor.shape[1]
        return KernelFactor(pivots, _for_features(m, N, problem.spread))
    m, N = problem.rows.shape
    return _for_features(m, N, problem.spread)


def _for_features(m: int, N: int, spread: float) -> Solver:
    if spread >= LEAST_SPREAD and m >= DUAL_ROWS and N <= DUAL_COLUMNS:
        return Fallback(DualNewton(), ColumnGeneration(), DUAL_STEPS)
    if m <= SUBSPACE_ROWS or (N <= SUBSPACE_COLUMNS and m <= 500):
        return RankOneInteriorPoint()
    if N > SUBSPACE_COLUMNS and (m <= SUBSPACE_MOST_ROWS or m > N * (N + 1)):
        return FeatureSubspace()
    return ColumnGeneration()
