"""Discrepancy minimization: linear and kernel problems with their certificates."""

import abc
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh, qr

from counterpoise.linalg.arrays import Array, Indices, finite_array
from counterpoise.linalg.kernels import EXACT_CUT, StoredMatrix
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.sets import CappedSimplex, Simplex
from counterpoise.optim.spectral.interior_point import (
    PanelCholesky,
    SpectralInterior,
    quadratic_forms,
    spectral_norm,
)

# -----------------------------------------------------------------------------
# Extreme eigenpairs of a weighted kernel operator by block Lanczos.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RitzPairs:
    """Approximate eigenpairs, ascending: coefficients B and images K B.

    `residual` holds the lengths of the residuals of the lowest and the highest pair.
    """

    values: Array
    coefficients: Array
    images: Array
    residual: tuple[float, float]

    @property
    def norm(self) -> float:
        """The larger modulus of both ends, each with its residual added."""
        low, high = self.residual
        return max(float(self.values[-1]) + high, low - float(self.values[0]), 0.0)


def orthonormal(
    B: Array,
    KB: Array,
    cut: float,
    basis: tuple[Array, Array] | None = None,
    product: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """Return B made orthonormal in the kernel's inner product, and its image.

    Directions whose squared length is below `cut` of the largest are dropped; with a
    `basis` (coefficients, images) the part inside its span is taken off first, and what
    is a tenth of `cut` or less of the largest before that is rounding. Twice,
    as once leaves the rounding of the first. Taking off a large part amplifies the
    error of an image in single precision: with `product` it is computed again.
    """
    for time in range(2):
        if time and product is not None and B.size:
            KB = product(B)
        if not B.size:
            break
        longest = float(np.einsum("ij,ij->j", B, KB).max())
        if basis is not None:
            inner = basis[1].T @ B
            B, KB = B - basis[0] @ inner, KB - basis[1] @ inner
        gram = B.T @ KB
        squares, turn = eigh(0.5 * (gram + gram.T), check_finite=False)
        some = squares > cut * max(float(squares[-1]), 0.1 * longest, 1e-300)
        scaled = turn[:, some] / np.sqrt(squares[some])
        B, KB = B @ scaled, KB @ scaled
    return B, KB


def kernel_ritz(
    product: Callable[[Array], Array],
    weights: Array,
    start: Array,
    steps: int,
    count: int,
    cut: float,
) -> RitzPairs:
    r"""Return `count` pairs of each end of :math:`\sum_i w_i \phi_i \phi_i'`.

    The operator maps the coefficients b of a vector :math:`\sum b_i \phi_i` to
    :math:`w \circ (Kb)`; inner products are b'Kb. Rayleigh and Ritz on the block Krylov
    space of `start` (q, s): `steps` + 1 products K B with s columns, and
    :math:`O(q (s \cdot steps)^2)`.
    """
    size = len(weights)
    Q, KQ = np.empty((size, 0)), np.empty((size, 0))
    B, error = start, 1e-16
    for _ in range(steps):
        KB = product(B)
        lengths = np.einsum("ij,ij->j", B, KB)
        outside = lengths - np.sum((KQ.T @ B) ** 2, axis=0)
        # What the space has already leaves rounding, and no direction.
        fresh = outside > 0.1 * cut * max(float(lengths.max()), 1e-300)
        left = float((outside[fresh] / lengths[fresh]).min(initial=1.0))
        # Taking off a large part amplifies the error of images, step after step.
        error /= np.sqrt(left)
        again = product if left < 1e-2 or error > 1e-9 else None
        B, KB = orthonormal(B[:, fresh], KB[:, fresh], cut, (Q, KQ), again)
        error = error if again is None else 1e-16
        if not B.size:
            break
        Q, KQ = np.concatenate([Q, B], axis=1), np.concatenate([KQ, KB], axis=1)
        B = weights[:, None] * KB
    inner = KQ.T @ (weights[:, None] * KQ)
    values, turn = eigh(0.5 * (inner + inner.T), check_finite=False)
    count = min(count, values.size)
    ends = np.unique(np.r_[:count, values.size - count : values.size])
    values, coefficients, images = values[ends], Q @ turn[:, ends], KQ @ turn[:, ends]
    two = [0, -1]
    off = weights[:, None] * images[:, two] - coefficients[:, two] * values[two]
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", off, product(off)), 0.0))
    return RitzPairs(
        values, coefficients, images, (float(lengths[0]), float(lengths[1]))
    )


# -----------------------------------------------------------------------------
# Both bounds of the kernel discrepancy, in double precision from the entries.
# -----------------------------------------------------------------------------


# Rows of a block of entries in double precision.
PROVED_ROWS = 250


def norm_is_below(kernel: Any, z: Array, share: Array, level: float) -> bool:
    r"""Tell whether :math:`\|A_P - A_z\|_2 < level`, by Cholesky factors.

    With S the rows that have weight and T the target rows,

    .. math:: uI + A_z - A_P \succ 0 \iff
       u P^{-1} - K_{TT} + K_{TS}(K_{SS} + u z^{-1})^{-1}K_{ST} \succ 0

    and the same with S and T exchanged. For s and n rows
    :math:`2(s^3/3 + s^2 n + s n^2 + n^3/3)` operations and at most
    :math:`4 \max(s, n)^2 + 8 s n` bytes. Rounding is not enclosed: about 1e-9 of u.
    """
    if not level > 0.0:
        return False
    m = len(z)
    source = np.flatnonzero(z > 0.0)
    target = np.flatnonzero(share > 0.0)
    sides = ((source, z[source]), (m + target, share[target]))
    return _dominates(kernel, *sides[0], *sides[1], level) and _dominates(
        kernel, *sides[1], *sides[0], level
    )


def _dominates(
    kernel: Any, A: Indices, a: Array, B: Indices, b: Array, level: float
) -> bool:
    """Tell whether level I + A_a - A_b is positive definite."""

    def first_panel(i: int, j: int) -> Array:
        out = np.array(kernel.block(A[i:j], A[:j]))
        k = np.arange(i, j)
        out[k - i, k] += level / a[i:j]
        return out

    try:
        factor = PanelCholesky(A.size, first_panel)
        inner = np.empty((A.size, B.size))
        for i in range(0, B.size, PROVED_ROWS):
            inner[:, i : i + PROVED_ROWS] = factor.forward(
                kernel.block(A, B[i : i + PROVED_ROWS])
            )
        del factor

        def second_panel(i: int, j: int) -> Array:
            out = inner[:, i:j].T @ inner[:, :j]
            out -= kernel.block(B[i:j], B[:j])
            k = np.arange(i, j)
            out[k - i, k] += level / b[i:j]
            return out

        PanelCholesky(B.size, second_panel)
    except np.linalg.LinAlgError:
        return False
    return True


# -----------------------------------------------------------------------------
# The discrepancy of two samples: the spectral norm of a difference of moments.
# -----------------------------------------------------------------------------


# The least scale of the gap, as a share of the value at equal weights: the optimum is
# zero where the target's moment is a mixture of source rows.
LEAST_SCALE = 0.01
# Shares of the largest dual value below which the rest is left out, one after another.
TRUNCATIONS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.4)
# Eigenvalues of M(z) this close to the largest span the proof from z alone.
NEAR_THE_NORM = 0.9
# At most so many of them, and so many interior-point steps on their span.
MOST_EXTREME, OWN_STEPS = 12, 30


@dataclass(frozen=True, eq=False)
class DualMatrix:
    """The symmetric matrix V diag(values) V' by its factors.

    Columns of `directions` are vectors of the feature space, or for a kernel their
    coefficients on all rows; they need not be orthonormal.
    """

    directions: Array
    values: Array

    def matrix(self) -> Array:
        """Return the matrix, (N, N)."""
        return (self.directions * self.values) @ self.directions.T


class SpectralNorm(abc.ABC):
    """A spectral norm over weights: the weights' set, the spread's term, the claim."""

    cap: float | None
    spread: float
    reference: float | None

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of weights."""

    @property
    @abc.abstractmethod
    def floor(self) -> float:
        """The absolute error that rounding alone may leave in a norm."""

    @abc.abstractmethod
    def norm(self, z: Array) -> float:
        """Return the spectral norm at z."""

    @abc.abstractmethod
    def dual_value(self, Y: DualMatrix) -> float:
        """Return the lower bound that a dual matrix gives."""

    @cached_property
    def domain(self) -> Simplex | CappedSimplex:
        """The weights."""
        if self.cap is None:
            return Simplex(self.size)
        return CappedSimplex(self.size, min(self.cap, 1.0))

    @property
    def objective(self) -> "SpectralNorm":
        """The problem itself has `value`."""
        return self

    @cached_property
    def uniform_value(self) -> float:
        """The norm at equal weights, or what was given in its place."""
        if self.reference is not None:
            return self.reference
        return self.norm(np.full(self.size, 1.0 / self.size))

    def start(self) -> Array:
        """Return equal weights."""
        return np.full(self.size, 1.0 / self.size)

    def value(self, z: Array) -> float:
        """Return the norm and the spread's term."""
        return self.norm(z) + self.spread_term(z)

    def spread_term(self, z: Array) -> float:
        """Return what the spread adds to the norm."""
        if self.spread == 0.0:
            return 0.0
        return self.bend * (float(z @ z) - 1.0 / self.size)

    def bound(self, target: float, pulls: Array) -> float:
        """Return L(Y) from <A_P, Y> and x'Yx of every row."""
        if self.spread == 0.0 or self.bend == 0.0:
            if self.cap is None:
                return target - float(pulls.max())
            return target - float(pulls @ self.domain.vertex(-pulls))
        z = self.domain.project(pulls / (2.0 * self.bend))
        return target - float(pulls @ z) + self.spread_term(z)

    def judge(self, z: Array, value: float, Y: DualMatrix) -> Certificate:
        """Say what a value and a dual matrix prove."""
        return self.claim(z, value, self.dual_value(Y))

    def best_truncation(
        self, target: Array, source: Array, values: Array
    ) -> tuple[float, Array]:
        """Return the best bound among truncations of a dual matrix, and its values.

        Small eigenvalues of a dual matrix on its way cost nuclear norm and prove
        little. `target` and `source` are the squares along its directions of the
        target's moment and of every row.
        """
        size, best = np.abs(values), (-np.inf, values)
        for share in TRUNCATIONS:
            some = np.where(size >= share * size.max(), values, 0.0)
            nuclear = max(float(np.abs(some).sum()), 1e-300)
            pulls = source @ some
            # With a spread the best dual matrix may be shorter than one.
            for length in {nuclear, max(nuclear, 1.0) if self.spread else nuclear}:
                bound = self.bound(float(target @ some) / length, pulls / length)
                if bound > best[0]:
                    best = (bound, some / length)
        return best

    def claim(self, z: Array, value: float, bound: float) -> Certificate:
        """Say what a value and a lower bound prove."""
        bound = min(max(bound, 0.0), value)
        scale = max(bound, LEAST_SCALE * self.uniform_value)
        if self.uniform_value <= self.floor:
            # Equal samples: what is left is rounding.
            scale = 0.0
        return Certificate(
            kind="dual bound",
            objective=value,
            bound=bound,
            gap=value - bound,
            scale=scale if scale > 0.0 else 1.0,
            infeasibility=self.domain.infeasibility(z),
        )

    def inside(self, z: Array) -> Array:
        """Return z clipped and divided by its sum, and projected if a cap is broken."""
        out = np.maximum(z, 0.0)
        total = float(out.sum())
        if not total > 0.0:
            return self.start()
        out = out / total
        if self.cap is not None and out.max() > self.cap:
            out = self.domain.project(out)
        return out

    @cached_property
    def bend(self) -> float:
        """The factor of |z|^2."""
        return self.spread * self.uniform_value * self.size

    @property
    def smooth_dual(self) -> float:
        """The factor of |z|^2 that makes the dual smooth; without a spread none."""
        if not self.spread > 0.0:
            raise AttributeError("a problem without a spread has no smooth dual")
        return self.bend

    def _check_weights(self) -> None:
        if not 0.0 <= self.spread < np.inf:
            raise ValueError(f"spread must be non-negative, got {self.spread}")
        if self.cap is not None and not self.cap * self.size >= 1.0 - 1e-12:
            raise ValueError(
                f"cap must be at least 1 / {self.size}, the share of a row at equal "
                f"weights, got {self.cap}"
            )


@dataclass(frozen=True, eq=False)
class Discrepancy(SpectralNorm):
    r"""Minimize the spectral norm of a difference of second moments over weights.

    .. math:: \|M(z)\|_2 + s f_0 (m |z|^2 - 1), \qquad
              M(z) = A_P - \sum_i z_i x_i x_i'

    over :math:`0 \le z \le cap, \sum z = 1`, with :math:`f_0` the norm at equal weights
    and s the `spread`. For any symmetric Y of nuclear norm at most one

    .. math:: L(Y) = \langle A_P, Y\rangle
              + \min_z \left[s f_0 (m|z|^2 - 1) - \sum_i z_i x_i'Yx_i\right]

    is a lower bound; without cap and spread the minimum is
    :math:`-\max_i x_i'Yx_i`. The gap is measured in units of
    :math:`\max(L, 0.01 f_0)`, as the optimum may be zero. A value costs
    :math:`O(mN^2 + N^3)`, a bound the same.

    Parameters
    ----------
    rows : array of shape (m, N)
        The source rows x.
    target_moment : array of shape (N, N)
        :math:`A_P`, symmetric.
    cap : float, optional
        Largest entry of z.
    spread : float
        Weight of the term that favors even weights.
    reference : float, optional
        :math:`f_0` where it is not the norm at equal weights: of the whole problem,
        where this one is a part of it.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Discrepancy(np.array([[1.0], [3.0]]), np.array([[5.0]]))
    >>> problem.norm(np.array([0.5, 0.5])), problem.certify(np.array([0.5, 0.5])).gap
    (0.0, 0.0)
    """

    rows: Array
    target_moment: Array
    cap: float | None = None
    spread: float = 0.0
    reference: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", finite_array("rows", self.rows, 2))
        moment = finite_array("target_moment", self.target_moment, 2)
        width = self.rows.shape[1]
        if moment.shape != (width, width):
            raise ValueError(
                f"target_moment must have shape ({width}, {width}) as rows have "
                f"{width} columns, got {moment.shape}"
            )
        object.__setattr__(self, "target_moment", 0.5 * (moment + moment.T))
        self._check_weights()

    @classmethod
    def of(
        cls,
        rows: Array,
        target_rows: Array,
        target_share: Array | None = None,
        cap: float | None = None,
        spread: float = 0.0,
    ) -> "Discrepancy":
        """Return the problem of two samples, in m + n coordinates if those are fewer.

        The rotation is exact: all rows lie in their own span.
        """
        rows = finite_array("rows", rows, 2)
        target_rows = finite_array("target_rows", target_rows, 2)
        if rows.shape[1] != target_rows.shape[1]:
            raise ValueError(
                f"target_rows must have {rows.shape[1]} columns as rows have, "
                f"got {target_rows.shape[1]}"
            )
        m, n = len(rows), len(target_rows)
        share = (
            np.full(n, 1.0 / n)
            if target_share is None
            else finite_array("target_share", target_share, 1)
        )
        if share.shape != (n,) or not share.min() >= 0.0:
            raise ValueError(
                f"target_share must have {n} non-negative entries, "
                f"got shape {share.shape} and smallest entry {share.min()}"
            )
        if m + n < rows.shape[1]:
            both = qr(np.vstack([rows, target_rows]).T, mode="r", check_finite=False)[0]
            rows = np.ascontiguousarray(both[: m + n, :m].T)
            target_rows = both[: m + n, m:].T
        moment = (target_rows * share[:, None]).T @ target_rows
        return cls(rows, moment, cap, spread)

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self.rows)

    @cached_property
    def floor(self) -> float:
        """The absolute error that rounding alone may leave in a gap."""
        size = max(
            float(np.einsum("ij,ij->i", self.rows, self.rows).max()),
            float(np.trace(self.target_moment)),
        )
        return 1e-15 * self.rows.shape[1] * size

    def operator(self, z: Array) -> Array:
        """Return M(z), at the price of the non-zero entries of z."""
        some = np.flatnonzero(z)
        if some.size < 0.5 * z.size:
            rows, z = self.rows[some], z[some]
        else:
            rows = self.rows
        return self.target_moment - (rows * z[:, None]).T @ rows

    def norm(self, z: Array) -> float:
        """Return the spectral norm of M(z)."""
        return spectral_norm(self.operator(z))

    def pull(self, Y: Array) -> Array:
        """Return x'Yx of every row."""
        return quadratic_forms(self.rows, Y)

    def dual_value(self, Y: Array | DualMatrix) -> float:
        """Return L(Y), Y divided by its nuclear norm if that is above one."""
        if isinstance(Y, DualMatrix):
            Y = Y.matrix()
        Y = 0.5 * (Y + Y.T)
        nuclear = float(np.abs(eigvalsh(Y, check_finite=False)).sum())
        if nuclear > 1.0:
            Y = Y / nuclear
        return self.bound(float(np.sum(self.target_moment * Y)), self.pull(Y))

    def truncated(self, Y: Array) -> tuple[float, DualMatrix, Array]:
        """Return the best bound among truncations of Y, its matrix, and x'Yx of Y.

        One product with all rows for all truncations.
        """
        values, vectors = eigh(0.5 * (Y + Y.T), check_finite=False)
        seen = self.rows @ vectors
        seen *= seen
        target = np.einsum("ij,ij->j", vectors, self.target_moment @ vectors)
        bound, kept = self.best_truncation(target, seen, values)
        used = kept != 0.0
        return bound, DualMatrix(vectors[:, used], kept[used]), seen @ values

    def certify(self, z: Array, hint: object = None) -> Certificate:
        """Bound how far z is from optimal, from z alone or with a dual matrix.

        `hint` is a symmetric (N, N) array or a `DualMatrix`; it and the problem's own
        dual matrix both count, the better one decides.
        """
        inside = self.inside(z)
        values, vectors = eigh(self.operator(inside), check_finite=False)
        value = float(max(values[-1], -values[0], 0.0)) + self.spread_term(inside)
        bound = 0.0
        if hint is not None:
            bound = max(bound, self.dual_value(hint))  # type: ignore[arg-type]
        order = np.argsort(-np.abs(values), kind="stable")[:MOST_EXTREME]
        some = order[np.abs(values[order]) >= NEAR_THE_NORM * abs(values[order[0]])]
        V = vectors[:, some]
        part = replace(
            self,
            rows=self.rows @ V,
            target_moment=V.T @ self.target_moment @ V,
            reference=self.uniform_value,
        )
        if value - bound > self.floor:
            bound = max(bound, part.small_dual(value, bound)[0])
        return self.claim(z, value, bound)

    def small_dual(self, value: float, known: float = 0.0) -> tuple[float, DualMatrix]:
        """Return a good bound and its dual matrix where the columns are few.

        Interior-point steps on all rows end where no more than a fiftieth of the gap
        between `value` and a known bound is left to win.
        """
        values, vectors = eigh(self.operator(self.start()), check_finite=False)
        last = int(np.argmax(np.abs(values)))
        sign = np.sign(values[last : last + 1])
        dual = DualMatrix(vectors[:, last : last + 1], sign)
        best = self.dual_value(dual), dual
        cap = self.cap if self.cap is not None and self.cap < 1.0 else None
        if self.size == 1 or (cap is not None and cap * self.size <= 1.0 + 1e-9):
            return best
        interior = SpectralInterior(self.rows, self.target_moment, cap, self.bend)
        here = interior.start()
        for _ in range(OWN_STEPS):
            now = here.norm + self.spread_term(here.z)
            bound, dual, _ = self.truncated(here.Y)
            best = max(best, (bound, dual), key=lambda pair: pair[0])
            proved = max(best[0], known)
            if now - proved <= 0.02 * (value - proved):
                break
            try:
                here = interior.advance(here)
            except np.linalg.LinAlgError:
                break
        return best


# -----------------------------------------------------------------------------
# The discrepancy of two samples seen through a kernel.
# -----------------------------------------------------------------------------


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
        values, vectors = eigh(K, check_finite=False)
        # The roots of rounding errors are none: without a cut they would be seen.
        used = values > 1e-13 * values[-1]
        factor = vectors[:, used] * np.sqrt(values[used])
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
        # The dual matrix of the problem on the extreme Ritz vectors' span.
        order = np.argsort(-np.abs(ritz.values), kind="stable")[:MOST_EXTREME]
        least = NEAR_THE_NORM * np.abs(ritz.values[order[0]])
        some = order[np.abs(ritz.values[order]) >= least]
        _, own = self.reduced(ritz.images[:, some]).small_dual(ritz.norm)
        coefficients = ritz.coefficients[:, some] @ own.directions
        duals = [DualMatrix(coefficients, own.values)]
        if isinstance(hint, DualMatrix):
            duals.append(hint)
        bound = self._dual_values(duals)
        if max(len(self.target_share), int(np.sum(inside > 0.0))) <= MOST_PROVED:
            norm = self.proved_norm(inside, ritz.norm)
            return self.claim(z, norm + self.spread_term(inside), bound)
        norm = MARGINS[2] * ritz.norm + max(ritz.norm, self.ritz(inside, 1).norm)
        claim = self.claim(z, norm + self.spread_term(inside), bound)
        return replace(claim, kind="dual bound, norm with high probability")

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

    def _dual_values(self, duals: list[DualMatrix]) -> float:
        """Return the best bound of some dual matrices, in one pass over the kernel."""
        duals = [one for one in duals if np.any(one.values)]
        if not duals:
            return 0.0
        directions = [one.directions[:, one.values != 0.0] for one in duals]
        # K C in double precision from the entries; O(q^2) a column.
        coefficients = np.concatenate(directions, axis=1)
        images = np.empty(coefficients.shape)
        for row in range(0, len(images), PROVED_ROWS):
            rows = slice(row, row + PROVED_ROWS)
            images[rows] = self.kernel.block(rows, slice(None)) @ coefficients
        best, first, m = 0.0, 0, self.size
        for one, columns in zip(duals, directions, strict=True):
            last = first + columns.shape[1]
            # Features of all rows in the orthonormal basis nearest to the directions,
            # which keep their values; those without length are left out.
            image = images[:, first:last]
            gram = columns.T @ image
            lengths, turn = eigh(0.5 * (gram + gram.T), check_finite=False)
            some = lengths > 1e-12 * max(float(lengths[-1]), 1e-300)
            root = (turn[:, some] / np.sqrt(lengths[some])) @ turn[:, some].T
            squares = (image @ root) ** 2
            target, values = self.target_share @ squares[m:], one.values
            bound, _ = self.best_truncation(target, squares[:m], values[values != 0.0])
            best, first = max(best, bound), last
        return best
