"""The discrepancy of two samples: the spectral norm of a difference of moments."""

import abc
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh, qr

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.domains import CappedSimplex, Simplex
from counterpoise.convex.spectral.steps.interior import SpectralInterior
from counterpoise.numerics.arrays import Array, Indices, finite_array

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


@dataclass(frozen=True, eq=False)
class Priced:
    """What a point and a dual matrix of some rows are worth over all rows.

    `value` is the point's, `bound` the best one of `dual`, a truncation of the matrix;
    `pulls` are x'Yx of every row. `restricted` is the bound on the rows in use,
    `missed` how much of it the others take away.
    """

    value: float
    bound: float
    dual: DualMatrix
    pulls: Array
    restricted: float
    missed: float


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
    r"""Minimise the spectral norm of a difference of second moments over weights.

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
        Weight of the term that favours even weights.
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
        object.__setattr__(self, "rows", _finite("rows", self.rows, 2))
        moment = _finite("target_moment", self.target_moment, 2)
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
        rows = _finite("rows", rows, 2)
        target_rows = _finite("target_rows", target_rows, 2)
        if rows.shape[1] != target_rows.shape[1]:
            raise ValueError(
                f"target_rows must have {rows.shape[1]} columns as rows have, "
                f"got {target_rows.shape[1]}"
            )
        m, n = len(rows), len(target_rows)
        share = (
            np.full(n, 1.0 / n)
            if target_share is None
            else _finite("target_share", target_share, 1)
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
        ends = eigvalsh(self.operator(z), check_finite=False)
        return float(max(ends[-1], -ends[0], 0.0))

    def pull(self, Y: Array) -> Array:
        """Return x'Yx of every row."""
        out: Array = np.einsum("ij,ij->i", self.rows @ Y, self.rows)
        return out

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

        Small eigenvalues of a dual matrix on its way cost nuclear norm and prove
        little. One product with all rows for all truncations.
        """
        values, vectors = eigh(0.5 * (Y + Y.T), check_finite=False)
        seen = self.rows @ vectors
        seen *= seen
        target = np.einsum("ij,ij->j", vectors, self.target_moment @ vectors)
        size, best = np.abs(values), (-np.inf, values)
        pulls = seen @ values
        for share in TRUNCATIONS:
            some = np.where(size >= share * size.max(), values, 0.0)
            nuclear = max(float(np.abs(some).sum()), 1e-300)
            pulled = pulls if share == 0.0 else seen @ some
            # With a spread the best dual matrix may be shorter than one.
            for length in {nuclear, max(nuclear, 1.0) if self.spread else nuclear}:
                bound = self.bound(float(target @ some) / length, pulled / length)
                if bound > best[0]:
                    best = (bound, some / length)
        used = best[1] != 0.0
        return best[0], DualMatrix(vectors[:, used], best[1][used]), pulls

    def priced(
        self, z: Array, norm: float, Y: Array, used: Indices | None = None
    ) -> Priced:
        """Return what z, whose norm is known, and Y are worth.

        `used` are the rows in use, None for all of them.
        """
        best, dual, pulls = self.truncated(Y)
        target = float(np.sum(self.target_moment * Y))
        bound = self.bound(target, pulls)
        restricted = bound
        if used is not None:
            low = float(pulls.min()) - 10.0 * float(np.ptp(pulls))
            inside = np.full(self.size, low)
            inside[used] = pulls[used]
            restricted = self.bound(target, inside)
        value = norm + self.spread_term(z)
        missed = max(restricted - bound, 0.0)
        return Priced(value, best, dual, pulls, restricted, missed)

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

    def judge(self, z: Array, value: float, Y: Any) -> Certificate:
        """Say what a value and a dual matrix prove."""
        return self.claim(z, value, self.dual_value(Y))


def _finite(name: str, value: Any, ndim: int) -> Array:
    """Return the array, which is looked at closely only where something is wrong."""
    fine = isinstance(value, np.ndarray) and value.dtype == np.float64
    if fine and value.ndim == ndim and value.size and np.isfinite(value).all():
        return value
    return finite_array(name, value, ndim)
