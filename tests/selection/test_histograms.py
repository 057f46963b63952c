"""Local spectral histograms against their definition, pixel by pixel."""

import numpy as np
import pytest
from scipy import ndimage

from counterpoise.selection.image_features import (
    _binned,
    _filtered,
    _mean_histograms,
    as_picture,
    spectral_histograms,
)


def by_definition(bins, regions, n_bins, window):
    """Return mean histograms of windows, each cut out of the image by itself."""
    height, width = bins.shape
    n = regions.max() + 1
    total = np.zeros((n, n_bins))
    for i in range(height):
        for j in range(width):
            top, left = i - window // 2, j - window // 2
            rows = slice(max(top, 0), max(top + window, 0))
            columns = slice(max(left, 0), max(left + window, 0))
            around = bins[rows, columns]
            total[regions[i, j]] += (
                np.bincount(around.ravel(), minlength=n_bins) / around.size
            )
    return total / np.bincount(regions.ravel())[:, np.newaxis]


@pytest.mark.parametrize("window", [1, 2, 3, 5, 8, 17, 40])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (7, 1), (11, 14)])
def test_histograms_that_move_are_those_of_windows_cut_out(window, shape):
    rng = np.random.default_rng(window)
    bins = rng.integers(0, 4, shape)
    regions = np.unique(rng.integers(0, 3, shape), return_inverse=True)[1]
    regions = regions.reshape(shape)
    moved = _mean_histograms(bins, regions, regions.max() + 1, 4, window)
    np.testing.assert_allclose(
        moved, by_definition(bins, regions, 4, window), rtol=1e-12, atol=1e-14
    )


def test_inside_the_image_a_window_is_a_box_filter():
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 3, (31, 33))
    regions = np.zeros((31, 33), np.intp)
    regions[10:20, 10:20] = 1
    found = _mean_histograms(bins, regions, 2, 3, 9)[1]
    boxes = [ndimage.uniform_filter((bins == k).astype(float), 9) for k in range(3)]
    np.testing.assert_allclose(found, [one[regions == 1].mean() for one in boxes])


def test_filters_are_silent_where_luminance_is_constant_and_hear_stripes():
    constant = np.full((40, 40), 0.7)
    assert np.abs(list(_filtered(constant))).max() < 1e-12
    # Stripes across the columns with the wavelength of the Gabor filters, 3 pixels.
    stripes = np.tile(0.5 + 0.5 * np.cos(2 * np.pi * np.arange(40) / 3), (40, 1))
    strength = [np.abs(one[10:30, 10:30]).mean() for one in _filtered(stripes)]
    # Laplacians first, then four directions of each width; the first is across.
    assert int(np.argmax(strength[2:6])) == 0
    assert strength[2] > 3 * max(strength[3:6])


def test_a_stray_pixel_does_not_move_the_bins():
    rng = np.random.default_rng(0)
    response = rng.random((50, 50)) * 10
    stray = response.copy()
    stray[3, 4] = 1e6
    same = _binned(response, 1.0, 11) == _binned(stray, 1.0, 11)
    assert same.mean() > 0.97
    assert _binned(stray, 1.0, 11)[3, 4] == 10


def test_features_are_rows_of_length_one_of_thirteen_histograms():
    rng = np.random.default_rng(0)
    picture = as_picture(rng.random((30, 40, 3)))
    regions = (np.arange(40) // 10)[np.newaxis].repeat(30, axis=0)
    features = spectral_histograms(
        picture.lab, picture.luminance, regions, window=5, n_bins=7
    )
    assert features.shape == (4, 13 * 7)
    assert (features >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0)
    # Before they are scaled, each of the thirteen histograms sums to one.
    sums = features.reshape(4, 13, 7).sum(axis=2)
    np.testing.assert_allclose(sums, sums[:, :1].repeat(13, axis=1))


def test_the_colors_of_a_grey_image_do_not_count():
    grey = np.random.default_rng(0).random((30, 40))
    picture = as_picture(grey)
    regions = np.zeros((30, 40), np.intp)
    features = spectral_histograms(
        picture.lab, picture.luminance, regions, window=5, n_bins=7
    )
    histograms = features.reshape(13, 7)
    assert np.count_nonzero(histograms.sum(axis=1)) == 11
    assert not histograms[1:3].any()
