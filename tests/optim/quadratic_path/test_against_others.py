"""Solutions equal Clarabel's; events equal the published algorithm's."""

import clarabel
import numpy as np
import pytest
from optim.quadratic_path.degenerate import rbf
from scipy import sparse

from counterpoise.linalg.cholesky import backward, forward, remove_row, solve_two
from counterpoise.optim import BoxQuadratic
from counterpoise.optim.quadratic_path.follower import Follower, from_prices, from_zero
from counterpoise.optim.quadratic_path.problem import DenseRows


def clarabel_solution(Q, p, lower, upper, s, d):
    """Minimize a'Qa/2 - p'a over the box and s'a = d, by an interior point method."""
    n = len(p)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    eye = sparse.identity(n)
    A = sparse.vstack([sparse.csc_matrix(s[None]), eye, -eye], format="csc")
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    solver = clarabel.DefaultSolver(
        sparse.triu(Q, format="csc"), -p, A, np.r_[d, upper, -lower], cones, settings
    )
    answer = solver.solve()
    return np.array(answer.x), float(answer.z[0])


def problem(seed, n=50, gamma=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return rbf(X, gamma), y, rng


@pytest.mark.parametrize("seed", range(4))
def test_classifiers_on_a_path_equal_clarabel(seed):
    K, y, rng = problem(seed)
    one = np.ones(50)
    start, stop = 3.0 * rng.random(50), 10.0 * rng.random(50)
    follower = Follower(DenseRows(K), y)
    from_zero(follower, one, 0 * one, start)
    path = follower.move(upper=stop)
    for theta in (0.0, 0.37, 0.8, 1.0):
        c = (1 - theta) * start + theta * stop
        a, b = clarabel_solution(K * np.outer(y, y), one, 0 * one, c, y, 0.0)
        f = K @ (y * path.at(theta)) + path.bias(theta)
        np.testing.assert_allclose(f, K @ (y * a) + b, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_quantile_machines_on_a_path_equal_clarabel(seed):
    K, _, rng = problem(seed)
    one, target = np.ones(50), rng.standard_normal(50)
    follower = Follower(DenseRows(K), one)
    from_prices(follower, target, -0.9 * one, 0.1 * one)
    path = follower.move(lower=-0.1 * one, upper=0.9 * one)
    for theta in (0.0, 0.5, 1.0):
        tau = 0.1 + 0.8 * theta
        a, b = clarabel_solution(K, target, (tau - 1) * one, tau * one, one, 0.0)
        f = K @ path.at(theta) + path.bias(theta)
        np.testing.assert_allclose(f, K @ a + b, atol=1e-7)


def test_the_gap_bounds_the_excess_over_clarabel_at_any_feasible_point():
    K, y, rng = problem(11)
    one = np.ones(50)
    Q = K * np.outer(y, y)
    c = 2.0 * rng.random(50)
    best, _ = clarabel_solution(Q, one, 0 * one, c, y, 0.0)
    optimum = best @ Q @ best / 2 - best.sum()
    posed = BoxQuadratic(K.dot, y, np.arange(50), one, 0 * one, c, 0.0)
    for _ in range(20):
        a = c * rng.random(50)
        plus, minus = a[y > 0].sum(), a[y < 0].sum()
        a[y > 0] *= min(1.0, minus / plus)
        a[y < 0] *= min(1.0, plus / minus)
        excess = a @ Q @ a / 2 - a.sum() - optimum
        free, any_b = posed.certify(a), posed.certify(a, hint=rng.standard_normal())
        assert free.infeasibility <= 1e-12
        assert excess - 1e-8 <= free.gap <= any_b.gap + 1e-9
    assert posed.certify(best).gap <= 1e-6
    assert not posed.certify(best + 0.1).holds(1e-3)


def published_path(K, y, c_old, c_new, a, b):
    """The algorithm as printed: dense solves, one point an event."""
    n = len(y)
    Q = K * np.outer(y, y)
    dc, theta, events = c_new - c_old, 0.0, []
    label = np.where(a <= 1e-9, 0, np.where(a >= c_old - 1e-9, 1, 2))
    while True:
        M, bound = np.flatnonzero(label == 2), np.flatnonzero(label == 1)
        system = np.zeros((M.size + 1, M.size + 1))
        system[0, 1:] = system[1:, 0] = y[M]
        system[1:, 1:] = Q[np.ix_(M, M)]
        right = np.r_[y[bound] @ dc[bound], Q[np.ix_(M, bound)] @ dc[bound]]
        phi = -np.linalg.solve(system, right)
        psi = y * phi[0] + Q[:, M] @ phi[1:] + Q[:, bound] @ dc[bound]
        slack = y * (K @ (y * a) + b) - 1.0
        steps = np.full((3, n), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            enters = np.where((label == 0) & (psi < -1e-13), slack / -psi, np.inf)
            leaves = np.where((label == 1) & (psi > 1e-13), -slack / psi, np.inf)
            steps[2] = np.minimum(enters, leaves)
            down, up = phi[1:] < 0, phi[1:] - dc[M] > 0
            steps[0, M[down]] = a[M[down]] / -phi[1:][down]
            room = c_old[M] + theta * dc[M] - a[M]
            steps[1, M[up]] = (room / (phi[1:] - dc[M]))[up]
        kind, who = np.unravel_index(np.argmin(steps), steps.shape)
        step = min(max(float(steps[kind, who]), 0.0), 1.0 - theta)
        a = a.copy()
        a[M] += step * phi[1:]
        theta, b = theta + step, b + step * phi[0]
        a[bound] = (c_old + theta * dc)[bound]
        if theta >= 1.0 - 1e-12:
            return events
        label[who] = (0, 1, 2)[kind]
        events.append((theta, int(who)))


@pytest.mark.parametrize("seed", range(3))
def test_events_are_those_of_the_published_algorithm(seed):
    K, y, rng = problem(seed + 20, n=60, gamma=2.0)
    one = np.ones(60)
    start, stop = 5.0 * one, 5.0 * rng.exponential(1.0, 60)
    follower = Follower(DenseRows(K), y)
    from_zero(follower, one, 0 * one, start)
    events = published_path(K, y, start, stop, follower.a.copy(), follower.bias)
    path = follower.move(upper=stop)
    assert len(events) > 15
    assert [who for _, who in events] == path.log.event_variable.tolist()
    np.testing.assert_allclose([t for t, _ in events], path.log.event_theta, atol=1e-8)


def test_triangular_solves_and_removed_rows():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 9))
    M = A @ A.T + np.eye(9)
    factor = np.zeros((12, 12))
    factor[:9, :9] = np.linalg.cholesky(M)
    x, z = rng.standard_normal(9), rng.standard_normal(9)
    one, two = x.copy(), z.copy()
    solve_two(factor, 9, one, two)
    np.testing.assert_allclose(M @ one, x, atol=1e-10)
    np.testing.assert_allclose(M @ two, z, atol=1e-10)
    alone = x.copy()
    forward(factor, 9, alone)
    np.testing.assert_allclose(factor[:9, :9] @ alone, x, atol=1e-10)
    backward(factor, 9, alone)
    np.testing.assert_allclose(alone, one, atol=1e-12)
    for position in (0, 4, 6):
        k = len(M)
        remove_row(factor, k, position)
        M = np.delete(np.delete(M, position, 0), position, 1)
        L = np.tril(factor[: k - 1, : k - 1])
        np.testing.assert_allclose(L @ L.T, M, atol=1e-10)
