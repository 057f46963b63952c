"""`estimate_performance`: the expected score on unlabeled target data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from counterpoise.adaptation.adapted import Adapted, row_marks, warn_if_fitted_to
from counterpoise.adaptation.out_of_core import refuse_beside_blocks, rows_to_judge_by
from counterpoise.adaptation.routing import (
    fit_weight_estimator,
    fit_weighted,
    rows_of,
)
from counterpoise.data.arrays import (
    Matrix,
    check_same_columns,
    n_rows,
    target_pieces,
    two_samples,
)
from counterpoise.data.blocks import Blocks
from counterpoise.data.columns import cut_column
from counterpoise.data.encoder import encoded
from counterpoise.data.labels_and_weights import (
    as_classes,
    as_responses,
    as_weights,
    row_counts,
)
from counterpoise.data.parameters import as_seed, check_number
from counterpoise.data.progress import advance
from counterpoise.data.samples import SamplesAsRead
from counterpoise.data.table import NOTHING, Table, TableColumn, two_tables
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    NoOverlapError,
    PartialOverlapWarning,
    held_back,
)
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.performance.advice import baseline_of, labels_wanted
from counterpoise.performance.conformal import interval_sizes, set_sizes
from counterpoise.performance.estimators import MovedColumn, loss_by_slice
from counterpoise.performance.intervals import folds_of
from counterpoise.performance.metrics import (
    OF_PROBABILITIES,
    Answers,
    Metric,
    as_metric,
    is_classifier,
    joined_answers,
    reliability_of,
)
from counterpoise.performance.result import (
    CoveredPart,
    Judge,
    MetricPerformance,
    Performance,
    Rows,
    as_they_are,
    label_changes,
)
from counterpoise.shift.columns import table_shifts
from counterpoise.shift.support import (
    NO_OVERLAP,
    UNCOVERED_ABOVE,
    Overlap,
    overlap_between,
)
from counterpoise.weights.auto import AutoWeights

# -----------------------------------------------------------------------------
# The target's score, estimated on held-out source rows.
# -----------------------------------------------------------------------------


class TargetScorer:
    """What `target_scorer` returns: called like any of scikit-learn's scorers."""

    def __init__(self, scoring: Any = None) -> None:
        self.scoring = scoring

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None
    ) -> float:
        """Return the score, the higher the better.

        Parameters
        ----------
        estimator : fitted `Adapted`, or a pipeline that ends with one
        X, y : held-out source rows and their labels
        sample_weight : array of shape (k,)
            What the rows count; it multiplies the density ratio.
        """
        weights = _weights(estimator, X)
        weights = weights * row_counts(sample_weight, weights.size)
        metric = as_metric(self.scoring, estimator, y)
        value = metric.value(estimator, X, y, sample_weight=weights)
        return value if metric.higher_is_better else -value

    def __repr__(self) -> str:
        return f"target_scorer({self.scoring!r})"


def target_scorer(scoring: Any = None) -> TargetScorer:
    r"""Return a scorer that estimates the target's score on held-out source rows.

    Importance-weighted cross-validation: with the density ratio :math:`w` of the fitted
    `Adapted` at the held-out rows,

    .. math:: \sum_i w(x_i) s(f(x_i), y_i) / \sum_i w(x_i),

    so that ``GridSearchCV(Adapted(...), ..., scoring=target_scorer())`` chooses what is
    good for the target. Metadata routing is not needed.

    Parameters
    ----------
    scoring : str, callable or None
        Name of one of scikit-learn's scorers, or a scorer that takes `sample_weight`.
        None: minus the log-loss, error rate or squared error.

    Notes
    -----
    The weights must be defined at new rows: a weight estimator without
    `predict_weights` is an error. An `Adapted` that was fitted without a target has
    weights of one.

    References
    ----------
    Sugiyama, Krauledat and Mueller (2007).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from counterpoise import Adapted, target_scorer
    >>> from counterpoise.datasets import make_sinc_shift
    >>> X, y, X_target, _, _ = make_sinc_shift(random_state=0)
    >>> search = GridSearchCV(
    ...     Adapted(Ridge(), random_state=0),
    ...     {"estimator__alpha": [0.1, 100.0]},
    ...     scoring=target_scorer("neg_mean_squared_error"),
    ... )
    >>> search.fit(X, y, X_target=(X_target,)).best_params_
    {'estimator__alpha': 0.1}
    """
    return TargetScorer(scoring)


def _weights(estimator: Any, X: Any) -> Any:
    if isinstance(estimator, Pipeline):
        if len(estimator) > 1:
            X = estimator[:-1].transform(X)
        return _weights(estimator[-1], X)
    if hasattr(estimator, "best_estimator_"):
        return _weights(estimator.best_estimator_, X)
    if not hasattr(estimator, "predict_weights"):
        raise InvalidTypeError(
            f"target_scorer needs a fitted Adapted, got {type(estimator).__name__}"
        )
    return estimator.predict_weights(X)


# -----------------------------------------------------------------------------
# What `estimate_performance` was given: labels, groups, labelled rows, numbers.
# -----------------------------------------------------------------------------


# Rows of either sample that are weighed and that teach the model of the loss.
ROWS_WEIGHED = 5_000
# Labelled target rows that have a spread.
_FEWEST_LABELLED = 2


def labels_of(y: Any, n: int, classifier: bool, name: str) -> NDArray[Any]:
    """Return classes, or responses as numbers, one a row."""
    if classifier:
        return as_classes(y, n, name=name)
    return as_responses(y, n, multi_output=np.ndim(y) == 2, name=name)


def several(metrics: Any) -> list[Any]:
    """Return the metrics that were named, one or many; None is the usual one."""
    if metrics is None or isinstance(metrics, str) or callable(metrics):
        return [metrics]
    found = list(metrics)
    if not found:
        raise InvalidInputError("metrics is empty: name one, or None for the usual one")
    return found


def methods_asked(
    metrics: Sequence[Metric], model: Any, classifier: bool
) -> tuple[str, ...] | None:
    """Return the methods of a model that its metrics need, None for all it has.

    Large tables are asked for no more than that: every answer takes its time.
    """
    if not (classifier and hasattr(model, "predict_proba")):
        return None
    if any(metric.by_row is None for metric in metrics):
        return None
    if all(metric.name in OF_PROBABILITIES for metric in metrics):
        return ("predict_proba",)
    return ("predict", "predict_proba")


def group_numbers(groups: Any, n: int) -> Indices | None:
    """Return the groups as numbers from zero."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise InvalidInputError(
            f"groups must have an entry for each of the {n} rows of X, got shape "
            f"{groups.shape}"
        )
    return np.unique(groups, return_inverse=True)[1]


def some_rows(n: int, seed: int) -> Indices:
    """Return the places of all rows, or of some drawn by chance."""
    if n <= ROWS_WEIGHED:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, ROWS_WEIGHED, replace=False))


def labelled_rows(
    model: Any,
    X: Any,
    X_lab: Any,
    y_lab: Any,
    classifier: bool,
    asked: Sequence[str] | None,
) -> tuple[Answers, NDArray[Any]] | None:
    """Return what the model says of labelled target rows, and their labels, if any."""
    if (X_lab is None) != (y_lab is None):
        missing = "X_lab" if X_lab is None else "y_lab"
        raise InvalidInputError(
            f"X_lab and y_lab belong together, {missing} is missing"
        )
    if X_lab is None:
        return None
    check_same_columns(X, X_lab, name="X_lab")
    k = n_rows(X_lab)
    if k < _FEWEST_LABELLED:
        raise InvalidInputError(
            f"X_lab has {k} row, at least 2 are needed for an interval"
        )
    return Answers.of(model, [X_lab], classifier, asked), labels_of(
        y_lab, k, classifier, "y_lab"
    )


def as_numbers(
    samples: SamplesAsRead, X_lab: Any, counts: Array
) -> tuple[SamplesAsRead, Matrix | None, Sequence[str] | None]:
    """Return both samples and labelled target rows, encoded alike, and their names."""
    if X_lab is None:
        samples.refuse_huge(by_label=True)
        return samples, None, None
    if samples.tables is None or sparse.issparse(X_lab):
        if samples.tables is not None and not samples.is_plain:
            assert samples.given is not None
            two_samples(*samples.given, accept_sparse=True)
        lab = two_samples(X_lab, None, accept_sparse=True)[0]
        return samples, lab, samples.matrix_names
    # The encoder learns from the labelled rows too, which are target rows.
    source, target = samples.tables
    together = SamplesAsRead.read(source, (target, X_lab))
    together.refuse_huge(by_label=True)
    if samples.is_plain and together.is_plain:
        return samples, together.target[len(target) :], samples.matrix_names
    part = slice(len(target))
    numbers = SamplesAsRead.of_matrices(together.source, together.target[part], counts)
    encoder = together.encoder
    names = together.matrix_names if encoder is None else encoder.names_
    return numbers, together.target[len(target) :], names


def weighed_rows(samples: SamplesAsRead, some: Indices, aims: Indices) -> SamplesAsRead:
    """Return the rows that are weighed, which are all where they are few."""
    sizes = samples.source_weight.size, samples.target_weight.size
    if sizes == (some.size, aims.size):
        return samples
    part = samples.take(some, aims)
    as_weights(part.source_weight, some.size)
    return part


# -----------------------------------------------------------------------------
# By which columns the target is sliced: those that moved most.
# -----------------------------------------------------------------------------


# Columns by which the target is sliced, and into how many parts each is cut.
COLUMNS_SLICED, PARTS_A_COLUMN = 3, 4


def moved_columns(
    samples: SamplesAsRead,
    counts: Array,
    rows: Indices,
    target_rows: Indices,
) -> list[MovedColumn]:
    """Return the columns that moved most, cut at quantiles of the target.

    Columns that cannot be cut, such as identifiers, are passed over; sparse matrices
    have none.

    Parameters
    ----------
    samples : SamplesAsRead
    counts : array of shape (n,)
        What the source rows count.
    rows, target_rows : array of shape (k,), (l,)
        The rows to look at.
    """
    rows_that_count = counts[rows]
    if not rows_that_count.any():
        return []
    tables = _tables(samples)
    if tables is None:
        return []
    source, target = _as_read(tables[0], rows), _as_read(tables[1], target_rows)
    share = rows_that_count / rows_that_count.sum()
    target_share = np.full(target_rows.size, 1 / target_rows.size)
    shifts = table_shifts(source, target, share, target_share)
    found: list[MovedColumn] = []
    for j in np.argsort([-shift.effect for shift in shifts], kind="stable"):
        parts = cut_column(
            source.columns[j],
            target.columns[j],
            share,
            target_share,
            most=PARTS_A_COLUMN,
            half=1.0,
        )
        if np.unique(parts.target).size > 1:
            shift = shifts[j]
            found.append(MovedColumn(shift.name, shift.kind, shift.effect, parts))
        if len(found) == COLUMNS_SLICED:
            break
    return found


def _tables(samples: SamplesAsRead) -> tuple[Table, Table] | None:
    """Return both samples by columns, frames of sparse columns too."""
    if samples.tables is not None or samples.given is None:
        return samples.tables
    X, X_target = samples.given
    if any(map(sparse.issparse, (X, *target_pieces(X_target).values()))):
        return None
    return two_tables(X, X_target)


def _as_read(table: Table, rows: Indices) -> Table:
    """Return some rows as if read alone: a column without a value holds nothing."""
    if rows.size == len(table):
        return table
    taken = table.take(rows)
    columns = (
        TableColumn(c.label, NOTHING, np.full(rows.size, np.nan))
        if c.missing.all()
        else c
        for c in taken.columns
    )
    return Table(tuple(columns), taken.named)


def some_of(pieces: Mapping[str, Any], rows: Indices) -> tuple[Any, ...]:
    """Return some rows of tables that are counted one after another."""
    found, first = [], 0
    for piece in pieces.values():
        last = first + n_rows(piece)
        inside = rows[(rows >= first) & (rows < last)] - first
        if inside.size:
            found.append(rows_of(piece, inside))
        first = last
    return tuple(found)


# -----------------------------------------------------------------------------
# What a fitted model would have said of rows not fitted to, and their ratio.
# -----------------------------------------------------------------------------


def out_of_fold_answers(
    model: Any,
    X: Any,
    y: NDArray[Any],
    counts: Array,
    cv: Any,
    groups: Any,
    *,
    classifier: bool,
    seed: int,
    methods: Sequence[str] | None = None,
) -> Answers:
    """Return what copies of the model, fitted without a fold, say of the fold.

    An `Adapted` is fitted again as it was: with the weights that it had, and by drawing
    rows where it draws them, of a budget its share. It may be the last step of a
    pipeline, whose transformers stay as they are, or what a search has found.

    Parameters
    ----------
    model : fitted predictor
    X, y : table of shape (n, d), array of shape (n,)
        Of an `Adapted` the rows of its fit, in their order.
    counts : array of shape (n,)
        The user's own weights.
    cv, groups, classifier, seed
        See `folds_of`.
    methods : sequence of str or None
        See `Answers.of`.
    """
    model, X = adapted_within(model, X)
    if isinstance(model, Adapted) and len(model.weights_) != counts.size:
        raise InvalidInputError(
            f"X has {counts.size} rows, the model was fitted to "
            f"{len(model.weights_)}: with cv they must be the same rows"
        )
    parts, places = [], []
    folds = folds_of(cv, X, y, groups, is_classifier=classifier, seed=seed)
    for kept, out in folds:
        fitted = _fitted_to(model, X, y, counts, kept, seed)
        parts.append(Answers.of(fitted, [rows_of(X, out)], classifier, methods))
        places.append(out)
        advance(len(places), len(folds))
    if not np.array_equal(np.sort(np.concatenate(places)), np.arange(counts.size)):
        raise InvalidInputError("cv must hold out every row exactly once")
    return joined_answers(parts, places)


def adapted_within(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the fitted `Adapted` at the end of pipelines and searches, and its rows.

    A model without one comes back as it is. One that is made around an `Adapted` in
    another way is refused: a copy of it would be fitted without a target.
    """
    if not ends_in_adapted(model):
        inside: dict[str, Any] = getattr(model, "get_params", dict)()
        if any(isinstance(one, Adapted) for one in inside.values()):
            raise InvalidTypeError(
                f"{type(model).__name__} around an Adapted cannot be fitted again "
                "without a fold, having no target: leave cv=None and give rows that "
                "the model was not fitted to"
            )
        return model, X
    while not isinstance(model, Adapted):
        if isinstance(model, Pipeline):
            if len(model.steps) > 1:
                X = model[:-1].transform(X)
            model = model.steps[-1][1]
        else:
            model = model.best_estimator_
    return model, X


def ratio_of_model(model: Any, X: Any, *, refitted: bool) -> Array:
    """Return the density ratio by which an `Adapted` was fitted, at source rows.

    Parameters
    ----------
    model : fitted `Adapted`, or a pipeline or search that ends in one
    X : table of shape (n, d)
    refitted : bool
        Whether these are the very rows of its fit.
    """
    inner, X = adapted_within(model, X)
    if getattr(inner, "weight_estimator_", None) is None:
        raise InvalidTypeError(
            'weight_estimator="model" needs an Adapted that has weights, got '
            f"{type(inner).__name__}"
        )
    check_is_ratio(inner.weight_estimator_)
    ratio: Array = (
        inner.weight_estimator_.weights_ if refitted else inner.predict_weights(X)
    )
    return ratio


def check_is_ratio(weight_estimator: Any) -> None:
    """Refuse a weight estimator whose weights are no density ratio, as estimates need "
    "one."""
    if not getattr(weight_estimator, "weights_are_a_ratio", True):
        raise InvalidTypeError(
            f"the weights of {type(weight_estimator).__name__} are no density ratio, "
            f"which "
            'estimates of performance need: take weight_estimator="auto"'
        )


def ends_in_adapted(model: Any) -> bool:
    """Tell whether a model, a pipeline's last step or a search's best is `Adapted`."""
    if isinstance(model, Pipeline):
        return ends_in_adapted(model.steps[-1][1])
    found = getattr(model, "best_estimator_", None)
    return isinstance(model, Adapted) if found is None else ends_in_adapted(found)


def _fitted_to(
    model: Any, X: Any, y: NDArray[Any], counts: Array, kept: Indices, seed: int
) -> Any:
    """Return a copy of the model, fitted to some of the rows."""
    some, labels = rows_of(X, kept), y[kept]
    plain = bool(np.all(counts == counts[0]))
    if not isinstance(model, Adapted):
        return fit_weighted(model, some, labels, None if plain else counts[kept])
    weights = (counts * model.weights_)[kept]
    max_samples = model.max_samples
    if max_samples is not None:
        max_samples = ceil(max_samples * kept.size / counts.size)
    asked = not plain or model.adapted_ or max_samples is not None
    known = (model._fold_models or {}).get(kept.tobytes())
    if known is not None and not asked:
        return known
    return fit_weighted(
        model.estimator_,
        some,
        labels,
        weights if asked else None,
        resample=model.resample,
        max_samples=max_samples,
        seed=seed,
    )


def ratio_at_rows(
    model: Any,
    samples: SamplesAsRead,
    looked_at: SamplesAsRead,
    some: Indices,
    weight_estimator: Any,
    seed: int,
) -> Array:
    """Return the density ratio at all source rows, learned from some.

    Whether the samples overlap was asked before, of the two tables.
    """
    if isinstance(weight_estimator, str) and weight_estimator == "auto":
        weight_estimator = AutoWeights(allow_no_overlap=True, random_state=seed)
        known = _known_ratio(model, looked_at, weight_estimator)
        if known is not None:
            return known
    elif not hasattr(weight_estimator, "predict_weights"):
        raise InvalidTypeError(
            f'weight_estimator must be "auto", "model" or a weight estimator, got '
            f"{weight_estimator!r}"
        )
    check_is_ratio(weight_estimator)
    # What is thinly covered is in the record.
    with held_back(PartialOverlapWarning):
        fitted = fit_weight_estimator(clone(weight_estimator), looked_at)
    ratio = np.empty(samples.source.shape[0])
    ratio[some] = fitted.weights_
    others = np.setdiff1d(np.arange(ratio.size), some)
    if others.size:
        ratio[others] = fitted.predict_weights(samples.source[others])
    return ratio


def _known_ratio(
    model: Any, samples: SamplesAsRead, weight_estimator: Any
) -> Array | None:
    """Return the ratio of a model that this weight estimator was fitted with, if any.

    The same method, seed and rows give the same weights: they are not sought again.
    """
    fitted = getattr(model, "weight_estimator_", None)
    if type(fitted) is not AutoWeights or fitted.rows_of_fit is not samples.counted:
        return None
    # A copy: the model's own weights are not for others to write to.
    same = fitted.get_params() == weight_estimator.get_params()
    return fitted.weights_.copy() if same else None


# -----------------------------------------------------------------------------
# How large the intervals and sets of a fitted model are on the target.
# -----------------------------------------------------------------------------


# What `predict_interval` and `predict_set` promise by default.
LEVEL = 0.9


def target_sets(
    model: Any, pieces: Sequence[Any], labels: Any, level: float = LEVEL
) -> dict[str, Any] | None:
    """Return the sizes of intervals or sets; None for a model without a calibration.

    Parameters
    ----------
    model : fitted predictor
        An `Adapted`, or a pipeline or search that ends in one.
    pieces : sequence of tables
        Target rows.
    labels : array of shape (n,)
        Of source rows, to compare the width of intervals with.
    level : float
    """
    if not ends_in_adapted(model):
        return None
    inside = [adapted_within(model, piece) for piece in pieces]
    inner = inside[0][0]
    if getattr(inner, "calibration_", None) is None:
        return None
    if is_classifier(inner.estimator_):
        sets = [one.predict_set(rows, level) for one, rows in inside]
        return set_sizes(np.concatenate(sets), level)
    intervals = [one.predict_interval(rows, level) for one, rows in inside]
    return interval_sizes(np.concatenate(intervals), labels, level)


# -----------------------------------------------------------------------------
# How good a model is where nobody has labels yet.
# -----------------------------------------------------------------------------


_FEW_EFFECTIVE = 50


def estimate_performance(
    model: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    metrics: Any = None,
    level: float = 0.95,
    X_lab: Any = None,
    y_lab: Any = None,
    sample_weight: Any = None,
    weight_estimator: Any = "auto",
    cv: Any = None,
    groups: Any = None,
    precision: float = 0.2,
    random_state: Any = None,
) -> Performance:
    r"""Return how good the model is on the target, without the target's labels.

    With losses :math:`L_i` of labelled source rows that the model was not fitted to,
    their weights :math:`w_i` (the density ratio target/source), target rows
    :math:`t_j`, and a regression :math:`g` of the loss on the row and the prediction:

    ==============  ==================================================================
    source          :math:`\mathrm{mean}\, L`: what everybody reports
    weighted        :math:`\sum w L / \sum w`
    direct          :math:`\mathrm{mean}_j\, g(t_j)`
    doubly_robust   :math:`\mathrm{mean}_j\, g(t_j) + \sum \bar w (L - g)/\sum \bar w`,
                    :math:`\bar w` cut at its 99 % quantile: right if w or g is
    confidence      the mean of what the classifier's own probabilities, recalibrated
                    on weighted rows, promise at the target rows
    labelled        :math:`\mathrm{mean}_j\, g(t_j) + \mathrm{mean}_l (L_l - g(t_l))`
                    over the rows of `X_lab`; together with the doubly robust estimate
                    unless the two contradict one another (`.check`)
    ==============  ==================================================================

    Parameters
    ----------
    model : fitted predictor
        An `Adapted`, a pipeline around one, or anything that predicts.
    X, y : table of shape (n, d), array of shape (n,)
        Labelled source rows that the model was not fitted to; with `cv` they may be
        those of its fit. Of tables in blocks (`engine.Blocks`) 10,000 rows each are
        drawn, by the seed of a model that was fitted to blocks those that it was
        decided on; y may be the name of a column.
    X_target : table of shape (m, d), or a tuple of such
        Rows from where the model is to work.
    metrics : str, callable, sequence of them, or None
        See `as_metric`. None: log-loss, error rate or squared error.
    level : float
        Of the intervals.
    X_lab, y_lab : table of shape (k, d), array of shape (k,)
        A few labelled target rows, drawn by chance. They sharpen the estimate and tell
        whether p(y | x) has changed.
    sample_weight : array of shape (n,)
        What the source rows count in every mean, apart from the weights.
    weight estimator : "auto", "model" or weight estimator
        "auto": `AutoWeights`, fitted to `X` and `X_target`. "model": the weights of a
        fitted `Adapted`, whose target must then have been `X_target`.
    cv : None, int, "blocks" or splitter
        None: the model is asked as it is. Else it is fitted again without each fold,
        with the weights that it had, and asked about the fold; an `Adapted` must have
        been fitted to the rows of `X`, in this order, draws rows where it drew them,
        and may be the end of a pipeline, whose transformers stay as they are, or what
        a search has found.
    groups : array of shape (n,)
        Rows of one group are held out together, and may be alike: errors of means are
        those of groups, drawn by chance as a whole.
    precision : float
        A width of the first metric's interval, as a share of its value: `.labels` says
        how many labelled target rows would make it so narrow.
    random_state : int, RandomState or None
        Seed of folds, subsamples, weights and resamples.

    Returns
    -------
    Performance

    Notes
    -----
    All but the estimate from labelled rows assume that p(y | x) has not changed, which
    inputs cannot tell, and nothing is known where the source has no rows: therefore the
    estimates for the covered part of the target (`.covered`), and none at all without
    overlap. Weights and :math:`g` are learned from at most 5,000 rows of each sample,
    and the estimates for the covered part are made of those rows alone.
    The estimate to go by (`.best`) is that of labelled rows, or the doubly robust one,
    or the weighted one where its estimated error is less than half, or (but not of AUC,
    F1 and their like) the direct one where it is less and one row makes nearly all of
    the doubly robust one's: `estimating.errors.Errors.least`. AUC, F1,
    Jaccard's index, precision and recall of two classes have them all, to the first
    order (`linearised`); other metrics that are no means over rows (R2,
    those of several classes) have no direct and no doubly robust estimate. How the
    intervals are made: `evaluation.estimates.mean_estimates`.

    References
    ----------
    Shimodaira (2000) on weighted losses; Robins, Rotnitzky and Zhao (1994) on double
    robustness; Angelopoulos et al. (2023) on predictions with few labels.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> a, b = (make_gaussian_shift(2, random_state=seed) for seed in (0, 1))
    >>> model = LinearRegression().fit(a.X, a.y)
    >>> found = estimate_performance(model, b.X, b.y, b.X_target, random_state=0)
    >>> truth = ((model.predict(b.X_target) - b.y_target) ** 2).mean()
    >>> bool(found.doubly_robust.low < truth < found.doubly_robust.high)
    True
    """
    check_number("level", level, low=0.0, high=1.0, closed="neither")
    check_number("precision", precision, low=0.0, closed="neither")
    seed = as_seed(random_state)
    if isinstance(X, Blocks) or isinstance(X_target, Blocks):
        refuse_beside_blocks(sample_weight=sample_weight, groups=groups)
        X, y, X_target = rows_to_judge_by(model, X, y, X_target, seed)
    n = n_rows(X)
    counts = row_counts(sample_weight, n)
    classifier = is_classifier(model, y)
    labels = labels_of(y, n, classifier, "y")
    is_read = isinstance(X_target, SamplesAsRead)
    pieces = target_pieces(X_target.given[1] if is_read else X_target)
    wanted = [as_metric(one, model, labels) for one in several(metrics)]
    asked = methods_asked(wanted, model, classifier)
    if cv is None:
        _warn_if_fitted_to(model, X)
        answers = Answers.of(model, [X], classifier, asked)
    else:
        answers = out_of_fold_answers(
            model, X, labels, counts, cv, groups,
            classifier=classifier, seed=seed, methods=asked,
        )  # fmt: skip
    answers_target = Answers.of(model, list(pieces.values()), classifier, asked)
    labelled = labelled_rows(model, X, X_lab, y_lab, classifier, asked)
    if is_read:
        samples: SamplesAsRead = X_target
    else:
        samples = SamplesAsRead.read(X, tuple(pieces.values()))
    if not np.array_equal(samples.source_weight, counts):
        samples = replace(samples, source_weight=counts)
    numbers, lab, names = as_numbers(samples, X_lab, counts)
    rows = Rows(
        answers,
        labels,
        counts,
        answers_target,
        labelled,
        numbers.source,
        numbers.target,
        lab,
        group_numbers(groups, n),
        names,
    )
    some, aims = (some_rows(len(z.rows), seed) for z in (answers, answers_target))
    looked_at = weighed_rows(numbers, some, aims)
    # What is covered is a matter of the two tables alone, and one number.
    seen = overlap_between(samples, seed)
    try:
        if seen.verdict == NO_OVERLAP:
            raise NoOverlapError(
                seen.uncovered_fraction, "uncovered_fraction", seen.auc
            )
        if isinstance(weight_estimator, str) and weight_estimator == "model":
            ratio = ratio_of_model(model, X, refitted=cv is not None)
        else:
            ratio = ratio_at_rows(
                model, numbers, looked_at, some, weight_estimator, seed
            )
    except NoOverlapError as error:
        found = _without_overlap(rows, wanted, error, level, seed)
    else:
        moved = moved_columns(samples, counts, some, aims)
        found = _with_overlap(
            rows, wanted, seen, some, aims, ratio, moved, level, precision, seed
        )
    return replace(found, sets=target_sets(model, some_of(pieces, aims), labels))


def _warn_if_fitted_to(model: Any, X: Any) -> None:
    """Warn where an `Adapted` is judged by the rows of its own fit."""
    if ends_in_adapted(model):
        inner, X = adapted_within(model, X)
        fitted = getattr(inner, "_row_marks_", None)
        if fitted is not None:
            warn_if_fitted_to(row_marks(encoded(inner.encoder_, X)), fitted)


def _with_overlap(
    rows: Rows,
    metrics: Sequence[Metric],
    seen: Overlap,
    some: Indices,
    aims: Indices,
    ratio: Array,
    moved: Sequence[MovedColumn],
    level: float,
    precision: float,
    seed: int,
) -> Performance:
    n, m = ratio.size, len(rows.answers_target.rows)
    inside = seen.rows[seen.scores <= seen.threshold]
    # A hole's rim belongs to neither part: what is missed of it would be judged.
    left = ~(seen.is_outside_support | seen.near_hole)
    aims_inside = seen.rows_target[left]
    whole, covered, slices, labels = {}, {}, None, None
    changes = label_changes(rows, ratio, some, seed)
    for metric in metrics:
        judge = Judge(rows, metric, ratio, level, seed, changes)
        model = judge.loss_model(some)
        found = judge.performance(model, np.arange(n), np.arange(m))
        baseline = baseline_of(judge, some, found)
        whole[metric.name] = replace(found, baseline=baseline)
        if metric is metrics[0]:
            labels = labels_wanted(judge, model, found, precision)
        if inside.size and aims_inside.size:
            covered[metric.name] = judge.performance(
                model, inside, aims_inside, with_labelled=False, of_these_rows=True
            )
        of_rows = metric.by_row is not None
        if metric is metrics[0] and model is not None and of_rows and moved:
            evidence = judge.evidence(model).take(some, aims)
            slices = loss_by_slice(metric, evidence, moved, level)
    effective = effective_sample_size(rows.counts * ratio)
    return Performance(
        metrics=whole,
        # Of no rows nothing is estimated.
        covered=None
        if not covered
        else CoveredPart(
            share=1.0 - seen.uncovered_fraction
            if not seen.holes.balls
            else float(left.mean()),
            # Of the rows that were drawn to be scored; they stand for all.
            effective_rows=effective_sample_size((rows.counts * ratio)[inside])
            * (n / seen.rows.size),
            metrics=covered,
        ),
        level=level,
        uncovered_fraction=seen.uncovered_fraction,
        verdict=seen.verdict,
        n_source=n,
        n_target=m,
        effective_rows=effective,
        statement=_statement(n, m, effective, seen.uncovered_fraction),
        calibration=reliability_of(rows.answers, rows.labels, rows.counts * ratio),
        slices=slices,
        labels=labels,
    )


def _without_overlap(
    rows: Rows,
    metrics: Sequence[Metric],
    error: NoOverlapError,
    level: float,
    seed: int,
) -> Performance:
    n, m = len(rows.answers.rows), len(rows.answers_target.rows)
    reason = "the source does not cover the target"
    reasons = dict.fromkeys(
        ("weighted", "direct", "doubly_robust", "confidence"), reason
    )
    found = {}
    for metric in metrics:
        labelled = None
        if rows.labelled is not None:
            labelled = as_they_are(
                metric, "labelled", *rows.labelled, None, level, seed
            )
        source = as_they_are(
            metric,
            "source",
            rows.answers,
            rows.labels,
            rows.counts,
            level,
            seed,
            rows.groups,
        )
        found[metric.name] = MetricPerformance(
            metric.name,
            metric.higher_is_better,
            source,
            labelled=labelled,
            reasons=reasons,
        )
    return Performance(
        metrics=found,
        covered=None,
        level=level,
        uncovered_fraction=error.share,
        verdict=NO_OVERLAP,
        n_source=n,
        n_target=m,
        effective_rows=None,
        statement=(
            f"{error.share:.1%} of the target rows lie where the source has next to no "
            "rows: how good the model is there cannot be told without labels. The "
            "source's own figure does not speak for the target"
        ),
    )


def _statement(n: int, m: int, effective: float, uncovered_fraction: float) -> str:
    told = (
        f"{n} labelled source rows, worth {effective:.0f} where the {m} target rows are"
    )
    if effective < _FEW_EFFECTIVE:
        told += ": few, so that the intervals are wide"
    told += f"; {uncovered_fraction:.1%} of the target is thinly covered by the source"
    if uncovered_fraction > UNCOVERED_ABOVE:
        told += ": the estimates for the whole target extrapolate there"
    return told
