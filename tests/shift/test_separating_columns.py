"""Columns that make two samples disjoint, in the words that a user gets."""

import numpy as np
import pandas as pd
import pytest

from counterpoise import KLIEP, Adapted, diagnose
from counterpoise.data.samples import Samples
from counterpoise.errors import NoOverlapError
from counterpoise.shift.separation import column_apart, separating_columns


def tables(n=200, m=180, seed=0):
    rng = np.random.default_rng(seed)
    return (
        pd.DataFrame(rng.normal(5.0, 1.0, (k, 3)), columns=["age", "height", "rate"])
        for k in (n, m)
    )


def changed(how):
    X, T = tables()
    rng = np.random.default_rng(1)
    if how == "unit":
        T["height"] *= 100
    elif how == "range":
        T["height"] += 50
    elif how == "new categories":
        X["height"], T["height"] = rng.choice(["a", "b"], 200), rng.choice(["c"], 180)
    elif how == "missing":
        T["height"] = T["height"].mask(rng.random(180) < 0.98)
    return X, T


@pytest.mark.parametrize("how", ["unit", "range", "new categories", "missing"])
def test_a_column_is_named_by_how_it_sets_the_samples_apart(how):
    found = separating_columns(Samples.read(*changed(how)), 0)
    (column,) = found.columns
    assert (column.name, column.how) == ("height", how)
    assert found.covered > 0.95


def test_the_refusal_and_the_diagnosis_name_the_columns_and_what_is_covered():
    X, T = changed("missing")
    y = X["age"] + X["rate"]
    with pytest.raises(NoOverlapError, match="missing in 9") as got:
        Adapted(random_state=0).fit(X, y, X_target=T)
    assert "--drop height" in str(got.value)
    found = diagnose(X, T, n_permutations=0, random_state=0)
    assert str(found.separation) in found.explanation
    assert found.to_dict()["separation"]["columns"][0]["how"] == "missing"


def test_a_weighter_names_them_too():
    X, T = changed("unit")
    with pytest.raises(NoOverlapError, match=r"about 10. times the source's values"):
        KLIEP(random_state=0).fit(X, X_target=T)
    with pytest.raises(NoOverlapError, match="'x1'"):
        KLIEP(random_state=0).fit(X.to_numpy(), X_target=T.to_numpy())


def test_what_no_column_makes_disjoint_has_no_column_to_blame():
    rng = np.random.default_rng(0)
    turn = rng.normal(size=(200, 1)) @ np.ones((1, 2))
    X = turn + 0.001 * rng.normal(size=(200, 2))
    T = turn + 0.001 * rng.normal(size=(200, 2)) + [0.1, -0.1]
    found = diagnose(X, T, n_permutations=0, random_state=0)
    assert found.verdict == "no overlap"
    assert found.separation is None


def test_names_that_cannot_be_printed_are_spelled_out():
    X, T = changed("unit")
    names = {"height": "h\x1b[2J\u202e" + "x" * 500}
    found = separating_columns(
        Samples.read(X.rename(columns=names), T.rename(columns=names)), 0
    )
    assert "\x1b" not in str(found).split("--drop")[0]


@pytest.mark.parametrize("n_moved", [1, 6])
def test_a_column_of_many_that_lies_elsewhere_is_named_and_makes_all_disjoint(n_moved):
    # Heavy tails: rows held out lie beyond all that a classifier has learned from.
    rng = np.random.default_rng(0)
    X, T = np.abs(rng.standard_t(2, size=(2, 150, 200)))
    moved = list(range(3, 3 + n_moved))
    T[:, moved] = 300 + 100 * T[:, moved]
    found = diagnose(X, T, n_permutations=0, random_state=0)
    assert found.verdict == "no overlap"
    assert found.uncovered_fraction > 0.99
    assert [column.name for column in found.separation.columns] == [
        f"x{j}" for j in moved
    ]


def test_wide_samples_that_all_columns_tell_apart_have_the_first_named():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(100, 120)), rng.normal(1.0, 1.0, size=(100, 120))
    T[:, :9] += 1.0
    found = separating_columns(Samples.read(X, T), 0)
    assert len(found.columns) == 1
    assert found.verdict == "no overlap"
    assert str(found).endswith("no more than 0% of the target is covered.")


def test_a_category_of_a_single_source_row_is_not_named():
    rng = np.random.default_rng(0)
    X, T = (pd.DataFrame({"x": rng.normal(size=300)}) for _ in range(2))
    X["who"], T["who"] = ["none"] * 299 + ["anna secret"], "Anna Secret"
    found = diagnose(X, T, n_permutations=0, random_state=0)
    (column,) = found.separation.columns
    assert (column.name, column.how) == ("who", "new categories")
    assert "anna secret" not in found.explanation
    assert "anna secret" not in str(found.to_dict())
    # Of several spellings that five rows have the commonest is named.
    X["who"] = ["none"] * 100 + ["ANNA SECRET"] * 90 + ["anna secret"] * 110
    (column,) = separating_columns(Samples.read(X, T), 0).columns
    assert str(column.difference).endswith("spelled 'Anna Secret' for 'anna secret'?")


def test_rows_count_by_their_weights_in_how_a_column_sets_apart():
    rng = np.random.default_rng(0)
    X, T = (
        pd.DataFrame(rng.normal(size=(400, 3)), columns=["s", "c", "x"])
        for _ in range(2)
    )
    T["s"] += 50
    T.loc[:259, "c"] = np.nan
    weight = np.where(np.arange(400) < 260, 1e-3, 1.0)
    read = Samples.read(X, T, None, weight)
    (column,) = separating_columns(read, 0).columns
    (alone,) = separating_columns(Samples.read(X, T[260:]), 0).columns
    assert column.name == alone.name == "s"
    assert column.apart == pytest.approx(alone.apart)


@pytest.mark.parametrize("how", ["unit", "range", "new categories", "missing"])
def test_a_weight_of_nine_is_a_row_nine_times(how):
    X, T = (one["height"] for one in changed(how))
    rng = np.random.default_rng(2)
    w, v = (rng.choice([1, 9], len(one)) for one in (X, T))

    def seen(x, t, *weights):
        tables = Samples.read(x.to_frame(), t.to_frame()).tables
        return column_apart(tables[0].columns[0], tables[1].columns[0], *weights)

    column, uncovers = seen(X, T, w.astype(float), v.astype(float))
    again, unsupported_fraction = seen(
        X.repeat(w), T.repeat(v), np.ones(w.sum()), np.ones(v.sum())
    )
    assert (column.how, str(column.difference)) == (again.how, str(again.difference))
    assert (column.apart, uncovers) == pytest.approx(
        (again.apart, unsupported_fraction)
    )
    plain, _ = seen(X, T, np.ones(len(X)), np.ones(len(T)))
    assert plain.how == how


def test_the_order_of_many_rows_changes_no_word_about_the_columns():
    X, T = tables(1500, 1500)
    T["height"] += 50
    T.loc[:1100, "rate"] = np.nan
    found = diagnose(X, T, n_permutations=0, random_state=0)
    mixed = (one.sample(frac=1.0, random_state=3) for one in (X, T))
    again = diagnose(*mixed, n_permutations=0, random_state=0)
    assert len(found.separation.columns) == 2
    assert again.separation == found.separation
    assert again.explanation == found.explanation
