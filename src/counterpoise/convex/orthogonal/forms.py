"""Several quadratic forms of one frame, <A_k, PP'>, stored whole or as vectors."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from counterpoise.numerics.arrays import Array


class Forms(Protocol):
    """K symmetric matrices of order n, by what is asked of them."""

    @property
    def count(self) -> int:
        """K."""
        ...

    @property
    def order(self) -> int:
        """n."""
        ...

    def values(self, P: Array) -> Array:
        """Return <A_k, PP'>, one number a form."""
        ...

    def combined(self, weights: Array) -> Array:
        """Return the matrix sum_k w_k A_k."""
        ...

    def pull(self, weights: Array, P: Array) -> Array:
        """Return sum_k w_k A_k P."""
        ...

    def images(self, P: Array, chosen: Array) -> Array:
        """Return A_k P for the forms chosen, of shape (len(chosen), n, m)."""
        ...

    def ranges(self) -> tuple[Array, Array]:
        """Return the least and the largest eigenvalue of every matrix."""
        ...

    def matrices(self) -> Array:
        """Return all matrices, of shape (K, n, n)."""
        ...


@dataclass(frozen=True, eq=False)
class DenseForms:
    """Forms whose matrices are stored: K n^2 numbers.

    Parameters
    ----------
    stack : array of shape (K, n, n), symmetric
    """

    stack: Array

    @property
    def count(self) -> int:
        """K."""
        return len(self.stack)

    @property
    def order(self) -> int:
        """n."""
        return self.stack.shape[1]

    @cached_property
    def _flat(self) -> Array:
        return self.stack.reshape(self.count, -1)

    def values(self, P: Array) -> Array:
        """Return <A_k, PP'>."""
        return self._flat @ (P @ P.T).ravel()

    def combined(self, weights: Array) -> Array:
        """Return the matrix sum_k w_k A_k."""
        return (weights @ self._flat).reshape(self.order, self.order)

    def pull(self, weights: Array, P: Array) -> Array:
        """Return sum_k w_k A_k P."""
        return self.combined(weights) @ P

    def images(self, P: Array, chosen: Array) -> Array:
        """Return A_k P for the forms chosen."""
        return self.stack[chosen] @ P

    def ranges(self) -> tuple[Array, Array]:
        """Return the least and the largest eigenvalue of every matrix."""
        values = np.asarray(np.linalg.eigvalsh(self.stack), dtype=float)
        return values[:, 0], values[:, -1]

    def matrices(self) -> Array:
        """Return the stack itself."""
        return self.stack


@dataclass(frozen=True, eq=False)
class RankOneForms:
    """Forms of one vector each, A_k = sign v_k v_k': K n numbers.

    Parameters
    ----------
    vectors : array of shape (K, n)
    sign : {1.0, -1.0}
    """

    vectors: Array
    sign: float = 1.0

    @property
    def count(self) -> int:
        """K."""
        return len(self.vectors)

    @property
    def order(self) -> int:
        """n."""
        return self.vectors.shape[1]

    def values(self, P: Array) -> Array:
        """Return <A_k, PP'>."""
        image = self.vectors @ P
        return self.sign * np.einsum("ki,ki->k", image, image)

    def combined(self, weights: Array) -> Array:
        """Return the matrix sum_k w_k A_k."""
        return self.sign * (self.vectors.T * weights) @ self.vectors

    def pull(self, weights: Array, P: Array) -> Array:
        """Return sum_k w_k A_k P."""
        return self.sign * (self.vectors.T * weights) @ (self.vectors @ P)

    def images(self, P: Array, chosen: Array) -> Array:
        """Return A_k P for the forms chosen."""
        part = self.vectors[chosen]
        return self.sign * part[:, :, None] * (part @ P)[:, None, :]

    def ranges(self) -> tuple[Array, Array]:
        """Return the least and the largest eigenvalue of every matrix."""
        squares = self.sign * np.einsum("ki,ki->k", self.vectors, self.vectors)
        other = squares if self.order == 1 else np.zeros_like(squares)
        return np.minimum(squares, other), np.maximum(squares, other)

    def matrices(self) -> Array:
        """Return all matrices."""
        return self.sign * self.vectors[:, :, None] * self.vectors[:, None, :]
