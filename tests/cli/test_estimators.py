"""Every model of `--estimator` takes mixed tables and comes back from a file."""

import numpy as np
import pandas as pd
import pytest

from counterpoise.adaptation.adapted import Adapted
from counterpoise.adaptation.model_io import load_model
from counterpoise.cli.fit import ONLY, build_estimator, kinds_of
from counterpoise.cli.options import ESTIMATORS
from counterpoise.weights.base import UniformWeights

KINDS = {
    "age": "numbers",
    "region": "categories",
    "day": "dates",
    "income": "numbers",
}
OFFERED = [
    (name, task)
    for name in ESTIMATORS
    # A way to choose among the others.
    if name != "auto"
    for task in ("classification", "regression")
    if ONLY.get(name, task) == task
]


def mixed(n, seed):
    rng = np.random.default_rng(seed)
    day = np.datetime64("2022-01-01", "us") + rng.integers(0, 700, n) * np.timedelta64(
        1, "D"
    )
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "region": rng.choice(["north", "south", "west"], n).astype(object),
            "day": day,
            "income": rng.normal(size=n),
        }
    )
    signal = frame["age"] + 2.0 * (frame["region"] == "south") + frame["income"]
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "region"] = np.nan
    frame.loc[rng.random(n) < 0.1, "day"] = pd.NaT
    return frame, signal.to_numpy()


@pytest.mark.parametrize(("name", "task"), OFFERED)
def test_a_model_learns_is_saved_and_predicts_the_same_from_the_file(
    tmp_path, name, task
):
    X, signal = mixed(300, 0)
    X_new, signal_new = mixed(100, 1)
    X_new.loc[0, "region"] = "overseas"
    classes = task == "classification"
    y = np.where(signal > 0.5, "yes", "no") if classes else signal
    model = Adapted(
        build_estimator(name, task, KINDS, 0), UniformWeights(), random_state=0
    )
    model.fit(X, y, X_target=(X_new,))
    model.save(tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    told = model.predict(X_new)
    np.testing.assert_array_equal(loaded.predict(X_new), told)
    assert kinds_of(loaded) == KINDS
    np.testing.assert_array_equal(
        loaded.predict_weights(X_new), model.predict_weights(X_new)
    )
    if name == "constant":
        assert np.unique(told).size == 1
    elif classes:
        right = np.mean(told == np.where(signal_new > 0.5, "yes", "no"))
        assert right > 0.6
        if hasattr(model, "predict_proba"):
            np.testing.assert_array_equal(
                loaded.predict_proba(X_new), model.predict_proba(X_new)
            )
    else:
        assert np.corrcoef(told, signal_new)[0, 1] > 0.6


def test_the_columns_of_a_model_of_another_maker_are_not_guessed():
    assert kinds_of(object()) is None


def test_boosting_in_bins_predicts_what_scikit_learns_own_bins_do():
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "c"])
    y = np.sin(X["a"]) + X["b"] + 0.1 * rng.normal(size=2000)
    ours = build_estimator(
        "boosting", "regression", dict.fromkeys(X, "numbers"), 0
    ).fit(X, y)
    theirs = HistGradientBoostingRegressor(
        max_leaf_nodes=15, early_stopping=True, random_state=0
    ).fit(X, y)
    # Ours bin all rows and theirs nine tenths, so that single rows may change sides:
    # a third of the noise.
    assert np.abs(ours.predict(X) - theirs.predict(X)).mean() < 0.035


def test_a_column_of_a_thousand_categories_can_be_boosted():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "code": rng.integers(0, 1000, 3000).astype(str).astype(object),
            "word": rng.choice(["u", "v"], 3000).astype(object),
        }
    )
    y = (X["word"] == "u").to_numpy() + 0.0
    kinds = dict.fromkeys(X, "categories")
    model = build_estimator("boosting", "regression", kinds, 0, crowded=["code"]).fit(
        X, y
    )
    np.testing.assert_allclose(model.predict(X), y, atol=0.05)
