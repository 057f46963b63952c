"""Local spectral histograms: what a region looks like, colour and texture alike.

Thirteen responses of every pixel: the three channels of CIELAB, and of the luminance
two Laplacians of Gaussians (standard deviations 0.5 and 1) and eight even Gabor filters
(standard deviations 1.5 and 2.5, wavelength twice that, four directions), all of zero
mean. Each response is cut into bins of equal width between its 0.5th and 99.5th
percentile (one stray pixel wrecks the range between least and largest). The histogram
of a pixel is the share of every bin among the pixels of a square window around it, as
far as the window lies in the image; that of a region is the mean over its pixels.
A response that is in one bin all over the image (the colours of a grey one) tells
nothing and only makes all regions alike: its histograms are zero, unless all are such.

References
----------
X. Yuan, D. Wang, A. Cheriyadat (2015), Factorization-based texture segmentation, IEEE
Transactions on Image Processing 24(11).
"""

from collections.abc import Iterator

import numpy as np
from scipy import ndimage

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.compiled import compiled

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
    for k, (response, least) in enumerate(_responses(lab, luminance)):
        bins = _binned(response, least, n_bins)
        varies[k] = bins.min() < bins.max()
        histograms[:, k] = _mean_histograms(bins, regions, n_regions, n_bins, window)
    if varies.any():
        histograms[:, ~varies] = 0.0
    features = histograms.reshape(n_regions, -1)
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def _responses(lab: Array, luminance: Array) -> Iterator[tuple[Array, float]]:
    """Return every response with the least range of its bins, one at a time."""
    for k in range(3):
        yield lab[..., k], _LEAST_COLOR_RANGE
    for one in _filtered(luminance):
        yield one, _LEAST_FILTER_RANGE


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
    """Return the coordinates, from its centre, of a square of pixels."""
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
