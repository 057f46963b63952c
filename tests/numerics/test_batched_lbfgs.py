import numpy as np
from scipy.optimize import rosen, rosen_der

from counterpoise.numerics.batched_lbfgs import minimize_together


def rosenbrock(x, which):
    return rosen(x.T), rosen_der(x.T).T


def test_every_problem_reaches_its_own_minimum():
    start = np.random.default_rng(0).normal(size=(30, 4)) + 1.0
    found = minimize_together(rosenbrock, start, radius=0.5, tol=1e-9, max_iter=2000)
    # A Rosenbrock function of four variables has one other minimum.
    at_one = np.abs(found.x - 1.0).max(axis=1) < 1e-6
    assert at_one.mean() > 0.7
    assert (found.residual <= 1e-9).all()


def test_problems_do_not_see_one_another():
    start = np.random.default_rng(1).normal(size=(8, 3))
    whole = minimize_together(rosenbrock, start, radius=0.5, tol=1e-9, max_iter=500)
    for k in range(8):
        one = minimize_together(
            rosenbrock, start[k : k + 1], radius=0.5, tol=1e-9, max_iter=500
        )
        assert np.array_equal(one.x[0], whole.x[k])
        assert one.n_iter[0] == whole.n_iter[k]


def test_no_step_is_longer_than_the_radius():
    seen = []

    def slope(x, which):
        seen.append(x.copy())
        return -x[:, 0], np.column_stack([-np.ones(len(x)), np.zeros(len(x))])

    minimize_together(slope, np.zeros((1, 2)), radius=0.25, tol=1e-9, max_iter=10)
    path = np.array(seen)[:, 0]
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() <= 0.25 + 1e-12
    assert len(path) == 11


def test_values_that_are_not_finite_are_no_minimum():
    def wall(x, which):
        with np.errstate(invalid="ignore", divide="ignore"):
            value = x[:, 0] - np.log(1.0 - np.abs(x[:, 0] - 1.0))
            gradient = 1.0 + np.sign(x - 1.0) / (1.0 - np.abs(x - 1.0))
        return value, gradient

    found = minimize_together(wall, np.array([[0.9]]), radius=5.0, tol=1e-9)
    assert np.isfinite(found.value).all()
    assert found.value[0] <= 0.9 - np.log(0.9)


def test_a_problem_at_its_minimum_is_left_alone():
    def square(x, which):
        return (x**2).sum(axis=1), 2 * x

    found = minimize_together(square, np.zeros((3, 2)), radius=1.0, tol=1e-9)
    assert np.array_equal(found.n_iter, [0, 0, 0])
