"""Convex quadratics."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from counterpoise.convex.objectives.columns import distinct, product
from counterpoise.convex.objectives.conic_form import ConicForm
from counterpoise.numerics.arrays import Array, Indices, finite_array


@dataclass(frozen=True, eq=False)
class Quadratic:
    r"""The convex quadratic :math:`x'Qx/2 + c'x + constant`.

    Parameters
    ----------
    Q : array of shape (n, n)
        Symmetric, positive semidefinite.
    c : array of shape (n,)
        Linear term.
    constant : float
        Added to every value.
    trusted : bool
        Whether Q is known to be positive semidefinite, which is otherwise checked at
        the price of a Cholesky factor: about a non-convex function nothing is proved.

    Examples
    --------
    >>> import numpy as np
    >>> Quadratic(np.eye(2), np.array([-1.0, 0.0])).gradient(np.array([1.0, 1.0]))
    array([0., 1.])
    """

    Q: Array
    c: Array
    constant: float = 0.0
    trusted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "Q", finite_array("Q", self.Q, 2))
        object.__setattr__(self, "c", finite_array("c", self.c, 1))
        n = len(self.c)
        if self.Q.shape != (n, n):
            raise ValueError(f"Q must have shape ({n}, {n}), got {self.Q.shape}")
        if not np.allclose(
            self.Q, self.Q.T, rtol=1e-8, atol=1e-10 * np.abs(self.Q).max()
        ):
            raise ValueError("Q must be symmetric")
        if not self.trusted:
            _check_semidefinite(self.Q)

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Qx, at the price of the non-zero entries of x."""
        return product(self.Q, x)

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Qx."""
        return float(0.5 * (x @ image) + self.c @ x + self.constant)

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Qx."""
        return image + self.c

    def along(
        self,
        x: Array,
        direction: Array,
        limit: float,
        images: tuple[Array, Array] | None = None,
    ) -> float:
        """Return the best step in [0, limit], in closed form."""
        here, there = images or (self.image(x), self.image(direction))
        slope = float(direction @ (here + self.c))
        bend = float(direction @ there)
        if slope >= 0.0:
            return 0.0
        return min(limit, -slope / bend) if bend > 0.0 else limit

    def columns(self, i: Indices) -> Array:
        """Return the columns i of Q."""
        return self.Q[:, i]

    def model(self, i: Indices, columns: Array, image: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian in the coordinates i."""
        return image[i] + self.c[i], columns[i]

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the coordinates i that differ under Q."""
        scale = np.sqrt(np.maximum(np.diag(self.Q), 1e-300))[i]

        def correlation(k: int) -> Array:
            return self.Q[i, i[k]] / (scale * scale[k])

        return distinct(i, count, alike, correlation)

    def prox(self, v: Array, step: float) -> Array:
        """Return the minimiser of value + |x - v|^2 / (2 step)."""
        eigenvalues, basis = self._spectrum
        inside = basis.T @ (v - step * self.c)
        out: Array = basis @ (inside / (1.0 + step * eigenvalues))
        return out

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        eigenvalues, basis = np.linalg.eigh(self.Q)
        return np.maximum(eigenvalues, 0.0), basis

    def conic(self) -> ConicForm:
        """Return the quadratic programme without constraints."""
        n = len(self.c)
        nothing = sparse.csc_matrix((0, n))
        return ConicForm(
            sparse.csc_matrix(self.Q), self.c, nothing, np.zeros(0), (), self.constant
        )


def _check_semidefinite(Q: Array) -> None:
    n = len(Q)
    slack = 1e-10 * max(float(np.abs(np.diag(Q)).max()), 1e-300)
    try:
        np.linalg.cholesky(Q + slack * np.eye(n))
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(Q)[0])
        if least < -slack:
            raise ValueError(
                f"Q must be positive semidefinite, its smallest eigenvalue is {least:g}"
            ) from None
