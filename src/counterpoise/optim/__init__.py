"""Certified convex optimization: objectives, sets, problems, solvers, certificates.

An objective and a set make a problem; a solver searches; the problem certifies how
far any point, whoever found it, is from the optimum:

>>> import numpy as np
>>> problem = MixtureLikelihood(np.array([[2.0, 1.0], [0.5, 1.0]]))
>>> solution = solve(problem, FrankWolfe("away"), tol=1e-8)
>>> solution.converged, solution.certificate.gap <= 1e-8 * solution.certificate.scale
(True, True)
"""

from counterpoise.optim.assignment.published import SlackADMM
from counterpoise.optim.assignment.solvers import AssignmentConic, ProximalADMM
from counterpoise.optim.certificate import Certificate, Problem
from counterpoise.optim.dc_network.constrained_training import ExactLayer, ProxLinear
from counterpoise.optim.dc_network.published import ConeRounds
from counterpoise.optim.dc_network.training import DirectRounds
from counterpoise.optim.likelihoods import NegativeMeanLog
from counterpoise.optim.loop import (
    Progress,
    Requirements,
    Solution,
    Solver,
    SolverMismatchError,
    State,
    attested,
    certified,
    placed,
    solve,
)
from counterpoise.optim.objectives import (
    ConicForm,
    Evaluation,
    LeastSquares,
    Objective,
    Quadratic,
)
from counterpoise.optim.path import (
    Breakpoint,
    ParametricProblem,
    PathError,
    SolutionPath,
    follow,
)
from counterpoise.optim.problems import (
    Constrained,
    LogLinearMixture,
    LogLinearRatio,
    MeanMatching,
    MixtureLikelihood,
    NonnegativeQuadratic,
    Penalized,
    RidgeQuadratic,
)
from counterpoise.optim.quadratic_path.problem import BoxQuadratic
from counterpoise.optim.registry import default_solver
from counterpoise.optim.sets import (
    L1,
    Box,
    CappedSimplex,
    Domain,
    Penalty,
    RowNorms,
    Simplex,
)
from counterpoise.optim.solvers.conic import Conic
from counterpoise.optim.solvers.corrective import Corrective, PartialPricing
from counterpoise.optim.solvers.first_order import (
    ADMM,
    ProjectedGradient,
    ProximalGradient,
)
from counterpoise.optim.solvers.frank_wolfe import FrankWolfe
from counterpoise.optim.solvers.interior_point import InteriorPoint
from counterpoise.optim.solvers.newton import ExpectationMaximization, Newton
from counterpoise.optim.spectral.dual_newton import DualNewton
from counterpoise.optim.spectral.frobenius import Frobenius
from counterpoise.optim.spectral.problem import (
    Discrepancy,
    DualMatrix,
    KernelDiscrepancy,
)
from counterpoise.optim.spectral.published import (
    DiscrepancySDP,
    MultiplicativeWeights,
    Smoothing,
    SpectralSubgradient,
)
from counterpoise.optim.spectral.subspace import (
    FeatureSubspace,
    KernelFactor,
    KernelSubspace,
)
from counterpoise.optim.spectral.working_set import (
    ColumnGeneration,
    Fallback,
    RankOneInteriorPoint,
)
from counterpoise.optim.stiefel.problem import OrthogonalProblem
from counterpoise.optim.stiefel.solvers import (
    Eigenvectors,
    MajorizeMinimize,
    NonnegativeRounds,
    SequentialRelaxation,
    SoftminPolar,
    SpectralRounds,
)

__all__ = [
    "ADMM",
    "L1",
    "AssignmentConic",
    "Box",
    "BoxQuadratic",
    "Breakpoint",
    "CappedSimplex",
    "Certificate",
    "ColumnGeneration",
    "ConeRounds",
    "Conic",
    "ConicForm",
    "Constrained",
    "Corrective",
    "DirectRounds",
    "Discrepancy",
    "DiscrepancySDP",
    "Domain",
    "DualMatrix",
    "DualNewton",
    "Eigenvectors",
    "Evaluation",
    "ExactLayer",
    "ExpectationMaximization",
    "Fallback",
    "FeatureSubspace",
    "FrankWolfe",
    "Frobenius",
    "InteriorPoint",
    "KernelDiscrepancy",
    "KernelFactor",
    "KernelSubspace",
    "LeastSquares",
    "LogLinearMixture",
    "LogLinearRatio",
    "MajorizeMinimize",
    "MeanMatching",
    "MixtureLikelihood",
    "MultiplicativeWeights",
    "NegativeMeanLog",
    "Newton",
    "NonnegativeQuadratic",
    "NonnegativeRounds",
    "Objective",
    "OrthogonalProblem",
    "ParametricProblem",
    "PartialPricing",
    "PathError",
    "Penalized",
    "Penalty",
    "Problem",
    "Progress",
    "ProjectedGradient",
    "ProxLinear",
    "ProximalADMM",
    "ProximalGradient",
    "Quadratic",
    "RankOneInteriorPoint",
    "Requirements",
    "RidgeQuadratic",
    "RowNorms",
    "SequentialRelaxation",
    "Simplex",
    "SlackADMM",
    "Smoothing",
    "SoftminPolar",
    "Solution",
    "SolutionPath",
    "Solver",
    "SolverMismatchError",
    "SpectralRounds",
    "SpectralSubgradient",
    "State",
    "attested",
    "certified",
    "default_solver",
    "follow",
    "placed",
    "solve",
]
