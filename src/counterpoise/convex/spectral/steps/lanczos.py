"""Extreme eigenpairs of a weighted kernel operator by block Lanczos."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class RitzPairs:
    """Approximate eigenpairs, ascending: coefficients B and images K B.

    `residual` holds the lengths of the residuals of the lowest and the highest pair.
    """

    values: Array
    coefficients: Array
    images: Array
    residual: tuple[float, float]

    @property
    def norm(self) -> float:
        """The larger modulus of both ends, each with its residual added."""
        low, high = self.residual
        return max(float(self.values[-1]) + high, low - float(self.values[0]), 0.0)


def orthonormal(
    B: Array,
    KB: Array,
    cut: float,
    basis: tuple[Array, Array] | None = None,
    product: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """Return B made orthonormal in the kernel's inner product, and its image.

    Directions whose squared length is below `cut` of the largest are dropped; with a
    `basis` (coefficients, images) the part inside its span is taken off first, and what
    is a tenth of `cut` or less of the largest before that is rounding. Twice,
    as once leaves the rounding of the first. Taking off a large part amplifies the
    error of an image in single precision: with `product` it is computed again.
    """
    for time in range(2):
        if time and product is not None and B.size:
            KB = product(B)
        if not B.size:
            break
        longest = float(np.einsum("ij,ij->j", B, KB).max())
        if basis is not None:
            inner = basis[1].T @ B
            B, KB = B - basis[0] @ inner, KB - basis[1] @ inner
        gram = B.T @ KB
        squares, turn = eigh(0.5 * (gram + gram.T), check_finite=False)
        some = squares > cut * max(float(squares[-1]), 0.1 * longest, 1e-300)
        scaled = turn[:, some] / np.sqrt(squares[some])
        B, KB = B @ scaled, KB @ scaled
    return B, KB


def kernel_ritz(
    product: Callable[[Array], Array],
    weights: Array,
    start: Array,
    steps: int,
    count: int,
    cut: float,
) -> RitzPairs:
    r"""Return `count` pairs of each end of :math:`\sum_i w_i \phi_i \phi_i'`.

    The operator maps the coefficients b of a vector :math:`\sum b_i \phi_i` to
    :math:`w \circ (Kb)`; inner products are b'Kb. Rayleigh and Ritz on the block Krylov
    space of `start` (q, s): `steps` + 1 products K B with s columns, and
    :math:`O(q (s \cdot steps)^2)`.
    """
    size = len(weights)
    Q, KQ = np.empty((size, 0)), np.empty((size, 0))
    B, error = start, 1e-16
    for _ in range(steps):
        KB = product(B)
        lengths = np.einsum("ij,ij->j", B, KB)
        outside = lengths - np.sum((KQ.T @ B) ** 2, axis=0)
        # What the space has already leaves rounding, and no direction.
        fresh = outside > 0.1 * cut * max(float(lengths.max()), 1e-300)
        left = float((outside[fresh] / lengths[fresh]).min(initial=1.0))
        # Taking off a large part amplifies the error of images, step after step.
        error /= np.sqrt(left)
        again = product if left < 1e-2 or error > 1e-9 else None
        B, KB = orthonormal(B[:, fresh], KB[:, fresh], cut, (Q, KQ), again)
        error = error if again is None else 1e-16
        if not B.size:
            break
        Q, KQ = np.concatenate([Q, B], axis=1), np.concatenate([KQ, KB], axis=1)
        B = weights[:, None] * KB
    inner = KQ.T @ (weights[:, None] * KQ)
    values, turn = eigh(0.5 * (inner + inner.T), check_finite=False)
    count = min(count, values.size)
    ends = np.unique(np.r_[:count, values.size - count : values.size])
    values, coefficients, images = values[ends], Q @ turn[:, ends], KQ @ turn[:, ends]
    two = [0, -1]
    off = weights[:, None] * images[:, two] - coefficients[:, two] * values[two]
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", off, product(off)), 0.0))
    return RitzPairs(
        values, coefficients, images, (float(lengths[0]), float(lengths[1]))
    )
