"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise.selection import SubsetSelector

# Labels are places among words that are numbered as rows are, so that rows in another
# order get the same words by other numbers; scikit-learn says so of its KMeans too.
# `test_weights_are_repetitions_up_to_the_numbers_of_the_words` checks what it means.
NUMBERED = {
    "check_sample_weight_equivalence_on_dense_data": "words are numbered as rows are"
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [SubsetSelector()], expected_failed_checks=lambda estimator: NUMBERED
)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
