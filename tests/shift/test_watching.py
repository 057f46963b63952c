"""The words about a model that is watched speak of its fit, and of today's rows."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from counterpoise import Adapted, diagnose
from counterpoise.datasets import make_gaussian_shift
from counterpoise.messages.texts import TEXTS
from counterpoise.shift.columns import CorrelationShift
from counterpoise.shift.diagnosis_text import (
    VERDICT_CODES,
    correlation_finding,
    rounding_finding,
    spelling_finding,
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
    text = TEXTS[f"next_{VERDICT_CODES[found.verdict]}"]["monitor"]
    assert found.explanation.endswith(text)
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
    assert set(VERDICT_CODES) == verdicts
    for code in VERDICT_CODES.values():
        assert {"python", "monitor"} == set(TEXTS[code]) == set(TEXTS[f"next_{code}"])


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
    digits = rounding_finding(["age"]).text("monitor")
    assert digits.startswith(
        "The rows of the fit and today's rows record 'age' to different digits."
    )
    spelled = spelling_finding([Spelling("the source", "Yes", "yes", 0.3)])
    assert spelled.text("monitor").startswith(
        "Today's rows seem to spell categories of the rows of the fit otherwise: "
        "'Yes' for 'yes' in 'the source' (30 % of today's rows)."
    )
    pair = correlation_finding([CorrelationShift(("a", "b"), 0.0, 0.5, 0.001)])
    expected = "correlation 0.00 in the rows of the fit, +0.50 in today's rows"
    assert expected in pair.text("monitor")
