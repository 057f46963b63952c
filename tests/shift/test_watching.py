"""The words about a model that is watched speak of its fit, and of today's rows."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from counterpoise import Adapted, diagnose
from counterpoise.datasets import make_gaussian_shift
from counterpoise.shift.columns import CorrelationShift
from counterpoise.shift.diagnosis_text import (
    MEANING,
    NEXT,
    as_watched,
    said_of_digits,
    said_of_pairs,
    said_of_spellings,
)
from counterpoise.shift.separation import (
    Spelling,
)
from counterpoise.shift.support import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    PARTIAL_OVERLAP,
    SMALL_SHIFT,
    TOO_FEW,
)

SHIFT = make_gaussian_shift(2, n=300, m=280, random_state=0)
MODEL = Adapted(Ridge(), random_state=0).fit(SHIFT.X, SHIFT.y, X_target=SHIFT.X_target)


@pytest.mark.parametrize("move", [0.0, 0.5, [6.0, 0.0]])
def test_a_watched_model_is_compared_with_the_new_data_of_its_fit(move):
    found = MODEL.diagnose(SHIFT.X_target[:200] + move, random_state=0)
    assert found.explanation.startswith("Compared with the new data of the fit: ")
    assert found.explanation.endswith(NEXT[found.verdict])
    for told in (str(found), found._repr_html_()):
        assert not re.search(r"\bsource\b|[Tt]rain as usual", told)


def test_the_numbers_are_those_of_a_plain_diagnosis():
    rows = SHIFT.X_target[:200] + 0.5
    watched = MODEL.diagnose(rows, random_state=0)
    plain = diagnose(MODEL.reference_, rows, random_state=0)
    assert "source" in plain.explanation
    told, same = (one.to_dict() | {"explanation": ""} for one in (watched, plain))
    assert told == same


def test_every_verdict_has_its_words():
    verdicts = {NO_SHIFT, SMALL_SHIFT, COVERED, PARTIAL_OVERLAP, NO_OVERLAP, TOO_FEW}
    assert set(MEANING) == set(NEXT) == verdicts


@pytest.mark.parametrize(
    ("words", "watched"),
    [
        ("3 of 200 target rows scored", "3 of 200 of today's rows scored"),
        ("'the source' and the source rows", "'the source' and the rows of the fit"),
        ("thinly covered share of the target", "thinly covered share of today's rows"),
        ("9 source, 8 target", "9 at the fit, 8 today"),
    ],
)
def test_words_are_changed_and_names_are_not(words, watched):
    assert as_watched(words) == watched


def test_a_column_called_source_keeps_its_name():
    rng = np.random.default_rng(0)
    import pandas as pd

    rows = pd.DataFrame(rng.normal(size=(200, 2)), columns=["source", "target"])
    model = Adapted(Ridge(), random_state=0).fit(
        rows, rows["source"], X_target=(rows[::-1],)
    )
    told = model.diagnose(rows + 2.0, random_state=0)
    assert "'source'" in told.explanation


def test_what_is_found_beside_the_verdict_is_told_of_the_fit_and_of_today():
    (digits,) = said_of_digits(["age"])
    assert as_watched(digits).startswith(
        "The rows of the fit and today's rows record 'age' to different digits."
    )
    (spelled,) = said_of_spellings([Spelling("the source", "Yes", "yes", 0.3)])
    assert as_watched(spelled).startswith(
        "Today's rows seem to spell categories of the rows of the fit otherwise: "
        "'Yes' for 'yes' in 'the source' (30 % of today's rows)."
    )
    (pair,) = said_of_pairs([CorrelationShift(("a", "b"), 0.0, 0.5, 0.001)])
    assert (
        "correlation 0.00 in the rows of the fit, +0.50 in today's rows"
        in as_watched(pair)
    )
