"""Mean squared residuals."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from counterpoise.convex.objectives.columns import distinct_columns, product, slices
from counterpoise.convex.objectives.conic_form import ConicForm
from counterpoise.numerics.arrays import Array, Indices, finite_array


@dataclass(frozen=True, eq=False)
class LeastSquares:
    r"""Half the mean squared residual, :math:`\|Ax - b\|^2 / (2m)`.

    Parameters
    ----------
    A : array of shape (m, n)
    b : array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> LeastSquares(np.eye(2), np.array([1.0, 3.0])).value(np.zeros(2))
    2.5
    """

    A: Array
    b: Array
    lower_bound: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "A", finite_array("A", self.A, 2))
        object.__setattr__(self, "b", finite_array("b", self.b, 1))
        if self.A.shape[0] != len(self.b):
            raise ValueError(
                f"b must have {self.A.shape[0]} entries, one a row of A, "
                f"got {len(self.b)}"
            )

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Ax, at the price of the non-zero entries of x."""
        return product(self.A, x)

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Ax."""
        residual = image - self.b
        return float(residual @ residual) / (2.0 * len(self.b))

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Ax."""
        return self.A.T @ (image - self.b) / len(self.b)

    def along(
        self,
        x: Array,
        direction: Array,
        limit: float,
        images: tuple[Array, Array] | None = None,
    ) -> float:
        """Return the best step in [0, limit], in closed form."""
        here, there = images or (self.image(x), self.image(direction))
        slope = float(there @ (here - self.b))
        bend = float(there @ there)
        if slope >= 0.0:
            return 0.0
        return min(limit, -slope / bend) if bend > 0.0 else limit

    def columns(self, i: Indices) -> Array:
        """Return the columns i of A."""
        return self.A[:, i]

    def model(self, i: Indices, columns: Array, image: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian in the coordinates i."""
        m = len(self.b)
        return columns.T @ (image - self.b) / m, columns.T @ columns / m

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the coordinates i that differ."""
        return distinct_columns(self.A, i, count, alike)

    def prox(self, v: Array, step: float) -> Array:
        """Return the minimiser of value + |x - v|^2 / (2 step)."""
        eigenvalues, basis = self._spectrum
        m = len(self.b)
        inside = basis.T @ (v + (step / m) * (self.A.T @ self.b))
        out: Array = basis @ (inside / (1.0 + (step / m) * eigenvalues))
        return out

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        eigenvalues, basis = np.linalg.eigh(self.A.T @ self.A)
        return np.maximum(eigenvalues, 0.0), basis

    def blocks(self, size: int) -> Iterator[tuple[float, "LeastSquares"]]:
        """Yield pieces of `size` rows with their shares."""
        m = len(self.b)
        for rows in slices(m, size):
            piece = LeastSquares(self.A[rows], self.b[rows])
            yield len(piece.b) / m, piece

    def conic(self) -> ConicForm:
        """Return the quadratic programme without constraints."""
        m, n = self.A.shape
        return ConicForm(
            sparse.csc_matrix(self.A.T @ self.A / m),
            -self.A.T @ self.b / m,
            sparse.csc_matrix((0, n)),
            np.zeros(0),
            (),
            float(self.b @ self.b) / (2.0 * m),
        )
