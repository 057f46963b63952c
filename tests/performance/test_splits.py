"""Rows that belong together are held out together."""

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit

from counterpoise.performance.intervals import folds_of, neighbors_alike

Y = np.repeat([0, 1], [80, 20])


def _places(folds: Any) -> Any:
    return np.sort(np.concatenate([out for _, out in folds]))


def test_every_row_is_held_out_once() -> None:
    folds = folds_of(None, Y, Y, is_classifier=True)
    assert len(folds) == 5
    assert np.array_equal(_places(folds), np.arange(100))
    assert all(np.intersect1d(kept, out).size == 0 for kept, out in folds)


def test_classes_are_spread_over_the_folds() -> None:
    assert [int(Y[out].sum()) for _, out in folds_of(4, Y, Y, is_classifier=True)] == [
        5,
        5,
        5,
        5,
    ]


def test_a_class_with_fewer_rows_than_folds_does_not_warn() -> None:
    y = np.repeat([0, 1], [98, 2])
    assert len(folds_of(None, y, y, is_classifier=True)) == 5


def test_groups_stay_together() -> None:
    groups = np.arange(100) // 7
    for kept, out in folds_of(None, Y, Y, groups, is_classifier=True):
        assert not set(groups[kept]) & set(groups[out])


def test_blocks_are_runs_of_neighboring_rows() -> None:
    for _, out in folds_of("blocks", Y, Y, is_classifier=True):
        assert np.array_equal(np.diff(out), np.ones(out.size - 1))


def test_a_splitter_and_pairs_are_used_as_they_are() -> None:
    by_time = folds_of(TimeSeriesSplit(3), Y, Y, is_classifier=False)
    assert all(kept.max() < out.min() for kept, out in by_time)
    pairs = [(np.arange(50), np.arange(50, 100))]
    assert np.array_equal(folds_of(pairs, Y, Y, is_classifier=False)[0][1], pairs[0][1])


def test_the_seed_decides_the_folds() -> None:
    first, again, other = (
        folds_of(None, Y, Y, is_classifier=True, seed=s)[0][1] for s in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("cv", ["rows", 1, 2.5])
def test_anything_else_is_refused(cv: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="cv must be"):
        folds_of(cv, Y, Y, is_classifier=True)


def test_a_series_in_time_is_seen_and_a_sorted_table_is_not() -> None:
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(500, 3))
    assert neighbors_alike(steps.cumsum(axis=0))
    assert not neighbors_alike(steps)
    assert not neighbors_alike(np.sort(steps[:, :1], axis=0))
    assert not neighbors_alike(steps[np.argsort(steps[:, 0])])
    assert not neighbors_alike(np.ones((500, 2)))
