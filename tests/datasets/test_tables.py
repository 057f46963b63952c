import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import roc_auc_score

from counterpoise.datasets import load_breast_cancer_shift, load_diabetes_shift


def chance_of_screening(X):
    return 0.1 + 0.8 / (1 + np.exp((X[:, 0] - 15) / 2))


def chance_of_enrolment(X):
    return 0.1 + 0.8 / (1 + np.exp((X[:, 0] - 50) / 10 + (X[:, 2] - 27) / 4 - 0.5))


TABLES = [
    pytest.param(
        load_breast_cancer_shift, load_breast_cancer(), chance_of_screening, id="cancer"
    ),
    pytest.param(
        load_diabetes_shift,
        load_diabetes(scaled=False),
        chance_of_enrolment,
        id="diabetes",
    ),
]


def pairs(X, y):
    return sorted(map(tuple, np.column_stack([X, y])))


@pytest.mark.parametrize(("load", "pool", "chance"), TABLES)
def test_every_row_of_the_pool_goes_to_one_side_with_its_label(load, pool, chance):
    shift = load()
    X = np.vstack([shift.X, shift.X_target])
    y = np.concatenate([shift.y, shift.y_target])
    assert pairs(X, y) == pairs(pool.data, pool.target)
    assert shift.feature_names == tuple(pool.feature_names)


@pytest.mark.parametrize(("load", "pool", "chance"), TABLES)
def test_the_ratio_is_that_of_the_documented_rule(load, pool, chance):
    shift = load()
    mean = chance(pool.data).mean()
    for X, ratio in ((shift.X, shift.ratio), (shift.X_target, shift.ratio_target)):
        expected = (1 - chance(X)) / (1 - mean) / (chance(X) / mean)
        np.testing.assert_allclose(ratio, expected, rtol=1e-12)


@pytest.mark.parametrize(("load", "pool", "chance"), TABLES)
def test_the_rule_keeps_overlap_and_a_strong_shift(load, pool, chance):
    shift = load()
    domain = np.repeat([0, 1], [len(shift.X), len(shift.X_target)])
    ratio = np.concatenate([shift.ratio, shift.ratio_target])
    assert chance(pool.data).min() >= 0.1
    assert chance(pool.data).max() <= 0.9
    assert min(len(shift.X), len(shift.X_target)) > 150
    assert 0.7 < roc_auc_score(domain, ratio) < 0.85


@pytest.mark.parametrize(("load", "pool", "chance"), TABLES)
def test_the_ratio_moves_all_source_means_to_those_of_the_target(load, pool, chance):
    center, spread = pool.data.mean(axis=0), pool.data.std(axis=0)
    weighted, plain = [], []
    for seed in range(40):
        shift = load(random_state=seed)
        X, X_target = (shift.X - center) / spread, (shift.X_target - center) / spread
        X = np.column_stack([X, np.ones(len(X))])
        X_target = np.column_stack([X_target, np.ones(len(X_target))])
        target = X_target.mean(axis=0)
        weighted.append((shift.ratio[:, None] * X).mean(axis=0) - target)
        plain.append(X.mean(axis=0) - target)
    error = np.std(weighted, axis=0) / np.sqrt(len(weighted))
    assert np.all(np.abs(np.mean(weighted, axis=0)) < 4.5 * error)
    assert np.abs(np.mean(plain, axis=0)).max() > 0.5


@pytest.mark.parametrize(("load", "pool", "chance"), TABLES)
def test_rows_go_to_the_source_as_often_as_the_rule_says(load, pool, chance):
    sizes = [len(load(random_state=seed).X) for seed in range(40)]
    s = chance(pool.data)
    error = np.sqrt((s * (1 - s)).sum() / len(sizes))
    assert abs(np.mean(sizes) - s.sum()) < 4.5 * error


@pytest.mark.parametrize(("load", "pool", "chance"), TABLES)
def test_a_seed_gives_the_same_bytes_and_another_seed_others(load, pool, chance):
    assert load(1).X.tobytes() == load(1).X.tobytes()
    assert load().X.tobytes() == load(0).X.tobytes()
    assert load(1).X.tobytes() != load(2).X.tobytes()
