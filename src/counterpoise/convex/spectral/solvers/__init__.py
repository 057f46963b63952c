"""Ways to minimise a discrepancy, each judged by the problem's own proof."""

from counterpoise.convex.spectral.solvers.choice import best_solver
from counterpoise.convex.spectral.solvers.column_generation import ColumnGeneration
from counterpoise.convex.spectral.solvers.dual_newton import DualNewton
from counterpoise.convex.spectral.solvers.fallback import Fallback
from counterpoise.convex.spectral.solvers.frobenius import Frobenius
from counterpoise.convex.spectral.solvers.interior_point import RankOneInteriorPoint
from counterpoise.convex.spectral.solvers.kernel_factor import KernelFactor
from counterpoise.convex.spectral.solvers.kernel_subspace import KernelSubspace
from counterpoise.convex.spectral.solvers.multiplicative_weights import (
    MultiplicativeWeights,
)
from counterpoise.convex.spectral.solvers.sdp import DiscrepancySDP
from counterpoise.convex.spectral.solvers.smoothing import Smoothing
from counterpoise.convex.spectral.solvers.subgradient import SpectralSubgradient
from counterpoise.convex.spectral.solvers.subspace import FeatureSubspace

__all__ = [
    "ColumnGeneration",
    "DiscrepancySDP",
    "DualNewton",
    "Fallback",
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
