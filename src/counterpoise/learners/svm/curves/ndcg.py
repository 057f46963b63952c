"""The exact curve of a ranking's worth, from where rows change places."""

from itertools import combinations
from typing import Any

import numpy as np

from counterpoise.learners.svm.curves.flips import flips
from counterpoise.learners.svm.curves.tracing import Trace
from counterpoise.learners.svm.curves.validation_curve import (
    ValidationCurve,
    average_curve,
)
from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput


def ndcg(grades: Array, scores: Array) -> float:
    """Return the discounted gain of a ranking by that of the ideal one.

    The gain of a row is :math:`2^{grade} - 1`, divided by :math:`\\log_2(1 + rank)`.
    Rows of one score stand in their order.

    Examples
    --------
    >>> ndcg(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    1.0
    """
    gain = np.exp2(grades) - 1.0
    discount = 1.0 / np.log2(2.0 + np.arange(grades.size))
    order = np.argsort(-scores, kind="stable")
    return float(gain[order] @ discount / (np.sort(gain)[::-1] @ discount))


def ndcg_curve(trace: Trace, grades: Array, queries: Any) -> ValidationCurve:
    """Return 1 - NDCG over a path, in the mean over queries.

    It changes only where two rows of one query and of unequal grades change places, so
    that it is computed once between two such thetas in a row. Queries in which no row
    has a gain say nothing and are left out.

    Parameters
    ----------
    trace : Trace
        The scores of the rows along the path.
    grades : array of shape (m,)
    queries : array of shape (m,)
    """
    curves = []
    for query in np.unique(queries):
        rows = np.flatnonzero(queries == query)
        if grades[rows].max() > 0.0:
            curves.append(_of_query(trace, rows, grades[rows]))
    if not curves:
        raise InvalidInput(
            "no query has a row with a grade above zero: no NDCG is there"
        )
    return average_curve(curves)


def _of_query(trace: Trace, rows: Any, grades: Array) -> ValidationCurve:
    pairs = [
        (i, j) for i, j in combinations(range(rows.size), 2) if grades[i] != grades[j]
    ]
    start = float(trace.starts[0]) if trace.starts.size else 0.0
    thetas = np.array([start])
    if pairs:
        i, j = (rows[list(places)] for places in zip(*pairs, strict=True))
        between = Trace(
            trace.starts,
            trace.stop,
            trace.values[:, i] - trace.values[:, j],
            trace.slopes[:, i] - trace.slopes[:, j],
            trace.last[i] - trace.last[j],
        )
        swaps = np.unique(flips(between).thetas)
        inside = swaps[(swaps > start) & (swaps < trace.stop)]
        thetas = np.append(start, inside)
    middles = 0.5 * (thetas + np.append(thetas[1:], trace.stop))
    scores = trace.at_all(middles)[:, rows]
    values = np.array([1.0 - ndcg(grades, one) for one in scores])
    return ValidationCurve(
        "1 - NDCG", thetas, values, np.zeros(values.size), trace.stop
    )
