"""Fourteen real shifts, from the folder that COUNTERPOISE_DATA names.

Natural splits, except for three that are marked "biased": there a row goes to the
target with a chance that grows with one column.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True, eq=False)
class Shift:
    """A labeled source and a target whose labels are for judging alone.

    `kind` is "regression" or "classification". Recordings in the order of time say so.
    """

    name: str
    kind: str
    X: np.ndarray
    y: np.ndarray
    X_target: np.ndarray
    y_target: np.ndarray
    in_time_order: bool = False


def shifts() -> Iterator[Shift]:
    """Return the shifts, one after another, always in the same order."""
    yield from _all()


@lru_cache(maxsize=1)
def _all() -> tuple[Shift, ...]:
    return tuple(
        shift
        for source in (
            _abalone,
            _employment,
            _income,
            _air,
            _bike,
            _california,
            _electricity,
            _weather,
            _boston,
            _brain,
        )
        for shift in source()
    )


def _folder() -> Path:
    if "COUNTERPOISE_DATA" not in os.environ:
        raise SystemExit("COUNTERPOISE_DATA must name the folder with the data sets")
    return Path(os.environ["COUNTERPOISE_DATA"])


def _table(path: str) -> pd.DataFrame:
    return pd.read_csv(_folder() / path)


def _shift(
    name: str, kind: str, table: pd.DataFrame, columns: list, label: Any, source: Any
) -> Shift:
    """Split a table: rows where `source` holds, and the others."""
    source = np.asarray(source)
    X = table[columns].to_numpy(float)
    y = (table[label] if isinstance(label, str) else label).to_numpy()
    y = y.astype(float if kind == "regression" else int)
    return Shift(name, kind, X[source], y[source], X[~source], y[~source])


def _drawn(score: Any, seed: int) -> np.ndarray:
    """Return which rows go to the target, drawn with a logistic chance."""
    chance = 1 / (1 + np.exp(-np.asarray(score, dtype=float)))
    return np.random.default_rng(seed).random(len(chance)) < chance


def _abalone() -> Iterator[Shift]:
    t = _table("abalone/abalone.csv.gz")
    columns = [c for c in t.columns if c not in ("sex", "rings")]
    infant = t.sex == "I"
    yield _shift("abalone infant -> adult", "regression", t, columns, "rings", infant)
    yield _shift("abalone adult -> infant", "regression", t, columns, "rings", ~infant)


def _employment() -> Iterator[Shift]:
    t = _table("acs_employment_ma/acs_employment_ma.csv.gz")
    columns = [c for c in t.columns if c not in ("year", "employed")]
    years = t[t.year.isin([2015, 2018])]
    yield _shift(
        "employment 2015 -> 2018",
        "classification",
        years,
        columns,
        "employed",
        years.year == 2015,
    )
    old = _drawn((t.AGEP - 45) / 8, seed=1)
    yield _shift(
        "employment young -> old (biased)",
        "classification",
        t,
        columns,
        "employed",
        ~old,
    )


def _income() -> Iterator[Shift]:
    t = _table("acs_income_states/acs_income_states.csv.gz")
    t = t[t.state.isin(["CA", "FL"])]
    columns = ["mar", "sex", "agep", "intp", "retp", "ssp", "ssip", "pap"]
    label = np.log(np.maximum(t.pincp, 100))
    yield _shift("income CA -> FL", "regression", t, columns, label, t.state == "CA")


def _air() -> Iterator[Shift]:
    t = _table("air_quality/air_quality.csv.gz")
    sensors = [c for c in t.columns if c.startswith("PT08")]
    t = t.dropna(subset=["CO_GT", "PT08_S1_CO" if "PT08_S1_CO" in t.columns else "T"])
    summer = pd.to_datetime(t.datetime) < pd.Timestamp("2004-10-01")
    columns = [*sensors, "T", "RH", "AH"]
    yield _shift("air summer -> winter", "regression", t, columns, "CO_GT", summer)


def _bike() -> Iterator[Shift]:
    t = _table("bike_sharing/hour.csv.gz")
    columns = ["season", "mnth", "hr", "holiday", "weekday", "workingday"]
    columns += ["weathersit", "temp", "atemp", "hum", "windspeed"]
    label = np.log1p(t.cnt)
    yield _shift("bike 2011 -> 2012", "regression", t, columns, label, t.yr == 0)
    spring = t.season.isin([1, 2])
    yield _shift("bike spring -> autumn", "regression", t, columns, label, spring)


def _california() -> Iterator[Shift]:
    t = _table("california_housing/california_housing.csv.gz")
    columns = ["housingMedianAge", "totalRooms", "totalBedrooms", "population"]
    columns += ["households", "medianIncome"]
    label = np.log(t.medianHouseValue)
    north = t.latitude > 36
    t[columns] = np.log(t[columns])
    yield _shift("California north -> south", "regression", t, columns, label, north)


def _electricity() -> Iterator[Shift]:
    t = _table("electricity/elec2.csv.gz")
    columns = ["day", "period", "nswdemand", "vicprice", "vicdemand", "transfer"]
    early = np.arange(len(t)) < 17000
    yield _shift("electricity early -> late", "classification", t, columns, "up", early)


def _weather() -> Iterator[Shift]:
    t = _table("noaa_weather/noaa_weather.csv.gz")
    columns = [c for c in t.columns if c != "rain"]
    warm = _drawn((t.temperature - t.temperature.median()) / 8, seed=2)
    yield _shift(
        "weather cold -> warm (biased)", "classification", t, columns, "rain", ~warm
    )


def _boston() -> Iterator[Shift]:
    t = _table("boston_housing/boston_housing.csv")
    columns = list(t.columns[:-1])
    large = _drawn((t[columns[5]] - 6.2) / 0.4, seed=0)
    yield _shift(
        "boston small -> large (biased)",
        "regression",
        t,
        columns,
        t.columns[-1],
        ~large,
    )


def _brain() -> Iterator[Shift]:
    data = np.load(_folder() / "bci3_mental_imagery/bci3_dataset5_psd.npz")
    X, y = np.log(data["X"].astype(float)), data["y"]
    for subject in (2, 3):
        used = (data["subject"] == subject) & np.isin(y, (2, 3))
        first, last = (used & (data["session"] == k) for k in (1, 4))
        label = (y == 2).astype(int)
        yield Shift(
            f"brain subject {subject}, session 1 -> 4",
            "classification",
            X[first],
            label[first],
            X[last],
            label[last],
            in_time_order=True,
        )
