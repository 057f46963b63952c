import re
import warnings
from functools import partial

import numpy as np
import pytest

from counterpoise.data import memory_budget
from counterpoise.datasets import make_articulated_pose
from counterpoise.twin_gp import DirectTwinGP, TwinGP, WeightedGPR, WeightedKNN, base
from counterpoise.twin_gp.problem import TwinRows
from counterpoise.twin_gp.search import Axis, search, splits


def chain(n=150, m=30, scenario="none", seed=0, **more):
    return make_articulated_pose(scenario, n, m, random_state=seed, **more)


def rows(n, group=None):
    group = np.arange(n) if group is None else group
    return TwinRows(np.zeros((n, 1)), np.zeros((n, 1)), np.ones(n), group)


def quietly(model, *args, **more):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the search ended at the edge")
        warnings.filterwarnings("ignore", message="GPR is better")
        warnings.filterwarnings("ignore", message="the search used up")
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
    for wrong, message in (
        ([None] + ["a"] * 39, "row 0 is None"),
        ([1.0] * 39 + [np.nan], "row 39 is nan"),
    ):
        with pytest.raises(ValueError, match=message):
            TwinGP(search="groups").fit(shift.X, shift.y, groups=wrong)
    with pytest.raises(TypeError, match="standardize_y must be True or False"):
        TwinGP(standardize_y="no").fit(shift.X, shift.y)


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
    shift = chain(250, 200)
    tuned = [
        quietly(
            TwinGP(divergence="kl", search="holdout", random_state=0), shift.X, shift.y
        )
        for _ in range(2)
    ]
    first, second = (model.predict(shift.X_target) for model in tuned)
    assert np.array_equal(first, second)
    plain = TwinGP(divergence="kl").fit(shift.X, shift.y)
    error = np.linalg.norm(first - shift.y_target, axis=1).mean()
    other = np.linalg.norm(plain.predict(shift.X_target) - shift.y_target, axis=1)
    assert error < other.mean()
    best = tuned[0]
    assert best.holdout_score_ == best.cv_results_["score"].min()
    k = int(np.argmin(best.cv_results_["score"]))
    assert best.cv_results_["param_gamma_y"][k] == best.gamma_y_
    assert best.gpr_holdout_score_ > 0


def test_given_widths_are_kept():
    shift = chain(80)
    model = TwinGP(gamma_x=0.03, search="holdout", random_state=0)
    quietly(model, shift.X, shift.y)
    assert model.gamma_x_ == 0.03
    assert "param_gamma_x" not in model.cv_results_


@pytest.mark.parametrize("by_weight", [False, True])
def test_scores_are_held_out_distances_by_weight_where_asked(by_weight):
    shift = chain(120)
    weights = np.random.default_rng(0).gamma(1.0, 1.0, 120)
    model = WeightedGPR(search="kfold", search_weights=by_weight, random_state=7)
    quietly(model, shift.X, shift.y, weights)
    merged = TwinRows.merged(shift.X, shift.y, weights)
    seed = int(np.random.RandomState(7).randint(2**31 - 1))
    total = count = 0.0
    for fit, held in splits(merged, "kfold", seed, False):
        some, out = merged.take(fit), merged.take(held)
        again = WeightedGPR(gamma_x=model.gamma_x_, ridge_x=model.ridge_x_)
        again.fit(some.X, some.Y, some.weight)
        far = np.linalg.norm(again.predict(out.X) - out.Y, axis=1)
        share = out.weight if by_weight else np.ones(len(out))
        total, count = total + share @ far, count + share.sum()
    assert model.holdout_score_ == pytest.approx(total / count, rel=1e-9)


def test_the_chosen_numbers_are_those_of_the_best_candidate():
    shift = chain(80)
    model = quietly(TwinGP(search="holdout", random_state=0), shift.X, shift.y)
    best = int(np.argmin(model.cv_results_["score"]))
    for name in ("gamma_x", "gamma_y", "ridge_x", "ridge_y", "theta"):
        assert model.cv_results_[f"param_{name}"][best] == getattr(model, f"{name}_")
        assert getattr(model.model_.settings, name) == getattr(model, f"{name}_")
    assert len(set(model.cv_results_["param_theta"])) > 1


def test_gpr_stands_beside_at_its_own_best_width():
    shift = chain(80)
    scores = {
        gamma: quietly(
            TwinGP(divergence="kl", gamma_x=gamma, search="holdout", random_state=0),
            shift.X,
            shift.y,
        ).gpr_holdout_score_
        for gamma in (None, 5.0)
    }
    own = WeightedGPR(search="holdout", random_state=0)
    quietly(own, shift.X, shift.y)
    assert scores[None] == scores[5.0] == own.holdout_score_
    weights = np.random.default_rng(0).gamma(2.0, 0.5, 80)
    twin = TwinGP(divergence="kl", gamma_x=0.03, gamma_y=1e-6, search="holdout")
    for model in (twin, own):
        model.set_params(random_state=0, search_weights=True)
        quietly(model, shift.X, shift.y, weights)
    assert twin.gpr_holdout_score_ == own.holdout_score_


@pytest.mark.filterwarnings("ignore:the search")
@pytest.mark.filterwarnings("ignore:GPR is better")
def test_a_search_says_that_it_used_up_its_candidates_or_had_few_rows(monkeypatch):
    shift = chain(80)
    few = partial(search, budget=20)
    monkeypatch.setattr(base, "search", few)
    with pytest.warns(UserWarning, match="used up its 20 candidates"):
        DirectTwinGP(search="holdout", random_state=0).fit(shift.X, shift.y)
    with pytest.warns(UserWarning, match="chooses 5 numbers by 2 held-out rows"):
        TwinGP(search="holdout", random_state=0).fit(shift.X[:8], shift.y[:8])


def test_a_local_model_is_searched_beside_a_local_gpr_without_a_large_factor():
    shift = chain(200)
    model = TwinGP(n_neighbors=15, gamma_y=1e-6, search="holdout", random_state=0)
    with memory_budget(300_000):
        quietly(model, shift.X, shift.y)
    assert 0 < model.gpr_holdout_score_ < np.inf


def test_an_edge_of_the_search_is_said_and_so_is_a_search_that_has_not_ended():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    with pytest.warns(UserWarning, match=r"at the edge of what it offers \(.*ridge_x"):
        WeightedGPR(search="kfold", random_state=0).fit(X, X)
    values = tuple(float(v) for v in range(40))
    axes = {name: Axis(values, (2.0, 4.0, 6.0)) for name in "abc"}
    short = search(axes, lambda c: 200.0 - sum(c.values()), budget=30)
    assert short.exhausted
    assert not search(axes, lambda c: 1.0, budget=80).exhausted


@pytest.mark.filterwarnings("ignore:the search")
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
        model.set_params(calibration_fraction=0.3, random_state=seed).fit(
            shift.X, shift.y
        )
        far = np.linalg.norm(model.predict(shift.X_target) - shift.y_target, axis=1)
        held.append((far <= model.predict_set(shift.X_target, 0.8)).mean())
    assert 0.75 <= np.mean(held) <= 0.86


@pytest.mark.parametrize(
    "model", [TwinGP(standardize_y=True), WeightedGPR(), WeightedKNN(), DirectTwinGP()]
)
def test_radii_are_the_weighted_quantiles_of_what_was_kept_apart(model):
    shift = chain(200)
    rng = np.random.default_rng(0)
    weights, own = rng.gamma(2.0, 1.0, 200), rng.gamma(2.0, 1.0, 30)
    own[0] = 1e3
    model.set_params(calibration_fraction=0.3, random_state=0).fit(
        shift.X, shift.y, weights
    )
    fitted = {row.tobytes() for row in model.X_fit_}
    held = np.array([row.tobytes() not in fitted for row in shift.X])
    assert held.sum() == 60
    far = np.linalg.norm(model.predict(shift.X[held]) - shift.y[held], axis=1)
    order = np.argsort(far)
    grown, scores = np.cumsum(weights[held][order]), far[order]
    with pytest.warns(UserWarning, match=r"3\.3% of the radii are infinite"):
        radii = model.predict_set(shift.X_target, 0.8, sample_weight=own)
    for radius, weight in zip(radii, own, strict=True):
        enough = np.flatnonzero(grown >= 0.8 * (grown[-1] + weight))
        expected = scores[enough[0]] if enough.size else np.inf
        assert radius == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("standardize_y", [False, True])
def test_labels_kept_apart_touch_neither_fit_nor_search(standardize_y):
    shift = chain(100)
    model = WeightedGPR(
        calibration_fraction=0.3,
        random_state=0,
        search="holdout",
        standardize_y=standardize_y,
    )
    quietly(model, shift.X, shift.y)
    fitted = {row.tobytes() for row in model.X_fit_}
    held = np.array([row.tobytes() not in fitted for row in shift.X])
    answers, scores = model.predict(shift.X_target), model.cv_results_["score"]
    y = np.where(held[:, None], 10.0 * shift.y, shift.y)
    quietly(model, shift.X, y)
    assert np.array_equal(model.predict(shift.X_target), answers)
    assert np.array_equal(model.cv_results_["score"], scores)


@pytest.mark.filterwarnings("ignore:the weights have a mean")
@pytest.mark.parametrize("each", [0.01, 1.0, 100.0])
def test_equal_weights_make_the_radii_of_none(each):
    shift = chain(100)
    model = WeightedGPR(calibration_fraction=0.3, random_state=0)
    plain = model.fit(shift.X, shift.y).predict_set(shift.X_target, 0.9)
    # The 28th of 30 scores.
    assert np.all(plain == np.sort(model.calibration_scores_)[27])
    # The same model, since the ridge is that of a row of weight one.
    model.set_params(ridge_x=1e-3 * each).fit(shift.X, shift.y, np.full(100, each))
    np.testing.assert_allclose(model.predict_set(shift.X_target, 0.9), plain, rtol=1e-6)


def test_too_few_calibration_rows_for_a_level_are_said():
    shift = chain(40)
    model = WeightedGPR(calibration_fraction=0.25, random_state=0).fit(shift.X, shift.y)
    with pytest.warns(UserWarning, match=r"the 10 calibration rows.* level 0\.909"):
        assert np.isinf(model.predict_set(shift.X_target, 0.95)).all()


def test_under_shift_the_true_ratio_keeps_the_promise():
    plain, weighted, endless = [], [], []
    for seed in range(3):
        shift = chain(450, 150, "motion-far", seed, noisy_target=True)
        numbers = {"ridge_x": 0.01, "ridge_y": 0.01, "calibration_fraction": 1 / 3}
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
    model = TwinGP(calibration_fraction=0.3, random_state=0, ridge_x=0.01, ridge_y=0.01)
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
    model.set_params(calibration_fraction=0.3, random_state=0).fit(
        shift.X, shift.y, weights
    )
    with pytest.raises(ValueError, match="predict_set needs sample_weight"):
        model.predict_set(shift.X_target)


def test_calibration_leaves_rows_to_fit_to():
    shift = chain(5)
    with pytest.raises(ValueError, match="leaves 0 to calibrate on"):
        TwinGP(calibration_fraction=0.01).fit(shift.X, shift.y)


def test_calibration_rows_are_whole_groups():
    shift = chain(120)
    group = np.repeat(np.arange(12), 10)
    model = TwinGP(
        calibration_fraction=0.25, random_state=0, ridge_x=0.01, ridge_y=0.01
    )
    model.fit(shift.X, shift.y, groups=group)
    assert len(model.calibration_scores_) == 30
    fitted = {row.tobytes() for row in model.X_fit_}
    kept = np.array([row.tobytes() in fitted for row in shift.X])
    assert all(kept[group == g].all() or not kept[group == g].any() for g in range(12))
