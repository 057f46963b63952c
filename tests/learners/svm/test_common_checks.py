"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise.learners import (
    KernelQuantileRegressor,
    OneClassSVMPath,
    WeightedSVC,
    WeightedSVR,
)

EVERY = [WeightedSVC(), WeightedSVR(), KernelQuantileRegressor(), OneClassSVMPath()]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(EVERY)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
