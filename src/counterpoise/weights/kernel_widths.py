"""Choosing the width of a Gaussian kernel."""

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.distances import nearest_distance
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.median_width import median_gamma as median_gamma
from counterpoise.samples.two_samples import TwoSamples

# Widths in units of the median distance between target rows, the smoothest first.
WIDTH_FACTORS = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18)
# Rows of each sample that a search looks at, and the fewest that it can work with.
ROWS_SEARCHED, FEWEST_TO_CHOOSE = 2000, 20
# A width at which more target rows than this have no source neighbour is not taken;
# the relative ratio stands more of them.
LARGEST_UNCOVERED, LARGEST_UNCOVERED_RELATIVE = 0.1, 0.3


def uncovered_share(samples: TwoSamples, gamma: float) -> float:
    """Return the share of target rows with less than one expected source neighbour.

    The expectation is n times the mean of the kernel over the source; it is computed
    at no more than 2000 target rows, taken at equal intervals.
    """
    m = samples.target.shape[0]
    some = np.linspace(0, m - 1, min(m, ROWS_SEARCHED)).astype(int)
    reach = Kernel("rbf", gamma).pull(
        samples.source_share, samples.source, samples.target[some]
    )
    share = samples.target_share[some]
    return float(share[samples.source_mass * reach < 1.0].sum() / share.sum())


def lonely_share(samples: TwoSamples) -> float:
    """Return the share of target rows that are far from all source rows.

    A target row is lonely if its nearest source row is further away than the nearest
    other row is from all but one of the source rows. No width is involved: a wide
    kernel reaches across a hole. At most 500 rows are asked and 20,000 source rows
    looked at, at equal intervals; 0 for sparse rows and for few different ones.
    """
    if sparse.issparse(samples.source):
        return 0.0
    source = np.unique(_at_intervals(samples.source, 20_000), axis=0)
    if len(source) < FEWEST_TO_CHOOSE:
        return 0.0
    asked = _at_intervals(source, 500)
    aims = np.linspace(0, samples.target.shape[0] - 1, 500).astype(int)
    aims = np.unique(aims)
    own = np.sort(nearest_distance(asked, source, own=True))
    far = nearest_distance(samples.target[aims], source) > own[-2]
    share = samples.target_share[aims]
    return float(share[far].sum() / share.sum())


def _at_intervals(rows: Array, most: int) -> Array:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)]


def thinned(
    samples: TwoSamples, seed: int, most: int = ROWS_SEARCHED
) -> tuple[Indices, Indices]:
    """Return the places of at most so many rows of each sample, by chance."""
    rng = np.random.default_rng(seed)
    sizes = samples.source.shape[0], samples.target.shape[0]
    source, target = (np.sort(rng.permutation(k)[:most]) for k in sizes)
    return source, target
