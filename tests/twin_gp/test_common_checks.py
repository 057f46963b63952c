"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise.twin_gp import DirectTwinGP, TwinGP, WeightedGPR, WeightedKNN

EVERY = [
    TwinGP(),
    TwinGP(divergence="inverse-kl"),
    TwinGP(n_neighbors=15),
    TwinGP(divergence="kl", gamma_x=0.1, gamma_y=0.1, search="holdout"),
    WeightedGPR(search="kfold", calibration_fraction=0.2),
    WeightedKNN(),
    DirectTwinGP(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:the weights leave an effective sample size")
@pytest.mark.filterwarnings("ignore:.* answers are like no training output")
@pytest.mark.filterwarnings("ignore:.* answers have left the training outputs")
@pytest.mark.filterwarnings("ignore:.* of the rows are like no training input")
@pytest.mark.filterwarnings("ignore:TwinGP. NOT conv.* are like no training output")
@pytest.mark.filterwarnings("ignore:answers through landmarks")
@pytest.mark.filterwarnings("ignore:the search")
@pytest.mark.filterwarnings("ignore:GPR is better")
@parametrize_with_checks(EVERY)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
