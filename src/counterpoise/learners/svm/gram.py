"""The kernel that a machine's parameters name, and the rows of its Gram matrix."""

from typing import Any

from counterpoise.convex.quadratic_path import DenseRows, KernelRows, RowsOnDemand
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import (
    Kernel,
    auto_gamma,
    refuse_indefinite,
    scale_gamma,
)
from counterpoise.validation import InvalidInput, check_integer, check_number

NAMES = ("linear", "poly", "rbf", "precomputed")


def named_kernel(
    kind: Any, gamma: Any, degree: Any, coef0: Any, X: Array, weights: Array
) -> Kernel:
    """Return the kernel that an estimator's parameters name."""
    if callable(kind):
        return Kernel(kind)
    if kind == "sigmoid":
        raise InvalidInput(
            "kernel 'sigmoid' is not positive semidefinite: no exact path exists"
        )
    if not isinstance(kind, str) or kind not in NAMES:
        words = ", ".join(map(repr, NAMES))
        raise InvalidInput(f"kernel must be one of {words} or a callable, got {kind}")
    degree = check_integer("degree", degree, low=0)
    number = check_number("coef0", coef0)
    refuse_indefinite(kind, number)
    return Kernel(kind, _width(gamma, X, weights), degree, number)


def _width(gamma: Any, X: Array, weights: Array) -> float:
    value = check_number(
        "gamma", gamma, low=0, closed="neither", options=["scale", "auto"]
    )
    if isinstance(value, float):
        return value
    return auto_gamma(X) if value == "auto" else scale_gamma(X, weights)


def gram_rows(kernel: Kernel, X: Array, n_bytes: float) -> KernelRows:
    """Return the rows of the Gram matrix: in memory if they fit, else on demand."""
    if kernel.kind == "precomputed":
        return DenseRows(X)
    if callable(kernel.kind):
        K = kernel.matrix(X, X)
        return DenseRows(0.5 * (K + K.T))
    if 8.0 * len(X) ** 2 <= n_bytes:
        return DenseRows(kernel.matrix(X, X))
    return RowsOnDemand(kernel.rows_of(X), kernel.diagonal(X), int(n_bytes))
