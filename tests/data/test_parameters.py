import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.data.parameters import check_choice, check_integer, check_number


def refusal(error, function, *args, **options):
    with pytest.raises(error) as caught:
        function(*args, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float32(2), np.int8(2), np.float64(2), Fraction(4, 2)]
)
def test_numbers_of_every_kind_become_floats(value):
    number = check_number("gamma", value, low=0)
    assert type(number) is float
    assert number == 2.0


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers_of_every_kind_become_ints(value):
    number = check_integer("n_centers", value, low=1)
    assert type(number) is int
    assert number == 3


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (-1.0, {"low": 0, "closed": "neither"}, "gamma must be positive, got -1.0"),
        (0, {"low": 0, "closed": "neither"}, "gamma must be positive, got 0"),
        (-1, {"low": 0}, "gamma must be at least 0, got -1"),
        (1, {"low": 1, "closed": "right"}, "gamma must be above 1, got 1"),
        (3, {"high": 2}, "gamma must be at most 2, got 3"),
        (2, {"high": 2, "closed": "left"}, "gamma must be below 2, got 2"),
        (
            1.0,
            {"low": 0, "high": 1, "closed": "left"},
            "gamma must be in [0, 1), got 1",
        ),
        (0, {"low": 0, "high": 1, "closed": "right"}, "gamma must be in (0, 1], got 0"),
        (np.float64(2), {"low": 0, "high": 1}, "gamma must be in [0, 1], got 2.0"),
        (math.nan, {"low": 0}, "gamma must be finite, got nan"),
        (math.inf, {"low": 0}, "gamma must be finite, got inf"),
        (-math.inf, {}, "gamma must be finite, got -inf"),
        (math.nan, {"low": 0, "high": math.inf}, "gamma must be in [0, inf], got nan"),
    ],
)
def test_numbers_out_of_bounds_are_told_with_the_bounds(value, bounds, words):
    assert refusal(ValueError, check_number, "gamma", value, **bounds).startswith(words)


@pytest.mark.parametrize(
    ("value", "came"),
    [
        ("1", "'1'"),
        (True, "True (bool)"),
        (None, "None"),
        (np.True_, f"({type(np.True_).__name__})"),
        ([1.0], "[1.0] (list)"),
        (np.array([1.0]), "array([1.]) (ndarray)"),
        (1j, "1j"),
    ],
)
def test_what_is_no_number_is_told_with_its_type(value, came):
    message = refusal(TypeError, check_number, "gamma", value)
    assert message.startswith("gamma must be a number, got ")
    assert came in message
    message = refusal(TypeError, check_integer, "n_centers", value)
    assert message.startswith("n_centers must be an integer, got ")
    assert came in message


def test_a_long_value_is_cut_short():
    message = refusal(TypeError, check_number, "gamma", list(range(1000)))
    assert len(message) < 120
    assert message.endswith("... (list)")


def test_floats_are_no_integers():
    message = refusal(TypeError, check_integer, "n_centers", 3.0)
    assert message == "n_centers must be an integer, got 3.0"


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (0, {"low": 1}, "at least 1, got 0"),
        (9, {"high": 8}, "at most 8, got 9"),
        (9, {"low": 1, "high": 8}, "in [1, 8], got 9"),
    ],
)
def test_integers_out_of_bounds_are_told_with_the_bounds(value, bounds, words):
    message = refusal(ValueError, check_integer, "n_centers", value, **bounds)
    assert message == f"n_centers must be {words}"


def test_infinity_passes_where_it_is_a_bound():
    assert check_number("C", math.inf, low=0, high=math.inf) == math.inf


@given(
    st.floats(-5, 5),
    st.floats(-3, 0),
    st.floats(0, 3),
    st.sampled_from(["both", "left", "right", "neither"]),
)
def test_a_number_passes_exactly_when_it_lies_within_the_bounds(
    value, low, high, closed
):
    above = value >= low if closed in ("both", "left") else value > low
    below = value <= high if closed in ("both", "right") else value < high
    try:
        passed = check_number("x", value, low=low, high=high, closed=closed) == value
    except ValueError:
        passed = False
    assert passed == (above and below)


@pytest.mark.parametrize("check", [check_number, check_integer])
@pytest.mark.parametrize("option", ["auto", None])
def test_words_that_stand_for_a_rule_pass_as_they_are(check, option):
    assert check("n_centers", option, low=1, options=["auto", None]) is option


@pytest.mark.parametrize("check", [check_number, check_integer])
def test_rules_are_listed_beside_the_bounds(check):
    message = refusal(ValueError, check, "k", 0, low=1, options=["auto", None])
    assert message == "k must be at least 1, 'auto' or None, got 0"


def test_a_misspelled_rule_is_guessed():
    message = refusal(
        TypeError, check_number, "gamma", "medain", low=0, options=["cv", "median"]
    )
    assert message == (
        "gamma must be a number, 'cv' or 'median', got 'medain' (did you mean "
        "'median'?)"
    )


def test_a_choice_passes():
    assert check_choice("solver", "away", ["away", "pairwise"]) == "away"
    assert type(check_choice("solver", np.str_("away"), ["away"])) is str


@pytest.mark.parametrize(
    ("value", "error", "came"),
    [
        ("fw", ValueError, "got 'fw'"),
        ("pairwize", ValueError, "got 'pairwize' (did you mean 'pairwise'?)"),
        ("AWAY", ValueError, "got 'AWAY' (did you mean 'away'?)"),
        (None, TypeError, "got None"),
        (3, TypeError, "got 3"),
        (np.array(["away"]), TypeError, "(ndarray)"),
    ],
)
def test_a_word_that_is_no_choice_is_told_with_the_choices(value, error, came):
    message = refusal(error, check_choice, "solver", value, ["away", "pairwise"])
    assert message.startswith("solver must be one of 'away', 'pairwise', got ")
    assert message.endswith(came)
