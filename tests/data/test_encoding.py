"""Mixed tables to numbers: the one encoding of both samples."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from counterpoise.data import TableEncoder
from counterpoise.data.encoder import as_numbers
from counterpoise.data.table import Table
from counterpoise.shift.support import overlap

MONDAY = datetime.datetime(2024, 1, 1)


def mixed(n, seed, colors, start=0):
    """A table with every kind of column."""
    rng = np.random.default_rng(seed)
    hours = start + rng.integers(0, 24 * 60, size=n)
    age = rng.normal(40, 10, size=n)
    return {
        "age": [None if k % 10 == 3 else float(age[k]) for k in range(n)],
        "member": (rng.random(n) < 0.1).tolist(),
        "color": rng.choice(colors, size=n).tolist(),
        "when": [MONDAY + datetime.timedelta(hours=int(h)) for h in hours],
        "lasts": [datetime.timedelta(seconds=int(s)) for s in rng.integers(9, 99, n)],
        "empty": [None] * n,
        "name": [f"{seed}-{k}" for k in range(n)],
    }


@pytest.fixture(scope="module")
def dicts():
    source = mixed(300, 0, ["red", "green", "blue"])
    return source, mixed(200, 1, ["red", "green", "violet"], start=500)


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def frame(request):
    return request.param


@pytest.fixture
def tables(dicts, frame):
    return tuple(map(frame, dicts))


@pytest.fixture
def encoder(tables):
    return TableEncoder().fit(*tables)


def column(encoder, X, name):
    return encoder.transform(X)[:, encoder.names_.index(name)]


def test_every_output_has_a_name_and_the_column_it_comes_from(encoder):
    assert dict(zip(encoder.names_, encoder.columns_, strict=True)) == {
        "age": "age",
        "age: missing": "age",
        "member": "member",
        "color=blue": "color",
        "color=green": "color",
        "color=red": "color",
        "color=violet": "color",
        "when": "when",
        "when: month": "when",
        "when: weekday": "when",
        "when: hour": "when",
        "lasts": "lasts",
    }


def test_what_is_left_out_is_reported_with_the_reason(encoder):
    assert encoder.dropped_ == {
        "empty": "no value in either sample",
        "name": "an identifier: 500 different strings",
    }


def test_target_categories_that_the_source_lacks_are_counted(encoder, dicts):
    share = dicts[1]["color"].count("violet") / 200
    assert encoder.unseen_ == {"color": pytest.approx(share)}


def test_pandas_and_polars_give_the_same_bytes(dicts):
    results = []
    for frame in (pd.DataFrame, pl.DataFrame):
        X, X_target = map(frame, dicts)
        encoder = TableEncoder().fit(X, X_target)
        results.append((encoder.names_, encoder.transform(X).tobytes()))
    assert results[0] == results[1]


def test_one_package_can_be_fitted_to_and_another_transformed(dicts):
    encoder = TableEncoder().fit(pd.DataFrame(dicts[0]), pl.DataFrame(dicts[1]))
    np.testing.assert_array_equal(
        encoder.transform(pl.DataFrame(dicts[0])),
        encoder.transform(pd.DataFrame(dicts[0])),
    )


def test_the_output_is_finite_and_dense(encoder, tables):
    out = encoder.transform(tables[1])
    assert out.dtype == np.float64
    assert out.shape == (200, len(encoder.names_))
    assert np.isfinite(out).all()


def test_numbers_are_scaled_by_median_and_quartiles_of_both_samples():
    X, X_target = np.arange(101.0)[:, None], 200 + np.arange(101.0)[:, None]
    encoder = TableEncoder().fit(X, X_target)
    # The quartiles of the pool are the middles of the samples.
    np.testing.assert_allclose(encoder.transform(X), (X - 100) / 200)


def test_each_sample_counts_half_whatever_its_size():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(20, 1)), 5 + rng.normal(size=(30, 1))
    once = TableEncoder().fit(X, X_target)
    often = TableEncoder().fit(np.repeat(X, 50, axis=0), X_target)
    np.testing.assert_allclose(once.transform(X), often.transform(X), rtol=1e-12)


def test_missing_numbers_are_the_median_with_an_indicator(encoder, tables, dicts):
    missing = np.array([age is None for age in dicts[0]["age"]])
    np.testing.assert_array_equal(column(encoder, tables[0], "age: missing"), missing)
    assert not column(encoder, tables[0], "age")[missing].any()


def test_booleans_stay_zeros_and_ones(encoder, tables, dicts):
    np.testing.assert_array_equal(
        column(encoder, tables[0], "member"), dicts[0]["member"]
    )


def test_categories_are_zeros_and_a_one(encoder, tables, dicts):
    for color in ("blue", "green", "red", "violet"):
        np.testing.assert_array_equal(
            column(encoder, tables[1], f"color={color}"),
            np.array(dicts[1]["color"]) == color,
        )


def test_parts_of_dates_are_those_of_the_calendar(encoder, tables, dicts):
    dates = pd.Series(dicts[0]["when"] + dicts[1]["when"])
    for part, values in (
        ("month", dates.dt.month),
        ("weekday", dates.dt.day_of_week),
        ("hour", dates.dt.hour),
    ):
        found = column(encoder, tables[0], f"when: {part}")
        # Scaled, hence on an increasing line.
        slope, offset = np.polyfit(values[:300], found, 1)
        assert slope > 0
        np.testing.assert_allclose(found, slope * values[:300] + offset, atol=1e-9)
    seconds = (dates[:300] - MONDAY) / pd.Timedelta("1s")
    assert np.corrcoef(column(encoder, tables[0], "when"), seconds)[0, 1] > 1 - 1e-12


def test_only_parts_of_dates_that_vary_are_kept(frame):
    days = [MONDAY + datetime.timedelta(days=k) for k in range(20)]
    encoder = TableEncoder().fit(frame({"when": days}), frame({"when": days[::-1]}))
    assert encoder.names_ == ("when", "when: weekday")


def test_the_order_of_the_rows_changes_nothing(dicts):
    X, X_target = map(pd.DataFrame, dicts)
    first = TableEncoder().fit(X, X_target)
    second = TableEncoder().fit(X[::-1], X_target.sample(frac=1, random_state=0))
    assert first.names_ == second.names_
    assert first.transform(X).tobytes() == second.transform(X).tobytes()


def test_a_row_of_weight_two_is_the_row_twice(dicts):
    X, X_target = map(pd.DataFrame, dicts)
    weight = np.ones(300)
    weight[:40] = 2
    weighed = TableEncoder().fit(X, X_target, sample_weight=weight)
    twice = TableEncoder().fit(pd.concat([X, X[:40]]), X_target)
    np.testing.assert_allclose(
        weighed.transform(X), twice.transform(X), rtol=1e-12, atol=1e-12
    )


def test_a_row_of_weight_zero_is_a_row_left_out(dicts):
    X, X_target = map(pd.DataFrame, dicts)
    weight = (X_target["color"] != "violet").to_numpy(dtype=float)
    encoder = TableEncoder().fit(X, X_target, target_weight=weight)
    assert "color=violet" not in encoder.names_
    assert encoder.unseen_ == {"color": 0.0}


def test_rare_categories_share_a_column():
    common = ["a"] * 400 + ["b"] * 400
    X = [[c] for c in [*common, *(["c"] * 5), "d"]]
    encoder = TableEncoder().fit(X, [[c] for c in common])
    assert encoder.names_ == ("x0=a", "x0=b", "x0: rare")
    rows = [["c"], ["d"], ["a"], ["new"]]
    np.testing.assert_array_equal(encoder.transform(rows)[:, 2], [1, 1, 0, 1])


def test_a_category_that_is_frequent_in_a_small_target_is_not_rare():
    X = [["a"]] * 5000 + [["b"]] * 12
    encoder = TableEncoder().fit(X, [["b"]] * 30 + [["a"]] * 30)
    assert encoder.names_ == ("x0=a", "x0=b")


def test_small_tables_keep_their_categories():
    encoder = TableEncoder().fit([["a"], ["b"], ["b"]], [["a"], ["c"]])
    assert encoder.names_ == ("x0=a", "x0=b", "x0=c")


def test_many_new_categories_that_are_rare_alone_count_as_shift():
    X = [["a"]] * 500 + [["b"]] * 500
    new = [[f"new {k % 100}"] for k in range(200)]
    encoder = TableEncoder().fit(X, X + new)
    assert encoder.names_ == ("x0=a", "x0=b", "x0: unseen")
    np.testing.assert_array_equal(encoder.transform(new[:3])[:, 2], 1)
    np.testing.assert_array_equal(encoder.transform([["newer"]]), [[0, 0, 1]])


def test_categories_unseen_by_chance_do_not_count_as_shift():
    rng = np.random.default_rng(0)
    for _ in range(5):
        X, X_target = ([[f"{k}"] for k in rng.zipf(1.4, size=1000)] for _ in range(2))
        encoder = TableEncoder().fit(X, X_target)
        assert encoder.unseen_[0] > 0.05
        assert "x0: unseen" not in encoder.names_
        assert "x0: rare" in encoder.names_


def test_a_new_category_is_a_place_of_its_own(encoder, tables, dicts, frame):
    changed = frame({**dicts[1], "color": ["new"] * 200})
    out = encoder.transform(changed)
    colors = [k for k, c in enumerate(encoder.columns_) if c == "color"]
    assert not out[:, colors].any()


def test_a_column_that_is_missing_in_one_sample_is_a_shift(frame):
    X = frame({"a": [1.0, 2.0, 3.0], "c": ["u", "v", "u"], "t": [MONDAY] * 3})
    nothing = frame({"a": [None] * 3, "c": [None] * 3, "t": [None] * 3})
    for source, target in ((X, nothing), (nothing, X)):
        encoder = TableEncoder().fit(source, target)
        assert encoder.dropped_ == {}
        assert (column(encoder, nothing, "a: missing") == 1).all()
        assert (column(encoder, nothing, "c: missing") == 1).all()
        assert (column(encoder, nothing, "t: missing") == 1).all()
        assert (column(encoder, X, "c: missing") == 0).all()


def test_free_text_is_refused_by_name(frame):
    texts = [f"the customer wrote a letter, the {k}th of its kind" for k in range(40)]
    X, X_target = frame({"note": texts[:20]}), frame({"note": texts[20:]})
    with pytest.raises(ValueError, match=r"'note' looks like free text .40 different"):
        TableEncoder().fit(X, X_target)


def test_a_table_without_a_usable_column_is_refused_with_the_reasons(frame):
    X = frame({"empty": [None] * 30, "id": [f"{k}" for k in range(30)]})
    with pytest.raises(ValueError, match=r"'empty': no value.*; 'id': an identifier"):
        TableEncoder().fit(X, X)


def test_a_column_of_another_kind_is_refused_by_name(frame):
    X, text = frame({"a": [1.0, 2.0]}), frame({"a": ["x", "y"]})
    with pytest.raises(TypeError, match="'a' holds numbers in X and categories in X_t"):
        TableEncoder().fit(X, text)
    encoder = TableEncoder().fit(X, X)
    with pytest.raises(TypeError, match="'a' holds categories, in fit it held numbers"):
        encoder.transform(text)


def test_other_columns_are_refused(frame):
    X = frame({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    encoder = TableEncoder().fit(X, X)
    with pytest.raises(ValueError, match=r"must have the columns of fit, \['a', 'b'\]"):
        encoder.transform(X[["b", "a"]])
    with pytest.raises(ValueError, match="X has 1 columns, in fit there were 2"):
        encoder.transform([[1.0]])
    with pytest.raises(ValueError, match="it lacks 'b'"):
        TableEncoder().fit(X, X[["a"]])


def test_an_encoder_that_was_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        TableEncoder().transform([[1.0]])


def test_an_encoder_can_be_cloned():
    assert isinstance(clone(TableEncoder()), TableEncoder)


def test_the_parts_of_a_tuple_are_one_target(dicts):
    X, X_target = map(pd.DataFrame, dicts)
    whole = TableEncoder().fit(X, X_target)
    parts = TableEncoder().fit(X, (X_target[:50], X_target[50:]))
    assert whole.transform(X).tobytes() == parts.transform(X).tobytes()
    _, stacked = as_numbers(X, (X_target[:50], X_target[50:]))
    np.testing.assert_array_equal(stacked, whole.transform(X_target))


def test_tables_of_finite_numbers_leave_as_they_are(frame):
    X = frame({"a": [1.0, 5.0], "b": [True, False]})
    source, target = as_numbers(X, X[:1])
    np.testing.assert_array_equal(source, [[1.0, 1.0], [5.0, 0.0]])
    np.testing.assert_array_equal(target, [[1.0, 1.0]])


def test_a_numeric_table_with_a_gap_is_encoded():
    source, target = as_numbers([[1.0], [3.0]], [[np.nan], [2.0]])
    assert source.shape == target.shape == (2, 2)
    np.testing.assert_array_equal(target[:, 1], [1.0, 0.0])


def test_the_overlap_of_mixed_tables_is_judged(tables):
    found = overlap(*tables, random_state=0)
    assert found.auc > 0.6
    assert found.verdict != "no shift detected"


def test_both_samples_can_be_had_at_once(tables):
    encoder = TableEncoder()
    weight = np.linspace(1, 2, 300)
    both = encoder.fit_transform(*tables, sample_weight=weight)
    other = TableEncoder().fit(*tables, sample_weight=weight)
    for encoded, table in zip(both, tables, strict=True):
        assert encoded.tobytes() == other.transform(table).tobytes()


def test_names_are_those_of_scikit_learn(encoder):
    names = encoder.get_feature_names_out()
    assert names.dtype == object
    assert tuple(names) == encoder.names_
    with pytest.raises(NotFittedError):
        TableEncoder().get_feature_names_out()


def test_tables_of_plain_arrays_are_encoded_as_their_frames(tables):
    plain = [Table.of(table) for table in tables]
    first, second = TableEncoder(), TableEncoder()
    for a, b in zip(
        first.fit_transform(*tables), second.fit_transform(*plain), strict=True
    ):
        assert a.tobytes() == b.tobytes()
    assert first.transform(plain[1]).tobytes() == second.transform(tables[1]).tobytes()
    numbers = as_numbers(*plain), as_numbers(*tables)
    assert numbers[0][1].tobytes() == numbers[1][1].tobytes()
    rows = np.arange(50)
    np.testing.assert_array_equal(
        first.transform(plain[0].take(rows)), first.transform(plain[0])[rows]
    )


def test_plain_tables_and_frames_and_arrays_are_the_same_numbers():
    X, X_target = np.arange(6.0).reshape(3, 2), np.ones((2, 2))
    for kind in (Table.of, pd.DataFrame, np.asarray, np.ndarray.tolist):
        source, target = as_numbers(kind(X), kind(X_target))
        np.testing.assert_array_equal(source, X)
        np.testing.assert_array_equal(target, X_target)


def test_sparse_samples_stay_sparse():
    X = sparse.csr_array([[0.0, 1.0], [2.0, 0.0]])
    frame = pd.DataFrame.sparse.from_spmatrix(X)
    for source in (X, frame):
        result = as_numbers(source, np.ones((1, 2)))
        assert all(map(sparse.issparse, result))
        np.testing.assert_array_equal(result[0].toarray(), X.toarray())


def test_numbers_whose_sum_overflows_are_finite():
    X = np.array([[1e308], [1e308]])
    np.testing.assert_array_equal(as_numbers(X, X)[0], X)


def test_an_encoder_survives_being_saved(encoder, tables):
    data = skops.io.dumps(encoder)
    names = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith("counterpoise.data.") for name in names)
    back = skops.io.loads(data, trusted=names)
    assert back.transform(tables[1]).tobytes() == encoder.transform(tables[1]).tobytes()


def test_output_columns_are_told_by_the_users_names_without_a_value():
    source = [[20.0, "red"], [30.0, "red"], [40.0, "blue"]]
    encoder = TableEncoder().fit(source, [[30.0, "green"], [None, "red"]])
    assert encoder.display_names == (
        "'0'",
        "'0' (its missing values)",
        *["'1' (one of its categories)"] * 3,
    )
