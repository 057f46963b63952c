"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise.learners import DirectTwinGP, TwinGP, WeightedGPR, WeightedKNN

EVERY = [
    TwinGP(),
    TwinGP(divergence="kl", n_landmarks=10),
    TwinGP(divergence="inverse-kl", ridge_y=1.0),
    TwinGP(n_neighbors=15),
    WeightedGPR(),
    WeightedKNN(),
    DirectTwinGP(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:the weights leave an effective sample size")
@pytest.mark.filterwarnings("ignore:.* answers are like no training output")
@parametrize_with_checks(EVERY)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
