"""How the loss goes on where trees stop: a quadratic in the columns."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import RidgeCV

from counterpoise.numerics.arrays import Array

# Columns up to which there are products of pairs, squares, and a curve at all.
MOST_FOR_PRODUCTS, MOST_FOR_SQUARES, MOST_FOR_CURVE = 12, 100, 300
# A curve goes beyond the losses that it has seen by so many times their range.
BEYOND_SEEN = 2.0
_RIDGES = np.logspace(-1, 4, 11)


class LossCurve(BaseEstimator):
    r"""Ridge regression of the loss on columns, their squares and their products.

    .. math:: \min_\beta \sum_i v_i (L_i - \beta_0 - \phi(z_i)'\beta)^2
        + \lambda |\beta|^2

    with :math:`\phi` the columns divided by their spread, the squares of up to 100 of
    them and the products of up to 12, and :math:`\lambda` of eleven the one of the
    least leave-one-out error. A squared error grows like a square where a model leaves
    a slope; trees are flat beyond the rows of their fit, so that a target with longer
    tails would look better than it is. Columns are cut to the range of the rows known,
    values to no more than twice the range of the losses seen beyond their largest, and
    to no less than their smallest. Cost :math:`O(n p^2)` for p terms.

    Parameters
    ----------
    known : array of shape (r, d)
        Rows of both samples, whose range the columns are cut to.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> curve = LossCurve(2 * x).fit(x, x[:, 0] ** 2, np.ones(200))
    >>> bool(abs(curve.predict(np.array([[1.5]]))[0] - 1.5**2) < 0.05)
    True
    """

    def __init__(self, known: Array) -> None:
        self._ends = known.min(axis=0), known.max(axis=0)

    def fit(self, features: Array, losses: Array, weights: Array) -> Self:
        """Fit to rows that count as `weights` say."""
        features = np.clip(features, *self._ends)
        self._mean = np.average(features, axis=0, weights=weights)
        spread = np.average((features - self._mean) ** 2, axis=0, weights=weights)
        self._spread = np.where(spread > 0, np.sqrt(spread), 1.0)
        self._ridge = RidgeCV(_RIDGES).fit(
            self._terms(features), losses, weights / weights.mean()
        )
        low, high = float(losses.min()), float(losses.max())
        self._seen = low, high + BEYOND_SEEN * (high - low)
        return self

    def predict(self, features: Array) -> Array:
        """Return the loss that the curve has at rows."""
        found = self._ridge.predict(self._terms(np.clip(features, *self._ends)))
        return np.clip(found, *self._seen)

    def _terms(self, features: Array) -> Array:
        scaled = (features - self._mean) / self._spread
        d = scaled.shape[1]
        terms = [scaled]
        if d <= MOST_FOR_SQUARES:
            terms.append(scaled**2)
        if d <= MOST_FOR_PRODUCTS:
            first, second = np.triu_indices(d, 1)
            terms.append(scaled[:, first] * scaled[:, second])
        return np.column_stack(terms)
