"""What every weighter does: the door, the fit, the proof, the mean of one."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from counterpoise.convex import Problem, Solution, Solver, solve
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.ordering import canonical_order
from counterpoise.samples.overlap import NONE, RELATIVE_FROM, SMALL
from counterpoise.samples.scaling import pooled_scale
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import (
    Matrix,
    NoOverlapError,
    NoTargetWarning,
    PartialOverlapWarning,
    as_weights,
    check_integer,
    check_number,
    column_names,
    estimator_samples,
    warn_user,
)
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.fitted_weighter import FittedWeighter
from counterpoise.weights.kernel_widths import lonely_share

# Shares of the target that the source does not reach are said from these on.
SAID = {"uncovered": RELATIVE_FROM, "thin": SMALL}
# In small samples this share of the target may be far from all source rows by chance.
LONELY = 0.1
TAKE_SPARSE = (
    "AutoWeights, KLIEP, MixtureKLIEP, DiscriminatorWeights, DiscrepancyWeights and "
    "UniformWeights"
)


# A row is outside both samples from this share of a column's range on.
BEYOND = 0.1


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a method has found.

    Attributes
    ----------
    solution : Solution
        The point and its proof.
    ratio : array of shape (n,)
        The density ratio at the source rows, up to a factor.
    uncovered : float or None
        Share of the target rows that the source does not reach; None where the method
        cannot tell.
    measure : str
        How they were counted: "uncovered" or "thin".
    mean : float
        The mean of the weights, where it is a result and not one.
    """

    solution: Solution
    ratio: Array
    uncovered: float | None
    measure: str = "uncovered"
    mean: float = 1.0


class WeightEstimator(FittedWeighter):
    """Two samples in, one weight a source row out.

    A method says how it fits (`_fit`) and what it gives a row (`_weigh`); all else is
    here and in `FittedWeighter`. `weights_` estimate the density ratio target/source at
    the source rows and have mean one, weighted by `sample_weight` if given.

    Subclasses have the parameters `tol`, `max_iter`, `max_time`, `callback`,
    `exponent`, `force` and `random_state`; kernel methods also `standardize`.
    """

    _least_rows = 2
    # Whether `weights_` estimate the density ratio, at any row.
    weights_are_a_ratio = True

    @abstractmethod
    def _fit(self, samples: TwoSamples) -> Fitted:
        """Fit to two samples on scaled columns, and return what was found."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    def _check_samples(self, X: Matrix, X_target: Matrix) -> None:
        """Refuse samples that a method cannot take, before rows are left out."""

    def _scales_columns(self) -> bool:
        return bool(getattr(self, "standardize", False))

    def _weigh_absent(self, X: Matrix) -> Array:
        """Return the ratio at source rows that do not count, as `_weigh`."""
        return self._weigh(X)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Weigh the source rows so that they stand for the target.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, d)
            The source rows.
        y : ignored
            Weights depend on the two samples alone.
        X_target : the same of shape (m, d), or a tuple of such
            The target rows; several pieces are stacked, and a tuple is never cut by
            cross-validation. None: weights of one and a `NoTargetWarning`.
        sample_weight, target_weight : array of shape (n,), (m,)
            What the rows count in every mean; `weights_` stay the density ratio. Whole
            numbers are counts: weight two is the row twice. Other weights count by
            their proportions, all together for as many rows as they are worth.

        Returns
        -------
        self
        """
        self._check_common()
        self._check_parameters()
        self._deadline_ = Deadline(self.max_time)
        self._check_dense(X, X_target)
        names = column_names(X)
        X, X_target = estimator_samples(
            self,
            X,
            X_target,
            reset=True,
            min_rows=self._least_rows,
            accept_sparse=self._accepts_sparse,
        )
        source_weight = _counts(as_weights(sample_weight, X.shape[0]))
        self.has_target_ = X_target is not None
        self._samples_: TwoSamples | None = None
        self.column_scale_: Array | None = None
        if X_target is None:
            self._set_uniform(X.shape[0])
            return self
        aim_weight = _counts(
            as_weights(
                target_weight, X_target.shape[0], name="target_weight", of="X_target"
            )
        )
        self._check_samples(X, X_target)
        rows = _counted(X, source_weight)
        aims = _counted(X_target, aim_weight)
        samples = TwoSamples.of(
            X[rows], X_target[aims], source_weight[rows], aim_weight[aims]
        )
        self._samples_ = samples
        self._places_ = rows, aims
        self._range_ = _range(samples)
        if self._scales_columns():
            self.column_scale_ = pooled_scale(samples, names)
        scaled = samples.with_rows(
            self._scaled(samples.source), self._scaled(samples.target)
        )
        found = self._fit(scaled)
        del self._places_
        if found.uncovered is not None and found.measure == "uncovered":
            # A wide kernel reaches across a hole that the source's spacing shows.
            lonely = lonely_share(scaled)
            if lonely > NONE or (lonely > LONELY and found.uncovered <= LONELY):
                found = replace(found, uncovered=max(found.uncovered, lonely))
        self._set(found, samples, X, source_weight, rows)
        return self

    def _solve(
        self,
        problem: Problem,
        solver: Solver | None = None,
        x: Array | None = None,
        *,
        tol: float | None = None,
    ) -> Solution:
        """Solve a problem within the budgets of the parameters."""
        return solve(
            problem,
            solver,
            x,
            tol=self.tol if tol is None else tol,
            max_iter=self.max_iter,
            max_time=self._deadline_.left(),
            callback=self.callback,
        )

    def _set_uniform(self, n: int) -> None:
        warn_user(
            "no X_target was given: all weights are one and nothing is adapted",
            NoTargetWarning,
        )
        self.weights_ = np.ones(n)
        self.solution_: Solution | None = None
        self.uncovered_: float | None = None
        self.effective_sample_size_ = float(n)

    def _set(
        self,
        found: Fitted,
        samples: TwoSamples,
        X: Matrix,
        source_weight: Array,
        rows: Indices,
    ) -> None:
        self._judge_overlap(found)
        self.solution_ = found.solution
        self.uncovered_ = found.uncovered
        if not found.solution.converged:
            warn_user(
                f"{type(self).__name__}: {found.solution}; raise max_iter or max_time, "
                "or accept a larger tol",
                ConvergenceWarning,
            )
        powered = found.ratio**self.exponent
        self.mean_ratio_ = float(samples.source_share @ powered)
        self.mean_ratio_ /= found.mean**self.exponent
        if not 1e-100 < self.mean_ratio_ < np.inf:
            # Without overlap the ratio underflows at every source row.
            powered, self.mean_ratio_ = np.ones_like(powered), np.nan
        weights = np.empty(X.shape[0])
        vanished = np.isnan(self.mean_ratio_)
        weights[rows] = powered if vanished else powered / self.mean_ratio_
        absent = source_weight == 0
        if absent.any():
            ratio = self._weigh_absent(self._scaled(X[absent]))
            weights[absent] = self._normalized(ratio)
        self.weights_ = weights
        self.effective_sample_size_ = effective_sample_size(weights * source_weight)

    def _judge_overlap(self, found: Fitted) -> None:
        share = found.uncovered
        if share is None or share <= SAID[found.measure]:
            return
        if share > NONE and not self.force:
            raise NoOverlapError(share, found.measure)  # type: ignore[arg-type]
        warn_user(
            f"{share:.1%} of the target rows have hardly any source rows near them: "
            "the weights speak for the others",
            PartialOverlapWarning,
        )

    def _check_common(self) -> None:
        check_number("tol", self.tol, low=0.0, closed="neither")
        check_integer("max_iter", self.max_iter, low=1)
        check_number("max_time", self.max_time, low=0.0, options=(None,))
        check_number("exponent", self.exponent, low=0.0, high=1.0)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable or None, got {self.callback!r}")

    def _check_dense(self, X: Any, X_target: Any) -> None:
        pieces = X_target if isinstance(X_target, tuple) else (X_target,)
        if not self._accepts_sparse and any(map(sparse.issparse, (X, *pieces))):
            # The middle is what scikit-learn's estimator checks look for.
            raise TypeError(
                f"{type(self).__name__} takes no sparse rows: dense data is required. "
                f"{TAKE_SPARSE} take sparse rows"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags


def _counts(weights: Array) -> Array:
    """Return weights as counts of rows: whole numbers as they are, others by worth."""
    if np.abs(weights - np.rint(weights)).max() <= 1e-9 * max(weights.max(), 1.0):
        return weights
    worth = weights * (effective_sample_size(weights) / weights.sum())
    # Equal weights are as good as none, and rounding must not make a difference.
    nearest = np.rint(worth)
    return np.where((np.abs(worth - nearest) <= 1e-9) & (nearest > 0), nearest, worth)


def _counted(X: Matrix, weights: Array) -> Indices:
    """Return the rows of positive weight, in an order of their own."""
    rows = np.flatnonzero(weights)
    return rows[canonical_order(X[rows], weights[rows])]


def _range(samples: TwoSamples) -> tuple[Array, Array] | None:
    """Return the ends of every column over both samples, a tenth further out."""
    if sparse.issparse(samples.source) or sparse.issparse(samples.target):
        return None
    low = np.minimum(samples.source.min(axis=0), samples.target.min(axis=0))
    high = np.maximum(samples.source.max(axis=0), samples.target.max(axis=0))
    room = BEYOND * (high - low)
    return low - room, high + room
