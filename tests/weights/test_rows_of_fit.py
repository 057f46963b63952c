"""The rows that a weight estimator was fitted to can be had, and forgotten."""

import warnings

import numpy as np
import pytest

from counterpoise import KLIEP, AutoWeights
from counterpoise.datasets import make_sinc_shift


@pytest.mark.parametrize(
    "weight_estimator", [KLIEP(gamma=1.0), AutoWeights(random_state=0)]
)
def test_the_rows_of_a_fit_are_kept_until_they_are_forgotten(weight_estimator):
    assert weight_estimator.rows_of_fit is None
    shift = make_sinc_shift(random_state=0)
    counts = np.arange(500) % 3
    weight_estimator.fit(shift.X, X_target=shift.X_target, sample_weight=counts)
    rows = weight_estimator.rows_of_fit
    np.testing.assert_array_equal(
        np.sort(rows.source[:, 0]), np.sort(shift.X[counts > 0, 0])
    )
    assert rows.source_mass == counts.sum()
    assert weight_estimator.without_rows().rows_of_fit is None
    assert weight_estimator.rows_of_fit is rows


def test_without_a_target_there_are_none():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = KLIEP().fit(make_sinc_shift(random_state=0).X)
    assert fitted.rows_of_fit is None
