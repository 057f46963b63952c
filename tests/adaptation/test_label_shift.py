"""Classes in other shares are recognized, weighed by, and not seen everywhere."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss

from counterpoise import Adapted, InvalidInputError, estimate_performance, load_model
from counterpoise.adaptation.label_shift import (
    ClassShareWeights,
    black_box,
    class_shares,
    recognize_label_shift,
)
from counterpoise.data.samples import Samples
from counterpoise.datasets import make_gaussian_shift
from counterpoise.report import Report, render


def rows(rng, n, share):
    y = (rng.random(n) < share).astype(int)
    X = rng.standard_normal((n, 3))
    X[:, :2] += 1.2 * y[:, None]
    return X, np.where(y == 1, "ill", "well")


@pytest.fixture(scope="module")
def shift():
    rng = np.random.default_rng(0)
    X, y = rows(rng, 700, 0.5)
    return X, y, rows(rng, 650, 0.1)[0], *rows(rng, 2000, 0.1)


@pytest.fixture(scope="module")
def model(shift):
    X, y, T, _, _ = shift
    return Adapted(LogisticRegression(), "either", random_state=0).fit(X, y, X_target=T)


def found_in(X, y, T, seed=0):
    samples = Samples.of_matrices(X, T)
    found = class_shares(samples, y, np.ones(len(y)), seed)
    return found, recognize_label_shift(found, samples, y, seed)


def test_shares_are_found_in_two_ways_and_nothing_is_left(shift):
    X, y, T, _, _ = shift
    found, told = found_in(X, y, T)
    assert found.em.shares[0] == pytest.approx(0.1, abs=0.04)
    assert found.black_box[0] == pytest.approx(0.1, abs=0.05)
    assert found.em.solution.converged
    assert told.is_label_shift
    assert told.rest_auc_low <= 0.5
    assert "classes in other shares (" in told.words


def test_the_black_box_errors_are_those_of_draws():
    # A black box whose chance of either class is 0.8 or 0.2, right in four of five.
    drawn = []
    rng = np.random.default_rng(0)
    for _ in range(200):
        answers = []
        for n, share in ((400, 0.5), (300, 0.2)):
            y = (rng.random(n) < share).astype(int)
            right = rng.random(n) < 0.8
            answers.append((y, np.where(right, 0.6 * y + 0.2, 0.8 - 0.6 * y)))
        (y, p), (_, p_target) = answers
        both = [np.column_stack([1 - one, one]) for one in (p, p_target)]
        shares = np.bincount(y) / y.size
        even = np.full(y.size, 1 / y.size)
        drawn.append([one[1] for one in black_box(*both, y, even, shares)])
    shares, errors = np.array(drawn).T
    assert shares.mean() == pytest.approx(0.2, abs=0.01)
    assert errors.mean() == pytest.approx(shares.std(ddof=1), rel=0.15)


def test_a_shift_of_inputs_is_not_called_a_label_shift():
    called = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, T = rng.standard_normal((2, 700, 3))
        T[:, 0] += 0.7
        y = (rng.random(700) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
        _, told = found_in(X, y, T)
        assert told.moved
        called += told.is_label_shift
    assert called == 0


def test_weights_by_labels_serve_the_target_where_those_of_inputs_do_not(shift, model):
    X, y, _, X_test, y_test = shift
    plain = LogisticRegression().fit(X, y)
    before = log_loss(y_test, plain.predict_proba(X_test))
    assert isinstance(model.weight_estimator_, ClassShareWeights)
    assert model.adapted_
    assert log_loss(y_test, model.predict_proba(X_test)) < 0.7 * before
    assert model.label_shift_.preferred == "labels"
    assert model.label_shift_.score > model.label_shift_.score_inputs
    assert model.weights_.mean() == pytest.approx(1.0)
    assert np.unique(model.weights_).size == 2
    told = model.summary()
    assert "p(x | y), the inputs given the label, is the same" in told
    assert "classes in other shares" in told
    # Of rows without labels the ratio is known too.
    ratio = model.predict_weights(X_test)
    assert ratio[y_test == "well"].mean() > ratio[y_test == "ill"].mean()


def test_by_inputs_the_label_shift_is_told_and_offered(shift):
    X, y, T, _, _ = shift
    model = Adapted(LogisticRegression(), random_state=0).fit(X, y, X_target=T)
    assert not isinstance(model.weight_estimator_, ClassShareWeights)
    assert 'weight_estimator="labels" makes up for that' in model.summary()
    page = render(Report.from_estimator(model))
    assert "training classes in other shares" in page.text()
    assert 'Adapted(weight_estimator="labels")' in page.text()


def test_the_estimate_by_labels_holds_the_truth(shift, model):
    X, y, T, X_test, y_test = shift
    found = estimate_performance(
        model, X, y, T, cv=5, weight_estimator="model", random_state=0
    )
    truth = log_loss(y_test, model.predict_proba(X_test))
    assert found.doubly_robust.low < truth < found.doubly_robust.high


def test_a_model_by_labels_is_saved_without_rows(model, shift, tmp_path):
    model.save(tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    X_test = shift[3]
    assert np.array_equal(again.predict_proba(X_test), model.predict_proba(X_test))
    assert np.array_equal(again.predict_weights(X_test), model.predict_weights(X_test))
    assert again.weight_estimator_.shares_.source.size == 0


def test_labels_are_weighed_by_in_frames_and_with_numbers():
    rng = np.random.default_rng(1)
    X, y = rows(rng, 300, 0.5)
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=rng.choice(["u", "v"], 300))
    T = pd.DataFrame(rows(rng, 200, 0.1)[0], columns=list("abc")).assign(d="u")
    T.loc[:99, "d"] = "v"
    coded = Adapted(None, "labels", guard=False, random_state=0)
    coded.fit(frame, y, X_target=T)
    assert isinstance(coded.weight_estimator_, ClassShareWeights)
    assert coded.predict_weights(frame).shape == (300,)
    drawn = make_gaussian_shift(2, random_state=0)
    numbers = Adapted(Ridge(), "labels", guard=False, random_state=0)
    numbers.fit(drawn.X, drawn.y, X_target=drawn.X_target[:400])
    assert type(numbers.weight_estimator_).__name__ == "LabelShiftWeights"


def test_labels_are_weighed_by_with_metadata_routing_on():
    rng = np.random.default_rng(3)
    X, y = rows(rng, 300, 0.5)
    counts = rng.uniform(0.5, 1.5, 300)
    with config_context(enable_metadata_routing=True):
        model = Adapted(LogisticRegression(), "labels", guard=False, random_state=0)
        model.fit(X, y, X_target=rows(rng, 200, 0.1)[0], sample_weight=counts)
    assert isinstance(model.weight_estimator_, ClassShareWeights)
    assert np.average(model.weights_, weights=counts) == pytest.approx(1.0)


def test_what_labels_cannot_do_is_refused():
    rng = np.random.default_rng(2)
    X, y = rows(rng, 60, 0.5)
    with pytest.raises(
        InvalidInputError, match="calibration needs weights of rows without"
    ):
        Adapted(weight_estimator="labels", calibration_fraction=0.2).fit(
            X, y, X_target=X[:40]
        )
    y[:] = "well"
    y[0] = "ill"
    with pytest.raises(InvalidInputError, match="two classes of two rows"):
        Adapted(LogisticRegression(), "labels", random_state=0).fit(
            X, y, X_target=X[:40] + 0.1
        )
