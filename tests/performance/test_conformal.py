import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from counterpoise.adaptation.adapted import Adapted
from counterpoise.datasets import make_gaussian_shift
from counterpoise.performance.conformal import (
    Calibration,
    absolute_scores,
    adaptive_scores,
    class_scores,
    interval_sizes,
    intervals_of,
    sets_of,
)
from counterpoise.weights.log_linear import LogLinearKLIEP


def test_the_row_s_own_weight_makes_the_quantile_of_the_definition():
    rng = np.random.default_rng(0)
    scores, weights = rng.random(40), rng.random(40)
    calibration = Calibration.of(scores, weights)
    for own in (0.1, 1.0, 3.0):
        p = np.append(weights, own) / (weights.sum() + own)
        values = np.append(scores, np.inf)
        order = np.argsort(values)
        wanted = values[order][np.searchsorted(np.cumsum(p[order]), 0.8)]
        assert calibration.radius(own, 0.8)[0] == wanted


def test_without_weights_it_is_split_conformal():
    scores = np.random.default_rng(1).random(99)
    radius = Calibration.of(scores).radius(np.ones(3), 0.9)
    assert radius == pytest.approx(np.full(3, np.sort(scores)[89]))


def test_where_every_interval_is_infinite_no_width_is_told():
    everything = np.tile([-np.inf, np.inf], (3, 1))
    for intervals, labels in (
        (everything, [0.0, 1.0]),
        (everything.reshape(-1, 1, 2), [[0.0], [1.0]]),
    ):
        sizes = interval_sizes(intervals, labels, 0.5)
        assert sizes["infinite"] == 1.0
        assert sizes["mean_width"] is sizes["median_width"] is None


def test_known_ratios_keep_the_promise_under_shift_and_ones_do_not():
    weighted, plain = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, x_target = rng.normal(size=300), rng.normal(1.0, size=300)
        # Noise that grows towards the target.
        y, y_target = (np.exp(0.7 * v) * rng.normal(size=300) for v in (x, x_target))
        ratio, ratio_target = np.exp(x - 0.5), np.exp(x_target - 0.5)
        scores = absolute_scores(y, np.zeros(300))
        for found, w, w_target in (
            (weighted, ratio, ratio_target),
            (plain, np.ones(300), np.ones(300)),
        ):
            radius = Calibration.of(scores, w).radius(w_target, 0.9)
            found.append(np.mean(np.abs(y_target) <= radius))
    error = np.std(weighted) / np.sqrt(60)
    assert np.mean(weighted) >= 0.9 - 2 * error
    assert np.mean(plain) < 0.85


def test_adaptive_sets_keep_the_promise_under_shift():
    held, sizes = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, x_target = rng.normal(size=400), rng.normal(0.8, size=400)

        def chances(v):
            z = np.exp(np.column_stack([np.zeros_like(v), v, 1 - v**2]))
            return z / z.sum(axis=1, keepdims=True)

        def labels(p, rng=rng):
            return (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1)

        p, p_target = chances(x), chances(x_target)
        y, y_target = labels(p), labels(p_target)
        # A model that is wrong: its probabilities are those of a flatter one.
        p, p_target = (np.sqrt(q) / np.sqrt(q).sum(1)[:, None] for q in (p, p_target))
        calibration = Calibration.of(adaptive_scores(p, y), np.exp(0.8 * x))
        radius = calibration.radius(np.exp(0.8 * x_target), 0.9)
        sets = sets_of(p_target, radius)
        held.append(np.mean(sets[np.arange(400), y_target]))
        sizes.append(sets.sum(axis=1).mean())
    assert np.mean(held) >= 0.9 - 2 * np.std(held) / np.sqrt(40)
    assert np.mean(sizes) < 2.5


def test_sets_are_full_and_intervals_endless_where_one_row_outweighs_all():
    shift = make_gaussian_shift(2, n=50, m=50, random_state=0)
    calibration = Calibration.of(np.arange(50.0), shift.ratio)
    radius = calibration.radius([1e6], 0.9)
    assert np.isinf(radius).all()
    assert sets_of([[0.5, 0.3, 0.2]], radius).all()
    assert intervals_of([0.0], radius).tolist() == [[-np.inf, np.inf]]


def test_sets_of_two_classes_are_small_where_the_model_is_sure():
    rng = np.random.default_rng(0)
    x, x_test = rng.normal(size=(2, 4000))
    p, p_test = (np.column_stack([1 / (1 + np.exp(2 * v))] * 2) for v in (x, x_test))
    p[:, 1], p_test[:, 1] = 1 - p[:, 0], 1 - p_test[:, 0]
    y, y_test = ((rng.random(4000) < q[:, 1]).astype(int) for q in (p, p_test))
    radius = Calibration.of(adaptive_scores(p, y)).radius(np.ones(4000), 0.9)
    sets = sets_of(p_test, radius)
    held = np.mean(sets[np.arange(4000), y_test])
    assert 0.88 < held < 0.93
    sure = np.abs(x_test) > 1.5
    assert sets[sure].sum(axis=1).mean() == 1
    assert sets[~sure].sum(axis=1).mean() > 1.2


def test_class_scores_add_up_the_likelier_classes_and_ties_share():
    scores = class_scores([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5]])
    assert scores == pytest.approx(np.array([[0.0, 0.5, 0.5], [0.8, 0.5, 0.0]]))


def test_an_unknown_class_scores_beyond_every_class():
    assert adaptive_scores([[0.6, 0.4]], [-1]) == pytest.approx([2.0])


def test_several_outputs_are_scored_by_the_largest_error():
    scores = absolute_scores([[0.0, 0.0]], [[1.0, -3.0]])
    assert scores == pytest.approx([3.0])
    assert intervals_of([[1.0, -3.0]], scores).shape == (1, 2, 2)


@pytest.mark.parametrize(
    ("bad", "error"), [({"level": 1.0}, "level"), ({"test_weight": [-1.0]}, "weight")]
)
def test_bad_parameters_are_named(bad, error):
    calibration = Calibration.of([1.0, 2.0])
    with pytest.raises(ValueError, match=error):
        calibration.radius(**{"test_weight": [1.0], "level": 0.9, **bad})


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_an_adapted_model_s_intervals_keep_the_promise_where_plain_ones_do_not():
    weighted, plain = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, x_target = rng.normal(size=(600, 1)), rng.normal(1.0, size=(600, 1))
        y, y_target = (
            v[:, 0] + np.exp(0.7 * v[:, 0]) * rng.normal(size=600)
            for v in (x, x_target)
        )
        model = Adapted(
            LinearRegression(),
            LogLinearKLIEP(statistics="linear", random_state=0),
            guard=False,
            calibration_fraction=0.5,
            random_state=seed,
        ).fit(x, y, X_target=(x_target,))
        ends = model.predict_interval(x_target, confidence_level=0.9)
        weighted.append(np.mean((ends[:, 0] <= y_target) & (y_target <= ends[:, 1])))
        scores = absolute_scores(y, model.predict(x))
        radius = Calibration.of(scores).radius(1.0, 0.9)
        plain.append(
            np.mean(absolute_scores(y_target, model.predict(x_target)) < radius)
        )
    assert 0.87 < np.mean(weighted) < 0.96
    assert np.mean(plain) < 0.83
