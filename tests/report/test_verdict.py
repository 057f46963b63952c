"""The first screen says no more than the record does."""

import pytest
from report.records_at_hand import full

from counterpoise.report import Report, render
from counterpoise.report.formatting import to_text
from counterpoise.report.verdict import verdict_of

CHECK = {
    "difference": 0.2,
    "error": 0.05,
    "statistic": 4.0,
    "p_value": 0.001,
    "contradicts": True,
    "n_labeled": 40,
    "finding": "",
}


def score_answer(**headline):
    found = full()
    found["headline"] |= headline
    return verdict_of(Report.from_dict(found)).answers[-1]


def steps_of(found):
    return [to_text(step) for step in verdict_of(Report.from_dict(found)).steps]


def test_a_space_that_does_not_break_is_not_spelled_out():
    found = full()
    found["shift"]["uncovered_rows"] = {
        "n_rows": 99,
        "n_scored": 200,
        "columns": [
            {
                "name": "region",
                "kind": "categories",
                "shares": [{"category": "east", "share": 0.936, "source_share": 0.1}],
            }
        ],
    }
    page = render(found)
    assert r"\xa0" not in page.html + page.text()
    assert "east 93.6 %" in page.text()


@pytest.mark.parametrize(
    ("low", "value", "high", "short"),
    [
        (0.18, 0.205, 0.23, "About the same"),
        (0.17, 0.205, 0.26, "About the same"),
        (0.10, 0.205, 0.40, "Cannot be told well"),
        (0.17, 0.230, 0.26, "Cannot be told well"),
        (0.25, 0.300, 0.35, "Worse"),
        (0.05, 0.100, 0.15, "Better"),
    ],
)
def test_a_score_is_the_same_only_if_it_is_well_known(low, value, high, short):
    answer = score_answer(source=0.2, low=low, value=value, high=high)
    assert answer.short == short


def test_labels_that_contradict_the_estimate_lead():
    found = full()
    found["performance"]["metrics"]["neg_log_loss"]["check"] = CHECK
    first = verdict_of(Report.from_dict(found))
    assert first.title.startswith("The labeled new rows contradict the estimate")
    assert "has changed" in first.title
    steps = steps_of(found)
    assert not steps[0].startswith("Use the")
    assert not any("Use the adapted model" in step for step in steps)


def test_a_score_that_was_measured_by_labels_is_not_doubtful():
    found = full()
    found["performance"]["metrics"]["neg_log_loss"]["check"] = CHECK
    assert verdict_of(Report.from_dict(found)).answers[-1].short == "Doubtful"
    found["headline"] |= {"estimate": "labeled", "value": 2.2, "low": 2, "high": 2.4}
    first = verdict_of(Report.from_dict(found))
    assert first.answers[-1].short == "Worse"
    assert any("expected log-loss of 2.20" in to_text(step) for step in first.steps)


def test_what_rests_on_the_old_relation_is_withdrawn_where_it_has_changed():
    found = full()
    before = verdict_of(Report.from_dict(found))
    assert before.answers[2].short in ("Yes", "Probably", "Perhaps", "No")
    assert any(one.label.startswith("Expected") for one in before.numbers)
    assert "calibration" in render(found).html
    found["performance"]["metrics"]["neg_log_loss"]["check"] = CHECK
    after = verdict_of(Report.from_dict(found))
    assert after.answers[2].short == "Withdrawn"
    # The estimate that leads is none of labels.
    assert not any(one.label.startswith("Expected") for one in after.numbers)
    page = render(found)
    assert "withdrawn, for labeled new rows contradict it" in page.html
    assert "Do the model's probabilities mean what they say?" not in page.html
    assert "The score on the covered part" not in page.html


def test_nobody_who_gave_labels_is_asked_for_a_few():
    found = full()
    assert any("label a few new rows" in step for step in steps_of(found))
    found["performance"]["metrics"]["neg_log_loss"]["check"] = {
        **CHECK,
        "p_value": 0.5,
        "contradicts": False,
    }
    assert not any("label a few new rows" in step for step in steps_of(found))


@pytest.mark.parametrize("command", ["run", None])
def test_columns_that_tell_all_apart_are_named_with_the_option(command):
    found = full()
    found["shift"]["verdict"] = "no overlap"
    found["reproduce"]["command"] = command
    columns = [
        {"name": name, "difference": "other values"} for name in ("day", "row id")
    ]
    found["shift"]["separation"] = {
        "columns": columns,
        "verdict": "shift, full overlap",
        "covered": 0.97,
        "drop": "'day,row id'",
    }
    step = steps_of(found)[1]
    assert "day (other values), row id (other values)" in step
    assert ("(--drop 'day,row id')" in step) is (command == "run")
    assert "97" in step


def test_rows_that_were_not_fitted_to_are_no_training_data():
    found = full()
    del found["model"], found["guard"], found["weights"]
    found["reproduce"]["command"] = "evaluate"
    answer = verdict_of(Report.from_dict(found)).answers[-1]
    assert to_text(answer.told).startswith("On the labeled rows its log-loss is")
    assert "`counterpoise run`" in steps_of(found)[0]
    del found["reproduce"]
    assert "Adapted" in steps_of(found)[0]
