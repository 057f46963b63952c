"""Pairs of an objective and a set or a penalty, and what is provable about them.

A problem has `start()`, a feasible point with a finite value, and
`certify(x, hint=None)`, which bounds how far *any* point is from optimal from x alone
(`hint` is a dual point or the like that a solver may offer). `judge(x, value,
gradient)` is the same proof from a value and a gradient that somebody has at hand; the
loop lets a solver go on by it, and never takes it for the last word.
"""

from counterpoise.convex.problems.constrained import Constrained
from counterpoise.convex.problems.kernel_ridge import KernelRidge
from counterpoise.convex.problems.least_squares import (
    NonnegativeQuadratic,
    RidgeQuadratic,
)
from counterpoise.convex.problems.log_linear import LogLinearMixture, LogLinearRatio
from counterpoise.convex.problems.mean_matching import MeanMatching
from counterpoise.convex.problems.mixture_likelihood import MixtureLikelihood
from counterpoise.convex.problems.penalized import Penalized
from counterpoise.convex.problems.problem import Problem
from counterpoise.convex.problems.smooth import Smooth

__all__ = [
    "Constrained",
    "KernelRidge",
    "LogLinearMixture",
    "LogLinearRatio",
    "MeanMatching",
    "MixtureLikelihood",
    "NonnegativeQuadratic",
    "Penalized",
    "Problem",
    "RidgeQuadratic",
    "Smooth",
]
