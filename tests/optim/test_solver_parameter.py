"""Estimators whose `solver` is an object: it is used, certified, cloned and kept."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from counterpoise import KLIEP, KMM, Adapted, DiscrepancyWeights, load_model
from counterpoise.datasets import make_gaussian_shift
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.networks import ConvexNetworkClassifier, ConvexNetworkRegressor
from counterpoise.networks.base import ConvexNetwork
from counterpoise.optim import (
    ConeRounds,
    Corrective,
    DirectRounds,
    DiscrepancySDP,
    FrankWolfe,
    InteriorPoint,
    MajorizeMinimize,
    MultiplicativeWeights,
    Newton,
    OrthogonalProblem,
    ProximalADMM,
    ProximalGradient,
    ProxLinear,
    SequentialRelaxation,
    SlackADMM,
    Smoothing,
    SpectralSubgradient,
    solve,
)
from counterpoise.optim.assignment.solvers import Trail
from counterpoise.selection import SubsetSelector
from counterpoise.subspaces import MaxMinDistanceAnalysis, solve_orthogonal

RNG = np.random.default_rng(0)
ITEMS = RNG.standard_normal((12, 2))
ROWS = RNG.standard_normal((24, 2))
CLASSES = np.repeat([0, 1, 2, 3], 6)
CENTERS = RNG.standard_normal((4, 5))[CLASSES] * 3.0


def fit_weights(estimator):
    shift = make_gaussian_shift(n=60, m=50, d=2, random_state=0)
    return estimator.fit(shift.X, X_target=shift.X_target)


def fit_selector(estimator):
    return estimator.fit(ITEMS)


def fit_regressor(estimator):
    return estimator.fit(ROWS, np.sin(ROWS[:, 0]))


def fit_classifier(estimator):
    return estimator.fit(ROWS, ROWS[:, 0] > 0.0)


def fit_classes(estimator):
    return estimator.fit(CENTERS + RNG.standard_normal((24, 5)), CLASSES)


DISCREPANCY = DiscrepancyWeights(tol=0.2, max_iter=100)
NETWORK = {"hidden_layer_sizes": (3,), "max_iter": 3, "random_state": 0}
CASES = [
    (fit_weights, KLIEP(gamma=0.5, tol=1e-3), FrankWolfe("away", "armijo")),
    (fit_weights, KLIEP(gamma=0.5), Corrective(n_join=3)),
    (fit_weights, KMM(tol=1e-2), FrankWolfe("away")),
    (fit_weights, KMM(max_weight=3.0), InteriorPoint()),
    (fit_weights, KMM(tol=1e-3), ProximalGradient(growth=1.5)),
    (fit_weights, DISCREPANCY, Smoothing(power=16)),
    (fit_weights, DISCREPANCY, Smoothing(power=16, by="squaring")),
    (fit_weights, clone(DISCREPANCY).set_params(kernel="rbf"), Smoothing(power=16)),
    (fit_weights, DISCREPANCY, MultiplicativeWeights("list", "powering", delta=0.4)),
    (fit_weights, DISCREPANCY, SpectralSubgradient("polyak")),
    (fit_weights, DISCREPANCY, DiscrepancySDP(accuracy=1e-7)),
    (
        fit_weights,
        clone(DISCREPANCY).set_params(kernel="rbf"),
        SpectralSubgradient("polyak"),
    ),
    (fit_selector, SubsetSelector(sparsity=0.3), SlackADMM("kkt", mu=0.02)),
    (fit_selector, SubsetSelector(sparsity=0.3), ProximalADMM(1.0, mu=0.1)),
    (fit_regressor, ConvexNetworkRegressor(**NETWORK), ConeRounds(eta=2.0)),
    (fit_classifier, ConvexNetworkClassifier(**NETWORK), ConeRounds(eta=2.0)),
    (fit_regressor, ConvexNetworkRegressor(**NETWORK), DirectRounds(eta=3.0)),
    (fit_regressor, ConvexNetworkRegressor(**NETWORK), DirectRounds(False, eta=0.1)),
    (
        fit_regressor,
        ConvexNetworkRegressor(**NETWORK, monotonic_on_rows={0: 1}),
        ProxLinear(eta=0.5),
    ),
    (fit_classes, MaxMinDistanceAnalysis(2), SequentialRelaxation("parabolic", 5.0)),
    (fit_classes, MaxMinDistanceAnalysis(2), MajorizeMinimize(polish=False)),
]
NAMES = [f"{type(e).__name__}-{s}" for _, e, s in CASES]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("fit", "estimator", "solver"), CASES, ids=NAMES)
def test_a_solver_object_is_used_certified_and_kept(
    fit, estimator, solver, monkeypatch
):
    used = []
    begin = type(solver).begin

    def recorded(self, problem, x):
        used.append(self)
        return begin(self, problem, x)

    monkeypatch.setattr(type(solver), "begin", recorded)
    made = clone(estimator).set_params(solver=solver)
    copied = clone(made)
    assert repr(copied.solver) == repr(solver)
    before = copy.deepcopy(copied.get_params())
    fitted = fit(copied)
    assert any(repr(one) == repr(solver) for one in used)
    assert copied.get_params()["solver"] is copied.solver
    assert repr(copied.get_params()) == repr(before)
    proof = fitted.solution_.certificate
    assert proof.kind != "none"
    assert np.isfinite(proof.objective)
    assert np.isfinite(proof.gap) or np.isfinite(proof.residual)
    if isinstance(fitted, DiscrepancyWeights):
        assert 0.0 <= proof.bound <= proof.objective
        assert fitted.discrepancy_ <= fitted.discrepancy_uniform_
    # The published game and subgradients need thousands of steps, and networks more
    # than three rounds.
    is_slow = isinstance(solver, MultiplicativeWeights | SpectralSubgradient)
    if not is_slow and not isinstance(fitted, ConvexNetwork):
        assert fitted.solution_.converged


def test_solve_orthogonal_takes_a_solver_object():
    problem = OrthogonalProblem(np.diag([3.0, 1.0, 2.0]), n_columns=1)
    solver = SequentialRelaxation("parabolic", penalty=10.0)
    found = solve_orthogonal(problem, solver=solver, random_state=0)
    assert found.converged
    assert found.certificate.objective == pytest.approx(1.0)
    with pytest.raises(
        InvalidTypeError, match=r"solver=FrankWolfe.* or a solver object"
    ):
        solve_orthogonal(problem, solver=FrankWolfe())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_published_penalties_differ_from_the_defaults():
    nets = [
        fit_regressor(ConvexNetworkRegressor(**NETWORK, solver=ConeRounds(eta=eta)))
        for eta in (1.0, 10.0)
    ]
    assert [net.rounds_[0].eta for net in nets] == [1.0, 10.0]
    # A larger penalty makes shorter steps.
    assert nets[0].objective_history_[-1] < nets[1].objective_history_[-1]
    for net in nets:
        assert (np.diff(net.objective_history_) < 0.0).all()


def test_a_fit_leaves_the_trail_of_a_solver_object_alone():
    trail = Trail()
    selector = SubsetSelector(sparsity=0.3, solver=ProximalADMM(trail=trail))
    selector.fit(ITEMS).path([0.2, 0.4])
    assert trail.halves is None


@pytest.mark.parametrize(
    ("fit", "estimator"),
    [
        (fit_weights, KLIEP(gamma=0.5)),
        (fit_weights, KMM()),
        (fit_weights, DiscrepancyWeights()),
        (fit_selector, SubsetSelector()),
        (fit_regressor, ConvexNetworkRegressor(**NETWORK)),
        (fit_classes, MaxMinDistanceAnalysis(2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_a_solver_of_the_problem_is_named(fit, estimator):
    def message(solver, error):
        with pytest.raises(error) as caught:
            fit(clone(estimator).set_params(solver=solver))
        return str(caught.value)

    for solver, error in (
        (3, InvalidTypeError),
        (FrankWolfe, InvalidTypeError),
        ("pairwize", InvalidInputError),
        (Newton(), InvalidTypeError),
    ):
        said = message(solver, error)
        assert "solver must be one of 'auto'" in said
        assert "or a solver object (" in said
    assert "pass an object such as FrankWolfe()" in message(
        FrankWolfe, InvalidTypeError
    )
    assert "does not accept this" in message(Newton(), InvalidTypeError)


def test_a_solver_object_survives_saving(tmp_path):
    from sklearn.linear_model import Ridge

    shift = make_gaussian_shift(n=60, m=50, d=2, random_state=0)
    solver = FrankWolfe("away", "armijo")
    model = Adapted(Ridge(), KLIEP(gamma=0.5, tol=1e-3, solver=solver), guard=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(shift.X, shift.X[:, 0], X_target=shift.X_target)
        model.save(tmp_path / "model.skops")
        again = load_model(tmp_path / "model.skops")
    assert again.weight_estimator_.solver == solver


@pytest.mark.parametrize("kind", [SlackADMM, ProximalADMM])
def test_a_penalty_that_is_not_positive_is_refused(kind):
    with pytest.raises(ValueError, match="mu must be positive"):
        kind(mu=0.0)
    for rounds in (ConeRounds, DirectRounds, ProxLinear):
        with pytest.raises(ValueError, match="eta must be positive"):
            rounds(eta=-1.0)


def test_every_penalty_of_the_admm_reaches_the_same_optimum():
    posed = SubsetSelector(sparsity=0.3).fit(ITEMS)
    problem = posed.problem_.problem(posed.lambda_)
    values = [
        solve(problem, kind(mu=mu), tol=1e-4, max_iter=2000).certificate.objective
        for kind in (SlackADMM, ProximalADMM)
        for mu in (0.005, 0.05, None)
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-3)
