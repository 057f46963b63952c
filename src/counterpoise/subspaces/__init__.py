"""Orthonormal frames: subspaces that separate, clusters without k-means."""

from counterpoise.convex.orthogonal import OrthogonalProblem
from counterpoise.subspaces.solving import solve_orthogonal

__all__ = [
    "OrthogonalProblem",
    "solve_orthogonal",
]
