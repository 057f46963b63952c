"""Shifts of single columns and of correlations; columns of other rounding."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.utils.sparsefuncs import mean_variance_axis

from counterpoise.data.blocks import Blocks
from counterpoise.data.columns import FEWEST_ROWS_REPORTED, weighted_quantile
from counterpoise.data.parallel import map_reduce
from counterpoise.data.progress import announce
from counterpoise.data.table import (
    CATEGORIES,
    NOTHING,
    NUMBERS,
    Table,
    TableColumn,
    joined,
    of_one_kind,
    places_in,
)
from counterpoise.data.two_samples import TwoSamples, content, effective_sample_size
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.shift.two_sample_tests import (
    TEST_LEVEL,
    RankScores,
    chance_of_products,
    means_p_value,
    middle_ranks,
)

# -----------------------------------------------------------------------------
# How far apart one column is in two samples: arrays in, numbers out.
# -----------------------------------------------------------------------------


# Cells of a table of counts with less expected in either sample are pooled; with two
# cells left, and less than the second expected, the test is exact.
_LEAST_EXPECTED, _ENOUGH = 1.0, 5.0


def standardized_difference(
    values: Array, target: Array, share: Array, target_share: Array
) -> float | None:
    r"""Return the difference of the means in pooled standard deviations.

    .. math::

        \mathrm{SMD} = \frac{\bar t - \bar x}{\sqrt{(s_x^2 + s_t^2) / 2}}, \quad
        \bar x = \sum_i p_i x_i, \quad s_x^2 = \sum_i p_i (x_i - \bar x)^2

    None where both samples are constant, at two values.

    Parameters
    ----------
    values, target : array of shape (n,), (m,)
        The column in the source and in the target.
    share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.

    Examples
    --------
    >>> half = np.full(2, 0.5)
    >>> standardized_difference(np.array([0.0, 2]), np.array([1.0, 3]), half, half)
    1.0
    """
    # Divided first: the square of a large number overflows.
    scale = max(float(np.abs(values).max()), float(np.abs(target).max()))
    if scale == 0:
        return 0.0
    mean, variance = _moments(values / scale, share)
    mean_target, variance_target = _moments(target / scale, target_share)
    return standardized(mean, mean_target, variance, variance_target)


def standardized(
    mean: float, mean_target: float, variance: float, variance_target: float
) -> float | None:
    """Return the difference of two means in pooled standard deviations."""
    apart, spread = mean_target - mean, np.sqrt((variance + variance_target) / 2)
    if spread > 0:
        return float(apart / spread)
    return 0.0 if apart == 0 else None


def ks_distance(
    values: Array, target: Array, share: Array, target_share: Array
) -> float:
    r"""Return the largest distance of the two distribution functions.

    .. math::

        \max_z \Bigl| \sum_{x_i \le z} p_i - \sum_{t_j \le z} q_j \Bigr|

    Parameters
    ----------
    values, target : array of shape (n,), (m,)
        The column in the source and in the target.
    share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.

    References
    ----------
    A. Kolmogorov, 1933. N. Smirnov, 1939.

    Examples
    --------
    >>> half = np.full(2, 0.5)
    >>> ks_distance(np.array([0.0, 2]), np.array([1.0, 3]), half, half)
    0.5
    """
    n, m = values.size, target.size
    even = np.ptp(share) == 0.0 and np.ptp(target_share) == 0.0
    # A stable sort merges two that are in order already in one pass.
    if even:
        both = np.concatenate([np.sort(values), np.sort(target)])
        merged = np.argsort(both, kind="stable")
        below = np.cumsum(merged < n)
        ahead = below / n - (np.arange(1, n + m + 1) - below) / m
    else:
        orders = np.argsort(values), np.argsort(target)
        both = np.concatenate([values[orders[0]], target[orders[1]]])
        merged = np.argsort(both, kind="stable")
        steps = np.concatenate([share[orders[0]], -target_share[orders[1]]])
        ahead = np.cumsum(steps[merged])
    # Between equal values there is no place to look.
    both = both[merged]
    last = np.append(both[1:] != both[:-1], True)
    return min(float(np.abs(ahead[last]).max()), 1.0)


def ks_p_value(distance: float, n: float, m: float) -> float:
    """Return the chance of a distance as large between two samples drawn alike.

    That of one sample of n m / (n + m) rows and its distribution, as in scipy's
    ``ks_2samp(method="asymp")``. With weights, n and m are effective sizes.
    """
    return float(stats.kstwo.sf(distance, max(np.round(n * m / (n + m)), 1)))


def shares_p_value(shares: Array, target_shares: Array, n: float, m: float) -> float:
    """Return the chance of shares as different in two samples drawn alike.

    Pearson's test of equal shares. Categories of which less than one row is expected
    in either sample are pooled; where two are left and less than five rows expected,
    the test is Fisher's. With weights, n and m are effective sizes.

    Parameters
    ----------
    shares, target_shares : array of shape (k,)
        What each category has of either sample; they sum to one.
    n, m : float
        Number of rows.
    """
    counts = np.stack([n * shares, m * target_shares])
    counts = _pooled(counts[:, counts.sum(axis=0) > 0])
    if counts.shape[1] < 2:
        return 1.0
    result = stats.chi2_contingency(counts, correction=False)
    if counts.shape[1] == 2 and result.expected_freq.min() < _ENOUGH:
        return float(stats.fisher_exact(np.round(counts).astype(int)).pvalue)
    return float(result.pvalue)


def holm(p_values: Array) -> Array:
    """Return p-values corrected for their number (Holm).

    With k of them in order, the i-th is multiplied by k - i + 1, and none is below one
    before it: the chance that any of those below a level is a false alarm is at most
    that level, however they depend on each other.

    References
    ----------
    S. Holm, 1979.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(p_values.size, 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1)
    return corrected


def _moments(values: Array, share: Array) -> tuple[float, float]:
    if values.min() == values.max():
        return float(values[0]), 0.0
    mean = float(share @ values)
    return mean, float(share @ (values - mean) ** 2)


def _pooled(counts: Array) -> Array:
    """Return the cells, those with too little expected in either sample as one."""
    totals = counts.sum(axis=1)
    least = counts.sum(axis=0) * totals.min() / totals.sum()
    order = np.argsort(-least, kind="stable")
    enough = int(np.count_nonzero(least >= _LEAST_EXPECTED))
    if enough == counts.shape[1]:
        return counts
    rest = float(least[order[enough:]].sum())
    # A rest that is too small itself goes to the smallest cell that is not.
    kept = enough if rest >= _LEAST_EXPECTED or enough < 2 else enough - 1
    pool = counts[:, order[kept:]].sum(axis=1)
    return np.column_stack([counts[:, order[:kept]], pool])


# -----------------------------------------------------------------------------
# What has shifted, one feature at a time.
# -----------------------------------------------------------------------------


# Two normal distributions a little apart, by d standard deviations, have the distance
# d over this (Kolmogorov's, and the total variation).
NORMAL = float(np.sqrt(2 * np.pi))
# New categories of a feature that are listed.
_LISTED = 10


@dataclass(frozen=True)
class FeatureShift:
    r"""How one feature differs between source and target.

    Attributes
    ----------
    name : str
        Of the column; ``x0`` and so on where it has none.
    kind : str
        What it holds: numbers, categories, dates, durations.
    effect : float
        The largest of \|SMD\|, \|SMD\| of being missing, and :math:`\sqrt{2 \pi}` times
        the Kolmogorov-Smirnov distance, the total variation and the difference in
        missing values, which on that scale are standard deviations as well: two normal
        distributions a little apart have the same by all of them. Below 0.1 a shift is
        hardly worth a thought; 2.5 is the most that distances reach.
    smd : float or None
        Target mean minus source mean in pooled standard deviations, of the values that
        are there; of categories the one with the largest absolute value among the
        indicators of each. None where both samples are constant and differ, and where
        one has no value.
    category : str or None
        The category that `smd` speaks of, if at least 5 rows have it.
    ks : float or None
        Largest distance of the two distribution functions; None for categories, sparse
        matrices, and where one sample has no value.
    total_variation : float or None
        Of categories half the sum of the absolute differences of their shares: the
        share of the rows that would have to change.
    p_value : float or None
        Chance of values (Kolmogorov-Smirnov; categories: chi-squared; sparse columns:
        means) as different if nothing had shifted; where values are missing, twice the
        smaller of that and the same for missing values.
    adjusted_p_value : float or None
        Corrected for the number of features (Holm).
    source_mean, target_mean : float or None
        Of numbers, of dates in seconds since 1970; None with fewer than 5 values.
    source_missing, target_missing : float
        Share of the rows without a value.
    n_new : int
        Number of categories that the target has and the source has not.
    new_share : float
        Their share of the target rows.
    new_categories : tuple of (str, float)
        The commonest of them, each with its share; none that fewer than 5 rows have.
    """

    name: str
    kind: str
    effect: float
    smd: float | None = None
    category: str | None = None
    ks: float | None = None
    total_variation: float | None = None
    p_value: float | None = None
    adjusted_p_value: float | None = None
    source_mean: float | None = None
    target_mean: float | None = None
    source_missing: float = 0.0
    target_missing: float = 0.0
    n_new: int = 0
    new_share: float = 0.0
    new_categories: tuple[tuple[str, float], ...] = ()

    @property
    def missing_difference(self) -> float:
        """Share of missing values in the target minus that in the source."""
        return self.target_missing - self.source_missing

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings and lists."""
        listed = [{"category": c, "share": share} for c, share in self.new_categories]
        return {
            **asdict(self),
            "missing_difference": self.missing_difference,
            "new_categories": listed,
        }


def table_shifts(
    source: Table, target: Table, share: Array, target_share: Array
) -> tuple[FeatureShift, ...]:
    """Return the shift of every column, their p-values corrected together.

    Parameters
    ----------
    source, target : Table
        With the same columns; rows that count only.
    share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.
    """
    return _corrected(column_shifts(source, target, share, target_share))


def column_shifts(
    source: Table,
    target: Table,
    share: Array,
    target_share: Array,
    *,
    tested: bool = True,
) -> list[FeatureShift]:
    """Return how every column differs, with p-values that are not corrected.

    `tested`: whether p-values of numbers and of missing values are computed.
    """
    sizes = effective_sample_size(share), effective_sample_size(target_share)
    return [
        _column_shift(x, t, (share, target_share), sizes, tested)
        for x, t in zip(source.columns, target.columns, strict=True)
    ]


def _column_shift(
    source: TableColumn,
    target: TableColumn,
    shares: tuple[Array, Array],
    sizes: tuple[float, float],
    tested: bool,
) -> FeatureShift:
    """Return how one column differs; its p-value is not corrected."""
    source, target, absent = of_one_kind(source, target)
    p, q = _share_of(absent[0], shares[0]), _share_of(absent[1], shares[1])
    p_missing, effect = None, 0.0
    if (p, q) != (0.0, 0.0):
        parts = np.array([p, 1 - p]), np.array([q, 1 - q])
        p_missing = shares_p_value(*parts, *sizes) if tested else None
        smd = standardized(p, q, p * (1 - p), q * (1 - q))
        effect = max(abs(smd or 0.0), NORMAL * abs(q - p))
    result = FeatureShift(
        name=source.name,
        kind=source.kind,
        effect=effect,
        p_value=p_missing,
        source_missing=p,
        target_missing=q,
    )
    if source.kind == CATEGORIES:
        result = _with_new_categories(result, source, target, shares[1])
    if absent[0].all() or absent[1].all():
        return result
    if (p, q) != (0.0, 0.0):
        shares = shares[0][~absent[0]], shares[1][~absent[1]]
        sizes = effective_sample_size(shares[0]), effective_sample_size(shares[1])
    shares = shares[0] / shares[0].sum(), shares[1] / shares[1].sum()
    if source.kind == CATEGORIES:
        both = joined([source, target])
        places = np.split(both.values, [absent[0].size])
        there = places[0][~absent[0]], places[1][~absent[1]]
        result, p_value = _of_categories(result, both.categories, there, shares, sizes)
    else:
        values = source.values[~absent[0]], target.values[~absent[1]]
        result = _of_numbers(result, values, shares)
        if not tested:
            return result
        p_value = ks_p_value(result.ks or 0.0, *sizes)
    if p_missing is not None:
        p_value = min(1.0, 2 * min(p_value, p_missing))
    return replace(result, p_value=p_value)


def sparse_shifts(
    source: Any,
    target: Any,
    names: Sequence[str],
    share: Array,
    target_share: Array,
) -> tuple[FeatureShift, ...]:
    """Return the shift of every column of two sparse matrices, by means alone.

    Parameters
    ----------
    source, target : csr_array of shape (n, d), (m, d)
        Rows that count only.
    names : sequence of str
        Of the columns.
    share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.
    """
    mean, variance = mean_variance_axis(source, axis=0, weights=share)
    mean_target, variance_target = mean_variance_axis(
        target, axis=0, weights=target_share
    )
    p_values = means_p_value(
        mean_target - mean,
        variance,
        variance_target,
        effective_sample_size(share),
        effective_sample_size(target_share),
    )
    enough = (
        source.shape[0] >= FEWEST_ROWS_REPORTED,
        target.shape[0] >= FEWEST_ROWS_REPORTED,
    )
    shifts = []
    for j, name in enumerate(names):
        smd = standardized(mean[j], mean_target[j], variance[j], variance_target[j])
        shifts.append(
            FeatureShift(
                name=name,
                kind=NUMBERS,
                effect=NORMAL if smd is None else abs(smd),
                smd=smd,
                p_value=float(p_values[j]),
                source_mean=float(mean[j]) if enough[0] else None,
                target_mean=float(mean_target[j]) if enough[1] else None,
            )
        )
    return _corrected(shifts)


def _of_numbers(
    shift: FeatureShift,
    values: tuple[Array, Array],
    shares: tuple[Array, Array],
) -> FeatureShift:
    ks = ks_distance(*values, *shares)
    smd = standardized_difference(*values, *shares)
    means = [
        float(share @ rows) if rows.size >= FEWEST_ROWS_REPORTED else None
        for rows, share in zip(values, shares, strict=True)
    ]
    return replace(
        shift,
        effect=max(shift.effect, abs(smd or 0.0), NORMAL * ks),
        smd=smd,
        ks=ks,
        source_mean=means[0],
        target_mean=means[1],
    )


def _of_categories(
    shift: FeatureShift,
    categories: tuple[str, ...],
    places: tuple[Indices, Indices],
    shares: tuple[Array, Array],
    sizes: tuple[float, float],
) -> tuple[FeatureShift, float]:
    k = len(categories)
    p, q = (
        np.bincount(rows, share, minlength=k).astype(np.float64)
        for rows, share in zip(places, shares, strict=True)
    )
    # What rounding leaves of a share of one would have a variance.
    p[p > 1 - 1e-12], q[q > 1 - 1e-12] = 1.0, 1.0
    apart, spread = q - p, np.sqrt((p * (1 - p) + q * (1 - q)).clip(0) / 2)
    # Shares that should be equal may differ by rounding.
    apart[np.abs(apart) < 1e-15] = 0.0
    smds = np.divide(apart, spread, out=np.zeros(k), where=spread > 0)
    defined = (spread > 0) | (apart == 0)
    n_rows = np.bincount(np.concatenate(places), minlength=k)
    # Of two categories one moves as much as the other, up to rounding: the first.
    top = int(np.argmax(np.abs(smds) >= np.abs(smds).max() * (1 - 1e-9)))
    named = apart[top] != 0 and n_rows[top] >= FEWEST_ROWS_REPORTED
    distance = min(float(np.abs(apart).sum()) / 2, 1.0)
    shift = replace(
        shift,
        effect=max(shift.effect, float(np.abs(smds[top])), NORMAL * distance),
        smd=float(smds[top]) if defined.all() else None,
        category=categories[top] if named and defined.all() else None,
        total_variation=distance,
    )
    return shift, shares_p_value(p, q, *sizes)


def _with_new_categories(
    shift: FeatureShift, source: TableColumn, target: TableColumn, target_share: Array
) -> FeatureShift:
    """Add the categories that the source has not."""
    # A category may be there by its type alone.
    known = [source.categories[k] for k in np.unique(source.values[source.values >= 0])]
    is_new = places_in(known, target) == -2
    k = len(target.categories)
    counts = np.bincount(target.values[is_new], minlength=k)
    shares = np.bincount(target.values[is_new], target_share[is_new], minlength=k)
    order = np.argsort(-shares, kind="stable")
    common = [j for j in order if counts[j] >= FEWEST_ROWS_REPORTED]
    return replace(
        shift,
        n_new=int(np.count_nonzero(counts)),
        new_share=_share_of(is_new, target_share),
        new_categories=tuple(
            (target.categories[j], float(shares[j])) for j in common[:_LISTED]
        ),
    )


def _corrected(shifts: Sequence[FeatureShift]) -> tuple[FeatureShift, ...]:
    tested = [j for j, shift in enumerate(shifts) if shift.p_value is not None]
    adjusted = holm(np.array([shifts[j].p_value for j in tested], dtype=float))
    corrected = list(shifts)
    for j, p_value in zip(tested, adjusted.tolist(), strict=True):
        corrected[j] = replace(shifts[j], adjusted_p_value=p_value)
    return tuple(corrected)


def select_columns(table: Table, places: Sequence[int]) -> Table:
    """Return the table of some columns."""
    return Table(tuple(table.columns[j] for j in places), table.named)


def _share_of(rows: NDArray[np.bool_], share: Array) -> float:
    """Return what some rows are of the whole, which they are to the bit if all are."""
    return 1.0 if rows.all() else min(float(share[rows].sum()), 1.0)


# -----------------------------------------------------------------------------
# What the columns of a table in blocks hold, counted over every row in one pass.
# -----------------------------------------------------------------------------


# Categories that are told, the commonest first.
CATEGORIES_TOLD = 10


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """One column, counted: rows, gaps, and what those with a value add up to.

    Attributes
    ----------
    name, kind : str
    n, missing : int
        Rows, and those without a value.
    mean, squares : float
        Of numbers (dates and durations in seconds): the mean, and the sum of squares
        about it.
    counts : dict
        Rows of each category.
    """

    name: str
    kind: str
    n: int
    missing: int
    mean: float = 0.0
    squares: float = 0.0
    counts: dict[str, int] | None = None

    @classmethod
    def of(cls, column: TableColumn) -> "ColumnSums":
        """Return the sums of one block's column."""
        there = column.values[~column.missing]
        n, missing = len(column.values), len(column.values) - len(there)
        blank = cls(column.name, column.kind, n, missing)
        if column.kind == CATEGORIES:
            result = np.bincount(there, minlength=len(column.categories)).tolist()
            return replace(
                blank, counts=dict(zip(column.categories, result, strict=True))
            )
        if not len(there):
            return blank
        mean = float(there.mean())
        return replace(
            blank,
            mean=mean,
            squares=float(((there - mean) ** 2).sum()),
        )

    @property
    def standard_deviation(self) -> float:
        """Of the rows with a value; NaN where there is none."""
        there = self.n - self.missing
        return float(np.sqrt(self.squares / there)) if there else np.nan

    def __add__(self, later: "ColumnSums") -> "ColumnSums":
        """Return both together, means by Chan's formula."""
        kind = later.kind if self.kind == NOTHING else self.kind
        one, other = self.n - self.missing, later.n - later.missing
        both = max(one + other, 1)
        apart = later.mean - self.mean
        counts = None
        if self.counts is not None or later.counts is not None:
            counts = Counter(self.counts or {})
            counts.update(later.counts or {})
        return ColumnSums(
            self.name,
            kind,
            self.n + later.n,
            self.missing + later.missing,
            self.mean + apart * other / both,
            self.squares + later.squares + apart**2 * one * other / both,
            counts,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers; of fewer than 5 rows nothing is told but how many."""
        there = self.n - self.missing
        out: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "rows": self.n,
            "missing": self.missing / max(self.n, 1),
        }
        if there < FEWEST_ROWS_REPORTED:
            return out
        if self.counts is None:
            spread = self.standard_deviation
            return {**out, "mean": self.mean, "standard_deviation": spread}
        common = sorted(self.counts.items(), key=lambda one: (-one[1], one[0]))
        named = [one for one in common if one[1] >= FEWEST_ROWS_REPORTED][
            :CATEGORIES_TOLD
        ]
        shares = {name: count / there for name, count in named}
        return {**out, "categories": len(self.counts), "shares": shares}


def column_sums(blocks: Blocks) -> tuple[ColumnSums, ...]:
    """Return what every column of a table holds, over all rows, in one pass.

    Examples
    --------
    >>> blocks = Blocks.from_arrays(np.array([[1.0], [2.0], [6.0]]), rows=2)
    >>> found, = column_sums(blocks)
    >>> found.n, found.mean, round(found.standard_deviation, 3)
    (3, 3.0, 2.16)
    """
    announce("counting every row")
    return map_reduce(blocks, _sums_of_block, _added)


def _sums_of_block(rows: Table | object, first: int) -> tuple[ColumnSums, ...]:
    table = rows if isinstance(rows, Table) else Table.of(rows)
    return tuple(ColumnSums.of(column) for column in table.columns)


def _added(
    earlier: tuple[ColumnSums, ...], later: tuple[ColumnSums, ...]
) -> tuple[ColumnSums, ...]:
    return tuple(a + b for a, b in zip(earlier, later, strict=True))


# -----------------------------------------------------------------------------
# Pairs of columns that go together otherwise in the two samples.
# -----------------------------------------------------------------------------


# Pairs that are kept, those whose correlation has moved most.
_KEPT = 20


@dataclass(frozen=True)
class CorrelationShift:
    """Two columns whose rank correlation is another in the target.

    Attributes
    ----------
    columns : tuple of two str
    source, target : float
        Spearman's correlation within either sample.
    p_value : float
        The chance of a difference as large, corrected for the number of pairs.
    """

    columns: tuple[str, str]
    source: float
    target: float
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {**asdict(self), "columns": list(self.columns)}


def correlation_shifts(
    samples: TwoSamples, names: Sequence[str], pair: Sequence[str] = ()
) -> tuple[CorrelationShift, ...]:
    r"""Return the pairs whose rank correlation has moved, those that moved most first.

    With :math:`u_j` the middle ranks of column j *within* a sample, scaled to mean zero
    and variance one there, :math:`\rho = \sum_i p_i u_{ij} u_{ik}` is Spearman's
    correlation of that sample: where columns lie and how they spread, each by itself,
    leaves it alone, while `moment_test` ranks both samples together. Of K pairs those
    are returned for which

    .. math:: K\, p \le 0.01

    with p the chance of a difference of the two :math:`\rho` as large, by the normal
    distribution and the errors of `moment_test`. K counts the pairs of those columns of
    `moment_test` that vary within either sample (`varies_within`): of a constant there
    is no correlation. It names what moved and is no test of the verdict.

    Parameters
    ----------
    samples : TwoSamples
        Dense.
    names : sequence of str
        Of the columns of the matrices, by the columns of the table.
    pair : two names, or none
        Where rows are no evidence each by itself, the pair that a test of units found:
        it alone may be returned, its p-value that of rows.
    """
    shares = samples.source_share, samples.target_share
    both_samples = list(zip((samples.source, samples.target), shares, strict=True))
    looked_at = [
        j
        for j in RankScores.of(samples).in_pairs
        if all(varies_within(X[:, j], share) for X, share in both_samples)
    ]
    if len(looked_at) < 2:
        return ()
    columns = np.array(looked_at)
    ranks = [_within(X[:, columns], share) for X, share in both_samples]
    first, second = np.triu_indices(columns.size, 1)
    chance = chance_of_products(np.vstack(ranks), *shares)[first, second]
    chance = np.minimum(1.0, chance.size * chance)
    before, after = (
        ((share[:, None] * u).T @ u)[first, second]
        for share, u in zip(shares, ranks, strict=True)
    )
    result: dict[tuple[str, str], CorrelationShift] = {}
    for k in np.argsort(-np.abs(after - before), kind="stable"):
        both = names[int(columns[first[k]])], names[int(columns[second[k]])]
        if both[0] == both[1] or both in result:
            # Columns that one column of the table was made into.
            continue
        asked_for = not pair or set(both) == set(pair)
        if asked_for and chance[k] <= TEST_LEVEL:
            numbers = float(before[k]), float(after[k]), float(chance[k])
            result[both] = CorrelationShift(both, *numbers)
    return tuple(result.values())[:_KEPT]


def varies_within(column: Array, share: Array) -> bool:
    r"""Return whether five rows of a sample or more differ from its commonest value.

    Rows count as in :math:`\min\bigl(o\, n(p),\; n(p_o)\bigr) \ge 5` with n the
    effective size, :math:`p_o` the shares of the rows that differ and o their sum: one
    heavy row is no five, nor are five that hardly count.

    Examples
    --------
    >>> column = np.repeat([0.0, 1.0, 2.0], [90, 5, 5])
    >>> varies_within(column, np.full(100, 0.01))
    True
    >>> varies_within(column[:94], np.full(94, 1 / 94))
    False
    """
    _, place = np.unique(column, return_inverse=True)
    mass = np.bincount(place, share)
    other = share[place != np.argmax(mass)]
    if not other.size:
        return False
    rows = min(
        float(other.sum()) * effective_sample_size(share), effective_sample_size(other)
    )
    # Rounding must not decide.
    return rows >= (1 - 1e-9) * FEWEST_ROWS_REPORTED


def _within(X: Array, share: Array) -> Array:
    """Return the ranks within one sample, of mean zero and variance one."""
    u = np.column_stack([middle_ranks(X[:, j], share) for j in range(X.shape[1])])
    u -= share @ u
    spread = np.sqrt(share @ u**2)
    scaled: Array = np.divide(u, spread, out=np.zeros_like(u), where=spread > 0)
    return scaled


# -----------------------------------------------------------------------------
# Columns that two samples record to different digits, compared as if they did not.
# -----------------------------------------------------------------------------


# From how many different values on a column is one of numbers, not of levels.
_MANY_VALUES = 9
# The part of a sample's rows whose value the other has nowhere, and by how much wider
# the finest gaps between the values of one sample are.
_OWN_VALUES, _WIDER = 0.5, 2.0
# The finest gap is this quantile, and the median gap of a grid is within this of it.
_FINEST, _OF_A_GRID = 0.05, 1.5
# So many values of a grid come more than once.
_REPEATED = 3
# Multiples of the golden ratio fall evenly, wherever they begin.
_GOLDEN = (np.sqrt(5) - 1) / 2


def spread_rounded_columns(samples: TwoSamples) -> TwoSamples:
    r"""Return rows whose rounded values are spread over what they were rounded from.

    A column that is rounded in one sample alone, or to another unit, has no value in
    common with the other sample, though each lies among its values: ages in years
    beside ages with decimals. Trees and neighborhoods would call that another place.
    In the columns of `differently_rounded` the c different rows of a sample that have
    its value :math:`v_k` are put at

    .. math:: l_k + (h_k - l_k) u_i, \quad u_i = (i\, \varphi \bmod 1), \quad
        l_k = \frac{v_{k-1} + v_k}{2}, \; h_k = \frac{v_k + v_{k+1}}{2}

    for i = 1..c in canonical order, :math:`\varphi` the golden ratio; no gap counts for
    more than the median gap, beyond its ends a sample reaches no farther than the
    other, and a value that one row has stays as it is. Equal rows stay equal.

    Parameters
    ----------
    samples : TwoSamples
        In canonical order.
    """
    apart = differently_rounded(samples)
    if not apart.any():
        return samples
    rows = samples.source.copy(), samples.target.copy()
    others = samples.target, samples.source
    for one, other in zip(rows, others, strict=True):
        number = content(one)
        first = np.unique(number, return_index=True)[1]
        for j in np.flatnonzero(apart):
            ends = float(other[:, j].min()), float(other[:, j].max())
            one[:, j] = _spread(one[first, j], *ends)[number]
    return samples.with_rows(*rows)


def differently_rounded(samples: TwoSamples) -> NDArray[np.bool_]:
    r"""Return which columns the two samples record to different digits.

    Those of nine different values or more of which at least half of the rows of one
    sample have a value that no row of the other has, while the finest gap between
    neighboring values (their 5 % quantile) is twice as wide in one sample as in the
    other, and that sample is on a grid: three of its values repeat, and its median gap
    is at most 1.5 times its finest. The median of either lies within the other's range.
    Of sparse matrices none.

    Parameters
    ----------
    samples : TwoSamples

    Examples
    --------
    >>> years = np.repeat(np.arange(20.0, 60.0), 5)
    >>> exact = 20 + 0.2 * np.arange(200) + 0.07
    >>> even, odd = 2.0 * (years // 2), 2.0 * (years // 2) + 1
    >>> two = TwoSamples.of(np.c_[years, even], np.c_[exact, odd])
    >>> differently_rounded(two)
    array([ True, False])
    """
    result = np.zeros(samples.source.shape[1], dtype=bool)
    if sparse.issparse(samples.source) or sparse.issparse(samples.target):
        return result
    shares = samples.source_share, samples.target_share
    if min(one.size for one in shares) < 2:
        return result
    for j in range(result.size):
        result[j] = _is_apart(samples.source[:, j], samples.target[:, j], *shares)
    return result


def _is_apart(x: Array, t: Array, share: Array, target_share: Array) -> bool:
    """Return whether values of a column, one on a grid, have no place in common."""
    (values, counts), (values_target, counts_target) = (
        np.unique(one, return_counts=True) for one in (x, t)
    )
    repeats = [
        np.count_nonzero(one > 1) >= _REPEATED for one in (counts, counts_target)
    ]
    if not any(repeats) or min(values.size, values_target.size) < 2:
        return False
    gaps = [
        np.quantile(np.diff(one), [_FINEST, 0.5]) for one in (values, values_target)
    ]
    wide = 0 if gaps[0][0] > gaps[1][0] else 1
    fine, middle = gaps[wide]
    is_coarser = fine >= _WIDER * gaps[1 - wide][0] * (1 - 1e-9)
    if not (repeats[wide] and middle <= _OF_A_GRID * fine and is_coarser):
        return False
    both = np.intersect1d(values, values_target, assume_unique=True)
    if values.size + values_target.size - both.size < _MANY_VALUES:
        return False
    own = share[~np.isin(x, both)].sum(), target_share[~np.isin(t, both)].sum()
    if max(own) < _OWN_VALUES - 1e-9:
        return False
    median = weighted_quantile(x, share, 0.5)
    median_target = weighted_quantile(t, target_share, 0.5)
    return bool(t.min() <= median <= t.max() and x.min() <= median_target <= x.max())


def _spread(column: Array, low_end: float, high_end: float) -> Array:
    """Return values that repeat spread over the places nearer to them than others."""
    values, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    gaps = np.diff(values)
    gaps = np.minimum(gaps, np.median(gaps))
    low = values - np.concatenate([gaps[:1], gaps]) / 2
    high = values + np.concatenate([gaps, gaps[-1:]]) / 2
    low[0] = min(max(low[0], low_end), values[0])
    high[-1] = max(min(high[-1], high_end), values[-1])
    order = np.argsort(place, kind="stable")
    turn: Indices = np.empty(place.size, dtype=np.intp)
    turn[order] = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts, counts)
    part = (turn + 1) * _GOLDEN % 1.0
    spread: Array = low[place] + (high - low)[place] * part
    return np.where(counts[place] > 1, spread, column)
