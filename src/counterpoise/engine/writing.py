"""One Parquet file, written row group by row group, there when it is complete."""

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np


class ParquetInTheMaking:
    """A Parquet file that appears when everything is in it, and else not at all.

    Parameters
    ----------
    path : str or Path
    """

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self._beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def add(self, columns: dict[str, Any]) -> None:
        """Write a row group."""
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.table(
            {name: _plain(values) for name, values in columns.items()}
        )
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._beside, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        complete = kind is None and self._writer is not None
        try:
            if self._writer is not None:
                self._writer.close()
                if complete:
                    os.replace(self._beside, self.path)
        finally:
            self._beside.unlink(missing_ok=True)


def _plain(values: Any) -> Any:
    return np.asarray(values) if isinstance(values, np.ndarray) else values
