"""From which penalty on one word is best."""

import numpy as np
import pytest
from optim.assignment.random_assignments import graph, laplacian, random_costs
from scipy import sparse
from scipy.optimize import linprog

from counterpoise.optim import AssignmentConic, solve
from counterpoise.optim.assignment import problem as one_word
from counterpoise.optim.assignment.problem import (
    AssignmentDual,
    SparseAssignment,
    one_word_penalty,
)


def whole_program(C):
    """Return the penalty by one program in s and t, as it is written."""
    n, words = C.shape
    e = C.sum(axis=0).argmin()
    others = [j for j in range(words) if j != e]
    A, b = [], []
    for q, j in enumerate(others):
        below = sparse.hstack(
            [
                sparse.identity(n),
                sparse.csr_matrix((n, q * n)),
                -sparse.identity(n),
                sparse.csr_matrix((n, (len(others) - q - 1) * n)),
            ]
        )
        A.append(below)
        b.append(C[:, j] - C[:, e])
        total = np.zeros((1, n * (1 + len(others))))
        total[0, :n] = -1.0
        total[0, n * (1 + q) : n * (2 + q)] = 1.0
        A.append(sparse.csr_matrix(total))
        b.append([0.0])
    cost = np.r_[np.ones(n), np.zeros(n * len(others))]
    return linprog(cost, A_ub=sparse.vstack(A), b_ub=np.concatenate(b)).fun


@pytest.mark.parametrize("seed", range(5))
def test_few_binding_words_give_the_whole_program(seed):
    rng = np.random.default_rng(seed)
    C = rng.random((int(rng.integers(2, 25)), int(rng.integers(2, 25))))
    found = one_word_penalty(C)
    assert found.low == pytest.approx(whole_program(C), rel=1e-9, abs=1e-12)
    assert found.is_exact
    apart = C - C[:, [found.word]]
    assert np.maximum(-apart, 0).sum(axis=0).max() <= found.low + 1e-12
    assert found.low <= np.maximum(apart.max(axis=1), 0).sum() + 1e-12


def test_the_closed_form_that_is_usually_quoted_is_no_bound():
    C = np.array([[1, 1, 1], [2.1, 0.5, 0.5], [0.5, 2.1, 0.5], [0.5, 0.5, 2.1]]).T
    quoted = np.abs(C - C[:, [0]]).sum(axis=0).max() / 2
    assert quoted == pytest.approx(1.05)
    assert one_word_penalty(C).low == pytest.approx(3.0)


@pytest.mark.parametrize("norm", ["max", "euclidean"])
@pytest.mark.parametrize("smoothness", [0.0, 0.01, 1.0])
def test_above_it_there_is_one_word_and_below_it_there_are_two(norm, smoothness):
    C, L = random_costs(14, 6, 3), laplacian(graph(14, 3))
    least = one_word_penalty(C, norm)

    def active(share):
        problem = SparseAssignment(C, share * least.low, L, smoothness, norm)
        found = solve(problem, AssignmentConic(accuracy=1e-11), tol=1e-7)
        return (problem.matrix(found.x).max(axis=0) > 1e-4).sum()

    assert active(1.02) == 1
    assert active(0.98) >= 2


@pytest.mark.parametrize("norm", ["max", "euclidean"])
@pytest.mark.parametrize("share", [1.0, 1.5, 10.0])
def test_its_prices_prove_the_word(norm, share):
    C = random_costs(30, 8, 4)
    least = one_word_penalty(C, norm)
    problem = SparseAssignment(C, share * least.high, norm=norm)
    U = np.zeros(C.shape)
    U[:, least.word] = 1.0
    G = least.prices(C, share * least.high, norm)
    proof = problem.certify(U.ravel(), AssignmentDual(G))
    assert proof.gap <= 1e-9 * proof.scale


def test_beyond_fifty_thousand_entries_there_are_bounds():
    exact = one_word_penalty(random_costs(5_000, 10, 0))
    bounded = one_word_penalty(random_costs(5_001, 10, 0))
    assert exact.is_exact
    assert 0.0 < bounded.low < bounded.high
    assert one_word_penalty(random_costs(5_001, 10, 0), "euclidean").is_exact


def test_a_word_that_is_best_for_all_items_needs_no_penalty():
    C = np.array([[0.0, 1.0], [0.0, 2.0]])
    assert one_word_penalty(C).low == 0.0
    assert one_word_penalty(C, "euclidean").low == 0.0
    assert one_word_penalty(C[:, :1]).low == 0.0


@pytest.mark.parametrize("spread", [1e-4, 1e-7, 1e-10, 1e-13])
def test_costs_that_hardly_differ_give_the_same_penalty_in_their_own_units(spread):
    rng = np.random.default_rng(0)
    apart = rng.normal(size=(120, 12))
    found = one_word_penalty(spread * apart)
    assert found.is_exact
    assert found.low == pytest.approx(spread * one_word_penalty(apart).low, rel=1e-6)
    # About a level their differences are rounded, and a proof is still one.
    found = one_word_penalty(3.0 + spread * apart)
    rest = 3.0 + spread * apart
    rest = rest - rest[:, [found.word]]
    short = -np.minimum(found.offers[:, None], rest).sum(axis=0).min()
    assert short <= 1e-6 * found.high


def test_where_the_program_has_no_solution_there_are_bounds(monkeypatch):
    C = random_costs(30, 8, 4)
    exact = one_word_penalty(C)
    monkeypatch.setattr(one_word, "_over_words", lambda *_: None)
    bounded = one_word_penalty(C)
    assert not bounded.is_exact
    assert bounded.low <= exact.low <= bounded.high
    assert bounded.offers.sum() == pytest.approx(bounded.high)


def test_offers_that_leave_a_word_short_are_not_taken_for_a_solution(monkeypatch):
    C = random_costs(30, 8, 4)
    monkeypatch.setattr(one_word, "_over_words", lambda apart, *_: np.zeros(len(apart)))
    assert not one_word_penalty(C).is_exact
