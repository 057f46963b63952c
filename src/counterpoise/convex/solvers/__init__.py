"""Ways to search: a file a method, each judged by the problem's own proof."""

from counterpoise.convex.solvers.admm import ADMM
from counterpoise.convex.solvers.conic import Conic
from counterpoise.convex.solvers.corrective import Corrective
from counterpoise.convex.solvers.frank_wolfe import FrankWolfe
from counterpoise.convex.solvers.interior_point import InteriorPoint
from counterpoise.convex.solvers.newton import ExpectationMaximization, Newton
from counterpoise.convex.solvers.partial_pricing import PartialPricing
from counterpoise.convex.solvers.projected_gradient import ProjectedGradient
from counterpoise.convex.solvers.proximal_gradient import ProximalGradient

__all__ = [
    "ADMM",
    "Conic",
    "Corrective",
    "ExpectationMaximization",
    "FrankWolfe",
    "InteriorPoint",
    "Newton",
    "PartialPricing",
    "ProjectedGradient",
    "ProximalGradient",
]
