import datetime
import decimal
import subprocess
import sys

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.data.arrays import as_matrix
from counterpoise.data.frames import column_names

NUMBERS = {"age": [30.5, 41.0, 28.0], "pay": [1, 2, 3], "member": [True, False, True]}


def refusal(error, X, **options):
    with pytest.raises(error) as caught:
        as_matrix(X, **options)
    return str(caught.value)


def same_bits(a, b):
    return a.shape == b.shape and a.tobytes() == b.tobytes()


# --- what passes ---------------------------------------------------------------------


def test_every_kind_of_table_gives_the_same_matrix(container):
    expected = np.array([[30.5, 1.0, 1.0], [41.0, 2.0, 0.0], [28.0, 3.0, 1.0]])
    assert same_bits(as_matrix(container.table(NUMBERS)), expected)


dtypes = st.sampled_from([np.float64, np.float32, np.int64, np.uint64, np.int8, bool])


@st.composite
def columns_of_numbers(draw):
    n_rows = draw(st.integers(1, 6))
    kinds = draw(st.lists(dtypes, min_size=1, max_size=4))
    finite = {"allow_nan": False, "allow_infinity": False}
    moderate = {**finite, "min_value": -1e140, "max_value": 1e140}
    return {
        f"c{j}": draw(
            hnp.arrays(
                kind,
                n_rows,
                elements={"f4": finite, "f8": moderate}.get(np.dtype(kind).str[1:]),
            )
        )
        for j, kind in enumerate(kinds)
    }


@settings(max_examples=60, deadline=None)
@given(columns_of_numbers())
def test_frames_of_any_numeric_types_agree_with_numpy_to_the_bit(columns):
    expected = np.column_stack([column.astype(float) for column in columns.values()])
    objects = np.array([column.tolist() for column in columns.values()], dtype=object).T
    for X in (pd.DataFrame(columns), pl.DataFrame(columns), objects):
        assert same_bits(as_matrix(X), np.ascontiguousarray(expected))


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, 2], dtype="Int64"),
        pd.Series([1, 2], dtype="Float32"),
        pd.Series([1, 2], dtype="int64[pyarrow]"),
        pd.Series([1, 2], dtype=pd.SparseDtype("float64", np.nan)),
        pd.Series([1, 2], dtype=object),
        pd.Series([decimal.Decimal(1), 2.0], dtype=object),
        pl.Series([1, 2], dtype=pl.UInt8),
        pl.Series([decimal.Decimal(1), decimal.Decimal(2)]),
    ],
    ids=lambda series: str(series.dtype),
)
def test_extension_types_that_hold_numbers_are_numbers(series):
    assert as_matrix(series.to_frame()).tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([True, False], dtype="boolean"),
        pd.Series([True, False], dtype="bool[pyarrow]"),
        pd.Series([True, False], dtype=object),
        pd.Series([np.True_, np.False_], dtype=object),
        pl.Series([True, False]),
    ],
    ids=lambda series: str(series.dtype),
)
def test_booleans_are_numbers(series):
    assert as_matrix(series.to_frame()).tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    "X",
    [
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.arange(6, dtype=np.float32).reshape(3, 2),
        np.arange(12.0).reshape(3, 4)[:, :2] * 0 + np.arange(6.0).reshape(3, 2),
        np.arange(6.0).reshape(3, 2)[::-1][::-1],
        np.arange(6).reshape(3, 2).tolist(),
        np.arange(6).reshape(3, 2).astype(object),
    ],
    ids=["fortran", "float32", "sliced", "reversed", "list", "object"],
)
def test_the_matrix_is_contiguous_float64(X):
    matrix = as_matrix(X)
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous
    assert matrix.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_data_in_the_right_form_are_not_copied():
    X = np.ones((3, 2))
    assert np.shares_memory(as_matrix(X), X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_numbers_whose_squares_are_not_finite_are_refused_by_row_and_column(form):
    X = np.array([[1.0, 1e140], [0.0, -1e150], [1e308, 2.0]])
    with pytest.raises(ValueError, match=r"beyond 1e\+140, .* in row 1, column 1 "):
        as_matrix(form(X), accept_sparse=True)
    assert as_matrix(X[:1]).tolist() == X[:1].tolist()


def test_refusals_name_the_encoder_that_reads_mixed_tables(frames):
    for column in (["a", "b"], [1.0, None]):
        with pytest.raises(ValueError, match=r"counterpoise\.data\.TableEncoder"):
            as_matrix(frames.table({"c": column}))


def test_column_names_are_those_of_frames_with_string_names(frames):
    assert column_names(frames.table(NUMBERS)) == ("age", "pay", "member")
    assert column_names(np.ones((2, 2))) is None
    assert column_names(pd.DataFrame(np.ones((2, 2)))) is None


# --- missing and infinite ------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "row", "column"),
    [(np.nan, 0, "age"), (np.inf, 2, "pay"), (-np.inf, 2, "age")],
)
def test_an_entry_that_is_not_finite_is_named_with_row_and_column(
    container, value, row, column
):
    columns = {"age": [1.0, 2.0, 3.0], "pay": [4.0, 5.0, 6.0]}
    columns[column][row] = value
    message = refusal(ValueError, container.table(columns), name="X_target")
    kind = "NaN" if np.isnan(value) else "inf"
    label = container.label(columns, column)
    assert f"X_target contains 1 {kind}, the first in row {row}, column {label}" in (
        message
    )


def test_entries_that_are_not_finite_are_counted(container):
    columns = {"age": [1.0, np.nan, np.nan], "pay": [4.0, np.inf, np.nan]}
    message = refusal(ValueError, container.table(columns))
    label = container.label(columns, "age")
    assert f"3 NaN and 1 inf, the first in row 1, column {label}" in message


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [1, 2], "b": pd.Series([1, None], dtype="Int64")}),
        pd.DataFrame({"a": [1, 2], "b": pd.Series([1, None], dtype="Float64")}),
        pd.DataFrame({"a": [1, 2], "b": pd.Series([True, None], dtype="boolean")}),
        pd.DataFrame({"a": [1, 2], "b": pd.Series([1, None], dtype="int64[pyarrow]")}),
        pd.DataFrame({"a": [1, 2], "b": pd.Series([1, pd.NA], dtype=object)}),
        pd.DataFrame({"a": [1, 2], "b": pd.Series([1, None], dtype=object)}),
        pl.DataFrame({"a": [1, 2], "b": [1, None]}),
        pl.DataFrame({"a": [1, 2], "b": [1.5, None]}),
        pl.DataFrame({"a": [1, 2], "b": [True, None]}),
    ],
    ids=lambda X: f"{type(X).__module__.split('.')[0]}-{list(X.dtypes)[1]}",
)
def test_missing_values_of_nullable_types_are_nan(X):
    message = refusal(ValueError, X)
    assert "1 NaN, the first in row 1, column 'b'" in message


def test_a_polars_column_without_any_value_is_nan():
    X = pl.DataFrame({"a": [1.0, 2.0], "b": [None, None]})
    assert "2 NaN, the first in row 0, column 'b'" in refusal(ValueError, X)


def test_masked_entries_are_missing():
    X = np.ma.masked_array(np.ones((3, 2)), mask=np.zeros((3, 2), dtype=bool))
    assert as_matrix(X).tolist() == np.ones((3, 2)).tolist()
    X.mask[1, 1] = True
    assert "1 NaN, the first in row 1, column 1" in refusal(ValueError, X)


def test_numbers_too_large_for_float64_are_infinite():
    X = np.array([[1.0, 1.0], [1.0, 10.0]], dtype=np.longdouble) ** 400
    for table in (X, pd.DataFrame(X)):
        assert "1 inf, the first in row 1, column 1" in refusal(ValueError, table)


def test_integers_too_large_for_float64_are_refused():
    X = np.array([[1.0, 10**400]], dtype=object)
    assert "column 1 of X holds an integer too large" in refusal(ValueError, X)


# --- what is no number ---------------------------------------------------------------

DAY = datetime.datetime(2020, 1, 1)
NOT_NUMBERS = [
    (pd.Series(["x", "y"]), str(pd.Series(["x", "y"]).dtype)),
    (pd.Series(["1", "2"], dtype="str"), str(pd.Series(["1"], dtype="str").dtype)),
    (pd.Series(["x", "y"], dtype="object"), "object"),
    (pd.Series([1, "y"], dtype="object"), "object and holds str in row 1"),
    (pd.Series(["x", "y"], dtype="string"), "string"),
    (pd.Series(["x", "y"], dtype=pd.ArrowDtype(pa.string())), "string[pyarrow]"),
    (pd.Series(["x", "y"], dtype="category"), "category"),
    (pd.Series([1, 2], dtype="category"), "category"),
    (pd.Series([DAY, DAY]), "datetime64"),
    (pd.Series([DAY, DAY]).dt.tz_localize("UTC"), "datetime64"),
    (pd.Series([DAY - DAY] * 2), "timedelta64"),
    (pd.Series(pd.period_range("2020", periods=2, freq="D")), "period[D]"),
    (pl.Series(["x", "y"]), "String"),
    (pl.Series(["1", "2"]), "String"),
    (pl.Series(["x", "y"], dtype=pl.Categorical), "Categorical"),
    (pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"])), "Enum"),
    (pl.Series([DAY, DAY]), "Datetime"),
    (pl.Series([DAY.date(), DAY.date()]), "Date"),
    (pl.Series([[1], [2]]), "List"),
]


@pytest.mark.parametrize(
    ("series", "dtype"),
    NOT_NUMBERS,
    ids=[f"{type(s).__module__.split('.')[0]}-{word}" for s, word in NOT_NUMBERS],
)
def test_a_column_that_holds_no_numbers_is_named_with_its_dtype(series, dtype):
    make = pd.DataFrame if isinstance(series, pd.Series) else pl.DataFrame
    message = refusal(ValueError, make({"age": [1, 2], "city": series}))
    assert f"column 'city' of X has dtype {dtype}" in message
    assert "encode it as numbers first" in message


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.array([["1", "2"]]), "column 0 of X has dtype <U1: encode"),
        (np.array([[b"1", b"2"]]), "column 0 of X has dtype |S1: encode"),
        (np.array([[1, "2"]], dtype=object), "column 1 of X has dtype object and"),
        ([[1, 2], [3, "4"]], "column 1 of X has dtype object and holds str in row 1"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "column 0 of X has dtype datetime"),
    ],
    ids=["str", "bytes", "object", "list", "datetime64"],
)
def test_text_in_arrays_is_named_by_column_index(X, words):
    assert words in refusal(ValueError, X)


def test_an_object_that_is_no_number_is_a_type_error_with_its_place():
    X = np.array([[1, 2], [3, {"a": 1}]], dtype=object)
    message = refusal(TypeError, X)
    assert "column 1 of X has dtype object and holds dict in row 1" in message


def test_all_columns_without_numbers_are_listed(frames):
    X = frames.table({"n": [1], **{c: ["x"] for c in "abcdefghi"}})
    message = refusal(ValueError, X)
    assert message.startswith("column 'a' of X")
    assert message.endswith("; likewise 'b', 'c', 'd', 'e', 'f' and 3 more")


@pytest.mark.parametrize(
    ("X", "where"),
    [
        (np.array([[1, 2j]]), "X has dtype complex128"),
        (np.array([[1, 2j]], dtype=object), "column 1 of X"),
        (pd.DataFrame({"a": [1], "b": [2j]}), "column 'b' of X has dtype complex128"),
        (pd.DataFrame({"a": [1], "b": pd.Series([2j], dtype=object)}), "column 'b'"),
    ],
    ids=["numpy", "object", "pandas", "pandas-object"],
)
def test_complex_numbers_are_refused(X, where):
    message = refusal(ValueError, X)
    assert where in message
    assert "Complex data not supported" in message


# --- names ---------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [["a", "b", "a"], [0, 1, 0]])
def test_duplicate_column_names_are_named_with_their_places(labels):
    X = pd.DataFrame(np.ones((2, 3)), columns=labels)
    message = refusal(ValueError, X)
    assert f"X has two columns named {labels[0]!r} (columns 0 and 2)" in message


def test_column_names_of_mixed_types_are_refused():
    X = pd.DataFrame(np.ones((2, 3)), columns=["a", 1, "b"])
    assert "'a' and 1 (int)" in refusal(TypeError, X)


@pytest.mark.parametrize("make", [pl.LazyFrame, pa.table])
def test_lazy_frames_are_collected_and_arrow_tables_read(make):
    X = make({"a": [1, 2], "b": [True, False]})
    assert as_matrix(X).tolist() == [[1.0, 1.0], [2.0, 0.0]]
    assert "column 'b' of X has dtype" in refusal(
        ValueError, make({"a": [1, 2], "b": ["x", "y"]})
    )


def test_frames_of_other_packages_are_refused():
    class Foreign:
        def __dataframe__(self):
            raise NotImplementedError

    assert "got data.test_tables.Foreign" not in refusal(TypeError, Foreign())


# --- shapes --------------------------------------------------------------------------


@pytest.mark.parametrize("x", [[1.0, 2.0, 3.0], []], ids=["vector", "empty"])
def test_one_dimension_is_refused_in_the_words_of_scikit_learn(container, x):
    message = refusal(ValueError, container.series(x), name="X_target")
    assert f"X_target must have two dimensions, got shape ({len(x)},)" in message
    assert "Reshape your data" in message


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (None, "X must have two dimensions, got NoneType"),
        (3.0, "X must have two dimensions, got float"),
        ({"a": [1]}, "X must have two dimensions, got dict"),
        (np.ones((2, 2, 2)), "Found array with dim 3, while dim <= 2 is required"),
        ([[1, 2], [3]], "X cannot be read as an array"),
        (np.empty((0, 3)), "X has 0 rows, at least 1 is needed"),
        (pd.DataFrame({"a": []}), "X has 0 rows, at least 1 is needed"),
        (pl.DataFrame({"a": []}), "X has 0 rows, at least 1 is needed"),
        (np.empty((3, 0)), "0 feature(s) (shape=(3, 0)) while a minimum of 1"),
        (pd.DataFrame(index=range(3)), "X has no columns"),
        (pl.DataFrame(), "X has no columns"),
    ],
)
def test_other_shapes_are_refused_by_name(X, words):
    assert words in refusal(ValueError, X)


def test_too_few_rows_are_counted_in_our_words_and_in_scikit_learns(container):
    X = container.table({"a": [1.0], "b": [2.0]})
    message = refusal(ValueError, X, min_rows=2)
    assert "X has 1 row, at least 2 are needed" in message
    assert "1 sample(s) (shape=(1, 2)) while a minimum of 2 is required" in message


# --- sparse --------------------------------------------------------------------------

DENSE = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, -3.0]])
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"]


def test_sparse_matrices_pass_only_when_asked():
    assert "Sparse data was passed for X" in refusal(TypeError, sp.csr_array(DENSE))


@pytest.mark.parametrize("format_", FORMATS)
def test_every_sparse_format_leaves_as_float64_csr(format_):
    make = sp.csr_matrix if format_ == "dok" else sp.csr_array
    X = make(DENSE).astype(np.float32).asformat(format_)
    matrix = as_matrix(X, accept_sparse=True)
    assert isinstance(matrix, sp.csr_array)
    assert matrix.dtype == np.float64
    assert matrix.toarray().tolist() == DENSE.tolist()


def test_duplicate_entries_are_summed_in_a_copy():
    X = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])))
    matrix = as_matrix(X, accept_sparse=True)
    assert matrix.data.tolist() == [3.0]
    assert X.data.tolist() == [1.0, 2.0]


def test_dense_data_stay_dense_where_sparse_may_come():
    assert isinstance(as_matrix(DENSE, accept_sparse=True), np.ndarray)


@pytest.mark.parametrize("format_", ["csr", "csc", "coo"])
def test_a_sparse_entry_that_is_not_finite_has_its_place(format_):
    X = DENSE.copy()
    X[1, 0] = np.nan
    message = refusal(ValueError, sp.csr_array(X).asformat(format_), accept_sparse=True)
    assert "1 NaN, the first in row 1, column 0" in message


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (sp.csr_array(DENSE * 1j), "Complex data not supported"),
        pytest.param(
            sp.coo_array(np.ones(3)),
            "Reshape your data",
            marks=pytest.mark.skipif(
                sp.coo_array(np.ones(3)).ndim == 2,
                reason="SciPy before 1.13 makes a row of a vector",
            ),
        ),
        (sp.csr_array((0, 3)), "X has 0 rows"),
    ],
    ids=["complex", "vector", "empty"],
)
def test_bad_sparse_data_are_refused(X, words):
    assert words in refusal(ValueError, X, accept_sparse=True)


def test_a_frame_of_sparse_columns_is_sparse():
    X = pd.DataFrame(DENSE.astype(int), columns=list("abc")).astype(
        pd.SparseDtype(int, 0)
    )
    assert "Sparse data was passed for X" in refusal(TypeError, X)
    assert sp.issparse(as_matrix(X, accept_sparse=True))
    assert as_matrix(X, accept_sparse=True).toarray().tolist() == (
        DENSE.astype(int).tolist()
    )


# --- imports -------------------------------------------------------------------------


def test_the_door_works_where_no_frames_are_installed():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow']))"
        "; from counterpoise.data.labels_and_weights import as_classes"
        "; from counterpoise.data.arrays import as_matrix, two_samples"
        "; import numpy as np"
        "; print(as_matrix(np.array([[1, 2]], dtype=object)).tolist(), "
        "two_samples([[1]], [[2]])[1].tolist(), as_classes(['a'], 1).tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[[1.0, 2.0]] [[2.0]] ['a']"
