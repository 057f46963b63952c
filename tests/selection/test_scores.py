"""Agreement of segmentations: closed forms, and scikit-learn's Rand index."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score, rand_score

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.selection import segmentation_scores


def drawn(seed, k, shape=(30, 40)):
    return np.random.default_rng(seed).integers(0, k, shape)


def entropy(labels):
    shares = np.unique(labels, return_counts=True)[1] / labels.size
    return float(-(shares * np.log2(shares)).sum())


def test_identical_segmentations_agree_exactly_whatever_their_numbers():
    labels = drawn(0, 7)
    assert tuple(segmentation_scores(labels, labels)) == (1.0, 1.0, 0.0)
    assert tuple(segmentation_scores(labels, 5 - 3 * labels)) == (1.0, 1.0, 0.0)


def test_one_segment_against_single_pixels():
    n = 12
    one, all_apart = np.zeros((3, 4), int), np.arange(n).reshape(3, 4)
    for labels, truth in ((one, all_apart), (all_apart, one)):
        scores = segmentation_scores(labels, truth)
        assert scores.covering == pytest.approx(1 / n)
        assert scores.rand_index == 0.0
        assert scores.variation_of_information == pytest.approx(np.log2(n))


def test_covering_is_of_the_truth_by_the_labels():
    # The truth's larger segment is found whole, its halves only by half.
    truth = np.array([[0, 0, 0, 0, 1, 1]])
    labels = np.array([[0, 0, 0, 0, 1, 2]])
    assert segmentation_scores(labels, truth).covering == pytest.approx(5 / 6)
    assert segmentation_scores(truth, labels).covering == pytest.approx(5 / 6)
    labels = np.zeros((1, 6), int)
    assert segmentation_scores(labels, truth).covering == pytest.approx(5 / 9)
    assert segmentation_scores(truth, labels).covering == pytest.approx(2 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_rand_index_and_information_are_those_of_scikit_learn(seed):
    labels, truth = drawn(seed, 3 + seed), drawn(seed + 100, 9 - seed)
    scores = segmentation_scores(labels, truth)
    assert scores.rand_index == pytest.approx(
        rand_score(truth.ravel(), labels.ravel()), abs=1e-14
    )
    shared = mutual_info_score(truth.ravel(), labels.ravel()) / np.log(2)
    expected = entropy(labels) + entropy(truth) - 2 * shared
    assert scores.variation_of_information == pytest.approx(expected, abs=1e-12)


def test_rand_index_and_information_are_symmetric_and_covering_is_not():
    labels, truth = drawn(1, 4), drawn(2, 9)
    there, back = segmentation_scores(labels, truth), segmentation_scores(truth, labels)
    assert there.rand_index == back.rand_index
    assert there.variation_of_information == pytest.approx(
        back.variation_of_information, abs=1e-12
    )
    assert abs(there.covering - back.covering) > 1e-3


@pytest.mark.parametrize("together", [list, tuple, np.array])
def test_several_truths_are_averaged(together):
    labels, truths = drawn(0, 5), [drawn(1, 3), drawn(2, 4), drawn(3, 8)]
    each = [segmentation_scores(labels, truth) for truth in truths]
    assert segmentation_scores(labels, together(truths)) == pytest.approx(
        np.mean(each, axis=0)
    )


def test_one_pixel_has_no_pairs_to_judge():
    assert tuple(segmentation_scores([[3]], [[-2]])) == (1.0, 1.0, 0.0)


def test_counts_of_pairs_do_not_overflow():
    # 2^33 pairs: more than 32 bits, whatever the type of the labels.
    labels = np.zeros((256, 512), np.uint8)
    labels[128:] = 255
    assert segmentation_scores(labels, labels).rand_index == 1.0


@pytest.mark.parametrize(
    ("labels", "truths", "words"),
    [
        (np.zeros((2, 3), int), np.zeros((3, 2), int), r"truths must have the shape"),
        (
            np.zeros((2, 3), int),
            [np.zeros((2, 3), int), np.zeros((3, 2), int)],
            r"truths\[1\] must have the shape of labels, \(2, 3\), got \(3, 2\)",
        ),
        (np.zeros((2, 3)), np.zeros((2, 3), int), "labels must be whole numbers"),
        (np.zeros(3, int), np.zeros(3, int), "labels must have the shape"),
        (np.zeros((2, 3), int), [], "at least one segmentation"),
        (np.zeros((2, 3), int), None, "truths must be whole numbers"),
        (np.zeros((0, 3), int), np.zeros((0, 3), int), "labels must have the shape"),
    ],
)
def test_what_is_no_pair_of_segmentations_is_refused_by_name(labels, truths, words):
    with pytest.raises(InvalidInputError, match=words):
        segmentation_scores(labels, truths)


def test_labels_that_are_no_integers_are_of_the_wrong_type():
    with pytest.raises(InvalidTypeError, match="got float64"):
        segmentation_scores(np.full((2, 2), np.nan), np.zeros((2, 2), int))
