"""A check that cannot fail proves nothing: each is shown a fault."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from counterpoise.optim import (
    L1,
    Constrained,
    FrankWolfe,
    Quadratic,
    Simplex,
)
from counterpoise.testing import (
    check_domain,
    check_objective,
    check_penalty,
    check_problem,
    check_solver,
    feasible_points,
)

POINTS = np.random.default_rng(0).random((4, 3)) + 0.1


def with_fault(kind, name, fault):
    """Return a class like `kind` with one method replaced."""
    return type(kind.__name__, (kind,), {name: fault})


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("gradient", lambda self, x: self.Q @ x),
        ("value", lambda self, x: -0.5 * float(x @ self.Q @ x)),
        ("along", lambda self, x, direction, limit, images=None: 0.5 * limit),
        ("columns", lambda self, i: self.Q[:, i] + 1.0),
        ("image", lambda self, x: self.Q @ np.abs(x)),
        ("model", lambda self, i, columns, image: (image[i] + self.c[i], np.eye(3))),
        ("prox", lambda self, v, step: v),
        ("distinct", lambda self, i, count, alike: i[1:]),
    ],
)
def test_a_faulty_objective_is_found_out(name, fault):
    Q = np.diag([1.0, 2.0, 4.0])
    check_objective(Quadratic(Q, np.ones(3)), POINTS)
    faulty = with_fault(Quadratic, name, fault)
    with pytest.raises(AssertionError):
        check_objective(faulty(Q, np.ones(3)), POINTS)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("vertex", lambda self, g: np.eye(self.size)[int(np.argmax(g))]),
        ("project", lambda self, p: np.full(self.size, 1.0 / self.size)),
        (
            "project",
            lambda self, p: np.maximum(p, 0) / max(np.maximum(p, 0).sum(), 1e-9),
        ),
        ("start", lambda self: np.zeros(self.size)),
        ("infeasibility", lambda self, x: 0.0),
    ],
)
def test_a_faulty_domain_is_found_out(name, fault):
    check_domain(Simplex(4))
    with pytest.raises(AssertionError):
        check_domain(with_fault(Simplex, name, fault)(4))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("prox", lambda self, v, step: v / (1.0 + step)),
        ("dual_norm", lambda self, g: float(np.abs(g).sum()) / self.weight),
        ("value", lambda self, x: self.weight * float(x @ x)),
    ],
)
def test_a_faulty_penalty_is_found_out(name, fault):
    check_penalty(L1(4, 0.5))
    with pytest.raises(AssertionError):
        check_penalty(with_fault(L1, name, fault)(4, 0.5))


def quadratic_problem(kind=Constrained):
    return kind(Quadratic(np.eye(4), np.zeros(4)), Simplex(4))


def test_a_certificate_that_flatters_is_found_out():
    def flattering(self, x, value, gradient):
        honest = Constrained.judge(self, x, value, gradient)
        return replace(honest, gap=0.1 * honest.gap)

    points = feasible_points(Simplex(4), 10)
    check_problem(quadratic_problem(), 0.125, points)
    faulty = with_fault(Constrained, "judge", flattering)
    with pytest.raises(AssertionError, match="smaller than the excess"):
        check_problem(quadratic_problem(faulty), 0.125, points)


@dataclass(frozen=True)
class Leaving(FrankWolfe):
    """Frank-Wolfe whose points leave the simplex."""

    def step(self, problem, state):
        after = super().step(problem, state)
        x = after.x * 1.01
        return replace(after, x=x, claim=problem.certify(x))


def test_a_solver_that_leaves_the_set_is_found_out():
    problem = Constrained(Quadratic(np.diag([1.0, 2, 3]), np.zeros(3)), Simplex(3))
    best = 0.5 / (1 + 1 / 2 + 1 / 3)
    check_solver(FrankWolfe("pairwise"), problem, best, must_converge=True)
    with pytest.raises(AssertionError, match="outside"):
        check_solver(Leaving("pairwise"), problem, best)


def test_a_solver_that_gives_up_is_found_out_where_it_must_not():
    problem = Constrained(Quadratic(np.diag([1.0, 2, 3]), np.zeros(3)), Simplex(3))
    best = 0.5 / (1 + 1 / 2 + 1 / 3)
    with pytest.raises(AssertionError, match="must converge"):
        check_solver(FrankWolfe("plain"), problem, best, max_iter=2, must_converge=True)


def test_a_wrong_optimum_is_found_out():
    problem = quadratic_problem()
    with pytest.raises(AssertionError):
        check_solver(FrankWolfe("away"), problem, 0.2)
