"""Arrow's columns as ours: numbers, categories, dates, with what is missing."""

from typing import Any

import numpy as np

from counterpoise.tables.column_readers import (
    column_of_codes,
    column_of_dates,
    column_of_numbers,
)
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES, DATES, NUMBERS
from counterpoise.tables.table_column import TableColumn
from counterpoise.validation import InvalidInput, InvalidType


def table_of_arrow(columns: Any, name: str = "X") -> Table:
    """Return an Arrow table as a `Table`; refuse infinite numbers and lists.

    Parameters
    ----------
    columns : pyarrow.Table
    name : str
        What errors call it.
    """
    return Table(
        tuple(
            column_of_arrow(label, columns[label], name)
            for label in columns.column_names
        ),
        named=True,
    )


def kind_of_arrow(kind: Any) -> str:
    """Return what a column of an Arrow type holds, "" where it is none of ours."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if (
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    ):
        return NUMBERS
    view = getattr(types, "is_string_view", lambda _: False)
    if types.is_string(kind) or types.is_large_string(kind) or view(kind):
        return CATEGORIES
    if types.is_timestamp(kind) or types.is_date(kind):
        return DATES
    return ""


def column_of_arrow(label: str, column: Any, name: str) -> TableColumn:
    """Return one column of an Arrow table."""
    import pyarrow
    from pyarrow import compute, types

    kind = kind_of_arrow(column.type)
    if not kind:
        raise InvalidType(
            f"column {label!r} of {name} holds {column.type}, neither numbers, strings "
            "nor dates"
        )
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind == NUMBERS:
        values = column.cast(pyarrow.float64(), safe=False).to_numpy()
        infinite = np.isinf(values)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise InvalidInput(
                f"column {label!r} of {name} is infinite in row {row} (counted from "
                "0): numbers must be finite or missing"
            )
        return column_of_numbers(label, values)
    if kind == CATEGORIES:
        coded = column.combine_chunks().dictionary_encode()
        if isinstance(coded, pyarrow.ChunkedArray):
            coded = coded.chunk(0) if coded.num_chunks else coded.combine_chunks()
        texts = coded.dictionary.to_pylist()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return column_of_codes(label, texts, codes.astype(np.intp))
    if getattr(column.type, "tz", None) is None:
        return column_of_dates(label, _moments(column))
    local = compute.local_timestamp(column)
    instants = column.cast(pyarrow.timestamp("us", tz="UTC"), safe=False)
    return column_of_dates(label, _moments(instants), _moments(local))


def _moments(column: Any) -> Any:
    import pyarrow

    column = column.cast(pyarrow.timestamp("us"), safe=False)
    return column.to_numpy().astype("M8[us]")
