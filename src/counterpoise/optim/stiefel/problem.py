"""Problems over orthonormal matrices: quadratic forms, reading, certificate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array
from counterpoise.linalg.stiefel import extreme_eigenvalues, orthonormality, polar
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.stiefel.certificates import (
    Stationarity,
    global_bound,
    stationarity,
)

# -----------------------------------------------------------------------------
# Several quadratic forms of one frame, <A_k, PP'>, stored whole or as vectors.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# What a user gives as a problem over frames, read once.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Constraint:
    """One inequality <M, PP'> + <N, P> + c <= 0.

    Parameters
    ----------
    quadratic : matrix of shape (n, n) or None
        M, symmetric.
    linear : matrix of shape (n, m) or None
        N.
    constant : float
        c.
    """

    quadratic: Any
    linear: Array | None
    constant: float

    def value(self, P: Array) -> float:
        """Return the left side at P."""
        out = self.constant
        if self.quadratic is not None:
            out += float(np.sum(P * (self.quadratic @ P)))
        if self.linear is not None:
            out += float(np.sum(self.linear * P))
        return out

    def gradient(self, P: Array) -> Array:
        """Return 2 M P + N."""
        out = np.zeros_like(P)
        if self.quadratic is not None:
            out = out + 2.0 * np.asarray(self.quadratic @ P)
        return out if self.linear is None else out + self.linear


def read_shape(
    quadratic: Any,
    linear: Any,
    n_columns: Any,
    maximum: Any,
    l1: Any,
    constraints: list[Any],
) -> tuple[int, int]:
    """Return n and m, or refuse what says too little or contradicts itself."""
    n, m = None, None
    for name, part, axis in _parts(quadratic, linear, maximum, l1, constraints):
        shape = part.shape
        if len(shape) != axis + 2 and not (axis == 1 and name == "maximum"):
            raise InvalidInputError(
                f"{name} must have {axis + 2} dimensions, got shape {shape}"
            )
        n = int(shape[axis]) if n is None else n
        if name.endswith("linear") or name == "l1":
            m = int(shape[-1]) if m is None else m
    if n is None:
        raise InvalidInputError(
            "quadratic, linear, maximum, l1 or a constraint must be given: nothing "
            "says how long the columns are"
        )
    if n_columns is not None:
        if isinstance(n_columns, bool) or not isinstance(n_columns, int | np.integer):
            raise InvalidTypeError(f"n_columns must be an integer, got {n_columns!r}")
        if m is not None and n_columns != m:
            raise InvalidInputError(f"n_columns is {n_columns}, linear has {m} columns")
        m = int(n_columns)
    if m is None:
        raise InvalidInputError("n_columns must be given where linear is None")
    if m < 1:
        raise InvalidInputError(f"n_columns must be at least 1, got {m}")
    if m > n:
        raise InvalidInputError(f"{m} columns of length {n} cannot be orthonormal")
    return n, m


def _parts(
    quadratic: Any, linear: Any, maximum: Any, l1: Any, constraints: list[Any]
) -> list[tuple[str, Any, int]]:
    """Return the arrays given, each with its name and the axis of length n."""
    out: list[tuple[str, Any, int]] = []
    if quadratic is not None:
        out.append(("quadratic", _array("quadratic", quadratic), 0))
    if linear is not None:
        out.append(("linear", _array("linear", linear), 0))
    if maximum is not None:
        kept = isinstance(maximum, DenseForms | RankOneForms)
        stack = maximum.stack if isinstance(maximum, DenseForms) else maximum
        stack = maximum.vectors if isinstance(maximum, RankOneForms) else stack
        out.append(("maximum", stack if kept else _array("maximum", maximum), 1))
    if l1 is not None:
        out.append(("l1", _pair(l1)[0], 1))
    for k, one in enumerate(constraints):
        M, N, _ = _triple(k, one)
        if M is not None:
            out.append((f"constraints[{k}]", _array(f"constraints[{k}]", M), 0))
        if N is not None:
            name = f"constraints[{k}] linear"
            out.append((name, _array(name, N), 0))
    return out


def read_quadratic(name: str, value: Any, n: int) -> Any:
    """Return a symmetric matrix of order n, None for none and for zero."""
    if value is None:
        return None
    out = _array(name, value)
    if out.shape != (n, n):
        raise InvalidInputError(f"{name} must have shape ({n}, {n}), got {out.shape}")
    out = (out + out.T) / 2.0
    if sparse.issparse(out):
        return sparse.csr_array(out)
    return out


def read_linear(name: str, value: Any, n: int, m: int) -> Array | None:
    """Return a matrix of shape (n, m)."""
    if value is None:
        return None
    out = _array(name, value)
    out = out.toarray() if sparse.issparse(out) else out
    if out.shape != (n, m):
        raise InvalidInputError(f"{name} must have shape ({n}, {m}), got {out.shape}")
    return out


def read_maximum(value: Any, n: int) -> Forms | None:
    """Return the forms under the maximum."""
    if value is None:
        return None
    if isinstance(value, DenseForms | RankOneForms):
        forms: Forms = value
    else:
        stack = _array("maximum", value)
        if stack.ndim != 3 or stack.shape[1] != stack.shape[2]:
            raise InvalidInputError(
                f"maximum must have shape (K, {n}, {n}), got {stack.shape}"
            )
        forms = DenseForms((stack + np.swapaxes(stack, 1, 2)) / 2.0)
    if forms.count == 0 or forms.order != n:
        raise InvalidInputError(
            f"maximum must hold matrices of order {n}, got {forms.count} of order "
            f"{forms.order}"
        )
    return forms


def read_l1(value: Any, n: int, m: int) -> tuple[Array, Array] | None:
    """Return the matrices and the constants under the absolute values."""
    if value is None:
        return None
    B, b = _pair(value)
    if B.shape[1:] != (n, m) or b.shape != B.shape[:1]:
        raise InvalidInputError(
            f"l1 must be a pair of shapes (q, {n}, {m}) and (q,), got {B.shape} and "
            f"{b.shape}"
        )
    return (B, b) if len(b) else None


def read_constraint(k: int, value: Any, n: int, m: int) -> Constraint:
    """Return one inequality."""
    M, N, c = _triple(k, value)
    name = f"constraints[{k}]"
    if M is None and N is None:
        raise InvalidInputError(f"{name} says nothing of P: both its matrices are None")
    try:
        constant = float(c)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"{name} must end with a number, got {c!r}") from None
    if not np.isfinite(constant):
        raise InvalidInputError(f"{name} must end with a finite number, got {constant}")
    return Constraint(
        read_quadratic(name, M, n), read_linear(f"{name} linear", N, n, m), constant
    )


def _triple(k: int, value: Any) -> tuple[Any, Any, Any]:
    try:
        M, N, c = value
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"constraints[{k}] must be a triple (M, N, c), got {value!r}"
        ) from None
    return M, N, c


def _pair(value: Any) -> tuple[Array, Array]:
    try:
        B, b = value
    except (TypeError, ValueError):
        raise InvalidTypeError("l1 must be a pair (B, b)") from None
    return _array("l1", B), _array("l1", b)


def _array(name: str, value: Any) -> Any:
    """Return a dense or sparse array of finite numbers."""
    if sparse.issparse(value):
        out = sparse.csr_array(value, dtype=float)
        numbers = out.data
    else:
        try:
            out = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise InvalidTypeError(f"{name} must hold numbers") from None
        numbers = out
    if not np.isfinite(numbers).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(numbers))[0])
        raise InvalidInputError(
            f"{name} must be finite, got {numbers[where]} at {where}"
        )
    return out


# -----------------------------------------------------------------------------
# Quadratic problems over matrices with orthonormal columns, and their proof.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, init=False)
class OrthogonalProblem:
    r"""Minimise a quadratic, linear and piecewise function of a frame.

    .. math::

        \min_{P'P = I}\ \langle M, PP'\rangle + \langle N, P\rangle
        + \max_k \langle A_k, PP'\rangle + \sum_i |\langle B_i, P\rangle + b_i|

    over P of shape (n, m), subject to
    :math:`\langle M_k, PP'\rangle + \langle N_k, P\rangle + c_k \le 0` and, if asked
    for, :math:`P \ge 0`. No matrix need be definite; all are made symmetric, since only
    that part counts.

    Parameters
    ----------
    quadratic : matrix of shape (n, n), dense or sparse, or None
        M.
    linear : matrix of shape (n, m) or None
        N.
    n_columns : int, optional
        m, where nothing else says it.
    maximum : array of shape (K, n, n) or None
        The matrices A_k.
    l1 : pair (B, b) or None
        Of shapes (q, n, m) and (q,).
    constraints : sequence of triples (M_k, N_k, c_k)
        None in place of a matrix: zero.
    nonnegative : bool
        Whether P >= 0 as well.

    Notes
    -----
    The problem is not convex, so a certificate is of kind "stationarity": it holds by
    its residual, the least over multipliers of

    .. math::

        \|\mathrm{grad}\, \mathcal{L}\|_F + \sum_k w_k (\max_l a_l - a_k)
        + \sum_i (|r_i| - s_i r_i) + \sum_k \lambda_k |f_k| + \langle \nu, |P|\rangle

    (the Lagrangian's gradient along the frames, and what complementarity lacks), in
    units of `slope`. Multipliers come from a small conic programme; any that are found
    bound the least. `bound` and `gap` are the global ones, of the Fantope relaxation

    .. math:: \langle M, X\rangle + \langle N, P\rangle + \ldots,\quad
              PP' \preceq X \preceq I,\ \mathrm{tr} X = m

    while n + m <= 60 (3 GB at n = 100), and beyond that of the terms. They are
    evaluated at a dual point, so that no rounding of a solver makes them untrue. With
    P >= 0 every frame whose columns are optimal on their supports is stationary: rows
    change columns by a jump only.

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

    quadratic: Any
    linear: Array | None
    n_columns: int
    maximum: Forms | None
    l1: tuple[Array, Array] | None
    constraints: tuple[Constraint, ...]
    nonnegative: bool
    shape: tuple[int, int]
    # Of a point, for the loop's check of a start.
    point_dimensions: ClassVar[int] = 2

    def __init__(
        self,
        quadratic: Any = None,
        linear: Any = None,
        *,
        n_columns: int | None = None,
        maximum: Any = None,
        l1: Any = None,
        constraints: Sequence[Any] = (),
        nonnegative: bool = False,
    ) -> None:
        given = list(constraints)
        n, m = read_shape(quadratic, linear, n_columns, maximum, l1, given)
        put = {
            "quadratic": read_quadratic("quadratic", quadratic, n),
            "linear": read_linear("linear", linear, n, m),
            "n_columns": m,
            "maximum": read_maximum(maximum, n),
            "l1": read_l1(l1, n, m),
            "constraints": tuple(
                read_constraint(k, one, n, m) for k, one in enumerate(given)
            ),
            "nonnegative": bool(nonnegative),
            "shape": (n, m),
        }
        for name, value in put.items():
            object.__setattr__(self, name, value)

    # -- what the problem is -----------------------------------------------------------

    @property
    def objective(self) -> "OrthogonalProblem":
        """The problem itself: its value and one of its gradients."""
        return self

    @property
    def forms(self) -> Forms | None:
        """The forms under the maximum."""
        return self.maximum

    @property
    def is_smooth(self) -> bool:
        """Whether there is neither a maximum nor a sum of absolute values."""
        return self.maximum is None and self.l1 is None

    @property
    def is_free(self) -> bool:
        """Whether nothing but P'P = I is asked of P."""
        return not self.constraints and not self.nonnegative

    @property
    def sees_only_the_span(self) -> bool:
        """Whether P enters through PP' alone."""
        return (
            self.linear is None
            and self.l1 is None
            and not self.nonnegative
            and all(one.linear is None for one in self.constraints)
        )

    @property
    def has_one_term(self) -> bool:
        """Whether only one of the quadratic and the linear term varies over frames."""
        low, high = self.quadratic_range
        constant = high - low <= 1e-12 * max(abs(low), abs(high))
        return self.linear is None or not self.linear.any() or constant

    @cached_property
    def quadratic_range(self) -> tuple[float, float]:
        """The least and the largest eigenvalue of M, zero without one."""
        if self.quadratic is None:
            return 0.0, 0.0
        return extreme_eigenvalues(self.quadratic)

    @cached_property
    def slope(self) -> float:
        r"""The largest gradient of the objective, or one where it is constant.

        .. math:: 2\|M - dI\|_2 + \|N\|_2 + \sum_i \|B_i\|_2
                  + 2 \max_k \|A_k - d_k I\|_2

        with d the least eigenvalues: multiples of the identity count for nothing over
        the frames. The unit of the residual, and the penalty above which rounds of
        `relaxation="sdp"` without constraints end on a frame.
        """
        low, high = self.quadratic_range
        out = 2.0 * (high - low)
        if self.linear is not None:
            out += float(np.linalg.norm(self.linear, 2))
        if self.l1 is not None:
            out += sum(float(np.linalg.norm(one, 2)) for one in self.l1[0])
        if self.forms is not None:
            least, largest = self.forms.ranges()
            out += 2.0 * float((largest - least).max())
        return out or 1.0

    # -- values ------------------------------------------------------------------------

    def read_frame(self, name: str, P: Any) -> Array:
        """Return P as an array of the problem's shape, or refuse it by name."""
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

    def value(self, P: Array) -> float:
        """Return the objective at P."""
        P = self.read_frame("P", P)
        out = 0.0
        if self.quadratic is not None:
            out += float(np.sum(P * (self.quadratic @ P)))
        if self.linear is not None:
            out += float(np.sum(self.linear * P))
        if self.forms is not None:
            out += float(self.forms.values(P).max())
        if self.l1 is not None:
            out += float(np.abs(self.residuals(P)).sum())
        return out

    def gradient(self, P: Array) -> Array:
        """Return a gradient of the objective: of the first form that attains the max.

        Where a term under the absolute value is zero, its gradient is left out.
        """
        out = self.smooth_gradient(P)
        if self.forms is not None:
            largest = np.array([int(np.argmax(self.forms.values(P)))])
            out = out + 2.0 * self.forms.images(P, largest)[0]
        if self.l1 is not None:
            out = out + np.tensordot(np.sign(self.residuals(P)), self.l1[0], 1)
        return out

    def smooth_gradient(self, P: Array) -> Array:
        """Return 2 M P + N."""
        out = np.zeros_like(P)
        if self.quadratic is not None:
            out = out + 2.0 * np.asarray(self.quadratic @ P)
        return out if self.linear is None else out + self.linear

    def residuals(self, P: Array) -> Array:
        """Return <B_i, P> + b_i, what stands under the absolute values."""
        assert self.l1 is not None
        return np.tensordot(self.l1[0], P, 2) + self.l1[1]

    def constraint_values(self, P: Array) -> Array:
        """Return f_k(P), at most zero where P is feasible."""
        return np.array([one.value(P) for one in self.constraints])

    def infeasibility(self, P: Array) -> float:
        """Return the largest of |P'P - I|, what exceeds a constraint, and -P."""
        P = self.read_frame("P", P)
        found = [orthonormality(P)]
        if self.constraints:
            found.append(float(self.constraint_values(P).max()))
        if self.nonnegative:
            found.append(-float(P.min()))
        return max(*found, 0.0)

    # -- proofs ------------------------------------------------------------------------

    def bound(self) -> float:
        """Return a number that is never above the value of any feasible P."""
        return self._bound

    @cached_property
    def _bound(self) -> float:
        return global_bound(self)

    def start(self) -> Array:
        """Return a frame, feasible or not: that of the smallest eigenvalues of M."""
        n, m = self.shape
        if self.quadratic is None and self.linear is not None:
            return polar(-self.linear)
        first = np.random.default_rng(0).standard_normal((n, m))
        return polar(np.abs(first) if self.nonnegative else first)

    def stationarity(self, P: Array) -> Stationarity:
        """Return multipliers at P and what the optimality conditions lack by them.

        The last answer is kept: a claim and its proof are about one frame.
        """
        key = P.tobytes()
        if key not in self._last:
            found = stationarity(self, P)
            self._last.clear()
            self._last[key] = found
        return self._last[key]

    @cached_property
    def _last(self) -> dict[bytes, Stationarity]:
        return {}

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Say how far x is from stationary, and bound how far from optimal."""
        P = self.read_frame("P", x)
        residual = self.stationarity(P).residual
        return self._proof(P, self.value(P), residual, self.bound())

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient of the Lagrangian along the frames prove.

        The global bound is left out, which may take long.
        """
        return self._proof(x, value, float(np.linalg.norm(gradient)), -math.inf)

    def unproved(self, P: Array) -> Certificate:
        """Return a certificate that never holds, of a frame that is not the end."""
        return self._proof(P, self.value(P), math.inf, -math.inf)

    def claim(self, P: Array) -> Certificate:
        """Return the certificate without its global bound."""
        return self._proof(P, self.value(P), self.stationarity(P).residual, -math.inf)

    def _proof(
        self, P: Array, value: float, residual: float, bound: float
    ) -> Certificate:
        return Certificate(
            kind="stationarity",
            objective=value,
            bound=bound,
            gap=max(value - bound, 0.0),
            scale=self.slope,
            residual=residual,
            infeasibility=self.infeasibility(P),
        )
