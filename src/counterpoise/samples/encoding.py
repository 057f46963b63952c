"""Mixed tables to numbers, one way for the whole library."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterpoise.numerics.arrays import Array
from counterpoise.samples.columns import (
    CATEGORIES,
    DATES,
    NOTHING,
    NUMBERS,
    ZONED_DATES,
    TableColumn,
    Times,
    joined,
    of_kind,
    places_in,
    read_columns,
)
from counterpoise.samples.scaling import pooled_middle_and_spread
from counterpoise.validation import (
    Matrix,
    as_weights,
    check_same_columns,
    target_pieces,
    two_samples,
)
from counterpoise.validation.frames import column_labels

# A category is rare below this share of both samples, or below this many rows, which
# in small tables are at most one in twenty.
RARE_SHARE, RARE_ROWS, RARE_FRACTION = 0.01, 10, 0.05
# Strings are an identifier where more than this share of them differ in a sample, and
# free text where they are also this long; fewer rows than these do not tell.
DISTINCT, LONG, ROWS_TO_TELL = 0.9, 30, 20

_MONTH, _WEEKDAY, _HOUR = "month", "weekday", "hour"


class TableEncoder(BaseEstimator):
    """Tables of numbers, categories and dates as arrays of numbers.

    Fitted to both samples, each of which counts half whatever its size, so that nothing
    is scaled, pooled or forgotten because of one of them alone.

    ============= ==================================================================
    column        becomes
    ============= ==================================================================
    numbers       the value minus the median over the distance of the quartiles
                  (where these are equal: the median distance of the values that
                  differ from the median; so zeros and ones stay), missing values the
                  median; and ``age: missing``, 0 or 1, if any are
    booleans      numbers
    categories    ``colour=red`` and so on, 0 or 1, for each that is not rare;
                  ``colour: rare`` for those with less than 1 % of both samples or
                  fewer than 10 rows (in tables of less than 200 rows, 1 in 20);
                  ``colour: unseen`` for rare ones that the source does not have, if
                  these are more of the target than chance explains;
                  ``colour: missing`` if any are
    dates         seconds since 1970, as numbers, and ``when: month`` (1 to 12),
                  ``when: weekday`` (0 is Monday) and ``when: hour`` by the clock of
                  their own time zone, as numbers, those of the three that vary
    durations     seconds, as numbers
    no value      nothing: dropped and reported
    identifiers   nothing: strings of which more than nine in ten differ in a sample
                  of 20 rows or more are dropped and reported
    free text     an error: such strings of 30 characters or more on the average
    ============= ==================================================================

    pandas, polars and numpy give the same numbers for the same values, in any order of
    the rows. Strings are categories even where they look like numbers or dates.

    Attributes
    ----------
    names_ : tuple of str
        Names of the output columns.
    columns_ : tuple
        For each of them the label of the column that it comes from.
    unseen_ : dict
        For each column of categories the share of the target rows whose category the
        source does not have. Some are unseen by chance where many are rare: about the
        share of the source rows whose category no other row has.
    dropped_ : dict
        Columns that were left out, each with the reason.

    Notes
    -----
    A category that neither sample had at `fit` is 1 in ``unseen`` if there is such a
    column, else in ``rare``, else 0 in all columns, which is a place of its own. A
    missing value of a column that had none is the median, or 0 in all columns.

    Examples
    --------
    >>> source = [[20.0, "red"], [30.0, "red"], [40.0, "blue"]]
    >>> encoder = TableEncoder().fit(source, [[30.0, "green"], [None, "red"]])
    >>> encoder.names_
    ('x0', 'x0: missing', 'x1=blue', 'x1=green', 'x1=red')
    >>> encoder.unseen_
    {1: 0.5}
    """

    def fit(
        self,
        X: Any,
        X_target: Any,
        *,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Learn medians, scales and categories from both samples.

        Parameters
        ----------
        X : array-like, pandas or polars frame of shape (n, d)
            The source rows.
        X_target : the same of shape (m, d), or a tuple of such
            The target rows.
        sample_weight, target_weight : array of shape (n,), (m,)
            How many rows each row stands for.

        Returns
        -------
        self
        """
        source = read_columns(X)
        pieces = target_pieces(X_target)
        targets = []
        for name, piece in pieces.items():
            check_same_columns(X, piece, name=name)
            targets.append(read_columns(piece, name))
        n = len(source[0].values)
        m = sum(len(target[0].values) for target in targets)
        mass = np.concatenate(
            [
                as_weights(sample_weight, n),
                as_weights(target_weight, m, name="target_weight", of="X_target"),
            ]
        )
        is_target = np.arange(n + m) >= n
        plans: list[_Plan] = []
        self.unseen_: dict[Hashable, float] = {}
        self.dropped_: dict[Hashable, str] = {}
        for columns in zip(source, *targets, strict=True):
            _check_same_kind(columns, ["X", *pieces])
            found = _plan(joined(columns), mass, is_target)
            plans.append(found)
            if isinstance(found, _Dropped):
                self.dropped_[found.label] = found.reason
            if isinstance(found, _Categories):
                self.unseen_[found.label] = found.unseen_share
        names = [(name, plan.label) for plan in plans for name in plan.names]
        if not names:
            reasons = "; ".join(f"{k!r}: {v}" for k, v in self.dropped_.items())
            raise ValueError(f"X has no column that can be used: {reasons}")
        self._labels_ = column_labels(X)
        self._plans_ = tuple(plans)
        self.names_ = tuple(name for name, _ in names)
        self.columns_ = tuple(label for _, label in names)
        self.n_features_in_ = len(source)
        return self

    def transform(self, X: Any) -> Array:
        """Return the rows of a table as numbers.

        Parameters
        ----------
        X : array-like, pandas or polars frame of shape (k, d)
            A table with the columns of `fit`.

        Returns
        -------
        float64 array of shape (k, len(names_))
        """
        check_is_fitted(self, "names_")
        self._check_columns(X)
        columns = read_columns(X)
        if len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} columns, in fit there were {self.n_features_in_}"
            )
        encoded = np.empty((len(columns[0].values), len(self.names_)))
        first = 0
        for column, plan in zip(columns, self._plans_, strict=True):
            if column.kind not in (plan.kind, NOTHING) and plan.names:
                raise TypeError(
                    f"column {column.label!r} holds {column.kind}, in fit it held "
                    f"{plan.kind}"
                )
            last = first + len(plan.names)
            encoded[:, first:last] = plan.encode(of_kind(column, plan.kind))
            first = last
        return encoded

    def _check_columns(self, X: Any) -> None:
        """Refuse a frame with other labels; arrays are matched by position."""
        labels = column_labels(X)
        if None not in (labels, self._labels_) and labels != self._labels_:
            raise ValueError(
                f"X must have the columns of fit, {list(self._labels_ or ())}, got "
                f"{list(labels or ())}"
            )


def as_numbers(
    X: Any, X_target: Any, *, sample_weight: Any = None, target_weight: Any = None
) -> tuple[Matrix, Matrix]:
    """Return both samples as matrices of finite numbers.

    Tables of finite numbers, dense or sparse, leave as they are; those with categories,
    dates or missing values are encoded by `TableEncoder`.

    Examples
    --------
    >>> as_numbers([[1.0], [2.0]], [[5.0]])[1]
    array([[5.]])
    >>> as_numbers([["a"], ["b"]], [["b"]])[1]
    array([[0., 1.]])
    """
    if X_target is None:
        raise ValueError("X_target is None: two samples are needed")
    pieces = target_pieces(X_target)
    if _is_plain(X, "X") and all(_is_plain(p, name) for name, p in pieces.items()):
        source, target = two_samples(X, X_target, accept_sparse=True)
        assert target is not None
        return source, target
    encoder = TableEncoder().fit(
        X, X_target, sample_weight=sample_weight, target_weight=target_weight
    )
    return encoder.transform(X), np.vstack(
        [encoder.transform(piece) for piece in pieces.values()]
    )


def _is_plain(X: Any, name: str) -> bool:
    if sparse.issparse(X):
        return True
    return all(
        column.kind == NUMBERS and not np.isnan(column.values).any()
        for column in read_columns(X, name)
    )


@dataclass(frozen=True)
class _Dropped:
    """A column that is left out."""

    label: Hashable
    kind: str
    reason: str
    names: tuple[str, ...] = ()

    def encode(self, column: TableColumn) -> Array:
        return np.empty((len(column.values), 0))


@dataclass(frozen=True)
class _Scaled:
    """A number on the scale of both samples, and whether it was there."""

    label: Hashable
    kind: str
    name: str
    middle: float
    spread: float
    with_missing: bool

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *([f"{self.name}: missing"] if self.with_missing else []))

    def encode(self, column: TableColumn) -> Array:
        scaled = self.scale(column.values)
        if not self.with_missing:
            return scaled[:, None]
        return np.column_stack([scaled, column.missing])

    def scale(self, values: Array) -> Array:
        return np.where(np.isnan(values), 0.0, (values - self.middle) / self.spread)


@dataclass(frozen=True)
class _Dates:
    """A date as a number, and those parts of it that vary."""

    label: Hashable
    kind: str
    number: _Scaled
    parts: tuple[tuple[str, _Scaled], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.number.names, *(scaled.name for _, scaled in self.parts))

    def encode(self, column: TableColumn) -> Array:
        assert column.local is not None
        values = _parts(column.local)
        columns = [scaled.scale(values[part]) for part, scaled in self.parts]
        return np.column_stack([self.number.encode(column), *columns])


@dataclass(frozen=True)
class _Categories:
    """A category as zeros and a one."""

    label: Hashable
    kind: str
    name: str
    kept: tuple[str, ...]
    rare: tuple[str, ...]
    unseen: tuple[str, ...]
    with_missing: bool
    unseen_share: float

    @property
    def names(self) -> tuple[str, ...]:
        return (
            *(f"{self.name}={category}" for category in self.kept),
            *(f"{self.name}: {pool}" for pool in self._pools()),
        )

    def encode(self, column: TableColumn) -> Array:
        known = (*self.kept, *self.rare, *self.unseen)
        place = self._places()
        # Beyond the last column is where rows without any one go.
        nowhere = len(self.names)
        new = place.get("unseen", place.get("rare", nowhere))
        to = [
            *range(len(self.kept)),
            *(place["rare"] for _ in self.rare),
            *(place["unseen"] for _ in self.unseen),
            new,
            place.get("missing", nowhere),
        ]
        # Places -1 (missing) and -2 (new) point at the two last entries.
        chosen = np.array(to)[places_in(known, column)]
        return np.eye(nowhere + 1)[:, :nowhere][chosen]

    def _pools(self) -> Iterator[str]:
        if self.rare:
            yield "rare"
        if self.unseen:
            yield "unseen"
        if self.with_missing:
            yield "missing"

    def _places(self) -> dict[str, int]:
        return {pool: len(self.kept) + k for k, pool in enumerate(self._pools())}


_Plan: TypeAlias = _Scaled | _Dates | _Categories | _Dropped


def _plan(column: TableColumn, mass: Array, is_target: NDArray[np.bool_]) -> _Plan:
    """Return how to encode a column, given both samples of it."""
    missing = column.missing | (mass == 0)
    if column.kind == NOTHING or missing.all():
        return _Dropped(column.label, column.kind, "no value in either sample")
    if column.kind == CATEGORIES:
        return _plan_categories(column, mass, is_target)
    share = _halves(mass, is_target)
    number = _plan_number(column.label, column.kind, column.values, share)
    if column.kind not in (DATES, ZONED_DATES):
        return number
    assert column.local is not None
    parts = []
    for part, values in _parts(column.local).items():
        counted = values[~missing]
        if counted.min() < counted.max():
            plan = _plan_number(column.label, NUMBERS, values, share, f": {part}")
            parts.append((part, plan))
    return _Dates(column.label, column.kind, number, tuple(parts))


def _plan_number(
    label: Hashable, kind: str, values: Array, share: Array, part: str = ""
) -> _Scaled:
    there = ~np.isnan(values) & (share > 0)
    middle, spread = pooled_middle_and_spread(values[there], share[there])
    with_missing = bool((np.isnan(values) & (share > 0)).any())
    return _Scaled(label, kind, f"{_name(label)}{part}", middle, spread, with_missing)


def _plan_categories(
    column: TableColumn, mass: Array, is_target: NDArray[np.bool_]
) -> _Categories | _Dropped:
    there = ~column.missing & (mass > 0)
    k = len(column.categories)
    source, target = (
        np.bincount(column.values[rows], mass[rows], minlength=k).astype(np.float64)
        for rows in (there & ~is_target, there & is_target)
    )
    identifier = _identifier(column, source, target)
    if identifier:
        return identifier
    n, m = float(mass[~is_target].sum()), float(mass[is_target].sum())
    few = min(RARE_ROWS, RARE_FRACTION * (n + m))
    rare = (source / n + target / m < 2 * RARE_SHARE) | (source + target < few)
    new = (source == 0) & (target > 0)
    # What nobody has is a category by its type alone.
    rare &= source + target > 0
    apart = rare & new
    if target[apart].sum() / m <= _new_by_chance(source, n, m):
        apart = np.zeros_like(apart)
    names = np.array(column.categories, dtype=object)
    missing = bool((column.missing & (mass > 0)).any())
    kept = ~rare & (source + target > 0)
    if not (kept.any() or apart.any() or missing):
        return _Dropped(column.label, column.kind, "every category is rare")
    return _Categories(
        column.label,
        column.kind,
        _name(column.label),
        kept=tuple(names[kept]),
        rare=tuple(names[rare & ~apart]),
        unseen=tuple(names[apart]),
        with_missing=missing,
        unseen_share=float(target[new].sum() / m),
    )


def _new_by_chance(source: Array, n: float, m: float) -> float:
    """Return a share of new categories that samples drawn alike hardly exceed.

    The chance of a category not yet seen is about the share of those seen once (Good,
    1953); three standard errors are allowed.
    """
    once = float(np.count_nonzero((source > 0) & (source <= 1)))
    return once / n + 3 * float(np.sqrt((once + 1) / n**2 + (once + 1) / (n * m)))


def _identifier(column: TableColumn, source: Array, target: Array) -> _Dropped | None:
    """Refuse free text; say whether the strings are an identifier."""
    differ = [
        np.count_nonzero(mass) > DISTINCT * mass.sum()
        for mass in (source, target)
        if mass.sum() >= ROWS_TO_TELL
    ]
    if not differ or not all(differ):
        return None
    seen = source + target > 0
    lengths = np.array([len(category) for category in column.categories])[seen]
    if lengths.mean() >= LONG:
        raise ValueError(
            f"column {column.label!r} looks like free text ({lengths.size} different "
            f"strings of {lengths.mean():.0f} characters on the average): drop it or "
            "turn it into numbers first"
        )
    reason = f"an identifier: {lengths.size} different strings"
    return _Dropped(column.label, column.kind, reason)


def _parts(local: Times) -> dict[str, Array]:
    """Return month, weekday and hour, NaN where there is no date."""
    days = local.astype("M8[D]")
    parts = {
        _MONTH: local.astype("M8[M]").astype("i8") % 12 + 1.0,
        # The first of January 1970 was a Thursday.
        _WEEKDAY: (days.astype("i8") + 3) % 7 + 0.0,
        _HOUR: local.astype("M8[h]").astype("i8") % 24 + 0.0,
    }
    return {
        part: np.where(np.isnat(local), np.nan, values)
        for part, values in parts.items()
    }


def _halves(mass: Array, is_target: NDArray[np.bool_]) -> Array:
    """Return shares of which half is in either sample."""
    totals = np.where(is_target, mass[is_target].sum(), mass[~is_target].sum())
    return mass / (2 * totals)


def _name(label: Hashable) -> str:
    # An array's columns have the names that scikit-learn gives them.
    return label if isinstance(label, str) else f"x{label}"


def _check_same_kind(columns: Sequence[TableColumn], names: Sequence[str]) -> None:
    full = [k for k, column in enumerate(columns) if column.kind != NOTHING]
    for k in full[1:]:
        first, other = columns[full[0]], columns[k]
        if first.kind != other.kind:
            raise TypeError(
                f"column {columns[0].label!r} holds {first.kind} in {names[full[0]]} "
                f"and {other.kind} in {names[k]}"
            )
