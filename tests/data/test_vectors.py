import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from counterpoise.data.labels_and_weights import as_classes, as_responses, as_weights


def refusal(function, *args, error=ValueError, **options):
    with pytest.raises(error) as caught:
        function(*args, **options)
    return str(caught.value)


BOTH = pytest.mark.parametrize("function", [as_classes, as_responses])


# --- labels and responses ------------------------------------------------------------


@pytest.mark.parametrize(
    "labels", [[1, 0, 1], ["no", "yes", "no"], [True, False, True]]
)
def test_classes_are_numbers_booleans_or_strings(container, labels):
    assert as_classes(container.series(labels), 3).tolist() == labels
    assert as_classes(labels, 3).tolist() == labels


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (pd.Series([1, 2, 1], dtype="Int64"), [1, 2, 1]),
        (pd.Series([True, False, True], dtype="boolean"), [True, False, True]),
        (pd.Series([1, 2, 1], dtype=object), [1, 2, 1]),
        (pd.Series(["a", "b", "a"], dtype="category"), ["a", "b", "a"]),
        (pd.Series(["a", "b", "a"], dtype="string"), ["a", "b", "a"]),
        (pl.Series(["a", "b", "a"], dtype=pl.Categorical), ["a", "b", "a"]),
        (pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b"])), ["a", "b", "a"]),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_classes_keep_their_kind_whatever_held_them(y, expected):
    labels = as_classes(y, 3)
    assert labels.tolist() == expected
    assert labels.dtype.kind == (
        "O" if expected[0] == "a" else np.array(expected).dtype.kind
    )


def test_responses_are_float64(container):
    y = as_responses(container.series([1, 2, 3]), 3)
    assert y.dtype == np.float64
    assert y.tolist() == [1.0, 2.0, 3.0]


@BOTH
def test_another_number_of_rows_is_told_with_both_numbers(container, function):
    message = refusal(function, container.series([1, 0]), 3)
    assert message == "y has 2 rows, X has 3"


@BOTH
def test_a_missing_label_has_a_row(container, function):
    message = refusal(function, container.series([1.0, np.nan, 0.0]), 3)
    assert message.startswith("y contains")
    assert "NaN, the first in row 1" in message


@BOTH
@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, pd.NA, 2], dtype=object),
        pl.Series([1, None, 2]),
        np.array([1, None, 2], dtype=object),
        np.ma.masked_array([1, 5, 2], mask=[False, True, False]),
    ],
    ids=["Int64", "object", "polars", "numpy", "masked"],
)
def test_labels_of_nullable_types_may_miss_too(function, y):
    assert "NaN, the first in row 1" in refusal(function, y, 3)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["a", "b", None]),
        pd.Series(["a", "b", None], dtype="category"),
        pl.Series(["a", "b", None]),
        np.array(["a", "b", None], dtype=object),
        np.array(["a", "b", np.nan], dtype=object),
        np.array(["a", "b", pd.NA], dtype=object),
        pl.DataFrame({"y": ["a", "b", None]}),
        pd.DataFrame({"y": ["a", "b", None]}),
    ],
)
def test_a_missing_name_of_a_class_has_a_row(y):
    assert refusal(as_classes, y, 3).startswith("y contains NaN, the first in row 2")


@BOTH
def test_an_infinite_label_has_a_row(container, function):
    message = refusal(function, container.series([1.0, 0.0, -np.inf]), 3)
    assert "inf, the first in row 2" in message


@BOTH
def test_complex_labels_are_refused(function):
    assert "Complex data not supported" in refusal(function, [1, 2j], 2)


@BOTH
@pytest.mark.parametrize("make", [pl.LazyFrame, pa.table])
def test_labels_in_a_frame_of_one_column_are_read(function, make):
    with pytest.warns(DataConversionWarning):
        assert function(make({"y": [1, 0]}), 2).tolist() == [1, 0]


@BOTH
def test_y_that_was_not_given_is_asked_for(function):
    message = refusal(function, None, 3)
    assert "requires y to be passed, but the target y is None" in message


@BOTH
def test_a_single_column_is_taken_with_scikit_learns_warning(container, function):
    table = container.table({"y": [1, 0, 1]})
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        y = function(table, 3)
    assert y.tolist() == [1, 0, 1]


@BOTH
def test_several_columns_are_refused_with_their_shape(function):
    message = refusal(function, np.ones((3, 2)), 3)
    assert "y should be a 1d array, got an array of shape (3, 2)" in message


def test_several_outputs_pass_as_a_matrix_when_asked(container):
    table = container.table({"u": [1.0, 2.0], "v": [3.0, 4.0]})
    y = as_responses(table, 2, multi_output=True)
    assert y.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert as_responses([1.0, 2.0], 2, multi_output=True).shape == (2,)
    with pytest.raises(ValueError, match="y has 2 rows, X has 5"):
        as_responses(table, 5, multi_output=True)


def test_a_bad_output_is_named_by_its_column(frames):
    table = frames.table({"u": [1.0, 2.0], "v": ["x", "y"]})
    message = refusal(as_responses, table, 2, multi_output=True)
    assert message.startswith("column 'v' of y has dtype")


def test_strings_are_no_responses(container):
    message = refusal(as_responses, container.series(["1", "2"]), 2)
    assert message.startswith("y has dtype")
    assert "encode it as numbers first" in message


def test_numbers_with_fractions_are_no_classes(container):
    message = refusal(as_classes, container.series([0.5, 1.5, 2.5]), 3)
    assert "Unknown label type: continuous" in message


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1, "a", 2], "row 0 holds int, row 1 str"),
        (np.array(["a", "b", 2], dtype=object), "row 0 holds str, row 2 int"),
    ],
)
def test_classes_of_mixed_types_are_refused(y, words):
    assert f"y mixes strings and other labels: {words}" in refusal(as_classes, y, 3)


def test_errors_bear_the_given_name():
    message = refusal(as_responses, [1.0], 2, name="y_lab")
    assert message == "y_lab has 1 rows, X has 2"


# --- weights -------------------------------------------------------------------------


def test_weights_pass_in_every_kind_of_vector(container):
    weights = as_weights(container.series([0, 1, 2]), 3)
    assert weights.dtype == np.float64
    assert weights.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, [1.0, 1.0, 1.0]),
        (2, [2.0, 2.0, 2.0]),
        (np.float32(0.5), [0.5, 0.5, 0.5]),
        ((1, 2, 3), [1.0, 2.0, 3.0]),
        (([1, 2], [3]), [1.0, 2.0, 3.0]),
        ((pd.Series([1, 2]), pl.Series([3])), [1.0, 2.0, 3.0]),
    ],
    ids=["none", "number", "numpy", "tuple", "parts", "series"],
)
def test_weights_may_be_left_out_or_come_in_parts(given, expected):
    assert as_weights(given, 3).tolist() == expected


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], "sample_weight has 2 rows, X has 3"),
        ([1.0, 2.0, -0.5], "must not be negative, got -0.5 in row 2"),
        ([1.0, np.nan, 1.0], "sample_weight contains 1 NaN, the first in row 1"),
        ([np.inf, 1.0, 1.0], "sample_weight contains 1 inf, the first in row 0"),
        ([0.0, 0.0, 0.0], "sample_weight is zero in every row"),
        (["a", "b", "c"], "sample_weight has dtype"),
    ],
)
def test_bad_weights_are_named_with_the_row(container, values, words):
    assert words in refusal(as_weights, container.series(values), 3)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (-1, ValueError, "sample_weight must be at least 0, got -1"),
        (np.nan, ValueError, "sample_weight must be finite, got nan"),
        (0, ValueError, "sample_weight is zero in every row"),
        (True, TypeError, "sample_weight must be a number, got True (bool)"),
        ("ones", ValueError, "sample_weight should be a 1d array"),
        (np.ones((3, 1)), ValueError, "got an array of shape (3, 1)"),
        (([1, 2], [np.nan]), ValueError, "sample_weight[1] contains 1 NaN"),
    ],
)
def test_other_bad_weights_are_named(value, error, words):
    assert words in refusal(as_weights, value, 3, error=error)


def test_weights_name_the_table_they_belong_to():
    message = refusal(as_weights, [1.0], 2, name="target_weight", of="X_target")
    assert message == "target_weight has 1 rows, X_target has 2"


@given(
    st.lists(st.just(0.0) | st.floats(1e-6, 1e6), min_size=1, max_size=8).filter(any),
    st.integers(0, 7),
    st.floats(-1e6, -1e-6),
)
def test_the_first_negative_weight_is_the_one_named(weights, row, value):
    row = row % len(weights)
    assert as_weights(weights, len(weights)).tolist() == weights
    weights[row] = value
    message = refusal(as_weights, weights, len(weights))
    assert f"got {value} in row {row} " in message
