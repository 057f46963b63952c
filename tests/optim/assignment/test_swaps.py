"""Sets of words that no single change makes cheaper."""

import numpy as np
import pytest

from counterpoise.optim.assignment.local_search import greedy_order, improved_set


def cost(C, penalties, words):
    words = list(words)
    return C[:, words].min(axis=1).sum() + penalties[words].sum()


@pytest.mark.parametrize("is_sized", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_no_single_change_makes_the_set_cheaper(seed, is_sized):
    rng = np.random.default_rng(seed)
    n, words = int(rng.integers(2, 12)), int(rng.integers(2, 9))
    C = rng.random((n, words))
    penalties = rng.random(words) * rng.choice([0.0, 0.3, 1.0])
    start = rng.permutation(words)[: rng.integers(1, words + 1)]
    fixed = start[:1] if seed % 2 else None
    found = improved_set(C, start, penalties, fixed=fixed, is_sized=is_sized)
    best = cost(C, penalties, found)
    kept = set() if fixed is None else set(fixed.tolist())
    assert kept <= set(found.tolist())
    assert best <= cost(C, penalties, start) + 1e-12
    if is_sized:
        assert len(found) == len(start)
    there = set(found.tolist())
    for c in range(words):
        others = [there - {q} | {c} for q in there - kept if c not in there]
        if not is_sized:
            others.append(there | {c})
            if c in there - kept and len(there) > 1:
                others.append(there - {c})
        for other in others:
            assert cost(C, penalties, other) >= best - 1e-9


def test_of_words_that_tie_the_first_stays():
    C = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    found = improved_set(C, np.array([0, 1]), np.full(3, 0.1))
    np.testing.assert_array_equal(found, [0])


def test_a_greedy_order_takes_what_lowers_the_cost_most():
    C = np.abs(np.arange(9.0)[:, None] - np.arange(9.0))
    first, *_ = greedy_order(C, np.zeros(0, dtype=int), 3)
    assert first == 4
    among = greedy_order(C, np.array([4]), 2, among=np.array([0, 8, 5]))
    assert set(among.tolist()) == {0, 8}
