"""Matrices with orthonormal columns: projections onto them and onto their tangents."""

import numpy as np

from counterpoise.numerics.arrays import Array


def polar(H: Array) -> Array:
    """Return the nearest matrix with orthonormal columns, U V' of the thin SVD.

    Where H has not full rank there are several; this is one of them, always the same.

    Examples
    --------
    >>> polar(np.array([[3.0], [4.0]])).ravel().round(6)
    array([0.6, 0.8])
    """
    left, _, right = np.linalg.svd(H, full_matrices=False)
    return left @ right


def clip_singular_values(H: Array) -> Array:
    """Return the nearest matrix whose singular values are at most one."""
    left, values, right = np.linalg.svd(H, full_matrices=False)
    return (left * np.minimum(values, 1.0)) @ right


def tangent(P: Array, G: Array) -> Array:
    """Return the part of G along the frames at P: G - P (P'G + G'P) / 2.

    The rest, P times a symmetric matrix, is normal to them. Either may be a stack of
    matrices.
    """
    inner = np.swapaxes(P, -1, -2) @ G
    return G - P @ (inner + np.swapaxes(inner, -1, -2)) / 2.0


def orthonormality(P: Array) -> float:
    """Return the largest entry of |P'P - I|."""
    return float(np.abs(P.T @ P - np.eye(P.shape[1])).max())
