"""Numbers with decimal commas, as spreadsheets of half the world write them."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData, listed
from counterpoise.cli.notices import Notice
from counterpoise.cli.reading.packages import import_pyarrow

# A whole or decimal number without a group of thousands, or with points between them.
_COMMA = r"^\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)?(,\d*)?([eE][+-]?\d+)?\s*$"
_DIGIT = r"\d"
# What an English reader takes for thousands: 1,234 but neither 0,125 nor 1,5.
_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$"


def with_points(
    path: Path, columns: Any, as_text: Collection[str]
) -> tuple[Any, tuple[Notice, ...]]:
    """Return the columns with numbers where strings had decimal commas.

    A column of strings holds numbers with decimal commas if every string is digits
    with at most one comma, and some have one; points may then stand between groups of
    three digits. Where every string with a comma in the whole file could also be a
    number with thousands (1,234), nobody can tell which is meant, and it is refused.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    columns : pyarrow.Table
        As read, with points as decimal points.
    as_text : strings
        Columns that stay as they are.
    """
    pyarrow = import_pyarrow()
    import pyarrow.compute as compute

    found = [
        name
        for name, kind in zip(columns.column_names, columns.schema.types, strict=True)
        if pyarrow.types.is_string(kind)
        and name not in as_text
        and _has_decimal_commas(columns[name])
    ]
    if not found:
        return columns, ()
    if all(_may_be_thousands(columns[name]) for name in found):
        one = columns[found[0]]
        text = one.filter(compute.match_substring(one, ","))[0].as_py()
        raise BadData(
            f"{path}, column {found[0]!r}: {text!r} may be a decimal comma or "
            f"thousands, and no other cell tells: save the file with decimal points, "
            f"or --categorical {found[0]}"
        )
    for name in found:
        texts = compute.utf8_trim_whitespace(columns[name])
        plain = compute.replace_substring(texts, ".", "")
        numbers = compute.replace_substring(plain, ",", ".").cast(pyarrow.float64())
        place = columns.column_names.index(name)
        columns = columns.set_column(place, name, numbers)
    plural = "columns" if len(found) > 1 else "column"
    told = f": decimal commas are read as such in the {plural} {listed(found)}"
    return columns, (Notice(path, told),)


def _has_decimal_commas(column: Any) -> bool:
    import pyarrow.compute as compute

    like = compute.and_(
        compute.match_substring_regex(column, _COMMA),
        compute.match_substring_regex(column, _DIGIT),
    )
    return bool(compute.all(like).as_py() and compute.any(_with_commas(column)).as_py())


def _may_be_thousands(column: Any) -> bool:
    import pyarrow.compute as compute

    with_commas = column.filter(_with_commas(column))
    return bool(
        compute.all(compute.match_substring_regex(with_commas, _THOUSANDS)).as_py()
    )


def _with_commas(column: Any) -> Any:
    import pyarrow.compute as compute

    return compute.match_substring(column, ",")
