"""Arrow's columns as ours: numbers, categories, dates, with what is missing.

One rule for every file, whether it is read whole or block by block.
"""

from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.tables.column_readers import (
    column_of_codes,
    column_of_dates,
    column_of_numbers,
)
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES, DATES, NUMBERS
from counterpoise.tables.table_column import TableColumn, Times
from counterpoise.validation import InvalidInput, InvalidType

_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


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
    """Return what a column of an Arrow type holds, "" where it is none of ours.

    Durations and times of the day are numbers of seconds.
    """
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if (
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_duration(kind)
        or types.is_time(kind)
        or types.is_null(kind)
    ):
        return NUMBERS
    if is_text(kind):
        return CATEGORIES
    if types.is_timestamp(kind) or types.is_date(kind):
        return DATES
    return ""


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is one of texts."""
    from pyarrow import types

    view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or view(kind))


def column_of_arrow(label: str, column: Any, name: str) -> TableColumn:
    """Return one column of an Arrow table."""
    kind = kind_of_arrow(column.type)
    if not kind:
        raise InvalidType(
            f"column {label!r} of {name} holds {column.type}, neither numbers, strings "
            "nor dates"
        )
    if kind == NUMBERS:
        values = numbers_of_arrow(column)
        infinite = np.isinf(values)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise InvalidInput(
                f"column {label!r} of {name} is infinite in row {row} (counted from "
                "0): numbers must be finite or missing"
            )
        return column_of_numbers(label, values)
    if kind == CATEGORIES:
        return column_of_codes(label, *texts_of_arrow(column))
    if getattr(column.type, "tz", None) is None:
        return column_of_dates(label, moments_of_arrow(column))
    return column_of_dates(label, _instants(column), moments_of_arrow(column))


def numbers_of_arrow(column: Any) -> Array:
    """Return numbers as they are, durations and times of the day in seconds."""
    import pyarrow
    from pyarrow import compute, types

    column = without_dictionary(column)
    per_second = 1.0
    if types.is_duration(column.type) or types.is_time(column.type):
        per_second = _PER_SECOND[column.type.unit]
        wide = types.is_duration(column.type) or column.type.bit_width == 64
        column = column.cast(pyarrow.int64() if wide else pyarrow.int32())
    column = compute.cast(column, pyarrow.float64(), safe=False)
    found: Array = column.to_numpy().astype(np.float64) / per_second
    return found


def texts_of_arrow(column: Any) -> tuple[list[str], Indices]:
    """Return the different texts, and each row's place among them, -1 if missing.

    Values of any kind; a code is the same whether a file stored it as 7, 7.0 or "7".
    """
    import pyarrow

    if pyarrow.types.is_dictionary(column.type) and is_text(column.type.value_type):
        column = without_dictionary(column)
    if len(column) == 0:
        return [], np.empty(0, dtype=np.intp)
    coded = pyarrow.chunked_array(column).combine_chunks().dictionary_encode()
    values = coded.dictionary.to_pylist()
    # A code may stand for the same text in two ways; NaN is missing, and differs from
    # itself; the last place is for what is missing.
    place: dict[str, int] = {}
    to = [-1 if v != v else place.setdefault(_text(v), len(place)) for v in values]
    codes = coded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return list(place), np.array([*to, -1], dtype=np.intp)[codes]


def moments_of_arrow(column: Any) -> Times:
    """Return dates; those with a zone as its clock showed them."""
    import pyarrow
    from pyarrow import compute

    column = without_dictionary(column)
    if getattr(column.type, "tz", None) is not None:
        column = compute.local_timestamp(column)
    column = column.cast(pyarrow.timestamp("us"), safe=False)
    return column.to_numpy().astype("M8[us]")


def without_dictionary(column: Any) -> Any:
    """Return a column of the values that its dictionary stands for."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def _instants(column: Any) -> Times:
    import pyarrow

    column = without_dictionary(column).cast(
        pyarrow.timestamp("us", tz="UTC"), safe=False
    )
    return column.cast(pyarrow.timestamp("us"), safe=False).to_numpy().astype("M8[us]")


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
