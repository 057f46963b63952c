"""The weights of KLIEP have mean one by themselves, whoever solved the problem."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise import KLIEP, PartialOverlapWarning
from counterpoise.datasets import make_gaussian_shift

SOLVERS = (
    "corrective",
    "projected-gradient",
    "original",
    "frank-wolfe",
    "away",
    "pairwise",
)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("gamma", [0.01, 0.5, 5.0])
@pytest.mark.parametrize("centers", [None, 20])
def test_the_mean_weight_of_the_source_rows_is_one(solver, gamma, centers):
    for seed in range(3):
        shift = make_gaussian_shift(1 + seed, n=150, m=80, random_state=seed)
        kliep = KLIEP(
            gamma=gamma,
            n_centers=centers,
            solver=solver,
            standardize=False,
            max_iter=50,
            allow_no_overlap=True,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # Fifty steps are not always enough, and narrow kernels leave rows alone.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", PartialOverlapWarning)
            kliep.fit(shift.X, X_target=shift.X_target)
        kernel = rbf_kernel(shift.X, kliep.centers_, gamma=gamma)
        assert abs((kernel @ kliep.coef_).mean() - 1.0) <= 1e-12
        assert abs(kliep.weights_.mean() - 1.0) <= 1e-12


def test_the_weighted_mean_is_one_where_source_rows_count_differently():
    shift = make_gaussian_shift(2, n=150, m=80, random_state=0)
    count = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    kliep = KLIEP(gamma=0.5, standardize=False)
    kliep.fit(shift.X, X_target=shift.X_target, sample_weight=count)
    kernel = rbf_kernel(shift.X, kliep.centers_, gamma=0.5)
    assert abs(np.average(kernel @ kliep.coef_, weights=count) - 1.0) <= 1e-12
