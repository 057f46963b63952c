"""What a problem must satisfy."""

import math
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array


def check_problem(problem: Any, optimum: float, points: Array) -> None:
    """Check that no certificate claims more than is true.

    Parameters
    ----------
    problem : Problem
    optimum : float
        The least value, from a closed form or somebody else's solver.
    points : array of shape (k, n)
        Feasible points.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import Constrained, Quadratic, Simplex
    >>> from counterpoise.testing import check_problem, feasible_points
    >>> problem = Constrained(Quadratic(np.eye(4), np.zeros(4)), Simplex(4))
    >>> check_problem(problem, 0.125, feasible_points(Simplex(4), 10))
    """
    start = problem.start()
    at_start = problem.certify(start)
    assert math.isfinite(at_start.objective), "the start has no finite value"
    assert at_start.infeasibility <= 1e-9, "the start is not feasible"
    slack = 1e-7 * max(1.0, abs(optimum))
    for x in [start, *points]:
        proof = problem.certify(x)
        assert proof.gap >= 0.0, f"a negative gap: {proof.gap}"
        assert proof.bound <= optimum + slack, (
            f"the bound {proof.bound} is above the optimum {optimum}"
        )
        excess = proof.objective - optimum
        assert excess >= -slack, f"a feasible point beats the optimum by {-excess}"
        assert not excess > proof.gap + slack, (
            f"the gap {proof.gap} is smaller than the excess {excess}"
        )
        if math.isfinite(proof.objective):
            _check_judge(problem, x)


def _check_judge(problem: Any, x: Array) -> None:
    objective = problem.objective
    again = problem.judge(x, objective.value(x), objective.gradient(x))
    proof = problem.certify(x)
    np.testing.assert_allclose(again.gap, proof.gap, rtol=1e-9, atol=1e-12)
