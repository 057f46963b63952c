import numpy as np
import pytest
from sklearn.svm import SVR

from counterpoise.svm import WeightedSVR


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n) + 5.0
    return X, y, rng.exponential(1.0, n), rng


@pytest.mark.parametrize("C", [0.3, 30.0, 1000.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_predictions_equal_those_of_scikit_learn(C, epsilon):
    X, y, w, _ = data()
    squares = ((X[:, None] - X[None]) ** 2).sum(2)
    K = np.exp(-squares) + 1e-4 * np.eye(len(X))
    K = K.astype(np.float32).astype(float)
    chosen = {"C": C, "kernel": "precomputed", "epsilon": epsilon}
    ours = WeightedSVR(**chosen).fit(K, y, w)
    theirs = SVR(**chosen, tol=1e-10).fit(K, y, w)
    np.testing.assert_allclose(ours.predict(K), theirs.predict(K), atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_models_on_weight_and_c_paths_are_refits(epsilon):
    X, y, w, rng = data()
    chosen = {"gamma": 1.0, "epsilon": epsilon}
    model = WeightedSVR(C=2.0, **chosen).fit(X, y)
    path = model.path(sample_weight=w)
    assert path.certify().residual <= 1e-9
    for theta in [0.0, 1.0, *rng.random(4)]:
        refit = WeightedSVR(C=2.0, **chosen).fit(X, y, 1 + theta * (w - 1))
        np.testing.assert_allclose(
            path.at(theta).predict(X), refit.predict(X), atol=1e-9
        )
        np.testing.assert_allclose(path.at(theta).sample_weight_, refit.sample_weight_)
    path = model.path(C=(0.1, 20.0))
    for C in (0.1, 2.0, 11.0):
        refit = WeightedSVR(C=C, **chosen).fit(X, y)
        np.testing.assert_allclose(path.at(C).predict(X), refit.predict(X), atol=1e-9)


def test_models_on_an_epsilon_path_are_refits():
    X, y, w, _ = data()
    path = WeightedSVR(gamma=1.0).fit(X, y, w).path(epsilon=(1.0, 0.01))
    assert path.certify().residual <= 1e-9
    for epsilon in (1.0, 0.5, 0.07, 0.01):
        refit = WeightedSVR(gamma=1.0, epsilon=epsilon).fit(X, y, w)
        np.testing.assert_allclose(
            path.at(epsilon).predict(X), refit.predict(X), atol=1e-9
        )


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_updates_and_leave_one_out_are_refits(epsilon):
    X, y, w, _ = data(n=40)
    chosen = {"gamma": 1.0, "epsilon": epsilon}
    model = WeightedSVR(**chosen).fit(X[:30], y[:30], w[:30])
    model.update(X_add=X[30:], y_add=y[30:], sample_weight_add=w[30:], remove=[2, 7])
    kept = np.delete(np.arange(40), [2, 7])
    refit = WeightedSVR(**chosen).fit(X[kept], y[kept], w[kept])
    np.testing.assert_allclose(model.predict(X), refit.predict(X), atol=1e-9)
    left_out = refit.leave_one_out()
    for i in range(0, 38, 5):
        others = np.delete(kept, i)
        alone = WeightedSVR(**chosen).fit(X[others], y[others], w[others])
        expected = alone.predict(X[[kept[i]]])[0]
        assert left_out.decision[i] == pytest.approx(expected, abs=1e-9)


def test_mirrored_targets_give_mirrored_predictions():
    X, y, w, _ = data()
    up = WeightedSVR(gamma=1.0).fit(X, y, w).predict(X)
    down = WeightedSVR(gamma=1.0).fit(X, -y, w).predict(X)
    np.testing.assert_allclose(up, -down, atol=1e-10)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_target_does_not_matter(unit):
    X, y, w, _ = data()
    plain = WeightedSVR(gamma=1.0).fit(X, y, w).predict(X)
    scaled = WeightedSVR(gamma=1.0, C=unit, epsilon=0.1 * unit).fit(X, unit * y, w)
    np.testing.assert_allclose(scaled.predict(X) / unit, plain, atol=1e-8)


def test_sensitivity_is_the_derivative_by_the_weights():
    X, y, w, _ = data()
    model = WeightedSVR(gamma=1.0).fit(X, y, w)
    derivative = model.sensitivity()
    for i in np.argsort(-np.abs(derivative).max(axis=0))[:3]:
        moved = w.copy()
        moved[i] += 1e-6
        other = WeightedSVR(gamma=1.0).fit(X, y, moved)
        change = (other.predict(X) - model.predict(X)) / 1e-6
        np.testing.assert_allclose(change, derivative[:, i], atol=1e-6)


def test_an_update_takes_up_an_epsilon_that_was_set():
    X, y, w, _ = data(n=40)
    model = WeightedSVR(gamma=1.0).fit(X[:30], y[:30], w[:30]).set_params(epsilon=0.3)
    model.update(X_add=X[30:], y_add=y[30:], sample_weight_add=w[30:])
    refit = WeightedSVR(gamma=1.0, epsilon=0.3).fit(X, y, w)
    np.testing.assert_allclose(model.predict(X), refit.predict(X), atol=1e-9)
    model.set_params(epsilon=0.05).update(sample_weight=w[::-1])
    refit = WeightedSVR(gamma=1.0, epsilon=0.05).fit(X, y, w[::-1])
    np.testing.assert_allclose(model.predict(X), refit.predict(X), atol=1e-9)
    assert model.certify().residual <= 1e-9


def test_an_epsilon_set_to_zero_changes_no_prediction_and_takes_a_fit():
    X, y, _, _ = data(n=40)
    model = WeightedSVR(gamma=1.0).fit(X, y)
    before = model.predict(X)
    model.set_params(epsilon=0.0)
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="takes a new fit"):
        model.update(remove=[0])


def test_slopes_of_a_linear_kernel_are_those_of_scikit_learn():
    X, y, w, _ = data()
    ours = WeightedSVR(kernel="linear").fit(X, y, w)
    theirs = SVR(kernel="linear", tol=1e-10).fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(
        ours.predict(X), X @ ours.coef_[0] + ours.intercept_, atol=1e-10
    )


def test_arrays_of_the_user_are_neither_kept_nor_changed():
    X, y, _, _ = data()
    X_own, y_own, w_own = X.copy(), y.copy(), np.ones(len(y))
    model = WeightedSVR().fit(X_own, y_own, w_own)
    before = model.predict(X)
    X_own[:], y_own[:] = 0.0, 0.0
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(model.y_fit_, y)
    model.update(sample_weight=w_own, remove=[0, 1])
    assert (w_own == 1.0).all()
