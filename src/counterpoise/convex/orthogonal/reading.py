"""What a user gives as a problem over frames, read once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.orthogonal.forms import DenseForms, Forms, RankOneForms
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.refusals import InvalidInput, InvalidType


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
            raise InvalidInput(
                f"{name} must have {axis + 2} dimensions, got shape {shape}"
            )
        n = int(shape[axis]) if n is None else n
        if name.endswith("linear") or name == "l1":
            m = int(shape[-1]) if m is None else m
    if n is None:
        raise InvalidInput(
            "quadratic, linear, maximum, l1 or a constraint must be given: nothing "
            "says how long the columns are"
        )
    if n_columns is not None:
        if isinstance(n_columns, bool) or not isinstance(n_columns, int | np.integer):
            raise InvalidType(f"n_columns must be an integer, got {n_columns!r}")
        if m is not None and n_columns != m:
            raise InvalidInput(f"n_columns is {n_columns}, linear has {m} columns")
        m = int(n_columns)
    if m is None:
        raise InvalidInput("n_columns must be given where linear is None")
    if m < 1:
        raise InvalidInput(f"n_columns must be at least 1, got {m}")
    if m > n:
        raise InvalidInput(f"{m} columns of length {n} cannot be orthonormal")
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
        raise InvalidInput(f"{name} must have shape ({n}, {n}), got {out.shape}")
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
        raise InvalidInput(f"{name} must have shape ({n}, {m}), got {out.shape}")
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
            raise InvalidInput(
                f"maximum must have shape (K, {n}, {n}), got {stack.shape}"
            )
        forms = DenseForms((stack + np.swapaxes(stack, 1, 2)) / 2.0)
    if forms.count == 0 or forms.order != n:
        raise InvalidInput(
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
        raise InvalidInput(
            f"l1 must be a pair of shapes (q, {n}, {m}) and (q,), got {B.shape} and "
            f"{b.shape}"
        )
    return (B, b) if len(b) else None


def read_constraint(k: int, value: Any, n: int, m: int) -> Constraint:
    """Return one inequality."""
    M, N, c = _triple(k, value)
    name = f"constraints[{k}]"
    if M is None and N is None:
        raise InvalidInput(f"{name} says nothing of P: both its matrices are None")
    try:
        constant = float(c)
    except (TypeError, ValueError):
        raise InvalidType(f"{name} must end with a number, got {c!r}") from None
    if not np.isfinite(constant):
        raise InvalidInput(f"{name} must end with a finite number, got {constant}")
    return Constraint(
        read_quadratic(name, M, n), read_linear(f"{name} linear", N, n, m), constant
    )


def _triple(k: int, value: Any) -> tuple[Any, Any, Any]:
    try:
        M, N, c = value
    except (TypeError, ValueError):
        raise InvalidType(
            f"constraints[{k}] must be a triple (M, N, c), got {value!r}"
        ) from None
    return M, N, c


def _pair(value: Any) -> tuple[Array, Array]:
    try:
        B, b = value
    except (TypeError, ValueError):
        raise InvalidType("l1 must be a pair (B, b)") from None
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
            raise InvalidType(f"{name} must hold numbers") from None
        numbers = out
    if not np.isfinite(numbers).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(numbers))[0])
        raise InvalidInput(f"{name} must be finite, got {numbers[where]} at {where}")
    return out
