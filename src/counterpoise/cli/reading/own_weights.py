"""The user's own weights of the source rows: a column of the source, or a file."""

from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.cli.exits import BadData, WrongUse, listed
from counterpoise.cli.reading.files import TableFile, read_file
from counterpoise.cli.reading.typed_columns import kind_of, typed
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.tables.kinds import NUMBERS

# What a column of weights is called in a file, such as weights.parquet of `weigh`.
USUAL_NAME = "weight"


def read_own_weights(
    asked: str | None, source: TableFile, rows: Indices, id_column: str | None
) -> Array | None:
    """Return what the source rows count, in the order of `rows`; None if all alike.

    A name that the source has as a column is that column. Else it is a file: its
    column "weight", or the only one of numbers, matched by `--id` where the file has
    that column, and row by row where it does not.

    Parameters
    ----------
    asked : str or None
        What `--weights` says.
    source : TableFile
    rows : array of int
        Places of the rows that are used.
    id_column : str or None
    """
    if asked is None:
        return None
    if asked in source.names:
        values = _numbers(source, asked, rows)
        _check(source, asked, values, rows)
        return values
    if not Path(asked).is_file():
        raise WrongUse(f"--weights {asked} is no column of {source.path}, and no file")
    texts = [] if id_column is None else [id_column]
    table = read_file(Path(asked), as_text=texts)
    name = _column_of_weights(table, id_column)
    every = np.arange(table.n_rows)
    values = _numbers(table, name, every)
    _check(table, name, values, every)
    if id_column is not None and id_column in table.names:
        return values[_matched(source, table, id_column, rows)]
    if table.n_rows != source.n_rows:
        raise BadData(
            f"{table.path} has {table.n_rows:,} rows and {source.path} "
            f"{source.n_rows:,}: --weights needs a row for each, or --id to match them"
        )
    return values[rows]


def _numbers(table: TableFile, name: str, rows: Indices) -> Array:
    if kind_of(table, name) != NUMBERS:
        raise BadData(f"{table.path}, column {name!r} (--weights) holds no numbers")
    column = typed(table, name, NUMBERS, rows)
    values = np.asarray(column.values, dtype=float).copy()
    values[column.missing] = np.nan
    return values


def _check(table: TableFile, name: str, values: Array, rows: Indices) -> None:
    wrong = ~np.isfinite(values) | (values < 0.0)
    if wrong.any():
        place = int(np.argmax(wrong))
        what = "no weight" if np.isnan(values[place]) else f"{values[place]:g}"
        raise BadData(
            f"{table.path}, {table.place(int(rows[place]))}, column {name!r}: {what}; "
            "--weights must be finite and not below zero"
        )
    if not values.any():
        raise BadData(f"{table.path}, column {name!r}: all of --weights are zero")


def _column_of_weights(table: TableFile, id_column: str | None) -> str:
    if USUAL_NAME in table.names:
        return USUAL_NAME
    others = [name for name in table.names if name not in (id_column, "row")]
    found = [name for name in others if kind_of(table, name) == NUMBERS]
    if len(found) != 1:
        told = listed(found) if found else "none of numbers"
        raise BadData(
            f"{table.path} has {told}: --weights needs a column {USUAL_NAME!r}"
        )
    return str(found[0])


def _matched(
    source: TableFile, table: TableFile, id_column: str, rows: Indices
) -> Indices:
    """Return the places in the file of weights of the source rows."""
    known: dict[Any, int] = {}
    for place, key in enumerate(table.columns[id_column].to_pylist()):
        if key in known:
            raise BadData(
                f"{table.path} has {key!r} twice in {id_column!r} (--weights)"
            )
        known[key] = place
    keys = source.columns[id_column].to_pylist()
    lacking = [row for row in rows.tolist() if keys[row] not in known]
    if lacking:
        raise BadData(
            f"{table.path} (--weights) lacks {len(lacking):,} of the rows of "
            f"{source.path}, {keys[lacking[0]]!r} for one"
        )
    return np.array([known[keys[row]] for row in rows.tolist()], dtype=np.intp)
