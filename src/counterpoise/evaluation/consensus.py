"""One label from many annotators of unequal reliability."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv
from sklearn.exceptions import ConvergenceWarning

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import check_integer, check_number, warn_user

# A variance is at least this share of that of all ratings: nobody is infallible.
LEAST_VARIANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Consensus:
    """What several annotators say together.

    Attributes
    ----------
    labels : array of shape (n,)
        The consensus of every item; the mean of all items where nobody rated it.
    deviations : array of shape (n,)
        Standard deviation of every consensus, as far as the annotators' noise goes.
    noise : array of shape (n_annotators,)
        Standard deviation of every annotator's ratings around the consensus, at the
        upper end of its confidence interval; infinite for one without ratings.
    n_iter : int
    residual : float
        Largest change of a label in the last round, in standard deviations of the
        ratings: the fixed point is reached up to it.
    """

    labels: Array
    deviations: Array
    noise: Array = field(repr=False)
    n_iter: int
    residual: float


def consensus(
    annotations: Any,
    *,
    confidence: float | None = 0.95,
    shrink: bool = True,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> Consensus:
    r"""Return one label an item, annotators weighted by their reliability.

    Ratings are :math:`r_{ij} = y_i + N(0, s_j^2)`, labels :math:`y_i \sim N(m, t^2)`.
    Expectation maximisation repeats

    .. math:: v_i = \Bigl(1/t^2 + \sum_j 1/s_j^2\Bigr)^{-1}, \quad
        y_i = v_i \Bigl(m/t^2 + \sum_j r_{ij}/s_j^2\Bigr), \quad
        s_j^2 = \frac{\sum_i (r_{ij} - y_i)^2 + v_i}{\chi^2_{n_j}(\alpha/2)}

    with :math:`n_j` the ratings of annotator j, the sums over what was rated, and m,
    t the moments of y. The last denominator, a quantile, makes :math:`s_j` the upper
    end of its confidence interval: an annotator with two ratings that happen to agree
    is not trusted. O(ratings) a round.

    Parameters
    ----------
    annotations : array of shape (n_items, n_annotators)
        NaN where an annotator has not rated an item.
    confidence : float or None
        Of the interval, :math:`1 - \alpha`; None: plain EM, which divides by n_j.
    shrink : bool
        Whether labels with few or noisy ratings are drawn to the mean of all.
    tol : float
        Change of a label, in standard deviations of the ratings, at which it ends.
    max_iter : int
        Most rounds; a warning says where they did not suffice.

    Returns
    -------
    Consensus

    References
    ----------
    Chapaneri and Jayaswal (2019) name the method and print no formulas.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = np.arange(30.0)
    >>> ratings = truth[:, None] + [0.1, 0.2, 0.2, 9.0] * rng.normal(size=(30, 4))
    >>> ratings[5:9, 1] = np.nan
    >>> found = consensus(ratings)
    >>> bool(np.abs(found.labels - truth).max() < 0.5), found.noise.round(0)
    (True, array([ 0.,  0.,  0., 12.]))
    """
    if confidence is not None:
        check_number("confidence", confidence, low=0.0, high=1.0, closed="neither")
    check_number("tol", tol, low=0.0, closed="neither")
    check_integer("max_iter", max_iter, low=1)
    ratings = _Ratings.of(annotations)
    if ratings.spread == 0.0:
        return ratings.unanimous()
    counts = np.bincount(ratings.annotator, minlength=ratings.shape[1])
    divisor = np.maximum(counts, 1).astype(float)
    if confidence is not None:
        # The quantile of chi-square with n_j degrees of freedom.
        divisor = 2.0 * gammaincinv(0.5 * divisor, 0.5 * (1.0 - confidence))
    y, _ = ratings.averages(np.ones(ratings.shape[1]), 0.0, 0.0)
    pooled = max(float(np.var(ratings.value - y[ratings.item])), LEAST_VARIANCE)
    y, v = ratings.averages(np.full(ratings.shape[1], pooled), 0.0, 0.0)
    noise = np.maximum(ratings.squares(y, v) / divisor, LEAST_VARIANCE)
    mean, variance = ratings.moments(y, v)
    n_iter, residual = 0, np.inf
    while n_iter < max_iter and residual > tol:
        new, v = ratings.averages(noise, mean, 1.0 / variance if shrink else 0.0)
        noise = np.maximum(ratings.squares(new, v) / divisor, LEAST_VARIANCE)
        mean, variance = ratings.moments(new, v)
        residual = float(np.abs(new - y).max())
        y, n_iter = new, n_iter + 1
    if residual > tol:
        warn_user(
            f"consensus: labels still change by {residual:.1e} of a standard deviation "
            f"after {max_iter} rounds; raise max_iter",
            ConvergenceWarning,
        )
    return Consensus(
        ratings.centre + ratings.spread * y,
        ratings.spread * np.sqrt(v),
        ratings.spread * np.where(counts > 0, np.sqrt(noise), np.inf),
        n_iter,
        residual,
    )


@dataclass(frozen=True, eq=False)
class _Ratings:
    """Ratings of unit spread, so that nothing depends on their unit."""

    value: Array
    item: Indices
    annotator: Indices
    shape: tuple[int, int]
    centre: float
    spread: float

    @classmethod
    def of(cls, annotations: Any) -> "_Ratings":
        value, item, annotator, shape = _read(annotations)
        centre, spread = float(value.mean()), float(value.std())
        if spread <= 1e-14 * abs(centre):
            spread = 0.0
        unit = (value - centre) / (spread or 1.0)
        return cls(unit, item, annotator, shape, centre, spread)

    @property
    def rated(self) -> NDArray[np.bool_]:
        """Whether anybody has rated an item."""
        out: NDArray[np.bool_] = np.bincount(self.item, minlength=self.shape[0]) > 0
        return out

    def unanimous(self) -> Consensus:
        """Return the one rating that everybody gave."""
        deviations = np.where(self.rated, 0.0, np.inf)
        labels, noise = np.full(self.shape[0], self.centre), np.zeros(self.shape[1])
        return Consensus(labels, deviations, noise, 0, 0.0)

    def averages(self, noise: Array, mean: float, prior: float) -> tuple[Array, Array]:
        """Return every item's average by precision, and its variance."""
        n, trust = self.shape[0], 1.0 / noise[self.annotator]
        precision = np.bincount(self.item, trust, n) + prior
        total = np.bincount(self.item, trust * self.value, n) + prior * mean
        known = precision > 0.0
        average = np.divide(total, precision, out=np.full(n, mean), where=known)
        return average, np.divide(1.0, precision, out=np.full(n, np.inf), where=known)

    def squares(self, y: Array, v: Array) -> Array:
        """Return every annotator's sum of expected squared errors."""
        away = (self.value - y[self.item]) ** 2 + v[self.item]
        return np.bincount(self.annotator, away, self.shape[1]).astype(float)

    def moments(self, y: Array, v: Array) -> tuple[float, float]:
        """Return mean and variance of the labels of items that were rated."""
        y, v = y[self.rated], v[self.rated]
        return float(y.mean()), max(float(y.var() + v.mean()), LEAST_VARIANCE)


def _read(annotations: Any) -> tuple[Array, Indices, Indices, tuple[int, int]]:
    """Return ratings, their items and annotators, and how many there are of each."""
    table = np.asarray(annotations, dtype=float)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(
            "annotations must be a matrix of items and annotators, got shape "
            f"{table.shape}"
        )
    if np.isinf(table).any():
        row, column = np.argwhere(np.isinf(table))[0]
        raise ValueError(
            f"annotations must be finite or NaN, got {table[row, column]} in row "
            f"{row}, column {column}"
        )
    item, annotator = np.nonzero(~np.isnan(table))
    if not item.size:
        raise ValueError("annotations hold no rating: every entry is NaN")
    return table[item, annotator], item, annotator, (table.shape[0], table.shape[1])
