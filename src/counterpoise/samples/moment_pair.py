"""The second moments of two samples as a class of hypotheses sees them."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, eigvalsh

from counterpoise.convex.spectral.steps.lanczos import RitzPairs, kernel_ritz
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.hypotheses import FEW_COLUMNS, kernel_matrix

# Eigenvalues below this share of the largest are rounding.
NEGLIGIBLE = 1e-11
# Columns, and rows of a kernel, up to which all eigenvalues are computed.
MOST, MOST_ROWS = 4_000, 1_500
# Columns and steps of a Lanczos run, and eigenvalues of each end that it gives.
COLUMNS, STEPS, ENDS = 8, 20, 8
CONSTANT = "(constant)"


@dataclass(frozen=True, eq=False)
class DiscrepancySpectrum:
    """The difference of two second-moment operators by its eigenvalues.

    ``float`` of it is `value`.

    Attributes
    ----------
    eigenvalues : array
        All eigenvalues, the largest first; of a kernel those that are not zero, and of
        more than 1,500 rows (linear: and 4,000 columns) eight of each end.
    signed : tuple of float
        The largest and the smallest eigenvalue, zero where none has that sign. The
        first, positive, belongs to a direction in which the target varies more than the
        source: there a model extrapolates. The second, negative, to a direction in
        which the source has more than the target needs.
    value : float
        The largest absolute eigenvalue: the discrepancy.
    direction : array
        The worst direction, of norm one, its largest entry positive. Of the linear
        kernel an entry a column (of the encoded table, the constant last); of others
        the value of the function at every row, source rows first.
    ranking : tuple of (name or place, share)
        Linear: columns by their share of the squared direction, largest first; columns
        that encode one column of the table are taken together. Other kernels: places of
        rows, source rows first, by their share of the sum of squared values.
    p_value : float or None
        Chance of a discrepancy as large where nothing has shifted; None if no
        permutation was asked for.
    kernel, gamma : str, float
        The kernel, and the number used.
    """

    eigenvalues: Array = field(repr=False)
    signed: tuple[float, float]
    direction: Array = field(repr=False)
    ranking: tuple[tuple[Any, float], ...] = field(repr=False)
    p_value: float | None
    kernel: str
    gamma: float

    @property
    def value(self) -> float:
        """The largest absolute eigenvalue."""
        return max(self.signed[0], -self.signed[1])

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        chance = "" if self.p_value is None else f", p = {self.p_value:.3g}"
        top = self.ranking[:3]
        worst = ", ".join(f"{name} {share:.0%}" for name, share in top)
        if self.kernel != "linear":
            worst = f"rows {', '.join(str(place) for place, _ in top)}"
        return (
            f"discrepancy {self.value:.4g} (eigenvalues {self.signed[1]:.4g} to "
            f"{self.signed[0]:.4g}{chance}; worst direction: {worst})"
        )


@dataclass(frozen=True, eq=False)
class MomentPair:
    """Rows of both samples, source rows first, and the operators they add up to.

    For shares d of all rows, negative for the source, the operator is
    :math:`\\sum_i d_i \\phi(x_i) \\phi(x_i)'`.

    Attributes
    ----------
    hypotheses : Kernel
    rows : matrix of shape (q, d)
        Of the linear kernel with its column of ones.
    names : tuple
        Of the columns of `rows`; several may come from one column of a table.
    gram : array of shape (q, q) or None
        A precomputed kernel.
    """

    hypotheses: Kernel
    rows: Any
    names: tuple[str, ...]
    gram: Array | None = None

    @classmethod
    def of(
        cls,
        hypotheses: Kernel,
        source: Any,
        target: Any,
        names: tuple[str, ...],
        gram: Array | None = None,
    ) -> "MomentPair":
        """Return the pair of two samples, on columns as they are to be compared."""
        if sparse.issparse(source):
            rows: Any = sparse.vstack([source, target]).tocsr()
        else:
            rows = np.vstack([source, target])
        if hypotheses.kind == "linear" and hypotheses.constant:
            ones = np.ones((rows.shape[0], 1))
            if sparse.issparse(rows):
                rows = sparse.hstack([rows, ones]).tocsr()
            else:
                rows = np.hstack([rows, ones])
            names = (*names, CONSTANT)
        return cls(hypotheses, rows, names, gram)

    @property
    def by_columns(self) -> bool:
        """Whether the operator is a matrix of the columns."""
        if self.hypotheses.kind != "linear":
            return False
        most = FEW_COLUMNS if sparse.issparse(self.rows) else MOST
        return bool(self.rows.shape[1] <= min(self.rows.shape[0], most))

    @cached_property
    def kernel(self) -> Any:
        """The kernel of all rows."""
        # A linear kernel has its constant in the rows already.
        linear = self.hypotheses.kind == "linear"
        kind = Kernel("linear") if linear else self.hypotheses
        return kernel_matrix(kind, self.rows, self.gram)

    @cached_property
    def factor(self) -> Array:
        """F with FF' the kernel of all rows, from its eigenvectors; O(q^3)."""
        K = self.kernel.block(slice(None), slice(None))
        values, vectors = eigh(K, check_finite=False)
        kept = values > NEGLIGIBLE * max(float(values[-1]), 0.0)
        if not kept.any():
            return np.zeros((len(values), 1))
        return vectors[:, kept] * np.sqrt(values[kept])

    @cached_property
    def squares(self) -> Array:
        """The squared norm of every row."""
        if not self.by_columns:
            diagonal: Array = self.kernel.diagonal()
            return diagonal
        return np.asarray((self.rows * self.rows).sum(axis=1)).ravel()

    def norm(self, shares: Array) -> float:
        """Return the largest absolute eigenvalue; by Lanczos for many rows."""
        if not self._is_small:
            values = self._ritz(shares).values
        else:
            values = eigvalsh(self._operator(shares), check_finite=False)
        return float(max(values[-1], -values[0], 0.0))

    def spectrum(self, shares: Array) -> DiscrepancySpectrum:
        """Return eigenvalues, both ends and the worst direction."""
        if self._is_small:
            values, vectors = eigh(self._operator(shares), check_finite=False)
            worst = int(np.argmax(np.abs(values)))
            direction = self._seen(vectors[:, worst])
        else:
            ritz = self._ritz(shares)
            values = ritz.values
            worst = int(np.argmax(np.abs(values)))
            direction = ritz.images[:, worst]
            if self.hypotheses.kind == "linear":
                direction = self.rows.T @ ritz.coefficients[:, worst]
        signed = max(float(values[-1]), 0.0), min(float(values[0]), 0.0)
        if not self.by_columns:
            values = values[np.abs(values) > NEGLIGIBLE * np.abs(values[worst])]
        sign = 1.0 if direction[np.argmax(np.abs(direction))] >= 0 else -1.0
        return DiscrepancySpectrum(
            eigenvalues=values[::-1].copy(),
            signed=signed,
            direction=sign * direction,
            ranking=self._ranking(direction),
            p_value=None,
            kernel=str(self.hypotheses.kind),
            gamma=self.hypotheses.gamma,
        )

    @property
    def _is_small(self) -> bool:
        return self.by_columns or bool(self.rows.shape[0] <= MOST_ROWS)

    def _operator(self, shares: Array) -> Array:
        rows = self.rows if self.by_columns else self.factor
        if sparse.issparse(rows):
            return (rows.T @ (sparse.diags_array(shares) @ rows)).toarray()
        return rows.T @ (rows * shares[:, None])

    def _ritz(self, shares: Array) -> RitzPairs:
        start = np.random.default_rng(0).standard_normal((shares.size, COLUMNS))
        return kernel_ritz(
            self.kernel.product,
            shares,
            shares[:, None] * start,
            STEPS,
            ENDS,
            self.kernel.cut,
        )

    def _seen(self, vector: Array) -> Array:
        """Return a direction by columns, or its values at all rows."""
        if self.by_columns:
            return vector
        if self.hypotheses.kind != "linear":
            return self.factor @ vector
        # The coefficients a with u = sum a_i x_i: F'a is the vector, FF' the kernel.
        lengths = np.einsum("ij,ij->j", self.factor, self.factor)
        coefficients = self.factor @ (vector / np.where(lengths > 0, lengths, 1.0))
        return np.asarray(self.rows.T @ coefficients).ravel()

    def _ranking(self, direction: Array) -> tuple[tuple[Any, float], ...]:
        squares = direction**2
        total = max(float(squares.sum()), float(np.finfo(float).tiny))
        by_name = self.hypotheses.kind == "linear"
        names = self.names if by_name else range(squares.size)
        found: dict[Any, float] = {}
        for name, square in zip(names, squares.tolist(), strict=True):
            found[name] = found.get(name, 0.0) + square / total
        return tuple(sorted(found.items(), key=lambda item: -item[1]))
