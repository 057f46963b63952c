import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsRegressor

from counterpoise.data import memory_budget
from counterpoise.datasets import make_articulated_pose
from counterpoise.twin_gp import DirectTwinGP, WeightedGPR, WeightedKNN


def data(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.tanh(X @ rng.normal(size=(3, 2))) + 0.05 * rng.normal(size=(n, 2))
    return X, Y, rng.gamma(2.0, 0.5, n), rng.normal(size=(40, 3))


def test_weighted_gpr_is_scikit_learns_with_noise_ridge_over_weight():
    X, Y, w, X_test = data()
    ours = WeightedGPR(gamma_x=0.3, ridge_x=1e-2).fit(X, Y, w)
    mean = w @ Y / w.sum()
    kernel = RBF(1.0 / np.sqrt(0.6))
    theirs = GaussianProcessRegressor(kernel, alpha=1e-2 / w, optimizer=None)
    theirs.fit(X, Y - mean)
    answers, variance = ours.predict(X_test, return_uncertainty=True)
    expected, deviation = theirs.predict(X_test, return_std=True)
    np.testing.assert_allclose(answers, expected + mean, atol=1e-8)
    # The variance here is that of a new observation, the ridge included.
    np.testing.assert_allclose(variance, deviation[:, 0] ** 2 + 1e-2, atol=1e-8)


def test_weighted_gpr_carries_a_proof_of_its_coefficients():
    X, Y, w, _ = data()
    model = WeightedGPR(ridge_x=1e-3).fit(X, Y, w)
    assert model.solution_.converged
    proof = model.solution_.certificate
    assert proof.gap <= 1e-12 * proof.scale


@pytest.mark.parametrize("make", [WeightedGPR, WeightedKNN, DirectTwinGP])
def test_weight_k_is_k_rows_and_zero_none(make):
    X, Y, _, X_test = data()
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    often = np.random.default_rng(2).permutation(np.repeat(np.arange(len(X)), counts))
    weighted = make().fit(X, Y, counts).predict(X_test)
    repeated = make().fit(X[often], Y[often]).predict(X_test)
    assert np.array_equal(weighted, repeated)


@pytest.mark.parametrize("make", [WeightedGPR, WeightedKNN, DirectTwinGP])
def test_weight_k_is_k_rows_that_are_not_merged(make):
    pose = make_articulated_pose("none", 200, 50, random_state=0)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 5, 200)
    often = np.repeat(np.arange(200), counts)
    X = pose.X[often] + 1e-10 * rng.normal(size=(often.size, pose.X.shape[1]))
    weighted = make().fit(pose.X, pose.y, counts).predict(pose.X_target)
    repeated = make().fit(X, pose.y[often]).predict(pose.X_target)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8 * np.abs(pose.y).max())


def cut_by_hand(order, w, count):
    """Rows in order until their weights reach a count, the last one cut."""
    used, left = {}, count
    for row in order:
        if left <= 0:
            break
        used[row] = min(w[row], left)
        left -= w[row]
    return np.array(list(used)), np.array(list(used.values()))


@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_weighted_neighbors_are_the_written_formula_with_fractional_weights(count):
    X, Y, w, X_test = data()
    answers, spread = WeightedKNN(n_neighbors=count).fit(X, Y, w).predict(X_test, True)
    for k, x in enumerate(X_test):
        distance = np.linalg.norm(X - x, axis=1)
        rows, used = cut_by_hand(np.argsort(distance), w, count)
        share = used / (distance[rows] + 1e-9)
        share /= share.sum()
        np.testing.assert_allclose(answers[k], share @ Y[rows], atol=1e-12)
        away = ((Y[rows] - answers[k]) ** 2).sum(axis=1)
        np.testing.assert_allclose(spread[k], np.sqrt(share @ away), atol=1e-12)


def test_weighted_neighbors_are_scikit_learns_where_all_weights_are_one():
    X, Y, _, X_test = data()
    theirs = KNeighborsRegressor(7, weights=lambda d: 1.0 / (d + 1e-9)).fit(X, Y)
    ours = WeightedKNN(n_neighbors=7).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X_test), theirs.predict(X_test), atol=1e-9)


def test_neighbors_near_a_row_spread_little():
    X, Y, _, X_test = data()
    model = WeightedKNN().fit(X, Y)
    _, at_rows = model.predict(X, return_uncertainty=True)
    _, elsewhere = model.predict(X_test, return_uncertainty=True)
    assert at_rows.max() < 1e-3
    assert elsewhere.min() > 1e-3


def test_the_spread_of_neighbors_has_the_unit_of_the_outputs():
    X, Y, w, X_test = data()
    model = WeightedKNN(standardize_y=True)
    one = model.fit(X, Y, w).predict(X_test, return_uncertainty=True)[1]
    ten = model.fit(X, 10.0 * Y, w).predict(X_test, return_uncertainty=True)[1]
    np.testing.assert_allclose(ten, 10.0 * one, rtol=1e-9)


def test_direct_twin_gp_is_the_published_closed_form():
    X, Y, w, X_test = data()
    ours = DirectTwinGP(gamma_x=0.3, gamma_y=0.5, ridge_x=0.01, ridge_y=0.02, n_rows=9)
    answers = ours.fit(X, Y, w).predict(X_test)
    root = np.sqrt(w)

    def gram(A, B, gamma):
        return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))

    S_x = root[:, None] * gram(X, X, 0.3) * root + 0.01 * np.eye(len(X))
    S_y = root[:, None] * gram(Y, Y, 0.5) * root + 0.02 * np.eye(len(X))
    for x, answer in zip(X_test, answers, strict=True):
        s = root * gram(X, x[None], 0.3)[:, 0]
        u = np.linalg.solve(S_x, s)
        e, q = 1.01 - s @ u, S_y @ u
        a = u @ q
        m = (-e + np.sqrt(e * e + 4 * a * 1.02)) / (2 * a)
        k = np.clip(m * q / root, 1e-12, 1 - 1e-9)
        share = -1 / np.log(k)
        top, used = cut_by_hand(np.argsort(-share), w, 9)
        share = used * share[top]
        expected = share @ Y[top] / share.sum()
        np.testing.assert_allclose(answer, expected, atol=1e-8)


def test_direct_twin_gp_beats_the_mean():
    X, Y, w, X_test = data()
    model = DirectTwinGP(n_rows=10).fit(X, Y, w)
    assert model.score(X, Y) > 0.8
    _, variance = model.predict(X_test, return_uncertainty=True)
    assert variance.min() > 0


def test_direct_twin_gp_says_which_rows_it_knows_nothing_about():
    X, Y, w, X_test = data()
    model = DirectTwinGP(gamma_x=1.0).fit(X, Y, w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = model.predict(X_test)
    far = np.vstack([X_test, np.full((10, 3), 1e3)])
    with pytest.warns(UserWarning, match=r"20\.0% of the rows are like no training in"):
        answers = model.predict(far)
    np.testing.assert_allclose(answers[:40], near, atol=1e-12)
    mean = w @ Y / w.sum()
    np.testing.assert_allclose(answers[40:], np.tile(mean, (10, 1)), atol=1e-12)


def said(action):
    """What an action returns, and the warnings it gives."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        out = action()
    return out, [(one.category, str(one.message)) for one in seen]


def test_direct_twin_gp_does_not_say_so_in_its_search_or_calibration():
    X, Y, _, _ = data()
    X[::7] += 1e3 * np.arange(len(X[::7]))[:, None]
    model = DirectTwinGP(gamma_x=1.0, search="holdout", calibration_fraction=0.3)
    seen = said(lambda: model.fit(X, Y))[1]
    assert not [message for _, message in seen if "like no training" in message]
    assert said(lambda: model.predict(X))[1]


@pytest.mark.parametrize("make", [WeightedGPR, DirectTwinGP])
def test_a_certificate_that_does_not_hold_is_said_once(make):
    X, Y, w, X_test = data(n=300)
    model, seen = said(lambda: make(gamma_x=1.0).fit(X, Y, 1e14 * w))
    assert not model.solution_.converged
    unproved = [message for kind, message in seen if kind is ConvergenceWarning]
    assert len(unproved) == 1
    residual = model.solution_.certificate.residual
    assert f"residual {residual:.1e}" in unproved[0]
    assert "raise ridge_x, 0.001 here, or divide the weights by their" in unproved[0]
    assert said(lambda: pickle.loads(pickle.dumps(model)).predict(X_test))[1] == []
    again = said(lambda: model.fit(X, Y, 1e14 * w))[1]
    assert [kind for kind, _ in again].count(ConvergenceWarning) == 1


@pytest.mark.parametrize("make", [WeightedGPR, DirectTwinGP])
def test_a_ridge_that_rounding_drowns_is_said_once(make):
    X, Y, w, X_test = data()
    model, seen = said(lambda: make(gamma_x=5.0, ridge_x=9e-9).fit(X, Y, w))
    assert [message for _, message in seen] == [
        "ridge_x = 9e-09 is below 1e-08: rounding may decide the answers"
    ]
    assert said(lambda: pickle.loads(pickle.dumps(model)).predict(X_test))[1] == []
    assert said(lambda: make(gamma_x=5.0, ridge_x=1e-8).fit(X, Y, w))[1] == []
    # A search chooses among ridges of its own.
    searched = make(gamma_x=5.0, ridge_x=9e-9, search="holdout")
    seen = said(lambda: searched.fit(X, Y, w))[1]
    assert not [message for _, message in seen if "is below" in message]


@pytest.mark.parametrize("make", [WeightedGPR, DirectTwinGP])
def test_factors_that_do_not_fit_are_refused_with_what_to_do(make):
    X, Y, w, _ = data()
    count = 2 if make is WeightedGPR else 3
    need = 8 * count * len(X) ** 2
    with (
        memory_budget(need - 1),
        pytest.raises(MemoryError, match="use TwinGP with n"),
    ):
        make().fit(X, Y, w)
    with memory_budget(need):
        make().fit(X, Y, w)


@pytest.mark.parametrize("make", [WeightedGPR, WeightedKNN, DirectTwinGP])
@pytest.mark.parametrize("scale", [1.0, 1e-2])
def test_answers_and_uncertainty_keep_to_the_memory_budget(make, scale):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(1000, 4)), rng.normal(size=(1000, 3))
    w = scale * rng.gamma(2.0, 0.5, 1000)
    model = said(lambda: make().fit(X, Y, w))[0]
    X_test = rng.normal(size=(600, 4))
    whole = model.predict(X_test, return_uncertainty=True)
    budget = 1_000_000
    with memory_budget(budget):
        tracemalloc.start()
        answers = model.predict(X_test, return_uncertainty=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < budget
    for few, many in zip(answers, whole, strict=True):
        np.testing.assert_allclose(few, many, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "name"), [(WeightedKNN, "n_neighbors"), (DirectTwinGP, "n_rows")]
)
def test_weights_that_add_up_to_less_than_the_count_are_said(make, name):
    X, Y, w, _ = data()
    message = f"{name} = 15 counts weights, and those of all 120 rows add up to 12:"
    with pytest.warns(UserWarning, match=message):
        make(**{name: 15}).fit(X, Y, 12.0 * w / w.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(**{name: 15}).fit(X, Y, 60.0 * w / w.sum())
        # All rows of a small sample are no trap.
        make(**{name: 50}).fit(X[:40], Y[:40])


def test_parameters_set_after_the_fit_change_no_answer():
    X, Y, w, X_test = data()
    model = DirectTwinGP(n_rows=5).fit(X, Y, w)
    before = model.predict(X_test)
    model.set_params(n_rows=50)
    assert np.array_equal(model.predict(X_test), before)
