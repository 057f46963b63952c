"""When labels are said to mean something else in the target."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from counterpoise.performance.label_change import (
    Direction,
    LabeledSample,
    _moments,
    _strong_columns,
    _tested,
    residual_directions,
)
from counterpoise.performance.metrics import ClassifierPredictions, RegressorPredictions
from counterpoise.performance.result import check_of, combined_p_value

# Fewer rows than a model of what is left is learned from: it is constant.
N, K = 36, 12


def regression(rng, n, columns=2):
    X = rng.normal(size=(n, columns))
    said = X[:, 0] + 0.3 * rng.normal(size=n)
    y = 2.0 * X[:, 0] + rng.normal(size=n)
    return LabeledSample(RegressorPredictions({"predict": said}), y, X)


def directions(source, target, ratio=None, names=None, counts=None):
    n = len(source.labels)
    ratio, counts = (np.ones(n) if one is None else one for one in (ratio, counts))
    return residual_directions(source, ratio, counts, target, names, 0)


def by_hand(source, target, ratio, counts, bound):
    """Return statistic and p-value in the mean and along the prediction."""
    p, y, a, b = (
        np.asarray(z, float)
        for z in (
            source.answers.said["predict"],
            source.labels,
            target.answers.said["predict"],
            target.labels,
        )
    )
    weights = np.sqrt(ratio * counts)
    line = np.polynomial.Polynomial.fit(p, y, 1, w=weights, domain=[])
    r, r_lab = y - line(p), b - line(a)
    cut = counts * np.minimum(ratio, bound)
    w = cut / cut.sum()
    middle = w @ p
    spread = np.sqrt(w @ (p - middle) ** 2)
    found = []
    for z, z_lab in (
        (np.ones(len(p)), np.ones(len(a))),
        *[[np.clip((one - middle) / spread, -3, 3) for one in (p, a)]],
    ):
        left, left_lab = z * r, z_lab * r_lab
        mean = w @ left
        variance = max(left_lab.var(ddof=1), w @ (left - mean) ** 2) / len(a)
        error = np.sqrt(variance + w**2 @ (left - mean) ** 2)
        statistic = (left_lab.mean() - mean) / error
        freedom = min(len(a), 1 / (w**2).sum()) - 1
        found.append((statistic, 2 * stats.t.sf(abs(statistic), freedom)))
    return found


@pytest.mark.parametrize("few_spread", [False, True])
def test_a_direction_is_students_with_what_the_source_does_not_know(few_spread):
    rng = np.random.default_rng(0)
    source, target = regression(rng, N), regression(rng, K)
    if few_spread:
        # Labeled rows that are alike by chance have the source's spread.
        said = target.answers.said["predict"]
        target = LabeledSample(target.answers, 1.5 * said + 0.5, target.rows)
    ratio, counts = rng.uniform(0.5, 1.5, N), rng.uniform(0.5, 1.5, N)
    found = directions(source, target, ratio, counts=counts)[:2]
    assert [one.kind for one in found] == ["mean", "slope"]
    expected = by_hand(source, target, ratio, counts, ratio.max())
    for one, (statistic, p_value) in zip(found, expected, strict=True):
        assert one.statistic == pytest.approx(statistic)
        assert one.p_value == pytest.approx(p_value)


def test_weights_of_directions_are_cut_at_their_99_per_cent_quantile():
    rng = np.random.default_rng(1)
    source, target = regression(rng, N), regression(rng, K)
    ratio, counts = rng.uniform(0.5, 1.5, N), np.ones(N)
    # A row that counts less than one in a hundred is above the quantile.
    ratio[0], counts[0] = 50.0, 0.3
    found = directions(source, target, ratio, counts=counts)[0]
    bound = np.sort(ratio)[-2]
    expected = by_hand(source, target, ratio, counts, bound)[0][0]
    assert found.statistic == pytest.approx(expected)
    assert found.statistic != pytest.approx(
        by_hand(source, target, ratio, counts, 50.0)[0][0]
    )


def test_rows_of_weight_zero_take_no_part_and_two_others_are_needed():
    rng = np.random.default_rng(5)
    source, target = regression(rng, N + 2), regression(rng, K)
    ratio, counts, groups = np.ones(N + 2), np.ones(N + 2), np.arange(N + 2) // 3
    ratio[0], counts[1] = 0.0, 0.0
    source.labels[:2] = 1e6
    left = LabeledSample(
        source.answers.take(np.arange(2, N + 2)), source.labels[2:], source.rows[2:]
    )
    of_all = residual_directions(source, ratio, counts, target, None, 0, groups)
    of_left = residual_directions(
        left, ratio[2:], counts[2:], target, None, 0, groups[2:]
    )
    for one, other in zip(of_all, of_left, strict=True):
        assert one.p_value == pytest.approx(other.p_value)
    # Rows of a group err together.
    alone = residual_directions(left, ratio[2:], counts[2:], target, None, 0)
    assert of_all[0].error != pytest.approx(alone[0].error)
    for n_used, found in ((1, False), (2, True)):
        few = np.r_[np.ones(n_used), np.zeros(N + 2 - n_used)]
        assert bool(directions(source, target, few)) is found


def test_a_relation_that_the_prediction_misses_in_both_samples_is_not_a_change():
    rng = np.random.default_rng(6)

    def bent(n, middle):
        X = rng.normal(middle, 1.0, size=(n, 1))
        y = 3.0 * np.abs(X[:, 0]) + 0.1 * rng.normal(size=n)
        return LabeledSample(RegressorPredictions({"predict": X[:, 0]}), y, X)

    found = directions(bent(1_000, 0.0), bent(60, 1.0))
    assert [one.kind for one in found] == ["mean", "slope"]
    assert min(one.p_value for one in found) > 0.05


def test_where_nothing_is_left_nothing_differs_and_one_degree_of_freedom_is_least():
    def tested(left, left_target, share):
        return _tested("mean", None, None, left, left_target, share, None)

    nothing = tested(np.zeros(4), np.zeros(3), np.full(4, 0.25))
    assert (nothing.statistic, nothing.p_value) == (0.0, 1.0)
    # The source is worth 1.2 rows.
    one = tested(np.array([1.0, -1.0]), np.array([2.0, 3.0, 4.0]), np.array([0.9, 0.1]))
    assert one.p_value == pytest.approx(2 * stats.t.sf(one.statistic, 1))


def direction(p_value, kind="mean"):
    return Direction(kind, None, None, 0.1, 0.05, 2.0, p_value)


def test_directions_are_combined_as_cauchy_s_and_agreement_strengthens_them():
    assert combined_p_value([]) == 1.0
    assert combined_p_value([0.3]) == pytest.approx(0.3)
    assert combined_p_value([0.02] * 5) == pytest.approx(0.02)
    by_scipy = stats.cauchy.sf(np.mean(stats.cauchy.isf([0.9, 0.01, 0.02])))
    assert combined_p_value([0.9, 0.01, 0.02]) == pytest.approx(by_scipy)
    # One in which nothing differs has a bounded say; nothing is lost to rounding.
    bounded = stats.cauchy.sf(np.mean(stats.cauchy.isf([0.99, 0.005])))
    assert combined_p_value([1.0, 0.005]) == pytest.approx(bounded)
    assert combined_p_value([0.5, 1e-30]) == pytest.approx(2e-30)
    assert combined_p_value([0.5, 0.0]) == pytest.approx(0.0, abs=1e-300)


def test_a_change_is_said_by_all_directions_together():
    for p_value, contradicts in ((0.0257, True), (0.0259, False)):
        check = check_of((direction(p_value), direction(0.4)), 40)
        assert check.contradicts is contradicts
        assert ("has changed" in str(check.finding)) is contradicts


def test_three_columns_by_their_correlation_with_the_label_and_no_near_copy():
    rng = np.random.default_rng(2)
    source, target = regression(rng, N, 6), regression(rng, K, 6)
    y = source.labels
    for j, noise in ((1, 0.9), (2, 0.5), (3, 1.6), (4, 0.7), (5, 99.0)):
        source.rows[:, j] = y + noise * y.std() * rng.normal(size=N)
    source.rows[:, 0] = 0.0
    found = directions(source, target, names=tuple("abcdef"))
    assert [one.column for one in found] == [None, None, "c", "e", "b"]
    # What has less than half of the strongest's correlation is not strong.
    weak, there = (
        LabeledSample(one.answers, one.labels, one.rows[:, [0, 2, 5]])
        for one in (source, target)
    )
    columns = [one.column for one in directions(weak, there, names="abc")]
    assert columns[2:] == ["b"]
    # A column that is the prediction again is no other direction.
    source.rows[:, 2] = source.answers.said["predict"]
    columns = [one.column for one in directions(source, target, names="abcdef")]
    assert "c" not in columns[2:]


@pytest.mark.parametrize("classes", [None, np.arange(4)])
def test_columns_are_strong_by_their_weighted_correlation_with_any_output(classes):
    rng = np.random.default_rng(7)
    share = rng.random(90)
    share /= share.sum()
    y = np.column_stack([np.full(90, 7.0), 40.0 + rng.normal(size=(90, 2))])
    if classes is not None:
        # No row has the last class.
        y = rng.integers(0, 3, 90)
    outputs = y if classes is None else (y[:, None] == classes).astype(float)
    noise = np.array([0.8, 1.0, 1.2, 1.6, 1.1])
    rows = outputs[:, [1]] + noise * outputs[:, 1].std() * rng.normal(size=(90, 5)) - 90
    rows = np.column_stack([np.full(90, 3.0), rows, np.full(90, np.nan)])
    strength = np.zeros(7)
    for j in range(1, 6):
        for k in range(outputs.shape[1]):
            covariance = np.cov(rows[:, j], outputs[:, k], aweights=share)
            if covariance[1, 1] > 0:
                scale = np.sqrt(covariance[0, 0] * covariance[1, 1])
                strength[j] = max(strength[j], abs(covariance[0, 1]) / scale)
    order = [j for j in np.argsort(-strength)[:3] if strength[j] >= strength.max() / 2]
    answers = SimpleNamespace(classes=classes)
    assert _strong_columns(rows, LabeledSample(answers, y, rows), share) == order
    # Labels that are all alike have no strong column.
    alike = LabeledSample(answers, np.zeros(90), rows)
    assert _strong_columns(rows, alike, share) == []
    assert _strong_columns(None, alike, share) == []


def test_no_column_is_looked_at_that_one_sample_does_not_have():
    rng = np.random.default_rng(8)
    source, target = regression(rng, N), regression(rng, K)
    source.rows[:, 1] = source.labels + rng.normal(size=N)
    without = LabeledSample(target.answers, target.labels, None)
    assert [one.kind for one in directions(source, without)] == ["mean", "slope"]
    assert len(directions(source, target)) > 2
    target.rows[0] = np.nan
    assert [one.kind for one in directions(source, target)] == ["mean", "slope"]


def test_values_that_differ_by_rounding_or_are_missing_have_no_spread():
    share = np.full(2, 0.5)
    assert _moments(np.array([1.0, np.nan]), share) == (0.0, 0.0)
    assert _moments(np.array([3.0, 5.0]), share) == (4.0, 1.0)
    for spread, seen in ((0.9e-9, False), (1.2e-9, True)):
        assert (_moments(np.array([1 - spread, 1 + spread]), share)[1] > 0.0) is seen


def test_no_row_lies_further_along_a_direction_than_three_deviations():
    rng = np.random.default_rng(3)
    source, target = regression(rng, N, 1), regression(rng, K, 1)
    source.rows[:, 0] = rng.normal(size=N)
    found = []
    for far in (50.0, 5000.0):
        target.rows[0, 0] = far
        found.append(directions(source, target)[2].statistic)
    assert found[0] == found[1]
    middle, spread = source.rows[:, 0].mean(), source.rows[:, 0].std()
    for far, is_cut in ((2.99, False), (3.01, True)):
        target.rows[0, 0] = middle + far * spread
        assert (directions(source, target)[2].statistic == found[0]) is is_cut


def three_classes(rng, n, third):
    p = np.full((n, 3), (1 - third) / 2)
    p[:, 2] = third
    y = np.array([0, 1, 2])[rng.integers(0, 3, n)]
    said = {"predict": np.zeros(n, int), "predict_proba": p}
    return LabeledSample(ClassifierPredictions(said, np.arange(3)), y, None)


@pytest.mark.parametrize(("n_third", "looked_at"), [(7, False), (8, True)])
def test_a_class_is_looked_at_if_five_labeled_rows_should_have_it(n_third, looked_at):
    rng = np.random.default_rng(4)
    source = three_classes(rng, N, n_third / N)
    # The line makes the probabilities those of the source's labels.
    y = np.repeat([0, 1, 2], [16, N - 16 - n_third, n_third])
    source = LabeledSample(source.answers, y, None)
    target = three_classes(rng, 2 * K, n_third / N)
    of = {one.of for one in directions(source, target)}
    assert of == ({"0", "1", "2"} if looked_at else {"0", "1"})


def test_a_class_is_looked_at_if_five_labeled_rows_should_not_have_it():
    rng = np.random.default_rng(4)
    source = three_classes(rng, N, 0.1)
    for n_first, looked_at in ((N // 2, True), (N - 5, False)):
        y = np.repeat([0, 1, 2], [n_first, N - n_first - 2, 2])
        p = np.tile(np.bincount(y) / N, (N, 1))
        said = {"predict": np.zeros(N, int), "predict_proba": p}
        source = LabeledSample(ClassifierPredictions(said, np.arange(3)), y, None)
        said = {"predict": np.zeros(24, int), "predict_proba": p[:24]}
        target = LabeledSample(ClassifierPredictions(said, np.arange(3)), y[:24], None)
        assert ("0" in {one.of for one in directions(source, target)}) is looked_at
