"""Weigh, choose how much, fit: what an adapted model promises."""

import logging
import os
import pickle
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from adaptation.spy import Spy
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator
from skops.io import dump

from counterpoise import (
    KLIEP,
    ULSIF,
    Adapted,
    AutoWeights,
    CutTargetWarning,
    DiscriminatorWeights,
    FarTargetWarning,
    LogLinearKLIEP,
    NoOverlapError,
    NoTargetWarning,
    TimeOrderWarning,
    UniformWeights,
    adapt,
    estimate_performance,
    flatten_weights,
    load_model,
    target_scorer,
)
from counterpoise.adaptation.routing import check_none_missing
from counterpoise.data.samples import Samples
from counterpoise.datasets import (
    load_breast_cancer_shift,
    make_gaussian_shift,
    make_sinc_shift,
)
from counterpoise.errors import InvalidInputError


@pytest.fixture(scope="module")
def sinc() -> Any:
    return make_sinc_shift(n=400, m=300, random_state=0)


@pytest.fixture(scope="module")
def line(sinc: Any) -> Adapted:
    return adapt(LinearRegression(), sinc.X, sinc.y, sinc.X_target, random_state=0)


def _error(model: Any, shift: Any) -> float:
    return float(np.mean((model.predict(shift.X_target) - shift.y_target) ** 2))


def test_a_line_through_a_curve_is_adapted_and_better_on_the_target(
    sinc: Any, line: Adapted
) -> None:
    plain = LinearRegression().fit(sinc.X, sinc.y)
    assert line.adapted_
    assert line.exponent_ > 0
    assert _error(line, sinc) < 0.5 * _error(plain, sinc)


def test_weights_reach_the_estimator_to_the_bit(sinc: Any) -> None:
    model = Adapted(Spy(), random_state=0).fit(sinc.X, sinc.y, X_target=sinc.X_target)
    assert np.array_equal(model.estimator_.seen_weight_, model.weights_)
    assert model.estimator_.seen_X_ is sinc.X
    expected = flatten_weights(model.weight_estimator_.weights_, model.exponent_)
    assert np.allclose(model.weights_, expected, rtol=1e-12)


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_end_of_a_pipeline(sinc: Any, routing: bool) -> None:
    inner = make_pipeline(StandardScaler(), Spy())
    with config_context(enable_metadata_routing=routing):
        model = Adapted(inner, KLIEP(gamma=1.0)).fit(
            sinc.X, sinc.y, X_target=sinc.X_target
        )
    assert np.array_equal(model.estimator_[-1].seen_weight_, model.weights_)
    assert model.exponent_ == 1.0


def test_the_users_weights_multiply_ours(sinc: Any) -> None:
    mine = np.random.default_rng(0).integers(1, 4, len(sinc.y)).astype(float)
    model = Adapted(Spy(), LogLinearKLIEP()).fit(
        sinc.X, sinc.y, X_target=sinc.X_target, sample_weight=mine
    )
    assert np.array_equal(model.estimator_.seen_weight_, model.weights_ * mine)


def test_an_explicit_weighter_is_used_as_it_is_unless_guarded(sinc: Any) -> None:
    kliep = KLIEP(gamma=1.0).fit(sinc.X, X_target=sinc.X_target)
    plain = Adapted(Spy(), KLIEP(gamma=1.0))
    plain.fit(sinc.X, sinc.y, X_target=sinc.X_target)
    assert np.array_equal(plain.weights_, kliep.weights_)
    assert plain.guard_ is None
    guarded = Adapted(Spy(), KLIEP(gamma=1.0), guard=True)
    guarded.fit(sinc.X, sinc.y, X_target=sinc.X_target)
    assert guarded.guard_ is not None
    assert guarded.exponent_ == guarded.guard_.chosen


def test_without_a_target_the_model_is_the_users_own(sinc: Any) -> None:
    with pytest.warns(NoTargetWarning) as told:
        model = Adapted(Spy()).fit(sinc.X, sinc.y)
    assert told[0].filename == __file__
    assert model.estimator_.seen_weight_ is None
    assert not model.adapted_
    assert np.array_equal(model.weights_, np.ones(len(sinc.y)))
    assert np.array_equal(model.predict_weights(sinc.X[:3]), np.ones(3))
    Adapted(Spy(), missing_target="ignore").fit(sinc.X, sinc.y)
    with pytest.raises(ValueError, match="no X_target"):
        Adapted(Spy(), missing_target="raise").fit(sinc.X, sinc.y)


def test_two_samples_that_do_not_overlap_are_refused(sinc: Any) -> None:
    far = sinc.X_target + 30.0 * np.ptp(sinc.X)
    with (
        pytest.warns(FarTargetWarning, match="transform_input"),
        pytest.raises(NoOverlapError) as told,
    ):
        Adapted(LinearRegression(), random_state=0).fit(sinc.X, sinc.y, X_target=far)
    assert told.value.measure == "uncovered_fraction"
    assert told.value.auc is not None


def test_force_goes_on_without_overlap(sinc: Any) -> None:
    far = sinc.X_target + 3.0 * np.ptp(sinc.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Adapted(LinearRegression(), allow_no_overlap=True, random_state=0)
        model.fit(sinc.X, sinc.y, X_target=far)
    assert np.isfinite(model.weights_).all()


def test_nothing_shifted_nothing_weighted() -> None:
    rng = np.random.default_rng(3)
    X, X_target = rng.normal(size=(2, 400, 3))
    y = X[:, 0] ** 2 + rng.normal(size=400)
    model = adapt(Ridge(), X, y, (X_target,), random_state=0)
    assert model.exponent_ == 0.0
    plain = Ridge().fit(X, y)
    assert np.allclose(model.predict(X_target), plain.predict(X_target))
    assert model.diagnosis_ is not None
    assert model.diagnosis_.verdict == "no shift detected"


def test_a_bare_target_with_as_many_rows_is_warned_about(sinc: Any) -> None:
    target = sinc.X_target[np.arange(len(sinc.X)) % len(sinc.X_target)]
    with pytest.warns(CutTargetWarning, match=r"\(X_target,\)") as told:
        Adapted(Spy(), LogLinearKLIEP()).fit(sinc.X, sinc.y, X_target=target)
    assert told[0].filename == __file__
    Adapted(Spy(), LogLinearKLIEP()).fit(sinc.X, sinc.y, X_target=(target,))


class _Counting(LogLinearKLIEP):
    """A weight estimator that writes down how many target rows came to it."""

    rows: list[int] = []  # noqa: RUF012  (shared by clones on purpose)

    def fit(self, X: Any, y: Any = None, **more: Any) -> Any:
        target = more["X_target"]
        pieces = target if isinstance(target, tuple) else (target,)
        self.rows.append(sum(len(piece) for piece in pieces))
        return super().fit(X, y, **more)


def test_a_tuple_passes_cross_validation_whole_and_a_bare_array_is_cut(
    sinc: Any,
) -> None:
    target = sinc.X_target[np.arange(len(sinc.X)) % len(sinc.X_target)]
    search = GridSearchCV(
        Adapted(Ridge(), _Counting()), {"estimator__alpha": [0.1, 1.0]}, cv=4
    )
    _Counting.rows.clear()
    search.fit(sinc.X, sinc.y, X_target=(target,))
    assert set(_Counting.rows) == {len(target)}
    _Counting.rows.clear()
    with pytest.warns(CutTargetWarning):
        search.fit(sinc.X, sinc.y, X_target=target)
    assert len(target) * 3 // 4 in _Counting.rows


def test_grid_search_by_the_target_score_finds_what_is_good_there() -> None:
    shift = make_sinc_shift(n=300, m=300, random_state=1)
    search = GridSearchCV(
        Adapted(
            make_pipeline(PolynomialFeatures(), Ridge(1e-6)),
            LogLinearKLIEP(),
            random_state=0,
        ),
        {"estimator__polynomialfeatures__degree": [1, 2, 3]},
        scoring=target_scorer("neg_mean_squared_error"),
    )
    search.fit(shift.X, shift.y, X_target=(shift.X_target,))
    by_hand = -search.cv_results_["mean_test_score"]
    truth = [
        _error(
            clone(search.estimator)
            .set_params(estimator__polynomialfeatures__degree=k)
            .fit(shift.X, shift.y, X_target=(shift.X_target,)),
            shift,
        )
        for k in (1, 2, 3)
    ]
    assert truth[int(np.argmin(by_hand))] <= 1.2 * min(truth)


def test_the_target_score_is_the_weighted_mean(sinc: Any, line: Adapted) -> None:
    weights = line.predict_weights(sinc.X)
    errors = (line.predict(sinc.X) - sinc.y) ** 2
    scorer = target_scorer("neg_mean_squared_error")
    expected = -np.average(errors, weights=weights)
    assert scorer(line, sinc.X, sinc.y) == pytest.approx(expected)
    with pytest.raises(TypeError, match="needs a fitted Adapted"):
        scorer(LinearRegression().fit(sinc.X, sinc.y), sinc.X, sinc.y)


def test_it_works_as_the_last_step_of_a_pipeline(sinc: Any) -> None:
    with config_context(enable_metadata_routing=True):
        last = Adapted(LinearRegression(), random_state=0).set_fit_request(
            X_target=True
        )
        pipeline = make_pipeline(StandardScaler(), last, transform_input=["X_target"])
        pipeline.fit(sinc.X, sinc.y, X_target=sinc.X_target)
        inside = make_pipeline(StandardScaler(), LinearRegression())
        reference = adapt(inside, sinc.X, sinc.y, sinc.X_target, random_state=0)
        assert np.allclose(
            pipeline.predict(sinc.X), reference.predict(sinc.X), rtol=1e-6
        )
        score = target_scorer("neg_mean_squared_error")(pipeline, sinc.X, sinc.y)
    assert np.isfinite(score)


def test_cross_validation_and_clone_work(sinc: Any) -> None:
    model = Adapted(LinearRegression(), LogLinearKLIEP(), random_state=0)
    assert clone(model).get_params()["random_state"] == 0
    scores = cross_val_score(
        model, sinc.X, sinc.y, cv=3, params={"X_target": (sinc.X_target,)}
    )
    assert np.isfinite(scores).all()


def test_an_estimator_without_weights_is_refused_and_offered_a_draw(sinc: Any) -> None:
    with pytest.raises(TypeError, match="KNeighborsRegressor takes no sample_weight"):
        Adapted(KNeighborsRegressor()).fit(sinc.X, sinc.y, X_target=sinc.X_target)
    drawn = Adapted(KNeighborsRegressor(), resample=True, random_state=0)
    drawn.fit(sinc.X, sinc.y, X_target=sinc.X_target)
    assert drawn.predict(sinc.X).shape == (len(sinc.X),)


def test_a_budget_fits_to_so_many_different_rows(sinc: Any) -> None:
    model = Adapted(Spy(), LogLinearKLIEP(), max_samples=50, random_state=0)
    model.fit(sinc.X, sinc.y, X_target=sinc.X_target)
    seen = model.estimator_.seen_X_
    assert len(np.unique(seen, axis=0)) == 50
    assert model.estimator_.seen_weight_ is None
    target, source = sinc.X_target.mean(), sinc.X.mean()
    assert abs(seen.mean() - target) < abs(seen.mean() - source)


def test_users_folds_groups_and_scoring_are_respected(sinc: Any) -> None:
    groups = np.arange(len(sinc.X)) // 40
    seen = []

    class Folds(GroupKFold):
        def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
            seen.append(None if groups is None else np.array(groups))
            return super().split(X, y, groups)

    model = Adapted(
        LinearRegression(),
        cv=Folds(4),
        scoring="neg_mean_absolute_error",
        random_state=0,
    )
    model.fit(sinc.X, sinc.y, X_target=sinc.X_target, groups=groups)
    assert np.array_equal(seen[0], groups)
    assert model.guard_ is not None
    assert "absolute" in model.guard_.metric


def test_the_users_folds_are_of_all_rows_whatever_is_held_out(sinc: Any) -> None:
    n = len(sinc.X)
    half = np.arange(n) < n // 2
    pairs = [(np.flatnonzero(half), np.flatnonzero(~half))]
    model = Adapted(
        LinearRegression(), cv=pairs, calibration_fraction=0.25, random_state=0
    )
    model.fit(sinc.X, sinc.y, X_target=sinc.X_target)
    assert model.guard_ is not None
    assert model.guard_.rows < n // 2


def test_a_splitter_that_looks_at_the_rows_sees_them(sinc: Any) -> None:
    class BySign:
        def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
            right = np.asarray(X)[:, 0] > np.median(sinc.X)
            yield np.flatnonzero(right), np.flatnonzero(~right)

        def get_n_splits(self, *_: Any) -> int:
            return 1

    model = Adapted(LinearRegression(), cv=BySign(), random_state=0)
    model.fit(sinc.X, sinc.y, X_target=sinc.X_target)
    assert model.guard_ is not None
    assert model.guard_.rows == int((sinc.X[:, 0] <= np.median(sinc.X)).sum())


@pytest.mark.parametrize("target", [None, True])
def test_labels_of_another_length_are_refused(sinc: Any, target: Any) -> None:
    more = {} if target is None else {"X_target": sinc.X_target}
    model = Adapted(
        LinearRegression(), calibration_fraction=0.2, missing_target="ignore"
    )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(sinc.X, np.append(sinc.y, 0.0), **more)


@pytest.mark.parametrize("gap", [None, np.nan])
def test_a_missing_label_is_refused_by_its_row(sinc: Any, gap: Any) -> None:
    names = np.where(sinc.y > 0, "high", "low").astype(object)
    numbers = sinc.y.astype(object if gap is None else float)
    for labels in (names, numbers):
        labels[17] = gap
        with pytest.raises(ValueError, match="row 17 has no label"):
            Adapted(LogisticRegression()).fit(sinc.X, labels, X_target=sinc.X_target)


def test_a_class_of_one_row_is_named(sinc: Any) -> None:
    labels = np.where(np.arange(len(sinc.y)) == 3, "yes", "no")
    with pytest.raises(ValueError, match="class yes has 1 of 400 rows"):
        Adapted(LogisticRegression(), LogLinearKLIEP(), guard=True).fit(
            sinc.X, labels, X_target=sinc.X_target
        )


def test_equal_weights_draw_all_rows() -> None:
    rng = np.random.default_rng(3)
    X, T = rng.normal(size=(2, 300, 2))
    model = Adapted(Spy(), UniformWeights(), resample=True, random_state=0)
    model.fit(X, X[:, 0], X_target=(T,))
    assert model.estimator_.seen_X_.shape == X.shape


def test_the_model_keeps_its_own_copy_of_the_target(sinc: Any) -> None:
    target = sinc.X_target.copy()
    model = adapt(LinearRegression(), sinc.X, sinc.y, target, random_state=0)
    target += 100.0
    assert model.diagnose(sinc.X_target, random_state=0).verdict == "no shift detected"


def test_a_refusal_by_name_also_without_a_target(sinc: Any) -> None:
    model = Adapted(KNeighborsRegressor(), missing_target="ignore")
    with pytest.raises(TypeError, match="KNeighborsRegressor takes no sample_weight"):
        model.fit(sinc.X, sinc.y, sample_weight=np.ones(len(sinc.y)))


def test_the_scorer_takes_a_pipeline_of_one_step(sinc: Any, line: Adapted) -> None:
    alone = Pipeline([("last", line)])
    scorer = target_scorer("neg_mean_squared_error")
    assert scorer(alone, sinc.X, sinc.y) == scorer(line, sinc.X, sinc.y)


def test_rows_in_time_order_are_warned_about_until_blocks_are_asked_for() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)).cumsum(axis=0) / 10
    target, y = X[::2] + 0.01 * rng.normal(size=(200, 2)), X.sum(axis=1)
    model = Adapted(Ridge(), LogLinearKLIEP(), guard=True, random_state=0)
    with pytest.warns(TimeOrderWarning, match='cv="blocks"'):
        model.fit(X, y, X_target=target)
    model.set_params(cv="blocks").fit(X, y, X_target=target)


def test_the_default_estimator_goes_by_the_label(sinc: Any) -> None:
    with pytest.warns(NoTargetWarning):
        assert is_regressor(Adapted().fit(sinc.X, sinc.y))
    labels = np.where(sinc.y > 0, "high", "low")
    with pytest.warns(NoTargetWarning):
        model = Adapted().fit(sinc.X, labels)
    assert is_classifier(model)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.predict_proba(sinc.X[:2]).shape == (2, 2)
    with pytest.warns(NoTargetWarning):
        assert is_regressor(Adapted().fit(sinc.X, np.arange(len(sinc.X))))


def _mixed(n: int, shift: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(40 + 10 * shift, 10, n)
    age[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "color": pd.Categorical(
                rng.choice(["red", "blue"], n, p=[0.5 + shift / 4, 0.5 - shift / 4]),
                categories=["red", "blue"],
            ),
            "when": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )


class _SeesFrame(HistGradientBoostingClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        assert list(X.columns) == ["age", "color", "when"]
        return super().fit(X[["age", "color"]], y, sample_weight)

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X[["age", "color"]])


def test_the_estimator_of_a_mixed_table_sees_what_it_would_see_today() -> None:
    X, T = _mixed(300, 0.0, 0), _mixed(250, 0.8, 1)
    y = (X["age"].fillna(40) > 40).astype(int)
    model = Adapted(_SeesFrame(max_iter=10), random_state=0).fit(X, y, X_target=T)
    assert model.encoder_ is not None
    assert model.predict_weights(T).mean() > 1.0
    again = model.diagnose(_mixed(250, 0.8, 2), random_state=0)
    assert again.verdict == "no shift detected"
    assert model.diagnose(_mixed(250, 0.0, 2), random_state=0).verdict != again.verdict


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas])
def test_the_default_estimator_takes_a_mixed_table_as_it_comes(make: Any) -> None:
    X, T = _mixed(300, 0.0, 0), _mixed(250, 0.8, 1)
    X["color"], T["color"] = X["color"].astype(str), T["color"].astype(str)
    y = np.where(X["color"] == "red", X["age"].fillna(40), 0.0)
    model = Adapted(random_state=0).fit(make(X), y, X_target=make(T))
    new = T.assign(color="green")
    assert np.corrcoef(model.predict(make(X)), y)[0, 1] > 0.9
    assert np.isfinite(model.predict(make(new))).all()


def test_pandas_polars_and_numpy_give_the_same_model() -> None:
    shift = make_gaussian_shift(2, n=200, m=150, random_state=0)
    y = shift.X[:, 0] ** 2
    makers: list[Callable[[Any], Any]] = [
        np.asarray,
        lambda rows: pd.DataFrame(rows, columns=["a", "b"]),
        lambda rows: pl.DataFrame(rows, schema=["a", "b"]),
    ]
    models = [
        adapt(Ridge(), make(shift.X), y, make(shift.X_target), random_state=0)
        for make in makers
    ]
    for make, model in zip(makers, models, strict=True):
        assert np.array_equal(model.weights_, models[0].weights_)
        # Frames store columns, arrays rows: the estimator's own sums round apart.
        assert np.allclose(
            model.predict(make(shift.X)), models[0].predict(shift.X), rtol=1e-12
        )


def test_the_same_seed_gives_the_same_bytes(sinc: Any, line: Adapted) -> None:
    again = adapt(LinearRegression(), sinc.X, sinc.y, sinc.X_target, random_state=0)
    assert np.array_equal(again.weights_, line.weights_)
    assert again.guard_ == line.guard_


def test_next_weeks_target_is_diagnosed_without_refitting(
    sinc: Any, line: Adapted
) -> None:
    same = make_sinc_shift(n=10, m=300, random_state=9).X_target
    assert line.diagnose(same, random_state=0).verdict == "no shift detected"
    moved = line.diagnose(same + 2.0, random_state=0)
    assert moved.auc > 0.8


def test_a_saved_model_predicts_and_weighs_the_same(
    sinc: Any, line: Adapted, tmp_path: Any
) -> None:
    path = tmp_path / "model.skops"
    line.save(path)
    again = load_model(path)
    assert np.array_equal(again.predict(sinc.X_target), line.predict(sinc.X_target))
    assert np.array_equal(
        again.predict_weights(sinc.X_target), line.predict_weights(sinc.X_target)
    )
    assert again.summary() == line.summary()
    new = make_sinc_shift(n=10, m=200, random_state=9).X_target
    assert again.diagnose(new, random_state=0).to_dict() == (
        line.diagnose(new, random_state=0).to_dict()
    )
    with pytest.raises(FileExistsError, match="exists"):
        line.save(path)
    assert list(tmp_path.iterdir()) == [path]
    before = path.stat().st_ino
    line.save(path, overwrite=True)
    assert path.stat().st_ino != before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "weight_estimator",
    [KLIEP(gamma=1.0), DiscriminatorWeights(random_state=0), "auto"],
    ids=["KLIEP", "discriminator", "auto"],
)
def test_a_saved_model_has_forgotten_the_source_rows(
    sinc: Any, tmp_path: Any, weight_estimator: Any
) -> None:
    marked = sinc.X.copy()
    marked[7] = 0.123456789
    model = Adapted(LinearRegression(), weight_estimator, random_state=0)
    model.fit(marked, sinc.y, X_target=sinc.X_target)
    model.save(tmp_path / "model.skops")
    with ZipFile(tmp_path / "model.skops") as file:
        kept = b"".join(file.read(name) for name in file.namelist())
    assert np.float64(0.123456789).tobytes() not in kept
    assert np.array_equal(
        load_model(tmp_path / "model.skops").predict_weights(marked),
        model.predict_weights(marked),
    )


def test_a_file_with_unknown_types_is_refused_by_their_name(
    sinc: Any, tmp_path: Any
) -> None:
    model = Adapted(Spy(), LogLinearKLIEP()).fit(sinc.X, sinc.y, X_target=sinc.X_target)
    with pytest.raises(TypeError, match=r"adaptation\.spy\.Spy"):
        model.save(tmp_path / "spy.skops")
    assert not list(tmp_path.iterdir())
    (tmp_path / "junk").write_bytes(b"not a model")
    with pytest.raises(ValueError, match="no model file"):
        load_model(tmp_path / "junk")
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent")


def test_a_function_in_disguise_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "attack.skops"
    dump(partial(os.system, "true"), path)
    with pytest.raises(TypeError, match="system"):
        load_model(path)


def test_a_fitted_model_survives_pickling(sinc: Any, line: Adapted) -> None:
    again = pickle.loads(pickle.dumps(line))
    assert np.array_equal(again.predict(sinc.X), line.predict(sinc.X))


def test_the_summary_tells_numbers_and_the_assumption(line: Adapted) -> None:
    told = line.summary()
    assert "p(y | x)" in told
    assert line.diagnosis_ is not None
    assert f"{line.diagnosis_.auc:.3f}" in told
    assert f"{line.exponent_:g}" in told


def test_a_notebook_shows_the_summary_and_the_shift(line: Adapted) -> None:
    shown = line._repr_mimebundle_()["text/html"]
    assert "Shift: " in shown
    assert "<details><summary>The shift" in shown
    assert "Shift: " not in Adapted(LinearRegression())._repr_html_()


def test_progress_goes_to_the_logger(sinc: Any, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, logger="counterpoise"):
        adapt(LinearRegression(), sinc.X, sinc.y, sinc.X_target, random_state=0)
    assert "weighing the source rows" in caplog.text


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"weight_estimator": "best"}, "weight_estimator must be"),
        ({"weight_estimator": 3}, "weight_estimator must be"),
        ({"max_samples": 0}, "max_samples must be"),
        ({"calibration_fraction": 1.0}, "calibration_fraction must be"),
        ({"missing_target": "shrug"}, "missing_target must be"),
        ({"cv": "rows"}, "cv must be"),
    ],
)
def test_bad_parameters_are_named(sinc: Any, parameters: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Adapted(Ridge(), **parameters).fit(sinc.X, sinc.y, X_target=sinc.X_target)


def test_intervals_hold_the_target_as_often_as_promised() -> None:
    held, count = 0, 0
    for seed in range(8):
        shift = make_sinc_shift(n=600, m=300, random_state=seed)
        model = Adapted(
            LinearRegression(),
            LogLinearKLIEP(),
            calibration_fraction=0.4,
            random_state=0,
        ).fit(shift.X, shift.y, X_target=shift.X_target)
        low, high = model.predict_interval(shift.X_target, confidence_level=0.8).T
        held += int(((low <= shift.y_target) & (shift.y_target <= high)).sum())
        count += len(low)
    assert held / count > 0.8 - 2 * np.sqrt(0.2 * 0.8 / 1000)


def test_sets_hold_the_class_as_often_as_promised() -> None:
    shift = load_breast_cancer_shift()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Adapted(
            make_pipeline(StandardScaler(), LogisticRegression()),
            calibration_fraction=0.3,
            random_state=0,
        ).fit(shift.X, shift.y, X_target=shift.X_target)
    sets = model.predict_set(shift.X_target, confidence_level=0.9)
    place = np.searchsorted(model.classes_, shift.y_target)
    assert sets[np.arange(len(place)), place].mean() > 0.85
    with pytest.raises(ValueError, match="use predict_set"):
        model.predict_interval(shift.X_target)


@pytest.mark.parametrize("weight_estimator", ["auto", KLIEP(gamma=1.0), ULSIF()])
def test_an_interval_is_infinite_where_no_source_row_tells(
    weight_estimator: Any,
) -> None:
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(600, 1)), rng.normal(0.7, 1.0, size=(500, 1))
    y = X[:, 0] + rng.normal(size=600)
    model = Adapted(
        LinearRegression(), weight_estimator, calibration_fraction=0.4, random_state=0
    )
    model.fit(X, y, X_target=T)
    low, high = model.predict_interval([[0.7], [-60.0], [1e6]]).T
    assert np.isfinite([low[0], high[0]]).all()
    assert np.isinf(high[1:]).all()
    assert np.isinf(low[1:]).all()


def test_intervals_do_not_depend_on_the_unit_of_the_users_weights(sinc: Any) -> None:
    widths = []
    for unit in (1e-3, 1.0, 1e3):
        model = Adapted(
            LinearRegression(),
            LogLinearKLIEP(),
            calibration_fraction=0.3,
            random_state=0,
        ).fit(
            sinc.X,
            sinc.y,
            X_target=sinc.X_target,
            sample_weight=np.full(len(sinc.y), unit),
        )
        low, high = model.predict_interval(sinc.X_target).T
        widths.append(high - low)
    assert np.allclose(widths[0], widths[1], rtol=1e-6)
    assert np.allclose(widths[2], widths[1], rtol=1e-6)


def test_groups_are_held_out_whole_for_calibration() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 10)
    X = rng.normal(size=(60, 2))[groups]
    y = rng.normal(size=60)[groups] + 0.01 * rng.normal(size=600)
    model = Adapted(
        DecisionTreeRegressor(random_state=0),
        weight_estimator=None,
        calibration_fraction=0.4,
        random_state=0,
    ).fit(X, y, X_target=X[:50], groups=groups)
    new_X, new_y = rng.normal(size=(500, 2)), rng.normal(size=500)
    low, high = model.predict_interval(new_X, confidence_level=0.9).T
    assert np.mean((low <= new_y) & (new_y <= high)) > 0.8


def test_sets_need_held_out_rows(sinc: Any, line: Adapted) -> None:
    with pytest.raises(ValueError, match=r"calibration_fraction=0\.2"):
        line.predict_interval(sinc.X)


@pytest.mark.parametrize(
    "model",
    [
        Adapted(),
        Adapted(LogisticRegression()),
        Adapted(Ridge()),
    ],
    ids=["default", "logistic", "ridge"],
)
def test_scikit_learns_checks_pass(model: Adapted) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(model)


class _ToItself(Adapted):
    """Adapted to its own source, so that the checks run all of it."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, y, X_target=(X,), sample_weight=sample_weight)


@pytest.mark.parametrize("inner", [LogisticRegression(), Ridge()])
def test_scikit_learns_checks_pass_with_a_target_too(inner: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(
            _ToItself(
                inner,
                LogLinearKLIEP(statistics="linear", allow_no_overlap=True),
                guard=True,
                random_state=0,
            ),
            expected_failed_checks={
                "check_dtype_object": "a cell that is a dict is refused by its column, "
                "in other words than scikit-learn's"
            },
        )


def test_a_list_of_texts_is_refused_with_what_to_do() -> None:
    model = Adapted(LogisticRegression())
    with pytest.raises(TypeError, match=r"list of texts.*vectorizer"):
        model.fit(["a b", "c d"], [0, 1], X_target=["a b"])


def test_samples_that_were_read_from_other_rows_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    samples = Samples.read(X[:20], X)
    with pytest.raises(ValueError, match=r"30 rows, and the source .* has 20"):
        Adapted(Ridge()).fit(X, X[:, 0], X_target=samples)


def test_what_is_covered_is_decided_by_the_diagnosis_alone(monkeypatch):
    # A second look, by other folds, must not refuse what the first let pass.
    shift = make_gaussian_shift(2, n=150, m=140, random_state=0)
    monkeypatch.setattr(
        "counterpoise.weights.auto.uncovered_interval", lambda *_, **__: (0.9, 1.0)
    )
    with pytest.raises(NoOverlapError):
        AutoWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
    model = Adapted(LinearRegression(), random_state=0)
    model.fit(shift.X, shift.y, X_target=shift.X_target)
    assert model.diagnosis_.verdict != "no overlap"
    found = estimate_performance(
        model, shift.X, shift.y, shift.X_target, cv=2, random_state=1
    )
    assert found.weighted is not None


def test_pandas_own_gap_in_labels_is_named_by_its_row():
    with pytest.raises(InvalidInputError, match="row 1 has no label"):
        check_none_missing(pd.array(["a", pd.NA, "b"], dtype="string"))


def test_a_model_is_adapted_where_its_weights_differ_from_ones() -> None:
    from counterpoise.report import Report, render

    rng = np.random.default_rng(0)
    X, T = rng.standard_normal((200, 2)), rng.standard_normal((180, 2))
    y = X[:, 0]
    weighted = Adapted(Ridge(), KLIEP(gamma=0.5), guard=False, random_state=0)
    weighted.fit(X, y, X_target=T)
    assert weighted.adapted_
    text = " ".join(render(Report.from_estimator(weighted)).text().split())
    assert "No shift detected, but the model was fitted with weights." in text
    assert "Use your model as it is" not in text
    equal = Adapted(Ridge(), UniformWeights(), guard=False, random_state=0)
    equal.fit(X, y, X_target=T + 0.7)
    np.testing.assert_allclose(equal.weights_, 1.0)
    assert not equal.adapted_
    text = " ".join(render(Report.from_estimator(equal)).text().split())
    assert "dapted model" not in text
    assert "All training rows count alike in its fit." in text
