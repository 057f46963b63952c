"""Encoding of mixed tables as numeric matrices."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import Matrix, target_pieces, two_samples
from counterpoise.data.columns import pooled_middle_and_spread
from counterpoise.data.frames import TableLike, sparse_part
from counterpoise.data.labels_and_weights import weights_of_both
from counterpoise.data.table import (
    CATEGORIES,
    DATES,
    NOTHING,
    NUMBERS,
    ZONED_DATES,
    Table,
    TableColumn,
    Times,
    check_columns,
    joined,
    of_kind,
    places_in,
    read_table,
    two_tables,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# How a column becomes numbers: a plan for each kind.
# -----------------------------------------------------------------------------


# A category is rare below this share of both samples, or below this many rows, which
# in small tables are at most one in twenty.
RARE_SHARE, RARE_ROWS, RARE_FRACTION = 0.01, 10, 0.05
# Strings are an identifier where more than this share of them differ in a sample, and
# free text where they are also this long; fewer rows than these do not tell.
DISTINCT, LONG, ROWS_TO_TELL = 0.9, 30, 20

_MONTH, _WEEKDAY, _HOUR = "month", "weekday", "hour"


@dataclass(frozen=True)
class DroppedPlan:
    """A column that is left out."""

    label: Hashable
    kind: str
    reason: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class NumberPlan:
    """A number on the scale of both samples, and whether it was there."""

    label: Hashable
    kind: str
    name: str
    middle: float
    spread: float
    with_missing: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its output columns."""
        return (self.name, f"{self.name}: missing")[: 1 + self.with_missing]

    def encode(self, column: TableColumn) -> Array:
        """Return its output columns."""
        scaled = self.scale(column.values)
        if not self.with_missing:
            return scaled[:, None]
        return np.column_stack([scaled, column.missing])

    def decode(self, columns: Array) -> TableColumn:
        """Return the column that encoded rows still tell, up to rounding."""
        values = columns[:, 0] * self.spread + self.middle
        if self.with_missing:
            values = np.where(columns[:, 1] > 0, np.nan, values)
        return TableColumn(self.label, self.kind, values)

    def scale(self, values: Array) -> Array:
        """Return the values about the middle, over the spread; zero where missing."""
        return np.where(np.isnan(values), 0.0, (values - self.middle) / self.spread)


@dataclass(frozen=True)
class DatesPlan:
    """A date as a number, and those parts of it that vary."""

    label: Hashable
    kind: str
    number: NumberPlan
    parts: tuple[tuple[str, NumberPlan], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its output columns."""
        return (*self.number.names, *(scaled.name for _, scaled in self.parts))

    def encode(self, column: TableColumn) -> Array:
        """Return its output columns."""
        assert column.local is not None
        values = _parts(column.local)
        columns = [scaled.scale(values[part]) for part, scaled in self.parts]
        return np.column_stack([self.number.encode(column), *columns])

    def decode(self, columns: Array) -> TableColumn:
        """Return the column that encoded rows still tell; not what the clock showed."""
        found = self.number.decode(columns)
        never = np.full(len(columns), "NaT", dtype="M8[us]")
        return TableColumn(self.label, self.kind, found.values, local=never)


@dataclass(frozen=True)
class CategoriesPlan:
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
        """Names of its output columns."""
        return (
            *(f"{self.name}={category}" for category in self.kept),
            *(f"{self.name}: {pool}" for pool in self._pools),
        )

    def encode(self, column: TableColumn) -> Array:
        """Return its output columns."""
        known = (*self.kept, *self.rare, *self.unseen)
        # Beyond the last column is where rows without any one go.
        nowhere = len(self.names)
        place = {pool: len(self.kept) + k for k, pool in enumerate(self._pools)}
        rare, unseen = place.get("rare", nowhere), place.get("unseen", nowhere)
        to = [
            *range(len(self.kept)),
            *[rare] * len(self.rare),
            *[unseen] * len(self.unseen),
            # Places -1 (missing) and -2 (new) point at the two last entries.
            place.get("unseen", rare),
            place.get("missing", nowhere),
        ]
        chosen = np.array(to)[places_in(known, column)]
        return np.eye(nowhere + 1)[:, :nowhere][chosen]

    def decode(self, columns: Array) -> TableColumn:
        """Return the column that encoded rows still tell.

        Those of a pool have its name in brackets; what has a place of its own, neither
        being known nor in a pool, is missing.
        """
        there = columns.any(axis=1)
        names = [*self.kept, *(f"({pool})" for pool in self._pools)]
        place = np.where(there, columns.argmax(axis=1), -1)
        if self.with_missing:
            place[place == names.index("(missing)", len(self.kept))] = -1
        order = np.argsort(names, kind="stable")
        at = np.append(np.argsort(order, kind="stable"), -1)
        return TableColumn(
            self.label, self.kind, at[place], tuple(names[k] for k in order)
        )

    @property
    def _pools(self) -> list[str]:
        pools = {"rare": self.rare, "unseen": self.unseen, "missing": self.with_missing}
        return [pool for pool, is_there in pools.items() if is_there]


ColumnPlan: TypeAlias = NumberPlan | DatesPlan | CategoriesPlan | DroppedPlan


def plan_column(
    column: TableColumn, mass: Array, is_target: NDArray[np.bool_]
) -> ColumnPlan:
    """Return how to encode a column, given both samples of it."""
    missing = column.missing | (mass == 0)
    if column.kind == NOTHING or missing.all():
        return DroppedPlan(column.label, column.kind, "no value in either sample")
    if column.kind == CATEGORIES:
        return _plan_categories(column, mass, is_target)
    # Half of the whole is in either sample.
    totals = np.where(is_target, mass[is_target].sum(), mass[~is_target].sum())
    share = mass / (2 * totals)
    number = _plan_number(column, column.kind, column.values, share)
    if column.kind not in (DATES, ZONED_DATES):
        return number
    assert column.local is not None
    parts = []
    for part, values in _parts(column.local).items():
        counted = values[~missing]
        if counted.min() < counted.max():
            plan = _plan_number(column, NUMBERS, values, share, f": {part}")
            parts.append((part, plan))
    return DatesPlan(column.label, column.kind, number, tuple(parts))


def _plan_number(
    column: TableColumn, kind: str, values: Array, share: Array, part: str = ""
) -> NumberPlan:
    counted = np.flatnonzero(~np.isnan(values) & (share > 0))
    middle, spread = pooled_middle_and_spread(values[counted], share[counted])
    missing = bool((np.isnan(values) & (share > 0)).any())
    name = f"{column.name}{part}"
    return NumberPlan(column.label, kind, name, middle, spread, missing)


def _plan_categories(
    column: TableColumn, mass: Array, is_target: NDArray[np.bool_]
) -> CategoriesPlan | DroppedPlan:
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
        return DroppedPlan(column.label, column.kind, "every category is rare")
    return CategoriesPlan(
        column.label,
        column.kind,
        column.name,
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


def _identifier(
    column: TableColumn, source: Array, target: Array
) -> DroppedPlan | None:
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
        raise InvalidInputError(
            f"column {column.label!r} looks like free text ({lengths.size} different "
            f"strings of {lengths.mean():.0f} characters on the average): drop it or "
            "turn it into numbers first"
        )
    reason = f"an identifier: {lengths.size} different strings"
    return DroppedPlan(column.label, column.kind, reason)


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


# -----------------------------------------------------------------------------
# Mixed tables to numbers, one way for the whole library.
# -----------------------------------------------------------------------------


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
    categories    ``color=red`` and so on, 0 or 1, for each that is not rare;
                  ``color: rare`` for those with less than 1 % of both samples or
                  fewer than 10 rows (in tables of less than 200 rows, 1 in 20);
                  ``color: unseen`` for rare ones that the source does not have, if
                  these are more of the target than chance explains;
                  ``color: missing`` if any are
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
        X: TableLike,
        X_target: TableLike,
        *,
        sample_weight: TableLike = None,
        target_weight: TableLike = None,
    ) -> Self:
        """Learn medians, scales and categories from both samples.

        Parameters
        ----------
        X : array-like, pandas or polars frame, or Table, of shape (n, d)
            The source rows.
        X_target : the same of shape (m, d), or a tuple of such
            The target rows.
        sample_weight, target_weight : array of shape (n,), (m,)
            How many rows each row stands for.

        Returns
        -------
        self
        """
        source, target = two_tables(X, X_target)
        return self._fit(source, target, sample_weight, target_weight)

    def fit_transform(
        self,
        X: TableLike,
        X_target: TableLike,
        *,
        sample_weight: TableLike = None,
        target_weight: TableLike = None,
    ) -> tuple[Array, Array]:
        """Return both samples as numbers, having learned from them as `fit` does.

        The tables are read once, where `fit` and two calls of `transform` read them
        twice.

        Parameters
        ----------
        X : array-like, pandas or polars frame, or Table, of shape (n, d)
            The source rows.
        X_target : the same of shape (m, d), or a tuple of such
            The target rows.
        sample_weight, target_weight : array of shape (n,), (m,)
            How many rows each row stands for.

        Returns
        -------
        float64 arrays of shape (n, len(names_)), (m, len(names_))
        """
        source, target = two_tables(X, X_target)
        self._fit(source, target, sample_weight, target_weight)
        return self._encoded(source), self._encoded(target)

    def transform(self, X: TableLike) -> Array:
        """Return the rows of a table as numbers.

        Parameters
        ----------
        X : array-like, pandas or polars frame, or Table, of shape (k, d)
            A table with the columns of `fit`; arrays are matched by position.

        Returns
        -------
        float64 array of shape (k, len(names_))
        """
        check_is_fitted(self, "names_")
        table = read_table(X)
        check_columns(table, self._labels_, self.n_features_in_)
        return self._encoded(table)

    def has_new_category(self, X: TableLike) -> NDArray[np.bool_]:
        """Return which rows have a category that neither sample of `fit` had.

        In columns in which no category is rare: elsewhere new ones come by chance.

        Parameters
        ----------
        X : as for `transform`
        """
        check_is_fitted(self, "names_")
        table = read_table(X)
        check_columns(table, self._labels_, self.n_features_in_)
        found = np.zeros(len(table), dtype=bool)
        for column, plan in zip(table.columns, self._plans_, strict=True):
            if isinstance(plan, CategoriesPlan) and not plan.rare:
                known = (*plan.kept, *plan.unseen)
                found |= places_in(known, of_kind(column, plan.kind)) == -2
        return found

    def column_of(self, label: Hashable, rows: Array) -> TableColumn:
        """Return a column of the table as encoded rows still tell it.

        Numbers and dates up to rounding; categories that were pooled by the name of
        their pool.

        Parameters
        ----------
        label : hashable
            One of `columns_`.
        rows : array of shape (k, len(names_))
            What `transform` returned.
        """
        check_is_fitted(self, "names_")
        first = 0
        for plan in self._plans_:
            last = first + len(plan.names)
            if plan.label == label and not isinstance(plan, DroppedPlan):
                return plan.decode(rows[:, first:last])
            first = last
        raise InvalidInputError(f"there is no column {label!r} among the encoded ones")

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return `names_` as an array of objects, as scikit-learn has them.

        Parameters
        ----------
        input_features : None
            Not looked at: the names are those of the columns at `fit`.
        """
        check_is_fitted(self, "names_")
        return np.array(self.names_, dtype=object)

    @property
    def display_names(self) -> tuple[str, ...]:
        """The output columns as a user knows them, without a value of the table."""
        return tuple(_told(plan, name) for plan in self._plans_ for name in plan.names)

    def _fit(
        self,
        source: Table,
        target: Table,
        sample_weight: TableLike,
        target_weight: TableLike,
    ) -> Self:
        n, m = len(source), len(target)
        mass = np.concatenate(weights_of_both(sample_weight, target_weight, n, m))
        is_target = np.arange(n + m) >= n
        plans: list[ColumnPlan] = []
        self.unseen_: dict[Hashable, float] = {}
        self.dropped_: dict[Hashable, str] = {}
        for columns in zip(source.columns, target.columns, strict=True):
            found = plan_column(joined(columns), mass, is_target)
            plans.append(found)
            if isinstance(found, DroppedPlan):
                self.dropped_[found.label] = found.reason
            if isinstance(found, CategoriesPlan):
                self.unseen_[found.label] = found.unseen_share
        names = [(name, plan.label) for plan in plans for name in plan.names]
        if not names:
            reasons = "; ".join(f"{k!r}: {v}" for k, v in self.dropped_.items())
            raise InvalidInputError(f"X has no column that can be used: {reasons}")
        self._labels_ = source.labels
        self._plans_ = tuple(plans)
        self.names_ = tuple(name for name, _ in names)
        self.columns_ = tuple(label for _, label in names)
        self.n_features_in_ = len(plans)
        return self

    def _encoded(self, table: Table) -> Array:
        encoded = np.empty((len(table), len(self.names_)))
        first = 0
        for column, plan in zip(table.columns, self._plans_, strict=True):
            if column.kind not in (plan.kind, NOTHING) and plan.names:
                raise InvalidTypeError(
                    f"column {column.label!r} holds {column.kind}, in fit it held "
                    f"{plan.kind}"
                )
            if not isinstance(plan, DroppedPlan):
                columns = plan.encode(of_kind(column, plan.kind))
                encoded[:, first : first + len(plan.names)] = columns
                first += len(plan.names)
        return encoded


def _told(plan: ColumnPlan, name: str) -> str:
    if name.endswith(": missing"):
        return f"'{plan.label}' (its missing values)"
    is_part = isinstance(plan, CategoriesPlan)
    return f"'{plan.label}'{' (one of its categories)' if is_part else ''}"


def encoder_of(
    source: Table,
    target: Table,
    source_weight: Array | None = None,
    target_weight: Array | None = None,
) -> TableEncoder:
    """Return an encoder fitted to tables as `two_tables` has read them."""
    return TableEncoder()._fit(source, target, source_weight, target_weight)


def encoded_rows(encoder: TableEncoder, table: Table) -> Array:
    """Return as numbers a table that the encoder was fitted to, or rows of it."""
    return encoder._encoded(table)


def encoded(encoder: TableEncoder | None, X: TableLike) -> TableLike:
    """Return a table, or the pieces of a target together, as an encoder sees them.

    Without an encoder a table leaves as it came.
    """
    if encoder is None:
        return X
    if isinstance(X, tuple):
        return np.vstack([encoder.transform(piece) for piece in X])
    return encoder.transform(X)


def as_numbers(
    X: TableLike,
    X_target: TableLike,
    *,
    sample_weight: TableLike = None,
    target_weight: TableLike = None,
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
        raise InvalidInputError("X_target is None: two samples are needed")
    parts = [X, *target_pieces(X_target).values()]
    is_sparse = any(sparse.issparse(sparse_part(part)) for part in parts)
    if is_sparse or all(map(_is_finite_array, parts)):
        source, target = two_samples(X, X_target, accept_sparse=True)
        assert target is not None
        return source, target
    tables = two_tables(X, X_target)
    if all(table.is_plain for table in tables):
        return tables[0].matrix(), tables[1].matrix()
    return TableEncoder().fit_transform(
        *tables, sample_weight=sample_weight, target_weight=target_weight
    )


def _is_finite_array(X: TableLike) -> bool:
    if not isinstance(X, np.ndarray) or np.ma.isMaskedArray(X):
        return False
    # Without a look at every column; a sum that overflows only costs that look.
    with np.errstate(all="ignore"):
        return X.ndim == 2 and X.dtype.kind in "fiub" and bool(np.isfinite(X.sum()))
