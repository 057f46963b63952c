"""The column to predict: classes or numbers."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.exits import BadData
from counterpoise.cli.notices import Notice
from counterpoise.cli.reading.files import TableFile
from counterpoise.cli.reading.typed_columns import (
    EMPTY,
    kind_of,
    typed,
)
from counterpoise.numerics.arrays import Indices
from counterpoise.tables.kinds import CATEGORIES, DATES

# Whole numbers up to this one are told apart as floats.
_LAST_WITHOUT_GAPS = 2.0**53
AUTO, CLASSIFICATION, REGRESSION = "auto", "classification", "regression"


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a table.

    Attributes
    ----------
    rows : array of shape (k,)
        Places of the rows that have one.
    values : array of shape (k,)
        Strings, whole numbers or numbers.
    task : {"classification", "regression"}
    notices : tuple of Notice
    """

    rows: Indices
    values: NDArray[Any]
    task: str
    notices: tuple[Notice, ...] = ()


def read_labels(
    table: TableFile,
    name: str,
    task: str,
    categorical: Collection[str] = (),
    known: NDArray[Any] | None = None,
) -> Labels:
    """Return the labels of a table, rows without one left out.

    Parameters
    ----------
    table : TableFile
    name : str
        Of the column.
    task : {"auto", "classification", "regression"}
        What the label is. "auto": strings are classes, and whole numbers of few
        different values too; other numbers are numbers.
    categorical : strings
        Columns that hold classes whatever they look like.
    known : array or None
        Labels of the source, of which those of a target must be.
    """
    kind = kind_of(table, name)
    where = f"{table.path}, column {name!r}"
    if kind == EMPTY:
        raise BadData(f"{where} (the label) has no value in any row")
    if kind == DATES:
        raise BadData(f"{where} (the label) holds dates: neither classes nor numbers")
    if name in categorical or (known is not None and known.dtype.kind == "U"):
        kind = CATEGORIES
    column = typed(table, name, kind)
    rows = np.flatnonzero(~column.missing)
    values = column.values[rows]
    notices: tuple[Notice, ...] = ()
    if kind == CATEGORIES:
        if task == REGRESSION:
            raise BadData(f"{where} (the label) holds strings: no numbers to predict")
        values, task = np.array(column.categories)[values], CLASSIFICATION
    elif task == AUTO:
        task = task_of(values)
        notices = _told(name, values, task)
    if task == CLASSIFICATION and values.dtype.kind == "f":
        if not np.array_equal(values, np.round(values)):
            told = f"{where} (the label) holds numbers with fractions: no classes"
            raise BadData(told)
        values = _whole(table, name, values, rows)
    labels = Labels(rows, values, task, notices)
    if known is None:
        _check_differ(table, name, values)
    elif task == CLASSIFICATION:
        _check_known(table, name, labels, known)
    return labels


def _whole(
    table: TableFile, name: str, values: NDArray[Any], rows: Indices
) -> NDArray[Any]:
    """Return classes as whole numbers, with all the digits that the file has.

    Beyond 2 ** 53 numbers with a decimal point skip whole ones: they are classes only
    where the file stores whole numbers.
    """
    import pyarrow

    stored = table.columns[name]
    if pyarrow.types.is_integer(stored.type):
        whole = stored.take(rows)
        try:
            return whole.cast(pyarrow.int64()).to_numpy()
        except pyarrow.ArrowInvalid:
            pass
    if np.abs(values).max(initial=0.0) > _LAST_WITHOUT_GAPS:
        row = int(rows[int(np.argmax(np.abs(values)))])
        raise BadData(
            f"{table.path}, {table.place(row)}, column {name!r} (the label): classes "
            f"of so many digits would be merged: --categorical {name} reads them as "
            "texts"
        )
    return values.astype(np.int64)


def task_of(values: NDArray[Any]) -> str:
    """Return what labels are, by the rule of `Adapted(estimator=None)`."""
    from counterpoise.adaptation.labels import are_classes

    return CLASSIFICATION if are_classes(values) else REGRESSION


def _told(name: str, values: NDArray[Any], task: str) -> tuple[Notice, ...]:
    """Say how numbers were taken, where they could be taken otherwise."""
    if not np.array_equal(values, np.round(values)):
        return ()
    different = np.unique(values).size
    if different <= 2:
        return ()
    other = REGRESSION if task == CLASSIFICATION else CLASSIFICATION
    kind = "classes" if task == CLASSIFICATION else "numbers"
    return (
        Notice(
            f"the label {name!r} has {different} different whole numbers, taken as "
            f"{kind} (--task {other} takes them otherwise)"
        ),
    )


def _check_differ(table: TableFile, name: str, values: NDArray[Any]) -> None:
    """Refuse a label of one value."""
    different = np.unique(values)
    if different.size == 1:
        raise BadData(
            f"{table.path}, column {name!r} (the label) has one value only, "
            f"{different[0]!s}, in all {values.size} rows: nothing to learn"
        )


def _check_known(
    table: TableFile, name: str, labels: Labels, known: NDArray[Any]
) -> None:
    """Refuse a class that the source has not."""
    new = ~np.isin(labels.values, known)
    if new.any():
        row = int(labels.rows[int(np.argmax(new))])
        raise BadData(
            f"{table.path}, {table.place(row)}, column {name!r}: the source has no "
            f"class {labels.values[new][0]!s}"
        )
