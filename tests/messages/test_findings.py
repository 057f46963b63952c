"""Findings: every code has its text on every surface, and survives JSON."""

import json
import string

import pytest

from counterpoise.messages import HINT, INFO, Finding, FindingText, message
from counterpoise.messages.texts import NOUNS, TEXTS


@pytest.mark.parametrize("code", TEXTS)
def test_templates_name_values_and_nouns_alone(code):
    texts = TEXTS[code]
    for surface, text in (
        {"python": texts} if isinstance(texts, str) else texts
    ).items():
        assert surface in NOUNS
        fields = [field for _, field, _, _ in string.Formatter().parse(text)]
        assert all(name is None or name.isidentifier() for name in fields)


def test_surfaces_have_the_same_nouns():
    assert len({frozenset(nouns) for nouns in NOUNS.values()}) == 1


def test_a_finding_survives_json_with_those_inside():
    inner = [Finding("spelling", HINT, {
        "target": "yes", "source": "Yes", "column": "the source", "share": 0.3,
    })]  # fmt: skip
    finding = Finding("spellings", HINT, {"spellings": inner, "more": 2})
    again = Finding.from_dict(json.loads(json.dumps(finding.to_dict())))
    assert again == finding
    assert message(finding.to_dict(), "page") == finding.text("page")
    assert "'yes' for 'Yes' in 'the source' (30 % of the new rows) and 2 more" in (
        finding.text("page")
    )


def test_a_column_with_braces_is_a_name_like_any_other():
    finding = Finding("negligible_change", INFO, {"name": "{0} {{x}}", "effect": 0.1})
    assert str(finding).startswith("'{0} {{x}}' differs")


def test_small_p_values_are_no_powers_on_the_page():
    values = {
        "n_labeled": 9, "loss": "", "n_directions": 2, "strongest": "in the mean",
        "difference": 1.0, "error": 0.1, "p_value": 3.2e-14, "conclusion": "",
    }  # fmt: skip
    finding = Finding("label_check", INFO, values)
    assert "p = 3.2e-14 over all" in str(finding)
    assert "p < 0.0001 over all" in finding.text("terminal")


def test_a_warning_carries_its_finding():
    text = FindingText(Finding("time_order"))
    assert 'cv="blocks"' in text
    assert "--time COLUMN" in text.finding.text("terminal")


def test_a_text_that_is_no_finding_stays():
    assert message("{x} as it is", "page") == "{x} as it is"
