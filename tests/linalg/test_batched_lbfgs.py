import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from counterpoise.linalg.batched_lbfgs import minimize_together


def rosenbrock(x, which):
    return rosen(x.T), rosen_der(x.T).T


class Convex:
    """Random quadratics with a soft hinge each: strongly convex, no two alike."""

    def __init__(self, m, d, condition, seed):
        rng = np.random.default_rng(seed)
        turn = np.linalg.qr(rng.normal(size=(m, d, d)))[0]
        spread = np.exp(rng.uniform(0.0, np.log(condition), size=(m, d)))
        self.A = np.einsum("kij,kj,klj->kil", turn, spread, turn)
        self.b = rng.normal(size=(m, d))
        self.c = 3.0 * rng.normal(size=(m, d))
        self.calls = []

    def __call__(self, x, which):
        self.calls.append(np.array(which))
        A, b, c = self.A[which], self.b[which], self.c[which]
        curve = np.einsum("kij,kj->ki", A, x)
        along = np.einsum("ki,ki->k", c, x)
        value = np.einsum("ki,ki->k", x, 0.5 * curve - b) + np.logaddexp(0.0, along)
        return value, curve - b + c / (1.0 + np.exp(-along))[:, None]

    def alone(self, k):
        """Return one of the problems as SciPy asks for it."""

        def function(x):
            value, gradient = self(x[None], np.array([k]))
            return value[0], gradient[0]

        return function


def path_of(function, start, **how):
    """Return the points at which a single problem was evaluated, and its end."""
    seen = []

    def watched(x, which):
        seen.append(x[0].copy())
        return function(x, which)

    found = minimize_together(watched, np.array([start], dtype=float), **how)
    return np.array(seen), found


def test_every_problem_reaches_its_own_minimum():
    start = np.random.default_rng(0).normal(size=(30, 4)) + 1.0
    found = minimize_together(rosenbrock, start, radius=0.5, tol=1e-9, max_iter=2000)
    # A Rosenbrock function of four variables has one other minimum.
    at_one = np.abs(found.x - 1.0).max(axis=1) < 1e-6
    assert at_one.mean() > 0.7
    assert (found.residual <= 1e-9).all()


@pytest.mark.parametrize("condition", [3.0, 100.0])
def test_the_optimum_is_that_of_scipy_on_strongly_convex_problems(condition):
    problems = Convex(20, 6, condition, seed=3)
    start = 4.0 * np.random.default_rng(4).normal(size=(20, 6))
    found = minimize_together(problems, start, radius=1.0, tol=1e-10)
    assert (found.residual <= 1e-10).all()
    for k in range(20):
        theirs = minimize(
            problems.alone(k), start[k], jac=True, method="BFGS", options={"gtol": 1e-9}
        )
        assert np.abs(found.x[k] - theirs.x).max() <= 1e-6
        assert found.value[k] <= theirs.fun + 1e-12


def test_problems_do_not_see_one_another():
    start = np.random.default_rng(1).normal(size=(8, 3))
    whole = minimize_together(rosenbrock, start, radius=0.5, tol=1e-9, max_iter=500)
    for k in range(8):
        one = minimize_together(
            rosenbrock, start[k : k + 1], radius=0.5, tol=1e-9, max_iter=500
        )
        assert np.array_equal(one.x[0], whole.x[k])
        assert one.n_iter[0] == whole.n_iter[k]


def test_an_answer_does_not_depend_on_neighbors_that_leave_earlier_or_later():
    problems = Convex(12, 5, 50.0, seed=5)
    # Far and near starts end at very different times.
    far = np.geomspace(1e-3, 30.0, 12)[:, None]
    start = far * np.random.default_rng(6).normal(size=(12, 5))
    whole = minimize_together(problems, start, radius=0.5, tol=1e-9)
    assert whole.n_iter.max() > 3 * whole.n_iter.min()
    for k in range(12):

        def only(x, which, k=k):
            return problems(x, np.full(len(x), k))

        one = minimize_together(only, start[k : k + 1], radius=0.5, tol=1e-9)
        assert np.abs(one.x[0] - whole.x[k]).max() <= 1e-9
        assert one.n_iter[0] == whole.n_iter[k]


def test_a_problem_that_has_ended_is_not_evaluated_again():
    problems = Convex(6, 4, 10.0, seed=7)
    start = np.geomspace(1e-2, 50.0, 6)[:, None] * np.ones((6, 4))
    found = minimize_together(problems, start, radius=0.5, tol=1e-8)
    last = [max(i for i, w in enumerate(problems.calls) if k in w) for k in range(6)]
    assert np.array_equal(np.argsort(last, kind="stable"), np.argsort(found.n_iter))
    assert last[0] < last[5] / 2


def bowl(x, which):
    return 0.5 * (x**2).sum(axis=1), x.copy()


def test_far_from_the_minimum_every_step_is_as_long_as_the_radius():
    # The pair of the first step gives the bowl's curvature: Newton's step would be 100
    # radii long, and lead to the minimum at once.
    path, found = path_of(bowl, [15.0, 20.0], radius=0.25, tol=1e-9)
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert lengths.max() <= 0.25 * (1 + 1e-12)
    assert lengths[1:-1] == pytest.approx(0.25, abs=1e-12)
    # 25 = .025 + 99 x .25 + .225
    assert found.n_iter[0] == 101
    assert np.abs(found.x).max() < 1e-8


@pytest.mark.parametrize("slope", [1e-3, 1.0, 1e3])
def test_the_first_step_is_a_tenth_of_the_radius_down_the_gradient(slope):
    def tilted(x, which):
        value, gradient = bowl(x, which)
        return slope * value, slope * gradient

    path, _ = path_of(tilted, [3.0, 4.0], radius=0.5, tol=1e-12)
    assert path[1] - path[0] == pytest.approx([-0.03, -0.04], abs=1e-14)


def wells(x, which):
    """A shallow well at zero, a deep one at six."""
    near, far = np.exp(-0.5 * x[:, 0] ** 2), np.exp(-0.5 * (x[:, 0] - 6.0) ** 2)
    return -near - 3.0 * far, (x[:, 0] * near + 3.0 * (x[:, 0] - 6.0) * far)[:, None]


def test_the_cap_keeps_a_problem_in_the_well_it_started_in():
    # Where the well turns concave its curvature is all but zero: after a first step of
    # .05 the secant's step leads some of the starts into the deep well.
    start = np.linspace(-0.98, -0.85, 27)[:, None]
    second = start + 0.05
    slope, change = (
        wells(second, None)[1],
        wells(second, None)[1] - wells(start, None)[1],
    )
    leap = second - slope * 0.05 / change
    deep = (leap[:, 0] > 4.5) & (leap[:, 0] < 7.5)
    assert (wells(leap[deep], None)[0] < wells(second[deep], None)[0] - 0.5).all()
    assert deep.sum() > 5
    found = minimize_together(wells, start, radius=0.5, tol=1e-9)
    assert np.abs(found.x).max() < 1e-6


def test_the_first_step_does_not_leap_into_the_next_valley():
    def valleys(x, which):
        return -np.cos(x[:, 0]) - 0.1 * x[:, 0], np.sin(x) - 0.1

    radius = 2 * np.pi  # a whole period
    found = minimize_together(valleys, np.array([[-1.0]]), radius=radius, tol=1e-9)
    assert found.x[0, 0] == pytest.approx(np.arcsin(0.1), abs=1e-7)


def test_minima_of_a_function_that_is_not_convex_are_those_of_scipy():
    def waves(x, which):
        return (
            (0.05 * x**2 - np.cos(x)).sum(axis=1),
            0.1 * x + np.sin(x),
        )

    start = np.random.default_rng(8).uniform(-9, 9, size=(40, 2))
    found = minimize_together(waves, start, radius=0.5, tol=1e-10)
    assert (found.residual <= 1e-10).all()
    assert len(np.unique(found.x.round(6), axis=0)) > 5
    for k in range(40):

        def one(x):
            value, gradient = waves(x[None], None)
            return value[0], gradient[0]

        # From our end SciPy goes nowhere, and it is the minimum of our own valley:
        # the function does not rise on the way.
        theirs = minimize(one, found.x[k], jac=True, method="BFGS")
        assert np.abs(theirs.x - found.x[k]).max() < 1e-6
        assert np.abs(found.x[k] - start[k]).max() < 2 * np.pi
        assert found.value[k] <= waves(start[k : k + 1], None)[0][0]


def barrier(x, which):
    """2 x - log x, no number for negative x; its minimum is at a half."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return 2.0 * x[:, 0] - np.log(x[:, 0]), 2.0 - 1.0 / x


def below_all(x, which):
    """A bowl at one, and minus infinity from a fifth downwards."""
    value, gradient = bowl(x - 1.0, which)
    return np.where(x[:, 0] < 0.2, -np.inf, value), gradient


def no_gradient(x, which):
    """A bowl at one with a lower floor, where the gradient is no number."""
    value, gradient = bowl(x - 1.0, which)
    wild = x[:, 0] < 0.2
    return np.where(wild, -9.0, value), np.where(wild[:, None], np.nan, gradient)


@pytest.mark.parametrize(
    ("function", "start", "radius", "minimum"),
    [
        (barrier, 8.0, 100.0, 0.5),
        (barrier, 0.6, 10.0, 0.5),
        (below_all, 1.4, 20.0, 1.0),
        (no_gradient, 1.4, 20.0, 1.0),
    ],
)
def test_a_region_without_numbers_is_tried_and_not_entered(
    function, start, radius, minimum
):
    path, found = path_of(function, [start], radius=radius, tol=1e-10)
    wild = ~np.isfinite(np.column_stack(function(path, None)))
    assert wild.any(), "the case tries no point of the region"
    assert found.x[0, 0] == pytest.approx(minimum, abs=1e-7)
    assert found.residual[0] <= 1e-10


@pytest.mark.parametrize("outside", [np.nan, np.inf, -np.inf])
def test_a_start_without_a_value_stays_and_has_not_converged(outside):
    def half(x, which):
        value, gradient = bowl(x, which)
        return np.where(which == 1, outside, value), gradient

    start = np.full((3, 2), 0.5)
    found = minimize_together(half, start, radius=1.0, tol=1e-9)
    assert np.array_equal(found.x[1], start[1])
    assert np.isinf(found.residual[1])
    assert found.n_iter[1] == 0
    assert np.abs(found.x[[0, 2]]).max() < 1e-8


@pytest.mark.parametrize("max_iter", [0, 1, 7])
def test_no_problem_takes_more_steps_than_it_may(max_iter):
    start = np.array([[15.0, 20.0], [3.0, 4.0], [0.0, 0.0]])
    found = minimize_together(bowl, start, radius=0.25, tol=1e-9, max_iter=max_iter)
    assert found.n_iter.tolist() == [max_iter, max_iter, 0]
    moved = np.linalg.norm(found.x - start, axis=1)
    expected = 0.0 if max_iter == 0 else 0.025 + 0.25 * (max_iter - 1)
    assert moved[:2] == pytest.approx(expected, abs=1e-12)
    assert (found.residual[:2] > 1e-9).all()


@pytest.mark.parametrize("radius", [0.5, 5.0, 50.0])
def test_no_step_raises_the_value(radius):
    start = np.random.default_rng(11).normal(size=(20, 4))
    values = [rosenbrock(start, None)[0]]
    for k in range(1, 25):
        found = minimize_together(
            rosenbrock, start, radius=radius, tol=1e-12, max_iter=k
        )
        values.append(found.value)
    rise = np.diff(values, axis=0) / np.maximum(1.0, np.abs(values[:-1]))
    assert rise.max() <= 1e-10


def test_along_a_slope_that_does_not_curve_steps_grow_to_the_radius():
    def slope(x, which):
        return -x[:, 0], np.column_stack([-np.ones(len(x)), np.zeros(len(x))])

    with np.errstate(all="raise"):
        path, found = path_of(slope, [0.0, 0.0], radius=0.5, tol=1e-9, max_iter=600)
    steps = [0.05, 0.2, *[0.5] * 598]
    assert np.diff(path[:, 0]) == pytest.approx(steps, abs=1e-12)
    assert found.n_iter[0] == 600


def test_a_problem_that_nothing_lowers_gives_up():
    def liar(x, which):
        return np.full(len(x), 2.0), np.ones_like(x)

    path, found = path_of(liar, [0.0, 0.0], radius=0.5, tol=1e-9)
    assert found.n_iter[0] == 1
    assert len(path) <= 25
    assert np.array_equal(found.x[0], [0.0, 0.0])
    assert found.residual[0] > 1e-9


def test_the_memory_saves_steps_as_scipy_s_does():
    problems = Convex(10, 10, 1000.0, seed=9)
    start = np.random.default_rng(10).normal(size=(10, 10))
    found = minimize_together(problems, start, radius=2.0, tol=1e-6)
    assert (found.residual <= 1e-6).all()
    theirs = [
        minimize(
            problems.alone(k),
            start[k],
            jac=True,
            method="L-BFGS-B",
            options={"maxcor": 8, "gtol": 5e-7, "ftol": 0.0},
        ).nit
        for k in range(10)
    ]
    assert np.sum(found.n_iter) <= 1.3 * np.sum(theirs)
    assert (found.n_iter >= 5).all()


def test_a_problem_at_its_minimum_is_left_alone():
    found = minimize_together(bowl, np.zeros((3, 2)), radius=1.0, tol=1e-9)
    assert np.array_equal(found.n_iter, [0, 0, 0])
    assert np.array_equal(found.x, np.zeros((3, 2)))
