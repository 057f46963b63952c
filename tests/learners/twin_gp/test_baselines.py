import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsRegressor

from counterpoise import DirectTwinGP, WeightedGPR, WeightedKNN


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
        top = np.argsort(-share)[:9]
        expected = share[top] @ Y[top] / share[top].sum()
        np.testing.assert_allclose(answer, expected, atol=1e-8)


def test_direct_twin_gp_beats_the_mean():
    X, Y, w, X_test = data()
    model = DirectTwinGP(n_rows=10).fit(X, Y, w)
    assert model.score(X, Y) > 0.8
    _, variance = model.predict(X_test, return_uncertainty=True)
    assert variance.min() > 0
