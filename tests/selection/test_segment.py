"""Segments of images: what comes in, what comes out, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import ndimage

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.selection import Segmentation, segment, segmentation_scores

EIGHT = np.ones((3, 3))


def patches(seed=0, noise=0.02):
    """Return an image of three colors, two patches of one of them, and its truth."""
    truth = np.zeros((60, 90), int)
    truth[:, 30:60] = 1
    truth[:30, 60:] = 2
    truth[30:, 60:] = 3
    colors = np.array([[0.8, 0.2, 0.2], [0.2, 0.7, 0.3], [0.2, 0.3, 0.9]])
    image = colors[np.array([0, 1, 0, 2])[truth]]
    noisy = image + noise * np.random.default_rng(seed).standard_normal(image.shape)
    return np.clip(noisy, 0, 1), truth


IMAGE, TRUTH = patches()


def assert_whole(labels):
    """Segments are 0..k-1 and each is connected."""
    assert np.array_equal(np.unique(labels), np.arange(labels.max() + 1))
    for k in range(labels.max() + 1):
        assert ndimage.label(labels == k, EIGHT)[1] == 1


def test_patches_are_found_and_one_color_in_two_places_is_two_segments():
    labels = segment(IMAGE)
    assert_whole(labels)
    assert labels.max() == 3
    scores = segmentation_scores(labels, TRUTH)
    # Windows blur borders: some regions beside one go to the wrong side.
    assert scores.covering > 0.9
    assert scores.rand_index > 0.95


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_a_disc_is_told_from_its_background(noise):
    y, x = np.indices((200, 300))
    disc = (y - 100) ** 2 + (x - 150) ** 2 < 50**2
    rough = noise * np.random.default_rng(0).standard_normal(disc.shape)
    labels = segment(np.clip(0.2 + 0.6 * disc + rough, 0, 1))
    assert labels.max() == 1
    assert segmentation_scores(labels, disc).covering > 0.99


@pytest.mark.parametrize("oversegmentation", ["felzenszwalb", "slic", "watershed"])
@pytest.mark.parametrize("dictionary", ["ward", "kmeans", "nmf"])
def test_every_choice_gives_whole_segments_and_the_same_ones_again(
    oversegmentation, dictionary
):
    how = {
        "oversegmentation": oversegmentation,
        "dictionary": dictionary,
        "random_state": 0,
    }
    labels = segment(IMAGE, **how)
    assert labels.shape == TRUTH.shape
    assert labels.dtype.kind == "i"
    assert_whole(labels)
    assert segment(IMAGE, **how).tobytes() == labels.tobytes()


def test_grey_is_the_same_image_with_three_equal_channels():
    grey = IMAGE[..., 1]
    labels = segment(grey)
    assert labels.shape == grey.shape
    assert_whole(labels)
    assert np.array_equal(labels, segment(np.stack([grey] * 3, axis=-1)))


def test_alpha_is_dropped():
    alpha = np.random.default_rng(0).random(TRUTH.shape)
    with_alpha = np.dstack([IMAGE, alpha])
    assert np.array_equal(segment(with_alpha), segment(IMAGE))


def test_bytes_words_and_floats_are_one_image():
    in_bytes = np.round(IMAGE * 255).astype(np.uint8)
    labels = segment(in_bytes)
    assert np.array_equal(segment(in_bytes.astype(np.uint16) * 257), labels)
    assert np.array_equal(segment(in_bytes / 255), labels)
    assert np.array_equal(segment(in_bytes.tolist() / np.float64(255)), labels)


@pytest.mark.parametrize("dictionary", ["ward", "kmeans", "nmf"])
@pytest.mark.parametrize("oversegmentation", ["felzenszwalb", "slic", "watershed"])
def test_a_constant_image_is_one_segment(oversegmentation, dictionary):
    image = np.full((40, 50, 3), 0.3)
    how = {"oversegmentation": oversegmentation, "dictionary": dictionary}
    assert not segment(image, **how).any()
    assert not segment(image, sparsity=[0.0, 0.5, 1.0], **how).any()


def test_one_region_is_one_segment_with_a_record():
    record = segment(
        IMAGE, oversegmentation=np.full(TRUTH.shape, 9), return_record=True
    )
    assert not record.labels.any()
    assert record.features.shape[0] == 1
    assert record.graph.shape == (1, 1)
    assert record.selector.solution_.converged


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 2), (3, 200)])
def test_small_images_are_segmented(shape):
    image = np.random.default_rng(0).random(shape)
    labels = segment(image)
    assert labels.shape == shape
    assert_whole(labels)


def test_regions_of_ones_own_are_never_cut_and_may_have_any_numbers():
    rows, columns = np.indices(TRUTH.shape)
    own = 17 * (rows // 10) - 5 * (columns // 10)
    labels = segment(IMAGE, oversegmentation=own)
    for region in np.unique(own):
        assert np.unique(labels[own == region]).size == 1
    renamed = np.unique(own, return_inverse=True)[1].reshape(own.shape)
    assert np.array_equal(segment(IMAGE, oversegmentation=renamed), labels)
    assert np.array_equal(segment(IMAGE, oversegmentation=renamed.astype("u1")), labels)


def test_a_sequence_of_sparsities_gives_an_image_each_in_its_order():
    sparsities = [0.5, 0.0, 1.0, 0.15, 0.5]
    labels = segment(IMAGE, sparsity=sparsities)
    assert labels.shape == (5, *TRUTH.shape)
    for one in labels:
        assert_whole(one)
    assert np.array_equal(labels[0], labels[4])
    assert not labels[2].any()
    turned = segment(IMAGE, sparsity=np.array(sparsities[::-1]))
    assert np.array_equal(turned, labels[::-1])
    assert segment(IMAGE, sparsity=[0.15]).shape == (1, *TRUTH.shape)


def test_the_record_has_what_the_segments_were_made_from():
    record = segment(IMAGE, sparsity=[0.6, 0.15], return_record=True)
    assert isinstance(record, Segmentation)
    n = record.regions.max() + 1
    assert record.labels.shape == (2, *TRUTH.shape)
    assert record.features.shape == (n, 13 * 11)
    assert record.graph.shape == (n, n)
    assert record.selector.sparsity == 0.15
    assert record.selector.lambda_ == pytest.approx(0.15 * record.selector.lambda_max_)
    assert record.selector.solution_.converged
    # Touching regions of one word, and no others, share a segment.
    words = record.selector.selected_[record.selector.labels_]
    region_of = np.zeros(n, int)
    region_of[record.regions] = record.labels[1]
    first, second = record.graph.nonzero()
    same = region_of[first] == region_of[second]
    assert np.array_equal(words[first] == words[second], same)


def test_one_sparsity_gives_the_labels_of_its_selector():
    record = segment(IMAGE, sparsity=0.3, return_record=True)
    assert record.labels.shape == TRUTH.shape
    assert record.selector.sparsity == 0.3
    assert record.selector.solution_.certificate.holds(1e-3)


def test_a_single_word_is_a_single_segment():
    assert not segment(IMAGE, n_candidates=1).any()
    assert not segment(IMAGE, sparsity=1.5).any()


WRONG_IMAGES = {
    "a vector": (np.zeros(5), InvalidInputError, "image must have the shape"),
    "two channels": (np.zeros((5, 5, 2)), InvalidInputError, r"got \(5, 5, 2\)"),
    "four axes": (
        np.zeros((1, 5, 5, 3)),
        InvalidInputError,
        "image must have the shape",
    ),
    "nothing": (np.zeros((0, 5)), InvalidInputError, "image must have the shape"),
    "ragged rows": ([[0.0], [0.0, 1.0]], InvalidInputError, "rows of one length"),
    "integers": (np.zeros((5, 5), np.int64), InvalidTypeError, "got int64"),
    "words": ("image.jpg", InvalidInputError, "image must have the shape"),
    "above one": (
        np.full((5, 5), 1.5),
        InvalidInputError,
        "got 1.5 at row 0, column 0",
    ),
    "below zero": (np.full((5, 5), -0.1), InvalidInputError, "got -0.1 at row 0"),
    "NaN": (
        np.where(np.eye(5) > 0, [0, 0, 0, np.nan, 0], 0.5),
        InvalidInputError,
        "got nan at row 3, column 3",
    ),
    "infinite": (
        np.full((5, 5), np.inf),
        InvalidInputError,
        "got inf at row 0, column 0",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_IMAGES)
def test_what_is_no_image_is_refused(wrong):
    image, error, words = WRONG_IMAGES[wrong]
    with pytest.raises(error, match=words):
        segment(image)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"dictionary": "kmean"}, "did you mean 'kmeans'"),
        ({"n_candidates": 0}, "n_candidates must be at least 1, got 0"),
        ({"sparsity": -0.1}, "sparsity must be at least 0, got -0.1"),
        ({"sparsity": [0.1, np.nan]}, r"sparsity\[1\] must be"),
        ({"sparsity": []}, "sparsity must have at least one value"),
        ({"sparsity": "auto"}, "sparsity must be a number"),
        ({"smoothness": -1.0}, "smoothness must be at least 0"),
        ({"window": 0}, "window must be at least 1"),
        ({"n_bins": 1}, "n_bins must be at least 2"),
        ({"edge_width": 0.0}, "edge_width must be positive"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"random_state": "x"}, "cannot be used to seed"),
        ({"oversegmentation": "quickshift"}, "oversegmentation must be one of"),
    ],
)
def test_parameters_that_cannot_be_are_named(parameters, words):
    with pytest.raises(InvalidInputError, match=words):
        segment(IMAGE, **parameters)


def test_without_scikit_image_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['skimage'] = None\n"
        "import numpy as np\n"
        "from counterpoise import selection\n"
        "print(selection.segmentation_scores([[0, 1]], [[0, 1]]).covering)\n"
        "try:\n"
        "    selection.segment(np.zeros((9, 9)))\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told[0] == "1.0"
    assert "pip install 'counterpoise[image]'" in told[1]
