"""Exchanges, price ascent and sweeps for sets of exemplars."""

import numpy as np
from numpy.typing import NDArray

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.compiled import compiled, reordered

# -----------------------------------------------------------------------------
# Prices of words from costs alone, by raising what items offer.
# -----------------------------------------------------------------------------


def raised_prices(
    costs: Array,
    penalties: Array,
    is_max: bool,
    offers: Array | None = None,
    ordered: Array | None = None,
) -> Array:
    r"""Return :math:`G \ge 0` of columns within their penalties that bound much.

    Dual ascent of facility location: item i offers :math:`\nu_i`, of which word j gets
    :math:`G_{ij} = (\nu_i - C_{ij})_+`. Offers begin at an item's least cost and rise,
    one item after the other, to the next cost of that item, or to where a word's dual
    norm reaches its penalty: until every item is stopped. The sum of all offers is
    the bound. O(n l^2) at most.

    Parameters
    ----------
    costs : array of shape (n, l)
    penalties : array of shape (l,)
    is_max : bool
        Whether the sum of a column is held to its penalty, or its length.
    offers : array of shape (n,), optional
        Where the offers begin; within the penalties. So prices of a search are raised
        to where none can be raised alone. None: at the least costs.
    ordered : array of shape (n, l), optional
        The costs of each item in order, where they are at hand.

    References
    ----------
    Erlenkotter (1978).
    """
    if ordered is None:
        ordered = np.sort(costs, axis=1)
    first = ordered[:, 0] if offers is None else np.maximum(offers, ordered[:, 0])
    return _ascended(
        np.ascontiguousarray(costs), ordered, penalties, is_max, first.copy()
    )


def slope_prices(costs: Array, penalties: Array, U: Array) -> Array:
    """Return the slope of the Euclidean norms at U, and what idle words may be offered.

    A column that is not zero has one slope, lambda u / |u|; at a column of zeros every
    item offers what it pays at its cheapest other word.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", U, U))
    used = lengths > 1e-6 * lengths.max()
    G = np.zeros_like(costs)
    G[:, used] = U[:, used] * (penalties[used] / lengths[used])
    offers = (costs + G)[:, used].min(axis=1)
    G[:, ~used] = np.maximum(offers[:, None] - costs[:, ~used], 0.0)
    return G


@compiled
def _ascended(
    costs: Array, ordered: Array, penalties: Array, is_max: bool, offers: Array
) -> Array:
    n, words = costs.shape
    used = np.zeros(words)
    level = np.ones(n, dtype=np.intp)
    for i in range(n):
        while level[i] < words and ordered[i, level[i]] <= offers[i]:
            level[i] += 1
        for j in range(words):
            paid = max(offers[i] - costs[i, j], 0.0)
            used[j] += paid if is_max else paid**2
    moving = np.ones(n, dtype=np.bool_)
    left = n
    while left > 0:
        for i in range(n):
            if not moving[i]:
                continue
            wanted = ordered[i, level[i]] if level[i] < words else np.inf
            reached = wanted
            for j in range(words):
                paid = offers[i] - costs[i, j]
                if paid < 0.0:
                    continue
                if is_max:
                    most = offers[i] + max(penalties[j] - used[j], 0.0)
                else:
                    slack = max(penalties[j] ** 2 - used[j] + paid**2, 0.0)
                    most = costs[i, j] + max(np.sqrt(slack), paid)
                reached = min(reached, most)
            for j in range(words):
                old = max(offers[i] - costs[i, j], 0.0)
                new = max(reached - costs[i, j], 0.0)
                used[j] += new - old if is_max else new**2 - old**2
            offers[i] = reached
            if reached < wanted or level[i] >= words:
                moving[i] = False
                left -= 1
            else:
                level[i] += 1
    out = np.empty((n, words))
    for i in range(n):
        for j in range(words):
            out[i, j] = max(offers[i] - costs[i, j], 0.0)
    return out


# -----------------------------------------------------------------------------
# Sets of words improved one word at a time: taken in, left out, exchanged.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# Compiled passes over an assignment: values, bounds, proximal maps, triangular
# solves.
#
# Items are rows and words columns of C-ordered arrays (n, l), so that the innermost
# loop
# runs over the words of one item. A Laplacian is given by its compressed rows.
# -----------------------------------------------------------------------------


# Newton's method for a threshold ends after as many passes as there are entries; this
# many are never needed.
MOST_PASSES = 1000
# Above every entry.
NO_CEILING = 1e300


@reordered
def laplacian_times(
    starts: Indices, columns: Indices, entries: Array, Y: Array, out: Array
) -> float:
    """Write L Y to `out`, and return tr(Y'LY).

    Both by differences of rows, as rows of L add up to zero: what is constant has
    neither, exactly, and the trace of weights is not negative.
    """
    n, words = Y.shape
    total = 0.0
    for i in range(n):
        for j in range(words):
            out[i, j] = 0.0
        for k in range(starts[i], starts[i + 1]):
            other, weight = columns[k], entries[k]
            if other == i:
                continue
            for j in range(words):
                apart = Y[other, j] - Y[i, j]
                out[i, j] += weight * apart
                total -= 0.5 * weight * apart * apart
    return total


@reordered
def sum_of_least(C: Array, G: Array, slope: float, LY: Array) -> float:
    """Return the sum over items of the least entry of C + G + slope LY."""
    n, words = C.shape
    total = 0.0
    for i in range(n):
        least = C[i, 0] + G[i, 0] + slope * LY[i, 0]
        for j in range(1, words):
            entry = C[i, j] + G[i, j] + slope * LY[i, j]
            least = entry if entry < least else least
        total += least
    return total


@reordered
def proximal_sweep(
    U: Array,
    Z1: Array,
    Z2: Array,
    y1: Array,
    y2: Array,
    costs: Array,
    levels: Array,
    is_max: bool,
    relaxation: float,
    row_thresholds: Array,
    column_thresholds: Array,
    sums: Array,
    counts: Array,
    before: Array,
) -> None:
    """Update both halves of the splitting and their multipliers after U.

    `costs` and `levels` are divided by the penalty parameter. Rows of Z1 are projected
    onto the simplex, columns of Z2 get the proximal map of their norm on the positive
    orthant; thresholds begin where the sweep before ended. U becomes
    (Z1 - y1 + Z2 - y2) / 2, what the next smoothing is of.
    """
    n, words = U.shape
    rest = 1.0 - relaxation
    for i in range(n):
        for j in range(words):
            moved = relaxation * U[i, j]
            y1[i, j] += moved + rest * Z1[i, j]
            y2[i, j] += moved + rest * Z2[i, j]
            Z1[i, j] = y1[i, j] - costs[i, j]
        row_thresholds[i] = simplex_threshold(Z1, i, row_thresholds[i])
        threshold = row_thresholds[i]
        for j in range(words):
            entry = Z1[i, j] - threshold
            Z1[i, j] = entry if entry > 0.0 else 0.0
            y1[i, j] -= Z1[i, j]
    if is_max:
        column_ceilings(y2, levels, column_thresholds, sums, counts, before)
        for i in range(n):
            for j in range(words):
                entry = y2[i, j] if y2[i, j] > 0.0 else 0.0
                top = column_thresholds[j]
                Z2[i, j] = entry if entry < top else top
    else:
        column_factors(y2, levels, column_thresholds)
        for i in range(n):
            for j in range(words):
                entry = y2[i, j] if y2[i, j] > 0.0 else 0.0
                Z2[i, j] = entry * column_thresholds[j]
    for i in range(n):
        for j in range(words):
            y2[i, j] -= Z2[i, j]
            U[i, j] = 0.5 * (Z1[i, j] - y1[i, j] + Z2[i, j] - y2[i, j])


@reordered
def simplex_threshold(W: Array, i: int, threshold: float) -> float:
    """Return tau with sum_j max(W_ij - tau, 0) = 1, by Newton from a threshold."""
    words = W.shape[1]
    before = -1
    for _ in range(MOST_PASSES):
        total, count = 0.0, 0
        for j in range(words):
            above = W[i, j] > threshold
            total += W[i, j] if above else 0.0
            count += 1 if above else 0
        if count == before:
            break
        if count == 0:
            # Above all entries: below the largest by one is a bound from below.
            largest = W[i, 0]
            for j in range(1, words):
                largest = W[i, j] if W[i, j] > largest else largest
            threshold = largest - 1.0
            before = -1
            continue
        before = count
        threshold = (total - 1.0) / count
    return threshold


@reordered
def column_ceilings(
    W: Array, levels: Array, tops: Array, sums: Array, counts: Array, before: Array
) -> None:
    """Write the ceilings of the max norm's proximal map to `tops`.

    The ceiling theta of a column has sum_i max(w_i - theta, 0) = level, zero where the
    positive entries add up to less. Newton's method from what `tops` holds, all columns
    at once; the sets above a threshold are nested, so equal counts end it.
    """
    n, words = W.shape
    for j in range(words):
        before[j] = -1.0
        if levels[j] == 0.0:
            # Nothing is taken off: no ceiling, and nothing to look for.
            tops[j] = NO_CEILING
            before[j] = 0.0
    for _ in range(MOST_PASSES):
        for j in range(words):
            sums[j] = 0.0
            counts[j] = 0.0
        for i in range(n):
            for j in range(words):
                above = W[i, j] > tops[j]
                sums[j] += W[i, j] if above else 0.0
                counts[j] += 1.0 if above else 0.0
        moving = False
        for j in range(words):
            if counts[j] == before[j]:
                continue
            if counts[j] == 0.0:
                if tops[j] == 0.0:
                    # Nothing is positive.
                    before[j] = 0.0
                else:
                    tops[j] = 0.0
                    before[j] = -1.0
                    moving = True
                continue
            before[j] = counts[j]
            top = (sums[j] - levels[j]) / counts[j]
            tops[j] = top if top > 0.0 else 0.0
            moving = True
        if not moving:
            break


@reordered
def column_factors(W: Array, levels: Array, factors: Array) -> None:
    """Write what the positive part of each column is multiplied by to `factors`.

    The proximal map of level times the Euclidean norm shortens it by the level.
    """
    n, words = W.shape
    for j in range(words):
        factors[j] = 0.0
    for i in range(n):
        for j in range(words):
            entry = W[i, j] if W[i, j] > 0.0 else 0.0
            factors[j] += entry * entry
    for j in range(words):
        length = factors[j] ** 0.5
        kept = 1.0 - levels[j] / length if length > levels[j] else 0.0
        factors[j] = kept


@reordered
def triangular_solves(
    starts: Indices, rows: Indices, entries: Array, pivots: Array, X: Array
) -> None:
    """Solve T diag(pivots) T' Y = X in place, T unit lower by its columns."""
    n, words = X.shape
    for k in range(n):
        for q in range(starts[k], starts[k + 1]):
            other, weight = rows[q], entries[q]
            for j in range(words):
                X[other, j] -= weight * X[k, j]
    for k in range(n - 1, -1, -1):
        pivot = 1.0 / pivots[k]
        for j in range(words):
            X[k, j] *= pivot
        for q in range(starts[k], starts[k + 1]):
            other, weight = rows[q], entries[q]
            for j in range(words):
                X[k, j] -= weight * X[other, j]
