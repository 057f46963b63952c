"""How many labelled target rows would make the interval as narrow as is asked for."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from counterpoise.evaluation.estimates import has_ends
from counterpoise.evaluation.intervals import (
    effective_rows,
    least_error,
    student_quantile,
)
from counterpoise.evaluation.judging import Judge, Modelled
from counterpoise.evaluation.performance import MetricPerformance

# How often the advised number is to be enough, and the most that is advised.
CHANCE_OF_ENOUGH, MOST_LABELS = 0.8, 10_000_000
# Fewer rows than this have no spread.
_FEWEST = 2


@dataclass(frozen=True)
class LabelsWanted:
    """How many labelled target rows make an interval of a width.

    Attributes
    ----------
    precision : float
        The width that is asked for, as a share of the score.
    width : float
        The width now, as a share of the score.
    n_labels : int or None
        Labelled target rows, drawn by chance, with which the interval is expected to
        have the width asked for; 0 where it has it now. None where no number would do:
        the target rows themselves are too few.
    n_target : int
        Target rows that there are.
    words : str
    width_of_all : float or None
        The width that labels of all these rows are expected to leave, as a share of the
        score; None where fewer would do, or nothing can be told.
    """

    precision: float
    width: float
    n_labels: int | None
    n_target: int
    words: str
    width_of_all: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return asdict(self)


def labels_wanted(
    judge: Judge, model: Modelled | None, found: MetricPerformance, precision: float
) -> LabelsWanted | None:
    r"""Return how many labels would make the interval `precision` times its value wide.

    By k labelled rows alone, whatever has become of p(y | x), the half-width is

    .. math:: t_k \sqrt{\frac{\sigma_k^2}{k} + \frac{\mathrm{var}_j\, g}{m}}, \qquad
        \sigma_k = \sigma \Bigl(1 + z_{0.8} \sqrt{\frac{\kappa - 1}{4}
        \Bigl(\frac1k + \frac1{\mathrm{ESS}}\Bigr)}\Bigr),

    with :math:`\sigma` and :math:`\kappa` the standard deviation and the kurtosis of
    what the model of the loss leaves, over weighted source rows: the spread of k rows
    is larger than that in one draw of five. The answer is the smallest k for which it
    is at most what is asked for. Of metrics that are no means over rows, the half-width
    of the weighted estimate times :math:`\sqrt{\mathrm{ESS}/k}`. Where the estimate is
    that of :math:`k_0` labelled rows already, its width shrinks like
    :math:`\sqrt{k_0/k}`, k counting these too.

    Parameters
    ----------
    judge : Judge
    model : Modelled or None
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
    if width <= precision:
        words = f"the interval is {width:.0%} as wide as the score: narrow enough"
        return LabelsWanted(precision, width, 0, m, words)
    n_known = 0 if judge.rows.labelled is None else len(judge.rows.labelled[1])
    reach: Callable[[int], float] | None
    if found.labelled is best and n_known >= _FEWEST:
        reach = _shrinking(width, n_known)
    else:
        reach = _reach(judge, model, found)
    k = None if reach is None else smallest(lambda k: reach(k) <= precision)
    if k is None:
        words = (
            f"no number of labels makes the interval {precision:.0%} as wide as the "
            f"score: the {m} target rows vary too much by themselves"
        )
    else:
        words = (
            f"about {k} labelled target rows, drawn by chance, would make the interval "
            f"{precision:.0%} as wide as the score (now {width:.0%})"
        )
        if k > m:
            words += f", more than the {m} that there are"
    of_all = None
    if reach is not None and (k is None or k > m):
        of_all = reach(m)
        if of_all < width:
            words += f"; labels of all of them would leave it {of_all:.0%} as wide"
    return LabelsWanted(precision, width, k, m, words, of_all)


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


def _shrinking(width: float, n_known: int) -> Callable[[int], float]:
    return lambda k: width * float(np.sqrt(n_known / k))


def _reach(
    judge: Judge, model: Modelled | None, found: MetricPerformance
) -> Callable[[int], float] | None:
    """Return the width over the score as a function of the number of labels."""
    half_width = _half_width(judge, model, found)
    if half_width is None or found.best is None:
        return None
    value, root = found.best.value, judge.metric.root
    return lambda k: width_within(value, half_width(k), root=root)


def _half_width(
    judge: Judge, model: Modelled | None, found: MetricPerformance
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
    share, rest = evidence.cut_share, evidence.losses - evidence.modelled
    rest = rest - share @ rest
    variance = float(share @ rest**2)
    kurtosis = float(share @ rest**4) / variance**2 if variance > 0 else 1.0
    worth = effective_rows(share, evidence.groups)
    target = evidence.modelled_target
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
