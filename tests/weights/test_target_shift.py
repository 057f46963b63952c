import numpy as np
import pytest
from sklearn.base import clone

from counterpoise import (
    KLIEP,
    LabelShiftWeights,
    NoOverlapError,
    NoTargetWarning,
    PartialOverlapWarning,
)
from counterpoise.data.two_samples import canonical_order, folds
from counterpoise.datasets import make_articulated_pose
from counterpoise.optim import Corrective, MixtureLikelihood, solve


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
    model = LabelShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    truth = true_ratio(y)
    assert np.corrcoef(np.sqrt(model.weights_), np.sqrt(truth))[0, 1] > 0.95
    before = y_target.mean() - y.mean()
    after = y_target.mean() - np.average(y, weights=model.weights_)
    assert abs(after) < 0.1 * abs(before)
    assert model.weights_.mean() == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(model.predict_weights(y), model.weights_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_the_certificate_holds_and_is_the_problems_own():
    X, y, X_target, _ = labels_shift()
    model = LabelShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    assert model.solution_.converged
    assert isinstance(model.solution_.certificate.gap, float)
    assert model.solution_.certificate.kind == "log of the largest likelihood slope"
    # Written out: densities of bumps at the target rows.
    scale = np.sqrt(0.5 * (X.var(axis=0) + X_target.var(axis=0)))
    fixed = LabelShiftWeights(
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
    ours = LabelShiftWeights(random_state=0).fit(
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
    model = LabelShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    assert model.effective_sample_size_ > 0.6 * 600


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_the_rows_shares_of_the_mixture(outputs, weighted):
    X, y, X_target, _ = labels_shift(n=150, m=80)
    labels = np.column_stack([y, np.cos(y)])[:, :outputs]
    s = np.random.default_rng(5).uniform(0.1, 3.0, 150) if weighted else np.ones(150)
    model = LabelShiftWeights(random_state=0, n_centers=60).fit(
        X, labels, X_target=X_target, sample_weight=s
    )
    away = ((labels[:, None] - model.centers_) ** 2).sum(axis=2)
    kernel = np.exp(-model.gamma_y_ * away)
    Q = s[:, None] * kernel / (s @ kernel)
    mu = model.solution_.x
    assert mu.sum() == pytest.approx(1.0)
    assert np.count_nonzero(mu > 1e-3) > 1
    # N Q mu, a row of weight s counted once.
    expected = s.sum() * (Q @ mu) / s
    np.testing.assert_allclose(model.weights_, expected, rtol=1e-9)
    np.testing.assert_allclose(model.coef_, s.sum() * mu / (s @ kernel), rtol=1e-9)
    assert model.mean_ratio_ == pytest.approx(1.0, abs=1e-9)
    assert np.average(model.weights_, weights=s) == pytest.approx(1.0, abs=1e-12)


def counted(n, seed):
    """Counts with zeros among them, and the rows so often, in another order."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, n)
    return counts, rng.permutation(np.repeat(np.arange(n), counts))


WIDTHS = [
    {"gamma": 20.0, "gamma_y": 10.0},
    {"gamma": "cv", "gamma_y": 10.0},
    {"gamma": "cv", "gamma_y": "cv"},
]


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("widths", WIDTHS)
def test_weight_two_is_the_row_twice_and_zero_its_absence(widths, standardize):
    X, y, X_target, _ = labels_shift(n=150, m=80)
    counts, often = counted(150, 0)
    model = LabelShiftWeights(
        **widths, standardize=standardize, tol=1e-11, random_state=0
    )
    weighted = clone(model).fit(X, y, X_target=X_target, sample_weight=counts)
    repeated = clone(model).fit(X[often], y[often], X_target=X_target)
    assert weighted.gamma_ == pytest.approx(repeated.gamma_, rel=1e-12)
    assert weighted.gamma_y_ == pytest.approx(repeated.gamma_y_, rel=1e-12)
    np.testing.assert_allclose(weighted.weights_[often], repeated.weights_, rtol=1e-9)
    np.testing.assert_allclose(
        weighted.weights_, repeated.predict_weights(y), rtol=1e-9
    )
    assert np.average(weighted.weights_, weights=counts) == pytest.approx(1.0)
    assert (counts == 0).any()


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("widths", WIDTHS)
def test_target_weight_two_is_the_target_row_twice_and_zero_its_absence(
    widths, standardize
):
    X, y, X_target, _ = labels_shift(n=120, m=100)
    counts, often = counted(100, 1)
    model = LabelShiftWeights(
        **widths, standardize=standardize, tol=1e-11, random_state=0
    )
    weighted = clone(model).fit(X, y, X_target=X_target, target_weight=counts)
    repeated = clone(model).fit(X, y, X_target=X_target[often])
    assert weighted.gamma_ == pytest.approx(repeated.gamma_, rel=1e-12)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-9)
    if "cv" in widths.values():
        scores = (one.cv_results_["score"] for one in (weighted, repeated))
        # Solved roughly, each in its own order of rows.
        np.testing.assert_allclose(*scores, atol=1e-2)
    ignored = clone(model).fit(X, y, X_target=X_target)
    assert np.abs(weighted.weights_ - ignored.weights_).max() > 0.05


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_widths_are_scored_by_the_likelihood_of_rows_held_out():
    X, y, X_target, _ = labels_shift(n=120, m=90)
    aims = np.random.default_rng(2).uniform(0.2, 2.0, 90)
    model = LabelShiftWeights(random_state=0, standardize=False)
    model.fit(X, y, X_target=X_target, target_weight=aims)
    order = canonical_order(X_target, aims)
    X_target, share = X_target[order], aims[order] / aims.sum()
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    part = folds(X_target, 3, seed)
    away = ((X_target[:, None] - X) ** 2).sum(axis=2)
    results = model.cv_results_
    # The narrowest and the widest of both, and what was chosen.
    for k in (0, 4, 25, 29, int(np.argmax(results["score"]))):
        gamma, gamma_y = results["gamma"][k], results["gamma_y"][k]
        Q = np.exp(-gamma_y * (y[:, None] - model.centers_[:, 0]) ** 2)
        # Up to a constant free of the width, a density of two dimensions.
        A = gamma * np.exp(-gamma * away) @ (Q / Q.sum(axis=0))
        A = np.maximum(A, 1e-300)
        total = 0.0
        for fold in range(3):
            held = part == fold
            kept = share[~held] / share[~held].sum()
            found = solve(MixtureLikelihood(A[~held], kept), Corrective(), tol=1e-8)
            total += share[held] @ np.log(A[held] @ found.x)
        assert results["score"][k] == pytest.approx(total, abs=2e-2)
    assert np.ptp(results["score"]) > 0.2


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_the_exponent_flattens():
    X, y, X_target, _ = labels_shift(n=200, m=100)
    full, root, flat = (
        LabelShiftWeights(exponent=e, random_state=0).fit(X, y, X_target=X_target)
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
        model = LabelShiftWeights().fit(X, y)
    assert np.array_equal(model.weights_, np.ones(20))
    assert np.array_equal(model.predict_weights(y[:5]), np.ones(5))


def test_a_target_without_source_rows_is_refused_unless_forced():
    X, y, X_target, _ = labels_shift(n=100, m=50)
    with pytest.raises(NoOverlapError):
        LabelShiftWeights(random_state=0).fit(X, y, X_target=X_target + 50.0)
    with pytest.warns(PartialOverlapWarning):
        LabelShiftWeights(allow_no_overlap=True, random_state=0).fit(
            X, y, X_target=X_target + 50.0
        )


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_it_cannot_tell_by_inputs_where_its_ratio_is_not_known():
    X, y, X_target, _ = labels_shift(n=60, m=40)
    model = LabelShiftWeights(gamma=1.0, gamma_y=1.0, allow_no_overlap=True)
    model.fit(X, y, X_target=X_target)
    with pytest.raises(ValueError, match="a function of y, not of the inputs"):
        model.is_extrapolation(X_target)


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_it_has_no_score_and_says_why():
    X, y, X_target, _ = labels_shift(n=60, m=40)
    model = LabelShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    with pytest.raises(ValueError, match="its weights are a function of y"):
        model.score(X, y)


def test_labels_of_another_shape_are_refused():
    X, y, _, _ = labels_shift(n=20)
    with pytest.warns(NoTargetWarning):
        model = LabelShiftWeights().fit(X, y)
    with pytest.raises(ValueError, match="y has 2 columns, fit had 1"):
        model.predict_weights(np.zeros((3, 2)))
