"""The kernel form equals the feature form; its proofs hold and refuse."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from counterpoise.linalg.kernels import (
    ComputedMatrix,
    Kernel,
    StoredMatrix,
    TriangleMatrix,
    store_kernel_matrix,
)
from counterpoise.optim import Discrepancy, DualMatrix, KernelDiscrepancy
from counterpoise.optim.spectral.problem import norm_is_below

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(60, 4)) + 0.3, RNG.normal(size=(40, 4))
BOTH = np.vstack([X, T])
SHARE = RNG.random(40) / 20.0


def weights(seed):
    rng = np.random.default_rng(seed)
    z = rng.exponential(size=60) ** 3
    z[rng.random(60) < 0.3] = 0.0
    return z / z.sum()


def exact(K, z):
    """The norm by the eigenvalues of K^(1/2) D K^(1/2)."""
    values, vectors = np.linalg.eigh(K)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    d = np.concatenate([-z, SHARE])
    return np.abs(np.linalg.eigvalsh(root @ (d[:, None] * root))).max()


@pytest.mark.parametrize("seed", range(5))
def test_a_linear_kernel_is_the_feature_form(seed):
    z = weights(seed)
    kernel = KernelDiscrepancy(BOTH @ BOTH.T, SHARE)
    feature = Discrepancy.of(X, T, SHARE)
    assert kernel.exact_norm(z) == pytest.approx(feature.norm(z), rel=1e-10)
    assert kernel.ritz(z).norm == pytest.approx(feature.norm(z), rel=1e-8)
    assert kernel.features().norm(z) == pytest.approx(feature.norm(z), rel=1e-10)
    assert kernel.features().rows.shape[1] == 4


def test_a_polynomial_kernel_is_its_explicit_features():
    entries = Kernel("poly", 0.5, 2, 1.0).entries(BOTH)
    K = entries.block(slice(None), slice(None))
    assert polynomial_kernel(BOTH, gamma=0.5, coef0=1.0, degree=2) == pytest.approx(K)
    pairs = [(i, j) for i in range(4) for j in range(i, 4)]
    columns = [np.ones(100)]
    columns += [BOTH[:, i] for i in range(4)]
    columns += [
        0.5 * BOTH[:, i] * BOTH[:, j] * (1.0 if i == j else np.sqrt(2.0))
        for i, j in pairs
    ]
    F = np.stack(columns, axis=1)
    feature = Discrepancy.of(F[:60], F[60:], SHARE)
    z = weights(1)
    assert KernelDiscrepancy(K, SHARE).norm(z) == pytest.approx(
        feature.norm(z), rel=1e-9
    )


def test_the_gaussian_norm_is_that_of_the_roots():
    K = rbf_kernel(BOTH, gamma=0.2)
    z = weights(2)
    assert KernelDiscrepancy(K, SHARE).norm(z) == pytest.approx(exact(K, z), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_proof_accepts_what_is_true_and_refuses_what_is_not(seed):
    K, z = rbf_kernel(BOTH, gamma=0.2), weights(seed)
    norm = exact(K, z)
    assert norm_is_below(StoredMatrix(K), z, SHARE, norm * (1.0 + 1e-7))
    assert not norm_is_below(StoredMatrix(K), z, SHARE, norm * (1.0 - 1e-6))
    assert not norm_is_below(StoredMatrix(K), z, SHARE, 0.0)


def test_a_proof_of_many_panels_is_the_proof_of_one(monkeypatch):
    from counterpoise.optim.spectral import interior_point as panel_cholesky
    from counterpoise.optim.spectral import problem as kernel_proofs

    monkeypatch.setattr(panel_cholesky, "PANEL", 7)
    monkeypatch.setattr(kernel_proofs, "PROVED_ROWS", 11)
    K, z = rbf_kernel(BOTH, gamma=0.2), weights(3)
    norm = exact(K, z)
    assert norm_is_below(StoredMatrix(K), z, SHARE, norm * (1.0 + 1e-7))
    assert not norm_is_below(StoredMatrix(K), z, SHARE, norm * (1.0 - 1e-6))


def test_a_dual_matrix_on_any_basis_has_the_value_of_the_feature_form():
    kernel = KernelDiscrepancy(BOTH @ BOTH.T, SHARE)
    rng = np.random.default_rng(3)
    C = rng.normal(size=(100, 1))
    direction = BOTH.T @ C[:, 0]
    Y = np.outer(direction, direction) / (direction @ direction)
    feature = Discrepancy.of(X, T, SHARE)
    for sign in (1.0, -1.0):
        value = kernel.dual_value(DualMatrix(C, np.array([sign])))
        assert value == pytest.approx(max(feature.dual_value(sign * Y), 0.0), abs=1e-12)


@pytest.mark.parametrize(
    "storage", [store_kernel_matrix, TriangleMatrix, ComputedMatrix]
)
def test_certificates_are_in_double_precision_whatever_is_stored(storage, monkeypatch):
    from counterpoise.linalg import kernels as kernel_matrices
    from counterpoise.optim.spectral import problem as kernel_discrepancy

    monkeypatch.setattr(kernel_matrices, "BUILT_ROWS", 17)
    monkeypatch.setattr(kernel_discrepancy, "EXACT_NORM_ROWS", 1)
    entries = Kernel("rbf", 0.2, constant=0.5).entries(BOTH)
    K = rbf_kernel(BOTH, gamma=0.2) + 0.5
    kernel = storage(entries)
    B = np.random.default_rng(1).normal(size=(100, 3))
    assert kernel.product(B) == pytest.approx(K @ B, abs=1e-4)
    assert kernel.block(slice(3, 9), [1, 2]) == pytest.approx(K[3:9, [1, 2]], abs=1e-14)
    z = weights(4)
    proof = KernelDiscrepancy(kernel, SHARE).certify(z)
    norm = exact(K, z)
    assert norm <= proof.objective <= norm * (1.0 + 5e-3)
    assert proof.bound <= KernelDiscrepancy(K, SHARE).features().norm(z)


def test_a_norm_that_is_not_proved_says_so(monkeypatch):
    from counterpoise.optim.spectral import problem as kernel_discrepancy

    monkeypatch.setattr(kernel_discrepancy, "MOST_PROVED", 30)
    K, z = rbf_kernel(BOTH, gamma=0.2), weights(6)
    proof = KernelDiscrepancy(K, SHARE).certify(z)
    assert proof.kind == "dual bound, norm with high probability"
    assert exact(K, z) <= proof.objective <= 1.01 * exact(K, z)


def test_a_subspace_bounds_the_whole_from_below():
    problem = KernelDiscrepancy(rbf_kernel(BOTH, gamma=0.2), SHARE)
    z = weights(5)
    pairs = problem.ritz(z)
    part = problem.reduced(pairs.images)
    assert part.norm(z) <= problem.norm(z) * (1.0 + 1e-9)
    assert part.norm(z) == pytest.approx(problem.norm(z), rel=1e-4)
    assert part.uniform_value == problem.uniform_value


def test_kernels_are_kept_as_exactly_as_the_budget_allows():
    entries = Kernel("rbf", 0.2).entries(BOTH)
    assert isinstance(store_kernel_matrix(entries), StoredMatrix)
    assert isinstance(store_kernel_matrix(entries, 8 * 100**2), TriangleMatrix)
    assert isinstance(store_kernel_matrix(entries, 100**2), ComputedMatrix)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(3), np.ones(3)), "no source row is left"),
        ((np.ones((3, 2)), np.ones(1)), "K must be square"),
        ((np.eye(3), -np.ones(1)), "target_share must be non-negative"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        KernelDiscrepancy(*arguments)
