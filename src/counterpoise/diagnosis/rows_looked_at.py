"""Some of the rows that were scored, the same whatever order they came in."""

from collections.abc import Callable

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.ordering import canonical_order
from counterpoise.samples.overlap_verdict import Overlap
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix


def rows_looked_at(
    samples: SamplesAsRead, covered: Overlap, seed: int
) -> Callable[[int], TwoSamples]:
    """Return what gives at most so many rows of each sample that were scored.

    They stand in their canonical order, and are the same whatever order they came in.
    """
    found: dict[tuple[int, int], TwoSamples] = {}

    def at_most(most: int) -> TwoSamples:
        sizes = min(covered.rows.size, most), min(covered.rows_target.size, most)
        if sizes not in found:
            w, v = samples.source_weight, samples.target_weight
            some = _some(samples.source, w, covered.rows, seed, most)
            aims = _some(samples.target, v, covered.rows_target, seed, most)
            found[sizes] = TwoSamples.of(
                samples.source[some], samples.target[aims], w[some], v[aims]
            ).ordered()
        return found[sizes]

    return at_most


def _some(rows: Matrix, weight: Array, among: Indices, seed: int, most: int) -> Indices:
    """Return at most so many rows, the same whatever order they came in."""
    if among.size <= most:
        return among
    ordered = among[canonical_order(rows[among], weight[among])]
    picked = np.random.default_rng(seed).permutation(ordered.size)[:most]
    return ordered[np.sort(picked)]
