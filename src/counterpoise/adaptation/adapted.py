"""`Adapted`: a model fitted for the target distribution."""

import zlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import Tags, column_or_1d, get_tags

from counterpoise.adaptation.fitted_model import FittedModel, calibrate
from counterpoise.adaptation.guard import (
    EQUAL_WEIGHTS,
    ROWS_JUDGED,
    Guard,
    mixed,
    select_exponent,
)
from counterpoise.adaptation.label_shift import (
    BY_INPUTS,
    EITHER,
    LABELS,
    LabelShift,
    explain_by_labels,
    weight_estimator_by_labels,
)
from counterpoise.adaptation.out_of_core import AllRows, fit_model, refuse_beside_blocks
from counterpoise.adaptation.partial import (
    PartialGuard,
    PartialWeights,
    fit_partial_weights,
    fit_to_present,
)
from counterpoise.adaptation.routing import (
    check_none_missing,
    check_takes_weights,
    default_estimator,
    fit_weight_estimator,
    fit_weighted,
    rows_of,
)
from counterpoise.data.arrays import (
    Estimator,
    Matrix,
    check_columns,
    check_same_length,
    n_rows,
    readable,
    target_pieces,
)
from counterpoise.data.blocks import Blocks
from counterpoise.data.encoder import TableEncoder
from counterpoise.data.groups import with_units
from counterpoise.data.labels_and_weights import row_counts
from counterpoise.data.parameters import (
    as_seed,
    check_choice,
    check_integer,
    check_number,
)
from counterpoise.data.progress import announce, told
from counterpoise.data.samples import Samples
from counterpoise.data.table import Table
from counterpoise.data.two_samples import effective_sample_size, flatten_weights
from counterpoise.errors import (
    CounterpoiseWarning,
    InvalidInputError,
    InvalidTypeError,
    NoOverlapError,
    NoTargetWarning,
    PartialOverlapWarning,
    estimator_errors,
    warn_user,
)
from counterpoise.linalg.arrays import Array, Indices, row_keys
from counterpoise.messages import WARNING, Finding, FindingText
from counterpoise.performance.intervals import neighbors_alike, random_rows
from counterpoise.performance.metrics import is_classifier
from counterpoise.shift.diagnosis import Diagnosis, diagnose_samples
from counterpoise.shift.support import (
    NO_OVERLAP,
    NO_OVERLAP_ABOVE,
    NO_SHIFT,
    TOO_FEW,
)
from counterpoise.weights.auto import AutoWeights

# -----------------------------------------------------------------------------
# Warnings about suspicious tables.
# -----------------------------------------------------------------------------


# A target is odd where every column lies outside the source's range by so many times
# the distance of the source's quartiles.
RANGES_APART = 20.0
# Rows are those of a fit if more than this share is, and few of the fit are twins.
SHARE_KNOWN, SHARE_TWINS = 0.5, 0.1


class CutTargetWarning(CounterpoiseWarning):
    """`X_target` has as many rows as `X`: cross-validation would cut it."""


class TimeOrderWarning(CounterpoiseWarning):
    """Adjacent rows are near-duplicates: random folds overestimate performance."""


class FarTargetWarning(CounterpoiseWarning):
    """Every column of the target is far from the source: was it transformed?"""


class TrainingRowsWarning(CounterpoiseWarning):
    """Rows to evaluate a model on are among those that it was fitted to."""


def row_marks(X: Matrix) -> NDArray[np.uint32]:
    """Return a number a row by which to know it again; equal rows have equal ones."""
    rows = X if sparse.issparse(X) else np.asarray(X, dtype=float)
    return np.fromiter(map(zlib.crc32, row_keys(rows)), dtype=np.uint32)


def warn_if_fitted_to(marks: NDArray[np.uint32], fitted: NDArray[np.uint32]) -> None:
    """Warn where most rows are among those of a fit, and not as twins by chance."""
    twins = 1.0 - np.unique(fitted).size / fitted.size
    share = float(np.isin(marks, fitted).mean())
    if share > SHARE_KNOWN and twins < SHARE_TWINS:
        warn_user(
            f"{share:.0%} of the rows of X are rows that the model was fitted to, and "
            "flatter it: give rows that it has not seen, or cv=5 to fit it again "
            "without each fold",
            TrainingRowsWarning,
        )


def warn_if_cut(X_target: object, n: int) -> None:
    """Warn about a bare target that cross-validation takes for a vector of rows."""
    if isinstance(X_target, tuple) or n_rows(X_target) != n:
        return
    warn_user(
        f"X_target has as many rows as X ({n}): inside cross-validation scikit-learn "
        "cuts it like X, and a part of the target is lost in every fold. Give it as a "
        "tuple, X_target=(X_target,), to pass it whole",
        CutTargetWarning,
    )


def warn_if_far(source: Matrix, target: Matrix) -> None:
    """Warn about a target that looks like another unit or an earlier step."""
    if sparse.issparse(source):
        return
    low, quarter, three, high = np.quantile(source, [0, 0.25, 0.75, 1], axis=0)
    room = RANGES_APART * (three - quarter)
    below = target.max(axis=0) < low - room
    above = target.min(axis=0) > high + room
    if (below | above).all():
        finding = Finding("far_target", WARNING, {"times": RANGES_APART})
        warn_user(FindingText(finding), FarTargetWarning)


def warn_if_in_time_order(X: Matrix) -> None:
    """Warn where folds drawn by chance hold out rows next to rows fitted to."""
    if not sparse.issparse(X) and neighbors_alike(np.asarray(X, dtype=float)):
        warn_user(FindingText(Finding("time_order", WARNING)), TimeOrderWarning)


def warn_if_hardly_covered(found: Diagnosis) -> None:
    """Warn where more than half of the target may be thinly covered, or may not.

    Where the lower end of the share's interval is above one half a fit is refused.
    """
    if found.uncovered_fraction > NO_OVERLAP_ABOVE and found.verdict != NO_OVERLAP:
        warn_user(
            f"{found.uncovered_fraction:.1%} of the target rows, "
            f"{found.uncovered_fraction_low:.1%} to "
            f"{found.uncovered_fraction_high:.1%} by chance, lie where the source has "
            f"next to no "
            "rows: with a little more a fit would be refused",
            PartialOverlapWarning,
        )


# -----------------------------------------------------------------------------
# The estimator.
# -----------------------------------------------------------------------------


# Weights that have a name.
NAMED_WEIGHT_ESTIMATORS = (BY_INPUTS, LABELS, EITHER, "partial")

# The steps of a fit, as they are announced.
DIAGNOSING = "diagnosing the shift"
WEIGHING = "weighing the source rows"
CHOOSING = "choosing how much of the weights to use"
FITTING = "fitting the estimator"

# Draws of a permutation test of the diagnosis, and target rows that are kept, to
# compare later targets with.
PERMUTATIONS, REFERENCE_ROWS = 200, 5_000

# What a partial weight estimator adds to a fitted model.
OF_CLASSES = ("class_prior_", "class_weight_", "absent_classes_", "target_labels_")


class Adapted(MetaEstimatorMixin, FittedModel):
    r"""An estimator fitted to weighted source rows, so that it serves the target.

    Four steps, each of which can be had alone: `diagnose` the shift; weigh the source
    rows by the density ratio :math:`w = p_{target} / p_{source}`; choose how much of
    the weights the estimator can use; fit it to

    .. math:: \min_f \sum_i c_i w_i^e L(f(x_i), y_i)

    in whatever way the estimator takes `sample_weight`, with the user's own weights
    :math:`c` and the exponent :math:`e` of the guard: the smallest of 0, 1/4, 1/2, 3/4
    and 1 whose loss on the target, estimated by importance-weighted cross-validation,
    is within one standard error of the best. 0 means unweighted rows: flexible models
    often lose by weights, and are then left as they are. `WeightedSVC` (by its errors)
    and `WeightedSVR` get :math:`1 + \theta (w - 1)` instead of a power, with the
    smallest :math:`\theta` of all that is as good as the best: their exact paths tell.

    All of it assumes that :math:`p(y \mid x)` is the same in both samples, which no
    method can see from inputs alone.

    Parameters
    ----------
    estimator : scikit-learn estimator or None
        Classifier or regressor, a pipeline too. None: histogram gradient boosting, by
        the type of the label.
    weight estimator : "auto", "labels", "either", "partial", weight estimator or None
        "auto": `AutoWeights`, then the guard. "labels": by the label alone, for a
        target in which p(y) has moved and p(x | y) has not: of classes by their
        estimated shares, of numbers `LabelShiftWeights`; then the guard. "either": as
        "labels" where a classifier's classes in other shares are seen to explain the
        shift (`label_shift_.preferred`), else as "auto". "partial": `PartialWeights`,
        for a target that has only some of the classes. A weight estimator: its weights
        as they are (see `guard`). None: no weights; the target is diagnosed all the
        same.
    guard : "auto" or bool
        Whether the exponent is chosen. "auto": with `weight_estimator="auto"` alone.
    cv : None, int, "blocks", splitter or iterable
        Folds of the guard. None: five, drawn by chance. "blocks": runs of neighboring
        rows, for rows in the order of time.
    scoring : str, callable or None
        What the guard judges by. None: log-loss, error rate or squared error.
    resample : bool
        Whether rows are drawn in proportion to their weights, for an estimator that
        takes no `sample_weight`.
    max_samples : int or None
        Fit to this many different rows, drawn in proportion to their weights.
    calibration_fraction : float
        Share of the source rows that is held out for `predict_interval` and
        `predict_set`.
    missing_target : "warn", "ignore" or "raise"
        What to do where `fit` gets no `X_target`: all weights are one then.
    allow_no_overlap : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of folds, subsamples, weights and draws.
    verbose : int
        Above zero: a line is printed as each step begins, and every few seconds.
    callback : callable or None
        Called as ``callback(step, done, total)``: with zeros as a step begins, then
        with the parts of it that are over. Models are saved without it.

    Attributes
    ----------
    estimator_ : estimator
        The fitted one.
    weight_estimator_ : weight estimator or None
        Fitted to both samples, in the encoding of `encoder_`.
    weights_ : array of shape (n,)
        What the estimator got for the source rows, of mean one, apart from the user's
        own `sample_weight`.
    exponent_ : float
        Power of the density ratio in `weights_`.
    mixing_ : float
        Share of it beside equal weights; one unless an exact path was asked.
    adapted_ : bool
        Whether `weights_` differ from ones.
    guard_ : Guard or None
        What was tried, gain and standard error.
    diagnosis_ : Diagnosis or None
    label_shift_ : LabelShift or None
        Of a classifier with "auto", "labels" or "either", where a shift was found:
        whether the target looks like the source's classes in other shares.
    encoder_ : TableEncoder or None
        How weight estimator and diagnosis see a table that is not of finite numbers
        alone; the estimator sees what it would see today.
    effective_sample_size_ : float
        Of `weights_`.
    classes_ : array
        Of a classifier.
    all_rows_ : AllRows or None
        Of tables in blocks: how many rows each part of the fit rests on.
    class_prior_, class_weight_, absent_classes_, target_labels_ : arrays
        With "partial": estimated shares of all classes in the target, what a row of
        each weighs, the labels of those judged absent, and a label for every target row
        (better than `predict` there).

    Notes
    -----
    The guard works on at most 5,000 rows. `predict_weights` returns the density ratio
    itself, without the exponent. Cross-validation cuts an `X_target` that has as many
    rows as `X`: give it as a tuple, ``X_target=(X_target,)``. The progress of a fit
    goes to the logger "counterpoise" too. ``GridSearchCV(Adapted(...))`` estimates
    the weights again for every candidate; ``Adapted(GridSearchCV(...))`` once.

    Tables in blocks (`engine.Blocks`): diagnosis, weight estimator, guard and the steps
    of a pipeline before its last are those of 10,000 rows drawn of each table, whose
    weights `weights_` holds. Then the weight estimator, where it can be, and the
    estimator are fitted to every row: `Ridge`, `LinearRegression` and
    `LogisticRegression` by passes, what has `partial_fit` block after block, others to
    `max_samples` rows drawn by their weights, or in memory if all rows fit there.

    With "partial" the estimator is fitted to rows of the classes that are present and,
    by default, to the target rows with the labels of the selection; it need not take
    `sample_weight`. Missing overlap is told, not raised. `adapted_` says whether a
    class was left out; `guard_` is a `PartialGuard`.

    References
    ----------
    Shimodaira (2000) on flattened weights; Sugiyama, Krauledat and Mueller (2007) on
    importance-weighted cross-validation; Tibshirani, Barber, Candes and Ramdas (2019)
    on weighted conformal sets.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from counterpoise import Adapted
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(random_state=0)
    >>> model = Adapted(LinearRegression(), random_state=0)
    >>> model = model.fit(shift.X, shift.y, X_target=shift.X_target)
    >>> model.adapted_
    True
    """

    def __init__(
        self,
        estimator: Estimator | None = None,
        weight_estimator: object = "auto",
        *,
        guard: bool | str = "auto",
        cv: object = None,
        scoring: object = None,
        resample: bool = False,
        max_samples: int | None = None,
        calibration_fraction: float = 0.0,
        missing_target: str = "warn",
        allow_no_overlap: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callable[[str, int, int], Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.weight_estimator = weight_estimator
        self.guard = guard
        self.cv = cv
        self.scoring = scoring
        self.resample = resample
        self.max_samples = max_samples
        self.calibration_fraction = calibration_fraction
        self.missing_target = missing_target
        self.allow_no_overlap = allow_no_overlap
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(
        self,
        X: object,
        y: ArrayLike,
        *,
        X_target: object = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Diagnose the shift, estimate weights, select their exponent, and fit.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or `engine.Blocks` of shape (n, d)
            The labeled source rows.
        y : array of shape (n,)
            Their labels; of blocks also the name of the column that has them.
        X_target : the same as X of shape (m, d), or a tuple of such
            The target rows; a tuple is stacked and never cut by cross-validation.
        sample_weight : array of shape (n,)
            The user's own weights; they multiply ours and count in every mean.
        groups : array of shape (n,)
            Rows of one group are held out together, in the diagnosis of the shift too.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._forget()
        with told(self.verbose, self.callback):
            if isinstance(X, Blocks) or isinstance(X_target, Blocks):
                refuse_beside_blocks(sample_weight=sample_weight, groups=groups)
                fit_model(self, X, y, X_target)
                return self
            return self._fit(X, y, X_target, sample_weight, groups, self.max_samples)

    def _fit(
        self,
        X: object,
        y: ArrayLike,
        X_target: object,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        max_samples: int | None,
    ) -> Self:
        """Fit to rows in memory; `max_samples` takes the place of the parameter."""
        check_columns(self, X, reset=True)
        seed = as_seed(self.random_state)
        estimator = self.estimator
        if estimator is None:
            estimator = default_estimator(X, y, seed)
        X, y = readable(X), readable(y)
        check_same_length(X, y, groups)
        n = n_rows(X)
        counts = None if sample_weight is None else row_counts(sample_weight, n)
        draws = self.resample or max_samples is not None
        ratio, samples = np.ones(n), None
        if X_target is None:
            message = (
                "no X_target was given: all weights are one and nothing is adapted"
            )
            if self.missing_target == "raise":
                raise InvalidInputError(message)
            if self.missing_target == "warn":
                warn_user(message, NoTargetWarning)
        else:
            if not draws and not self._is_partial():
                check_takes_weights(estimator)
            y = _checked_labels(estimator, y, n)
            samples = _read_samples(X, X_target, counts, groups)
            announce(DIAGNOSING)
            self._diagnose(samples, X, seed)
            if self.weight_estimator is not None:
                announce(WEIGHING)
                self._estimate_weights(samples, estimator, y, counts, seed)
                ratio = np.asarray(self.weight_estimator_.weights_)
        rows, held_out = split_for_calibration(
            n, self.calibration_fraction, groups, seed
        )
        if self._row_marks_ is not None:
            self._row_marks_ = self._row_marks_[rows]
        if samples is not None and self._is_guarded():
            announce(CHOOSING)
            if self.cv is None and groups is None:
                warn_if_in_time_order(_as_dense(samples, X)[:ROWS_JUDGED])
            self.guard_ = select_exponent(
                estimator,
                X,
                y,
                ratio,
                counts,
                groups,
                rows,
                seed,
                cv=self.cv,
                scoring=self.scoring,
                resample=self.resample,
                max_samples=max_samples,
                fold_models=self._fold_models,
            )
        self._set_weights(ratio, counts)
        if isinstance(self.weight_estimator_, PartialWeights):
            self._set_classes(self.weight_estimator_)
        announce(FITTING)
        self.estimator_ = self._fit_estimator(
            estimator, samples, X, y, counts, rows, max_samples, seed
        )
        if held_out.size:
            self.calibration_ = calibrate(
                self.estimator_,
                rows_of(X, held_out),
                rows_of(y, held_out),
                self._held_out_weights(samples, y, counts, held_out),
            )
        return self

    def _check_parameters(self) -> None:
        weight_estimator, share = self.weight_estimator, self.calibration_fraction
        if isinstance(weight_estimator, str):
            check_choice("weight_estimator", weight_estimator, NAMED_WEIGHT_ESTIMATORS)
        elif weight_estimator is not None and not hasattr(
            weight_estimator, "predict_weights"
        ):
            raise InvalidTypeError(
                'weight_estimator must be "auto", "labels", "either", "partial", None '
                "or an estimator with `predict_weights`, got "
                f"{type(weight_estimator).__name__}"
            )
        if not isinstance(self.guard, bool):
            check_choice("guard", self.guard, ("auto",))
        check_integer("max_samples", self.max_samples, low=1, options=(None,))
        check_number("calibration_fraction", share, low=0.0, high=1.0, closed="left")
        if share > 0.0 and self._is_partial():
            raise InvalidInputError(
                "calibration needs weights of rows without labels, and PartialWeights "
                "weighs by class: choose calibration_fraction=0"
            )
        if share > 0.0 and self._is_named(LABELS):
            raise InvalidInputError(
                'calibration needs weights of rows without labels, and "labels" weighs '
                "by them: choose calibration_fraction=0"
            )
        check_integer("verbose", self.verbose, low=0)
        if self.callback is not None and not callable(self.callback):
            raise InvalidTypeError(
                f"callback must be callable or None, got {self.callback!r}"
            )
        check_choice("missing_target", self.missing_target, ("warn", "ignore", "raise"))

    def _is_named(self, name: str) -> bool:
        return isinstance(self.weight_estimator, str) and self.weight_estimator == name

    def _is_partial(self) -> bool:
        return self._is_named("partial") or isinstance(
            self.weight_estimator, PartialWeights
        )

    def _is_guarded(self) -> bool:
        if self.weight_estimator is None or self._is_partial():
            # A partial weight estimator has a guard of its own.
            return False
        if isinstance(self.guard, str):
            return isinstance(self.weight_estimator, str)
        return self.guard

    def _forget(self) -> None:
        """Set what a fit may leave unset; delete what a fit before this one found."""
        self.all_rows_: AllRows | None = None
        self.encoder_: TableEncoder | None = None
        self.diagnosis_: Diagnosis | None = None
        self.reference_: Any = None
        self.weight_estimator_: Any = None
        self.label_shift_: LabelShift | None = None
        self.guard_: Guard | PartialGuard | None = None
        self.calibration_ = None
        self._seen_rows_ = self._drawn_by_ = None
        self._row_marks_ = self._every_class_ = None
        if self._fold_models is not None:
            self._fold_models = {}
        for name in OF_CLASSES:
            if hasattr(self, name):
                delattr(self, name)

    def _diagnose(self, samples: Samples, X: object, seed: int) -> None:
        """Diagnose the shift, and raise an error where the samples do not overlap.

        Several fits to samples that a caller validated once share what was found.
        """
        samples.refuse_huge(by_label=True)
        warn_if_far(samples.source, samples.target)
        # By the user's own seed, as `diagnose` would: one quantity, one number.
        if isinstance(self.random_state, int | np.integer):
            seed_of_tests = int(self.random_state)
        else:
            seed_of_tests = seed
        key = ("diagnosis", seed_of_tests)
        if key not in samples.found:
            samples.found[key] = diagnose_samples(samples, PERMUTATIONS, seed_of_tests)
        self.diagnosis_ = found = samples.found[key]
        if found.verdict == NO_OVERLAP and not (
            self.allow_no_overlap or self._is_partial()
        ):
            columns = "" if found.separation is None else str(found.separation)
            raise NoOverlapError(
                found.uncovered_fraction, "uncovered_fraction", found.auc, columns
            )
        warn_if_hardly_covered(found)
        self.encoder_ = samples.encoder
        self._row_marks_ = row_marks(_as_dense(samples, X))
        self.reference_ = _reference_rows(samples, REFERENCE_ROWS, seed)

    def _estimate_weights(
        self,
        samples: Samples,
        estimator: Estimator,
        y: ArrayLike,
        counts: Array | None,
        seed: int,
    ) -> None:
        """Set the fitted weight estimator, and whether labels explain the shift."""
        if self._is_partial():
            partial = self.weight_estimator
            if isinstance(partial, str):
                partial = PartialWeights(
                    guard=self.guard is not False, random_state=seed
                )
            self.weight_estimator_ = fit_partial_weights(
                clone(partial), samples, estimator, y, counts, seed
            )
            return
        if self._is_named(LABELS):
            self.weight_estimator_, self.label_shift_ = weight_estimator_by_labels(
                samples, estimator, y, counts, seed, self.allow_no_overlap
            )
            return
        if not isinstance(self.weight_estimator, str):
            weight_estimator = clone(self.weight_estimator)
            if (
                self.allow_no_overlap
                and "allow_no_overlap" in weight_estimator.get_params()
            ):
                weight_estimator.set_params(allow_no_overlap=True)
            self.weight_estimator_ = fit_weight_estimator(
                weight_estimator, samples, y, counts
            )
            return
        assert self.diagnosis_ is not None
        key = ("weights", seed)
        if key not in samples.found:
            # The overlap was decided by the diagnosis, once.
            weight_estimator = AutoWeights(allow_no_overlap=True, random_state=seed)
            samples.found[key] = weight_estimator._fit_samples(samples)
        self.weight_estimator_ = samples.found[key]
        unexplained = self.diagnosis_.verdict not in (NO_SHIFT, TOO_FEW, NO_OVERLAP)
        if unexplained and np.ndim(y) == 1 and is_classifier(estimator, y):
            self.label_shift_, by_labels = explain_by_labels(
                self.weight_estimator_, samples, y, counts, seed
            )
            # Rows that are held out for sets need weights by inputs.
            if self._is_named(EITHER) and by_labels and not self.calibration_fraction:
                self.weight_estimator_ = by_labels

    def _set_weights(self, ratio: Array, counts: Array | None) -> None:
        """Set the weights of the estimator by the density ratio and the guard."""
        chosen = 1.0 if self.guard_ is None else self.guard_.chosen
        self.exponent_ = 0.0 if self.weight_estimator_ is None else float(chosen)
        self.mixing_ = 1.0
        if self.guard_ is not None and self.guard_.kind == "mixing":
            self.mixing_, self.exponent_ = chosen, float(self.exponent_ > 0.0)
            self.weights_ = mixed(ratio, chosen, counts)
        else:
            self.weights_ = ratio if chosen == 1.0 else flatten_weights(ratio, chosen)
        # A weight estimator that gives ones, and a power of ones, adapt nothing.
        self.adapted_ = bool(np.abs(self.weights_ - 1.0).max() > EQUAL_WEIGHTS)
        self.effective_sample_size_ = effective_sample_size(self.weights_)

    def _set_classes(self, fitted: PartialWeights) -> None:
        """Set what a partial weight estimator found about the classes."""
        self.guard_ = fitted.guard_
        leaves_out = bool(fitted.absent_classes_.size or fitted.exponent > 0.0)
        self.adapted_ = leaves_out and bool(fitted.guard_.chosen)
        self.exponent_ = float(self.adapted_)
        self.class_prior_ = fitted.class_prior_
        self.class_weight_ = fitted.class_weight_
        self.absent_classes_ = fitted.absent_classes_
        self.target_labels_ = fitted.labels_
        self._every_class_ = fitted.classes_

    def _fit_estimator(
        self,
        estimator: Estimator,
        samples: Samples | None,
        X: object,
        y: ArrayLike,
        counts: Array | None,
        rows: Indices,
        max_samples: int | None,
        seed: int,
    ) -> Any:
        """Return the estimator, fitted to some of the source rows by their weights."""
        draws = self.resample or max_samples is not None
        leaves_out = self._every_class_ is not None and self.adapted_
        if leaves_out and not draws:
            assert samples is not None
            X_target = (samples.given or (X, samples.target))[1]
            return fit_to_present(
                estimator, X, y, rows, self.weight_estimator_, counts, X_target
            )
        # Without weights of anybody's the estimator is called as the user would.
        has_weights = self.weight_estimator_ is not None
        if self._is_partial():
            has_weights = leaves_out
        weights = None
        if has_weights or counts is not None or max_samples is not None:
            weights = self.weights_ if counts is None else self.weights_ * counts
            weights = weights[rows]
        if rows.size < self.weights_.size:
            X, y = rows_of(X, rows), rows_of(y, rows)
        return fit_weighted(
            estimator,
            X,
            y,
            weights,
            resample=self.resample,
            max_samples=max_samples,
            seed=seed,
        )

    def _held_out_weights(
        self,
        samples: Samples | None,
        y: ArrayLike,
        counts: Array | None,
        rows: Indices,
    ) -> Array:
        """Return the density ratios of held-out rows, times the user's weights."""
        weights = np.ones(rows.size)
        if self.weight_estimator_ is not None and samples is not None:
            weights = self.weight_estimator_.predict_weights(
                rows_of(y, rows) if self._weighs_by_label else samples.source[rows]
            )
        if counts is not None and counts[rows].any():
            # On the scale of a row that counts once, as the row to predict does.
            weights = weights * counts[rows] / counts[rows].mean()
        return weights

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        inner = getattr(self, "estimator_", self.estimator)
        if inner is None:
            tags.input_tags.allow_nan = True
            return tags
        own = get_tags(inner)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags = deepcopy(own.classifier_tags)
        tags.regressor_tags = deepcopy(own.regressor_tags)
        tags.target_tags = deepcopy(own.target_tags)
        tags.input_tags = deepcopy(own.input_tags)
        return tags


def steps_of_fit(model: Adapted) -> tuple[str, ...]:
    """Return what a fit to both samples will announce, in order.

    Examples
    --------
    >>> from counterpoise import Adapted
    >>> steps_of_fit(Adapted(weight_estimator=None))
    ('diagnosing the shift', 'fitting the estimator')
    >>> len(steps_of_fit(Adapted()))
    4
    """
    if model.weight_estimator is None:
        return DIAGNOSING, FITTING
    if not model._is_guarded():
        return DIAGNOSING, WEIGHING, FITTING
    return DIAGNOSING, WEIGHING, CHOOSING, FITTING


def split_for_calibration(
    n: int, share: float, groups: ArrayLike | None, seed: int
) -> tuple[Indices, Indices]:
    """Return rows to fit to and rows held out for calibration, groups whole."""
    if share == 0.0:
        return np.arange(n), np.arange(0)
    names = np.arange(n) if groups is None else np.asarray(groups)
    different, place = np.unique(names, return_inverse=True)
    if different.size < 2:
        raise InvalidInputError("calibration needs two groups or more, got one")
    order = np.random.default_rng(seed).permutation(different.size)
    sizes = np.cumsum(np.bincount(place)[order])
    # As many groups as bring the held-out rows nearest to their share.
    count = int(np.argmin(np.abs(sizes[:-1] - share * n))) + 1
    held_out = np.isin(place, order[:count])
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _checked_labels(estimator: Estimator, y: ArrayLike, n: int) -> Any:
    """Return labels of two rows or more, none missing; a column of classes as 1-D."""
    if n < 2:
        raise InvalidInputError("n_samples = 1: two source rows or more are needed")
    if is_classifier(estimator, y):
        with estimator_errors():
            y = column_or_1d(y, warn=True)
    check_none_missing(y)
    return y


def _read_samples(
    X: object, X_target: object, counts: Array | None, groups: ArrayLike | None
) -> Samples:
    """Return validated source and target samples (no-op if already validated)."""
    if isinstance(X_target, Samples):
        X_target.check_rows(n_rows(X))
        samples = X_target
        if counts is not None:
            samples = replace(samples, source_weight=counts)
    else:
        if isinstance(X_target, tuple):
            X_target = tuple(map(readable, X_target))
        else:
            X_target = readable(X_target)
        warn_if_cut(X_target, n_rows(X))
        samples = Samples.read(X, X_target, counts)
    return samples if samples.units is not None else with_units(samples, groups)


def _as_dense(samples: Samples, X: object) -> Any:
    """Return the source as numbers; a frame of sparse columns as one of dense ones."""
    if samples.is_sparse and not sparse.issparse(X):
        return np.asarray(X, dtype=float)
    return samples.source


def _reference_rows(samples: Samples, most: int, seed: int) -> Any:
    """Return at most so many rows of the target, as plain arrays."""
    target: Any = None
    if samples.tables is not None:
        target = samples.tables[1]
    elif samples.given is not None:
        pieces = list(target_pieces(samples.given[1]).values())
        if any(sparse.issparse(piece) for piece in pieces):
            target = sparse.vstack(pieces, format="csr")
        else:
            target = Table.of(samples.given[1])
    else:
        target = samples.target
    m = n_rows(target)
    some = random_rows(m, most, np.random.default_rng(seed))
    # A copy: what the user does to the table later is no business of the model's.
    return target[some] if sparse.issparse(target) else target.take(some)


def adapt(
    estimator: Any, X: object, y: ArrayLike, X_target: object, **parameters: Any
) -> Adapted:
    """Return an `Adapted` of the estimator, fitted.

    Parameters
    ----------
    estimator : scikit-learn estimator or None
        None: histogram gradient boosting, by the type of the label.
    X, y : the labeled source rows
    X_target : the target rows
    **parameters
        Of `Adapted`; `sample_weight` and `groups` go to its `fit`.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from counterpoise import adapt
    >>> from counterpoise.datasets import make_sinc_shift
    >>> X, y, X_target, _, _ = make_sinc_shift(random_state=0)
    >>> adapt(LinearRegression(), X, y, X_target, random_state=0).adapted_
    True
    """
    of_fit = {
        name: parameters.pop(name)
        for name in ("sample_weight", "groups")
        if name in parameters
    }
    return Adapted(estimator, **parameters).fit(X, y, X_target=X_target, **of_fit)
