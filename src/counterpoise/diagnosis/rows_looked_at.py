"""Some of the rows that were scored, the same whatever order they came in."""

from dataclasses import dataclass, field

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.ordering import canonical_order
from counterpoise.samples.overlap_verdict import Overlap
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix


@dataclass(frozen=True, eq=False)
class RowsLookedAt:
    """At most so many rows of each sample, among those that were scored.

    They stand in their canonical order, and are the same whatever order they came in.
    """

    samples: SamplesAsRead
    covered: Overlap
    seed: int
    found: dict[tuple[int, int], TwoSamples] = field(default_factory=dict)

    def __call__(self, most: int) -> TwoSamples:
        """Return these rows."""
        sizes = self.covered.rows.size, self.covered.rows_target.size
        key = min(sizes[0], most), min(sizes[1], most)
        if key not in self.found:
            w, v = self.samples.source_weight, self.samples.target_weight
            some, aims = self.places(most)
            self.found[key] = TwoSamples.of(
                self.samples.source[some], self.samples.target[aims], w[some], v[aims]
            ).ordered()
        return self.found[key]

    def places(self, most: int) -> tuple[Indices, Indices]:
        """Return where they stand in the samples."""
        samples, covered = self.samples, self.covered
        w, v = samples.source_weight, samples.target_weight
        return (
            _some(samples.source, w, covered.rows, self.seed, most),
            _some(samples.target, v, covered.rows_target, self.seed, most),
        )


def _some(rows: Matrix, weight: Array, among: Indices, seed: int, most: int) -> Indices:
    """Return at most so many rows, the same whatever order they came in."""
    if among.size <= most:
        return among
    ordered = among[canonical_order(rows[among], weight[among])]
    picked = np.random.default_rng(seed).permutation(ordered.size)[:most]
    return ordered[np.sort(picked)]
