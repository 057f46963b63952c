"""Workbooks of a spreadsheet program: the first sheet, its first row the names."""

import datetime
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData
from counterpoise.cli.notices import Notice
from counterpoise.cli.reading.packages import import_calamine, import_pyarrow
from counterpoise.cli.terminal import one_line

# What an empty cell is read as.
_EMPTY = ""


def read_workbook(path: Path) -> tuple[Any, tuple[Notice, ...]]:
    """Return the columns of the first sheet, and what was odd.

    Formulas count as the values that the program saved. A column whose cells are of
    several kinds is read as strings.
    """
    calamine = import_calamine()
    try:
        book = calamine.CalamineWorkbook.from_path(path)
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except (calamine.CalamineError, OSError) as error:
        raise BadData(
            f"{path} cannot be read as a workbook: {one_line(error)}"
        ) from error
    sheets = book.sheet_names
    while rows and all(cell == _EMPTY for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise BadData(f"{path}, sheet {sheets[0]!r} is empty")
    columns = _columns(path, rows)
    if len(sheets) == 1:
        return columns, ()
    told = f": the first of its {len(sheets)} sheets is read, {sheets[0]!r}"
    return columns, (Notice(path, told),)


def _columns(path: Path, rows: list[list[Any]]) -> Any:
    """Return the columns below the names in the first row."""
    columns: dict[str, Any] = {}
    for k, name in enumerate(map(str, rows[0])):
        cells = [None if row[k] == _EMPTY else row[k] for row in rows[1:]]
        if name == _EMPTY:
            if any(cell is not None for cell in cells):
                raise BadData(f"{path}, row 1: column {k + 1} has no name")
            continue
        if name in columns:
            raise BadData(f"{path}, row 1: two columns are called {name!r}")
        columns[name] = _column(cells)
    if not columns:
        raise BadData(f"{path}, row 1: no column has a name")
    return import_pyarrow().table(columns)


def _column(cells: list[Any]) -> Any:
    """Return cells as numbers, moments or strings, whichever all of them are."""
    pyarrow = import_pyarrow()
    there = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, bool) for cell in there):
        return pyarrow.array(cells, pyarrow.bool_())
    if all(isinstance(cell, int | float) for cell in there):
        return pyarrow.array(cells, pyarrow.float64())
    if all(isinstance(cell, datetime.date) for cell in there):
        return pyarrow.array(map(_moment, cells), pyarrow.timestamp("us"))
    return pyarrow.array([None if cell is None else _text(cell) for cell in cells])


def _moment(cell: datetime.date | None) -> datetime.datetime | None:
    if cell is None or isinstance(cell, datetime.datetime):
        return cell
    return datetime.datetime(cell.year, cell.month, cell.day)


def _text(cell: Any) -> str:
    # A spreadsheet has no whole numbers: 7 comes as 7.0.
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
