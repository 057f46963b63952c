"""Regions, boundaries and color histograms of images."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage, sparse
from scipy.sparse.csgraph import connected_components

from counterpoise.data.parameters import check_choice
from counterpoise.errors import InvalidInputError, InvalidTypeError, suppress_warnings
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.compiled import compiled

# -----------------------------------------------------------------------------
# Where an image changes.
# -----------------------------------------------------------------------------


# Standard deviation, in pixels, of the blur before differences are taken.
_BLUR = 1.0
# The percentile of the strength that counts as one.
_STRONG = 99.0


def boundary_strength(lab: Array) -> Array:
    """Return the length of the color gradient, in units of its 99th percentile.

    Zero everywhere where the colors are constant.

    Parameters
    ----------
    lab : array of shape (H, W, 3)
        CIELAB.
    """
    blurred = [ndimage.gaussian_filter(lab[..., k], _BLUR) for k in range(3)]
    slopes = [ndimage.sobel(one, axis) for one in blurred for axis in (0, 1)]
    strength = np.sqrt(np.sum(np.square(slopes), axis=0))
    strong = np.percentile(strength, _STRONG)
    return strength / strong if strong > 0 else strength


# -----------------------------------------------------------------------------
# Local spectral histograms: what a region looks like, color and texture alike.
#
# Thirteen responses of every pixel: the three channels of CIELAB, and of the
# luminance
# two Laplacians of Gaussians (standard deviations 0.5 and 1) and eight even Gabor
# filters
# (standard deviations 1.5 and 2.5, wavelength twice that, four directions), all of
# zero
# mean. Each response is cut into bins of equal width between its 0.5th and 99.5th
# percentile (one stray pixel wrecks the range between least and largest). The
# histogram
# of a pixel is the share of every bin among the pixels of a square window around it,
# as
# far as the window lies in the image; that of a region is the mean over its pixels.
# A response that is in one bin all over the image (the colors of a grey one) tells
# nothing and only makes all regions alike: its histograms are zero, unless all are
# such.
#
# References
# ----------
# X. Yuan, D. Wang, A. Cheriyadat (2015), Factorization-based texture segmentation,
# IEEE
# Transactions on Image Processing 24(11).
# -----------------------------------------------------------------------------


_N_RESPONSES = 13
# Percentiles of a response between which its bins lie.
_OUTERMOST = (0.5, 99.5)
# Bins of a response that hardly varies are as wide as if it had this range: one unit of
# CIELAB cannot be seen, and luminance has steps of 1/255 in most files.
_LEAST_COLOR_RANGE = 1.0
_LEAST_FILTER_RANGE = 1.0 / 255.0


def spectral_histograms(
    lab: Array, luminance: Array, regions: Indices, *, window: int, n_bins: int
) -> Array:
    """Return the local spectral histogram of every region, rows of length one.

    Parameters
    ----------
    lab : array of shape (H, W, 3)
    luminance : array of shape (H, W)
        From 0 to 1.
    regions : array of shape (H, W)
        Regions 0..n-1.
    window : int
        Side of the square, in pixels.
    n_bins : int
        Bins a response.

    Returns
    -------
    array of shape (n, 13 * n_bins)
    """
    n_regions = int(regions.max()) + 1
    histograms = np.zeros((n_regions, _N_RESPONSES, n_bins))
    varies = np.zeros(_N_RESPONSES, dtype=bool)
    colors = ((lab[..., k], _LEAST_COLOR_RANGE) for k in range(3))
    filtered = ((one, _LEAST_FILTER_RANGE) for one in _filtered(luminance))
    for k, (response, least) in enumerate(chain(colors, filtered)):
        bins = _binned(response, least, n_bins)
        varies[k] = bins.min() < bins.max()
        histograms[:, k] = _mean_histograms(bins, regions, n_regions, n_bins, window)
    if varies.any():
        histograms[:, ~varies] = 0.0
    features = histograms.reshape(n_regions, -1)
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def _filtered(luminance: Array) -> Iterator[Array]:
    """Return the responses of the filters, borders mirrored."""
    for kernel in [*map(_laplacian, (0.5, 1.0)), *_gabor(1.5), *_gabor(2.5)]:
        yield ndimage.correlate(luminance, kernel - kernel.mean(), mode="reflect")


def _laplacian(sigma: float) -> Array:
    """Return the Laplacian of a Gaussian up to a factor."""
    y, x = _square(int(np.ceil(2.5 * sigma)))
    r = (x**2 + y**2) / (2 * sigma**2)
    return (r - 1) * np.exp(-r)


def _gabor(sigma: float) -> list[Array]:
    """Return even Gabor filters in four directions, their wavelength 2 sigma."""
    y, x = _square(int(2 * sigma))
    bell = np.exp(-(x**2 + y**2) / (2 * sigma**2))
    turns = np.arange(4) * np.pi / 4
    return [
        bell * np.cos(np.pi / sigma * (x * np.cos(turn) + y * np.sin(turn)))
        for turn in turns
    ]


def _square(half: int) -> tuple[Array, Array]:
    """Return the coordinates, from its center, of a square of pixels."""
    y, x = np.mgrid[-half : half + 1, -half : half + 1].astype(float)
    return y, x


def _binned(response: Array, least_range: float, n_bins: int) -> Indices:
    """Return the bin of every pixel; all in the first one where nothing differs."""
    low, high = np.percentile(response, _OUTERMOST)
    scaled = (response - low) / max(high - low, least_range) * n_bins
    return np.clip(scaled, 0, n_bins - 1).astype(np.intp)


@compiled
def _mean_histograms(
    bins: Indices, regions: Indices, n_regions: int, n_bins: int, window: int
) -> Array:
    """Return the mean over each region of the histograms of windows around its pixels.

    The histogram moves along a row by a column of pixels in and one out, and columns
    move down by a pixel in and one out: a pixel costs `n_bins` additions, whatever
    the window.
    """
    height, width = bins.shape
    before = window // 2
    after = window - 1 - before
    columns = np.zeros((width, n_bins))
    total = np.zeros((n_regions, n_bins))
    area = np.zeros(n_regions)
    for row in range(min(after, height)):
        for k in range(width):
            columns[k, bins[row, k]] += 1
    for i in range(height):
        if i + after < height:
            for k in range(width):
                columns[k, bins[i + after, k]] += 1
        if i - before - 1 >= 0:
            for k in range(width):
                columns[k, bins[i - before - 1, k]] -= 1
        n_rows = min(i + after, height - 1) - max(i - before, 0) + 1
        here = np.zeros(n_bins)
        for k in range(min(after, width)):
            here += columns[k]
        for j in range(width):
            if j + after < width:
                here += columns[j + after]
            if j - before - 1 >= 0:
                here -= columns[j - before - 1]
            n_columns = min(j + after, width - 1) - max(j - before, 0) + 1
            share = 1.0 / (n_rows * n_columns)
            region = regions[i, j]
            area[region] += 1
            for b in range(n_bins):
                total[region, b] += here[b] * share
    return total / area.reshape(-1, 1)


# -----------------------------------------------------------------------------
# Images as they come: grey or color, bytes, words or floats.
# -----------------------------------------------------------------------------


# The largest value of every kind of pixel.
_LARGEST = {"uint8": 255.0, "uint16": 65535.0}


@dataclass(frozen=True, eq=False)
class Picture:
    """An image as the steps of a segmentation see it.

    Attributes
    ----------
    rgb : array of shape (H, W, 3)
        From 0 to 1; the three are equal where the image is grey.
    lab : array of shape (H, W, 3)
        CIELAB.
    luminance : array of shape (H, W)
        From 0 to 1.
    """

    rgb: Array
    lab: Array
    luminance: Array


@contextmanager
def image_extra() -> Iterator[None]:
    """Say how to get scikit-image where an import of it fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            "segment needs scikit-image: pip install 'counterpoise[image]'"
        ) from error


def as_picture(image: ArrayLike) -> Picture:
    """Return the image in colors of several kinds, or say what is wrong with it.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
        uint8, uint16, or floats from 0 to 1. A fourth channel (alpha) is dropped.
    """
    with image_extra():
        from skimage.color import rgb2gray, rgb2lab

    rgb = _as_rgb(image)
    return Picture(rgb, rgb2lab(rgb), rgb2gray(rgb))


def _as_rgb(image: ArrayLike) -> Array:
    try:
        pixels = np.asarray(image)
    except ValueError as error:
        raise InvalidInputError("image must have rows of one length") from error
    channels = pixels.shape[2:]
    if pixels.ndim not in (2, 3) or channels not in ((), (3,), (4,)) or not pixels.size:
        raise InvalidInputError(
            "image must have the shape (height, width) or (height, width, 3 or 4), "
            f"got {pixels.shape}"
        )
    if pixels.dtype.kind != "f" and pixels.dtype.name not in _LARGEST:
        raise InvalidTypeError(
            f"image must be uint8, uint16 or floats from 0 to 1, got {pixels.dtype}"
        )
    colors = pixels[..., :3] if channels else np.stack([pixels] * 3, axis=-1)
    if pixels.dtype.kind != "f":
        return colors / _LARGEST[pixels.dtype.name]
    colors = colors.astype(float)
    # Comparisons with NaN are false, which refuses it.
    wrong = ~((colors >= 0) & (colors <= 1))
    if wrong.any():
        row, column, channel = (int(k) for k in np.argwhere(wrong)[0])
        raise InvalidInputError(
            f"image must be from 0 to 1 where it holds floats, got "
            f"{colors[row, column, channel]} at row {row}, column {column}"
        )
    return colors


# -----------------------------------------------------------------------------
# Label images: a whole number a pixel.
# -----------------------------------------------------------------------------


def as_label_image(name: str, value: ArrayLike) -> Indices:
    """Return labels, any integers, as 0..k-1 in their order.

    Examples
    --------
    >>> as_label_image("labels", [[7, -1], [7, 3]])
    array([[2, 0],
           [2, 1]])
    """
    try:
        labels = np.asarray(value)
    except ValueError as error:
        raise InvalidInputError(f"{name} must have rows of one length") from error
    if labels.dtype.kind not in "iub":
        raise InvalidTypeError(f"{name} must be whole numbers, got {labels.dtype}")
    if labels.ndim != 2 or labels.size == 0:
        raise InvalidInputError(
            f"{name} must have the shape (height, width), got {labels.shape}"
        )
    places = np.unique(labels, return_inverse=True)[1]
    return places.reshape(labels.shape).astype(np.intp)


# -----------------------------------------------------------------------------
# Which regions touch, how alike they are, and what merges.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Borders:
    """Pairs of regions that share a border (an edge of two pixels, not a corner).

    Attributes
    ----------
    n_regions : int
    first, second : arrays of shape (n_borders,)
        The regions of each pair, `first` below `second`.
    strength : array of shape (n_borders,)
        Mean boundary strength along the border.
    """

    n_regions: int
    first: Indices
    second: Indices
    strength: Array

    def matrix(self, values: Array) -> sparse.csr_array:
        """Return values of the borders as a symmetric matrix of the regions."""
        rows = np.concatenate([self.first, self.second])
        columns = np.concatenate([self.second, self.first])
        shape = (self.n_regions, self.n_regions)
        return sparse.csr_array((np.tile(values, 2), (rows, columns)), shape=shape)


def borders_of(regions: Indices, strength: Array) -> Borders:
    """Return the borders between regions, with the larger strength of two pixels."""
    n = int(regions.max()) + 1
    pairs, strengths = [], []
    for here, there in (
        (np.s_[:, :-1], np.s_[:, 1:]),
        (np.s_[:-1, :], np.s_[1:, :]),
    ):
        one, other = regions[here], regions[there]
        apart = one != other
        low, high = np.minimum(one, other)[apart], np.maximum(one, other)[apart]
        pairs.append(low * n + high)
        strengths.append(np.maximum(strength[here], strength[there])[apart])
    found, places = np.unique(np.concatenate(pairs), return_inverse=True)
    total = np.bincount(places, np.concatenate(strengths), minlength=found.size)
    length = np.bincount(places, minlength=found.size)
    return Borders(n, found // n, found % n, total / length)


def likeness(borders: Borders, features: Array, edge_width: float) -> sparse.csr_array:
    r"""Return the weights of the graph of regions.

    .. math:: W_{ij} = \exp(-\|x_i - x_j\|^2 / \text{edge_width} - b_{ij})

    for regions with a common border of mean strength b, zero for all others.
    """
    apart = features[borders.first] - features[borders.second]
    distance = np.einsum("ij,ij->i", apart, apart)
    return borders.matrix(np.exp(-distance / edge_width - borders.strength))


def merged(borders: Borders, words: Indices) -> Indices:
    """Return the segment of every region: those that touch and took the same word."""
    same = (words[borders.first] == words[borders.second]).astype(float)
    links = borders.matrix(same)
    links.eliminate_zeros()
    return connected_components(links, directed=False)[1].astype(np.intp)


# -----------------------------------------------------------------------------
# The words that regions may take: typical spectral histograms of the image.
# -----------------------------------------------------------------------------


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
        Means of contiguous Ward segments, centers of k-means, both weighted by area, or
        factors of a non-negative factorization (as published).
    n_words : int
        At most as many are made as there are regions that differ; empty ones and
        repetitions are left out.
    seed : int
    """
    from sklearn.cluster import AgglomerativeClustering, KMeans
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    distinct = np.unique(features.round(_DECIMALS), axis=0).shape[0]
    count = min(n_words, distinct)
    if count < 2:
        words = np.average(features, axis=0, weights=area)[np.newaxis]
    elif dictionary == "ward":
        touching = borders.matrix(np.ones(borders.first.size))
        ward = AgglomerativeClustering(count, connectivity=touching)
        member = np.eye(count)[ward.fit_predict(features)].T * area
        words = member @ features / member.sum(axis=1, keepdims=True)
    elif dictionary == "kmeans":
        kmeans = KMeans(count, n_init=2, random_state=seed)
        words = kmeans.fit(features, sample_weight=area).cluster_centers_
    else:
        # The start allows no more factors than columns.
        nmf = NMF(
            min(count, features.shape[1]),
            init="nndsvda",
            max_iter=300,
            random_state=seed,
        )
        # Words need only be typical: the choice among them is certified later.
        with suppress_warnings(ConvergenceWarning):
            words = nmf.fit(features).components_
    length = np.linalg.norm(words, axis=1)
    words = words[length > 0] / length[length > 0, np.newaxis]
    _, first = np.unique(words.round(_DECIMALS), axis=0, return_index=True)
    return words[np.sort(first)]


# -----------------------------------------------------------------------------
# Over-segmentation: small regions that the segments are put together from.
# -----------------------------------------------------------------------------


WAYS = ("felzenszwalb", "slic", "watershed")
# Regions that a picture of any size is cut into by "slic" and "watershed".
_N_REGIONS = 200
# What "felzenszwalb" calls a region grows with the picture: its scale with the side,
# from 60 on, because steps between neighboring pixels shrink as sides grow; its least
# size with the pixels, from 20 on.
_LEAST_SCALE, _SCALE, _PIXELS = 60.0, 61.7604, 481 * 321
_LEAST_PIXELS, _LEAST_SHARE = 20, 1e-3


def regions_of(picture: Picture, oversegmentation: str | ArrayLike) -> Indices:
    """Return the region of every pixel, 0..n-1.

    Parameters
    ----------
    picture : Picture
    oversegmentation : {"felzenszwalb", "slic", "watershed"} or array of shape (H, W)
        How regions are found, or the regions themselves as any integers.
    """
    shape = picture.luminance.shape
    if not isinstance(oversegmentation, str) and oversegmentation is not None:
        regions = as_label_image("oversegmentation", oversegmentation)
        if regions.shape != shape:
            raise InvalidInputError(
                f"oversegmentation must have the shape of the image, {shape}, "
                f"got {regions.shape}"
            )
        return regions
    check_choice("oversegmentation", oversegmentation, WAYS)
    with image_extra():
        from skimage.segmentation import felzenszwalb, slic, watershed

    if oversegmentation == "felzenszwalb":
        n_pixels = picture.luminance.size
        found = felzenszwalb(
            picture.rgb,
            scale=max(_SCALE * math.sqrt(n_pixels / _PIXELS), _LEAST_SCALE),
            sigma=0.8,
            min_size=max(round(_LEAST_SHARE * n_pixels), _LEAST_PIXELS),
        )
    elif oversegmentation == "slic":
        found = slic(picture.rgb, _N_REGIONS, compactness=10.0, start_label=0)
    else:
        found = watershed(boundary_strength(picture.lab), _N_REGIONS)
    return as_label_image("regions", found)
