"""Sets of words improved one word at a time: taken in, left out, exchanged."""

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.compiled import compiled

# A change that gains less than this share of the cost is none, nor one that gains less
# than rounding leaves of sums of all the entries.
LEAST_GAIN = 1e-12
_ROUNDING = 4.0 * np.finfo(np.float64).eps


def improved_set(
    costs: Array,
    words: Indices,
    penalties: Array,
    *,
    fixed: Indices | None = None,
    is_sized: bool = False,
) -> Indices:
    r"""Return a set of words that no single change makes cheaper.

    The cost of a set S is
    :math:`\sum_i \min_{j \in S} C_{ij} + \sum_{j \in S} \lambda_j`. Changes are
    exchanges, and where the size is free a word more or a word less; the first that
    gains is made. Looking at all exchanges with one candidate takes O(n + |S|),
    with the nearest and the second nearest word of every item at hand.

    Parameters
    ----------
    costs : array of shape (n, l)
        Items by words.
    words : array of int
        Where to begin; not empty, each once.
    penalties : array of shape (l,)
        :math:`\lambda`.
    fixed : array of int, optional
        Words that stay, of `words`.
    is_sized : bool
        Whether the number of words is kept.

    Returns
    -------
    array of int, ascending

    References
    ----------
    Schubert and Rousseeuw (2021), FasterPAM.

    Examples
    --------
    >>> import numpy as np
    >>> C = np.abs(np.array([[0.0], [1.0], [5.0], [6.0]]) - np.array([0, 1, 5, 6]))
    >>> improved_set(C, np.array([0, 1]), np.zeros(4), is_sized=True)
    array([1, 3])
    """
    stays = np.zeros(costs.shape[1], dtype=np.bool_)
    if fixed is not None:
        stays[fixed] = True
    size = float(costs[:, words].min(axis=1).sum() + penalties[words].sum())
    found = _improved(
        np.ascontiguousarray(costs.T),
        words.astype(np.int64),
        stays,
        penalties,
        is_sized,
        max(LEAST_GAIN * abs(size), _rounding(costs, penalties)),
    )
    return np.sort(found).astype(np.intp)


def greedy_order(
    costs: Array, words: Indices, count: int, among: Indices | None = None
) -> Indices:
    """Return words in the order in which each lowers the cost most, `count` of them.

    Parameters
    ----------
    costs : array of shape (n, l)
    words : array of int
        Words that are there from the beginning.
    count : int
    among : array of int, optional
        Words to choose from; None: all others.
    """
    left = np.ones(costs.shape[1], dtype=bool)
    if among is not None:
        left[:] = False
        left[among] = True
    left[words] = False
    # Without words the first has the least cost of all.
    nearest = costs[:, words].min(axis=1, initial=np.inf)
    chosen = []
    for _ in range(count):
        totals = np.minimum(costs, nearest[:, None]).sum(axis=0)
        totals[~left] = np.inf
        best = int(np.argmin(totals))
        chosen.append(best)
        left[best] = False
        nearest = np.minimum(nearest, costs[:, best])
    return np.array(chosen, dtype=np.intp)


def _rounding(costs: Array, penalties: Array) -> float:
    """Return what rounding may make of a gain: else two sets could take turns for ever.

    Examples
    --------
    >>> bool(_rounding(np.full((10, 2), 1e6), np.zeros(2)) < 1e-7)
    True
    """
    largest = max(
        float(np.abs(one[np.isfinite(one)]).max(initial=0.0))
        for one in (costs, penalties)
    )
    return _ROUNDING * len(costs) * largest


@compiled
def _improved(
    costs: Array,
    start: Indices,
    stays: NDArray[np.bool_],
    penalties: Array,
    is_sized: bool,
    least: float,
) -> Indices:
    words, n = costs.shape
    chosen = np.zeros(words, dtype=np.int64)
    k = len(start)
    chosen[:k] = start
    place = np.full(words, -1, dtype=np.int64)
    for q in range(k):
        place[chosen[q]] = q
    near = np.zeros(n, dtype=np.int64)
    first, second = np.empty(n), np.empty(n)
    _look(costs, chosen, k, near, first, second)
    losses, shift = np.zeros(words), np.zeros(words)
    _losses(near, first, second, k, losses)
    idle, candidate = 0, 0
    while idle < words:
        # From the last word on: of two that tie, the first stays.
        candidate = (candidate - 1) % words
        c = candidate
        idle += 1
        if place[c] >= 0:
            q = place[c]
            free = not is_sized and k > 1 and not stays[c]
            if free and losses[q] - penalties[c] < -least:
                k -= 1
                chosen[q] = chosen[k]
                place[chosen[q]] = q
                place[c] = -1
                _look(costs, chosen, k, near, first, second)
                _losses(near, first, second, k, losses)
                idle = 0
            continue
        shift[:k] = losses[:k]
        gain = 0.0
        for i in range(n):
            d = costs[c, i]
            if d < first[i]:
                gain += d - first[i]
                shift[near[i]] += first[i] - second[i]
            elif d < second[i]:
                shift[near[i]] += d - second[i]
        best, at = np.inf, -1
        if k == 1:
            # No second nearest word: all items go to the new one.
            shift[0] = -gain
            for i in range(n):
                shift[0] += costs[c, i] - first[i]
        for q in range(k):
            saved = shift[q] - penalties[chosen[q]]
            if not stays[chosen[q]] and saved < best:
                best, at = saved, q
        more = gain + penalties[c]
        best += penalties[c]
        swaps = at >= 0 and gain + best < -least
        if swaps and (is_sized or gain + best <= more):
            place[chosen[at]] = -1
            chosen[at] = c
            place[c] = at
        elif not is_sized and more < -least:
            chosen[k] = c
            place[c] = k
            k += 1
        else:
            continue
        _look(costs, chosen, k, near, first, second)
        _losses(near, first, second, k, losses)
        idle = 0
    return chosen[:k].copy()


@compiled
def _look(
    costs: Array, chosen: Indices, k: int, near: Indices, first: Array, second: Array
) -> None:
    """Find the nearest and the second nearest chosen word of every item."""
    n = costs.shape[1]
    for i in range(n):
        near[i] = 0
        first[i] = np.inf
        second[i] = np.inf
    for q in range(k):
        c = chosen[q]
        for i in range(n):
            d = costs[c, i]
            if d < first[i]:
                second[i] = first[i]
                first[i] = d
                near[i] = q
            elif d < second[i]:
                second[i] = d


@compiled
def _losses(near: Indices, first: Array, second: Array, k: int, losses: Array) -> None:
    """Sum up what leaving out each chosen word would cost."""
    for q in range(k):
        losses[q] = 0.0
    for i in range(len(near)):
        losses[near[i]] += second[i] - first[i]
