"""Columns of any table, with what they hold."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io

from counterpoise.data.table import Table, joined, read_table, two_tables


def read_columns(X):
    return list(read_table(X).columns)


DAY = datetime.date(2024, 3, 1)
MOMENT = datetime.datetime(2024, 3, 1, 23, 30)
SPAN = datetime.timedelta(hours=36)
BERLIN = "Europe/Berlin"

VALUES = {
    "integers": ([1, 2, 2], "numbers"),
    "floats": ([1.5, None, 2.0], "numbers"),
    "booleans": ([True, False, True], "numbers"),
    "booleans with a gap": ([True, None, False], "numbers"),
    "strings": (["b", "a", None], "categories"),
    "numerals": (["1", "2", "10"], "categories"),
    "moments": ([MOMENT, None, MOMENT + SPAN], "dates"),
    "days": ([DAY, DAY + SPAN, None], "dates"),
    "durations": ([SPAN, None, 2 * SPAN], "durations"),
    "times": ([datetime.time(1, 30), None, datetime.time(23)], "numbers"),
    "nothing": ([None, None, None], "no value at all"),
}


def assert_same(first, second):
    assert (first.kind, first.categories) == (second.kind, second.categories)
    np.testing.assert_array_equal(first.values, second.values)
    if first.local is not None and first.kind != "no value at all":
        np.testing.assert_array_equal(first.local, second.local)


@pytest.mark.parametrize("name", VALUES)
def test_pandas_polars_and_objects_are_read_alike(name):
    values, kind = VALUES[name]
    objects = np.empty((3, 1), dtype=object)
    objects[:, 0] = values
    (from_pandas,) = read_columns(pd.DataFrame({"a": values}))
    (from_polars,) = read_columns(pl.DataFrame({"a": values}))
    (from_objects,) = read_columns(objects)
    (from_object_dtype,) = read_columns(
        pd.DataFrame({"a": objects[:, 0]}, dtype=object)
    )
    assert from_pandas.kind == kind
    for other in (from_polars, from_objects, from_object_dtype):
        assert_same(from_pandas, other)
    missing = [value is None for value in values]
    assert from_pandas.missing.tolist() == missing


def test_categorical_types_are_read_as_their_strings():
    texts = ["b", None, "a", "b"]
    (expected,) = read_columns(pd.DataFrame({"a": texts}))
    categorical = pd.DataFrame({"a": pd.Categorical(texts, categories=["b", "x", "a"])})
    for table in (
        categorical,
        pl.DataFrame({"a": pl.Series(texts, dtype=pl.Categorical)}),
        pl.DataFrame({"a": pl.Series(texts, dtype=pl.Enum(["b", "x", "a"]))}),
        pd.DataFrame({"a": pd.array(texts, dtype="string")}),
        pd.DataFrame({"a": texts}).astype({"a": object}),
    ):
        assert_same(read_columns(table)[0], expected)


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "boolean", "float64[pyarrow]"])
def test_nullable_numbers_are_numbers_with_nan(dtype):
    (column,) = read_columns(pd.DataFrame({"a": pd.array([1, None, 0], dtype=dtype)}))
    np.testing.assert_array_equal(column.values, [1.0, np.nan, 0.0])


def test_decimals_are_numbers():
    values = [Decimal("1.25"), Decimal("3.00")]
    for table in (pd.DataFrame({"a": values}), pl.DataFrame({"a": values})):
        (column,) = read_columns(table)
        assert (column.kind, column.values.tolist()) == ("numbers", [1.25, 3.0])


def test_zoned_dates_are_instants_with_the_clock_of_their_zone():
    naive = pd.Series([MOMENT, MOMENT + SPAN, None], dtype="datetime64[us]")
    zoned = pd.DataFrame({"a": naive.dt.tz_localize(BERLIN)})
    same = pl.DataFrame({"a": pl.Series([MOMENT, MOMENT + SPAN, None])}).with_columns(
        pl.col("a").dt.replace_time_zone(BERLIN)
    )
    objects = zoned["a"].astype(object).to_numpy()[:, None]
    for table in (zoned, same, objects):
        (column,) = read_columns(table)
        assert column.kind == "dates with a time zone"
        assert (
            column.values[0] == MOMENT.replace(tzinfo=datetime.UTC).timestamp() - 3600
        )
        assert column.local[0] == np.datetime64(MOMENT)
        assert column.missing.tolist() == [False, False, True]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_time_do_not_matter(unit):
    values = np.array([["2024-03-01T23:30:00"], ["NaT"]], dtype=f"M8[{unit}]")
    (column,) = read_columns(values)
    (expected,) = read_columns(pd.DataFrame({"a": [MOMENT, None]}))
    assert_same(column, expected)
    spans = np.array([[90], [-5]], dtype="m8[m]").astype(f"m8[{unit}]")
    assert read_columns(spans)[0].values.tolist() == [5400.0, -300.0]


def test_periods_are_their_first_moment():
    (column,) = read_columns(pd.DataFrame({"a": pd.period_range("2024-03", periods=2)}))
    assert column.kind == "dates"
    assert column.local[0] == np.datetime64("2024-03-01")


def test_arrays_of_strings_are_categories():
    (column,) = read_columns(np.array([["b"], ["a"]]))
    assert (column.values.tolist(), column.categories) == ([1, 0], ("a", "b"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1, "x"]}, dtype=object), "'a' of X has dtype object and"),
        (pd.DataFrame({"a": [[1], [2]]}), "'a' of X has dtype object and holds list"),
        (pl.DataFrame({"a": [[1], [2]]}), "'a' of X has dtype List"),
        (pd.DataFrame({"a": [1j]}), "'a' of X has dtype complex128"),
        (np.array([[b"x"]]), "column 0 of X has dtype"),
        (
            np.array([[MOMENT], [MOMENT.replace(tzinfo=datetime.UTC)]], dtype=object),
            "dates with and without a time zone",
        ),
    ],
)
def test_what_is_no_column_is_refused_by_name(table, message):
    with pytest.raises(TypeError, match=message):
        read_columns(table)


def test_infinite_numbers_are_refused_by_row():
    with pytest.raises(ValueError, match=r"'a' of X is infinite in row 1"):
        read_columns(pd.DataFrame({"a": [1.0, -np.inf]}))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones(3), "two dimensions"),
        (np.ones((2, 0)), "no columns"),
        (np.ones((2, 1)) * 1j, "Complex data not supported"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a'"),
    ],
)
def test_what_is_no_table_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        read_columns(table)


def test_joined_columns_share_their_categories():
    first, second, empty = (
        read_columns([[text] for text in texts])[0]
        for texts in (["b", "a"], ["c", None], [None, None])
    )
    whole = joined([empty, first, second])
    assert whole.categories == ("a", "b", "c")
    assert whole.values.tolist() == [-1, -1, 1, 0, 2, -1]


def every_kind():
    """A table with a column of each kind."""
    return {name: values for name, (values, _) in VALUES.items()}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_table_is_read_as_it_is(frame):
    X = frame(every_kind())
    table = Table.of(X)
    assert Table.of(table) is table
    assert table.shape == (3, len(VALUES))
    assert table.labels == tuple(VALUES)
    for first, second in zip(read_columns(table), read_columns(X), strict=True):
        assert first.label == second.label
        assert_same(first, second)


def test_rows_of_a_table_are_those_of_its_frame():
    frame = pd.DataFrame(every_kind())
    table = Table.of(frame)
    mask = np.array([True, False, True])
    for rows in ([2, 0], [0], mask, np.array([1, 1, 0])):
        taken = table.take(rows)
        expected = frame[rows] if rows is mask else frame.iloc[rows]
        for first, second in zip(taken.columns, read_columns(expected), strict=True):
            # A kind stays though no value is left.
            if second.kind != "no value at all":
                assert_same(first, second)
            assert first.missing.tolist() == second.missing.tolist()
    assert len(table.take([])) == 0


def test_a_table_of_some_rows_forgets_the_categories_of_the_others():
    table = Table.of([["secret"], ["a"], ["b"], ["a"]]).take([1, 2, 3])
    assert table.columns[0].categories == ("a", "b")


def test_a_table_survives_being_saved():
    table = Table.of(pd.DataFrame(every_kind()))
    data = skops.io.dumps(table)
    names = skops.io.get_untrusted_types(data=data)
    assert set(names) == {
        "counterpoise.data.table.Table",
        "counterpoise.data.table.TableColumn",
    }
    back = skops.io.loads(data, trusted=names)
    assert back.labels == table.labels
    for first, second in zip(back.columns, table.columns, strict=True):
        assert_same(first, second)


def test_the_parts_of_a_tuple_are_stacked():
    X = pd.DataFrame(every_kind())
    whole, parts = Table.of(X), Table.of((X[:1], X[1:]))
    assert parts.labels == whole.labels
    for first, second in zip(parts.columns, whole.columns, strict=True):
        assert_same(first, second)
    with pytest.raises(ValueError, match="empty tuple"):
        Table.of(())


def test_only_finite_numbers_are_plain():
    assert Table.of([[1.0, True], [2.0, False]]).is_plain
    assert not Table.of([[1.0], [None]]).is_plain
    assert not Table.of([["a"]]).is_plain
    np.testing.assert_array_equal(Table.of([[1, 2], [3, 4]]).matrix(), [[1, 2], [3, 4]])


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="X has 0 rows"):
        read_columns(pd.DataFrame({"a": pd.Series([], dtype=str)}))


def test_tables_with_other_columns_are_refused_by_name():
    X = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match=r"X_target must have the columns of X, \['a'"):
        two_tables(Table.of(X), X[["b", "a"]])
    with pytest.raises(ValueError, match="X_target has 1 columns, in X there were 2"):
        two_tables(X, Table.of(X[["a"]]))
    with pytest.raises(TypeError, match="'a' holds numbers in X and categories in X_t"):
        two_tables(Table.of(X), X.astype({"a": str}))
