"""Solvers by name, with what each needs and when it is the default.

A solver that is not here is an error in `tests/optim/test_registry.py`. A line says
what class it is, in which settings it is tried on random problems, and what it shows
there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from counterpoise.linalg.cholesky import small_rank_factor
from counterpoise.optim.assignment.published import SlackADMM
from counterpoise.optim.assignment.solvers import AssignmentConic, ProximalADMM
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


@dataclass(frozen=True)
class SolverSetting:
    """A solver with its numbers, as random problems see it.

    Attributes
    ----------
    name : str
    make : callable
        The solver for a problem.
    steps : int
        Steps within which it shows what it can.
    sure : bool
        Whether these bring it to a gap of 1e-6 on every problem that it accepts.
    """

    name: str
    make: Callable[[Any], Solver]
    steps: int
    sure: bool = False


@dataclass(frozen=True)
class RegisteredSolver:
    """A solver's class and its settings.

    Attributes
    ----------
    kind : type
    family : {"general", "assignment", "network", "orthogonal", "spectral"}
        General ones are public in `counterpoise.optim`, those of a slice (sparse
        assignments, networks, frames, spectral norms) in the slice.
    settings : tuple of SolverSetting
    """

    kind: type
    family: str
    settings: tuple[SolverSetting, ...]

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.kind.__name__


def _registered(
    family: str, kind: type, *settings: tuple[str, Solver, int, bool]
) -> RegisteredSolver:
    return RegisteredSolver(kind, family, tuple(_given(*one) for one in settings))


_assignment = partial(_registered, "assignment")
_general = partial(_registered, "general")
_network = partial(_registered, "network")
_orthogonal = partial(_registered, "orthogonal")
_spectral = partial(_registered, "spectral")


def _given(name: str, solver: Solver, steps: int, sure: bool) -> SolverSetting:
    return SolverSetting(name, lambda problem: solver, steps, sure)


def _kernel_factor(problem: Any) -> Solver:
    """Return the solver with the factor of the problem's kernel."""
    factor = small_rank_factor(problem.kernel, problem.kernel.size)
    assert factor is not None
    return KernelFactor(factor, RankOneInteriorPoint())


SOLVERS = (
    _assignment(AssignmentConic, ("assignment conic", AssignmentConic(), 1, True)),
    _assignment(
        ProximalADMM,
        ("proximal admm", ProximalADMM(), 500, True),
        ("proximal admm sparse", ProximalADMM(reduction="sparse"), 500, True),
        ("proximal admm inverse", ProximalADMM(reduction="inverse"), 500, True),
    ),
    _assignment(
        SlackADMM,
        ("slack admm", SlackADMM("closed"), 1000, False),
        ("slack admm kkt", SlackADMM("kkt"), 1000, False),
    ),
    _general(ADMM, ("admm", ADMM(), 2000, False)),
    _general(Conic, ("conic", Conic(), 10, False)),
    _general(Corrective, ("corrective", Corrective(), 200, True)),
    _general(
        ExpectationMaximization,
        ("expectation maximization", ExpectationMaximization(), 300, True),
    ),
    _general(
        FrankWolfe,
        ("frank-wolfe", FrankWolfe("plain"), 100, False),
        ("frank-wolfe armijo", FrankWolfe("plain", "armijo"), 100, False),
        ("frank-wolfe open", FrankWolfe("plain", "open"), 100, False),
        ("away", FrankWolfe("away"), 200, False),
        ("away armijo", FrankWolfe("away", "armijo"), 200, False),
        ("pairwise", FrankWolfe("pairwise"), 200, False),
        ("pairwise armijo", FrankWolfe("pairwise", "armijo"), 200, False),
    ),
    _general(InteriorPoint, ("interior point", InteriorPoint(), 100, True)),
    _general(Newton, ("newton", Newton(), 100, True)),
    _general(
        PartialPricing,
        ("partial pricing", PartialPricing(pool=3, refill=2), 200, True),
    ),
    _general(
        ProjectedGradient, ("projected gradient", ProjectedGradient(), 2000, True)
    ),
    _general(ProximalGradient, ("proximal gradient", ProximalGradient(), 2000, True)),
    _spectral(
        ColumnGeneration, ("column generation", ColumnGeneration(first=10), 300, True)
    ),
    _spectral(DiscrepancySDP, ("sdp", DiscrepancySDP(), 1, False)),
    _spectral(DualNewton, ("dual newton", DualNewton(), 50, True)),
    _spectral(
        Fallback,
        (
            "dual newton, then columns",
            Fallback(DualNewton(), ColumnGeneration(first=10), 2),
            300,
            True,
        ),
    ),
    _spectral(FeatureSubspace, ("subspace", FeatureSubspace(joining=2), 300, True)),
    _spectral(Frobenius, ("frobenius", Frobenius(), 1, False)),
    RegisteredSolver(
        KernelFactor,
        "spectral",
        (SolverSetting("kernel factor", _kernel_factor, 300, True),),
    ),
    _spectral(KernelSubspace, ("kernel subspace", KernelSubspace(), 300, False)),
    _spectral(
        MultiplicativeWeights,
        ("multiplicative weights", MultiplicativeWeights(), 30, False),
        ("list", MultiplicativeWeights("list"), 30, False),
        ("powering", MultiplicativeWeights(update="powering"), 5, False),
    ),
    _spectral(
        RankOneInteriorPoint,
        ("rank-one interior point", RankOneInteriorPoint(), 300, True),
    ),
    _spectral(
        Smoothing,
        ("smoothing", Smoothing(accuracy=0.02), 40, False),
        ("smoothing 16", Smoothing(power=16), 20, False),
    ),
    _spectral(
        SpectralSubgradient,
        ("entropic", SpectralSubgradient(), 40, False),
        ("polyak", SpectralSubgradient("polyak"), 40, False),
    ),
    _orthogonal(Eigenvectors, ("eigenvectors", Eigenvectors(), 1, True)),
    _orthogonal(MajorizeMinimize, ("majorize-minimize", MajorizeMinimize(), 100, True)),
    _orthogonal(
        NonnegativeRounds,
        ("non-negative rounds", NonnegativeRounds(), 100, True),
        ("non-negative balls", NonnegativeRounds("parabolic"), 100, True),
    ),
    _orthogonal(
        SequentialRelaxation,
        ("sequential sdp", SequentialRelaxation(), 100, True),
        ("sequential parabolic", SequentialRelaxation("parabolic"), 100, True),
    ),
    _orthogonal(SoftminPolar, ("softmin", SoftminPolar(), 100, True)),
    _orthogonal(SpectralRounds, ("spectral rounds", SpectralRounds(), 100, True)),
    _network(ConeRounds, ("cone rounds", ConeRounds(), 3, False)),
    _network(
        DirectRounds,
        ("proved rounds", DirectRounds(), 40, False),
        ("rounds", DirectRounds(proved=False), 40, False),
        ("rounds of one eta", DirectRounds(eta=1.0), 40, False),
    ),
    _network(ExactLayer, ("exact layer", ExactLayer(), 1, True)),
    _network(ProxLinear, ("prox-linear rounds", ProxLinear(), 40, False)),
)


def solver_names(family: str) -> list[str]:
    """Return the names of a family's classes, in order.

    Examples
    --------
    >>> solver_names("general")[:2]
    ['ADMM', 'Conic']
    """
    return sorted(one.name for one in SOLVERS if one.family == family)


def solver_classes(*families: str) -> tuple[type, ...]:
    """Return the classes of some families, by name.

    Examples
    --------
    >>> [kind.__name__ for kind in solver_classes("assignment")]
    ['AssignmentConic', 'ProximalADMM', 'SlackADMM']
    """
    classes = [one.kind for one in SOLVERS if one.family in families]
    return tuple(sorted(classes, key=lambda kind: kind.__name__))


def solver_settings(family: str) -> dict[str, SolverSetting]:
    """Return all settings of a family's solvers by name."""
    return {
        setting.name: setting
        for one in SOLVERS
        if one.family == family
        for setting in one.settings
    }


def default_solver(problem: Any) -> Solver:
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
