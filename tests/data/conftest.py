"""The kinds of table that must behave alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


@dataclass(frozen=True)
class Container:
    """One kind of table; `label` is what its errors call a column."""

    kind: str

    def table(self, columns: Mapping[str, Sequence[Any]]) -> Any:
        if self.kind == "pandas":
            return pd.DataFrame(dict(columns))
        if self.kind == "polars":
            return pl.DataFrame(dict(columns))
        if self.kind == "pyarrow":
            return pa.table(dict(columns))
        return np.column_stack([np.asarray(column) for column in columns.values()])

    def series(self, values: Sequence[Any]) -> Any:
        makers = {"pandas": pd.Series, "polars": pl.Series, "numpy": np.asarray}
        if self.kind == "pyarrow":
            return pa.chunked_array([values])
        return makers[self.kind](values)

    def label(self, columns: Mapping[str, Any], name: str) -> str:
        return repr(list(columns).index(name) if self.kind == "numpy" else name)


@pytest.fixture(params=["numpy", "pandas", "polars", "pyarrow"])
def container(request):
    return Container(request.param)


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def frames(request):
    return Container(request.param)
