"""Orthonormal frames: subspaces that separate, clusters without k-means."""

from counterpoise.convex.orthogonal import OrthogonalProblem
from counterpoise.subspaces.graph_clustering import OrthogonalGraphClustering
from counterpoise.subspaces.max_min_distance import MaxMinDistanceAnalysis
from counterpoise.subspaces.shared_subspace import SharedSubspace
from counterpoise.subspaces.solving import solve_orthogonal

__all__ = [
    "MaxMinDistanceAnalysis",
    "OrthogonalGraphClustering",
    "OrthogonalProblem",
    "SharedSubspace",
    "solve_orthogonal",
]
