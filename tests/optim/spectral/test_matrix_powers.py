"""Powers and hyperbolic functions that stay in range."""

import numpy as np
import pytest
from scipy.linalg import coshm, sinhm

from counterpoise.optim.spectral.published import (
    hyperbolic_ratio,
    odd_power,
    power_by_squaring,
)


def symmetric(n, seed=0, size=1.0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return size * (A + A.T) / np.sqrt(8 * n)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 16, 31])
def test_squaring_gives_the_power_of_any_square_matrix(k):
    A = np.random.default_rng(k).standard_normal((6, 6))
    B, s = power_by_squaring(A, k)
    assert np.abs(B).max() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(np.exp(s) * B, np.linalg.matrix_power(A, k), rtol=1e-10)


@pytest.mark.parametrize("by", ["eigen", "squaring"])
@pytest.mark.parametrize("p", [1, 2, 16])
def test_odd_powers_and_their_traces(by, p):
    M = symmetric(7)
    B, s, t = odd_power(M, p, by)
    np.testing.assert_allclose(
        np.exp(s) * B, np.linalg.matrix_power(M, 2 * p - 1), rtol=1e-9, atol=1e-13
    )
    even = np.trace(np.linalg.matrix_power(M, 2 * p))
    assert t == pytest.approx(np.log(even), abs=1e-10)


def test_powers_that_leave_the_range_of_floats_are_found():
    M = symmetric(5, size=60.0)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.isfinite(np.linalg.matrix_power(M, 401)).all()
    eigen, squaring = odd_power(M, 201), odd_power(M, 201, "squaring")
    assert eigen[2] == pytest.approx(squaring[2], rel=1e-12)
    ratio = np.exp(squaring[1] - eigen[1])
    np.testing.assert_allclose(eigen[0], ratio * squaring[0], atol=1e-9)


def test_of_nothing_the_trace_is_nothing():
    for by in ("eigen", "squaring"):
        B, _, t = odd_power(np.zeros((3, 3)), 4, by)
        assert not B.any()
        assert t == -np.inf


@pytest.mark.parametrize("size", [0.0, 0.1, 3.0, 20.0])
def test_powering_equals_the_eigen_update_and_scipy(size):
    S = symmetric(8, size=size)
    eigen, powering = hyperbolic_ratio(S), hyperbolic_ratio(S, "powering")
    np.testing.assert_allclose(powering, eigen, atol=1e-12)
    np.testing.assert_allclose(eigen, sinhm(S) / np.trace(coshm(S)), atol=1e-12)


def test_powering_equals_the_eigen_update_where_cosh_overflows():
    S = symmetric(8, size=3000.0)
    eigen, powering = hyperbolic_ratio(S), hyperbolic_ratio(S, "powering")
    assert np.isfinite(powering).all()
    np.testing.assert_allclose(powering, eigen, atol=1e-9)


def test_the_ratio_has_nuclear_norm_at_most_one():
    for size in (0.1, 1.0, 100.0):
        Y = hyperbolic_ratio(symmetric(9, size=size))
        assert np.abs(np.linalg.eigvalsh(Y)).sum() <= 1.0 + 1e-12


def test_the_printed_sign_of_the_powering_recursion_computes_another_matrix():
    """(5.12) of the thesis has a plus where M(z) has a minus."""
    rng = np.random.default_rng(0)
    X, A = rng.standard_normal((6, 4)), symmetric(4)
    z = rng.dirichlet(np.ones(6))
    M = A - X.T @ (z[:, None] * X)
    printed = A @ X.T + X.T @ (z[:, None] * (X @ X.T))
    ours = A @ X.T - X.T @ (z[:, None] * (X @ X.T))
    assert np.abs(ours - M @ X.T).max() < 1e-14
    assert np.abs(printed - M @ X.T).max() > 1.0
