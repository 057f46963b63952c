"""How rows that belong together are judged, at every threshold."""

import numpy as np
import pytest
from scipy.stats import norm, t

from counterpoise.data.groups import (
    Divisions,
    alike_neighbors,
    auc_of_units,
    by_chance,
    divided,
    names_groups,
    with_units,
)
from counterpoise.data.samples import (
    RowUnits,
    Samples,
    memory,
    n_blocks,
    smallest_p,
)
from counterpoise.data.two_samples import TwoSamples
from counterpoise.errors import InvalidInputError
from counterpoise.shift.diagnosis import diagnose
from counterpoise.shift.domain_classifier import Pool
from counterpoise.shift.support import (
    cells_by_units,
    overlap_between,
    uncovered_by_chance,
)
from counterpoise.shift.verdict_tests import (
    columns_by_units,
    moments_by_units,
)


def grouped(seed, g=12, k=6, d=2, shift=0.0):
    """Return rows of groups whose means vary as much as rows do within."""
    rng = np.random.default_rng(seed)
    names = np.repeat(np.arange(g), k)
    means = rng.normal(size=(g, d)) + shift * (np.arange(d) == 0)
    return means[names] + rng.normal(size=(g * k, d)), names


def autoregression(n, rho, rng, d=1):
    x = np.empty((n, d))
    x[0] = rng.normal(size=d)
    for i in range(1, n):
        x[i] = rho * x[i - 1] + np.sqrt(1 - rho**2) * rng.normal(size=d)
    return x


# RowUnits.


def test_blocks_are_five_memories_long_and_six_to_twenty():
    assert n_blocks(1500, 30.0) == 10
    assert n_blocks(1499, 30.0) == 9
    assert n_blocks(900, 60.0) == 6
    assert n_blocks(1500, 15.0) == 20
    assert n_blocks(1500, 14.0) == 20
    assert n_blocks(4, 1.0) == 4


def test_the_memory_of_a_column_is_its_sum_of_autocorrelations():
    rng = np.random.default_rng(0)
    assert memory(rng.normal(size=(5000, 3))) < 1.3
    series = autoregression(20_000, 0.9, rng)
    assert memory(series) == pytest.approx(19.0, rel=0.2)
    # The slowest column counts, and its sign and scale do not.
    both = np.hstack([rng.normal(size=(20_000, 1)), -np.exp(series)])
    assert memory(both) == pytest.approx(memory(series))


def test_rows_of_one_time_are_in_one_block_and_blocks_are_in_order():
    time = np.array([5, 1, 1, 1, 4, 4, 2, 3, 9, 8, 7, 6])
    source = np.random.default_rng(0).normal(size=(12, 1))
    units = RowUnits.of_time(time, time, source, source)
    assert np.unique(units.source[1:4]).size == 1
    assert units.source[4] == units.source[5]
    assert (np.diff(units.source[np.argsort(time)]) >= 0).all()
    assert units.source.max() < units.target.min()
    whole = RowUnits.of_time(np.concatenate([time, time + 100]), None, source, source)
    assert (whole.source == units.source).all()
    with pytest.raises(InvalidInputError, match="all 24 as one"):
        RowUnits.of_time(time, None, source, source)


def test_a_name_in_both_samples_is_one_group_and_rows_without_names_are_their_own():
    units = RowUnits.of_groups(["a", "b", "a"], ["b", "c"], 3, 2)
    assert units.source.tolist() == [0, 1, 0]
    assert units.target.tolist() == [1, 2]
    alone = RowUnits.of_groups(["a", "b", "a"], None, 3, 2)
    assert len({*alone.source, *alone.target}) == 4
    assert alone.sizes == (2, 2)


def test_the_smallest_p_value_is_that_of_all_divisions():
    five, four = np.arange(5), np.arange(4)
    assert smallest_p(five, five + 9) == pytest.approx(2 / 252)
    assert smallest_p(five, four + 9) == pytest.approx(1 / 126)
    assert smallest_p(four, four + 9) == pytest.approx(2 / 70)
    # Groups that both samples have are turned round, each by itself.
    assert smallest_p(five, five) == pytest.approx(2 / 32)


# Folds, and the AUC.


def test_rows_of_a_unit_share_a_fold():
    X, names = grouped(0)
    units = np.concatenate([names, names + 100])
    pool = Pool.of(TwoSamples.of(X, X), 0, units)
    for unit in np.unique(units):
        assert np.unique(pool.fold[units == unit]).size == 1
    assert pool.n_folds == 5
    # A copy stays a row: it may be of another group.
    assert pool.X.shape[0] == 2 * X.shape[0]


def test_the_auc_of_units_has_the_error_of_units():
    rng = np.random.default_rng(0)
    s, z = rng.normal(size=30), rng.normal(size=20) + 1
    even = np.full(30, 1 / 30), np.full(20, 1 / 20)
    once = auc_of_units(s, z, *even, np.arange(50), 0.01, 0.95)
    # Ten copies of every row in one unit are worth that row.
    tenfold = [np.repeat(one, 10) for one in (s, z)]
    shares = np.full(300, 1 / 300), np.full(200, 1 / 200)
    units = np.repeat(np.arange(50), 10)
    assert auc_of_units(*tenfold, *shares, units, 0.01, 0.95) == pytest.approx(once)
    above = (z[:, None] > s).mean(axis=1), (z > s[:, None]).mean(axis=1)
    auc = above[0].mean()
    error = np.sqrt(above[0].var(ddof=1) / 20 + above[1].var(ddof=1) / 30)
    reach = t.ppf(0.975, 19) * error
    assert once[:3] == pytest.approx((auc, auc - reach, min(auc + reach, 1)))
    assert once[3] == pytest.approx(chance_by_hand(s, z, auc, error))


def test_the_chance_of_an_auc_does_not_vanish_where_samples_are_apart():
    s, z = np.arange(6.0), np.arange(6.0) + 100
    even = np.full(6, 1 / 6)
    auc, low, high, chance = auc_of_units(s, z, even, even, np.arange(12), 0.01, 0.95)
    assert auc == pytest.approx(1.0)
    assert high == pytest.approx(1.0)
    assert chance == pytest.approx(chance_by_hand(s, z, 1.0, 0.0))
    # Six units a sample are too few for a classifier by itself.
    assert chance > 0.01
    assert low == 0.5


def chance_by_hand(s, z, auc, error):
    """Return the chance by the larger of two errors, of rows that are units."""
    both = np.concatenate([s, z])
    parts = []
    for own, sign in ((s, -1.0), (z, 1.0)):
        below = (both < own[:, None]) + 0.5 * (both == own[:, None])
        share = np.repeat([0.5 / s.size, 0.5 / z.size], [s.size, z.size])
        centered = sign * (below @ share - 0.5) / own.size
        parts.append(own.size / (own.size - 1) * (centered**2).sum())
    largest = max(error, np.sqrt(sum(parts)))
    return t.sf((auc - 0.5) / (np.sqrt(2) * largest), min(s.size, z.size) - 1)


def test_one_unit_in_both_samples_errs_on_both_sides_together():
    rng = np.random.default_rng(1)
    effect = rng.normal(size=40)
    even = np.full(40, 1 / 40)
    units = np.tile(np.arange(40), 2)
    noise = 0.1 * rng.normal(size=(2, 40))
    paired = auc_of_units(
        effect + noise[0], effect + noise[1], even, even, units, 0.01, 0.95
    )
    apart = auc_of_units(
        effect + noise[0], effect + noise[1], even, even, np.arange(80), 0.01, 0.95
    )
    assert paired[2] - paired[1] < 0.5 * (apart[2] - apart[1])


# Divisions by chance.


def test_divisions_keep_units_whole_and_as_many_of_them():
    # Two units of the source, three of the target, two of both.
    units = np.array([0, 0, 1, 5, 6, 6, 2, 3, 3, 4, 5, 6])
    found = Divisions.of(units, 6, np.ones(12), 0, 50)
    assert found.is_target.shape == (51, 9)
    side = found.is_target[:, found.part]
    assert (side[0] == np.repeat([0, 1], 6)).all()
    for pair in ((0, 1), (7, 8), (4, 5)):
        assert (side[:, pair[0]] == side[:, pair[1]]).all()
    alone = side[:, [0, 2, 6, 7, 9]]
    assert (alone.sum(axis=1) == 3).all()
    assert np.unique(alone, axis=0).shape[0] > 5
    # The parts of a unit of both samples are never in one.
    assert (side[:, 3] + side[:, 10] == 1).all()
    assert (side[:, 4] + side[:, 11] == 1).all()
    assert 0.2 < side[1:, 3].mean() < 0.8
    assert not (side[1:, 3] == side[1:, 4]).all()


def test_differences_are_those_of_means_of_the_divided_rows():
    rng = np.random.default_rng(0)
    units, mass = np.repeat(np.arange(8), 3), rng.uniform(0.5, 2, 24)
    found = Divisions.of(units, 12, mass, 0, 5)
    values, cells = rng.normal(size=(24, 2)), rng.integers(0, 3, 24)
    K = rng.normal(size=(24, 24))
    for k, side in enumerate(found.is_target[:, found.part] == 1):
        means = [
            np.average(values[rows], axis=0, weights=mass[rows])
            for rows in (side, ~side)
        ]
        assert found.differences(values)[k] == pytest.approx(means[0] - means[1])
        shares = [
            np.bincount(cells[r], mass[r], 3) / mass[r].sum() for r in (side, ~side)
        ]
        assert found.shares_apart(cells, 3)[k] == pytest.approx(shares[0] - shares[1])
        a = np.where(side, mass / mass[side].sum(), -mass / mass[~side].sum())
        assert found.squares(found.summed(K))[k] == pytest.approx(a @ K @ a)


def test_a_p_value_counts_divisions_as_large_and_is_corrected_by_the_largest():
    statistics = np.array([[2.0, 5.0], [2.0, 1.0], [1.0, 4.0], [0.0, 1.0], [0.0, 9.0]])
    found = by_chance(statistics)
    assert found.alone.tolist() == [0.4, 0.4]
    z = (statistics - statistics.mean(axis=0)) / statistics.std(axis=0)
    largest = z.max(axis=1)
    expected = [(largest >= z[0, k] - 1e-9).mean() for k in (0, 1)]
    assert found.corrected == pytest.approx(expected)
    assert (found.corrected >= found.alone).all()
    # Neither place nor scale of a statistic matters.
    other = by_chance(statistics * [1.0, 100.0] + [7.0, 0.0])
    assert other.corrected == pytest.approx(found.corrected)
    # A statistic that never varies is no evidence.
    assert by_chance(np.ones((5, 1))).alone.tolist() == [1.0]


def read(shift, seed=0, **sizes):
    X, g = grouped(seed, **sizes)
    T, h = grouped(seed + 1000, shift=shift, **sizes)
    samples = Samples.read(X, T)
    return with_units(samples, g, h + 500)


def test_columns_moments_and_cells_are_tested_by_units():
    # Twelve groups a sample, moved by four standard deviations, or not at all.
    for shift, tells in ((4.0, True), (0.0, False)):
        samples = read(shift, seed=3)
        rows = np.arange(72)
        found = divided(samples, rows, rows, 0)
        features = diagnose(samples, None, n_permutations=0, random_state=0).features
        tested = columns_by_units(features, *samples.tables, found)
        assert (tested[0].adjusted_p_value <= 0.01) == tells
        assert tested[0].p_value <= tested[0].adjusted_p_value
        assert tested[1].adjusted_p_value > 0.05
        assert moments_by_units(samples, found).p_value > 0.01
        cells = cells_by_units(samples, rows, rows, 0)
        assert cells.tells == tells
        assert not tells or 0 in cells.most_unlike
    (X, g), (T, h) = grouped(5), grouped(6)
    wide = with_units(Samples.read(X, 6 * T), g, h + 500)
    found = divided(wide, np.arange(72), np.arange(72), 0)
    assert moments_by_units(wide, found).p_value <= 0.01
    # Two columns that go together in the target alone.
    paired = T @ np.array([[1.0, 3.0], [0.0, 1.0]])
    samples = with_units(Samples.read(X * [1.0, 3.0], paired), g, h + 500)
    found = divided(samples, np.arange(72), np.arange(72), 0)
    assert moments_by_units(samples, found).columns == (0, 1)


# The verdict.


def test_with_four_units_of_a_sample_nothing_is_told_and_with_five_it_may_be():
    verdicts = {}
    for g in (4, 5):
        X, names = grouped(0, g=g, k=20)
        T = X[::-1]
        apart = names + 50
        for kind, others in (("apart", apart), ("rows", None), ("both", names)):
            found = diagnose(X, T, groups=names, groups_target=others, random_state=0)
            verdicts[g, kind] = found.verdict
            assert found.dependence.n_source == g
    few, none = "too few rows", "no shift detected"
    assert verdicts == {
        (4, "apart"): few,
        (4, "rows"): few,
        (4, "both"): few,
        (5, "apart"): none,
        (5, "rows"): none,
        # Five that change places or do not are 32 divisions.
        (5, "both"): few,
    }


def test_what_is_thin_by_chance_goes_by_units():
    samples = read(0.0)
    found = overlap_between(samples, 0)
    assert found.units == pytest.approx((12.0, 12.0))
    # As many units as rows would leave a fifth of that to chance.
    assert uncovered_by_chance(*found.units) > 2 * uncovered_by_chance(72, 72)
    plain = overlap_between(Samples.read(grouped(0)[0], grouped(1)[0]), 0)
    assert plain.units is None
    assert found.uncovered_fraction_high - found.uncovered_fraction_low >= 0.0


def test_groups_and_time_are_refused_together():
    X, names = grouped(0)
    samples = Samples.read(X, X)
    with pytest.raises(InvalidInputError, match="groups or a time, not both"):
        with_units(samples, groups=names, time=names)
    with pytest.raises(InvalidInputError, match="no time of the source"):
        with_units(samples, time_target=names)
    assert with_units(samples) is samples


# The question where nothing was said.


def with_correlation(r, n=1000):
    """Return a column whose ranks have about this correlation with the next."""
    rng = np.random.default_rng(0)
    return autoregression(n, r, rng)


def test_neighbors_are_alike_from_three_tenths_on():
    assert alike_neighbors(with_correlation(0.36))[1] == 0
    assert alike_neighbors(with_correlation(0.2))[1] == -1
    x = with_correlation(0.9, 200)
    assert alike_neighbors(x[:50])[1] == 0
    assert alike_neighbors(x[:49])[1] == -1
    # A table may be sorted.
    assert alike_neighbors(np.sort(x, axis=0))[1] == -1
    assert alike_neighbors(-np.sort(x, axis=0))[1] == -1
    # Of few rows and many columns chance alone may do it.
    n, d = 60, 200
    least = norm.isf(0.001 / (2 * d)) / np.sqrt(n)
    assert least > 0.3
    found = [
        alike_neighbors(np.random.default_rng(k).normal(size=(n, d))) for k in range(20)
    ]
    assert all(column == -1 for _, column in found)
    assert (
        alike_neighbors(np.hstack([with_correlation(0.97, n), *[np.zeros((n, d))]]))[1]
        == 0
    )


def test_values_name_groups_if_they_repeat_within_and_hardly_meet():
    source, target = np.repeat(np.arange(10), 3), np.repeat(np.arange(20, 30), 3)
    assert names_groups(source, target)
    assert not names_groups(source[:-1], target)
    assert not names_groups(source, target[3:])
    often = np.repeat(np.arange(20, 30), 6)
    for shared, expected in ((6, False), (5, True)):
        met = np.where(np.arange(60) < shared, 5, often)
        assert names_groups(source, met) == expected


def test_nothing_is_asked_where_it_was_said():
    X, names = grouped(0, g=30, k=10)
    T, others = grouped(1, g=30, k=10)
    silent = diagnose(X, T, random_state=0)
    hint = str(silent.dependence_hint)
    assert hint.startswith("Rows look dependent: neighbors in the source")
    assert hint in silent.explanation
    assert silent.dependence is None
    said = diagnose(X, T, groups=names, groups_target=others + 50, random_state=0)
    assert said.dependence_hint is None
    assert str(said.dependence) in said.explanation
    chance = np.random.default_rng(0).permutation(300)
    assert diagnose(X[chance], T[chance], random_state=0).dependence_hint is None
