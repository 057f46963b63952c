"""The loss on parts of the target, told where there are rows enough."""

import numpy as np
import pytest

from counterpoise.data.columns import cut_column
from counterpoise.data.table import TableColumn
from counterpoise.performance.estimators import (
    WORTH_OF_A_SLICE,
    Evidence,
    MovedColumn,
    loss_by_slice,
    mean_estimates,
)
from counterpoise.performance.metrics import as_metric

METRIC = as_metric("mean_squared_error", None, [1.0])


def drawn(seed, n=1500, m=1500):
    """Draw losses that grow with x, x being moved from mean 0 to mean 1."""
    random = np.random.default_rng(seed)
    x, t = random.normal(size=n), random.normal(1.0, 1.0, m)
    losses = (1 + np.abs(x)) * random.chisquare(2, n) / 2
    # A model of the loss that is wrong by a factor.
    evidence = Evidence(
        losses,
        np.exp(x - 0.5),
        np.ones(n),
        0.7 * (1 + np.abs(x)),
        0.7 * (1 + np.abs(t)),
    )
    even = np.full(n, 1 / n), np.full(m, 1 / m)
    columns = [TableColumn("x", "numbers", one) for one in (x, t)]
    parts = cut_column(*columns, *even, most=4, half=1.0)
    return x, t, evidence, parts


def told(evidence, parts, level=0.95):
    column = MovedColumn("x", "numbers", 1.0, parts)
    (found,) = loss_by_slice(METRIC, evidence, [column], level)["columns"]
    return found["parts"]


def test_a_slice_is_the_estimate_of_its_own_rows():
    _, _, evidence, parts = drawn(0)
    for k, part in enumerate(told(evidence, parts)):
        rows, aims = (np.flatnonzero(one == k) for one in (parts.source, parts.target))
        alone = mean_estimates(METRIC, evidence.take(rows, aims), 0.95)["doubly_robust"]
        assert part["estimate"] == {
            "value": alone.value,
            "low": alone.low,
            "high": alone.high,
        }
        assert part["share"] == aims.size / parts.target.size
        w = evidence.ratio[rows]
        assert part["effective_rows"] == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = []
    for seed in range(30):
        _, t, evidence, parts = drawn(seed)
        for k, part in enumerate(told(evidence, parts)):
            truth = (1 + np.abs(t[parts.target == k])).mean()
            one = part["estimate"]
            held.append(one is not None and one["low"] <= truth <= one["high"])
    assert np.mean(held) >= 0.9


def test_a_slice_of_few_rows_is_not_told():
    x, _, evidence, parts = drawn(1)
    few = np.flatnonzero(x > np.sort(x)[-7])
    rows = np.union1d(few, np.flatnonzero(parts.source < 3))
    rows = np.setdiff1d(rows, np.flatnonzero((parts.source == 3) & (x < x[few].min())))
    aims = np.arange(parts.target.size)
    fewer = type(parts)(parts.parts, parts.source[rows], parts.target)
    last = told(evidence.take(rows, aims), fewer)[-1]
    assert last["effective_rows"] < WORTH_OF_A_SLICE
    assert last["estimate"] is None
    assert last["share"] > 0


def test_a_part_that_the_target_has_not_is_left_out():
    _, _, evidence, parts = drawn(2)
    nobody = type(parts)(parts.parts, parts.source, np.minimum(parts.target, 2))
    assert len(told(evidence, nobody)) == 3
    nothing = type(parts)(parts.parts, np.minimum(parts.source, 2), parts.target)
    last = told(evidence, nothing)[-1]
    assert last["effective_rows"] == 0.0
    assert last["estimate"] is None


def test_groups_count_as_one_row():
    _, _, evidence, parts = drawn(3)
    n = evidence.losses.size
    grouped = Evidence(
        evidence.losses,
        evidence.ratio,
        evidence.counts,
        evidence.modeled,
        evidence.modeled_target,
        np.arange(n) % 30,
    )
    for alone, together in zip(
        told(evidence, parts), told(grouped, parts), strict=True
    ):
        assert together["effective_rows"] <= 30 < alone["effective_rows"]
