"""The training rows nearest to test rows, counted by their weights."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.learners.twin_gp.models.blocks import in_blocks
from counterpoise.learners.twin_gp.models.rows import TwinRows
from counterpoise.numerics.arrays import Array, Indices

# What adds up to the count exactly may miss it by this share of it, which is rounding.
ROUNDING = 1e-12
# Training inputs on which a count is judged.
JUDGED = 200


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Lists of the rows nearest to test rows, until their weights reach `count`.

    Of the last row only as much of its weight is used as the count leaves, so that
    repeated rows and weights agree: of three copies two may be in. O(N d) a test row.

    Attributes
    ----------
    rows : TwinRows
    count : float
    cap : int or None
        Most rows in a list, whatever they weigh.
    """

    rows: TwinRows
    count: float
    cap: int | None = None

    @cached_property
    def width(self) -> int:
        """The most rows that a list can have: the lightest ones, up to the cap."""
        return min(lightest(self.rows.weight, self.count), self.cap or len(self.rows))

    def of(self, X: Array) -> tuple[Indices, Array]:
        """Return the neighbours of test rows and what is used of their weights.

        Lists have different lengths; the shorter ones are filled up with rows of which
        nothing is used.
        """
        distance = _squared_distances(X, self.rows.X)
        return first_ones(distance, self.rows.weight, self.count, self.width)

    def row_bytes(self) -> int:
        """Return the memory that the list of a test row takes."""
        return 24 * len(self.rows) + 64 * self.width

    def complaint(self) -> str | None:
        """Return what is wrong with counting these weights, if anything."""
        rows = self.rows
        light = too_light("n_neighbors", rows.weight, self.count)
        if light is not None or self.width == lightest(rows.weight, self.count):
            return light
        spread = 2 * np.arange(JUDGED) + 1
        height = np.cumsum(rows.weight)
        by_weight = np.searchsorted(height, spread / (2 * JUDGED) * height[-1])
        reached = self._reached(spread * len(rows) // (2 * JUDGED))
        heavy = self._reached(by_weight)
        missed, heavy_missed = (
            one < self.count * (1.0 - ROUNDING) for one in (reached, heavy)
        )
        if not (missed.any() or heavy_missed.any()):
            return None
        least = min(reached.min(), heavy.min())
        return (
            f"n_neighbors = {self.count:g} counts weights, and those of the "
            f"{self.width} nearest rows, the most that are used, add up to less at "
            f"{missed.mean():.0%} of the training inputs, or {heavy_missed.mean():.0%} "
            f"by weight (down to {least:.3g}): flatten the weights "
            "(counterpoise.flatten) if answers are wanted there"
        )

    def _reached(self, which: Indices) -> Array:
        """Return what the lists of some of the rows themselves add up to."""

        def total(X: Array) -> Array:
            out: Array = self.of(X)[1].sum(axis=1)
            return out

        return in_blocks(total, self.rows.X[which], self.row_bytes())


def lightest(weight: Array, count: float) -> int:
    """Return how many rows can be needed to reach a count, whichever they are."""
    needed = int(np.searchsorted(np.cumsum(np.sort(weight)), count)) + 1
    return min(needed, len(weight))


def too_light(name: str, weight: Array, count: float) -> str | None:
    """Return what is wrong with a count that all rows together do not reach."""
    total = float(weight.sum())
    if total > count or len(weight) <= count:
        return None
    return (
        f"{name} = {count:g} counts weights, and those of all {len(weight)} rows add "
        f"up to {total:.3g}: divide the weights by their mean"
    )


def first_ones(
    key: Array, weight: Array, count: float, most: int
) -> tuple[Indices, Array]:
    """Return the columns of least key, ascending, until their weights reach a count.

    Parameters
    ----------
    key : array of shape (m, n)
    weight : array of shape (n,)
    count : float
    most : int
        How many columns can be needed, or are allowed.

    Returns
    -------
    columns, used : arrays of shape (m, k)
        Used is of the last column what the count leaves, and nothing of those that
        fill up the shorter lists.

    Examples
    --------
    >>> first_ones(np.array([[5.0, 1.0, 3.0]]), np.array([1.0, 2.0, 2.0]), 3.0, 3)
    (array([[1, 2]]), array([[2., 1.]]))
    """
    m, n = key.shape
    if most < n:
        columns = np.argpartition(key, most - 1, axis=1)[:, :most]
    else:
        columns = np.tile(np.arange(n), (m, 1))
    order = np.lexsort((columns, np.take_along_axis(key, columns, axis=1)), axis=1)
    columns = np.take_along_axis(columns, order, axis=1)
    used = weight[columns]
    left = np.full(used.shape, float(count))
    left[:, 1:] -= np.cumsum(used, axis=1)[:, :-1]
    np.minimum(used, left, out=used)
    used[left <= ROUNDING * count] = 0.0
    width = int((used > 0.0).sum(axis=1).max())
    return columns[:, :width], used[:, :width]


def _squared_distances(X: Array, rows: Array) -> Array:
    middle = rows.mean(axis=0)
    X, rows = X - middle, rows - middle
    out: Array = X @ rows.T
    out *= -2.0
    out += (X * X).sum(axis=1)[:, None]
    out += (rows * rows).sum(axis=1)
    return np.maximum(out, 0.0, out=out)
