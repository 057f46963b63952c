"""Atoms, drops and swaps."""

from itertools import pairwise

import numpy as np
import pytest

from counterpoise.optim import (
    Box,
    Constrained,
    Corrective,
    FrankWolfe,
    MixtureLikelihood,
    Quadratic,
    Simplex,
    solve,
)


def sinc_mixture(seed=0, sigma=0.2):
    rng = np.random.default_rng(seed)
    source, target = 0.5 * rng.standard_normal(500), 0.3 * rng.standard_normal(300)

    def kernel(a, b):
        return np.exp(-0.5 * np.subtract.outer(a, b) ** 2 / sigma**2)

    return MixtureLikelihood(
        kernel(target, target) / kernel(source, target).mean(axis=0)
    )


@pytest.mark.parametrize("variant", ["plain", "away", "pairwise"])
@pytest.mark.parametrize("line_search", ["exact", "armijo"])
def test_every_step_keeps_a_probability_vector_and_lowers_the_value(
    variant, line_search
):
    problem = sinc_mixture()
    best = solve(problem, Corrective(), tol=1e-10).certificate.bound
    values = []

    def look(progress):
        assert progress.x.min() >= 0.0
        assert abs(progress.x.sum() - 1.0) <= 1e-12
        assert progress.support == np.count_nonzero(progress.x)
        assert progress.objective - best <= progress.gap + 1e-9
        values.append(progress.objective)

    solver = FrankWolfe(variant, line_search)
    solve(problem, solver, tol=1e-9, max_iter=300, callback=look)
    assert (np.diff(values) <= 1e-13).all()


def test_drops_and_swaps_account_for_the_atoms():
    problem = sinc_mixture()
    for variant in ("away", "pairwise"):
        start = np.zeros(300)
        start[:20] = 0.05
        lines = solve(
            problem, FrankWolfe(variant), start, tol=1e-9, max_iter=200
        ).history
        for before, after in pairwise(lines):
            dropped = after.counts.get("drop", 0) - before.counts.get("drop", 0)
            swapped = after.counts.get("swap", 0) - before.counts.get("swap", 0)
            change = after.support - before.support
            if dropped:
                assert change == -1
            elif swapped:
                assert change == 0
            else:
                assert change in (0, 1)
        assert lines[-1].counts["drop"] > 0


def test_a_full_step_towards_a_vertex_leaves_that_vertex_alone():
    problem = Constrained(
        Quadratic(np.zeros((3, 3)), np.array([1.0, 0.0, 1.5])), Simplex(3)
    )
    for variant in ("plain", "away"):
        solution = solve(problem, FrankWolfe(variant), np.full(3, 1 / 3))
        np.testing.assert_array_equal(solution.x, [0.0, 1.0, 0.0])
        assert solution.n_iter == 1


def test_away_and_pairwise_steps_beat_plain_ones_on_a_face_of_a_box():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 8))
    problem = Constrained(
        Quadratic(A.T @ A, rng.standard_normal(8)), Box(-np.ones(8), 0.05 * np.ones(8))
    )
    gaps = {
        variant: solve(problem, FrankWolfe(variant), max_iter=300).certificate.gap
        for variant in ("plain", "away", "pairwise")
    }
    assert gaps["away"] < 1e-5 < gaps["plain"]
    assert gaps["pairwise"] < 1e-5


def test_a_variant_or_line_search_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="variant must be one of"):
        FrankWolfe("sideways")
    with pytest.raises(ValueError, match="line_search must be one of"):
        FrankWolfe("plain", "guess")
    with pytest.raises(ValueError, match="'open' goes with variant='plain'"):
        FrankWolfe("away", "open")


def lonely_row(tiny):
    """Return a mixture whose first row two atoms cover that all other rows shun."""
    A = np.ones((300, 3))
    A[:, 0], A[:, 2] = 0.01, 0.02
    A[0] = 0.7, tiny, 0.9
    return MixtureLikelihood(A)


@pytest.mark.parametrize("variant", ["away", "pairwise"])
@pytest.mark.parametrize("line_search", ["exact", "armijo"])
@pytest.mark.parametrize("tiny", [1e-60, 1e-305])
def test_a_drop_is_judged_by_an_image_that_has_not_cancelled(
    variant, line_search, tiny
):
    # Once both atoms are dropped, the running image of the first row is the rounding
    # of what cancelled, some 1e-17, and the row's true value tiny.
    problem = lonely_row(tiny)
    for share in np.linspace(0.2, 0.5, 31):
        values = []
        solution = solve(
            problem,
            FrankWolfe(variant, line_search),
            np.array([share, 1.0 - 1.8 * share, 0.8 * share]),
            tol=1e-6,
            max_iter=500,
            callback=lambda progress, values=values: values.append(progress.objective),
        )
        assert solution.converged
        assert (np.diff(values) <= 1e-12).all()


@pytest.mark.parametrize("variant", ["away", "pairwise"])
def test_armijo_leaves_a_point_where_the_gradient_predicts_too_much(variant):
    problem = lonely_row(1e-120)
    start = np.array([0.0, 1.0, 0.0])
    solution = solve(problem, FrankWolfe(variant, "armijo"), start, max_iter=500)
    assert solution.converged
    assert solution.history[0].gap > 200.0


def test_a_component_whose_inverse_overflows_counts_as_zero():
    problem = lonely_row(1e-305)
    assert problem.objective.value(np.array([0.0, 1.0, 0.0])) == np.inf
