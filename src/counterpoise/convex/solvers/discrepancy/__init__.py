"""Ways to minimise a discrepancy, each judged by the problem's own proof."""

from counterpoise.convex.solvers.discrepancy.choice import best_solver
from counterpoise.convex.solvers.discrepancy.column_generation import ColumnGeneration
from counterpoise.convex.solvers.discrepancy.frobenius import Frobenius
from counterpoise.convex.solvers.discrepancy.interior_point import RankOneInteriorPoint
from counterpoise.convex.solvers.discrepancy.kernel_factor import KernelFactor
from counterpoise.convex.solvers.discrepancy.kernel_subspace import KernelSubspace
from counterpoise.convex.solvers.discrepancy.multiplicative_weights import (
    MultiplicativeWeights,
)
from counterpoise.convex.solvers.discrepancy.sdp import DiscrepancySDP
from counterpoise.convex.solvers.discrepancy.smoothing import Smoothing
from counterpoise.convex.solvers.discrepancy.subgradient import SpectralSubgradient
from counterpoise.convex.solvers.discrepancy.subspace import FeatureSubspace

__all__ = [
    "ColumnGeneration",
    "DiscrepancySDP",
    "FeatureSubspace",
    "Frobenius",
    "KernelFactor",
    "KernelSubspace",
    "MultiplicativeWeights",
    "RankOneInteriorPoint",
    "Smoothing",
    "SpectralSubgradient",
    "best_solver",
]
