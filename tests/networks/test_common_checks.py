"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise.networks import ConvexNetworkClassifier, ConvexNetworkRegressor

EVERY = [
    ConvexNetworkClassifier(
        hidden_layer_sizes=(4,),
        tol=1e-2,
        max_iter=3,
        class_error_bound=0.49,
        infeasible="warn",
    ),
    ConvexNetworkRegressor(
        hidden_layer_sizes=(4,), tol=1e-2, max_iter=8, certify_rounds=False
    ),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(EVERY)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
