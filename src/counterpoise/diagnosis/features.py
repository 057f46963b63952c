"""What has shifted, one feature at a time."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis

from counterpoise.diagnosis.distances import (
    holm,
    ks_distance,
    ks_p_values,
    means_p_value,
    shares_p_value,
    standardized,
    standardized_difference,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples import effective_sample_size
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES, NUMBERS
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD
from counterpoise.tables.table_column import TableColumn, joined, of_one_kind, places_in

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
    """Return how every column differs; the p-values are not corrected.

    `tested`: whether p-values are asked for; of numbers they take their time.
    """
    shares = _Shares(share), _Shares(target_share)
    pairs = zip(source.columns, target.columns, strict=True)
    found = [_column_shift(x, t, *shares) for x, t in pairs]
    if not tested:
        return [shift for shift, _ in found]
    # One call for all columns: the machinery around a call takes longer than a value.
    waiting = [(shift.ks, *sizes) for shift, sizes in found if sizes is not None]
    p_values = iter(ks_p_values(*np.array(waiting).T) if waiting else ())
    return [
        shift if sizes is None else _with_p_value(shift, float(next(p_values)))
        for shift, sizes in found
    ]


def _with_p_value(shift: FeatureShift, p: float) -> FeatureShift:
    """Return the shift with the p-value of its values beside that of missing ones."""
    if shift.p_value is not None:
        p = min(1.0, 2 * min(p, shift.p_value))
    return replace(shift, p_value=p)


@dataclass(frozen=True, eq=False)
class _Shares:
    """What the rows of a sample count in a mean over it."""

    share: Array

    @cached_property
    def size(self) -> float:
        """The effective size of the sample."""
        return effective_sample_size(self.share)

    def there(self, absent: NDArray[np.bool_]) -> tuple[Array, float]:
        """Return shares of the rows that have a value, and their effective size."""
        return self._of_some(~absent) if absent.any() else self._of_all

    @cached_property
    def _of_all(self) -> tuple[Array, float]:
        return self._of_some(np.ones(self.share.size, dtype=bool))

    def _of_some(self, rows: NDArray[np.bool_]) -> tuple[Array, float]:
        some = self.share[rows]
        some = some / some.sum()
        return some, effective_sample_size(some)


def _column_shift(
    source: TableColumn,
    target: TableColumn,
    share: _Shares,
    target_share: _Shares,
) -> tuple[FeatureShift, tuple[float, float] | None]:
    """Return how one column differs; its p-value is not corrected.

    Numbers come with the effective sizes that their p-value needs; till then they have
    that of missing values alone.
    """
    source, target, absent = of_one_kind(source, target)
    kind = source.kind
    missing = (
        _share_of(absent[0], share.share),
        _share_of(absent[1], target_share.share),
    )
    blank = FeatureShift(
        name=source.name,
        kind=kind,
        effect=_missing_effect(*missing),
        source_missing=missing[0],
        target_missing=missing[1],
    )
    if kind == CATEGORIES:
        blank = replace(blank, **_new(source, target, target_share.share))
    p_missing = _missing_p_value(missing, share, target_share)
    if absent[0].all() or absent[1].all():
        return replace(blank, p_value=p_missing), None
    (p_share, size), (q_share, target_size) = (
        share.there(absent[0]),
        target_share.there(absent[1]),
    )
    shares, sizes = (p_share, q_share), (size, target_size)
    if kind == CATEGORIES:
        both = joined([source, target])
        places = np.split(both.values, [share.share.size])
        there = places[0][~absent[0]], places[1][~absent[1]]
        found, p = _of_categories(blank, both.categories, there, shares, sizes)
    else:
        values = source.values[~absent[0]], target.values[~absent[1]]
        return replace(_of_numbers(blank, values, shares), p_value=p_missing), sizes
    return _with_p_value(replace(found, p_value=p_missing), p), None


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
    enough = source.shape[0] >= FEWEST_ROWS_TOLD, target.shape[0] >= FEWEST_ROWS_TOLD
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
    found: FeatureShift,
    values: tuple[Array, Array],
    shares: tuple[Array, Array],
) -> FeatureShift:
    ks = ks_distance(*values, *shares)
    smd = standardized_difference(*values, *shares)
    means = [
        float(share @ rows) if rows.size >= FEWEST_ROWS_TOLD else None
        for rows, share in zip(values, shares, strict=True)
    ]
    return replace(
        found,
        effect=max(found.effect, abs(smd or 0.0), NORMAL * ks),
        smd=smd,
        ks=ks,
        source_mean=means[0],
        target_mean=means[1],
    )


def _of_categories(
    found: FeatureShift,
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
    named = apart[top] != 0 and n_rows[top] >= FEWEST_ROWS_TOLD
    distance = min(float(np.abs(apart).sum()) / 2, 1.0)
    found = replace(
        found,
        effect=max(found.effect, float(np.abs(smds[top])), NORMAL * distance),
        smd=float(smds[top]) if defined.all() else None,
        category=categories[top] if named and defined.all() else None,
        total_variation=distance,
    )
    return found, shares_p_value(p, q, *sizes)


def _new(
    source: TableColumn, target: TableColumn, target_share: Array
) -> dict[str, Any]:
    """Return what is told of the categories that the source has not."""
    # A category may be there by its type alone.
    seen = np.bincount(source.values[source.values >= 0])
    known = [source.categories[k] for k in np.flatnonzero(seen)]
    places = places_in(known, target)
    new = target.values[places == -2]
    k = len(target.categories)
    counts = np.bincount(new, minlength=k)
    shares = np.bincount(new, target_share[places == -2], minlength=k)
    common = [
        j for j in np.argsort(-shares, kind="stable") if counts[j] >= FEWEST_ROWS_TOLD
    ]
    return {
        "n_new": int(np.count_nonzero(counts)),
        "new_share": _share_of(places == -2, target_share),
        "new_categories": tuple(
            (target.categories[j], float(shares[j])) for j in common[:_LISTED]
        ),
    }


def _missing_effect(source: float, target: float) -> float:
    if source == target == 0.0:
        return 0.0
    smd = standardized(source, target, source * (1 - source), target * (1 - target))
    return max(abs(smd or 0.0), NORMAL * abs(target - source))


def _missing_p_value(
    missing: tuple[float, float], share: _Shares, target_share: _Shares
) -> float | None:
    if missing == (0.0, 0.0):
        return None
    p, q = (np.array([part, 1.0 - part]) for part in missing)
    return shares_p_value(p, q, share.size, target_share.size)


def _corrected(shifts: Sequence[FeatureShift]) -> tuple[FeatureShift, ...]:
    p_values = [shift.p_value for shift in shifts if shift.p_value is not None]
    adjusted = iter(holm(np.array(p_values)).tolist())
    return tuple(
        shift if shift.p_value is None else replace(shift, adjusted_p_value=p)
        for shift in shifts
        for p in ([None] if shift.p_value is None else [next(adjusted)])
    )


def _share_of(rows: NDArray[np.bool_], share: Array) -> float:
    """Return what some rows are of the whole, which they are to the bit if all are."""
    return 1.0 if rows.all() else min(float(share[rows].sum()), 1.0)
