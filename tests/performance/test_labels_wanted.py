"""How many labels make an interval as narrow as is asked for."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from counterpoise.adaptation.performance_estimation import estimate_performance
from counterpoise.datasets import make_gaussian_shift


@pytest.fixture(scope="module")
def drawn():
    return make_gaussian_shift(2, n=400, m=2000, random_state=0)


def judged(shift, y, model, rows=(), **more):
    def labels(X, seed):
        return y(X, np.random.default_rng(seed))

    fit, judge = slice(0, 200), slice(200, 400)
    model.fit(shift.X[fit], labels(shift.X[fit], 0))
    if len(rows):
        X_lab = shift.X_target[rows]
        more |= {"X_target_labeled": X_lab, "y_target_labeled": labels(X_lab, 2)}
    source = shift.X[judge]
    return estimate_performance(
        model,
        source,
        labels(source, 1),
        shift.X_target[:1000],
        random_state=0,
        **more,
    )


def line(X, rng):
    return X @ [2.0, 1.0] + rng.normal(size=len(X))


def test_with_the_advised_number_the_interval_is_as_narrow_as_asked_for(drawn):
    found = judged(drawn, line, LinearRegression(), precision=0.3)
    assert found.labels.width > 0.3
    n = found.labels.n_labels
    assert 100 < n < 1000
    again = judged(
        drawn, line, LinearRegression(), np.arange(1000, 1000 + n), precision=0.3
    )
    assert again.labels.width <= 0.3
    assert again.labels.n_labels == 0
    assert "narrow enough" in str(again.labels.finding)


def test_a_narrower_interval_takes_more_labels_in_proportion_to_its_square(drawn):
    asked = [
        judged(drawn, line, LinearRegression(), precision=p).labels.n_labels
        for p in (0.4, 0.2)
    ]
    assert asked[1] / asked[0] == pytest.approx(4, rel=0.25)


def test_a_width_that_the_target_rows_themselves_do_not_allow_is_said(drawn):
    def steep(X, rng):
        return np.where(X[:, 0] > 1, 40.0, 0.1) * rng.normal(size=len(X))

    found = judged(drawn, steep, LinearRegression(), precision=1e-3)
    assert found.labels.n_labels is None
    assert "no number of labels" in str(found.labels.finding)
    assert found.to_dict()["labels"]["n_labels"] is None


@pytest.mark.parametrize("metric", ["error_rate", "roc_auc", "neg_log_loss"])
def test_classifiers_have_a_number_too(drawn, metric):
    def classes(X, rng):
        return (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)

    found = judged(drawn, classes, LogisticRegression(), scoring=metric, precision=0.05)
    assert found.labels.n_labels > 100
    assert str(found.labels.n_labels) in str(found.labels.finding)


@pytest.mark.parametrize("precision", [0.0, -0.1, float("nan")])
def test_a_precision_is_above_zero(drawn, precision):
    with pytest.raises(ValueError, match="precision"):
        judged(drawn, line, LinearRegression(), precision=precision)


def test_the_width_that_all_labels_leave_is_told_where_more_are_wanted(drawn):
    found = judged(drawn, line, LinearRegression(), precision=0.05).labels
    assert found.n_labels is None or found.n_labels > found.n_target
    assert 0.05 < found.width_of_all < found.width
    assert f"leave it {found.width_of_all:.0%} as wide" in str(found.finding)
    # As many labels as there are rows reach it, and one more is not wanted for it.
    precision = found.width_of_all + 1e-6
    again = judged(drawn, line, LinearRegression(), precision=precision).labels
    assert again.n_labels == pytest.approx(again.n_target, abs=1)
    assert again.width_of_all is None
