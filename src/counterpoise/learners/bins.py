"""Numbers by their places among quantiles, for boosted trees."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from counterpoise.numerics.arrays import Array

# As many as the trees can tell apart.
MOST_BINS = 255
# Quantiles of so many rows are those of all, near enough.
_MOST_ROWS = 200_000


class QuantileBins(TransformerMixin, BaseEstimator):
    """Columns of numbers as whole numbers from 0 to 254, missing ones as they are.

    Histogram gradient boosting does the same inside, but with weights it looks for each
    of 254 weighted quantiles anew, which takes longer than growing the trees; the
    quantiles of unweighted rows serve as well.

    Attributes
    ----------
    edges_ : list of arrays
        Of each column the ends of the bins, an end belonging to the bin below it.

    Examples
    --------
    >>> QuantileBins().fit([[1.0], [2.0], [4.0]]).transform([[0.0], [2.0], [9.0]])
    array([[0.],
           [1.],
           [2.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the quantiles of each column."""
        names = getattr(X, "columns", None)
        columns = np.asarray(X, dtype=np.float64)
        if names is not None:
            self.names_ = [str(name) for name in names]
        else:
            self.names_ = [f"x{k}" for k in range(columns.shape[1])]
        step = -(-len(columns) // _MOST_ROWS)
        self.edges_ = [_edges(column[::step]) for column in columns.T]
        return self

    def transform(self, X: Any) -> Array:
        """Return the place of each number.

        Parameters
        ----------
        X : frame or array of numbers of shape (k, d)

        Returns
        -------
        float64 array of shape (k, d)
        """
        check_is_fitted(self, "edges_")
        columns = np.asarray(X, dtype=np.float64)
        out = np.empty(columns.shape)
        for k, edges in enumerate(self.edges_):
            out[:, k] = np.searchsorted(edges, columns[:, k], side="left")
        out[np.isnan(columns)] = np.nan
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns."""
        names = self.names_ if input_features is None else input_features
        return np.array(names, dtype=object)


def _edges(column: Array) -> Array:
    """Return the ends between bins, of which each holds about as many rows."""
    there = np.sort(column[~np.isnan(column)])
    differs = np.flatnonzero(np.diff(there)) + 1
    if differs.size < MOST_BINS:
        different = there[np.append(0, differs)] if there.size else there
        return (different[:-1] + different[1:]) / 2
    # Midway between the two rows around each quantile.
    places = np.arange(1, MOST_BINS) / MOST_BINS * (there.size - 1)
    below, above = np.floor(places).astype(int), np.ceil(places).astype(int)
    return np.unique((there[below] + there[above]) / 2)
