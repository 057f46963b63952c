"""Dates as numbers, for models that take numbers."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from counterpoise.numerics.arrays import Array

_PARTS = ("day", "month", "weekday", "hour")


class DateNumbers(TransformerMixin, BaseEstimator):
    """Dates as days since 1970, and their month, weekday and hour.

    Examples
    --------
    >>> import numpy as np
    >>> dates = np.array([["1970-01-02T06:00"]], dtype="M8[us]")
    >>> DateNumbers().fit_transform(dates)
    array([[1.25, 1.  , 4.  , 6.  ]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the number and the names of the columns."""
        names = getattr(X, "columns", range(np.shape(X)[1]))
        self.names_ = [str(name) for name in names]
        return self

    def transform(self, X: Any) -> Array:
        """Return four numbers a date, NaN where there is none.

        Parameters
        ----------
        X : frame or array of dates of shape (k, d)

        Returns
        -------
        float64 array of shape (k, 4 d)
        """
        check_is_fitted(self, "names_")
        moments = _moments(X)
        days = moments.astype("M8[D]")
        parts = (
            moments.astype("i8") / 86_400e6,
            moments.astype("M8[M]").astype("i8") % 12 + 1.0,
            # The first of January 1970 was a Thursday.
            (days.astype("i8") + 3) % 7 + 0.0,
            moments.astype("M8[h]").astype("i8") % 24 + 0.0,
        )
        out = np.stack(parts, axis=2)
        out[np.isnat(moments)] = np.nan
        return out.reshape(len(moments), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the numbers."""
        names = [f"{name}: {part}" for name in self.names_ for part in _PARTS]
        return np.array(names, dtype=object)


def _moments(X: Any) -> Any:
    """Return what the clock showed, also where it has a time zone."""
    if not hasattr(X, "columns"):
        return np.asarray(X).astype("M8[us]")
    return np.column_stack([_clock(X[name]).astype("M8[us]") for name in X.columns])


def _clock(series: Any) -> Any:
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_localize(None)
    elif getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.replace_time_zone(None)
    return series.to_numpy()
