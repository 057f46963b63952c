"""Prototypes of classes and representative rows."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from counterpoise.data.arrays import LARGEST, as_matrix
from counterpoise.data.labels_and_weights import row_counts
from counterpoise.data.parameters import check_integer, check_number
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.assignment.local_search import greedy_order, improved_set
from counterpoise.optim.assignment.problem import SparseAssignment, one_word_penalty
from counterpoise.optim.assignment.solvers import ProximalADMM, Trail
from counterpoise.optim.loop import Solution, solve
from counterpoise.selection.subset_selector import (
    Dissimilarity,
    as_shares,
    as_word_numbers,
    as_words,
    check_size,
    checked_dissimilarities,
    dissimilarities,
)

# -----------------------------------------------------------------------------
# Prototypes with a bound on any other choice.
# -----------------------------------------------------------------------------


# The gap to which the bound is brought, while a price is looked for and at the end, and
# the most steps that it may take.
SEARCH_TOL, BOUND_TOL, BOUND_STEPS = 1e-3, 1e-4, 1000
# Prices tried for a number of prototypes.
PRICES_TRIED = 12


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Rows that stand for all.

    Attributes
    ----------
    indices : array of shape (k,)
        Rows of X, ascending; or of `candidates` where these are points, or columns of
        precomputed dissimilarities.
    labels : array of shape (n,)
        Every row's prototype, by its place in `indices`.
    cost : float
        The weighted mean dissimilarity of a row and its prototype.
    penalty : float
        What a prototype costs; where their number was given, the price at which so many
        pay.
    objective : float
        cost + penalty * k; where their number was given, cost.
    bound : float
        What no choice of prototypes goes below.
    """

    indices: Indices
    labels: Indices
    cost: float
    penalty: float
    objective: float
    bound: float

    @property
    def ratio(self) -> float:
        """How many times the bound the objective is; 1: no choice is better."""
        if self.objective <= self.bound:
            return 1.0
        return self.objective / self.bound if self.bound > 0.0 else np.inf


def select_prototypes(
    X: ArrayLike,
    n_prototypes: int | None = None,
    *,
    sparsity: float = 0.1,
    dissimilarity: Dissimilarity = "sqeuclidean",
    candidates: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_time: float | None = None,
) -> Prototypes:
    r"""Return rows that stand for all, and how much better any other choice could be.

    .. math:: \min_S \sum_i p_i \min_{j \in S} R_{ij} + \lambda |S|

    The problem of `SubsetSelector` without a graph is the linear relaxation of this.
    Its bound holds for every choice; words with an entry of one half or more, improved
    by exchanges until none gains, make the choice. With a given number k,
    :math:`D(\lambda) - \lambda k` bounds the cost for every :math:`\lambda`; the one
    at which k prototypes pay is looked for, and exchanges begin at the k largest
    entries and at a greedy choice.

    Parameters
    ----------
    X : array-like or frame of shape (n, d), or (n, l) if precomputed
    n_prototypes : int or None
        Their number; None: as many as pay at `sparsity`.
    sparsity : float
        What a prototype costs, in units of the penalty from which on one is best.
    dissimilarity : str or callable
        As of `SubsetSelector`.
    candidates : array of int, or points of shape (l, d), optional
        Rows of positive weight that may be chosen, or other points; None: all such
        rows. Precomputed: columns.
    sample_weight : array of shape (n,), optional
        What the rows count; only their ratios matter.
    max_time : float or None
        Seconds for the bound; what is proved by then holds.

    Returns
    -------
    Prototypes

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> found = select_prototypes(X, 2)
    >>> found.indices, round(found.cost, 4), round(found.ratio, 3)
    (array([1, 4]), 0.0067, 1.0)
    """
    check_integer("n_prototypes", n_prototypes, low=1, options=(None,))
    check_number("sparsity", sparsity, low=0.0)
    check_number("max_time", max_time, low=0.0, options=(None,))
    costs, numbers = candidate_costs(X, dissimilarity, candidates, sample_weight)
    if n_prototypes is not None and n_prototypes > len(numbers):
        raise InvalidInputError(
            f"n_prototypes must be at most {len(numbers)}, the number of candidates, "
            f"got {n_prototypes}"
        )
    if n_prototypes is None:
        penalty = float(sparsity) * one_word_penalty(costs).low
        found = _relaxed(costs, penalty, max_time, Trail())
        bound = found.certificate.bound
        candidates = improved_set(
            costs, _rounded(found, costs), np.full(costs.shape[1], penalty)
        )
    else:
        candidates, penalty, bound = _of_size(costs, n_prototypes, max_time)
    near = costs[:, candidates]
    cost = float(near.min(axis=1).sum())
    paid = penalty * len(candidates) if n_prototypes is None else 0.0
    return Prototypes(
        numbers[candidates],
        near.argmin(axis=1),
        cost,
        penalty,
        cost + paid,
        min(bound, cost + paid),
    )


def candidate_costs(
    X: ArrayLike,
    dissimilarity: Dissimilarity,
    candidates: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[Array, Indices]:
    """Return p_i R_ij of rows and candidates, and the candidates' numbers."""
    items = as_matrix(X)
    weights = row_counts(sample_weight, len(items))
    mass = as_shares(weights)
    given = None if candidates is None else np.asarray(candidates)
    if isinstance(dissimilarity, str) and dissimilarity == "precomputed":
        check_size(*items.shape)
        R = checked_dissimilarities(items, "the dissimilarity")
        numbers = np.arange(R.shape[1])
    elif given is not None and given.ndim == 2:
        points = as_words(given, X, items, "candidates")
        R = dissimilarities(items, points, dissimilarity)
        _refuse_huge(R)
        return np.ascontiguousarray(mass[:, None] * R), np.arange(R.shape[1])
    else:
        R = dissimilarities(items, items, dissimilarity)
        numbers = np.flatnonzero(weights > 0.0)
    if given is not None:
        chosen = as_word_numbers(given, R.shape[1], "candidates")
        if chosen.size == 0:
            raise InvalidInputError("candidates is empty: at least one is needed")
        without = np.setdiff1d(chosen, numbers)
        if without.size:
            raise InvalidInputError(
                f"candidates has row {without[0]}, whose sample_weight is zero"
            )
        numbers = chosen
    _refuse_huge(R)
    return np.ascontiguousarray(mass[:, None] * R[:, numbers]), numbers


def _refuse_huge(R: Array) -> None:
    """Refuse dissimilarities whose squares are not finite."""
    if R.size and float(np.abs(R).max()) > LARGEST:
        raise InvalidInputError(
            f"dissimilarities reach {float(np.abs(R).max()):.3g}, and beyond "
            f"{LARGEST:g} their squares are not finite: divide the columns"
        )


def _relaxed(
    costs: Array,
    penalty: float,
    max_time: float | None,
    trail: Trail,
    tol: float = BOUND_TOL,
) -> Solution:
    """Return the linear relaxation's solution, from where a trail ends."""
    problem = SparseAssignment(costs, penalty)
    return solve(
        problem,
        ProximalADMM(trail=trail),
        tol=tol,
        max_iter=BOUND_STEPS,
        max_time=max_time,
    )


def _rounded(found: Solution, costs: Array) -> Indices:
    """Return words with an entry of one half or more, or the one nearest to it."""
    tops = found.x.reshape(costs.shape).max(axis=0)
    words = np.flatnonzero(tops >= 0.5)
    return words if words.size else np.array([int(tops.argmax())])


def _of_size(
    costs: Array, k: int, max_time: float | None
) -> tuple[Indices, float, float]:
    """Return k words, the price at which so many pay, and a bound of their cost.

    D(lambda) - lambda k is concave in lambda; its slope is the sum of all columns'
    largest entries less k. Prices are halved or doubled until that changes its sign,
    and then taken between the two.
    """
    high = one_word_penalty(costs).low
    if k == 1:
        word = int(costs.sum(axis=0).argmin())
        return np.array([word]), high, float(costs[:, word].sum())
    deadline = np.inf if max_time is None else time.perf_counter() + max_time
    starts = [greedy_order(costs, np.zeros(0, dtype=np.intp), k)]
    bound, price = float(costs.min(axis=1).sum()), 0.0
    low, tried, trail = 0.0, 0.1 * high, Trail()
    for attempt in range(PRICES_TRIED + 1):
        last = attempt == PRICES_TRIED or abs(high - low) <= SEARCH_TOL * high
        at = price if last else tried
        left = deadline - time.perf_counter()
        if not at > 0.0 or not left > 0.0:
            break
        found = _relaxed(
            costs,
            at,
            left if np.isfinite(left) else None,
            trail,
            BOUND_TOL if last else SEARCH_TOL,
        )
        reached = found.certificate.bound - at * k
        if reached > bound:
            bound, price = reached, at
        tops = found.x.reshape(costs.shape).max(axis=0)
        starts.append(np.lexsort((np.arange(len(tops)), -tops))[:k])
        if last:
            break
        if float(tops.sum()) > k:
            low = tried
        else:
            high = tried
        tried = float(np.sqrt(low * high)) if low > 0.0 else 0.25 * tried
    begun = {tuple(np.sort(one)): one for one in starts}
    free = np.zeros(costs.shape[1])
    ended = [improved_set(costs, one, free, is_sized=True) for one in begun.values()]
    words = min(ended, key=lambda one: float(costs[:, one].min(axis=1).sum()))
    return words, price, bound


# -----------------------------------------------------------------------------
# Representative rows.
# -----------------------------------------------------------------------------


def select_representatives(
    X: ArrayLike,
    n_rows: int,
    *,
    labeled: ArrayLike | None = None,
    dissimilarity: Dissimilarity = "sqeuclidean",
    sample_weight: ArrayLike | None = None,
) -> Indices:
    r"""Return the k rows that stand best for all, beside those with a label.

    .. math:: \min_{|S| = k} \sum_i p_i \min_{j \in S \cup S_0} R_{ij}

    with :math:`S_0` the labeled rows, by exchanges from a greedy choice until none
    gains; no model is asked (`select_rows_to_label` asks one). The order is that in
    which each row lowers the cost most, so that the first of them are worth most.

    Parameters
    ----------
    X : array-like or frame of shape (n, d), or (n, n) if precomputed
    n_rows : int
        At most the number of rows of positive weight without a label.
    labeled : array of int, optional
        Rows that already stand for their neighbors; none of them is returned.
    dissimilarity : str or callable
        As of `SubsetSelector`.
    sample_weight : array of shape (n,), optional
        What the rows count; rows of weight zero are not chosen.

    Returns
    -------
    array of shape (k,)
        Rows of X, the best first.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]])
    >>> select_representatives(X, 2, labeled=[1])
    array([4, 5])
    """
    n_rows = check_integer("n_rows", n_rows, low=1)
    costs, numbers = candidate_costs(X, dissimilarity, None, sample_weight)
    given = as_word_numbers(labeled, len(costs), "labeled")
    given_costs = isinstance(dissimilarity, str) and dissimilarity == "precomputed"
    if given_costs and costs.shape[0] != costs.shape[1]:
        raise InvalidInputError(
            f"X must be square where dissimilarities are given, got {costs.shape}"
        )
    if np.setdiff1d(given, numbers).size:
        row = int(np.setdiff1d(given, numbers)[0])
        raise InvalidInputError(f"labeled has row {row}, whose sample_weight is zero")
    there = np.searchsorted(numbers, given)
    most = len(numbers) - len(there)
    if n_rows > most:
        raise InvalidInputError(
            f"n_rows must be at most {most}, the number of rows without a label, "
            f"got {n_rows}"
        )
    first = greedy_order(costs, there, n_rows)
    chosen = improved_set(
        costs,
        np.concatenate([there, first]),
        np.zeros(costs.shape[1]),
        fixed=there,
        is_sized=True,
    )
    ordered = greedy_order(costs, there, n_rows, among=np.setdiff1d(chosen, there))
    return numbers[ordered]
