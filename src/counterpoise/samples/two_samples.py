"""Two samples and how much each of their rows counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.samples.ordering import canonical_order
from counterpoise.validation import Matrix
from counterpoise.validation.counts import as_counts


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """Source and target rows with their shares.

    Attributes
    ----------
    source, target : matrix of shape (n, d), (m, d)
        Rows that count; those of weight zero are not among them.
    source_share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; positive, sum one.
    source_mass, target_mass : float
        How many rows the samples stand for: a row of weight two is two rows.
    """

    source: Any
    target: Any
    source_share: Array
    target_share: Array
    source_mass: float
    target_mass: float

    @classmethod
    def of(
        cls,
        source: Matrix,
        target: Matrix,
        source_weight: Array | None = None,
        target_weight: Array | None = None,
    ) -> "TwoSamples":
        """Return the samples without their rows of weight zero."""
        ones_source, ones_target = np.ones(source.shape[0]), np.ones(target.shape[0])
        source_weight = ones_source if source_weight is None else source_weight
        target_weight = ones_target if target_weight is None else target_weight
        if not source_weight.all():
            source = source[source_weight > 0]
            source_weight = source_weight[source_weight > 0]
        if not target_weight.all():
            target = target[target_weight > 0]
            target_weight = target_weight[target_weight > 0]
        masses = float(source_weight.sum()), float(target_weight.sum())
        return cls(
            source,
            target,
            source_weight / masses[0],
            target_weight / masses[1],
            *masses,
        )

    def ordered(self) -> "TwoSamples":
        """Return the rows in their canonical order, whatever order they came in."""
        return self.take(
            canonical_order(self.source, self.source_share),
            canonical_order(self.target, self.target_share),
        )

    def take(self, source_rows: Any, target_rows: Any) -> "TwoSamples":
        """Return some rows of each sample, with shares that sum to one again."""
        return TwoSamples.of(
            self.source[source_rows],
            self.target[target_rows],
            self.source_share[source_rows] * self.source_mass,
            self.target_share[target_rows] * self.target_mass,
        )

    def recounted(self, source_rows: Any, target_rows: Any) -> "TwoSamples":
        """Return some rows of each sample, what they count worked out by themselves.

        A part of fractional weights is worth what it is worth, not its part of what
        all are worth.
        """
        part = self.take(source_rows, target_rows)
        return TwoSamples.of(
            part.source,
            part.target,
            as_counts(part.source_share * part.source_mass),
            as_counts(part.target_share * part.target_mass),
        )

    def with_rows(self, source: Any, target: Any) -> "TwoSamples":
        """Return the same shares with other columns."""
        return TwoSamples(
            source,
            target,
            self.source_share,
            self.target_share,
            self.source_mass,
            self.target_mass,
        )
