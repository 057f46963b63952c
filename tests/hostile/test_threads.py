"""Threads of linear algebra: the results do not depend on how many there are."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from counterpoise.data.parallel import one_thread
from counterpoise.errors import suppress_warnings
from counterpoise.weights.registry import WEIGHT_ESTIMATORS, with_parameters

BLAS = ThreadpoolController().select(user_api="blas")


def samples(n=400, d=6):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(n, d)), rng.normal(0.3, 0.9, size=(n, d))
    return X, X[:, 0] + rng.normal(size=n), X_target


def test_the_last_to_go_gives_the_threads_back():
    wanted = [one["num_threads"] for one in BLAS.info()]
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert {one["num_threads"] for one in BLAS.info()} == {1}
    second.__exit__(None, None, None)
    assert [one["num_threads"] for one in BLAS.info()] == wanted


@pytest.mark.parametrize("entry", WEIGHT_ESTIMATORS, ids=lambda entry: entry.name)
def test_two_threads_of_linear_algebra_give_the_bits_of_one(entry):
    X, y, X_target = samples(200 if entry.name == "AutoWeights" else 400)
    weight_estimator = with_parameters(
        entry.load(), random_state=0, allow_no_overlap=True, max_iter=200
    )
    found = []
    for count in (1, 2):
        with BLAS.limit(limits=count), suppress_warnings():
            one = clone(weight_estimator).fit(X, y, X_target=X_target)
        found.append(one.weights_.tobytes())
    assert found[0] == found[1]
