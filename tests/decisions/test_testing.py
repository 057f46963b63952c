"""The checks for other people's parts notice what they promise to notice."""

from dataclasses import replace

import numpy as np
import pytest

from counterpoise.optim import (
    Box,
    Constrained,
    FrankWolfe,
    Objective,
    ProjectedGradient,
    Quadratic,
    Simplex,
)
from counterpoise.testing import (
    check_domain,
    check_objective,
    check_problem,
    check_solver,
)

PROBLEM = Constrained(Quadratic(np.eye(3), np.zeros(3)), Simplex(3))
OPTIMUM = 1 / 6
POINTS = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])


class Concave(Objective):
    def value(self, x):
        return -float(x @ x)

    def gradient(self, x):
        return -2.0 * x


class WrongSlope(Objective):
    def value(self, x):
        return float(x @ x)

    def gradient(self, x):
        return 2.1 * x


def test_a_wrong_gradient_and_a_concave_function_are_noticed():
    check_objective(Quadratic(np.eye(3), np.zeros(3)), POINTS)
    with pytest.raises(AssertionError, match="central differences"):
        check_objective(WrongSlope(), POINTS)
    with pytest.raises(AssertionError, match="not convex"):
        check_objective(Concave(), POINTS)
    with pytest.raises(AssertionError, match="at least two points"):
        check_objective(Concave(), POINTS[:1])


class Corner(Simplex):
    def vertex(self, gradient):
        out = np.zeros(self.size)
        out[0] = 1.0
        return out


def test_a_vertex_that_is_beaten_is_noticed():
    check_domain(Simplex(3))
    check_domain(Box(np.zeros(2), np.ones(2)))
    with pytest.raises(AssertionError, match=r"beats the vertex|linear program"):
        check_domain(Corner(3))


class Claims(Constrained):
    """A problem that claims a smaller gap than is true."""

    def certify(self, x, hint=None):
        proof = super().certify(x, hint)
        return replace(
            proof, gap=0.1 * proof.gap, bound=proof.objective - 0.1 * proof.gap
        )


def test_a_gap_smaller_than_the_excess_is_noticed():
    check_problem(PROBLEM, OPTIMUM, POINTS)
    with pytest.raises(
        AssertionError, match=r"above the optimum|smaller than the excess"
    ):
        check_problem(Claims(PROBLEM.objective, PROBLEM.domain), OPTIMUM, POINTS)


def test_an_answer_without_a_proof_is_a_failure_where_one_must_come():
    assert check_solver(ProjectedGradient(), PROBLEM, OPTIMUM).converged
    tilted = Constrained(Quadratic(np.eye(3), np.array([0.1, 0.0, 0.0])), Simplex(3))
    # At (4, 5.5, 5.5) / 15.
    optimum = 0.17 + 0.1 * 4 / 15
    found = check_solver(FrankWolfe("plain"), tilted, optimum, max_iter=0)
    assert not found.converged
    with pytest.raises(AssertionError, match="must converge"):
        check_solver(
            FrankWolfe("plain"), tilted, optimum, max_iter=0, must_converge=True
        )


def test_a_point_better_than_the_optimum_is_noticed():
    with pytest.raises(AssertionError, match="better than the optimum"):
        check_solver(ProjectedGradient(), PROBLEM, OPTIMUM + 0.1)


def test_a_problem_that_is_not_accepted_must_be_refused():
    class Bare:
        objective = Concave()

    assert check_solver(FrankWolfe("plain"), Bare(), 0.0) is None
