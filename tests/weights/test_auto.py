"""The choice among all families: outliers, budgets, large samples."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from counterpoise import NoOverlapError
from counterpoise.datasets import make_gaussian_shift
from counterpoise.weights import auto
from counterpoise.weights.auto import AutoWeights
from counterpoise.weights.discriminator import DiscriminatorWeights
from counterpoise.weights.log_linear import LogLinearKLIEP


def pair(d=2, n=500):
    return make_gaussian_shift(d, n=n, m=n, random_state=0)


@pytest.mark.parametrize("where", ["target", "source"])
@pytest.mark.parametrize(
    "weight_estimator", [AutoWeights, LogLinearKLIEP, DiscriminatorWeights]
)
def test_one_row_far_out_does_not_make_the_weights_uniform(weight_estimator, where):
    shift = pair()
    X, X_target = shift.X.copy(), shift.X_target.copy()
    plain = weight_estimator(random_state=0).fit(X, X_target=X_target)
    (X_target if where == "target" else X)[0, 0] = 1e6
    fitted = weight_estimator(random_state=0).fit(X, X_target=X_target)
    others = slice(1, None)
    follows = np.corrcoef(fitted.weights_[others], shift.ratio[others])[0, 1]
    before = np.corrcoef(plain.weights_[others], shift.ratio[others])[0, 1]
    assert follows > before - 0.1
    assert fitted.effective_sample_size_ > 0.8 * plain.effective_sample_size_
    assert np.isfinite(fitted.predict_weights(1e100 * X)).all()


def test_numbers_too_large_to_square_are_refused_and_never_become_nan():
    shift = pair(n=100)
    fitted = LogLinearKLIEP().fit(shift.X, X_target=shift.X_target)
    with pytest.raises(ValueError, match=r"beyond 1e\+140, .* row 0, column"):
        fitted.predict_weights(shift.X * 1e300)
    with pytest.raises(ValueError, match=r"X_target contains numbers beyond 1e\+140"):
        LogLinearKLIEP().fit(shift.X, X_target=shift.X_target * 1e200)


def test_the_clock_ends_the_choice_and_says_so():
    shift = pair()
    weight_estimator = AutoWeights(random_state=0, max_time=1e-6)
    words = "max_time = 1e-06 s: 1 of 20 candidates were tried"
    with pytest.warns(UserWarning, match=words):
        weight_estimator.fit(shift.X, X_target=shift.X_target)
    results = weight_estimator.cv_results_
    assert list(results["candidate"][results["chosen"]]) == ["uniform"]
    assert np.isnan(results["score"]).sum() == 19


def test_widths_that_cannot_be_taken_are_not_tried():
    shift = make_gaussian_shift(20, n=400, m=400, random_state=0)
    fitted = AutoWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
    results = fitted.cv_results_
    assert not results["admissible"].all()
    assert (np.isnan(results["score"]) == ~results["admissible"]).all()
    assert results["admissible"][results["chosen"]].all()


def test_a_classifier_of_a_part_of_many_rows_weighs_the_others(monkeypatch):
    rng = np.random.default_rng(0)
    X, X_target = rng.uniform(-1, 1, size=(2, 1500, 6))
    X = X[:900]
    X_target = X_target[(np.abs(X_target[:, 0]) < 0.3) | (rng.random(1500) < 0.2)]
    monkeypatch.setattr(auto, "ROWS_TAUGHT", 400)
    fitted = AutoWeights(random_state=0).fit(X, X_target=X_target)
    assert isinstance(fitted.weight_estimator_, DiscriminatorWeights)
    assert len(fitted.weight_estimator_.weights_) == 400
    inside = np.abs(X[:, 0]) < 0.3
    assert fitted.weights_.shape == (900,)
    assert fitted.weights_[inside].mean() > 2 * fitted.weights_[~inside].mean()


def test_equal_weights_of_any_size_are_no_weights():
    shift = make_gaussian_shift(2, n=149, m=173, random_state=0)
    plain = DiscriminatorWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
    for size in (0.3, 1 / 149, 7.77):
        same = DiscriminatorWeights(random_state=0).fit(
            shift.X,
            X_target=shift.X_target,
            sample_weight=np.full(149, size),
            target_weight=np.full(173, size),
        )
        assert same.weights_.tobytes() == plain.weights_.tobytes()


@pytest.mark.parametrize("statistics", ["linear", "full"])
def test_one_target_row_among_the_source_is_no_lack_of_overlap(statistics):
    X = np.random.default_rng(0).standard_normal((300, 2))
    weight_estimator = LogLinearKLIEP(statistics=statistics)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = weight_estimator.fit(X, X_target=np.array([[0.5, 0.5]]))
    assert fitted.unsupported_fraction_ == 0.0
    near = np.linalg.norm(X - 0.5, axis=1) < 0.5
    assert fitted.weights_[near].mean() > fitted.weights_[~near].mean()
    with pytest.raises(NoOverlapError):
        weight_estimator.fit(X, X_target=np.array([[30.0, 0.5]]))


def relative_error(weights, truth):
    weights, truth = weights / weights.mean(), truth / truth.mean()
    return ((weights - truth) ** 2).mean() / (truth**2).mean()


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
@pytest.mark.parametrize("seed", range(2))
def test_a_shift_of_correlations_is_found(seed):
    rng = np.random.default_rng(seed)
    Q = 0.5 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    X, X_target = (
        rng.standard_normal((500, 6)),
        rng.multivariate_normal(np.zeros(6), Q, 500),
    )
    both = [multivariate_normal(np.zeros(6), C).logpdf(X) for C in (Q, np.eye(6))]
    truth = np.exp(both[0] - both[1])
    fitted = AutoWeights(random_state=seed).fit(X, X_target=X_target)
    taken = fitted.cv_results_["candidate"][fitted.cv_results_["chosen"]]
    assert taken[0].startswith("two Gaussians")
    assert relative_error(fitted.weights_, truth) < 0.45


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
@pytest.mark.parametrize("seed", range(2))
def test_no_noisy_candidate_is_taken_for_a_shift_of_one_column(seed):
    rng = np.random.default_rng(seed)
    X, X_target = rng.standard_normal((2, 800, 5))
    X_target[:, 0] += 0.8
    fitted = AutoWeights(random_state=seed).fit(X, X_target=X_target)
    taken = fitted.cv_results_["candidate"][fitted.cv_results_["chosen"]]
    assert taken[0] in ("log-ratio linear", "logistic")
    assert relative_error(fitted.weights_, np.exp(0.8 * X[:, 0])) < 0.08
