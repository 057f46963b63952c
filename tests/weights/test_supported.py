"""The largest weight that held-out rows support."""

import math

import numpy as np
import pytest

from counterpoise.samples.two_samples import TwoSamples
from counterpoise.weights.search import HeldOut
from counterpoise.weights.supported import cut_at, supported_weight


def pair(n=400, m=400):
    return TwoSamples.of(np.zeros((n, 1)), np.zeros((m, 1)))


def test_the_true_ratio_is_supported():
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.5, 1.0, 2.0):
        source, target = rng.normal(size=400), rng.normal(size=400) + shift
        ratio = [np.exp(shift * x - shift**2 / 2) for x in (target, source)]
        assert supported_weight(HeldOut(*ratio), pair()) == math.inf


def test_rows_that_stand_for_more_of_the_target_than_there_is_are_cut():
    source = np.r_[np.full(10, 30.0), np.full(390, 0.25)]
    # A twentieth of the target has such ratios, and the ten rows 3/4 of the weight.
    target = np.r_[np.full(20, 30.0), np.full(380, 0.25)]
    held_out = HeldOut(target, source)
    limit = supported_weight(held_out, pair())
    mean = source.mean()
    w = 30.0 / mean
    most = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400 + 10 * w**2 / 400**2)
    # That many of the ten rows' shares, in weights of mean one.
    assert limit == pytest.approx(most / (10 / 400))
    cut = cut_at(held_out, limit, pair())
    assert cut.source.max() == cut.target.max() == limit
    assert cut.source.min() == pytest.approx(0.25 / mean)


def test_a_few_huge_weights_are_cut_and_the_others_stay():
    # A third of the weight on nine rows, and no target row like them.
    source = np.r_[np.full(9, 40.0), np.linspace(2.0, 0.5, 391)]
    target = np.linspace(1.9, 0.5, 400)
    held_out = HeldOut(target, source)
    limit = supported_weight(held_out, pair())
    scaled = source / source.mean()
    assert scaled[9] < limit < scaled[0]


def test_no_limit_is_below_one_and_few_rows_have_none():
    source = np.r_[np.full(10, 3.0), np.full(30, 0.5)]
    nothing_there = HeldOut(np.full(40, 0.1), source)
    assert supported_weight(nothing_there, pair(40, 40)) >= 1.0
    assert supported_weight(nothing_there, pair(40, 40)) < 3.0 / source.mean()
    few = HeldOut(np.full(19, 0.1), source[:19])
    assert supported_weight(few, pair(19, 19)) == math.inf


def test_weights_that_vanish_everywhere_have_no_limit():
    assert supported_weight(HeldOut(np.ones(40), np.zeros(40)), pair(40, 40)) == (
        math.inf
    )


def test_a_row_of_weight_two_is_the_row_twice():
    rng = np.random.default_rng(1)
    source, target = rng.lognormal(0, 2.0, 100), rng.lognormal(0, 0.5, 80)
    count = np.where(np.arange(100) % 3 == 0, 2.0, 1.0)
    counted = TwoSamples.of(np.zeros((100, 1)), np.zeros((80, 1)), count, None)
    twice = np.repeat(source, count.astype(int))
    one = supported_weight(HeldOut(target, source), counted)
    other = supported_weight(HeldOut(target, twice), pair(twice.size, 80))
    assert one == pytest.approx(other)
    assert one < math.inf
