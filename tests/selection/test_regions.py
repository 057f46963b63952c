"""Regions, their borders, the words they may take, and what merges."""

import numpy as np
import pytest
from scipy import ndimage

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.selection.image_features import (
    as_label_image,
    as_picture,
    borders_of,
    boundary_strength,
    likeness,
    merged,
    regions_of,
    words_of,
)

EIGHT = np.ones((3, 3))


def patches(shape=(90, 120), seed=0):
    """Return a noisy image of four colors."""
    rng = np.random.default_rng(seed)
    image = np.zeros((*shape, 3))
    half, third = shape[0] // 2, shape[1] // 3
    image[:half, :third] = (0.9, 0.2, 0.2)
    image[half:, :third] = (0.2, 0.9, 0.2)
    image[:, third:] = (0.2, 0.2, 0.9)
    image[:half, 2 * third :] = (0.8, 0.8, 0.2)
    return np.clip(image + 0.02 * rng.standard_normal(image.shape), 0, 1)


def unit(rows):
    rows = np.asarray(rows, float)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("way", ["felzenszwalb", "slic", "watershed"])
def test_regions_are_numbered_from_zero_and_connected(way):
    regions = regions_of(as_picture(patches()), way)
    assert np.array_equal(np.unique(regions), np.arange(regions.max() + 1))
    assert regions.max() >= 3
    for k in range(regions.max() + 1):
        assert ndimage.label(regions == k, EIGHT)[1] == 1


def test_labels_of_ones_own_are_numbered_in_their_order():
    own = np.where(np.arange(12).reshape(3, 4) < 6, -7, 1000)
    regions = regions_of(as_picture(np.zeros((3, 4))), own)
    assert np.array_equal(regions, (own > 0).astype(int))


@pytest.mark.parametrize(
    "own",
    [
        np.array([[-128, 127], [127, 3]], np.int8),
        np.array([[2**63, 2**64 - 1], [2**63, 5]], np.uint64),
        np.array([[-(2**62), 2**62], [7, 7]]),
        np.array([[True, False], [False, False]]),
        np.array([[4, 4], [6, 5]], np.uint16),
    ],
    ids=lambda own: str(own.dtype),
)
def test_labels_of_every_type_and_size_are_numbered_in_their_order(own):
    places = np.unique(own, return_inverse=True)[1].reshape(2, 2)
    assert np.array_equal(as_label_image("own", own), places)


@pytest.mark.parametrize(
    ("own", "error", "words"),
    [
        (np.zeros((4, 3), int), InvalidInputError, r"shape of the image, \(3, 4\)"),
        (np.zeros((3, 4)), InvalidTypeError, "oversegmentation must be whole numbers"),
        (
            np.zeros((3, 4, 1), int),
            InvalidInputError,
            "oversegmentation must have the shape",
        ),
        ("felzenswalb", InvalidInputError, "did you mean 'felzenszwalb'"),
        (None, InvalidTypeError, "oversegmentation must be one of"),
    ],
)
def test_what_is_no_over_segmentation_is_refused(own, error, words):
    with pytest.raises(error, match=words):
        regions_of(as_picture(np.zeros((3, 4))), own)


def test_borders_are_edges_and_their_strength_is_the_mean_of_the_stronger_pixels():
    regions = np.array([[0, 0, 1], [2, 2, 1]])
    strength = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]])
    borders = borders_of(regions, strength)
    pairs = list(zip(borders.first.tolist(), borders.second.tolist(), strict=True))
    assert pairs == [(0, 1), (0, 2), (1, 2)]
    np.testing.assert_allclose(borders.strength, [3.0, (4.0 + 5.0) / 2, 9.0])


def test_regions_that_meet_in_a_corner_have_no_border():
    borders = borders_of(np.array([[0, 1], [2, 3]]), np.zeros((2, 2)))
    assert borders.first.size == 4
    assert borders.matrix(np.ones(4)).toarray()[0, 3] == 0


def test_likeness_is_the_formula_and_symmetric():
    borders = borders_of(np.array([[0, 1, 2]]), np.array([[0.5, 0.0, 1.0]]))
    features = unit([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    graph = likeness(borders, features, 0.2).toarray()
    distance = np.sum((features[0] - features[1]) ** 2)
    assert graph[0, 1] == pytest.approx(np.exp(-distance / 0.2 - 0.5))
    assert graph[1, 2] == pytest.approx(np.exp(-distance / 0.2 - 1.0))
    assert np.array_equal(graph, graph.T)
    assert graph[0, 2] == 0
    assert np.diag(graph).tolist() == [0, 0, 0]


def test_touching_regions_of_one_word_merge_and_others_do_not():
    borders = borders_of(np.array([[0, 1, 2, 3, 4]]), np.zeros((1, 5)))
    segments = merged(borders, np.array([3, 3, 1, 3, 3]))
    assert segments.tolist() == [0, 0, 1, 2, 2]


def test_a_single_region_has_neither_borders_nor_likeness():
    borders = borders_of(np.zeros((3, 3), np.intp), np.zeros((3, 3)))
    assert likeness(borders, np.ones((1, 4)), 0.1).shape == (1, 1)
    assert merged(borders, np.array([0])).tolist() == [0]


def test_boundary_strength_is_one_at_a_strong_edge_and_zero_in_constant_images():
    picture = as_picture(patches())
    strength = boundary_strength(picture.lab)
    assert np.percentile(strength, 99) == pytest.approx(1.0)
    assert strength[10, 40] > 10 * strength[10, 20]
    assert not boundary_strength(np.full((5, 6, 3), 50.0)).any()


@pytest.mark.parametrize("dictionary", ["ward", "kmeans", "nmf"])
def test_words_have_length_one_and_are_found_again_by_the_seed(dictionary):
    rng = np.random.default_rng(0)
    regions = np.arange(48).reshape(6, 8)
    features = unit(rng.random((48, 20)))
    borders = borders_of(regions, np.zeros((6, 8)))
    how = {"dictionary": dictionary, "n_words": 7, "seed": 3}
    words = words_of(features, np.ones(48), borders, **how)
    assert words.shape == (7, 20)
    assert (words >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(words, axis=1), 1.0)
    again = words_of(features, np.ones(48), borders, **how)
    assert again.tobytes() == words.tobytes()


def test_ward_words_are_means_of_contiguous_regions_weighted_by_area():
    # Regions 0, 1 | 2, 3 touch and are alike; 4 looks like 0 and touches 3 alone.
    features = unit([[1, 0.0, 0], [1, 0.1, 0], [0, 1, 0], [0, 1, 0.1], [1, 0.05, 0]])
    area = np.array([3.0, 1.0, 1.0, 1.0, 2.0])
    borders = borders_of(np.array([[0, 1, 2, 3, 4]]), np.zeros((1, 5)))
    words = words_of(features, area, borders, dictionary="ward", n_words=3, seed=0)
    expected = unit(
        [
            (3 * features[0] + features[1]) / 4,
            (features[2] + features[3]) / 2,
            features[4],
        ]
    )
    for one in expected:
        assert np.abs(words - one).sum(axis=1).min() < 1e-12


@pytest.mark.parametrize("dictionary", ["ward", "kmeans", "nmf"])
@pytest.mark.parametrize("n_words", [1, 2, 5])
def test_regions_that_do_not_differ_have_one_word(dictionary, n_words):
    features = unit(np.tile([[1.0, 2.0, 3.0]], (4, 1)))
    borders = borders_of(np.array([[0, 1, 2, 3]]), np.zeros((1, 4)))
    words = words_of(
        features, np.ones(4), borders, dictionary=dictionary, n_words=n_words, seed=0
    )
    np.testing.assert_allclose(words, features[:1])


@pytest.mark.parametrize("dictionary", ["ward", "kmeans", "nmf"])
def test_there_are_no_more_words_than_regions_that_differ(dictionary):
    features = unit([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    borders = borders_of(np.array([[0, 1, 2, 3]]), np.zeros((1, 4)))
    words = words_of(
        features, np.ones(4), borders, dictionary=dictionary, n_words=9, seed=0
    )
    assert 2 <= words.shape[0] <= 3
