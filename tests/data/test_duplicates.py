"""Rows that repeat an earlier one are counted."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from counterpoise.data.columns import duplicate_rows
from counterpoise.data.table import Table


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 9])
def test_as_many_are_counted_as_pandas_counts(columns):
    rows = np.random.default_rng(columns).integers(0, 3, (400, columns)).astype(float)
    expected = pd.DataFrame(rows).duplicated().sum()
    assert duplicate_rows(rows) == expected
    assert duplicate_rows(sparse.csr_array(rows)) == expected
    assert duplicate_rows(Table.of(rows)) == expected


def test_mixed_tables_are_counted_with_their_gaps():
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "n": random.integers(0, 3, 300).astype(float),
            "c": random.choice(["a", "b", None], 300),
            "d": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(random.integers(0, 3, 300), "D"),
            "e": random.integers(0, 2, 300).astype(bool),
            "f": random.integers(0, 2, 300),
        }
    )
    table.loc[random.random(300) < 0.3, "n"] = np.nan
    assert duplicate_rows(table) == table.duplicated().sum() > 0


def test_negative_zero_is_zero_and_an_entry_of_zero_is_none():
    assert duplicate_rows(np.array([[0.0], [-0.0], [np.nan], [np.nan]])) == 2
    stored = sparse.csr_array(([0.0, 1.0, 1.0], ([0, 1, 2], [0, 1, 1])), shape=(4, 2))
    assert duplicate_rows(stored) == 2


def test_values_in_other_columns_are_other_rows():
    assert duplicate_rows(np.array([[1.0, 0.0], [0.0, 1.0]])) == 0
    assert duplicate_rows(sparse.csr_array(np.eye(3))) == 0
    assert duplicate_rows(np.eye(6)) == 0
