import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from counterpoise.data import memory_budget
from counterpoise.datasets import make_articulated_pose
from counterpoise.twin_gp import TwinGP
from counterpoise.twin_gp.approximations import LocalModel, Neighbors, first_ones
from counterpoise.twin_gp.problem import DIVERGENCES, Settings, TwinRows

SETTINGS = Settings("kl", 0.3, 0.22, 0.35, 1e-2, 2e-2)


def data(seed=0, n=60, m=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.tanh(X @ rng.normal(size=(3, 4))) + 0.1 * rng.normal(size=(n, 4))
    return X, Y, rng.gamma(2.0, 0.5, n), rng.normal(size=(m, 3))


def rows_of(X, Y, w):
    return TwinRows(X, Y, np.asarray(w, dtype=float), np.arange(len(X)))


def by_hand(x, X, w, count):
    """The nearest rows until their weights reach a count, the last one cut."""
    rows, used, left = [], [], count
    for row in np.argsort(np.linalg.norm(X - x, axis=1)):
        if left > 0:
            rows.append(row)
            used.append(min(w[row], left))
            left -= w[row]
    return np.array(rows), np.array(used)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_row_is_the_same_whichever_others_are_asked_for(divergence):
    X, Y, w, X_test = data()
    settings = replace(SETTINGS, divergence=divergence)
    problems = LocalModel(rows_of(X, Y, w), settings, 10).pose(X_test)
    at = 0.5 * np.random.default_rng(1).normal(size=(len(X_test), 4))
    value, gradient = problems.evaluate(at, np.arange(len(X_test)))
    for which in (
        np.random.default_rng(2).permutation(len(X_test)),
        np.zeros(len(X_test), dtype=np.intp),
        np.array([5, 2]),
    ):
        some = problems.evaluate(at[which], which)
        np.testing.assert_allclose(some[0], value[which], rtol=1e-12)
        np.testing.assert_allclose(some[1], gradient[which], atol=1e-12)


@pytest.mark.parametrize("count", [1, 10, 10.5, 33])
def test_neighbors_are_counted_by_weight_and_the_last_is_cut(count):
    X, Y, w, X_test = data()
    near, weight = Neighbors(rows_of(X, Y, w), count).of(X_test)
    for k, x in enumerate(X_test):
        rows, used = by_hand(x, X, w, count)
        assert np.array_equal(near[k][: rows.size], rows)
        np.testing.assert_allclose(weight[k][: rows.size], used, atol=1e-12)
        assert not weight[k][rows.size :].any()
    assert near.shape[1] == max(len(by_hand(x, X, w, count)[0]) for x in X_test)


def test_tenths_that_add_up_to_the_count_take_no_row_more():
    key = np.arange(40.0)[None]
    columns, used = first_ones(key, np.full(40, 0.1), 1.0, 40)
    assert columns.tolist() == [list(range(10))]
    np.testing.assert_allclose(used, 0.1, rtol=1e-9)


def test_the_mean_is_scikit_learns_gpr_of_the_neighbors():
    X, Y, w, X_test = data()
    problems = LocalModel(rows_of(X, Y, w), SETTINGS, 12.3).pose(X_test)
    kernel = RBF(1.0 / np.sqrt(2.0 * SETTINGS.gamma_x))
    for x, ours, e_x in zip(X_test, problems.mean(), problems.e_x, strict=True):
        rows, used = by_hand(x, X, w, 12.3)
        middle = used @ Y[rows] / used.sum()
        noise = SETTINGS.ridge_x / used
        theirs = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
        theirs.fit(X[rows], Y[rows] - middle)
        mean, deviation = theirs.predict(x[None], return_std=True)
        np.testing.assert_allclose(ours, mean[0] + middle, atol=1e-8)
        variance = deviation[0, 0] ** 2 + SETTINGS.ridge_x
        np.testing.assert_allclose(e_x, variance, atol=1e-8)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_losses_are_the_written_ones_of_the_neighbors(divergence):
    X, Y, w, X_test = data()
    settings = replace(SETTINGS, divergence=divergence)
    problems = LocalModel(rows_of(X, Y, w), settings, 12.3).pose(X_test)
    at = 0.5 * np.random.default_rng(1).normal(size=(len(X_test), 4))
    values = problems.evaluate(at, np.arange(len(X_test)))[0]
    bounds = problems.bounds()

    def parts(A, a, gamma, ridge, root):
        K = np.exp(-gamma * ((A[:, None] - A) ** 2).sum(axis=2))
        s = root * np.exp(-gamma * ((A - a) ** 2).sum(axis=1))
        return root[:, None] * K * root + ridge * np.eye(len(A)), s, 1.0 + ridge

    for x, y, value, bound in zip(X_test, at, values, bounds, strict=True):
        rows, used = by_hand(x, X, w, 12.3)
        root = np.sqrt(used)
        S_x, s_x, c_x = parts(X[rows], x, settings.gamma_x, settings.ridge_x, root)
        S_y, s_y, c_y = parts(Y[rows], y, settings.gamma_y, settings.ridge_y, root)
        u, v = np.linalg.solve(S_x, s_x), np.linalg.solve(S_y, s_y)
        e_x, e_y, t = c_x - s_x @ u, c_y - s_y @ v, settings.theta
        if divergence == "kl":
            loss = 0.5 * ((c_y - 2 * u @ s_y) / e_x - np.log(e_y))
            least = 0.5 * (1 - np.log(e_x) - u @ S_y @ u / e_x)
        elif divergence == "inverse-kl":
            loss = 0.5 * ((c_x - 2 * v @ s_x + v @ S_x @ v) / e_y + np.log(e_y))
            least = 0.5 * (1 + np.log(e_x))
        else:
            S, s = (1 - t) * S_x + t * S_y, (1 - t) * s_x + t * s_y
            e_t = (1 - t) * c_x + t * c_y - s @ np.linalg.solve(S, s)
            loss = (np.log(e_t) - t * np.log(e_y)) / (2 * (1 - t))
            least = 0.5 * np.log(e_x)
        assert value == pytest.approx(loss, abs=1e-10)
        assert bound == pytest.approx(least, abs=1e-10)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_weight_k_is_k_rows_that_are_not_merged(divergence):
    pose = make_articulated_pose("none", 200, 30, random_state=0)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 5, 200)
    often = np.repeat(np.arange(200), counts)
    X = pose.X[often] + 1e-10 * rng.normal(size=(often.size, pose.X.shape[1]))
    model = TwinGP(divergence=divergence, n_neighbors=40, ridge_x=1e-2, ridge_y=1e-1)
    weighted = model.fit(pose.X, pose.y, counts).predict(pose.X_target)
    repeated = model.fit(X, pose.y[often]).predict(pose.X_target)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6 * np.abs(pose.y).max())


def test_small_weights_make_no_large_models_and_it_is_said():
    X, Y, w, X_test = data(n=400)
    fair = LocalModel(rows_of(X, Y, np.ones(400)), SETTINGS, 10)
    assert fair.complaint() is None
    assert fair.neighbors(X_test)[0].shape == (8, 10)
    # Half of the space, and of the rows, has weights of a fiftieth.
    w = np.where(X[:, 0] < 0.0, 0.02, 1.98)
    model = LocalModel(rows_of(X, Y, w), SETTINGS, 10)
    near, root = model.neighbors(X)
    assert near.shape[1] == 50
    short = (root**2).sum(axis=1) < 10 - 1e-9
    assert 0.05 < short.mean() < 0.5
    order = np.argsort(((X[short][0] - X) ** 2).sum(axis=1))
    assert np.array_equal(near[short][0], order[:50])
    assert "the 50 nearest rows, the most that are used" in model.complaint()
    share = f"at {short[1::2].mean():.0%} of the training inputs, or 0% by weight"
    assert share in model.complaint()
    assert model.row_bytes() <= 32 * 400 + 8 * 50 * (6 * 50 + 60)


def test_weights_that_sum_to_one_are_said_to_be_too_small():
    X, Y, w, _ = data(n=400)
    model = LocalModel(rows_of(X, Y, w / w.sum()), SETTINGS, 10)
    expected = "n_neighbors = 10 counts weights, and those of all 400 rows add up to 1:"
    assert model.complaint().startswith(expected)
    assert model.complaint().endswith("divide the weights by their mean")
    assert model.neighbors(X[:5])[0].shape == (5, 50)
    every = LocalModel(rows_of(X[:30], Y[:30], np.ones(30)), SETTINGS, 40)
    assert every.complaint() is None


def test_rows_of_hardly_any_weight_are_no_neighbors():
    X, Y, w, X_test = data()
    w[::2] = 1e-6 * w.max()
    near, root = LocalModel(rows_of(X, Y, w), SETTINGS, 10).neighbors(X_test)
    assert (near[root > 0.0] % 2 == 1).all()
    w[::2] *= 1.001
    near, root = LocalModel(rows_of(X, Y, w), SETTINGS, 10).neighbors(X_test)
    assert (near[root > 0.0] % 2 == 0).any()


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_local_models_take_the_memory_they_say(divergence):
    X, Y, _, X_test = data(n=300, m=40)
    settings = replace(SETTINGS, divergence=divergence)
    model = LocalModel(rows_of(X, Y, np.full(300, 0.2)), settings, 30)
    tracemalloc.start()
    problems = model.pose(X_test)
    problems.prove(problems.answers(1e-6).x)
    peak = tracemalloc.get_traced_memory()[1] / len(X_test)
    tracemalloc.stop()
    assert 0.7 * model.row_bytes() < peak < 1.1 * model.row_bytes()


def test_lists_of_neighbors_take_the_memory_they_say():
    X, Y, w, X_test = data(n=5000, m=40)
    lists = Neighbors(rows_of(X, Y, w), 20)
    tracemalloc.start()
    lists.of(X_test)
    peak = tracemalloc.get_traced_memory()[1] / len(X_test)
    tracemalloc.stop()
    assert 0.5 * lists.row_bytes() < peak < lists.row_bytes()


def test_a_small_budget_changes_no_answer():
    X, Y, w, X_test = data(n=300)
    model = TwinGP(n_neighbors=30).fit(X, Y, w)
    answers = model.predict(X_test)
    with memory_budget(100_000):
        np.testing.assert_allclose(model.predict(X_test), answers, atol=1e-6)


def test_one_heavy_row_does_not_silence_the_others():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 2))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    weights = np.ones(300)
    weights[0] = 2e6
    model = TwinGP(n_neighbors=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = model.fit(X, Y, weights).predict(X)
    assert np.abs(answers - Y)[1:].mean() < 0.01
