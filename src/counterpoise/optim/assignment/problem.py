"""The assignment problem of subset selection, its smoothing and certificate."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import linprog
from scipy.sparse.linalg import SuperLU, splu

from counterpoise.linalg.arrays import Array, Indices, finite_array
from counterpoise.optim.assignment.local_search import (
    laplacian_times,
    raised_prices,
    slope_prices,
    sum_of_least,
    triangular_solves,
)
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.sets import project_rows

# scipy.sparse has no types.
SparseMatrix: TypeAlias = Any

# -----------------------------------------------------------------------------
# From which penalty on a single word is optimal.
#
# With e the word of least total cost, :math:`a_j = C_{\cdot j} - C_{\cdot e}`, and
# equal
# penalties :math:`\lambda`, the assignment of all items to e is optimal if and only
# if
# :math:`\lambda \ge \lambda_{\max}`; the graph has no say, because L 1 = 0. Its
# multipliers are prices s of the items at e, :math:`G_{\cdot e} = s` and
# :math:`G_{\cdot j} = (s - a_j)_+`, all of dual norm at most :math:`\lambda`.
# -----------------------------------------------------------------------------


# Items times words beyond which the linear program is not solved.
LARGEST_PROGRAM = 50_000
# Words that a program begins with, and takes in at once.
WORDS_AT_ONCE = 10
# A solution that leaves a word short of a larger share is not taken for one.
SHORT_ABOVE = 1e-6
# A word is short of nothing where it saves less than this share of the largest saving.
MET = 1e-10
# Relative width at which the bisection ends.
BISECTED = 1e-13


@dataclass(frozen=True, eq=False)
class OneWordPenalty:
    """The least penalty at which one word is optimal, between two bounds.

    Attributes
    ----------
    word : int
        The word of least total cost, the first of equal ones.
    low, high : float
        Proved bounds, equal where the penalty is exact.
    offers : array of shape (n,)
        s, of dual norm `high`.
    """

    word: int
    low: float
    high: float
    offers: Array

    @property
    def is_exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.low == self.high

    def prices(
        self, costs: Array, penalty: float, norm: Literal["max", "euclidean"]
    ) -> Array:
        """Return G, which proves the word optimal at a penalty of `high` or more.

        What the penalty is above `high` is offered by all items alike (max norm), or
        all offers are raised to it (Euclidean norm).
        """
        n = len(costs)
        if norm == "max":
            s = self.offers + max(penalty - float(self.offers.sum()), 0.0) / n
        else:
            s = np.full(n, penalty / np.sqrt(n))
        return np.maximum(s[:, None] - (costs - costs[:, [self.word]]), 0.0)


def one_word_penalty(
    costs: Array,
    norm: Literal["max", "euclidean"] = "max",
    *,
    exact: bool = True,
) -> OneWordPenalty:
    r"""Return the least penalty at which a single word is optimal.

    Max norm: the linear program

    .. math:: \lambda_{\max} = \min 1's \quad \text{s.t. } s \ge 0, \;
              \sum_i \min(s_i, a_{ij}) \ge 0 \text{ for all } j

    by HiGHS, in units of the largest saving :math:`\max_j \sum_i (-a_{ij})_+` (its
    tolerances are absolute). Beyond 50,000 entries of C, where HiGHS finds nothing
    (costs that differ by little more than their rounding) and where they will do (not
    `exact`), only the bounds

    .. math:: \max_j \sum_i (-a_{ij})_+ \le \lambda_{\max}
              \le \sum_i \max_j (a_{ij})_+

    Euclidean norm: the smallest :math:`\lambda` with
    :math:`\|(\lambda/\sqrt n - a_j)_+\| \le \lambda` for all j, by bisection.

    Examples
    --------
    >>> import numpy as np
    >>> words = [[1, 1, 1], [2.1, 0.5, 0.5], [0.5, 2.1, 0.5], [0.5, 0.5, 2.1]]
    >>> round(one_word_penalty(np.array(words).T).low, 6)
    3.0
    """
    word = _least_in_all(costs)
    apart = costs - costs[:, [word]]
    if norm == "euclidean":
        level = _bisected(np.delete(apart, word, axis=1))
        offers = np.full(len(costs), level / np.sqrt(len(costs)))
        return OneWordPenalty(word, level, level, offers)
    highest = np.maximum(apart.max(axis=1), 0.0)
    low = float(np.maximum(-apart, 0.0).sum(axis=0).max())
    s = None
    if exact and costs.size <= LARGEST_PROGRAM:
        s = _program(np.delete(apart, word, axis=1), low)
    if s is None:
        high = max(float(highest.sum()), low)
        return OneWordPenalty(word, low, high, highest)
    level = max(float(s.sum()), low)
    return OneWordPenalty(word, level, level, s)


def _least_in_all(costs: Array) -> int:
    """Return the word of least total cost, of equal ones the first.

    Totals of differences decide where those of costs differ by their rounding alone.
    """
    word = int(np.argmin(costs.sum(axis=0)))
    return int(np.argmin((costs - costs[:, [word]]).sum(axis=0)))


def _program(apart: Array, unit: float) -> Array | None:
    """Return the least s that no word improves upon, or None where none was found.

    Few words bind: the program begins with those that save most and takes in those
    that its solution leaves short, until none is. What an item loses at a word beyond
    all that the word saves counts for no more.
    """
    if unit == 0.0:
        return np.zeros(len(apart))
    apart = apart / unit
    saved = np.maximum(-apart, 0.0).sum(axis=0)
    apart = np.minimum(apart, saved)
    highest = np.maximum(apart.max(axis=1), 0.0)
    order = np.argsort(-saved, kind="stable")
    apart, saved = apart[:, order], saved[order]
    taken = np.zeros(len(saved), dtype=bool)
    taken[:WORDS_AT_ONCE] = saved[:WORDS_AT_ONCE] > 0.0
    s = np.zeros(len(apart))
    while taken.any():
        found = _over_words(apart[:, taken], saved[taken], highest)
        if found is None:
            return None
        s = found
        short = -np.minimum(s[:, None], apart).sum(axis=0)
        if short[taken].max() > SHORT_ABOVE * saved[0]:
            return None
        short[taken] = 0.0
        worst = np.argsort(-short, kind="stable")[:WORDS_AT_ONCE]
        worst = worst[short[worst] > MET * saved[0]]
        if worst.size == 0:
            break
        taken[worst] = True
    return s * unit


def _over_words(apart: Array, saved: Array, highest: Array) -> Array | None:
    r"""Return the least s that none of some words improves upon.

    Variables s and :math:`v_{ij} = \min(s_i, a_{ij})` of positive :math:`a_{ij}` alone.
    """
    n = len(apart)
    word, item = np.nonzero(apart.T > 0.0)
    k = len(word)
    minus, at = np.full(k, -1.0), np.arange(k)
    below = sparse.csr_array(
        (np.concatenate([minus, -minus]), (np.tile(at, 2), np.r_[item, n + at])),
        shape=(k, n + k),
    )
    paid = sparse.csr_array((minus, (word, n + at)), shape=(len(saved), n + k))
    answer = linprog(
        np.concatenate([np.ones(n), np.zeros(k)]),
        A_ub=sparse.vstack([below, paid], format="csr"),
        b_ub=np.concatenate([np.zeros(k), -saved]),
        bounds=np.column_stack(
            [np.zeros(n + k), np.concatenate([highest, apart[item, word]])]
        ),
        method="highs",
    )
    return None if answer.x is None else np.maximum(answer.x[:n], 0.0)


def _bisected(apart: Array) -> float:
    """Return the smallest level at which no word is longer than it."""
    n = len(apart)
    if apart.size == 0 or not (apart < 0.0).any():
        return 0.0
    # Squares of small numbers vanish, so the largest is made one.
    unit = float(np.abs(apart).max())
    apart = apart / unit

    def suffices(level: float) -> bool:
        rest = np.maximum(level / np.sqrt(n) - apart, 0.0)
        return bool((np.sqrt((rest**2).sum(axis=0)) <= level).all())

    low, high = 0.0, float(np.abs(apart).sum(axis=0).max())
    while not suffices(high):
        low, high = high, 2.0 * high
    while high - low > BISECTED * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return unit * high


# -----------------------------------------------------------------------------
# Assign items to few words: a linear cost, smoothness, and a norm of every column.
# -----------------------------------------------------------------------------


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
    >>> from counterpoise.optim import solve
    >>> problem = SparseAssignment(np.array([[0.0, 1.0], [0.2, 0.0]]), 0.3)
    >>> solve(problem).x.reshape(2, 2).round(3)
    array([[1., 0.],
           [1., 0.]])
    """

    costs: Array
    # A float becomes an array.
    penalties: Any
    laplacian: SparseMatrix = None
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


# -----------------------------------------------------------------------------
# Smoothing: (I + t L)^-1 applied to the columns of a matrix, for many matrices.
# -----------------------------------------------------------------------------


# A stored inverse is faster where a triangular factor has more than this share of its
# entries (20 to 50 columns), unless the inverse is too large to store.
DENSE_SHARE, DENSE_MOST = 1.0 / 9.0, 4000

Reduction = Literal["auto", "sparse", "inverse"]


class Smoother:
    """Apply (I + t L)^-1, by sparse triangular factors or by a stored inverse.

    The matrix is factored once for every t, and `order` applied to the items once, so
    that no iteration permutes anything.

    Parameters
    ----------
    laplacian : sparse matrix of shape (n, n) or None
        None: the identity, nothing is smoothed.
    n : int
    reduction : {"auto", "sparse", "inverse"}
        Sparse triangles, or a stored inverse. "auto": triangles, unless they are nearly
        full.

    Attributes
    ----------
    order : array of shape (n,)
        The items in the order that `apply` expects.
    """

    def __init__(
        self, laplacian: SparseMatrix, n: int, reduction: Reduction = "auto"
    ) -> None:
        self.order: Indices = np.arange(n)
        self._L: SparseMatrix = laplacian
        self._is_dense = False
        self._t = np.nan
        if laplacian is None:
            return
        L = sparse.csc_matrix(laplacian, dtype=float)
        full, can_store = DENSE_SHARE * n * n, n <= DENSE_MOST
        self._is_dense = reduction == "inverse" or (
            reduction == "auto" and L.nnz > full and can_store
        )
        if not self._is_dense:
            factor = _factor(L + sparse.identity(n, format="csc"), "MMD_AT_PLUS_A")
            self._is_dense = reduction == "auto" and factor.L.nnz > full and can_store
            if not self._is_dense:
                self.order = np.argsort(factor.perm_c)
        if self._is_dense:
            self._L = L.toarray()
        else:
            self._L = sparse.csc_matrix(L[self.order][:, self.order])

    def apply(self, X: Array, t: float) -> Array:
        """Return the inverse times X, rows in `order`; X is overwritten."""
        if self._L is None:
            return X
        if t != self._t:
            self._t = t
            self._prepare(t)
        if self._is_dense:
            return self._inverse @ X
        triangular_solves(*self._triangle, X)
        return X

    def _prepare(self, t: float) -> None:
        """Factor the matrix for a new t."""
        if self._is_dense:
            A = np.asfortranarray(t * self._L)
            A.flat[:: len(A) + 1] += 1.0
            factor, _ = dpotrf(A, lower=1, overwrite_a=1)
            inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
            self._inverse: Array = np.tril(inverse) + np.tril(inverse, -1).T
            return
        n = len(self.order)
        factor = _factor(t * self._L + sparse.identity(n, format="csc"), "NATURAL")
        assert np.array_equal(factor.perm_c, np.arange(n))
        assert np.array_equal(factor.perm_r, np.arange(n))
        below = sparse.tril(factor.L, -1, format="csc")
        self._triangle = (
            below.indptr.astype(np.intp),
            below.indices.astype(np.intp),
            below.data,
            factor.U.diagonal(),
        )


def _factor(A: SparseMatrix, ordering: str) -> SuperLU:
    # Positive definite matrices need no pivots beside the diagonal.
    options = {"SymmetricMode": True}
    return splu(A, permc_spec=ordering, diag_pivot_thresh=0.0, options=options)
