"""Tests of shift, with permutations of whole groups where rows depend."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.data.groups import Divided, Divisions, by_chance
from counterpoise.data.samples import GROUPS, SamplesAsRead
from counterpoise.data.table import CATEGORIES, Table, TableColumn, joined, of_one_kind
from counterpoise.data.two_samples import (
    TwoSamples,
    effective_sample_size,
    pooled_scale,
    scale_columns,
)
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel
from counterpoise.messages import INFO, Finding
from counterpoise.shift.columns import FeatureShift
from counterpoise.shift.domain_classifier import TEST_LEVEL
from counterpoise.shift.support import Overlap, uncovered_by_chance, verdict
from counterpoise.shift.two_sample_tests import MomentTest, RankScores

# -----------------------------------------------------------------------------
# Columns, moments and kernel means compared by units that are divided by chance.
# -----------------------------------------------------------------------------


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
        return asdict(self)

    @property
    def finding(self) -> Finding:
        """How the rows were held out and tested."""
        code = "grouped_rows" if self.kind == GROUPS else "rows_in_time"
        return Finding(code, INFO, self.to_dict())

    def __str__(self) -> str:
        return str(self.finding)


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
        distances: Array = np.abs(apart).sum(axis=1) / 2
        return distances
    cells = _steps(np.concatenate([source.values, target.values]), missing)
    apart = divisions.shares_apart(cells, int(cells.max()) + 1)
    largest: Array = np.abs(np.cumsum(apart, axis=1)).max(axis=1)
    return largest


def _levels(values: Indices, missing: NDArray[np.bool_]) -> Indices:
    """Return a cell for every row: a level, all rare ones, or none."""
    cells = np.where(missing, 0, values.astype(np.intp) + 1)
    counts = np.bincount(cells)
    counts[0] = 0
    common = np.argsort(-counts, kind="stable")[: _VALUES - 1]
    place = np.ones(counts.size, dtype=np.intp)
    place[common] = np.arange(2, common.size + 2)
    place[0] = 0
    return place[cells]


def _steps(values: Array, missing: NDArray[np.bool_]) -> Indices:
    """Return a cell for every row: values in turn, missing ones last."""
    there = np.sort(values[~missing])
    if there.size == 0:
        return np.zeros(values.size, dtype=np.intp)
    at = np.unique(there[np.arange(1, _VALUES) * there.size // _VALUES])
    return np.where(missing, at.size + 1, np.searchsorted(at, values, side="left"))


# -----------------------------------------------------------------------------
# The tests on which the verdict rests, corrected together.
# -----------------------------------------------------------------------------


CLASSIFIER, HOLES, KERNEL_MEANS = "classifier", "cells and neighbours", "kernel means"
COLUMNS, MOMENTS = "columns", "means, spreads and correlations"
# Numbers whose ranks are looked at: with many columns there are fewer rows.
_ENTRIES, _FEWEST_ROWS = 150_000, 500


@dataclass(frozen=True)
class ShiftTest:
    """One test of whether the samples differ.

    Attributes
    ----------
    name : str
        "classifier" (the AUC), "columns" (each by itself, Holm), "means, spreads and
        correlations" (of the ranks of numbers), "cells and neighbours" (of columns,
        pairs and rows, `overlap`), "kernel means" (the maximum mean discrepancy).
    p_value : float
        Corrected for all that the test looks at.
    tells : bool
        Whether it tells the samples apart: at a level of 0.01, so that five tests raise
        a false alarm with a chance of 0.05 at most (Bonferroni).
    about : tuple of str
        The columns that it speaks of; none if all.
    """

    name: str
    p_value: float
    tells: bool
    about: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {**asdict(self), "about": list(self.about)}


def rows_to_rank(d: int) -> int:
    """Return how many rows of a sample are ranked, given the number of columns."""
    return max(_ENTRIES // d, _FEWEST_ROWS)


def shift_tests(
    covered: Overlap,
    features: Sequence[FeatureShift],
    names: Sequence[str],
    mmd_p_value: float | None = None,
    moments: MomentTest | None = None,
) -> tuple[ShiftTest, ...]:
    """Return the tests that could be made.

    Parameters
    ----------
    covered : Overlap
    features : sequence of FeatureShift
        With corrected p-values.
    names : sequence of str
        Of the columns of the matrices, by the columns of the table.
    mmd_p_value : float or None
    moments : MomentTest or None
    """
    # The interval tells, and not its p-value: rounding must not come between them.
    found = [ShiftTest(CLASSIFIER, covered.auc_p_value, covered.auc_low > 0.5)]
    holes = covered.holes
    about = tuple(dict.fromkeys(names[j] for j in holes.most_unlike))
    everything = len(about) == len(set(names)) > 2
    found.append(_test(HOLES, holes.p_value, () if everything else about))
    tested = [one for one in features if one.adjusted_p_value is not None]
    if tested:
        chance = [one.adjusted_p_value or 0.0 for one in tested]
        least = int(np.argmin(chance))
        found.append(_test(COLUMNS, chance[least], (tested[least].name,)))
    if moments is not None:
        about = tuple(dict.fromkeys(names[j] for j in moments.columns))
        found.append(_test(MOMENTS, moments.p_value, about))
    if mmd_p_value is not None:
        found.append(_test(KERNEL_MEANS, mmd_p_value))
    return tuple(found)


def verdict_by(
    tests: Sequence[ShiftTest], covered: Overlap, share: Array, target_share: Array
) -> str:
    """Return the verdict of `overlap`'s table, by all tests."""
    sizes = [effective_sample_size(one) for one in (share, target_share)]
    told = any(test.tells for test in tests)
    return verdict(
        covered.auc,
        covered.auc_low,
        covered.uncovered_fraction,
        uncovered_by_chance(*(covered.units or sizes)),
        min(sizes) if covered.enough else 0.0,
        told=told,
        uncovered_fraction_low=covered.uncovered_fraction_low,
    )


def _test(name: str, p_value: float, about: tuple[str, ...] = ()) -> ShiftTest:
    return ShiftTest(name, p_value, p_value <= TEST_LEVEL, about)
