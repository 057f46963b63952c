import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from counterpoise.data.arrays import check_same_columns, target_pieces, two_samples

SOURCE = {"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0], "c": [7.0, 8.0, 9.0]}
TARGET = {"a": [1.5, 2.5], "b": [4.5, 5.5], "c": [7.5, 8.5]}
EXPECTED = np.array([[1.5, 4.5, 7.5], [2.5, 5.5, 8.5]])


def refusal(X, X_target, error=ValueError, **options):
    with pytest.raises(error) as caught:
        two_samples(X, X_target, **options)
    return str(caught.value)


def only(columns, names):
    return {name: columns[name] for name in names}


def test_a_target_passes_alone_or_as_a_tuple(container):
    X, X_target = container.table(SOURCE), container.table(TARGET)
    for given in (X_target, (X_target,)):
        source, target = two_samples(X, given)
        assert source.tolist() == np.column_stack(list(SOURCE.values())).tolist()
        assert target.tobytes() == EXPECTED.tobytes()


def test_several_targets_are_stacked_in_order(container):
    X, X_target = container.table(SOURCE), container.table(TARGET)
    _, target = two_samples(X, (X_target, X, X_target))
    assert target.tolist() == [
        *EXPECTED.tolist(),
        *np.column_stack(list(SOURCE.values())).tolist(),
        *EXPECTED.tolist(),
    ]
    assert target.flags.c_contiguous


def test_no_target_is_none(container):
    source, target = two_samples(container.table(SOURCE), None)
    assert source.shape == (3, 3)
    assert target is None


def test_pandas_and_polars_frames_meet_by_name():
    _, target = two_samples(pd.DataFrame(SOURCE), pl.DataFrame(TARGET))
    assert target.tolist() == EXPECTED.tolist()


def test_columns_in_another_order_are_refused_not_reordered(frames):
    X_target = frames.table(only(TARGET, "acb"))
    message = refusal(frames.table(SOURCE), X_target)
    assert message.startswith("X_target has the columns of X in another order")
    assert "column 1 is 'c', in X it is 'b'" in message


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_the_advice_about_the_order_works(make):
    X, X_target = make(SOURCE), make(only(TARGET, "cba"))
    _, target = two_samples(X, X_target[list(X.columns)])
    assert target.tolist() == EXPECTED.tolist()


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (only(TARGET, "ac"), "it lacks 'b'"),
        ({**TARGET, "d": [0.0, 0.0]}, "it has 'd' that X has not"),
        ({**only(TARGET, "ab"), "C": [0.0, 0.0]}, "it lacks 'c' and has 'C'"),
    ],
    ids=["missing", "extra", "renamed"],
)
def test_missing_and_extra_columns_are_named(frames, columns, words):
    message = refusal(frames.table(SOURCE), frames.table(columns))
    assert f"X_target must have the columns of X: {words}" in message


def test_many_missing_columns_are_counted(frames):
    X = frames.table({f"c{j}": [1.0] for j in range(9)})
    message = refusal(X, frames.table({"c8": [1.0]}))
    assert "lacks 'c0', 'c1', 'c2', 'c3', 'c4' and 3 more" in message


def test_arrays_of_another_width_are_refused_with_both_widths():
    message = refusal(np.ones((2, 3)), np.ones((5, 4)))
    assert message == "X_target has 4 columns, X has 3"


def test_a_target_without_names_is_matched_by_position_with_a_warning(frames):
    X, X_target = frames.table(SOURCE), np.column_stack(list(TARGET.values()))
    with pytest.warns(UserWarning, match="X has column names and X_target has none"):
        _, target = two_samples(X, X_target)
    assert target.tolist() == EXPECTED.tolist()


def test_a_target_that_alone_has_names_is_refused(frames):
    source = np.column_stack(list(SOURCE.values()))
    message = refusal(source, frames.table(TARGET))
    assert "X_target has column names and X has none: was X transformed" in message


def test_names_on_one_side_do_not_excuse_the_width(frames):
    assert refusal(frames.table(SOURCE), np.ones((2, 2))) == (
        "X_target has 2 columns, X has 3"
    )


def test_numbers_as_labels_are_no_names_but_may_not_be_permuted():
    X = pd.DataFrame(np.ones((2, 2)), columns=[0, 1])
    assert two_samples(X, X.set_axis([5, 6], axis=1))[1].shape == (2, 2)
    assert "column 0 is 1, in X it is 0" in refusal(X, X[[1, 0]])


@pytest.mark.parametrize(
    ("X_target", "words"),
    [
        ((), "X_target is an empty tuple"),
        ((np.ones((2, 3)), None), "X_target[1] must have two dimensions, got NoneType"),
        (((1.0, 2.0, 3.0),), "X_target[0] must have two dimensions, got shape (3,)"),
        ((np.ones((2, 3)), np.ones((2, 4))), "X_target[1] has 4 columns, X has 3"),
        ((np.ones((2, 3)), np.empty((0, 3))), "X_target[1] has 0 rows"),
        ((np.ones((2, 3)), [[1, 2, np.nan]]), "X_target[1] contains 1 NaN"),
        (np.full((2, 3), np.nan), "X_target contains 6 NaN"),
        ([1.0, 2.0, 3.0], "X_target must have two dimensions, got shape (3,)"),
        ([[1, 2], [3]], "X_target cannot be read as an array"),
    ],
)
def test_a_bad_part_of_a_target_is_named(X_target, words):
    assert words in refusal(np.ones((2, 3)), X_target)


def test_a_bad_dimension_is_told_before_names_are_missed(frames):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        message = refusal(frames.table(SOURCE), [1.0, 2.0, 3.0])
    assert "X_target must have two dimensions" in message


def test_duplicate_names_in_the_target_are_refused():
    X = pd.DataFrame(np.ones((2, 2)), columns=["a", "b"])
    X_target = pd.DataFrame(np.ones((2, 2)), columns=["a", "a"])
    assert "X_target has two columns named 'a'" in refusal(X, X_target)


def test_the_smallest_number_of_source_rows_is_its_own():
    message = refusal(np.ones((1, 3)), np.ones((9, 3)), min_rows=2)
    assert message.startswith("X has 1 row, at least 2 are needed")


@pytest.mark.parametrize(
    ("make", "make_target"),
    [
        (sp.csr_array, sp.csc_matrix),
        (sp.csr_array, np.asarray),
        (np.asarray, sp.csr_array),
        (sp.csr_array, lambda X: (X[:1], sp.csr_array(X[1:]))),
    ],
    ids=["both", "source", "target", "part"],
)
def test_one_sparse_sample_makes_both_sparse(make, make_target):
    X = np.diag([1.0, 2.0, 3.0])
    source, target = two_samples(make(X), make_target(X + 1.0), accept_sparse=True)
    assert isinstance(source, sp.csr_array)
    assert isinstance(target, sp.csr_array)
    assert source.toarray().tolist() == X.tolist()
    assert target.toarray().tolist() == (X + 1.0).tolist()


def test_columns_can_be_compared_without_reading_entries(frames):
    X = frames.table({"city": ["x", "y"], "age": [1.0, None]})
    check_same_columns(X, X)
    with pytest.raises(ValueError, match="next_target must have the columns of X"):
        check_same_columns(X, frames.table({"city": ["x"]}), name="next_target")


def test_the_parts_of_a_target_bear_names():
    X = np.ones((2, 3))
    assert list(target_pieces(X)) == ["X_target"]
    assert list(target_pieces((X,))) == ["X_target[0]"]
    assert target_pieces((X,))["X_target[0]"] is X
