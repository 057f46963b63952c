"""The kernel of a support vector machine, and its rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.solvers.parametric import DenseRows, KernelRows, RowsOnDemand
from counterpoise.numerics.arrays import Array, Indices, finite_array
from counterpoise.numerics.kernels import rbf
from counterpoise.validation import check_integer, check_number

NAMES = ("linear", "poly", "rbf", "precomputed")


@dataclass(frozen=True)
class Kernel:
    """A positive semidefinite kernel with its numbers.

    `kind` is one of linear, poly (:math:`(\\gamma x'z + c_0)^{degree}`), rbf
    (:math:`\\exp(-\\gamma |x - z|^2)`), precomputed, or a callable of two matrices.
    """

    kind: str | Callable[[Array, Array], Array]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    @classmethod
    def of(
        cls, kind: Any, gamma: Any, degree: Any, coef0: Any, X: Array, weights: Array
    ) -> "Kernel":
        """Return the kernel that an estimator's parameters name.

        "scale" is one over the number of columns times the weighted variance of all
        entries of X, so that a weight of two is the row twice.
        """
        if callable(kind):
            return cls(kind)
        if kind == "sigmoid":
            raise ValueError(
                "kernel 'sigmoid' is not positive semidefinite: no exact path exists"
            )
        if not isinstance(kind, str) or kind not in NAMES:
            words = ", ".join(map(repr, NAMES))
            raise ValueError(f"kernel must be one of {words} or a callable, got {kind}")
        degree = check_integer("degree", degree, low=0)
        number = check_number("coef0", coef0)
        if kind == "poly" and number < 0.0:
            raise ValueError(
                "kernel 'poly' with a negative coef0 is not positive semidefinite, "
                f"got coef0 = {number:g}"
            )
        return cls(kind, _gamma(gamma, X, weights), degree, number)

    def matrix(self, X: Array, Z: Array) -> Array:
        """Return the kernel of every row of X with every row of Z."""
        if callable(self.kind):
            K = finite_array("kernel(X, Z)", self.kind(X, Z), 2)
            if K.shape != (len(X), len(Z)):
                raise ValueError(
                    f"kernel(X, Z) must have shape {(len(X), len(Z))}, got {K.shape}"
                )
            return K
        if self.kind == "rbf":
            return rbf(X, Z, self.gamma)
        products: Array = X @ Z.T
        if self.kind == "poly":
            products *= self.gamma
            products += self.coef0
            return products**self.degree
        return products

    def diagonal(self, X: Array) -> Array:
        """Return the kernel of every row with itself."""
        if self.kind == "rbf":
            return np.ones(len(X))
        squares = np.einsum("ij,ij->i", X, X)
        if self.kind == "poly":
            return (self.gamma * squares + self.coef0) ** self.degree
        return squares

    def rows(self, X: Array, n_bytes: float) -> KernelRows:
        """Return the rows of the Gram matrix: in memory if they fit, else on demand."""
        if self.kind == "precomputed":
            return DenseRows(X)
        if callable(self.kind):
            K = self.matrix(X, X)
            return DenseRows(0.5 * (K + K.T))
        if 8.0 * len(X) ** 2 <= n_bytes:
            return DenseRows(self.matrix(X, X))

        block = self._rbf_block(X) if self.kind == "rbf" else self._block(X)
        return RowsOnDemand(block, self.diagonal(X), int(n_bytes))

    def _block(self, X: Array) -> Callable[[Indices, Indices | None], Array]:
        def block(rows: Indices, columns: Indices | None) -> Array:
            return self.matrix(X[rows], X if columns is None else X[columns])

        return block

    def _rbf_block(self, X: Array) -> Callable[[Indices, Indices | None], Array]:
        """Return the same with all that single rows have in common done before."""
        Z = X - X.mean(axis=0)
        squares = self.gamma * np.einsum("ij,ij->i", Z, Z)
        right = np.ascontiguousarray(2.0 * self.gamma * Z.T)

        def block(rows: Indices, columns: Indices | None) -> Array:
            some = slice(None) if columns is None else columns
            out: Array = Z[rows] @ right[:, some]
            out -= squares[some]
            out -= squares[rows, None]
            np.minimum(out, 0.0, out=out)
            return np.exp(out, out=out)

        return block

    def cross(self, X: Array, fitted: Array, rows: Indices) -> Array:
        """Return the kernel of new rows with some of the rows it was fitted to."""
        if self.kind == "precomputed":
            out: Array = X[:, rows]
            return out
        return self.matrix(X, fitted[rows])

    def part(self, X: Array, rows: Indices) -> Array:
        """Return the fitted rows that a machine on some of them sees."""
        part: Array = X[np.ix_(rows, rows)] if self.kind == "precomputed" else X[rows]
        return part


def _gamma(gamma: Any, X: Array, weights: Array) -> float:
    value = check_number(
        "gamma", gamma, low=0, closed="neither", options=["scale", "auto"]
    )
    if isinstance(value, float):
        return value
    if value == "auto":
        return 1.0 / X.shape[1]
    seen = X[weights > 0.0]
    if seen.min() == seen.max():
        # Rounding would make a variance of it.
        return 1.0
    share = weights / weights.sum()
    mean = float(share @ X.mean(axis=1))
    variance = float(share @ ((X - mean) ** 2).mean(axis=1))
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
