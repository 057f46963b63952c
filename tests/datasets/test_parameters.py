import numpy as np
import pytest

from counterpoise import datasets
from counterpoise.datasets.loaders import generator


def test_the_same_integer_gives_the_same_draws_of_any_integer_type():
    expected = np.random.default_rng(3).random(4)
    assert np.array_equal(generator(3).random(4), expected)
    assert np.array_equal(generator(np.int64(3)).random(4), expected)


def test_a_generator_is_used_itself_and_moves_on():
    rng = np.random.default_rng(3)
    assert generator(rng) is rng


def test_a_random_state_is_reproducible_and_moves_on():
    one, other = np.random.RandomState(3), np.random.RandomState(3)
    first = generator(one).random(4)
    assert np.array_equal(first, generator(other).random(4))
    assert not np.array_equal(first, generator(one).random(4))


def test_none_draws_anew():
    assert not np.array_equal(generator(None).random(4), generator(None).random(4))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("make_sinc_shift", {"n": 0}, "n must be an integer of at least 1, got 0"),
        ("make_sinc_shift", {"m": 2.5}, "m must be an integer of at least 1, got 2.5"),
        (
            "make_sinc_shift",
            {"m": True},
            "m must be an integer of at least 1, got True",
        ),
        ("make_sinc_shift", {"mean": np.nan}, "mean must be a finite number, got nan"),
        (
            "make_sinc_shift",
            {"random_state": -1},
            "random_state must be None, an integer of at least 0, a numpy Generator "
            "or a RandomState, got -1",
        ),
        (
            "make_sinc_shift",
            {"random_state": "zero"},
            "random_state must be None, an integer of at least 0, a numpy Generator "
            "or a RandomState, got 'zero'",
        ),
        ("make_gaussian_shift", {"d": 0}, "d must be an integer of at least 1, got 0"),
        (
            "make_gaussian_shift",
            {"n": -1},
            "n must be an integer of at least 1, got -1",
        ),
        (
            "make_gaussian_shift",
            {"m": "1"},
            "m must be an integer of at least 1, got '1'",
        ),
        ("make_gaussian_shift", {"scale": 0}, "scale must be positive, got 0"),
        ("make_gaussian_shift", {"scale": -1.0}, "scale must be positive, got -1.0"),
        (
            "make_gaussian_shift",
            {"shift": np.inf},
            "shift must be a finite number, got inf",
        ),
        ("make_mixture_shift", {"d": 0}, "d must be an integer of at least 1, got 0"),
        ("make_mixture_shift", {"n": 0}, "n must be an integer of at least 1, got 0"),
        ("make_mixture_shift", {"m": 0}, "m must be an integer of at least 1, got 0"),
        (
            "make_mixture_shift",
            {"share": -0.1},
            "share must be between 0 and 1, got -0.1",
        ),
        ("make_uncovered_cluster", {"q": 2}, "q must be between 0 and 1, got 2"),
        (
            "make_uncovered_cluster",
            {"q": "half"},
            "q must be between 0 and 1, got 'half'",
        ),
        (
            "make_uncovered_cluster",
            {"n": 0},
            "n must be an integer of at least 1, got 0",
        ),
        (
            "make_uncovered_cluster",
            {"m": 0},
            "m must be an integer of at least 1, got 0",
        ),
        (
            "make_uncovered_cluster",
            {"d": 0},
            "d must be an integer of at least 1, got 0",
        ),
        (
            "make_uncovered_cluster",
            {"shift": np.nan},
            "shift must be a finite number, got nan",
        ),
        (
            "make_uncovered_cluster",
            {"distance": None},
            "distance must be a finite number, got None",
        ),
        ("make_uncovered_cluster", {"spread": 0.0}, "spread must be positive, got 0.0"),
        (
            "make_class_subset",
            {"n_classes": 0},
            "n_classes must be an integer of at least 1, got 0",
        ),
        (
            "make_class_subset",
            {"n_target_classes": 0},
            "n_target_classes must be an integer of at least 1, got 0",
        ),
        (
            "make_class_subset",
            {"n_classes": 2, "n_target_classes": 3},
            "n_target_classes must be at most n_classes, 2, got 3",
        ),
        ("make_class_subset", {"n": 0}, "n must be an integer of at least 1, got 0"),
        ("make_class_subset", {"m": 0}, "m must be an integer of at least 1, got 0"),
        ("make_class_subset", {"d": 0}, "d must be an integer of at least 1, got 0"),
        (
            "make_class_subset",
            {"separation": -2},
            "separation must be at least 0, got -2",
        ),
        (
            "make_articulated_pose",
            {"scenario": "motion33"},
            "scenario must be one of none, motion, motion-far, blur, selection, "
            "subject, camera, or one of these with a trailing 3, got 'motion33'",
        ),
        (
            "make_articulated_pose",
            {"scenario": 3},
            "scenario must be one of none, motion, motion-far, blur, selection, "
            "subject, camera, or one of these with a trailing 3, got 3",
        ),
        (
            "make_articulated_pose",
            {"n": 0},
            "n must be an integer of at least 1, got 0",
        ),
        (
            "make_articulated_pose",
            {"m": 0},
            "m must be an integer of at least 1, got 0",
        ),
        (
            "make_articulated_pose",
            {"feature_noise": -1},
            "feature_noise must be at least 0, got -1",
        ),
        (
            "make_articulated_pose",
            {"label_noise": np.inf},
            "label_noise must be at least 0, got inf",
        ),
    ],
)
def test_a_bad_argument_is_named_with_what_came(name, arguments, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        getattr(datasets, name)(**arguments)
    assert str(caught.value) == message
