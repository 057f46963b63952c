"""Squared distances of a weighted mean from a mean: by columns, or by a kernel."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from counterpoise.convex.objectives.columns import product
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class FactoredDistance:
    r"""The squared distance :math:`|Ax - b|^2 + \sum_i \rho_i x_i^2`.

    Column i of A is an element, b the mean to reach.

    Parameters
    ----------
    A : array of shape (r, n)
    b : array of shape (r,)
    ridge : array of shape (n,)
        :math:`\rho`, non-negative.

    Examples
    --------
    >>> import numpy as np
    >>> FactoredDistance(np.eye(2), np.ones(2), np.zeros(2)).value(np.array([1.0, 0.0]))
    1.0
    """

    A: Array
    b: Array
    ridge: Array

    def __post_init__(self) -> None:
        r, n = self.A.shape
        if self.b.shape != (r,) or self.ridge.shape != (n,):
            raise ValueError(
                f"b must have {r} and ridge {n} entries, got shapes "
                f"{self.b.shape} and {self.ridge.shape}"
            )
        _check_ridge(self.ridge)

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
        apart = image - self.b
        return float(apart @ apart) + float(self.ridge @ (x * x))

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Ax."""
        return 2.0 * ((image - self.b) @ self.A + self.ridge * x)

    def along(
        self,
        x: Array,
        direction: Array,
        limit: float,
        images: tuple[Array, Array] | None = None,
    ) -> float:
        """Return the best step in [0, limit], in closed form."""
        here, there = images or (self.image(x), self.image(direction))
        ridged = self.ridge * direction
        slope = float(there @ (here - self.b)) + float(ridged @ x)
        return _step(slope, float(there @ there) + float(ridged @ direction), limit)

    def newton(self, extra: Array) -> Callable[[Array], Array]:
        """Return the solver of (Hessian + diag(extra)) y = right, right (n,) or (n, k).

        Infinite entries of `extra` hold their entries of y at zero. By Woodbury's
        formula, O(n r^2) once and O(n r) a right-hand side.
        """
        inverse = 1.0 / (2.0 * self.ridge + extra)
        scaled = self.A * inverse
        inner = scaled @ self.A.T
        inner[np.diag_indices_from(inner)] += 0.5
        factor = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def solver(right: Array) -> Array:
            first = (inverse * right.T).T
            inside = cho_solve(factor, self.A @ first, check_finite=False)
            return first - scaled.T @ inside

        return solver


@dataclass(frozen=True, eq=False)
class KernelDistance:
    r"""The squared distance :math:`x'Kx - 2\kappa'x + c + \sum_i \rho_i x_i^2`.

    Parameters
    ----------
    K : array of shape (n, n)
        Inner products of the elements.
    kappa : array of shape (n,)
        Their inner products with the mean to reach.
    constant : float
        The mean's squared norm.
    ridge : array of shape (n,)
        :math:`\rho`, non-negative.

    Examples
    --------
    >>> import numpy as np
    >>> f = KernelDistance(np.eye(2), np.ones(2), 2.0, np.zeros(2))
    >>> f.value(np.array([1.0, 0.0]))
    1.0
    """

    K: Array
    kappa: Array
    constant: float
    ridge: Array

    def __post_init__(self) -> None:
        n = len(self.kappa)
        if self.K.shape != (n, n) or self.ridge.shape != (n,):
            raise ValueError(
                f"K must have shape ({n}, {n}) and ridge {n} entries, got shapes "
                f"{self.K.shape} and {self.ridge.shape}"
            )
        _check_ridge(self.ridge)

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Kx, at the price of the non-zero entries of x."""
        return product(self.K, x)

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Kx."""
        distance = float(x @ (image - 2.0 * self.kappa)) + self.constant
        return distance + float(self.ridge @ (x * x))

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Kx."""
        return 2.0 * (image - self.kappa + self.ridge * x)

    def along(
        self,
        x: Array,
        direction: Array,
        limit: float,
        images: tuple[Array, Array] | None = None,
    ) -> float:
        """Return the best step in [0, limit], in closed form."""
        here, there = images or (self.image(x), self.image(direction))
        ridged = self.ridge * direction
        slope = float(direction @ (here - self.kappa)) + float(ridged @ x)
        return _step(slope, float(direction @ there) + float(ridged @ direction), limit)

    def newton(self, extra: Array) -> Callable[[Array], Array]:
        """Return the solver of (Hessian + diag(extra)) y = right, right (n,) or (n, k).

        Infinite entries of `extra` hold their entries of y at zero. One dense Cholesky
        factor of the others, in an array of its own.
        """
        free = np.flatnonzero(np.isfinite(extra))
        matrix = self.K[np.ix_(free, free)] if free.size < extra.size else self.K.copy()
        matrix[np.diag_indices_from(matrix)] += self.ridge[free] + 0.5 * extra[free]
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

        def solver(right: Array) -> Array:
            out = np.zeros_like(right)
            out[free] = cho_solve(factor, 0.5 * right[free], check_finite=False)
            return out

        return solver


def _check_ridge(ridge: Array) -> None:
    if not ridge.min() >= 0.0:
        raise ValueError(f"ridge must be non-negative, got {ridge.min()}")


def _step(slope: float, bend: float, limit: float) -> float:
    """Return the minimiser of slope t + bend t^2 / 2 on [0, limit]."""
    if slope >= 0.0:
        return 0.0
    return min(limit, -slope / bend) if bend > 0.0 else limit
