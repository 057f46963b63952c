"""Parametric box-constrained quadratic programs and their rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.compiled import add_rows
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.quadratic_path.compiled import StoredRows

# -----------------------------------------------------------------------------
# A quadratic over a box with one equality, and what its multiplier proves.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BoxQuadratic:
    r"""Minimize :math:`a'Qa/2 - p'a` over :math:`l \le a \le u`, :math:`s'a = d`.

    :math:`Q_{ij} = s_i s_j K_{k_i k_j}` with signs :math:`s_i = \pm 1`; several
    variables may share a row k of K. With :math:`f = K\beta + b`,
    :math:`\beta_k = \sum_{k_i = k} s_i a_i` and :math:`g_i = s_i f_{k_i} - p_i`, for a
    feasible a and *any* b

    .. math:: \sum_i (a_i - l_i) \max(g_i, 0) + (u_i - a_i) \max(-g_i, 0)

    bounds the excess over the optimum; it is zero at a solution and its multiplier.

    Parameters
    ----------
    product : callable
        `product(beta)` returns K beta.
    sign : array of shape (n,)
    row : array of shape (n,)
        The row of K that belongs to each variable.
    p, lower, upper : arrays of shape (n,)
    d : float or None
        None: there is no equality, and no b.

    Notes
    -----
    The certificate's `residual` is the natural one,
    :math:`\max_i |a_i - \mathrm{clip}(a_i - g_i, l_i, u_i)|`. Its rounding error is
    about :math:`10^{-16} \sum |a_i| \max |K|`.

    Examples
    --------
    >>> import numpy as np
    >>> one, rows = np.ones(2), np.arange(2)
    >>> y = np.array([1.0, -1.0])
    >>> problem = BoxQuadratic(np.eye(2).dot, y, rows, one, 0 * one, 5 * one, 0.0)
    >>> problem.certify(one, hint=0.0).gap
    0.0
    """

    product: Callable[[Array], Array]
    sign: Array
    row: Indices
    p: Array
    lower: Array
    upper: Array
    d: float | None = 0.0

    def certify(self, x: Array, hint: float | None = None) -> Certificate:
        """Bound how far x is from optimal; `hint` is b, by default the best one."""
        beta = np.bincount(self.row, weights=self.sign * x)
        f = self.product(np.asarray(beta, dtype=float))[self.row]
        if self.d is None:
            b = 0.0
        else:
            b = self.best_bias(x, f) if hint is None else float(hint)
        g = self.sign * (f + b) - self.p
        size = float(np.abs(x).sum())
        off = 0.0 if self.d is None else float(self.sign @ x) - self.d
        outside = float(np.maximum(self.lower - x, x - self.upper).max(initial=0.0))
        quadratic = float(x @ (self.sign * f))
        objective = 0.5 * quadratic - float(self.p @ x)
        gap = float(
            (np.maximum(x - self.lower, 0.0) * np.maximum(g, 0.0)).sum()
            + (np.maximum(self.upper - x, 0.0) * np.maximum(-g, 0.0)).sum()
            + abs(b * off)
        )
        inside = np.clip(x - g, self.lower, self.upper)
        return Certificate(
            kind="optimality conditions",
            objective=objective,
            bound=objective - gap,
            gap=gap,
            scale=max(quadratic + float(np.abs(self.p) @ np.abs(x)), 1e-300),
            residual=max(float(np.abs(x - inside).max()), abs(off)),
            infeasibility=float(max(outside, abs(off)) / max(1.0, size)),
        )

    def best_bias(self, x: Array, f: Array) -> float:
        """Return the b for which the bound is smallest, a weighted quantile."""
        above = np.maximum(x - self.lower, 0.0)
        below = np.maximum(self.upper - x, 0.0)
        kinks = self.sign * self.p - f
        # The slope in b of a variable's term, to the right and to the left of its kink.
        right = np.where(self.sign > 0.0, above, below)
        left = np.where(self.sign > 0.0, below, above)
        order = np.argsort(kinks)
        slopes = np.cumsum((left + right)[order]) - left.sum()
        first = int(np.searchsorted(slopes, 0.0))
        return float(kinks[order[min(first, order.size - 1)]])


# -----------------------------------------------------------------------------
# Kernel rows: all of them in memory, or computed when they are needed.
# -----------------------------------------------------------------------------


# Rows that are computed, or added up, at once in a product.
PRODUCT_ROWS = 128


class KernelRows(Protocol):
    """A symmetric positive semidefinite matrix K, row by row.

    Attributes
    ----------
    stored : StoredRows
        The rows at hand.
    refresh_every : int
        After how many events running sums are worth computing from scratch.
    """

    stored: StoredRows
    refresh_every: int

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.stored.slot.size

    def bring(self, row: int, margin: Indices) -> None:
        """Have a row at hand; the rows of `margin` stay."""
        return

    def product(self, beta: Array) -> Array:
        """Return K beta; beta may have several columns."""
        ...

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return K[rows][:, columns] as an array of its own."""
        ...


class DenseRows(KernelRows):
    """A matrix in memory.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, positive semidefinite.
    """

    refresh_every = 1000

    def __init__(self, K: Array) -> None:
        self.K = np.ascontiguousarray(K, dtype=float)
        if self.K.ndim != 2 or self.K.shape[0] != self.K.shape[1]:
            raise ValueError(f"K must be square, got shape {self.K.shape}")
        diagonal = np.ascontiguousarray(self.K.diagonal())
        self.stored = StoredRows(self.K, np.arange(len(self.K)), diagonal)

    def product(self, beta: Array) -> Array:
        """Return K beta; rows of zero entries are not read."""
        if beta.ndim > 1:
            full: Array = self.K @ beta
            return full
        # Faster than the product of a library even where no entry is zero; sums of some
        # rows each lose fewer digits than one of all.
        entries = np.flatnonzero(beta)
        out, part = np.zeros(self.size), np.empty(self.size)
        for first in range(0, entries.size, PRODUCT_ROWS):
            rows = entries[first : first + PRODUCT_ROWS]
            part[:] = 0.0
            add_rows(part, self.K, rows, beta[rows], rows.size)
            out += part
        return out

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return K[rows][:, columns] as an array of its own."""
        out: Array = self.K[np.ix_(rows, columns)]
        return out

    def write(self, places: Indices, block: Array) -> None:
        """Replace the rows, and the columns, in these places.

        No follower may have them in its solution: see `carried_over`.
        """
        inner = block[:, places]
        block[:, places] = 0.5 * (inner + inner.T)
        self.K[places] = block
        self.K[:, places] = block.T
        self.stored.diagonal[places] = block[np.arange(places.size), places]


class RowsOnDemand(KernelRows):
    """A matrix of which only the margin's rows, and some that left it, are kept.

    Parameters
    ----------
    block : callable
        `block(rows, columns)` returns K[rows][:, columns]; None stands for all columns.
    diagonal : array of shape (n,)
    n_bytes : int
        How much may be kept. More is taken if the margin needs it.
    """

    refresh_every = 5000

    def __init__(
        self,
        block: Callable[[Indices, Indices | None], Array],
        diagonal: Array,
        n_bytes: int,
    ) -> None:
        self._block = block
        n = diagonal.size
        capacity = int(np.clip(n_bytes // (8 * n), 8, n))
        self.stored = StoredRows(
            np.empty((min(capacity, 64), n)), np.full(n, -1), diagonal.astype(float)
        )
        self._capacity = capacity
        self._owner = np.full(self.stored.rows.shape[0], -1)
        self._used = np.zeros(self.stored.rows.shape[0], dtype=np.intp)
        self._clock = 0
        self.n_computed = 0

    def bring(self, row: int, margin: Indices) -> None:
        """Have a row at hand; of those outside `margin` the longest unused goes."""
        slot = self.stored.slot
        self._clock += 1
        kept = slot[margin]
        self._used[kept[kept >= 0]] = self._clock
        if slot[row] < 0:
            place = self._place()
            if self._owner[place] >= 0:
                slot[self._owner[place]] = -1
            self.stored.rows[place] = self._block(np.array([row]), None)[0]
            self._owner[place], slot[row] = row, place
            self.n_computed += 1
        self._used[slot[row]] = self._clock

    def product(self, beta: Array) -> Array:
        """Return K beta, some rows at a time, nothing kept."""
        out = np.zeros(beta.shape)
        entries = np.flatnonzero(beta if beta.ndim == 1 else beta.any(axis=1))
        for first in range(0, entries.size, PRODUCT_ROWS):
            rows = entries[first : first + PRODUCT_ROWS]
            block = self._block(rows, None)
            out += beta[rows] @ block if beta.ndim == 1 else block.T @ beta[rows]
        return out

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return K[rows][:, columns]."""
        return self._block(rows, columns)

    def _place(self) -> int:
        """Return a slot: an empty one, one that may go, or a new one."""
        empty = np.flatnonzero(self._owner < 0)
        if empty.size:
            return int(empty[0])
        n_slots = self._owner.size
        oldest = int(np.argmin(self._used))
        if n_slots >= self._capacity and self._used[oldest] < self._clock:
            return oldest
        more = min(2 * n_slots, max(self._capacity, n_slots + 64), self.size) - n_slots
        rows = np.empty((n_slots + more, self.size))
        rows[:n_slots] = self.stored.rows
        self.stored = self.stored._replace(rows=rows)
        self._owner = np.append(self._owner, np.full(more, -1))
        self._used = np.append(self._used, np.zeros(more, dtype=np.intp))
        return n_slots
