"""Objectives: least squares, quadratics and squared distances of means."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from counterpoise.linalg.arrays import Array, Indices, finite_array

# -----------------------------------------------------------------------------
# An objective, and all that is known of it at a point.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An objective at a point: its value, and its derivatives once they are read.

    Parameters
    ----------
    x : array
    value : float
    slopes : callable
        Returns the gradient; it is called once, where the value is finite.
    image : array, optional
        Ax, where the objective depends on x by a linear map.
    hessian : callable, optional
        Returns the matrix of second derivatives.
    hessian_product : callable, optional
        Returns the product of that matrix with a vector, which need not store it.
    """

    x: Array
    value: float
    slopes: Callable[[], Array]
    image: Array | None = None
    hessian: Callable[[], Array] | None = None
    hessian_product: Callable[[Array], Array] | None = None

    @cached_property
    def gradient(self) -> Array:
        """The gradient; zero where the value is not finite."""
        if not math.isfinite(self.value):
            return np.zeros_like(self.x)
        out = self.slopes()
        if not np.isfinite(out).all():
            k = int(np.argmax(~np.isfinite(out)))
            raise ValueError(
                f"the gradient is {out[k]} at entry {k}, where x is {self.x[k]:g} and "
                "the value finite: keep x off that edge, for example by Box(1e-9, ...)"
            )
        return out


# Up to so many coordinates a Hessian is written out and factored.
DIRECT = 500


def newton_direction(
    here: Evaluation, direct: int = DIRECT, rtol: float | None = None
) -> Array:
    """Return :math:`-H^{-1} g`, by a factor of H or by conjugate gradients.

    `rtol` is the relative residual of these, the norm of g or 0.1 by default.
    """
    gradient, size = here.gradient, here.x.size
    if size <= direct or here.hessian_product is None:
        assert here.hessian is not None
        factor = cho_factor(here.hessian(), lower=True)
        return -cho_solve(factor, gradient)
    if rtol is None:
        rtol = min(0.1, float(np.linalg.norm(gradient)))
    operator = LinearOperator((size, size), matvec=here.hessian_product)
    direction, _ = cg(operator, -gradient, rtol=max(rtol, 1e-12), maxiter=1000)
    return np.asarray(direction)


class Objective:
    """A smooth convex function; infinite where it is not defined.

    A subclass defines `evaluate`, or both `value` and `gradient`. What else it offers
    is named in the `accepts` of the solvers that use it.

    Examples
    --------
    >>> import numpy as np
    >>> class Square(Objective):
    ...     def evaluate(self, x, image=None):
    ...         return Evaluation(x, float(x @ x), lambda: 2.0 * x)
    >>> Square().value(np.ones(2)), Square().gradient(np.ones(2))
    (2.0, array([2., 2.]))
    """

    # Whether evaluations have a `hessian`.
    hessian: ClassVar[bool] = False

    def evaluate(self, x: Array, image: Array | None = None) -> Evaluation:
        """Return value and derivatives at x; a known image saves a product."""
        return Evaluation(x, float(self.value(x)), lambda: self.gradient(x))

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.evaluate(x).value

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.evaluate(x).gradient

    def image(self, x: Array) -> Array | None:
        """Return Ax where the function depends on x by a linear map, else None."""
        return None

    def after_step(
        self, here: Evaluation, direction: Array, image: Array | None, step: float
    ) -> Evaluation:
        """Return the evaluation after a step; `image` is that of the direction."""
        if here.image is not None and image is not None:
            image = here.image + step * image
        return self.evaluate(here.x + step * direction, image)


def product(A: Array, x: Array) -> Array:
    """Return Ax, reading only the columns where x is not zero."""
    support = np.flatnonzero(x)
    if 4 * support.size < x.size:
        return A[:, support] @ x[support]
    return A @ x


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


# -----------------------------------------------------------------------------
# An objective as interior-point solvers see it.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ConicForm:
    """The least of v'Pv/2 + q'v over v = (x, more) with Av + s = b, s in `cones`.

    `cones` are pairs (name, size) of "zero", "nonnegative", "exponential" (size 3) and
    "semidefinite" (the order of a matrix, given by its scaled upper triangle).
    """

    P: Any
    q: Array
    A: Any
    b: Array
    cones: tuple[tuple[str, int], ...]


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
# Quadratic objectives.
# -----------------------------------------------------------------------------


def _line_minimum(slope: float, bend: float, limit: float) -> float:
    """Return the minimizer of slope t + bend t^2 / 2 on [0, limit]."""
    if slope >= 0.0:
        return 0.0
    return min(limit, -slope / bend) if bend > 0.0 else limit


class ResidualQuadratic(Objective):
    r"""The quadratic :math:`w |Ax - b|^2 + \sum_i \rho_i x_i^2`."""

    A: Array
    b: Array
    ridge: Array | float = 0.0
    weight: float = 1.0

    def image(self, x: Array) -> Array:
        """Return Ax, at the price of the non-zero entries of x."""
        return product(self.A, x)

    def evaluate(self, x: Array, image: Array | None = None) -> Evaluation:
        """Return value and gradient at x; a known image saves a product."""
        if image is None:
            image = self.image(x)
        residual = image - self.b
        squares = float((self.ridge * x) @ x)
        return Evaluation(
            x,
            self.weight * float(residual @ residual) + squares,
            lambda: 2.0 * (self.weight * (residual @ self.A) + self.ridge * x),
            image,
        )

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
        slope = self.weight * float(there @ (here - self.b)) + float(ridged @ x)
        bend = self.weight * float(there @ there) + float(ridged @ direction)
        return _line_minimum(slope, bend, limit)


class ProductQuadratic(Objective):
    r"""The quadratic :math:`w x'Kx + l'x + c + \sum_i \rho_i x_i^2`."""

    products: Array
    linear: Array
    constant: float
    ridge: Array | float = 0.0
    weight: float = 1.0

    def image(self, x: Array) -> Array:
        """Return Kx, at the price of the non-zero entries of x."""
        return product(self.products, x)

    def evaluate(self, x: Array, image: Array | None = None) -> Evaluation:
        """Return value and gradient at x; a known image saves a product."""
        if image is None:
            image = self.image(x)
        half = self.weight * image + 0.5 * self.linear
        squares = float((self.ridge * x) @ x)
        return Evaluation(
            x,
            self._without_ridge(x, image) + squares,
            lambda: 2.0 * (half + self.ridge * x),
            image,
        )

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
        slope = float(direction @ (self.weight * here + 0.5 * self.linear))
        bend = self.weight * float(direction @ there) + float(ridged @ direction)
        return _line_minimum(slope + float(ridged @ x), bend, limit)

    def _without_ridge(self, x: Array, image: Array) -> float:
        quadratic = self.weight * float(x @ image)
        return quadratic + float(self.linear @ x) + self.constant


@dataclass(frozen=True, eq=False)
class LeastSquares(ResidualQuadratic):
    r"""The mean squared residual :math:`|Ax - b|^2 / (2m)` of m rows.

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
        object.__setattr__(self, "weight", 0.5 / len(self.b))

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
        """Return the minimizer of value + |x - v|^2 / (2 step)."""
        step = step / len(self.b)
        return _resolvent(self._spectrum, v + step * (self.A.T @ self.b), step)

    def conic(self) -> ConicForm:
        """Return the quadratic program without constraints."""
        m = len(self.b)
        return _without_cones(self.A.T @ self.A / m, -self.A.T @ self.b / m)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        return _spectrum(self.A.T @ self.A)


@dataclass(frozen=True, eq=False)
class Quadratic(ProductQuadratic):
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
    weight: ClassVar[float] = 0.5  # type: ignore[misc]

    def __post_init__(self) -> None:
        object.__setattr__(self, "Q", finite_array("Q", self.Q, 2))
        object.__setattr__(self, "c", finite_array("c", self.c, 1))
        n = len(self.c)
        if self.Q.shape != (n, n):
            raise ValueError(f"Q must have shape ({n}, {n}), got {self.Q.shape}")
        size = np.abs(self.Q).max()
        if not np.allclose(self.Q, self.Q.T, rtol=1e-8, atol=1e-10 * size):
            raise ValueError("Q must be symmetric")
        if not self.trusted:
            _check_semidefinite(self.Q)
        object.__setattr__(self, "products", self.Q)
        object.__setattr__(self, "linear", self.c)

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
        """Return the minimizer of value + |x - v|^2 / (2 step)."""
        return _resolvent(self._spectrum, v - step * self.c, step)

    def conic(self) -> ConicForm:
        """Return the quadratic program without constraints."""
        return _without_cones(self.Q, self.c)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        return _spectrum(self.Q)


def _spectrum(H: Array) -> tuple[Array, Array]:
    eigenvalues, basis = np.linalg.eigh(H)
    return np.maximum(eigenvalues, 0.0), basis


def _resolvent(spectrum: tuple[Array, Array], v: Array, step: float) -> Array:
    """Return the solution of (I + step H) x = v from the spectrum of H."""
    eigenvalues, basis = spectrum
    out: Array = basis @ ((basis.T @ v) / (1.0 + step * eigenvalues))
    return out


def _without_cones(P: Array, q: Array) -> ConicForm:
    none = sparse.csc_matrix((0, q.size))
    return ConicForm(sparse.csc_matrix(P), q, none, np.zeros(0), ())


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


# -----------------------------------------------------------------------------
# Squared distances of a weighted mean from a mean: by columns, or by a kernel.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FactoredDistance(ResidualQuadratic):
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
class KernelDistance(ProductQuadratic):
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
        object.__setattr__(self, "products", self.K)
        object.__setattr__(self, "linear", -2.0 * self.kappa)

    def _without_ridge(self, x: Array, image: Array) -> float:
        # Near zero this keeps more digits.
        return float(x @ (image + self.linear)) + self.constant

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
