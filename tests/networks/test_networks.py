"""Networks as estimators: units, weights, starts, budgets, what is told."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.networks import ConvexNetworkClassifier, ConvexNetworkRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
    y = 5.0 * np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.standard_normal(n) + 100.0
    return X, y, rng


def labels(X, rng):
    score = X[:, 0] + 0.1 * X[:, 1] + 0.3 * rng.standard_normal(len(X))
    return np.where(score > 1.3, "rare", "usual")


def quick(kind, **how):
    return kind(**{"hidden_layer_sizes": (3,), "max_iter": 4, "random_state": 0, **how})


def test_coefficients_are_a_plain_forward_pass_in_the_users_units():
    X, y, _ = data()
    for hidden in ((), (4,), (4, 3)):
        net = quick(ConvexNetworkRegressor, hidden_layer_sizes=hidden).fit(X, y)
        z = X
        for k, (w, b) in enumerate(zip(net.coefs_, net.intercepts_, strict=True)):
            z = z @ w + b
            if k < len(hidden):
                z = expit(z)
        np.testing.assert_allclose(net.predict(X), z[:, 0], rtol=1e-12)
        np.testing.assert_array_equal(net.outputs(X)[:, 0], net.predict(X))


def test_the_loss_is_the_weighted_mean_square_in_units_of_the_variance():
    X, y, rng = data()
    w = rng.random(len(y)) + 0.1
    net = quick(ConvexNetworkRegressor).fit(X, y, w)
    error = np.average((net.predict(X) - y) ** 2, weights=w)
    variance = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    assert net.loss_ == pytest.approx(error / variance, rel=1e-9)
    raw = quick(ConvexNetworkRegressor, standardize=False, alpha=0.1)
    raw.fit(X, y, w)
    error = np.average((raw.predict(X) - y) ** 2, weights=w)
    assert raw.loss_ == pytest.approx(error, rel=1e-9)
    decay = 0.05 * sum((v**2).sum() for v in raw.coefs_)
    assert raw.objective_history_[-1] == pytest.approx(error + decay, rel=1e-9)


def test_without_hidden_layers_it_is_ridge_regression():
    X, y, rng = data()
    w = rng.random(len(y)) + 0.1
    net = ConvexNetworkRegressor(
        hidden_layer_sizes=(), alpha=0.3, standardize=False
    ).fit(X, y, w)
    # Half of alpha against the mean of squares, not of half squares.
    theirs = Ridge(alpha=0.15 * w.sum()).fit(X, y, w)
    np.testing.assert_allclose(net.predict(X), theirs.predict(X), rtol=1e-8)
    assert net.solution_.converged
    assert net.solution_.certificate.kind == "duality gap"
    assert net.n_iter_ == 1


@pytest.mark.parametrize(
    "how", [{}, {"class_error_bound": 0.45}, {"hidden_layer_sizes": ()}]
)
def test_weight_two_is_the_row_twice_and_zero_its_absence_to_the_bit(how):
    X, _, rng = data(50)
    y = labels(X, rng)
    w = rng.integers(0, 3, len(y))
    many = np.repeat(np.arange(len(y)), w)
    order = rng.permutation(many.size)
    weighted = quick(ConvexNetworkClassifier, **how).fit(X, y, w.astype(float))
    repeated = quick(ConvexNetworkClassifier, **how)
    repeated.fit(X[many][order], y[many][order])
    np.testing.assert_array_equal(weighted.outputs(X), repeated.outputs(X))
    doubled = quick(ConvexNetworkClassifier, **how).fit(X, y, 2.0 * w)
    np.testing.assert_allclose(weighted.outputs(X), doubled.outputs(X), rtol=1e-9)


def test_the_unit_of_a_column_and_of_y_does_not_matter():
    X, y, _ = data()
    one = quick(ConvexNetworkRegressor).fit(X, y)
    # Powers of two scale without rounding.
    other = quick(ConvexNetworkRegressor).fit(X * [4.0, 0.25, 64.0], 8.0 * y)
    found = other.predict(X * [4.0, 0.25, 64.0])
    np.testing.assert_allclose(found, 8.0 * one.predict(X), rtol=1e-7)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e12])
def test_tiny_and_huge_columns_and_responses_are_learned_alike(unit):
    X, y, _ = data()
    one = quick(ConvexNetworkRegressor).fit(X, y).predict(X)
    for columns, responses in ((unit, 1.0), (1.0, unit)):
        other = quick(ConvexNetworkRegressor).fit(columns * X, responses * y)
        found = other.predict(columns * X) / responses
        np.testing.assert_allclose(found, one, rtol=1e-5)


@pytest.mark.parametrize("certify", [True, False])
def test_large_responses_as_they_are_do_not_pass_for_converged(certify):
    X, y, _ = data()
    net = quick(ConvexNetworkRegressor, standardize=False, certify_rounds=certify)
    net.set_params(max_iter=1).fit(X, 1e6 * (y - 90.0))
    assert not net.solution_.converged


def test_the_same_seed_gives_the_same_bytes():
    X, y, _ = data()
    one, other = (quick(ConvexNetworkRegressor).fit(X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    third = quick(ConvexNetworkRegressor, random_state=1).fit(X, y).predict(X)
    assert np.abs(third - one).max() > 0.0


def test_proved_and_plain_rounds_never_raise_the_objective():
    X, _, rng = data()
    y = labels(X, rng)
    for certify in (True, False):
        net = quick(
            ConvexNetworkClassifier, hidden_layer_sizes=(4, 3), certify_rounds=certify
        )
        net.fit(X, y)
        assert np.diff(net.objective_history_).max() <= 0.0
        assert len(net.objective_history_) == net.n_iter_ + 1
        exact = [one.exactness for one in net.rounds_]
        assert (max(exact) <= 1.0) == certify
        kind = net.solution_.certificate.kind
        assert (kind == "global minimum of the proximal round") == certify
        assert net.rounds_[-1].objective == net.objective_history_[-1]


def test_two_classes_have_one_output_and_more_have_one_each():
    X, _, rng = data()
    two = quick(ConvexNetworkClassifier).fit(X, labels(X, rng))
    z = two.outputs(X)[:, 0]
    np.testing.assert_array_equal(two.decision_function(X), z - 0.5)
    np.testing.assert_array_equal(two.predict(X) == "usual", z > 0.5)
    np.testing.assert_array_equal(two.predict_proba(X)[:, 1], np.clip(z, 0, 1))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    more = quick(ConvexNetworkClassifier, max_iter=10).fit(X, y)
    assert more.outputs(X).shape == (len(X), 3)
    np.testing.assert_array_equal(more.predict(X), more.outputs(X).argmax(axis=1))
    proba = more.predict_proba(X)
    assert proba.min() >= 0.0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(proba.argmax(axis=1), more.predict(X))


@pytest.mark.parametrize("activation", ["logistic", "tanh"])
def test_a_regressors_layers_are_taken_over_whole(activation):
    X, y, _ = data()
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    mlp = MLPRegressor(
        hidden_layer_sizes=(3,), activation=activation, max_iter=50, random_state=0
    )
    mlp.fit(X, y)
    net = quick(ConvexNetworkRegressor, init=mlp, max_iter=1, alpha=0.0).fit(X, y)
    loss = np.mean((mlp.predict(X) - y) ** 2)
    assert net.objective_history_[0] == pytest.approx(loss, rel=1e-9)
    assert net.loss_ <= loss


def test_a_rectifier_becomes_a_softplus_of_tau_ten():
    X, y, _ = data()
    mlp = MLPRegressor(hidden_layer_sizes=(3,), max_iter=20, random_state=0).fit(X, y)
    net = quick(ConvexNetworkRegressor, init=mlp).fit(X, y)
    assert net.activation_.tau == 10.0


def test_of_a_classifier_the_hidden_layers_are_taken_over():
    X, _, rng = data()
    y = labels(X, rng)
    mlp = MLPClassifier((3,), activation="logistic", max_iter=50, random_state=0)
    mlp.fit(X, y)
    net = quick(ConvexNetworkClassifier, init=mlp, max_iter=1).fit(X, y)
    A = np.column_stack([expit(X @ mlp.coefs_[0] + mlp.intercepts_[0]), np.ones(80)])
    truth = (y == "usual").astype(float)
    best = np.linalg.lstsq(A, truth, rcond=None)[0]
    least = np.mean((A @ best - truth) ** 2)
    # The start is the best last layer for these hidden ones, with decay.
    assert least <= net.objective_history_[0] <= 2.0 * truth.var()


def test_a_clone_begins_at_the_same_mlp():
    X, y, _ = data()
    mlp = MLPRegressor(hidden_layer_sizes=(3,), max_iter=20, random_state=0).fit(X, y)
    net = quick(ConvexNetworkRegressor, init=mlp, max_iter=1)
    with config_context(enable_metadata_routing=True):
        net.set_fit_request(sample_weight=True)
    other = clone(net)
    assert other.init is mlp
    assert other is not net
    np.testing.assert_array_equal(net.fit(X, y).predict(X), other.fit(X, y).predict(X))
    requests = other.get_metadata_routing().fit.requests
    assert requests["sample_weight"] is True


def test_an_mlp_of_other_layers_is_refused():
    X, y, _ = data()
    mlp = MLPRegressor(hidden_layer_sizes=(5,), max_iter=5).fit(X, y)
    with pytest.raises(
        ValueError, match=r"hidden layers \(5,\).*hidden_layer_sizes is \(3,\)"
    ):
        quick(ConvexNetworkRegressor, init=mlp).fit(X, y)
    with pytest.raises(TypeError, match="init must be 'he' or a fitted"):
        quick(ConvexNetworkRegressor, init=Ridge()).fit(X, y)
    mlp = MLPRegressor(hidden_layer_sizes=(3,), activation="identity", max_iter=5).fit(
        X, y
    )
    with pytest.raises(ValueError, match="activation 'identity'"):
        quick(ConvexNetworkRegressor, init=mlp).fit(X, y)


def test_a_warm_start_begins_where_the_last_fit_ended():
    X, y, _ = data()
    net = quick(ConvexNetworkRegressor, warm_start=True).fit(X, y)
    ended = net.objective_history_[-1]
    net.fit(X, y)
    assert net.objective_history_[0] == pytest.approx(ended, rel=1e-9)
    with pytest.warns(UserWarning, match="other layers"):
        net.set_params(hidden_layer_sizes=(2,)).fit(X, y)


def test_a_callback_sees_every_round_and_can_end_the_search():
    X, y, _ = data()
    seen = []

    def look(progress):
        seen.append(progress.objective)
        return len(seen) == 3

    net = quick(ConvexNetworkRegressor, callback=look).fit(X, y)
    assert seen == net.objective_history_.tolist()
    assert net.n_iter_ == 2
    timed = quick(ConvexNetworkRegressor, max_time=0.0).fit(X, y)
    assert timed.n_iter_ == 0


def test_what_has_not_converged_is_told_with_its_numbers():
    X, y, _ = data()
    with pytest.warns(ConvergenceWarning, match="max_iter = 4 reached.*raise max_iter"):
        quick(ConvexNetworkRegressor).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = quick(
            ConvexNetworkRegressor, hidden_layer_sizes=(2,), tol=1e-2, max_iter=60
        )
        assert net.fit(X, y).solution_.converged


def test_it_works_in_pipelines_searches_and_with_frames():
    X, _, rng = data()
    y = labels(X, rng)
    frame = pd.DataFrame(X, columns=["age", "b", "c"])
    net = quick(ConvexNetworkClassifier, max_iter=2, class_error_bound=0.48)
    one = clone(net).fit(frame, y)
    other = clone(net).fit(pl.from_pandas(frame), y)
    np.testing.assert_array_equal(one.outputs(frame), other.outputs(frame))
    assert one.feature_names_in_.tolist() == ["age", "b", "c"]
    assert cross_val_score(make_pipeline(StandardScaler(), net), X, y, cv=2).min() > 0
    search = GridSearchCV(net, {"alpha": [1e-3, 1e-1]}, cv=2).fit(X, y)
    assert search.best_estimator_.feasibility_["train"]
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(frame), one.predict(frame))


def test_weights_and_target_can_be_routed():
    X, y, _ = data()
    net = quick(ConvexNetworkRegressor, max_iter=1, target_mean=(90.0, 110.0))
    target = (X + 0.1,)
    with config_context(enable_metadata_routing=True):
        net.set_fit_request(sample_weight=True, X_target=True)
        net.set_score_request(sample_weight=False)
        found = cross_val_score(
            net, X, y, cv=2, params={"sample_weight": y, "X_target": target}
        )
    assert np.isfinite(found).all()


def test_held_out_rows_are_not_trained_on_and_told_of():
    X, _, rng = data()
    y = labels(X, rng)
    net = quick(
        ConvexNetworkClassifier, class_error_bound=0.4, validation_fraction=0.25
    ).fit(X, y)
    train, held = net.feasibility_["train"], net.feasibility_["validation"]
    assert set(train) == set(held)
    assert not any(train.values())
    assert all(amount >= 0.0 for amount in held.values())
    whole = quick(ConvexNetworkClassifier, class_error_bound=0.4).fit(X, y)
    assert "validation" not in whole.feasibility_
    assert np.abs(whole.outputs(X) - net.outputs(X)).max() > 1e-6
