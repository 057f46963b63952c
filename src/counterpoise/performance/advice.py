"""Comparison with the constant baseline, and how many labels are needed."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from counterpoise.data.columns import weighted_quantile
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.messages import HINT, INFO, Finding
from counterpoise.performance.estimators import Estimate, has_ends
from counterpoise.performance.intervals import (
    effective_rows,
    least_error,
    student_quantile,
)
from counterpoise.performance.metrics import (
    ClassifierPredictions,
    Labels,
    Metric,
    Predictions,
    RegressorPredictions,
)
from counterpoise.performance.result import (
    LossFit,
    MetricEvaluator,
    MetricPerformance,
    Rows,
)

# -----------------------------------------------------------------------------
# The best constant prediction on the target, and whether a model beats it.
# -----------------------------------------------------------------------------


BEATS_GUESSING = "better than guessing"
NOT_SHOWN_TO_BEAT = "not shown to be better than guessing"
WORSE_THAN_GUESSING = "worse than guessing"

# Which number is best where nothing is known of the row, by the metric; else the mean.
_OF_MEDIANS = frozenset({"neg_mean_absolute_error"})
_OF_RELATIVE_MEDIANS = frozenset({"neg_mean_absolute_percentage_error"})
_OF_LOGARITHMS = frozenset(
    {"neg_mean_squared_log_error", "neg_root_mean_squared_log_error"}
)
# Scores that are no means over rows, of which a constant's is that of guessing.
_OF_GUESSING = (
    "roc_auc",
    "average_precision",
    "balanced_accuracy",
    "matthews_corrcoef",
    "r2",
    "explained_variance",
    "d2_",
)
_SQUARED_ERROR = "neg_mean_squared_error"
# Rows of each sample by which model and constant are compared, row by row.
ROWS_PAIRED = 20_000
# Folds by which a row is guessed without its own label.
GUESSING_FOLDS = 5


@dataclass(frozen=True)
class Baseline:
    """A model beside the best prediction that does not look at the row.

    Attributes
    ----------
    prediction : str
        What is predicted of every row: "class shares", "commonest class", "mean" or
        "median", of the source rows weighted like the target.
    value : float
        The metric of that prediction on the target, by the estimate that leads.
    saved, saved_low, saved_high : float
        By how much the model is better on the target, row by row: positive where the
        model is, whether the metric is a loss or a score. Of the root of a mean, in
        its squares.
    skill : float or None
        Share of the baseline's loss that the model saves: 1 is perfect, 0 is no better
        than guessing. None where the baseline's loss is zero.
    verdict : str
        "better than guessing", "not shown to be better than guessing" or "worse than
        guessing", by the interval of `saved`.
    root, root_low, root_high : float or None
        Beside a mean squared error its root, in units of the label; its skill is R2.
    """

    prediction: str
    value: float
    saved: float
    saved_low: float
    saved_high: float
    skill: float | None
    verdict: str
    root: float | None = None
    root_low: float | None = None
    root_high: float | None = None

    def __str__(self) -> str:
        skill = "" if self.skill is None else f", skill {self.skill:.3g}"
        return f"{self.prediction} {self.value:.4g}{skill}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return asdict(self)


def constant_baseline(
    judge: MetricEvaluator, some: Indices, found: MetricPerformance
) -> Baseline | None:
    r"""Return the best constant prediction's metric beside the model's.

    With :math:`B_i` the loss of the constant at row i and :math:`L_i` the model's, the
    mean of :math:`B - L` on the target is estimated as the mean of :math:`L` is: by the
    same rows, weights and labeled target rows, with its own model of the difference,
    by the estimate that leads (`MetricPerformance.best`), of more than 20,000 rows of a
    sample by so many, drawn by chance. The constant's value is the
    model's and that together. Metrics that are no means over rows have no difference a
    row: the constant's value is that of the weighted rows, and the interval is the
    model's, less that; None for those of which a constant is no guess (F1, precision).

    The constant has seen the labels, and the model has not. By how much that flatters
    it is the mean by which its loss grows where a source row is guessed by the constant
    of the rows of the other four of five folds (`cross_fitted_constants`); the upper
    end of the interval is raised by it: "worse than guessing" is said of models that
    lose to a constant which has not seen the row either.

    Parameters
    ----------
    judge : Judge
        Of the metric.
    some : indices
        Source rows that teach the model of the difference.
    found : MetricPerformance
        The model's, for all rows.
    """
    best = found.best
    if best is None:
        return None
    metric, rows = judge.metric, judge.rows
    weights = rows.counts * judge.ratio
    constant = Constant.of(metric, rows.answers, rows.labels, weights)
    if metric.by_row is None:
        return _of_score(metric, best, constant, judge, weights)
    part, known = _some_rows(judge, some)
    saved_rows = _saved_rows(metric, part.rows, constant)
    paired = replace(part, metric=_SAVED, rows=saved_rows)
    whole = np.arange(part.ratio.size), np.arange(len(saved_rows.answers_target.rows))
    saved = paired.performance(paired.loss_model(known), *whole).best
    assert saved is not None
    high = saved.high + _flattered(judge, constant, weights)
    mean = best.value**2 if metric.root else best.value
    value = mean - saved.value if metric.higher_is_better else mean + saved.value
    value = float(np.clip(metric.of_mean(value), metric.lowest, metric.highest))
    roots: list[float | None] = [None] * 3
    if metric.name == _SQUARED_ERROR:
        roots = [float(np.sqrt(max(x, 0.0))) for x in (best.value, best.low, best.high)]
    return Baseline(
        constant.name,
        value,
        saved.value,
        saved.low,
        high,
        skill_of(metric, best.value, value),
        verdict_of(saved.low, high),
        *roots,
    )


def verdict_of(low: float, high: float) -> str:
    """Return what an interval of how much a model saves says of it.

    "Better than guessing" where all of it is above zero, "worse than guessing" where
    all of it is below, else "not shown to be better than guessing".

    Examples
    --------
    >>> verdict_of(0.1, 0.3), verdict_of(-0.1, 0.3), verdict_of(-0.3, -0.1)
    ('better than guessing', 'not shown to be better than guessing', \
'worse than guessing')
    """
    if low > 0:
        return BEATS_GUESSING
    return WORSE_THAN_GUESSING if high < 0 else NOT_SHOWN_TO_BEAT


def skill_of(metric: Metric, value: float, baseline: float) -> float | None:
    r"""Return the share of the baseline's loss that is saved.

    .. math:: 1 - \frac{L}{B}, \qquad \frac{S - S_B}{h - S_B}

    of losses, and of scores of which h is the highest; None where nothing can be saved.

    Examples
    --------
    >>> from counterpoise.performance.metrics import as_metric
    >>> skill_of(as_metric("neg_log_loss", None, None), 0.3, 0.6)
    0.5
    """
    if metric.higher_is_better:
        room, saved = metric.highest - baseline, value - baseline
    else:
        room, saved = baseline - max(metric.lowest, 0.0), baseline - value
    return float(saved / room) if 0 < room < np.inf else None


@dataclass(frozen=True, eq=False)
class Constant:
    """The best prediction that does not look at the row, under weights.

    Attributes
    ----------
    name : str
    prediction : label, number or array
        The commonest class; the best number, of each output.
    shares : array of shape (n_classes,) or None
        Of the classes, for classifiers.
    classes : array of shape (n_classes,) or None
    """

    name: str
    prediction: Any
    shares: Array | None = None
    classes: Labels | None = None

    @classmethod
    def of(
        cls,
        metric: Metric,
        answers: Predictions,
        y: Labels,
        weights: Array,
        classes: Labels | None = None,
    ) -> "Constant":
        """Return the best constant for a metric.

        Of classes their weighted shares, and the commonest; of numbers the weighted
        mean, for absolute errors the median (relative ones: with weights over the
        number's size), for squared logarithms the mean of the logarithm of one more.
        `classes`: all that there are, in order, where y may lack some; each counts half
        a row more then, as one that was not drawn is not impossible.
        """
        if answers.classes is not None:
            more = 0.0 if classes is None else 0.5 * weights.mean()
            if classes is None:
                classes = np.unique(y)
            place = np.searchsorted(classes, y)
            mass = np.bincount(place, weights, minlength=classes.size) + more
            shares = mass / mass.sum()
            predicts = "class shares"
            if metric.name in ("accuracy", "error_rate"):
                predicts = "commonest class"
            return cls(predicts, classes[np.argmax(shares)], shares, classes)
        if y.ndim == 2:
            each = [cls.of(metric, answers, one, weights) for one in y.T]
            return cls(each[0].name, np.array([one.prediction for one in each]))
        y = np.asarray(y, dtype=float)
        if metric.name in _OF_MEDIANS:
            middle = weighted_quantile(y, weights / weights.sum(), 0.5)
            return cls("median", float(middle))
        if metric.name in _OF_RELATIVE_MEDIANS:
            size = weights / np.maximum(np.abs(y), np.finfo(float).eps)
            return cls("median", float(weighted_quantile(y, size / size.sum(), 0.5)))
        if metric.name in _OF_LOGARITHMS:
            mean = float(np.average(np.log1p(y), weights=weights))
            return cls("mean", float(np.expm1(mean)))
        return cls("mean", float(np.average(y, weights=weights)))

    def answers(self, n: int) -> Predictions:
        """Return what it says of n rows."""
        if self.shares is None:
            said = np.broadcast_to(self.prediction, (n, *np.shape(self.prediction)))
            return RegressorPredictions({"predict": said})
        assert self.classes is not None
        # As wide as the widest name of a class, of which folds are put together.
        everywhere = {
            "predict": np.full(n, self.prediction, dtype=self.classes.dtype),
            "predict_proba": np.tile(self.shares, (n, 1)),
        }
        return ClassifierPredictions(everywhere, self.classes)


def cross_fitted_constants(
    metric: Metric,
    answers: Predictions,
    y: Labels,
    weights: Array,
    groups: Indices | None,
    seed: int,
) -> Predictions:
    """Return the constant of the rows of the other folds, for every row.

    Five folds drawn by chance, rows of a group in one. Where the others have no weight,
    the constant of all rows.

    Parameters
    ----------
    metric : Metric
    answers : Answers
        The model's, which tell numbers from classes.
    y : array of shape (n,) or (n, k)
    weights : array of shape (n,)
    groups : indices of shape (n,) or None
        From zero on.
    seed : int
    """
    units = np.arange(len(y)) if groups is None else groups
    drawn = np.random.default_rng(seed).permutation(int(units.max()) + 1)
    fold = drawn[units] % GUESSING_FOLDS
    classes = None if answers.classes is None else np.unique(y)
    said: dict[str, Labels] = {}
    for k in range(GUESSING_FOLDS):
        held_out, others = fold == k, fold != k
        if not weights[others].sum() > 0:
            others = np.ones(len(y), dtype=bool)
        one = Constant.of(metric, answers, y[others], weights[others], classes)
        for method, told in one.answers(int(held_out.sum())).said.items():
            if method not in said:
                said[method] = np.empty((len(y), *told.shape[1:]), told.dtype)
            said[method][held_out] = told
    if classes is None:
        return RegressorPredictions(said)
    return ClassifierPredictions(said, classes)


def _some_rows(
    judge: MetricEvaluator, some: Indices
) -> tuple[MetricEvaluator, Indices]:
    """Return what is known of at most 20,000 rows of each sample, `some` among them."""
    rows = judge.rows
    n, m = judge.ratio.size, len(rows.answers_target.rows)
    if max(n, m) <= ROWS_PAIRED:
        return judge, some
    rng = np.random.default_rng(judge.seed)
    more = rng.permutation(np.setdiff1d(np.arange(n), some))
    kept = np.sort(np.concatenate([some, more[: max(ROWS_PAIRED - some.size, 0)]]))
    aims = np.sort(rng.permutation(m)[:ROWS_PAIRED])
    part = replace(
        rows,
        answers=rows.answers.take(kept),
        labels=rows.labels[kept],
        counts=rows.counts[kept],
        source=rows.source[kept],
        groups=None if rows.groups is None else rows.groups[kept],
        answers_target=rows.answers_target.take(aims),
        target=rows.target[aims],
    )
    found = replace(judge, rows=part, ratio=judge.ratio[kept])
    return found, np.searchsorted(kept, some)


def _flattered(judge: MetricEvaluator, constant: Constant, weights: Array) -> float:
    """Return by how much a constant is better for having seen the labels."""
    metric, rows = judge.metric, judge.rows
    others = cross_fitted_constants(
        metric, rows.answers, rows.labels, weights, rows.groups, judge.seed
    )
    own = constant.answers(len(rows.labels))
    unseen, seen = (metric.rows(one, one.rows, rows.labels) for one in (others, own))
    grows = float(np.average(unseen - seen, weights=weights))
    return max(-grows if metric.higher_is_better else grows, 0.0)


def _saved_rows(metric: Metric, rows: Rows, constant: Constant) -> Rows:
    """Return the rows with what the model saves at each in place of its answers."""
    sign = 1.0 if metric.higher_is_better else -1.0

    def saved(answers: Predictions, y: Labels) -> RegressorPredictions:
        guessed = constant.answers(len(y))
        more = metric.rows(answers, answers.rows, y)
        less = metric.rows(guessed, guessed.rows, y)
        said = {"predict": answers.columns, "saved": sign * (more - less)}
        return RegressorPredictions(said)

    labeled = None
    if rows.labeled is not None:
        labeled = saved(*rows.labeled), rows.labeled[1]
    return replace(
        rows,
        answers=saved(rows.answers, rows.labels),
        answers_target=RegressorPredictions({"predict": rows.answers_target.columns}),
        labeled=labeled,
    )


_SAVED = Metric(
    "saved", True, True, False, lambda model, rows, y: model.said["saved"][rows], None
)


def _of_score(
    metric: Metric,
    best: Estimate,
    constant: Constant,
    judge: MetricEvaluator,
    weights: Array,
) -> Baseline | None:
    """Return the baseline of a metric that is no mean over rows."""
    # Of others, as F1, the best way to guess is no constant.
    if not metric.name.startswith(_OF_GUESSING):
        return None
    y = judge.rows.labels
    guessed = constant.answers(len(y))
    value = metric.value(guessed, guessed.rows, y, weights)
    ends = best.low - value, best.high - value
    low, high = ends if metric.higher_is_better else (-ends[1], -ends[0])
    saved = best.value - value if metric.higher_is_better else value - best.value
    return Baseline(
        constant.name,
        value,
        saved,
        low,
        high,
        skill_of(metric, best.value, value),
        verdict_of(low, high),
    )


# -----------------------------------------------------------------------------
# How many labeled target rows would make the interval as narrow as is asked for.
# -----------------------------------------------------------------------------


# How often the advised number is to be enough, and the most that is advised.
CHANCE_OF_ENOUGH, MOST_LABELS = 0.8, 10_000_000
# Fewer rows than this have no spread.
_FEWEST = 2
# Widths of intervals are extrapolated from so many labeled target rows at least: the
# standard deviation of fewer rows is itself known to more than an eighth only.
FEWEST_TO_EXTRAPOLATE = 30


@dataclass(frozen=True)
class LabelsWanted:
    """How many labeled target rows make an interval of a width.

    Attributes
    ----------
    precision : float
        The width that is asked for, as a share of the score.
    width : float
        The width now, as a share of the score.
    n_labels : int or None
        Labeled target rows, drawn by chance, with which the interval is expected to
        have the width asked for; 0 where it has it now. None where no number would do:
        the target rows themselves are too few.
    n_target : int
        Target rows that there are.
    finding : Finding
    width_of_all : float or None
        The width that labels of all these rows are expected to leave, as a share of the
        score; None where fewer would do, or nothing can be told.
    """

    precision: float
    width: float
    n_labels: int | None
    n_target: int
    finding: Finding
    width_of_all: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {**vars(self), "finding": self.finding.to_dict()}


def required_labels(
    judge: MetricEvaluator,
    model: LossFit | None,
    found: MetricPerformance,
    precision: float,
) -> LabelsWanted | None:
    r"""Return how many labels would make the interval `precision` times its value wide.

    By k labeled rows alone, whatever has become of p(y | x), the half-width is

    .. math:: t_k \sqrt{\frac{\sigma_k^2}{k} + \frac{\mathrm{var}_j\, g}{m}}, \qquad
        \sigma_k = \sigma \Bigl(1 + z_{0.8} \sqrt{\frac{\kappa - 1}{4}
        \Bigl(\frac1k + \frac1{\mathrm{ESS}}\Bigr)}\Bigr),

    with :math:`\sigma` and :math:`\kappa` the standard deviation and the kurtosis of
    what the model of the loss leaves, over weighted source rows: the spread of k rows
    is larger than that in one draw of five. The answer is the smallest k for which it
    is at most what is asked for. Of metrics that are no means over rows, the half-width
    of the weighted estimate times :math:`\sqrt{\mathrm{ESS}/k}`. Where the estimate is
    that of :math:`k_0 \ge 30` labeled rows already, its width shrinks like
    :math:`\sqrt{k_0/k}`, k counting these too. An interval of fewer labeled rows is
    not extrapolated, since two rows may lie close together by chance.

    Parameters
    ----------
    judge : Judge
    model : Modeled or None
        Of the loss; None for metrics that are no means over rows.
    found : MetricPerformance
    precision : float
        Width over value, above zero.
    """
    best = found.best
    if best is None or best.value == 0:
        return None
    width = (best.high - best.low) / abs(best.value)
    m = len(judge.rows.answers_target.rows)
    values: dict[str, object] = {"precision": precision, "width": width, "n_target": m}
    if width <= precision:
        enough = Finding("narrow_enough", INFO, values)
        return LabelsWanted(precision, width, 0, m, enough)
    n_known = 0 if judge.rows.labeled is None else len(judge.rows.labeled[1])
    half_width = _half_width(judge, model, found)

    def width_of(k: int) -> float:
        """Return the width over the score by k labels."""
        if found.labeled is best and n_known >= FEWEST_TO_EXTRAPOLATE:
            return width * float(np.sqrt(n_known / k))
        if half_width is None:
            return np.inf
        return width_within(best.value, half_width(k), root=judge.metric.root)

    k = smallest(lambda k: width_of(k) <= precision)
    of_all = None
    if np.isfinite(width_of(m)) and (k is None or k > m):
        of_all = width_of(m)
    more = k is not None and k > m
    values |= {
        "n_labels": k,
        "more": Finding("more_than_available", INFO, {"n_target": m}) if more else "",
        "of_all": "",
    }
    if of_all is not None and of_all < width:
        values["of_all"] = Finding("width_of_all", INFO, {"width_of_all": of_all})
    code = "labels_not_enough" if k is None else "required_labels"
    return LabelsWanted(precision, width, k, m, Finding(code, HINT, values), of_all)


def width_within(value: float, half: float, *, root: bool = False) -> float:
    r"""Return the width of the metric, as a share of it, for a half-width of the mean.

    Of the root of a mean v, :math:`\sqrt{v + h} - \sqrt{v - h}` over :math:`\sqrt v`.

    Examples
    --------
    >>> width_within(2.0, 0.1), round(width_within(2.0, 0.399, root=True), 3)
    (0.1, 0.1)
    """
    if not root:
        return 2 * half / abs(value)
    ends = np.sqrt(value**2 + half) - np.sqrt(max(value**2 - half, 0.0))
    return float(ends / abs(value))


def smallest(enough: Callable[[int], bool]) -> int | None:
    """Return the smallest number that is enough, None if ten millions are not.

    `enough` holds from some number on.

    Examples
    --------
    >>> smallest(lambda k: k >= 37), smallest(lambda k: False)
    (37, None)
    """
    high = _FEWEST
    while not enough(high):
        high *= 2
        if high > MOST_LABELS:
            return None
    low = max(high // 2, _FEWEST)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def _half_width(
    judge: MetricEvaluator, model: LossFit | None, found: MetricPerformance
) -> Callable[[int], float] | None:
    """Return the half-width of the mean as a function of the number of labels."""
    if model is None or judge.metric.by_row is None:
        weighted = found.weighted
        if weighted is None:
            return None
        rows = effective_rows(judge.rows.counts * judge.ratio, judge.rows.groups)
        half = (weighted.high - weighted.low) / 2
        return lambda k: half * float(np.sqrt(rows / k))
    evidence = judge.evidence(model)
    share, rest = evidence.cut_share, evidence.losses - evidence.modeled
    rest = rest - share @ rest
    variance = float(share @ rest**2)
    kurtosis = float(share @ rest**4) / variance**2 if variance > 0 else 1.0
    worth = effective_rows(share, evidence.groups)
    target = evidence.modeled_target
    of_target = float(target.var() / target.size)
    metric, level = judge.metric, judge.level
    once_in_five = float(stats.norm.ppf(CHANCE_OF_ENOUGH))

    def half_width(k: int) -> float:
        off = np.sqrt(max(kurtosis - 1, 0.0) / 4 * (1 / k + 1 / worth))
        error = np.sqrt(variance / k) * (1 + once_in_five * off)
        if has_ends(metric):
            error = np.hypot(error, least_error(k, metric.lowest, metric.highest))
        return student_quantile(k, level) * float(np.sqrt(error**2 + of_target))

    return half_width
