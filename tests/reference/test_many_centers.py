"""KLIEP on more centers than memory holds: it begins with few and proves for all."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise import KLIEP
from counterpoise.data import memory_budget
from counterpoise.datasets import make_gaussian_shift


@pytest.fixture
def shift(monkeypatch):
    monkeypatch.setattr("counterpoise.weights.kliep.MANY_CENTERS", 500)
    monkeypatch.setattr("counterpoise.weights.kliep.CENTERS_AT_MOST", 60)
    return make_gaussian_shift(6, n=400, m=600, random_state=0)


def fitted(shift, budget, **parameters):
    seen = []
    kliep = KLIEP(
        gamma=0.15,
        n_centers=None,
        tol=1e-8,
        standardize=False,
        random_state=0,
        callback=lambda line: seen.append(line.x),
        **parameters,
    )
    with memory_budget(budget):
        kliep.fit(shift.X, X_target=shift.X_target)
    return kliep, seen


def test_the_optimum_over_few_is_the_start_and_is_certified_against_all(shift):
    stored, _ = fitted(shift, 10**9)
    computed, seen = fitted(shift, 10**6)
    best = stored.solution_.certificate.objective
    first, proof = computed.solution_.history[0], computed.solution_.certificate
    assert 0 < np.count_nonzero(seen[0]) <= 60
    assert best < first.objective <= best + first.gap
    # It is the best mixture of its own rows: none of them promises more.
    centers = computed.centers_
    A = rbf_kernel(centers, gamma=0.15)
    A /= rbf_kernel(shift.X, centers, gamma=0.15).mean(axis=0)
    slopes = A.T @ (1.0 / (A @ seen[0])) / 600
    assert slopes[seen[0] > 0].max() <= 1.0 + 1e-3
    assert np.log(slopes.max()) == pytest.approx(first.gap, rel=1e-6)
    assert computed.solution_.converged
    assert proof.objective == pytest.approx(best, abs=1e-8)


def test_the_same_seed_gives_the_same_bytes(shift):
    one, two = fitted(shift, 10**6)[0], fitted(shift, 10**6)[0]
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_a_time_that_is_up_still_gives_a_proof_against_all_centers(shift):
    with pytest.warns(UserWarning, match="NOT converged"):
        kliep, _ = fitted(shift, 10**6, max_time=0.0)
    assert np.isfinite(kliep.solution_.certificate.gap)
    assert kliep.weights_.mean() == pytest.approx(1.0, abs=1e-12)
