"""Which method is the fastest for a discrepancy of a given size."""

from typing import Any

from counterpoise.convex.loop import Solver
from counterpoise.convex.spectral.solvers.column_generation import ColumnGeneration
from counterpoise.convex.spectral.solvers.interior_point import RankOneInteriorPoint
from counterpoise.convex.spectral.solvers.kernel_factor import KernelFactor
from counterpoise.convex.spectral.solvers.kernel_subspace import KernelSubspace
from counterpoise.convex.spectral.solvers.subspace import FeatureSubspace
from counterpoise.numerics.pivoted_cholesky import small_rank_factor

# Measured to a gap of 1e-3 (benchmarks/discrepancy): below so many columns or rows a
# subspace saves nothing; above so many rows it is not smaller than the whole.
FEW_COLUMNS, FEW_ROWS, MANY_ROWS = 30, 20, 6000
# A kernel of this rank at most is solved in so many columns: always with few rows, and
# for a gap below this.
LARGEST_RANK, FEW_KERNEL_ROWS, FINE = 1000, 600, 5e-3


def best_solver(problem: Any, tol: float = 1e-2) -> Solver:
    """Return the fastest method for a discrepancy, "auto" of `DiscrepancyWeights`.

    A kernel: its subspace; or its factor where rows are few, where the rank is small,
    and up to 1,000 rows for a `tol` below 5e-3, which the subspace is slow to reach
    where the least discrepancy is small. Features: the subspace as well, up to 6,000
    rows and again where rows are so many that they could match all moments. Else column
    generation, or with few columns or rows the interior point.
    """
    if hasattr(problem, "kernel"):
        q = problem.kernel.size
        whole = q <= FEW_KERNEL_ROWS or (q <= LARGEST_RANK and tol < FINE)
        rank = q if whole else min(q // 2, LARGEST_RANK)
        pivots = small_rank_factor(problem.kernel, rank)
        if pivots is None:
            return KernelSubspace()
        m, N = problem.size, pivots.factor.shape[1]
        return KernelFactor(pivots, _for_features(m, N))
    return _for_features(*problem.rows.shape)


def _for_features(m: int, N: int) -> Solver:
    if m <= FEW_ROWS or (N <= FEW_COLUMNS and m <= 500):
        return RankOneInteriorPoint()
    if N > FEW_COLUMNS and (m <= MANY_ROWS or m > N * (N + 1)):
        return FeatureSubspace()
    return ColumnGeneration()
