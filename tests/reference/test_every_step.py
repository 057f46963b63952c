"""Proofs at every step of every solver, on many random problems."""

import numpy as np
import pytest
from reference.printed_frank_wolfe import PrintedFrankWolfe
from reference.random_problems import feasible_optimum, random_mixture, random_problem
from reference.solver_settings import solver_settings
from reference.step_checks import broken, lines_of

from counterpoise.optim import (
    Corrective,
    FrankWolfe,
    MixtureLikelihood,
    PartialPricing,
    solve,
)
from counterpoise.testing import feasible_points
from counterpoise.weights.kliep import OriginalKLIEP

VARIANTS = [
    FrankWolfe(variant, search)
    for variant in ("plain", "away", "pairwise")
    for search in ("exact", "armijo")
]
# Settings whose steps are looked at, and how many; few where a step is a whole solve.
FEW_STEPS = {"conic": 2}
WITHOUT_A_SET = ("newton", "expectation maximization", "interior point")
SOLVERS = {
    **{
        name: (setting.make(None), FEW_STEPS.get(name, 40))
        for name, setting in solver_settings("general").items()
        if name not in WITHOUT_A_SET
    },
    "corrective": (Corrective(n_join=3), 40),
    "partial pricing": (
        PartialPricing(pool=3, refill=2, inner=Corrective(n_join=2)),
        40,
    ),
    "original": (None, 40),
}


def many(small, large):
    """Return a number of problems: few, and many where slow proofs are asked for."""
    return pytest.mark.parametrize(
        "problems", [small, pytest.param(large, marks=pytest.mark.slow)]
    )


def solver_for(name, problem):
    if name != "original":
        return SOLVERS[name][0]
    size = problem.domain.size
    fits = isinstance(problem, MixtureLikelihood)
    return OriginalKLIEP(np.linspace(0.5, 1.5, size)) if fits else None


@many(32, 500)
def test_the_gap_bounds_the_excess_at_every_step_of_every_solver(problems):
    seen = dict.fromkeys(SOLVERS, 0)
    for seed in range(problems):
        problem = (random_mixture, random_problem)[seed % 2](seed // 2)
        lines = []

        def look(progress, problem=problem, lines=lines):
            value = problem.objective.value(progress.x)
            inside = problem.domain.infeasibility(progress.x) <= 1e-12
            proved = problem.certify(progress.x).gap
            lines.append((name, inside, value, progress.gap, proved))  # noqa: B023

        for name, (_, steps) in SOLVERS.items():
            solver = solver_for(name, problem)
            if solver is None or solver.accepts.lacking(problem):
                continue
            solve(problem, solver, tol=1e-9, max_iter=steps, callback=look)
        # The least value that anybody has found, Clarabel among them.
        best = feasible_optimum(problem)
        best = min([best, *(value for _, inside, value, *_ in lines if inside)])
        for name, inside, value, claimed, proved in lines:
            # What a value and a gap of this size lose by rounding.
            rounding = 1e-12 * max(1.0, abs(best), abs(value))
            assert value - best <= proved + rounding, (seed, name)
            if inside and np.isfinite(claimed):
                assert value - best <= claimed * (1 + 1e-6) + 1e3 * rounding, (
                    seed,
                    name,
                )
            seen[name] += 1
    assert min(seen.values()) >= problems / 4, str(seen)


@many(25, 500)
def test_the_tight_bound_lies_between_the_excess_and_the_frank_wolfe_gap(problems):
    for seed in range(problems):
        problem = random_mixture(seed)
        best = feasible_optimum(problem)
        for x in feasible_points(problem.domain, 5, seed):
            value = problem.objective.value(x)
            if not np.isfinite(value):
                continue
            slopes = -problem.objective.gradient(x)
            assert abs(slopes @ x - 1.0) <= 1e-12 * max(1.0, slopes.max())
            tight, loose = np.log(slopes.max()), slopes.max() - 1.0
            assert value - best <= tight + 1e-12 * max(1.0, abs(value))
            assert tight <= loose
            proof = problem.certify(x)
            assert proof.gap == pytest.approx(max(tight, 0.0), rel=1e-12, abs=1e-15)
            assert proof.residual == pytest.approx(max(loose, 0.0), abs=1e-12)


@many(20, 500)
def test_every_check_passes_at_every_step_of_our_variants(problems):
    drops = swaps = 0
    for seed in range(problems):
        problem = random_mixture(seed)
        best = feasible_optimum(problem)
        for solver in VARIANTS:
            lines = lines_of(problem, solver, max_iter=40)
            assert broken(problem, best, lines) == set(), (seed, solver)
            drops += lines[-1].counts.get("drop", 0)
            swaps += lines[-1].counts.get("swap", 0)
    assert drops > problems
    assert swaps > problems / 10


def sinc_mixture(sigma=0.2):
    rng = np.random.default_rng(0)
    source, target = 0.5 * rng.standard_normal(500), 0.3 * rng.standard_normal(300)

    def kernel(a, b):
        return np.exp(-0.5 * np.subtract.outer(a, b) ** 2 / sigma**2)

    return MixtureLikelihood(
        kernel(target, target) / kernel(source, target).mean(axis=0)
    )


def atoms(some):
    x = np.zeros(300)
    x[some] = 1.0 / len(some)
    return x


@pytest.mark.parametrize(
    ("variant", "first", "fails"),
    [
        (
            "away",
            [0],
            {"every_claim_is_that_of_the_point", "every_gap_bounds_the_excess"},
        ),
        (
            "pairwise",
            range(20),
            {
                "every_point_is_a_probability_vector",
                "drops_and_swaps_account_for_the_atoms",
            },
        ),
    ],
)
def test_the_variants_as_printed_fail_where_ours_pass(variant, first, fails):
    problem, first = sinc_mixture(), atoms(first)
    best = solve(problem, Corrective(), tol=1e-10).certificate.objective
    printed = lines_of(problem, PrintedFrankWolfe(variant), first, max_iter=60)
    assert fails <= broken(problem, best, printed)
    ours = lines_of(problem, FrankWolfe(variant), first, max_iter=60)
    assert broken(problem, best, ours) == set()
    assert ours[-1].objective < ours[0].objective


def test_the_away_steps_as_printed_never_get_a_second_atom():
    problem = sinc_mixture()
    lines = lines_of(problem, PrintedFrankWolfe("away"), max_iter=60)
    assert lines[-1].counts["towards"] > 20
    assert {np.count_nonzero(line.x) for line in lines} == {1}


def test_the_pairwise_steps_as_printed_lose_mass():
    printed, first = PrintedFrankWolfe("pairwise"), atoms(range(20))
    lines = lines_of(sinc_mixture(), printed, first, max_iter=60)
    assert lines[-1].counts["drop"] > 0
    assert lines[-1].x.sum() < 0.99
