import pickle
import re
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise
from counterpoise.data import memory_budget
from counterpoise.datasets import make_articulated_pose
from counterpoise.twin_gp import DirectTwinGP, TwinGP, WeightedGPR
from counterpoise.twin_gp import approximations as building
from counterpoise.twin_gp.approximations import ExactModel, LandmarkModel

DIVERGENCES = ["kl", "inverse-kl", "sharma-mittal"]


def chain(n=150, m=30, scenario="none", seed=0, **more):
    return make_articulated_pose(scenario, n, m, random_state=seed, **more)


def joint_error(predicted, poses):
    apart = (predicted - poses).reshape(-1, 6, 3)
    return np.linalg.norm(apart, axis=2).mean(axis=1)


def twin(**more):
    return TwinGP(**({"ridge_x": 1e-2, "ridge_y": 1e-2} | more))


@pytest.mark.parametrize("divergence", ["kl", "sharma-mittal"])
def test_answers_beat_the_mean_pose(divergence):
    shift = chain(400, 100)
    answers = twin(divergence=divergence).fit(shift.X, shift.y).predict(shift.X_target)
    error = joint_error(answers, shift.y_target).mean()
    mean = joint_error(np.tile(shift.y.mean(axis=0), (100, 1)), shift.y_target).mean()
    assert error < 0.4 * mean


@pytest.mark.filterwarnings("ignore:answers through landmarks")
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_permuted_rows_give_the_same_answers_to_the_bit(divergence):
    shift = chain()
    order = np.random.default_rng(1).permutation(150)
    weights = np.random.default_rng(2).gamma(3.0, 1.0, 150)
    model = twin(divergence=divergence, n_landmarks=60)
    first = model.fit(shift.X, shift.y, weights).predict(shift.X_target)
    second = model.fit(shift.X[order], shift.y[order], weights[order])
    assert np.array_equal(first, second.predict(shift.X_target))


@pytest.mark.parametrize("n_landmarks", [None, 80])
def test_answers_move_with_translations_rotations_and_scales(n_landmarks):
    shift = chain()
    rng = np.random.default_rng(0)
    turn_x = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    turn_y = np.linalg.qr(rng.normal(size=(18, 18)))[0]
    model = TwinGP(
        gamma_x=0.05,
        gamma_y=5e-7,
        ridge_x=1e-2,
        ridge_y=1e-2,
        n_landmarks=n_landmarks,
        tol=1e-10,
    )
    plain = model.fit(shift.X, shift.y).predict(shift.X_target)
    moved = model.fit(shift.X @ turn_x + 3.0, shift.y @ turn_y - 500.0)
    again = moved.predict(shift.X_target @ turn_x + 3.0)
    # Landmarks are chosen by the box around the outputs, which turns do not keep.
    tol = 1e-6 if n_landmarks is None else 5e-2
    assert np.abs(again - (plain @ turn_y - 500.0)).max() <= tol * plain.std()
    scaled = model.set_params(gamma_y=5e-7 / 0.01**2).fit(shift.X, 0.01 * shift.y)
    assert np.abs(scaled.predict(shift.X_target) - 0.01 * plain).max() <= 1e-6 * 10


@pytest.mark.parametrize("model", [TwinGP(), WeightedGPR(), DirectTwinGP()])
def test_outputs_far_from_zero_lose_no_digits(model):
    shift = chain()
    near = model.fit(shift.X, shift.y).predict(shift.X_target)
    far = model.fit(shift.X, shift.y + 1e9).predict(shift.X_target) - 1e9
    assert np.abs(far - near).max() <= 1e-4


def test_the_uncertainty_is_the_gap_of_the_certificate():
    shift = chain()
    model = twin().fit(shift.X, shift.y)
    answers, nats = model.predict(shift.X_target, return_uncertainty=True)
    proofs = model.certify(shift.X_target, answers)
    assert [proof.gap for proof in proofs] == pytest.approx(nats.tolist(), rel=1e-9)
    assert all(p.kind == "divergence" and p.holds(1e-7) for p in proofs)
    elsewhere = model.certify(shift.X_target, answers + 50.0)
    assert not any(proof.holds(1e-3) for proof in elsewhere)
    assert all(b.gap > a.gap for a, b in zip(proofs, elsewhere, strict=True))


def test_certain_answers_are_better_ones():
    shift = chain(300, 300, noisy_target=True)
    answers, nats = (
        twin().fit(shift.X, shift.y).predict(shift.X_target, return_uncertainty=True)
    )
    error = joint_error(answers, shift.y_target)
    ranks = [np.argsort(np.argsort(v)) for v in (error, nats)]
    assert np.corrcoef(*ranks)[0, 1] >= 0.2


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_fit_carries_a_certificate(divergence):
    shift = chain()
    model = twin(divergence=divergence, n_landmarks=100).fit(shift.X, shift.y)
    proof = model.solution_.certificate
    assert proof.kind == "divergence"
    assert model.solution_.converged == proof.holds(model.tol)
    assert 0 <= proof.gap < 3
    assert model.landmark_error_ > 0
    assert twin(n_landmarks=None).fit(shift.X, shift.y).landmark_error_ == 0


def test_answers_that_do_not_settle_are_said():
    shift = chain()
    model = twin(divergence="inverse-kl", tol=1e-15)
    with pytest.warns(ConvergenceWarning, match="TwinGP: NOT converged"):
        model.fit(shift.X, shift.y)
    with pytest.warns(ConvergenceWarning, match=r"of 30 answers did not reach tol"):
        model.predict(shift.X_target)


def test_landmarks_answer_as_all_rows_do_and_say_how_far_off():
    shift = chain(600, 60)
    whole = twin(n_landmarks=None).fit(shift.X, shift.y)
    marks = twin(n_landmarks=300).fit(shift.X, shift.y)
    error = joint_error(whole.predict(shift.X_target), shift.y_target).mean()
    again = joint_error(marks.predict(shift.X_target), shift.y_target).mean()
    assert abs(again / error - 1) < 0.01
    far = np.linalg.norm(
        whole.predict(shift.X_target) - marks.predict(shift.X_target), axis=1
    ).mean()
    assert 0.1 < far / marks.landmark_error_ < 10
    with pytest.warns(UserWarning, match=r"answers through landmarks are .* raise n_l"):
        few = twin(n_landmarks=30).fit(shift.X, shift.y)
    assert few.landmark_error_ > 5 * marks.landmark_error_


def test_the_landmark_error_is_the_way_down_to_the_minimum_of_all_rows():
    shift = chain(300, 5)
    model = twin(n_landmarks=120, standardize_y=True).fit(shift.X, shift.y)
    rows, settings = model.model_.rows, model.model_.settings
    some = rows.X[np.linspace(0, 299, 20).astype(int)]
    answers = model.solution_.x
    exact = ExactModel.of(rows, settings).pose(some)
    below = exact.solve(answers, np.arange(20), 1e-9).x
    away = np.linalg.norm((below - answers) * shift.y.std(axis=0), axis=1)
    assert model.landmark_error_ == pytest.approx(away.mean(), rel=1e-3)


@pytest.mark.filterwarnings("ignore:TwinGP. NOT converged")
def test_auto_takes_all_rows_where_landmarks_do_not_stand_for_them(monkeypatch):
    shift = chain(700, 5)
    assert isinstance(twin().fit(shift.X, shift.y).model_, LandmarkModel)
    narrow = twin(gamma_y=1e-4).fit(shift.X, shift.y)
    assert isinstance(narrow.model_, ExactModel)
    assert isinstance(twin().fit(shift.X[:300], shift.y[:300]).model_, ExactModel)
    # Many rows are not affordable, however poor landmarks are.
    monkeypatch.setattr(building, "AFFORDABLE_ROWS", 600)
    assert isinstance(narrow.fit(shift.X, shift.y).model_, LandmarkModel)


def test_local_models_count_neighbors_by_weight():
    shift = chain(200, 20)
    counts = np.random.default_rng(0).integers(0, 4, 200)
    often = np.repeat(np.arange(200), counts)
    model = twin(n_neighbors=60)
    weighted = model.fit(shift.X, shift.y, counts).predict(shift.X_target, True)
    repeated = model.fit(shift.X[often], shift.y[often]).predict(shift.X_target, True)
    for a, b in zip(weighted, repeated, strict=True):
        assert np.array_equal(a, b)
    assert model.landmark_error_ is None


def test_two_poses_of_an_ambiguous_silhouette_are_both_found():
    # Rows 771 and 3022 look alike to one camera and are 858 mm apart.
    shift = chain(1000, 4000)
    seen = chain(1000, 4000, feature_noise=0.0, label_noise=0.0)
    silhouette = seen.X_target[[771, 3022]].mean(axis=0, keepdims=True)
    one, other = seen.y_target[[771]], seen.y_target[[3022]]
    model = TwinGP().fit(shift.X, shift.y)
    (modes,) = model.modes(silhouette)
    assert modes.outputs.shape == (2, 18)
    assert joint_error(modes.outputs, one).min() < 60
    assert joint_error(modes.outputs, other).min() < 80
    assert np.argmin(joint_error(modes.outputs, one)) != np.argmin(
        joint_error(modes.outputs, other)
    )
    assert np.all(np.diff(modes.losses) >= 0)
    assert np.all(modes.gaps > 0)
    mean = WeightedGPR(ridge_x=1e-2).fit(shift.X, shift.y).predict(silhouette)
    assert min(joint_error(mean, one)[0], joint_error(mean, other)[0]) > 250


@pytest.mark.filterwarnings("ignore:answers through landmarks")
@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("more", [{}, {"n_landmarks": 50}, {"n_neighbors": 40}])
def test_the_divergence_is_least_at_the_answer_whatever_the_order(divergence, more):
    shift = chain(80, 4)
    model = twin(divergence=divergence, **more).fit(shift.X, shift.y)
    model.landmark_error_ = None
    answers = model.predict(shift.X_target)
    for order in (0.5, 1.0, 3.0):
        at = model.divergence_value(shift.X_target, answers, order)
        away = model.divergence_value(shift.X_target, answers + 300.0, order)
        assert np.all(at >= 0)
        assert np.all(away >= at)


def test_one_output_comes_back_as_a_vector():
    shift = chain()
    model = twin().fit(shift.X, shift.y[:, 0])
    assert model.predict(shift.X_target).shape == (30,)
    assert model.fit(shift.X, shift.y[:, :1]).predict(shift.X_target).shape == (30, 1)
    (modes, *_) = twin().fit(shift.X, shift.y[:, 0]).modes(shift.X_target)
    assert modes.outputs.ndim == 1


def test_constant_outputs_come_back_as_they_are():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = TwinGP(search="holdout", calibration_fraction=0.3).fit(
        X, np.full((20, 2), 7.0)
    )
    answers, nats = model.predict(X, return_uncertainty=True)
    assert np.allclose(answers, 7.0, rtol=1e-12)
    assert not nats.any()
    assert np.allclose(model.predict_set(X, 0.5), 0.0, atol=1e-12)


def test_outputs_of_different_units_can_be_standardized():
    shift = chain()
    unit = 10.0 ** np.random.default_rng(0).integers(-3, 4, 18)
    model = twin(standardize_y=True)
    plain = model.fit(shift.X, shift.y).predict(shift.X_target)
    other = model.fit(shift.X, shift.y * unit).predict(shift.X_target)
    np.testing.assert_allclose(other / unit, plain, rtol=1e-5, atol=1e-5)


def test_a_saved_model_keeps_no_factors_and_answers_alike():
    shift = chain(300, 10)
    model = twin(n_landmarks=100).fit(shift.X, shift.y)
    saved = pickle.dumps(model)
    assert len(saved) < 300 * 60 * 8 + 50_000
    loaded = pickle.loads(saved)
    assert np.array_equal(loaded.predict(shift.X_target), model.predict(shift.X_target))


def test_blocks_of_test_rows_answer_as_one():
    shift = chain()
    model = twin(n_landmarks=60).fit(shift.X, shift.y)
    whole = model.predict(shift.X_target)
    with memory_budget(60_000):
        parts = model.predict(shift.X_target)
    np.testing.assert_allclose(parts, whole, atol=1e-3)


def test_too_many_rows_for_one_factor_are_refused_with_advice():
    shift = chain()
    with memory_budget(100_000), pytest.raises(MemoryError, match="set n_neighbors"):
        twin().fit(shift.X, shift.y)
    with memory_budget(100_000):
        twin(n_neighbors=20).fit(shift.X, shift.y).predict(shift.X_target[:3])


def test_it_works_in_pipelines_and_grid_searches():
    shift = chain(80)
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), twin()),
        {"twingp__theta": [0.1, 0.5]},
        cv=2,
        error_score="raise",
    ).fit(shift.X, shift.y)
    assert grid.predict(shift.X_target).shape == (30, 18)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"theta": 1.0}, 'theta must be in (0.0, 1.0), got 1.0; divergence="kl"'),
        ({"ridge_y": 0.0}, "ridge_y must be positive, got 0.0"),
        ({"divergence": "klt"}, "divergence must be one of 'kl', 'inverse-kl'"),
        ({"n_landmarks": 0}, "n_landmarks must be at least 1, 'auto' or None, got 0"),
        ({"gamma_x": -1.0}, "gamma_x must be positive or None, got -1.0"),
        ({"search": "hold"}, "search must be one of 'holdout', 'kfold', 'groups'"),
        (
            {"calibration_fraction": 1.0},
            "calibration_fraction must be in [0.0, 1.0), got 1.0",
        ),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    shift = chain(20)
    with pytest.raises(ValueError, match=re.escape(message)):
        TwinGP(**wrong).fit(shift.X, shift.y)


def test_wrong_weights_are_named():
    shift = chain(20)
    for weights, message in (
        (-np.ones(20), "sample_weight must not be negative, got -1.0 in row 0"),
        (np.zeros(20), "sample_weight is zero in every row"),
        (np.full(20, np.nan), "sample_weight contains 20 NaN"),
        (np.ones(19), "sample_weight has 19 rows, X has 20"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            twin().fit(shift.X, shift.y, weights)


def test_concentrated_weights_are_said():
    shift = chain(100)
    weights = np.where(np.arange(100) < 20, 1.0, 1e-3)
    with pytest.warns(
        UserWarning, match=r"effective sample size of 20\.\d of 100 rows"
    ):
        twin().fit(shift.X, shift.y, weights)


def test_answers_like_no_training_output_are_said():
    shift = chain()
    with pytest.warns(ConvergenceWarning, match="training rows are like no training"):
        model = twin(gamma_y=1.0, n_landmarks=None).fit(shift.X, shift.y)
    with pytest.warns(UserWarning, match="gamma_y = 1 is too large"):
        model.predict(shift.X_target)
    assert not any(p.holds(1.0) for p in model.certify(shift.X_target, shift.y_target))


def plain_data(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] * X[:, 0], X[:, 3]])
    return X, Y + 0.05 * rng.normal(size=Y.shape), rng.normal(size=(7, 4))


@pytest.mark.filterwarnings("ignore:TwinGP. NOT converged")
def test_answers_that_leave_the_outputs_are_said():
    X, Y, _ = plain_data()
    model = TwinGP(divergence="inverse-kl").fit(X, Y)
    with pytest.warns(UserWarning, match=r"answers have left the training outputs"):
        answers = model.predict(X)
    assert np.abs(answers).max() > 1.5 * np.abs(Y).max()


@pytest.mark.parametrize("more", [{}, {"n_neighbors": 50}, {"divergence": "kl"}])
def test_inputs_like_no_training_input_are_answered_by_the_mean_and_said(more):
    X, Y, X_test = plain_data()
    model = TwinGP(**more).fit(X, Y)
    both = np.vstack([X_test, 30 * np.sign(X_test)])
    with pytest.warns(UserWarning, match=r"50\.0% of the rows are like no tr") as said:
        answers, nats = model.predict(both, return_uncertainty=True)
    assert len(said) == 1
    if "n_neighbors" not in more:
        np.testing.assert_allclose(answers[7:], np.tile(Y.mean(axis=0), (7, 1)))
    assert np.abs(answers).max() <= np.abs(Y).max()
    # They are not the certain ones.
    assert nats[7:].min() > nats[:7].max()
    assert all(len(mode.outputs) == 1 for mode in model.modes(both[7:]))


@pytest.mark.filterwarnings("ignore:TwinGP. NOT converged")
def test_a_mean_between_clusters_is_not_blamed_on_the_width_where_inputs_are_lost():
    X, _, _ = plain_data()
    Y = 10.0 * np.sign(X[:, :1]) + 0.1 * X
    model = TwinGP(gamma_y=0.5, ridge_x=0.1, ridge_y=0.1).fit(X, Y)
    with pytest.warns(UserWarning, match="like no training input") as said:
        answers = model.predict(100 * np.eye(4))
    assert np.abs(answers).max() < 5
    assert len(said) == 1


def test_beside_the_data_answers_do_not_run_away_unsaid():
    X = np.random.default_rng(0).uniform(-1, 1, (80, 1))
    Y = np.hstack([np.sin(3 * X), np.cos(3 * X), X**2])
    model = TwinGP().fit(X, Y)
    spread = np.sqrt(Y.var(axis=0).sum())
    for at in np.linspace(1.0, 6.0, 26):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            answer = model.predict([[at]])
        if np.linalg.norm(Y - answer, axis=1).min() > spread:
            texts = " ".join(str(one.message) for one in said)
            assert "left the training outputs" in texts or "like no training" in texts
        if at > 3.0:
            assert np.abs(answer).max() < 1.5


@pytest.mark.parametrize("more", [{}, {"n_neighbors": 60}, {"n_landmarks": 40}])
def test_between_mirrored_rows_the_answer_takes_a_side(more):
    z = np.random.default_rng(0).normal(size=(150, 3))
    seen = np.column_stack([z[:, 0], z[:, 1], z[:, 2] ** 2])
    model = TwinGP(**more).fit(np.vstack([seen, seen]), np.vstack([z, z * [1, 1, -1]]))
    some = np.abs(z[:, 2]) > 0.5
    answers = model.predict(seen[some][:20])
    away = np.abs(np.abs(answers[:, 2]) - np.abs(z[some][:20, 2]))
    assert np.median(away) < 0.05


def test_a_saddle_is_no_mode():
    y = np.linspace(-1, 1, 81)
    model = TwinGP().fit(y[:, None] ** 2, y)
    assert abs(abs(model.predict([[0.25]])[0]) - 0.5) < 0.01
    (modes,) = model.modes([[0.25]])
    assert np.sort(modes.outputs) == pytest.approx([-0.5, 0.5], abs=0.01)


def test_answers_keep_what_is_constant_and_what_is_a_sum():
    X, Y, X_test = plain_data()
    whole = np.column_stack([Y, np.full(200, 0.1), Y[:, 0] + Y[:, 1]])
    answers = TwinGP().fit(X, whole).predict(X_test)
    np.testing.assert_allclose(answers[:, 3], 0.1, atol=1e-12)
    np.testing.assert_allclose(answers[:, 4], answers[:, 0] + answers[:, 1], atol=1e-10)
    plain = TwinGP().fit(X, np.column_stack([Y, Y[:, 0] + Y[:, 1]])).predict(X_test)
    np.testing.assert_allclose(answers[:, [0, 1, 2, 4]], plain, atol=1e-6)
    for mode in TwinGP().fit(X, whole).modes(X_test[:2]):
        np.testing.assert_allclose(mode.outputs[:, 3], 0.1, atol=1e-12)


def test_an_output_that_varies_little_is_answered_all_the_same():
    X, Y, X_test = plain_data()
    Y[:, 2] *= 1e-5
    model = TwinGP().fit(X, Y)
    mean = model.model_.pose(X_test).mean()[:, 2] + Y[:, 2].mean()
    moved = np.abs(model.predict(X_test)[:, 2] - mean).max()
    assert moved > 1e-3 * Y[:, 2].std()


def test_standardizing_counts_rows_by_their_weights():
    X, Y, _ = plain_data()
    counts = np.random.default_rng(1).integers(1, 5, 200)
    model = TwinGP(standardize_y=True).fit(X, Y, counts)
    expected = np.repeat(Y, counts, axis=0).std(axis=0)
    np.testing.assert_allclose(model.y_scale_, expected, rtol=1e-12)


@pytest.mark.parametrize("theta", [1e-8, 1e-5])
def test_a_tiny_theta_is_kl_and_not_the_start(theta):
    X, Y, X_test = plain_data()
    limit = TwinGP(divergence="kl").fit(X, Y).predict(X_test)
    start = TwinGP(divergence="kl").fit(X, Y).model_.pose(X_test).mean()
    near = TwinGP(theta=theta).fit(X, Y).predict(X_test)
    assert np.abs(near - limit).max() <= 20 * theta + 1e-6
    assert np.abs(start - (limit - Y.mean(axis=0))).max() > 0.01


def test_kl_ends_where_scipy_does_and_sharma_mittal_no_higher():
    shift = chain(200, 15)
    for divergence in ("kl", "sharma-mittal"):
        model = twin(divergence=divergence, tol=1e-9).fit(shift.X, shift.y)
        problems = model.model_.pose(shift.X_target)
        answers, radius = problems.answers(1e-9), model.model_.settings.radius
        for row in range(15):
            which = np.array([row])

            def loss(y, which=which, problems=problems, radius=radius):
                value, gradient = problems.evaluate(y[None] * radius, which)
                return value[0], gradient[0] * radius

            start = problems.mean()[row] / radius
            found = minimize(loss, start, jac=True, options={"gtol": 1e-10})
            if divergence == "kl":
                away = np.abs(found.x * radius - answers.x[row]).max()
                assert away <= 1e-4 * shift.y.std()
            else:
                value = problems.evaluate(answers.x[[row]], which)[0][0]
                assert value <= found.fun + 0.05


@pytest.mark.filterwarnings("ignore:the search")
def test_the_fit_of_before_is_forgotten():
    shift = chain(60)
    model = WeightedGPR(search="holdout", random_state=0).fit(shift.X, shift.y)
    assert hasattr(model, "cv_results_")
    model.set_params(search=None).fit(shift.X, shift.y)
    assert not hasattr(model, "cv_results_")
    assert not hasattr(model, "holdout_score_")


def test_a_copy_answers_as_its_model_was_fitted_whatever_was_set_since():
    shift = chain(150, 10)
    model = twin(divergence="kl").fit(shift.X, shift.y)
    answers, proof = model.predict(shift.X_target), model.solution_.certificate
    model.set_params(divergence="inverse-kl", n_landmarks=5)
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict(shift.X_target), answers)
    assert copied.solution_.certificate == proof
    assert copied.landmark_error_ == 0


def test_weights_that_are_no_numbers_of_rows_are_said():
    shift = chain(100)
    with pytest.warns(UserWarning, match=r"a mean of 0\.01 and are used as given"):
        twin().fit(shift.X, shift.y, np.full(100, 0.01))


def test_a_tiny_ridge_is_said():
    shift = chain(20)
    with pytest.warns(UserWarning, match="ridge_x = 1e-09 is below"):
        TwinGP(ridge_x=1e-9, n_landmarks=None, tol=1e-2).fit(shift.X, shift.y)


def test_the_public_names_are_there():
    assert counterpoise.twin_gp.TwinGP is TwinGP
