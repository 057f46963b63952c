"""Rows that count: equal ones merged, in an order of their own, some held out."""

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.row_keys import one_zero

NO_GROUP = -1


@dataclass(frozen=True, eq=False)
class NetworkRows:
    """Distinct rows with labels, groups and what they count.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Responses, or codes of classes.
    weights : array of shape (n,)
        Positive.
    groups : array of int of shape (n,)
        Codes of groups; -1: in none that matters.
    """

    X: Array
    y: Array
    weights: Array
    groups: Indices

    @classmethod
    def merged(
        cls, X: Array, y: Array, weights: Array, groups: Indices
    ) -> "NetworkRows":
        """Return distinct rows of positive weight, sorted by what they hold.

        So a weight of two is the row twice and a weight of zero its absence, to the
        bit, and the order in which rows came does not matter.
        """
        counted = weights > 0.0
        table = one_zero(np.column_stack([X, y, groups])[counted])
        distinct, which = np.unique(table, axis=0, return_inverse=True)
        total = np.bincount(which.ravel(), weights[counted], minlength=len(distinct))
        return cls(
            np.ascontiguousarray(distinct[:, :-2]),
            distinct[:, -2].copy(),
            np.asarray(total, dtype=float),
            distinct[:, -1].astype(np.intp),
        )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def share(self) -> Array:
        """Weights of sum one."""
        return self.weights / self.weights.sum()

    def take(self, rows: Indices) -> "NetworkRows":
        """Return some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            weights=self.weights[rows],
            groups=self.groups[rows],
        )

    def divided(
        self, fraction: float, stratify: bool, random: np.random.RandomState
    ) -> tuple["NetworkRows", "NetworkRows | None"]:
        """Return rows to train on, and a fraction of the rows held out.

        With `stratify` the fraction is of every class, rounded down, and each keeps a
        row to train on; without, of all rows.
        """
        if fraction == 0.0:
            return self, None
        strata = np.unique(self.y) if stratify else [None]
        held = np.zeros(len(self), dtype=bool)
        for one in strata:
            own = np.arange(len(self)) if one is None else np.flatnonzero(self.y == one)
            held[random.permutation(own)[: int(fraction * own.size)]] = True
        if not held.any():
            return self, None
        return self.take(np.flatnonzero(~held)), self.take(np.flatnonzero(held))
