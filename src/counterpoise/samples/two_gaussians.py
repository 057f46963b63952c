"""Two Gaussians as a classifier, on columns that are made normal first."""

from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from counterpoise.numerics.arrays import Array


class NormalScores(TransformerMixin, BaseEstimator):
    r"""Columns as quantiles of a standard normal, by ranks.

    A value gets :math:`\Phi^{-1}(F(x))` with F the share of the rows of both samples
    together below it, its ties counted half; between two values the line, beyond all of
    them the outermost score. A ratio of densities does not change with the columns'
    units, however bent: skewed and heavy-tailed columns become normal ones, and no
    single row rules.
    """

    def fit(self, X: Array, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the values of every column and their scores."""
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        self.values_, self.scores_ = [], []
        for column in np.asarray(X).T:
            values, places = np.unique(column, return_inverse=True)
            mass = np.bincount(places, weight)
            self.values_.append(values)
            self.scores_.append(ndtri((np.cumsum(mass) - 0.5 * mass) / mass.sum()))
        return self

    def transform(self, X: Array) -> Array:
        """Return the scores of rows."""
        scores = np.empty(X.shape)
        for j, (values, known) in enumerate(
            zip(self.values_, self.scores_, strict=True)
        ):
            scores[:, j] = np.interp(X[:, j], values, known)
        return scores


class TwoGaussians(ClassifierMixin, BaseEstimator):
    r"""The odds of two Gaussians, each with a shrunk covariance.

    With the mean and the covariance S of a class over its n rows of d columns

    .. math:: (1 - a) S + a \mu I, \quad \mu = \mathrm{tr}(S) / d, \quad
        a = \min\Bigl(1, \frac{\sum_i |x_i x_i' - S|^2 / n^2}{|S - \mu I|^2}\Bigr)

    (Ledoit and Wolf, 2004; the rows centred, Frobenius norms). In closed form, and with
    many columns much steadier than a ratio fitted to all their products.
    """

    def fit(self, X: Array, y: Array, sample_weight: Any = None) -> Self:
        """Learn the two means and covariances; the labels are 0 and 1."""
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        self.classes_ = np.array([0, 1])
        self.means_, self.factors_ = [], []
        for label in (0, 1):
            mean, covariance = _shrunk(X[y == label], weight[y == label])
            self.means_.append(mean)
            self.factors_.append(np.linalg.cholesky(covariance))
        self.prior_ = float(np.log(weight[y == 1].sum() / weight[y == 0].sum()))
        return self

    def decision_function(self, X: Array) -> Array:
        """Return the log odds of label 1."""
        source, target = (
            -0.5 * (solve_triangular(factor, (X - mean).T, lower=True) ** 2).sum(axis=0)
            - np.log(np.diagonal(factor)).sum()
            for mean, factor in zip(self.means_, self.factors_, strict=True)
        )
        return np.asarray(target - source + self.prior_)

    def predict(self, X: Array) -> Array:
        """Return the likelier label."""
        return (self.decision_function(X) > 0).astype(int)


# A column that is constant in a class has this variance there, beside columns of
# variance one.
VARIANCE_OF_CONSTANTS = 1e-6


def _shrunk(X: Array, weight: Array) -> tuple[Array, Array]:
    """Return the mean and the shrunk covariance of rows."""
    total, d = weight.sum(), X.shape[1]
    mean = weight @ X / total
    rows = X - mean
    S = rows.T @ (weight[:, None] * rows) / total
    mu = np.trace(S) / d
    away = float(((S - mu * np.eye(d)) ** 2).sum())
    lengths = np.einsum("ij,ij->i", rows, rows)
    noise = float(weight @ lengths**2 / total - (S**2).sum()) / total
    share = min(1.0, noise / away) if away > 0.0 else 1.0
    return mean, (1.0 - share) * S + (share * mu + VARIANCE_OF_CONSTANTS) * np.eye(d)
