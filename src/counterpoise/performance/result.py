"""The estimated target performance and its evaluation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse, stats

from counterpoise.data.arrays import Matrix
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.messages import INFO, WARNING, Finding
from counterpoise.performance.estimators import (
    BOTH,
    Estimate,
    Evidence,
    as_estimate,
    confidence_estimate,
    labeled_error,
    labeled_estimate,
    leading_estimate,
    mean_estimate,
    mean_intervals,
    rows_outside_support,
    scored_estimate,
)
from counterpoise.performance.functionals import (
    Functional,
    as_functional,
    linearize,
)
from counterpoise.performance.intervals import (
    Interval,
    combined,
    effective_rows,
    weighted_mean_error,
)
from counterpoise.performance.label_change import (
    LOSS,
    Direction,
    LabeledSample,
    residual_directions,
)
from counterpoise.performance.loss_model import fit_loss_model
from counterpoise.performance.metrics import Labels, Metric, Predictions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from counterpoise.performance.advice import Baseline, LabelsWanted


# -----------------------------------------------------------------------------
# The record of how good a model is on the target.
# -----------------------------------------------------------------------------


ESTIMATES = (
    "source",
    "weighted",
    "direct",
    "doubly_robust",
    "confidence",
    "labeled",
)


# Which estimate is gone by where their errors are not known: the first that is defined.
LEADING = ("labeled", "doubly_robust", "weighted")
# A change of p(y | x) is said from this p-value on.
SURPRISING_P_VALUE = 0.05


def is_surprise(p_value: float) -> bool:
    """Return whether labeled target rows contradict an unchanged p(y | x)."""
    return p_value < SURPRISING_P_VALUE


def leading_of(estimates: Mapping[str, Any]) -> str | None:
    """Return the name of the estimate to go by, None where none is defined.

    That of labeled target rows if there is one, which has the doubly robust in it
    unless they contradict it, else the one of the least error (`leading`), else the
    doubly robust, else the weighted.

    Parameters
    ----------
    estimates : mapping
        As `MetricPerformance.to_dict` has them.
    """
    order = (LEADING[0], estimates.get("leading"), *LEADING[1:])
    return next((name for name in order if name and estimates.get(name)), None)


def plain_dict(result: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a result as plain numbers, words, lists and dictionaries."""
    return {one.name: _plain(getattr(result, one.name)) for one in fields(result)}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


@dataclass(frozen=True)
class LabelCheck:
    """Whether labeled target rows are as the source rows say.

    Attributes
    ----------
    difference : float or None
        What a change costs: by how much the loss of the labeled target rows, beyond
        what the model of the loss says there, exceeds the same of weighted source rows.
        None for a metric that is no mean over rows.
    error : float or None
        Its standard error.
    statistic : float or None
        Their ratio.
    p_value : float
        How often chance does more than what is seen, of the loss and along all
        `directions` together (`combined_p_value`).
    n_labeled : int
    finding : Finding
    directions : tuple of Direction
        What was looked at, the loss and what predictions leave of the labels: see
        `residual_directions`.
    """

    difference: float | None
    error: float | None
    statistic: float | None
    p_value: float
    n_labeled: int
    finding: Finding
    directions: tuple[Direction, ...] = ()

    @property
    def contradicts(self) -> bool:
        """Whether they say that p(y | x) has changed."""
        return is_surprise(self.p_value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {**plain_dict(self), "contradicts": self.contradicts}


@dataclass(frozen=True)
class MetricPerformance:
    """One metric, estimated in several ways.

    Attributes
    ----------
    metric : str
    higher_is_better : bool
    source, weighted, direct, doubly_robust, confidence, labeled : Estimate or None
        None where it is not defined, see `reasons`.
    leading : str or None
        Which of weighted, direct and doubly robust to use: the last, unless the
        estimated errors favor another (`leading_estimate`); None where no errors are
        known.
    check : LabelCheck or None
        Whether p(y | x) has changed, as labeled target rows tell.
    reasons : dict
        Why an estimate is None.
    baseline : Baseline or None
        The best constant prediction beside the model, see `constant_baseline`.
    """

    metric: str
    higher_is_better: bool
    source: Estimate
    weighted: Estimate | None = None
    direct: Estimate | None = None
    doubly_robust: Estimate | None = None
    confidence: Estimate | None = None
    labeled: Estimate | None = None
    leading: str | None = None
    check: LabelCheck | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    baseline: "Baseline | None" = None

    @property
    def best(self) -> Estimate | None:
        """The estimate to go by, or None where nothing but the source's is known.

        See `leading_of`.
        """
        name = leading_of(vars(self))
        return None if name is None else getattr(self, name)

    def __str__(self) -> str:
        lines = [self._heading()]
        for kind, cells in self._lines():
            if len(cells) == 1:
                lines.append(f"  {kind:<14} not defined: {cells[0]}")
            else:
                lines.append(f"  {kind:<14} {cells[0]} ({cells[1]})   if {cells[2]}")
        if self.baseline is not None:
            lines.append(f"  {'guessing':<14} {self.baseline}")
        if self.check is not None:
            lines.append(f"  {self.check.finding}")
        return "\n".join(lines)

    def _heading(self) -> str:
        # "neg" in a scorer's name says that less is better; the value is not negated.
        name = self.metric.removeprefix("neg_").replace("_", " ")
        return f"{name} ({'higher' if self.higher_is_better else 'lower'} is better)"

    def _lines(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each estimate's name with value, interval, assumption; or the reason
        why it is not defined."""
        for kind in ESTIMATES:
            one: Estimate | None = getattr(self, kind)
            label = kind.replace("_", " ")
            if one is not None:
                interval = f"{one.low:.4g} to {one.high:.4g}"
                yield label, [f"{one.value:.4g}", interval, str(one.assumption)]
            elif kind in self.reasons:
                yield label, [self.reasons[kind]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words; None for what is not defined."""
        return plain_dict(self)


def _of_first(name: str, summary: str) -> Any:
    """Return a property: an attribute of the first metric."""
    return property(lambda self: getattr(self._first, name), doc=summary)


class _SeveralMetrics:
    """Metrics by name, with the attributes of the first."""

    metrics: Mapping[str, MetricPerformance]

    def __getitem__(self, metric: str) -> MetricPerformance:
        if metric not in self.metrics and f"neg_{metric}" in self.metrics:
            metric = f"neg_{metric}"
        return self.metrics[metric]

    @property
    def _first(self) -> MetricPerformance:
        return next(iter(self.metrics.values()))

    source = _of_first("source", "The first metric's estimate of the source itself.")
    weighted = _of_first("weighted", "The first metric's estimate by weights.")
    direct = _of_first("direct", "The first metric's estimate by the loss model.")
    doubly_robust = _of_first("doubly_robust", "The first metric's estimate by both.")
    confidence = _of_first(
        "confidence", "The first metric's estimate by the model's own probabilities."
    )
    labeled = _of_first(
        "labeled", "The first metric's estimate with labeled target rows."
    )
    check = _of_first(
        "check", "Whether p(y | x) has changed, as labeled target rows tell."
    )
    baseline = _of_first(
        "baseline",
        "The best constant prediction beside the model, by the first metric.",
    )
    best = _of_first("best", "The first metric's estimate to use.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words; None for what is not defined."""
        return plain_dict(self)  # type: ignore[arg-type]


@dataclass(frozen=True)
class CoveredPart(_SeveralMetrics):
    """The same for the part of the target that the source covers.

    Attributes
    ----------
    share : float
        How much of the target that is.
    effective_rows : float
        What the weighted source rows are worth there. Of more than 5,000 rows the
        covered ones are known among as many drawn by chance: what those are worth,
        times all rows over 5,000. The intervals are those of the rows drawn: they
        allow for the chance in the labels of these very rows.
    metrics : dict of MetricPerformance
    """

    share: float
    effective_rows: float
    metrics: Mapping[str, MetricPerformance]


@dataclass(frozen=True)
class Performance(_SeveralMetrics):
    """How good a model is on the target, by every estimate, with intervals.

    `performance["accuracy"]` is a metric's `MetricPerformance`; `source`, `weighted`,
    `direct`, `doubly_robust`, `confidence`, `labeled`, `check` and `best` are those of
    the first metric.

    Attributes
    ----------
    metrics : dict of MetricPerformance
    covered : CoveredPart or None
        The same for the target rows that the source covers.
    level : float
        Of the intervals.
    thin : float
        Share of the target where only the outermost 0.5 % of the source rows are.
    verdict : str
        The word for the overlap of the samples.
    n_source, n_target : int
    effective_rows : float or None
        How many equally weighted rows the weighted source rows are worth; None without
        overlap.
    statement : str
        What the numbers speak for.
    calibration : dict or None
        Of classifiers with probabilities: see `reliability`.
    slices : dict or None
        The first metric on parts of the target, by the columns that moved most: see
        `loss_by_slice`. None for metrics that are no means, and without overlap.
    sets : dict or None
        How large the intervals or sets of an `Adapted` with a calibration are on the
        target: see `interval_sizes` and `set_sizes`.
    labels : LabelsWanted or None
        How many labeled target rows would make the first metric's interval as narrow
        as was asked for; None without overlap.
    """

    metrics: Mapping[str, MetricPerformance]
    covered: CoveredPart | None
    level: float
    uncovered_fraction: float
    verdict: str
    n_source: int
    n_target: int
    effective_rows: float | None
    statement: str
    calibration: Mapping[str, Any] | None = None
    slices: Mapping[str, Any] | None = None
    sets: Mapping[str, Any] | None = None
    labels: "LabelsWanted | None" = None

    def __str__(self) -> str:
        parts = [self.statement, *map(str, self.metrics.values())]
        if self.labels is not None:
            parts.append(str(self.labels.finding))
        if self.covered is not None and self.covered.share < 1.0:
            parts.append(f"The covered {self.covered.share:.1%} of the target:")
            parts += map(str, self.covered.metrics.values())
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [
            f"<p>{escape(self.statement)}</p>",
            *map(_table, self.metrics.values()),
        ]
        if self.covered is not None and self.covered.share < 1.0:
            told = f"The covered {self.covered.share:.1%} of the target:"
            parts += [f"<p>{told}</p>", *map(_table, self.covered.metrics.values())]
        return f'<div class="counterpoise-performance">{"".join(parts)}</div>'


def _table(found: MetricPerformance) -> str:
    """Return the estimates of a metric as a table of HTML, every text escaped."""
    rows = [
        [kind, *(cells if len(cells) > 1 else ("not defined", "", cells[0]))]
        for kind, cells in found._lines()
    ]
    head = (found._heading(), "value", "interval", "right if")
    lines = [f"<tr>{''.join(f'<th>{escape(one)}</th>' for one in head)}</tr>"]
    lines += [
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows
    ]
    check = "" if found.check is None else f"<p>{escape(str(found.check.finding))}</p>"
    return f"<table>{''.join(lines)}</table>{check}"


# -----------------------------------------------------------------------------
# What labeled target rows say of an unchanged p(y | x), all directions together.
# -----------------------------------------------------------------------------


# No direction speaks more strongly than this for labels that mean the same: one in
# which nothing differs does not outweigh those in which much does.
MOST_ALIKE = 0.99


def label_check(
    evidence: Evidence,
    losses: Array,
    modeled: Array,
    metric: Metric | None = None,
    directions: tuple[Direction, ...] = (),
) -> LabelCheck:
    r"""Return whether labeled target rows contradict an unchanged p(y | x).

    .. math:: d = \mathrm{mean}_l (L_l - g(t_l)) - \sum \bar w (L - g) / \sum \bar w

    is zero up to chance if p(y | x) is the same in both samples, the weights being the
    ratio or the model of the loss right. It is what a change costs, and one direction
    among those of `residual_directions`; what all say together is `combined_p_value`.
    The spread of L - g over labeled rows is taken to be at least that of the weighted
    source rows, as along the other directions: two labeled rows that are close to each
    other by chance, or copies of one row, do not show a change.

    Parameters
    ----------
    evidence : Evidence
        Of the source rows.
    losses, modeled : array of shape (k,)
        Of labeled target rows.
    metric : Metric or None
        Of one between two ends labeled rows that are all alike are no certainty.
    directions : tuple of Direction
        What else is looked at.
    """
    share, groups = evidence.cut_share, evidence.groups
    rest, rest_source = losses - modeled, evidence.losses - evidence.modeled
    difference = float(rest.mean() - share @ rest_source)
    of_labeled = (
        float(rest.std(ddof=1) / np.sqrt(rest.size))
        if metric is None
        else labeled_error(metric, rest)
    )
    of_labeled = max(of_labeled, evidence.spread_of_rest / np.sqrt(rest.size))
    of_source = weighted_mean_error(rest_source, share, groups)
    error = float(np.hypot(of_labeled, of_source))
    freedom = max(min(rest.size, effective_rows(share, groups)) - 1, 1.0)
    # Equal losses leave no spread, and their difference is no less surprising for it.
    rounding = 1e-12 * max(np.abs(losses).max(), np.abs(evidence.losses).max())
    divisor = max(error, float(rounding))
    statistic = difference / divisor if divisor > 0 else 0.0
    p_value = float(2 * stats.t.sf(abs(statistic), freedom))
    loss = Direction(LOSS, None, None, difference, error, statistic, p_value)
    return check_of((loss, *directions), int(rest.size), loss)


def check_of(
    directions: tuple[Direction, ...], n_labeled: int, loss: Direction | None = None
) -> LabelCheck:
    """Return what all directions say together, and what the loss says of the cost."""
    p_value = combined_p_value([one.p_value for one in directions])
    strongest = min(directions, key=lambda one: one.p_value)
    parts: dict[str, object] = {"loss": ""}
    if loss is not None:
        size = {"difference": loss.difference, "error": loss.error}
        parts["loss"] = Finding("label_check_loss", INFO, size)
    contradicts = is_surprise(p_value)
    parts |= {
        "n_labeled": n_labeled,
        "n_directions": len(directions),
        "strongest": str(strongest),
        "difference": strongest.difference,
        "error": strongest.error,
        "p_value": p_value,
        "conclusion": Finding("labels_contradict" if contradicts else "labels_agree"),
    }
    return LabelCheck(
        None if loss is None else loss.difference,
        None if loss is None else loss.error,
        None if loss is None else loss.statistic,
        p_value,
        n_labeled,
        Finding("label_check", WARNING if contradicts else INFO, parts),
        directions,
    )


def combined_p_value(p_values: Sequence[float]) -> float:
    r"""Return the p-value of all directions together, one where there are none.

    .. math:: p = \tfrac12 - \tfrac1\pi \arctan \bar c, \qquad
        \bar c = \mathrm{mean}_k \cot(\pi \min(p_k, 0.99))

    A cotangent is Cauchy's by chance, and so is their mean, in its tail also where
    the directions are correlated. Directions that agree strengthen one another: of a
    steeper slope the prediction, its columns and the log-loss all tell, and the least
    p-value times their number would punish that.

    References
    ----------
    Y. Liu and J. Xie, 2020.

    Examples
    --------
    >>> [round(combined_p_value(p), 3) for p in ([0.5, 0.01, 0.2], [0.02, 0.02])]
    [0.029, 0.02]
    """
    if not len(p_values):
        return 1.0
    p = np.clip(p_values, np.finfo(float).tiny, MOST_ALIKE)
    # The arctangent of the reciprocal: small p-values are not lost to rounding.
    return float(np.arctan2(1.0, np.mean(1 / np.tan(np.pi * p))) / np.pi)


# -----------------------------------------------------------------------------
# One metric for some rows: every estimate that is defined, and why others are not.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of the rows, and what the model says of them."""

    answers: Predictions
    labels: Labels
    counts: Array
    answers_target: Predictions
    labeled: tuple[Predictions, Labels] | None
    source: Matrix
    target: Matrix
    source_lab: Matrix | None
    groups: Indices | None = None
    names: Sequence[str] | None = None

    @cached_property
    def beyond(self) -> Array | None:
        """Which target rows lie outside the support of the source rows that count."""
        return rows_outside_support(self.source[self.counts > 0], self.target)


@dataclass(frozen=True, eq=False)
class LossFit:
    """Losses of the source rows, modeled there and at the target rows."""

    losses: Array = field(repr=False)
    modeled: Array = field(repr=False)
    modeled_target: Array = field(repr=False)
    labeled: tuple[Array, Array] | None = field(repr=False)
    by_fold: Array | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class MetricEvaluator:
    """One metric, estimated for all rows or some."""

    rows: Rows
    metric: Metric
    ratio: Array
    level: float
    seed: int
    # What labeled rows leave, by which p(y | x) is judged beside the loss.
    directions: tuple[Direction, ...] = ()

    @property
    def functional(self) -> Functional | None:
        """The metric as a function of the law of two classes, where it is one."""
        if self.metric.by_row is not None:
            return None
        return as_functional(self.metric, self.rows.answers)

    def loss_model(self, some: Indices) -> LossFit | None:
        """Return the model of the loss, learned from some of the source rows.

        Of a metric that is no mean it is the chance that a row is positive; None where
        that says nothing of the metric.
        """
        rows, metric, functional = self.rows, self.metric, self.functional
        if metric.by_row is not None:
            losses = metric.rows(rows.answers, rows.answers.rows, rows.labels)
        elif functional is not None:
            losses = (rows.labels == functional.positive).astype(float)
        else:
            return None
        features = _features(rows.source, rows.answers)
        weights = (rows.counts * self.ratio)[some]
        used = some[weights > 0]
        found = fit_loss_model(
            features[used],
            losses[used],
            weights[weights > 0],
            _features(rows.target, rows.answers_target),
            self.seed,
            None if rows.groups is None else rows.groups[used],
        )
        modeled = np.empty(losses.size)
        modeled[used] = found.rows
        others = np.setdiff1d(np.arange(losses.size), used)
        if others.size:
            modeled[others] = found.at(features[others])
        labeled = None
        if rows.labeled is not None and functional is None:
            answers, y = rows.labeled
            features_lab = _features(rows.source_lab, answers)
            labeled = metric.rows(answers, answers.rows, y), found.at(features_lab)
        return LossFit(losses, modeled, found.target, labeled, found.by_fold)

    def evidence(self, model: LossFit) -> Evidence:
        """Return all that is known of a metric that is a mean over rows."""
        return Evidence(
            model.losses,
            self.ratio,
            self.rows.counts,
            model.modeled,
            model.modeled_target,
            self.rows.groups,
            model.by_fold,
            beyond=self.rows.beyond,
        )

    def performance(
        self,
        model: LossFit | None,
        some: Indices,
        aims: Indices,
        with_labeled: bool = True,
        of_these_rows: bool = False,
    ) -> MetricPerformance:
        """Return all estimates for some rows of both samples.

        `of_these_rows`: the intervals allow for chance in the target rows' labels."""
        metric = self.metric
        found: dict[str, Estimate | None] = {}
        reasons: dict[str, str] = {}
        check, leading = None, None
        if model is not None and metric.by_row is not None:
            evidence = self.evidence(model).take(some, aims)
            evidence = replace(evidence, of_these_rows=of_these_rows)
            means = mean_intervals(metric, evidence, self.level)
            leading = leading_estimate(evidence)
            found |= {
                name: as_estimate(metric, name, one) for name, one in means.items()
            }
            if model.labeled is not None and with_labeled:
                check = label_check(evidence, *model.labeled, metric, self.directions)
                found["labeled"] = labeled_estimate(
                    metric,
                    *model.labeled,
                    evidence.modeled_target,
                    self.level,
                    None if check.contradicts else means["doubly_robust"],
                    evidence.spread_of_rest,
                )
        else:
            if with_labeled and self.directions and self.rows.labeled is not None:
                check = check_of(self.directions, len(self.rows.labeled[1]))
            by_law = self._by_law(model, some, aims)
            if by_law is None:
                why = f"{metric.name} is no mean over rows"
                reasons |= {"direct": why, "doubly_robust": why}
            else:
                by_law = replace(by_law, of_these_rows=of_these_rows)
                leading = leading_estimate(by_law)
                means = mean_intervals(metric, by_law, self.level)
                del means["source"]
                found |= {
                    name: as_estimate(metric, name, one) for name, one in means.items()
                }
            found |= self._scored(some, with_labeled, check, found.get("weighted"))
            reasons |= {
                name: "not defined for rows of one class"
                for name, one in found.items()
                if one is None
            }
        confidence, why_not = self._confidence(some, aims)
        if why_not:
            reasons["confidence"] = why_not
        return MetricPerformance(
            metric.name,
            metric.higher_is_better,
            confidence=confidence,
            check=check,
            reasons=reasons,
            leading=leading,
            **found,  # type: ignore[arg-type]
        )

    def _by_law(
        self, model: LossFit | None, some: Indices, aims: Indices
    ) -> Evidence | None:
        """Return the evidence of a metric of two classes; None where it has none."""
        rows, functional = self.rows, self.functional
        if model is None or functional is None:
            return None
        return linearize(
            functional,
            rows.answers.take(some),
            rows.labels[some],
            rows.counts[some],
            self.ratio[some],
            model.modeled[some],
            rows.answers_target.take(aims),
            model.modeled_target[aims],
            _numbered(rows.groups, some),
            None if model.by_fold is None else model.by_fold[:, aims],
        )

    def _scored(
        self,
        some: Indices,
        with_labeled: bool,
        check: LabelCheck | None,
        weighted: Estimate | None = None,
    ) -> dict[str, Estimate | None]:
        rows, metric = self.rows, self.metric
        answers, y = rows.answers.take(some), rows.labels[some]
        counts = rows.counts[some]
        groups = _numbered(rows.groups, some)
        found = {
            name: scored_estimate(
                metric, name, answers, y, counts, ratio, self.level, self.seed, groups
            )
            for name, ratio in (("source", None), ("weighted", self.ratio[some]))
            if name == "source" or weighted is None
        }
        found.setdefault("weighted", weighted)
        if rows.labeled is not None and with_labeled:
            labeled = unweighted_estimate(
                metric, "labeled", *rows.labeled, None, self.level, self.seed
            )
            weights = counts * self.ratio[some]
            contradicted = check is not None and check.contradicts
            found["labeled"] = _together(
                None if contradicted else found["weighted"],
                labeled,
                np.sqrt(effective_rows(weights, groups) / len(rows.labeled[1])),
                self.level,
            )
        return found

    def _confidence(
        self, some: Indices, aims: Indices
    ) -> tuple[Estimate | None, str | None]:
        rows = self.rows
        answers, y = rows.answers, rows.labels
        if answers.classes is None or "predict_proba" not in answers.said:
            return None, "the model gives no probabilities"
        if self.metric.root or answers.classes.size < 2:
            return None, "it needs two classes and a metric of them"
        weights = rows.counts * self.ratio
        place = np.searchsorted(answers.classes, y)
        place = np.minimum(place, answers.classes.size - 1)
        some = some[weights[some] > 0]
        unknown = np.count_nonzero(answers.classes[place[some]] != y[some])
        if unknown:
            return None, (
                f"{unknown} of {some.size} source rows have classes that the model "
                "does not know: its probabilities do not speak of them"
            )
        if np.unique(place[some]).size < 2:
            return None, "the labels are all of one class"
        found = confidence_estimate(
            self.metric,
            answers.take(some),
            place[some],
            weights[some],
            rows.answers_target.take(aims),
            self.level,
            self.seed,
            _numbered(rows.groups, some),
        )
        return found, None


def label_changes(
    rows: Rows, ratio: Array, some: Indices, seed: int
) -> tuple[Direction, ...]:
    """Return the tests of p(y | x) by what is left of the labels, if there are such."""
    if rows.labeled is None:
        return ()
    source = LabeledSample(
        rows.answers.take(some), rows.labels[some], rows.source[some]
    )
    return residual_directions(
        source,
        ratio[some],
        rows.counts[some],
        LabeledSample(*rows.labeled, rows.source_lab),
        rows.names,
        seed,
        _numbered(rows.groups, some),
    )


def unweighted_estimate(
    metric: Metric,
    name: str,
    answers: Predictions,
    y: Labels,
    counts: Array | None,
    level: float,
    seed: int,
    groups: Indices | None = None,
) -> Any:
    """Return the metric over rows without weights of ours."""
    counts = np.ones(len(y)) if counts is None else counts
    if metric.by_row is None:
        return scored_estimate(
            metric, name, answers, y, counts, None, level, seed, groups
        )
    losses = metric.rows(answers, answers.rows, y)
    return mean_estimate(metric, name, losses, counts, level, groups)


def _together(
    weighted: Estimate | None, labeled: Estimate | None, wider: float, level: float
) -> Estimate | None:
    """Return labeled rows' estimate, sharpened by the weighted one if they agree.

    It is then taken to be `wider` than the weighted one at least: a few rows are close
    to one another by chance.
    """
    if weighted is None or labeled is None:
        return labeled
    sharp, honest = (
        Interval(one.value, one.low, one.high) for one in (weighted, labeled)
    )
    reach = np.hypot(sharp.high - sharp.low, honest.high - honest.low) / 2
    if abs(sharp.value - honest.value) > reach:
        return labeled
    least = wider * (sharp.high - sharp.low) / 2
    honest = Interval(
        honest.value,
        min(honest.low, honest.value - least),
        max(honest.high, honest.value + least),
    )
    found = combined(sharp, honest, level)
    low, high = max(found.low, min(sharp.low, honest.low)), found.high
    high = min(high, max(sharp.high, honest.high))
    return Estimate(found.value, low, high, Finding(f"assumes_{BOTH}"))


def _numbered(groups: Indices | None, rows: Indices) -> Indices | None:
    """Return the groups of some rows, numbered from zero without gaps."""
    return None if groups is None else np.unique(groups[rows], return_inverse=True)[1]


def _features(X: Matrix | None, answers: Predictions) -> Array:
    """Return the row as numbers and the prediction; trees take no sparse matrix."""
    if X is None or sparse.issparse(X):
        return answers.columns
    return np.column_stack([X, answers.columns])
