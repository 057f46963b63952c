"""The problem of least discrepancy as two samples pose it."""

import numpy as np
import pytest
from scipy import sparse

from counterpoise.data.two_samples import TwoSamples, canonical_order
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim import Discrepancy, KernelDiscrepancy
from counterpoise.shift.discrepancy_distance import (
    discrepancy,
    kernel_matrix,
    pose_discrepancy,
)
from counterpoise.shift.two_sample_tests import mmd, pooled_gamma

LINEAR = Kernel("linear")


def samples(X, T, w=None, v=None):
    found = TwoSamples.of(X, T, w, v)
    return found.take(
        canonical_order(found.source, found.source_share),
        canonical_order(found.target, found.target_share),
    )


@pytest.fixture
def two():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 3)), rng.normal(size=(9, 3)) + 0.4


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("constant", [True, False])
def test_the_problem_at_equal_weights_is_the_measure(two, kernel, constant):
    hypotheses = Kernel(kernel, 0.3, 2, 1.0, constant)
    posed = pose_discrepancy(samples(*two), hypotheses)
    expected = discrepancy(
        *two, kernel=kernel, gamma=0.3, degree=2, add_constant=constant
    )
    assert posed.problem.norm(posed.start) == pytest.approx(expected, rel=1e-7)
    assert posed.problem.uniform_value == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(posed.ratio(posed.start), 1.0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_copies_are_one_row_with_all_their_mass(two, kernel):
    X, T = two
    more = np.vstack([X, X[:4], X[:2]]), np.vstack([T, T[:3]])
    posed = pose_discrepancy(samples(*more), Kernel(kernel, 0.3, coef0=1.0))
    assert posed.problem.size == 12
    assert np.bincount(posed.groups).max() == 3
    expected = discrepancy(*more, kernel=kernel, gamma=0.3)
    # The gap is measured by the source as it is.
    assert posed.problem.uniform_value == pytest.approx(expected, rel=1e-7)
    assert posed.start.sum() == pytest.approx(1.0)
    assert posed.start.max() == pytest.approx(3 / 18)
    ratio = posed.ratio(np.full(12, 1 / 12))
    for group in range(12):
        assert np.ptp(ratio[posed.groups == group]) == 0.0
    assert samples(*more).source_share @ ratio == pytest.approx(1.0)


def test_a_cap_or_a_spread_writes_out_what_counts_twice(two):
    X, T = two
    w = np.ones(12)
    w[3] = 3.0
    for more in ({"cap": 2.0}, {"spread": 0.1}):
        posed = pose_discrepancy(samples(X, T, w), LINEAR, **more)
        assert posed.problem.size == 14
        copies = pose_discrepancy(samples(np.vstack([X, X[[3, 3]]]), T), LINEAR, **more)
        assert copies.problem.size == 14
        z = np.random.default_rng(0).dirichlet(np.ones(14))
        assert posed.problem.value(z) == pytest.approx(copies.problem.value(z))
        np.testing.assert_allclose(posed.ratio(posed.start), 1.0)
    capped = pose_discrepancy(samples(X, T, w), LINEAR, cap=2.0).problem
    assert capped.cap == pytest.approx(2.0 / 14)
    even = pose_discrepancy(samples(X, T, 5 * np.ones(12)), LINEAR, cap=2.0)
    assert even.problem.size == 12


def test_counts_that_are_none_are_refused_with_a_cap(two):
    X, T = two
    for w in (np.linspace(0.5, 1.3, 12), np.append(np.ones(11), 1e6)):
        with pytest.raises(ValueError, match="cap and spread need source rows that"):
            pose_discrepancy(samples(X, T, w), LINEAR, cap=2.0)


def test_text_is_posed_through_its_gram_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((15, 3000), density=0.01, rng=rng).tocsr()
    T = sparse.random_array((10, 3000), density=0.01, rng=rng).tocsr()
    dense = pose_discrepancy(samples(X.toarray(), T.toarray()), LINEAR)
    real = sparse.csr_array.toarray

    def toarray(self, *args, **kwargs):
        assert self.shape[1] < 3000, "rows were made dense"
        return real(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    two = samples(sparse.vstack([X, X[:3]]).tocsr(), T)
    posed = pose_discrepancy(two, LINEAR)
    assert isinstance(posed.problem, KernelDiscrepancy)
    assert posed.problem.size == 15
    single = pose_discrepancy(samples(X, T), LINEAR)
    assert single.problem.uniform_value == pytest.approx(
        dense.problem.uniform_value, rel=1e-7
    )
    few = pose_discrepancy(samples(X[:, :20], T[:, :20]), LINEAR)
    assert isinstance(few.problem, Discrepancy)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_blocks_of_sparse_rows_are_those_of_the_kernel(kernel):
    rng = np.random.default_rng(0)
    X = sparse.random_array((15, 700), density=0.05, rng=rng).tocsr()
    hypotheses = Kernel(kernel, 0.3, 2, 0.5, constant=1.0)
    found = kernel_matrix(hypotheses, X)
    expected = hypotheses.matrix(X.toarray(), X.toarray())
    np.testing.assert_allclose(found.block(slice(None), slice(None)), expected)
    np.testing.assert_allclose(found.diagonal(), expected.diagonal())
    np.testing.assert_allclose(found.product(np.eye(15)), expected)


def test_the_width_is_that_of_the_mean_discrepancy_for_sparse_rows_too(two):
    X, T = two
    expected = mmd(X, T).gamma
    assert pooled_gamma(samples(X, T)) == expected
    rows = [sparse.csr_array(part) for part in two]
    assert pooled_gamma(TwoSamples.of(*rows)) == pytest.approx(expected, rel=1e-9)
