"""What a selection decides: thresholds, ties, closed forms, warnings."""

import warnings

import numpy as np
import pytest

from counterpoise.data import memory_budget
from counterpoise.optim.assignment import problem as one_word
from counterpoise.optim.assignment.local_search import improved_set
from counterpoise.optim.assignment.problem import SparseAssignment
from counterpoise.optim.assignment.selection_problem import twins
from counterpoise.optim.assignment.solvers import BestAssignment
from counterpoise.selection import (
    Prototypes,
    SubsetSelector,
    select_classes,
    select_representatives,
)
from counterpoise.selection import classes as class_rules
from counterpoise.selection.subset_selector import (
    active_words,
    as_laplacian,
    check_size,
)
from counterpoise.weights.partial import (
    auto_sparsity,
    classes_by_probabilities,
    neighbor_laplacian,
)


def test_a_word_is_active_above_a_thousandth():
    shares = np.array([[1e-3, 1.0 - 1e-3, 0.0], [0.0, 1.0, 0.0]])
    assert active_words(shares, 3).tolist() == [False, True, False]
    shares[0, 0] = 1.0001e-3
    assert active_words(shares, 3).tolist() == [True, True, False]


def test_words_that_must_be_there_are_active_whoever_takes_them():
    R = np.array([[0.0, 9.0], [0.0, 9.0]])
    fitted = SubsetSelector("precomputed", penalty=0.1).fit(R, must_include=[1])
    assert fitted.active_.tolist() == [0, 1]
    assert fitted.selected_.tolist() == [0]


def items():
    return np.random.default_rng(0).normal(size=(12, 2))


def test_from_a_sparsity_of_one_on_there_is_one_word_without_iterations():
    fitted = SubsetSelector(sparsity=1.0).fit(items())
    assert fitted.n_iter_ == 0
    assert fitted.active_.size == 1
    # Other costs, or an outlier word: nothing is known in advance.
    costs = np.ones(12)
    costs[0] = 2.0
    assert SubsetSelector(sparsity=1.0).fit(items(), candidate_costs=costs).n_iter_ > 0
    with_outlier = SubsetSelector(sparsity=1.0, outlier_cost=0.1).fit(items())
    assert with_outlier.selected_.size == 0


def test_a_word_that_is_best_for_all_is_the_only_one_at_any_sparsity():
    R = np.array([[0.0, 0.0], [1.0, 0.0]])
    for sparsity in (0.0, 0.5):
        fitted = SubsetSelector("precomputed", sparsity).fit(R)
        assert fitted.selected_.tolist() == [1]


def test_the_program_is_exact_up_to_its_size_and_bounded_beyond(monkeypatch):
    C = np.random.default_rng(0).random((6, 5))
    monkeypatch.setattr(one_word, "LARGEST_PROGRAM", 30)
    assert one_word.one_word_penalty(C).is_exact
    monkeypatch.setattr(one_word, "LARGEST_PROGRAM", 29)
    found = one_word.one_word_penalty(C)
    assert found.low < found.high
    selector = SubsetSelector("precomputed", 0.5).fit(C)
    assert selector.lambda_max_ == selector.lambda_max_bounds_[0]
    assert one_word.one_word_penalty(C, "euclidean").is_exact


def test_of_equal_words_the_first_of_the_cheapest_stands_for_all():
    R = np.array([[1.0, 1.0, 1.0, 2.0]])
    assert twins(R, np.array([1.0, 1.0, 1.0, 1.0])).tolist() == [0, 0, 0, 3]
    assert twins(R, np.array([1.0, 0.5, 0.5, 1.0])).tolist() == [1, 1, 1, 3]


def test_twins_stay_where_a_graph_has_a_say():
    R = np.array([[0.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    plain = SubsetSelector("precomputed", penalty=1e-3).fit(R)
    assert plain.active_.tolist() == [0, 2]
    smooth = SubsetSelector("precomputed", penalty=1e-3, smoothness=20.0, tol=1e-6)
    assert smooth.fit(R, graph=W).active_.tolist() == [0, 1, 2]


def test_of_equally_near_words_the_first_is_taken():
    R = np.array([[2.0, 2.0, 3.0], [1.0, 4.0, 0.0], [4.0, 1.0, 2.0]])
    fitted = SubsetSelector("precomputed", 0.0).fit(R)
    assert fitted.labels_.tolist() == [0, 2, 1]
    assert fitted.predict([[1.0, 1.0, 1.0]]).tolist() == [0]


def test_an_item_is_an_outlier_where_no_selected_word_is_as_near():
    X = np.array([[0.0], [0.1], [10.0]])
    fitted = SubsetSelector(penalty=0.01, outlier_cost=4.0).fit(X, candidates=X[:2])
    assert fitted.labels_[2] == -1
    word = float(fitted.words_[fitted.selected_[0], 0])
    assert fitted.predict([[word + 2.0], [word + 2.001]]).tolist() == [0, -1]


@pytest.mark.parametrize(("sparsity", "says"), [(0.499, True), (0.5, False)])
def test_one_label_below_half_the_sparsity_is_said_to_be_the_graphs(sparsity, says):
    W = np.ones((12, 12)) - np.eye(12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SubsetSelector(sparsity=sparsity, smoothness=1e6).fit(items(), graph=W)
    assert any("merges all items" in str(one.message) for one in caught) == says


def test_items_without_weight_are_no_words():
    weights = np.r_[np.zeros(4), np.ones(8)]
    fitted = SubsetSelector(sparsity=0.0).fit(items(), sample_weight=weights)
    assert fitted.active_.min() >= 4
    given = SubsetSelector(sparsity=0.0).fit(
        items(), candidates=items(), sample_weight=weights
    )
    assert given.active_.min() == 0


def test_a_graph_may_be_symmetric_up_to_rounding():
    W = np.array([[0.0, 1.0], [1.0 + 0.9e-10, 0.0]])
    assert as_laplacian(W, 2).shape == (2, 2)
    W[1, 0] = 1.0 + 1.1e-10
    with pytest.raises(ValueError, match="must be symmetric"):
        as_laplacian(W, 2)


def test_what_fits_into_the_budget_is_taken():
    with memory_budget(8 * 8 * 6):
        check_size(2, 3)
    with memory_budget(8 * 8 * 6 - 1), pytest.raises(ValueError, match="GiB"):
        check_size(2, 3)


def test_a_gap_within_rounding_is_none():
    problem = SparseAssignment(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.1)
    x = problem.start()
    assert problem.claim(x, 1.0, 1.0 - 1.8e-15).gap == 0.0
    assert problem.claim(x, 1.0, 1.0 - 2.7e-15).gap > 0.0
    assert problem.claim(x, 1.0, 1.1).gap == 0.0


def test_a_word_with_an_entry_of_one_half_is_tried_as_a_whole():
    C = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0]])
    problem = SparseAssignment(C, 1e-3)
    begun = BestAssignment.at(problem, None)
    half = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    found = begun.or_rounded(problem, half)
    np.testing.assert_array_equal(found.U, [[1, 0, 0], [0, 1, 0]])
    low = begun.or_rounded(problem, np.array([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3]]))
    np.testing.assert_array_equal(low.U, [[1, 0, 0], [0, 1, 0]])


def test_of_words_that_tie_in_a_set_the_first_stays():
    C = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert improved_set(C, np.array([1, 2]), np.full(3, 0.1)).tolist() == [1]


def test_the_largest_sparsity_of_a_word_is_where_it_enters():
    fitted = SubsetSelector(sparsity=0.2).fit(items())
    path = fitted.path([0.01, 0.1, 0.4, 1.0])
    assert np.nanmax(path.enters) == 1.0
    assert np.isnan(path.enters).any()
    for word in range(12):
        where = path.sparsities[path.active[:, word]]
        expected = where.max() if where.size else np.nan
        np.testing.assert_equal(path.enters[word], expected)
    assert path.active[0].sum() > path.active[-1].sum() == 1


def test_a_class_is_present_above_two_thousandths():
    p = np.zeros((1000, 3))
    p[:, 0] = 1.0
    p[:2] = [0.0, 1.0, 0.0]
    p[2:5] = [0.0, 0.0, 1.0]
    found = classes_by_probabilities(
        np.arange(3), p, None, sparsity=0.0, smoothness=0.0
    )
    assert found.shares.tolist() == [0.995, 0.002, 0.003]
    assert found.present.tolist() == [True, False, True]


def test_probabilities_below_a_millionth_cost_no_more():
    p = np.array([[0.0, 1.0], [1.0, 0.0], [1e-6, 1.0 - 1e-6]])
    found = classes_by_probabilities(
        np.arange(2), p, None, sparsity=1.0, smoothness=0.0
    )
    value = found.solution.certificate.objective
    assert np.isfinite(value)
    least = -np.log(1e-6) / 3
    lam = one_word.one_word_penalty(-np.log(np.maximum(p, 1e-6)) / 3).low
    assert value == pytest.approx(least + lam, rel=1e-5)


def test_the_auto_sparsity_goes_by_the_classes_not_in_effect():
    sparsity, costs = auto_sparsity(np.array([0.5, 0.5, 0.0, 0.0]))
    assert sparsity == pytest.approx(0.075)
    assert costs.tolist() == [0.0, 0.0, 1.0, 1.0]
    # Half of an even share is free, and just below it nearly so.
    shares = np.array([0.25, 0.25, 0.25, 0.125, 0.125, 0.0])
    effective = 1.0 / (shares @ shares)
    _, costs = auto_sparsity(shares)
    np.testing.assert_allclose(costs[3], max(1 - 2 * effective * 0.125, 0))
    assert auto_sparsity(np.full(4, 0.25))[0] == 0.0
    recalls = np.array([1.0, 1.0, 0.3, 0.5])
    _, found = auto_sparsity(np.array([0.5, 0.5, 0.0, 0.0]), recalls)
    np.testing.assert_allclose(found, [0.0, 0.0, 0.6, 1.0])


@pytest.mark.parametrize(("limit", "says"), [(1.0, True), (0.0, False)])
def test_an_unsure_classifier_is_told_of_below_the_limit(monkeypatch, limit, says):
    X = np.vstack([items(), items() + 5.0])
    y = np.repeat([0, 1], 12)
    monkeypatch.setattr(class_rules, "UNSURE_BELOW", limit)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        select_classes(X, y, X)
    assert any("unsure" in str(one.message) for one in caught) == says


def test_at_the_limit_a_classifier_is_sure_enough():
    assert class_rules.UNSURE_BELOW == 0.4
    found = classes_by_probabilities(
        np.arange(3), np.tile([0.4, 0.3, 0.3], (5, 1)), None, smoothness=0.0
    )
    assert not found.confidence < class_rules.UNSURE_BELOW


def test_neighbors_are_at_most_all_other_rows_and_count_both_ways():
    L = neighbor_laplacian(np.array([[0.0], [1.0], [1.5]]), 1).toarray()
    assert L.tolist() == [[1, -1, 0], [-1, 2, -1], [0, -1, 1]]
    assert neighbor_laplacian(np.arange(3.0)[:, None], 9).trace() == 6


def made(objective, bound):
    none = np.zeros(0, dtype=int)
    return Prototypes(none, none, objective, 0.0, objective, bound)


def test_a_choice_at_its_bound_has_a_ratio_of_one():
    assert made(0.0, 0.0).ratio == 1.0
    assert made(2.0, 2.0).ratio == 1.0
    assert made(3.0, 2.0).ratio == 1.5
    assert made(1.0, 0.0).ratio == np.inf


def test_rows_to_label_come_best_first_and_are_none_of_those_labeled():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [5.2], [9.0]])
    first, second = select_representatives(X, 2)
    assert first in (2, 3, 4)
    assert second in (0, 1)
    assert 3 not in select_representatives(X, 3, labeled=[3])
    equal = np.array([[0.0], [0.0], [0.0], [5.0]])
    assert select_representatives(equal, 3, labeled=[0]).tolist() == [3, 1, 2]
    with pytest.raises(ValueError, match="at most 5"):
        select_representatives(X, 6, labeled=[3])
