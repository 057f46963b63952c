"""What a region, a border, a word and a segment are, and how segments are judged."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
import skimage.segmentation

from counterpoise.errors import InvalidInputError
from counterpoise.figures.methods import outline
from counterpoise.selection import segment, segmentation_scores
from counterpoise.selection import segmentation as segmenting
from counterpoise.selection.image_features import (
    _mean_histograms,
    as_picture,
    borders_of,
    boundary_strength,
    likeness,
    merged,
    regions_of,
    spectral_histograms,
    words_of,
)

ROW = np.array([[0, 1, 2, 3]])
EVEN = np.zeros((1, 4))


# -- scores ----------------------------------------------------------------------------


def test_covering_counts_the_best_segment_of_every_true_one():
    truth, labels = [[0, 0, 0, 0, 1, 1]], [[0, 0, 0, 0, 0, 0]]
    assert segmentation_scores(labels, truth).covering == pytest.approx(5 / 9)
    assert segmentation_scores(truth, labels).covering == pytest.approx(2 / 3)


def test_pairs_are_counted_without_order_and_one_pixel_has_none():
    # Of six pairs only that of the last two pixels is judged otherwise.
    assert segmentation_scores([[0, 0, 1, 1]], [[0, 0, 1, 2]]).rand_index == 5 / 6
    assert segmentation_scores([[5]], [[7]]).rand_index == 1.0


def test_information_is_in_bits_and_counts_both_ways():
    halves, quarters, crossed = [[0, 0, 1, 1]], [[0, 1, 2, 3]], [[0, 1, 0, 1]]
    assert segmentation_scores(halves, quarters).variation_of_information == 1.0
    assert segmentation_scores(quarters, halves).variation_of_information == 1.0
    assert segmentation_scores(halves, crossed).variation_of_information == 2.0


# -- images ----------------------------------------------------------------------------


def test_white_is_one_whatever_the_type_and_alpha_is_dropped():
    for white in (np.uint8(255), np.uint16(65535), 1.0):
        assert as_picture(np.full((2, 2), white)).rgb.tolist() == [[[1.0] * 3] * 2] * 2
    colored = np.random.default_rng(0).random((2, 2, 4))
    assert np.array_equal(as_picture(colored).rgb, colored[..., :3])


@pytest.mark.parametrize("value", [-1e-9, 1 + 1e-9, np.nan])
def test_floats_are_from_zero_to_one_with_both_ends(value):
    as_picture(np.array([[0.0, 1.0]]))
    with pytest.raises(InvalidInputError, match="at row 0, column 1"):
        as_picture(np.array([[0.0, value]]))


# -- regions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "scale", "least"),
    [((10, 30), 60.0, 20), ((481, 321), 61.7604, 154), ((962, 642), 123.5208, 618)],
)
def test_regions_grow_with_the_picture_from_a_least_size_on(
    monkeypatch, shape, scale, least
):
    def spy(rgb, scale, sigma, min_size):
        asked.append((scale, min_size))
        return np.zeros(shape, int)

    asked = []
    monkeypatch.setattr(skimage.segmentation, "felzenszwalb", spy)
    blank = SimpleNamespace(rgb=None, lab=None, luminance=np.zeros(shape))
    regions_of(blank, "felzenszwalb")
    assert asked == [(pytest.approx(scale), least)]


def test_a_border_is_as_strong_as_the_stronger_of_two_pixels_on_average():
    strength = np.array([[0.0, 3.0], [5.0, 1.0]])
    borders = borders_of(np.array([[0, 1], [0, 1]]), strength)
    assert borders.strength.tolist() == [4.0]


def test_corners_are_no_borders():
    borders = borders_of(np.array([[0, 1], [2, 3]]), np.zeros((2, 2)))
    assert (borders.first.tolist(), borders.second.tolist()) == (
        [0, 0, 1, 2],
        [1, 2, 3, 3],
    )


def test_strength_is_in_units_of_its_99th_percentile_and_zero_without_colors():
    lab = 50 + 10 * np.random.default_rng(0).standard_normal((20, 30, 3))
    assert np.percentile(boundary_strength(lab), 99) == pytest.approx(1.0)
    assert not boundary_strength(np.full((5, 6, 3), 50.0)).any()


def test_likeness_falls_with_distance_and_with_the_border():
    borders = borders_of(np.array([[0, 1]]), np.array([[0.0, 0.7]]))
    features = np.array([[1.0, 0.0], [0.6, 0.8]])
    graph = likeness(borders, features, 0.4)
    assert graph[0, 1] == pytest.approx(np.exp(-0.8 / 0.4 - 0.7))


# -- features --------------------------------------------------------------------------


def features_of(lab, luminance, regions=None):
    regions = np.zeros(luminance.shape, np.intp) if regions is None else regions
    found = spectral_histograms(lab, luminance, regions, window=1, n_bins=4)[0]
    histograms = found.reshape(13, 4)
    return histograms / histograms.sum(axis=1).max()


def test_bins_lie_between_percentiles_and_keep_what_is_outside():
    # Of 1001 values 0..1000 the percentiles are 5 and 995: bins of 247.5.
    lab = np.zeros((1, 1001, 3))
    lab[0, :, 0] = np.arange(1001.0)
    lab[0, -1, 0] = 1e9
    counts = features_of(lab, np.zeros((1, 1001)))[0] * 1001
    assert counts.tolist() == pytest.approx([253, 247, 248, 253])


@pytest.mark.parametrize(("spread", "bins"), [(0.2, 0), (0.3, 2), (4.0, 2)])
def test_colors_that_differ_by_less_than_one_unit_share_bins(spread, bins):
    # Bins of the least range of 1 are 0.25 wide.
    lab = np.zeros((2, 100, 3))
    lab[1, :, 0], lab[1, :, 1] = 50.0, spread
    assert np.count_nonzero(features_of(lab, np.zeros((2, 100)))[1]) == bins


def test_filters_that_answer_less_than_a_step_of_luminance_hear_nothing():
    checked = np.indices((20, 20)).sum(axis=0) % 2
    heard = [
        np.count_nonzero(features_of(np.zeros((20, 20, 3)), height * checked), axis=1)
        for height in (1e-5, 0.5)
    ]
    assert heard[0].tolist() == [1] * 13
    assert heard[1].max() > 1


def test_a_response_in_one_bin_counts_only_where_all_are_such():
    lab = np.zeros((2, 100, 3))
    alike = features_of(lab, np.zeros((2, 100)))
    assert alike.sum(axis=1).tolist() == [1.0] * 13
    lab[1, :, 0] = 50.0
    assert features_of(lab, np.zeros((2, 100))).sum(axis=1).tolist() == [1.0] + [0] * 12


def test_windows_end_with_the_image():
    bins = np.array([[0, 0, 1], [1, 1, 1], [0, 1, 1]])
    corner = np.full((3, 3), 1)
    corner[0, 0] = 0
    # Three of the four pixels that the window of the corner has.
    found = _mean_histograms(bins, corner, 2, 2, 3)
    assert found[0].tolist() == [0.5, 0.5]
    # A window of two pixels has the pixel and the one before.
    pairs = _mean_histograms(np.array([[0, 1, 0]]), np.array([[0, 1, 2]]), 3, 2, 2)
    assert pairs.tolist() == [[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]


# -- words and segments ----------------------------------------------------------------


def words(features, area, n_words, dictionary="ward"):
    borders = borders_of(ROW, EVEN)
    return words_of(
        features, area, borders, dictionary=dictionary, n_words=n_words, seed=0
    )


def test_ward_words_are_weighted_by_area():
    features = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [0.0, 1.0]])
    found = words(features, np.array([3.0, 1.0, 1.0, 1.0]), 2)
    expected = 3 * features[0] + features[1]
    expected /= np.linalg.norm(expected)
    assert np.abs(found - expected).max(axis=1).min() < 1e-12


def test_words_that_agree_to_nine_decimals_are_one():
    turns = np.array([0.0, 1e-10, 0.5, 1.0])
    features = np.column_stack([np.cos(turns), np.sin(turns)])
    assert words(features, np.ones(4), 4).shape == (3, 2)
    turns[1] = 1e-8
    features = np.column_stack([np.cos(turns), np.sin(turns)])
    assert words(features, np.ones(4), 4).shape == (4, 2)


def test_touching_regions_of_one_word_are_a_segment():
    borders = borders_of(ROW, EVEN)
    assert merged(borders, np.array([2, 2, 0, 2])).tolist() == [0, 0, 1, 2]


def test_the_defaults_are_those_of_the_training_images():
    defaults = {
        name: one.default for name, one in inspect.signature(segment).parameters.items()
    }
    assert defaults == {
        "image": inspect.Parameter.empty,
        "oversegmentation": "felzenszwalb",
        "dictionary": "ward",
        "n_candidates": 20,
        "sparsity": 0.15,
        "smoothness": 1.0,
        "window": 17,
        "n_bins": 11,
        "edge_width": 0.1,
        "tol": 1e-3,
        "random_state": None,
        "return_record": False,
    }


def test_several_sparsities_keep_their_order_and_the_selector_is_at_the_last(
    monkeypatch,
):
    class Spy:
        def __init__(self, **how):
            self.at = None

        def fit(self, features, **how):
            self.n = len(features)

        def path(self, sparsities):
            assert sparsities.tolist() == [0.2, 0.7]
            taken = [np.arange(self.n), np.zeros(self.n, int)]
            return SimpleNamespace(labels=np.array(taken), at=lambda s: s)

    monkeypatch.setattr(segmenting, "SubsetSelector", Spy)
    record = segment(
        np.zeros((1, 4)),
        oversegmentation=ROW,
        sparsity=[0.7, 0.2, 0.7],
        return_record=True,
    )
    counts = [one.max() + 1 for one in record.labels]
    assert counts == [1, 4, 1]
    assert record.selector == 0.7


@pytest.mark.parametrize(("n", "counts"), [(10, 0.25), (39, 0.975), (40, 1), (41, 1)])
def test_smoothness_counts_in_full_from_forty_regions_on(monkeypatch, n, counts):
    def spy(sparsity, smoothness, tol):
        asked.append(smoothness)
        raise InterruptedError

    asked = []
    monkeypatch.setattr(segmenting, "SubsetSelector", spy)
    with pytest.raises(InterruptedError):
        segment(np.zeros((1, n)), oversegmentation=[range(n)], smoothness=0.8)
    assert asked == [pytest.approx(0.8 * counts)]


def test_outlines_are_a_four_hundredth_of_the_longer_side_thick():
    halves = np.zeros((3, 1200), int)
    halves[:, 600:] = 1
    assert np.flatnonzero(outline(halves)[0]).tolist() == [597, 598, 599]
    assert np.flatnonzero(outline(halves[:, 590:610])[0]).tolist() == [9]
