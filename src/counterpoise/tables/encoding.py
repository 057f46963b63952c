"""Mixed tables to numbers, one way for the whole library."""

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterpoise.numerics.arrays import Array
from counterpoise.tables.column_plans import (
    CategoriesPlan,
    ColumnPlan,
    DroppedPlan,
    plan_column,
)
from counterpoise.tables.columns import Table, check_columns, read_table, two_tables
from counterpoise.tables.kinds import NOTHING
from counterpoise.tables.table_column import TableColumn, joined, of_kind, places_in
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    Matrix,
    target_pieces,
    two_samples,
    weights_of_both,
)
from counterpoise.validation.frames import sparse_part


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
        X: Any,
        X_target: Any,
        *,
        sample_weight: Any = None,
        target_weight: Any = None,
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

    def transform(self, X: Any) -> Array:
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

    def has_new_category(self, X: Any) -> NDArray[np.bool_]:
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
        raise InvalidInput(f"there is no column {label!r} among the encoded ones")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return `names_` as an array of objects, as scikit-learn has them.

        Parameters
        ----------
        input_features : None
            Not looked at: the names are those of the columns at `fit`.
        """
        check_is_fitted(self, "names_")
        return np.array(self.names_, dtype=object)

    @property
    def told_names(self) -> tuple[str, ...]:
        """The output columns as a user knows them, without a value of the table."""
        return tuple(_told(plan, name) for plan in self._plans_ for name in plan.names)

    def _fit(
        self, source: Table, target: Table, sample_weight: Any, target_weight: Any
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
            raise InvalidInput(f"X has no column that can be used: {reasons}")
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
                raise InvalidType(
                    f"column {column.label!r} holds {column.kind}, in fit it held "
                    f"{plan.kind}"
                )
            last = first + len(plan.names)
            encoded[:, first:last] = plan.encode(of_kind(column, plan.kind))
            first = last
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


def encoded(encoder: TableEncoder | None, X: Any) -> Any:
    """Return a table, or the pieces of a target together, as an encoder sees them.

    Without an encoder a table leaves as it came.
    """
    if encoder is None:
        return X
    if isinstance(X, tuple):
        return np.vstack([encoder.transform(piece) for piece in X])
    return encoder.transform(X)


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
        raise InvalidInput("X_target is None: two samples are needed")
    parts = [X, *target_pieces(X_target).values()]
    if any(map(_is_sparse, parts)) or all(map(_is_finite_array, parts)):
        source, target = two_samples(X, X_target, accept_sparse=True)
        assert target is not None
        return source, target
    tables = two_tables(X, X_target)
    if all(table.is_plain for table in tables):
        return tables[0].matrix(), tables[1].matrix()
    return TableEncoder().fit_transform(
        *tables, sample_weight=sample_weight, target_weight=target_weight
    )


def _is_sparse(X: Any) -> bool:
    return sparse.issparse(sparse_part(X))


def _is_finite_array(X: Any) -> bool:
    if not isinstance(X, np.ndarray) or np.ma.isMaskedArray(X):
        return False
    # Without a look at every column; a sum that overflows only costs that look.
    with np.errstate(all="ignore"):
        return X.ndim == 2 and X.dtype.kind in "fiub" and bool(np.isfinite(X.sum()))
