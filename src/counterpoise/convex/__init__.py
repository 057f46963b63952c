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
    placed,
    solve,
)
from counterpoise.convex.objectives import (
    ConicForm,
    LeastSquares,
    NegativeMeanLog,
    Objective,
    Quadratic,
)
from counterpoise.convex.orthogonal import OrthogonalProblem
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
from counterpoise.convex.registry import default_solver, solver_names
from counterpoise.convex.requirements import Requirements, SolverMismatchError
from counterpoise.convex.solvers import ADMM as ADMM
from counterpoise.convex.solvers import Conic as Conic
from counterpoise.convex.solvers import Corrective as Corrective
from counterpoise.convex.solvers import (
    ExpectationMaximization as ExpectationMaximization,
)
from counterpoise.convex.solvers import FrankWolfe as FrankWolfe
from counterpoise.convex.solvers import InteriorPoint as InteriorPoint
from counterpoise.convex.solvers import Newton as Newton
from counterpoise.convex.solvers import PartialPricing as PartialPricing
from counterpoise.convex.solvers import ProjectedGradient as ProjectedGradient
from counterpoise.convex.solvers import ProximalGradient as ProximalGradient
from counterpoise.convex.spectral import Discrepancy, DualMatrix, KernelDiscrepancy

__all__ = [
    "L1",
    "Box",
    "BoxQuadratic",
    "Breakpoint",
    "CappedSimplex",
    "Certificate",
    "ConicForm",
    "Constrained",
    "Discrepancy",
    "Domain",
    "DualMatrix",
    "KernelDiscrepancy",
    "LeastSquares",
    "LogLinearMixture",
    "LogLinearRatio",
    "MeanMatching",
    "MixtureLikelihood",
    "NegativeMeanLog",
    "NonnegativeQuadratic",
    "Objective",
    "OrthogonalProblem",
    "Path",
    "PathError",
    "Penalized",
    "Penalty",
    "Problem",
    "Programme",
    "Progress",
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
    "placed",
    "solve",
]
# The solvers are public as they are registered.
__all__ += solver_names("general")
