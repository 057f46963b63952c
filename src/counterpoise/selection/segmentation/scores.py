"""How well a segmentation agrees with what people drew."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Indices
from counterpoise.selection.segmentation.labels import as_label_image
from counterpoise.validation import InvalidInput


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


def segmentation_scores(labels: Any, truths: Any) -> SegmentationScores:
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
    scores = [_scores_of(segments, truth) for truth in _all(truths, segments.shape)]
    return SegmentationScores(*np.mean(scores, axis=0).tolist())


def _all(truths: Any, shape: tuple[int, ...]) -> list[Indices]:
    """Return the truths as a list of label images of the shape."""
    if isinstance(truths, Sequence | np.ndarray) and len(truths) == 0:
        raise InvalidInput("truths must hold at least one segmentation, got none")
    several = _are_several(truths)
    found = (
        [as_label_image(f"truths[{k}]", one) for k, one in enumerate(truths)]
        if several
        else [as_label_image("truths", truths)]
    )
    for k, one in enumerate(found):
        if one.shape != shape:
            name = f"truths[{k}]" if several else "truths"
            raise InvalidInput(
                f"{name} must have the shape of labels, {shape}, got {one.shape}"
            )
    return found


def _are_several(truths: Any) -> bool:
    """Return whether truths hold label images, and not rows of one."""
    return isinstance(truths, Sequence | np.ndarray) and np.ndim(truths[0]) == 2


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
