"""What the user should know: in full on the terminal, without data in the record."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.cli.option_words import in_options

# What a run calls its record.
_RECORD = "report.json"


@dataclass(frozen=True)
class Cell:
    """A value of a table, which is shown and never recorded."""

    value: object


class Notice:
    """A sentence in two versions.

    A record goes from hand to hand and must be the same wherever its tables lie: it
    has names of files for paths, and no value of a table.

    Parameters
    ----------
    *parts : str, Path or Cell
        The sentence.

    Attributes
    ----------
    told : str
        For the person at the terminal.
    recorded : str
        For the record.

    Examples
    --------
    >>> notice = Notice(Path("in/live.csv"), ": ", Cell("x"), " in line 2 is odd")
    >>> notice.told == f"{Path('in/live.csv')}: 'x' in line 2 is odd"
    True
    >>> notice.recorded
    'live.csv: a value in line 2 is odd'
    """

    def __init__(self, *parts: str | Path | Cell) -> None:
        self._parts = parts
        self.told = "".join(map(_told, parts))
        self.recorded = "".join(map(_recorded, parts))

    def renamed(self, path: Path, name: Path) -> "Notice":
        """Return the sentence with another name for a file."""
        return Notice(*(name if part == path else part for part in self._parts))


def _told(part: str | Path | Cell) -> str:
    return repr(part.value) if isinstance(part, Cell) else str(part)


def _recorded(part: str | Path | Cell) -> str:
    if isinstance(part, Cell):
        return "a value"
    return part.name if isinstance(part, Path) else part


def of_training_rows(
    model: Any, path: Path, table: Any, n_rows: int
) -> Iterator[Notice]:
    """Return what to say where a model is to be judged by the rows of its own fit.

    The file of a model holds nothing by which to know its rows again. So a table is
    that of the fit where the record beside the model has its SHA-256, and may be it
    where it has as many rows.

    Parameters
    ----------
    model : the saved model
    path : Path
        Of its file.
    table : TableFile
        Labelled rows.
    n_rows : int
        How many of them count.
    """
    if table.sha256 == _sha256_of_the_fit(path):
        yield Notice(
            table.path,
            " is the table that the model was fitted to: its rows flatter the model, "
            "give labelled rows that it has not seen",
        )
    elif n_rows == np.size(getattr(model, "weights_", ())):
        yield Notice(
            "the model was fitted to as many rows as ",
            table.path,
            " has: if they are these, they flatter it; give labelled rows that it has "
            "not seen",
        )


def _sha256_of_the_fit(path: Path) -> str | None:
    """Return the digest of the training table by the record beside a model."""
    try:
        found = json.loads((path.parent / _RECORD).read_text(encoding="utf-8"))
        return str(found["data"]["source"]["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def of_dependence(diagnosis: Any) -> list[str]:
    """Return what rows were taken to belong to, or the question whether they do."""
    if diagnosis is None:
        return []
    if diagnosis.dependence is not None:
        return [str(diagnosis.dependence)]
    return [in_options(diagnosis.asks)] if diagnosis.asks else []
