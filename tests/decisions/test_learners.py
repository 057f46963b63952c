"""Votes and ties, the best interval of a curve, what counts as a neighbor."""

import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVC

from counterpoise.data import memory_budget
from counterpoise.errors import InvalidInputError
from counterpoise.models import WeightedKernelRidge
from counterpoise.models.boosting import (
    BoostedClassifier,
    BoostedRegressor,
    QuantileBins,
    boosting_for,
    boosting_of,
)
from counterpoise.networks import ConvexNetworkClassifier, InfeasibleConstraintError
from counterpoise.networks import constraints as infeasible
from counterpoise.networks.base import warm_start_weights
from counterpoise.networks.constraints import (
    MeanInterval,
    NetworkRows,
    OutputLimits,
    Units,
    column_spreads,
)
from counterpoise.optim.dc_network.constraints import BestOfAll, MeanWithin
from counterpoise.optim.dc_network.network import Network, NetworkObjective, Sigmoid
from counterpoise.svm import ValidationCurve, WeightedSVC
from counterpoise.svm.path import (
    Trace,
    average_curve,
    confidences,
    flips,
    ndcg,
    votes,
    winners,
)
from counterpoise.twin_gp.approximations import (
    build,
    first_ones,
    lightest,
    too_light,
)
from counterpoise.twin_gp.estimators import TwinAnswers, warn_of_answers
from counterpoise.twin_gp.problem import Settings, TwinRows, width_rule
from counterpoise.twin_gp.search import (
    Axis,
    check_widths,
    held_out_score,
    search,
    splits,
)

# -- support vector machines -----------------------------------------------------------


def test_a_value_of_zero_is_for_the_second_of_two_classes_and_no_vote_of_the_first():
    assert winners(np.array([[0.0], [-1e-9]]), 2).tolist() == [1, 0]
    assert votes(np.array([[0.0, 1.0, 1.0]]), 3).tolist() == [[1.0, 2.0, 0.0]]


def test_of_equal_votes_the_first_class_wins_unless_ties_are_broken_by_values():
    # Each class wins one duel; the third by far.
    cycle = np.array([[0.1, -0.1, 2.0]])
    assert votes(cycle, 3).tolist() == [[1.0, 1.0, 1.0]]
    assert winners(cycle, 3).tolist() == [0]
    assert np.argmax(confidences(cycle, 3)) == 1


def test_votes_and_confidences_give_a_value_of_zero_to_the_same_class():
    values = np.array(list(product([-1.0, 0.0, 1.0], repeat=6)))
    # What is added to the votes is less than a third.
    assert np.array_equal(confidences(values, 4).round(), votes(values, 4))
    # The origin lies between the first two classes, and far from the third.
    X, y, origin = [[-1.0, 0.0], [1.0, 0.0], [0.0, 8.0]], [0, 1, 2], [[0.0, 0.0]]
    theirs = SVC(kernel="linear").fit(X, y).predict(origin).tolist()
    for break_ties in (False, True):
        model = WeightedSVC(kernel="linear", break_ties=break_ties).fit(X, y)
        assert model.predict(origin).tolist() == theirs == [1]
        assert model.decision_function(origin).argmax() == 1
    path = WeightedSVC(kernel="linear").fit(X, y)
    path = path.path(C=(1.0, 2.0), X_val=origin, y_val=[1])
    assert path.validation_error.at(1.0) == 0.0


def svc(**how):
    X = np.array([[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]])
    return WeightedSVC(kernel="linear", **how).fit(X, [0, 0, 1, 1, 2, 2])


def test_ties_are_not_broken_where_values_are_one_against_one():
    model = svc(break_ties=True, decision_function_shape="ovo")
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict([[0.0]])
    with pytest.raises(ValueError, match="break_ties must be False"):
        svc(break_ties=True).path(C=(1.0, 2.0), X_val=[[0.0]], y_val=[0])


def test_a_class_must_have_a_row_of_positive_weight():
    with pytest.raises(ValueError, match="class 1 has no row of positive weight"):
        WeightedSVC().fit([[0.0], [1.0]], [0, 1], [1.0, 0.0])


def test_balanced_classes_count_by_the_weight_of_their_rows():
    model = WeightedSVC(class_weight="balanced")
    model.fit([[0.0], [1.0], [2.0]], [0, 1, 1], [3.0, 1.0, 0.0])
    assert model.class_weight_ == pytest.approx([4 / (2 * 3.0), 4 / (2 * 1.0)])


def curve(thetas, values, slopes=None, stop=1.0):
    slopes = np.zeros(len(thetas)) if slopes is None else np.array(slopes)
    return ValidationCurve("error", np.array(thetas), np.array(values), slopes, stop)


def test_the_best_theta_is_the_middle_of_the_longest_interval_of_the_least_loss():
    found = curve([0.0, 0.2, 0.3, 0.7], [0.1, 0.2, 0.1, 0.3])
    assert found.optimal_intervals == ((0.0, 0.2), (0.3, 0.7))
    assert found.best_interval == (0.3, 0.7)
    assert found.best_theta == pytest.approx(0.5)
    # Neighboring pieces of the least loss are one interval.
    assert curve([0.0, 0.5], [0.1, 0.1]).optimal_intervals == ((0.0, 1.0),)


def test_where_a_curve_jumps_it_has_the_limit_from_above():
    found = curve([0.0, 0.5], [0.1, 0.2])
    assert (found.at(0.5 - 1e-9), found.at(0.5)) == (0.1, 0.2)
    with pytest.raises(ValueError, match="theta must be between"):
        found.at(1.0 + 1e-9)


def test_curves_of_folds_are_averaged_on_the_union_of_their_breakpoints():
    a, b = curve([0.0, 0.5], [0.0, 1.0]), curve([0.0, 0.25], [1.0, 0.0])
    mean = average_curve([a, b])
    assert mean.thetas.tolist() == [0.0, 0.25, 0.5]
    assert mean.values.tolist() == [0.5, 0.0, 0.5]
    assert average_curve([a, b], [3.0, 1.0]).values.tolist() == [0.25, 0.0, 0.75]


def test_a_value_of_exactly_zero_keeps_the_side_it_came_from():
    def crossings(values):
        # Pieces from 0 to 1, 1 to 2, ..., linear between the values.
        values = np.array(values, dtype=float)[:, None]
        starts = np.arange(len(values) - 1.0)
        trace = Trace(
            starts, float(starts.size), values[:-1], np.diff(values, axis=0), values[-1]
        )
        return flips(trace).thetas.tolist()

    assert crossings([1.0, 0.0, 1.0]) == []
    assert len(crossings([1.0, 0.0, -1.0])) == 1
    assert crossings([1.0, -1.0]) == [0.5]


def test_rows_of_one_score_stand_in_their_order():
    grades = np.array([1.0, 0.0])
    assert ndcg(grades, np.zeros(2)) == 1.0
    assert ndcg(grades[::-1], np.zeros(2)) == pytest.approx(1 / np.log2(3))


# -- boosting --------------------------------------------------------------------------


def test_a_table_of_numbers_goes_to_the_estimator_itself():
    alone = boosting_for([[1.0]], classes=True, seed=0)
    assert isinstance(alone, HistGradientBoostingClassifier)
    mixed = boosting_for([["a", 1.0], ["b", 2.0]], classes=False, seed=0)
    assert type(mixed).__name__ == "Pipeline"
    assert mixed["model"].categorical_features == [1]


def test_trees_are_small_and_stop_early():
    for classes in (False, True):
        trees = boosting_for([[1.0]], classes=classes, seed=0)
        assert (trees.max_leaf_nodes, trees.early_stopping) == (15, True)
        assert trees.validation_fraction == 0.1


@pytest.mark.parametrize(
    ("of_classes", "stops"),
    [((198, 2), True), ((199, 1), False), ((197, 2), False), ((90, 90, 20), True)],
)
def test_no_rows_are_held_out_of_few_or_of_a_class_that_has_one(of_classes, stops):
    y = np.repeat(np.arange(len(of_classes)), of_classes)
    x = np.random.default_rng(0).normal(size=(y.size, 1))
    model = BoostedClassifier(
        early_stopping=True, max_iter=50, n_iter_no_change=1, tol=1.0
    ).fit(x, y)
    assert (model.n_iter_ < 50) is stops
    assert model.early_stopping is True


@pytest.mark.parametrize(("n", "stops"), [(199, False), (200, True)])
def test_numbers_are_held_out_of_two_hundred_rows_or_more(n, stops):
    x = np.random.default_rng(0).normal(size=(n, 1))
    model = BoostedRegressor(
        early_stopping=True, max_iter=50, n_iter_no_change=1, tol=1.0
    ).fit(x, x[:, 0])
    assert (model.n_iter_ < 50) is stops
    assert model.early_stopping is True


def test_no_rows_are_held_out_where_they_would_be_fewer_than_the_classes():
    x = np.arange(210.0)[:, None]
    for n_classes, stops in ((21, True), (22, False)):
        model = BoostedClassifier(
            early_stopping=True, max_iter=4, n_iter_no_change=1, tol=1.0
        ).fit(x, np.arange(210) % n_classes)
        assert (model.n_iter_ < 4) is stops


def test_only_crowded_columns_share_places():
    kinds = {"town": "categories", "color": "categories"}
    both = boosting_of(kinds, classes=True, seed=0, crowded=["town"])
    columns = {
        name: one for name, one, _ in both["columns"].transformers[0][1].transformers
    }
    assert columns["many"].max_categories == 254
    assert columns["few"].max_categories is None
    none = boosting_of(kinds, classes=True, seed=0)
    assert none["columns"].transformers[0][1].max_categories is None


def test_an_end_of_a_bin_belongs_to_the_bin_below_it():
    bins = QuantileBins().fit([[1.0], [2.0], [4.0]])
    assert bins.transform([[1.5], [1.5 + 1e-9], [np.nan]])[:2].ravel().tolist() == [
        0,
        1,
    ]
    assert np.isnan(bins.transform([[np.nan]])[0, 0])
    many = QuantileBins().fit(np.arange(256.0)[:, None]).edges_[0]
    assert many.size <= 254
    assert QuantileBins().fit(np.arange(255.0)[:, None]).edges_[0].size == 254


# -- neighbors and rows ---------------------------------------------------------------


def test_neighbors_are_counted_by_weight_and_the_last_gives_what_is_left():
    columns, used = first_ones(
        np.array([[5.0, 1.0, 3.0]]), np.array([1.0, 2.0, 2.0]), 3.0, 3
    )
    assert (columns.tolist(), used.tolist()) == ([[1, 2]], [[2.0, 1.0]])
    # A count that is reached exactly takes no further row.
    weight = np.array([0.7, 0.1, 0.5])
    assert weight[0] + weight[1] < 0.8
    columns, _ = first_ones(np.array([[1.0, 2.0, 3.0]]), weight, 0.8, 3)
    assert columns.tolist() == [[0, 1]]
    # Of equal distances the first row comes first.
    columns, _ = first_ones(np.zeros((1, 3)), np.ones(3), 2.0, 3)
    assert columns.tolist() == [[0, 1]]


def test_as_many_rows_can_be_needed_as_the_lightest_take_to_reach_the_count():
    assert lightest(np.array([5.0, 1.0, 1.0]), 2.0) == 2
    assert lightest(np.array([5.0, 1.0, 1.0]), 2.1) == 3
    assert lightest(np.array([1.0, 1.0]), 9.0) == 2


def test_a_count_that_all_weights_together_do_not_reach_is_told():
    assert too_light("n", np.full(9, 0.1), 5.0) is not None
    assert too_light("n", np.full(9, 1.0), 5.0) is None
    # As many rows as the count, or fewer, cannot reach it.
    assert too_light("n", np.full(5, 0.1), 5.0) is None


def test_copies_are_merged_and_their_weights_added_whatever_the_sign_of_zero():
    rows = TwinRows.merged(
        np.array([[-0.0], [0.0], [1.0], [2.0]]),
        np.zeros((4, 1)),
        np.array([1.0, 2.0, 1.0, 0.0]),
    )
    assert rows.weight.tolist() == [3.0, 1.0]
    assert not np.signbit(rows.X).any()
    assert width_rule(np.array([[0.0], [2.0]]), np.ones(2)) == 0.25
    assert width_rule(np.ones((3, 1)), np.ones(3)) == 1.0


def rows_of(n, weight=None):
    x = np.linspace(0.0, 1.0, n)[:, None]
    return TwinRows(x, x, np.ones(n) if weight is None else weight, np.arange(n))


def settings(gamma_y=1.0, ridge=1e-3):
    return Settings("sharma-mittal", 0.5, 1.0, gamma_y, ridge, ridge)


def test_a_row_whose_noise_drowns_it_is_not_heard():
    loud = rows_of(3, np.array([1.0, 1e-12, 1.1e-12]))
    assert loud.heard(1e-3).weight.tolist() == [1.0, 1.1e-12]
    # Where none is heard, or all are, they stay.
    assert len(rows_of(3, np.full(3, 1e-20)).heard(1.0)) == 3


def model_of(n, build=build, **how):
    return type(build(rows_of(n), settings(**how), "auto", None)).__name__


def test_all_rows_are_used_up_to_five_hundred_and_landmarks_beyond():
    assert model_of(500) == "ExactModel"
    assert model_of(501) == "LandmarkModel"
    # An output kernel so narrow that landmarks do not stand for it.
    assert model_of(501, gamma_y=1e6) == "ExactModel"
    neighbors = build(rows_of(9), settings(), "auto", 3)
    assert type(neighbors).__name__ == "LocalModel"
    assert type(build(rows_of(9), settings(), 4, None)).__name__ == "LandmarkModel"


def test_a_search_uses_all_rows_up_to_two_hundred():
    def rough(n, **how):
        return type(build(rows_of(n), settings(**how), "search", None)).__name__

    assert (rough(200), rough(201)) == ("ExactModel", "LandmarkModel")
    assert rough(201, gamma_y=1e6) == "ExactModel"


# -- what is said of answers -----------------------------------------------------------


def answers(outputs, moved, lost=False, residual=0.0):
    outputs = np.array([[outputs]])
    one = np.ones(1)
    return TwinAnswers(outputs, 0 * one, residual * one, moved * one, np.array([lost]))


def said(one, gamma_y=0.5):
    rows = TwinRows(
        np.zeros((2, 1)), np.array([[-9.0], [9.0]]), np.ones(2), np.arange(2)
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_of_answers(one, rows, gamma_y, 1e-6)
    return [str(warning.message) for warning in seen]


def test_an_answer_like_no_training_output_is_told_by_whether_it_has_moved_there():
    # Three widths of one: outputs further than three from both are like none.
    assert said(answers(6.01, 0.0)) == []
    assert "are like no training output" in said(answers(5.99, 3.0))[0]
    assert "have left the training outputs" in said(answers(5.99, 3.01))[0]
    assert "GPR mean" in said(answers(9.0, 0.0, lost=True))[0]
    assert said(answers(9.0, 0.0, residual=1e-6)) == []
    assert "did not reach tol" in said(answers(9.0, 0.0, residual=1.1e-6))[0]


# -- the search ------------------------------------------------------------------------


def test_a_quarter_is_held_out_or_every_fifth_part_in_turn():
    assert [len(out) for _, out in splits(rows_of(8), "holdout", 0, False)] == [2]
    assert [len(out) for _, out in splits(rows_of(10), "kfold", 0, False)] == [2] * 5
    with pytest.raises(ValueError, match="needs groups"):
        splits(rows_of(8), "groups", 0, False)
    grouped = TwinRows(
        np.zeros((8, 1)), np.zeros((8, 1)), np.ones(8), np.repeat([0, 1], 4)
    )
    (_, out), *_ = splits(grouped, "holdout", 0, True)
    assert len(set(grouped.group[out])) == 1


def test_held_out_rows_count_by_weight_only_where_that_is_asked_for():
    rows = TwinRows(
        np.zeros((2, 1)), np.array([[0.0], [4.0]]), np.array([3.0, 1.0]), np.arange(2)
    )
    parts = [(np.array([0, 1]), np.array([0, 1]))]

    def nothing(fit, X):
        return np.zeros((len(X), 1))

    assert held_out_score(rows, parts, nothing, False) == 2.0
    assert held_out_score(rows, parts, nothing, True) == 1.0


def axes_of(n):
    values = tuple(float(k) for k in range(n))
    return {"a": Axis(values, values)}


def test_a_grid_of_thirty_points_is_tried_whole_and_a_larger_one_in_part():
    def first_round(n):
        asked = []
        search(axes_of(n), lambda one: asked.append(one) or 0.0, budget=200)
        return len(asked)

    assert first_round(30) == 30
    assert first_round(31) < 31


def test_the_budget_ends_a_search_and_that_is_told():
    found = search(axes_of(40), lambda one: abs(one["a"] - 20.0), budget=14)
    assert found.exhausted
    few = search(axes_of(40), lambda one: abs(one["a"] - 20.0), budget=10)
    assert few.results["score"].size == 10
    found = search(axes_of(40), lambda one: abs(one["a"] - 20.0), budget=60)
    assert (found.best["a"], found.exhausted) == (20.0, False)


def test_an_end_of_an_axis_matters_if_the_next_one_inside_is_clearly_worse():
    def edges(next_one):
        scores = {0.0: 1.0, 1.0: next_one, 2.0: 9.0}
        return search(axes_of(3), lambda one: scores[one["a"]]).edges

    assert edges(1.0051) == ("a",)
    assert edges(1.0049) == ()


def test_a_ridge_below_1e_8_is_warned_of_unless_a_search_chooses_it():
    with pytest.warns(UserWarning, match="is below 1e-08"):
        check_widths({"ridge_x": 0.9e-8})
    check_widths({"ridge_x": 1e-8})
    check_widths({"ridge_x": 0.9e-8}, warn_of_ridges=False)


# -- networks with constraints ---------------------------------------------------------


def network_giving(z, classes):
    """Return a fitted classifier whose outputs are given."""
    net = ConvexNetworkClassifier()
    net.classes_ = np.array(classes)
    net.outputs = lambda X: np.asarray(z, dtype=float)
    return net


def test_an_output_of_exactly_one_half_is_for_the_first_class():
    net = network_giving([[0.5], [0.5 + 1e-12]], ["a", "b"])
    assert net.predict(None).tolist() == ["a", "b"]


def test_of_equal_outputs_the_first_class_wins_and_the_largest_has_all_where_none_is_positive():  # noqa: E501
    z = [[0.2, 0.4, 0.4], [-0.3, -0.1, 0.0], [-0.3, -0.1, -0.2]]
    net = network_giving(z, ["a", "b", "c"])
    assert net.predict(None).tolist() == ["b", "c", "b"]
    expected = [[0.2, 0.4, 0.4], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    np.testing.assert_allclose(net.predict_proba(None), expected)


def test_one_number_has_a_millionth_of_the_spread_and_a_pair_nothing():
    assert MeanInterval(3.0, 3.0, exact=True).ends(2.0) == (3.0 - 2e-6, 3.0 + 2e-6)
    assert MeanInterval(1.0, 3.0).ends(2.0) == (1.0, 3.0)


def test_the_price_of_one_number_has_a_sign_and_that_of_an_interval_has_none():
    one = np.zeros(1, dtype=int)
    limits = [MeanWithin(name, one, np.ones(1), 0.0, 1.0) for name in "ab"]
    rows = np.zeros((1, 1))
    found = OutputLimits(rows, limits, [True, False], 4.0, rows)
    prices = found.prices(np.array([2.0, 2.0]), np.array([0.0, 0.0]))
    assert prices == {"a": -0.5, "b": 0.5}


@pytest.mark.parametrize(
    ("excess", "layer", "proof"),
    [
        (1e-7, False, "these hidden layers"),
        (1.01e-7, False, "every function"),
        (0.0, True, "max_iter"),
    ],
)
def test_the_strongest_proof_is_told_and_a_tiny_excess_is_rounding(
    monkeypatch, excess, layer, proof
):
    best = BestOfAll(np.array([excess]), np.zeros((1, 1)))
    monkeypatch.setattr(infeasible, "best_of_all", lambda *given: best)
    network = SimpleNamespace(outputs=lambda x, rows: np.ones((1, 1)))
    training = SimpleNamespace(
        objective=SimpleNamespace(Y=np.zeros((1, 1)), network=network),
        rows=None,
        limits=(),
        output_layer=lambda x: SimpleNamespace(impossible=lambda: not layer),
        violations=lambda x: np.array([0.3]),
    )
    told, found = infeasible.strongest_proof(training, None)
    assert told == proof
    assert found.excess == ([excess] if proof == "every function" else [0.3])


def test_the_impossible_is_refused_before_any_round():
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    seen = []
    how = {"hidden_layer_sizes": (1,), "callback": seen.append, "random_state": 0}
    net = ConvexNetworkClassifier(class_error_bound=0.1, **how)
    with pytest.raises(InfeasibleConstraintError, match="every function"):
        net.fit(X, [0, 1, 0, 1])
    distinct = X + np.array([[0.0], [0.5], [0.0], [0.0]])
    net.set_params(group_means={"all": 0.0})
    with pytest.raises(InfeasibleConstraintError, match="every function"):
        net.fit(distinct, [0, 1, 0, 1], groups=["all"] * 4)
    assert seen == []


def test_equal_rows_are_one_and_rows_of_weight_zero_none():
    X = np.array([[1.0], [0.0], [1.0], [-0.0], [2.0]])
    rows = NetworkRows.merged(
        X, np.zeros(5), np.array([1.0, 2.0, 3.0, 0.5, 0.0]), np.zeros(5, dtype=int)
    )
    assert rows.X.ravel().tolist() == [0.0, 1.0]
    assert rows.weights.tolist() == [2.5, 4.0]


def test_the_fraction_held_out_is_of_every_class_and_rounded_down():
    y = np.array([0.0] * 8 + [1.0] * 4)
    rows = NetworkRows(np.arange(12.0)[:, None], y, np.ones(12), np.zeros(12, int))
    for seed in range(9):
        kept, held = rows.divided(0.3, True, np.random.RandomState(seed))
        assert np.bincount(held.y.astype(int)).tolist() == [2, 1]
        assert len(kept) == 9
    kept, held = rows.divided(0.3, False, np.random.RandomState(0))
    assert len(held) == 3


def test_a_constant_column_has_spread_one():
    share = np.array([0.1, 0.2, 0.7])
    # The first differs by no more than rounding does.
    X = np.column_stack([[1.0, 1.0 + 4e-15, 1.0], np.zeros(3), [1.0, 2.0, 3.0]])
    spreads = column_spreads(X, share)
    assert spreads[:2].tolist() == [1.0, 1.0]
    assert spreads[2] == pytest.approx(np.sqrt(share @ (X[:, 2] - 2.6) ** 2))


@pytest.mark.parametrize("last", ["identity", "exp"])
def test_only_a_regressor_with_a_linear_last_layer_is_taken_whole(last):
    rng = np.random.default_rng(0)
    network = Network((2, 3, 1), Sigmoid())
    X, Y = rng.standard_normal((9, 2)), rng.standard_normal((9, 1))
    f = NetworkObjective(network, X, Y, np.full(9, 1 / 9), 0.1)
    x = rng.standard_normal(network.size)
    layers = network.unpack(x)
    mlp = MLPRegressor()
    mlp.coefs_ = [one.weights for one in layers]
    mlp.intercepts_ = [one.biases for one in layers]
    mlp.out_activation_ = last
    found = warm_start_weights(mlp, f, Units.none(2))
    np.testing.assert_array_equal(found[:9], x[:9])
    assert np.array_equal(found, x) == (last == "identity")


def test_rounding_beyond_a_millionth_is_warned_of():
    net = ConvexNetworkClassifier()
    training = SimpleNamespace(violations=lambda x: np.zeros(1))
    net.feasibility_ = {"train": {"a": 1e-6}}
    net._warn_of_rounding(training, None, Units.none(1))
    net.feasibility_ = {"train": {"a": 1.1e-6}}
    with pytest.warns(ConvergenceWarning, match="rounding exceeds a constraint"):
        net._warn_of_rounding(training, None, Units.none(1))


def test_a_kernel_matrix_above_the_budget_is_refused():
    X = np.arange(101.0)[:, None]
    with memory_budget(8 * 100**2):
        WeightedKernelRidge().fit(X[:100], X[:100, 0])
        with pytest.raises(
            InvalidInputError, match="the kernel matrix of 101 rows takes"
        ):
            WeightedKernelRidge().fit(X, X[:, 0])
