"""What a classifier's own probabilities, made right on the average, promise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from counterpoise.convex import Newton, solve
from counterpoise.convex.objectives import SoftmaxLine
from counterpoise.convex.problems import Smooth
from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.metrics import SMALLEST_PROBABILITY, Metric
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import InvalidType

# How hard the line is held to the identity, in rows: separable labels have no best one.
_RIDGE = 0.1
_NEWTON_STEPS, _SMALLEST_DECREMENT = 50, 1e-10

# A line through probabilities needs few Newton steps from where it was.
_STEPS_AGAIN = 2

Promise = Callable[[Array, Array | None], float]


@dataclass(frozen=True, eq=False)
class ProbabilityLine:
    r"""Probabilities :math:`\propto \exp(a \log p_k + b_k)`, of two classes a line.

    Of two classes this is Platt's line through the log-odds; of more, one temperature
    and an offset a class.

    Attributes
    ----------
    slope : float
    offsets : array of shape (n_classes,)
        The first is zero.
    """

    slope: float
    offsets: Array

    def of(self, probabilities: Array) -> Array:
        """Return recalibrated probabilities."""
        return softmax(self.slope * _logs(probabilities) + self.offsets, axis=1)


def fit_line(
    probabilities: Array,
    places: Indices,
    weights: Array,
    start: ProbabilityLine | None = None,
    steps: int = _NEWTON_STEPS,
) -> ProbabilityLine:
    r"""Return the line of largest weighted likelihood.

    .. math:: \min_{a, b} -\sum_i w_i \log \mathrm{softmax}(a \log p(x_i) + b)_{y_i}
        + \rho \bigl((a - 1)^2 + |b|^2\bigr) / 2

    with weights of mean one and :math:`\rho` a tenth of a row.

    Parameters
    ----------
    probabilities : array of shape (n, n_classes)
    places : array of shape (n,)
        The column of each row's label.
    weights : array of shape (n,)
    start : ProbabilityLine or None
        Where Newton's method begins; None: the identity.
    steps : int
        Its largest number of steps.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]] * 50)
    >>> line = fit_line(p, np.array([0, 1, 1, 0] * 50), np.ones(200))
    >>> line.of(p[:1]).round(2)
    array([[0.5, 0.5]])
    """
    n, k = probabilities.shape
    logs = _logs(probabilities)
    weights = weights * (n / weights.sum())
    hit = np.zeros((n, k))
    hit[np.arange(n), places] = 1.0
    line = SoftmaxLine(logs, hit, weights, _RIDGE)
    first = line.identity
    if start is not None:
        first = np.concatenate([[start.slope], start.offsets[1:]])
    problem = Smooth(line, first, scale=n)
    at = solve(problem, Newton(), tol=_SMALLEST_DECREMENT, max_iter=steps).x
    return ProbabilityLine(float(at[0]), np.concatenate([[0.0], at[1:]]))


def rows_by_class(metric: Metric, answers: Answers) -> Array:
    """Return every row's metric for each class that it may have, a column each."""
    assert answers.classes is not None
    rows = answers.rows
    return np.column_stack(
        [
            metric.rows(answers, rows, np.repeat(label, rows.size))
            for label in answers.classes
        ]
    )


def expected_value(
    metric: Metric,
    answers: Answers,
    probabilities: Array,
    counts: Array | None = None,
) -> float:
    """Return the metric where every row has each class with its probability.

    Every row counts once a class, by the probability of that class: the value for the
    expected table of labels and predictions, which for a metric that is no mean over
    rows is close to the expected value.
    """
    assert answers.classes is not None
    k, m = len(answers.classes), len(probabilities)
    weights = probabilities if counts is None else probabilities * counts[:, None]
    return metric.value(
        answers,
        np.tile(np.arange(m), k),
        np.repeat(answers.classes, m),
        sample_weight=weights.T.ravel(),
    )


def promised(metric: Metric, answers: Answers) -> Promise:
    """Return the metric as a function of probabilities and of what the rows count."""
    if metric.by_row is None:
        return lambda q, counts: expected_value(metric, answers, q, counts)
    by_class = rows_by_class(metric, answers)
    return lambda q, counts: float(
        np.average(np.einsum("ij,ij->i", q, by_class), weights=counts)
    )


def promised_again(
    promise: Promise,
    p_target: Array,
    probabilities: Array,
    places: Indices,
    draws: Sequence[Array],
    line: ProbabilityLine,
    rng: np.random.Generator,
) -> Array:
    """Return what is promised for rows of both samples drawn again, where defined.

    Parameters
    ----------
    promise : callable
        Of `promised`.
    p_target, probabilities : array of shape (m, n_classes), (n, n_classes)
        Of target and source rows, as the model gave them.
    places : array of shape (n,)
        The column of each source row's label.
    draws : sequence of array of shape (n,)
        The weights of the source rows in each resample.
    line : ProbabilityLine
        Of all rows, near which the others are.
    rng : Generator
        What the target rows are drawn by.
    """
    m = len(p_target)
    found = []
    for weights in draws:
        kept = weights > 0
        try:
            near = fit_line(
                probabilities[kept], places[kept], weights[kept], line, _STEPS_AGAIN
            )
            drawn = np.bincount(rng.integers(0, m, m), minlength=m).astype(float)
            value = float(promise(near.of(p_target), drawn))
        except InvalidType:  # no rows make a wrong call right
            raise
        except (ValueError, ZeroDivisionError):  # a class was not drawn
            continue
        if np.isfinite(value):
            found.append(value)
    return np.array(found)


def _logs(probabilities: Any) -> Array:
    return np.log(np.clip(probabilities, SMALLEST_PROBABILITY, 1.0))
