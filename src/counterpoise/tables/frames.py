"""A table as the pandas frame that a pipeline of scikit-learn takes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES, DATES, NOTHING
from counterpoise.tables.table_column import TableColumn


def frame_of(table: Table, kinds: Mapping[str, str]) -> Any:
    """Return the frame: numbers as float64, texts, moments as datetime64.

    Parameters
    ----------
    table : Table
    kinds : mapping
        What each column holds in its file, also where its rows here hold nothing.
    """
    import pandas

    return pandas.DataFrame({c.name: _values(c, kinds[c.name]) for c in table.columns})


def _values(column: TableColumn, kind: str) -> Any:
    if kind == DATES:
        if column.local is not None:
            return column.local
        return np.full(len(column.values), "NaT", dtype="M8[us]")
    if kind != CATEGORIES:
        return column.values
    # The last one is what the place -1 of a missing value points at.
    texts = np.array([*column.categories, math.nan], dtype=object)
    if column.kind == NOTHING:
        return texts[np.full(len(column.values), -1)]
    return texts[column.values]
