"""Training rows, equal ones merged, and the settings of a model on them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.learners.twin_gp.models.losses import Loss, loss_of
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.row_keys import one_zero
from counterpoise.samples.ordering import canonical_order

# Directions in which outputs vary less than this share of the most are rounding.
FLAT_DIRECTION = 1e-12
# A row whose noise ridge / weight is this many times the signal says nothing.
SILENT = 1e9


@dataclass(frozen=True)
class Settings:
    """The numbers that a twin Gaussian process depends on."""

    divergence: str
    theta: float
    gamma_x: float
    gamma_y: float
    ridge_x: float
    ridge_y: float

    @property
    def loss(self) -> Loss:
        """The function of y to minimise."""
        return loss_of(self.divergence, self.theta, self.ridge_y)

    @property
    def ridge_t(self) -> float:
        """The ridge of the mixture."""
        return (1.0 - self.theta) * self.ridge_x + self.theta * self.ridge_y

    @property
    def radius(self) -> float:
        """The width of the output kernel, the unit of length among outputs."""
        return 1.0 / float(np.sqrt(2.0 * self.gamma_y))


@dataclass(frozen=True, eq=False)
class TwinRows:
    """Different rows of positive weight, in an order of their own.

    Permuted rows, repeated rows and rows of weight zero give the same ones, to the
    bit: weight k is the row k times because copies are merged and their weights added.

    Attributes
    ----------
    X, Y : arrays of shape (n, d_x), (n, d_y)
    weight : array of shape (n,)
    group : array of shape (n,)
        Rows of a group are held out together.
    """

    X: Array
    Y: Array
    weight: Array
    group: Indices

    @classmethod
    def merged(
        cls, X: Array, Y: Array, weight: Array, group: Indices | None = None
    ) -> "TwinRows":
        """Take rows in any order; O(n (d_x + d_y)) beside the sort."""
        used = np.flatnonzero(weight > 0.0)
        table = [X[used], Y[used]]
        if group is not None:
            table.append(group[used, None].astype(float))
        whole = one_zero(np.hstack(table))
        order = canonical_order(whole, weight[used])
        whole, weight = whole[order], weight[used][order]
        new = np.ones(len(whole), dtype=bool)
        new[1:] = (whole[1:] != whole[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        whole, weight = whole[first], np.add.reduceat(weight, first)
        d = X.shape[1]
        held = np.arange(len(whole))
        if group is not None:
            held = whole[:, -1].astype(np.intp)
        return cls(
            np.ascontiguousarray(whole[:, :d]),
            np.ascontiguousarray(whole[:, d : d + Y.shape[1]]),
            weight,
            held,
        )

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, which: Indices) -> "TwinRows":
        """Return some of the rows."""
        return TwinRows(
            self.X[which], self.Y[which], self.weight[which], self.group[which]
        )

    def with_outputs(self, Y: Array) -> "TwinRows":
        """Return the rows with other outputs."""
        return TwinRows(self.X, Y, self.weight, self.group)

    def heard(self, ridge: float) -> "TwinRows":
        """Return the rows whose noise does not drown them."""
        loud = np.flatnonzero(self.weight * SILENT > ridge)
        return self if loud.size in (0, len(self)) else self.take(loud)

    @cached_property
    def directions(self) -> Array | None:
        """Orthonormal columns that span how the outputs differ; None: all directions.

        Slopes lie in their span; what rounding adds outside of it grows where the loss
        curves downwards, and would make a constant output vary.
        """
        _, sizes, across = np.linalg.svd(self.Y - self.mean, full_matrices=False)
        used = sizes > FLAT_DIRECTION * sizes.max(initial=0.0)
        if used.sum() == self.Y.shape[1]:
            return None
        return np.ascontiguousarray(across[used].T)

    @property
    def root(self) -> Array:
        """The roots of the weights."""
        return np.sqrt(self.weight)

    @property
    def mean(self) -> Array:
        """The weighted mean of the outputs."""
        # Shares first: weights are used as given, and may be as large as numbers are.
        out: Array = (self.weight / self.weight.sum()) @ self.Y
        return out


def column_variances(A: Array, weight: Array) -> Array:
    """Return the weighted variance of every column."""
    share = weight / weight.sum()
    away = A - share @ A
    return share @ (away * away)


def width_rule(A: Array, weight: Array) -> float:
    """Return gamma = 1 / (4 sum of variances): the width is the usual pair distance.

    The root of the mean squared distance between two rows, each drawn in proportion
    to its weight, so that repeated rows and their weights agree; a median over pairs
    would not. One where all rows are equal.

    Examples
    --------
    >>> width_rule(np.array([[0.0], [2.0]]), np.ones(2))
    0.25
    """
    total = float(column_variances(A, weight).sum())
    scale = float(np.abs(A).max())
    return 1.0 / (4.0 * total) if total > (1e-12 * scale) ** 2 else 1.0
