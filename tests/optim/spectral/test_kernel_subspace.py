"""The kernel's subspace method against the feature form and a full spectrum."""

import time

import numpy as np
import pytest
from optim.spectral.random_moments import thesis_samples
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from counterpoise.linalg.kernels import (
    ComputedMatrix,
    Kernel,
    TriangleMatrix,
    store_kernel_matrix,
)
from counterpoise.optim import FeatureSubspace, KernelDiscrepancy, KernelSubspace, solve


def gaussian(m, n, N, seed=0):
    X, T = thesis_samples(m, n, N, seed)
    both = np.vstack([X, T])
    distances = euclidean_distances(both)[np.triu_indices(m + n, 1)]
    kernel = Kernel("rbf", 1.0 / np.median(distances**2))
    return kernel.entries(both), np.full(n, 1.0 / n)


@pytest.mark.parametrize(("q", "N"), [(60, 5), (240, 10), (640, 40)])
def test_the_optimum_is_that_of_the_feature_form(q, N):
    entries, share = gaussian(q // 2, q - q // 2, N)
    problem = KernelDiscrepancy(store_kernel_matrix(entries), share)
    found = solve(problem, KernelSubspace(), tol=1e-2)
    assert found.converged
    if q <= 240:
        whole = solve(problem.features(), FeatureSubspace(), tol=1e-3).certificate
        assert found.certificate.bound <= whole.objective * (1 + 1e-9)
        assert found.certificate.objective >= whole.bound * (1 - 1e-9)
        assert found.certificate.objective <= whole.objective * 1.02
    K = rbf_kernel(entries.points, gamma=entries.kernel.gamma)
    values, vectors = np.linalg.eigh(K)
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    d = np.concatenate([-found.x, share])
    norm = np.abs(np.linalg.eigvalsh(F.T @ (d[:, None] * F))).max()
    assert found.certificate.objective == pytest.approx(norm, rel=1e-5)
    assert found.certificate.objective >= norm * (1 - 1e-9)


@pytest.mark.parametrize("storage", [TriangleMatrix, ComputedMatrix])
def test_single_precision_is_proved_in_double(storage):
    entries, share = gaussian(350, 280, 30)
    exact = KernelDiscrepancy(store_kernel_matrix(entries), share)
    problem = KernelDiscrepancy(storage(entries), share)
    found = solve(problem, KernelSubspace(), tol=0.1)
    assert found.converged
    again = exact.certify(found.x)
    assert again.objective <= found.certificate.objective
    assert found.certificate.objective <= 1.01 * again.objective
    best = solve(exact, KernelSubspace(), tol=1e-2).certificate
    assert found.certificate.bound <= best.objective


@pytest.mark.parametrize("options", [{"cap": 4 / 120}, {"spread": 0.1}])
def test_cap_and_spread_are_those_of_the_feature_form(options):
    entries, share = gaussian(120, 100, 8)
    problem = KernelDiscrepancy(store_kernel_matrix(entries), share, **options)
    found = solve(problem, KernelSubspace(), tol=1e-2)
    whole = solve(problem.features(), FeatureSubspace(), tol=1e-3).certificate
    assert found.converged
    assert found.certificate.bound <= whole.objective * (1 + 1e-9)
    assert whole.bound * (1 - 1e-9) <= found.certificate.objective
    assert found.certificate.objective <= 1.02 * whole.objective
    if "cap" in options:
        assert found.x.max() <= options["cap"] * (1 + 1e-9)


def test_more_directions_than_allowed_make_room():
    entries, share = gaussian(200, 200, 10)
    problem = KernelDiscrepancy(store_kernel_matrix(entries), share)
    narrow = KernelSubspace(first=40, largest=80)
    found = solve(problem, narrow, tol=0.2, max_iter=40)
    assert max(line.counts["directions"] for line in found.history) <= 80
    best = solve(problem, KernelSubspace(), tol=1e-2).certificate
    assert found.certificate.bound <= best.objective
    assert found.certificate.objective >= best.bound


def test_one_row_and_equal_samples_need_no_search():
    one = KernelDiscrepancy(np.array([[1.0, 0.5], [0.5, 1.0]]), np.ones(1))
    found = solve(one, KernelSubspace())
    assert found.converged
    assert found.certificate.objective == pytest.approx(np.sqrt(0.75))
    X = np.random.default_rng(0).normal(size=(20, 3))
    K = rbf_kernel(np.vstack([X, X]))
    same = solve(KernelDiscrepancy(K, np.full(20, 0.05)), KernelSubspace())
    assert same.converged
    assert same.certificate.objective <= 1e-10


def test_a_time_limit_holds_and_leaves_a_proof():
    entries, share = gaussian(500, 500, 10)
    problem = KernelDiscrepancy(store_kernel_matrix(entries), share)
    began = time.perf_counter()
    found = solve(problem, KernelSubspace(), tol=1e-8, max_time=0.5)
    assert time.perf_counter() - began < 20.0
    assert not found.converged
    assert found.ended.startswith("max_time")
    assert found.certificate.bound <= found.certificate.objective
    assert found.certificate.objective <= problem.uniform_value * (1 + 1e-5)
