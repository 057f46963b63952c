"""Tests on which the verdict rests, by rows or by groups, and what they can find."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb
from scipy.stats import norm

from counterpoise.data.groups import Divided, Divisions, by_chance
from counterpoise.data.samples import GROUPS, Samples
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
from counterpoise.shift.support import Overlap, uncovered_by_chance, verdict
from counterpoise.shift.two_sample_tests import (
    TEST_LEVEL,
    MomentTest,
    RankScores,
    chance_of_cells,
    cuts_of_pairs,
)

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


def dependence_of(samples: Samples) -> Dependence | None:
    """Return how the rows belong together, if anything was said about it."""
    units = samples.units
    if units is None:
        return None
    return Dependence(units.kind, *units.sizes, units.smallest_p)


def columns_by_units(
    features: Sequence[FeatureShift],
    source: Table,
    target: Table,
    divided: Divided,
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
    divided : Divided
        Those looked at.
    """
    pairs = zip(source.columns, target.columns, strict=True)
    statistics = [
        _of_column(x.take(divided.rows), t.take(divided.aims), divided.divisions)
        for x, t in pairs
    ]
    chance = by_chance(np.column_stack(statistics))
    return tuple(
        replace(feature, p_value=float(alone), adjusted_p_value=float(corrected))
        for feature, alone, corrected in zip(features, *chance, strict=True)
    )


def moments_by_units(samples: Samples, divided: Divided) -> MomentTest:
    """Return the most striking difference of spreads and correlations, by units.

    The statistics are those of `moment_test` without the means, of which
    `columns_by_units` speaks: differences of the means of squared ranks, of their sum
    and of products of ranks (here of 40 columns at most); their chance, corrected for
    all of them, is `by_chance`'s.
    """
    rows = TwoSamples.of(samples.source[divided.rows], samples.target[divided.aims])
    scores = RankScores.of(rows, _MOST_IN_PAIRS)
    k = scores.columns.size
    if k == 0:
        return MomentTest(1.0, ())
    first, second = np.triu_indices(scores.in_pairs.size, 1)
    products = scores.paired[:, first] * scores.paired[:, second]
    every = np.hstack([scores.ranks**2, scores.whole, products])
    chance = by_chance(np.abs(divided.divisions.differences(every))).corrected
    least = int(np.argmin(chance))
    columns: tuple[int, ...] = ()
    if least < k:
        columns = (int(scores.columns[least]),)
    elif least > k:
        columns = scores.pair(least - k - 1)
    return MomentTest(float(chance[least]), columns)


def kernel_means_by_units(
    samples: Samples, rows: TwoSamples, divided: Divided, gamma: float
) -> float:
    """Return the chance of a maximum mean discrepancy as large, by divisions of units.

    `rows`: those looked at, by whose pooled scale columns are divided; `gamma`: of the
    kernel.
    """
    scale = pooled_scale(rows)
    X = np.vstack([samples.source[divided.rows], samples.target[divided.aims]])
    scaled = np.asarray(scale_columns(X, scale))
    kernel = divided.divisions.summed(Kernel("rbf", gamma).matrix(scaled, scaled))
    squares = divided.divisions.squares(kernel)
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


CLASSIFIER, HOLES, KERNEL_MEANS = "classifier", "cells and neighbors", "kernel means"
COLUMNS, MOMENTS = "columns", "means, spreads and correlations"


@dataclass(frozen=True)
class ShiftTest:
    """One test of whether the samples differ.

    Attributes
    ----------
    name : str
        "classifier" (the AUC), "columns" (each by itself, Holm), "means, spreads and
        correlations" (of the ranks of numbers), "cells and neighbors" (of columns,
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
    result = [ShiftTest(CLASSIFIER, covered.auc_p_value, covered.auc_low > 0.5)]
    holes = covered.holes
    about = tuple(dict.fromkeys(names[j] for j in holes.most_unlike))
    everything = len(about) == len(set(names)) > 2
    result.append(_test(HOLES, holes.p_value, () if everything else about))
    tested = [one for one in features if one.adjusted_p_value is not None]
    if tested:
        chance = [one.adjusted_p_value or 0.0 for one in tested]
        least = int(np.argmin(chance))
        result.append(_test(COLUMNS, chance[least], (tested[least].name,)))
    if moments is not None:
        about = tuple(dict.fromkeys(names[j] for j in moments.columns))
        result.append(_test(MOMENTS, moments.p_value, about))
    if mmd_p_value is not None:
        result.append(_test(KERNEL_MEANS, mmd_p_value))
    return tuple(result)


def verdict_by(
    tests: Sequence[ShiftTest], covered: Overlap, share: Array, target_share: Array
) -> str:
    """Return the verdict of `overlap`'s table, by all tests."""
    sizes = [effective_sample_size(one) for one in (share, target_share)]
    differs = any(test.tells for test in tests)
    return verdict(
        covered.auc,
        covered.auc_low,
        covered.uncovered_fraction,
        uncovered_by_chance(*(covered.units or sizes)),
        min(sizes) if covered.enough else 0.0,
        told=differs,
        uncovered_fraction_low=covered.uncovered_fraction_low,
    )


def _test(name: str, p_value: float, about: tuple[str, ...] = ()) -> ShiftTest:
    return ShiftTest(name, p_value, p_value <= TEST_LEVEL, about)


# -----------------------------------------------------------------------------
# The smallest hole in the source that the tests of cells find.
# -----------------------------------------------------------------------------


# A shift of the size told is found with about this chance.
POWER = 0.8
# How far the middle of a hole is from the next corner of cells, in cells: half way
# between the worst place and the best.
_OFF_CORNER = 0.25
# Counts of source rows vary too, and so does the place of a hole: with so much more a
# hole is found four times in five, over drawn samples of many sizes.
_MORE = 1.25
# Families of tests (three), their kinds, sides and cuts, or what the choice of one
# cell costs (two each), among which a chance of cells is corrected.
_CHANCES = 24
# A share is told to a part of this.
_FINE_ENOUGH = 1e-3


def smallest_hole(n: float, m: float, among: float) -> float:
    r"""Return the least share of the target that lies in a hole which is found.

    The hole is a square in the ranks of two columns. Cut into g x g cells, its middle a
    quarter of a cell from a corner of cells in both columns, it covers the part
    :math:`u_c` of a cell, which then holds :math:`t = m / g^2` rows of the target and
    :math:`s = (1 - u_c) n / (g^2 (1 - h))` of the source. With the chance of these
    counts by `cell_tests`, each t lowered by what four draws of five exceed,

    .. math:: z_{0.8} \frac{u_c t}{\sqrt{h m}}, \quad \text{a share of }
        z_{0.8} \sqrt{h m} \text{ rows,}

    a hole is found if the chance, times 24 `among` (three families of tests of two
    kinds, two sides, two cuts), is at most 0.01 by one of the cuts. What is returned is
    1.25 times that share, by simulation: the source's counts and a hole's place vary as
    well.

    Parameters
    ----------
    n, m : float
        Effective sizes.
    among : float
        How many pairs of columns are tested.

    Returns
    -------
    float
        More than one if none would be found.

    Examples
    --------
    >>> round(smallest_hole(1000, 1000, among=45), 3)
    0.096
    """
    low, high, cuts = 0.0, 1.0, cuts_of_pairs(n + m)
    level = TEST_LEVEL / (among * _CHANCES)
    while high - low > _FINE_ENOUGH * high:
        middle = (low + high) / 2
        if min(_chance(middle, n, m, cut) for cut in cuts) <= level:
            high = middle
        else:
            low = middle
    return _MORE * high


def _chance(share: float, n: float, m: float, cut: int) -> float:
    """Return the chance of the counts of cells around a hole of this share."""
    covered = np.outer(*[_covered(math.sqrt(share), cut)] * 2).ravel()
    fewer = norm.ppf(POWER) * covered * m / cut**2 / math.sqrt(share * m)
    t = np.maximum(m / cut**2 - fewer, 0.0)
    s = (1.0 - covered) * n / cut**2 / (1.0 - share)
    return chance_of_cells(s, t, n / (n + m))


def _covered(side: float, cut: int) -> Array:
    """Return which part of each of the cells of a line a side of a hole covers."""
    middle = (cut // 2 + _OFF_CORNER) / cut
    low = np.clip(middle - side / 2, 0.0, 1.0 - side)
    ends = np.arange(cut + 1) / cut
    inside = np.clip(ends, low, low + side)
    parts: Array = np.diff(inside) * cut
    return parts


# -----------------------------------------------------------------------------
# What could have been missed: the smallest shift of each kind that would be found.
# -----------------------------------------------------------------------------


# A level that so many of the rows have.
LEVEL_SHARE = 0.1
# For normals Wilcoxon's test of the mean, Mood's of the spread and Spearman's of the
# correlation need one over these times the rows of the best ones.
_WILCOXON, _MOOD, _SPEARMAN = 0.955, 0.76, 0.912
# Kinds of moments of ranks, where there are two columns of numbers.
_MOMENTS = 4


@dataclass(frozen=True)
class Detectable:
    """The smallest shift of one kind that is found with a chance of 0.8.

    Attributes
    ----------
    mean : float
        Of one column of normal numbers, in standard deviations.
    scale : float
        Factor by which the spread of one such column grows.
    level : float
        Factor by which a category of a tenth of the rows becomes commoner.
    hole : float
        Share of the target that lies where, in a column or a pair, the source has no
        rows; more than one if no share would be found.
    correlation : float
        Of two such columns that were uncorrelated.
    """

    mean: float
    scale: float
    level: float
    hole: float
    correlation: float

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers."""
        return asdict(self)

    @property
    def finding(self) -> Finding:
        """What could have been missed."""
        hole = f"{self.hole:.2g}" if self.hole <= 1 else "none, however large,"
        correlation: Finding | str = ""
        if not np.isnan(self.correlation):
            size = {"correlation": self.correlation}
            correlation = Finding("detectable_correlation", INFO, size)
        values = {
            "mean": self.mean,
            "scale": self.scale,
            "level": self.level,
            "hole": hole,
            "correlation": correlation,
        }
        return Finding("detectable", INFO, values)

    def __str__(self) -> str:
        return str(self.finding)


def detectable_of(source: Table, w: Array, v: Array) -> Detectable:
    """Return what would be found in samples of these rows and columns.

    Parameters
    ----------
    source : Table
    w, v : array of shape (n,), (m,)
        What the rows count.
    """
    levels = [len(column.categories) for column in source.columns if column.categories]
    n, m = (effective_sample_size(one) for one in (w, v))
    d = len(source.columns)
    return detectable(n, m, d, max([2, *levels]), n_categories=len(levels))


def detectable(
    n: float, m: float, d: int, n_levels: int = 2, n_categories: int = 0
) -> Detectable:
    r"""Return the smallest shifts that the tests of `diagnose` find.

    With :math:`e = \sqrt{1/n + 1/m}`, :math:`z_p` normal quantiles, each test at a
    level of 0.01 and corrected for what it looks at:

    ======  ==========================================================================
    mean    :math:`(z_{1 - 0.005/k} + z_{0.8})\, e / \sqrt{0.955}` (Wilcoxon)
    scale   :math:`\exp\bigl((z_{1 - 0.005/k} + z_{0.8})\, e / \sqrt{1.52}\bigr)` (Mood)
    correl. :math:`\tanh\bigl((z_{1 - 0.005/l} + z_{0.8})\, e / \sqrt{0.912}\bigr)`
            (Spearman)
    level   f with :math:`0.1 (f - 1) = (z_{1 - a} + z_{0.8})\, e \sqrt{0.1 (1 + f)/2}`,
            :math:`a = 0.01 / (24 K c k)` for K levels, c categories and k kinds of
            columns, 2 where there are numbers beside them (cells)
    hole    `smallest_hole`, in one of the pairs of numbers, times as many kinds of
            pairs as there are
    ======  ==========================================================================

    with k = 4 p and l = 2 p (p - 1) of p columns of numbers (k = 2 of one).

    Parameters
    ----------
    n, m : float
        Effective sizes.
    d : int
        Number of columns.
    n_levels : int
        Levels of the category that has most.
    n_categories : int
        How many of the columns are categories; of none, what is told of a level is
        told of one among the columns.

    Examples
    --------
    >>> found = detectable(1000, 1000, d=10)
    >>> round(found.mean, 2), round(found.scale, 2)
    (0.21, 1.18)
    """
    e, often = np.sqrt(1 / n + 1 / m), float(norm.ppf(POWER))
    n_numbers = d - n_categories
    alone, paired = max(n_numbers, 1), max(comb(n_numbers, 2), 1.0)
    z = norm.isf(TEST_LEVEL / 2 / alone / (_MOMENTS if alone > 1 else 2)) + often
    mean = z * e / np.sqrt(_WILCOXON)
    # e enters the logarithm of a scale by the variance of a sample's log deviation.
    scale = np.exp(z * e / np.sqrt(2 * _MOOD))
    z = norm.isf(TEST_LEVEL / 2 / paired / _MOMENTS) + often
    correlation = np.tanh(z * e / np.sqrt(_SPEARMAN))
    n_kinds = 2 if n_numbers and d > 1 else 1
    among = n_kinds * max(n_categories, 1) * max(n_levels, 2)
    part = TEST_LEVEL / (_CHANCES * among)
    reach = ((norm.isf(part) + often) * e) ** 2 / LEVEL_SHARE / 2
    # f - 1 = x solves x^2 = reach (x + 2).
    level = 1 + (reach + np.sqrt(reach**2 + 8 * reach)) / 2
    pairs = [comb(n_numbers, 2), n_numbers * n_categories, comb(n_categories, 2)]
    hole = smallest_hole(n, m, max(pairs[0], 1.0) * max(np.count_nonzero(pairs), 1))
    result = mean, scale, level, hole, correlation
    return Detectable(*map(float, result))
