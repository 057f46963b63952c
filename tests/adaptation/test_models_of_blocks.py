"""Models of tables in blocks: decided on a sample, fitted to every row."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterpoise import (
    ULSIF,
    Adapted,
    LabelShiftWeights,
    LogLinearKLIEP,
    estimate_performance,
    load_model,
)
from counterpoise.adaptation.out_of_core import rows_drawn_for_evaluation
from counterpoise.data import Blocks, distribute, memory_budget, sample
from counterpoise.data.parameters import as_seed
from counterpoise.errors import InvalidInputError

N, M = 14_000, 12_000


def numbers(seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 3)), rng.normal(0.35, 0.9, (M, 3))
    y = X[:, 0] + 0.4 * X[:, 0] ** 2 + rng.normal(scale=0.3, size=N)
    return X, y, T


def mixed(n, shift, seed):
    rng = np.random.default_rng(seed)
    age = rng.normal(40 + 4 * shift, 10, n)
    color = rng.choice(["red", "blue", "green"], n, p=[0.5, 0.3, 0.2])
    bought = rng.random(n) < 1 / (1 + np.exp(-(age - 40) / 10 - (color == "red")))
    age[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame({"age": age, "color": color, "bought": bought.astype(int)})


def in_blocks(rows, k=3_000):
    return Blocks.from_arrays(rows, rows=k)


def ratio_of(model, rows):
    ratio = model.predict_weights(rows) ** model.exponent_
    return ratio / ratio.mean()


@pytest.mark.parametrize("estimator", [Ridge(alpha=3.0), LinearRegression()])
def test_a_linear_model_by_passes_is_that_of_all_rows_in_memory(estimator):
    X, y, T = numbers()
    model = Adapted(estimator, LogLinearKLIEP(random_state=0), random_state=0)
    model.fit(in_blocks(X), y, X_target=in_blocks(T))
    assert model.all_rows_.estimator_fit == "passes"
    assert model.all_rows_.weight_estimator_fit == "every row"
    assert (model.all_rows_.n_source, model.all_rows_.n_drawn) == (N, 10_000)
    whole = LogLinearKLIEP(random_state=0).fit(X, X_target=T)
    known = estimator.fit(X, y, sample_weight=whole.weights_)
    np.testing.assert_allclose(model.estimator_.coef_, known.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X[:9]), known.predict(X[:9]), rtol=1e-6)


def test_a_pipeline_on_mixed_columns_is_fitted_to_every_row(tmp_path):
    source, target = mixed(N, 0, 1), mixed(M, 1, 2).drop(columns="bought")
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        (OneHotEncoder(), ["color"]),
    )
    model = Adapted(
        make_pipeline(steps, LogisticRegression()), LogLinearKLIEP(), random_state=0
    )
    model.fit(in_blocks(source), "bought", X_target=in_blocks(target))
    assert model.all_rows_.estimator_fit == "passes"
    assert list(model.classes_) == [0, 1]
    frame = source.drop(columns="bought")
    prepared = model.estimator_[:-1].transform(frame)
    known = LogisticRegression(tol=1e-10, max_iter=1000).fit(
        prepared, source["bought"], sample_weight=ratio_of(model, frame)
    )
    np.testing.assert_allclose(
        model.predict_proba(in_blocks(target))[:, 1],
        known.predict_proba(model.estimator_[:-1].transform(target))[:, 1],
        rtol=1e-5,
    )
    model.save(tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        again.predict(in_blocks(target, 999)), model.predict(target)
    )


def test_the_guards_exponent_governs_the_weights_of_every_row():
    X, y, T = numbers()
    model = Adapted(LinearRegression(), random_state=0)
    model.fit(in_blocks(X), y, X_target=in_blocks(T))
    assert model.guard_ is not None
    assert model.adapted_
    known = LinearRegression().fit(X, y, sample_weight=ratio_of(model, X))
    np.testing.assert_allclose(model.estimator_.coef_, known.coef_, rtol=1e-6)
    assert model.all_rows_.effective_size == pytest.approx(
        ratio_of(model, X).sum() ** 2 / (ratio_of(model, X) ** 2).sum(), rel=1e-6
    )


def test_what_has_partial_fit_sees_every_block_once():
    X, y, T = numbers()
    estimator = SGDRegressor(random_state=0, shuffle=False, learning_rate="constant")
    model = Adapted(estimator, LogLinearKLIEP(), random_state=0)
    model.fit(in_blocks(X), y, X_target=T)
    assert model.all_rows_.estimator_fit == "pieces"
    known, weights = SGDRegressor(**estimator.get_params()), ratio_of(model, X)
    for k in range(0, N, 3_000):
        part = slice(k, k + 3_000)
        known.partial_fit(X[part], y[part], sample_weight=weights[part])
    np.testing.assert_allclose(model.estimator_.coef_, known.coef_, rtol=1e-6)


def test_other_estimators_are_fitted_to_rows_drawn_by_their_weights():
    X, y, T = numbers()
    estimator = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    fits = [
        Adapted(estimator, LogLinearKLIEP(), max_samples=2_000, random_state=0).fit(
            in_blocks(X, k), y, X_target=in_blocks(T, 5_000)
        )
        for k in (999, 5_000)
    ]
    assert fits[0].all_rows_.estimator_fit == "drawn rows"
    # However they are cut, the same rows are drawn.
    np.testing.assert_array_equal(fits[0].predict(T), fits[1].predict(T))


def test_rows_that_fit_into_memory_are_read_into_it():
    X, y, T = numbers()
    estimator = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    model = Adapted(estimator, LogLinearKLIEP(), random_state=0)
    model.fit(in_blocks(X), y, X_target=in_blocks(T))
    assert model.all_rows_.estimator_fit == "rows in memory"
    known = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    known.fit(X, y, sample_weight=ratio_of(model, X))
    np.testing.assert_allclose(model.predict(T), known.predict(T), rtol=1e-9)


def test_rows_that_do_not_fit_are_refused_with_the_numbers_and_a_way_out():
    X, y, T = numbers()
    estimator = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    model = Adapted(estimator, LogLinearKLIEP(), random_state=0)
    with (
        memory_budget(720_000),
        pytest.raises(
            InvalidInputError, match=r"14,000 rows of 3 .* max_samples=10000 draws"
        ),
    ):
        model.fit(in_blocks(X), y, X_target=in_blocks(T))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_whoever_computes_gives_the_same_model(scheduler):
    X, y, T = numbers(4)
    fits = []
    for there in (False, True):
        weight_estimator = ULSIF(gamma=0.2, regularization=0.1, random_state=0)
        model = Adapted(Ridge(), weight_estimator, random_state=0)
        if there:
            with distribute(scheduler):
                model.fit(in_blocks(X, 997), y, X_target=in_blocks(T, 997))
        else:
            model.fit(in_blocks(X, 997), y, X_target=in_blocks(T, 997))
        fits.append(model)
    assert fits[0].estimator_.coef_.tobytes() == fits[1].estimator_.coef_.tobytes()


def test_predictions_are_written_in_the_order_of_the_rows(tmp_path):
    source, target = mixed(N, 0, 1), mixed(M, 1, 2)
    target["name"] = [f"row {k}" for k in range(M)]
    pq.write_table(
        pa.Table.from_pandas(target), tmp_path / "live.parquet", row_group_size=700
    )
    live = Blocks.from_parquet(tmp_path / "live.parquet")
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        (OneHotEncoder(), ["color"]),
    )
    model = Adapted(
        make_pipeline(steps, LogisticRegression()), LogLinearKLIEP(), random_state=0
    )
    columns = Blocks.from_parquet(tmp_path / "live.parquet", columns=["age", "color"])
    model.fit(in_blocks(source), "bought", X_target=columns)
    model.write_predictions(
        live, tmp_path / "out.parquet", id_column="name", probabilities=True
    )
    written = pq.read_table(tmp_path / "out.parquet").to_pandas()
    assert list(written["name"]) == list(target["name"])
    frame = target[["age", "color"]]
    np.testing.assert_array_equal(written["prediction"], model.predict(frame))
    np.testing.assert_allclose(
        written["probability of 1"], model.predict_proba(frame)[:, 1]
    )
    np.testing.assert_allclose(
        model.predict_weights(live), model.predict_weights(frame), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sample_weight": np.ones(60)}, "sample_weight is not taken beside blocks"),
        ({"groups": np.ones(60)}, "groups is not taken beside blocks"),
        ({"X_target": None}, "X_target is None"),
        ({"y": "label"}, "no column 'label'"),
        ({"y": np.ones(59)}, "X has 60 rows"),
        ({"model": {"calibration_fraction": 0.2}}, "calibration holds rows out"),
        ({"model": {"weight_estimator": "partial"}}, "takes no blocks"),
        ({"model": {"resample": True}}, "give a budget"),
    ],
)
def test_what_blocks_cannot_have_is_refused_by_name(change, words):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    given = {"y": X[:, 0], "X_target": in_blocks(X + 0.1, 20), **change}
    model = Adapted(Ridge(), **given.pop("model", {}))
    with pytest.raises(InvalidInputError, match=words):
        model.fit(in_blocks(X, 20), given.pop("y"), **given)


def test_a_class_that_the_sample_lacks_is_refused_by_name():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(20_000, 2)), rng.normal(size=(12_000, 2))
    y = (X[:, 0] > 0).astype(int)
    model = Adapted(LogisticRegression(), None, random_state=0)
    model.fit(in_blocks(X), y, X_target=in_blocks(T))
    seen = sample(in_blocks(X), 10_000, as_seed(0)).places
    y[np.setdiff1d(np.arange(20_000), seen)[0]] = 7
    with pytest.raises(InvalidInputError, match="class 7 has so few rows"):
        model.fit(in_blocks(X), y, X_target=in_blocks(T))


@pytest.mark.parametrize("cv", [None, 3])
def test_the_score_on_the_target_is_estimated_by_rows_drawn(cv):
    X, y, T = numbers()
    model = Adapted(Ridge(), LogLinearKLIEP(), random_state=0)
    model.fit(in_blocks(X), y, X_target=in_blocks(T))
    found = estimate_performance(
        model, in_blocks(X), y, in_blocks(T), cv=cv, random_state=0
    )
    assert (found.n_source, found.n_target) == (10_000, 10_000)
    rng = np.random.default_rng(9)
    new = rng.normal(0.35, 0.9, (50_000, 3))
    answer = new[:, 0] + 0.4 * new[:, 0] ** 2 + rng.normal(scale=0.3, size=50_000)
    truth = ((model.predict(new) - answer) ** 2).mean()
    assert found.doubly_robust.low < truth < found.doubly_robust.high


@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_a_regression_that_ends_too_early_says_so():
    X, y, T = numbers()
    model = Adapted(LogisticRegression(max_iter=1), None, random_state=0)
    with pytest.warns(ConvergenceWarning, match="by passes ended after max_iter=1"):
        model.fit(in_blocks(X), (y > 0).astype(int), X_target=in_blocks(T))


def classes(share, n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 2)) + 1.5 * y[:, None], y


@pytest.mark.parametrize("weight_estimator", ["labels", "either"])
def test_a_label_shift_is_made_up_for_in_blocks_too(weight_estimator):
    (X, y), (T, _) = classes(0.3, N, 0), classes(0.8, M, 1)
    model = Adapted(LogisticRegression(), weight_estimator, random_state=0)
    model.fit(in_blocks(X), y, X_target=in_blocks(T))
    some = Adapted(LogisticRegression(), weight_estimator, random_state=0)
    some.fit(X[:10_000], y[:10_000], X_target=T)
    np.testing.assert_allclose(
        model.estimator_.coef_, some.estimator_.coef_, rtol=0.1, atol=0.1
    )
    assert model.weights_[model.weights_ > 1].mean() > 2


def test_weights_of_numbers_as_labels_are_taken_in_blocks():
    X, y, T = numbers()
    model = Adapted(Ridge(), LabelShiftWeights(), guard=False, random_state=0)
    model.fit(in_blocks(X), y, X_target=in_blocks(T))
    assert np.isfinite(model.estimator_.coef_).all()


def not_drawn(n=20_000):
    """A row that the sample by which all is decided does not have."""
    drawn = sample(in_blocks(np.arange(float(n)).reshape(-1, 1)), 10_000, as_seed(0))
    return int(np.setdiff1d(np.arange(n), drawn.places)[0])


def test_what_is_missing_in_a_row_that_was_not_drawn_is_an_error_that_names_it():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(20_000, 2)), rng.normal(size=(12_000, 2))
    y, place = X[:, 0].copy(), not_drawn()
    model = Adapted(Ridge(), weight_estimator=None, random_state=0)
    X[place, 1] = np.nan
    with pytest.raises(ValueError, match=f"NaN or infinity in row {place}"):
        model.fit(in_blocks(X), y, X_target=in_blocks(T))
    X[place, 1], y[place] = 0.0, np.inf
    with pytest.raises(ValueError, match=f"y contains infinity in row {place}"):
        model.fit(in_blocks(X), y, X_target=in_blocks(T))


def test_a_class_that_was_not_drawn_is_not_taken_for_another():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(20_000, 2)), rng.normal(size=(12_000, 2))
    y = (X[:, 0] > 0).astype(float)
    y[not_drawn()] = 1.5
    model = Adapted(LogisticRegression(), weight_estimator=None, random_state=0)
    with pytest.raises(ValueError, match=r"class 1\.5 has so few rows"):
        model.fit(in_blocks(X), y, X_target=in_blocks(T))


def test_rows_are_judged_by_the_draw_of_the_fit_whatever_the_seed():
    X, y, T = numbers()
    model = Adapted(Ridge(), LogLinearKLIEP(), guard=False)
    model.fit(in_blocks(X), y, X_target=in_blocks(T))
    rows, _, _ = rows_drawn_for_evaluation(model, in_blocks(X), y, in_blocks(T), 0)
    ratio = model.predict_weights(rows)
    assert np.corrcoef(ratio, model.weights_)[0, 1] > 0.999
