"""What a data set takes, and which rows go where."""

import numpy as np
import pytest

from counterpoise.datasets import load_breast_cancer_shift, make_sinc_shift
from counterpoise.datasets.loaders import (
    check_count,
    check_finite,
    check_nonnegative,
    check_positive,
    check_share,
    generator,
)


def refused(check, *values, **more):
    for value in values:
        with pytest.raises(ValueError, match="a must be"):
            check("a", value, **more)


def test_parameters_are_numbers_within_their_bounds():
    check_count("a", 3, least=3)
    refused(check_count, 2, 3.0, True, "3", least=3)
    check_positive("a", 1e-300)
    refused(check_positive, 0.0, -1.0, np.inf, np.nan, True)
    check_nonnegative("a", 0.0)
    refused(check_nonnegative, -1e-300, np.inf)
    check_share("a", 0.0)
    check_share("a", 1.0)
    refused(check_share, -1e-9, 1.0 + 1e-9)
    check_finite("a", -3)
    refused(check_finite, np.nan, "1")


def test_the_same_integer_draws_the_same_rows_and_a_state_moves_on():
    assert (
        make_sinc_shift(random_state=0).X == make_sinc_shift(random_state=0).X
    ).all()
    state = np.random.RandomState(0)
    assert generator(state).random() != generator(state).random()
    with pytest.raises(ValueError, match="random_state must be"):
        generator(-1)


def test_a_row_goes_to_one_sample_with_its_known_chance():
    shift = load_breast_cancer_shift()
    assert len(shift.X) + len(shift.X_target) == 569
    # Small tumours are mostly the clinic's, which is the source.
    assert shift.X[:, 0].mean() < shift.X_target[:, 0].mean()
    chance = 0.1 + 0.8 / (1 + np.exp((shift.X[:, 0] - 15) / 2))
    odds = (1 - chance) / chance
    assert shift.ratio / odds == pytest.approx(
        np.full(len(odds), shift.ratio[0] / odds[0])
    )
