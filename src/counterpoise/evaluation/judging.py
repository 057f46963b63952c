"""One metric for some rows: every estimate that is defined, and why others are not."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.estimates import (
    ASSUMPTIONS,
    BOTH,
    Estimate,
    as_estimate,
    labelled_estimate,
    mean_estimate,
    mean_intervals,
)
from counterpoise.evaluation.estimating.errors import leading_estimate
from counterpoise.evaluation.estimating.evidence import Evidence, rows_beyond
from counterpoise.evaluation.estimating.functionals import Functional, as_functional
from counterpoise.evaluation.estimating.linearised import Chances, linearised
from counterpoise.evaluation.intervals import (
    Interval,
    combined,
    effective_rows,
)
from counterpoise.evaluation.labels.label_change import (
    Direction,
    LabelledSample,
    residual_directions,
)
from counterpoise.evaluation.labels.label_check import check_of, label_check
from counterpoise.evaluation.loss_model import fit_loss_model
from counterpoise.evaluation.metrics import Metric
from counterpoise.evaluation.performance import LabelCheck, MetricPerformance
from counterpoise.evaluation.resampled_estimates import (
    confidence_estimate,
    scored_estimate,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import Matrix


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of the rows, and what the model says of them."""

    answers: Answers
    labels: NDArray[Any]
    counts: Array
    answers_target: Answers
    labelled: tuple[Answers, NDArray[Any]] | None
    source: Matrix
    target: Matrix
    source_lab: Matrix | None
    groups: Indices | None = None
    names: Sequence[str] | None = None

    @cached_property
    def beyond(self) -> Array | None:
        """Which target rows lie beyond the source rows that count: `rows_beyond`."""
        return rows_beyond(self.source[self.counts > 0], self.target)

    def features(self) -> tuple[Array, Array, Array | None]:
        """Return what the model of the loss sees, of source, target, labelled rows."""
        lab = None if self.labelled is None else self.labelled[0]
        return (
            _features(self.source, self.answers),
            _features(self.target, self.answers_target),
            None if lab is None else _features(self.source_lab, lab),
        )


@dataclass(frozen=True, eq=False)
class Modelled:
    """Losses of the source rows, modelled there and at the target rows."""

    losses: Array = field(repr=False)
    modelled: Array = field(repr=False)
    modelled_target: Array = field(repr=False)
    labelled: tuple[Array, Array] | None = field(repr=False)
    by_fold: Array | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Judge:
    """One metric, estimated for all rows or some."""

    rows: Rows
    metric: Metric
    ratio: Array
    level: float
    seed: int
    # What labelled rows leave, by which p(y | x) is judged beside the loss.
    directions: tuple[Direction, ...] = ()

    @property
    def functional(self) -> Functional | None:
        """The metric as a function of the law of two classes, where it is one."""
        if self.metric.by_row is not None:
            return None
        return as_functional(self.metric, self.rows.answers)

    def loss_model(self, some: Indices) -> Modelled | None:
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
        features, features_target, features_lab = rows.features()
        weights = (rows.counts * self.ratio)[some]
        used = some[weights > 0]
        found = fit_loss_model(
            features[used],
            losses[used],
            weights[weights > 0],
            features_target,
            self.seed,
            None if rows.groups is None else rows.groups[used],
        )
        modelled = np.empty(losses.size)
        modelled[used] = found.rows
        others = np.setdiff1d(np.arange(losses.size), used)
        if others.size:
            modelled[others] = found.at(features[others])
        labelled = None
        if rows.labelled is not None and functional is None:
            assert features_lab is not None
            answers, y = rows.labelled
            labelled = metric.rows(answers, answers.rows, y), found.at(features_lab)
        return Modelled(losses, modelled, found.target, labelled, found.by_fold)

    def evidence(self, model: Modelled) -> Evidence:
        """Return all that is known of a metric that is a mean over rows."""
        return Evidence(
            model.losses,
            self.ratio,
            self.rows.counts,
            model.modelled,
            model.modelled_target,
            self.rows.groups,
            model.by_fold,
            beyond=self.rows.beyond,
        )

    def performance(
        self,
        model: Modelled | None,
        some: Indices,
        aims: Indices,
        with_labelled: bool = True,
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
            if model.labelled is not None and with_labelled:
                check = label_check(evidence, *model.labelled, metric, self.directions)
                found["labelled"] = labelled_estimate(
                    metric,
                    *model.labelled,
                    evidence.modelled_target,
                    self.level,
                    None if check.contradicts else means["doubly_robust"],
                    evidence.spread_of_rest,
                )
        else:
            if with_labelled and self.directions and self.rows.labelled is not None:
                check = check_of(self.directions, len(self.rows.labelled[1]))
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
            found |= self._scored(some, with_labelled, check, found.get("weighted"))
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
        self, model: Modelled | None, some: Indices, aims: Indices
    ) -> Evidence | None:
        """Return the evidence of a metric of two classes; None where it has none."""
        rows, functional = self.rows, self.functional
        if model is None or functional is None:
            return None
        chances = Chances.of(model.modelled, model.modelled_target, model.by_fold)
        return linearised(
            functional,
            rows.answers.take(some),
            rows.labels[some],
            rows.counts[some],
            self.ratio[some],
            chances.take(some, aims),
            rows.answers_target.take(aims),
            _numbered(rows.groups, some),
        )

    def _scored(
        self,
        some: Indices,
        with_labelled: bool,
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
        if rows.labelled is not None and with_labelled:
            labelled = as_they_are(
                metric, "labelled", *rows.labelled, None, self.level, self.seed
            )
            weights = counts * self.ratio[some]
            contradicted = check is not None and check.contradicts
            found["labelled"] = _together(
                None if contradicted else found["weighted"],
                labelled,
                np.sqrt(effective_rows(weights, groups) / len(rows.labelled[1])),
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
    if rows.labelled is None:
        return ()
    source = LabelledSample(
        rows.answers.take(some), rows.labels[some], rows.source[some]
    )
    return residual_directions(
        source,
        ratio[some],
        rows.counts[some],
        LabelledSample(*rows.labelled, rows.source_lab),
        rows.names,
        seed,
        _numbered(rows.groups, some),
    )


def as_they_are(
    metric: Metric,
    name: str,
    answers: Answers,
    y: NDArray[Any],
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
    weighted: Estimate | None, labelled: Estimate | None, wider: float, level: float
) -> Estimate | None:
    """Return labelled rows' estimate, sharpened by the weighted one if they agree.

    It is then taken to be `wider` than the weighted one at least: a few rows are close
    to one another by chance.
    """
    if weighted is None or labelled is None:
        return labelled
    sharp, honest = (
        Interval(one.value, one.low, one.high) for one in (weighted, labelled)
    )
    reach = np.hypot(sharp.high - sharp.low, honest.high - honest.low) / 2
    if abs(sharp.value - honest.value) > reach:
        return labelled
    least = wider * (sharp.high - sharp.low) / 2
    honest = Interval(
        honest.value,
        min(honest.low, honest.value - least),
        max(honest.high, honest.value + least),
    )
    found = combined(sharp, honest, level)
    low, high = max(found.low, min(sharp.low, honest.low)), found.high
    high = min(high, max(sharp.high, honest.high))
    return Estimate(found.value, low, high, ASSUMPTIONS[BOTH])


def _numbered(groups: Indices | None, rows: Indices) -> Indices | None:
    """Return the groups of some rows, numbered from zero without gaps."""
    return None if groups is None else np.unique(groups[rows], return_inverse=True)[1]


def _features(X: Matrix | None, answers: Answers) -> Array:
    """Return the row as numbers and the prediction; trees take no sparse matrix."""
    if X is None or sparse.issparse(X):
        return answers.columns
    return np.column_stack([X, answers.columns])
