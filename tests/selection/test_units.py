"""What is selected does not depend on the unit of dissimilarities or weights."""

import warnings

import numpy as np
import pytest
from optim.assignment.random_assignments import graph, random_costs
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from counterpoise.optim.assignment.problem import (
    AssignmentDual,
    SparseAssignment,
    one_word_penalty,
)
from counterpoise.selection import SubsetSelector, select_prototypes

UNITS = (1e-150, 1e-75, 1e-10, 1e10, 1e75, 1e137)


def dissimilarities():
    return 100 * random_costs(14, 9, 3)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("norm", ["max", "euclidean"])
def test_the_penalty_of_one_word_has_the_unit_of_the_costs(unit, norm):
    R = dissimilarities()
    one, scaled = one_word_penalty(R, norm), one_word_penalty(unit * R, norm)
    assert scaled.word == one.word
    assert scaled.low == pytest.approx(unit * one.low, rel=1e-9)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("norm", ["max", "euclidean"])
@pytest.mark.parametrize("solver", ["auto", "conic"])
def test_selections_are_the_same_in_every_unit(unit, norm, solver):
    R = dissimilarities()
    selector = SubsetSelector("precomputed", 0.2, norm=norm, solver=solver)
    one = selector.fit(R).solution_.certificate
    scaled = selector.fit(unit * R).solution_
    assert scaled.converged
    assert scaled.certificate.objective == pytest.approx(unit * one.objective, 3e-4)
    assert scaled.certificate.bound <= unit * one.objective * (1 + 1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e137])
def test_prototypes_are_the_same_in_every_unit(unit):
    R = dissimilarities()
    one = select_prototypes(R, 3, dissimilarity="precomputed")
    scaled = select_prototypes(unit * R, 3, dissimilarity="precomputed")
    assert scaled.cost == pytest.approx(unit * one.cost, rel=1e-9)
    assert scaled.bound <= scaled.cost
    assert scaled.ratio == pytest.approx(one.ratio, rel=1e-2)


def test_prices_too_small_to_be_squared_are_scaled_down_all_the_same():
    unit = 1e-170
    problem = SparseAssignment(unit * np.zeros((3, 2)), unit, norm="euclidean")
    claimed = problem.excess_bound(AssignmentDual(np.full((3, 2), 50 * unit)))
    assert claimed == pytest.approx(unit * np.sqrt(3.0))


def test_a_graph_says_nothing_about_items_that_are_alike():
    # In floating point the rows of a Laplacian do not add up to zero.
    W = graph(40, 0, share=0.9) * 1e6
    L = np.diag(W.sum(axis=1)) - W.toarray()
    problem = SparseAssignment(np.zeros((40, 3)), 0.0, sparse.csc_array(L), 1.0)
    U = np.full((40, 3), 1 / 3)
    assert problem.value(U.ravel()) == 0.0
    assert not problem.gradient(U.ravel()).any()
    rough = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    assert problem.value(rough.ravel()) == pytest.approx(np.trace(rough.T @ L @ rough))
    expected = 2 * (L @ rough).ravel()
    np.testing.assert_allclose(problem.gradient(rough.ravel()), expected, atol=1e-6)


@pytest.mark.parametrize("norm", ["max", "euclidean"])
def test_costs_far_below_the_graph_are_not_claimed_to_be_solved(norm):
    R = 1e-40 * dissimilarities()
    selector = SubsetSelector("precomputed", 0.1, 1.0, norm=norm, max_iter=400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="one label is left")
        selector.fit(R, graph=graph(14, 1))
    proved = selector.solution_.certificate
    assert proved.objective > 0.0
    assert proved.bound <= proved.objective


def test_weights_whose_sum_is_beyond_the_largest_number_count_by_their_ratios():
    R = dissimilarities()
    selector = SubsetSelector("precomputed")
    usual = selector.fit(R).assignment_
    huge = selector.fit(R, sample_weight=np.full(14, 1e308)).assignment_
    np.testing.assert_array_equal(usual, huge)
