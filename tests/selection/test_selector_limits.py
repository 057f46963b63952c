"""A selector at the ends of its range: free words, far penalties, no time."""

import numpy as np
import pytest
from optim.assignment.random_assignments import graph
from sklearn.exceptions import ConvergenceWarning

from counterpoise.selection import SubsetSelector


def points(n=30):
    return np.random.default_rng(0).normal(size=(n, 2))


def test_a_penalty_far_above_is_one_word_without_the_program():
    X = points()
    selector = SubsetSelector(penalty=1e4).fit(X)
    assert selector.active_.tolist() == selector.selected_.tolist()
    assert selector.selected_.size == 1
    assert selector.n_iter_ == 0
    assert "one_word" not in selector.problem_.__dict__


def test_words_may_all_be_free():
    X = points(6)
    free = SubsetSelector(sparsity=0.5).fit(X, candidate_costs=np.zeros(6))
    assert free.selected_.tolist() == list(range(6))


def test_a_search_that_was_cut_short_does_not_blame_the_graph():
    X = points(12)
    selector = SubsetSelector(smoothness=0.1, max_time=0.0)
    with pytest.warns(ConvergenceWarning) as caught:
        selector.fit(X, graph=graph(12, 1))
    assert len(caught) == 1


def test_what_is_given_is_left_as_it_was():
    X = points(12)
    W, costs = graph(12, 1).toarray(), np.ones(12)
    for one in (X, W, costs):
        one.setflags(write=False)
    selector = SubsetSelector(smoothness=0.01, outlier_cost=9.0)
    selector.fit(
        X, graph=W, sample_weight=costs, candidate_costs=costs, must_include=[3]
    )
    assert costs.tolist() == [1.0] * 12
