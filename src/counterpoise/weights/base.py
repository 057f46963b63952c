"""What every weighter does: the door, the fit, the proof, the mean of one."""

import warnings
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from counterpoise.convex import Problem, Solution, Solver, solve
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.ordering import canonical_order
from counterpoise.samples.overlap import NONE, RELATIVE_FROM, SMALL
from counterpoise.samples.scaling import pooled_scale, scale_columns
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
    estimator_matrix,
    estimator_samples,
    warn_user,
)
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.kernel_widths import lonely_share
from counterpoise.weights.search import SMALLEST, out_of_fold, two_sided_score

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


class WeightEstimator(BaseEstimator):
    """Two samples in, one weight a source row out.

    A method says how it fits (`_fit`) and what it gives a row (`_weigh`); all else is
    here. `weights_` estimate the density ratio target/source at the source rows and
    have mean one, weighted by `sample_weight` if given.

    Subclasses have the parameters `tol`, `max_iter`, `max_time`, `callback`,
    `exponent`, `force` and `random_state`; kernel methods also `standardize`.
    """

    _accepts_sparse = False
    _least_rows = 2
    # What a target row of no weight counts in the score.
    _least_scored = SMALLEST
    # Whether `weights_` estimate the density ratio, at any row.
    weights_are_a_ratio = True

    @abstractmethod
    def _fit(self, samples: TwoSamples) -> Fitted:
        """Fit to two samples on scaled columns, and return what was found."""

    @abstractmethod
    def _weigh(self, X: Matrix) -> Array:
        """Return the density ratio at rows on scaled columns, up to `_fit`'s factor."""

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

    def _chosen(self) -> dict[str, Any]:
        """Return parameters that, put in place of rules, repeat the fit."""
        return {}

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

    def weigh(self, X: Any) -> Array:
        """Return the weights of rows, on the scale of `weights_`.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (k, d)

        Returns
        -------
        array of shape (k,)
        """
        check_is_fitted(self, "weights_")
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        if not self.has_target_:
            return np.ones(X.shape[0])
        return self._normalized(self._weigh(self._scaled(X)))

    def beyond(self, X: Any) -> NDArray[np.bool_]:
        """Return at which rows the ratio is not known.

        Those where it would exceed that of every target row of the fit, at which a
        method that does not extrapolate cuts it; and those where a column lies outside
        the range of both samples by more than a tenth of it (dense rows only).

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (k, d)

        Returns
        -------
        boolean array of shape (k,)
        """
        check_is_fitted(self, "weights_")
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        if not self.has_target_:
            return np.zeros(X.shape[0], dtype=bool)
        found = self._beyond(self._scaled(X))
        if self._range_ is not None:
            low, high = self._range_
            found |= ((low > X) | (high < X)).any(axis=1)
        return found

    def _beyond(self, X: Matrix) -> NDArray[np.bool_]:
        return np.zeros(X.shape[0], dtype=bool)

    def score(
        self, X: Any, y: Any = None, *, X_target: Any = None, sample_weight: Any = None
    ) -> float:
        r"""Return the two-sided score of the weights on held-out rows.

        .. math:: \mathrm{mean}_j \log w(t_j) - \log \mathrm{mean}_i w(x_i)

        Uniform weights score zero, and in expectation nothing scores more than the
        Kullback-Leibler divergence of the two distributions.

        Parameters
        ----------
        X : array-like or frame of shape (k, d)
            Source rows that were not fitted to.
        y : ignored
        X_target : the same of shape (l, d), or a tuple of such
            Target rows that were not fitted to. None: those of `fit`, each scored by a
            fit without it, with the parameters that were chosen.
        sample_weight : array of shape (k,)
            What the source rows count.
        """
        check_is_fitted(self, "weights_")
        if X_target is not None:
            X, X_target = estimator_samples(
                self, X, X_target, reset=False, accept_sparse=self._accepts_sparse
            )
            held_out = TwoSamples.of(
                X, X_target, as_weights(sample_weight, X.shape[0]), None
            )
            if not self.has_target_:
                return 0.0
            return two_sided_score(
                self.weigh(held_out.target),
                self.weigh(held_out.source),
                held_out.target_share,
                held_out.source_share,
                self._least_scored,
            )
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        if not self.has_target_:
            return 0.0
        samples = self._kept_rows("score without X_target")
        share = as_weights(sample_weight, X.shape[0])
        return out_of_fold(
            self._refit,
            samples,
            X,
            share / share.sum(),
            self._seed(),
            self._least_scored,
        )

    def extreme_rows(self, k: int = 5) -> tuple[Indices, Indices]:
        """Return the places of the k most and the k least weighted source rows.

        Examples
        --------
        >>> from counterpoise import KLIEP
        >>> from counterpoise.datasets import make_sinc_shift
        >>> shift = make_sinc_shift(mean=0.5, random_state=0)
        >>> kliep = KLIEP(gamma=1.0).fit(shift.X, X_target=shift.X_target)
        >>> most, least = kliep.extreme_rows(3)
        >>> bool(shift.X[most].mean() < shift.X[least].mean())
        True
        """
        check_is_fitted(self, "weights_")
        order = np.argsort(-self.weights_, kind="stable")
        return order[:k], order[::-1][:k]

    def driving_columns(self, max_rows: int = 500) -> Array:
        r"""Return how much each column moves the log weight, in a standard deviation.

        The mean over source rows, at most `max_rows` of them at equal intervals, of
        :math:`|\log w(x + s_j e_j) - \log w(x - s_j e_j)| / 2`, with :math:`s_j` half
        the column's standard deviation: the larger, the more of the shift the column
        carries. Zero for constant columns; in the order of the columns.
        """
        check_is_fitted(self, "weights_")
        d = self.n_features_in_
        if not self.has_target_:
            return np.zeros(d)
        rows = self._kept_rows("driving_columns").source
        some = np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], max_rows))
        rows = rows[some.astype(int)]
        if sparse.issparse(rows):
            raise TypeError(
                "driving_columns needs dense rows; MixtureKLIEP's coef_ says it of text"
            )
        out = np.zeros(d)
        for j, step in enumerate(0.5 * rows.std(axis=0)):
            if step > 0.0:
                moved = np.zeros(d)
                moved[j] = step
                high, low = (
                    self._weigh(self._scaled(rows + sign * moved)) for sign in (1, -1)
                )
                floor = 1e-4 * self.mean_ratio_
                logs = np.log(np.maximum(high, floor)) - np.log(np.maximum(low, floor))
                out[j] = float(np.abs(logs).mean())
        return out

    @property
    def rows_of_fit(self) -> TwoSamples | None:
        """Both samples of `fit`, rows that count, in an order of their own.

        None before `fit`, without a target, and after `without_rows`.
        """
        found: TwoSamples | None = getattr(self, "_samples_", None)
        return found

    def without_rows(self) -> Self:
        """Return a copy that weighs as before and has forgotten the rows of the fit.

        Kernel methods keep their centres, which are rows of the target or near them.
        """
        check_is_fitted(self, "weights_")
        out = copy(self)
        out._samples_ = None
        inner = getattr(self, "weighter_", None)
        if inner is not None:
            out.weighter_ = inner.without_rows()
        return out

    def _kept_rows(self, what: str) -> TwoSamples:
        if self._samples_ is None:
            raise ValueError(f"{what} needs the rows of fit, which were not kept")
        return self._samples_

    def _refit(self, samples: TwoSamples) -> "WeightEstimator":
        """Return the same method fitted to other rows, nothing chosen anew."""
        again: WeightEstimator = clone(self).set_params(force=True, **self._chosen())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again.fit(
                samples.source,
                X_target=samples.target,
                sample_weight=samples.source_share * samples.source_mass,
                target_weight=samples.target_share * samples.target_mass,
            )
        return again

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

    def _seed(self) -> int:
        """Return a seed from `random_state`, the same at every call for an integer."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _scaled(self, X: Matrix) -> Matrix:
        scale = self.column_scale_
        return X if scale is None else scale_columns(X, scale)

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

    def _normalized(self, ratio: Array) -> Array:
        if np.isnan(self.mean_ratio_):
            return np.ones_like(ratio)
        return ratio**self.exponent / self.mean_ratio_

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
