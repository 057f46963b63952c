"""Constraints by name: kept, priced, refused with what cannot be met."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from counterpoise import InvalidInputError
from counterpoise.networks import (
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    InfeasibleConstraintError,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
COLUMNS = ["age", "income", "height"]


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
    y = 5.0 * np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.standard_normal(n) + 100.0
    score = X[:, 0] + 0.1 * X[:, 1] + 0.3 * rng.standard_normal(n)
    return pd.DataFrame(X, columns=COLUMNS), y, np.where(score > 1.3, "MIT", "NUC"), rng


def regressor(**how):
    given = {"hidden_layer_sizes": (3,), "max_iter": 6, "random_state": 0, **how}
    return ConvexNetworkRegressor(**given)


def classifier(**how):
    given = {"hidden_layer_sizes": (3,), "max_iter": 6, "random_state": 0, **how}
    return ConvexNetworkClassifier(**given)


def misfit(net, X, y, label, w):
    own = y == label
    truth = float(label == net.classes_[1])
    return np.average(np.abs(net.outputs(X)[own, 0] - truth), weights=w[own])


@pytest.mark.parametrize("seed", range(3))
def test_class_bounds_hold_on_the_training_rows(seed):
    X, _, y, rng = data(seed=seed)
    w = rng.random(len(y)) + 0.1
    both = classifier(class_error_bound=0.35).fit(X, y, w)
    assert both.feasibility_["train"] == {
        "class_error_bound['MIT']": 0.0,
        "class_error_bound['NUC']": 0.0,
    }
    one = classifier(class_error_bound={"MIT": 0.1}).fit(X, y, w)
    assert list(one.feasibility_["train"]) == ["class_error_bound['MIT']"]
    for label in ("MIT", "NUC"):
        assert misfit(both, X, y, label, w) <= 0.35 + 1e-6
    assert misfit(one, X, y, "MIT", w) <= 0.1 + 1e-6
    assert np.diff(both.objective_history_).max() <= 0.0
    # A bound that does not bind has no price, one that does has a positive one.
    assert one.multipliers_["class_error_bound['MIT']"] > 1e-4
    loose = classifier(class_error_bound=5.0).fit(X, y, w)
    assert max(loose.multipliers_.values()) <= 1e-6


def test_the_bound_of_one_of_several_classes_sums_over_outputs():
    X, _, _, _ = data(60)
    y = np.digitize(X["age"], [-0.5, 0.5])
    net = classifier(class_error_bound={1: 0.9}, hidden_layer_sizes=(2,)).fit(X, y)
    own = np.abs(net.outputs(X)[y == 1] - [0.0, 1.0, 0.0]).sum(axis=1)
    assert own.mean() <= 0.9 + 1e-6
    assert list(net.multipliers_) == ["class_error_bound[1]"]


def test_means_of_groups_and_of_the_target_are_met_in_the_users_units():
    X, y, _, rng = data()
    groups = np.where(rng.random(len(y)) < 0.5, "north", "south")
    w = rng.random(len(y)) + 0.1
    net = regressor(group_means={"north": 103.0, "south": (99.0, 99.5)})
    net.fit(X, y, w, groups=groups)
    north, south = (
        np.average(net.predict(X[groups == g]), weights=w[groups == g])
        for g in ("north", "south")
    )
    assert north == pytest.approx(103.0, abs=1e-6 * y.std() * 1.01)
    assert 99.0 - 1e-6 <= south <= 99.5 + 1e-6
    target = X + np.array([0.5, 0.0, 0.0])
    net = regressor(target_mean=104.0).fit(X, y, X_target=(target,))
    assert net.predict(target).mean() == pytest.approx(104.0, abs=2e-6 * y.std())
    assert net.feasibility_["train"] == {"target_mean": 0.0}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_column_is_monotone_everywhere(sign):
    X, y, labels, rng = data()
    for net, truth in (
        (regressor(hidden_layer_sizes=(3, 2)), y),
        (classifier(), labels),
    ):
        net.set_params(monotonic_cst={"income": sign}).fit(X, truth)
        at = pd.DataFrame(30.0 * rng.standard_normal((300, 3)), columns=COLUMNS)
        further = at + np.array([0.0, 7.0, 0.0])
        rise = sign * (net.outputs(further) - net.outputs(at))
        assert rise.min() >= -1e-12
        assert net.feasibility_["train"] == {"monotonic_cst['income']": 0.0}


def test_a_column_may_be_monotone_on_rows_alone():
    X, y, _, _ = data()
    free = regressor(max_iter=15).fit(X, y)
    one = X["income"].std(ddof=0)
    fall = free.predict(X) - free.predict(X + np.array([0.0, one, 0.0]))
    assert fall.min() < -1e-3
    net = regressor(monotonic_on_rows=[0, -1, 0]).fit(X, y)
    fall = net.predict(X) - net.predict(X + np.array([0.0, one, 0.0]))
    assert fall.min() >= -1e-6
    assert net.multipliers_["monotonic_on_rows['income']"] > 0.0


def test_without_hidden_layers_means_and_prices_are_those_of_cvxpy():
    X, y, _, _ = data()
    target = X + np.array([0.5, 0.0, 0.0])
    net = ConvexNetworkRegressor(hidden_layer_sizes=(), alpha=0.1, target_mean=104.0)
    net.fit(X, y, X_target=target)
    mean, spread = X.mean().to_numpy(), X.std(ddof=0).to_numpy()
    A, B = ((part.to_numpy() - mean) / spread for part in (X, target))
    v = (y - y.mean()) / y.std()
    w, b = cp.Variable(3), cp.Variable()
    rule = cp.sum(B @ w + b) / len(B) == (104.0 - y.mean()) / y.std()
    loss = cp.sum_squares(A @ w + b - v) / len(A) + 0.05 * cp.sum_squares(w)
    problem = cp.Problem(cp.Minimize(loss), [rule])
    problem.solve(solver="CLARABEL")
    assert net.objective_history_[-1] == pytest.approx(problem.value, abs=1e-5)
    np.testing.assert_allclose(
        net.coefs_[0][:, 0], w.value * y.std() / spread, atol=1e-3
    )
    price = net.multipliers_["target_mean"]
    step = 0.05
    up, down = (
        ConvexNetworkRegressor(hidden_layer_sizes=(), alpha=0.1, target_mean=104.0 + s)
        .fit(X, y, X_target=target)
        .objective_history_[-1]
        for s in (step, -step)
    )
    assert price == pytest.approx((down - up) / (2 * step), rel=1e-3)
    assert price < 0.0


# -- what cannot be met ----------------------------------------------------------------


def test_a_bound_that_no_function_meets_is_refused_at_once():
    X, _, y, _ = data(40)
    twice = pd.concat([X, X])
    net = classifier(class_error_bound={"MIT": 0.2, "NUC": 0.01}, max_iter=1000)
    with pytest.raises(InfeasibleConstraintError) as caught:
        net.fit(twice, np.concatenate([y, np.where(y == "MIT", "NUC", "MIT")]))
    error = caught.value
    assert error.proof == "every function"
    assert error.constraint in ("class_error_bound['MIT']", "class_error_bound['NUC']")
    assert error.bound in (0.2, 0.01)
    assert error.reached > error.bound
    for part in (error.constraint, f"{error.bound:g}", "every function"):
        assert part in str(error)
    assert f"{error.reached:.6g}" in str(error)
    assert isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)


def test_constraints_of_two_kinds_that_contradict_each_other_are_refused_at_once():
    X, _, y, _ = data(40)
    net = classifier(class_error_bound=0.1, group_means={"all": 0.99}, max_iter=1000)
    with pytest.raises(InfeasibleConstraintError, match="every function"):
        net.fit(X, y, groups=["all"] * 40)


def test_the_end_of_an_interval_that_no_function_meets_is_told():
    X, y, _, _ = data(40)
    twice = pd.concat([X, X])
    groups = ["a"] * 40 + ["b"] * 40
    net = regressor(group_means={"a": (-np.inf, 99.0), "b": (101.0, 102.0)})
    with pytest.raises(InfeasibleConstraintError) as caught:
        net.fit(twice, np.concatenate([y, y]), groups=groups)
    error = caught.value
    ends = {"group_means['a']": 99.0, "group_means['b']": 101.0}
    assert error.proof == "every function"
    assert error.bound == pytest.approx(ends[error.constraint])
    assert 99.0 - 1e-6 <= error.reached <= 101.0 + 1e-6


def test_a_bound_that_no_output_layer_meets_is_proved_for_these_hidden_layers():
    X, _, y, _ = data()
    net = classifier(class_error_bound=0.05, hidden_layer_sizes=())
    with pytest.raises(InfeasibleConstraintError) as caught:
        net.fit(X, y)
    assert caught.value.proof == "these hidden layers"
    assert caught.value.bound == 0.05
    assert not hasattr(net, "coefs_")
    with pytest.warns(ConvergenceWarning, match="cannot be met.*these hidden layers"):
        net.set_params(infeasible="warn").fit(X, y)
    amounts = net.feasibility_["train"]
    assert max(amounts.values()) == pytest.approx(caught.value.reached - 0.05, rel=1e-6)
    assert np.isnan(list(net.multipliers_.values())).all()
    assert not net.solution_.converged


def test_a_budget_that_ends_early_proves_nothing():
    X, _, y, _ = data()
    net = classifier(class_error_bound=0.3, callback=lambda progress: True)
    with pytest.raises(InfeasibleConstraintError, match="was not met") as caught:
        net.fit(X, y)
    assert caught.value.proof == "max_iter"


def test_the_least_violation_falls_with_the_rounds():
    X, _, y, _ = data()
    net = classifier(class_error_bound=1e-3, hidden_layer_sizes=(2,), infeasible="warn")
    net.fit(X, y)
    assert np.diff(net.objective_history_).max() <= 0.0
    assert max(net.feasibility_["train"].values()) > 0.0


# -- bad input -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"class_error_bound": -0.1}, "class_error_bound must be at least 0"),
        ({"class_error_bound": {}}, "class_error_bound is empty"),
        ({"class_error_bound": {"XYZ": 0.1}}, "class_error_bound names 'XYZ'"),
        ({"class_error_bound": {"MIT": -1}}, r"class_error_bound\['MIT'\] must be"),
        ({"target_mean": 0.5}, "target_mean is about X_target"),
        ({"group_means": {"a": 0.5}}, "group_means is about groups"),
        ({"monotonic_cst": {"weight": 1}}, "monotonic_cst names 'weight'"),
        ({"monotonic_cst": {"age": 2}}, r"monotonic_cst\['age'\] must be 1, 0 or -1"),
        ({"monotonic_on_rows": [1, 0]}, "X has 3 columns, got 2 entries"),
        ({"hidden_layer_sizes": 6}, "hidden_layer_sizes must be a tuple"),
        ({"hidden_layer_sizes": (6, 0)}, r"hidden_layer_sizes\[1\] must be at least 1"),
        ({"activation": "relu"}, "activation must be one of"),
        ({"alpha": -1.0}, "alpha must be at least 0"),
        ({"validation_fraction": 1.0}, r"validation_fraction must be in \[0"),
        ({"infeasible": "ignore"}, "infeasible must be one of 'raise', 'warn'"),
        ({"init": "zeros"}, "init must be one of 'he'"),
        ({"certify_rounds": "yes"}, "certify_rounds must be True or False"),
        ({"callback": 3}, "callback must be callable"),
    ],
)
def test_bad_parameters_are_refused_by_name(how, words):
    X, _, y, _ = data(20)
    with pytest.raises(InvalidInputError, match=words):
        classifier(**how).fit(X, y)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"group_means": {"c": 1.0}}, "group_means names 'c', which no row"),
        ({"group_means": {"a": (2.0, 1.0)}}, "low <= high"),
        ({"group_means": {"a": (1.0, 2.0, 3.0)}}, "got 3 numbers"),
        ({"group_means": {"a": np.nan}}, r"group_means\['a'\] must be finite"),
        ({"group_means": 3.0}, "group_means must be a dict"),
        ({"group_means": {}}, "group_means is empty"),
    ],
)
def test_bad_means_are_refused_by_name(how, words):
    X, y, _, _ = data(20)
    with pytest.raises(InvalidInputError, match=words):
        regressor(**how).fit(X, y, groups=["a", "b"] * 10)


def test_means_and_slopes_of_a_classifier_are_for_two_classes():
    X, _, _, _ = data(30)
    y = np.arange(30) % 3
    for how in ({"monotonic_cst": {"age": 1}}, {"target_mean": 0.5}):
        with pytest.raises(InvalidInputError, match="is for two classes"):
            classifier(**how).fit(X, y, X_target=X if "target_mean" in how else None)


def test_rows_that_no_constraint_is_about_are_told_of():
    X, y, _, _ = data(20)
    with pytest.warns(UserWarning, match="X_target is not used"):
        regressor(max_iter=1).fit(X, y, X_target=X)
    with pytest.warns(UserWarning, match="groups are not used"):
        regressor(max_iter=1).fit(X, y, groups=["a"] * 20)
    target = X.rename(columns={"age": "years"})
    with pytest.raises(InvalidInputError, match="X_target must have the columns of X"):
        regressor(target_mean=1.0).fit(X, y, X_target=target)


# -- magnitudes ------------------------------------------------------------------------


def test_a_mean_that_is_very_far_is_met_all_the_same():
    X, y, _, _ = data()
    for hidden in ((), (3,)):
        net = regressor(hidden_layer_sizes=hidden, max_iter=2, target_mean=1e5)
        net.fit(X, y, X_target=X)
        assert net.feasibility_["train"] == {"target_mean": 0.0}
        assert net.predict(X).mean() == pytest.approx(1e5, rel=1e-9)
        assert np.diff(net.objective_history_).max() <= 0.0


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e12])
def test_what_is_proved_impossible_does_not_depend_on_the_unit_of_y(unit):
    X, y, _, _ = data(40)
    y = unit * (y - y.mean())
    both = {"max_iter": 1, "standardize": False, "target_mean": 2.0 * unit}
    where = {"X_target": X, "groups": ["all"] * 40}
    net = regressor(group_means={"all": 2.0 * unit}, **both).fit(X, y, **where)
    assert max(net.feasibility_["train"].values()) == 0.0
    with pytest.raises(InfeasibleConstraintError, match="every function"):
        regressor(group_means={"all": 3.0 * unit}, **both).fit(X, y, **where)


def test_feasibility_is_told_of_the_outputs_that_users_get():
    X, y, _, _ = data()
    far = X + 1e12
    net = regressor(group_means={"all": 103.0}, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="too far from zero for its spread"):
        net.fit(far, y, groups=["all"] * len(y))
    off = abs(net.predict(far).mean() - 103.0) - 1e-6 * y.std()
    assert off > 1e-6
    assert net.feasibility_["train"]["group_means['all']"] == pytest.approx(off)


def test_a_group_is_not_held_out_whole():
    X, y, _, _ = data(20)
    # Nineteen of twenty rows are held out: one row of two groups is left.
    net = regressor(
        group_means={"a": (90.0, 110.0), "b": (90.0, 110.0)}, validation_fraction=0.95
    )
    with pytest.raises(
        InvalidInputError, match=r"group_means\['[ab]'\]: .*holds out all"
    ):
        net.fit(X, y, groups=["a"] * 19 + ["b"])
    net = regressor(max_iter=1, validation_fraction=0.01)
    with pytest.warns(UserWarning, match="holds out no row of 20"):
        net.fit(X, y)


# -- the trade-off ---------------------------------------------------------------------


def test_a_trade_off_goes_down_the_bounds_and_says_what_each_costs():
    X, _, y, _ = data()
    net = classifier(max_iter=10)
    curve = net.trade_off(X, y, [0.08, 0.3, 1e-4])
    assert curve.bounds.tolist() == [0.3, 0.08, 1e-4]
    assert curve.feasible.tolist() == [True, True, False]
    assert curve.objective[1] > curve.objective[0]
    assert np.isnan(curve.objective[2])
    assert np.isnan(curve.price[2])
    assert curve.price[1] > 0.0
    fitted = curve.at(0.08)
    assert fitted.class_error_bound == 0.08
    assert max(fitted.feasibility_["train"].values()) == 0.0
    assert fitted.loss_ == curve.loss[1]
    with pytest.raises(InvalidInputError, match="bound must be one of"):
        curve.at(0.2)
    with pytest.raises(InvalidInputError, match="there is no fit"):
        curve.at(1e-4)
    assert not hasattr(net, "coefs_")


def test_a_trade_off_can_be_of_one_constraint_by_its_name():
    X, y, labels, _ = data()
    curve = classifier(class_error_bound={"NUC": 0.4}).trade_off(
        X, labels, [0.4, 0.3], constraint="class_error_bound['MIT']"
    )
    assert curve.at(0.3).class_error_bound == {"NUC": 0.4, "MIT": 0.3}
    curve = classifier(class_error_bound=0.45).trade_off(
        X, labels == "MIT", [0.4], constraint="class_error_bound[True]"
    )
    assert curve.at(0.4).class_error_bound == {False: 0.45, True: 0.4}
    curve = regressor().trade_off(
        X, y, [101.0, 102.0], constraint="target_mean", X_target=X
    )
    assert curve.at(102.0).target_mean == 102.0
    curve = regressor().trade_off(
        X,
        y,
        [101.0],
        constraint="group_means['a']",
        groups=["a", "b"] * 40,
    )
    assert curve.at(101.0).group_means == {"a": 101.0}
    for constraint in ("class_error_bound", "kappa", "group_means"):
        with pytest.raises(InvalidInputError, match="constraint must"):
            regressor().trade_off(X, y, [1.0], constraint=constraint)
