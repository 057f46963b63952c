"""The loss on parts of the target: where the model will do worse than on average."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.evaluation.estimates import as_estimate, mean_intervals
from counterpoise.evaluation.estimating.evidence import Evidence
from counterpoise.evaluation.intervals import effective_rows
from counterpoise.evaluation.metrics import Metric
from counterpoise.tables.parts import Parts
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD

# Of a slice that weighted source rows are worth less than this many, nothing is told.
WORTH_OF_A_SLICE = 10.0


@dataclass(frozen=True, eq=False)
class MovedColumn:
    """A column by whose parts the target is sliced.

    Attributes
    ----------
    name, kind : str
    effect : float
        How far it has moved, as in `FeatureShift`.
    parts : Parts
        Of the rows that the evidence is of.
    """

    name: str
    kind: str
    effect: float
    parts: Parts = field(repr=False)


def loss_by_slice(
    metric: Metric, evidence: Evidence, columns: Sequence[MovedColumn], level: float
) -> dict[str, Any]:
    r"""Return the metric on every part of some columns, with intervals.

    On a part :math:`S` it is the doubly robust estimate of the rows in it,

    .. math:: \mathrm{mean}_{t_j \in S}\, g(t_j)
        + \frac{\sum_{x_i \in S} \bar w_i (L_i - g(x_i))}{\sum_{x_i \in S} \bar w_i},

    with the interval of `mean_estimates`. A part where the weighted source rows are
    worth fewer than ten, or either sample has fewer than five rows, has no estimate:
    there are too few to tell. Cost O(n + m) a column beside the sorting of a quantile.

    Parameters
    ----------
    metric : Metric
        A mean over rows, or the root of one.
    evidence : Evidence
    columns : sequence of MovedColumn
    level : float
        Of the intervals, each by itself: of twenty intervals of level 0.95 one misses.

    Returns
    -------
    dict
        `metric`, `level`, `fewest` (effective rows), and `columns`: `name`, `kind`,
        `effect`, and `parts` as `Part.to_dict` has them, with `share` (of the target),
        `effective_rows`, and `estimate` (`value`, `low`, `high`) or None.
    """
    return {
        "metric": metric.name,
        "level": level,
        "fewest": WORTH_OF_A_SLICE,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "effect": column.effect,
                "parts": _parts(metric, evidence, column.parts, level),
            }
            for column in columns
        ],
    }


def _parts(
    metric: Metric, evidence: Evidence, parts: Parts, level: float
) -> list[dict[str, Any]]:
    found = []
    weights = evidence.counts * evidence.ratio
    for k, part in enumerate(parts.parts):
        rows = np.flatnonzero((parts.source == k) & (weights > 0))
        aims = np.flatnonzero(parts.target == k)
        if not aims.size:
            continue
        groups = None if evidence.groups is None else evidence.groups[rows]
        worth = effective_rows(weights[rows], groups) if rows.size else 0.0
        estimate = None
        few = min(rows.size, aims.size) < FEWEST_ROWS_TOLD or worth < WORTH_OF_A_SLICE
        if not few:
            inside = mean_intervals(metric, evidence.take(rows, aims), level)
            one = as_estimate(metric, "doubly_robust", inside["doubly_robust"])
            estimate = {"value": one.value, "low": one.low, "high": one.high}
        found.append(
            {
                **part.to_dict(),
                "share": aims.size / parts.target.size,
                "effective_rows": worth,
                "estimate": estimate,
            }
        )
    return found
