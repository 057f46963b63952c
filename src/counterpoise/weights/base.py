"""The base class of weight estimators, and uniform weights."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import (
    Matrix,
    check_enough_rows,
    estimator_matrix,
    estimator_samples,
)
from counterpoise.data.blocks import Blocks
from counterpoise.data.labels_and_weights import row_counts
from counterpoise.data.parallel import map_reduce, map_write, one_thread, whole_vector
from counterpoise.data.parameters import (
    Integer,
    Number,
    Rule,
    as_seed,
    check_parameters,
)
from counterpoise.data.progress import announce
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import (
    N_FOLDS,
    TwoSamples,
    effective_sample_size,
    folds,
    rows_scaled,
    scale_columns,
    some_rows,
)
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    NoOverlapError,
    NoTargetWarning,
    PartialOverlapWarning,
    suppress_warnings,
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
    known_uncovered_fraction,
    lowest_share,
)
from counterpoise.weights.registry import take_sparse
from counterpoise.weights.search import (
    SMALLEST_LOGGED,
    Deadline,
    isolated_share,
    two_sided_score,
)

RandomState: TypeAlias = int | np.random.RandomState | None
Callback: TypeAlias = Callable[..., object] | None

# Uncovered shares of the target that a warning mentions begin here.
WARN_ABOVE = {
    "unsupported_fraction": RELATIVE_FROM,
    "uncovered_fraction": UNCOVERED_ABOVE,
}
# In small samples this share of the target may be far from all source rows by chance.
ISOLATED_BY_CHANCE = 0.1

# Values of the parameters that most methods have.
COMMON_RULES: Mapping[str, Rule] = {
    "tol": Number(0.0, closed="neither"),
    "max_iter": Integer(1),
    "max_time": Number(0.0, options=(None,)),
    "exponent": Number(0.0, 1.0),
}


@dataclass(frozen=True, eq=False)
class FitResult:
    """What `_fit` of a weight estimator returns.

    Attributes
    ----------
    solution : Solution
        The minimizer with its certificate.
    ratio : array of shape (n,)
        The density ratio at the source rows, up to a factor.
    unsupported_fraction : float or None
        Share of the target rows that the source does not reach; None where the method
        cannot tell.
    measure : str
        How they were counted: "unsupported_fraction" or "uncovered_fraction".
    mean : float
        The mean of the weights, where it is a result and not one.
    unsupported_fraction_low : float or None
        The lower end of its interval; None: by the number of target rows.
    """

    solution: Solution
    ratio: Array
    unsupported_fraction: float | None
    measure: Literal["unsupported_fraction", "uncovered_fraction"] = (
        "unsupported_fraction"
    )
    mean: float = 1.0
    unsupported_fraction_low: float | None = None


@dataclass(frozen=True)
class WeightSums:
    """Sums over all source rows of their ratios, to the estimator's exponent."""

    n: int
    total: float
    squares: float
    largest: float

    def __add__(self, later: "WeightSums") -> "WeightSums":
        return WeightSums(
            self.n + later.n,
            self.total + later.total,
            self.squares + later.squares,
            max(self.largest, later.largest),
        )

    @property
    def effective_size(self) -> float:
        """The number of equally weighted rows that average as well."""
        return self.total**2 / self.squares if self.squares > 0.0 else float(self.n)


class WeightEstimator(BaseEstimator):
    """Base class of weight estimators: two samples in, one weight a source row out.

    A method says how it fits (`_fit`) and what it gives a row (`_predict_weights`); all
    else is here. `weights_` estimate the density ratio target/source at the source
    rows and have mean one, weighted by `sample_weight` if given.

    Subclasses have those of the parameters `tol`, `max_iter`, `max_time`, `callback`,
    `exponent`, `allow_no_overlap` and `random_state` that they use; kernel methods also
    `standardize`. The tags below say what kind of weights a method makes.
    """

    _accepts_sparse = False
    _least_rows = 2
    # The weight in whose place the score takes smaller ones at target rows.
    _least_scored = SMALLEST_LOGGED
    # Values of the method's own parameters.
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
    # Values where a method has no such parameter.
    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callback = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None

    @abstractmethod
    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        """Fit to two samples on scaled columns."""

    @abstractmethod
    def _predict_weights(self, X: Matrix) -> Array:
        """Return the density ratio at rows on scaled columns, up to `_fit`'s factor."""

    def _chosen(self) -> dict[str, object]:
        """Return parameters that, in place of rules, repeat the fit."""
        return {}

    def _fit_blocks(self, samples: Samples) -> Solution | None:
        """Fit to all rows of `samples.blocks()`, with what their sample has decided.

        None: the fit to the sample stands.
        """
        return None

    def fit(
        self,
        X: ArrayLike | Blocks,
        y: object = None,
        *,
        X_target: ArrayLike | Blocks | tuple[ArrayLike, ...] | None = None,
        sample_weight: ArrayLike | None = None,
        target_weight: ArrayLike | None = None,
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
        self._check_parameters()
        weights = sample_weight, target_weight
        if isinstance(X, Blocks) or isinstance(X_target, Blocks):
            check_takes_blocks(self)
            samples = Samples.read_blocks(X, X_target, self._seed(), *weights)
            fit_all_rows(self._fit_samples(samples), samples)
            ratio = self._ratio_of_blocks(samples.blocks()[0])
            self._set_mean_ratio(ratio, 1.0, np.full(ratio.size, 1.0 / ratio.size))
            self.weights_ = self._normalized(ratio)
            self.effective_sample_size_ = effective_sample_size(self.weights_)
            return self
        self._check_dense(X, X_target)
        if X_target is None:
            return self._fit_without_target(X, y, sample_weight)
        samples = Samples.read(
            X,
            X_target,
            *weights,
            form="numbers",
            min_rows=self._least_rows,
            accept_sparse=self._accepts_sparse,
        )
        try:
            return self._fit_samples(samples, y)
        except NoOverlapError as error:
            raise with_columns(error, samples) from None

    def _fit_samples(self, samples: Samples, y: object = None) -> Self:
        """Fit to validated samples: scale columns, call `_fit`, certify and warn."""
        self._check_parameters()
        self._check_dense(samples.source, samples.target)
        shape = samples.source.shape
        check_enough_rows(shape[0], self._least_rows, "X", shape)
        deadline = Deadline(self.max_time)
        self._remember_columns(samples)
        self._check_samples(samples)
        self.has_target_ = True
        self._samples_: TwoSamples | None = samples.counted
        self._range_ = samples.range
        self.column_scale_: Array | None = None
        scaled = samples.counted
        if self._scales_columns():
            self.column_scale_ = samples.scale
            scaled = rows_scaled(scaled, self.column_scale_)
        with one_thread():
            self._set(self._fit(scaled, deadline), samples, scaled)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self, {**COMMON_RULES, **self._rules})
        if self.callback is not None and not callable(self.callback):
            raise InvalidTypeError(
                f"callback must be callable or None, got {self.callback!r}"
            )

    def _check_samples(self, samples: Samples) -> None:
        """Refuse samples that a method cannot take, before rows are left out."""

    def _check_labels(self, y: object, n: int) -> object:
        """Return the labels where a method needs them, else None."""

    def _check_dense(self, X: object, X_target: object) -> None:
        pieces = X_target if isinstance(X_target, tuple) else (X_target,)
        if not self._accepts_sparse and any(map(sparse.issparse, (X, *pieces))):
            # The middle is what scikit-learn's estimator checks look for.
            raise InvalidTypeError(
                f"{type(self).__name__} takes no sparse rows: dense data is required. "
                f"{take_sparse()} take sparse rows"
            )

    def _fit_without_target(
        self, X: ArrayLike, y: object, sample_weight: ArrayLike | None
    ) -> Self:
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

    def _remember_columns(self, samples: Samples) -> None:
        """Set what scikit-learn calls the columns seen in `fit`."""
        self.n_features_in_ = samples.counted.source.shape[1]
        names = samples.matrix_names
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _set(self, result: FitResult, samples: Samples, scaled: TwoSamples) -> None:
        """Check overlap and certificate, and set the weights of all source rows."""
        share, low = result.unsupported_fraction, result.unsupported_fraction_low
        if share is not None and result.measure == "unsupported_fraction":
            # A wide kernel reaches across a hole that the source's spacing shows.
            isolated = isolated_share(scaled)
            if isolated > NO_OVERLAP_ABOVE or share <= ISOLATED_BY_CHANCE < isolated:
                share = max(share, isolated)
        if share is not None and low is None:
            low = lowest_share(share, samples.counted.target_share)
        self._judge_overlap(
            share, result.measure, low, known_uncovered_fraction(samples)
        )
        self._set_solution(result.solution)
        self._set_mean_ratio(result.ratio, result.mean, samples.counted.source_share)
        weights = np.empty(samples.source_weight.size)
        weights[samples.places[0]] = self._normalized(result.ratio)
        count = samples.counts[0]
        absent = count == 0
        if absent.any():
            ratio = self._weigh_absent(self._scaled(samples.source[absent]))
            weights[absent] = self._normalized(ratio)
        self.weights_ = weights
        self.effective_sample_size_ = effective_sample_size(weights * count)

    def _set_solution(self, solution: Solution) -> None:
        """Set the solution, and warn if its certificate does not hold."""
        self.solution_ = solution
        if not solution.converged:
            values = {"estimator": type(self).__name__, "solution": str(solution)}
            finding = Finding("not_converged", WARNING, values)
            warn_user(FindingText(finding), ConvergenceWarning)

    def _judge_overlap(
        self,
        share: float | None,
        measure: Literal["unsupported_fraction", "uncovered_fraction"],
        low: float | None,
        uncovered_fraction: float | None,
    ) -> None:
        """Set which share of the target is uncovered; refuse or warn if it is large.

        It refuses where the lower end of the share's interval is above one half. Where
        the uncovered fraction of the two tables is known, the warning says that.
        """
        self.unsupported_fraction_ = share
        if share is None or share <= WARN_ABOVE[measure]:
            return
        lowest = share if low is None else low
        if lowest > NO_OVERLAP_ABOVE and not self.allow_no_overlap:
            raise NoOverlapError(share, measure)
        shown = share if uncovered_fraction is None else uncovered_fraction
        warn_user(
            f"{shown:.1%} of the target rows have hardly any source rows near them: "
            "the weights speak for the others",
            PartialOverlapWarning,
        )

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
            max_time=deadline.left(),
            callback=self.callback,
        )

    def _scaled_blocks(self, samples: Samples) -> tuple[Blocks, Blocks]:
        """Return both tables divided by the scale of all rows, which is set."""
        if not self._scales_columns():
            return samples.blocks()
        self.column_scale_ = samples.scale_of_blocks
        divide = partial(scale_columns, scale=self.column_scale_)
        source, target = samples.blocks()
        return source.mapped(divide), target.mapped(divide)

    def predict_weights(self, X: ArrayLike | Blocks) -> Array:
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
            X = self._checked_blocks(X)
            if not self.has_target_:
                return np.ones(X.n_rows)
            return self._normalized(self._ratio_of_blocks(X))
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        return self._weigh_rows(X)

    def write_weights(
        self, X: ArrayLike | Blocks, path: str | Path, *, column: str = "weight"
    ) -> None:
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
        map_write(blocks, partial(_weights_column, lean(self), column), path)

    def _ratio_of_blocks(self, blocks: Blocks) -> Array:
        announce("weighing every row")
        return np.asarray(whole_vector(blocks, partial(_block_ratio, lean(self))))

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

    def is_extrapolation(self, X: ArrayLike) -> NDArray[np.bool_]:
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
        """Return at which rows that were validated the ratio is unknown."""
        found = self._is_extrapolation(self._scaled(X))
        if self._range_ is not None:
            low, high = self._range_
            found |= ((low > X) | (high < X)).any(axis=1)
        return found

    def _is_extrapolation(self, X: Matrix) -> NDArray[np.bool_]:
        return np.zeros(X.shape[0], dtype=bool)

    def score(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        X_target: ArrayLike | tuple[ArrayLike, ...] | None = None,
        sample_weight: ArrayLike | None = None,
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
        share = row_counts(sample_weight, X.shape[0])
        return self._score_out_of_fold(X, share / share.sum())

    def _score_out_of_fold(self, X: Matrix, share: Array) -> float:
        """Return the score with every target row left out of its own fit.

        The fits use the source of `fit`; `X` are held-out source rows.
        """
        samples = self._kept_rows("score without X_target")
        m = samples.target.shape[0]
        if m < 2:
            raise InvalidInputError(
                "one target row cannot be scored out of fold: give X_target"
            )
        again = clone(self).set_params(**self._chosen())
        # Parts of the target may lack the overlap that all of it has.
        if "allow_no_overlap" in again.get_params(deep=False):
            again.set_params(allow_no_overlap=True)
        fold = folds(samples.target, min(N_FOLDS, m), self._seed())
        total = 0.0
        for k in range(min(N_FOLDS, m)):
            part = samples.take(slice(None), fold != k)
            with suppress_warnings():
                fitted = clone(again)._fit_samples(Samples.of_ordered(part))
            out_share = samples.target_share[fold == k]
            total += float(out_share.sum()) * two_sided_score(
                fitted._weigh_rows(samples.target[fold == k]),
                fitted._weigh_rows(X),
                out_share / out_share.sum(),
                share,
                self._least_scored,
            )
        return total

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
        rows = some_rows(self._kept_rows("driving_columns").source, max_rows)
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

        Kernel methods keep their centers, which are rows of the target or near them.
        """
        check_is_fitted(self, "weights_")
        out = copy(self)
        out._samples_ = None
        inner = getattr(self, "weight_estimator_", None)
        if inner is not None:
            out.weight_estimator_ = inner.without_rows()
        return out

    def _scales_columns(self) -> bool:
        return bool(getattr(self, "standardize", False))

    def _kept_rows(self, what: str) -> TwoSamples:
        if self._samples_ is None:
            raise InvalidInputError(
                f"{what} needs the rows of fit, which were not kept"
            )
        return self._samples_

    def _seed(self) -> int:
        """Return a seed from `random_state`, the same at every call for an integer."""
        return as_seed(self.random_state)

    def _scaled(self, X: Matrix) -> Matrix:
        scale = self.column_scale_
        return X if scale is None else scale_columns(X, scale)

    def _weigh_absent(self, X: Matrix) -> Array:
        """Return the ratio at source rows that do not count, as `_predict_weights`."""
        return self._predict_weights(X)

    def _weigh_rows(self, X: Matrix) -> Array:
        """Return the weights of validated rows."""
        if not self.has_target_:
            return np.ones(X.shape[0])
        return self._normalized(self._predict_weights(self._scaled(X)))

    def _set_mean_ratio(self, ratio: Array, mean: float, share: Array) -> None:
        """Set what a ratio is divided by, from its values at the source rows."""
        self._set_mean(float(share @ ratio**self.exponent) / mean**self.exponent)

    def _set_mean(self, mean_ratio: float) -> None:
        # Without overlap the ratio underflows at every source row.
        known = 1e-100 < mean_ratio < np.inf
        self.mean_ratio_ = mean_ratio if known else np.nan

    def _normalized(self, ratio: Array) -> Array:
        if np.isnan(self.mean_ratio_):
            return np.ones_like(ratio)
        return ratio**self.exponent / self.mean_ratio_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags


# -----------------------------------------------------------------------------
# Tables in blocks: fit to every row, and weigh them block by block.
# -----------------------------------------------------------------------------


def check_takes_blocks(weight_estimator: WeightEstimator) -> None:
    """Refuse an estimator whose weights are not a function of a row's columns."""
    if weight_estimator.needs_labels or not weight_estimator.weights_are_a_ratio:
        raise InvalidTypeError(
            f"{type(weight_estimator).__name__} takes no blocks: its weights are no "
            "function of a row's columns. AutoWeights, KLIEP, ULSIF, RULSIF and "
            "LogLinearKLIEP take them"
        )


def fit_all_rows(weight_estimator: WeightEstimator, samples: Samples) -> None:
    """Fit to all rows, where it can be, an estimator fitted to their sample."""
    check_takes_blocks(weight_estimator)
    solution = weight_estimator._fit_blocks(samples)
    if solution is not None:
        weight_estimator._set_solution(solution)


def fit_sums(weight_estimator: WeightEstimator, samples: Samples) -> WeightSums:
    """Fit to all rows an estimator that has been fitted to their sample.

    Sets the mean of the ratio over all rows; `weights_` stay those of the sample.
    """
    fit_all_rows(weight_estimator, samples)
    announce("weighing every row")
    sums = weight_sums(weight_estimator, samples)
    weight_estimator._set_mean(sums.total / sums.n)
    return sums


def weight_sums(weight_estimator: WeightEstimator, samples: Samples) -> WeightSums:
    """Return the sums of the ratios of all source rows."""
    work = partial(_block_sums, lean(weight_estimator))
    return map_reduce(samples.blocks()[0], work)


def largest_weight(weight_estimator: WeightEstimator, samples: Samples) -> float:
    """Return the largest weight of a target row that is not far outside the bulk."""
    work = partial(_largest_of_block, lean(weight_estimator), samples.limits)
    return map_reduce(samples.blocks()[1], work, max)


def lean(weight_estimator: WeightEstimator) -> WeightEstimator:
    """Return a copy that weighs and carries no rows, to be sent to workers."""
    out = weight_estimator.without_rows()
    out.__dict__.pop("weights_", None)
    return out


def _block_ratio(estimator: WeightEstimator, rows: Array, first: int) -> Array:
    return estimator._predict_weights(estimator._scaled(rows))


def _weights_column(
    estimator: WeightEstimator, column: str, rows: Array, first: int
) -> dict[str, Array]:
    return {column: estimator._weigh_rows(rows)}


def _block_sums(estimator: WeightEstimator, rows: Array, first: int) -> WeightSums:
    ratio = _block_ratio(estimator, rows, first) ** estimator.exponent
    return WeightSums(
        len(ratio), float(ratio.sum()), float(ratio @ ratio), float(ratio.max())
    )


def _largest_of_block(
    estimator: WeightEstimator, limits: tuple[Array, Array], rows: Array, first: int
) -> float:
    rows = rows[((rows >= limits[0]) & (rows <= limits[1])).all(axis=1)]
    return float(estimator._weigh_rows(rows).max()) if len(rows) else 0.0


class UniformWeights(WeightEstimator):
    """Weights of one: what `AutoWeights` takes where nothing is gained by weighing.

    :math:`w_i = 1`. Its certificate is of kind "none": nothing is minimized.

    Examples
    --------
    >>> import numpy as np
    >>> UniformWeights().fit(np.zeros((2, 1)), X_target=np.ones((3, 1))).weights_
    array([1., 1.])
    """

    _accepts_sparse = True
    gives_ones = True

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        ones = np.ones(samples.source.shape[0])
        proof = Certificate("none", objective=0.0)
        return FitResult(attested(ones[:1], proof, self.tol), ones, None)

    def _predict_weights(self, X: Matrix) -> Array:
        return np.ones(X.shape[0])
