r"""Functions to minimise, and what each of them can do.

An objective has `value(x)` and `gradient(x)`; it knows nothing of its domain. What else
it can do has a name, and a solver that needs it asks for it by that name:

=============  =====================================================================
`image`        `image(x)`, linear in x; `value_at(x, image)` and
               `gradient_at(x, image)` are then cheap, and a step along a line needs
               the image of its direction only
`along`        `along(x, direction, limit, images=None)`: the exact minimiser over
               t in [0, limit] of the value at x + t direction (`images`: those of x
               and of the direction)
`columns`      `columns(i)`: the images of the coordinate vectors i, as columns
`model`        `model(i, columns, image)`: gradient and Hessian in the coordinates i
`similarity`   `similarity(i)`: how alike the coordinates i are, 1 for equal columns
`prox`         `prox(v, step)`: the minimiser of value + |x - v|^2 / (2 step)
`blocks`       `blocks(size)`: pairs (share, objective) whose weighted mean this is
`lower_bound`  a number that the value never goes below, on the whole space
`conic`        `conic()`: a `ConicForm`, for interior-point solvers
=============  =====================================================================
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from ..numerics.arrays import Array, Indices
from ..numerics.line_search import log_line

CAPABILITIES = (
    "image",
    "along",
    "columns",
    "model",
    "similarity",
    "prox",
    "blocks",
    "lower_bound",
    "conic",
)


class Objective(Protocol):
    """A smooth convex function; infinite where it is not defined."""

    def value(self, x: Array) -> float:
        """Return the function at x."""
        ...

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        ...


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

    Examples
    --------
    >>> import numpy as np
    >>> Quadratic(np.eye(2), np.array([-1.0, 0.0])).gradient(np.array([1.0, 1.0]))
    array([0., 1.])
    """

    Q: Array
    c: Array
    constant: float = 0.0

    def __post_init__(self) -> None:
        n = len(self.c)
        if self.Q.shape != (n, n):
            raise ValueError(f"Q must have shape ({n}, {n}), got {self.Q.shape}")
        if not (np.isfinite(self.Q).all() and np.isfinite(self.c).all()):
            raise ValueError("Q and c must be finite")
        if not np.allclose(
            self.Q, self.Q.T, rtol=1e-8, atol=1e-10 * np.abs(self.Q).max()
        ):
            raise ValueError("Q must be symmetric")

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Qx, at the price of the non-zero entries of x."""
        return _product(self.Q, x)

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

    def similarity(self, i: Indices) -> Array:
        """Return the correlations of the coordinates i under Q."""
        scale = np.sqrt(np.maximum(np.diag(self.Q)[i], 1e-300))
        block: Array = self.Q[np.ix_(i, i)] / np.outer(scale, scale)
        return block

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
    lower_bound: float = 0.0

    def __post_init__(self) -> None:
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
        return _product(self.A, x)

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

    def similarity(self, i: Indices) -> Array:
        """Return the cosines between the columns i of A."""
        return _cosines(self.A[:, i])

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
        for rows in _slices(m, size):
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


@dataclass(frozen=True, eq=False)
class NegativeMeanLog:
    r"""The negative mean logarithm :math:`-\sum_j w_j \log (Ax)_j`.

    Infinite where a component of Ax with positive weight is not positive.

    Parameters
    ----------
    A : array of shape (m, n)
    weights : array of shape (m,), optional
        Non-negative weights of the rows; scaled to sum one. All equal by default.

    Examples
    --------
    >>> import numpy as np
    >>> round(NegativeMeanLog(np.eye(2)).value(np.array([0.5, 0.5])), 6)
    0.693147
    """

    A: Array
    weights: Array | None = None

    def __post_init__(self) -> None:
        m = self.A.shape[0]
        if self.weights is None:
            share = np.full(m, 1.0 / m)
        else:
            share = np.asarray(self.weights, dtype=float)
            if share.shape != (m,):
                raise ValueError(f"weights must have shape ({m},), got {share.shape}")
            if not (share.min() >= 0.0 and 0.0 < share.sum() < math.inf):
                raise ValueError(
                    "weights must be non-negative, finite and not all zero"
                )
            share = share / share.sum()
        object.__setattr__(self, "weights", share)

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Ax, at the price of the non-zero entries of x."""
        return _product(self.A, x)

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Ax."""
        counted = self._share > 0.0
        if not (image[counted] > 0.0).all():
            return math.inf
        return -float(self._share[counted] @ np.log(image[counted]))

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Ax."""
        return -(self._pull(image) @ self.A)

    def along(
        self,
        x: Array,
        direction: Array,
        limit: float,
        images: tuple[Array, Array] | None = None,
    ) -> float:
        """Return the best step in [0, limit], by safeguarded Newton."""
        here, there = images or (self.image(x), self.image(direction))
        return log_line(here, there, self._share, limit)

    def columns(self, i: Indices) -> Array:
        """Return the columns i of A."""
        return self.A[:, i]

    def model(self, i: Indices, columns: Array, image: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian in the coordinates i."""
        scaled = (
            columns
            * np.divide(
                np.sqrt(self._share),
                image,
                out=np.zeros_like(image),
                where=self._share > 0,
            )[:, None]
        )
        return -(self._pull(image) @ columns), scaled.T @ scaled

    def similarity(self, i: Indices) -> Array:
        """Return the cosines between the columns i of A."""
        return _cosines(self.A[:, i])

    def blocks(self, size: int) -> Iterator[tuple[float, "NegativeMeanLog"]]:
        """Yield pieces of `size` rows with their shares."""
        for rows in _slices(self.A.shape[0], size):
            share = float(self._share[rows].sum())
            if share > 0.0:
                yield share, NegativeMeanLog(self.A[rows], self._share[rows])

    def conic(self) -> ConicForm:
        """Return the exponential cones t_j <= log (Ax)_j, as (t, 1, Ax)."""
        counted = np.flatnonzero(self._share > 0.0)
        A = self.A[counted]
        k, n = A.shape
        rows = sparse.lil_matrix((3 * k, n + k))
        rows[0::3, n:] = -sparse.identity(k)
        rows[2::3, :n] = -A
        b = np.zeros(3 * k)
        b[1::3] = 1.0
        return ConicForm(
            sparse.csc_matrix((n + k, n + k)),
            np.concatenate([np.zeros(n), -self._share[counted]]),
            sparse.csc_matrix(rows),
            b,
            (("exponential", 3),) * k,
        )

    @property
    def _share(self) -> Array:
        assert self.weights is not None
        return self.weights

    def _pull(self, image: Array) -> Array:
        return np.divide(
            self._share, image, out=np.zeros_like(image), where=self._share > 0.0
        )


def _product(A: Array, x: Array) -> Array:
    """Return Ax, reading only the columns where x is not zero."""
    support = np.flatnonzero(x)
    if 4 * support.size < x.size:
        return A[:, support] @ x[support]
    return A @ x


def _cosines(columns: Array) -> Array:
    scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    return scaled.T @ scaled


def _slices(m: int, size: int) -> Iterator[slice]:
    for first in range(0, m, size):
        yield slice(first, min(first + size, m))
