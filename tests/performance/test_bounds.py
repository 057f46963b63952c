"""The guarantees hold on simulated problems, and attained cases pin their constants."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import counterpoise
from counterpoise import bounds
from counterpoise.models import WeightedKernelRidge


def simulated(case):
    """A kernel ridge problem in explicit coordinates, with all that nobody knows."""
    rng = np.random.default_rng(case)
    m, n = rng.integers(5, 40, 2)
    N = int(rng.integers(2, 6))
    X = rng.standard_normal((m, N)) + rng.uniform(-1, 1, N)
    Z = np.vstack([X, rng.standard_normal((n, N))])
    q, alpha = rng.dirichlet(np.ones(m)), 10 ** rng.uniform(-3, 0)
    values, vectors = np.linalg.eigh(rbf_kernel(Z, gamma=10 ** rng.uniform(-1, 0.5)))
    kept = values > 1e-12 * values[-1]
    F = vectors[:, kept] * np.sqrt(values[kept])
    S, T = F[:m], F[m:]
    A_q, A_P = (S.T * q) @ S, T.T @ T / n
    f = rng.standard_normal(F.shape[1]) * 10 ** rng.uniform(-1, 1)
    # Half of the time labels of the source differ from those of the target.
    noise = rng.standard_normal(m) * (0 if case % 2 else 0.3)
    y, y_target = S @ f + noise, T @ f
    ridge = alpha * np.eye(F.shape[1])
    h = np.linalg.solve(A_q + ridge, S.T @ (q * y))
    ideal = np.linalg.solve(A_P + ridge, T.T @ y_target / n)
    return {
        "F": F, "m": m, "q": q, "alpha": alpha, "f": f, "noise": noise, "y": y,
        "h": h, "ideal": ideal, "A_P": A_P, "M": A_P - A_q,
        "norm": np.linalg.norm(A_P - A_q, 2),
        "radius": np.sqrt(np.einsum("ij,ij->i", F, F).max()),
    }  # fmt: skip


CASES = [simulated(case) for case in range(200)]


def ball(case):
    return max(np.linalg.norm(case[one]) for one in ("h", "ideal", "f"))


def delta_at_f(case):
    """The term delta at the reference f_P: the source's noise alone."""
    return np.linalg.norm(case["F"][: case["m"]].T @ (case["q"] * case["noise"]))


def losses(case):
    truth = case["F"] @ case["f"]
    return [(case["F"] @ case[one] - truth) ** 2 for one in ("h", "ideal")]


def test_the_bound_of_the_distance_of_models_holds():
    ratios = []
    for case in CASES:
        apart = np.linalg.norm(case["ideal"] - case["h"])
        numbers = {"norm_bound": ball(case), "alpha": case["alpha"]}
        found = bounds.model_distance(case["norm"], delta=delta_at_f(case), **numbers)
        assert apart <= found.value
        distance = np.linalg.norm(case["h"] - case["f"])
        sharper = bounds.model_distance(
            case["norm"], delta=delta_at_f(case), distance=distance, **numbers
        )
        assert apart <= sharper.value * (1 + 1e-9)
        ratios.append(apart / sharper.value)
    # Loose, but not useless.
    assert 0.3 < max(ratios) <= 1


def test_both_forms_of_it_are_the_smaller_one_at_times():
    forms = {
        bounds.model_distance(
            case["norm"], norm_bound=ball(case), alpha=case["alpha"]
        ).form
        for case in CASES
    }
    assert forms == {"linear in the discrepancy", "root of the discrepancy"}


def test_the_bound_of_squared_losses_holds_at_all_rows():
    for case in CASES:
        own, ideal = losses(case)
        largest = max(own.max(), ideal.max())
        found = bounds.kernel_ridge(
            case["norm"],
            norm_bound=ball(case),
            alpha=case["alpha"],
            radius=case["radius"],
            loss_bound=largest,
            delta=delta_at_f(case),
        )
        assert np.abs(own - ideal).max() <= found.value


def test_the_pointwise_bound_holds_at_all_rows():
    for case in CASES:
        own, ideal = losses(case)
        S = case["F"][: case["m"]]
        at_source = [(S @ case[one] - case["y"]) ** 2 for one in ("h", "ideal")]
        largest = max(np.concatenate([own, ideal, *at_source]))
        found = bounds.pointwise_loss(
            case["norm"],
            norm_bound=ball(case),
            alpha=case["alpha"],
            radius=case["radius"],
            mu=2 * np.sqrt(largest),
            eta=np.abs(case["noise"]).max(),
        )
        assert np.abs(own - ideal).max() <= found.value


def test_the_identity_behind_the_linear_form_is_exact():
    for case in CASES[:50]:
        e = -case["F"][: case["m"]].T @ (case["q"] * case["noise"])
        right = e - case["M"] @ (case["h"] - case["f"])
        system = case["A_P"] + case["alpha"] * np.eye(len(e))
        np.testing.assert_allclose(
            case["ideal"] - case["h"],
            np.linalg.solve(system, right),
            atol=1e-9 * np.abs(case["f"]).max(),
        )


def test_the_simulated_models_are_those_of_the_library():
    case = CASES[0]
    S = case["F"][: case["m"]]
    model = WeightedKernelRidge(
        alpha=case["alpha"], kernel="linear", fit_intercept=False
    ).fit(S, case["y"], case["q"])
    np.testing.assert_allclose(
        model.predict(case["F"]), case["F"] @ case["h"], atol=1e-9
    )


def one_dimension(a, alpha=1.0, f=1.0):
    """No source mass, target moment a: h = 0 and h' = a f / (a + alpha)."""
    return a * f / (a + alpha)


def test_the_linear_form_is_attained():
    a = 1e-3
    found = bounds.model_distance(a, norm_bound=1.0, alpha=1.0)
    assert found.form == "linear in the discrepancy"
    assert one_dimension(a) / found.value == pytest.approx(0.999, abs=1e-4)
    # And so is the loss: y = 1, h(x) = 0, h'(x) = radius * h'.
    radius = 2.0
    loss = bounds.kernel_ridge(
        a, norm_bound=1.0, alpha=1.0, radius=radius, loss_bound=1.0
    )
    apart = 1.0 - (1.0 - radius * one_dimension(a)) ** 2
    assert apart / loss.value == pytest.approx(0.998, abs=1e-3)


def test_the_root_form_keeps_a_factor_of_four_in_one_dimension():
    moments = np.geomspace(1e-3, 1e3, 601)
    roots = []
    for a in moments:
        # A distance that is far too large leaves the root form.
        found = bounds.model_distance(a, norm_bound=1.0, alpha=1.0, distance=1e9)
        assert found.form == "root of the discrepancy"
        roots.append(one_dimension(a) / found.value)
    assert max(roots) == pytest.approx(0.25, rel=1e-6)
    assert moments[np.argmax(roots)] == pytest.approx(1.0, rel=1e-9)


def test_the_root_form_with_a_difference_of_labels_solves_its_quadratic():
    """lambda g^2 <= delta g + disc is what the proof has, with equality in g."""
    for norm, radius, alpha, delta in np.random.default_rng(0).uniform(
        0.1, 2, size=(20, 4)
    ):
        g = bounds.model_distance(
            norm, norm_bound=radius, alpha=alpha, delta=delta, distance=1e9
        ).value
        disc = 4 * radius**2 * norm
        assert alpha * g**2 == pytest.approx(delta * g + disc, rel=1e-9)


def test_the_pointwise_and_the_ridge_form_agree_where_labels_do():
    numbers = {"norm_bound": 0.7, "alpha": 0.3, "radius": 1.5}
    ridge = bounds.kernel_ridge(0.2, loss_bound=5.0, distance=1e9, **numbers)
    pointwise = bounds.pointwise_loss(0.2, mu=2 * np.sqrt(5.0), **numbers)
    assert pointwise.value == pytest.approx(ridge.value, rel=1e-12)
    closed = 2 * 1.5 * np.sqrt(5.0 * 4 * 0.7**2 * 0.2 / 0.3)
    assert ridge.value == pytest.approx(closed, rel=1e-12)
    # eta counts mu-fold, beside the discrepancy.
    more = bounds.pointwise_loss(0.2, mu=3.0, eta=0.1, **numbers).value
    assert more == pytest.approx(3 * 1.5 * np.sqrt((4 * 0.49 * 0.2 + 0.3) / 0.3))


def test_a_computable_norm_bound_holds():
    for case in CASES:
        found = bounds.ridge_norm(case["y"], case["alpha"], case["q"])
        assert np.linalg.norm(case["h"]) <= found
    # Attained where the model does nothing else: K = 1, alpha small, y constant.
    assert bounds.ridge_norm([2.0], alpha=1.0) == 2.0


def test_second_moments_deviate_no_more_than_said():
    rng = np.random.default_rng(0)
    many = rng.standard_normal((20_000, 6))
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    A = many.T @ many / len(many)
    for n in (50, 500):
        drawn = (many[rng.integers(0, len(many), n)] for _ in range(200))
        deviations = [np.linalg.norm(S.T @ S / n - A, 2) for S in drawn]
        sharp = bounds.discrepancy_deviation(n, radius=1.0)
        assert np.quantile(deviations, 0.95) <= sharp.value
        rough = bounds.discrepancy_deviation(n, radius=1.0, method="rademacher")
        assert sharp.value < rough.value


def test_the_constants_of_the_deviation():
    # One row replaced by an orthogonal one moves the operator by sqrt(2) R^2 / n.
    n, R = 10, 3.0
    rows = R * np.eye(2)[np.zeros(n, int)]
    other = rows.copy()
    other[0] = R * np.eye(2)[1]
    moved = np.linalg.norm(rows.T @ rows / n - other.T @ other / n)
    assert moved == pytest.approx(np.sqrt(2) * R**2 / n)
    # McDiarmid's inequality with it, beside the mean R^2 / sqrt(n).
    d = 0.05
    chance = moved * np.sqrt(n * np.log(1 / d) / 2)
    found = bounds.discrepancy_deviation(n, radius=R).value
    assert found == pytest.approx(R**2 / np.sqrt(n) + chance, rel=1e-12)
    diagonal = np.full(n, 4.0)
    found = bounds.discrepancy_deviation(
        n, radius=R, kernel_diagonal=diagonal, method="rademacher"
    ).value
    expected = 2 * 4 / np.sqrt(n) + 3 * 9 * np.sqrt(np.log(2 / d) / (2 * n))
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_root_of_the_largest_entry_is_a_radius():
    for largest in np.linspace(0.1, 3.0, 30):
        found = bounds.discrepancy_deviation(
            1, radius=np.sqrt(largest), kernel_diagonal=[largest], method="rademacher"
        )
        assert found.value > largest


def test_the_rademacher_complexity_bounds_a_simulated_one():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    signs = rng.choice([-1.0, 1.0], size=(4000, 30))
    simulated = 1.5 * 2 / 30 * np.linalg.norm(signs @ X, axis=1).mean()
    found = bounds.rademacher_complexity((X**2).sum(axis=1), norm_bound=1.5)
    assert 0.8 * found < simulated <= found


def test_the_contraction_form_holds_for_the_squared_loss():
    """disc(P, Q) of two populations against that of samples, 200 times."""
    rng = np.random.default_rng(0)
    P, Q = rng.uniform(-1, 1, size=(5000, 2)), rng.uniform(-0.5, 1, size=(5000, 2))
    n, m, bound = 60, 40, 0.5
    largest = (2 * bound * np.sqrt(2.0)) ** 2

    def disc(target, source):
        M = target.T @ target / len(target) - source.T @ source / len(source)
        return 4 * bound**2 * np.linalg.norm(M, 2)

    exceeded = 0
    for _ in range(200):
        S, T = Q[rng.integers(0, 5000, n)], P[rng.integers(0, 5000, m)]
        found = bounds.contraction_deviation(
            n,
            m,
            complexity=bounds.rademacher_complexity((S**2).sum(1), bound),
            complexity_target=bounds.rademacher_complexity((T**2).sum(1), bound),
            loss_bound=largest,
        )
        exceeded += disc(P, Q) - disc(T, S) > found.value
    assert exceeded == 0
    zero = {"complexity": 0.0, "complexity_target": 0.0, "loss_bound": 2.0}
    chance = bounds.contraction_deviation(100, 400, confidence=0.9, **zero).value
    expected = 6 * np.sqrt(np.log(40.0) / 2) * (1 / 10 + 1 / 20)
    assert chance == pytest.approx(expected, rel=1e-12)
    one = {"complexity": 1.0, "complexity_target": 2.0, "loss_bound": 8.0}
    both = [
        bounds.contraction_deviation(10**12, 10**12, power=power, **one).value
        for power in (1.0, 3.0)
    ]
    # q B^((q-1)/q): 1 for q = 1, and 3 * 4 for q = 3.
    assert both == pytest.approx([4 * 3, 4 * 12 * 3], rel=1e-3)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_the_bound_for_any_hypothesis_holds_where_all_is_known(loss):
    def mean_loss(a, b):
        return np.mean((a - b) ** 2 if loss == "squared" else np.abs(a - b))

    tight = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, T = rng.uniform(-1, 1, (30, 1)), rng.uniform(0, 2, (30, 1))
        slopes = np.linspace(-1, 1, 81)
        f_Q, f_P = np.sin(2 * X[:, 0]), np.sin(2 * T[:, 0]) + rng.normal(0, 0.2)
        best_Q = slopes[np.argmin([mean_loss(s * X[:, 0], f_Q) for s in slopes])]
        best_P = slopes[np.argmin([mean_loss(s * T[:, 0], f_P) for s in slopes])]
        # The largest difference over pairs: |h - h'| has slopes up to two.
        apart = 2.0**2 if loss == "squared" else 2.0
        zero = np.zeros(30)
        disc = apart * abs(mean_loss(T[:, 0], zero) - mean_loss(X[:, 0], zero))
        h = rng.choice(slopes)
        true = mean_loss(h * T[:, 0], f_P)
        found = bounds.any_hypothesis(
            mean_loss(h * X[:, 0], best_Q * X[:, 0]),
            disc,
            mean_loss(best_Q * T[:, 0], best_P * T[:, 0]),
            mean_loss(best_P * T[:, 0], f_P),
            loss=loss,
        )
        assert true <= found.value * (1 + 1e-12)
        tight.append(true / found.value)
    assert max(tight) > 0.1


def test_the_printed_bound_for_any_hypothesis_is_false_for_the_squared_loss():
    # Constant hypotheses 0 and 1 and labels 2, source and target the same.
    parts = (1.0, 0.0, 1.0, 0.0)
    assert bounds.any_hypothesis(*parts, loss="absolute").value < 2.0**2
    assert bounds.any_hypothesis(*parts).value == 2.0**2


def test_a_guarantee_says_what_it_rests_on():
    found = bounds.kernel_ridge(
        0.1, norm_bound=1.0, alpha=0.1, radius=1.0, loss_bound=2.0, delta=0.3
    )
    assert "delta of the reference is at most 0.3" in str(found)
    assert any("norm_bound" in one for one in found.assumptions)
    assert any("without an intercept" in one for one in found.assumptions)
    assert float(found) == found.value
    assert counterpoise.bounds is bounds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.ridge_norm([1.0], alpha=0.0), "alpha must be positive"),
        (
            lambda: bounds.model_distance(-1.0, norm_bound=1.0, alpha=1.0),
            "operator_norm must be at least 0.0, got -1.0",
        ),
        (
            lambda: bounds.discrepancy_deviation(10, radius=1.0, confidence=1.0),
            "confidence must be in",
        ),
        (
            lambda: bounds.discrepancy_deviation(
                2, radius=1.0, kernel_diagonal=[1.0, 4.0], method="rademacher"
            ),
            r"kernel_diagonal must have 2 entries between 0 and radius\*\*2 = 1",
        ),
        (
            lambda: bounds.discrepancy_deviation(2, radius=1.0, method="best"),
            "method must be one of",
        ),
        (
            lambda: bounds.any_hypothesis(0.0, 0.0, 0.0, 0.0, loss="hinge"),
            "loss must be one of",
        ),
        (
            lambda: bounds.rademacher_complexity([-1.0], 1.0),
            "kernel_diagonal must not be negative",
        ),
        (lambda: bounds.ridge_norm([], 1.0), "y is empty"),
    ],
)
def test_wrong_numbers_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
