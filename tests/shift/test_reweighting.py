"""How much of the discrepancy weights can remove, and what they cannot match."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from counterpoise import diagnose, discrepancy
from counterpoise.data.two_samples import TwoSamples
from counterpoise.report import Report
from counterpoise.shift.diagnosis import reweighting_of

NAMES = ["a", "b", "c"]


def seen(X, T, w=None, v=None, names=NAMES):
    w = np.ones(len(X)) if w is None else w
    v = np.ones(len(T)) if v is None else v
    return reweighting_of(TwoSamples.of(X, T, w, v).ordered(), names)


@pytest.fixture
def two():
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 3)), rng.normal([1.0, 0, 0], size=(150, 3))


def test_before_is_the_discrepancy_of_centered_columns_with_a_constant(two):
    X, T = two
    middle = 0.5 * (X.mean(axis=0) + T.mean(axis=0))
    found = seen(X, T)
    expected = discrepancy(X - middle, T - middle, standardize=True, add_constant=True)
    assert found.before == pytest.approx(expected, rel=1e-9)
    assert found.spectrum_before[0] == pytest.approx(expected, rel=1e-9) or (
        found.spectrum_before[0] == pytest.approx(-expected, rel=1e-9)
    )
    assert (found.n_source, found.n_target) == (200, 150)


def test_a_shift_within_the_source_can_be_removed(two):
    found = seen(*two)
    assert found.removable > 0.95
    assert found.bound <= found.after <= 0.05 * found.before
    assert len(found.spectrum_after) == 4


def test_what_the_source_does_not_have_is_the_direction_that_is_left(two):
    X, T = two
    wide = T * [1, 6, 1]
    found = seen(X, wide)
    assert found.removable < 0.9
    assert found.direction[0][0] == "b"
    assert found.direction[0][1] > 0.8
    assert found.target_varies_more
    # The bound says that nobody could remove much more.
    assert 1 - found.bound / found.before < found.removable + 0.02
    back = seen(wide, X * [1, 0.01, 1], names=NAMES)
    assert back.before > back.after


def test_the_level_of_a_column_does_not_matter(two):
    X, T = two
    level = np.array([0.0, 1e5, 0.0])
    moved = seen(X + level, T + level)
    assert moved.before == pytest.approx(seen(X, T).before, rel=1e-6)


def test_one_row_far_out_changes_little(two):
    X, T = two
    far = T.copy()
    far[0, 1] = 1e9
    assert seen(X, far).before < 2 * seen(X, T).before + 1


def test_a_row_of_weight_two_is_the_row_twice(two):
    X, T = two
    w = np.ones(200)
    w[:20] = 2
    found, twice = seen(X, T, w), seen(np.vstack([X, X[:20]]), T)
    assert found.before == pytest.approx(twice.before, rel=1e-9)
    assert found.after == pytest.approx(twice.after, abs=0.02 * found.before)


def test_equal_samples_and_many_columns_have_no_best_weights(two):
    X, _ = two
    same = seen(X, X)
    assert same.before < 1e-12
    wide = np.random.default_rng(0).normal(size=(2, 200, 150))
    found = seen(*wide, names=[f"x{j}" for j in range(150)])
    assert found.after is found.removable is None
    assert found.spectrum_after == ()
    assert len(found.spectrum_before) == 100
    assert seen(np.zeros((3, 1001)), np.zeros((3, 1001))) is None


def test_the_diagnosis_says_it_in_a_sentence(two):
    X, T = (pd.DataFrame(rows, columns=NAMES) for rows in two)
    T["c"] = 4 * T["c"]
    found = diagnose(X, T, n_permutations=0, random_state=0)
    assert found.discrepancy == found.reweighting.before
    share = f"{100 * found.reweighting.removable:.3g} %"
    assert f"Reweighting can remove {share} of the discrepancy" in found.explanation
    assert "the direction that cannot be matched is mostly 'c'" in found.explanation
    assert "along which the target varies more" in found.explanation
    assert f"{found.reweighting.after:.3g} at the best weights" in str(found)
    section = found.to_dict()["spectrum"]
    assert section["direction"][0]["name"] == "c"
    assert section["removable"] == found.reweighting.removable
    record = Report.from_estimator(found)
    assert record.at("shift.spectrum.least") == found.reweighting.after
    assert Report.from_json(record.to_json()) == record


def test_where_all_can_be_removed_no_direction_is_named(two):
    found = diagnose(*two, n_permutations=0, random_state=0)
    assert "Reweighting can remove" in found.explanation
    assert "cannot be matched" not in found.explanation


def test_without_a_shift_nothing_is_said(two):
    rng = np.random.default_rng(5)
    X, T = rng.normal(size=(2, 400, 3))
    found = diagnose(X, T, n_permutations=0, random_state=0)
    assert found.verdict == "no shift detected"
    assert "Reweighting" not in found.explanation
    assert found.discrepancy is not None


def test_mixed_tables_are_told_by_the_columns_of_the_table():
    rng = np.random.default_rng(0)
    source = pd.DataFrame(
        {"age": rng.normal(40, 5, 300), "color": rng.choice(["red", "blue"], 300)}
    )
    target = pd.DataFrame(
        {"age": rng.normal(40, 5, 300), "color": rng.choice(["red", "green"], 300)}
    )
    found = diagnose(source, target, n_permutations=0, random_state=0)
    assert found.reweighting.direction[0][0] == "color"


def test_the_same_seed_gives_the_same_numbers_on_many_rows():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(1500, 2)), rng.normal(size=(1200, 2)) * 1.5
    first = diagnose(X, T, n_permutations=0, random_state=0)
    order = rng.permutation(1500)
    again = diagnose(X[order], T, n_permutations=0, random_state=0)
    assert first.reweighting.to_dict() == again.reweighting.to_dict()
    assert first.reweighting.n_source == 1000


def test_sparse_matrices_have_none():
    X = sparse.random_array((60, 8), density=0.3, rng=np.random.default_rng(0)).tocsr()
    found = diagnose(X, X[:40], random_state=0)
    assert found.discrepancy is found.reweighting is None
    assert found.to_dict()["spectrum"] is None
