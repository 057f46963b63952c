"""Problems with orthogonality constraints, and their certificates.

Public: `OrthogonalProblem`. Points are matrices P of shape (n, m) with P'P = I (the
Stiefel manifold).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import (
    SymmetricMatrix,
    dense,
    extreme_eigenvalues,
    orthonormality,
    polar,
)
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.stiefel.certificates import (
    Stationarity,
    global_bound,
    stationarity,
)

# -----------------------------------------------------------------------------
# Quadratic forms <A_k, PP'>, with dense matrices or one vector each.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DenseForms:
    """Quadratic forms <A_k, PP'> with stored symmetric matrices, K n^2 numbers.

    Parameters
    ----------
    stack : array of shape (K, n, n)
    """

    stack: Array

    def __len__(self) -> int:
        return len(self.stack)

    @property
    def _flat(self) -> Array:
        return self.stack.reshape(len(self.stack), -1)

    def values(self, P: Array) -> Array:
        """Return <A_k, PP'> for every k."""
        return self._flat @ (P @ P.T).ravel()

    def combined(self, weights: Array) -> Array:
        """Return the matrix sum_k w_k A_k."""
        return (weights @ self._flat).reshape(self.stack.shape[1:])

    def pull(self, weights: Array, P: Array) -> Array:
        """Return sum_k w_k A_k P."""
        return self.combined(weights) @ P

    def images(self, P: Array, chosen: Indices) -> Array:
        """Return A_k P for the chosen k, of shape (len(chosen), n, m)."""
        return self.stack[chosen] @ P

    def ranges(self) -> tuple[Array, Array]:
        """Return the smallest and the largest eigenvalue of every matrix."""
        values = np.asarray(np.linalg.eigvalsh(self.stack), dtype=float)
        return values[:, 0], values[:, -1]

    def matrices(self) -> Array:
        """Return all matrices, of shape (K, n, n)."""
        return self.stack


@dataclass(frozen=True, eq=False)
class RankOneForms:
    """Quadratic forms <A_k, PP'> with A_k = sign v_k v_k', K n numbers.

    Parameters
    ----------
    vectors : array of shape (K, n)
    sign : {1.0, -1.0}
    """

    vectors: Array
    sign: float = 1.0

    def __len__(self) -> int:
        return len(self.vectors)

    def values(self, P: Array) -> Array:
        """Return <A_k, PP'> for every k."""
        image = self.vectors @ P
        return self.sign * np.einsum("ki,ki->k", image, image)

    def combined(self, weights: Array) -> Array:
        """Return the matrix sum_k w_k A_k."""
        return self.sign * (self.vectors.T * weights) @ self.vectors

    def pull(self, weights: Array, P: Array) -> Array:
        """Return sum_k w_k A_k P."""
        return self.sign * (self.vectors.T * weights) @ (self.vectors @ P)

    def images(self, P: Array, chosen: Indices) -> Array:
        """Return A_k P for the chosen k, of shape (len(chosen), n, m)."""
        part = self.vectors[chosen]
        return self.sign * part[:, :, None] * (part @ P)[:, None, :]

    def ranges(self) -> tuple[Array, Array]:
        """Return the smallest and the largest eigenvalue of every matrix."""
        squares = self.sign * np.einsum("ki,ki->k", self.vectors, self.vectors)
        other = squares if self.vectors.shape[1] == 1 else np.zeros_like(squares)
        return np.minimum(squares, other), np.maximum(squares, other)

    def matrices(self) -> Array:
        """Return all matrices, of shape (K, n, n)."""
        return self.sign * self.vectors[:, :, None] * self.vectors[:, None, :]


QuadraticForms: TypeAlias = DenseForms | RankOneForms


@dataclass(frozen=True, eq=False)
class QuadraticFunction:
    """The function <M, PP'> + <N, P> + c.

    Parameters
    ----------
    quadratic : matrix of shape (n, n), dense or sparse, symmetric
    linear : array of shape (n, m)
    constant : float
    """

    quadratic: SymmetricMatrix
    linear: Array
    constant: float = 0.0

    @property
    def is_linear(self) -> bool:
        """Whether M is zero."""
        M = self.quadratic
        return M.nnz == 0 if sparse.issparse(M) else not M.any()

    def value(self, P: Array) -> float:
        """Return the value at P."""
        quadratic = float(np.sum(P * (self.quadratic @ P)))
        return self.constant + quadratic + float(np.sum(self.linear * P))

    def gradient(self, P: Array) -> Array:
        """Return 2 M P + N."""
        return 2.0 * np.asarray(self.quadratic @ P) + self.linear


# -----------------------------------------------------------------------------
# The problem.
# -----------------------------------------------------------------------------


class OrthogonalProblem:
    r"""Minimize a quadratic, linear and piecewise function of an orthonormal matrix.

    .. math::

        \min_{P'P = I}\ \langle M, PP'\rangle + \langle N, P\rangle
        + \max_k \langle A_k, PP'\rangle + \sum_i |\langle B_i, P\rangle + b_i|

    over P of shape (n, m), subject to
    :math:`\langle M_k, PP'\rangle + \langle N_k, P\rangle + c_k \le 0` and, with
    `nonnegative`, :math:`P \ge 0`. No matrix need be definite; all are made symmetric,
    since only the symmetric part counts.

    Parameters
    ----------
    quadratic : matrix of shape (n, n), dense or sparse, or None
        M.
    linear : matrix of shape (n, m) or None
        N.
    n_columns : int, optional
        m, needed where no linear term determines it.
    maximum : array of shape (K, n, n) or None
        The matrices A_k.
    l1 : pair (B, b) or None
        Of shapes (q, n, m) and (q,).
    constraints : sequence of triples (M_k, N_k, c_k)
        None in place of a matrix stands for zero.
    nonnegative : bool
        Whether P >= 0 is required.

    Notes
    -----
    The problem is not convex, so a certificate is of kind "stationarity": it holds by
    its residual, the minimum over multipliers of

    .. math::

        \|\mathrm{grad}\, \mathcal{L}\|_F + \sum_k w_k (\max_l a_l - a_k)
        + \sum_i (|r_i| - s_i r_i) + \sum_k \lambda_k |f_k| + \langle \nu, |P|\rangle

    (the Riemannian gradient of the Lagrangian, and the violation of complementarity),
    in units of `slope`. A small conic program computes the multipliers; any of them
    bound the minimum from above. `bound` and `gap` are the global ones, of the Fantope
    relaxation

    .. math:: \langle M, X\rangle + \langle N, P\rangle + \ldots,\quad
              PP' \preceq X \preceq I,\ \mathrm{tr} X = m

    while n + m <= 60 (3 GB at n = 100), and beyond that of the separate terms. They are
    evaluated at a dual point, so that they hold whatever the rounding of a solver. With
    P >= 0 every P whose columns are optimal on their supports is stationary: only a
    jump moves a row to another column.

    References
    ----------
    Zohrizadeh (2019), chapter 3. Overton and Womersley (1992): the Fantope.

    Examples
    --------
    >>> import numpy as np
    >>> problem = OrthogonalProblem(np.diag([3.0, 1.0, 2.0]), n_columns=2)
    >>> round(problem.bound(), 9), problem.value(np.eye(3)[:, 1:])
    (3.0, 3.0)
    """

    # Of a point, for the loop's check of a start.
    point_dimensions: ClassVar[int] = 2

    def __init__(
        self,
        quadratic: ArrayLike | SymmetricMatrix = None,
        linear: ArrayLike | None = None,
        *,
        n_columns: int | None = None,
        maximum: ArrayLike | RankOneForms | None = None,
        l1: tuple[ArrayLike, ArrayLike] | None = None,
        constraints: Sequence[tuple[object, object, float]] = (),
        nonnegative: bool = False,
    ) -> None:
        M, N = _finite("quadratic", quadratic, 2), _finite("linear", linear, 2)
        if isinstance(maximum, RankOneForms):
            A = maximum.vectors
        else:
            A = _finite("maximum", maximum, 3)
        B, b = _read_l1(l1)
        triples = [_read_constraint(k, one) for k, one in enumerate(constraints)]
        parts = [M, N, *(part for M_k, N_k, _ in triples for part in (M_k, N_k))]
        lengths = [part.shape[0] for part in parts if part is not None]
        lengths += [part.shape[1] for part in (A, B) if part is not None]
        parts = [N, B, *(N_k for _, N_k, _ in triples)]
        widths = [part.shape[-1] for part in parts if part is not None]
        n, m = self.shape = _read_shape(lengths, widths, n_columns)
        self.quadratic, self.linear = _symmetric(M, n), _shaped("linear", N, (n, m))
        self.smooth = QuadraticFunction(self.quadratic, self.linear)
        if A is None:
            self.forms: QuadraticForms = RankOneForms(np.zeros((0, n)))
        elif not len(A) or set(A.shape[1:]) != {n}:
            raise InvalidInputError(
                f"maximum must hold matrices of order {n}, got shape {A.shape}"
            )
        elif isinstance(maximum, RankOneForms):
            self.forms = maximum
        else:
            self.forms = DenseForms((A + np.swapaxes(A, 1, 2)) / 2.0)
        self.l1 = (np.zeros((0, n, m)) if B is None else B), b
        if self.l1[0].shape != (len(b), n, m):
            raise InvalidInputError(
                f"l1 must be a pair of shapes (q, {n}, {m}) and (q,), got "
                f"{self.l1[0].shape} and {b.shape}"
            )
        self.constraints = tuple(
            QuadraticFunction(
                _symmetric(M_k, n, f"constraints[{k}]"),
                _shaped(f"constraints[{k}] linear", N_k, (n, m)),
                constant,
            )
            for k, (M_k, N_k, constant) in enumerate(triples)
        )
        self.nonnegative = bool(nonnegative)

    # -- properties --------------------------------------------------------------------

    @property
    def objective(self) -> "OrthogonalProblem":
        """The problem itself, which has the value and a gradient of its objective."""
        return self

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms beside the quadratic one that are present."""
        present = {
            "linear": self.linear.any(),
            "maximum": len(self.forms),
            "l1": len(self.l1[1]),
            "constraints": self.constraints,
            "nonnegative": self.nonnegative,
        }
        return tuple(name for name, part in present.items() if part)

    @property
    def is_smooth(self) -> bool:
        """Whether there is neither a maximum nor a sum of absolute values."""
        return not len(self.forms) and not len(self.l1[1])

    @property
    def has_one_term(self) -> bool:
        """Whether only one of the quadratic and the linear term is not constant."""
        low, high = self.quadratic_range
        constant = high - low <= 1e-12 * max(abs(low), abs(high))
        return not self.linear.any() or constant

    @cached_property
    def quadratic_range(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue of M."""
        return extreme_eigenvalues(self.quadratic)

    @cached_property
    def slope(self) -> float:
        r"""The largest gradient of the objective, or one where it is constant.

        .. math:: 2\|M - dI\|_2 + \|N\|_2 + \sum_i \|B_i\|_2
                  + 2 \max_k \|A_k - d_k I\|_2

        with d the smallest eigenvalues: multiples of the identity are constant where
        P'P = I. The unit of the residual, and the penalty above which rounds of
        `relaxation="sdp"` without constraints are exact.
        """
        low, high = self.quadratic_range
        out = 2.0 * (high - low) + float(np.linalg.norm(self.linear, 2))
        out += sum(float(np.linalg.norm(one, 2)) for one in self.l1[0])
        smallest, largest = self.forms.ranges()
        return out + 2.0 * float((largest - smallest).max(initial=0.0)) or 1.0

    # -- values ------------------------------------------------------------------------

    def read_point(self, name: str, P: ArrayLike) -> Array:
        """Return P as an array of the problem's shape, or raise an error naming it."""
        out = np.asarray(P, dtype=float)
        if out.shape != self.shape:
            raise InvalidInputError(
                f"{name} must have shape {self.shape}, got {out.shape}"
            )
        if not np.isfinite(out).all():
            row, column = (int(k) for k in np.argwhere(~np.isfinite(out))[0])
            raise InvalidInputError(
                f"{name} must be finite, got {out[row, column]} at row {row}, "
                f"column {column}"
            )
        return out

    def value(self, P: ArrayLike) -> float:
        """Return the objective at P."""
        P = self.read_point("P", P)
        out = self.smooth.value(P) + float(np.abs(self.residuals(P)).sum())
        return out + float(self.forms.values(P).max()) if len(self.forms) else out

    def gradient(self, P: Array) -> Array:
        """Return a gradient of the objective: of the first form that attains the max.

        Where a term under the absolute value is zero, its gradient is left out.
        """
        weights = np.zeros(len(self.forms))
        if len(weights):
            weights[int(np.argmax(self.forms.values(P)))] = 1.0
        no_prices = np.zeros(len(self.constraints))
        return self.lagrangian_gradient(
            P, weights, np.sign(self.residuals(P)), no_prices
        )

    def lagrangian_gradient(
        self, P: Array, weights: Array, signs: Array, prices: Array
    ) -> Array:
        """Return the gradient of the Lagrangian with the given multipliers.

        Parameters
        ----------
        P : array of shape (n, m)
        weights, signs, prices : array
            Of the forms under the maximum, of the absolute values and of the
            constraints.
        """
        out = self.smooth.gradient(P)
        if len(weights):
            out = out + 2.0 * self.forms.pull(weights, P)
        if len(signs):
            out = out + np.tensordot(signs, self.l1[0], 1)
        for price, one in zip(prices, self.constraints, strict=True):
            if price:
                out = out + price * one.gradient(P)
        return out

    def residuals(self, P: Array) -> Array:
        """Return <B_i, P> + b_i, the terms under the absolute values."""
        B, b = self.l1
        return np.tensordot(B, P, 2) + b

    def constraint_values(self, P: Array) -> Array:
        """Return f_k(P), at most zero where P is feasible."""
        return np.array([one.value(P) for one in self.constraints])

    def constraint_gradients(self, P: Array) -> Array:
        """Return the gradients of the constraints, of shape (p, n, m)."""
        gradients = [one.gradient(P) for one in self.constraints]
        return np.array(gradients).reshape(-1, *self.shape)

    def infeasibility(self, P: ArrayLike) -> float:
        """Return the largest of |P'P - I|, the constraint values, and -P."""
        P = self.read_point("P", P)
        signs = -float(P.min()) if self.nonnegative else 0.0
        return float(
            max(orthonormality(P), signs, self.constraint_values(P).max(initial=0.0))
        )

    # -- certificates ------------------------------------------------------------------

    def bound(self) -> float:
        """Return a number that is never above the value of any feasible P."""
        return self._bound

    @cached_property
    def _bound(self) -> float:
        return global_bound(self)

    def start(self) -> Array:
        """Return an orthonormal matrix, feasible or not."""
        if self.smooth.is_linear and self.linear.any():
            return polar(-self.linear)
        first = np.random.default_rng(0).standard_normal(self.shape)
        return polar(np.abs(first) if self.nonnegative else first)

    def stationarity(self, P: Array) -> Stationarity:
        """Return multipliers at P and the residual of the optimality conditions.

        The last answer is cached: a claim and its certificate are about one point.
        """
        key = P.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, stationarity(self, P)
        return self._last[1]

    _last: tuple[bytes, Stationarity] | None = None

    def certify(self, x: ArrayLike, hint: object = None) -> Certificate:
        """Compute the residual at x and the global bound."""
        P = self.read_point("P", x)
        return self._certificate(P, self.stationarity(P).residual, self.bound())

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Return the certificate of a Riemannian gradient, without a global bound."""
        return self._certificate(x, float(np.linalg.norm(gradient)))

    def claim(self, P: Array) -> Certificate:
        """Return the certificate without its global bound, which may take long."""
        return self._certificate(P, self.stationarity(P).residual)

    def unproved(self, P: Array) -> Certificate:
        """Return a certificate that never holds, of a point that is not the last."""
        return self._certificate(P, math.inf)

    def _certificate(
        self, P: Array, residual: float, bound: float = -math.inf
    ) -> Certificate:
        value = self.value(P)
        return Certificate(
            kind="stationarity",
            objective=value,
            bound=bound,
            gap=max(value - bound, 0.0),
            scale=self.slope,
            residual=residual,
            infeasibility=self.infeasibility(P),
        )


# -----------------------------------------------------------------------------
# Validation of the data of a problem.
# -----------------------------------------------------------------------------


def _finite(name: str, value: object, n_dimensions: int) -> SymmetricMatrix:
    """Return a dense or sparse array of finite numbers; None stays None."""
    if value is None:
        return None
    if sparse.issparse(value):
        out = sparse.csr_array(value, dtype=float)
    else:
        try:
            out = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise InvalidTypeError(f"{name} must hold numbers") from None
    if out.ndim != n_dimensions:
        raise InvalidInputError(
            f"{name} must have {n_dimensions} dimensions, got shape {out.shape}"
        )
    numbers = out.data if sparse.issparse(out) else out
    if not np.isfinite(numbers).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(numbers))[0])
        raise InvalidInputError(
            f"{name} must be finite, got {numbers[where]} at {where}"
        )
    return out


def _read_l1(
    value: tuple[ArrayLike, ArrayLike] | None,
) -> tuple[Array | None, Array]:
    """Return the matrices and the constants under the absolute values."""
    if value is None:
        return None, np.zeros(0)
    try:
        B, b = value
    except (TypeError, ValueError):
        raise InvalidTypeError("l1 must be a pair (B, b)") from None
    return _finite("l1", B, 3), _finite("l1", b, 1)


def _read_constraint(
    k: int, value: tuple[object, object, float]
) -> tuple[SymmetricMatrix, Array | None, float]:
    """Return M_k, N_k and c_k of one inequality."""
    name = f"constraints[{k}]"
    try:
        M, N, c = value
        constant = float(c)
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"{name} must be a triple (M, N, c) that ends with a number, got {value!r}"
        ) from None
    if M is None and N is None:
        raise InvalidInputError(f"{name} does not depend on P: both matrices are None")
    if not np.isfinite(constant):
        raise InvalidInputError(f"{name} must end with a finite number, got {constant}")
    return _finite(name, M, 2), _finite(f"{name} linear", N, 2), constant


def _read_shape(
    lengths: list[int], widths: list[int], n_columns: object
) -> tuple[int, int]:
    """Return n and m, from the lengths and widths of all arrays."""
    if not lengths:
        raise InvalidInputError(
            "quadratic, linear, maximum, l1 or a constraint must be given: nothing "
            "says how long the columns are"
        )
    if n_columns is None:
        if not widths:
            raise InvalidInputError("n_columns must be given where linear is None")
        n_columns = widths[0]
    if isinstance(n_columns, bool) or not isinstance(n_columns, int | np.integer):
        raise InvalidTypeError(f"n_columns must be an integer, got {n_columns!r}")
    n, m = int(lengths[0]), int(n_columns)
    if widths and widths[0] != m:
        raise InvalidInputError(f"n_columns is {m}, linear has {widths[0]} columns")
    if m < 1:
        raise InvalidInputError(f"n_columns must be at least 1, got {m}")
    if m > n:
        raise InvalidInputError(f"{m} columns of length {n} cannot be orthonormal")
    return n, m


def _shaped(name: str, value: SymmetricMatrix, shape: tuple[int, int]) -> Array:
    """Return a dense array of a shape, zeros for None."""
    if value is None:
        return np.zeros(shape)
    if value.shape != shape:
        raise InvalidInputError(f"{name} must have shape {shape}, got {value.shape}")
    return dense(value)


def _symmetric(M: SymmetricMatrix, n: int, name: str = "quadratic") -> SymmetricMatrix:
    """Return the symmetric part of a matrix of order n, sparse zeros for None."""
    if M is None:
        return sparse.csr_array((n, n))
    if M.shape != (n, n):
        raise InvalidInputError(f"{name} must have shape ({n}, {n}), got {M.shape}")
    M = (M + M.T) / 2.0
    return sparse.csr_array(M) if sparse.issparse(M) else M
