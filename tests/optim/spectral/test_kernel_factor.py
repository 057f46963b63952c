"""Kernels of small rank are solved in the coordinates of their factor."""

import numpy as np
import pytest

from counterpoise.linalg.kernels import Kernel, store_kernel_matrix
from counterpoise.optim import (
    KernelDiscrepancy,
    KernelFactor,
    KernelSubspace,
    RankOneInteriorPoint,
    solve,
)
from counterpoise.optim.spectral.choice import best_solver


def _problem(q: int, d: int, seed: int = 0, **more: float) -> KernelDiscrepancy:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(q, d))
    points[q // 2 :] += 0.5
    kernel = store_kernel_matrix(Kernel("rbf", 0.5 / d, constant=1.0).entries(points))
    return KernelDiscrepancy(kernel, np.full(q - q // 2, 1 / (q - q // 2)), **more)


@pytest.mark.parametrize("more", [{}, {"spread": 0.05}, {"cap": 0.03}])
def test_the_optimum_is_that_of_the_exact_features(more: dict) -> None:
    problem = _problem(120, 2, **more)
    found = solve(problem, best_solver(problem), tol=1e-5)
    exact = solve(problem.features(), RankOneInteriorPoint(), tol=1e-6)
    assert found.converged
    assert abs(found.certificate.objective - exact.certificate.objective) <= (
        1.1e-5 * exact.certificate.scale + found.certificate.gap
    )
    # The proof is of the kernel's own operator.
    own = problem.exact_norm(found.x) + problem.spread_term(found.x)
    assert found.certificate.objective >= own * (1 - 1e-9)


def test_few_columns_reach_a_small_gap_at_a_thousand_rows() -> None:
    problem = _problem(1000, 3)
    solver = best_solver(problem, 1e-3)
    assert isinstance(solver, KernelFactor)
    assert solve(problem, solver, tol=1e-3, max_iter=60).converged


def test_a_kernel_of_large_rank_keeps_its_subspace_for_a_rough_gap() -> None:
    problem = _problem(700, 50)
    assert isinstance(best_solver(problem, 1e-2), KernelSubspace)
    assert isinstance(best_solver(problem, 1e-3), KernelFactor)


@pytest.mark.parametrize("solver", ["auto", "subspace"])
@pytest.mark.parametrize("columns", [2, 3])
def test_few_distinct_rows_with_a_spread_come_to_an_end(
    solver: str, columns: int
) -> None:
    rng = np.random.default_rng(0)
    points = rng.integers(0, 2, (80, columns)).astype(float)
    kernel = store_kernel_matrix(Kernel("rbf", 0.5, constant=1.0).entries(points))
    problem = KernelDiscrepancy(kernel, np.full(40, 1 / 40), spread=0.1)
    chosen = best_solver(problem) if solver == "auto" else KernelSubspace()
    found = solve(problem, chosen, tol=1e-3, max_iter=300)
    assert found.converged
