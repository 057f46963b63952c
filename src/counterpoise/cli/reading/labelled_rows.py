"""Labels that somebody has filled in, in the table that `counterpoise label` wrote."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.exits import BadData
from counterpoise.cli.reading.files import TableFile, read_file
from counterpoise.cli.reading.labels import read_labels
from counterpoise.cli.reading.typed_columns import typed
from counterpoise.numerics.arrays import Indices
from counterpoise.tables.kinds import NUMBERS

# The column that says which row of the target a row is; rows that were chosen for what
# they tell are no sample of the target, and have another.
ROW_BY_CHANCE, ROW_BY_GAIN = "row", "row, chosen by gain"


def labels_of_rows(
    path: Path,
    target: TableFile,
    label: str,
    task: str,
    categorical: Collection[str],
    known: NDArray[Any] | None,
) -> tuple[Indices, NDArray[Any]]:
    """Return which target rows have a label in another table, and the labels.

    Rows without one are passed over. The other table must have been drawn by chance.

    Parameters
    ----------
    path : Path
        The table, with the column "row", counted from one, and the label's.
    target : TableFile
    label, task, categorical, known
        As `read_labels` has them.
    """
    file = read_file(path, as_text=set(categorical))
    if ROW_BY_GAIN in file.names:
        raise BadData(
            f"{path} has rows that were chosen by gain: they are no sample of the "
            "target, and the score must not be estimated from them (label --by chance "
            "draws some)"
        )
    file.check_has([label], "--target-labels")
    if ROW_BY_CHANCE not in file.names:
        raise BadData(
            f"{path} has no column {ROW_BY_CHANCE!r}, which says which row of "
            f"{target.path} each is, counted from one: counterpoise label writes it. "
            f"Or put the column {label!r} into {target.path} itself, empty where there "
            "is no label, and give --target-labels without a file"
        )
    rows = np.asarray(typed(file, ROW_BY_CHANCE, NUMBERS).values, dtype=float)
    found = read_labels(file, label, task, categorical, known=known)
    places = rows[found.rows]
    if not np.isfinite(places).all() or (places != np.floor(places)).any():
        raise BadData(f"{path}, column {ROW_BY_CHANCE!r} must hold whole numbers")
    if places.size and (places.min() < 1 or places.max() > target.n_rows):
        raise BadData(
            f"{path}, column {ROW_BY_CHANCE!r} must lie from 1 to {target.n_rows}, the "
            f"rows of {target.path}"
        )
    if np.unique(places).size < places.size:
        raise BadData(f"{path} has a row of {target.path} twice")
    return (places - 1).astype(np.intp), found.values
