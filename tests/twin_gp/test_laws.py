"""What the three losses must be, whatever the data."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from counterpoise.linalg.kernels import Kernel
from counterpoise.twin_gp import TwinGP
from counterpoise.twin_gp import approximations as building
from counterpoise.twin_gp import approximations as landmarks
from counterpoise.twin_gp import estimators as modes
from counterpoise.twin_gp.approximations import (
    ExactModel,
    LandmarkModel,
    LocalModel,
    OutputLandmarks,
)
from counterpoise.twin_gp.estimators import divergences
from counterpoise.twin_gp.problem import Settings, TwinRows, of_order, width_rule

DIVERGENCES = ["kl", "inverse-kl", "sharma-mittal"]
SETTINGS = Settings("kl", 0.7, 0.22, 0.35, 1e-2, 2e-2)
N, M = 60, 5


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    Y = np.tanh(X @ rng.normal(size=(3, 4))) + 0.1 * rng.normal(size=(N, 4))
    w = rng.gamma(2.0, 1.0, N)
    return X, Y, w / w.mean(), rng.normal(size=(M, 3)), 0.5 * rng.normal(size=(M, 4))


def rows_of(X, Y, w):
    """The rows as they come: nothing merged, dropped or sorted."""
    return TwinRows(X, Y, np.asarray(w, dtype=float), np.arange(len(X)))


def exact(divergence, rows, **changes):
    return ExactModel.of(rows, replace(SETTINGS, divergence=divergence, **changes))


def through_landmarks(divergence, rows, count=25):
    settings = replace(SETTINGS, divergence=divergence)
    return LandmarkModel.of(rows, settings, OutputLandmarks.of(rows, settings, count))


def through_neighbors(divergence, rows):
    return LocalModel(rows, replace(SETTINGS, divergence=divergence), 20)


def evaluated(model, X, Y):
    return model.pose(X).evaluate(Y, np.arange(len(Y)))


MODELS = [exact, through_landmarks, through_neighbors]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_gradients_equal_central_differences_with_zeros_among_the_weights(
    divergence, make
):
    X, Y, w, X_test, at = data()
    w[::3] = 0.0
    problems = make(divergence, rows_of(X, Y, w)).pose(X_test)
    which = np.arange(M)
    _, gradient = problems.evaluate(at, which)
    numeric = np.zeros_like(gradient)
    for j in range(at.shape[1]):
        step = np.zeros(at.shape[1])
        step[j] = 1e-5
        up, down = (problems.evaluate(at + s * step, which)[0] for s in (1, -1))
        numeric[:, j] = (up - down) / 2e-5
    assert np.abs(numeric - gradient).max() <= 1e-6 * np.abs(gradient).max()


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_some_problems_evaluate_as_they_do_among_all(divergence, make):
    X, Y, w, X_test, at = data()
    problems = make(divergence, rows_of(X, Y, w)).pose(X_test)
    whole = problems.evaluate(at, np.arange(M))
    some = problems.evaluate(at[[3, 1]], np.array([3, 1]))
    for a, b in zip(whole, some, strict=True):
        np.testing.assert_allclose(a[[3, 1]], b, rtol=1e-11)


def gaussians(model, x, y):
    """Both covariances over training rows and test row, written out."""
    s, root = model.settings, model.rows.root
    out = []
    for A, a, gamma, ridge in (
        (model.rows.X, x, s.gamma_x, s.ridge_x),
        (model.rows.Y, y, s.gamma_y, s.ridge_y),
    ):
        everything = np.vstack([A, a])
        K = np.exp(-gamma * ((everything[:, None] - everything) ** 2).sum(axis=2))
        scale = np.append(root, 1.0)
        out.append(scale[:, None] * K * scale + ridge * np.eye(len(scale)))
    return out


def kl(A, B):
    """KL of two centered Gaussians by their covariances."""
    logs = np.linalg.slogdet(B)[1] - np.linalg.slogdet(A)[1]
    return 0.5 * (np.trace(np.linalg.solve(B, A)) - len(A) + logs)


def renyi(A, B, theta):
    mixed = np.linalg.slogdet((1 - theta) * A + theta * B)[1]
    apart = (1 - theta) * np.linalg.slogdet(A)[1] + theta * np.linalg.slogdet(B)[1]
    return (mixed - apart) / (2 * (1 - theta))


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_loss_is_the_explicit_divergence_up_to_a_constant_free_of_y(divergence):
    X, Y, w, X_test, _ = data()
    model = exact(divergence, rows_of(X, Y, w))
    rng = np.random.default_rng(5)
    x, ys = X_test[:1], rng.normal(size=(6, 4))
    explicit = []
    for y in ys:
        A, B = gaussians(model, x, y[None])
        explicit.append(
            {"kl": kl(B, A), "inverse-kl": kl(A, B)}.get(
                divergence, renyi(A, B, SETTINGS.theta)
            )
        )
    problems = model.pose(np.repeat(x, 6, axis=0))
    loss = problems.evaluate(ys, np.arange(6))[0]
    assert np.ptp(np.array(explicit) - loss) <= 1e-9
    whole = divergences(model, np.repeat(x, 6, axis=0), ys)
    np.testing.assert_allclose(whole, explicit, rtol=1e-9)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_no_output_goes_below_the_bound(divergence, make):
    X, Y, w, X_test, _ = data()
    problems = make(divergence, rows_of(X, Y, w)).pose(np.repeat(X_test, 200, axis=0))
    rng = np.random.default_rng(3)
    near = Y[rng.integers(0, N, 1000)]
    spread = np.linspace(0.0, 3.0, 1000)[rng.permutation(1000), None]
    at = near + spread * rng.normal(size=(1000, 4))
    value = problems.evaluate(at, np.arange(1000))[0]
    assert (value - problems.bounds()).min() >= -1e-10


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_bound_through_landmarks_is_that_of_the_written_out_gaussians(divergence):
    X, Y, w, X_test, at = data()
    rows = rows_of(X, Y, w)
    model = through_landmarks(divergence, rows, 12)
    if divergence == "sharma-mittal":
        # Its mixture is that of all rows, so the bound is below the gap's.
        return
    proof = model.pose(X_test).prove(at)
    marks = model.landmarks
    for row in range(M):
        S_x = gaussians(model, X_test[[row]], at[[row]])[0]
        k = np.exp(-SETTINGS.gamma_y * ((marks.Y - at[row]) ** 2).sum(axis=1))
        c = np.linalg.solve(marks.triangle.lower, k)
        P = np.vstack([marks.coordinates.T, c])
        S_y = P @ P.T + SETTINGS.ridge_y * np.eye(N + 1)
        S_y[-1, -1] = 1 + SETTINGS.ridge_y
        pair = (S_y, S_x) if divergence == "kl" else (S_x, S_y)
        # By the chain rule the gap is the divergence that the last row adds.
        added = kl(*pair) - kl(*(S[:-1, :-1] for S in pair))
        assert proof.gap[row] == pytest.approx(added, rel=1e-8)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_bound_is_reached_where_inputs_and_outputs_are_the_same(divergence):
    X, _, w, X_test, _ = data()
    settings = replace(
        SETTINGS, divergence=divergence, gamma_y=SETTINGS.gamma_x, ridge_y=1e-2
    )
    model = ExactModel.of(rows_of(X, X, w), settings)
    proof = model.pose(X_test).prove(X_test)
    assert proof.gap.max() <= 1e-10
    assert proof.residual.max() <= 1e-9


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_weights_of_one_are_no_weights_to_the_bit(divergence):
    X, Y, _, X_test, _ = data()
    ones, none = (
        TwinGP(divergence=divergence, ridge_x=0.01, ridge_y=0.01).fit(X, Y, w)
        for w in (np.ones(N), None)
    )
    for a, b in zip(
        ones.predict(X_test, True), none.predict(X_test, True), strict=True
    ):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_weight_zero_is_absence_and_weight_k_is_k_rows_for_loss_and_gradient(
    divergence,
):
    X, Y, w, X_test, at = data()
    w[::3] = 0.0
    absent = rows_of(X[w > 0], Y[w > 0], w[w > 0])
    counts = np.random.default_rng(1).integers(1, 4, N)
    often = np.repeat(np.arange(N), counts)
    pairs = [
        (rows_of(X, Y, w), absent),
        (rows_of(X, Y, counts), rows_of(X[often], Y[often], np.ones(len(often)))),
    ]
    for first, second in pairs:
        a = evaluated(exact(divergence, first), X_test, at)
        b = evaluated(exact(divergence, second), X_test, at)
        for one, other in zip(a, b, strict=True):
            assert np.abs(one - other).max() <= 1e-9


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("n_landmarks", [None, 40])
def test_weight_zero_is_absence_and_weight_k_is_k_rows_for_answers(
    divergence, n_landmarks
):
    X, Y, _, X_test, _ = data()
    counts = np.random.default_rng(1).integers(0, 4, N)
    often = np.random.default_rng(2).permutation(np.repeat(np.arange(N), counts))
    model = TwinGP(divergence=divergence, ridge_x=0.01, ridge_y=0.01)
    model.set_params(n_landmarks=n_landmarks)
    weighted = model.fit(X, Y, counts).predict(X_test)
    assert np.array_equal(model.fit(X[often], Y[often]).predict(X_test), weighted)
    # Copies that are no copies to the bit are not merged, and all the same.
    nearly = Y[often] + 1e-10 * np.random.default_rng(3).normal(size=(len(often), 4))
    repeated = model.fit(X[often], nearly).predict(X_test)
    assert len(model.X_fit_) == len(often)
    assert np.abs(repeated - weighted).max() <= (1e-6 if n_landmarks is None else 1e-3)


def test_the_width_rule_counts_rows_by_their_weights():
    X, _, _, _, _ = data()
    counts = np.random.default_rng(1).integers(0, 4, N)
    often = np.repeat(np.arange(N), counts)
    rule = width_rule(X, counts.astype(float))
    assert rule == pytest.approx(width_rule(X[often], np.ones(len(often))), rel=1e-12)
    assert rule == pytest.approx(1 / (4 * X[often].var(axis=0).sum()), rel=1e-12)


def test_rows_of_next_to_no_weight_are_left_out_and_others_are_not():
    X, Y, w, _, _ = data()
    w[:5] = 1e-12
    w[5:10] = 1e-6
    heard = rows_of(X, Y, w).heard(1e-2)
    assert np.array_equal(heard.X, X[5:])


def schur(K, k):
    return k @ np.linalg.solve(K, k)


def test_the_printed_weighting_cancels_and_ours_does_not():
    X, Y, w, X_test, _ = data()
    K, k = (
        Kernel("rbf", 0.2).matrix(X, X),
        Kernel("rbf", 0.2).matrix(X, X_test[:1])[:, 0],
    )
    D, ridge = np.sqrt(w), 0.01 * np.eye(N)
    plain = schur(K + ridge, k)
    printed = schur(D[:, None] * (K + ridge) * D, D * k)
    ours = schur(D[:, None] * K * D + ridge, D * k)
    assert abs(printed - plain) <= 1e-12
    assert abs(ours - plain) > 1e-6
    model = exact("kl", rows_of(X, Y, w), gamma_x=0.2, ridge_x=0.01)
    assert model.pose(X_test[:1]).e_x[0] == pytest.approx(1.01 - ours, abs=1e-12)


def test_weights_change_the_answers():
    X, Y, w, X_test, _ = data()
    model = TwinGP(gamma_x=0.2, gamma_y=0.3, ridge_x=0.01, ridge_y=0.01)
    plain = model.fit(X, Y).predict(X_test)
    assert np.abs(model.fit(X, Y, w).predict(X_test) - plain).max() > 1e-3


@pytest.mark.filterwarnings("ignore:.* of the rows are like no training input")
@pytest.mark.parametrize(("end", "limit"), [(0.0, "kl"), (1.0, "inverse-kl")])
def test_the_ends_of_theta_are_the_two_kullback_leibler_divergences(end, limit):
    X, Y, w, _, _ = data()
    X_test = np.random.default_rng(9).normal(size=(100, 3))
    numbers = {"gamma_x": 0.22, "gamma_y": 0.35, "ridge_x": 0.01, "ridge_y": 0.02}
    ends = TwinGP(divergence=limit, **numbers).fit(X, Y, w).predict(X_test)
    far = []
    for away in (1e-3, 1e-4):
        mixed = TwinGP(theta=abs(end - away), tol=1e-6, **numbers).fit(X, Y, w)
        off = np.abs(mixed.predict(X_test) - ends).max(axis=1) / Y.std()
        far.append(np.median(off))
    assert (off <= 1e-3).mean() >= 0.95
    # In proportion to theta's distance from its end.
    assert far[1] == pytest.approx(0.1 * far[0], rel=0.05)


@pytest.mark.parametrize("order", [0.5, 0.99, 3.0])
def test_the_order_moves_no_answer(order):
    X, Y, w, X_test, _ = data()
    model = exact("sharma-mittal", rows_of(X, Y, w))
    for x in X_test:
        problems = model.pose(x[None])
        answer = problems.answers(1e-10).x[0]
        level = float(problems.evaluate(answer[None], np.array([0]))[0][0])

        def of(y, problems=problems, level=level):
            value = problems.evaluate(y[None], np.array([0]))[0]
            return float(of_order(value - level, order)[0])

        found = minimize(of, answer + 0.01, options={"gtol": 1e-9}).x
        assert np.abs(found - answer).max() <= 1e-5


def test_schur_complements_keep_their_digits_at_a_ridge_of_one_millionth():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(80, 3))
    y = 0.3 * rng.normal(size=(1, 3))
    rows = rows_of(Y, Y, np.ones(80))
    model = exact("sharma-mittal", rows, ridge_y=1e-6, gamma_y=0.1)
    e_y = model.pose(Y[:1]).outputs(y, np.array([0])).e_y
    truth = long_schur(Y, y, 0.1, 1e-6)
    assert abs(e_y[0] / truth - 1) <= 1e-6
    S = Kernel("rbf", 0.1).matrix(Y, Y) + 1e-6 * np.eye(80)
    s = Kernel("rbf", 0.1).matrix(Y, y)[:, 0]
    stored = 1 + 1e-6 - s @ np.linalg.inv(S) @ s
    assert abs(stored / truth - 1) > 1e-6


def long_schur(Y, y, gamma, ridge):
    """The Schur complement by a Cholesky factor in long double."""
    everything = np.vstack([Y, y]).astype(np.longdouble)
    K = np.exp(-gamma * ((everything[:, None] - everything) ** 2).sum(axis=2))
    K = K + np.longdouble(ridge) * np.eye(len(K), dtype=np.longdouble)
    L = np.zeros_like(K)
    for j in range(len(K)):
        L[j, j] = np.sqrt(K[j, j] - (L[j, :j] ** 2).sum())
        L[j + 1 :, j] = (K[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return float(L[-1, -1] ** 2)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_all_landmarks_are_the_exact_model(divergence, monkeypatch):
    monkeypatch.setattr(landmarks, "SHARE_OF_RIDGE", 1e-13)
    X, Y, w, X_test, at = data()
    rows = rows_of(X, Y, w)
    model = through_landmarks(divergence, rows, N)
    assert len(model.landmarks.Y) == N
    whole = evaluated(exact(divergence, rows), X_test, at)
    marks = evaluated(model, X_test, at)
    for a, b in zip(whole, marks, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(a).max())
    bounds = [one.pose(X_test).bounds() for one in (exact(divergence, rows), model)]
    np.testing.assert_allclose(*bounds, rtol=1e-10)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_all_neighbors_are_the_exact_model(divergence):
    X, Y, w, X_test, at = data()
    w[::4] = 0.0
    settings = replace(SETTINGS, divergence=divergence)
    near = LocalModel(rows_of(X, Y, w), settings, 10_000)
    whole = exact(divergence, rows_of(X, Y, w))
    for a, b in zip(
        evaluated(whole, X_test, at), evaluated(near, X_test, at), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
    assert np.allclose(whole.pose(X_test).bounds(), near.pose(X_test).bounds())
    assert np.allclose(whole.pose(X_test).mean(), near.pose(X_test).mean())


@pytest.mark.parametrize("make", [exact, through_landmarks])
@pytest.mark.parametrize("mean", [0.05, 20.0])
def test_lost_are_the_inputs_of_which_less_than_half_is_explained(mean, make):
    X, Y, w, _, _ = data()
    w *= mean
    X_test = 4.0 * np.random.default_rng(4).normal(size=(200, 3))
    lost = make("kl", rows_of(X, Y, w)).pose(X_test).lost
    root = np.sqrt(w)
    S = root[:, None] * Kernel("rbf", SETTINGS.gamma_x).matrix(
        X, X
    ) * root + SETTINGS.ridge_x * np.eye(N)
    s = root * Kernel("rbf", SETTINGS.gamma_x).matrix(X_test, X)
    explained = np.einsum("ij,ij->i", s, np.linalg.solve(S, s.T).T)
    assert np.array_equal(lost, explained < 0.5)
    assert 0.1 < lost.mean() < 0.9
    # Some are explained by many rows together and by none alone.
    alone = (s**2 / (w + SETTINGS.ridge_x)).max(axis=1)
    assert ((alone < 0.5) & ~lost).any()


def test_neighbors_lose_the_rows_that_all_rows_lose():
    X, Y, w, _, _ = data()
    X_test = 4.0 * np.random.default_rng(4).normal(size=(200, 3))
    near = LocalModel(rows_of(X, Y, w), SETTINGS, 10_000).pose(X_test)
    whole = exact("kl", rows_of(X, Y, w)).pose(X_test)
    assert np.array_equal(near.lost, whole.lost)
    assert np.array_equal(near.likest(), whole.likest())
    first = Kernel("rbf", SETTINGS.gamma_x).matrix(X_test, X).argmax(axis=1)
    assert np.array_equal(whole.likest(), Y[first])


def test_the_search_starts_beside_the_mean_on_the_side_of_the_likest_row():
    X, Y, w, X_test, _ = data()
    problems = exact("kl", rows_of(X, Y, w)).pose(X_test)
    push = problems.start() - problems.mean()
    radius = 1 / np.sqrt(2 * SETTINGS.gamma_y)
    assert np.linalg.norm(push, axis=1) == pytest.approx(np.full(M, 1e-3 * radius))
    towards = problems.likest() - problems.mean()
    cosine = (push * towards).sum(axis=1) / np.linalg.norm(push, axis=1)
    assert cosine == pytest.approx(np.linalg.norm(towards, axis=1))


@pytest.mark.parametrize("theta", [0.01, 0.8])
def test_the_residual_is_the_scaled_gradient_in_units_that_do_not_fall_with_theta(
    theta,
):
    X, Y, w, X_test, at = data()
    problems = exact("sharma-mittal", rows_of(X, Y, w), theta=theta).pose(X_test)
    value, gradient = problems.evaluate(at, np.arange(M))
    steep = np.linalg.norm(gradient, axis=1) / np.sqrt(2 * SETTINGS.gamma_y)
    expected = steep / np.maximum(1, np.abs(value)) / min(1.0, 2 * theta)
    assert problems.prove(at).residual == pytest.approx(expected)
    found = problems.answers(1e-7)
    assert found.residual == pytest.approx(problems.prove(found.x).residual, abs=1e-12)


def test_two_minima_a_fifth_of_a_width_apart_are_two_and_nearer_ones_one():
    X, Y, w, _, _ = data()
    model = exact("kl", rows_of(X, Y, w))
    step = np.zeros(4)
    step[0] = model.settings.radius
    points = np.array([0 * step, 0.2 * step, 0.02 * step, 0.23 * step])
    assert modes._distinct(points, np.arange(4), model).tolist() == [0, 1]


def test_modes_are_sought_from_outputs_of_like_rows_far_from_one_another():
    X, Y, w, X_test, _ = data()
    model = exact("kl", rows_of(X, Y, w))
    chosen = modes.starts(model, X_test[0], 5)
    assert chosen.shape == (5, 4)
    similar = np.sqrt(w) * Kernel("rbf", SETTINGS.gamma_x).matrix(X_test[:1], X)[0]
    assert np.array_equal(chosen[0], Y[similar.argmax()])

    def nearest_pair(A):
        apart = np.linalg.norm(A[:, None] - A, axis=2)
        return apart[~np.eye(len(A), dtype=bool)].min()

    assert nearest_pair(chosen) > 2 * nearest_pair(Y[np.argsort(-similar)[:5]])


def test_a_search_takes_all_rows_where_few_landmarks_do_not_stand_for_them():
    rng = np.random.default_rng(0)
    rows = rows_of(rng.normal(size=(600, 3)), rng.normal(size=(600, 3)), np.ones(600))
    wide = replace(SETTINGS, gamma_y=0.01)
    assert isinstance(building.build(rows, wide, "search", None), LandmarkModel)
    narrow = replace(SETTINGS, gamma_y=1.0)
    assert isinstance(building.build(rows, narrow, "search", None), ExactModel)
    marks = OutputLandmarks.of(rows, narrow, building.MOST_LANDMARKS_IN_SEARCH)
    assert 0.1 < marks.residual / SETTINGS.ridge_y < 10
