"""The words that regions may take: typical spectral histograms of the image."""

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.selection.segmentation.region_graph import Borders
from counterpoise.validation.warning import held_back

MAKERS = ("ward", "kmeans", "nmf")
# Words that agree to so many decimals are one: a split between twins is arbitrary.
_DECIMALS = 9


def words_of(
    features: Array,
    area: Array,
    borders: Borders,
    *,
    dictionary: str,
    n_words: int,
    seed: int,
) -> Array:
    """Return at most `n_words` words, rows of length one, no two alike.

    Parameters
    ----------
    features : array of shape (n, d)
        Of the regions, rows of length one.
    area : array of shape (n,)
        Pixels of each region.
    borders : Borders
    dictionary : {"ward", "kmeans", "nmf"}
        Means of contiguous Ward segments, centres of k-means, both weighted by area, or
        factors of a non-negative factorisation (as published).
    n_words : int
        At most as many are made as there are regions that differ; empty ones and
        repetitions are left out.
    seed : int
    """
    distinct = np.unique(features.round(_DECIMALS), axis=0).shape[0]
    count = min(n_words, distinct)
    if count < 2:
        words = np.average(features, axis=0, weights=area)[np.newaxis]
    elif dictionary == "ward":
        words = _ward(features, area, borders, count)
    elif dictionary == "kmeans":
        words = _kmeans(features, area, count, seed)
    else:
        words = _factors(features, count, seed)
    length = np.linalg.norm(words, axis=1)
    words = words[length > 0] / length[length > 0, np.newaxis]
    _, first = np.unique(words.round(_DECIMALS), axis=0, return_index=True)
    return words[np.sort(first)]


def _ward(features: Array, area: Array, borders: Borders, count: int) -> Array:
    from sklearn.cluster import AgglomerativeClustering

    touching = borders.matrix(np.ones(borders.first.size))
    ward = AgglomerativeClustering(count, connectivity=touching)
    owner = ward.fit_predict(features)
    return np.array(
        [
            np.average(features[owner == k], axis=0, weights=area[owner == k])
            for k in range(count)
        ]
    )


def _kmeans(features: Array, area: Array, count: int, seed: int) -> Array:
    from sklearn.cluster import KMeans

    kmeans = KMeans(count, n_init=2, random_state=seed)
    return kmeans.fit(features, sample_weight=area).cluster_centers_


def _factors(features: Array, count: int, seed: int) -> Array:
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    # Its start allows no more factors than columns.
    count = min(count, features.shape[1])
    nmf = NMF(count, init="nndsvda", max_iter=300, random_state=seed)
    # Words need be typical only: what is proved later is the choice among them.
    with held_back(ConvergenceWarning):
        return nmf.fit(features).components_
