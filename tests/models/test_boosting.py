"""Boosting takes a table as it comes."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline

from counterpoise.models.boosting import (
    BoostedClassifier,
    BoostedRegressor,
    DateNumbers,
    boosting_for,
    boosting_of,
)

RNG = np.random.default_rng(0)
N = 200
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "town": RNG.choice(["Aix", "Bonn", None], N),
        "when": pd.Timestamp("2024-01-01")
        + pd.to_timedelta(RNG.integers(0, 365, N), unit="D"),
    }
)
Y = TABLE["size"] + (TABLE["town"] == "Aix") * 3.0 + TABLE["when"].dt.month


@pytest.mark.parametrize("make", [lambda table: table, pl.from_pandas])
def test_strings_gaps_and_dates_are_used(make: Any) -> None:
    model = boosting_for(make(TABLE), classes=False, seed=0)
    fitted = model.fit(make(TABLE), Y)
    assert np.corrcoef(fitted.predict(make(TABLE)), Y)[0, 1] > 0.95


@pytest.mark.parametrize("make", [lambda table: table, pl.from_pandas])
def test_new_categories_are_taken_as_missing(make: Any) -> None:
    model = boosting_for(make(TABLE), classes=False, seed=0).fit(make(TABLE), Y)
    towns = ("Cork", pd.Series([None] * N, dtype=object))
    new, gap = (make(TABLE.assign(town=town)) for town in towns)
    assert np.array_equal(model.predict(new), model.predict(gap))


def test_missing_categories_are_missing_however_they_are_written() -> None:
    gaps = TABLE["town"].isna().to_numpy()
    names = TABLE["town"].to_numpy(dtype=object)
    tables = [
        TABLE.assign(town=pd.Series(np.where(gaps, gap, names), dtype=object))
        for gap in (np.nan, None, pd.NA)
    ]
    tables.append(TABLE.astype({"town": "string"}))
    said = [
        boosting_for(table, classes=False, seed=0).fit(table, Y).predict(table)
        for table in (*tables, pl.from_pandas(TABLE))
    ]
    for one in said[1:]:
        assert np.array_equal(one, said[0])


def test_numbers_and_categories_by_type_go_to_scikit_learns_own() -> None:
    table = TABLE[["size"]].assign(town=TABLE["town"].astype("category"))
    model = boosting_for(table, classes=False, seed=0)
    assert isinstance(model, HistGradientBoostingRegressor)
    assert isinstance(boosting_for(TABLE, classes=False, seed=0), Pipeline)


def test_the_numbers_have_the_names_of_their_columns() -> None:
    model = boosting_for(TABLE, classes=False, seed=0).fit(TABLE, Y)
    parts = [f"when: {part}" for part in ("day", "month", "weekday", "hour")]
    names = model["columns"].get_feature_names_out().tolist()
    assert names == ["size", "town", *parts]


def test_a_table_and_its_kinds_give_the_same_model() -> None:
    kinds = {"size": "numbers", "town": "categories", "when": "dates"}
    by_table = boosting_for(TABLE, classes=False, seed=0).fit(TABLE, Y)
    for crowded in ((), ("town",)):
        by_kinds = boosting_of(kinds, classes=False, seed=0, crowded=crowded)
        told = by_kinds.fit(TABLE, Y).predict(TABLE)
        assert np.array_equal(told, by_table.predict(TABLE))


def test_lists_of_strings_and_numbers_are_taken() -> None:
    rows = np.array(TABLE[["town", "size"]].assign(color="red"), dtype=object)
    model = boosting_for(rows, classes=False, seed=0)
    y = Y - TABLE["when"].dt.month
    assert np.corrcoef(model.fit(rows, y).predict(rows), y)[0, 1] > 0.95


def test_dates_with_a_time_zone_are_read_off_the_clock() -> None:
    clock = pd.DataFrame({"t": [pd.Timestamp("2024-03-01 23:00")]})
    zoned = clock.assign(t=clock["t"].dt.tz_localize("Asia/Tokyo"))
    expected = DateNumbers().fit_transform(clock)
    for frame in (zoned, pl.from_pandas(zoned)):
        assert np.array_equal(DateNumbers().fit_transform(frame), expected)


@pytest.mark.parametrize("kind", [BoostedClassifier, BoostedRegressor])
@pytest.mark.parametrize("weights", [None, np.arange(300.0)])
def test_a_column_without_a_value_among_its_rows_changes_nothing(kind, weights):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    X[:, 1] = np.nan
    # The weight of this row is zero.
    X[0, 1] = np.nan if weights is None else 1.0
    found = kind(random_state=0, max_iter=5).fit(X, y, weights).predict(X)
    without = kind(random_state=0, max_iter=5).fit(X[:, ::2], y, weights)
    np.testing.assert_array_equal(found, without.predict(X[:, ::2]))
