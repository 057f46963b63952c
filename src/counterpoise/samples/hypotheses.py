"""The hypotheses that a discrepancy compares two samples by: a kernel, a constant."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import (
    KERNELS,
    Kernel,
    check_definite,
    refuse_indefinite,
)
from counterpoise.numerics.kernel_matrices import (
    KernelMatrix,
    StoredMatrix,
    kept_matrix,
)
from counterpoise.samples.median_width import median_gamma
from counterpoise.samples.ordering import canonical_order
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import InvalidInput
from counterpoise.validation.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    check_parameters,
)

# Sparse tables with no more columns than this are made dense: they are no text.
DENSE_COLUMNS = 500
# A kernel may differ from its transpose, and be indefinite, by this share of its size.
KERNEL_ASYMMETRY, KERNEL_INDEFINITE = 1e-8, 1e-9
# What the parameters of a kernel may be; `refuse_indefinite` looks at them together.
HYPOTHESES_RULES: Mapping[str, Rule] = {
    "kernel": Choice(KERNELS),
    "gamma": Number(0.0, closed="neither", options=("median",)),
    "degree": Integer(1),
    "coef0": Number(),
}


def hypotheses(
    samples: TwoSamples,
    kernel: str,
    gamma: float | str,
    degree: int,
    coef0: float,
    constant: bool,
) -> Kernel:
    r"""Return the kernel of a ball of functions :math:`\|h\|_K \le 1/2`.

    "median" is replaced by what it means for the two samples; `constant` adds one to
    the kernel, which adds a constant to the functions.
    """
    number = 1.0 if isinstance(gamma, str) else float(gamma)
    if gamma == "median" and kernel in ("rbf", "poly"):
        number = pooled_gamma(samples)
    return Kernel(kernel, number, int(degree), float(coef0), float(bool(constant)))


def kernel_matrix(kernel: Kernel, rows: Any, gram: Array | None = None) -> KernelMatrix:
    """Return the kernel of all rows, stored as exactly as memory allows.

    `gram` is it where it was precomputed, the constant included.
    """
    return StoredMatrix(gram) if gram is not None else kept_matrix(kernel.entries(rows))


def check_hypotheses(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> None:
    """Refuse a kernel that is none, or numbers that make it indefinite."""
    given = SimpleNamespace(kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
    check_parameters(given, HYPOTHESES_RULES)
    refuse_indefinite(kernel, coef0)


def pooled_gamma(samples: TwoSamples) -> float:
    r"""Return :math:`1 / (2 \sigma^2)` at the median distance of all rows together.

    Each sample counts half; the order of the rows does not matter.
    """
    both = [samples.source, samples.target]
    if sparse.issparse(samples.source):
        rows: Any = sparse.vstack(both).tocsr()
    else:
        rows = np.vstack(both)
    share = np.concatenate([samples.source_share, samples.target_share])
    order = canonical_order(rows, share)
    return median_gamma(rows[order], share[order])


def precomputed_gram(source: Array, target: Array, constant: bool) -> Array:
    """Return the Gram matrix of source then target rows, once it is found to be one."""
    q = source.shape[0] + target.shape[0]
    if sparse.issparse(source) or source.shape[1] != q:
        raise InvalidInput(
            "kernel 'precomputed' takes rows of the Gram matrix of all "
            f"{source.shape[0]} source and then all {target.shape[0]} target rows: X "
            f"and X_target must be dense and have {q} columns, got {source.shape[1]}"
        )
    gram = np.vstack([source, target])
    size = max(float(np.abs(gram).max()), 1e-300)
    apart = np.abs(gram - gram.T)
    if apart.max() > KERNEL_ASYMMETRY * size:
        i, j = np.unravel_index(int(np.argmax(apart)), gram.shape)
        raise InvalidInput(
            f"a precomputed kernel must be symmetric, got {gram[i, j]:g} in row {i}, "
            f"column {j} and {gram[j, i]:g} in row {j}, column {i}, the target's rows "
            "counted after the source's"
        )
    gram = 0.5 * (gram + gram.T)
    check_definite(gram, KERNEL_INDEFINITE * q * size)
    return gram + 1.0 if constant else gram
