"""Paths, on programs whose solution is known in closed form."""

from dataclasses import dataclass

import numpy as np
import pytest

from counterpoise.optim import (
    Breakpoint,
    Certificate,
    PathError,
    SolutionPath,
    follow,
)
from counterpoise.optim.quadratic_path.follower import Follower, from_zero
from counterpoise.optim.quadratic_path.problem import DenseRows
from counterpoise.svm import WeightedSVC
from counterpoise.weights.least_squares_search import PenaltyPath


@dataclass(frozen=True)
class SoftThresholds:
    """Minimize |x - c|^2 / 2 + theta |x|_1 for theta from the largest |c| to zero."""

    c: np.ndarray
    stop: float = 0.0

    @property
    def start(self):
        return float(np.abs(self.c).max())

    def begin(self):
        return Breakpoint(self.start, np.zeros_like(self.c))

    def advance(self, here):
        below = [t for t in np.abs(self.c) if t < here.theta]
        theta = float(max([*below, self.stop]))
        x = np.sign(self.c) * np.maximum(np.abs(self.c) - theta, 0.0)
        return Breakpoint(theta, x)

    def certify(self, theta, x):
        value = 0.5 * float((x - self.c) @ (x - self.c)) + theta * np.abs(x).sum()
        # Any u with |u| <= theta gives the dual value u'c - |u|^2 / 2.
        u = np.clip(self.c - x, -theta, theta)
        bound = float(u @ self.c - 0.5 * u @ u)
        return Certificate("duality gap", value, bound, max(value - bound, 0.0))


C = np.array([3.0, -1.0, 0.5, 2.0, -2.0])


def test_a_path_is_exact_at_breakpoints_and_between_them():
    path = follow(SoftThresholds(C))
    assert path.n_events == 4
    for theta in np.concatenate([path.thetas, np.linspace(0, 3, 17)]):
        exact = np.sign(C) * np.maximum(np.abs(C) - theta, 0.0)
        np.testing.assert_allclose(path.at(theta), exact, atol=1e-14)
        assert path.certify(theta).holds(1e-12)


def test_a_theta_outside_the_path_is_refused():
    with pytest.raises(ValueError, match="theta must be between 0 and 3, got 4"):
        follow(SoftThresholds(C)).at(4.0)


def test_a_path_is_never_truncated():
    with pytest.raises(PathError, match="more than 2 events") as caught:
        follow(SoftThresholds(C), max_events=2)
    assert caught.value.theta == 1.0
    with pytest.raises(PathError, match="ended by the callback"):
        follow(SoftThresholds(C), callback=lambda here: here.theta < 2.5)


def test_a_program_that_turns_back_is_found_out():
    class Confused(SoftThresholds):
        def advance(self, here):
            return Breakpoint(here.theta + 1.0, here.x)

    with pytest.raises(PathError, match="theta went backwards"):
        follow(Confused(C))


def test_a_rising_path_is_read_in_its_own_direction():
    @dataclass(frozen=True)
    class Line:
        start: float = 0.0
        stop: float = 1.0

        def begin(self):
            return Breakpoint(0.0, np.zeros(1))

        def advance(self, here):
            theta = min(here.theta + 0.25, 1.0)
            return Breakpoint(theta, np.array([2.0 * theta]))

        def certify(self, theta, x):
            gap = abs(float(x[0]) - 2.0 * theta)
            return Certificate("distance", 0.0, -gap, gap)

    path = follow(Line())
    assert path.at(0.6)[0] == pytest.approx(1.2)
    assert path.certify(0.6).holds(1e-12)


def penalty_path():
    A = np.random.default_rng(0).random((8, 5))
    return follow(PenaltyPath(A.T @ A, A.mean(axis=0)))


def box_path():
    x, y = np.array([2.0, 1.0, 0.5, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    one = np.ones(4)
    follower = Follower(DenseRows(np.outer(x, x)), y)
    return from_zero(follower, one, 0 * one, 5 * one, logged=True)


def machine_path():
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1, -1)
    return WeightedSVC(kernel="linear").fit(X, y).path(C=(1.0, 5.0))


@pytest.mark.parametrize("made", [penalty_path, box_path, machine_path])
def test_all_paths_have_certified_solutions_along_them(made):
    path = made()
    assert path.n_events >= 1
    for theta in np.linspace(path.thetas[0], path.thetas[-1], 5).tolist():
        assert path.at(theta) is not None
        assert path.certify(theta).holds(1e-8)
    with pytest.raises(ValueError, match="theta must be between"):
        path.at(1e9)


def test_the_path_of_least_squares_is_a_solution_path():
    assert isinstance(penalty_path(), SolutionPath)
