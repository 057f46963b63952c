"""Bets on losses: fair under the null hypothesis, quick under a change."""

import numpy as np
import pytest

from counterpoise.monitor.evidence import (
    HALF_OF_STARTS,
    LabeledRisk,
    RiskEvidence,
    _log_reference,
    weight_of_start,
)
from counterpoise.performance.metrics import as_metric


def _coins(rng, n, p):
    return (rng.random(n) < p).astype(float)


def _found_after(seed, before, after, change, alpha=0.02, labeled=50, n=5_000):
    rng = np.random.default_rng(seed)
    evidence = RiskEvidence(_coins(rng, n, before), lambda mean: mean)
    for t in range(change + 200):
        risk = before if t < change else after
        evidence.add(_coins(rng, labeled, risk))
        if evidence.log_e >= np.log(1 / alpha):
            return t - change + 1, evidence.since
    return 999, 0


def test_the_weights_of_all_starts_sum_to_one():
    begun = sum(weight_of_start(j) for j in range(1, 1_001))
    assert begun == pytest.approx(1 - HALF_OF_STARTS / (HALF_OF_STARTS + 1_000))


def test_the_bet_against_the_reference_is_fair():
    # Over all outcomes of ten coins, each with its chance: the mean is one.
    p, total = 0.3, 0.0
    for outcome in range(2**10):
        coins = np.array([outcome >> k & 1 for k in range(10)], dtype=float)
        chance = np.prod(np.where(coins == 1, p, 1 - p))
        total += chance * np.exp(_log_reference(coins, np.array([p]))[0])
    assert total == pytest.approx(1.0)


def test_the_bet_on_the_stream_is_fair_at_every_mean():
    reference = _coins(np.random.default_rng(0), 300, 0.3)
    cell = 5
    p = RiskEvidence(reference, lambda mean: mean).means[cell]
    total = 0.0
    for outcome in range(2**6):
        coins = np.array([outcome >> k & 1 for k in range(6)], dtype=float)
        evidence = RiskEvidence(reference, lambda mean: mean)
        evidence.add(coins[:2])
        evidence.add(coins[2:])
        wealth = np.exp((evidence._by_cell() - evidence.log_reference)[cell])
        total += np.prod(np.where(coins == 1, p, 1 - p)) * wealth
    assert total == pytest.approx(1.0)


def test_one_number_stands_for_the_sum_over_all_starts():
    rng = np.random.default_rng(1)
    evidence = RiskEvidence(_coins(rng, 400, 0.2), lambda mean: mean)
    batches = [_coins(rng, 30, 0.3) for _ in range(5)]
    for batch in batches:
        evidence.add(batch)
    told = np.zeros(evidence.bets.shape)
    for j in range(1, 6):
        losses = np.concatenate(batches[j - 1 :])[:, None, None]
        wealth = np.prod(1 + evidence.bets * (losses - evidence.means), axis=0)
        told += weight_of_start(j) * wealth
    np.testing.assert_allclose(np.exp(evidence.log_wealth), told)


def test_a_risk_that_stays_raises_no_alarm_and_one_that_rises_does():
    assert all(_found_after(s, 0.15, 0.15, 0)[0] == 999 for s in range(5))
    found = [_found_after(s, 0.15, 0.20, 20) for s in range(15)]
    assert np.median([delay for delay, _ in found]) <= 36
    assert max(delay for delay, _ in found) <= 200
    assert min(delay for delay, _ in found) > 0
    large = [_found_after(s, 0.15, 0.30, 20) for s in range(15)]
    assert np.median([delay for delay, _ in large]) <= 7
    assert abs(np.median([since for _, since in large]) - 21) <= 2


def test_since_is_told_also_where_the_evidence_is_overwhelming():
    rng = np.random.default_rng(0)
    evidence = RiskEvidence(_coins(rng, 1_500, 0.15), lambda mean: mean)
    for t in range(6):
        evidence.add(_coins(rng, 300, 0.15 if t < 4 else 0.6))
    assert evidence.log_e > 20
    assert evidence.since == 5


def test_within_the_tolerance_there_is_no_alarm():
    rng = np.random.default_rng(0)
    evidence = RiskEvidence(_coins(rng, 5_000, 0.1), lambda mean: mean + 0.1)
    for _ in range(100):
        evidence.add(_coins(rng, 200, 0.18))
    assert evidence.log_e < np.log(50)
    for _ in range(100):
        evidence.add(_coins(rng, 200, 0.25))
    assert evidence.log_e > np.log(50)


def test_a_reference_taken_for_the_truth_would_have_raised_a_false_alarm():
    # The reference happened to be good, and the stream is what it always was.
    good = np.concatenate([np.ones(255), np.zeros(1_745)])
    rng = np.random.default_rng(0)
    evidence = RiskEvidence(rng.permutation(good), lambda mean: mean)
    for _ in range(200):
        evidence.add(_coins(rng, 500, 0.15))
    # Told the mean of the reference as the truth the same bets win beyond doubt.
    cell = int(np.searchsorted(evidence.means, good.mean()))
    known = (evidence._by_cell() - evidence.log_reference)[cell]
    assert known > 100
    assert evidence.log_e < np.log(50)


def test_losses_without_a_bound_are_cut_at_a_quantile_of_rows_left_out():
    rng = np.random.default_rng(0)
    metric = as_metric("neg_mean_squared_error", None, [0.5, 1.5])
    losses = rng.exponential(size=2_000)
    risk = LabeledRisk(metric, losses, 0.0, seed=0)
    order = np.random.default_rng(0).permutation(2_000)
    assert risk.bound == np.quantile(losses[order[:400]], 0.99)
    risk.add(np.array([1e9]))
    assert np.isfinite(risk.evidence.log_e)
    for _ in range(50):
        risk.add(1.5 * rng.exponential(size=100))
    assert risk.evidence.log_e > np.log(50)


def test_the_tolerance_of_a_root_is_in_the_units_of_the_root():
    metric = as_metric("neg_root_mean_squared_error", None, [0.5, 1.5])
    losses = np.linspace(0, 1, 2_000)
    risk = LabeledRisk(metric, losses, 0.2, seed=0)
    ends = np.sqrt(risk.evidence.means[1:-1] * risk.bound)
    without = LabeledRisk(metric, losses, 0.0, seed=0).evidence.means[1:-1]
    np.testing.assert_allclose(ends, np.sqrt(without * risk.bound) + 0.2)


def test_an_accuracy_is_watched_by_its_errors():
    metric = as_metric("accuracy", None, [0, 1])
    rng = np.random.default_rng(0)
    risk = LabeledRisk(metric, 1 - _coins(rng, 2_000, 0.1), 0.0, seed=0)
    for _ in range(30):
        risk.add(1 - _coins(rng, 100, 0.3))
    assert risk.evidence.log_e > np.log(50)


def test_a_reference_without_any_loss_can_be_watched():
    evidence = RiskEvidence(np.zeros(500), lambda mean: mean)
    evidence.add(np.zeros(100))
    assert evidence.log_e < np.log(50)
    for _ in range(5):
        evidence.add(_coins(np.random.default_rng(0), 100, 0.2))
    assert evidence.log_e > np.log(50)
