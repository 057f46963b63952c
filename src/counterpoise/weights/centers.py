"""Centres of kernels: the target rows, or few that stand for them."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.engine import current_budget
from counterpoise.samples.two_samples import TwoSamples

# Centres where all target rows are too many, and rows that k-means looks at for each.
CENTERS_AT_MOST, ROWS_A_CENTER = 2000, 10


def all_or_few(samples: TwoSamples, n_centers: int | str | None, seed: int) -> Any:
    """Return the centres: all target rows, or k-means centres of them.

    "auto" takes all while the kernel between them fits the memory budget.
    """
    m = samples.target.shape[0]
    if n_centers == "auto":
        n_centers = None if 8 * m * m <= current_budget() else CENTERS_AT_MOST
    if n_centers is None or int(n_centers) >= m:
        return samples.target
    return k_means_centers(samples, int(n_centers), seed)


def k_means_centers(samples: TwoSamples, k: int, seed: int) -> Any:
    """Return k-means centres of the target, of a part of it where that is large."""
    from sklearn.cluster import KMeans

    rows, share = samples.target, samples.target_share
    most = ROWS_A_CENTER * k
    if rows.shape[0] > most:
        some = np.sort(np.random.default_rng(seed).permutation(rows.shape[0])[:most])
        rows, share = rows[some], share[some]
    means = KMeans(k, init="random", n_init=1, max_iter=10, random_state=seed % 2**32)
    with_shares = means.fit(rows, sample_weight=share * rows.shape[0])
    centers = with_shares.cluster_centers_
    return sparse.csr_array(centers) if sparse.issparse(rows) else centers
