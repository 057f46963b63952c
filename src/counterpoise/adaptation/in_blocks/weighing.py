"""The weights that an estimator gets for rows of a block."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.adaptation.in_blocks.rows import (
    EncodedRows,
    LabelsOfRows,
)
from counterpoise.engine import Blocks, map_reduce
from counterpoise.numerics.arrays import Array
from counterpoise.weights.by_blocks import WeightSums


@dataclass(frozen=True, eq=False)
class RatioOfBlocks:
    """The density ratio of a block's rows, of mean one over all source rows.

    Attributes
    ----------
    weighter : fitted weighter or None
        None: ones.
    encoded : EncodedRows
    labels : LabelsOfRows or None
        For a weighter that goes by labels.
    """

    weighter: Any
    encoded: EncodedRows
    labels: LabelsOfRows | None

    def __call__(self, rows: Any, first: int) -> Array:
        """Return the ratio of a block's rows."""
        if self.weighter is None:
            return np.ones(len(rows))
        if getattr(self.weighter, "needs_labels", False):
            assert self.labels is not None
            found: Array = self.weighter.weigh(self.labels.at(rows, first))
            return found
        if hasattr(self.weighter, "weights_of"):
            assert self.labels is not None
            by_class: Array = self.weighter.weights_of(self.labels.at(rows, first))
            return by_class
        if hasattr(self.weighter, "_weigh_rows"):
            return self.weighter._weigh_rows(self.encoded(rows))
        return np.asarray(self.weighter.weigh(self.encoded(rows)), dtype=float)


@dataclass(frozen=True, eq=False)
class WeightsOfBlocks:
    r"""What the estimator gets: :math:`r^e / \mathrm{mean}\,r^e`, or a mixture.

    Attributes
    ----------
    ratio : RatioOfBlocks
        r.
    exponent, mixing : float
        As the guard chose them.
    mean : float
        Of :math:`r^e` over all source rows.
    """

    ratio: RatioOfBlocks
    exponent: float
    mixing: float
    mean: float = 1.0

    def __call__(self, rows: Any, first: int) -> Array:
        """Return the weights of a block's rows."""
        return self.of_ratio(self.ratio(rows, first))

    def of_ratio(self, ratio: Array) -> Array:
        """Return the weights of rows whose ratio is known."""
        if self.mixing < 1.0:
            return 1.0 + self.mixing * (ratio / self.mean - 1.0)
        return ratio**self.exponent / self.mean


@dataclass(frozen=True, eq=False)
class _SumsOfWeights:
    weights: WeightsOfBlocks

    def __call__(self, rows: Any, first: int) -> WeightSums:
        found = self.weights(rows, first)
        return WeightSums(
            len(found), float(found.sum()), float(found @ found), float(found.max())
        )


def sums_of_weights(source: Blocks, weights: WeightsOfBlocks) -> WeightSums:
    """Return what the weights of all rows add up to."""
    return map_reduce(source, _SumsOfWeights(weights))
