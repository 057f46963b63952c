import numpy as np
import pytest
from scipy import stats

from counterpoise.datasets import make_articulated_pose

MOTIONS = {
    "none": ((0.0, 0.0, 0.0), 1.0),
    "motion": ((0.6, 0.3, 0.0), 0.6),
    "motion-far": ((1.2, 0.6, 0.0), 0.4),
    "blur": ((-0.7, 0.0, 0.0), 0.6),
}
SCENARIOS = [*MOTIONS, "selection", "subject", "camera"]
LENGTHS = [250, 250, 200, 180, 150, 100]

# Entries of X, y, X_target, y_target from an independent implementation, seed 11.
REFERENCE = [
    ("none", 1.0305380573, 191.07071664, 0.4632682075, 195.20435896),
    ("motion", 1.0305380573, 191.07071664, -0.0948115894, 215.36653123),
    ("motion-far", 1.0305380573, 191.07071664, -0.7088563510, 266.86156326),
    ("blur", 1.0305380573, 213.78213036, 0.4354119929, 112.27392326),
    ("selection", 1.0153864174, -77.13928171, 0.1081510569, -242.43418018),
    ("subject", 1.0167349037, -91.35471412, 0.1081510569, -242.43418018),
    ("camera", 1.0305616184, 172.54974426, 0.3218539805, 154.76331080),
    ("motion3", -0.4865703317, 191.07071664, -0.5226006293, 215.36653123),
    ("camera3", -0.5650366659, 172.54974426, 0.0592870019, 154.76331080),
]


def latent_of(scenario, n, m, seed):
    """The latent motions are the generator's first draws."""
    rng = np.random.default_rng(seed)
    mean, scale = MOTIONS[scenario]
    z = rng.normal(size=(n, 3))
    return z, mean + scale * rng.normal(size=(m, 3))


def limbs(y):
    joints = y.reshape(len(y), 6, 3)
    return np.linalg.norm(np.diff(joints, axis=1, prepend=0), axis=2)


@pytest.mark.parametrize(("scenario", "x", "y", "x_target", "y_target"), REFERENCE)
def test_the_numbers_are_those_of_the_reference(scenario, x, y, x_target, y_target):
    shift = make_articulated_pose(scenario, 5, 3, random_state=11)
    got = shift.X[1, 2], shift.y[1, 4], shift.X_target[2, 29], shift.y_target[2, 17]
    np.testing.assert_allclose(got, [x, y, x_target, y_target], rtol=1e-8)


@pytest.mark.parametrize("scenario", MOTIONS)
@pytest.mark.parametrize("cameras", ["", "3"])
def test_the_ratio_is_that_of_the_latent_densities(scenario, cameras):
    shift = make_articulated_pose(scenario + cameras, 50, 40, random_state=2)
    mean, scale = MOTIONS[scenario]
    samples = latent_of(scenario, 50, 40, 2)
    for z, ratio in zip(samples, (shift.ratio, shift.ratio_target), strict=True):
        target = stats.norm.pdf(z, mean, scale).prod(axis=1)
        source = stats.norm.pdf(z).prod(axis=1)
        np.testing.assert_allclose(ratio, target / source, rtol=1e-10)


@pytest.mark.parametrize("scenario", ["motion", "motion-far", "blur", "selection"])
def test_the_ratio_turns_source_means_into_target_means(scenario, assert_reweights):
    shift = make_articulated_pose(scenario, 20_000, 20_000, random_state=1)
    assert_reweights(shift.X, shift.ratio, shift.X_target)
    poses = make_articulated_pose(
        scenario, 20_000, 20_000, label_noise=0.0, random_state=1
    )
    assert_reweights(poses.y / 1000, poses.ratio, poses.y_target / 1000)


def test_selection_weighs_the_target_body_by_three_and_the_others_by_zero():
    shift = make_articulated_pose("selection", 300, 50, label_noise=0, random_state=1)
    scale = limbs(shift.y)[:, 0] / 250
    assert sorted(set(scale.round(9))) == [0.85, 1.0, 1.2]
    assert np.array_equal(shift.ratio, np.where(scale < 0.9, 3.0, 0.0))
    assert np.all(shift.ratio_target == 3)


def test_selection_has_a_finite_ratio_even_if_no_source_row_has_the_target_body():
    draws = (make_articulated_pose("selection", 2, 2, random_state=s) for s in range(9))
    none = [shift for shift in draws if not shift.ratio.any()]
    assert none
    assert all(np.all(shift.ratio_target == 3) for shift in none)


@pytest.mark.parametrize("scenario", ["subject", "camera", "subject3", "camera3"])
def test_no_ratio_is_given_where_there_is_none(scenario):
    shift = make_articulated_pose(scenario, 5, 3, random_state=1)
    assert shift.ratio is None
    assert shift.ratio_target is None


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_limbs_keep_their_lengths(scenario):
    shift = make_articulated_pose(scenario, 60, 60, label_noise=0.0, random_state=1)
    sizes = {"selection": {0.85, 1.0, 1.2}, "subject": {1.0, 1.2}}
    proportions = limbs(shift.y) / LENGTHS
    assert set(proportions.round(9).ravel()) == sizes.get(scenario, {1.0})
    expected = 0.85 if scenario in sizes else 1.0
    np.testing.assert_allclose(limbs(shift.y_target) / LENGTHS, expected, rtol=1e-10)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_second_and_third_camera_change_the_features_alone(scenario):
    one = make_articulated_pose(scenario, 20, 10, random_state=1)
    three = make_articulated_pose(scenario + "3", 20, 10, random_state=1)
    assert np.array_equal(one.y, three.y)
    assert np.array_equal(one.y_target, three.y_target)
    assert not np.any(one.X == three.X)


def test_one_camera_loses_the_depth_and_three_see_it():
    def explained(scenario):
        shift = make_articulated_pose(
            scenario, 2000, 2, feature_noise=0.0, label_noise=0.0, random_state=1
        )
        last = shift.y[:, 15:]
        # Undoing tanh makes the features linear in what the cameras see.
        seen = np.column_stack([np.arctanh(shift.X), np.ones(2000)])
        fitted = seen @ np.linalg.lstsq(seen, last, rcond=1e-10)[0]
        return 1 - (last - fitted).var(axis=0) / last.var(axis=0)

    across, up, depth = explained("none")
    assert min(across, up) > 1 - 1e-9
    assert depth < 0.95
    assert min(explained("none3")) > 1 - 1e-9


def test_feature_noise_is_added_to_features_alone():
    clean = make_articulated_pose(n=3000, m=3000, feature_noise=0.0, random_state=1)
    noisy = make_articulated_pose(n=3000, m=3000, feature_noise=0.2, random_state=1)
    assert np.array_equal(clean.y, noisy.y)
    for noise in (noisy.X - clean.X, noisy.X_target - clean.X_target):
        assert stats.kstest(noise.ravel() / 0.2, "norm").pvalue > 1e-4


def test_label_noise_is_added_to_source_labels_alone():
    clean = make_articulated_pose(n=3000, m=30, label_noise=0.0, random_state=1)
    noisy = make_articulated_pose(n=3000, m=30, label_noise=5.0, random_state=1)
    assert np.array_equal(clean.X, noisy.X)
    assert np.array_equal(clean.y_target, noisy.y_target)
    assert stats.kstest((noisy.y - clean.y).ravel() / 5, "norm").pvalue > 1e-4


@pytest.mark.parametrize("scenario", ["motion", "blur"])
def test_noisy_target_labels_have_the_noise_of_the_source_at_the_same_motion(scenario):
    clean, noisy = (
        make_articulated_pose(scenario, 3000, 3000, noisy_target=noise, random_state=1)
        for noise in (False, True)
    )
    assert np.array_equal(clean.X_target, noisy.X_target)
    assert np.array_equal(clean.y, noisy.y)
    poses = make_articulated_pose(scenario, 3000, 3000, label_noise=0, random_state=1)
    z, z_target = latent_of(scenario, 3000, 3000, 1)
    for motion, noise in (
        (z, noisy.y - poses.y),
        (z_target, noisy.y_target - poses.y_target),
    ):
        blur = 1 + 14 / (1 + np.exp(-3 * (motion[:, :1] - 0.2)))
        scale = 10 * blur if scenario == "blur" else 10
        assert stats.kstest((noise / scale).ravel(), "norm").pvalue > 1e-4
