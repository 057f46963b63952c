"""A model fitted where data were cheap, for where it must work."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import (
    column_or_1d,
    get_tags,
)

from counterpoise.adaptation.asked import CHOOSING, FITTING, AskedOfFit
from counterpoise.adaptation.choosing import choose_how_much
from counterpoise.adaptation.conformal import calibrated_on, divided
from counterpoise.adaptation.fitted_model import FittedModel
from counterpoise.adaptation.in_blocks.fitting import (
    AllRows,
    fit_model,
    refuse_beside_blocks,
)
from counterpoise.adaptation.kept.weighings import remember_content
from counterpoise.adaptation.labels import (
    check_none_missing,
    default_estimator,
)
from counterpoise.adaptation.mixing import mixed
from counterpoise.adaptation.partial.adapting import (
    fit_to_present,
)
from counterpoise.adaptation.partial.weights import PartialWeights
from counterpoise.adaptation.routing import (
    check_takes_weights,
    fit_rows,
    part_of,
)
from counterpoise.adaptation.target_seen import (
    TargetSeen,
    as_dense,
    read_both,
    see_target,
)
from counterpoise.engine import Blocks
from counterpoise.engine.progress import announce
from counterpoise.engine.telling import told
from counterpoise.evaluation.metrics import is_classifier
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.dependent.belonging import with_units
from counterpoise.samples.effective_size import effective_sample_size, flatten
from counterpoise.validation import (
    InvalidInput,
    NoTargetWarning,
    as_seed,
    check_columns,
    check_same_length,
    n_rows,
    refusals_of_estimators,
    row_counts,
)
from counterpoise.validation.rows import readable
from counterpoise.validation.warning import filters_left_clean, warn_user

# What a partial weighter adds to a fitted model.
OF_CLASSES = ("class_prior_", "class_weight_", "absent_classes_", "target_labels_")


class Adapted(AskedOfFit, MetaEstimatorMixin, FittedModel):
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
        self._seen_rows_ = self._drawn_by_ = None
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
            self._tell_of_no_target()
            seen = TargetSeen(np.ones(n))
        else:
            if not self.resample and self.budget is None and not self._is_partial():
                check_takes_weights(estimator)
            if n < 2:
                raise InvalidInput("n_samples = 1: two source rows or more are needed")
            if is_classifier(estimator, y):
                with refusals_of_estimators():
                    y = column_or_1d(y, warn=True)
            check_none_missing(y)
            samples = read_both(X, X_target, counts)
            if samples.units is None:
                samples = with_units(samples, groups)
            if not isinstance(X_target, SamplesAsRead):
                remember_content(samples, X, X_target, self.random_state)
            seen = see_target(self, samples, estimator, X, y, counts, seed)
        self._keep(seen)
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
                as_dense(samples, X),
                X,
                y,
                seen.ratio,
                counts,
                groups,
                kept,
                seed,
            )
        self._set_weights(seen.ratio, counts)
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
            self.calibration_ = calibrated_on(self, samples, X, y, counts, held_out)
        return self

    def _tell_of_no_target(self) -> None:
        words = "no X_target was given: all weights are one and nothing is adapted"
        if self.missing_target == "raise":
            raise InvalidInput(words)
        if self.missing_target == "warn":
            warn_user(words, NoTargetWarning)

    def _keep(self, seen: TargetSeen) -> None:
        self.encoder_ = seen.encoder
        self._row_marks_ = seen.row_marks
        self.diagnosis_ = seen.diagnosis
        self.reference_ = seen.reference
        self.weighter_ = seen.weighter
        self.label_shift_ = seen.label_shift

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
