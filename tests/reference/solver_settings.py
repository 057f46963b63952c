"""Solvers in the settings in which tests try them on random problems."""

from dataclasses import dataclass

from counterpoise.linalg.cholesky import small_rank_factor
from counterpoise.optim import (
    ADMM,
    AssignmentConic,
    ColumnGeneration,
    ConeRounds,
    Conic,
    Corrective,
    DirectRounds,
    DiscrepancySDP,
    DualNewton,
    Eigenvectors,
    ExactLayer,
    ExpectationMaximization,
    Fallback,
    FeatureSubspace,
    FrankWolfe,
    Frobenius,
    InteriorPoint,
    KernelFactor,
    KernelSubspace,
    MajorizeMinimize,
    MultiplicativeWeights,
    Newton,
    NonnegativeRounds,
    PartialPricing,
    ProjectedGradient,
    ProximalADMM,
    ProximalGradient,
    ProxLinear,
    RankOneInteriorPoint,
    SequentialRelaxation,
    SlackADMM,
    Smoothing,
    SoftminPolar,
    SpectralRounds,
    SpectralSubgradient,
)


@dataclass(frozen=True)
class SolverSetting:
    """A solver's family and name, how it is made, and what it shows.

    `steps` are those within which it shows what it can; `sure` ones bring it to a gap
    of 1e-6 on every problem that it accepts.
    """

    family: str
    name: str
    solver: object
    steps: int
    sure: bool = False

    @property
    def kind(self):
        return KernelFactor if self.solver is None else type(self.solver)

    def make(self, problem):
        """Return the solver for a problem."""
        if self.solver is not None:
            return self.solver
        factor = small_rank_factor(problem.kernel, problem.kernel.size)
        return KernelFactor(factor, RankOneInteriorPoint())


SETTINGS = tuple(
    SolverSetting(family, *one)
    for family, settings in {
        "general": [
            ("admm", ADMM(), 2000, False),
            ("conic", Conic(), 10, False),
            ("corrective", Corrective(), 200, True),
            ("expectation maximization", ExpectationMaximization(), 300, True),
            ("frank-wolfe", FrankWolfe("plain"), 100, False),
            ("frank-wolfe armijo", FrankWolfe("plain", "armijo"), 100, False),
            ("frank-wolfe open", FrankWolfe("plain", "open"), 100, False),
            ("away", FrankWolfe("away"), 200, False),
            ("away armijo", FrankWolfe("away", "armijo"), 200, False),
            ("pairwise", FrankWolfe("pairwise"), 200, False),
            ("pairwise armijo", FrankWolfe("pairwise", "armijo"), 200, False),
            ("interior point", InteriorPoint(), 100, True),
            ("newton", Newton(), 100, True),
            ("partial pricing", PartialPricing(pool=3, refill=2), 200, True),
            ("projected gradient", ProjectedGradient(), 2000, True),
            ("proximal gradient", ProximalGradient(), 2000, True),
        ],
        "assignment": [
            ("assignment conic", AssignmentConic(), 1, True),
            ("proximal admm", ProximalADMM(), 500, True),
            ("proximal admm sparse", ProximalADMM(reduction="sparse"), 500, True),
            ("proximal admm inverse", ProximalADMM(reduction="inverse"), 500, True),
            ("slack admm", SlackADMM("closed"), 1000, False),
            ("slack admm kkt", SlackADMM("kkt"), 1000, False),
        ],
        "spectral": [
            ("column generation", ColumnGeneration(first=10), 300, True),
            ("sdp", DiscrepancySDP(), 1, False),
            ("dual newton", DualNewton(), 50, True),
            (
                "dual newton, then columns",
                Fallback(DualNewton(), ColumnGeneration(first=10), 2),
                300,
                True,
            ),
            ("subspace", FeatureSubspace(joining=2), 300, True),
            ("frobenius", Frobenius(), 1, False),
            ("kernel subspace", KernelSubspace(), 300, False),
            ("multiplicative weights", MultiplicativeWeights(), 30, False),
            ("list", MultiplicativeWeights("list"), 30, False),
            ("powering", MultiplicativeWeights(update="powering"), 5, False),
            ("rank-one interior point", RankOneInteriorPoint(), 300, True),
            ("smoothing", Smoothing(accuracy=0.02), 40, False),
            ("smoothing 16", Smoothing(power=16), 20, False),
            ("entropic", SpectralSubgradient(), 40, False),
            ("polyak", SpectralSubgradient("polyak"), 40, False),
            ("kernel factor", None, 300, True),
        ],
        "orthogonal": [
            ("eigenvectors", Eigenvectors(), 1, True),
            ("majorize-minimize", MajorizeMinimize(), 100, True),
            ("non-negative rounds", NonnegativeRounds(), 100, True),
            ("non-negative balls", NonnegativeRounds("parabolic"), 100, True),
            ("sequential sdp", SequentialRelaxation(), 100, True),
            ("sequential parabolic", SequentialRelaxation("parabolic"), 100, True),
            ("softmin", SoftminPolar(), 100, True),
            ("spectral rounds", SpectralRounds(), 100, True),
        ],
        "network": [
            ("cone rounds", ConeRounds(), 3, False),
            ("proved rounds", DirectRounds(), 40, False),
            ("rounds", DirectRounds(proved=False), 40, False),
            ("rounds of one eta", DirectRounds(eta=1.0), 40, False),
            ("exact layer", ExactLayer(), 1, True),
            ("prox-linear rounds", ProxLinear(), 40, False),
        ],
    }.items()
    for one in settings
)


def solver_settings(family):
    """Return all settings of a family's solvers by name."""
    return {one.name: one for one in SETTINGS if one.family == family}
