"""Importance weights from a domain classifier."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, xlogy
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.data.arrays import Matrix
from counterpoise.data.linear_out_of_core import RowsToFit, logistic_by_passes
from counterpoise.data.parallel import map_reduce
from counterpoise.data.progress import announce
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import TwoSamples, far_rows, moments_of_block
from counterpoise.errors import InvalidTypeError
from counterpoise.linalg.arrays import Array
from counterpoise.linalg.newton_line import fit_logistic_line
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.loop import Solution, attested
from counterpoise.shift.domain_classifier import (
    ClippedColumns,
    Pool,
    boosted,
    bounded,
    fitted_classifier,
    linear_classifiers,
    log_odds,
    weight_names,
)
from counterpoise.shift.support import uncovered_share_of
from counterpoise.weights.base import FitResult, RandomState, WeightEstimator, lean
from counterpoise.weights.search import Deadline, HeldOut

# -----------------------------------------------------------------------------
# Probabilities made right on the average, and how far off they are.
# -----------------------------------------------------------------------------


# Where all weight is on one side of a fold, the odds of the other are no smaller.
LEAST_PRIOR = 1e-12


def log_loss(p: Array, labels: Array, weights: Array) -> float:
    """Return the mean log loss of probabilities, in nats."""
    each = xlogy(labels, p) + xlogy(1 - labels, 1.0 - p)
    return -float(weights @ each) / float(weights.sum())


def calibration_line(scores: Array, labels: Array, weights: Array) -> Array:
    """Return slope and intercept of the logistic regression of labels on scores.

    A slope below zero, which held-out scores have by chance where nothing tells the
    samples apart, is zero, with the intercept that fits then.
    """
    mass = weights / weights.sum()
    prior = min(max(float(mass @ labels), LEAST_PRIOR), 1.0 - LEAST_PRIOR)
    flat = np.array([0.0, np.log(prior / (1.0 - prior))])
    center = float(mass @ scores)
    spread = float(np.sqrt(mass @ (scores - center) ** 2))
    if not spread > 1e-12 * max(1.0, abs(center)):
        return flat
    line = fit_logistic_line(scores, labels, weights)
    return flat if line[0] <= 0.0 else line


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


# -----------------------------------------------------------------------------
# Logistic regression that tells two samples apart, fitted to all rows by passes.
# -----------------------------------------------------------------------------


def logistic_of_blocks(fitted: object, samples: Samples) -> Pipeline | None:
    """Return the classifier `logistic` fitted to all rows; None for any other.

    Columns are cut where the sample's classifier cuts them, and have variance one over
    all rows of both tables.
    """
    if not isinstance(fitted, Pipeline):
        return None
    kinds = [type(step) for _, step in fitted.steps]
    if kinds != [ClippedColumns, StandardScaler, LogisticRegression]:
        return None
    out = deepcopy(fitted)
    cut, scaler, regression = (step for _, step in out.steps)
    # The moments below are in the rows' own units.
    cut.exponents_ = None
    announce("reading every row: telling the tables apart")
    source, target = samples.blocks()
    work = partial(moments_of_block, cut.limits_)
    moments = map_reduce(source, work) + map_reduce(target, work)
    scaler.mean_, scaler.var_ = moments.mean, moments.variance
    flat = moments.variance <= 10 * np.finfo(float).eps * moments.variance.max()
    scaler.scale_ = np.where(flat, 1.0, np.sqrt(moments.variance))
    scaler.n_samples_seen_ = moments.n
    prepare = partial(_labeled_block, cut, scaler.mean_, scaler.scale_)
    found = logistic_by_passes(
        [(source, partial(prepare, 0)), (target, partial(prepare, 1))],
        2,
        1.0 / regression.C,
        intercept=True,
        max_iter=regression.max_iter,
    )
    regression.coef_, regression.intercept_ = found.coef, found.intercept
    regression.n_iter_ = np.array([found.n_passes], dtype=np.int32)
    return out


def _labeled_block(
    cut: ClippedColumns, mean: Array, scale: Array, label: int, rows: Array, first: int
) -> RowsToFit:
    Z = (cut.transform(rows) - mean) / scale
    return RowsToFit(Z, np.full(len(rows), label), np.ones(len(rows)))


# -----------------------------------------------------------------------------
# Density ratios from a classifier that tells the two samples apart.
# -----------------------------------------------------------------------------


# Log odds are bounded below this: no limit of their own.
NO_LIMIT = 99.0


@dataclass(kw_only=True, eq=False, repr=False)
class DiscriminatorWeights(WeightEstimator):
    r"""Weights from the odds of a classifier of target against source.

    .. math:: w(x) = \frac{n}{m} \frac{p(x)}{1 - p(x)}, \quad p(x) = P(target | x)

    scaled to mean one. The weight of a source row comes from a classifier that has not
    seen it (5 stratified folds), its log odds recalibrated by a line fitted to the
    held-out rows of the other folds; the factor n/m takes out how many rows each sample
    has. A ratio is not extrapolated: no odds are longer than the longest of a held-out
    target row, rows far outside the bulk of both samples aside.

    Parameters
    ----------
    estimator : classifier or None
        Fitted with `sample_weight` to rows labeled 1 (target) and 0 (source); needs
        `predict_proba` or `decision_function`. A pipeline passes the weights to each of
        its steps that take them. None: the better, by held-out log loss, of logistic
        regression on standardized columns and histogram gradient boosting (sparse rows:
        the former; of more than 100 columns, as in text, the best of five, see
        `domain_score`).
    calibrate : bool
        Whether to recalibrate the log odds by a line of slope 0 at least.
    tol : float
        Tolerance of the logistic regression that None stands for.
    max_iter : int
        Largest number of steps of that regression.
    exponent : float
        Power to which the weights are raised; 0 makes them uniform.
    allow_no_overlap : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    weights_ : array of shape (n,)
        The density ratio at the source rows, out of fold, mean one.
    estimator_ : classifier
        Fitted to all rows; `predict_weights` uses it.
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
    unsupported_fraction_ : float
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

    Tables in blocks: classifiers are compared on a sample of 10,000 rows of each.
    Logistic regression is then fitted to all rows by passes, on columns cut where the
    sample says, and needs no line: rows are so many that it is calibrated on its own
    ones. Any other classifier is the sample's.

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

    estimator: ClassifierMixin | Pipeline | None = None
    calibrate: bool = True
    tol: float = 1e-6
    max_iter: int = 10_000
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.calibrate, bool | np.bool_):
            raise InvalidTypeError(
                f"calibrate must be True or False, got {self.calibrate!r}"
            )
        if self.estimator is None:
            return
        if not hasattr(self.estimator, "fit"):
            raise InvalidTypeError(
                f"estimator must be a classifier, got {self.estimator!r}"
            )
        if not weight_names(self.estimator):
            raise InvalidTypeError(
                f"estimator must take sample_weight in fit, and "
                f"{type(self.estimator).__name__} does not"
            )
        # A margin becomes log odds by the line alone.
        wanted = ["predict_proba", "decision_function"][: 1 + bool(self.calibrate)]
        if not any(hasattr(self.estimator, name) for name in wanted):
            raise InvalidTypeError(
                f"estimator must have {' or '.join(wanted)} with "
                f"calibrate={self.calibrate}, and {type(self.estimator).__name__} "
                "has not"
            )

    def _chosen(self) -> dict[str, object]:
        return {"estimator": clone(self.estimator_)}

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        # `AutoWeights` hands over what it knows of the rows, out of fold.
        trials, classifiers = self.__dict__.pop("_shared_trials", (None, None))
        if trials is None:
            trials = ClassifierTrials.of(samples, self._seed(), self.calibrate)
            classifiers = self._candidates(samples)
        best, pool = trials.best(classifiers), trials.pool
        self.estimator_ = fitted_classifier(
            best.estimator, pool.X, pool.labels, pool.weights
        )
        self.line_ = best.line
        self.auc_ = float(
            roc_auc_score(pool.labels, best.scores, sample_weight=pool.weights)
        )
        self.log_loss_ = best.log_loss
        self.calibration_error_ = calibration_error(
            expit(best.log_odds), pool.labels, pool.weights
        )
        # By names that model files have.
        self._longest_odds_, self._prior_ = best.longest, trials.prior
        # A row of the fit is not beyond the rows of the fit, though what was fitted
        # without it says less.
        longest = trials.longest(self._log_odds(samples.target))
        self._farthest_odds_ = max(best.longest, longest)
        self.held_out_ = trials.held_out(best)
        return FitResult(
            self._certified_line(),
            self.held_out_.source,
            uncovered_share_of(
                best.logs, best.logs_target, samples.source_share, samples.target_share
            ),
            "uncovered_fraction",
        )

    def _fit_blocks(self, samples: Samples) -> Solution | None:
        found = logistic_of_blocks(self.estimator_, samples)
        if found is None:
            return None
        self.estimator_ = found
        # The likelihood of all rows leaves no line to be found on them.
        self.line_ = np.array([1.0, 0.0])
        source, target = samples.blocks()
        self._prior_ = float(np.log(target.n_rows / source.n_rows))
        self._longest_odds_ = np.inf
        announce("reading every row: the longest odds of the target")
        work = partial(_longest_of_block, lean(self), samples.limits)
        longest = map_reduce(target, work, max)
        self._longest_odds_ = longest if np.isfinite(longest) else NO_LIMIT
        self._farthest_odds_ = self._longest_odds_
        return self._certified_line()

    def _certified_line(self) -> Solution:
        proof = Certificate("none", objective=self.log_loss_)
        return attested(self.line_, proof, self.tol)

    def _predict_weights(self, X: Matrix) -> Array:
        return ratio_of_odds(self._log_odds(X), self._longest_odds_, self._prior_)

    def _is_extrapolation(self, X: Matrix) -> NDArray[np.bool_]:
        return self._log_odds(X) > self._farthest_odds_

    def _log_odds(self, X: Matrix) -> Array:
        slope, intercept = self.line_
        return bounded(slope * log_odds(self.estimator_, X) + intercept)

    def _candidates(self, samples: TwoSamples) -> dict[str, ClassifierMixin | Pipeline]:
        """Return the classifiers to choose from, by their names."""
        if self.estimator is not None:
            return {"estimator": self.estimator}
        linear = linear_classifiers(samples.source, self.tol, self.max_iter)
        is_sparse = sparse.issparse(samples.source)
        return linear if is_sparse else {**linear, "boosted": boosted()}


def _longest_of_block(
    estimator: DiscriminatorWeights,
    limits: tuple[Array, Array],
    rows: Array,
    first: int,
) -> float:
    """Return the longest log odds of a block's rows not far outside the bulk."""
    rows = rows[((rows >= limits[0]) & (rows <= limits[1])).all(axis=1)]
    return float(estimator._log_odds(rows).max()) if len(rows) else -np.inf


def ratio_of_odds(logs: Array, longest: float, prior: float) -> Array:
    """Return the density ratio that log odds mean, not extrapolated.

    `longest` are the longest log odds of a held-out target row, `prior` those of the
    two samples' sizes.
    """
    return np.exp(np.minimum(logs, longest) - prior)


@dataclass(frozen=True, eq=False)
class HeldOutOdds:
    """What a classifier says of rows it has not seen.

    `scores` and `log_odds` are those of the pooled rows, before and after the line;
    `logs` and `logs_target` the latter of each row of the samples.
    """

    estimator: ClassifierMixin | Pipeline
    scores: Array
    log_odds: Array
    line: Array
    log_loss: float
    logs: Array
    logs_target: Array
    longest: float


@dataclass(frozen=True, eq=False)
class ClassifierTrials:
    """Out-of-fold log odds of two samples' rows by classifiers, each fitted once.

    Attributes
    ----------
    samples : TwoSamples
        Rows that count.
    pool : Pool
        The same in one table, with its folds.
    calibrate : bool
        Whether to recalibrate the log odds by a line.
    known : dict of HeldOutOdds
        What has been computed, by the name of the classifier.
    """

    samples: TwoSamples
    pool: Pool
    calibrate: bool = True
    known: dict[str, HeldOutOdds] = field(default_factory=dict)

    @classmethod
    def of(
        cls, samples: TwoSamples, seed: int, calibrate: bool = True
    ) -> "ClassifierTrials":
        """Return trials on two samples, none made yet."""
        return cls(samples, Pool.of(samples, seed), calibrate)

    def best(
        self, classifiers: Mapping[str, ClassifierMixin | Pipeline]
    ) -> HeldOutOdds:
        """Return the odds of least log loss; one name stands for one classifier."""
        for name, estimator in classifiers.items():
            if name not in self.known:
                self.known[name] = self._out_of_fold(estimator)
        return min(
            (self.known[name] for name in classifiers), key=lambda odds: odds.log_loss
        )

    def held_out(self, odds: HeldOutOdds) -> HeldOut:
        """Return the density ratios of all rows, out of fold."""
        return HeldOut(
            ratio_of_odds(odds.logs_target, odds.longest, self.prior),
            ratio_of_odds(odds.logs, odds.longest, self.prior),
        )

    @property
    def prior(self) -> float:
        """The log odds of the two samples' sizes."""
        return float(np.log(self.samples.target_mass / self.samples.source_mass))

    def longest(self, logs_target: Array) -> float:
        """Return the longest log odds of target rows not far outside the bulk."""
        near = self._near
        return float((logs_target[near] if near.any() else logs_target).max())

    @cached_property
    def _near(self) -> NDArray[np.bool_]:
        """Which target rows are not far outside the bulk."""
        if sparse.issparse(self.samples.target):
            return np.ones(self.samples.target.shape[0], dtype=bool)
        return ~far_rows(self.samples)

    def _out_of_fold(self, estimator: ClassifierMixin | Pipeline) -> HeldOutOdds:
        pool, n = self.pool, self.samples.source.shape[0]
        scores = pool.out_of_fold(estimator)
        line, logs = np.array([1.0, 0.0]), scores.copy()
        if self.calibrate:
            # Every score by the line of the other folds.
            for k in range(pool.n_folds):
                rest, left = pool.fold != k, pool.fold == k
                slope, intercept = calibration_line(
                    scores[rest], pool.labels[rest], pool.weights[rest]
                )
                logs[left] = slope * scores[left] + intercept
            line = calibration_line(scores, pool.labels, pool.weights)
        logs = bounded(logs)
        loss = log_loss(expit(logs), pool.labels, pool.weights)
        each = pool.each_row(logs)
        longest = self.longest(each[n:])
        return HeldOutOdds(
            estimator, scores, logs, line, loss, each[:n], each[n:], longest
        )
