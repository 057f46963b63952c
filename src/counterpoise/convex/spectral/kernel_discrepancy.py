"""The discrepancy of two samples seen through a kernel."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.spectral.discrepancy import (
    MOST_EXTREME,
    NEAR_THE_NORM,
    TRUNCATIONS,
    Discrepancy,
    DualMatrix,
    SpectralNorm,
)
from counterpoise.convex.spectral.kernel_proofs import (
    exact_images,
    norm_is_below,
    orthonormal_features,
)
from counterpoise.convex.spectral.steps.lanczos import RitzPairs, kernel_ritz
from counterpoise.numerics.arrays import Array, finite_array
from counterpoise.numerics.kernel_matrices import EXACT_CUT, StoredMatrix

# Rows up to which the norm is a full eigenvalue computation.
EXACT_NORM_ROWS = 600
# Columns and steps of a Lanczos run, and pairs of each end that it returns.
LANCZOS_COLUMNS, LANCZOS_STEPS, LANCZOS_PAIRS = 8, 8, 8
# Shares by which the Lanczos value may have to be raised for its proof.
MARGINS = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Rows of a sample up to which the norm is proved.
MOST_PROVED = 16_000
# What Cholesky factors can tell from zero, as a share of the largest kernel value.
PROVABLE = 1e-10
# Eigenvalues of a kernel below this share of the largest are rounding.
RANK = 1e-11


@dataclass(frozen=True, eq=False)
class KernelDiscrepancy(SpectralNorm):
    r"""The problem of `Discrepancy` for rows that are known by a kernel.

    .. math:: \min_z \left\|\sum_j P_j \phi(t_j)\phi(t_j)'
              - \sum_i z_i \phi(x_i)\phi(x_i)'\right\|_2

    The nonzero eigenvalues are those of :math:`K^{1/2} D K^{1/2}`,
    :math:`D = diag(-z, P)`, K the kernel of the source rows and then the target rows. A
    dual matrix on a basis :math:`V = \Phi C` bounds the whole problem below with no
    error term; the norm is proved by Cholesky factors (`norm_is_below`). Both are
    computed in double precision from the kernel's entries, whatever the solver used.

    Parameters
    ----------
    kernel : array of shape (q, q) or Kernel
        Positive semidefinite; source rows first.
    target_share : array of shape (n,)
        P.
    cap, spread, reference
        As for `Discrepancy`.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0], [3.0], [2.0]])
    >>> problem = KernelDiscrepancy(rows @ rows.T, np.ones(1))
    >>> round(problem.norm(np.array([0.5, 0.5])), 6)
    1.0
    """

    kernel: Any
    target_share: Array
    cap: float | None = None
    spread: float = 0.0
    reference: float | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.kernel, "product"):
            object.__setattr__(self, "kernel", StoredMatrix(self.kernel))
        share = finite_array("target_share", self.target_share, 1)
        object.__setattr__(self, "target_share", share)
        if not share.min() >= 0.0:
            raise ValueError(f"target_share must be non-negative, got {share.min()}")
        if not len(share) < self.kernel.size:
            raise ValueError(
                f"the kernel has {self.kernel.size} rows and {len(share)} of them are "
                "target rows: no source row is left"
            )
        self._check_weights()

    @property
    def size(self) -> int:
        """The number of weights."""
        return int(self.kernel.size) - len(self.target_share)

    @cached_property
    def floor(self) -> float:
        """The absolute error that rounding alone may leave in a norm."""
        size = float(self.kernel.diagonal().max())
        return size * (PROVABLE if self.kernel.cut <= EXACT_CUT else 1e-6)

    def features(self) -> Discrepancy:
        """Return the same problem in coordinates, from an eigen-factor of K.

        Exact up to eigenvalues below 1e-11 of the largest; O(q^3).
        """
        K = self.kernel.block(slice(None), slice(None))
        values, vectors = eigh(K, check_finite=False)
        some = values > RANK * max(float(values[-1]), 1e-300)
        rows = vectors[:, some] * np.sqrt(values[some])
        m = self.size
        if not some.any():
            rows = np.zeros((len(K), 1))
        out = Discrepancy.of(
            np.ascontiguousarray(rows[:m]),
            rows[m:],
            self.target_share,
            self.cap,
            self.spread,
        )
        return replace(out, reference=self.reference)

    def reduced(self, images: Array) -> Discrepancy:
        """Return the problem on a subspace, from K C of an orthonormal basis C."""
        m = self.size
        target = images[m:]
        return Discrepancy(
            np.ascontiguousarray(images[:m]),
            (target * self.target_share[:, None]).T @ target,
            self.cap,
            self.spread,
            self.uniform_value,
        )

    def norm(self, z: Array) -> float:
        """Return the norm: exact for few rows, else by Lanczos, seldom too low."""
        if self.kernel.size <= EXACT_NORM_ROWS:
            return self.exact_norm(z)
        return self.ritz(z).norm

    def exact_norm(self, z: Array) -> float:
        """Return the norm by a full eigenvalue computation, O(q^3)."""
        weights = np.concatenate([z, self.target_share])
        some = np.flatnonzero(weights)
        roots = np.sqrt(weights[some])
        K = self.kernel.block(some, some) * roots[:, None] * roots
        factor = _factor(K)
        signs = np.where(some < self.size, -1.0, 1.0)
        ends = eigvalsh((factor.T * signs) @ factor, check_finite=False)
        return float(max(ends[-1], -ends[0]))

    def ritz(self, z: Array, seed: int = 0) -> RitzPairs:
        """Return the extreme pairs of M(z) by block Lanczos from a random start."""
        weights = np.concatenate([-z, self.target_share])
        start = np.random.default_rng(seed).standard_normal(
            (len(weights), LANCZOS_COLUMNS)
        )
        return kernel_ritz(
            self.kernel.product,
            weights,
            weights[:, None] * start,
            LANCZOS_STEPS,
            LANCZOS_PAIRS,
            self.kernel.cut,
        )

    def dual_value(self, Y: DualMatrix) -> float:
        """Return L of a dual matrix, its directions made exactly orthonormal.

        The best over truncations of its values counts: each is a dual matrix.
        """
        return self._dual_values([Y])

    def certify(self, z: Array, hint: object = None) -> Certificate:
        """Bound how far z is from optimal, from z alone or with a dual matrix.

        `hint` is a `DualMatrix` whose directions are coefficients on all rows; it and
        the problem's own dual matrix both count, the better one decides. Above 16,000
        rows of a sample the factors that prove the norm would take more than a
        gigabyte: two Lanczos runs from independent starts stand in, and `kind` says so.
        """
        inside = self.inside(z)
        ritz = self.ritz(inside)
        duals = [self._own_dual(ritz)]
        if isinstance(hint, DualMatrix):
            duals.append(hint)
        bound = self._dual_values(duals)
        if max(len(self.target_share), int(np.sum(inside > 0.0))) <= MOST_PROVED:
            norm = self.proved_norm(inside, ritz.norm)
            return self.claim(z, norm + self.spread_term(inside), bound)
        norm = MARGINS[2] * ritz.norm + max(ritz.norm, self.ritz(inside, 1).norm)
        claim = self.claim(z, norm + self.spread_term(inside), bound)
        return replace(claim, kind="dual bound, norm with high probability")

    def judge(self, z: Array, value: float, Y: Any) -> Certificate:
        """Say what a value and a dual matrix prove."""
        return self.claim(z, value, self.dual_value(Y))

    def proved_norm(self, z: Array, guess: float) -> float:
        """Return a number that the norm is proved not to exceed, near the guess."""
        if self.kernel.size <= EXACT_NORM_ROWS:
            return self.exact_norm(z)
        if hasattr(self.kernel, "release"):
            # The factors take memory, and the entries are computed anew.
            self.kernel.release()
        margins = MARGINS if self.kernel.cut <= EXACT_CUT else MARGINS[2:]
        least = PROVABLE * float(self.kernel.diagonal().max())
        for margin in margins:
            level = guess * (1.0 + margin) + least
            if norm_is_below(self.kernel, z, self.target_share, level):
                return level
        return float(
            max(self.kernel.diagonal()[: self.size].max(), 0.0)
            + self.target_share @ self.kernel.diagonal()[self.size :]
        )

    def _own_dual(self, ritz: RitzPairs) -> DualMatrix:
        """Return the dual matrix of the problem on the extreme Ritz vectors' span."""
        order = np.argsort(-np.abs(ritz.values), kind="stable")[:MOST_EXTREME]
        largest = np.abs(ritz.values[order[0]])
        some = order[np.abs(ritz.values[order]) >= NEAR_THE_NORM * largest]
        _, dual = self.reduced(ritz.images[:, some]).small_dual(ritz.norm)
        return DualMatrix(ritz.coefficients[:, some] @ dual.directions, dual.values)

    def _dual_values(self, duals: list[DualMatrix]) -> float:
        """Return the best bound of some dual matrices, in one pass over the kernel."""
        duals = [one for one in duals if np.any(one.values)]
        if not duals:
            return 0.0
        directions = [one.directions[:, one.values != 0.0] for one in duals]
        images = exact_images(self.kernel, np.concatenate(directions, axis=1))
        best, first = 0.0, 0
        for one, columns in zip(duals, directions, strict=True):
            last = first + columns.shape[1]
            features = orthonormal_features(columns, images[:, first:last])
            values = one.values[one.values != 0.0]
            best = max(best, self._truncated(features**2, values))
            first = last
        return best

    def _truncated(self, squares: Array, values: Array) -> float:
        """Return the best bound over truncations of the values."""
        m, size, best = self.size, np.abs(values), 0.0
        for share in TRUNCATIONS:
            some = np.where(size >= share * size.max(), values, 0.0)
            nuclear = float(np.abs(some).sum())
            # With a spread the best dual matrix may be shorter than one.
            for length in {nuclear, max(nuclear, 1.0) if self.spread else nuclear}:
                pulls = squares @ (some / length)
                bound = self.bound(float(self.target_share @ pulls[m:]), pulls[:m])
                best = max(best, bound)
        return best


def _factor(K: Array) -> Array:
    """Return F with F F' = K, by its eigenvalues, or of many rows by Cholesky.

    The Cholesky factor needs a jitter, which can only lengthen rows and so raise a
    norm, by its square root at most.
    """
    if len(K) <= EXACT_NORM_ROWS:
        values, vectors = eigh(K, check_finite=False)
        # The roots of rounding errors are none: without a cut they would be seen.
        some = values > 1e-13 * values[-1]
        out: Array = vectors[:, some] * np.sqrt(values[some])
        return out
    jitter = 1e-15 * float(np.trace(K))
    while True:
        try:
            return np.asarray(np.linalg.cholesky(K + jitter * np.eye(len(K))), float)
        except np.linalg.LinAlgError:
            jitter *= 10.0
