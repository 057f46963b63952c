"""The hypotheses that a discrepancy compares two samples by: a kernel, a constant."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, eigvalsh

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel_products import (
    GaussianEntries,
    PolynomialEntries,
    StoredKernel,
    kept_kernel,
)
from counterpoise.numerics.kernels import rbf
from counterpoise.samples.median_width import median_gamma
from counterpoise.samples.ordering import canonical_order
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import check_choice, check_integer, check_number

KERNELS = ("linear", "rbf", "poly", "precomputed")
# Sparse tables with no more columns than this are made dense: they are no text.
FEW_COLUMNS = 500
# A kernel may differ from its transpose, and be indefinite, by this share of its size.
ASYMMETRY, INDEFINITE = 1e-8, 1e-9


@dataclass(frozen=True)
class Hypotheses:
    r"""The ball of functions :math:`\|h\|_K \le 1/2` of one kernel.

    Attributes
    ----------
    kernel : {"linear", "rbf", "poly", "precomputed"}
        :math:`x'y`, :math:`\exp(-\gamma |x - y|^2)`,
        :math:`(\gamma x'y + c_0)^{degree}`, or rows of a Gram matrix.
    gamma, degree, coef0 : float, int, float
        Numbers of the kernel.
    constant : bool
        Whether one is added to the kernel, which adds a constant to the functions.
    """

    kernel: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    constant: bool = False

    @classmethod
    def of(
        cls,
        samples: TwoSamples,
        kernel: str,
        gamma: float | str,
        degree: int,
        coef0: float,
        constant: bool,
    ) -> "Hypotheses":
        """Return the class with its numbers, "median" replaced by what it means."""
        number = 1.0 if isinstance(gamma, str) else float(gamma)
        if gamma == "median" and kernel in ("rbf", "poly"):
            number = pooled_gamma(samples)
        return cls(kernel, number, int(degree), float(coef0), bool(constant))

    def by_columns(self, samples: TwoSamples) -> bool:
        """Tell whether rows are best described by their columns, not by a kernel."""
        if self.kernel != "linear":
            return False
        return not sparse.issparse(samples.source) or (
            samples.source.shape[1] <= FEW_COLUMNS
        )

    def features(self, rows: Any) -> Array:
        """Return the rows of a linear kernel, dense, a column of ones added."""
        dense = rows.toarray() if sparse.issparse(rows) else rows
        if not self.constant:
            return dense
        return np.column_stack([dense, np.ones(dense.shape[0])])

    def gram(self, A: Any, B: Any) -> Array:
        """Return the kernel of every row of A with every row of B, not precomputed."""
        if self.kernel == "rbf":
            out = rbf(A, B, self.gamma)
        else:
            products = A @ B.T
            out = products.toarray() if sparse.issparse(products) else products
            if self.kernel == "poly":
                out = (self.gamma * out + self.coef0) ** self.degree
        if self.constant:
            out += 1.0
        return out

    def squares(self, rows: Any) -> Array:
        """Return the squared norm of every row, not precomputed."""
        if sparse.issparse(rows):
            out = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        else:
            out = np.einsum("ij,ij->i", rows, rows)
        if self.kernel == "rbf":
            out = np.ones(out.size)
        elif self.kernel == "poly":
            out = (self.gamma * out + self.coef0) ** self.degree
        return out + 1.0 if self.constant else out

    def matrix(self, rows: Any, gram: Array | None = None) -> Any:
        """Return the kernel of all rows, stored as exactly as memory allows.

        `gram` is it where it was precomputed, the constant included.
        """
        if gram is not None:
            return StoredKernel(gram)
        one = 1.0 if self.constant else 0.0
        if sparse.issparse(rows):
            return kept_kernel(_SparseEntries(self, rows.tocsr()))
        if self.kernel == "rbf":
            return kept_kernel(GaussianEntries(rows, self.gamma, one))
        if self.kernel == "poly":
            return kept_kernel(
                PolynomialEntries(rows, self.gamma, self.coef0, self.degree, one)
            )
        return kept_kernel(PolynomialEntries(rows, 1.0, 0.0, 1, one))


@dataclass(frozen=True, eq=False)
class _SparseEntries:
    """A kernel of sparse rows, which stay sparse, by its blocks."""

    hypotheses: Hypotheses
    rows: Any

    @property
    def size(self) -> int:
        return int(self.rows.shape[0])

    def block(self, rows: Any, columns: Any, dtype: Any = np.float64) -> Array:
        out = self.hypotheses.gram(self.rows[rows], self.rows[columns])
        return out.astype(dtype, copy=False)

    def diagonal(self) -> Array:
        return self.hypotheses.squares(self.rows)


def check_hypotheses(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> None:
    """Refuse a kernel that is none, or numbers that make it indefinite."""
    check_choice("kernel", kernel, KERNELS)
    check_number("gamma", gamma, low=0.0, closed="neither", options=("median",))
    check_integer("degree", degree, low=1)
    check_number("coef0", coef0)
    if kernel == "poly" and coef0 < 0.0:
        raise ValueError(
            "kernel 'poly' with a negative coef0 is not positive semidefinite, "
            f"got coef0 = {coef0:g}"
        )


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
        raise ValueError(
            "kernel 'precomputed' takes rows of the Gram matrix of all "
            f"{source.shape[0]} source and then all {target.shape[0]} target rows: X "
            f"and X_target must be dense and have {q} columns, got {source.shape[1]}"
        )
    gram = np.vstack([source, target])
    size = max(float(np.abs(gram).max()), 1e-300)
    apart = np.abs(gram - gram.T)
    if apart.max() > ASYMMETRY * size:
        i, j = np.unravel_index(int(np.argmax(apart)), gram.shape)
        raise ValueError(
            f"a precomputed kernel must be symmetric, got {gram[i, j]:g} in row {i}, "
            f"column {j} and {gram[j, i]:g} in row {j}, column {i}, the target's rows "
            "counted after the source's"
        )
    gram = 0.5 * (gram + gram.T)
    _check_definite(gram, INDEFINITE * q * size)
    return gram + 1.0 if constant else gram


def _check_definite(gram: Array, slack: float) -> None:
    raised = gram.copy()
    raised.flat[:: gram.shape[0] + 1] += slack
    try:
        cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        least = float(eigvalsh(gram, subset_by_index=(0, 0), check_finite=False)[0])
        raise ValueError(
            "a precomputed kernel must be positive semidefinite, its smallest "
            f"eigenvalue is {least:g}"
        ) from None
