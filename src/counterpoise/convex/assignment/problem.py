"""Assign items to few words: a linear cost, smoothness, and a norm of every column."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import sparse

from counterpoise.convex.assignment.price_ascent import raised_prices, slope_prices
from counterpoise.convex.assignment.sweeps import laplacian_times, sum_of_least
from counterpoise.convex.certificate import Certificate
from counterpoise.numerics.arrays import Array, Indices, finite_array
from counterpoise.numerics.projections import project_rows

# A gap so small, in units of all items at their worst words, is rounding.
ROUNDED_GAP = 1e-15


@dataclass(frozen=True, eq=False)
class AssignmentDual:
    """What proves a bound: prices G of taking a word, and a point Y of the graph term.

    `G` and `Y` have shape (n, l); Y None is a matrix of zeros. Any will do, good ones
    prove more.
    """

    G: Array
    Y: Array | None = None


@dataclass(frozen=True)
class CompressedRows:
    """A sparse matrix by its rows, as compiled functions take it."""

    starts: Indices
    columns: Indices
    entries: Array


@dataclass(frozen=True, eq=False)
class SparseAssignment:
    r"""The least costly assignment of n items to few of l words.

    .. math::

        F(U) = \langle C, U \rangle + \gamma \, \mathrm{tr}(U'LU)
        + \sum_j \lambda_j \Omega(U_{\cdot j}), \qquad U \ge 0, \; U 1 = 1

    over U of shape (n, l), which travels as the vector of its rows. :math:`\Omega` is
    the largest entry or the Euclidean norm of a column, L a graph's Laplacian.

    For any :math:`G \ge 0` whose columns have a dual norm of at most
    :math:`\lambda_j` (sum for the max norm, length for the Euclidean) and any Y

    .. math::

        F^* \ge D(G, Y) = \sum_i \min_j (C + G + 2\gamma LY)_{ij}
        - \gamma \, \mathrm{tr}(Y'LY)

    because :math:`\lambda_j \Omega(u) \ge g'u`, because
    :math:`\mathrm{tr}(U'LU) \ge 2 \langle LY, U \rangle - \mathrm{tr}(Y'LY)`, and
    because what is left is a minimum over each item's simplex. At an optimum, its
    multipliers and itself make the bound tight. Cost: O(nl + l nnz(L)).

    The unit of the gap is :math:`F(U) - \sum_i \min_j C_{ij}`: what a constant added to
    a row of C changes neither in the solution nor in the proof.

    Parameters
    ----------
    costs : array of shape (n, l)
    penalties : float or array of shape (l,)
        :math:`\lambda_j`, not negative.
    laplacian : sparse matrix of shape (n, n), optional
        Symmetric, positive semidefinite, rows adding up to zero; None: no such term.
    smoothness : float
        :math:`\gamma`, not negative.
    norm : {"max", "euclidean"}

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import solve
    >>> problem = SparseAssignment(np.array([[0.0, 1.0], [0.2, 0.0]]), 0.3)
    >>> solve(problem).x.reshape(2, 2).round(3)
    array([[1., 0.],
           [1., 0.]])
    """

    costs: Array
    penalties: Any
    laplacian: Any = None
    smoothness: float = 0.0
    norm: Literal["max", "euclidean"] = "max"

    def __post_init__(self) -> None:
        costs = np.ascontiguousarray(finite_array("costs", self.costs, 2))
        n, words = costs.shape
        penalties = np.broadcast_to(
            np.asarray(self.penalties, dtype=float), (words,)
        ).copy()
        if not (np.isfinite(penalties).all() and (penalties >= 0.0).all()):
            raise ValueError(f"penalties must be at least 0, got {self.penalties}")
        if not 0.0 <= self.smoothness < np.inf:
            raise ValueError(f"smoothness must be at least 0, got {self.smoothness}")
        if self.norm not in ("max", "euclidean"):
            raise ValueError(f"norm must be 'max' or 'euclidean', got {self.norm!r}")
        if self.laplacian is not None and self.laplacian.shape != (n, n):
            raise ValueError(
                f"laplacian must have shape ({n}, {n}), got {self.laplacian.shape}"
            )
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "penalties", penalties)

    @property
    def objective(self) -> "SparseAssignment":
        """The problem itself: `value` and `gradient` of the smooth part."""
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of items and words."""
        n, words = self.costs.shape
        return n, words

    @property
    def is_smoothed(self) -> bool:
        """Whether the graph has a say."""
        return self.laplacian is not None and self.smoothness > 0.0

    @cached_property
    def least_costs(self) -> Array:
        """What the items cost at the word that is best for each."""
        return self.costs.min(axis=1)

    @cached_property
    def excess_costs(self) -> Array:
        """The costs above each item's least."""
        out: Array = np.ascontiguousarray(self.costs - self.least_costs[:, None])
        return out

    @cached_property
    def rows_of_laplacian(self) -> CompressedRows:
        """The Laplacian as compiled functions take it."""
        L = sparse.csr_array(self.laplacian)
        return CompressedRows(
            L.indptr.astype(np.intp), L.indices.astype(np.intp), L.data.astype(float)
        )

    def start(self) -> Array:
        """Return equal shares of all words."""
        n, words = self.shape
        return np.full(n * words, 1.0 / words)

    def matrix(self, x: Array) -> Array:
        """Return a point as the matrix of items by words."""
        return np.ascontiguousarray(x).reshape(self.shape)

    def value(self, x: Array) -> float:
        """Return cost and smoothness, without the norms."""
        U = self.matrix(x)
        roughness = self._rough(U)[1] if self.is_smoothed else 0.0
        return float(np.vdot(self.costs, U)) + self.smoothness * roughness

    def gradient(self, x: Array) -> Array:
        """Return the gradient of cost and smoothness."""
        if not self.is_smoothed:
            return self.costs.ravel().copy()
        LU = self._rough(self.matrix(x))[0]
        return (self.costs + 2.0 * self.smoothness * LU).ravel()

    def norms(self, U: Array) -> Array:
        """Return the norm of every column."""
        if self.norm == "max":
            out: Array = np.abs(U).max(axis=0)
            return out
        return np.sqrt(np.einsum("ij,ij->j", U, U))

    def excess(self, U: Array) -> float:
        """Return F(U) less what all items cost at their best words."""
        roughness = self._rough(U)[1] if self.is_smoothed else 0.0
        return (
            float(np.vdot(self.excess_costs, U))
            + self.smoothness * roughness
            + float(self.penalties @ self.norms(U))
        )

    def excess_bound(self, dual: AssignmentDual) -> float:
        """Return D(G, Y) less the same, G clipped and its columns scaled down."""
        G = self._within(dual.G)
        if not self.is_smoothed or dual.Y is None:
            return float((self.excess_costs + G).min(axis=1).sum())
        LY, roughness = self._rough(dual.Y)
        least = sum_of_least(self.excess_costs, G, 2.0 * self.smoothness, LY)
        return float(least - self.smoothness * roughness)

    def raised(self, dual: AssignmentDual) -> AssignmentDual:
        """Return a dual point whose bound is no lower: no price can be raised alone."""
        G, slopes = self._within(dual.G), self.excess_costs
        ordered = None if self.is_smoothed else self._ordered_costs
        if self.is_smoothed and dual.Y is not None:
            slopes = slopes + 2.0 * self.smoothness * self._rough(dual.Y)[0]
        offers = (slopes + G).min(axis=1)
        is_max = self.norm == "max"
        G = raised_prices(slopes, self.penalties, is_max, offers, ordered)
        return AssignmentDual(G, dual.Y)

    def inside(self, x: Array) -> Array:
        """Return the nearest assignment, item by item."""
        return project_rows(self.matrix(x)).ravel()

    def infeasibility(self, x: Array) -> float:
        """Return how far outside a point is: below zero, or beside a sum of one."""
        U = self.matrix(x)
        beside = float(np.abs(U.sum(axis=1) - 1.0).max())
        # Sums of many shares are one up to rounding.
        return max(float(-U.min()), beside if beside > 1e-12 else 0.0, 0.0)

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it.

        With an `AssignmentDual` as hint by its bound, or else by prices made for the
        gradient at x: raised until no word has slack, or those of the Euclidean norm's
        own slope.
        """
        U = self.matrix(x)
        if isinstance(hint, AssignmentDual):
            return self.claim(x, self.excess(U), self.excess_bound(hint))
        return self.judge(x, self.value(x), self.gradient(x))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient of the smooth part at x prove."""
        U = self.matrix(x)
        slopes = gradient.reshape(self.shape) - self.least_costs[:, None]
        G = raised_prices(slopes, self.penalties, self.norm == "max")
        bound = self.excess_bound(AssignmentDual(G, U))
        if self.norm == "euclidean":
            G = slope_prices(slopes, self.penalties, U)
            bound = max(bound, self.excess_bound(AssignmentDual(G, U)))
        excess = value + float(self.penalties @ self.norms(U)) - self.least_costs.sum()
        return self.claim(x, excess, bound)

    def claim(self, x: Array, excess: float, bound: float) -> Certificate:
        """Say what a value and a bound prove, both above the least costs."""
        offset, excess = float(self.least_costs.sum()), float(excess)
        gap = max(excess - float(bound), 0.0)
        if gap <= ROUNDED_GAP * float(self.excess_costs.max(axis=1).sum()):
            gap = 0.0
        return Certificate(
            kind="dual bound",
            objective=offset + excess,
            bound=offset + excess - gap,
            gap=gap,
            scale=max(excess, 0.0),
            infeasibility=self.infeasibility(x),
        )

    @cached_property
    def _ordered_costs(self) -> Array:
        return np.sort(self.excess_costs, axis=1)

    def _within(self, G: Array) -> Array:
        """Return prices clipped at zero, columns scaled down to their penalties."""
        G = np.maximum(G, 0.0)
        sizes = G.sum(axis=0) if self.norm == "max" else _lengths(G)
        over = sizes > self.penalties
        if over.any():
            G[:, over] *= self.penalties[over] / sizes[over]
        return G

    def _rough(self, Y: Array) -> tuple[Array, float]:
        """Return L Y and tr(Y'LY)."""
        L = self.rows_of_laplacian
        out = np.empty(self.shape)
        total = laplacian_times(L.starts, L.columns, L.entries, Y, out)
        return out, float(total)


def _lengths(G: Array) -> Array:
    """Return the lengths of columns, in units that keep squares from vanishing."""
    tops = G.max(axis=0)
    unit = np.where(tops > 0.0, tops, 1.0)
    out: Array = unit * np.sqrt(((G / unit) ** 2).sum(axis=0))
    return out
