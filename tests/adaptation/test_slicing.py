"""Estimates by slice of the target, and the sizes of sets, for real models."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise import Adapted, estimate_performance
from counterpoise.adaptation.performance_estimation import (
    _rows_of_pieces,
    moved_columns,
    target_sets,
)
from counterpoise.data.samples import Samples
from counterpoise.datasets import make_gaussian_shift


def table(n, mean, seed):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "still": random.normal(size=n),
            "moved": random.normal(mean, 1.0, n),
            "town": random.choice(
                ["Oslo", "Rome"], n, p=[0.7 - mean / 4, 0.3 + mean / 4]
            ),
            "name": [f"{seed} {k}" for k in range(n)],
        }
    )


def test_the_columns_that_moved_most_come_first_and_identifiers_never():
    X, target = table(400, 0.0, 0), table(300, 1.0, 1)
    samples = Samples.read(X, target)
    found = moved_columns(samples, np.ones(400), np.arange(400), np.arange(300))
    assert [one.name for one in found] == ["moved", "town", "still"]
    assert found[0].effect > found[1].effect > found[2].effect
    shares = np.bincount(found[0].parts.target) / 300
    np.testing.assert_allclose(shares, 0.25, atol=0.02)


def test_pieces_of_a_target_are_counted_one_after_another():
    target = table(300, 1.0, 1)
    pieces = {"a": target[:100], "b": target[100:]}
    rows = np.array([0, 99, 100, 299])
    taken = pd.concat(_rows_of_pieces(pieces, rows))
    pd.testing.assert_frame_equal(taken, target.iloc[rows])
    assert len(_rows_of_pieces(pieces, np.array([5]))) == 1


def test_sparse_rows_are_not_sliced():
    X = sparse.csr_array(np.eye(20))
    rows = np.arange(20)
    samples = Samples.read(X, X)
    assert moved_columns(samples, np.ones(20), rows, rows) == []


@pytest.fixture(scope="module")
def regression():
    a, b = (make_gaussian_shift(3, n=600, m=500, random_state=seed) for seed in (0, 1))
    model = Adapted(LinearRegression(), calibration_fraction=0.3, random_state=0)
    return model.fit(a.X, a.y, X_target=a.X_target), b


def test_the_estimates_come_with_their_slices(regression):
    model, b = regression
    found = estimate_performance(model, b.X, b.y, (b.X_target,), random_state=0)
    slices = found.to_dict()["slices"]
    assert slices["metric"] == next(iter(found.metrics))
    assert len(slices["columns"]) == 3
    for column in slices["columns"]:
        shares = [part["share"] for part in column["parts"]]
        assert sum(shares) == pytest.approx(1.0)
    # Parts of the target: their mean is near the estimate for the whole.
    parts = slices["columns"][0]["parts"]
    assert all(part["estimate"] for part in parts)
    mean = sum(part["share"] * part["estimate"]["value"] for part in parts)
    assert found.doubly_robust.low < mean < found.doubly_robust.high
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_metric_that_is_no_mean_has_no_slices(regression):
    model, b = regression
    found = estimate_performance(
        model, b.X, b.y, (b.X_target,), scoring="r2", random_state=0
    )
    assert found.slices is None


def test_the_sizes_are_those_of_the_models_own_intervals(regression):
    model, b = regression
    found = estimate_performance(model, b.X, b.y, (b.X_target,), random_state=0).sets
    ends = model.predict_interval(b.X_target, 0.9)
    widths = ends[:, 1] - ends[:, 0]
    known = np.isfinite(widths)
    assert found["kind"] == "intervals"
    assert found["rows"] == 500
    assert found["infinite"] == pytest.approx(1 - known.mean())
    assert found["mean_width"] == pytest.approx(widths[known].mean())
    assert found["labels_width"] == pytest.approx(
        np.subtract(*np.quantile(b.y, [0.95, 0.05]))
    )


def test_sets_of_classes_are_counted_and_pipelines_are_looked_into():
    a = make_gaussian_shift(2, n=500, m=400, random_state=0)
    label = np.where(a.y > np.median(a.y), "high", "low")
    inner = Adapted(LogisticRegression(), calibration_fraction=0.3, random_state=0)
    model = make_pipeline(StandardScaler(), inner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaled = StandardScaler().fit(a.X).transform(a.X_target)
        model.fit(a.X, label, adapted__X_target=scaled)
        found = target_sets(model, [a.X_target[:150], a.X_target[150:]], label)
    held = inner_of(model).predict_set(model[:-1].transform(a.X_target))
    assert found["kind"] == "sets"
    assert found["mean_size"] == pytest.approx(held.sum(axis=1).mean())
    assert found["infinite"] == pytest.approx(held.all(axis=1).mean())


def inner_of(model):
    return model.steps[-1][1]


def test_a_model_without_a_calibration_has_no_sets():
    a = make_gaussian_shift(2, n=200, m=200, random_state=0)
    plain = LinearRegression().fit(a.X, a.y)
    assert target_sets(plain, [a.X_target], a.y) is None
    model = Adapted(LinearRegression(), weight_estimator=None, random_state=0)
    model.fit(a.X, a.y, X_target=(a.X_target,))
    assert target_sets(model, [a.X_target], a.y) is None
