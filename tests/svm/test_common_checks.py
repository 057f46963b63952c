"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise.svm import (
    HeteroscedasticSVR,
    KernelQuantileRegressor,
    OneClassSVMPath,
    RankingSVM,
    SlidingWindowSVC,
    WeightedSVC,
    WeightedSVR,
)

EVERY = [
    WeightedSVC(),
    WeightedSVR(),
    KernelQuantileRegressor(),
    OneClassSVMPath(),
    RankingSVM(),
    SlidingWindowSVC(),
    HeteroscedasticSVR(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:the residuals still change")
@parametrize_with_checks(EVERY)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
