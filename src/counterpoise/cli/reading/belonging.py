"""What the rows of two files belong to: groups, or a sequence in time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.exits import BadData
from counterpoise.cli.notices import Notice
from counterpoise.cli.reading.files import TableFile
from counterpoise.cli.reading.typed_columns import EMPTY, kind_of, typed
from counterpoise.numerics.arrays import Indices
from counterpoise.tables.kinds import CATEGORIES


def belonging_of(
    source: TableFile,
    target: TableFile,
    rows: Indices,
    given: dict[str, Any],
    notices: list[Notice],
) -> dict[str, Any]:
    """Return groups or times of both tables, as `diagnose` takes them.

    A target without such a column has a group a row; without a time nothing is said of
    either table, and a notice tells.
    """
    groups, time = given.get("groups"), given.get("time")
    if groups is not None:
        found = {"groups": _names(source, groups, rows)}
        if groups in target.names:
            found["groups_target"] = _names(target, groups, np.arange(target.n_rows))
        else:
            notices.append(
                Notice(target.path, f" has no {groups!r}: its rows count one by one")
            )
        return found
    if time is None:
        return {}
    if time not in target.names:
        notices.append(
            Notice(
                target.path,
                f" has no {time!r}: folds are blocks of time, and in the diagnosis of "
                "the shift every row counts for itself",
            )
        )
        return {}
    return {
        "time": times_of(source, time, rows),
        "time_target": times_of(target, time, np.arange(target.n_rows)),
    }


def _names(table: TableFile, groups: str, rows: Indices) -> NDArray[Any]:
    """Return the names of the groups of rows; a row without one is refused."""
    column = typed(table, groups, CATEGORIES, rows)
    if column.missing.any():
        row = int(rows[int(np.argmax(column.missing))])
        raise BadData(f"{table.path}, {table.place(row)}: no {groups!r} (--groups)")
    return np.array(column.categories, dtype=object)[column.values]


def times_of(table: TableFile, time: str, rows: Indices) -> NDArray[Any]:
    """Return a column of dates or numbers; a row without one is refused."""
    kind = kind_of(table, time)
    if kind in (CATEGORIES, EMPTY):
        raise BadData(
            f"{table.path}, column {time!r} (--time) holds {kind}: it must hold dates "
            "such as 2024-01-31 or numbers"
        )
    column = typed(table, time, kind, rows)
    if column.missing.any():
        row = int(rows[int(np.argmax(column.missing))])
        raise BadData(f"{table.path}, {table.place(row)}: no {time!r} (--time)")
    return column.values if column.local is None else column.local
