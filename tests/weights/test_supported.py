"""The largest weight that held-out rows support."""

import math

import numpy as np
import pytest

from counterpoise.data.two_samples import TwoSamples
from counterpoise.weights.auto import supported_weight
from counterpoise.weights.search import HeldOut


def pair(n=400, m=400):
    return TwoSamples.of(np.zeros((n, 1)), np.zeros((m, 1)))


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
