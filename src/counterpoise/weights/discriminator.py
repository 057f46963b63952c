"""Density ratios from a classifier that tells the two samples apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, xlogy
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from counterpoise.convex import Certificate, Solution
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.overlap import thin_share
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.classifiers import boosted, logistic
from counterpoise.weights.search import FEWEST_DIFFERENT, N_FOLDS, HeldOut

# Probabilities nearer to 0 or 1 than this are no evidence.
SURE = 1e-6
# Threads that wait for one another cost more than they save on tables this small.
SMALL = 50_000


class DiscriminatorWeights(WeightEstimator):
    r"""Weights from the odds of a classifier of target against source.

    .. math:: w(x) = \frac{n}{m} \frac{p(x)}{1 - p(x)}, \quad p(x) = P(target | x)

    scaled to mean one. The weight of a source row comes from a classifier that has not
    seen it (5 stratified folds), its log odds recalibrated by a line fitted to the
    held-out rows of the other folds; the factor n/m takes out how many rows each sample
    has.

    Parameters
    ----------
    estimator : classifier or None
        Fitted with `sample_weight` to rows labelled 1 (target) and 0 (source); needs
        `predict_proba` or `decision_function`. A pipeline passes the weights to each of
        its steps that take them. None: the better, by held-out log loss, of logistic
        regression on standardised columns and histogram gradient boosting (sparse rows:
        the former).
    calibrate : bool
        Whether to recalibrate the log odds by a line of slope 0 at least.
    tol : float
        Tolerance of the logistic regression that None stands for.
    max_iter : int
        Largest number of its steps.
    max_time, callback
        Not used: there is nothing to wait for between two classifiers.
    exponent : float
        Power of the weights, from 0 (uniform) to 1.
    force : bool
        Go on where the samples do not overlap.
    random_state : int, RandomState or None
        Draws the folds.

    Attributes
    ----------
    weights_ : array of shape (n,)
        The density ratio at the source rows, out of fold, mean one.
    estimator_ : classifier
        Fitted to all rows; `weigh` uses it.
    auc_ : float
        How well held-out rows are told apart: the area under the ROC curve.
    log_loss_ : float
        Held-out log loss, in nats, of the probabilities the weights are made of.
    calibration_error_ : float
        Mean distance of these probabilities from the observed shares of the target, in
        ten bins of equal mass.
    held_out_ : HeldOut
        The density ratios of all target and source rows, out of fold.
    line_ : array of shape (2,)
        Slope and intercept of the recalibrated log odds of new rows.
    solution_ : Solution
        The line, with a certificate of kind "none".
    uncovered_ : float
        Share of the target rows whose log ratio exceeds the 99.5 % quantile of those of
        the source rows, both out of fold; 0.005 where nothing has shifted.
    effective_sample_size_ : float
        Number of equally weighted rows that average as well.

    Notes
    -----
    Nothing is proved about a classifier: the certificate is of kind "none" and never
    warns. Look at `log_loss_` and `calibration_error_`.

    The odds are those of the target: some published code has :math:`(1 - p) / p`,
    which weighs the source rows down where the target is.

    Folds depend on what rows hold, not on their order, and equal rows share one, so
    that the weights of permuted rows are permuted and a row of weight two is the row
    twice. Where there are fewer than fifty different rows, as with few categories,
    copies are dealt out over the folds instead and get the mean of their log odds;
    there, a row of weight two is the row twice only up to the folds.

    References
    ----------
    Bickel, Brueckner and Scheffer (2009).

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(n=999, m=999, shift=0.4, scale=1, random_state=1)
    >>> fitted = DiscriminatorWeights(estimator=LogisticRegression(), random_state=0)
    >>> weights = fitted.fit(data.X, X_target=data.X_target).weights_
    >>> round(float((weights * data.X[:, 0]).mean()), 1)
    0.4
    """

    _accepts_sparse = True

    def __init__(
        self,
        *,
        estimator: Any = None,
        calibrate: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        max_time: float | None = None,
        callback: Callable[..., object] | None = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibrate = calibrate
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.exponent = exponent
        self.force = force
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if not isinstance(self.calibrate, bool | np.bool_):
            raise TypeError(f"calibrate must be True or False, got {self.calibrate!r}")
        if self.estimator is None:
            return
        if not hasattr(self.estimator, "fit"):
            raise TypeError(f"estimator must be a classifier, got {self.estimator!r}")
        if not _weight_names(self.estimator):
            raise TypeError(
                f"estimator must take sample_weight in fit, and "
                f"{type(self.estimator).__name__} does not"
            )
        # A margin becomes log odds by the line alone.
        wanted = ["predict_proba", "decision_function"][: 1 + bool(self.calibrate)]
        if not any(hasattr(self.estimator, name) for name in wanted):
            raise TypeError(
                f"estimator must have {' or '.join(wanted)} with "
                f"calibrate={self.calibrate}, and {type(self.estimator).__name__} "
                "has not"
            )

    def _chosen(self) -> dict[str, Any]:
        return {"estimator": clone(self.estimator_)}

    def _fit(self, samples: TwoSamples) -> Fitted:
        pool = Pool.of(samples, self._seed())
        tried = [
            self._out_of_fold(candidate, pool) for candidate in self._candidates(pool)
        ]
        best = min(tried, key=lambda result: result.log_loss)
        self.estimator_ = _fitted(best.estimator, pool.X, pool.labels, pool.weights)
        self.line_ = best.line
        self.auc_ = float(
            roc_auc_score(pool.labels, best.scores, sample_weight=pool.weights)
        )
        self.log_loss_ = best.log_loss
        self.calibration_error_ = calibration_error(
            expit(best.log_odds), pool.labels, pool.weights
        )
        logs = pool.each_row(best.log_odds)
        n = samples.source.shape[0]
        ratio = np.exp(logs - self._prior(samples))
        self.held_out_ = HeldOut(ratio[n:], ratio[:n])
        proof = Certificate("none", objective=self.log_loss_)
        return Fitted(
            Solution(self.line_, proof, self.tol),
            ratio[:n],
            thin_share(logs[:n], logs[n:], samples.source_share, samples.target_share),
            "thin",
        )

    def _weigh(self, X: Matrix) -> Array:
        slope, intercept = self.line_
        log_odds = _bounded(slope * _scores(self.estimator_, X) + intercept)
        assert self._samples_ is not None
        return np.exp(log_odds - self._prior(self._samples_))

    @staticmethod
    def _prior(samples: TwoSamples) -> float:
        return float(np.log(samples.target_mass / samples.source_mass))

    def _candidates(self, pool: "Pool") -> list[Any]:
        if self.estimator is not None:
            return [self.estimator]
        is_sparse = sparse.issparse(pool.X)
        linear = logistic(is_sparse, pool.X.shape[1], self.tol, self.max_iter)
        return [linear] if is_sparse else [linear, boosted()]

    def _out_of_fold(self, estimator: Any, pool: "Pool") -> "HeldOutOdds":
        """Return the log odds of all rows, each from classifiers without it."""
        scores = np.empty(pool.labels.size)
        for k in range(pool.n_folds):
            rest, left = pool.fold != k, pool.fold == k
            fitted = _fitted(
                estimator, pool.X[rest], pool.labels[rest], pool.weights[rest]
            )
            scores[left] = _scores(fitted, pool.X[left])
        line, log_odds = np.array([1.0, 0.0]), scores.copy()
        if self.calibrate:
            line = calibration_line(scores, pool.labels, pool.weights)
            for k in range(pool.n_folds):
                rest, left = pool.fold != k, pool.fold == k
                slope, intercept = calibration_line(
                    scores[rest], pool.labels[rest], pool.weights[rest]
                )
                log_odds[left] = slope * scores[left] + intercept
        log_odds = _bounded(log_odds)
        loss = _log_loss(expit(log_odds), pool.labels, pool.weights)
        return HeldOutOdds(estimator, scores, log_odds, line, loss)


@dataclass(frozen=True, eq=False)
class HeldOutOdds:
    """What a classifier says of rows it has not seen, before and after the line."""

    estimator: Any
    scores: Array
    log_odds: Array
    line: Array
    log_loss: float


@dataclass(frozen=True, eq=False)
class Pool:
    """Both samples in one table, with folds that depend on what rows hold.

    Attributes
    ----------
    X : matrix
        Rows of both samples; equal rows of a sample are one row, unless there are fewer
        than fifty different ones.
    labels, weights : array
        1 for target rows; how many rows a row stands for.
    fold : array of int
    n_folds : int
    place : array of int
        For every row of the source, then of the target, the row of `X` it is.
    group : array of int
        For every row of `X`, which rows are equal to it, in either sample.
    """

    X: Any
    labels: Array
    weights: Array
    fold: Indices
    n_folds: int
    place: Indices
    group: Indices

    @classmethod
    def of(cls, samples: TwoSamples, seed: int) -> "Pool":
        """Return the table of two samples."""
        both = [samples.source, samples.target]
        is_sparse = sparse.issparse(samples.source)
        X: Any = sparse.vstack(both, format="csr") if is_sparse else np.vstack(both)
        sizes = samples.source.shape[0], samples.target.shape[0]
        labels = np.repeat([0, 1], sizes)
        weights = np.concatenate(
            [
                samples.source_share * samples.source_mass,
                samples.target_share * samples.target_mass,
            ]
        )
        # An order by content, equal rows side by side, source before target.
        content = _content(X)
        order = np.lexsort((weights, labels, content))
        merged = 2 * content[order] + labels[order]
        first = np.flatnonzero(np.diff(merged, prepend=-1))
        copies = first.size < FEWEST_DIFFERENT
        if copies:
            first = np.arange(merged.size)
        place = np.empty(merged.size, dtype=np.intp)
        place[order] = np.searchsorted(first, np.arange(merged.size), "right") - 1
        kept = order[first]
        group = content[kept]
        dealt = np.arange(kept.size) if copies else group
        fold, n_folds = _dealt(dealt, labels[kept], seed)
        return cls(
            X[kept],
            labels[kept],
            np.add.reduceat(weights[order], first),
            fold,
            n_folds,
            place,
            group,
        )

    def each_row(self, log_odds: Array) -> Array:
        """Return the log odds of the rows as they came; equal rows get their mean."""
        sums = np.bincount(self.group, self.weights * log_odds)
        means = sums / np.maximum(np.bincount(self.group, self.weights), 1e-300)
        return means[self.group][self.place]


def _content(X: Any) -> Indices:
    """Return a number for every row: equal rows have one, in an order by content.

    The order is that of the rows' bytes from the highest, so that sign and size of the
    entries decide, and the scale of a column does not.
    """
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        columns, entries = X.indices.astype(">i8"), X.data.astype(">f8")
        keys = [columns[a:b].tobytes() + entries[a:b].tobytes() for a, b in ends]
    else:
        # Adding zero makes minus zero zero.
        keys = [row.tobytes() for row in (X + 0.0).astype(">f8")]
    rank = {key: k for k, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], dtype=np.intp)


def _dealt(units: Indices, labels: Array, seed: int) -> tuple[Indices, int]:
    """Return a fold for every row, the same for rows of a unit, and their number.

    Units of source rows alone come first, then those of both samples, then those of
    target rows alone, each shuffled, and the folds are dealt out in turn: every fold
    has its part of either sample.
    """
    names, unit = np.unique(units, return_inverse=True)
    has = [np.bincount(unit, labels == side, names.size) > 0 for side in (0, 1)]
    n_folds = min(N_FOLDS, int(has[0].sum()), int(has[1].sum()))
    if n_folds < 2:
        raise ValueError(
            "DiscriminatorWeights needs at least 2 rows of each sample, got "
            f"{int(has[0].sum())} and {int(has[1].sum())}"
        )
    kind = np.where(has[0] & has[1], 1, np.where(has[0], 0, 2))
    chance = np.random.default_rng(seed).permutation(names.size)
    turn = np.empty(names.size, dtype=np.intp)
    turn[np.lexsort((chance, kind))] = np.arange(names.size) % n_folds
    return turn[unit], n_folds


def _weight_names(estimator: Any) -> list[str]:
    """Return what `fit` calls the weights: of the estimator, or of a pipeline's steps.

    Nothing where the classifier itself takes none.
    """
    if not isinstance(estimator, Pipeline):
        takes = has_fit_parameter(estimator, "sample_weight")
        return ["sample_weight"] if takes else []
    steps = [(name, step) for name, step in estimator.steps if hasattr(step, "fit")]
    if not steps or not _weight_names(steps[-1][1]):
        return []
    return [f"{name}__{inner}" for name, step in steps for inner in _weight_names(step)]


def _fitted(estimator: Any, X: Matrix, labels: Array, weights: Array) -> Any:
    """Return a fresh copy of the classifier, fitted."""
    # Ones change nothing, and weighted quantiles of the columns take their time.
    names = [] if (weights == 1.0).all() else _weight_names(estimator)
    given = dict.fromkeys(names, weights)
    with _threads(X):
        return clone(estimator).fit(X, labels, **given)


def _scores(fitted: Any, X: Matrix) -> Array:
    """Return the log odds of the target that a classifier gives rows."""
    with _threads(X):
        if not hasattr(fitted, "predict_proba"):
            return np.asarray(fitted.decision_function(X), dtype=float)
        p = np.clip(fitted.predict_proba(X)[:, 1], SURE, 1.0 - SURE)
    return np.asarray(np.log(p / (1.0 - p)), dtype=float)


def _threads(X: Matrix) -> Any:
    """Return a context in which a classifier takes one thread for a small table."""
    return threadpool_limits(1 if X.shape[0] <= SMALL else None, "openmp")


def _bounded(log_odds: Array) -> Array:
    """Return log odds whose probabilities are in [1e-6, 1 - 1e-6]."""
    limit = np.log((1.0 - SURE) / SURE)
    return np.clip(log_odds, -limit, limit)


def _log_loss(p: Array, labels: Array, weights: Array) -> float:
    each = xlogy(labels, p) + xlogy(1 - labels, 1.0 - p)
    return -float(weights @ each) / float(weights.sum())


def calibration_line(scores: Array, labels: Array, weights: Array) -> Array:
    """Return slope and intercept of the logistic regression of labels on scores.

    A slope below zero, which held-out scores have by chance where nothing tells the
    samples apart, is zero, with the intercept that fits then.
    """
    mass = weights / weights.sum()
    prior = float(mass @ labels)
    flat = np.array([0.0, np.log(prior / (1.0 - prior))])
    center = float(mass @ scores)
    spread = float(np.sqrt(mass @ (scores - center) ** 2))
    if not spread > 1e-12 * max(1.0, abs(center)):
        return flat
    Z = np.column_stack([(scores - center) / spread, np.ones_like(scores)])
    theta = _logistic(Z, labels, mass, flat)
    slope = theta[0] / spread
    return flat if slope <= 0.0 else np.array([slope, theta[1] - slope * center])


def _logistic(Z: Array, labels: Array, mass: Array, theta: Array) -> Array:
    """Return the slopes of a weighted logistic regression, by damped Newton steps."""
    # Separable scores have no best slope; so small a ridge changes no other.
    ridge = 1e-9

    def loss(at: Array) -> float:
        margin = Z @ at
        each = np.logaddexp(0.0, margin) - labels * margin
        return float(mass @ each) + 0.5 * ridge * float(at @ at)

    value = loss(theta)
    for _ in range(100):
        p = expit(Z @ theta)
        gradient = (mass * (p - labels)) @ Z + ridge * theta
        hessian = Z.T @ (Z * (mass * p * (1.0 - p))[:, None]) + ridge * np.eye(2)
        direction = -np.linalg.solve(hessian, gradient)
        slope = float(gradient @ direction)
        length = 1.0
        while slope < -1e-12 and loss(theta + length * direction) > (
            value + 1e-4 * length * slope
        ):
            length *= 0.5
        theta = theta + length * direction
        value = loss(theta)
        if slope > -1e-24:
            break
    return theta


def calibration_error(
    p: Array, labels: Array, weights: Array, n_bins: int = 10
) -> float:
    """Return the mean distance of probabilities from observed shares.

    Rows are put in order of their probability and cut into bins of equal mass; rows of
    one probability are in one bin.
    """
    values, place = np.unique(p, return_inverse=True)
    mass = weights / weights.sum()
    each = np.bincount(place, mass, values.size)
    position = np.cumsum(each) - 0.5 * each
    bins = np.minimum((n_bins * position).astype(np.intp), n_bins - 1)[place]
    gaps = np.bincount(bins, mass * (p - labels), n_bins)
    return float(np.abs(gaps).sum())
