"""Threads: filters stay as they were, and bits do not depend on how many there are."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from counterpoise import AutoWeights
from counterpoise.data.parallel import one_thread
from counterpoise.errors import filters_left_clean, held_back
from counterpoise.weights.registry import WEIGHT_ESTIMATORS, with_parameters

BLAS = ThreadpoolController().select(user_api="blas")


def samples(n=400, d=6):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(n, d)), rng.normal(0.3, 0.9, size=(n, d))
    return X, X[:, 0] + rng.normal(size=n), X_target


def test_fits_in_several_threads_leave_the_filters_of_warnings_alone():
    X, _, X_target = samples(60, 2)
    before = list(warnings.filters)

    def fit(seed):
        return AutoWeights(random_state=seed, allow_no_overlap=True).fit(
            X, X_target=X_target
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fit, range(4)))
    # Threads inside scikit-learn can leave its own filters to one another.
    added = [one for one in warnings.filters if one not in before]
    assert [one for one in added if one[2].__name__ == "HeldBack"] == []


def test_a_list_of_filters_that_comes_back_later_holds_nothing_back():
    """As `catch_warnings` of two other threads, the first of which ends first."""
    first, held, second = warnings.catch_warnings(), held_back(), None
    first.__enter__()
    held.__enter__()
    second = warnings.catch_warnings()
    second.__enter__()
    in_second = list(warnings.filters)
    first.__exit__(None, None, None)
    held.__exit__(None, None, None)
    second.__exit__(None, None, None)
    warnings.filters[:] = in_second
    with pytest.warns(UserWarning, match="of another"):
        warnings.warn("of another", UserWarning)
    with filters_left_clean():
        pass
    assert all(one[2].__name__ != "HeldBack" for one in warnings.filters)


def test_what_another_thread_warns_of_is_not_held_back():
    with held_back(), ThreadPoolExecutor(1) as pool:
        warned = pool.submit(warnings.warn, "of another thread", UserWarning)
        with pytest.raises(UserWarning, match="of another thread"):
            warned.result()


def test_a_copy_of_the_filters_holds_back_what_they_do():
    """As scikit-learn's `Parallel`, which rebuilds filters from their parts."""
    with held_back(UserWarning, message="of mine"):
        parts = list(warnings.filters)
        with warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.simplefilter("error")
            action, words, category, _, _ = parts[0]
            warnings.filterwarnings(action, words.pattern, category)
            warnings.warn("of mine, copied", UserWarning)
            with pytest.raises(UserWarning, match="of another"):
                warnings.warn("of another", UserWarning)


def test_what_is_held_back_is_told_again_afterwards():
    with held_back(DeprecationWarning, message="of mine"):
        warnings.warn("of mine, old", DeprecationWarning)
    for category, text in (
        (DeprecationWarning, "of mine, old"),
        (UserWarning, "of mine"),
    ):
        with pytest.warns(category, match="of mine"):
            warnings.warn(text, category)
    nothing = held_back(DeprecationWarning, message="of mine")
    with nothing, pytest.warns(UserWarning, match="of mine"):
        warnings.warn("of mine", UserWarning)


def test_holders_that_go_in_another_order_than_they_came_leave_nothing():
    before = list(warnings.filters)
    first, second = held_back(), held_back(UserWarning)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    warnings.warn("held back by the second")
    second.__exit__(None, None, None)
    assert warnings.filters == before


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
        with BLAS.limit(limits=count), held_back():
            one = clone(weight_estimator).fit(X, y, X_target=X_target)
        found.append(one.weights_.tobytes())
    assert found[0] == found[1]
