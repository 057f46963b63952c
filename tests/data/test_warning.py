"""Warnings point at the line of the user."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import counterpoise
from counterpoise.data.arrays import two_samples
from counterpoise.data.labels_and_weights import as_responses
from counterpoise.datasets import make_gaussian_shift, make_uncovered_cluster
from counterpoise.weights.auto import AutoWeights
from counterpoise.weights.kliep import KLIEP
from counterpoise.weights.kmm import KMM
from counterpoise.weights.least_squares import LSIF, ULSIF


def files_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    return {one.filename for one in caught}


HOLE = make_uncovered_cluster(0.3, random_state=0)
PAIR = make_gaussian_shift(2, n=60, m=60, random_state=0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: KLIEP().fit(PAIR.X),
        lambda: KLIEP(allow_no_overlap=True).fit(HOLE.X, X_target=HOLE.X_target),
        lambda: AutoWeights(random_state=0).fit(HOLE.X, X_target=HOLE.X_target),
        lambda: KLIEP().fit(PAIR.X[:10], X_target=PAIR.X_target),
        lambda: ULSIF().fit(PAIR.X[:10], X_target=PAIR.X_target),
        lambda: AutoWeights().fit(PAIR.X[:10], X_target=PAIR.X_target),
        lambda: LSIF(max_iter=1).fit(PAIR.X, X_target=PAIR.X_target),
        lambda: KMM(max_iter=1).fit(PAIR.X, X_target=PAIR.X_target),
        lambda: KLIEP(allow_no_overlap=True).fit(
            np.ones((9, 1)), X_target=np.eye(9)[:, :1]
        ),
        lambda: as_responses([[1.0], [2.0]], 2),
    ],
)
def test_every_warning_points_here(call):
    assert files_of(call) == {__file__}


def test_a_warning_about_columns_points_here():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PAIR.X, columns=["a", "b"])
    assert files_of(lambda: two_samples(frame, PAIR.X_target)) == {__file__}


def test_the_category_is_kept():
    with pytest.warns(ConvergenceWarning):
        LSIF(max_iter=1).fit(PAIR.X, X_target=PAIR.X_target)
    with pytest.warns(counterpoise.NoTargetWarning):
        KLIEP().fit(PAIR.X)
