"""A model fitted where data were cheap, for where it must work."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import (
    column_or_1d,
    get_tags,
)

from counterpoise.adaptation.choosing import choose_how_much
from counterpoise.adaptation.conformal import calibrated, divided
from counterpoise.adaptation.fitted_model import FittedModel
from counterpoise.adaptation.in_blocks.fitting import (
    AllRows,
    fit_model,
    refuse_beside_blocks,
)
from counterpoise.adaptation.kept.weighings import diagnosed, remember_content, weighed
from counterpoise.adaptation.label_shift.adapting import (
    BY_INPUTS,
    EITHER,
    LABELS,
    explained,
    weighter_by_labels,
)
from counterpoise.adaptation.label_shift.recognising import LabelShift
from counterpoise.adaptation.labels import (
    check_none_missing,
    default_estimator,
)
from counterpoise.adaptation.mixing import mixed
from counterpoise.adaptation.odd_inputs import (
    row_marks,
    warn_if_cut,
    warn_if_far,
    warn_if_hardly_covered,
)
from counterpoise.adaptation.partial.adapting import (
    fit_partial_weights,
    fit_to_present,
    partial_weighter,
)
from counterpoise.adaptation.partial.weights import PartialWeights
from counterpoise.adaptation.routing import (
    check_takes_weights,
    fit_rows,
    part_of,
    rows_of,
)
from counterpoise.adaptation.target_rows import reference_rows
from counterpoise.adaptation.weighing import fit_weighter
from counterpoise.diagnosis.diagnosis import Diagnosis, diagnose_samples
from counterpoise.engine import Blocks
from counterpoise.engine.progress import announce
from counterpoise.engine.telling import told
from counterpoise.evaluation.conformal import Calibration
from counterpoise.evaluation.metrics import is_classifier
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.dependent.belonging import with_units
from counterpoise.samples.effective_size import effective_sample_size, flatten
from counterpoise.samples.overlap_verdict import NO_OVERLAP
from counterpoise.tables.encoding import TableEncoder
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    NoOverlapError,
    NoTargetWarning,
    as_seed,
    check_choice,
    check_columns,
    check_integer,
    check_number,
    check_same_length,
    n_rows,
    refusals_of_estimators,
    row_counts,
)
from counterpoise.validation.rows import readable
from counterpoise.validation.warning import filters_left_clean, warn_user
from counterpoise.weights.auto import AutoWeights

# Draws of a permutation test of the diagnosis, and target rows that are kept, to
# compare next week's with.
PERMUTATIONS, REFERENCE_ROWS = 200, 5_000

# What a partial weighter adds to a fitted model.
OF_CLASSES = ("class_prior_", "class_weight_", "absent_classes_", "target_labels_")

# Ways to weigh that have a name.
NAMED_WEIGHTERS = (BY_INPUTS, LABELS, EITHER, "partial")

# The steps of a fit, as they are announced.
DIAGNOSING = "diagnosing the shift"
WEIGHING = "weighing the source rows"
CHOOSING = "choosing how much of the weights to use"
FITTING = "fitting the estimator"


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
    weighter : "auto", "labels", "either", "partial", weighter or None
        "auto": `AutoWeights`, then the guard. "labels": by the label alone, for a
        target in which p(y) has moved and p(x | y) has not: of classes by their
        estimated shares, of numbers `TargetShiftWeights`; then the guard. "either": as
        "labels" where a classifier's classes in other shares are seen to explain the
        shift (`label_shift_.preferred`), else as "auto". "partial": `PartialWeights`,
        for a target that has only some of the classes. A weighter: its weights as they
        are (see `guard`). None: no weights; the target is diagnosed all the same.
    guard : "auto" or bool
        Whether the exponent is chosen. "auto": with `weighter="auto"` alone.
    cv : None, int, "blocks", splitter or iterable
        Folds of the guard. None: five, drawn by chance. "blocks": runs of neighbouring
        rows, for rows in the order of time.
    scoring : str, callable or None
        What the guard judges by. None: log-loss, error rate or squared error.
    resample : bool
        Whether rows are drawn in proportion to their weights, for an estimator that
        takes no `sample_weight`.
    budget : int or None
        Fit to this many different rows, drawn in proportion to their weights.
    calibration : float
        Share of the source rows that is held out for `predict_interval` and
        `predict_set`.
    missing_target : "warn", "ignore" or "raise"
        What to do where `fit` gets no `X_target`: all weights are one then.
    force : bool
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
    weighter_ : weighter or None
        Fitted to both samples, in the encoding of `encoder_`.
    weights_ : array of shape (n,)
        What the estimator got for the source rows, of mean one, apart from the user's
        own `sample_weight`.
    exponent_ : float
        Power of the density ratio in `weights_`.
    mixing_ : float
        Share of it beside equal weights; one unless an exact path was asked.
    adapted_ : bool
        Whether the rows were weighted at all.
    guard_ : Guard or None
        What was tried, gain and standard error.
    diagnosis_ : Diagnosis or None
    label_shift_ : LabelShift or None
        Of a classifier with "auto", "labels" or "either", where a shift was found:
        whether the target looks like the source's classes in other shares.
    encoder_ : TableEncoder or None
        How weighter and diagnosis see a table that is not of finite numbers alone; the
        estimator sees what it would see today.
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
    The guard works on at most 5,000 rows. `weigh` returns the density ratio itself,
    without the exponent. Cross-validation cuts an `X_target` that has as many rows as
    `X`: give it as a tuple, ``X_target=(X_target,)``. The progress of a fit goes to
    the logger "counterpoise" too. With a number as `random_state`, diagnosis and
    weights of the last fits are kept by a digest of all rows: a grid search weighs once
    a fold, not once a candidate.

    Tables in blocks (`engine.Blocks`): diagnosis, weighter, guard and the steps of a
    pipeline before its last are those of 10,000 rows drawn of each table, whose weights
    `weights_` holds. Then the weighter, where it can be, and the estimator are fitted
    to every row: `Ridge`, `LinearRegression` and `LogisticRegression` by passes, what
    has `partial_fit` block after block, others to `budget` rows drawn by their weights,
    or in memory if all rows fit there.

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
        estimator: Any = None,
        weighter: Any = "auto",
        *,
        guard: bool | str = "auto",
        cv: Any = None,
        scoring: Any = None,
        resample: bool = False,
        budget: int | None = None,
        calibration: float = 0.0,
        missing_target: str = "warn",
        force: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[[str, int, int], Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.weighter = weighter
        self.guard = guard
        self.cv = cv
        self.scoring = scoring
        self.resample = resample
        self.budget = budget
        self.calibration = calibration
        self.missing_target = missing_target
        self.force = force
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Diagnose, weigh, choose how much of the weights to use, and fit.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or `engine.Blocks` of shape (n, d)
            The labelled source rows.
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
        self.all_rows_: AllRows | None = None
        self._seen_rows_ = None
        if isinstance(X, Blocks) or isinstance(X_target, Blocks):
            refuse_beside_blocks(sample_weight=sample_weight, groups=groups)
            with told(self.verbose, self.callback), filters_left_clean():
                fit_model(self, X, y, X_target)
            return self
        with told(self.verbose, self.callback), filters_left_clean():
            return self._fit_told(X, y, X_target, sample_weight, groups)

    def _fit_told(
        self, X: Any, y: Any, X_target: Any, sample_weight: Any, groups: Any
    ) -> Self:
        check_columns(self, X, reset=True)
        seed = as_seed(self.random_state)
        estimator = self.estimator
        if estimator is None:
            estimator = default_estimator(X, y, seed)
        X, y = readable(X), readable(y)
        check_same_length(X, y, groups)
        n = n_rows(X)
        counts = None if sample_weight is None else row_counts(sample_weight, n)
        samples = None
        self._forget_classes()
        if X_target is None:
            ratio = self._without_target(n)
        else:
            if not self.resample and self.budget is None and not self._is_partial():
                check_takes_weights(estimator)
            if n < 2:
                raise InvalidInput("n_samples = 1: two source rows or more are needed")
            if is_classifier(estimator, y):
                with refusals_of_estimators():
                    y = column_or_1d(y, warn=True)
            check_none_missing(y)
            samples = _read(X, X_target, counts)
            if samples.units is None:
                samples = with_units(samples, groups)
            if not isinstance(X_target, SamplesAsRead):
                remember_content(samples, X, X_target, self.random_state)
            ratio = self._with_target(samples, estimator, X, y, counts, seed)
        kept, held_out = divided(n, self.calibration, groups, seed)
        if self._row_marks_ is not None:
            self._row_marks_ = self._row_marks_[kept]
        self.guard_ = None
        if self.weighter_ is not None and self._is_guarded():
            assert samples is not None
            announce(CHOOSING)
            self.guard_ = choose_how_much(
                self,
                estimator,
                _as_dense(samples, X),
                X,
                y,
                ratio,
                counts,
                groups,
                kept,
                seed,
            )
        self._set_weights(ratio, counts)
        if isinstance(self.weighter_, PartialWeights):
            self._set_partial()
        announce(FITTING)
        weights = self.weights_ if counts is None else self.weights_ * counts
        # Without weights of anybody's the estimator is called as the user would.
        plain = self._is_partial() and not self._leaves_out()
        asked = counts is not None or (self.weighter_ is not None and not plain)
        asked = asked or self.budget is not None
        if self._leaves_out() and not self.resample and self.budget is None:
            assert samples is not None
            given = samples.given or (X, samples.target)
            self.estimator_ = fit_to_present(
                estimator, X, y, kept, self.weighter_, counts, given[1]
            )
        else:
            self.estimator_ = self._fit_rows(
                estimator,
                part_of(X, kept, n),
                part_of(y, kept, n),
                weights[kept] if asked else None,
                seed,
                self.budget,
            )
        self.calibration_ = None
        if held_out.size:
            self.calibration_ = self._calibrated_on(samples, X, y, counts, held_out)
        return self

    def _without_target(self, n: int) -> Array:
        words = "no X_target was given: all weights are one and nothing is adapted"
        if self.missing_target == "raise":
            raise InvalidInput(words)
        if self.missing_target == "warn":
            warn_user(words, NoTargetWarning)
        self.encoder_: TableEncoder | None = None
        self._row_marks_ = None
        self.diagnosis_: Diagnosis | None = None
        self.reference_: Any = None
        self.weighter_: Any = None
        self.label_shift_: LabelShift | None = None
        return np.ones(n)

    def _with_target(
        self,
        samples: SamplesAsRead,
        estimator: Any,
        X: Any,
        y: Any,
        counts: Array | None,
        seed: int,
    ) -> Array:
        """Look at the target, and return the density ratio at the source rows."""
        self.encoder_ = samples.encoder
        self.label_shift_ = None
        samples.refuse_huge(by_label=True)
        warn_if_far(samples.source, samples.target)
        self._row_marks_ = row_marks(_as_dense(samples, X))
        announce(DIAGNOSING)
        # By the user's own seed, as `diagnose` would: one quantity, one number.
        given = self.random_state
        drawn_by = given if isinstance(given, int | np.integer) else seed
        self.diagnosis_ = diagnosed(
            samples, lambda: diagnose_samples(samples, PERMUTATIONS, drawn_by)
        )
        partial = partial_weighter(self.weighter, self.guard, seed)
        goes_on = self.force or partial is not None
        if self.diagnosis_.verdict == NO_OVERLAP and not goes_on:
            found = self.diagnosis_
            columns = "" if found.separation is None else str(found.separation)
            raise NoOverlapError(found.thin, "thin", found.auc, columns)
        warn_if_hardly_covered(self.diagnosis_)
        self.reference_ = reference_rows(samples, REFERENCE_ROWS, seed)
        if self.weighter is None:
            self.weighter_ = None
            return np.ones(samples.source_weight.size)
        announce(WEIGHING)
        if partial is not None:
            self.weighter_ = fit_partial_weights(
                partial, samples, estimator, y, counts, seed
            )
            return np.asarray(self.weighter_.weights_)
        if isinstance(self.weighter, str):
            weighter: Any = AutoWeights(force=self.force, random_state=seed)
        else:
            weighter = clone(self.weighter)
            if self.force and "force" in weighter.get_params():
                weighter.set_params(force=True)
        if self._asks_for(LABELS):
            self.weighter_, self.label_shift_ = weighter_by_labels(
                samples, estimator, y, counts, seed, force=self.force
            )
        else:
            self.weighter_ = weighed(
                samples, weighter, y, lambda: fit_weighter(weighter, samples, y, counts)
            )
        if isinstance(self.weighter, str) and not self._asks_for(LABELS):
            self.label_shift_, by_labels = explained(
                self.weighter_,
                self.diagnosis_.verdict,
                samples,
                estimator,
                y,
                counts,
                seed,
            )
            # Rows that are held out for sets need weights by inputs.
            if self._asks_for(EITHER) and by_labels and not self.calibration:
                self.weighter_ = by_labels
        ratio: Array = self.weighter_.weights_
        return ratio

    def _asks_for(self, name: str) -> bool:
        return isinstance(self.weighter, str) and self.weighter == name

    def _is_partial(self) -> bool:
        return self._asks_for("partial") or isinstance(self.weighter, PartialWeights)

    def _is_guarded(self) -> bool:
        if self._is_partial():
            # It has a guard of its own.
            return False
        if isinstance(self.guard, str):
            return isinstance(self.weighter, str)
        return self.guard

    def _set_weights(self, ratio: Array, counts: Array | None) -> None:
        chosen = 1.0 if self.guard_ is None else self.guard_.chosen
        self.exponent_ = 0.0 if self.weighter_ is None else chosen
        self.adapted_ = self.exponent_ > 0.0
        self.mixing_ = 1.0
        if self.guard_ is not None and self.guard_.kind == "mixing":
            self.mixing_, self.exponent_ = chosen, float(self.adapted_)
            self.weights_ = mixed(ratio, chosen, counts)
        else:
            self.weights_ = ratio if chosen == 1.0 else flatten(ratio, chosen)
        self.effective_sample_size_ = effective_sample_size(self.weights_)

    def _leaves_out(self) -> bool:
        """Return whether a partial weighter left a class out."""
        return isinstance(self.weighter_, PartialWeights) and self.adapted_

    def _forget_classes(self) -> None:
        """Forget what a partial weighter found in a fit before this one."""
        self._every_class_: Any = None
        for name in OF_CLASSES:
            if hasattr(self, name):
                delattr(self, name)

    def _set_partial(self) -> None:
        """Tell what a partial weighter found; the rest is as with any other."""
        found = self.weighter_
        self.guard_ = found.guard_
        self.adapted_ = bool(found.absent_classes_.size or found.exponent > 0.0)
        self.adapted_ = self.adapted_ and bool(found.guard_.chosen)
        self.exponent_ = float(self.adapted_)
        self.class_prior_ = found.class_prior_
        self.class_weight_ = found.class_weight_
        self.absent_classes_ = found.absent_classes_
        self.target_labels_ = found.labels_
        self._every_class_ = found.classes_

    def _fit_rows(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        weights: Array | None,
        seed: int,
        budget: int | None,
    ) -> Any:
        """Return the estimator, fitted as this one's is: for the fit and for folds."""
        (fitted,) = fit_rows(
            estimator, X, y, [weights], seed, resample=self.resample, budget=budget
        )
        return fitted

    def _calibrated_on(
        self,
        samples: SamplesAsRead | None,
        X: Any,
        y: Any,
        counts: Array | None,
        rows: Indices,
    ) -> Calibration:
        X, y = rows_of(X, rows), rows_of(y, rows)
        weights = np.ones(rows.size)
        if self.weighter_ is not None and samples is not None:
            of_labels = getattr(self.weighter_, "needs_labels", False)
            weights = self.weighter_.weigh(y if of_labels else samples.source[rows])
        if counts is not None and counts[rows].any():
            # On the scale of a row that counts once, as the row to predict does.
            weights = weights * counts[rows] / counts[rows].mean()
        return calibrated(self.estimator_, X, y, weights)

    def _check_parameters(self) -> None:
        if isinstance(self.weighter, str):
            check_choice("weighter", self.weighter, NAMED_WEIGHTERS)
        elif self.weighter is not None and not hasattr(self.weighter, "weigh"):
            raise InvalidType(
                'weighter must be "auto", "labels", "either", "partial", None or an '
                "estimator with `weigh`, got "
                f"{type(self.weighter).__name__}"
            )
        if not isinstance(self.guard, bool):
            check_choice("guard", self.guard, ("auto",))
        check_integer("budget", self.budget, low=1, options=(None,))
        check_number("calibration", self.calibration, low=0.0, high=1.0, closed="left")
        if self.calibration > 0.0 and self._is_partial():
            raise InvalidInput(
                "calibration needs weights of rows without labels, and PartialWeights "
                "weighs by class: choose calibration=0"
            )
        if self.calibration > 0.0 and self._asks_for(LABELS):
            raise InvalidInput(
                'calibration needs weights of rows without labels, and "labels" weighs '
                "by them: choose calibration=0"
            )
        check_integer("verbose", self.verbose, low=0)
        if self.callback is not None and not callable(self.callback):
            raise InvalidType(
                f"callback must be callable or None, got {self.callback!r}"
            )
        check_choice("missing_target", self.missing_target, ("warn", "ignore", "raise"))

    def __sklearn_tags__(self) -> Any:
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


def _read(X: Any, X_target: Any, counts: Array | None) -> SamplesAsRead:
    """Return both samples as read; those that were read before, as they are."""
    if isinstance(X_target, SamplesAsRead):
        X_target.check_rows(n_rows(X))
        return X_target if counts is None else replace(X_target, source_weight=counts)
    X_target = (
        tuple(map(readable, X_target))
        if isinstance(X_target, tuple)
        else readable(X_target)
    )
    warn_if_cut(X_target, n_rows(X))
    return SamplesAsRead.read(X, X_target, counts)


def _as_dense(samples: SamplesAsRead, X: Any) -> Any:
    """Return the source as numbers; a frame of sparse columns as one of dense ones."""
    if samples.is_sparse and not sparse.issparse(X):
        return np.asarray(X, dtype=float)
    return samples.source


def steps_of_fit(model: Adapted) -> tuple[str, ...]:
    """Return what a fit to both samples will announce, in order.

    Parameters
    ----------
    model : Adapted

    Examples
    --------
    >>> from counterpoise import Adapted
    >>> steps_of_fit(Adapted(weighter=None))
    ('diagnosing the shift', 'fitting the estimator')
    >>> len(steps_of_fit(Adapted()))
    4
    """
    if model.weighter is None:
        return DIAGNOSING, FITTING
    if not model._is_guarded():
        return DIAGNOSING, WEIGHING, FITTING
    return DIAGNOSING, WEIGHING, CHOOSING, FITTING


def adapt(estimator: Any, X: Any, y: Any, X_target: Any, **parameters: Any) -> Adapted:
    """Return an `Adapted` of the estimator, fitted.

    Parameters
    ----------
    estimator : scikit-learn estimator or None
        None: histogram gradient boosting, by the type of the label.
    X, y : the labelled source rows
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
