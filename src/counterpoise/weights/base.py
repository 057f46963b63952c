"""What every weighter does: the door, the fit, the proof, the mean of one."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from counterpoise.convex import Problem, Solution, Solver, solve
from counterpoise.engine import Blocks
from counterpoise.engine.one_thread import one_thread
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.coverage.separating_columns import with_columns
from counterpoise.samples.coverage.thin_by_chance import THIN_ABOVE
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.overlap_verdict import (
    NO_OVERLAP_ABOVE,
    RELATIVE_FROM,
    lowest_share,
    thin_where_known,
)
from counterpoise.samples.scaling import rows_scaled
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    Matrix,
    NoOverlapError,
    NoTargetWarning,
    PartialOverlapWarning,
    estimator_matrix,
    row_counts,
    warn_user,
)
from counterpoise.validation.parameters import (
    Integer,
    Number,
    Rule,
    check_parameters,
)
from counterpoise.validation.tables import check_enough_rows
from counterpoise.validation.warning import filters_left_clean
from counterpoise.weights.by_blocks import TwoBlocks, fit_to_blocks
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.fitted_weighter import FittedWeighter
from counterpoise.weights.kernel_widths import lonely_share
from counterpoise.weights.registry import take_sparse

# Shares of the target that the source does not reach are said from these on.
SHARE_SAID = {"uncovered": RELATIVE_FROM, "thin": THIN_ABOVE}
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
        How they were counted: "uncovered" or "thin".
    mean : float
        The mean of the weights, where it is a result and not one.
    uncovered_low : float or None
        The lower end of `uncovered`'s interval; None: by the number of target rows.
    """

    solution: Solution
    ratio: Array
    uncovered: float | None
    measure: str = "uncovered"
    mean: float = 1.0
    uncovered_low: float | None = None


class WeightEstimator(FittedWeighter):
    """Two samples in, one weight a source row out.

    A method says how it fits (`_fit`) and what it gives a row (`_weigh`); all else is
    here and in `FittedWeighter`. `weights_` estimate the density ratio target/source at
    the source rows and have mean one, weighted by `sample_weight` if given.

    Subclasses have those of the parameters `tol`, `max_iter`, `max_time`, `callback`,
    `exponent`, `force` and `random_state` that they use; kernel methods also
    `standardize`. The tags below say what kind of weights a method makes.
    """

    _least_rows = 2
    # What the method's own parameters may be.
    _rules: ClassVar[Mapping[str, Rule]] = {}
    # Whether `weights_` estimate the density ratio of inputs, at any row.
    weights_are_a_ratio = True
    # Whether `fit` and `weigh` go by labels.
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
    force: bool = False

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
            raise InvalidInput(
                "X comes in blocks and X_target is None: both are needed"
            )
        if any(weights is not None for weights in given):
            raise InvalidInput(
                "sample_weight and target_weight are not taken beside blocks: every "
                "row counts once"
            )
        fit_to_blocks(self, X, X_target)
        return self

    def _fit_blocks(self, both: TwoBlocks) -> Solution | None:
        """Fit to all rows, given what a sample has decided; set what `_weigh` needs.

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
        if found.uncovered is not None and found.measure == "uncovered":
            # A wide kernel reaches across a hole that the source's spacing shows.
            lonely = lonely_share(scaled)
            if lonely > NO_OVERLAP_ABOVE or (
                lonely > LONELY_BY_CHANCE and found.uncovered <= LONELY_BY_CHANCE
            ):
                found = replace(found, uncovered=max(found.uncovered, lonely))
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
        self.uncovered_: float | None = None
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
        low = found.uncovered_low
        if low is None and found.uncovered is not None:
            low = lowest_share(found.uncovered, samples.counted.target_share)
        thin = thin_where_known(samples)
        self._judge_overlap(found.uncovered, found.measure, low, thin)
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
            warn_user(
                f"{type(self).__name__}: {solution}; raise max_iter or max_time, or "
                "accept a larger tol",
                ConvergenceWarning,
            )

    def _judge_overlap(
        self,
        share: float | None,
        measure: str = "uncovered",
        low: float | None = None,
        thin: float | None = None,
    ) -> None:
        """Set which share of the target is uncovered; refuse or warn if it is large.

        It refuses where the lower end of the share's interval is above one half. Where
        the thin share of the two tables is known, the warning says that.
        """
        self.uncovered_ = share
        if share is None or share <= SHARE_SAID[measure]:
            return
        if (share if low is None else low) > NO_OVERLAP_ABOVE and not self.force:
            raise NoOverlapError(share, measure)  # type: ignore[arg-type]
        said = share if thin is None else thin
        warn_user(
            f"{said:.1%} of the target rows have hardly any source rows near them: "
            "the weights speak for the others",
            PartialOverlapWarning,
        )

    def _check_common(self) -> None:
        check_parameters(self, {**COMMON_RULES, **self._rules})
        if self.callback is not None and not callable(self.callback):
            raise InvalidType(
                f"callback must be callable or None, got {self.callback!r}"
            )

    def _check_dense(self, X: Any, X_target: Any) -> None:
        pieces = X_target if isinstance(X_target, tuple) else (X_target,)
        if not self._accepts_sparse and any(map(sparse.issparse, (X, *pieces))):
            # The middle is what scikit-learn's estimator checks look for.
            raise InvalidType(
                f"{type(self).__name__} takes no sparse rows: dense data is required. "
                f"{take_sparse()} take sparse rows"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags
