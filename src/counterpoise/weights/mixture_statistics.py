"""Statistics of rows for log-linear ratios: the columns, their squares, products."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.quantiles import column_limits
from counterpoise.validation import Matrix


@dataclass(frozen=True, eq=False)
class Standardization:
    """Which statistics of a row there are, and how they are cut, centred and scaled.

    `limits` is None for sparse rows, which are left as they are.
    """

    family: str
    limits: tuple[Array, Array] | None
    center: Array
    offset: Array
    factor: Array

    @classmethod
    def of(cls, samples: TwoSamples, family: str) -> "Standardization":
        """Return the standardisation by means and scales of both samples alike."""
        d = samples.source.shape[1]
        if sparse.issparse(samples.source):
            return cls(family, None, np.zeros(d), np.zeros(d), np.ones(d))
        both = [
            (samples.source, samples.source_share),
            (samples.target, samples.target_share),
        ]
        limits = column_limits(both)
        center = np.asarray(0.5 * sum(q @ np.clip(X, *limits) for X, q in both))
        return cls.by_means(
            family, limits, center, lambda raw: [raw.raw_means(X, q) for X, q in both]
        )

    @classmethod
    def by_means(
        cls,
        family: str,
        limits: tuple[Array, Array],
        center: Array,
        means_of: Callable[["Standardization"], list[Any]],
    ) -> "Standardization":
        """Return the standardisation, given how `raw_means` of both samples are had."""
        d = center.size
        if family == "linear":
            return cls(family, limits, center, np.zeros(d), np.ones(d))
        found = means_of(cls(family, limits, center, np.zeros(1), np.ones(1)))
        means, squares = ([np.asarray(one[k]) for one in found] for k in (0, 1))
        middle = 0.5 * (means[0] + means[1])
        return cls(family, limits, center, middle, _factor(means, squares))

    def statistics(self, X: Matrix) -> Any:
        """Return the statistics of rows: an array, or something that acts like one."""
        if self.limits is None:
            return X
        Z = np.clip(X, *self.limits) - self.center
        if self.family == "full":
            return PairProducts(Z, self.offset, self.factor)
        if self.family == "diag":
            Z = np.hstack([Z, Z * Z])
        return (Z - self.offset) * self.factor

    def raw_means(self, X: Array, share: Array) -> tuple[Array, Array]:
        """Return the means of the unscaled statistics of rows, and of their squares."""
        assert self.limits is not None
        cut = np.clip(X, *self.limits)
        return self._raw_mean(cut, share, 1), self._raw_mean(cut, share, 2)

    def _raw_mean(self, X: Array, share: Array, power: int) -> Array:
        Z = (X - self.center) ** power
        if self.family == "diag":
            return np.concatenate([share @ Z, share @ (Z * Z)])
        p = Z.shape[1] * (Z.shape[1] + 3) // 2
        return share @ PairProducts(Z, np.zeros(p), np.ones(p))


class PairProducts:
    """The columns of Z and all products of two of them, standardised, unwritten.

    Products with a vector from either side cost O(n d^2) time and O(n d) memory.
    """

    # An array on the left leaves the product to this class.
    __array_ufunc__ = None

    def __init__(self, Z: Array, offset: Array, factor: Array) -> None:
        self.Z, self.offset, self.factor = Z, offset, factor
        n, d = Z.shape
        self.shape = (n, d * (d + 3) // 2)

    def __matmul__(self, v: Array) -> Array:
        d = self.Z.shape[1]
        scaled = v * self.factor
        products = np.zeros((d, d))
        products[np.triu_indices(d)] = scaled[d:]
        quadratic = np.einsum("ij,ij->i", self.Z @ products, self.Z)
        return self.Z @ scaled[:d] + quadratic - float(self.offset @ scaled)

    def __rmatmul__(self, q: Array) -> Array:
        d = self.Z.shape[1]
        moments = self.Z.T @ (q[:, None] * self.Z)
        raw = np.concatenate([q @ self.Z, moments[np.triu_indices(d)]])
        return (raw - q.sum() * self.offset) * self.factor

    def __getitem__(self, rows: Any) -> Array:
        Z = self.Z[rows]
        i, j = np.triu_indices(Z.shape[1])
        return (np.hstack([Z, Z[:, i] * Z[:, j]]) - self.offset) * self.factor


def _factor(means: list[Array], squares: list[Array]) -> Array:
    """Return one over the pooled scale of statistics, zero for what never varies."""
    size = np.sqrt(0.5 * sum(squares))
    variances = [s - m * m for s, m in zip(squares, means, strict=True)]
    scale = np.sqrt(np.maximum(0.5 * sum(variances), 0.0))
    apart = np.abs(means[0] - means[1])
    # What rounding makes of the variance of a constant is not a scale.
    constant = scale <= 1e-7 * size
    scale = np.where(constant, np.where(apart > 1e-6 * size, 1e-3 * apart, 0.0), scale)
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
