"""Prices of words from costs alone, by raising what items offer."""

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.compiled import compiled


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
