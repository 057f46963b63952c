"""Models of a loss given the inputs: regression and confidence-based."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.optimize import lsq_linear
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from threadpoolctl import threadpool_limits

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.performance.intervals import random_rows
from counterpoise.performance.metrics import SMALLEST_PROBABILITY, Metric, Predictions
from counterpoise.shift.domain_classifier import BinnedColumns

# -----------------------------------------------------------------------------
# How the loss goes on where trees stop: a quadratic in the columns.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# What a classifier's own probabilities, made right on the average, promise.
# -----------------------------------------------------------------------------


# How hard the line is held to the identity, in rows: separable labels have no best one.
_RIDGE = 0.1
_NEWTON_STEPS, _SMALLEST_DECREMENT = 50, 1e-10

Promise = Callable[[Array, Array | None], float]


@dataclass(frozen=True, eq=False)
class ProbabilityLine:
    r"""Probabilities :math:`\propto \exp(a \log p_k + b_k)`, of two classes a line.

    Of two classes this is Platt's line through the log-odds; of more, one temperature
    and an offset a class.

    Attributes
    ----------
    slope : float
    offsets : array of shape (n_classes,)
        The first is zero.
    """

    slope: float
    offsets: Array

    def of(self, probabilities: Array) -> Array:
        """Return recalibrated probabilities."""
        return softmax(self.slope * _logs(probabilities) + self.offsets, axis=1)


def fit_line(
    probabilities: Array,
    places: Indices,
    weights: Array,
    start: ProbabilityLine | None = None,
    steps: int = _NEWTON_STEPS,
) -> ProbabilityLine:
    r"""Return the line of largest weighted likelihood.

    .. math:: \min_{a, b} -\sum_i w_i \log \mathrm{softmax}(a \log p(x_i) + b)_{y_i}
        + \rho \bigl((a - 1)^2 + |b|^2\bigr) / 2

    with weights of mean one and :math:`\rho` a tenth of a row.

    Parameters
    ----------
    probabilities : array of shape (n, n_classes)
    places : array of shape (n,)
        The column of each row's label.
    weights : array of shape (n,)
    start : ProbabilityLine or None
        Where Newton's method begins; None: the identity.
    steps : int
        Its largest number of steps.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]] * 50)
    >>> line = fit_line(p, np.array([0, 1, 1, 0] * 50), np.ones(200))
    >>> line.of(p[:1]).round(2)
    array([[0.5, 0.5]])
    """
    n, k = probabilities.shape
    logs, weights = _logs(probabilities), weights * (n / weights.sum())
    rows, identity = np.arange(n), np.eye(1, k)[0]
    if start is None:
        x = identity.copy()
    else:
        x = np.concatenate([[start.slope], start.offsets[1:]])

    def likelihood(x: Array) -> tuple[float, Array]:
        z = x[0] * logs
        z[:, 1:] += x[1:]
        z -= z.max(axis=1, keepdims=True)
        p = np.exp(z)
        total = p.sum(axis=1)
        loss = weights @ (np.log(total) - z[rows, places])
        value = loss + 0.5 * _RIDGE * ((x - identity) ** 2).sum()
        return float(value), p / total[:, None]

    value, p = likelihood(x)
    for _ in range(steps):
        wrong = weights[:, None] * p
        wrong[rows, places] -= weights
        gradient = np.append((wrong * logs).sum(), wrong[:, 1:].sum(axis=0))
        gradient += _RIDGE * (x - identity)
        mean, rest = (p * logs).sum(axis=1), p[:, 1:] * weights[:, None]
        hessian = np.diag(np.append(0.0, rest.sum(axis=0)) + _RIDGE)
        hessian[0, 0] += weights @ ((p * logs**2).sum(axis=1) - mean**2)
        across = (rest * (logs[:, 1:] - mean[:, None])).sum(axis=0)
        hessian[0, 1:] = hessian[1:, 0] = across
        hessian[1:, 1:] -= rest.T @ p[:, 1:]
        step = -np.linalg.solve(hessian, gradient)
        decrement = -float(gradient @ step)
        if decrement <= _SMALLEST_DECREMENT * n:
            break
        length, before = 1.0, value + 2e-16 * max(1.0, abs(value))
        while length > 1e-16:
            value, p = likelihood(x + length * step)
            if value <= before - 1e-4 * length * decrement:
                break
            length *= 0.5
        x = x + length * step
    return ProbabilityLine(float(x[0]), np.append(0.0, x[1:]))


def rows_by_class(metric: Metric, answers: Predictions) -> Array:
    """Return every row's metric for each class that it may have, a column each."""
    assert answers.classes is not None
    rows = answers.rows
    return np.column_stack(
        [
            metric.rows(answers, rows, np.repeat(label, rows.size))
            for label in answers.classes
        ]
    )


def expected_value(
    metric: Metric,
    answers: Predictions,
    probabilities: Array,
    counts: Array | None = None,
) -> float:
    """Return the metric where every row has each class with its probability.

    Every row counts once a class, by the probability of that class: the value for the
    expected table of labels and predictions, which for a metric that is no mean over
    rows is close to the expected value.
    """
    assert answers.classes is not None
    k, m = len(answers.classes), len(probabilities)
    weights = probabilities if counts is None else probabilities * counts[:, None]
    return metric.value(
        answers,
        np.tile(np.arange(m), k),
        np.repeat(answers.classes, m),
        sample_weight=weights.T.ravel(),
    )


def promised(metric: Metric, answers: Predictions) -> Promise:
    """Return the metric as a function of probabilities and of what the rows count."""
    if metric.by_row is None:
        return lambda q, counts: expected_value(metric, answers, q, counts)
    by_class = rows_by_class(metric, answers)
    return lambda q, counts: float(
        np.average(np.einsum("ij,ij->i", q, by_class), weights=counts)
    )


def _logs(probabilities: Any) -> Array:
    return np.log(np.clip(probabilities, SMALLEST_PROBABILITY, 1.0))


# -----------------------------------------------------------------------------
# A model of the loss at a row, fitted on rows that it does not judge.
# -----------------------------------------------------------------------------


FOLDS_OF_LOSS_MODEL = 4
# Fewer rows than this tell only their mean.
FEWEST_ROWS_TO_MODEL = 40
FEWEST_ROWS_A_LEAF = 30
# Of more rows than this each is asked of one model, and not of all.
ROWS_MODELED = 20_000


@dataclass(frozen=True, eq=False)
class LossModel:
    """The mean loss as a function of the row, from several fits.

    Attributes
    ----------
    rows : array of shape (n,)
        At the rows of the fit, each by the model that has not seen it.
    target : array of shape (m,)
        At the target rows, see `at`.
    by_fold : array of shape (n_fits, m) or None
        What each fit says of the target rows; None of more than 20,000.
    """

    rows: Array
    target: Array
    by_fold: Array | None = field(repr=False)
    models: Sequence[Any] = field(repr=False)

    def at(self, features: Array) -> Array:
        """Return the modeled loss of rows that were in no fit.

        The mean of the fits; of more than 20,000 rows each has what one model says,
        the models taking turns, which is the same in the mean over rows.
        """
        return _mean(self.models, features)


def fit_loss_model(
    features: Array,
    losses: Array,
    weights: Array,
    features_target: Array,
    seed: int,
    groups: Indices | None = None,
    *,
    curve: bool = True,
) -> LossModel:
    r"""Return a regression of the loss on features, cross-fitted.

    A quadratic (`LossCurve`), and boosted trees of what it leaves, minimize
    :math:`\sum_i \sqrt{w_i} (L_i - g(z_i))^2` on three quarters of the rows and are
    asked about the last, four times over. The root of the weights looks to the target
    without leaving few rows. The two are added with the factors between zero and one
    that have the least such error on the rows held out: noise that trees have learned
    has a factor near zero, and is no part of the estimate; a larger factor than one is
    the work of a few large losses that were held out. With more than 300 columns, or
    without `curve`, there are only the trees.

    Parameters
    ----------
    features, features_target : array of shape (n, p), (m, p)
        The row's columns as numbers and what the model predicts there.
    losses : array of shape (n,)
    weights : array of shape (n,)
        The density ratio at the rows.
    seed : int
        Of the folds.
    groups : array of shape (n,) or None
        Numbers of groups, whose rows are held out together.
    curve : bool
        Whether the quadratic is there: not for rows that nobody knows yet.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 400)[:, None]
    >>> model = fit_loss_model(x, x[:, 0] ** 2, np.ones(400), x[300:], seed=0)
    >>> bool(abs(model.target.mean() - (x[300:, 0] ** 2).mean()) < 0.02)
    True
    """
    n = losses.size
    fold = _folds(n, groups, seed)
    if n < FEWEST_ROWS_TO_MODEL or fold.max() == 0:
        flat = _Sum([], np.zeros(0), float(np.average(losses, weights=weights)))
        found = flat.predict(features_target)
        return LossModel(flat.predict(features), found, None, [flat])
    root = np.sqrt(weights)
    rng = np.random.default_rng(seed)
    some = random_rows(len(features_target), ROWS_MODELED, rng)
    known = np.vstack([features, features_target[some]])
    bins = BinnedColumns().fit(known)
    parts: list[list[Any]] = []
    curve = curve and features.shape[1] <= MOST_FOR_CURVE
    held_out = np.empty((n, 2 if curve else 1))
    with threadpool_limits(limits=1):
        for k in range(int(fold.max()) + 1):
            kept = fold != k
            rows, left, counts = features[kept], losses[kept], root[kept]
            parts.append([])
            if curve:
                parts[k].append(LossCurve(known).fit(rows, left, counts))
                left = left - parts[k][0].predict(rows)
            parts[k].append(_Trees(bins).fit(rows, left, counts))
            for j, part in enumerate(parts[k]):
                held_out[~kept, j] = part.predict(features[~kept])
    models = [_Sum(part, *_factors(held_out, losses, root)) for part in parts]
    seen = models[0].offset + held_out @ models[0].factors
    if len(features_target) > ROWS_MODELED:
        return LossModel(seen, _mean(models, features_target), None, models)
    with threadpool_limits(limits=1):
        by_fold = np.array([model.predict(features_target) for model in models])
    return LossModel(seen, by_fold.mean(axis=0), by_fold, models)


def _factors(held_out: Array, losses: Array, weights: Array) -> tuple[Array, float]:
    """Return the factors, from zero to one, and the offset of least squared error."""
    middle = np.average(held_out, axis=0, weights=weights)
    mean = float(np.average(losses, weights=weights))
    root = np.sqrt(weights)
    left = (losses - mean) * root
    size = float(np.abs(left).max())
    if size == 0.0:
        return np.zeros(middle.size), mean
    # In units of the losses: the solver's tolerance has none.
    parts = (held_out - middle) * root[:, None] / size
    factors = lsq_linear(parts, left / size, bounds=(0.0, 1.0), method="bvls").x
    return factors, float(mean - middle @ factors)


@dataclass(frozen=True, eq=False)
class _Sum:
    """Parts times their factors, and an offset."""

    parts: Sequence[Any]
    factors: Array
    offset: float

    def predict(self, features: Array) -> Array:
        found = np.full(len(features), self.offset)
        for part, factor in zip(self.parts, self.factors, strict=True):
            if factor > 0:
                found += factor * part.predict(features)
        return found


class _Trees(BaseEstimator):
    """Boosted trees of columns cut into bins that are known before."""

    def __init__(self, bins: BinnedColumns) -> None:
        self.bins = bins

    def fit(self, features: Array, losses: Array, weights: Array) -> "_Trees":
        trees = HistGradientBoostingRegressor(
            max_iter=60,
            max_depth=4,
            min_samples_leaf=FEWEST_ROWS_A_LEAF,
            early_stopping=False,
            random_state=0,
        )
        self._trees = trees.fit(self.bins.transform(features), losses, weights)
        return self

    def predict(self, features: Array) -> Array:
        return self._trees.predict(self.bins.transform(features))


def _mean(models: Sequence[Any], features: Array) -> Array:
    with threadpool_limits(limits=1):
        if len(features) <= ROWS_MODELED:
            return np.mean([model.predict(features) for model in models], axis=0)
        found = np.empty(len(features))
        for k, model in enumerate(models):
            turn = slice(k, None, len(models))
            found[turn] = model.predict(features[turn])
        return found


def _folds(n: int, groups: Indices | None, seed: int) -> Indices:
    """Return the fold of every row."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return rng.permutation(n) % FOLDS_OF_LOSS_MODEL
    present, place = np.unique(groups, return_inverse=True)
    return (rng.permutation(present.size) % FOLDS_OF_LOSS_MODEL)[place]
