"""Image segmentation by sparse subset selection."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from counterpoise.data.parameters import (
    as_seed,
    check_choice,
    check_integer,
    check_number,
)
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.selection.image_features import (
    MAKERS,
    as_label_image,
    as_picture,
    borders_of,
    boundary_strength,
    likeness,
    merged,
    regions_of,
    spectral_histograms,
    words_of,
)
from counterpoise.selection.subset_selector import SubsetSelector

# -----------------------------------------------------------------------------
# Agreement of segmentations.
# -----------------------------------------------------------------------------


class SegmentationScores(NamedTuple):
    """Agreement of a segmentation with one or several others.

    Attributes
    ----------
    covering : float
        Mean over the pixels of how well the best segment covers the true one around
        them; 1 where both agree.
    rand_index : float
        Share of the pairs of pixels that both put together or both put apart.
    variation_of_information : float
        What each tells that the other does not, in bits; 0 where both agree.
    """

    covering: float
    rand_index: float
    variation_of_information: float


def segmentation_scores(labels: ArrayLike, truths: ArrayLike) -> SegmentationScores:
    r"""Return covering, Rand index and variation of information of a segmentation.

    With :math:`n_{sg}` pixels in segment s of `labels` and g of a truth, :math:`n_s`
    and :math:`n_g` in each, N in all:

    .. math::

        C = \frac1N \sum_g n_g \max_s \frac{n_{sg}}{n_s + n_g - n_{sg}}, \quad
        R = 1 - \frac{\frac12 \sum_s n_s^2 + \frac12 \sum_g n_g^2 - \sum_{sg} n_{sg}^2}
                     {N (N - 1) / 2}, \quad
        V = - \sum_{sg} \frac{n_{sg}}N
              \log_2 \frac{n_{sg}}{n_s} \frac{n_{sg}}{n_g}

    each averaged over the truths (R is then the probabilistic Rand index). C covers the
    truth by `labels`, not the other way round; R and V are symmetric. A single pixel
    has no pairs: R is 1.

    Parameters
    ----------
    labels : array of shape (H, W)
        A segment a pixel, any integers.
    truths : array of shape (H, W) or (k, H, W), or sequence of arrays of shape (H, W)
        One segmentation to compare with, or several.

    Returns
    -------
    SegmentationScores

    References
    ----------
    P. Arbelaez, M. Maire, C. Fowlkes, J. Malik (2011), Contour detection and
    hierarchical image segmentation, IEEE TPAMI 33(5).

    Examples
    --------
    >>> halves, quarters = [[0, 0, 1, 1]], [[0, 1, 2, 3]]
    >>> segmentation_scores(halves, halves)
    SegmentationScores(covering=1.0, rand_index=1.0, variation_of_information=0.0)
    >>> segmentation_scores(halves, quarters).variation_of_information
    1.0
    """
    segments = as_label_image("labels", labels)
    if isinstance(truths, Sequence | np.ndarray) and len(truths) == 0:
        raise InvalidInputError("truths must hold at least one segmentation, got none")
    named = {"truths": truths}
    if isinstance(truths, Sequence | np.ndarray) and np.ndim(truths[0]) == 2:
        named = {f"truths[{k}]": truth for k, truth in enumerate(truths)}
    scores = []
    for name, truth in named.items():
        image = as_label_image(name, truth)
        if image.shape != segments.shape:
            raise InvalidInputError(
                f"{name} must have the shape of labels, {segments.shape}, got "
                f"{image.shape}"
            )
        scores.append(_scores_of(segments, image))
    return SegmentationScores(*np.mean(scores, axis=0).tolist())


def _scores_of(segments: Indices, truth: Indices) -> tuple[float, float, float]:
    """Return the three measures of one truth."""
    ones = np.ones(truth.size, dtype=np.int64)
    places = (truth.ravel(), segments.ravel())
    # Pixels of the same pair of segments add up.
    shared = sparse.coo_array((ones, places)).tocsr().tocoo()
    both = shared.data
    n_true, n_found = np.bincount(places[0]), np.bincount(places[1])
    around, own = n_true[shared.row], n_found[shared.col]
    n = int(both.sum())

    best = np.zeros(n_true.size)
    np.maximum.at(best, shared.row, both / (around + own - both))
    covering = float(n_true @ best / n)

    apart = int(n_true @ n_true) + int(n_found @ n_found) - 2 * int(both @ both)
    rand_index = 1.0 - apart / (n * (n - 1)) if n > 1 else 1.0

    information = float(both @ (np.log2(around / both) + np.log2(own / both)) / n)
    return covering, rand_index, information


# -----------------------------------------------------------------------------
# Segmentation.
# -----------------------------------------------------------------------------


# Regions from which on smoothness counts in full.
_ENOUGH_REGIONS = 40


@dataclass(frozen=True, eq=False)
class Segmentation:
    """A segmentation and everything it was made from.

    Attributes
    ----------
    labels : array of shape (H, W), or (s, H, W) for a sequence of sparsities
        Segments 0..k-1.
    regions : array of shape (H, W)
        The over-segmentation, 0..n-1.
    features : array of shape (n, d)
        Local spectral histograms of the regions, rows of length one.
    graph : sparse array of shape (n, n)
        How alike regions with a common border are.
    selector : SubsetSelector
        Fitted at the (last) sparsity; `solution_` proves how far it is from optimal.
    """

    labels: Indices
    regions: Indices
    features: Array
    graph: sparse.csr_array
    selector: SubsetSelector


def segment(
    image: ArrayLike,
    *,
    oversegmentation: str | ArrayLike = "felzenszwalb",
    dictionary: str = "ward",
    n_candidates: int = 20,
    sparsity: float | Sequence[float] = 0.15,
    smoothness: float = 1.0,
    window: int = 17,
    n_bins: int = 11,
    edge_width: float = 0.1,
    tol: float = 1e-3,
    random_state: int | np.random.RandomState | None = None,
    return_record: bool = False,
) -> Indices | Segmentation:
    r"""Return the segments of an image; how many there are follows from the image.

    The image is cut into n small regions with features :math:`x_i` (local spectral
    histograms) and shares of the pixels :math:`p_i`; a dictionary of l words
    :math:`d_j` stands for what occurs in the image. Each region takes one word, few
    words are used, and touching regions that look alike prefer the same one:

    .. math::

        \min_{U \ge 0,\; U 1 = 1} \; \sum_{ij} p_i \|x_i - d_j\|^2 U_{ij}
        + \frac{\text{smoothness}}{n} \operatorname{tr} U^\top L U
        + \lambda \sum_j \max_i U_{ij},
        \qquad
        W_{ij} = e^{-\|x_i - x_j\|^2 / \text{edge\_width} - b_{ij}}

    with :math:`\lambda` = `sparsity` times the least one at which a single word is
    optimal, L the Laplacian of W (touching regions only) and b the mean strength of
    their common border. Touching regions whose largest entry of U is at the same word
    become one segment.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
        uint8, uint16, or floats from 0 to 1; grey or color. Alpha is dropped.
    oversegmentation : {"felzenszwalb", "slic", "watershed"} or array of shape (H, W)
        How the regions are found, or the regions themselves (any integers). Segments
        are made of whole regions: they are as good as the borders of these.
    dictionary : {"ward", "kmeans", "nmf"}
        Means of contiguous Ward segments, centers of k-means, or a non-negative
        factorization (as published; worse on photographs, see Notes).
    n_candidates : int
        Words of the dictionary, at most as many as regions that differ.
    sparsity : float or sequence of floats
        How dear a word is: 0 free, 1 and above a single word. Of a sequence all are
        solved along one path, and returned in its order.
    smoothness : float
        How much touching regions that look alike want the same word. Of fewer than 40
        regions it counts in proportion to them: a few large ones would all be merged.
    window : int
        Side, in pixels, of the square whose histogram describes a pixel.
    n_bins : int
        Bins a response of a filter.
    edge_width : float
        Squared distance of features by which the likeness of two regions falls to a
        factor of 1/e.
    tol : float
        Relative gap to the optimum that is proved.
    random_state : None, int or RandomState
        For the dictionaries "kmeans" and "nmf".
    return_record : bool
        Whether to return a `Segmentation` with regions, features, graph and selector.

    Returns
    -------
    array of shape (H, W), or (s, H, W), or Segmentation
        Segments 0..k-1, connected (8 neighbors) where the regions are.

    Notes
    -----
    Defaults were fixed on photographs of 481 x 321 pixels, by cross-validation over
    twenty of them (`benchmarks/selection/segmentation.py` has every setting tried).
    The regions of "felzenszwalb" grow with the picture, `window` does not.
    Answers are within `tol` of the optimum, and regions that are nearly tied may fall
    either way: a member of a sequence need not equal the same sparsity asked alone.

    References
    ----------
    F. Zohrizadeh (2019), Segmentation by sparse subset selection, dissertation.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((40, 60))
    >>> image[:, 30:] = 1.0
    >>> np.unique(segment(image)).tolist()
    [0, 1]
    """
    check_choice("dictionary", dictionary, MAKERS)
    check_integer("n_candidates", n_candidates, low=1)
    check_number("smoothness", smoothness, low=0)
    check_integer("window", window, low=1)
    check_integer("n_bins", n_bins, low=2)
    check_number("edge_width", edge_width, low=0, closed="neither")
    check_number("tol", tol, low=0, closed="neither")
    is_sequence = np.ndim(sparsity) > 0
    given = list(np.atleast_1d(np.asarray(sparsity, dtype=object)))
    sparsities = np.array(
        [
            check_number(f"sparsity[{k}]" if is_sequence else "sparsity", one, low=0)
            for k, one in enumerate(given)
        ]
    )
    if not sparsities.size:
        raise InvalidInputError("sparsity must have at least one value, got none")
    seed = as_seed(random_state)

    picture = as_picture(image)
    regions = regions_of(picture, oversegmentation)
    features = spectral_histograms(
        picture.lab, picture.luminance, regions, window=window, n_bins=n_bins
    )
    area = np.bincount(regions.ravel()).astype(float)
    borders = borders_of(regions, boundary_strength(picture.lab))
    words = words_of(
        features, area, borders, dictionary=dictionary, n_words=n_candidates, seed=seed
    )
    graph = likeness(borders, features, edge_width)
    selector = SubsetSelector(
        sparsity=float(sparsities[-1]),
        smoothness=smoothness * min(area.size / _ENOUGH_REGIONS, 1.0),
        tol=tol,
    )
    selector.fit(features, candidates=words, graph=graph, sample_weight=area)
    if not is_sequence:
        labels = merged(borders, selector.selected_[selector.labels_])[regions]
    else:
        ascending, places = np.unique(sparsities, return_inverse=True)
        path = selector.path(ascending)
        labels = np.array([merged(borders, path.labels[k])[regions] for k in places])
        selector = path.at(float(sparsities[-1]))
    if return_record:
        return Segmentation(labels, regions, features, graph, selector)
    return labels
