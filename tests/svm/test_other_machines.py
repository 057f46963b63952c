import numpy as np
import pytest
from sklearn.metrics import ndcg_score
from sklearn.svm import OneClassSVM

from counterpoise.svm import KernelQuantileRegressor, OneClassSVMPath, RankingSVM
from counterpoise.svm.path import ndcg as worth_of


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, X[:, 0] + rng.standard_normal(n), rng.random(n) + 0.1, rng


def test_one_class_machines_on_the_path_equal_those_of_scikit_learn():
    X, _, w, _ = data()
    machine = OneClassSVMPath(gamma=0.7).fit(X, sample_weight=w, nu=(0.03, 0.7))
    assert machine.path_.certify().residual <= 1e-9
    for nu in (0.03, 0.11, 0.42, 0.7):
        theirs = OneClassSVM(gamma=0.7, nu=nu, tol=1e-10).fit(X, sample_weight=w)
        ours = machine.path_.at(nu)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=1e-6
        )
        assert ours.dual_coef_.sum() == pytest.approx(nu * w.sum())
        assert w[ours.decision_function(X) < -1e-9].sum() <= nu * w.sum() + 1e-9


def test_the_share_below_a_quantile_is_its_tau():
    X, y, w, _ = data()
    path = (
        KernelQuantileRegressor(C=3.0, gamma=0.7)
        .fit(X, y, w)
        .path(quantiles=(0.05, 0.95))
    )
    assert path.certify().residual <= 1e-9
    for tau in (0.05, 0.3, 0.61, 0.95):
        f = path.at(tau).predict(X)
        assert w[y < f - 1e-9].sum() <= tau * w.sum() + 1e-9
        assert w[y <= f + 1e-9].sum() >= tau * w.sum() - 1e-9
        refit = KernelQuantileRegressor(quantile=tau, C=3.0, gamma=0.7).fit(X, y, w)
        np.testing.assert_allclose(f, refit.predict(X), atol=1e-9)


def test_crossing_quantiles_are_told_as_the_models_show_them():
    X, y, w, rng = data()
    model = KernelQuantileRegressor(C=3.0, gamma=0.7).fit(X, y, w)
    path = model.path(quantiles=(0.1, 0.9))
    new = 2.0 * rng.standard_normal((30, 2))
    told = model.crossing(path, new)
    bands = np.array([path.at(t).predict(new) for t in path.thetas])
    drops = (np.maximum.accumulate(bands) - bands).max(axis=0)
    assert told.largest_drop == pytest.approx(drops.max(), abs=1e-9)
    assert told.share == pytest.approx(np.mean(drops > 1e-9))
    constant = KernelQuantileRegressor(kernel="linear").fit(0 * X, y, w)
    flat = constant.crossing(constant.path(quantiles=(0.1, 0.9)), 0 * X)
    assert flat.share == 0.0


def ndcg(grades, scores):
    order = np.argsort(-scores, kind="stable")
    discount = 1.0 / np.log2(2.0 + np.arange(len(grades)))
    best = (np.sort(2.0**grades - 1.0)[::-1] * discount).sum()
    return ((2.0 ** grades[order] - 1.0) * discount).sum() / best


@pytest.mark.parametrize("cache_size", [200.0, 0.02])
def test_rankings_recover_the_order_of_a_linear_score(cache_size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    truth = X @ np.array([1.0, 2.0, -1.0])
    grades = np.digitize(truth, [-1.0, 1.0, 2.0]).astype(float)
    query = np.arange(60) % 3
    model = RankingSVM(kernel="linear", C=10.0, cache_size=cache_size)
    model.fit(X, grades, query=query)
    scores = model.predict(X)
    assert np.corrcoef(scores, truth)[0, 1] > 0.95
    assert min(ndcg(grades[query == q], scores[query == q]) for q in range(3)) > 0.98
    path = model.path()
    assert max(path.certify(t).residual for t in path.thetas) <= 1e-9
    np.testing.assert_allclose(model.scores(path, 1.0, X), scores, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_curve_of_a_ranking_is_that_of_its_models(kernel):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 3))
    noise = rng.standard_normal(90)
    grades = np.digitize(X @ np.array([1.0, 2.0, -1.0]) + 2 * noise, [-1.0, 1.0, 2.5])
    query = np.arange(90) // 15
    model = RankingSVM(kernel=kernel, C=3.0)
    model.fit(X[:45], grades[:45], query=query[:45])
    path = model.path()
    curve = model.validation_curve(path, X[45:], grades[45:], query=query[45:])
    assert curve.thetas.size > 3
    for theta in rng.random(200):
        scores = model.scores(path, float(theta), X[45:])
        worth = np.mean(
            [
                ndcg(grades[45:][query[45:] == q], scores[query[45:] == q])
                for q in np.unique(query[45:])
            ]
        )
        assert curve.at(theta) == pytest.approx(1.0 - worth, abs=1e-12)
    low, high = curve.best_interval
    assert curve.at(0.5 * (low + high)) == curve.minimum
    with pytest.raises(ValueError, match="no NDCG"):
        model.validation_curve(path, X[45:], 0 * grades[45:])


def test_the_worth_of_a_ranking_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    grades, scores = rng.integers(0, 4, 30), rng.random(30)
    theirs = ndcg_score([2.0**grades - 1.0], [scores])
    assert worth_of(grades.astype(float), scores) == pytest.approx(theirs)


def test_pairs_are_of_one_query_and_ordered_by_grade():
    rng = np.random.default_rng(1)
    X, grades, query = rng.random((20, 2)), rng.integers(0, 3, 20), np.arange(20) // 5
    model = RankingSVM().fit(X, grades, query=query)
    above, below = model.pairs_.T
    assert (query[above] == query[below]).all()
    assert (grades[above] > grades[below]).all()
    expected = sum(
        int((grades[query == q][:, None] > grades[query == q][None]).sum())
        for q in range(4)
    )
    assert len(model.pairs_) == expected
    with pytest.raises(ValueError, match="nothing to rank"):
        RankingSVM().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="query is NaN in row 2"):
        RankingSVM().fit(X, grades, query=np.where(np.arange(20) == 2, np.nan, query))


def test_a_path_in_nu_outlives_another_fit():
    X, _, _, _ = data()
    machine = OneClassSVMPath(gamma=0.7).fit(X, nu=(0.1, 0.5))
    path = machine.path_
    before = path.at(0.3).decision_function(X)
    machine.fit(X + 1.0, nu=(0.2, 0.4))
    np.testing.assert_array_equal(path.at(0.3).decision_function(X), before)


@pytest.mark.parametrize("seed", range(10))
def test_few_distinct_rows_keep_their_offset(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (int(rng.integers(50, 400)), 1)).astype(float)
    path = OneClassSVMPath(gamma=1.0).fit(X, nu=(0.3, 0.9))
    assert path.certify().holds(1e-7)
