"""All in one: verdict, thinly covered rows, words; every kind of table."""

import io
import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy import sparse
from sklearn.datasets import load_digits

from counterpoise.data.table import Table
from counterpoise.datasets import make_uncovered_cluster
from counterpoise.shift.columns import FeatureShift
from counterpoise.shift.diagnosis import Diagnosis, diagnose
from counterpoise.shift.separation import UncoveredRows
from counterpoise.shift.support import overlap
from counterpoise.shift.two_sample_tests import mmd

VERDICTS = {
    0.0: "no shift detected",
    0.1: "shift, partial overlap",
    0.3: "shift, partial overlap",
    0.6: "no overlap",
    1.0: "no overlap",
}
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{7*7}}",
    "\x1b[2J\x00",
    "\u202egnp.exe",
    "a" * 10_000,
    " ",
]


def mixed(n, seed, *, far=0.0):
    """Columns of every kind, of which a share of the rows is of another sort."""
    rng = np.random.default_rng(seed)
    other = rng.random(n) < far
    day = np.datetime64("2024-01-01", "us") + rng.integers(0, 90, n).astype("m8[D]")
    return {
        "age": np.where(other, rng.normal(90, 2, n), rng.normal(40, 10, n)),
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(size=n)),
        "color": np.where(other, "violet", rng.choice(["red", "green"], n)),
        "when": day,
    }


@pytest.fixture(scope="module")
def frames():
    return pd.DataFrame(mixed(500, 0)), pd.DataFrame(mixed(400, 1, far=0.2))


@pytest.fixture(scope="module")
def found(frames):
    return diagnose(*frames, n_permutations=50, random_state=0)


def test_the_parts_are_those_of_the_rooms_below(frames, found):
    covered = overlap(*frames, random_state=0)
    assert (
        found.auc,
        found.auc_low,
        found.auc_high,
        found.uncovered_fraction,
        found.verdict,
    ) == (
        covered.auc,
        covered.auc_low,
        covered.auc_high,
        covered.uncovered_fraction,
        covered.verdict,
    )
    # The source has no violet.
    with pytest.warns(UserWarning, match="hardly varies in the source"):
        distance = mmd(*frames, n_permutations=50, standardize=True, random_state=0)
    assert found.mmd == pytest.approx(distance.value)
    assert found.mmd_p_value == distance.p_value
    assert [feature.name for feature in found.features] == list(frames[0].columns)
    assert (found.n_source, found.n_target, found.reweighting.n_source) == (
        500,
        400,
        500,
    )


def test_thinly_covered_rows_are_described_by_ranges(frames, found):
    uncovered_fraction = found.uncovered_rows
    assert uncovered_fraction.n_rows == pytest.approx(80, abs=20)
    assert uncovered_fraction.n_scored == 400
    assert {column.name for column in uncovered_fraction.columns} >= {"age", "color"}
    effects = [column.effect for column in uncovered_fraction.columns]
    assert effects == sorted(effects, reverse=True)
    age = next(column for column in uncovered_fraction.columns if column.name == "age")
    assert 80 < age.low < age.high < 100
    low, high = np.quantile(frames[0]["age"], [0.05, 0.95])
    assert (age.source_low, age.source_high) == pytest.approx((low, high))
    color = next(
        column for column in uncovered_fraction.columns if column.name == "color"
    )
    name, share, source_share = color.shares[0]
    assert (name, source_share) == ("violet", 0.0)
    assert share > 0.9


def test_no_value_of_a_single_row_is_told(frames, found):
    X, X_target = frames
    numbers = {x for f in (X, X_target) for c in ("age", "income") for x in f[c]}
    told = json.loads(json.dumps(found.to_dict()), parse_float=float)
    assert not numbers & set(leaves(told))


def leaves(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if not isinstance(tree, list):
        return [tree]
    return [leaf for branch in tree for leaf in leaves(branch)]


def test_of_fewer_than_five_rows_nothing_is_told():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(100, 2)), rng.normal(size=(30, 2))
    X_target[:4] += 50
    uncovered_fraction = diagnose(X, X_target, random_state=0).uncovered_rows
    assert 0 < uncovered_fraction.n_rows < 5
    assert uncovered_fraction.columns == ()
    assert "nothing" in uncovered_fraction.note


@pytest.mark.parametrize("q", VERDICTS)
def test_the_share_of_a_disjoint_cluster_is_found(q):
    shift = make_uncovered_cluster(q, n=1000, m=1000, shift=0, random_state=1)
    found = diagnose(shift.X, shift.X_target, n_permutations=0, random_state=1)
    assert found.uncovered_fraction == pytest.approx(q, abs=0.05)
    assert found.verdict == VERDICTS[q]
    if q:
        assert found.uncovered_rows.columns[0].name == "x0"


def test_nothing_is_found_where_nothing_shifts():
    verdicts = [
        diagnose(
            pd.DataFrame(mixed(300, 2 * seed)),
            pd.DataFrame(mixed(300, 2 * seed + 1)),
            n_permutations=0,
            random_state=seed,
        ).verdict
        for seed in range(4)
    ]
    assert verdicts.count("no shift detected") >= 3


def test_pandas_polars_arrays_and_tables_are_diagnosed_alike(frames, found):
    dicts = [frame.to_dict("list") for frame in frames]
    moments = [{**d, "when": [t.to_pydatetime() for t in d["when"]]} for d in dicts]
    polars = [pl.DataFrame(d, nan_to_null=True) for d in moments]
    objects = [np.array(list(zip(*d.values(), strict=True)), object) for d in moments]
    tables = [Table.of(frame) for frame in frames]
    for pair in (polars, tables):
        other = diagnose(*pair, n_permutations=50, random_state=0)
        assert other.to_dict() == found.to_dict()
    other = diagnose(*objects, n_permutations=50, random_state=0)
    assert [f.name for f in other.features] == ["x0", "x1", "x2", "x3"]
    for a, b in zip(other.features, found.features, strict=True):
        assert (a.effect, a.p_value, a.kind) == (b.effect, b.p_value, b.kind)
    assert (other.auc, other.mmd) == (found.auc, found.mmd)


def test_the_order_of_the_rows_does_not_matter(frames, found):
    X, X_target = frames
    other = diagnose(
        X[::-1],
        X_target.sample(frac=1, random_state=0),
        n_permutations=50,
        random_state=0,
    )
    numbers = other.auc, other.uncovered_fraction, other.mmd
    assert numbers == pytest.approx(
        (found.auc, found.uncovered_fraction, found.mmd), rel=1e-12
    )
    assert other.mmd_p_value == found.mmd_p_value
    for a, b in zip(other.features, found.features, strict=True):
        for name, value in a.to_dict().items():
            expected = b.to_dict()[name]
            if isinstance(value, float):
                assert value == pytest.approx(expected, rel=1e-9, abs=1e-12), name
            else:
                assert value == expected, name


def test_rows_of_weight_zero_are_absent(frames, found):
    X, X_target = frames
    both = pd.concat([X, X_target])
    weight = np.repeat([1.0, 0.0], [len(X), len(X_target)])
    other = diagnose(
        both, X_target, sample_weight=weight, n_permutations=50, random_state=0
    )
    assert other.to_dict() == found.to_dict()


def test_weights_undo_a_shift_by_selection():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    chosen = rng.random(3000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    weight = 1 + np.exp(-2 * X[chosen, 0])
    fresh = rng.normal(size=(1500, 2))
    plain = diagnose(X[chosen], fresh, n_permutations=0, random_state=0)
    undone = diagnose(
        X[chosen], fresh, sample_weight=weight, n_permutations=0, random_state=0
    )
    assert abs(plain.features[0].smd) > 0.5
    assert abs(undone.features[0].smd) < 0.1
    assert (plain.verdict == "no shift detected", undone.verdict) == (
        False,
        "no shift detected",
    )


def test_a_saved_sample_is_a_reference_for_next_week(frames):
    X, X_target = frames
    rows = np.arange(0, 500, 2)
    reference = Table.of(X).take(rows)
    trusted = ["counterpoise.data.table.Table"]
    trusted += ["counterpoise.data.table.TableColumn"]
    back = skops.io.loads(skops.io.dumps(reference), trusted=trusted)
    first = diagnose(back, X_target, n_permutations=0, random_state=0)
    second = diagnose(X.iloc[rows], X_target, n_permutations=0, random_state=0)
    assert first.to_dict() == second.to_dict()


def test_many_rows_are_thinned_out_and_features_see_them_all():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(6000, 2)), 0.1 + rng.normal(size=(5500, 2))
    found = diagnose(X, X_target, n_permutations=20, random_state=0)
    assert found.uncovered_rows.n_scored == 5000
    assert (found.n_source, found.n_target) == (6000, 5500)
    expected = (X_target.mean(axis=0) - X.mean(axis=0)) / np.sqrt(
        (X.var(axis=0) + X_target.var(axis=0)) / 2
    )
    assert [f.smd for f in found.features] == pytest.approx(list(expected))
    again = diagnose(X[::-1], X_target[::-1], n_permutations=20, random_state=0)
    assert (again.auc, again.mmd) == pytest.approx((found.auc, found.mmd), rel=1e-12)


def test_sparse_matrices_are_diagnosed_by_their_means():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 3000), density=0.01, rng=rng, format="csr")
    X_target = sparse.random_array((300, 3000), density=0.02, rng=rng, format="csc")
    found = diagnose(X, X_target, random_state=0)
    assert len(found.features) == 3000
    assert (found.mmd, found.mmd_p_value) == (None, None)
    assert all(feature.ks is None for feature in found.features)
    assert "Kolmogorov-Smirnov" in found.note
    assert found.verdict != "no shift detected"
    json.dumps(found.to_dict(), allow_nan=False)
    assert "and 2980 more" in str(found)


def test_the_record_is_plain_json(found):
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text) == found.to_dict()
    assert json.loads(text)["correction"] == "Holm"


def test_the_record_can_be_saved(found):
    stream = io.BytesIO()
    skops.io.dump(found, stream)
    stream.seek(0)
    names = skops.io.get_untrusted_types(data=stream.getvalue())
    assert all(name.startswith("counterpoise.") for name in names)
    back = skops.io.load(stream, trusted=names)
    assert back.to_dict() == found.to_dict()
    assert str(back) == str(found)


def test_the_text_shows_features_by_effect(found):
    text = str(found)
    assert text.startswith("Diagnosis: shift, partial overlap\n")
    by_effect = sorted(found.features, key=lambda f: -f.effect)
    places = [text.index(f"\n{feature.name} ") for feature in by_effect]
    assert places == sorted(places)
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_the_explanation_says_what_to_do(q):
    shift = make_uncovered_cluster(q, n=400, m=400, shift=0, random_state=0)
    found = diagnose(shift.X, shift.X_target, n_permutations=0, random_state=0)
    expected = {0.0: "nothing needs", 0.3: "covered part", 1.0: "do not rely"}[q]
    assert f"Next: {expected}" in found.explanation or expected in found.explanation
    assert found.explanation.count("Next: ") == 1
    assert "importance weight" not in found.explanation


def test_a_column_that_separates_the_samples_is_named(frames):
    X, X_target = frames
    later = X_target.assign(when=X_target["when"] + pd.Timedelta("900D"))
    found = diagnose(X, later, n_permutations=0, random_state=0)
    assert found.verdict == "no overlap"
    assert "What makes the samples disjoint: 'when'" in found.explanation


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen |= {tag, *(name for name, _ in attrs)}


def test_hostile_names_stay_text():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, len(HOSTILE))), columns=HOSTILE)
    X["text"] = rng.choice(["<b>bold</b>", "plain"], size=60)
    X["id <i>"] = [f"{k}" for k in range(60)]
    X_target = X.assign(text="<svg onload=alert(1)>")
    X_target[HOSTILE] += 9
    found = diagnose(X, X_target, n_permutations=0, random_state=0)
    parser = Tags()
    parser.feed(found._repr_html_())
    allowed = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert parser.seen <= allowed | {"class", "scope"}
    text = str(found)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert max(map(len, text.splitlines())) < 150


def test_dropped_columns_and_unseen_categories_are_reported():
    X = pd.DataFrame({"id": [f"{k}" for k in range(60)], "c": ["a", "b"] * 30})
    X_target = pd.DataFrame({"id": [f"t{k}" for k in range(40)], "c": ["a", "n"] * 20})
    found = diagnose(X, X_target, n_permutations=0, random_state=0)
    assert found.dropped == {"id": "an identifier: 100 different strings"}
    assert found.unseen == {"c": 0.5}
    assert [feature.name for feature in found.features] == ["c"]
    assert "Left out: id" in str(found)


def test_a_sample_that_hardly_varies_brings_no_warning():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    X[:, 1] = 1.0
    found = diagnose(X, X_target, n_permutations=0, random_state=0)
    assert found.features[1].smd is not None


def test_the_parts_of_a_tuple_are_one_target(frames, found):
    X, X_target = frames
    parts = X_target[:100], X_target[100:]
    other = diagnose(X, parts, n_permutations=50, random_state=0)
    assert other.to_dict() == found.to_dict()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X_target": None}, "X_target is None"),
        ({"X_target": [[1.0]]}, "X_target has 1 row"),
        ({"X_target": [[1.0, 2.0]]}, "columns"),
        ({"n_permutations": -1}, "n_permutations"),
        ({"sample_weight": [1.0]}, "sample_weight has 1 rows, X has 3"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    given = {"X": [[1.0], [2.0], [3.0]], "X_target": [[1.0], [2.0]], **arguments}
    with pytest.raises(ValueError, match=message):
        diagnose(**given)


def test_records_are_frozen(found):
    assert isinstance(found, Diagnosis)
    assert isinstance(found.uncovered_rows, UncoveredRows)
    assert isinstance(found.features[0], FeatureShift)
    with pytest.raises(AttributeError):
        found.auc = 1.0


@pytest.mark.parametrize("types", [("f4", "f8"), ("f8", "f4")])
@pytest.mark.parametrize("as_table", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_float32_beside_float64_is_not_a_shift(types, as_table):
    X = load_digits().data / 10.0 + 0.1
    one, other = np.array_split(np.random.default_rng(0).permutation(len(X)), 2)
    source, target = (
        as_table(X[rows].astype(kind))
        for rows, kind in zip((one, other), types, strict=True)
    )
    found = diagnose(source, target, random_state=0)
    assert found.auc_low < 0.5 < found.auc_high
    assert found.uncovered_fraction < 0.05
