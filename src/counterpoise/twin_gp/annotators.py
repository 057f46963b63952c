"""Consensus of several annotators' ratings."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import gammaincinv
from sklearn.exceptions import ConvergenceWarning

from counterpoise.data.arrays import LARGEST, listed, plain_array
from counterpoise.data.frames import (
    Column,
    NotNumbers,
    check_readable,
    column_labels,
    frame_columns,
    is_frame,
    numbers_in,
)
from counterpoise.data.parameters import check_integer, check_number
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# Ratings of items by annotators: read from any table, and summed over either.
# -----------------------------------------------------------------------------


# The median of the square of a standard normal variable.
MEDIAN_SQUARE = 0.4549364231195724
# The unit is at least this share of the standard deviation of all ratings.
SMALLEST_UNIT = 1e-3


@dataclass(frozen=True, eq=False)
class Ratings:
    """The ratings that are there, each with its item and its annotator.

    Attributes
    ----------
    value : array of shape (n_ratings,)
        Minus `center`, divided by `unit`: nothing depends on the ratings' unit.
    item, annotator : arrays of shape (n_ratings,)
    shape : (n_items, n_annotators)
    columns : tuple
        What messages call the annotators.
    center, unit : float
        Mean and robust standard deviation of all ratings; any unit will do where they
        are all equal.
    """

    value: Array
    item: Indices
    annotator: Indices
    shape: tuple[int, int]
    columns: tuple[Hashable, ...]
    center: float
    unit: float

    @classmethod
    def of(cls, annotations: ArrayLike) -> "Ratings":
        """Return the ratings of a table; NaN, None, NA and null are none."""
        table, columns = _read(annotations)
        item, annotator = np.nonzero(~np.isnan(table))
        if not item.size:
            raise InvalidInputError(
                "annotations hold no rating: every entry is missing"
            )
        value = table[item, annotator]
        center = float(value.mean())
        spread = float(value.std())
        if spread <= 1e-14 * abs(center):
            value, spread = np.full(value.size, center), 1.0
        value = value - center
        middle = np.sqrt(_robust_variance((value - np.median(value)) ** 2))
        unit = max(float(middle), SMALLEST_UNIT * spread)
        n, m = table.shape
        value = value / unit
        return cls(value, item, annotator, (n, m), columns, center, unit)

    @property
    def unanimous(self) -> bool:
        """Whether all ratings are equal."""
        return not self.value.any()

    @property
    def counts(self) -> Indices:
        """How many ratings every annotator has given."""
        return np.bincount(self.annotator, minlength=self.shape[1])

    @property
    def times(self) -> Indices:
        """How many ratings every item has got."""
        return np.bincount(self.item, minlength=self.shape[0])

    def without(self, annotators: Indices) -> "Ratings":
        """Return the ratings of all other annotators, in the same unit."""
        kept = ~np.isin(self.annotator, annotators)
        some = self.value[kept], self.item[kept], self.annotator[kept]
        return Ratings(*some, self.shape, self.columns, self.center, self.unit)

    def averages(self, noise: Array, mean: float, prior: float) -> tuple[Array, Array]:
        """Return every item's average by precision, and its variance.

        `noise` are the annotators' variances, `mean` and `prior` mean and precision
        of what is known before any rating. O(ratings).
        """
        n, trust = self.shape[0], 1.0 / noise[self.annotator]
        precision = np.bincount(self.item, trust, n) + prior
        total = np.bincount(self.item, trust * self.value, n) + prior * mean
        known = precision > 0.0
        average = np.divide(total, precision, out=np.full(n, mean), where=known)
        return average, np.divide(1.0, precision, out=np.full(n, np.inf), where=known)

    def squares(self, y: Array, v: Array) -> tuple[Array, Array]:
        """Return every annotator's sums of squared errors and of variances."""
        away = (self.value - y[self.item]) ** 2
        n = self.shape[1]
        return (
            np.bincount(self.annotator, away, n).astype(float),
            np.bincount(self.annotator, v[self.item], n).astype(float),
        )

    def noise_within_items(self) -> float:
        """Return a robust variance within items, at most that of all ratings.

        Medians, so that neither a bad annotator nor a wild unit speaks for all others;
        means where more than half of the squares are zero.
        """
        times = self.times[self.item]
        several = times > 1
        away = ((self.value - self._medians()[self.item]) ** 2 * times)[several]
        within = _robust_variance(away / (times[several] - 1))
        whole = _robust_variance((self.value - np.median(self.value)) ** 2)
        return min(within, whole)

    def _medians(self) -> Array:
        """Return every item's median rating; zero without ratings."""
        ordered = self.value[np.lexsort((self.value, self.item))]
        times = self.times
        ends = np.cumsum(times)
        lower, upper = (ends - times // 2 - 1, ends - (times + 1) // 2)
        middle = 0.5 * (ordered[lower.clip(0)] + ordered[upper.clip(max=ends[-1] - 1)])
        return np.where(times > 0, middle, 0.0)

    def own_variances(self) -> Array:
        """Return the variance of every annotator's ratings; NaN for fewer than two."""
        n, counts = self.shape[1], np.maximum(self.counts, 1)
        means = np.bincount(self.annotator, self.value, n) / counts
        away = (self.value - means[self.annotator]) ** 2
        own = np.bincount(self.annotator, away, n) / counts
        return np.where(self.counts > 1, own, np.nan)

    def never_varying(self, chance: float) -> Indices:
        """Return the annotators who always say one thing, others too rarely for that.

        With p the share of that value among the others' ratings (their number and one
        more, lest it be zero), n equal ratings have the chance p^(n - 1).
        """
        found = []
        for j in np.flatnonzero(self.counts > 1):
            own = self.annotator == j
            said = self.value[own]
            if np.ptp(said) > 0.0:
                continue
            others = self.value[~own]
            share = (np.count_nonzero(others == said[0]) + 1) / (others.size + 1)
            if share ** (said.size - 1) < chance:
                found.append(j)
        return np.array(found, dtype=np.intp)


def _robust_variance(squares: Array) -> float:
    middle = float(np.median(squares))
    return middle / MEDIAN_SQUARE if middle > 0.0 else float(squares.mean())


def _read(annotations: Any) -> tuple[Array, tuple[Hashable, ...]]:
    """Return the table, NaN where nothing is, and what its columns are called."""
    check_readable(annotations, "annotations")
    if issparse(annotations):
        raise InvalidInputError(
            "annotations is a sparse matrix, in which a zero could be a rating or "
            "none: pass an array with NaN where there is no rating"
        )
    if is_frame(annotations):
        columns = list(frame_columns(annotations))
        shape = annotations.shape
    else:
        values = plain_array(annotations, "annotations")
        shape = values.shape
        columns = _columns(values) if values.ndim == 2 else []
    if len(shape) != 2 or 0 in shape:
        raise InvalidInputError(
            f"annotations must be a matrix of items and annotators, got shape {shape}"
        )
    labels = column_labels(annotations) or tuple(range(shape[1]))
    table = np.empty(shape)
    for j, (label, column) in enumerate(columns):
        if isinstance(column, NotNumbers):
            raise InvalidInputError(
                f"column {label!r} of annotations {column.reason}: ratings are numbers,"
                " and NaN, None or NA where there is none"
            )
        table[:, j] = column
    _check_moderate(table, labels)
    return table, labels


def _columns(values: NDArray[Any]) -> list[Column]:
    if values.dtype.kind in "fiub":
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float64)
        return [(j, numbers[:, j]) for j in range(values.shape[1])]
    # As objects, so that the row of the first text is found.
    entries = values.astype(object)
    return [(j, numbers_in(entries[:, j])) for j in range(values.shape[1])]


def _check_moderate(table: Array, labels: tuple[Hashable, ...]) -> None:
    wrong = np.argwhere(np.abs(table) > LARGEST)
    if wrong.size:
        row, column = wrong[0]
        raise InvalidInputError(
            f"annotations must be missing or of at most {LARGEST:g}, got "
            f"{table[row, column]} in row {row}, column {labels[column]!r}"
        )


# -----------------------------------------------------------------------------
# One label from many annotators of unequal reliability.
# -----------------------------------------------------------------------------


# A variance is at least this share of the ratings' robust one: nobody is infallible.
LEAST_VARIANCE = 1e-8
# Under the bound everybody starts with so many ratings of the pooled noise.
BROUGHT = 2.0
# Fewer ratings beyond the first of an item leave the spread hardly known.
FEW_SECOND_RATINGS = 10
# Ratings that never vary are left out where chance makes them less often than this.
CHANCE = 1e-3
# Labels that keep less than this share of the spread are said to have collapsed.
LEAST_RELIABILITY = 0.1
# So have labels of less than this share of the variance of an annotator's ratings.
LEAST_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class Consensus:
    """What several annotators say together. Infinite is what cannot be known.

    Attributes
    ----------
    labels : array of shape (n,)
        The consensus of every item; `mean` where nobody rated it.
    deviations : array of shape (n,)
        Standard deviation of every consensus, as far as the annotators' noise goes;
        infinite where no item has two ratings, from which noise could be known.
    noise : array of shape (n_annotators,)
        Standard deviation of every annotator's ratings around the consensus, at the
        upper end of its confidence interval; infinite for one without ratings, for one
        whose ratings never vary and where no item has two ratings.
    mean, spread : float
        Of the labels' distribution, to which `shrink` draws them; the spread is
        infinite where nothing is drawn.
    n_iter : int
        Rounds, those for the labels' distribution included.
    residual : float
        Largest change of a label or deviation in the last round, in robust standard
        deviations of the ratings: the fixed point is reached up to it.
    slope : float
        Largest relative change that one more round would make to a variance, or to
        the mean in units of the spread. With ``confidence=None`` it is the largest
        derivative of the marginal log likelihood by the logarithm of a variance (by
        the mean in units of the spread), divided by half the ratings (the items) behind
        it: labels are at a stationary point up to it.
    """

    labels: Array
    deviations: Array
    noise: Array = field(repr=False)
    mean: float
    spread: float
    n_iter: int
    residual: float
    slope: float


def consensus(
    annotations: ArrayLike,
    *,
    confidence: float | None = 0.5,
    shrink: bool = True,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> Consensus:
    r"""Return one label an item, annotators weighted by their reliability.

    Ratings are :math:`r_{ij} = y_i + N(0, s_j^2)`, labels :math:`y_i \sim N(m, t^2)`.
    Expectation maximization repeats

    .. math:: v_i = \Bigl(1/t^2 + \sum_j 1/s_j^2\Bigr)^{-1}, \quad
        y_i = v_i \Bigl(m/t^2 + \sum_j r_{ij}/s_j^2\Bigr), \quad
        s_j^2 = \frac1{n_j + a} \Bigl(\frac{a p + \sum_i (r_{ij} - y_i)^2}{\kappa_j}
        + \sum_i v_i\Bigr)

    with :math:`n_j` the ratings of annotator j, the sums over what was rated, and m,
    t^2 the moments of y. O(ratings) a round.

    ``confidence=None``: :math:`a = 0, \kappa = 1`, plain EM. No round lowers the
    marginal likelihood :math:`\prod_i N(r_i; m, t^2 1 1' + diag(s^2))`, and its fixed
    points are the stationary ones, which `slope` certifies. That proves no global
    maximum: the likelihood is not concave, and beyond all bounds where two annotators
    agree exactly or one never varies. Its deviations take the estimated noise for the
    true one and are too small where annotators have few ratings.

    With a confidence every annotator brings a = 2 ratings of the pooled noise p (a
    robust variance within items), m and t are those at :math:`\kappa = 1`, and then
    :math:`\kappa_j = \chi^2_{f_j}(\alpha/2) / f_j` makes :math:`s_j` the upper end of
    its confidence interval: the squared errors have :math:`f_j = n_j + a - \sum_i v_i /
    s_j^2` degrees of freedom, the variances of the labels being known and no data. An
    annotator with two ratings that happen to agree is not trusted, and labels do not
    collapse to their mean, as they do where m and t are fitted to bounds, or variances
    are bounded as if they were squared errors. The fixed point solves these equations
    up to `slope`; it maximizes nothing.

    **What cannot be known.** Noise and spread are told apart by items with two ratings
    or more. Where there are none, the labels are the ratings themselves, deviations and
    noise are infinite, and a warning says so. With fewer than ten ratings beyond the
    first of an item the spread is hardly known: labels are not drawn to the mean, as
    without `shrink`, and a warning gives the number. An annotator whose ratings never
    vary, though the value is rare among the others' ratings (chance below 1e-3), says
    nothing of the items: a warning names the column, the ratings are left out, the
    noise is infinite. A warning also comes where the labels keep less than a tenth of
    the variance of what they stand for, or that is less than a fiftieth of the variance
    of the median annotator's ratings; deviations then hold if the items are so alike.

    Parameters
    ----------
    annotations : array or frame of shape (n_items, n_annotators)
        NaN, None, NA or null where an annotator has not rated an item.
    confidence : float or None
        Of the interval, :math:`1 - \alpha`; None: plain EM. Larger ones trust few
        ratings less and draw more to the mean; one half has the lower error.
    shrink : bool
        Whether labels with few or noisy ratings are drawn to the mean of all. If not,
        1/t^2 is zero. Of two annotators who rate all items only the sum of the two
        variances is then known, and they share it.
    tol : float
        Change of a label or deviation, in robust standard deviations of the ratings, at
        which it ends.
    max_iter : int
        Most rounds of each of the two fixed points; a warning says where they did not
        suffice.

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
    (True, array([ 0.,  0.,  0., 10.]))
    """
    if confidence is not None:
        check_number("confidence", confidence, low=0.0, high=1.0, closed="neither")
    check_number("tol", tol, low=0.0, closed="neither")
    check_integer("max_iter", max_iter, low=1)
    return _consensus(Ratings.of(annotations), confidence, shrink, tol, max_iter)


def _consensus(
    ratings: Ratings, confidence: float | None, shrink: bool, tol: float, max_iter: int
) -> Consensus:
    if not ratings.unanimous:
        ratings = _that_vary(ratings)
    second = int(np.maximum(ratings.times - 1, 0).sum())
    if second == 0:
        return _as_rated(ratings)
    if ratings.unanimous:
        return _of_one_mind(ratings)
    if second < FEW_SECOND_RATINGS:
        warn_user(
            f"consensus: items have only {second} ratings beyond their first, from "
            "which alone noise can be told from the spread of the labels: labels are "
            "not drawn to their mean and deviations are rough; have more items rated "
            "twice"
        )
        shrink = False
    pooled = max(ratings.noise_within_items(), LEAST_VARIANCE)
    start = _Model.start(ratings, pooled, shrink)
    search = _ConsensusSearch(ratings, pooled, tol, max_iter)
    if confidence is None:
        fixed_point = search.fixed_point(start, 0.0, None)
    else:
        if shrink:
            start = search.fixed_point(start, BROUGHT, None).model
        fixed_point = search.fixed_point(start, BROUGHT, confidence)
    if search.residual > tol:
        warn_user(
            f"consensus: labels still change by {search.residual:.1e} of a standard "
            f"deviation after {max_iter} rounds; raise max_iter",
            ConvergenceWarning,
        )
    if shrink:
        _warn_of_collapse(ratings, fixed_point)
    unit, model = ratings.unit, fixed_point.model
    return Consensus(
        ratings.center + unit * fixed_point.y,
        unit * np.sqrt(fixed_point.v),
        unit * np.where(ratings.counts > 0, np.sqrt(model.noise), np.inf),
        ratings.center + unit * model.mean,
        unit * float(np.sqrt(model.variance)),
        search.n_iter,
        search.residual,
        fixed_point.slope,
    )


class _Model(NamedTuple):
    """Variances of the annotators, mean and variance of the labels."""

    noise: Array
    mean: float
    variance: float

    @classmethod
    def start(cls, ratings: Ratings, pooled: float, shrink: bool) -> "_Model":
        noise = np.full(ratings.shape[1], pooled)
        y, v = ratings.averages(noise, 0.0, 0.0)
        rated = ratings.times > 0
        y, v = y[rated], v[rated]
        variance = max(float(y.var() - v.mean()), 0.1 * float(y.var()), LEAST_VARIANCE)
        return cls(noise, float(y.mean()), variance if shrink else np.inf)


class _FixedPoint(NamedTuple):
    """A model, what it makes of the items, and what one more round would change."""

    model: _Model
    y: Array
    v: Array
    slope: float


class _ConsensusSearch:
    """Rounds of expectation maximization, counted, and the worst that is left."""

    def __init__(
        self, ratings: Ratings, pooled: float, tol: float, max_iter: int
    ) -> None:
        self.ratings = ratings
        self.pooled = pooled
        self.tol = tol
        self.max_iter = max_iter
        self.n_iter = 0
        self.residual = 0.0
        self._rated = ratings.times > 0
        self._counts = ratings.counts.astype(float)

    def fixed_point(
        self, model: _Model, brought: float, confidence: float | None
    ) -> _FixedPoint:
        """Return where a round changes no label; under a bound m and t stay."""
        y, v = self._labels(model)
        residual, n_iter = np.inf, 0
        while n_iter < self.max_iter and residual > self.tol:
            model = self._round(model, y, v, brought, confidence)
            before = y, v
            y, v = self._labels(model)
            residual = _largest_change(*before, y, v)
            n_iter += 1
        self.n_iter += n_iter
        self.residual = max(self.residual, residual)
        after = self._round(model, y, v, brought, confidence)
        return _FixedPoint(model, y, v, _slope(model, after))

    def _labels(self, model: _Model) -> tuple[Array, Array]:
        return self.ratings.averages(model.noise, model.mean, 1.0 / model.variance)

    def _round(
        self,
        model: _Model,
        y: Array,
        v: Array,
        brought: float,
        confidence: float | None,
    ) -> _Model:
        squares, variances = self.ratings.squares(y, v)
        squares += brought * self.pooled
        n = np.maximum(self._counts + brought, 1.0)
        mean, variance = float(y[self._rated].mean()), model.variance
        if confidence is not None:
            freedom = n - variances / model.noise
            # The quantile of chi-square, as a share of its mean.
            tail = 0.5 * (1.0 - confidence)
            squares *= 0.5 * freedom / gammaincinv(0.5 * freedom, tail)
            mean = mean if np.isinf(variance) else model.mean
        elif np.isfinite(variance):
            y, v = y[self._rated], v[self._rated]
            # Around the mean before this round: its change is then the derivative.
            variance = float(((y - model.mean) ** 2).mean() + v.mean())
            variance = max(variance, LEAST_VARIANCE)
        noise = np.maximum((squares + variances) / n, LEAST_VARIANCE)
        return _Model(np.where(self._counts > 0, noise, model.noise), mean, variance)


def _largest_change(y: Array, v: Array, new: Array, new_v: Array) -> float:
    """Return the largest change of a label or a deviation."""
    known = np.isfinite(v)
    deviations = np.sqrt(new_v[known]) - np.sqrt(v[known])
    return float(max(np.abs(new - y).max(), np.abs(deviations).max()))


def _slope(model: _Model, after: _Model) -> float:
    changes = np.abs(after.noise / model.noise - 1.0)
    slope = float(changes.max())
    if np.isfinite(model.variance):
        mean = abs(after.mean - model.mean) / np.sqrt(model.variance)
        slope = max(slope, abs(after.variance / model.variance - 1.0), float(mean))
    return slope


def _that_vary(ratings: Ratings) -> Ratings:
    """Leave out the annotators whose ratings never vary, unless they are all."""
    out = ratings.never_varying(CHANCE)
    if not out.size or out.size == np.count_nonzero(ratings.counts):
        return ratings
    warn_user(
        f"consensus: {_named(ratings, out)} never vary: they say nothing of the items "
        "and are left out (noise infinite)"
    )
    return ratings.without(out)


def _named(ratings: Ratings, annotators: Indices) -> str:
    counts = ratings.counts
    words = [
        f"the {counts[j]} ratings of column {ratings.columns[j]!r}" for j in annotators
    ]
    return listed(words)


def _as_rated(ratings: Ratings) -> Consensus:
    """Return the ratings themselves: nothing is known of their noise."""
    n, n_annotators = ratings.shape
    warn_user(
        f"consensus: none of the {np.count_nonzero(ratings.times)} rated items has two "
        f"ratings ({ratings.value.size} ratings by "
        f"{np.count_nonzero(ratings.counts)} annotators), so that noise cannot be told "
        "from the spread of the labels: the labels are the ratings themselves, their "
        "deviations unknown (infinite); have some items rated twice"
    )
    labels = np.full(n, ratings.center + ratings.unit * float(ratings.value.mean()))
    labels[ratings.item] = ratings.center + ratings.unit * ratings.value
    mean = float(labels[ratings.item].mean())
    unknown = np.full(n, np.inf), np.full(n_annotators, np.inf)
    return Consensus(labels, *unknown, mean, np.inf, 0, 0.0, 0.0)


def _of_one_mind(ratings: Ratings) -> Consensus:
    """Return the one rating that everybody gave."""
    return Consensus(
        np.full(ratings.shape[0], ratings.center),
        np.where(ratings.times > 0, 0.0, np.inf),
        np.where(ratings.counts > 0, 0.0, np.inf),
        ratings.center,
        0.0,
        0,
        0.0,
        0.0,
    )


def _warn_of_collapse(ratings: Ratings, fixed_point: _FixedPoint) -> None:
    """Say where labels hardly differ, and whose ratings to look at."""
    rated = ratings.times > 0
    kept = 1.0 - float(fixed_point.v[rated].mean()) / fixed_point.model.variance
    own = ratings.own_variances()
    usual = float(np.nanmedian(own)) if np.isfinite(own).any() else 0.0
    share = fixed_point.model.variance / usual if usual > 0.0 else 1.0
    if kept >= LEAST_RELIABILITY and share >= LEAST_SHARE:
        return
    deviations = ratings.unit * np.sqrt(own)
    spread = ratings.unit * np.sqrt(fixed_point.model.variance)
    least, most = (
        f"{_named(ratings, np.array([j]))} (standard deviation {deviations[j]:.3g})"
        for j in (int(np.nanargmin(own)), int(np.nanargmax(own)))
    )
    warn_user(
        "consensus: the labels are nearly their mean: ratings of one item agree hardly "
        f"more than those of different items (labels of spread {spread:.3g}, of whose "
        f"variance they keep {kept:.1%}; an annotator's ratings usually "
        f"{ratings.unit * np.sqrt(usual):.3g}). Least of all vary {least}, most {most};"
        " leave out the column that is wrong, or set shrink=False"
    )
