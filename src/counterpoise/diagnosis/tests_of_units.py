"""Columns, moments and kernel means compared by units that are divided by chance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.diagnosis.features import FeatureShift
from counterpoise.diagnosis.rank_moments import MomentTest, RankScores
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.dependent.divisions import Divided, Divisions, by_chance
from counterpoise.samples.dependent.row_units import GROUPS
from counterpoise.samples.scaling import pooled_scale, scale_columns
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES
from counterpoise.tables.table_column import TableColumn, joined, of_one_kind

# Values at which distribution functions are compared, and levels of a category that
# are not taken together.
_VALUES = 100
# Columns of which pairs are looked at: every division weighs every pair.
_MOST_IN_PAIRS = 40


@dataclass(frozen=True)
class Dependence:
    """How rows were taken to depend on each other.

    Attributes
    ----------
    kind : str
        "groups" or "blocks of time": all intervals and p-values are of these.
    n_source, n_target : int
        How many of them have rows in the source, and in the target.
    smallest_p : float
        The smallest p-value that so many can reach.
    """

    kind: str
    n_source: int
    n_target: int
    smallest_p: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {
            "kind": self.kind,
            "n_source": self.n_source,
            "n_target": self.n_target,
            "smallest_p": self.smallest_p,
        }

    def __str__(self) -> str:
        held = (
            "rows of a group are held out together"
            if self.kind == GROUPS
            else "neighbours in time are held out together"
        )
        return (
            f"Rows belong to {self.n_source:,} source and {self.n_target:,} target "
            f"{self.kind}: {held}, and intervals and p-values are of these. The "
            f"smallest p-value that so many can reach is {self.smallest_p:.2g}."
        )


def dependence_of(samples: SamplesAsRead) -> Dependence | None:
    """Return how the rows belong together, if anything was said about it."""
    units = samples.units
    if units is None:
        return None
    return Dependence(units.kind, *units.sizes, units.smallest_p)


def columns_by_units(
    features: Sequence[FeatureShift],
    source: Table,
    target: Table,
    found: Divided,
) -> tuple[FeatureShift, ...]:
    r"""Return the features with p-values of divisions of units, corrected for all.

    The statistic of a column is the Kolmogorov-Smirnov distance at 100 values of about
    equal shares, missing ones above all others; of categories the total variation, with
    all but the 99 commonest as one and missing ones as another. Their p-values, and
    those corrected for all columns, are `by_chance`'s.

    Parameters
    ----------
    features : sequence of FeatureShift
        Of the columns of the tables.
    source, target : Table
        All rows that count.
    found : Divided
        Those looked at.
    """
    pairs = zip(source.columns, target.columns, strict=True)
    statistics = [
        _of_column(x.take(found.rows), t.take(found.aims), found.divisions)
        for x, t in pairs
    ]
    chance = by_chance(np.column_stack(statistics))
    return tuple(
        replace(feature, p_value=float(alone), adjusted_p_value=float(corrected))
        for feature, alone, corrected in zip(features, *chance, strict=True)
    )


def moments_by_units(samples: SamplesAsRead, found: Divided) -> MomentTest:
    """Return the most striking difference of spreads and correlations, by units.

    The statistics are those of `moment_test` without the means, of which
    `columns_by_units` speaks: differences of the means of squared ranks, of their sum
    and of products of ranks (here of 40 columns at most); their chance, corrected for
    all of them, is `by_chance`'s.
    """
    rows = TwoSamples.of(samples.source[found.rows], samples.target[found.aims])
    scores = RankScores.of(rows, _MOST_IN_PAIRS)
    k = scores.columns.size
    if k == 0:
        return MomentTest(1.0, ())
    first, second = np.triu_indices(scores.in_pairs.size, 1)
    products = scores.paired[:, first] * scores.paired[:, second]
    every = np.hstack([scores.ranks**2, scores.whole, products])
    chance = by_chance(np.abs(found.divisions.differences(every))).corrected
    least = int(np.argmin(chance))
    columns: tuple[int, ...] = ()
    if least < k:
        columns = (int(scores.columns[least]),)
    elif least > k:
        columns = scores.pair(least - k - 1)
    return MomentTest(float(chance[least]), columns)


def kernel_means_by_units(
    samples: SamplesAsRead, rows: TwoSamples, found: Divided, gamma: float
) -> float:
    """Return the chance of a maximum mean discrepancy as large, by divisions of units.

    `rows`: those looked at, by whose pooled scale columns are divided; `gamma`: of the
    kernel.
    """
    scale = pooled_scale(rows)
    X = np.vstack([samples.source[found.rows], samples.target[found.aims]])
    scaled = np.asarray(scale_columns(X, scale))
    kernel = found.divisions.summed(Kernel("rbf", gamma).matrix(scaled, scaled))
    squares = found.divisions.squares(kernel)
    return float(by_chance(squares[:, None]).alone[0])


def _of_column(source: TableColumn, target: TableColumn, divisions: Divisions) -> Array:
    source, target, absent = of_one_kind(source, target)
    missing = np.concatenate(absent)
    if source.kind == CATEGORIES:
        cells = _levels(joined([source, target]).values, missing)
        apart = divisions.shares_apart(cells, int(cells.max()) + 1)
        found: Array = np.abs(apart).sum(axis=1) / 2
        return found
    cells = _steps(np.concatenate([source.values, target.values]), missing)
    apart = divisions.shares_apart(cells, int(cells.max()) + 1)
    largest: Array = np.abs(np.cumsum(apart, axis=1)).max(axis=1)
    return largest


def _levels(values: Indices, missing: Any) -> Indices:
    """Return a cell for every row: a level, all rare ones, or none."""
    cells = np.where(missing, 0, values.astype(np.intp) + 1)
    counts = np.bincount(cells)
    counts[0] = 0
    common = np.argsort(-counts, kind="stable")[: _VALUES - 1]
    place = np.ones(counts.size, dtype=np.intp)
    place[common] = np.arange(2, common.size + 2)
    place[0] = 0
    return place[cells]


def _steps(values: Array, missing: Any) -> Indices:
    """Return a cell for every row: values in turn, missing ones last."""
    there = np.sort(values[~missing])
    if there.size == 0:
        return np.zeros(values.size, dtype=np.intp)
    at = np.unique(there[np.arange(1, _VALUES) * there.size // _VALUES])
    return np.where(missing, at.size + 1, np.searchsorted(at, values, side="left"))
