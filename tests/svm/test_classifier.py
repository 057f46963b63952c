import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from counterpoise.optim import PathError
from counterpoise.svm import WeightedSVC
from counterpoise.svm import base as starting


def blobs(n=90, centers=2, seed=0, d=3):
    X, y = make_blobs(n, d, centers=centers, cluster_std=4.0, random_state=seed)
    rng = np.random.default_rng(seed)
    return X, y, rng.exponential(1.0, n), rng


def float32_gram(X):
    """A kernel that LIBSVM's single precision holds exactly, still positive."""
    squares = ((X[:, None] - X[None]) ** 2).sum(2)
    K = np.exp(-0.05 * squares) + 1e-4 * np.eye(len(X))
    return K.astype(np.float32).astype(float)


@pytest.mark.parametrize("C", [0.5, 100.0, 1e4])
@pytest.mark.parametrize("centers", [2, 3])
def test_decision_functions_equal_those_of_scikit_learn(C, centers):
    X, y, w, _ = blobs(centers=centers)
    K = float32_gram(X)
    for shape in ("ovo", "ovr"):
        chosen = {"C": C, "kernel": "precomputed", "decision_function_shape": shape}
        ours = WeightedSVC(**chosen).fit(K, y, w)
        theirs = SVC(**chosen, tol=1e-10).fit(K, y, w)
        np.testing.assert_allclose(
            ours.decision_function(K), theirs.decision_function(K), atol=1e-8
        )
        assert (ours.predict(K) == theirs.predict(K)).all()
        assert (ours.support_ == theirs.support_).all()
        assert (ours.n_support_ == theirs.n_support_).all()
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3 * C)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)


def test_without_a_margin_the_bias_is_in_the_middle_as_in_scikit_learn():
    X, y, _, _ = blobs(seed=1)
    K = float32_gram(X)
    ours = WeightedSVC(C=1e-3, kernel="precomputed").fit(K, y)
    theirs = SVC(C=1e-3, kernel="precomputed", tol=1e-10).fit(K, y)
    assert not ours.machines_[0].follower.margin.size
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    ours.update(sample_weight=np.full(len(X), 0.5))
    theirs.fit(K, y, np.full(len(X), 0.5))
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_kernels_and_class_weights_are_those_of_scikit_learn(kernel):
    X, y, _, _ = blobs()
    X = X / 10.0
    chosen = {
        "kernel": kernel,
        "gamma": 0.7,
        "coef0": 0.5,
        "degree": 2,
        "class_weight": "balanced",
    }
    ours = WeightedSVC(**chosen).fit(X, y)
    theirs = SVC(**chosen, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-5
    )


def test_a_callable_kernel_equals_the_kernel_it_computes():
    X, y, w, _ = blobs()
    named = WeightedSVC(kernel="linear").fit(X, y, w)
    called = WeightedSVC(kernel=lambda A, B: A @ B.T).fit(X, y, w)
    np.testing.assert_allclose(
        named.decision_function(X), called.decision_function(X), atol=1e-10
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weight_two_is_the_row_twice_and_zero_its_absence(kernel):
    X, y, _, rng = blobs(centers=3)
    counts = rng.integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), counts)
    model = WeightedSVC(kernel=kernel, class_weight="balanced")
    weighted = model.fit(X, y, counts).decision_function(X)
    np.testing.assert_allclose(
        weighted, model.fit(X[repeated], y[repeated]).decision_function(X), atol=1e-9
    )


def test_row_order_and_swapped_labels_change_nothing():
    X, y, w, rng = blobs()
    f = WeightedSVC(C=5.0).fit(X, y, w).decision_function(X)
    order = rng.permutation(len(X))
    other = WeightedSVC(C=5.0).fit(X[order], y[order], w[order])
    np.testing.assert_allclose(f, other.decision_function(X), atol=1e-10)
    swapped = WeightedSVC(C=5.0).fit(X, 1 - y, w).decision_function(X)
    np.testing.assert_allclose(f, -swapped, atol=1e-10)


@pytest.mark.parametrize("centers", [2, 3])
def test_models_on_a_weight_path_are_refits(centers):
    X, y, w, rng = blobs(centers=centers)
    model = WeightedSVC(C=3.0, gamma=0.05).fit(X, y)
    path = model.path(sample_weight=w)
    assert path.certify().residual <= 1e-9
    for theta in [0.0, 1.0, *rng.random(5)]:
        refit = WeightedSVC(C=3.0, gamma=0.05).fit(X, y, 1 + theta * (w - 1))
        on_path = path.at(theta)
        np.testing.assert_allclose(
            on_path.decision_function(X), refit.decision_function(X), atol=1e-9
        )
        np.testing.assert_allclose(on_path.sample_weight_, refit.sample_weight_)
        assert path.certify(theta).residual <= 1e-9


def test_the_regularization_path_holds_every_fit():
    X, y, w, _ = blobs()
    model = WeightedSVC(gamma=0.05).fit(X, y, w)
    path = model.path(C=(0.01, 1000.0))
    assert path.thetas[0] == 0.01
    assert path.thetas[-1] == 1000.0
    for C in (0.01, 0.5, 1.0, 77.0, 1000.0):
        refit = WeightedSVC(C=C, gamma=0.05).fit(X, y, w)
        assert path.at(C).C == C
        np.testing.assert_allclose(
            path.at(C).decision_function(X), refit.decision_function(X), atol=1e-8
        )


def test_jumps_of_the_bias_are_told_and_the_function_is_continuous_elsewhere():
    X, y, w, _ = blobs(seed=2)
    model = WeightedSVC(C=0.02, gamma=0.05).fit(X, y)
    path = model.path(sample_weight=w)
    assert path.jumps.size > 0
    for theta in path.thetas[1:-1]:
        here, before = path.at(theta), path.at(theta - 1e-11)
        jump = np.abs(here.decision_function(X) - before.decision_function(X)).max()
        at_jump = np.abs(path.jumps - theta).min() < 1e-12
        assert at_jump or jump < 1e-7


@pytest.mark.parametrize("centers", [2, 3])
def test_updates_end_where_a_refit_ends(centers):
    X, y, w, rng = blobs(centers=centers)
    chosen = {"C": 2.0, "gamma": 0.05}
    model = WeightedSVC(**chosen).fit(X[:70], y[:70], w[:70])
    model.update(X_add=X[70:], y_add=y[70:], sample_weight_add=w[70:])
    refit = WeightedSVC(**chosen).fit(X, y, w)
    np.testing.assert_allclose(
        model.decision_function(X), refit.decision_function(X), atol=1e-9
    )
    new = rng.random(len(X))
    model.update(sample_weight=new, remove=[0, 1, 40])
    kept = np.delete(np.arange(len(X)), [0, 1, 40])
    refit = WeightedSVC(**chosen).fit(X[kept], y[kept], new[kept])
    np.testing.assert_allclose(
        model.decision_function(X), refit.decision_function(X), atol=1e-9
    )
    assert len(model.X_fit_) == len(kept)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("centers", [2, 3])
def test_leave_one_out_is_n_refits(C, centers):
    X, y, w, _ = blobs(n=36, centers=centers)
    chosen = {"C": C, "gamma": 0.05}
    found = WeightedSVC(**chosen).fit(X, y, w).leave_one_out()
    wrong = np.zeros(36)
    for i in range(36):
        kept = np.arange(36) != i
        refit = WeightedSVC(**chosen).fit(X[kept], y[kept], w[kept])
        np.testing.assert_allclose(
            found.decision[i], refit.decision_function(X[[i]])[0], atol=1e-9
        )
        wrong[i] = refit.predict(X[[i]])[0] != y[i]
    assert found.error == pytest.approx(w @ wrong / w.sum())


def test_sensitivity_is_the_derivative_by_the_weights():
    X, y, w, _ = blobs(seed=1)
    model = WeightedSVC(C=1.0, gamma=0.05).fit(X, y, w)
    derivative = model.sensitivity(X[:10])
    assert derivative.shape == (10, len(X))
    active = np.argsort(-np.abs(derivative).max(axis=0))[:4]
    idle = np.flatnonzero(np.abs(derivative).max(axis=0) == 0.0)[:2]
    for i in [*active, *idle]:
        moved = w.copy()
        moved[i] += 1e-6
        other = WeightedSVC(C=1.0, gamma=0.05).fit(X, y, moved)
        change = other.decision_function(X[:10]) - model.decision_function(X[:10])
        np.testing.assert_allclose(change / 1e-6, derivative[:, i], atol=1e-6)


def test_rows_on_demand_give_the_model_of_the_gram_matrix():
    X, y, w, rng = blobs(n=200)
    dense = WeightedSVC(C=10.0).fit(X, y, w)
    lean = WeightedSVC(C=10.0, cache_size=0.05).fit(X, y, w)
    np.testing.assert_allclose(
        dense.decision_function(X), lean.decision_function(X), atol=1e-9
    )
    new = rng.random(200)
    ends = [m.path(sample_weight=new) for m in (dense, lean)]
    assert ends[1].certify().residual <= 1e-9
    np.testing.assert_allclose(ends[0].thetas, ends[1].thetas, atol=1e-9)


def test_a_loaded_model_predicts_and_moves_as_before():
    X, y, w, rng = blobs()
    model = WeightedSVC(C=5.0).fit(X, y, w)
    stored = pickle.dumps(model)
    assert len(stored) < 50_000
    loaded = pickle.loads(stored)
    new = rng.random(len(X))
    np.testing.assert_array_equal(
        model.decision_function(X), loaded.decision_function(X)
    )
    np.testing.assert_allclose(
        model.update(sample_weight=new).decision_function(X),
        loaded.update(sample_weight=new).decision_function(X),
        atol=1e-9,
    )


def test_it_works_at_the_end_of_a_pipeline():
    X, y, w, _ = blobs()
    model = make_pipeline(StandardScaler(), WeightedSVC())
    model.fit(X, y, weightedsvc__sample_weight=w)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"kernel": "sigmoid"}, "not positive semidefinite"),
        ({"kernel": "poly", "coef0": -1.0}, "not positive semidefinite"),
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"C": 0.0}, "C must be positive"),
        ({"gamma": -1.0}, "gamma must be positive"),
        ({"class_weight": {7: 2.0}}, "class_weight names 7"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(chosen, message):
    X, y, _, _ = blobs()
    with pytest.raises(ValueError, match=message):
        WeightedSVC(**chosen).fit(X, y)


def test_bad_weights_and_classes_without_weight_are_refused():
    X, y, w, _ = blobs()
    with pytest.raises(ValueError, match=r"negative.*row 3"):
        WeightedSVC().fit(X, y, np.where(np.arange(len(X)) == 3, -1.0, w))
    with pytest.raises(ValueError, match=r"class .*1.* has no row of positive weight"):
        WeightedSVC().fit(X, y, np.where(y == 1, 0.0, 1.0))
    model = WeightedSVC().fit(X, y)
    with pytest.raises(ValueError, match="exactly one of"):
        model.path()
    with pytest.raises(ValueError, match="unknown label"):
        model.update(X_add=X[:1], y_add=[9])
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.path(sample_weight=w).at(1.2)


def test_more_events_than_allowed_are_an_error_with_the_theta_reached():
    X, y, w, _ = blobs()
    model = WeightedSVC(C=5.0).fit(X, y).set_params(max_iter=3)
    loaded = pickle.loads(pickle.dumps(model))
    with pytest.raises(PathError, match=r"more events than allowed \(reached theta"):
        loaded.path(sample_weight=w)


def test_hundreds_of_moves_without_a_restart_do_not_drift():
    X, y, _, rng = blobs(n=120)
    model = WeightedSVC(C=100.0, gamma=0.05).fit(X, y)
    for _ in range(150):
        w = rng.multinomial(120, np.full(120, 1 / 120)).astype(float)
        model.update(sample_weight=w)
    refit = WeightedSVC(C=100.0, gamma=0.05).fit(X, y, w)
    np.testing.assert_allclose(
        model.decision_function(X), refit.decision_function(X), atol=1e-8
    )


def test_large_samples_start_from_libsvm_and_are_exact_all_the_same():
    X, y, w, _ = blobs(n=700)
    model = WeightedSVC(C=3.0, gamma=0.05).fit(X, y, w)
    still = model.path(sample_weight=w)
    assert still.n_events == 0
    assert still.certify().residual <= 1e-9


def test_a_start_that_costs_too_much_is_given_up_for_libsvm_and_ends_the_same(
    monkeypatch,
):
    X, y, w, _ = blobs(n=600)
    chosen = {"C": 1e4, "gamma": 5.0}
    opened = WeightedSVC(**chosen).fit(X, y, w)
    assert opened.n_iter_[0] > 600
    monkeypatch.setattr(starting, "WORTH", 0.0)
    handed = WeightedSVC(**chosen).fit(X, y, w)
    assert handed.n_iter_[0] < 600
    assert handed.certify().residual <= 1e-9
    np.testing.assert_allclose(
        opened.decision_function(X), handed.decision_function(X), atol=1e-7
    )


def test_precomputed_kernels_must_be_symmetric_and_positive():
    X, y, _, rng = blobs()
    K = X @ X.T
    K[3, 5] += 1.0
    with pytest.raises(ValueError, match="symmetric"):
        WeightedSVC(kernel="precomputed").fit(K, y)
    K = rng.standard_normal((90, 90))
    np.fill_diagonal(K, 0.5)
    with pytest.raises(PathError, match="not positive semidefinite"):
        WeightedSVC(kernel="precomputed").fit(K + K.T, y)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"remove": np.ones(3, dtype=bool)}, ValueError, "remove has shape"),
        ({"remove": [1.5]}, TypeError, "remove must be an integer"),
        ({"y_add": [0]}, ValueError, "need X_add"),
        ({"sample_weight_add": [1.0]}, ValueError, "need X_add"),
        ({"remove": np.arange(90)}, ValueError, "class 0 would have no row"),
    ],
)
def test_updates_that_say_too_little_or_too_much_are_refused(change, error, message):
    X, y, _, _ = blobs()
    with pytest.raises(error, match=message):
        WeightedSVC().fit(X, y).update(**change)


def test_nothing_to_remove_removes_nothing():
    X, y, _, _ = blobs()
    model = WeightedSVC().fit(X, y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.update(remove=[]).decision_function(X), before)


def test_errors_name_the_rows_they_are_about():
    X, y, _, _ = blobs()
    model = WeightedSVC().fit(X, y)
    with pytest.raises(ValueError, match="y_val has 3 rows"):
        model.path(C=(1.0, 2.0), X_val=X, y_val=y[:3])
    with pytest.raises(ValueError, match="y_add has the unknown label 7"):
        model.update(X_add=X[:1], y_add=[7])
    with pytest.raises(ValueError, match="X_val and y_val must be given"):
        model.path(C=(1.0, 2.0), sample_weight_val=np.ones(3))


@pytest.mark.parametrize("factor", [np.inf, -1.0, 0.0, np.nan])
def test_factors_of_classes_are_positive_numbers(factor):
    X, y, _, _ = blobs()
    with pytest.raises(ValueError, match=r"class_weight\[1\] must be"):
        WeightedSVC(class_weight={1: factor}).fit(X, y)


def test_a_path_is_told_in_a_line():
    X, y, _, _ = blobs()
    path = WeightedSVC(C=3.0).fit(X, y).path(C=(1.0, 2.0))
    assert repr(path) == (
        f"SVMPath(WeightedSVC(C=3.0), C from 1 to 2, {path.n_events} events)"
    )


@pytest.mark.parametrize("n", [7, 60])
@pytest.mark.parametrize("value", [0.1, 1.0, 1e8])
def test_rows_that_are_all_the_same_have_a_width_of_one(n, value):
    X = np.full((n, 2), value)
    model = WeightedSVC().fit(X, np.arange(n) % 2)
    assert model.kernel_.gamma == 1.0


def test_a_path_outlives_what_becomes_of_its_model():
    X, y, w, _ = blobs()
    model = WeightedSVC(C=3.0).fit(X, y)
    path = model.path(sample_weight=w, X_val=X, y_val=y)
    before, error = path.at(0.4).decision_function(X), path.validation_error.at(0.4)
    for change in (
        lambda: model.update(remove=[0, 1]),
        lambda: model.set_params(C=50.0),
        lambda: model.fit(X[::-1] + 1.0, y),
    ):
        change()
        np.testing.assert_array_equal(path.at(0.4).decision_function(X), before)
        assert path.at(0.4).C == 3.0
        assert path.validation_curve().at(0.4) == error


def test_there_is_no_exact_curve_where_ties_of_three_classes_are_broken():
    X, y, w, _ = blobs(centers=3)
    model = WeightedSVC(break_ties=True).fit(X, y)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.path(sample_weight=w, X_val=X, y_val=y)
    assert model.path(sample_weight=w).certify().residual <= 1e-9


@pytest.mark.parametrize("centers", [2, 3])
def test_slopes_of_a_linear_kernel_are_those_of_scikit_learn(centers):
    X, y, w, _ = blobs(centers=centers)
    ours = WeightedSVC(kernel="linear", C=0.1).fit(X, y, w)
    theirs = SVC(kernel="linear", C=0.1, tol=1e-10).fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert not hasattr(WeightedSVC().fit(X, y), "coef_")
    assert not hasattr(WeightedSVC(kernel="linear"), "coef_")


def test_arrays_of_the_user_are_neither_kept_nor_changed():
    X, y, w, _ = blobs()
    X_own, w_own = X.copy(), w.copy()
    model = WeightedSVC().fit(X_own, y, w_own)
    before = model.decision_function(X)
    X_own[:] = 0.0
    w_own[:] = 3.0
    np.testing.assert_array_equal(model.decision_function(X), before)
    np.testing.assert_array_equal(model.sample_weight_, w)
    w_own[:] = 1.0
    model.update(sample_weight=w_own, remove=[0, 1])
    assert (w_own == 1.0).all()
