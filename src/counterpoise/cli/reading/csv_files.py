"""CSV files, with errors that name file, line and column."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData
from counterpoise.cli.notices import Notice
from counterpoise.cli.reading.csv_faults import (
    check_header,
    delimiter_of,
    raise_encoding_fault,
    raise_ragged_line,
)
from counterpoise.cli.reading.decimal_commas import with_points
from counterpoise.cli.reading.packages import import_pyarrow
from counterpoise.cli.terminal import one_line

# What stands for a missing value, as in pandas.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip


def read_csv(path: Path, as_text: Collection[str]) -> tuple[Any, tuple[Notice, ...]]:
    """Return the columns of a CSV file in UTF-8, and what was odd.

    Commas, semicolons or tabs stand between the columns; where it is not commas,
    numbers may have decimal commas (`with_points`).
    """
    pyarrow = import_pyarrow()
    from pyarrow import csv

    delimiter = delimiter_of(path)
    names, notices = check_header(path, delimiter)
    try:
        columns = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True
            ),
            convert_options=csv.ConvertOptions(
                null_values=list(_MISSING),
                strings_can_be_null=True,
                column_types=dict.fromkeys(as_text, pyarrow.string()),
            ),
        )
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise_encoding_fault(path, delimiter, names)
        raise_ragged_line(path, delimiter, len(names))
        reason = one_line(error)
        raise BadData(f"{path} cannot be read as CSV: {reason}") from error
    if any(pyarrow.types.is_binary(kind) for kind in columns.schema.types):
        raise_encoding_fault(path, delimiter, names)
    nameless = [k for k, name in enumerate(names) if not name]
    columns = columns.rename_columns(names)
    for k in reversed(nameless):
        columns = columns.remove_column(k)
    if delimiter == ",":
        return columns, notices
    columns, said = with_points(path, columns, as_text)
    return columns, (*notices, *said)
