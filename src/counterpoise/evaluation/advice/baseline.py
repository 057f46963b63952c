"""The best constant prediction on the target, and whether a model beats it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.evaluation.answers import (
    Answers,
    ClassifierAnswers,
    RegressorAnswers,
)
from counterpoise.evaluation.estimates import Estimate
from counterpoise.evaluation.judging import Judge, Rows
from counterpoise.evaluation.metrics import Metric
from counterpoise.evaluation.performance import MetricPerformance
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.tables.quantiles import weighted_quantile

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


def baseline_of(
    judge: Judge, some: Indices, found: MetricPerformance
) -> Baseline | None:
    r"""Return the best constant prediction's metric beside the model's.

    With :math:`B_i` the loss of the constant at row i and :math:`L_i` the model's, the
    mean of :math:`B - L` on the target is estimated as the mean of :math:`L` is: by the
    same rows, weights and labelled target rows, with its own model of the difference,
    by the estimate that leads (`MetricPerformance.best`). The constant's value is the
    model's and that together. Metrics that are no means over rows have no difference a
    row: the constant's value is that of the weighted rows, and the interval is the
    model's, less that; None for those of which a constant is no guess (F1, precision).

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
    paired = replace(judge, metric=_SAVED, rows=_saved_rows(metric, rows, constant))
    whole = np.arange(weights.size), np.arange(len(rows.answers_target.rows))
    saved = paired.performance(paired.loss_model(some), *whole).best
    assert saved is not None
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
        saved.high,
        skill_of(metric, best.value, value),
        verdict_of(saved.low, saved.high),
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
    >>> from counterpoise.evaluation.metrics import as_metric
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
    classes: NDArray[Any] | None = None

    @classmethod
    def of(
        cls, metric: Metric, answers: Answers, y: NDArray[Any], weights: Array
    ) -> "Constant":
        """Return the best constant for a metric.

        Of classes their weighted shares, and the commonest; of numbers the weighted
        mean, for absolute errors the median (relative ones: with weights over the
        number's size), for squared logarithms the mean of the logarithm of one more.
        """
        if answers.classes is not None:
            classes, place = np.unique(y, return_inverse=True)
            shares = np.bincount(place, weights) / weights.sum()
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

    def answers(self, n: int) -> Answers:
        """Return what it says of n rows."""
        if self.shares is None:
            said = np.broadcast_to(self.prediction, (n, *np.shape(self.prediction)))
            return RegressorAnswers({"predict": said})
        everywhere = {
            "predict": np.full(n, self.prediction),
            "predict_proba": np.tile(self.shares, (n, 1)),
        }
        return ClassifierAnswers(everywhere, self.classes)


def _saved_rows(metric: Metric, rows: Rows, constant: Constant) -> Rows:
    """Return the rows with what the model saves at each in place of its answers."""
    sign = 1.0 if metric.higher_is_better else -1.0

    def saved(answers: Answers, y: NDArray[Any]) -> RegressorAnswers:
        guessed = constant.answers(len(y))
        more = metric.rows(answers, answers.rows, y)
        less = metric.rows(guessed, guessed.rows, y)
        said = {"predict": answers.columns, "saved": sign * (more - less)}
        return RegressorAnswers(said)

    labelled = None
    if rows.labelled is not None:
        labelled = saved(*rows.labelled), rows.labelled[1]
    return replace(
        rows,
        answers=saved(rows.answers, rows.labels),
        answers_target=RegressorAnswers({"predict": rows.answers_target.columns}),
        labelled=labelled,
    )


def _said_to_be_saved(model: Any, places: Any, y: NDArray[Any]) -> Array:
    found: Array = model.said["saved"][places]
    return found


_SAVED = Metric("saved", True, True, False, _said_to_be_saved, None)


def _of_score(
    metric: Metric, best: Estimate, constant: Constant, judge: Judge, weights: Array
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
