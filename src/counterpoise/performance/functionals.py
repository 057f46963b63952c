"""Metrics that are not means of a loss, by linearization."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.performance.estimators import Evidence, share_of
from counterpoise.performance.intervals import effective_rows
from counterpoise.performance.metrics import Labels, Metric, Predictions

# -----------------------------------------------------------------------------
# Metrics of two classes that are no means over rows, and what a row adds to them.
#
# Every such metric is a function of the law of (score or prediction, label). Between
# a
# row and the metric stands its influence :math:`k`, the derivative of the metric by
# the
# share of rows like it, so that to the first order the metric of another law is
#
# .. math:: \theta + \mathrm{E}[k(s, y)], \qquad k(s, y) = y\, k_1(s) + (1 - y)\,
# k_0(s),
#
# a mean over rows. What holds of means then holds of the metric: with :math:`\eta(x)`
# the chance of a positive it has a direct and a doubly robust estimate, and errors.
# -----------------------------------------------------------------------------


AREA = "roc_auc"


@dataclass(frozen=True, eq=False)
class Law:
    r"""Points with the mass of positives and of negatives there.

    Weighted source rows have :math:`p_i` of their class; target rows :math:`\eta_j / m`
    and :math:`(1 - \eta_j) / m`; both together with :math:`\pm p_i (y_i - \eta_i)` at
    the source rows are the doubly robust law, whose masses may be negative.

    Attributes
    ----------
    points : array of shape (r,)
        Scores, or predictions as 0 and 1.
    positive, negative : array of shape (r,)
        Masses, together one.
    """

    points: Array = field(repr=False)
    positive: Array = field(repr=False)
    negative: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class Influence:
    """A metric's value, and what rows at given points add to it.

    Attributes
    ----------
    value : float
    positive, negative : callable
        Of points: the influence of a row there that is positive, or negative.
    """

    value: float
    positive: Callable[[Array], Array] = field(repr=False)
    negative: Callable[[Array], Array] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Functional:
    """A metric of two classes as a function of their law.

    Attributes
    ----------
    name : str
    positive : object
        The class that is looked for.
    points : callable
        Of `Predictions`: where a row lies on the line.
    influence : callable
        Of a `Law`; None where the law has no positives or no negatives.
    told_by : callable
        Of the points, the labels and the masses of rows: the masses of those rows that
        tell of the metric.
    least_error : callable
        Of the value and of how many rows tell of it: the error is not less.
    """

    name: str
    positive: Any
    points: Callable[[Predictions], Array]
    influence: Callable[[Law], Influence | None]
    told_by: Callable[[Array, Array, Array], Array]
    least_error: Callable[[float, float], float]


def as_functional(metric: Metric, answers: Predictions) -> Functional | None:
    """Return the metric as a function of a law, None where it is not known as one.

    Known are the area under the ROC curve, F1, Jaccard's index, precision and recall of
    two classes; the last four look for the class 1, as scikit-learn's scorers do.
    """
    classes = answers.classes
    if classes is None or classes.size != 2:
        return None
    if metric.name == AREA:
        if "decision_function" not in answers.said and (
            "predict_proba" not in answers.said
        ):
            return None
        return Functional(
            metric.name, classes[1], _scores, _area, _of_rarer, _least_of_area
        )
    ratio = _RATIOS.get(metric.name)
    if ratio is None or "predict" not in answers.said or 1 not in classes.tolist():
        return None
    return Functional(
        metric.name, 1, _predicted, ratio.influence, ratio.told_by, ratio.least_error
    )


def _scores(answers: Predictions) -> Array:
    if "decision_function" in answers.said:
        return np.asarray(answers.said["decision_function"], dtype=float).ravel()
    return np.asarray(answers.said["predict_proba"][:, 1], dtype=float)


def _predicted(answers: Predictions) -> Array:
    predicted: Labels = answers.said["predict"]
    return (predicted == 1).astype(float)


def _area(law: Law) -> Influence | None:
    r"""Return the chance that a positive scores above a negative, ties counting half.

    .. math:: k_1(s) = \frac{P(s^- < s) + P(s^- = s) / 2 - \theta}{\pi_1}, \qquad
        k_0(s) = \frac{P(s^+ > s) + P(s^+ = s) / 2 - \theta}{\pi_0},

    the projections of Hájek. O(r log r).
    """
    positives, negatives = float(law.positive.sum()), float(law.negative.sum())
    if min(positives, negatives) <= 0:
        return None
    places, inverse = np.unique(law.points, return_inverse=True)
    below = _mass_below(inverse, law.negative) / negatives
    above = 1 - _mass_below(inverse, law.positive) / positives
    value = float(law.positive @ below[inverse] / positives)

    def at(table: Array, share: float) -> Callable[[Array], Array]:
        return lambda points: (
            (
                table[np.minimum(np.searchsorted(places, points), places.size - 1)]
                - value
            )
            / share
        )

    return Influence(value, at(below, positives), at(above, negatives))


def _of_rarer(points: Array, labels: Array, masses: Array) -> Array:
    """Return the masses of the rows of the class that has less."""
    positive = masses * labels
    rarer: Array = positive if positive.sum() <= masses.sum() / 2 else masses - positive
    return rarer


def _least_of_area(value: float, rows: float) -> float:
    r"""Return :math:`\sqrt{\theta (1 - \theta)^2 / ((2 - \theta) r)}`.

    The error of an area with r rows of the rarer class and any number of the other,
    where scores are exponential (Hanley and McNeil, 1982), :math:`\theta` being that of
    two rows more, one of them wrong.
    """
    value = max(value, 1 - value)
    value = (min(value, 1.0) * rows + 1) / (rows + 2)
    return float(np.sqrt(value * (1 - value) ** 2 / ((2 - value) * max(rows, 1.0))))


def _mass_below(places: Indices, masses: Array) -> Array:
    """Return the mass below every place, and half of that at it."""
    at = np.bincount(places, masses).astype(float)
    return np.cumsum(at) - at / 2


@dataclass(frozen=True)
class _Ratio:
    r"""The ratio of two means over rows, :math:`\theta = A / B`.

    Each of a row's parts is a table by prediction and label, ``[0][1]`` a positive that
    was not found. :math:`k = (a - \theta b) / B`.
    """

    above: tuple[tuple[float, float], tuple[float, float]]
    below: tuple[tuple[float, float], tuple[float, float]]

    def told_by(self, points: Array, labels: Array, masses: Array) -> Array:
        """Return the masses of the rows that are counted below."""
        counted = np.array(self.below)[points.astype(int), labels.astype(int)] > 0
        return np.where(counted, masses, 0.0)

    def least_error(self, value: float, rows: float) -> float:
        r"""Return the error that the share of rows found among those counted leaves.

        With two rows more, one of either kind. A row that is found counts c times,
        twice in F1: of a share J of n rows the ratio is
        :math:`\theta = c J / (1 + (c - 1) J)`, with the error of a share of
        :math:`n c / (c - (c - 1) \theta)^2` rows.
        """
        value = (min(max(value, 0.0), 1.0) * rows + 1) / (rows + 2)
        c = self.below[1][1]
        as_many = max(rows, 1.0) * c / (c - (c - 1) * value) ** 2
        return float(np.sqrt(value * (1 - value) / as_many))

    def influence(self, law: Law) -> Influence | None:
        place = law.points.astype(int)
        above, below = np.array(self.above), np.array(self.below)
        masses = law.negative, law.positive
        over, under = (
            sum(float(mass @ table[place, y]) for y, mass in enumerate(masses))
            for table in (above, below)
        )
        if under <= 0:
            return None
        value = over / under
        added = (above - value * below) / under
        return Influence(
            value,
            lambda points: added[points.astype(int), 1],
            lambda points: added[points.astype(int), 0],
        )


_FOUND = ((0.0, 0.0), (0.0, 1.0))
_RATIOS = {
    "f1": _Ratio(((0.0, 0.0), (0.0, 2.0)), ((0.0, 1.0), (1.0, 2.0))),
    "jaccard": _Ratio(_FOUND, ((0.0, 1.0), (1.0, 1.0))),
    "precision": _Ratio(_FOUND, ((0.0, 0.0), (1.0, 1.0))),
    "recall": _Ratio(_FOUND, ((0.0, 1.0), (0.0, 1.0))),
}


# -----------------------------------------------------------------------------
# A metric of two classes as if it were a mean over rows, to the first order.
# -----------------------------------------------------------------------------


def linearize(
    functional: Functional,
    answers: Predictions,
    labels: Labels,
    counts: Array,
    ratio: Array,
    chances: Array,
    answers_target: Predictions,
    chances_target: Array,
    groups: Indices | None = None,
    by_fold: Array | None = None,
) -> Evidence | None:
    r"""Return the evidence of a metric that is no mean, as that of a mean.

    A row's value is :math:`\theta + k(s_i, y_i)` and what is modeled of it
    :math:`\theta + \eta_i k_1(s_i) + (1 - \eta_i) k_0(s_i)`, with the influence
    :math:`k` at the doubly robust law (`functionals`). The estimates themselves are the
    metric of their laws: of weighted source rows, of target rows with the chances
    :math:`\eta`, and of both, the weights of the correction cut as ever. None where one
    of these laws has a single class.

    Parameters
    ----------
    functional : Functional
    answers, answers_target : Answers
    labels : array of shape (n,)
    counts, ratio : array of shape (n,)
    chances, chances_target : array of shape (n,), (m,)
        That a row is positive, as a cross-fitted regression sees it: of source rows,
        each out of fold, and of target rows. Cut at zero and one.
    groups : array of shape (n,) or None
    by_fold : array of shape (n_folds, m) or None
        Of target rows, by each fit.
    """
    points, points_target = (functional.points(a) for a in (answers, answers_target))
    y = (labels == functional.positive).astype(float)
    chances, chances_target = (np.clip(p, 0.0, 1.0) for p in (chances, chances_target))
    m = points_target.size
    bare = Evidence(y, ratio, counts, chances, chances_target, groups)
    direct = Law(points_target, chances_target / m, (1 - chances_target) / m)
    rest = bare.cut_share * (y - chances)
    corrected = Law(
        np.concatenate([points_target, points]),
        np.concatenate([direct.positive, rest]),
        np.concatenate([direct.negative, -rest]),
    )

    def of_rows(share: Array) -> Influence | None:
        return functional.influence(Law(points, share * y, share * (1 - y)))

    share = share_of(counts * ratio)
    found = {
        "source": of_rows(share_of(counts)),
        "weighted": of_rows(share),
        "direct": functional.influence(direct),
        "doubly_robust": functional.influence(corrected),
    }
    exact = {name: one.value for name, one in found.items() if one is not None}
    both = found["doubly_robust"]
    if both is None or len(exact) < len(found):
        return None

    def modeled(points: Array, chance: Array) -> Array:
        return both.value + (
            chance * both.positive(points) + (1 - chance) * both.negative(points)
        )

    told = functional.told_by(points, y, share)
    worth = effective_rows(told, groups) if told.any() else 0.0
    return Evidence(
        modeled(points, y),
        ratio,
        counts,
        modeled(points, chances),
        modeled(points_target, chances_target),
        groups,
        by_fold=None
        if by_fold is None
        else np.array([modeled(points_target, p) for p in np.clip(by_fold, 0, 1)]),
        exact=exact,
        worth=worth,
        least=functional.least_error(both.value, worth),
    )
