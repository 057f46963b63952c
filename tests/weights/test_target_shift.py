import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise import (
    KLIEP,
    NoOverlapError,
    NoTargetWarning,
    PartialOverlapWarning,
    TargetShiftWeights,
)
from counterpoise.convex import MixtureLikelihood
from counterpoise.datasets import make_articulated_pose


def labels_shift(seed=0, n=800, m=600):
    """y moves from N(0, 1) to N(0.8, 0.6^2); x is y seen from two noisy sides."""
    rng = np.random.default_rng(seed)
    y, y_target = rng.normal(size=n), rng.normal(0.8, 0.6, m)

    def seen(v):
        return np.column_stack([np.sin(v), v**2]) + 0.15 * rng.normal(size=(len(v), 2))

    return seen(y), y, seen(y_target), y_target


def true_ratio(y):
    return np.exp(-0.5 * ((y - 0.8) / 0.6) ** 2 + 0.5 * y**2) / 0.6


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_weights_follow_the_known_ratio_of_labels():
    X, y, X_target, y_target = labels_shift()
    model = TargetShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    truth = true_ratio(y)
    assert np.corrcoef(np.sqrt(model.weights_), np.sqrt(truth))[0, 1] > 0.95
    before = y_target.mean() - y.mean()
    after = y_target.mean() - np.average(y, weights=model.weights_)
    assert abs(after) < 0.1 * abs(before)
    assert model.weights_.mean() == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(model.weigh(y), model.weights_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_the_certificate_holds_and_is_the_problems_own():
    X, y, X_target, _ = labels_shift()
    model = TargetShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    assert model.solution_.converged
    assert isinstance(model.solution_.certificate.gap, float)
    assert model.solution_.certificate.kind == "log of the largest likelihood slope"
    # Written out: densities of bumps at the target rows.
    scale = np.sqrt(0.5 * (X.var(axis=0) + X_target.var(axis=0)))
    fixed = TargetShiftWeights(
        gamma=model.gamma_, gamma_y=model.gamma_y_, random_state=0, standardize=False
    ).fit(X / scale, y, X_target=X_target / scale)
    away = ((X_target / scale)[:, None] - (X / scale)) ** 2
    B = np.exp(-model.gamma_ * away.sum(axis=2))
    Q = np.exp(-model.gamma_y_ * (y[:, None] - fixed.centers_[:, 0]) ** 2)
    A = B @ (Q / Q.sum(axis=0))
    proof = MixtureLikelihood(A).certify(fixed.solution_.x)
    assert proof.gap <= 1e-5


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_under_target_shift_the_ratio_of_inputs_is_the_wrong_one():
    shift = make_articulated_pose("motion-far", 500, 400, random_state=0)
    ours = TargetShiftWeights(random_state=0).fit(
        shift.X, shift.y, X_target=shift.X_target
    )
    theirs = KLIEP(random_state=0).fit(shift.X, X_target=shift.X_target)

    def off(weights):
        mean = np.average(shift.y, weights=weights, axis=0)
        return np.linalg.norm(mean - shift.y_target.mean(axis=0))

    assert off(ours.weights_) < off(theirs.weights_)
    assert off(ours.weights_) < 0.5 * off(np.ones(500))


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_nothing_shifted_leaves_most_rows_their_worth():
    rng = np.random.default_rng(3)
    y, y_target = rng.normal(size=(2, 600))
    X, X_target = (v[:, None] + 0.2 * rng.normal(size=(600, 3)) for v in (y, y_target))
    model = TargetShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    assert model.effective_sample_size_ > 0.6 * 600


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_weight_two_is_the_row_twice_and_order_does_not_matter():
    X, y, X_target, _ = labels_shift(n=150, m=80)
    counts = np.random.default_rng(0).integers(0, 3, 150)
    counts[:150] = np.maximum(counts, 1)
    often = np.random.default_rng(1).permutation(np.repeat(np.arange(150), counts))
    numbers = {"gamma": 20.0, "gamma_y": 10.0, "random_state": 0, "standardize": False}
    weighted = TargetShiftWeights(**numbers).fit(
        X, y, X_target=X_target, sample_weight=counts
    )
    repeated = TargetShiftWeights(**numbers).fit(X[often], y[often], X_target=X_target)
    np.testing.assert_allclose(
        weighted.weights_[often], repeated.weights_, rtol=1e-3, atol=1e-4
    )
    assert np.average(weighted.weights_, weights=counts) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_the_exponent_flattens():
    X, y, X_target, _ = labels_shift(n=200, m=100)
    full, root, flat = (
        TargetShiftWeights(exponent=e, random_state=0).fit(X, y, X_target=X_target)
        for e in (1.0, 0.5, 0.0)
    )
    assert (
        full.effective_sample_size_
        < root.effective_sample_size_
        < flat.effective_sample_size_
    )
    np.testing.assert_allclose(flat.weights_, 1.0)
    scaled = np.sqrt(full.weights_) / np.sqrt(full.weights_).mean()
    np.testing.assert_allclose(root.weights_, scaled, rtol=1e-6)


def test_no_target_means_weights_of_one():
    X, y, _, _ = labels_shift(n=20)
    with pytest.warns(NoTargetWarning):
        model = TargetShiftWeights().fit(X, y)
    assert np.array_equal(model.weights_, np.ones(20))
    assert np.array_equal(model.weigh(y[:5]), np.ones(5))


def test_a_target_without_source_rows_is_refused_unless_forced():
    X, y, X_target, _ = labels_shift(n=100, m=50)
    with pytest.raises(NoOverlapError):
        TargetShiftWeights(random_state=0).fit(X, y, X_target=X_target + 50.0)
    with pytest.warns(PartialOverlapWarning):
        TargetShiftWeights(force=True, random_state=0).fit(
            X, y, X_target=X_target + 50.0
        )


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_it_has_no_score_and_says_why():
    X, y, X_target, _ = labels_shift(n=60, m=40)
    model = TargetShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    with pytest.raises(ValueError, match="its weights are a function of y"):
        model.score(X, y)


def test_labels_of_another_shape_are_refused():
    X, y, _, _ = labels_shift(n=20)
    with pytest.warns(NoTargetWarning):
        model = TargetShiftWeights().fit(X, y)
    with pytest.raises(ValueError, match="y has 2 columns, fit had 1"):
        model.weigh(np.zeros((3, 2)))


@pytest.mark.filterwarnings("ignore::counterpoise.NoTargetWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([TargetShiftWeights()])
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
