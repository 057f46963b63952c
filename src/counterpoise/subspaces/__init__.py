"""Subspace methods with orthogonality constraints."""

from counterpoise.optim.stiefel.problem import OrthogonalProblem
from counterpoise.subspaces.clustering import OrthogonalGraphClustering
from counterpoise.subspaces.discriminant import MaxMinDistanceAnalysis
from counterpoise.subspaces.orthogonal import solve_orthogonal
from counterpoise.subspaces.shared_subspace import SharedSubspace

__all__ = [
    "MaxMinDistanceAnalysis",
    "OrthogonalGraphClustering",
    "OrthogonalProblem",
    "SharedSubspace",
    "solve_orthogonal",
]
