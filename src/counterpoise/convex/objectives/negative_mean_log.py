"""Negative mean logarithms of linear functions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.objectives.columns import distinct_columns, product, slices
from counterpoise.convex.objectives.conic_form import ConicForm
from counterpoise.numerics.arrays import Array, Indices, finite_array
from counterpoise.numerics.compiled import compiled

# Rows whose largest entry lies beyond this, or below its inverse, are scaled.
EXTREME_ENTRY = 1e50


@dataclass(frozen=True, eq=False)
class NegativeMeanLog:
    r"""The negative mean logarithm :math:`-\sum_j w_j \log (Ax)_j`.

    Infinite where a component of Ax with positive weight is not positive.

    Parameters
    ----------
    A : array or `Design` of shape (m, n)
    weights : array of shape (m,), optional
        Non-negative weights of the rows; scaled to sum one. All equal by default.

    Examples
    --------
    >>> import numpy as np
    >>> round(NegativeMeanLog(np.eye(2)).value(np.array([0.5, 0.5])), 6)
    0.693147
    """

    A: Any
    weights: Array | None = None
    _logs: Array | float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        if not hasattr(self.A, "pull"):
            object.__setattr__(self, "A", finite_array("A", self.A, 2))
        m = self.A.shape[0]
        if self.weights is None:
            share = np.full(m, 1.0 / m)
        else:
            share = np.asarray(self.weights, dtype=float)
            if share.shape != (m,):
                raise ValueError(f"weights must have shape ({m},), got {share.shape}")
            if not (share.min() >= 0.0 and 0.0 < share.sum() < math.inf):
                raise ValueError(
                    "weights must be non-negative, finite and not all zero"
                )
            share = share / share.sum()
        object.__setattr__(self, "weights", share)
        if isinstance(self.A, np.ndarray):
            self._tame(share)

    def _tame(self, share: Array) -> None:
        """Divide rows of extreme size by their largest entry, and keep its logarithm.

        Gradients stay what they are; products of entries no longer overflow.
        """
        peak = np.abs(self.A).max(axis=1)
        peak = np.where((peak > 0.0) & (share > 0.0), peak, 1.0)
        if peak.max() > EXTREME_ENTRY or peak.min() < 1.0 / EXTREME_ENTRY:
            object.__setattr__(self, "A", self.A / peak[:, None])
            object.__setattr__(self, "_logs", np.log(peak))

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Ax, rows of extreme size divided by their largest entry."""
        if isinstance(self.A, np.ndarray):
            return product(self.A, x)
        support = np.flatnonzero(x)
        return self.columns(support) @ x[support]

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Ax."""
        counted = self._share > 0.0
        if not (image[counted] > 0.0).all():
            return math.inf
        return self._offset - float(self._share[counted] @ np.log(image[counted]))

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Ax."""
        v = self._pull(image)
        return -(self.A.pull(v) if self._matrix is None else v @ self._matrix)

    def along(
        self,
        x: Array,
        direction: Array,
        limit: float,
        images: tuple[Array, Array] | None = None,
    ) -> float:
        """Return the best step in [0, limit], by safeguarded Newton."""
        here, there = images or (self.image(x), self.image(direction))
        return log_line(here, there, self._share, limit)

    def columns(self, i: Indices) -> Array:
        """Return the columns i of A."""
        if self._matrix is not None:
            return self._matrix[:, i]
        out: Array = self.A.columns(i)
        return out

    def model(self, i: Indices, columns: Any, image: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian in the coordinates i.

        Columns that are no array know their `moments` themselves.
        """
        if not isinstance(columns, np.ndarray):
            v = self._pull(image)
            pulled, bend = columns.moments(v, _over(v, image, self._share))
            return -pulled, bend
        scaled = (
            columns
            * np.divide(
                np.sqrt(self._share),
                image,
                out=np.zeros_like(image),
                where=self._share > 0,
            )[:, None]
        )
        return -(self._pull(image) @ columns), scaled.T @ scaled

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the coordinates i that differ."""
        if isinstance(self.A, np.ndarray):
            return distinct_columns(self.A, i, count, alike)
        out: Indices = self.A.distinct(i, count, alike)
        return out

    def blocks(self, size: int) -> Iterator[tuple[float, "NegativeMeanLog"]]:
        """Yield pieces of `size` rows with their shares."""
        for rows in slices(self.A.shape[0], size):
            share = float(self._share[rows].sum())
            if share > 0.0:
                piece = NegativeMeanLog(self.A[rows], self._share[rows])
                if isinstance(self._logs, np.ndarray):
                    object.__setattr__(piece, "_logs", self._logs[rows])
                yield share, piece

    def conic(self) -> ConicForm:
        """Return the exponential cones t_j <= log (Ax)_j, as (t, 1, Ax)."""
        counted = np.flatnonzero(self._share > 0.0)
        A = self.A[counted]
        k, n = A.shape
        rows = sparse.lil_matrix((3 * k, n + k))
        rows[0::3, n:] = -sparse.identity(k)
        rows[2::3, :n] = -A
        b = np.zeros(3 * k)
        b[1::3] = 1.0
        return ConicForm(
            sparse.csc_matrix((n + k, n + k)),
            np.concatenate([np.zeros(n), -self._share[counted]]),
            sparse.csc_matrix(rows),
            b,
            (("exponential", 3),) * k,
            self._offset,
        )

    @property
    def _offset(self) -> float:
        """What scaled rows add to the value."""
        return -float((self._share * self._logs).sum())

    @property
    def _matrix(self) -> Array | None:
        """The matrix, if it is in memory."""
        if isinstance(self.A, np.ndarray):
            return self.A
        return getattr(self.A, "matrix", None)

    @property
    def _share(self) -> Array:
        assert self.weights is not None
        return self.weights

    def _pull(self, image: Array) -> Array:
        return _over(self._share, image, self._share)


def _over(part: Array, image: Array, share: Array) -> Array:
    """Return part / image, zero where a row has no share."""
    return np.divide(part, image, out=np.zeros_like(image), where=share > 0.0)


@compiled
def log_line(z: Array, q: Array, weights: Array, limit: float) -> float:
    r"""Return the maximiser of :math:`\sum_j w_j \log(z_j + t q_j)` on [0, limit].

    Safeguarded Newton on the derivative, which falls: a step that leaves the bracket
    or does not shrink is replaced by bisection. O(m) an iteration, some ten of them.
    """
    inside = True
    slope = 0.0
    for j in range(z.size):
        if weights[j] > 0.0:
            value = z[j] + limit * q[j]
            if not value > 0.0:
                inside = False
                break
            slope += weights[j] * q[j] / value
    if inside and slope >= 0.0:
        return limit
    low, high, t = 0.0, limit, 0.0
    last = 0.0
    for _ in range(300):
        slope = 0.0
        bend = 0.0
        inside = True
        for j in range(z.size):
            if weights[j] > 0.0:
                value = z[j] + t * q[j]
                if not value > 0.0:
                    inside = False
                    break
                part = q[j] / value
                slope += weights[j] * part
                bend += weights[j] * part * part
        if not inside:
            high = t
        elif slope > 0.0:
            low = t
        else:
            high = t
        if inside and (bend == 0.0 or abs(slope) <= 1e-13 * np.sqrt(bend)):
            break
        following = t + slope / bend if inside else -1.0
        move = abs(following - t)
        # Far below the root Newton only doubles what is tiny: bisect, over orders of
        # magnitude first, unless its steps shrink.
        if not (low < following < high) or 2.0 * move > last:
            following = 0.5 * (low + high)
            if low > 0.0 and high > 16.0 * low:
                following = np.sqrt(low * high)
        elif move <= 1e-15 * t:
            break
        last = abs(following - t)
        if last <= 1e-15 * high and low > 0.0:
            break
        t = following
    # The lower end of the bracket is inside and no worse than where we began.
    return t if inside else low
