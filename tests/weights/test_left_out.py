"""Which target rows belong to those that no source row stands for."""

import numpy as np
import pytest

from counterpoise import AutoWeights
from counterpoise.data.two_samples import TwoSamples
from counterpoise.datasets import make_uncovered_cluster
from counterpoise.weights.auto import spread_to_neighbors

# Ten rows beside one another: each has the nine others and one further off near.
CLUSTER = np.arange(11.0)[:, None] / 10


def grown(lost, source, target, rows=None):
    samples = TwoSamples.of(np.asarray(source), np.asarray(target))
    rows = np.arange(len(source)) if rows is None else rows
    return spread_to_neighbors(
        np.array(lost), samples, np.asarray(rows), np.arange(len(target))
    )


def test_what_was_given_is_left_as_it_is():
    far = 100.0 + np.arange(12.0)[:, None]
    five = np.arange(11) < 5
    grown(five, far, CLUSTER)
    assert five.sum() == 5


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_follow_the_truth_where_a_part_of_the_target_is_uncovered(seed):
    shift = make_uncovered_cluster(distance=6.0, shift=1.0, random_state=seed)
    fitted = AutoWeights(random_state=seed).fit(shift.X, X_target=shift.X_target)
    # Some rows of the cluster lie below an odd source row; with them it was 0.87.
    assert np.corrcoef(fitted.weights_, shift.ratio)[0, 1] > 0.9
