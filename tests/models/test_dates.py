"""Dates as numbers are those that pandas finds."""

import numpy as np
import pandas as pd

from counterpoise.models.boosting import DateNumbers


def test_dates_become_the_parts_that_pandas_finds():
    rng = np.random.default_rng(2)
    hours = pd.to_timedelta(rng.integers(0, 17_000, 50), unit="h")
    dates = pd.DataFrame({"day": pd.Timestamp("2022-01-01") + hours})
    dates.loc[::7, "day"] = pd.NaT
    found = DateNumbers().fit_transform(dates)
    there = dates["day"].notna().to_numpy()
    day = dates["day"][there].dt
    np.testing.assert_array_equal(found[there, 1], day.month)
    np.testing.assert_array_equal(found[there, 2], day.day_of_week)
    np.testing.assert_array_equal(found[there, 3], day.hour)
    days = (dates["day"][there] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    np.testing.assert_allclose(found[there, 0], days)
    assert np.isnan(found[~there]).all()
