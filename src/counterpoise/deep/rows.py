"""The rows of a training, and which of them make a batch."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.ordering import canonical_order

# The batches have a stream of random numbers of their own.
BATCHES = 1


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Both samples in an order of their own, so that nothing depends on the user's.

    A row is drawn in proportion to its weight: weight two is the row twice, zero its
    absence, to the bit.

    Attributes
    ----------
    X, y : arrays of shape (n, ...), (n,)
        Source rows that count, and places of their classes.
    weight : array of shape (n,)
    target : array of shape (m, ...) or None
    n_classes : int
    """

    X: Array
    y: Indices
    weight: Array
    target: Array | None
    n_classes: int

    @classmethod
    def of(
        cls,
        X: Array,
        y: Indices,
        weight: Array,
        target: Array | None,
        n_classes: int,
        shape: tuple[int, ...],
    ) -> "TrainingRows":
        """Put flat rows in their order, and give them their shape."""
        order = canonical_order(np.column_stack([X, y]), weight)
        aims = None
        if target is not None:
            aims = target[canonical_order(target, np.ones(len(target)))]
            aims = aims.reshape(-1, *shape)
        return cls(
            X[order].reshape(-1, *shape), y[order], weight[order], aims, n_classes
        )

    @cached_property
    def source(self) -> Any:
        """The source rows as a tensor."""
        return torch.as_tensor(self.X, dtype=torch.float32)

    @cached_property
    def labels(self) -> Any:
        """The places of the classes as a tensor."""
        return torch.as_tensor(self.y, dtype=torch.int64)

    @cached_property
    def aims(self) -> Any:
        """The target rows as a tensor; None without a target."""
        if self.target is None:
            return None
        return torch.as_tensor(self.target, dtype=torch.float32)

    def batch(
        self, seed: int, step: int, size: int, balanced: bool
    ) -> tuple[Indices, Indices]:
        """Return source and target rows of one step, drawn with replacement.

        `balanced`: every class as often as any other, whatever its rows weigh together.
        """
        rng = np.random.default_rng([seed, BATCHES, step])
        u = rng.random(size)
        if balanced:
            drawn = rng.integers(0, self.n_classes, size)
            ends = self._class_ends
            low = ends[drawn]
            places = low + u * (ends[drawn + 1] - low)
            rows = self._by_class[_places(self._class_totals, places)]
        else:
            rows = _places(self._totals, u * self._totals[-1])
        aims = np.zeros(0, dtype=np.intp)
        if self.target is not None:
            aims = (rng.random(size) * len(self.target)).astype(np.intp)
        return rows, aims

    @cached_property
    def _totals(self) -> Array:
        return np.cumsum(self.weight)

    @cached_property
    def _by_class(self) -> Indices:
        return np.argsort(self.y, kind="stable")

    @cached_property
    def _class_totals(self) -> Array:
        return np.cumsum(self.weight[self._by_class])

    @cached_property
    def _class_ends(self) -> Array:
        last = np.searchsorted(self.y[self._by_class], np.arange(self.n_classes + 1))
        out: Array = np.concatenate([[0.0], self._class_totals])[last]
        return out


def _places(totals: Array, at: Array) -> Indices:
    """Return which of the running totals a number falls under."""
    return np.minimum(np.searchsorted(totals, at, side="right"), totals.size - 1)
