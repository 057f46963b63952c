"""The discrepancy and its spectrum."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import special_ortho_group
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import counterpoise
from counterpoise.shift import discrepancy_distance as moment_pair
from counterpoise.shift.discrepancy_distance import discrepancy, discrepancy_spectrum
from counterpoise.shift.two_sample_tests import mmd


@pytest.fixture
def two():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), 1.3 * rng.normal(size=(25, 3)) + 0.5


def gram(kernel, X, X_target):
    K = kernel(np.vstack([X, X_target]))
    return K[: len(X)], K[len(X) :]


def norm_of_moments(X, X_target, p=None, q=None):
    p = np.full(len(X), 1 / len(X)) if p is None else p
    q = np.full(len(X_target), 1 / len(X_target)) if q is None else q
    return np.linalg.norm((X_target.T * q) @ X_target - (X.T * p) @ X, 2)


def norm_by_kernel(K, n, p=None, q=None):
    """An independent way: eigenvalues of the product of K and a diagonal matrix."""
    m = len(K) - n
    p = np.full(n, 1 / n) if p is None else p
    q = np.full(m, 1 / m) if q is None else q
    return np.abs(np.linalg.eigvals(np.concatenate([-p, q])[:, None] * K)).max()


def test_it_is_the_norm_of_the_difference_of_moments(two):
    p, q = np.random.default_rng(1).uniform(0.1, 2, size=(2, 40))
    q = q[:25]
    found = discrepancy(*two, sample_weight=p, target_weight=q)
    expected = norm_of_moments(*two, p / p.sum(), q / q.sum())
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_sample_and_itself_have_none(two):
    for kernel in ("linear", "rbf", "poly"):
        assert discrepancy(two[0], two[0], kernel=kernel) < 1e-9
    found = discrepancy_spectrum(np.ones((4, 2)), np.ones((3, 2)), n_permutations=5)
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.p_value == 1.0


def test_of_one_column_it_is_the_difference_of_mean_squares(two):
    x, t = two[0][:, :1], two[1][:, :1]
    expected = abs((t**2).mean() - (x**2).mean())
    assert discrepancy(x, t) == pytest.approx(expected, rel=1e-12)


def test_four_times_it_is_the_largest_difference_of_losses_in_the_unit_ball(two):
    """The factor 4 Lambda^2, found by search over pairs of hypotheses."""
    X, T = two[0][:, :2], two[1][:, :2]
    radius = 1.7

    def difference(angles):
        a, b = radius * np.cos(angles[::2]), radius * np.sin(angles[::2])
        h, other = np.array([[a[0], b[0]], [a[1], b[1]]]) * np.clip(angles[1::2], -1, 1)
        apart = h - other
        return -abs(np.mean((T @ apart) ** 2) - np.mean((X @ apart) ** 2))

    starts = np.random.default_rng(0).uniform(-3, 3, size=(30, 4))
    best = max(-minimize(difference, s, method="Nelder-Mead").fun for s in starts)
    assert 4 * radius**2 * discrepancy(X, T) == pytest.approx(best, rel=1e-4)


def test_the_linear_kernel_given_as_a_matrix_is_the_same(two):
    given = gram(lambda Z: Z @ Z.T, *two)
    expected = discrepancy(*two)
    assert discrepancy(*given, kernel="precomputed") == pytest.approx(
        expected, rel=1e-10
    )


def test_more_columns_than_rows_are_seen_through_the_gram_matrix():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(6, 40)), rng.normal(size=(5, 40)) + 0.3
    found = discrepancy_spectrum(X, T)
    M = T.T @ T / 5 - X.T @ X / 6
    values, vectors = np.linalg.eigh(M)
    assert found.value == pytest.approx(np.abs(values).max(), rel=1e-12)
    worst = vectors[:, np.argmax(np.abs(values))]
    assert abs(found.direction @ worst) == pytest.approx(1.0, abs=1e-9)
    assert found.eigenvalues.size == 11


def test_the_polynomial_kernel_is_its_explicit_features(two):
    X, T = two[0][:, :2], two[1][:, :2]

    def features(Z):
        a, b = Z.T
        r = np.sqrt(2.0)
        return np.column_stack([a * a, b * b, r * a * b, r * a, r * b, np.ones(len(Z))])

    found = discrepancy(X, T, kernel="poly", gamma=1.0, degree=2, coef0=1.0)
    assert found == pytest.approx(norm_of_moments(features(X), features(T)), rel=1e-10)
    cubic = discrepancy(X, T, kernel="poly", gamma=0.4, degree=3, coef0=0.5)
    K = polynomial_kernel(np.vstack([X, T]), degree=3, gamma=0.4, coef0=0.5)
    assert cubic == pytest.approx(norm_by_kernel(K, len(X)), rel=1e-9)


def test_the_gaussian_kernel_agrees_with_an_unsymmetric_eigenvalue_problem(two):
    p, q = np.random.default_rng(1).uniform(0.1, 2, size=(2, 40))
    p, q = p / p.sum(), q[:25] / q[:25].sum()
    found = discrepancy(*two, kernel="rbf", gamma=0.3, sample_weight=p, target_weight=q)
    K = rbf_kernel(np.vstack(two), gamma=0.3)
    assert found == pytest.approx(norm_by_kernel(K, 40, p, q), rel=1e-9)


def test_a_constant_is_a_column_of_ones_or_one_more_in_the_kernel(two):
    ones = [np.column_stack([rows, np.ones(len(rows))]) for rows in two]
    found = discrepancy(*two, add_constant=True)
    assert found == pytest.approx(discrepancy(*ones), rel=1e-12)
    K = rbf_kernel(np.vstack(two), gamma=0.3) + 1.0
    found = discrepancy(*two, kernel="rbf", gamma=0.3, add_constant=True)
    assert found == pytest.approx(norm_by_kernel(K, 40), rel=1e-9)
    given = gram(lambda Z: rbf_kernel(Z, gamma=0.3), *two)
    found = discrepancy(*given, kernel="precomputed", add_constant=True)
    assert found == pytest.approx(norm_by_kernel(K, 40), rel=1e-9)


def test_a_shift_of_the_mean_alone_is_invisible_without_a_constant():
    X, T = np.array([[-1.0], [1.0]]), np.array([[1.0], [1.0]])
    assert discrepancy(X, T) == pytest.approx(0.0, abs=1e-15)
    # M has zeros on its diagonal and the difference of the means beside it.
    assert discrepancy(X, T, add_constant=True) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_laws_of_invariance(two, kernel):
    X, T = two
    rng = np.random.default_rng(2)
    numbers = {} if kernel == "linear" else {"gamma": 0.2}
    expected = discrepancy(X, T, kernel=kernel, **numbers)

    def same(*samples, **more):
        found = discrepancy(*samples, kernel=kernel, **{**numbers, **more})
        assert found == pytest.approx(expected, rel=1e-9)

    same(X[rng.permutation(40)], T[rng.permutation(25)])
    turn = special_ortho_group.rvs(3, random_state=0)
    same(X @ turn, T @ turn)
    same(np.vstack([X, X]), T)
    weight = np.ones(40)
    weight[3] = 2.0
    same(
        np.vstack([X, X[3]]),
        T,
        sample_weight=np.append(
            np.append(weight[:3], [0.5]), np.append(weight[4:], 0.5)
        ),
    )
    same(np.vstack([X, 9 + X[:2]]), T, sample_weight=np.append(np.ones(40), [0, 0]))
    if kernel == "rbf":
        same(X + 7.0, T + 7.0)
    if kernel == "linear":
        scaled = discrepancy(3 * X, 3 * T)
        assert scaled == pytest.approx(9 * expected, rel=1e-12)


def test_a_multiple_of_the_kernel_has_the_multiple_of_the_discrepancy(two):
    given = gram(lambda Z: rbf_kernel(Z, gamma=0.3), *two)
    found = discrepancy(*(5.0 * part for part in given), kernel="precomputed")
    assert found == pytest.approx(5 * discrepancy(*given, kernel="precomputed"))


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_standardized_columns_have_no_units(two, factor):
    scaled = [rows * [factor, 1.0, 1.0] for rows in two]
    for kernel in ("linear", "rbf"):
        plain = discrepancy(*two, standardize=True, kernel=kernel)
        found = discrepancy(*scaled, standardize=True, kernel=kernel)
        assert found == pytest.approx(plain, rel=1e-9)
    assert discrepancy(*scaled) != pytest.approx(discrepancy(*two), rel=1e-3)


def test_the_median_rule_is_that_of_the_mean_discrepancy(two):
    assert discrepancy_spectrum(*two, kernel="rbf").gamma == mmd(*two).gamma


def test_the_spectrum_has_both_ends_and_the_worst_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) * [1.0, 1.0, 2.0]
    T = rng.normal(size=(4000, 3)) * [1.0, 3.0, 1.0]
    found = discrepancy_spectrum(X, pd.DataFrame(T).to_numpy())
    assert found.signed == pytest.approx((8.0, -3.0), rel=0.1)
    assert found.ranking[0][0] == "x1"
    assert found.ranking[0][1] > 0.99
    assert sum(share for _, share in found.ranking) == pytest.approx(1.0)
    np.testing.assert_array_less(np.diff(found.eigenvalues), 1e-12)
    assert float(found) == found.value == found.signed[0]
    assert str(found).startswith("discrepancy ")
    M = T.T @ T / 4000 - X.T @ X / 4000
    u = found.direction
    assert u @ M @ u == pytest.approx(found.value, rel=1e-9)
    back = discrepancy_spectrum(T, X)
    assert back.signed == pytest.approx((-found.signed[1], -found.signed[0]))


def test_of_a_kernel_rows_are_ranked_by_the_worst_function():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    T = np.vstack([rng.normal(size=(40, 2)), 5 + 0.1 * rng.normal(size=(20, 2))])
    found = discrepancy_spectrum(X, T, kernel="rbf", gamma=0.5)
    assert found.direction.shape == (120,)
    # The cluster that the source has not is the worst: rows 100 to 119.
    assert {place for place, _ in found.ranking[:20]} == set(range(100, 120))
    d = np.repeat([-1 / 60, 1 / 60], 60)
    K = rbf_kernel(np.vstack([X, T]), gamma=0.5)
    # u is an eigenfunction: K D u = lambda u on the rows, of norm one in the kernel.
    np.testing.assert_allclose(
        K @ (d * found.direction), found.value * found.direction, atol=1e-9
    )
    absent = discrepancy_spectrum(
        np.vstack([X, T[-1:]]),
        T,
        kernel="rbf",
        gamma=0.5,
        sample_weight=np.append(np.ones(60), 0.0),
    )
    # A row that does not count is seen all the same.
    assert absent.direction[60] == pytest.approx(absent.direction[-1], rel=1e-9)
    np.testing.assert_allclose(absent.eigenvalues, found.eigenvalues, atol=1e-9)


def test_columns_of_a_mixed_table_are_ranked_by_their_names():
    rng = np.random.default_rng(0)
    source = pd.DataFrame(
        {"age": rng.normal(40, 5, 200), "color": rng.choice(["red", "blue"], 200)}
    )
    target = pd.DataFrame(
        {"age": rng.normal(40, 5, 200), "color": rng.choice(["red", "green"], 200)}
    )
    found = discrepancy_spectrum(source, target, add_constant=True)
    assert found.ranking[0][0] == "color"
    assert {name for name, _ in found.ranking} == {"age", "color", "(constant)"}
    assert sum(share for _, share in found.ranking) == pytest.approx(1.0)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_rows_give_what_dense_rows_give(kernel):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 90), density=0.1, rng=rng).tocsr()
    T = sparse.random_array((20, 90), density=0.2, rng=rng).tocsr()
    options = {"kernel": kernel, "add_constant": True}
    found = discrepancy_spectrum(X, T, **options)
    expected = discrepancy_spectrum(X.toarray(), T.toarray(), **options)
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    np.testing.assert_allclose(
        np.abs(found.direction), np.abs(expected.direction), atol=1e-7
    )


def test_text_is_never_made_dense(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 5000), density=0.01, rng=rng).tocsr()
    T = sparse.random_array((20, 5000), density=0.01, rng=rng).tocsr()
    expected = discrepancy(X.toarray(), T.toarray())
    real = sparse.csr_array.toarray

    def toarray(self, *args, **kwargs):
        assert self.shape[1] < 5000, "rows were made dense"
        return real(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    assert discrepancy(X, T) == pytest.approx(expected, rel=1e-9)
    assert discrepancy(X, T, kernel="rbf", add_constant=True) > 0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_many_rows_are_measured_by_products_with_the_kernel(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(150, 60)), 1.1 * rng.normal(size=(130, 60)) + 0.1
    T[:, 3] *= 3
    options = {"kernel": kernel, "gamma": 0.02, "degree": 2}
    exact = discrepancy_spectrum(X, T, **options)
    monkeypatch.setattr(moment_pair, "EIGEN_COLUMNS", 50)
    monkeypatch.setattr(moment_pair, "EIGEN_ROWS", 50)
    found = discrepancy_spectrum(X, T, **options)
    assert found.value == pytest.approx(exact.value, rel=1e-6)
    assert found.signed == pytest.approx(exact.signed, rel=1e-3)
    assert found.eigenvalues.size == 16
    assert discrepancy(X, T, **options) == pytest.approx(exact.value, rel=1e-6)
    np.testing.assert_allclose(found.direction, exact.direction, atol=1e-3)
    assert found.ranking[0][0] == exact.ranking[0][0]
    tested = discrepancy_spectrum(X, T, n_permutations=9, random_state=0, **options)
    assert tested.p_value == 0.1


@pytest.mark.parametrize("gamma", [1e-3, 0.03, 0.15, 0.3, 1.0])
def test_products_find_the_norm_whether_the_kernel_is_flat_or_the_identity(
    gamma, monkeypatch
):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(200, 50)), 1.1 * rng.normal(size=(180, 50))
    exact = discrepancy(X, T, kernel="rbf", gamma=gamma)
    monkeypatch.setattr(moment_pair, "EIGEN_ROWS", 50)
    found = discrepancy(X, T, kernel="rbf", gamma=gamma)
    assert found == pytest.approx(exact, rel=1e-5)


def test_the_p_value_is_the_share_of_all_divisions_as_large():
    rng = np.random.default_rng(6)
    X, T = rng.normal(size=(4, 2)), rng.normal(size=(5, 2)) + 1.5
    pooled = np.vstack([X, T])
    norms = []
    for chosen in combinations(range(9), 4):
        inside = np.isin(np.arange(9), chosen)
        norms.append(norm_of_moments(pooled[inside], pooled[~inside]))
    expected = np.mean(np.array(norms) >= norms[0] * (1 - 1e-12))
    assert 0.02 < expected < 0.5
    for options in ({}, {"kernel": "precomputed"}):
        samples = gram(lambda Z: Z @ Z.T, X, T) if options else (X, T)
        found = discrepancy_spectrum(
            *samples, n_permutations=3000, random_state=0, **options
        ).p_value
        assert found == pytest.approx(expected, abs=4 * np.sqrt(expected / 3000))


def test_p_values_are_small_with_a_shift_and_level_without():
    rng = np.random.default_rng(0)

    def p_value(X, T, seed):
        return discrepancy_spectrum(
            X, T, add_constant=True, n_permutations=99, random_state=seed
        ).p_value

    null = [p_value(*rng.normal(size=(2, 40, 2)), s) for s in range(100)]
    assert 1 <= np.sum(np.array(null) <= 0.1) <= 20
    assert p_value(rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1, 0) == 0.01


def test_the_order_of_the_rows_does_not_change_the_p_value(two):
    X, T = two
    options = {"n_permutations": 50, "random_state": 0, "kernel": "rbf"}
    first = discrepancy_spectrum(X, T, **options)
    assert discrepancy_spectrum(X[::-1], T[::-1], **options).p_value == first.p_value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "gauss"}, "kernel must be one of 'linear', 'rbf'"),
        ({"gamma": 0.0}, "gamma must be positive or 'median', got 0.0"),
        ({"degree": 0}, "degree must be at least 1, got 0"),
        ({"kernel": "poly", "coef0": -1.0}, "negative coef0 is not positive"),
        ({"n_permutations": -1}, "n_permutations must be at least 0, got -1"),
        ({"kernel": "precomputed"}, "must be dense and have 65 columns, got 3"),
    ],
)
def test_wrong_parameters_are_refused(two, options, message):
    with pytest.raises(ValueError, match=message):
        discrepancy_spectrum(*two, **options)


def test_a_kernel_that_is_none_is_refused_with_its_smallest_eigenvalue(two):
    K = rbf_kernel(np.vstack(two), gamma=0.3)
    K[0, 0] -= 0.9
    least = np.linalg.eigvalsh(K)[0]
    with pytest.raises(ValueError, match=f"smallest eigenvalue is {least:g}"):
        discrepancy(K[:40], K[40:], kernel="precomputed")
    K = rbf_kernel(np.vstack(two), gamma=0.3)
    K[1, 50] += 1.0
    with pytest.raises(ValueError, match=r"symmetric, got .* in row 1, column 50"):
        discrepancy(K[:40], K[40:], kernel="precomputed")


def test_bad_tables_are_refused_at_the_door(two):
    X, T = two
    with pytest.raises(ValueError, match="X_target is None"):
        discrepancy(X, None)
    with pytest.raises(ValueError, match="columns"):
        discrepancy(X, T[:, :2])
    with pytest.raises(ValueError, match="row"):
        discrepancy(X, T[:0])
    with pytest.raises(ValueError, match="two dimensions"):
        discrepancy(X[:, 0], T)
    with pytest.raises(ValueError, match="inf"):
        discrepancy(np.where(X > 2, np.inf, X), T)
    with pytest.raises(ValueError, match="X_target contains numbers beyond"):
        discrepancy(X, 1e200 * T)


def test_the_measures_are_public():
    assert counterpoise.discrepancy is discrepancy
    assert counterpoise.shift.discrepancy_spectrum is discrepancy_spectrum
