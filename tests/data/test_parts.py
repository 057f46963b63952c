"""Columns are cut into parts that name nobody."""

import numpy as np
import pandas as pd
import pytest

from counterpoise.data import TableEncoder
from counterpoise.data.columns import cut_column
from counterpoise.data.table import read_table


def parts_of(source, target, *, most=8, half=0.5):
    (x,), (t,) = (
        read_table(pd.DataFrame({"x": one})).columns for one in (source, target)
    )
    n, m = len(x.values), len(t.values)
    even = np.full(n, 1 / n), np.full(m, 1 / m)
    return cut_column(x, t, *even, most=most, half=half), even


def test_numbers_are_cut_at_quantiles_of_both_samples():
    random = np.random.default_rng(0)
    a, b = random.normal(size=600), random.normal(1.0, 1.0, size=900)
    found, (share, target_share) = parts_of(a, b)
    assert len(found.parts) == 8
    both = found.shares(share) + found.shares(target_share, of_target=True)
    np.testing.assert_allclose(both / 2, 1 / 8, atol=0.01)
    edges = [part.high for part in found.parts[:-1]]
    counts, _ = np.histogram(a, [-np.inf, *edges, np.inf])
    np.testing.assert_allclose(found.shares(share), counts / a.size)
    assert found.parts[0].low is None
    assert found.parts[-1].high is None


def test_edges_are_rounded_so_that_they_are_hardly_any_rows():
    values = np.random.default_rng(1).normal(size=500)
    found, _ = parts_of(values, values)
    edges = {part.low for part in found.parts[1:]}
    assert not edges & set(values.tolist())
    assert all(edge == round(edge, 2) for edge in edges)


def test_the_target_alone_can_say_where_to_cut():
    random = np.random.default_rng(2)
    found, (_, share) = parts_of(
        random.normal(size=300), random.normal(3, 1, 400), most=4, half=1.0
    )
    np.testing.assert_allclose(found.shares(share, of_target=True), 0.25, atol=0.01)


def test_few_values_stand_by_themselves_and_missing_ones_apart():
    values = np.repeat([0.0, 1.0, 2.0, np.nan], [50, 40, 3, 7])
    found, (share, _) = parts_of(values[:90], values[10:])
    told = [part.to_dict() for part in found.parts]
    # Three rows alone have the two.
    assert told == [
        {"part": "value", "value": 0.0},
        {"part": "value", "value": 1.0},
        {"part": "others"},
        {"part": "missing"},
    ]
    assert found.shares(share).sum() == pytest.approx(1.0)


def test_what_fewer_than_five_rows_have_is_not_named():
    town = ["Rome"] * 30 + ["Oslo"] * 9 + ["Ghosttown"] * 2
    found, _ = parts_of(town, town)
    assert [part.category for part in found.parts] == ["Rome", "Oslo", None]
    assert found.parts[-1].part == "others"
    rare, _ = parts_of(["Ghosttown"] * 2 + ["Rome"] * 40, ["Rome"] * 40)
    assert [part.to_dict() for part in rare.parts] == [
        {"part": "category", "category": "Rome"},
        {"part": "others"},
    ]


def test_the_commonest_categories_are_named_and_the_rest_is_together():
    town = np.repeat(list("abcdef"), [60, 50, 40, 30, 20, 10])
    found, (share, _) = parts_of(town, town, most=3)
    assert [part.category for part in found.parts] == ["a", "b", "c", None]
    np.testing.assert_allclose(
        found.shares(share), np.array([60, 50, 40, 60]) / town.size
    )


def test_a_column_that_is_mostly_zero_has_two_parts():
    values = np.concatenate([np.zeros(500), np.arange(1.0, 11.0)])
    found, (share, _) = parts_of(values, values)
    assert [part.high for part in found.parts] == [0.5, None]
    assert found.shares(share)[0] == pytest.approx(500 / 510)


@pytest.mark.parametrize(
    "values", [[np.nan] * 20, [None] * 20, [7.0] * 20, list(range(11)) + [np.nan] * 9]
)
def test_odd_columns_are_cut_without_an_error(values):
    found, (share, target_share) = parts_of(values, values)
    assert found.shares(share).sum() == pytest.approx(1.0)
    assert found.shares(target_share, of_target=True).sum() == pytest.approx(1.0)


def test_dates_are_cut_at_days():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(300), "D")
    found, _ = parts_of(days, days, most=3)
    assert all(part.low % 86_400 == 0 for part in found.parts[1:])


def test_encoded_rows_still_tell_the_columns():
    random = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "n": np.where(random.random(400) < 0.1, np.nan, random.normal(size=400)),
            "c": random.choice(
                ["red", "blue", "odd", None], 400, p=[0.5, 0.3, 0.01, 0.19]
            ),
            "d": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(random.integers(0, 500, 400), "D"),
            "b": random.random(400) < 0.3,
        }
    )
    encoder = TableEncoder().fit(table, table)
    rows = encoder.transform(table)
    plain = {column.label: column for column in read_table(table).columns}
    for label in ("n", "d", "b"):
        told = encoder.column_of(label, rows)
        assert told.kind == plain[label].kind
        np.testing.assert_allclose(told.values, plain[label].values, rtol=1e-12)
    told = encoder.column_of("c", rows)
    named = np.array([*told.categories, "missing"])[told.values]
    expected = table["c"].fillna("missing").replace("odd", "(rare)")
    assert named.tolist() == expected.tolist()
    with pytest.raises(ValueError, match="no column 'x'"):
        encoder.column_of("x", rows)
