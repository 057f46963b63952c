"""Least-squares, quadratic and distance objectives."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from counterpoise.linalg.arrays import Array, Indices, finite_array

# -----------------------------------------------------------------------------
# Products with few columns of a matrix, and which of them differ.
# -----------------------------------------------------------------------------


def product(A: Array, x: Array) -> Array:
    """Return Ax, reading only the columns where x is not zero."""
    support = np.flatnonzero(x)
    if 4 * support.size < x.size:
        return A[:, support] @ x[support]
    return A @ x


def beside(columns: Any, others: Any) -> Any:
    """Return columns and then others; those that are not stored know how."""
    if isinstance(columns, np.ndarray):
        return np.hstack([columns, others])
    return columns.beside(others)


def distinct(
    candidates: Indices, count: int, alike: float, likeness: Callable[[int], Array]
) -> Indices:
    """Return the first `count` candidates of which none is like an earlier one.

    `likeness(k)` gives how alike all candidates are to the k-th, 1 for equal ones; a
    candidate more alike than `alike` to one that was taken is passed over.
    """
    waiting = np.zeros(candidates.size, dtype=bool)
    taken: list[int] = []
    for k in range(candidates.size):
        if waiting[k]:
            continue
        taken.append(k)
        if len(taken) == count:
            break
        waiting |= likeness(k) > alike
    return candidates[taken]


def distinct_columns(A: Array, i: Indices, count: int, alike: float) -> Indices:
    """Return the first `count` of the columns i by their cosines."""
    # Cosines cost a product a column: the most promising ones must do.
    i = i[: max(20 * count, 100)]
    columns = A[:, i]
    columns = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    return distinct(i, count, alike, lambda k: columns[:, k] @ columns)


def slices(m: int, size: int) -> Iterator[slice]:
    """Yield pieces of `size` rows out of m."""
    for first in range(0, m, size):
        yield slice(first, min(first + size, m))


# -----------------------------------------------------------------------------
# An objective as interior-point solvers see it.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ConicForm:
    """The least of v'Pv/2 + q'v over v = (x, more) with Av + s = b, s in `cones`.

    `cones` are pairs (name, size) of "zero", "nonnegative" and "exponential" (size 3);
    `constant` is added to the objective.
    """

    P: Any
    q: Array
    A: Any
    b: Array
    cones: tuple[tuple[str, int], ...]
    constant: float = 0.0


# -----------------------------------------------------------------------------
# Matrices that need not be stored, as mixtures see them.
# -----------------------------------------------------------------------------


class Design(Protocol):
    """A non-negative matrix A of shape (m, n), known by its columns.

    A plain array is one; what else offers these four does too. One that is in memory
    may say so: what it has as `matrix` is read in place of columns and products.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        ...

    def columns(self, i: Indices) -> Any:
        """Return the columns i, an array.

        Or, for a method that asks no more of them, what has ``@ shares``, ``[:, i]``,
        `beside` and `moments`.
        """
        ...

    def pull(self, v: Array) -> Array:
        """Return v'A for v >= 0, or an upper bound of it.

        Certificates are made of it, so that a bound costs tightness and never truth.
        """
        ...

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i, no two more alike than `alike`."""
        ...


# -----------------------------------------------------------------------------
# Mean squared residuals.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# Squared distances of a weighted mean from a mean: by columns, or by a kernel.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# Convex quadratics.
# -----------------------------------------------------------------------------


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
