"""The guard lets an estimator have as much of the weights as its own loss gains by."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import RepeatedKFold

from counterpoise.adaptation.guard import (
    EXPONENTS,
    Guard,
    _fold_models,
    choose_exponent,
    paired_standard_error,
    smallest_sufficient,
)
from counterpoise.adaptation.routing import fit_weighted
from counterpoise.datasets import make_sinc_shift
from counterpoise.performance.intervals import folds_of
from counterpoise.performance.metrics import as_metric, sureness_of_gain


def _fit_by(estimator: Any) -> Any:
    def fit(X: Any, y: Any, weights: Any, fold: int) -> Any:
        return [fit_weighted(estimator, X, y, one, seed=fold) for one in weights]

    return fit


def _guard(
    estimator: Any,
    X: Any,
    y: Any,
    weights: Any,
    *,
    counts: Any = None,
    scoring: Any = None,
    classes: bool = False,
    seed: int = 0,
    groups: Any = None,
) -> Guard:
    counts = np.ones(len(y)) if counts is None else counts
    folds = folds_of(None, X, y, is_classifier=classes, seed=seed)
    metric = as_metric(scoring, estimator, y)
    return choose_exponent(
        _fit_by(estimator), metric, X, y, weights, counts, folds, groups
    )


@pytest.fixture(scope="module")
def sinc() -> Any:
    return make_sinc_shift(n=500, m=300, random_state=0)


def test_a_wrong_model_gets_weights(sinc: Any) -> None:
    guard = _guard(LinearRegression(), sinc.X, sinc.y, sinc.ratio)
    assert guard.chosen > 0.0
    assert guard.gain > 2 * guard.gain_error


def test_the_values_are_those_of_importance_weighted_cross_validation(
    sinc: Any,
) -> None:
    guard = _guard(LinearRegression(), sinc.X, sinc.y, sinc.ratio)
    losses = np.empty((2, len(sinc.y)))
    for kept, out in folds_of(None, sinc.X, sinc.y, is_classifier=False, seed=0):
        for k, exponent in enumerate((0.0, 1.0)):
            model = LinearRegression().fit(
                sinc.X[kept], sinc.y[kept], sample_weight=sinc.ratio[kept] ** exponent
            )
            losses[k, out] = (model.predict(sinc.X[out]) - sinc.y[out]) ** 2
    means = losses @ sinc.ratio / sinc.ratio.sum()
    assert np.allclose([guard.values[0], guard.values[-1]], means, rtol=1e-10)


def test_a_model_that_fits_everywhere_stays_unweighted() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = X[:, 0] + 0.1 * rng.normal(size=400)
    guard = _guard(LinearRegression(), X, y, np.exp(X[:, 0]))
    assert guard.chosen == 0.0
    assert guard.gain == 0.0
    assert "unweighted" in guard.reason


def test_the_smallest_exponent_within_one_error_of_the_best_is_taken(
    sinc: Any,
) -> None:
    guard = _guard(LinearRegression(), sinc.X, sinc.y, sinc.ratio)
    values, errors = np.array(guard.values), np.array(guard.errors)
    within = values - values.min() <= errors
    assert guard.chosen == EXPONENTS[int(np.argmax(within))]


def test_few_effective_rows_need_a_gain_of_two_errors() -> None:
    chosen = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 1))
        y = X[:, 0] ** 2 + rng.normal(size=60)
        guard = _guard(LinearRegression(), X, y, np.exp(1.5 * X[:, 0]))
        assert guard.effective_rows < 50
        gain = guard.values[0] - min(guard.values)
        if guard.chosen > 0.0:
            assert gain > 2 * guard.errors[0]
        elif gain > guard.errors[0]:
            assert "too few to tell" in guard.reason
            chosen.append(seed)
    assert chosen  # caution was needed at least once


def test_the_users_weights_multiply_ours(sinc: Any) -> None:
    counts = np.where(np.arange(len(sinc.y)) % 2 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(sinc.y)), counts.astype(int))
    once = _guard(LinearRegression(), sinc.X, sinc.y, sinc.ratio, counts=counts)
    folds = folds_of(None, sinc.X, sinc.y, is_classifier=False, seed=0)
    place = np.empty(len(sinc.y), dtype=int)
    for k, (_, out) in enumerate(folds):
        place[out] = k
    copies = [
        (np.flatnonzero(place[twice] != k), np.flatnonzero(place[twice] == k))
        for k in range(len(folds))
    ]
    y = sinc.y[twice]
    again = choose_exponent(
        _fit_by(LinearRegression()),
        as_metric(None, LinearRegression(), y),
        sinc.X[twice],
        y,
        sinc.ratio[twice],
        np.ones(len(twice)),
        copies,
    )
    assert np.allclose(once.values, again.values, rtol=1e-9)


def test_a_metric_that_is_no_mean_is_averaged_over_folds() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    guard = _guard(
        LogisticRegression(), X, y, np.exp(X[:, 0]), scoring="roc_auc", classes=True
    )
    assert guard.higher_is_better
    assert 0.5 < guard.values[0] < 1.0
    assert guard.best == EXPONENTS[int(np.argmax(guard.values))]


def test_the_errors_are_those_of_a_bootstrap_of_the_rows(sinc: Any) -> None:
    guard = _guard(LinearRegression(), sinc.X, sinc.y, sinc.ratio)
    losses = np.empty((2, len(sinc.y)))
    for kept, out in folds_of(None, sinc.X, sinc.y, is_classifier=False, seed=0):
        for k, exponent in enumerate((0.0, guard.best)):
            model = LinearRegression().fit(
                sinc.X[kept], sinc.y[kept], sample_weight=sinc.ratio[kept] ** exponent
            )
            losses[k, out] = (model.predict(sinc.X[out]) - sinc.y[out]) ** 2
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(1000):
        rows = rng.integers(0, len(sinc.y), len(sinc.y))
        difference = losses[0, rows] - losses[1, rows]
        draws.append(np.average(difference, weights=sinc.ratio[rows]))
    assert guard.errors[0] == pytest.approx(np.std(draws), rel=0.15)


def test_rows_of_a_group_err_together(sinc: Any) -> None:
    three = [np.repeat(part, 3, axis=0) for part in (sinc.X, sinc.y, sinc.ratio)]
    groups = np.repeat(np.arange(len(sinc.y)), 3)
    # Folds by chance part the copies, which is the same for both guards.
    alone = _guard(LinearRegression(), *three)
    together = _guard(LinearRegression(), *three, groups=groups)
    assert together.values == alone.values
    larger = np.array(together.errors)[:-1] / np.array(alone.errors)[:-1]
    assert np.allclose(larger, np.sqrt(3), rtol=0.01)


def test_the_smallest_is_not_always_the_best() -> None:
    different = 0
    for seed in range(10):
        shift = make_sinc_shift(n=120, m=100, random_state=seed)
        guard = _guard(LinearRegression(), shift.X, shift.y, shift.ratio)
        assert guard.chosen <= guard.best
        different += guard.chosen < guard.best
    assert different > 0


def test_rows_held_out_ten_times_are_not_ten_rows(sinc: Any) -> None:
    metric = as_metric(None, LinearRegression(), sinc.y)
    errors = []
    for repeats in (1, 10):
        folds = folds_of(
            RepeatedKFold(n_splits=5, n_repeats=repeats, random_state=0),
            sinc.X,
            sinc.y,
            is_classifier=False,
        )
        guard = choose_exponent(
            _fit_by(LinearRegression()),
            metric,
            sinc.X,
            sinc.y,
            sinc.ratio,
            np.ones(len(sinc.y)),
            folds,
        )
        errors.append(guard.errors[0])
    assert errors[1] > 0.8 * errors[0]


def test_a_fold_without_a_score_is_left_out_and_told() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    one_class = np.flatnonzero(y == 1)[:20]
    rest = np.setdiff1d(np.arange(200), one_class)
    folds = [(rest, one_class), (rest[::2], rest[1::2]), (rest[1::2], rest[::2])]
    guard = choose_exponent(
        _fit_by(LogisticRegression()),
        as_metric("roc_auc", LogisticRegression(), y),
        X,
        y,
        np.exp(X[:, 0]),
        np.ones(200),
        folds,
    )
    assert np.isfinite(guard.values).all()
    assert "1 of 3 folds left out" in guard.reason


def test_a_root_is_told_in_its_own_units(sinc: Any) -> None:
    squared = _guard(LinearRegression(), sinc.X, sinc.y, sinc.ratio)
    root = _guard(
        LinearRegression(),
        sinc.X,
        sinc.y,
        sinc.ratio,
        scoring="neg_root_mean_squared_error",
    )
    assert np.allclose(np.square(root.values), squared.values)
    true_gain = root.values[0] - root.values[EXPONENTS.index(root.chosen)]
    assert root.gain == pytest.approx(true_gain, rel=0.6)


def test_equal_weights_leave_nothing_to_choose(sinc: Any) -> None:
    guard = _guard(LinearRegression(), sinc.X, sinc.y, np.ones(len(sinc.y)))
    assert guard.exponents == (0.0,)
    assert guard.chosen == 0.0


def test_weights_that_hardly_differ_stay_unused(sinc: Any) -> None:
    weights = 1.0 + 1e-14 * np.arange(len(sinc.y))
    assert _guard(LinearRegression(), sinc.X, sinc.y, weights).chosen == 0.0


def test_the_record_is_plain() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1))
    record = _guard(Ridge(), X, X[:, 0], np.exp(X[:, 0])).to_dict()
    assert record.pop("curve") is None
    assert {type(v) for v in record.values()} <= {tuple, str, bool, float, int}


def test_without_weights_the_estimator_is_called_at_every_exponent_of_zero():
    X, given = np.arange(12.0)[:, None], []

    def fit(X, y, weights, fold):
        given.append([one is None for one in weights])
        return []

    folds = [(np.arange(6), np.arange(6, 12))]
    weights, counts = np.linspace(0.5, 1.5, 12), np.ones(12)
    list(_fold_models(fit, X, X[:, 0], weights, counts, folds, (1.0, 0.0)))
    assert given == [[False, True]]


def test_a_gain_that_is_clear_is_seldom_chance() -> None:
    n, tried = 400, EXPONENTS
    used = clear = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        # Hits that change with the amount of weights, to the better as to the worse.
        steps = rng.choice([-1.0, 0.0, 1.0], p=[0.01, 0.98, 0.01], size=(4, n))
        losses = np.vstack([np.zeros(n), np.cumsum(steps, axis=0)])
        shares = rng.exponential(size=n)
        shares /= shares.sum()
        means = losses @ shares
        best = int(np.argmin(means))
        errors = np.array(
            [paired_standard_error(d, shares, None) for d in losses - losses[best]]
        )
        chosen, _ = smallest_sufficient(
            means, errors, best, 200.0, 1.0, tried, "exponent"
        )
        if chosen:
            used += 1
            error = paired_standard_error(losses[0] - losses[chosen], shares, None)
            clear += sureness_of_gain(means[0] - means[chosen], error) == "clear"
    # One standard error is a rule for what to use; two are one for what to say.
    assert used > 0.1 * 400
    assert clear <= 0.05 * 400
