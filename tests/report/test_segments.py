"""Outlines of segments are drawn where segments meet."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from counterpoise.figures.methods import outline
from counterpoise.plot import plot_segments
from counterpoise.selection import Segmentation

mpl.use("agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


LABELS = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 2, 2]])


def test_an_outline_is_where_two_segments_meet():
    expected = np.array([[0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], bool)
    assert np.array_equal(outline(LABELS), expected)
    assert not outline(np.zeros((3, 4), int)).any()


def test_an_outline_of_a_large_image_is_thicker():
    halves = np.zeros((4, 1000), int)
    halves[:, 500:] = 1
    # 1000 / 400 is 2.5, which is rounded to the even 2.
    assert np.flatnonzero(outline(halves)[0]).tolist() == [498, 499]


@pytest.mark.parametrize(
    "image",
    [
        np.full((3, 4), 0.5),
        np.full((3, 4), 128, np.uint8),
        np.full((3, 4, 3), 128, np.uint8),
        np.full((3, 4, 4), 30000, np.uint16),
        np.full((3, 4, 3), 0.5),
    ],
    ids=lambda image: f"{image.shape} {image.dtype}",
)
def test_an_image_of_every_kind_is_drawn_in_its_shade(image):
    ax = plot_segments(image, LABELS)
    picture, outlines = ax.images
    assert ax.get_title() == "3 segments"
    shown = picture.to_rgba(picture.get_array())[..., :3]
    shade = shown.astype(float) / (255 if shown.dtype == np.uint8 else 1)
    np.testing.assert_allclose(shade, 0.5, atol=0.05)
    assert np.array_equal(outlines.get_array()[..., 3] == 1, outline(LABELS))


def test_the_last_of_several_sparsities_is_drawn_where_one_wants_it():
    several = np.array([LABELS, np.zeros_like(LABELS)])
    record = Segmentation(several, LABELS, None, None, None)
    _, ax = plt.subplots()
    assert plot_segments(np.zeros((3, 4)), record, ax=ax) is ax
    assert ax.get_title() == "1 segment"


def test_segments_of_another_image_are_refused():
    with pytest.raises(ValueError, match=r"the image, \(4, 3\), got \(3, 4\)"):
        plot_segments(np.zeros((4, 3)), LABELS)
