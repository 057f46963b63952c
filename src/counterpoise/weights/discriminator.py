"""Density ratios from a classifier that tells the two samples apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from counterpoise.convex import Certificate, attested
from counterpoise.numerics.arrays import Array
from counterpoise.samples.classifiers import (
    boosted,
    bounded,
    fitted_classifier,
    log_odds,
    logistic,
    weight_names,
)
from counterpoise.samples.overlap import thin_share
from counterpoise.samples.pool import Pool
from counterpoise.samples.scaling import far_rows
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.calibration import (
    calibration_error,
    calibration_line,
    log_loss,
)
from counterpoise.weights.search import HeldOut


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
        if not weight_names(self.estimator):
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
        logs = pool.each_row(best.log_odds)
        n = samples.source.shape[0]
        told = logs[n:]
        if not sparse.issparse(samples.target):
            near = ~far_rows(samples)
            told = told[near] if near.any() else told
        self._longest_odds_ = float(told.max())
        self._prior_ = float(np.log(samples.target_mass / samples.source_mass))
        ratio = self._ratio(logs)
        self.held_out_ = HeldOut(ratio[n:], ratio[:n])
        proof = Certificate("none", objective=self.log_loss_)
        return Fitted(
            attested(self.line_, proof, self.tol),
            ratio[:n],
            thin_share(logs[:n], logs[n:], samples.source_share, samples.target_share),
            "thin",
        )

    def _weigh(self, X: Matrix) -> Array:
        return self._ratio(self._log_odds(X))

    def _beyond(self, X: Matrix) -> NDArray[np.bool_]:
        return self._log_odds(X) > self._longest_odds_

    def _log_odds(self, X: Matrix) -> Array:
        slope, intercept = self.line_
        return bounded(slope * log_odds(self.estimator_, X) + intercept)

    def _ratio(self, logs: Array) -> Array:
        """Return the density ratio that log odds mean, not extrapolated."""
        return np.exp(np.minimum(logs, self._longest_odds_) - self._prior_)

    def _candidates(self, pool: Pool) -> list[Any]:
        if self.estimator is not None:
            return [self.estimator]
        is_sparse = sparse.issparse(pool.X)
        linear = logistic(is_sparse, pool.X.shape[1], self.tol, self.max_iter)
        return [linear] if is_sparse else [linear, boosted()]

    def _out_of_fold(self, estimator: Any, pool: Pool) -> "HeldOutOdds":
        """Return the log odds of all rows, each from classifiers without it."""
        scores = pool.out_of_fold(estimator)
        line, logs = np.array([1.0, 0.0]), scores.copy()
        if self.calibrate:
            line = calibration_line(scores, pool.labels, pool.weights)
            for k in range(pool.n_folds):
                rest, left = pool.fold != k, pool.fold == k
                slope, intercept = calibration_line(
                    scores[rest], pool.labels[rest], pool.weights[rest]
                )
                logs[left] = slope * scores[left] + intercept
        logs = bounded(logs)
        loss = log_loss(expit(logs), pool.labels, pool.weights)
        return HeldOutOdds(estimator, scores, logs, line, loss)


@dataclass(frozen=True, eq=False)
class HeldOutOdds:
    """What a classifier says of rows it has not seen, before and after the line."""

    estimator: Any
    scores: Array
    log_odds: Array
    line: Array
    log_loss: float
