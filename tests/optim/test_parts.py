"""Objectives, domains and penalties: one line in a list, and all checks apply."""

import numpy as np
import pytest

from counterpoise.optim import (
    L1,
    Box,
    CappedSimplex,
    LeastSquares,
    NegativeMeanLog,
    Quadratic,
    RowNorms,
    Simplex,
)
from counterpoise.optim.dc_network.constrained_training import LayerObjective
from counterpoise.optim.likelihoods import TiltedLikelihood
from counterpoise.optim.objectives import FactoredDistance, KernelDistance
from counterpoise.testing import check_domain, check_objective, check_penalty

rng = np.random.default_rng(0)
POSITIVE = rng.random((9, 5)) + 0.1
GRAM = POSITIVE.T @ POSITIVE
SHARES = rng.dirichlet(np.ones(9))

OBJECTIVES = {
    "quadratic": Quadratic(GRAM, rng.standard_normal(5), 3.0),
    "singular quadratic": Quadratic(np.ones((5, 5)), rng.standard_normal(5)),
    "least squares": LeastSquares(POSITIVE, rng.standard_normal(9)),
    "negative mean log": NegativeMeanLog(POSITIVE),
    "weighted mean log": NegativeMeanLog(POSITIVE, np.arange(9.0)),
    "extreme mean log": NegativeMeanLog(POSITIVE * np.logspace(-200, 200, 9)[:, None]),
    "tilted": TiltedLikelihood(POSITIVE, POSITIVE[0], SHARES, 0.1),
    "factored distance": FactoredDistance(POSITIVE, SHARES, np.arange(5.0)),
    "output layer": LayerObjective(
        np.column_stack([POSITIVE[:, 1:], np.ones(9)]),
        rng.standard_normal((9, 1)),
        SHARES,
        0.1,
    ),
    "kernel distance": KernelDistance(GRAM, np.ones(5), 9.0, np.arange(5.0)),
}
DOMAINS = {
    "simplex": Simplex(7),
    "one point": Simplex(1),
    "large simplex": Simplex(300),
    "capped simplex": CappedSimplex(7, 0.25),
    "barely capped": CappedSimplex(5, 0.2),
    "caps of their own": CappedSimplex(4, np.array([0.0, 0.5, 1.0, 2.0]), total=1.5),
    "capped with slack": CappedSimplex(7, 0.3, slack=0.2),
    "box": Box(np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.0, 5.0])),
}
PENALTIES = {
    "l1": L1(6, 0.3),
    "rows": RowNorms(4, 3, 2.0),
    "one row": RowNorms(1, 5, 0.5),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_keeps_its_promises(name):
    points = np.random.default_rng(1).random((6, 5)) + 0.1
    check_objective(OBJECTIVES[name], points)


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_keeps_its_promises(name):
    check_domain(DOMAINS[name])


@pytest.mark.parametrize("name", PENALTIES)
def test_a_penalty_keeps_its_promises(name):
    check_penalty(PENALTIES[name])


def test_the_mean_log_is_infinite_where_it_is_not_defined():
    objective = NegativeMeanLog(np.eye(2))
    assert objective.value(np.array([1.0, 0.0])) == np.inf


def test_a_row_of_weight_zero_does_not_count():
    with_it = NegativeMeanLog(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([1.0, 0.0]))
    without = NegativeMeanLog(np.array([[1.0, 2.0]]))
    x = np.array([0.4, 0.6])
    assert with_it.value(x) == without.value(x)
    np.testing.assert_array_equal(with_it.gradient(x), without.gradient(x))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Simplex(0), "size must be at least 1, got 0"),
        (lambda: CappedSimplex(3, 0.2), "the set is empty"),
        (lambda: CappedSimplex(3, -1.0), "upper must be non-negative"),
        (lambda: CappedSimplex(3, np.inf), "upper must be non-negative and finite"),
        (lambda: CappedSimplex(3, np.ones(4)), r"or have shape \(3,\), got \(4,\)"),
        (lambda: CappedSimplex(3, 1.0, total=-1.0), "total must be positive, got -1"),
        (lambda: Quadratic(-np.eye(2), np.zeros(2)), "smallest eigenvalue is -1"),
        (lambda: NegativeMeanLog(np.ones(3)), "A must be a non-empty matrix"),
        (lambda: NegativeMeanLog([[1.0, np.inf]]), "got inf at row 0, column 1"),
        (lambda: LeastSquares([[np.nan]], [1.0]), "A must be finite, got nan"),
        (lambda: CappedSimplex(3, 1.0, slack=2.0), "slack must be between 0 and"),
        (lambda: Box(np.ones(2), np.zeros(2)), "1.0 > 0.0 at entry 0"),
        (lambda: Box(np.zeros(2), np.array([1.0, np.inf])), "must be finite"),
        (lambda: Box(np.zeros(2), np.zeros(3)), "vectors of one length"),
        (lambda: Quadratic(np.eye(2), np.zeros(3)), r"Q must have shape \(3, 3\)"),
        (
            lambda: Quadratic(np.array([[1.0, 1.0], [0.0, 1.0]]), np.zeros(2)),
            "Q must be symmetric",
        ),
        (lambda: Quadratic(np.full((1, 1), np.nan), np.zeros(1)), "must be finite"),
        (lambda: LeastSquares(np.eye(2), np.zeros(3)), "b must have 2 entries"),
        (lambda: NegativeMeanLog(np.eye(2), np.ones(3)), r"shape \(2,\)"),
        (lambda: NegativeMeanLog(np.eye(2), np.zeros(2)), "not all zero"),
        (lambda: L1(2, 0.0), "weight must be positive, got 0.0"),
    ],
)
def test_a_part_that_makes_no_sense_is_refused_with_words(build, words):
    with pytest.raises(ValueError, match=words):
        build()
