import numpy as np
import scipy.linalg

from counterpoise.linalg.stiefel import (
    clip_singular_values,
    orthonormality,
    polar,
    tangent,
)

rng = np.random.default_rng(0)
H = rng.standard_normal((7, 3))


def test_the_polar_factor_is_scipys_and_has_orthonormal_columns():
    np.testing.assert_allclose(polar(H), scipy.linalg.polar(H)[0], atol=1e-12)
    assert orthonormality(polar(H)) < 1e-14


def test_a_matrix_without_full_rank_has_a_polar_factor_all_the_same():
    P = polar(np.outer(np.ones(5), [1.0, 2.0]))
    assert orthonormality(P) < 1e-14


def test_clipping_leaves_small_singular_values_and_lowers_large_ones():
    small = 0.1 * polar(H)
    np.testing.assert_allclose(clip_singular_values(small), small, atol=1e-15)
    clipped = clip_singular_values(5.0 * H)
    assert np.linalg.norm(clipped, 2) <= 1.0 + 1e-14


def test_the_tangent_part_keeps_columns_orthonormal_to_first_order():
    P = polar(H)
    D = tangent(P, rng.standard_normal((4, 7, 3)))
    for one in D:
        np.testing.assert_allclose(P.T @ one + one.T @ P, 0.0, atol=1e-14)
        assert orthonormality(P + 1e-6 * one) < 1e-10
