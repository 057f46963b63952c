"""`Adapted`: a model fitted for the target distribution."""

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Self
from uuid import uuid4

import numpy as np
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import column_or_1d, get_tags

from counterpoise.adaptation.fitted_model import FittedModel, calibrated_on, divided
from counterpoise.adaptation.guard import EQUAL_WEIGHTS, choose_how_much, mixed
from counterpoise.adaptation.inputs import (
    check_none_missing,
    default_estimator,
    fit_weight_estimator,
    reference_rows,
    row_marks,
    warn_if_cut,
    warn_if_far,
    warn_if_hardly_covered,
)
from counterpoise.adaptation.label_shift import (
    BY_INPUTS,
    EITHER,
    LABELS,
    LabelShift,
    explained,
    weight_estimator_by_labels,
)
from counterpoise.adaptation.out_of_core import AllRows, fit_model, refuse_beside_blocks
from counterpoise.adaptation.partial import (
    PartialWeights,
    fit_partial_weights,
    fit_to_present,
    partial_weight_estimator,
)
from counterpoise.adaptation.routing import check_takes_weights, fit_rows, part_of
from counterpoise.data.arrays import check_columns, check_same_length, n_rows, readable
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
from counterpoise.data.samples import SamplesAsRead
from counterpoise.data.two_samples import effective_sample_size, flatten_weights
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    NoOverlapError,
    NoTargetWarning,
    gathered,
    refusals_of_estimators,
    warn_user,
)
from counterpoise.linalg.arrays import Array
from counterpoise.performance.metrics import is_classifier
from counterpoise.shift.diagnosis import Diagnosis, diagnose_samples
from counterpoise.shift.support import NO_OVERLAP
from counterpoise.weights.auto import AutoWeights
from counterpoise.weights.base import WeightEstimator

# -----------------------------------------------------------------------------
# What was found of two samples before: a search weighs once a fold.
#
# A grid search fits many candidates to the same rows of each fold, and diagnosis and
# weights depend on the rows alone. They are kept by a digest of everything that they
# depend on, and found again only where all of it is the same to the byte.
# -----------------------------------------------------------------------------


# A search of five folds needs twelve: a diagnosis and weights of each, and of all.
FINDINGS_KEPT = 24
# The rows of a fit are not kept, but weights and centres are: not of larger samples.
LARGEST_KEPT = 200_000

_Key = tuple[str, str]
# Under which samples keep the digest of what they hold.
_CONTENT = ("content",)


class _Findings:
    """The last findings, by their keys; the one that was asked least lately goes."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Key, tuple[Any, list[Any]]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: _Key) -> tuple[Any, list[Any]] | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: _Key, found: Any, told: list[Any]) -> None:
        with self._lock:
            self._found[key] = found, told
            while len(self._found) > FINDINGS_KEPT:
                self._found.popitem(last=False)

    def forget(self) -> None:
        with self._lock:
            self._found.clear()

    def __len__(self) -> int:
        return len(self._found)


FOUND = _Findings()


def remember_content(
    samples: SamplesAsRead, X: Any, X_target: Any, random_state: Any
) -> None:
    """Write down what the samples hold, where it can be told and asked for again.

    Without a seed nothing is kept: every fit draws anew.
    """
    n, m = samples.source_weight.size, samples.target_weight.size
    if isinstance(random_state, int) and max(n, m) <= LARGEST_KEPT:
        samples.found[_CONTENT] = digest(
            (X, X_target, samples.source_weight, samples.units, random_state)
        )


def remember_in_this_run(samples: SamplesAsRead) -> None:
    """Let samples that were read once be diagnosed and weighed once, while they live.

    For who fits several estimators to them with one seed.
    """
    samples.found.setdefault(_CONTENT, uuid4().hex)


def diagnosed(samples: SamplesAsRead, find: Callable[[], Any]) -> Any:
    """Return the diagnosis of the samples, by `find` unless it is known."""
    return _once(samples, "diagnosis", find, lambda found: found)


def weighed(
    samples: SamplesAsRead, weight_estimator: Any, y: Any, find: Callable[[], Any]
) -> Any:
    """Return a weight estimator fitted to the samples, from the cache if it is there.

    Only our own weight estimators, which are known to depend on nothing else.
    """
    if not isinstance(weight_estimator, WeightEstimator):
        return find()
    of_labels = y if getattr(weight_estimator, "needs_labels", False) else None
    own = digest(
        (type(weight_estimator).__qualname__, weight_estimator.get_params(), of_labels)
    )
    if own is None:
        return find()
    found = _once(samples, own, find, lambda one: deepcopy(one.without_rows()))
    if found._samples_ is None:
        # A copy of one that was fitted to rows of the same content, in their order.
        found = deepcopy(found)
        found._samples_ = samples.counted
    return found


def digest(content: Any) -> str | None:
    """Return a hash of everything that objects hold; None where it cannot be told.

    Equal bytes alone give equal hashes; equal objects may be told apart, which costs
    time and nothing else.

    Examples
    --------
    >>> digest([1.0, "a"]) == digest([1.0, "a"]), digest(lambda: 0) is None
    (True, True)
    """
    hashed = _Hash()
    try:
        pickle.Pickler(hashed, protocol=5).dump(content)
    except Exception:
        # Functions of the user's own, generators and the like.
        return None
    return hashed.sha.hexdigest()


class _Hash:
    """A file that keeps nothing but the hash of what was written."""

    def __init__(self) -> None:
        self.sha = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha.update(data)
        return len(data)


def _once(
    samples: SamplesAsRead,
    what: str,
    find: Callable[[], Any],
    kept: Callable[[Any], Any],
) -> Any:
    """Return what was found before, with what was told then; else find it."""
    content = samples.found.get(_CONTENT)
    if content is None:
        return find()
    known = FOUND.get((content, what))
    if known is not None:
        found, told = known
        for message, category in told:
            warn_user(message, category)
        return found
    with gathered() as told:
        found = find()
    FOUND.put((content, what), kept(found), told)
    for message, category in told:
        warn_user(message, category)
    return found


# -----------------------------------------------------------------------------
# What is asked of a fit: parameters, checked, and the steps that they lead to.
# -----------------------------------------------------------------------------


# Ways to weigh that have a name.
NAMED_WEIGHT_ESTIMATORS = (BY_INPUTS, LABELS, EITHER, "partial")

# The steps of a fit, as they are announced.
DIAGNOSING = "diagnosing the shift"
WEIGHING = "weighing the source rows"
CHOOSING = "choosing how much of the weights to use"
FITTING = "fitting the estimator"


class AskedOfFit:
    """The parameters of `Adapted`, and what they mean."""

    weight_estimator: Any
    guard: bool | str
    max_samples: int | None
    calibration_fraction: float
    missing_target: str
    verbose: int
    callback: Callable[[str, int, int], Any] | None

    def _asks_for(self, name: str) -> bool:
        return isinstance(self.weight_estimator, str) and self.weight_estimator == name

    def _is_partial(self) -> bool:
        return self._asks_for("partial") or isinstance(
            self.weight_estimator, PartialWeights
        )

    def _is_guarded(self) -> bool:
        if self._is_partial():
            # It has a guard of its own.
            return False
        if isinstance(self.guard, str):
            return isinstance(self.weight_estimator, str)
        return self.guard

    def _check_parameters(self) -> None:
        if isinstance(self.weight_estimator, str):
            check_choice(
                "weight_estimator", self.weight_estimator, NAMED_WEIGHT_ESTIMATORS
            )
        elif self.weight_estimator is not None and not hasattr(
            self.weight_estimator, "predict_weights"
        ):
            raise InvalidTypeError(
                'weight_estimator must be "auto", "labels", "either", "partial", None '
                "or an "
                "estimator with `predict_weights`, got "
                f"{type(self.weight_estimator).__name__}"
            )
        if not isinstance(self.guard, bool):
            check_choice("guard", self.guard, ("auto",))
        check_integer("max_samples", self.max_samples, low=1, options=(None,))
        check_number(
            "calibration_fraction",
            self.calibration_fraction,
            low=0.0,
            high=1.0,
            closed="left",
        )
        if self.calibration_fraction > 0.0 and self._is_partial():
            raise InvalidInputError(
                "calibration needs weights of rows without labels, and PartialWeights "
                "weighs by class: choose calibration_fraction=0"
            )
        if self.calibration_fraction > 0.0 and self._asks_for(LABELS):
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


def steps_of_fit(model: AskedOfFit) -> tuple[str, ...]:
    """Return what a fit to both samples will announce, in order.

    Parameters
    ----------
    model : Adapted

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


# -----------------------------------------------------------------------------
# What a fit sees of the target: the shift, what is covered, and the weights.
# -----------------------------------------------------------------------------


# Draws of a permutation test of the diagnosis, and target rows that are kept, to
# compare next week's with.
PERMUTATIONS, REFERENCE_ROWS = 200, 5_000


@dataclass(frozen=True, eq=False)
class TargetSeen:
    """What is known of the target after a look; nothing where there is none.

    Attributes
    ----------
    ratio : array of shape (n,)
        The density ratio at the source rows.
    encoder, row_marks, diagnosis, reference, weight estimator, label_shift
        What `Adapted` keeps under the same names.
    """

    ratio: Array
    encoder: TableEncoder | None = None
    row_marks: Any = None
    diagnosis: Diagnosis | None = None
    reference: Any = None
    weight_estimator: Any = None
    label_shift: LabelShift | None = None


def read_both(X: Any, X_target: Any, counts: Array | None) -> SamplesAsRead:
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


def as_dense(samples: SamplesAsRead, X: Any) -> Any:
    """Return the source as numbers; a frame of sparse columns as one of dense ones."""
    if samples.is_sparse and not sparse.issparse(X):
        return np.asarray(X, dtype=float)
    return samples.source


def see_target(
    model: Any,
    samples: SamplesAsRead,
    estimator: Any,
    X: Any,
    y: Any,
    counts: Array | None,
    seed: int,
) -> TargetSeen:
    """Diagnose the shift, refuse what does not overlap, and weigh the source rows.

    Parameters
    ----------
    model : Adapted
        Whose parameters say how.
    samples : SamplesAsRead
    estimator : the model's, or the default one
    X, y : the source as given, and its labels
    counts : array of shape (n,) or None
        The user's own weights.
    seed : int
    """
    samples.refuse_huge(by_label=True)
    warn_if_far(samples.source, samples.target)
    marks = row_marks(as_dense(samples, X))
    announce(DIAGNOSING)
    # By the user's own seed, as `diagnose` would: one quantity, one number.
    given = model.random_state
    drawn_by = given if isinstance(given, int | np.integer) else seed
    found = diagnosed(
        samples, lambda: diagnose_samples(samples, PERMUTATIONS, drawn_by)
    )
    partial = partial_weight_estimator(model.weight_estimator, model.guard, seed)
    goes_on = model.allow_no_overlap or partial is not None
    if found.verdict == NO_OVERLAP and not goes_on:
        # Who catches the refusal can ask why.
        model.diagnosis_ = found
        columns = "" if found.separation is None else str(found.separation)
        raise NoOverlapError(
            found.uncovered_fraction, "uncovered_fraction", found.auc, columns
        )
    warn_if_hardly_covered(found)
    seen = TargetSeen(
        np.ones(samples.source_weight.size),
        encoder=samples.encoder,
        row_marks=marks,
        diagnosis=found,
        reference=reference_rows(samples, REFERENCE_ROWS, seed),
    )
    if model.weight_estimator is None:
        return seen
    announce(WEIGHING)
    label_shift = None
    if partial is not None:
        weight_estimator = fit_partial_weights(
            partial, samples, estimator, y, counts, seed
        )
    elif model._asks_for(LABELS):
        weight_estimator, label_shift = weight_estimator_by_labels(
            samples, estimator, y, counts, seed, allow_no_overlap=model.allow_no_overlap
        )
    else:
        weight_estimator = _by_inputs(model, samples, y, counts, seed)
        if isinstance(model.weight_estimator, str):
            label_shift, by_labels = explained(
                weight_estimator, found.verdict, samples, estimator, y, counts, seed
            )
            # Rows that are held out for sets need weights by inputs.
            if model._asks_for(EITHER) and by_labels and not model.calibration_fraction:
                weight_estimator = by_labels
    return replace(
        seen,
        ratio=np.asarray(weight_estimator.weights_),
        weight_estimator=weight_estimator,
        label_shift=label_shift,
    )


def _by_inputs(
    model: Any, samples: SamplesAsRead, y: Any, counts: Array | None, seed: int
) -> Any:
    """Return the weight estimator that looks at the inputs, fitted."""
    if isinstance(model.weight_estimator, str):
        # What is covered was decided by the diagnosis, once.
        weight_estimator: Any = AutoWeights(allow_no_overlap=True, random_state=seed)
    else:
        weight_estimator = clone(model.weight_estimator)
        if (
            model.allow_no_overlap
            and "allow_no_overlap" in weight_estimator.get_params()
        ):
            weight_estimator.set_params(allow_no_overlap=True)
    return weighed(
        samples,
        weight_estimator,
        y,
        lambda: fit_weight_estimator(weight_estimator, samples, y, counts),
    )


# -----------------------------------------------------------------------------
# A model fitted where data were cheap, for where it must work.
# -----------------------------------------------------------------------------


# What a partial weight estimator adds to a fitted model.
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
        Folds of the guard. None: five, drawn by chance. "blocks": runs of neighbouring
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
    goes to the logger "counterpoise" too. With a number as `random_state`, diagnosis
    and weights of the last fits are kept by a digest of all rows: a grid search weighs
    once a fold, not once a candidate.

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
        estimator: Any = None,
        weight_estimator: Any = "auto",
        *,
        guard: bool | str = "auto",
        cv: Any = None,
        scoring: Any = None,
        resample: bool = False,
        max_samples: int | None = None,
        calibration_fraction: float = 0.0,
        missing_target: str = "warn",
        allow_no_overlap: bool = False,
        random_state: Any = None,
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
            with told(self.verbose, self.callback):
                fit_model(self, X, y, X_target)
            return self
        with told(self.verbose, self.callback):
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
            if (
                not self.resample
                and self.max_samples is None
                and not self._is_partial()
            ):
                check_takes_weights(estimator)
            if n < 2:
                raise InvalidInputError(
                    "n_samples = 1: two source rows or more are needed"
                )
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
        kept, held_out = divided(n, self.calibration_fraction, groups, seed)
        if self._row_marks_ is not None:
            self._row_marks_ = self._row_marks_[kept]
        self.guard_ = None
        if self.weight_estimator_ is not None and self._is_guarded():
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
        if isinstance(self.weight_estimator_, PartialWeights):
            self._set_partial()
        announce(FITTING)
        weights = self.weights_ if counts is None else self.weights_ * counts
        # Without weights of anybody's the estimator is called as the user would.
        plain = self._is_partial() and not self._leaves_out()
        asked = counts is not None or (self.weight_estimator_ is not None and not plain)
        asked = asked or self.max_samples is not None
        if self._leaves_out() and not self.resample and self.max_samples is None:
            assert samples is not None
            given = samples.given or (X, samples.target)
            self.estimator_ = fit_to_present(
                estimator, X, y, kept, self.weight_estimator_, counts, given[1]
            )
        else:
            self.estimator_ = self._fit_rows(
                estimator,
                part_of(X, kept, n),
                part_of(y, kept, n),
                weights[kept] if asked else None,
                seed,
                self.max_samples,
            )
        self.calibration_ = None
        if held_out.size:
            self.calibration_ = calibrated_on(self, samples, X, y, counts, held_out)
        return self

    def _tell_of_no_target(self) -> None:
        words = "no X_target was given: all weights are one and nothing is adapted"
        if self.missing_target == "raise":
            raise InvalidInputError(words)
        if self.missing_target == "warn":
            warn_user(words, NoTargetWarning)

    def _keep(self, seen: TargetSeen) -> None:
        self.encoder_ = seen.encoder
        self._row_marks_ = seen.row_marks
        self.diagnosis_ = seen.diagnosis
        self.reference_ = seen.reference
        self.weight_estimator_ = seen.weight_estimator
        self.label_shift_ = seen.label_shift

    def _set_weights(self, ratio: Array, counts: Array | None) -> None:
        chosen = 1.0 if self.guard_ is None else self.guard_.chosen
        self.exponent_ = 0.0 if self.weight_estimator_ is None else chosen
        self.mixing_ = 1.0
        if self.guard_ is not None and self.guard_.kind == "mixing":
            self.mixing_, self.exponent_ = chosen, float(self.exponent_ > 0.0)
            self.weights_ = mixed(ratio, chosen, counts)
        else:
            self.weights_ = ratio if chosen == 1.0 else flatten_weights(ratio, chosen)
        # A weight estimator that gives ones, and a power of ones, adapt nothing.
        self.adapted_ = bool(np.abs(self.weights_ - 1.0).max() > EQUAL_WEIGHTS)
        self.effective_sample_size_ = effective_sample_size(self.weights_)

    def _leaves_out(self) -> bool:
        """Return whether a partial weight estimator left a class out."""
        return isinstance(self.weight_estimator_, PartialWeights) and self.adapted_

    def _forget_classes(self) -> None:
        """Forget what a partial weight estimator found in a fit before this one."""
        self._every_class_: Any = None
        for name in OF_CLASSES:
            if hasattr(self, name):
                delattr(self, name)

    def _set_partial(self) -> None:
        """Tell what a partial weight estimator found; the rest is as with any other."""
        found = self.weight_estimator_
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
        max_samples: int | None,
    ) -> Any:
        """Return the estimator, fitted as this one's is: for the fit and for folds."""
        (fitted,) = fit_rows(
            estimator,
            X,
            y,
            [weights],
            seed,
            resample=self.resample,
            max_samples=max_samples,
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
