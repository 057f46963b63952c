"""Compiled proximal maps against their definitions and another library."""

import cvxpy as cp
import numpy as np
import pytest

from counterpoise.optim.assignment.local_search import (
    column_ceilings,
    column_factors,
    simplex_threshold,
)
from counterpoise.optim.sets import project_rows, project_simplex


def clipped(W, levels, start=0.0):
    words = W.shape[1]
    tops = np.full(words, start)
    column_ceilings(W, levels, tops, *(np.empty(words) for _ in range(3)))
    return np.minimum(np.maximum(W, 0.0), tops)


def shortened(W, levels):
    factors = np.empty(W.shape[1])
    column_factors(W, levels, factors)
    return np.maximum(W, 0.0) * factors


def value(norm, Z, W, levels):
    size = Z.max(axis=0) if norm is clipped else np.linalg.norm(Z, axis=0)
    return 0.5 * ((Z - W) ** 2).sum() + levels @ size


@pytest.mark.parametrize("prox", [clipped, shortened])
def test_a_proximal_map_beats_all_points_near_it(prox):
    rng = np.random.default_rng(0)
    W, levels = rng.normal(size=(9, 5)), np.array([0.0, 0.3, 0.7, 2.0, 50.0])
    Z = prox(W, levels)
    least = value(prox, Z, W, levels)
    for _ in range(2000):
        other = np.maximum(Z + 1e-3 * rng.normal(size=Z.shape), 0.0)
        assert value(prox, other, W, levels) >= least - 1e-12
    assert not Z[:, 4].any()
    np.testing.assert_array_equal(Z[:, 0], np.maximum(W[:, 0], 0.0))


@pytest.mark.parametrize("start", [0.0, 0.5, 1e300])
def test_a_ceiling_does_not_depend_on_where_it_begins(start):
    rng = np.random.default_rng(1)
    W, levels = rng.normal(size=(40, 6)), rng.random(6)
    np.testing.assert_allclose(
        clipped(W, levels, start), clipped(W, levels), atol=1e-12
    )


@pytest.mark.parametrize("start", [-5.0, 0.0, 5.0])
def test_a_threshold_projects_onto_the_simplex(start):
    rng = np.random.default_rng(2)
    W = 3.0 * rng.normal(size=(20, 7))
    ours = np.array(
        [np.maximum(W[i] - simplex_threshold(W, i, start), 0.0) for i in range(20)]
    )
    np.testing.assert_allclose(ours, project_rows(W), atol=1e-12)
    one_by_one = np.array([project_simplex(row) for row in W])
    np.testing.assert_allclose(ours, one_by_one, atol=1e-12)


def test_rows_are_projected_as_a_quadratic_program_projects_them():
    W = np.random.default_rng(3).normal(size=(6, 5))
    Z = cp.Variable((6, 5), nonneg=True)
    program = cp.Problem(cp.Minimize(cp.sum_squares(Z - W)), [cp.sum(Z, axis=1) == 1])
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13)
    np.testing.assert_allclose(project_rows(W), Z.value, atol=1e-6)
