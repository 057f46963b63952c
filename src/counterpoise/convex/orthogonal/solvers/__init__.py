"""Ways to search over frames; `frame_solver` says which one."""

from counterpoise.convex.orthogonal.solvers.choice import FRAME_SOLVERS, frame_solver
from counterpoise.convex.orthogonal.solvers.eigen import Eigenvectors
from counterpoise.convex.orthogonal.solvers.fista import SpectralRounds
from counterpoise.convex.orthogonal.solvers.mm import MajorizeMinimize
from counterpoise.convex.orthogonal.solvers.nonnegative import NonnegativeRounds
from counterpoise.convex.orthogonal.solvers.sequential import SequentialRelaxation
from counterpoise.convex.orthogonal.solvers.softmin import SoftminPolar

__all__ = [
    "FRAME_SOLVERS",
    "Eigenvectors",
    "MajorizeMinimize",
    "NonnegativeRounds",
    "SequentialRelaxation",
    "SoftminPolar",
    "SpectralRounds",
    "frame_solver",
]
