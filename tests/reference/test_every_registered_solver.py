"""Every registered solver on random problems of every family, against cvxpy."""

from functools import cache

import numpy as np
import pytest
from reference.random_problems import optimum, random_problem
from reference.random_smooth import FAMILIES
from reference.solver_settings import SETTINGS

from counterpoise.optim import solve

# Published methods that minimize the norm alone, and say so.
WITHOUT_SPREAD = ("Frobenius", "MultiplicativeWeights", "Smoothing")
# Networks are not convex; their solvers are tried in tests/optim/dc_network.
CONVEX = [one for one in SETTINGS if one.family != "network"]


@cache
def case(family, seed):
    if family == "constrained":
        problem = random_problem(seed)
        return problem, optimum(problem)
    return FAMILIES[family](seed)


@pytest.mark.parametrize("setting", CONVEX, ids=[one.name for one in CONVEX])
def test_an_answer_is_in_order_with_an_optimum_of_somebody_else(setting):
    accepted, name = 0, setting.kind.__name__
    for family in ("constrained", *FAMILIES):
        for seed in range(4):
            problem, best = case(family, seed)
            if not hasattr(problem, "kernel") and setting.name == "kernel factor":
                continue
            if family == "moments with a spread" and name in WITHOUT_SPREAD:
                continue
            solver = setting.make(problem)
            if solver.accepts.lacking(problem):
                break
            accepted += 1
            found = solve(problem, solver, tol=1e-6, max_iter=setting.steps)
            proof = found.certificate
            unit = max(1.0, abs(best), proof.scale)
            where = (family, seed, str(found))
            assert problem.certify(found.x).infeasibility <= 1e-9, where
            assert proof.objective >= best - 2e-6 * unit, where
            assert proof.bound <= best + 2e-6 * unit, where
            if np.isfinite(proof.gap):
                assert proof.objective - best <= proof.gap + 2e-6 * unit, where
            if found.converged:
                assert proof.objective - best <= 3e-6 * unit, where
            # Kernels without a ridge are for methods of second order.
            hard = family == "mean matching" and name != "InteriorPoint"
            assert found.converged or hard or not setting.sure, where
    assert accepted >= 4
