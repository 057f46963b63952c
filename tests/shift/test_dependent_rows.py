"""Rows that belong together are no evidence each by itself."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from counterpoise import Adapted, diagnose
from counterpoise.errors import InvalidInputError, InvalidTypeError


def grouped(seed, g=40, k=15, d=3, shift=0.0):
    rng = np.random.default_rng(seed)
    names = np.repeat(np.arange(g), k)
    means = rng.normal(size=(g, d)) + shift * (np.arange(d) == 0)
    return means[names] + rng.normal(size=(g * k, d)), names


def series(seed, n, rho=0.97, d=2):
    rng = np.random.default_rng(seed)
    x = np.empty((n, d))
    x[0] = rng.normal(size=d)
    for i in range(1, n):
        x[i] = rho * x[i - 1] + np.sqrt(1 - rho**2) * rng.normal(size=d)
    return x


@pytest.mark.parametrize("seed", range(3))
def test_the_same_law_in_groups_is_no_shift_and_another_is_found(seed):
    X, names = grouped(seed)
    T, others = grouped(seed + 500)
    said = {"groups": names, "groups_target": others + 40, "random_state": 0}
    assert diagnose(X, T, **said).verdict == "no shift detected"
    # Taken one by one, the rows of other groups are another law.
    assert diagnose(X, T, random_state=0).verdict != "no shift detected"
    T[:, 0] += 1.5
    found = diagnose(X, T, **said)
    assert found.verdict != "no shift detected"
    assert found.features[0].adjusted_p_value <= 0.01
    assert found.features[1].adjusted_p_value > 0.01


@pytest.mark.parametrize("seed", range(3))
def test_a_series_cut_in_two_is_no_shift_and_a_jump_is_found(seed):
    rows = series(seed + 20, 1200)
    time = np.arange("2020-01-01", 1200, dtype="datetime64[D]")
    found = diagnose(rows[:600], rows[600:], time=time, random_state=0)
    assert found.verdict == "no shift detected"
    assert found.dependence.kind == "blocks of time"
    rows[600:, 0] += 4.0
    two = {"time": time[:600], "time_target": time[600:]}
    assert diagnose(rows[:600], rows[600:], **two, random_state=0).verdict != (
        "no shift detected"
    )


def test_the_order_of_the_rows_and_the_names_of_the_groups_do_not_matter():
    X, names = grouped(0, g=12)
    T, others = grouped(1, g=12)
    one = diagnose(X, T, groups=names, groups_target=others + 40, random_state=0)
    rows, aims = (np.random.default_rng(k).permutation(180) for k in (0, 1))
    called = np.array([f"site {99 - k}" for k in range(60)])
    other = diagnose(
        X[rows],
        T[aims],
        groups=called[names[rows]],
        groups_target=called[others[aims] + 40],
        random_state=0,
    )
    # Sums over rows in another order may differ by rounding.
    p_values = [[test.p_value for test in found.tests] for found in (one, other)]
    assert p_values[0] == pytest.approx(p_values[1], rel=1e-12)
    assert one.auc == pytest.approx(other.auc, rel=1e-12)
    assert one.uncovered_fraction == pytest.approx(other.uncovered_fraction, rel=1e-12)


def test_frames_with_categories_and_missing_values_have_groups_too():
    tables = []
    for seed in (0, 1):
        X, names = grouped(seed, g=15)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        frame.loc[::7, "a"] = np.nan
        frame["kind"] = np.where(X[:, 1] > 0, "up", "down")
        tables.append((frame, pd.Series(names + 100 * seed)))
    (X, g), (T, h) = tables
    weight = np.linspace(0.0, 2.0, len(X))
    found = diagnose(
        X, T, groups=g, groups_target=h, sample_weight=weight, random_state=0
    )
    assert found.verdict == "no shift detected"
    assert found.detectable is None
    assert found.to_dict()["dependence"]["n_target"] == 15
    assert found.to_dict()["dependence_hint"] is None
    T = T.assign(kind="up")
    found = diagnose(X, T, groups=g, groups_target=h, random_state=0)
    assert found.features[3].adjusted_p_value <= 0.01


def test_groups_that_both_samples_have_are_compared_within():
    X, names = grouped(3, k=30)
    first = np.arange(names.size) % 2 == 0
    said = {"groups": names[first], "groups_target": names[~first], "random_state": 0}
    T = X[~first]
    assert diagnose(X[first], T, **said).verdict == "no shift detected"
    # Within groups half of their spread is much.
    T[:, 0] += 0.5
    assert diagnose(X[first], T, **said).verdict != "no shift detected"


def test_groups_of_sparse_rows_are_held_out_together():
    rng = np.random.default_rng(0)
    names = np.repeat(np.arange(30), 8)
    rates = rng.lognormal(size=(60, 150)) * 0.2
    X, T = (
        sparse.csr_array(rng.poisson(rates[names + k]).astype(float)) for k in (0, 30)
    )
    said = diagnose(X, T, groups=names, groups_target=names + 50, random_state=0)
    assert said.verdict == "no shift detected"
    assert [test.name for test in said.tests] == ["classifier", "cells and neighbors"]
    assert said.features[0].p_value is None
    assert diagnose(X, T, random_state=0).verdict != "no shift detected"


def test_a_fit_diagnoses_by_its_groups():
    X, names = grouped(0, g=20)
    T, _ = grouped(1, g=20)
    fitted = Adapted(Ridge(), random_state=0, allow_no_overlap=True).fit(
        X, X[:, 0], X_target=(T,), groups=names
    )
    assert fitted.diagnosis_.dependence.n_source == 20
    assert fitted.diagnosis_.dependence.n_target == 300


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": [1, 2]}, "groups has 2 entries and its sample 60 rows"),
        ({"groups": [None] * 60}, "groups has no name in row 0"),
        ({"groups": ["a", pd.NA] * 30}, "groups has no name in row 1"),
        ({"groups": [pd.NaT] * 60}, "groups has no name in row 0"),
        ({"groups": [[1]] * 60}, "must be a column, got shape"),
        ({"time": np.arange(60)}, "or all 120 as one"),
        ({"time": np.full(120, np.nan)}, "time has no time in row 0"),
        ({"time": [1, pd.NA] * 60}, "time has no time in row 1"),
        ({"time": np.arange(60), "time_target": [1]}, "time_target has 1 entries"),
        ({"time": np.arange(120), "groups": np.arange(60)}, "not both"),
    ],
)
def test_what_does_not_fit_the_rows_is_refused(given, message):
    X, _ = grouped(0, g=6, k=10)
    with pytest.raises(InvalidInputError, match=message):
        diagnose(X, X, **given)


def test_times_are_numbers_or_dates():
    X, _ = grouped(0, g=6, k=10)
    with pytest.raises(InvalidTypeError, match="numbers or dates"):
        diagnose(X, X, time=["a"] * 120)
    stamps = list(pd.date_range("2020", periods=120, tz="UTC"))
    found = diagnose(X, X, time=np.array(stamps, dtype=object), random_state=0)
    assert found.dependence.n_source >= 6
    with pytest.raises(InvalidTypeError, match="numbers or dates"):
        diagnose(X, X, time=np.array([1, "a"] * 60, dtype=object))
