"""Which method searches a problem over frames."""

from typing import Any

from counterpoise.convex.loop import Solver
from counterpoise.convex.orthogonal.relaxations.frame_cones import Relaxation
from counterpoise.convex.orthogonal.solvers.eigen import Eigenvectors
from counterpoise.convex.orthogonal.solvers.fista import SpectralRounds
from counterpoise.convex.orthogonal.solvers.mm import MajorizeMinimize
from counterpoise.convex.orthogonal.solvers.nonnegative import NonnegativeRounds
from counterpoise.convex.orthogonal.solvers.sequential import SequentialRelaxation
from counterpoise.convex.orthogonal.solvers.softmin import SoftminPolar

FRAME_SOLVERS = ("relaxation", "fista", "softmin", "mm", "eigen")


def frame_solver(
    problem: Any,
    name: str = "auto",
    relaxation: Relaxation = "sdp",
    penalty: float | None = None,
    polish: bool = True,
) -> Solver:
    """Return the method of a name, or the one that fits the problem best.

    "auto": where nothing but P'P = I is asked and neither a penalty nor the parabolic
    relaxation, "eigen" for one term, "fista" for a quadratic with a linear term,
    "softmin" for a maximum; "relaxation" in all other cases. The relaxation of a smooth
    problem with P >= 0 alone is solved by `NonnegativeRounds`.
    """
    if name == "auto":
        name = _best(problem, relaxation, penalty)
    if name == "eigen":
        return Eigenvectors()
    if name == "fista":
        return SpectralRounds(penalty, polish)
    if name == "softmin":
        return SoftminPolar(polish)
    if name == "mm":
        return MajorizeMinimize(polish)
    if problem.nonnegative and problem.is_smooth and not problem.constraints:
        return NonnegativeRounds(relaxation, penalty)
    return SequentialRelaxation(relaxation, penalty, polish)


def _best(problem: Any, relaxation: Relaxation, penalty: float | None) -> str:
    if not problem.is_free or relaxation != "sdp" or problem.l1 is not None:
        return "relaxation"
    if problem.maximum is not None:
        return "softmin" if penalty is None else "relaxation"
    if problem.has_one_term and penalty is None:
        return "eigen"
    return "fista"
