"""The solvers of each family of problems, and the default solver of a problem.

Public families are those of `counterpoise.optim`: general solvers, and those of sparse
assignments, networks, orthogonality constraints and spectral norms.
"""

from counterpoise.optim.assignment.published import SlackADMM
from counterpoise.optim.assignment.solvers import AssignmentConic, ProximalADMM
from counterpoise.optim.certificate import Problem
from counterpoise.optim.dc_network.constrained_training import ExactLayer, ProxLinear
from counterpoise.optim.dc_network.published import ConeRounds
from counterpoise.optim.dc_network.training import DirectRounds
from counterpoise.optim.loop import Solver, SolverMismatchError
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
from counterpoise.optim.stiefel.solvers import (
    Eigenvectors,
    MajorizeMinimize,
    NonnegativeRounds,
    SequentialRelaxation,
    SoftminPolar,
    SpectralRounds,
)

SOLVERS: dict[str, tuple[type, ...]] = {
    "general": (
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
    ),
    "assignment": (
        AssignmentConic,
        ProximalADMM,
        SlackADMM,
    ),
    "spectral": (
        ColumnGeneration,
        DiscrepancySDP,
        DualNewton,
        Fallback,
        FeatureSubspace,
        Frobenius,
        KernelFactor,
        KernelSubspace,
        MultiplicativeWeights,
        RankOneInteriorPoint,
        Smoothing,
        SpectralSubgradient,
    ),
    "orthogonal": (
        Eigenvectors,
        MajorizeMinimize,
        NonnegativeRounds,
        SequentialRelaxation,
        SoftminPolar,
        SpectralRounds,
    ),
    "network": (
        ConeRounds,
        DirectRounds,
        ExactLayer,
        ProxLinear,
    ),
}


def solver_classes(*families: str) -> tuple[type, ...]:
    """Return the classes of some families, by name.

    Examples
    --------
    >>> [kind.__name__ for kind in solver_classes("assignment")]
    ['AssignmentConic', 'ProximalADMM', 'SlackADMM']
    """
    classes = [kind for family in families for kind in SOLVERS[family]]
    return tuple(sorted(classes, key=lambda kind: kind.__name__))


def default_solver(problem: Problem) -> Solver:
    """Return the solver to begin with.

    Corrective over the simplex, which is best where few of many coordinates are used
    (ProjectedGradient is where hundreds are); else ProjectedGradient or
    ProximalGradient. A sparse assignment has a method of its own, ProximalADMM.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Constrained, Quadratic, Simplex
    >>> from counterpoise.optim import default_solver
    >>> problem = Constrained(Quadratic(np.eye(3), np.zeros(3)), Simplex(3))
    >>> type(default_solver(problem)).__name__
    'Corrective'
    """
    candidates: tuple[Solver, ...] = (
        ProximalADMM(),
        Corrective(),
        ProjectedGradient(),
        ProximalGradient(),
    )
    for solver in candidates:
        if not solver.accepts.lacking(problem):
            return solver
    raise SolverMismatchError(
        "ProximalGradient, which takes most,",
        problem,
        candidates[-1].accepts.lacking(problem),
    )
