"""What is covered: digits, cells and spelling are no other place."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, chi2_contingency
from sklearn.linear_model import LogisticRegression

from counterpoise import AutoWeights, DiscriminatorWeights, diagnose
from counterpoise.data.table import two_tables
from counterpoise.data.two_samples import TwoSamples
from counterpoise.shift.columns import (
    differently_rounded,
    spread_rounded_columns,
)
from counterpoise.shift.domain_classifier import Pool
from counterpoise.shift.separation import (
    Spelling,
    folded,
    respelled_categories,
)
from counterpoise.shift.two_sample_tests import (
    CutColumn,
    cell_tests,
)

ROUNDED = {
    "target to a tenth": (lambda x: x, lambda x: x.round(1)),
    "source to a tenth": (lambda x: x.round(1), lambda x: x),
    "target to a half": (lambda x: x, lambda x: (2 * x).round() / 2),
    "years and decimals": (
        lambda x: (40 + 15 * x).round(),
        lambda x: (40 + 15 * x).round(2),
    ),
    "centimetres and inches": (
        lambda x: (170 + 10 * x).round(),
        lambda x: 2.54 * ((170 + 10 * x) / 2.54).round(),
    ),
}


def drawn(how, n=600, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(2, n, d))
    X[:, 0], T[:, 0] = ROUNDED[how][0](X[:, 0]), ROUNDED[how][1](T[:, 0])
    return X, T


@pytest.mark.parametrize("how", ROUNDED)
def test_rounding_is_no_hole_and_tells_no_classifier(how):
    X, T = drawn(how)
    found = diagnose(X, T, random_state=0)
    assert found.digits == ("x0",)
    assert found.uncovered_fraction < 0.05
    assert found.auc_low <= 0.5
    assert found.tests[1].p_value > 0.01


@pytest.mark.parametrize("weight_estimator", [AutoWeights, DiscriminatorWeights])
def test_weights_go_by_what_moved_and_not_by_digits(weight_estimator):
    X, T = drawn("target to a half", n=800, seed=1)
    T[:, 1] += 0.7
    found = weight_estimator(random_state=0).fit(X, X_target=T)
    ratio = np.exp(0.7 * X[:, 1] - 0.245)
    assert np.corrcoef(found.weights_, ratio)[0, 1] > 0.95


def test_a_shift_of_rounded_numbers_is_still_found():
    X, T = drawn("target to a tenth")
    assert diagnose(X, T + np.array([1.5, 0, 0]), random_state=0).auc_low > 0.7
    far = diagnose(X, T + np.array([20, 0, 0]), random_state=0)
    assert far.verdict == "no overlap"


def grid(step, n=120, low=0.0):
    """Return n values on a grid, each four times."""
    return np.repeat(low + step * np.arange(n // 4), 4)


def test_gaps_twice_as_wide_and_half_of_the_rows_of_own_values_are_needed():
    def apart(x, t):
        return bool(differently_rounded(TwoSamples.of(x[:, None], t[:, None]))[0])

    assert not apart(grid(1.0), grid(1.0))
    # Grids beside each other of one width: levels of their own, as numbers of shops.
    assert not apart(grid(2.0), grid(2.0, low=1.0))
    # Twice as wide, half a step away.
    assert apart(grid(2.0), grid(1.0, low=0.5))
    assert not apart(grid(1.99), grid(1.0, low=0.005))
    # Another unit altogether.
    assert not apart(grid(20.0), grid(1.0, low=0.5))
    # Half of the rows of the target have values of their own, and less than half.
    shared, own = grid(2.0)[:60], grid(1.0, low=0.5)
    assert apart(shared, np.r_[shared, own[:60]])
    assert not apart(shared, np.r_[shared, own[:56]])


def test_numbers_of_sites_and_small_samples_of_one_grid_are_no_other_digits():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 1000, 200)[:, None] * 1.0
    many = rng.integers(0, 1000, 2000)[:, None] * 1.0
    assert not differently_rounded(TwoSamples.of(few, many)).any()
    sites = np.array([3, 8, 21, 30, 47, 52, 70, 77, 91, 98])
    of_all = rng.integers(1, 101, 800)[:, None] * 1.0
    of_ten = rng.choice(sites, 500)[:, None] * 1.0
    assert not differently_rounded(TwoSamples.of(of_all, of_ten)).any()
    # On a grid, and each value but once.
    once, often = np.unique(grid(2.0))[:, None], grid(1.0, low=0.5)[:, None]
    assert not differently_rounded(TwoSamples.of(once, often)).any()


def test_no_value_repeats_nothing_is_spread_and_few_values_are_levels():
    rng = np.random.default_rng(0)
    exact = TwoSamples.of(rng.normal(size=(300, 1)), rng.normal(size=(40, 1)))
    assert not differently_rounded(exact).any()
    levels = TwoSamples.of(grid(2.0, n=16)[:, None], grid(1.0, n=16, low=0.5)[:, None])
    assert not differently_rounded(levels).any()
    more = TwoSamples.of(grid(2.0, n=16)[:, None], grid(1.0, n=20, low=0.5)[:, None])
    assert differently_rounded(more).all()


def test_a_row_of_both_samples_shares_a_fold_where_digits_are_put_apart():
    rng = np.random.default_rng(0)
    exact = np.c_[rng.normal(size=(300, 1)) * 10, rng.normal(size=(300, 1))]
    rounded = np.c_[exact[:, :1].round(), rng.normal(size=(300, 1))]
    # Forty rows are in both, of which the rounded sample has copies as well.
    rounded[20:40] = rounded[:20]
    exact[:40] = rounded[:40]
    samples = TwoSamples.of(exact, rounded).ordered()
    assert differently_rounded(samples).tolist() == [True, False]
    pool = Pool.of(samples, seed=0)
    both = np.vstack([samples.source, samples.target])
    fold, group = pool.fold[pool.place], pool.group[pool.place]
    names = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    n_both = 0
    for name in np.unique(names):
        rows = names == name
        n_both += len({*(np.flatnonzero(rows) < 300).tolist()}) == 2
        assert np.unique(fold[rows]).size == np.unique(group[rows]).size == 1
    assert n_both == 20
    # The classifier sees them put apart, and equal rows get one answer.
    assert not np.array_equal(pool.X[pool.place], both)
    odds = pool.each_row(rng.normal(size=pool.labels.size))
    assert all(np.unique(odds[names == name]).size == 1 for name in names)


def test_values_stay_nearest_to_where_they_were_and_equal_rows_stay_equal():
    X, T = drawn("target to a tenth")
    X, T = np.vstack([X, X[:50]]), np.vstack([T, T[:50]])
    samples = TwoSamples.of(X, T).ordered()
    found = spread_rounded_columns(samples)
    assert np.array_equal(found.source, samples.source)
    assert np.array_equal(found.target[:, 1:], samples.target[:, 1:])
    spread, values = found.target[:, 0], np.unique(samples.target[:, 0])
    nearest = values[np.abs(spread[:, None] - values).argmin(axis=1)]
    assert np.array_equal(nearest, samples.target[:, 0])
    assert len(np.unique(found.target, axis=0)) == len(np.unique(T, axis=0))
    # Beyond its ends a sample reaches no farther than the other.
    U, V = np.random.default_rng(1).uniform(20, 60, size=(2, 800, 2))
    V[:, 0] = 5 * (V[:, 0] / 5).round()
    ends = spread_rounded_columns(TwoSamples.of(U, V).ordered()).target[:, 0]
    assert np.unique(ends).size == 800
    U = U[:, 0]
    assert min(U.min(), 20.0) <= ends.min() < ends.max() <= max(U.max(), 60.0)
    assert spread_rounded_columns(TwoSamples.of(X, X)).target is X


def test_sparse_rows_are_left_as_they_are():
    from scipy import sparse

    rows = sparse.csr_array(np.eye(12))
    assert not differently_rounded(TwoSamples.of(rows, rows)).any()


def level_test(source, target, share=None):
    """Return the test of one column whose levels hold so many rows."""
    n, m = sum(source), sum(target)
    levels = [np.repeat(np.arange(len(one)), one) for one in (source, target)]
    values = np.arange(float(len(source)))
    block = CutColumn(np.array([0]), values, None, None, np.concatenate(levels) * 1.0)
    share = np.full(n, 1 / n) if share is None else share / share.sum()
    (found,), _ = cell_tests([block], n, share, np.full(m, 1 / m))
    return found


def test_what_is_a_little_unlike_in_many_cells_is_found():
    source, target = [60, 40] * 10, [45, 55] * 10
    found = level_test(source, target)
    # No level is striking by itself.
    assert found.p_depleted > 0.1
    pearson = chi2_contingency([source, target]).pvalue
    assert found.p_value == pytest.approx(2 * pearson)
    assert pearson < 1e-3


def test_cells_of_few_expected_rows_are_taken_together():
    # Of 3 n rows a third is the target's: five rows of it are expected in 15.
    source, target = [180, 164, 10, 6], [70, 105, 5, 0]
    found = level_test(source, target)
    pearson = chi2_contingency([[180, 164, 16], [70, 105, 5]]).pvalue
    assert found.p_value == pytest.approx(2 * pearson)
    # The one that is left has fewer, and is left out with a degree of freedom more.
    source, target = [180, 172, 10], [70, 107, 4]
    n, m = sum(source), sum(target)
    expected = np.array([250, 279]) * n / (n + m)
    summed = ((np.array([180, 172]) - expected) ** 2 / expected).sum() * (n + m) / m
    assert level_test(source, target).p_value == pytest.approx(2 * chi2.sf(summed, 2))


def test_a_cell_without_a_source_row_is_no_surprise_where_few_heavy_rows_are():
    source, target = [400, 40, 0], [400, 400, 40]
    weight = np.repeat([1.0, 10.0], [400, 40])
    worth = weight.sum() ** 2 / (weight**2).sum()
    # A row of level 1 counts so much, and may in level 2, of which nothing is known.
    mass = 10 * worth / weight.sum()
    none = (840 / (840 + worth)) ** (40 / mass)
    found = level_test(source, target, weight)
    assert found.p_depleted == pytest.approx(6 * none)
    assert found.p_value == pytest.approx(min(1.0, 4 * found.p_depleted))
    # The same by pairs: nine cells, of which the third is on the diagonal.
    levels = [np.repeat(np.arange(3), one) for one in (source, target)]
    place = np.concatenate(levels) * 1.0
    blocks = [
        CutColumn(np.array([j]), np.arange(3.0), None, None, place) for j in range(2)
    ]
    _, (pair,) = cell_tests(blocks, 440, weight / weight.sum(), np.full(840, 1 / 840))
    assert pair.p_depleted == pytest.approx(18 * none, rel=1e-4)


@pytest.mark.parametrize("spelled", [str.upper, " {} ".format, "{}.0".format])
def test_categories_that_are_spelled_otherwise_are_named(spelled):
    rng = np.random.default_rng(0)
    levels = np.array(["yes", "no"])
    source, target = (
        pd.DataFrame(
            {"answer": levels[rng.integers(0, 2, 200)], "x": rng.normal(size=200)}
        )
        for _ in range(2)
    )
    other = target.assign(answer=[spelled(one) for one in target["answer"]])
    (column,) = diagnose(source, other, random_state=0).separation.columns
    assert column.how == "spelling"
    assert str(column.difference).endswith(
        (f"{spelled('yes')!r} for 'yes'?", f"{spelled('no')!r} for 'no'?")
    )
    # Half of the rows that are new must be the source's but for spelling, and more.
    half = other.assign(answer=np.where(np.arange(200) < 100, "never", other["answer"]))
    (column,) = diagnose(source, half, random_state=0).separation.columns
    assert column.how == "new categories"


def test_a_category_spelled_otherwise_is_told_where_the_samples_overlap():
    rng = np.random.default_rng(0)
    source, target = (
        pd.DataFrame({"answer": rng.choice(["yes", "no"], 200), "x": rng.random(200)})
        for _ in range(2)
    )
    assert diagnose(source, target, random_state=0).spellings == ()
    target.loc[:9, "answer"] = "No "
    found = diagnose(source, target, random_state=0)
    assert found.separation is None
    (one,) = found.spellings
    assert (one.column, one.target, one.source) == ("answer", "No ", "no")
    assert one.share == pytest.approx(0.05)
    assert "'No ' for 'no' in 'answer' (5 % of the target rows)" in found.explanation
    assert Spelling(**found.to_dict()["spellings"][0]) == one


def test_five_rows_of_either_sample_make_another_spelling():
    def spellings(source, target):
        tables = two_tables(pd.DataFrame({"a": source}), pd.DataFrame({"a": target}))
        found = respelled_categories(*tables, np.full(len(target), 1 / len(target)))
        return [(one.target, one.source) for one in found]

    assert spellings(["yes"] * 5, ["Yes"] * 5) == [("Yes", "yes")]
    assert spellings(["yes"] * 4 + ["no"], ["Yes"] * 5) == []
    assert spellings(["yes"] * 5, ["Yes"] * 4 + ["yes"]) == []
    # Both samples have both: that is a category of its own.
    assert spellings(["yes"] * 5 + ["Yes"], ["Yes"] * 5) == []
    # Of several spellings of the source its commonest, and the target's in turn.
    many = ["YES"] * 5 + ["yes"] * 6, ["Yes"] * 5 + ["yes "] * 7
    assert spellings(*many) == [("yes ", "yes"), ("Yes", "yes")]
    assert spellings([1.0] * 5, [1.0] * 5) == []


def test_what_is_the_same_but_for_spelling():
    assert folded("New  York ") == folded("new york")
    assert folded("Cafe\u0301") == folded("CAF\u00c9")
    assert folded("10.0") == "10"
    assert folded("a b") != folded("ab")


@pytest.mark.filterwarnings("ignore::counterpoise.errors.PartialOverlapWarning")
def test_a_target_row_of_the_fit_is_not_beyond_it():
    corners = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, T = rng.normal(size=(120, 2)), rng.normal(0.8, 1.0, (80, 2))
        by_line = DiscriminatorWeights(estimator=LogisticRegression(), random_state=0)
        found = by_line.fit(X, X_target=T)
        assert not found.is_extrapolation(T).any()
        # Within the range of every column, and farther out than any row.
        corner = np.vstack([X, T]).max(axis=0, keepdims=True)
        corners.append(bool(found.is_extrapolation(corner)[0]))
    # Held out, a target row may have longer odds than by the fit.
    assert sum(corners) >= 3
