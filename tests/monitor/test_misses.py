"""What estimates missed counts in the intervals of later ones."""

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import t as student

from counterpoise import ModelMonitor
from counterpoise.monitor.estimates import (
    ExcessError,
    Rise,
    excess_error,
    misses_of_blocks,
)


class Zero:
    """A model that says zero, so that its error is the size of the label."""

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_what_chance_explains_is_not_counted():
    rng = np.random.default_rng(0)
    counted = 0
    for _ in range(400):
        pairs = zip(rng.normal(0, 0.1, 8), [0.01] * 8, strict=True)
        counted += excess_error(pairs).variance > 0
    assert counted / 400 == pytest.approx(0.05, abs=0.03)


def test_misses_beyond_chance_count_with_their_mean_square_less_chance():
    edge = chi2.ppf(0.95, 2)
    below, above = np.sqrt((edge - 1e-9) / 2), np.sqrt((edge + 1e-9) / 2)
    assert excess_error([(below, 1.0), (-below, 1.0)]) == (0.0, 2)
    found = excess_error([(above, 1.0), (-above, 1.0)])
    assert found.variance == pytest.approx(edge / 2 - 1)
    assert excess_error([]) == (0.0, 0)


def test_an_interval_of_much_missed_is_one_of_the_few_misses():
    rise = Rise(1.0, 0.1, 0.0, 0.1, 50.0)
    low, high = rise.ends(0.05, ExcessError(1e6, 4))
    assert high - low == pytest.approx(2 * 1e3 * student.isf(0.025, 4), rel=1e-3)
    assert rise.ends(0.05, ExcessError(0.0, 4)) == rise.ends(0.05)


def test_labels_to_come_have_chance_of_their_own():
    still, drawn = Rise(1.0, 0.3, 0, 0.3, 9.0), Rise(1.0, 0.3, 0, 0.3, 9.0, 0.16)
    widths = [np.diff(one.ends(0.1))[0] for one in (still, drawn)]
    assert widths[1] / widths[0] == pytest.approx(0.5 / 0.3)


def test_blocks_of_a_reference_in_order_show_what_wanders_and_shuffled_ones_nothing():
    rng = np.random.default_rng(0)
    rest = np.repeat(rng.normal(0, 0.5, 10), 100) + rng.normal(0, 1, 1_000)
    assert excess_error(misses_of_blocks(rest)).variance == pytest.approx(0.25, rel=0.7)
    assert excess_error(misses_of_blocks(rng.permutation(rest))).variance == 0.0
    assert misses_of_blocks(rest[:299]) == []


def watched(rise, *, labels):
    """Return the history of a stream whose labels have grown since the reference."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 1)), rng.exponential(1.0, 600)
    monitor = ModelMonitor(
        Zero(), X=X, y=y, scoring="neg_mean_absolute_error", random_state=0
    )
    for k in range(6):
        chunk = rng.standard_normal((200, 1))
        truth = rng.exponential(1.0 + rise, 200)
        look = monitor.update(chunk, y=truth if labels else None, time=k)
        yield look, truth.mean()


def test_intervals_hold_what_comes_once_labels_have_shown_a_change():
    looks = list(watched(1.0, labels=True))
    name = "neg_mean_absolute_error"
    widths = []
    for look, truth in looks:
        one = look.performance[name]
        widths.append(one["high"] - one["low"])
        assert (one["low"] <= truth <= one["high"]) == (look.number > 1)
    assert min(widths[1:]) > 3 * widths[0]
    assert not looks[0][0].notes
    assert "p(y | x) is not what it was" in looks[1][0].notes[0]


def test_without_labels_or_without_a_change_intervals_stay_as_they_are():
    name = "neg_mean_absolute_error"
    for rise, labels in ((1.0, False), (0.0, True)):
        found = [look.performance[name] for look, _ in watched(rise, labels=labels)]
        widths = [one["high"] - one["low"] for one in found]
        assert max(widths) < 1.5 * min(widths)
