"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise.subspaces import (
    MaxMinDistanceAnalysis,
    OrthogonalGraphClustering,
    SharedSubspace,
)

EVERY = [
    MaxMinDistanceAnalysis(),
    OrthogonalGraphClustering(n_init=1),
    SharedSubspace(criterion="trace"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::counterpoise.NoTargetWarning")
@parametrize_with_checks(EVERY)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
