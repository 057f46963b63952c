"""Problems, solvers and proofs; knows neither data nor scikit-learn.

An objective and a domain make a problem; a solver searches; the problem proves how far
any point, whoever found it, is from optimal:

>>> import numpy as np
>>> problem = MixtureLikelihood(np.array([[2.0, 1.0], [0.5, 1.0]]))
>>> solution = solve(problem, FrankWolfe("away"), tol=1e-8)
>>> solution.converged, solution.certificate.gap <= 1e-8 * solution.certificate.scale
(True, True)
"""

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.domains import Box, CappedSimplex, Domain, Simplex
from counterpoise.convex.loop import (
    Progress,
    Solution,
    Solver,
    State,
    attested,
    certified,
    solve,
)
from counterpoise.convex.objectives import (
    ConicForm,
    LeastSquares,
    NegativeMeanLog,
    Objective,
    Quadratic,
)
from counterpoise.convex.path import (
    Breakpoint,
    Path,
    PathError,
    Programme,
    SolutionPath,
    follow,
)
from counterpoise.convex.penalties import L1, Penalty, RowNorms
from counterpoise.convex.problems import (
    Constrained,
    LogLinearMixture,
    LogLinearRatio,
    MeanMatching,
    MixtureLikelihood,
    NonnegativeQuadratic,
    Penalized,
    Problem,
    RidgeQuadratic,
)
from counterpoise.convex.quadratic_path.problem import BoxQuadratic
from counterpoise.convex.requirements import Requirements, SolverMismatchError
from counterpoise.convex.solvers import (
    ADMM,
    Conic,
    Corrective,
    ExpectationMaximization,
    FrankWolfe,
    InteriorPoint,
    Newton,
    PartialPricing,
    ProjectedGradient,
    ProximalGradient,
    default_solver,
)
from counterpoise.convex.spectral import Discrepancy, DualMatrix, KernelDiscrepancy

__all__ = [
    "ADMM",
    "L1",
    "Box",
    "BoxQuadratic",
    "Breakpoint",
    "CappedSimplex",
    "Certificate",
    "Conic",
    "ConicForm",
    "Constrained",
    "Corrective",
    "Discrepancy",
    "Domain",
    "DualMatrix",
    "ExpectationMaximization",
    "FrankWolfe",
    "InteriorPoint",
    "KernelDiscrepancy",
    "LeastSquares",
    "LogLinearMixture",
    "LogLinearRatio",
    "MeanMatching",
    "MixtureLikelihood",
    "NegativeMeanLog",
    "Newton",
    "NonnegativeQuadratic",
    "Objective",
    "PartialPricing",
    "Path",
    "PathError",
    "Penalized",
    "Penalty",
    "Problem",
    "Programme",
    "Progress",
    "ProjectedGradient",
    "ProximalGradient",
    "Quadratic",
    "Requirements",
    "RidgeQuadratic",
    "RowNorms",
    "Simplex",
    "Solution",
    "SolutionPath",
    "Solver",
    "SolverMismatchError",
    "State",
    "attested",
    "certified",
    "default_solver",
    "follow",
    "solve",
]
