"""The base class of weight estimators, and uniform weights."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import (
    Matrix,
    check_enough_rows,
    estimator_matrix,
    estimator_samples,
)
from counterpoise.data.blocks import Blocks
from counterpoise.data.labels_and_weights import row_counts
from counterpoise.data.parallel import map_write, one_thread
from counterpoise.data.parameters import (
    Integer,
    Number,
    Rule,
    as_seed,
    check_parameters,
)
from counterpoise.data.samples import SamplesAsRead
from counterpoise.data.two_samples import (
    N_FOLDS,
    TwoSamples,
    effective_sample_size,
    rows_scaled,
    scale_columns,
    scaled_like,
)
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    NoOverlapError,
    NoTargetWarning,
    PartialOverlapWarning,
    filters_left_clean,
    held_back,
    warn_user,
)
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.messages import WARNING, Finding, FindingText
from counterpoise.optim.certificate import Certificate, Problem
from counterpoise.optim.loop import Solution, Solver, attested, solve
from counterpoise.shift.separation import with_columns
from counterpoise.shift.support import (
    NO_OVERLAP_ABOVE,
    RELATIVE_FROM,
    UNCOVERED_ABOVE,
    lowest_share,
    uncovered_where_known,
)
from counterpoise.weights.out_of_core import (
    TwoBlocks,
    WeightsOfRows,
    fit_to_blocks,
    lean,
    ratio_at,
)
from counterpoise.weights.registry import take_sparse
from counterpoise.weights.search import (
    SMALLEST_LOGGED,
    Deadline,
    HeldOut,
    lonely_share,
    out_of_fold,
    two_sided_score,
)

# -----------------------------------------------------------------------------
# What a fitted weight estimator does: weigh rows, score itself, say what drives it.
# -----------------------------------------------------------------------------


class FittedWeightEstimator(BaseEstimator):
    """A density ratio at rows, from what `fit` has found.

    Subclasses set `weights_`, `has_target_`, `mean_ratio_`, `column_scale_`,
    `_samples_` and `_range_` in `fit`, and have the parameters `exponent` and
    `random_state`.
    """

    _accepts_sparse = False
    # What holds where a method has no such parameter.
    exponent: float = 1.0
    random_state: Any = None
    # What a target row of no weight counts in the score.
    _least_scored = SMALLEST_LOGGED

    def predict_weights(self, X: Any) -> Array:
        """Return the weights of rows, on the scale of `weights_`.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or `engine.Blocks` of shape (k, d)

        Returns
        -------
        array of shape (k,)
        """
        check_is_fitted(self, "weights_")
        if isinstance(X, Blocks):
            return self._weigh_blocks(X)
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        if not self.has_target_:
            return np.ones(X.shape[0])
        return self._weigh_rows(X)

    def write_weights(self, X: Any, path: Any, *, column: str = "weight") -> None:
        """Write the weights of rows to a Parquet file, in their order.

        Nothing but a block of rows is held in memory; the file appears when it is
        complete.

        Parameters
        ----------
        X : `engine.Blocks`, array-like or frame of shape (k, d)
        path : str or Path
        column : str
            What the column of weights is called.
        """
        check_is_fitted(self, "weights_")
        blocks = self._checked_blocks(Blocks.of(X))
        map_write(blocks, WeightsOfRows(lean(self), column), path)

    def _weigh_blocks(self, blocks: Blocks) -> Array:
        blocks = self._checked_blocks(blocks)
        if not self.has_target_:
            return np.ones(blocks.n_rows)
        return ratio_at(self, blocks, normalized=True)

    def _checked_blocks(self, blocks: Blocks) -> Blocks:
        """Return blocks as numbers; refuse other columns than those of `fit`."""
        names = getattr(self, "feature_names_in_", None)
        labels = blocks.labels
        if names is not None and labels is not None and list(names) != list(labels):
            raise InvalidInputError(
                f"the blocks have the columns {list(labels)}, in fit they were "
                f"{list(names)}"
            )
        return blocks.numbers()

    def is_extrapolation(self, X: Any) -> NDArray[np.bool_]:
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
        return self._extrapolation_rows(X)

    def _extrapolation_rows(self, X: Matrix) -> NDArray[np.bool_]:
        """Return at which rows that have passed a door the ratio is not known."""
        found = self._is_extrapolation(self._scaled(X))
        if self._range_ is not None:
            low, high = self._range_
            found |= ((low > X) | (high < X)).any(axis=1)
        return found

    def _is_extrapolation(self, X: Matrix) -> NDArray[np.bool_]:
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
                X, X_target, row_counts(sample_weight, X.shape[0]), None
            )
            if not self.has_target_:
                return 0.0
            return two_sided_score(
                self._weigh_rows(held_out.target),
                self._weigh_rows(held_out.source),
                held_out.target_share,
                held_out.source_share,
                self._least_scored,
            )
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        if not self.has_target_:
            return 0.0
        samples = self._kept_rows("score without X_target")
        share = row_counts(sample_weight, X.shape[0])
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
            raise InvalidTypeError(
                "driving_columns needs dense rows; LogLinearKLIEP's coef_ says it of "
                "text"
            )
        out = np.zeros(d)
        for j, step in enumerate(0.5 * rows.std(axis=0)):
            if step > 0.0:
                moved = np.zeros(d)
                moved[j] = step
                high, low = (
                    self._predict_weights(self._scaled(rows + sign * moved))
                    for sign in (1, -1)
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
        inner = getattr(self, "weight_estimator_", None)
        if inner is not None:
            out.weight_estimator_ = inner.without_rows()
        return out

    @abstractmethod
    def _predict_weights(self, X: Matrix) -> Array:
        """Return the density ratio at rows on scaled columns, up to `_fit`'s factor."""

    @abstractmethod
    def _fit_counted(self, samples: TwoSamples) -> Self:
        """Fit to some of the rows that another fit counts, in their order."""

    @abstractmethod
    def _fit_ratio(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Array, float]:
        """Fit to scaled samples, as far as `_predict_weights` needs.

        It is asked for where rows are held out. Returns the ratio at the source rows,
        and the mean that its weights are to have.
        """

    def _scales_columns(self) -> bool:
        return bool(getattr(self, "standardize", False))

    def _forced(self) -> dict[str, Any]:
        """Return the parameter that makes a fit go on without overlap, if any."""
        return (
            {"allow_no_overlap": True}
            if "allow_no_overlap" in self.get_params(deep=False)
            else {}
        )

    def _chosen(self) -> dict[str, Any]:
        """Return parameters that, put in place of rules, repeat the fit."""
        return {}

    def _kept_rows(self, what: str) -> TwoSamples:
        if self._samples_ is None:
            raise InvalidInputError(
                f"{what} needs the rows of fit, which were not kept"
            )
        return self._samples_

    def _refit(self, samples: TwoSamples) -> Callable[[Matrix], Array]:
        """Return how the same method weighs, fitted to others of the rows of `fit`.

        Nothing is chosen anew.
        """
        again: Self = clone(self).set_params(**self._forced(), **self._chosen())
        with held_back():
            again._fit_counted(samples)
        return again._weigh_rows

    def _held_out(
        self, samples: TwoSamples, parts: tuple[Indices, Indices], deadline: Deadline
    ) -> HeldOut:
        """Return the weights at the rows of both samples, each held out once.

        The rows are some of those that another fit counts, in their order; `parts` are
        their folds.
        """
        again: Self = clone(self)
        source, target = (np.empty(part.size) for part in parts)
        with held_back():
            for k in range(N_FOLDS):
                out, out_target = (part == k for part in parts)
                all_rows = again._fit_fold(samples, ~out, ~out_target, deadline)
                source[out] = again._normalized(
                    again._predict_weights(all_rows.source[out])
                )
                target[out_target] = again._normalized(
                    again._predict_weights(all_rows.target[out_target])
                )
        return HeldOut(target, source)

    def _fit_fold(
        self, samples: TwoSamples, rows: Any, aims: Any, deadline: Deadline
    ) -> TwoSamples:
        """Fit to some of the rows that another fit counts, so far that it weighs.

        Nothing is read, checked or put in order, and nothing is said. What the rows
        count is worked out anew: a part of fractional weights is worth what it is
        worth by itself. Returns all rows on the columns' scale of the part.
        """
        counted = samples.recounted(rows, aims)
        self._samples_: TwoSamples | None = counted
        self.n_features_in_ = counted.source.shape[1]
        self.column_scale_: Array | None = None
        scaled = counted
        if self._scales_columns():
            self.column_scale_, samples = scaled_like(counted, samples)
            scaled = replace(
                counted, source=samples.source[rows], target=samples.target[aims]
            )
        ratio, mean = self._fit_ratio(scaled, deadline)
        self._set_mean_ratio(ratio, mean, counted.source_share)
        return samples

    def _seed(self) -> int:
        """Return a seed from `random_state`, the same at every call for an integer."""
        return as_seed(self.random_state)

    def _scaled(self, X: Matrix) -> Matrix:
        scale = self.column_scale_
        return X if scale is None else scale_columns(X, scale)

    def _weigh_rows(self, X: Matrix) -> Array:
        """Return the weights of rows that have passed a door."""
        return self._normalized(self._predict_weights(self._scaled(X)))

    def _set_mean_ratio(self, ratio: Array, mean: float, share: Array) -> None:
        """Set what a ratio is divided by, from its values at the source rows."""
        self._set_mean(float(share @ ratio**self.exponent) / mean**self.exponent)

    def _set_mean(self, mean_ratio: float) -> None:
        # Without overlap the ratio underflows at every source row.
        known = 1e-100 < mean_ratio < np.inf
        self.mean_ratio_ = mean_ratio if known else np.nan

    def _as_weights(self, ratio: Array, mean: float, share: Array) -> Array:
        """Return the ratio at the source rows as weights, and set what divides it."""
        self._set_mean_ratio(ratio, mean, share)
        return self._normalized(ratio)

    def _normalized(self, ratio: Array) -> Array:
        if np.isnan(self.mean_ratio_):
            return np.ones_like(ratio)
        return ratio**self.exponent / self.mean_ratio_


# -----------------------------------------------------------------------------
# What every weight estimator does: the door, the fit, the proof, the mean of one.
# -----------------------------------------------------------------------------


# Shares of the target that the source does not reach are said from these on.
SHARE_SAID = {
    "unsupported_fraction": RELATIVE_FROM,
    "uncovered_fraction": UNCOVERED_ABOVE,
}
# In small samples this share of the target may be far from all source rows by chance.
LONELY_BY_CHANCE = 0.1


# What the parameters that most methods have may be.
COMMON_RULES: Mapping[str, Rule] = {
    "tol": Number(0.0, closed="neither"),
    "max_iter": Integer(1),
    "max_time": Number(0.0, options=(None,)),
    "exponent": Number(0.0, 1.0),
}


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
        How they were counted: "unsupported_fraction" or "uncovered_fraction".
    mean : float
        The mean of the weights, where it is a result and not one.
    uncovered_low : float or None
        The lower end of `unsupported_fraction`'s interval; None: by the number of
        target rows.
    """

    solution: Solution
    ratio: Array
    unsupported_fraction: float | None
    measure: str = "unsupported_fraction"
    mean: float = 1.0
    unsupported_fraction_low: float | None = None


class WeightEstimator(FittedWeightEstimator):
    """Two samples in, one weight a source row out.

    A method says how it fits (`_fit`) and what it gives a row (`_predict_weights`); all
    else is here and in `FittedWeightEstimator`. `weights_` estimate the density ratio
    target/source at the source rows and have mean one, weighted by `sample_weight` if
    given.

    Subclasses have those of the parameters `tol`, `max_iter`, `max_time`, `callback`,
    `exponent`, `allow_no_overlap` and `random_state` that they use; kernel methods also
    `standardize`. The tags below say what kind of weights a method makes.
    """

    _least_rows = 2
    # What the method's own parameters may be.
    _rules: ClassVar[Mapping[str, Rule]] = {}
    # Whether `weights_` estimate the density ratio of inputs, at any row.
    weights_are_a_ratio = True
    # Whether `fit` and `predict_weights` go by labels.
    needs_labels = False
    # Whether all weights are one, whatever the samples.
    gives_ones = False
    # Whether the ratio varies much from sample to sample: where nothing has shifted,
    # fewer rows keep their worth.
    has_high_variance = False
    # What holds where a method has no such parameter.
    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callable[..., Any] | None = None
    allow_no_overlap: bool = False

    @abstractmethod
    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        """Fit to two samples on scaled columns, and return what was found."""

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense and break none of the `_rules`."""

    def _fit_ratio(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Array, float]:
        found = self._fit(samples, deadline)
        return found.ratio, found.mean

    def _check_samples(self, samples: SamplesAsRead) -> None:
        """Refuse samples that a method cannot take, before rows are left out."""

    def _weigh_absent(self, X: Matrix) -> Array:
        """Return the ratio at source rows that do not count, as `_predict_weights`."""
        return self._predict_weights(X)

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
        X : array-like, frame, sparse matrix or `engine.Blocks` of shape (n, d)
            The source rows. Blocks: what has to be chosen is decided on 10,000 rows of
            each table, and every row is weighed.
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
        if isinstance(X, Blocks) or isinstance(X_target, Blocks):
            return self._fit_in_blocks(X, X_target, (sample_weight, target_weight))
        self._check_dense(X, X_target)
        if X_target is None:
            return self._fit_without_target(X, y, sample_weight)
        samples = SamplesAsRead.read_numbers(
            X,
            X_target,
            sample_weight,
            target_weight,
            min_rows=self._least_rows,
            accept_sparse=self._accepts_sparse,
        )
        try:
            with filters_left_clean():
                return self._fit_labelled(samples, y)
        except NoOverlapError as error:
            raise with_columns(error, samples) from None

    def _fit_in_blocks(self, X: Any, X_target: Any, given: tuple[Any, Any]) -> Self:
        """Fit to tables that are read block by block."""
        if X_target is None:
            raise InvalidInputError(
                "X comes in blocks and X_target is None: both are needed"
            )
        if any(weights is not None for weights in given):
            raise InvalidInputError(
                "sample_weight and target_weight are not taken beside blocks: every "
                "row counts once"
            )
        fit_to_blocks(self, X, X_target)
        return self

    def _fit_blocks(self, both: TwoBlocks) -> Solution | None:
        """Fit to all rows with what a sample has decided, for `_predict_weights`.

        None: the fit to the sample weighs them.
        """
        return None

    def _rows_in_blocks(self, both: TwoBlocks) -> tuple[Blocks, Blocks]:
        """Return both tables divided by the scale of all rows, which is set."""
        if self._scales_columns():
            self.column_scale_ = both.scale
        return both.divided_by(self.column_scale_)

    def _fit_labelled(self, samples: SamplesAsRead, y: Any) -> Self:
        """Fit to samples as read, by the labels where a method needs them."""
        return self._fit_read(samples)

    def _check_labels(self, y: Any, n: int) -> Any:
        """Return the labels where a method needs them, else None."""

    def _fit_samples(self, samples: SamplesAsRead) -> Self:
        """Fit to samples that have passed another door: no reading, no ordering."""
        self._check_common()
        self._check_parameters()
        self._check_dense(samples.source, samples.target)
        shape = samples.source.shape
        check_enough_rows(shape[0], self._least_rows, "X", shape)
        return self._fit_read(samples)

    def _fit_counted(
        self, samples: TwoSamples, names: tuple[str, ...] | None = None
    ) -> Self:
        """Fit to some of the rows that another fit counts, in their order.

        For candidates and folds: nothing is read, checked or put in order. What the
        rows count is worked out anew, as at the door: a part of fractional weights is
        worth what it is worth by itself.
        """
        return self._fit_read(SamplesAsRead.of_ordered(samples, names))

    def _fit_read(
        self,
        samples: SamplesAsRead,
        fit: Callable[[TwoSamples, Deadline], Fitted] | None = None,
    ) -> Self:
        """Scale the columns, fit (by `_fit` unless told how), judge, and set."""
        deadline = Deadline(self.max_time)
        self._remember_columns(samples)
        self._check_samples(samples)
        self.has_target_ = True
        self._samples_: TwoSamples | None = samples.counted
        self._range_ = samples.range
        self.column_scale_: Array | None = (
            samples.scale if self._scales_columns() else None
        )
        scaled = samples.counted
        if self.column_scale_ is not None:
            scaled = rows_scaled(scaled, self.column_scale_)
        with one_thread():
            found = (fit or self._fit)(scaled, deadline)
        if (
            found.unsupported_fraction is not None
            and found.measure == "unsupported_fraction"
        ):
            # A wide kernel reaches across a hole that the source's spacing shows.
            lonely = lonely_share(scaled)
            if lonely > NO_OVERLAP_ABOVE or (
                lonely > LONELY_BY_CHANCE
                and found.unsupported_fraction <= LONELY_BY_CHANCE
            ):
                found = replace(
                    found, unsupported_fraction=max(found.unsupported_fraction, lonely)
                )
        with one_thread():
            self._set(found, samples)
        return self

    def _fit_without_target(self, X: Any, y: Any, sample_weight: Any) -> Self:
        X = estimator_matrix(
            self,
            X,
            reset=True,
            min_rows=self._least_rows,
            accept_sparse=self._accepts_sparse,
        )
        self._check_labels(y, X.shape[0])
        row_counts(sample_weight, X.shape[0])
        self.has_target_ = False
        self._samples_ = None
        self.column_scale_ = None
        warn_user(
            "no X_target was given: all weights are one and nothing is adapted",
            NoTargetWarning,
        )
        self.weights_ = np.ones(X.shape[0])
        self.solution_: Solution | None = None
        self.unsupported_fraction_: float | None = None
        self.effective_sample_size_ = float(X.shape[0])
        return self

    def _remember_columns(self, samples: SamplesAsRead) -> None:
        """Set what scikit-learn calls the columns seen in `fit`."""
        self.n_features_in_ = samples.counted.source.shape[1]
        names = samples.matrix_names
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _solve(
        self,
        problem: Problem,
        solver: Solver | None,
        x: Array | None = None,
        *,
        deadline: Deadline,
        tol: float | None = None,
    ) -> Solution:
        """Solve a problem within the budgets of the parameters."""
        return solve(
            problem,
            solver,
            x,
            tol=self.tol if tol is None else tol,
            max_iter=self.max_iter,
            max_time=None if deadline.seconds is None else deadline.left(),
            callback=self.callback,
        )

    def _set(self, found: Fitted, samples: SamplesAsRead) -> None:
        low = found.unsupported_fraction_low
        if low is None and found.unsupported_fraction is not None:
            low = lowest_share(found.unsupported_fraction, samples.counted.target_share)
        uncovered_fraction = uncovered_where_known(samples)
        self._judge_overlap(
            found.unsupported_fraction, found.measure, low, uncovered_fraction
        )
        self._set_solution(found.solution)
        share = samples.counted.source_share
        weights = np.empty(samples.source_weight.size)
        weights[samples.places[0]] = self._as_weights(found.ratio, found.mean, share)
        count = samples.counts[0]
        absent = count == 0
        if absent.any():
            ratio = self._weigh_absent(self._scaled(samples.source[absent]))
            weights[absent] = self._normalized(ratio)
        self.weights_ = weights
        self.effective_sample_size_ = effective_sample_size(weights * count)

    def _set_solution(self, solution: Solution) -> None:
        """Set the solution, and say so if it is not proved."""
        self.solution_ = solution
        if not solution.converged:
            values = {"estimator": type(self).__name__, "solution": str(solution)}
            finding = Finding("not_converged", WARNING, values)
            warn_user(FindingText(finding), ConvergenceWarning)

    def _judge_overlap(
        self,
        share: float | None,
        measure: str = "unsupported_fraction",
        low: float | None = None,
        uncovered_fraction: float | None = None,
    ) -> None:
        """Set which share of the target is uncovered; refuse or warn if it is large.

        It refuses where the lower end of the share's interval is above one half. Where
        the thin share of the two tables is known, the warning says that.
        """
        self.unsupported_fraction_ = share
        if share is None or share <= SHARE_SAID[measure]:
            return
        if (
            share if low is None else low
        ) > NO_OVERLAP_ABOVE and not self.allow_no_overlap:
            raise NoOverlapError(share, measure)  # type: ignore[arg-type]
        said = share if uncovered_fraction is None else uncovered_fraction
        warn_user(
            f"{said:.1%} of the target rows have hardly any source rows near them: "
            "the weights speak for the others",
            PartialOverlapWarning,
        )

    def _check_common(self) -> None:
        check_parameters(self, {**COMMON_RULES, **self._rules})
        if self.callback is not None and not callable(self.callback):
            raise InvalidTypeError(
                f"callback must be callable or None, got {self.callback!r}"
            )

    def _check_dense(self, X: Any, X_target: Any) -> None:
        pieces = X_target if isinstance(X_target, tuple) else (X_target,)
        if not self._accepts_sparse and any(map(sparse.issparse, (X, *pieces))):
            # The middle is what scikit-learn's estimator checks look for.
            raise InvalidTypeError(
                f"{type(self).__name__} takes no sparse rows: dense data is required. "
                f"{take_sparse()} take sparse rows"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags


# -----------------------------------------------------------------------------
# No weights at all, as a weight estimator.
# -----------------------------------------------------------------------------


class UniformWeights(WeightEstimator):
    """Weights of one: what `AutoWeights` takes where nothing is gained by weighing.

    :math:`w_i = 1`. Its certificate is of kind "none": nothing is minimised.

    Examples
    --------
    >>> import numpy as np
    >>> UniformWeights().fit(np.zeros((2, 1)), X_target=np.ones((3, 1))).weights_
    array([1., 1.])
    """

    _accepts_sparse = True
    gives_ones = True

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        ones = np.ones(samples.source.shape[0])
        proof = Certificate("none", objective=0.0)
        return Fitted(attested(ones[:1], proof, self.tol), ones, None)

    def _predict_weights(self, X: Matrix) -> Array:
        return np.ones(X.shape[0])
