"""`estimate_performance`: the expected score on unlabeled target data."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from counterpoise.adaptation.adapted import Adapted, row_marks, warn_if_fitted_to
from counterpoise.adaptation.out_of_core import (
    refuse_beside_blocks,
    rows_drawn_for_evaluation,
)
from counterpoise.adaptation.routing import (
    fit_weight_estimator,
    fit_weighted,
    rows_of,
)
from counterpoise.data.arrays import (
    Matrix,
    Regressor,
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
from counterpoise.data.samples import Samples
from counterpoise.data.table import NOTHING, Table, TableColumn, two_tables
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    NoOverlapError,
    PartialOverlapWarning,
    suppress_warnings,
)
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.performance.advice import constant_baseline, required_labels
from counterpoise.performance.conformal import interval_sizes, set_sizes
from counterpoise.performance.estimators import MovedColumn, loss_by_slice
from counterpoise.performance.intervals import folds_of, random_rows
from counterpoise.performance.metrics import (
    OF_PROBABILITIES,
    Metric,
    Predictions,
    as_metric,
    is_classifier,
    joined_predictions,
    reliability_of,
)
from counterpoise.performance.result import (
    CoveredPart,
    MetricEvaluator,
    MetricPerformance,
    Performance,
    Rows,
    label_changes,
    unweighted_estimate,
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
# Importance-weighted cross-validation, as a scorer.
# -----------------------------------------------------------------------------


class TargetScorer:
    """What `target_scorer` returns: called like any of scikit-learn's scorers."""

    def __init__(self, scoring: object = None) -> None:
        self.scoring = scoring

    def __call__(
        self,
        estimator: Any,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the score, the higher the better.

        Parameters
        ----------
        estimator : fitted `Adapted`, or a pipeline that ends with one
        X, y : held-out source rows and their labels
        sample_weight : array of shape (k,)
            What the rows count; it multiplies the density ratio.
        """
        last, rows = _last_step(estimator, X)
        if not hasattr(last, "predict_weights"):
            raise InvalidTypeError(
                f"target_scorer needs a fitted Adapted, got {type(last).__name__}"
            )
        weights = last.predict_weights(rows)
        weights = weights * row_counts(sample_weight, weights.size)
        metric = as_metric(self.scoring, estimator, y)
        value = metric.value(estimator, X, y, sample_weight=weights)
        return value if metric.higher_is_better else -value

    def __repr__(self) -> str:
        return f"target_scorer({self.scoring!r})"


def target_scorer(scoring: object = None) -> TargetScorer:
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


# -----------------------------------------------------------------------------
# The `Adapted` at the end of pipelines and searches.
# -----------------------------------------------------------------------------


def _last_step(model: Any, X: object) -> tuple[Any, Any]:
    """Return the last step of pipelines and searches, and the rows that it gets."""
    while True:
        if isinstance(model, Pipeline):
            if len(model.steps) > 1:
                X = model[:-1].transform(X)
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model, X


def ends_in_adapted(model: Any) -> bool:
    """Tell whether a model, a pipeline's last step or a search's best is `Adapted`."""
    if isinstance(model, Pipeline):
        return ends_in_adapted(model.steps[-1][1])
    found = getattr(model, "best_estimator_", None)
    return isinstance(model, Adapted) if found is None else ends_in_adapted(found)


def adapted_within(model: Any, X: object) -> tuple[Any, Any]:
    """Return the fitted `Adapted` at the end of pipelines and searches, and its rows.

    A model without one comes back as it is. One that is made around an `Adapted` in
    another way is refused: a copy of it would be fitted without a target.
    """
    if ends_in_adapted(model):
        return _last_step(model, X)
    inside: dict[str, Any] = getattr(model, "get_params", dict)()
    if any(isinstance(one, Adapted) for one in inside.values()):
        raise InvalidTypeError(
            f"{type(model).__name__} around an Adapted cannot be fitted again "
            "without a fold, having no target: leave cv=None and give rows that "
            "the model was not fitted to"
        )
    return model, X


# -----------------------------------------------------------------------------
# Input of `estimate_performance`.
# -----------------------------------------------------------------------------


# Rows of either sample that are weighted and that the loss model is fitted to.
ROWS_WEIGHED = 5_000
_FEW_EFFECTIVE = 50


def methods_asked(
    metrics: Sequence[Metric], model: object, classifier: bool
) -> tuple[str, ...] | None:
    """Return the methods of a model that its metrics need, None for all it has."""
    if not (classifier and hasattr(model, "predict_proba")):
        return None
    if any(metric.by_row is None for metric in metrics):
        return None
    if all(metric.name in OF_PROBABILITIES for metric in metrics):
        return ("predict_proba",)
    return ("predict", "predict_proba")


def some_rows(n: int, seed: int) -> Indices:
    """Return the places of all rows, or of 5,000 drawn at random."""
    return random_rows(n, ROWS_WEIGHED, np.random.default_rng(seed))


def _read_labels(
    y: ArrayLike, n: int, classifier: bool, name: str = "y"
) -> NDArray[Any]:
    """Return classes, or responses as numbers, one a row."""
    if classifier:
        return as_classes(y, n, name=name)
    return as_responses(y, n, multi_output=np.ndim(y) == 2, name=name)


def _read_metrics(metrics: Any, model: Regressor, y: NDArray[Any]) -> list[Metric]:
    """Return the metrics that were named, one or many; None is the default one."""
    if metrics is None or isinstance(metrics, str) or callable(metrics):
        metrics = [metrics]
    found = [as_metric(one, model, y) for one in metrics]
    if not found:
        raise InvalidInputError("scoring is empty: name one, or None for the usual one")
    return found


def _read_groups(groups: ArrayLike | None, n: int) -> Indices | None:
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


def _read_labeled(
    model: Regressor,
    X: object,
    X_target_labeled: object,
    y_target_labeled: ArrayLike | None,
    classifier: bool,
    methods: Sequence[str] | None,
) -> tuple[Predictions, NDArray[Any]] | None:
    """Return predictions of labeled target rows, and their labels, if any."""
    if X_target_labeled is None and y_target_labeled is None:
        return None
    if X_target_labeled is None or y_target_labeled is None:
        missing = "X_target_labeled" if X_target_labeled is None else "y_target_labeled"
        raise InvalidInputError(
            "X_target_labeled and y_target_labeled belong together, "
            f"{missing} is missing"
        )
    check_same_columns(X, X_target_labeled, name="X_target_labeled")
    k = n_rows(X_target_labeled)
    if k < 2:
        raise InvalidInputError(
            f"X_target_labeled has {k} row, at least 2 are needed for an interval"
        )
    answers = Predictions.of(model, [X_target_labeled], classifier, methods)
    return answers, _read_labels(y_target_labeled, k, classifier, "y_target_labeled")


def _encode(
    samples: Samples, X_target_labeled: object, counts: Array
) -> tuple[Samples, Matrix | None, Sequence[str] | None]:
    """Return both samples and labeled target rows, encoded alike, and their names."""
    if X_target_labeled is None:
        samples.refuse_huge(by_label=True)
        return samples, None, None
    if samples.tables is None or sparse.issparse(X_target_labeled):
        if samples.tables is not None and not samples.is_plain:
            assert samples.given is not None
            two_samples(*samples.given, accept_sparse=True)
        lab = two_samples(X_target_labeled, None, accept_sparse=True)[0]
        return samples, lab, samples.matrix_names
    # The encoder learns from the labeled rows too, which are target rows.
    source, target = samples.tables
    together = Samples.read(source, (target, X_target_labeled))
    together.refuse_huge(by_label=True)
    if samples.is_plain and together.is_plain:
        return samples, together.target[len(target) :], samples.matrix_names
    part = slice(len(target))
    numbers = Samples.of_matrices(together.source, together.target[part], counts)
    encoder = together.encoder
    names = together.matrix_names if encoder is None else encoder.names_
    return numbers, together.target[len(target) :], names


# -----------------------------------------------------------------------------
# Columns by which the target is sliced: those that changed most.
# -----------------------------------------------------------------------------


# Columns by which the target is sliced, and into how many parts each is cut.
COLUMNS_SLICED, PARTS_A_COLUMN = 3, 4


def moved_columns(
    samples: Samples,
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


def _tables(samples: Samples) -> tuple[Table, Table] | None:
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


def _rows_of_pieces(pieces: Mapping[str, Any], rows: Indices) -> tuple[Any, ...]:
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
# Predictions without a fold, and the density ratio.
# -----------------------------------------------------------------------------


def cross_val_predictions(
    model: Any,
    X: object,
    y: NDArray[Any],
    counts: Array,
    cv: object,
    groups: ArrayLike | None,
    *,
    classifier: bool,
    seed: int,
    methods: Sequence[str] | None = None,
) -> Predictions:
    """Return predictions of every row by a copy of the model fitted without its fold.

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
        See `Predictions.of`.
    """
    model, X = adapted_within(model, X)
    n, max_samples = counts.size, None
    weights = None if (counts == counts[0]).all() else counts
    how: dict[str, Any] = {}
    fold_models: dict[bytes, Any] = {}
    if isinstance(model, Adapted):
        if len(model.weights_) != n:
            raise InvalidInputError(
                f"X has {n} rows, the model was fitted to "
                f"{len(model.weights_)}: with cv they must be the same rows"
            )
        max_samples = model.max_samples
        if weights is not None or model.adapted_ or max_samples is not None:
            weights = counts * model.weights_
        else:
            fold_models = model._fold_models or {}
        how = {"resample": model.resample, "seed": seed}
        model = model.estimator_
    parts, places = [], []
    folds = folds_of(cv, X, y, groups, is_classifier=classifier, seed=seed)
    for kept, out in folds:
        fitted = fold_models.get(kept.tobytes())
        if fitted is None:
            if max_samples is not None:
                how["max_samples"] = ceil(max_samples * kept.size / n)
            fold_weights = None if weights is None else weights[kept]
            fitted = fit_weighted(model, rows_of(X, kept), y[kept], fold_weights, **how)
        parts.append(Predictions.of(fitted, [rows_of(X, out)], classifier, methods))
        places.append(out)
        advance(len(places), len(folds))
    if not np.array_equal(np.sort(np.concatenate(places)), np.arange(n)):
        raise InvalidInputError("cv must hold out every row exactly once")
    return joined_predictions(parts, places)


def check_is_ratio(weight_estimator: object) -> None:
    """Refuse a weight estimator whose weights are not a density ratio."""
    if not getattr(weight_estimator, "weights_are_a_ratio", True):
        raise InvalidTypeError(
            f"the weights of {type(weight_estimator).__name__} are no density ratio, "
            'which estimates of performance need: take weight_estimator="auto"'
        )


def _density_ratio(
    model: Any,
    X: object,
    numbers: Samples,
    overlap: Overlap,
    some: Indices,
    some_target: Indices,
    weight_estimator: object,
    *,
    refitted: bool,
    seed: int,
) -> Array:
    """Return the density ratio at all source rows; raise an error without overlap.

    It is that of the model, or estimated from some rows of both samples. `refitted`:
    whether the source rows are those of the model's fit.
    """
    if overlap.verdict == NO_OVERLAP:
        raise NoOverlapError(
            overlap.uncovered_fraction, "uncovered_fraction", overlap.auc
        )
    if isinstance(weight_estimator, str) and weight_estimator == "model":
        inner, X = adapted_within(model, X)
        fitted = getattr(inner, "weight_estimator_", None)
        if fitted is None:
            raise InvalidTypeError(
                'weight_estimator="model" needs an Adapted that has weights, got '
                f"{type(inner).__name__}"
            )
        check_is_ratio(fitted)
        return np.asarray(fitted.weights_ if refitted else inner.predict_weights(X))
    n, m = numbers.source_weight.size, numbers.target_weight.size
    part = numbers
    if (n, m) != (some.size, some_target.size):
        part = numbers.take(some, some_target)
        as_weights(part.source_weight, some.size)
    if isinstance(weight_estimator, str) and weight_estimator == "auto":
        weight_estimator = AutoWeights(allow_no_overlap=True, random_state=seed)
        # The same method, seed and rows give the same weights.
        if (
            isinstance(model, Adapted)
            and type(model.weight_estimator_) is AutoWeights
            and model.weight_estimator_.get_params() == weight_estimator.get_params()
            and _was_fitted_to(model, part)
        ):
            return np.array(model.weight_estimator_.weights_)
    elif not hasattr(weight_estimator, "predict_weights"):
        raise InvalidTypeError(
            f'weight_estimator must be "auto", "model" or a weight estimator, got '
            f"{weight_estimator!r}"
        )
    check_is_ratio(weight_estimator)
    # The result says what is not covered.
    with suppress_warnings(PartialOverlapWarning):
        fitted = fit_weight_estimator(clone(weight_estimator), part)
    ratio = np.empty(n)
    ratio[some] = fitted.weights_
    others = np.setdiff1d(np.arange(n), some)
    if others.size:
        ratio[others] = fitted.predict_weights(numbers.source[others])
    return ratio


def _was_fitted_to(model: Adapted, samples: Samples) -> bool:
    """Return whether the weights of a model are those of these rows, in this order."""
    rows, other = model.weight_estimator_.rows_of_fit, samples.counted
    if rows is None or samples.is_sparse or rows is other:
        return rows is other
    marks = model._row_marks_
    return (
        marks is not None
        and np.array_equal(marks, row_marks(samples.source))
        and all(
            np.array_equal(getattr(rows, field.name), getattr(other, field.name))
            for field in fields(rows)
        )
    )


# -----------------------------------------------------------------------------
# Performance on the target without its labels.
# -----------------------------------------------------------------------------


# The level of `predict_interval` and `predict_set` by default.
LEVEL = 0.9


def estimate_performance(
    model: Any,
    X: object,
    y: Any,
    X_target: object,
    *,
    scoring: object = None,
    confidence_level: float = 0.95,
    X_target_labeled: object = None,
    y_target_labeled: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_estimator: object = "auto",
    cv: object = None,
    groups: ArrayLike | None = None,
    precision: float = 0.2,
    random_state: int | np.random.RandomState | None = None,
) -> Performance:
    r"""Return how good the model is on the target, without the target's labels.

    With losses :math:`L_i` of labeled source rows that the model was not fitted to,
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
    labeled        :math:`\mathrm{mean}_j\, g(t_j) + \mathrm{mean}_l (L_l - g(t_l))`
                    over the rows of `X_target_labeled`; together with the doubly
                    robust estimate unless the two contradict one another (`.check`)
    ==============  ==================================================================

    Parameters
    ----------
    model : fitted predictor
        An `Adapted`, a pipeline around one, or anything that predicts.
    X, y : table of shape (n, d), array of shape (n,)
        Labeled source rows that the model was not fitted to; with `cv` those of its
        fit. Of `engine.Blocks` 10,000 rows are drawn, and y may name a column.
    X_target : table of shape (m, d), or a tuple of such
        Rows from where the model is to work.
    scoring : str, callable, sequence of them, or None
        See `as_metric`. None: log-loss, error rate or squared error.
    confidence_level : float
        Of the intervals.
    X_target_labeled, y_target_labeled : table of shape (k, d), array of shape (k,)
        Labeled target rows, drawn at random.
    sample_weight : array of shape (n,)
        What the source rows count, apart from the weights.
    weight_estimator : "auto", "model" or weight estimator
        "auto": `AutoWeights`. "model": the weights of a fitted `Adapted`, whose target
        must then have been `X_target`.
    cv : None, int, "blocks" or splitter
        Folds without which the model is fitted again, with the weights that it had.
    groups : array of shape (n,)
        Rows of one group are held out together, and may be alike.
    precision : float
        Width of the first metric's interval, as a share of its value, for `.labels`.
    random_state : int, RandomState or None
        Seed of folds, subsamples, weights and resamples.

    Returns
    -------
    Performance
        `.best` is the estimate to use, see `MetricPerformance`.

    Notes
    -----
    All but the estimate from labeled rows assume no concept drift, and nothing is
    known outside the source support: see `.covered`. Weights and :math:`g` are fitted
    to at most 5,000 rows of each sample. Metrics that are not means over rows have no
    direct and no doubly robust estimate, except AUC, F1 and their like of two classes.

    References
    ----------
    Shimodaira (2000); Robins, Rotnitzky and Zhao (1994); Angelopoulos et al. (2023).

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
    check_number(
        "confidence_level", confidence_level, low=0.0, high=1.0, closed="neither"
    )
    check_number("precision", precision, low=0.0, closed="neither")
    seed = as_seed(random_state)
    if isinstance(X, Blocks) or isinstance(X_target, Blocks):
        refuse_beside_blocks(sample_weight=sample_weight, groups=groups)
        X, y, X_target = rows_drawn_for_evaluation(model, X, y, X_target, seed)
    counts = row_counts(sample_weight, n_rows(X))
    rows, samples, numbers, pieces, wanted = _predicted_rows(
        model,
        X,
        y,
        X_target,
        scoring,
        X_target_labeled,
        y_target_labeled,
        counts,
        cv,
        groups,
        seed,
    )
    some = some_rows(counts.size, seed)
    some_target = some_rows(len(rows.answers_target.rows), seed)
    overlap = overlap_between(samples, seed)
    try:
        ratio = _density_ratio(
            model, X, numbers, overlap, some, some_target,
            weight_estimator, refitted=cv is not None, seed=seed,
        )  # fmt: skip
    except NoOverlapError as error:
        found = _without_overlap(rows, wanted, error.share, confidence_level, seed)
    else:
        moved = moved_columns(samples, counts, some, some_target)
        found = _with_overlap(
            rows,
            wanted,
            overlap,
            some,
            some_target,
            ratio,
            moved,
            confidence_level,
            precision,
            seed,
        )
    sets = target_sets(model, _rows_of_pieces(pieces, some_target), rows.labels)
    return replace(found, sets=sets)


def _predicted_rows(
    model: Any,
    X: object,
    y: ArrayLike,
    X_target: object,
    metrics: object,
    X_target_labeled: object,
    y_target_labeled: ArrayLike | None,
    counts: Array,
    cv: object,
    groups: ArrayLike | None,
    seed: int,
) -> tuple[Rows, Samples, Samples, Mapping[str, Any], list[Metric]]:
    """Return the rows with predictions, both samples as read and encoded, the target's
    pieces, and the metrics."""
    n, classifier = counts.size, is_classifier(model, y)
    labels = _read_labels(y, n, classifier)
    samples = X_target if isinstance(X_target, Samples) else None
    if samples is not None:
        assert samples.given is not None
        X_target = samples.given[1]
    pieces = target_pieces(X_target)
    wanted = _read_metrics(metrics, model, labels)
    methods = methods_asked(wanted, model, classifier)
    if cv is None:
        _warn_if_fitted_to(model, X)
        answers = Predictions.of(model, [X], classifier, methods)
    else:
        answers = cross_val_predictions(
            model, X, labels, counts, cv, groups,
            classifier=classifier, seed=seed, methods=methods,
        )  # fmt: skip
    answers_target = Predictions.of(model, list(pieces.values()), classifier, methods)
    labeled = _read_labeled(
        model, X, X_target_labeled, y_target_labeled, classifier, methods
    )
    if samples is None:
        samples = Samples.read(X, tuple(pieces.values()))
    if not np.array_equal(samples.source_weight, counts):
        samples = replace(samples, source_weight=counts)
    numbers, lab, names = _encode(samples, X_target_labeled, counts)
    rows = Rows(
        answers,
        labels,
        counts,
        answers_target,
        labeled,
        numbers.source,
        numbers.target,
        lab,
        _read_groups(groups, n),
        names,
    )
    return rows, samples, numbers, pieces, wanted


def _warn_if_fitted_to(model: Any, X: object) -> None:
    """Warn where an `Adapted` is judged by the rows of its own fit."""
    if ends_in_adapted(model):
        inner, X = adapted_within(model, X)
        fitted = getattr(inner, "_row_marks_", None)
        if fitted is not None:
            warn_if_fitted_to(row_marks(encoded(inner.encoder_, X)), fitted)


def _with_overlap(
    rows: Rows,
    metrics: Sequence[Metric],
    overlap: Overlap,
    some: Indices,
    some_target: Indices,
    ratio: Array,
    moved: Sequence[MovedColumn],
    level: float,
    precision: float,
    seed: int,
) -> Performance:
    n, m = ratio.size, len(rows.answers_target.rows)
    inside = overlap.rows[overlap.scores <= overlap.threshold]
    # A hole's rim belongs to neither part: what is missed of it would be judged.
    left = ~(overlap.is_outside_support | overlap.near_hole)
    target_inside = overlap.rows_target[left]
    whole, covered, slices, labels = {}, {}, None, None
    changes = label_changes(rows, ratio, some, seed)
    for metric in metrics:
        judge = MetricEvaluator(rows, metric, ratio, level, seed, changes)
        model = judge.loss_model(some)
        found = judge.performance(model, np.arange(n), np.arange(m))
        baseline = constant_baseline(judge, some, found)
        whole[metric.name] = replace(found, baseline=baseline)
        if metric is metrics[0]:
            labels = required_labels(judge, model, found, precision)
        if inside.size and target_inside.size:
            covered[metric.name] = judge.performance(
                model, inside, target_inside, with_labeled=False, of_these_rows=True
            )
        of_rows = metric.by_row is not None
        if metric is metrics[0] and model is not None and of_rows and moved:
            evidence = judge.evidence(model).take(some, some_target)
            slices = loss_by_slice(metric, evidence, moved, level)
    effective = effective_sample_size(rows.counts * ratio)
    return Performance(
        metrics=whole,
        # Of no rows nothing is estimated.
        covered=None
        if not covered
        else CoveredPart(
            share=1.0 - overlap.uncovered_fraction
            if not overlap.holes.balls
            else float(left.mean()),
            # Of the rows that were drawn to be scored; they stand for all.
            effective_rows=effective_sample_size((rows.counts * ratio)[inside])
            * (n / overlap.rows.size),
            metrics=covered,
        ),
        level=level,
        uncovered_fraction=overlap.uncovered_fraction,
        verdict=overlap.verdict,
        n_source=n,
        n_target=m,
        effective_rows=effective,
        statement=_statement(n, m, effective, overlap.uncovered_fraction),
        calibration=reliability_of(rows.answers, rows.labels, rows.counts * ratio),
        slices=slices,
        labels=labels,
    )


def _without_overlap(
    rows: Rows,
    metrics: Sequence[Metric],
    uncovered_fraction: float,
    level: float,
    seed: int,
) -> Performance:
    reasons = dict.fromkeys(
        ("weighted", "direct", "doubly_robust", "confidence"),
        "the source does not cover the target",
    )
    found = {
        metric.name: MetricPerformance(
            metric.name,
            metric.higher_is_better,
            unweighted_estimate(
                metric,
                "source",
                rows.answers,
                rows.labels,
                rows.counts,
                level,
                seed,
                rows.groups,
            ),
            labeled=None
            if rows.labeled is None
            else unweighted_estimate(
                metric, "labeled", *rows.labeled, None, level, seed
            ),
            reasons=reasons,
        )
        for metric in metrics
    }
    return Performance(
        metrics=found,
        covered=None,
        level=level,
        uncovered_fraction=uncovered_fraction,
        verdict=NO_OVERLAP,
        n_source=len(rows.answers.rows),
        n_target=len(rows.answers_target.rows),
        effective_rows=None,
        statement=(
            f"{uncovered_fraction:.1%} of the target rows lie where the source has "
            "next to no rows: how good the model is there cannot be told without "
            "labels. The source's own figure does not speak for the target"
        ),
    )


def _statement(n: int, m: int, effective: float, uncovered_fraction: float) -> str:
    statement = (
        f"{n} labeled source rows, worth {effective:.0f} where the {m} target rows are"
    )
    if effective < _FEW_EFFECTIVE:
        statement += ": few, so that the intervals are wide"
    statement += (
        f"; {uncovered_fraction:.1%} of the target is thinly covered by the source"
    )
    if uncovered_fraction > UNCOVERED_ABOVE:
        statement += ": the estimates for the whole target extrapolate there"
    return statement


def target_sets(
    model: Any, pieces: Sequence[Any], labels: ArrayLike, level: float = LEVEL
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
