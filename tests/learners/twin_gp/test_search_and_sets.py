import re
import warnings

import numpy as np
import pytest

from counterpoise import DirectTwinGP, TwinGP, WeightedGPR, WeightedKNN
from counterpoise.datasets import make_articulated_pose
from counterpoise.learners.twin_gp.rows import Rows
from counterpoise.learners.twin_gp.search import Axis, search, splits


def chain(n=150, m=30, scenario="none", seed=0, **more):
    return make_articulated_pose(scenario, n, m, random_state=seed, **more)


def rows(n, group=None):
    group = np.arange(n) if group is None else group
    return Rows(np.zeros((n, 1)), np.zeros((n, 1)), np.ones(n), group)


def quietly(model, *args, **more):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the search ended at the edge")
        warnings.filterwarnings("ignore", message="GPR is better")
        return model.fit(*args, **more)


@pytest.mark.parametrize("kind", ["holdout", "kfold", "groups"])
def test_no_group_is_cut(kind):
    group = np.random.default_rng(0).integers(0, 12, 100)
    for fit, held in splits(rows(100, group), kind, 0, True):
        assert not set(group[fit]) & set(group[held])
        assert len(fit) + len(held) == 100


def test_every_row_is_held_out_once_in_folds():
    held = np.concatenate([h for _, h in splits(rows(23), "kfold", 0, False)])
    assert np.array_equal(np.sort(held), np.arange(23))


def test_groups_are_needed_where_they_are_asked_for():
    shift = chain(40)
    with pytest.raises(ValueError, match='search="groups" needs groups'):
        TwinGP(search="groups").fit(shift.X, shift.y)
    with pytest.raises(ValueError, match=re.escape("groups must have shape (40,)")):
        TwinGP(search="groups").fit(shift.X, shift.y, groups=[1, 2])


def test_the_search_finds_the_bottom_of_a_bowl():
    values = tuple(float(v) for v in range(10))
    axes = {name: Axis(values, (2.0, 4.0, 6.0)) for name in "abc"}

    def bowl(c):
        return (c["a"] - 8) ** 2 + (c["b"] - 1) ** 2 + (c["c"] - 5) ** 2

    found = search(axes, bowl, {"c": "b"})
    assert found.best == {"a": 8.0, "b": 1.0, "c": 5.0}
    assert found.edges == ()
    assert len(found.results["score"]) <= 80
    edge = search(axes, lambda c: 1.0 + c["a"], {"c": "b"})
    assert edge.edges == ("a",)
    flat = search(axes, lambda c: 1.0 + 1e-3 * c["a"], {"c": "b"})
    assert flat.best["a"] == 0.0
    assert flat.edges == ()


def test_the_search_is_the_same_for_the_same_seed_and_better_than_the_rules():
    shift = chain(120, 100)
    tuned = [
        quietly(
            TwinGP(gamma_x=0.02, search="holdout", random_state=0), shift.X, shift.y
        )
        for _ in range(2)
    ]
    first, second = (model.predict(shift.X_target) for model in tuned)
    assert np.array_equal(first, second)
    plain = TwinGP(ridge_x=0.1, ridge_y=0.1).fit(shift.X, shift.y)
    error = np.linalg.norm(first - shift.y_target, axis=1).mean()
    other = np.linalg.norm(plain.predict(shift.X_target) - shift.y_target, axis=1)
    assert error < other.mean()
    best = tuned[0]
    assert best.holdout_score_ == best.cv_results_["score"].min()
    k = int(np.argmin(best.cv_results_["score"]))
    assert best.cv_results_["param_theta"][k] == best.theta_
    assert best.gpr_holdout_score_ > 0


def test_given_widths_are_kept():
    shift = chain(80)
    model = TwinGP(gamma_x=0.03, search="holdout", random_state=0)
    quietly(model, shift.X, shift.y)
    assert model.gamma_x_ == 0.03
    assert "param_gamma_x" not in model.cv_results_


def test_importance_weighted_selection_scores_by_weight():
    shift = chain(120)
    weights = np.where(np.arange(120) < 60, 1.9, 0.1)
    plain, weighted = (
        quietly(
            TwinGP(
                divergence="kl", search="holdout", search_weights=flag, random_state=0
            ),
            shift.X,
            shift.y,
            weights,
        )
        for flag in (False, True)
    )
    assert plain.holdout_score_ != weighted.holdout_score_
    # The first round is the same candidates in the same order.
    both = [model.cv_results_["score"][:20] for model in (plain, weighted)]
    assert not np.allclose(*both)


@pytest.mark.filterwarnings("ignore:the search ended at the edge")
def test_a_better_gpr_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = np.sin(X @ rng.normal(size=(4, 3))) + 0.3 * rng.normal(size=(80, 3))
    with pytest.warns(UserWarning, match="GPR is better on the held-out rows"):
        model = TwinGP(divergence="kl", search="kfold", random_state=0).fit(X, Y)
    assert model.gpr_holdout_score_ < model.holdout_score_


@pytest.mark.parametrize("model", [WeightedGPR(), WeightedKNN(), DirectTwinGP()])
def test_baselines_are_tuned_in_the_same_way(model):
    shift = chain(150, 100)
    tuned = quietly(model.set_params(search="kfold", random_state=0), shift.X, shift.y)
    assert tuned.holdout_score_ == tuned.cv_results_["score"].min()


@pytest.mark.parametrize(
    "model", [TwinGP(ridge_x=0.01, ridge_y=0.01), WeightedGPR(), WeightedKNN()]
)
def test_balls_hold_the_outputs_as_often_as_promised(model):
    held = []
    for seed in range(4):
        shift = chain(300, 200, seed=seed, noisy_target=True)
        model.set_params(calibration=0.3, random_state=seed).fit(shift.X, shift.y)
        far = np.linalg.norm(model.predict(shift.X_target) - shift.y_target, axis=1)
        held.append((far <= model.predict_set(shift.X_target, 0.8)).mean())
    assert 0.75 <= np.mean(held) <= 0.86


def test_under_shift_the_true_ratio_keeps_the_promise():
    plain, weighted, endless = [], [], []
    for seed in range(3):
        shift = chain(450, 150, "motion-far", seed, noisy_target=True)
        numbers = {"ridge_x": 0.01, "ridge_y": 0.01, "calibration": 1 / 3}
        far = {}
        for name, ratio in (("plain", None), ("weighted", shift.ratio)):
            model = TwinGP(**numbers, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(shift.X, shift.y, ratio)
                test = None if ratio is None else shift.ratio_target
                radius = model.predict_set(shift.X_target, 0.9, sample_weight=test)
            away = np.linalg.norm(
                model.predict(shift.X_target) - shift.y_target, axis=1
            )
            far[name] = (away <= radius).mean()
            if ratio is not None:
                endless.append(np.isinf(radius).mean())
        plain.append(far["plain"])
        weighted.append(far["weighted"])
    assert np.mean(weighted) >= 0.87
    assert np.mean(plain) < np.mean(weighted)
    assert 0 < np.mean(endless) < 1


def test_a_row_that_outweighs_the_calibration_has_an_endless_ball_and_it_is_said():
    shift = chain(100)
    model = TwinGP(calibration=0.3, random_state=0, ridge_x=0.01, ridge_y=0.01)
    model.fit(shift.X, shift.y)
    weights = np.ones(30)
    weights[:6] = 1e6
    with pytest.warns(UserWarning, match=r"20\.0% of the radii are infinite"):
        radius = model.predict_set(shift.X_target, 0.9, sample_weight=weights)
    assert np.array_equal(np.isinf(radius), weights > 1)


def test_balls_need_calibration_and_the_rows_own_weights():
    shift = chain(100)
    model = TwinGP(ridge_x=0.01, ridge_y=0.01)
    with pytest.raises(ValueError, match="set calibration"):
        model.fit(shift.X, shift.y).predict_set(shift.X_target)
    weights = np.random.default_rng(0).gamma(4.0, 1.0, 100)
    model.set_params(calibration=0.3, random_state=0).fit(shift.X, shift.y, weights)
    with pytest.raises(ValueError, match="predict_set needs sample_weight"):
        model.predict_set(shift.X_target)


def test_calibration_leaves_rows_to_fit_to():
    shift = chain(5)
    with pytest.raises(ValueError, match="leaves 0 to calibrate on"):
        TwinGP(calibration=0.01).fit(shift.X, shift.y)


def test_calibration_rows_are_whole_groups():
    shift = chain(120)
    group = np.repeat(np.arange(12), 10)
    model = TwinGP(calibration=0.25, random_state=0, ridge_x=0.01, ridge_y=0.01)
    model.fit(shift.X, shift.y, groups=group)
    assert len(model.calibration_scores_) == 30
    fitted = {row.tobytes() for row in model.X_fit_}
    kept = np.array([row.tobytes() in fitted for row in shift.X])
    assert all(kept[group == g].all() or not kept[group == g].any() for g in range(12))
