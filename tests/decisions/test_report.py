"""What the first screen says, at the numbers where it says something else."""

import pytest

from counterpoise.cli.terminal import refusal as refusal_finding
from counterpoise.errors import NoOverlapError
from counterpoise.messages import INFO, Finding
from counterpoise.performance.metrics import is_about_the_same, is_within
from counterpoise.report import Report
from counterpoise.report.drawings import drawn_candidates, spectrum_sentences
from counterpoise.report.formatting import (
    chance,
    distinct_figures,
    figures,
    part_name,
    share,
    to_text,
)
from counterpoise.report.key_questions import has_labels, is_contradicted
from counterpoise.report.sections import balance_section, headline_section
from counterpoise.report.tables import classes_table
from counterpoise.report.verdict import verdict_of
from counterpoise.shift.columns import CorrelationShift
from counterpoise.shift.diagnosis_text import (
    correlation_finding,
    other_tests_finding,
    rounding_finding,
    spelling_finding,
)
from counterpoise.shift.separation import Spelling
from counterpoise.shift.verdict_tests import Detectable, ShiftTest

NO_SHIFT, SMALL, COVERED = "no shift detected", "small shift", "shift, full overlap"
THIN, NO_OVERLAP = "shift, partial overlap", "no overlap"
TOO_FEW = "too few rows"


def shift(verdict, **more):
    numbers = {
        "n_source": 99,
        "auc": 0.7,
        "auc_low": 0.65,
        "auc_high": 0.75,
        "uncovered_fraction": 0.1,
    }
    return {
        "shift": {"verdict": verdict, "covered": 0.9, "n_target": 99, **numbers, **more}
    }


def model(adapted):
    return {"model": {"adapted": adapted, "type": "Ridge", "exponent": float(adapted)}}


def headline(**more):
    found = {
        "metric": "neg_log_loss",
        "higher_is_better": False,
        "estimate": "doubly_robust",
        "value": 1.0,
        "low": 0.9,
        "high": 1.1,
        "level": 0.95,
        "source": 1.0,
    }
    return {"headline": found | more}


def check(p_value):
    told = {"p_value": p_value, "contradicts": p_value < 0.05}
    one = {"check": {**told, "n_labeled": 20, "finding": ""}}
    return {"performance": {"metrics": {"neg_log_loss": one}}}


def record(*sections):
    found = {}
    for section in sections:
        found |= section
    return Report.from_dict(found)


def screen(*sections):
    return verdict_of(record(*sections))


@pytest.mark.parametrize(
    ("verdict", "adapted", "tone", "begins"),
    [
        (NO_SHIFT, None, "good", "No shift detected"),
        (NO_SHIFT, False, "good", "Use your model as it is: the new data look like"),
        (NO_SHIFT, True, "care", "No shift detected, but the model was fitted with"),
        (SMALL, None, "good", "The new data differ only a little"),
        (SMALL, False, "good", "Use your model as it is: the new data differ only"),
        (SMALL, True, "good", "Use the adapted model."),
        (COVERED, None, "care", "The new data differ from the training data, but"),
        (COVERED, True, "good", "Use the adapted model."),
        (COVERED, False, "care", "Use your model as it is, but expect the score"),
        (THIN, None, "care", "The new data differ, and part of them"),
        (THIN, True, "care", "Use the adapted model with care"),
        (THIN, False, "care", "Use the model with care"),
        (NO_OVERLAP, True, "stop", "Do not deploy yet"),
        (TOO_FEW, True, "care", "There are too few rows"),
    ],
)
def test_every_verdict_has_its_title_and_its_tone(verdict, adapted, tone, begins):
    sections = [shift(verdict)] + ([] if adapted is None else [model(adapted)])
    found = screen(*sections)
    assert found.tone == tone
    assert found.title.startswith(begins)


def test_labels_that_contradict_lead_unless_there_is_no_overlap():
    contradicted = (headline(), check(0.01))
    assert screen(shift(COVERED), *contradicted).title.startswith(
        "The labeled new rows"
    )
    assert screen(shift(NO_OVERLAP), *contradicted).title.startswith("Do not deploy")


@pytest.mark.parametrize("verdict", [COVERED, THIN])
def test_where_part_is_thin_a_contradiction_has_two_readings(verdict):
    guard = {"guard": {"chosen": 0}}
    found = screen(shift(verdict), model(True), guard, headline(), check(0.01))
    steps = [to_text(step) for step in found.steps]
    said = [found.title, to_text(found.lead), to_text(found.answers[2].told)]
    changed = (
        "the relation between columns and label has changed",
        "rows alike in all columns have other labels than before",
        "belong together in another way",
    )
    if verdict == COVERED:
        assert all(words in one for words, one in zip(changed, said, strict=True))
        assert steps[0].startswith("Do not go by the old relation")
        return
    assert not any(words in one for words in changed for one in said)
    assert "or the new data are not where the training data are" in said[0]
    assert "or the misfit lies where there are next to no training rows" in said[1]
    assert steps[0].startswith("Label some of the thinly covered rows")
    assert steps[1].startswith("Only if the labels of covered rows do not fit")
    assert sum("thinly covered" in step for step in steps) == 1


def covered_part(**more):
    metrics = {"neg_log_loss": {"doubly_robust": {"value": 0.8125}}}
    part = {"share": 0.683, "metrics": metrics}
    return {"performance": {"metrics": {"neg_log_loss": {}}, "covered": part} | more}


def places_of_the_score(found):
    (tile,) = (one for one in found.numbers if one.label.startswith("Expected"))
    (plan,) = (to_text(one) for one in found.steps if to_text(one).startswith("Plan"))
    return to_text(tile.beside), plan, to_text(found.answers[-1].told)


@pytest.mark.parametrize(
    "ends", [(0.9, 1.1, 0.5), (0.2, 3.0, 1.5), (0.9, 1.1, 1.0), (0.9, 1.1, 0.95)]
)
def test_a_score_that_speaks_for_thin_rows_never_stands_alone(ends):
    low, high, source = ends
    score = headline(low=low, high=high, source=source)
    for sections, words in [
        ([covered_part()], "68.3 % of the new rows that the training data cover"),
        ([], "if the 10 % of the new rows that are hardly covered are like the"),
    ]:
        found = screen(shift(THIN), model(False), score, *sections)
        for one in places_of_the_score(found):
            assert words in one.replace("\xa0", " ").replace("10.0 %", "10 %")
            assert not sections or "(0.812 for the" in one
        found = screen(shift(COVERED), model(False), score, *sections)
        assert not any("(" in one for one in places_of_the_score(found))


def test_labels_drawn_from_all_new_rows_speak_for_thin_ones_too():
    metrics = {"neg_log_loss": {"labeled": {"value": 1.0}}}
    found = screen(shift(THIN), model(False), headline(), covered_part(metrics=metrics))
    assert not any("nothing is known" in one for one in places_of_the_score(found))
    assert "For the covered part alone: 0.812" in to_text(found.answers[-1].told)


def test_labels_contradict_below_a_p_value_of_one_in_twenty():
    assert is_contradicted(record(headline(), check(0.0499)))
    assert not is_contradicted(record(headline(), check(0.05)))
    assert not is_contradicted(record(headline()))


def test_without_overlap_nothing_is_promised_and_a_column_that_separates_is_named():
    difference = Finding("column_missing", INFO, {"after": 0.99, "before": 0.01})
    found = {
        "columns": [{"name": "day", "difference": difference.to_dict()}],
        "drop": "day",
        "covered": 0.98,
        "verdict": COVERED,
    }

    def steps(found, command):
        more = {"reproduce": {"command": command}}
        screened = screen(shift(NO_OVERLAP, separation=found), more)
        return [to_text(s) for s in screened.steps]

    first, column, _ = steps(found, "run")
    assert "Do not rely" in first
    assert "day (missing in 99.0% of the new rows, in the training data" in column
    assert "(--drop day)" in column
    assert "--drop" not in steps(found, "evaluate")[1]
    assert "does not help" in steps(found | {"verdict": NO_OVERLAP}, "run")[1]
    assert len(steps(None, "run")) == 2


def test_too_few_rows_ask_for_more_and_for_nothing_else():
    (step,) = screen(shift(TOO_FEW, n_source=60, n_target=20), model(False)).steps
    assert "more rows: with 104 of each" in to_text(step)
    assert "60 training and 20 new rows" in to_text(step)


def test_labels_are_asked_for_where_there_are_none():
    last = [to_text(s) for s in screen(shift(COVERED)).steps][-1]
    assert "label a few new rows" in last
    some = screen(shift(COVERED), headline(), check(0.5)).steps
    assert "label a few new rows" not in to_text(some[-1])
    assert has_labels(record(check(0.5)))
    assert not has_labels(record({"performance": {"metrics": {"m": {"check": None}}}}))


def test_the_source_s_score_is_within_the_interval_up_to_its_ends():
    ends = {"low": 1.0, "high": 2.0}
    assert is_within(1.0, **ends)
    assert is_within(2.0, **ends)
    assert not is_within(2.01, **ends)
    assert not is_within(1.0, low=None, high=None)


def test_about_the_same_is_a_narrow_interval_or_a_close_value_in_a_fair_one():
    def same(value, low, high, source=1.0):
        return is_about_the_same(source, value, low, high)

    assert same(1.2, 0.96, 1.25)
    assert not same(1.2, 0.94, 1.25)
    assert same(1.09, 0.9, 1.4)
    assert not same(1.1, 0.9, 1.4)
    assert not same(1.05, 0.8, 1.4)
    assert not same(1.2, 1.1, 1.2)


def score_answer(*sections, **more):
    return screen(headline(**more), *sections).answers[-1]


def test_the_score_is_better_or_worse_by_the_metric_s_own_direction():
    away = {"low": 1.4, "high": 1.6, "value": 1.5}
    assert score_answer(**away).short == "Worse"
    assert score_answer(**away, higher_is_better=True).short == "Better"
    wide = score_answer(low=0.1, high=9.0, value=5.0)
    assert wide.short.startswith("Cannot be told well")
    assert score_answer().short == "About the same"
    assert score_answer(low=None, high=None).short == "Better"
    # The rule is told with the word.
    assert "lies outside the interval" in to_text(score_answer(**away).sure)
    assert "at most 30 % as wide" in to_text(score_answer().sure).replace("\xa0", " ")
    assert "too wide to call them the same" in to_text(wide.sure)


def test_an_estimate_that_labels_contradict_is_doubtful_unless_it_is_theirs():
    assert score_answer(check(0.01)).short == "Doubtful"
    own = score_answer(check(0.01), estimate="labeled")
    assert own.short == "About the same"
    assert "the number is theirs" in to_text(own.sure)


def test_a_thin_part_makes_every_score_one_to_take_care_of():
    assert score_answer(shift(THIN)).tone == "care"
    assert score_answer(shift(COVERED)).tone == "good"


def guard(chosen, gain, error, effective=100.0):
    found = {
        "metric": "neg_log_loss",
        "exponents": [0.0, 0.5, 1.0],
        "values": [1.0, 0.9, 0.8],
        "best": 1.0,
        "chosen": chosen,
        "gain": gain,
        "gain_error": error,
        "effective_rows": effective,
    }
    return {"guard": found}


def sure(*numbers):
    return to_text(screen(model(True), guard(*numbers)).answers[0].sure)


def test_a_gain_is_clear_from_two_standard_errors_and_likely_from_one():
    assert "clear" in sure(1.0, 0.2, 0.1)
    assert "likely" in sure(1.0, 0.199, 0.1)
    assert "likely" in sure(1.0, 0.1, 0.1)
    assert "weak" in sure(1.0, 0.099, 0.1)
    assert "not very" in sure(1.0, 0.2, 0.1, 49.9)
    assert "judged on rows worth 100" in sure(0.0, 0.0, 0.0)


def test_a_model_is_said_to_be_better_where_the_gain_is_clear():
    def said(*numbers):
        found = screen(shift(COVERED), model(True), guard(*numbers))
        return found.title, to_text(found.lead), found.answers[2].short

    title, lead, short = said(1.0, 0.2, 0.1)
    assert title == "Use the adapted model: it does better on the new data."
    assert "count more makes the model better there." in lead
    assert short == "Yes"
    title, lead, short = said(1.0, 0.199, 0.1)
    assert title == "Use the adapted model: it may do better on the new data."
    assert "may make the model better there" in lead
    assert short == "Probably"
    assert said(1.0, 0.099, 0.1)[2] == "Perhaps"
    # What never varies is no matter of chance; what nobody judged is not said.
    assert said(1.0, 0.2, 0.0)[2] == "Yes"
    found = screen(shift(COVERED), model(True), {"guard": None})
    assert found.title == "Use the adapted model."
    assert "better" not in to_text(found.lead)


def test_what_is_said_of_weights_follows_from_whether_they_differ_from_ones():
    def said(*sections):
        found = screen(*sections)
        return found.title, to_text(found.lead), to_text(found.steps[0])

    # Weights without weight selection, where no shift was found.
    title, lead, step = said(shift(NO_SHIFT), model(True), {"guard": None})
    assert title == "No shift detected, but the model was fitted with weights."
    assert lead.endswith("resemble the new ones count more in its fit.")
    assert step.startswith("Fit the model without weights, or let weight selection")
    title, _, step = said(shift(NO_SHIFT), model(True), guard(1.0, 0.2, 0.1))
    assert title == "Use the adapted model: it does better on the new data."
    assert step == "Use the adapted model for the new data."
    # Ones that nothing was compared with, and ones that were chosen.
    _, lead, step = said(shift(COVERED), model(False), {"guard": None})
    assert lead.endswith("All training rows count alike in its fit.")
    assert step == "Use the model as it is; it was fitted without weights."
    _, lead, step = said(shift(COVERED), model(False), guard(0.0, 0.0, 0.0))
    assert lead.endswith("does not help this model, so it was left alone.")
    assert step == "Use the model as it is; weights do not help it."
    # Weights alone, without a model.
    ends = {"weight_estimator": "KLIEP", "smallest": 0.2, "largest": 3.0}
    numbers = {"effective_size": 9.0, "rows": 9, "effective_share": 1.0}
    title = screen({"weights": ends | numbers}).title
    assert title == "Training rows were weighted to resemble the new data."
    ones = {"weight_estimator": "UniformWeights", "smallest": 1.0, "largest": 1.0}
    title = screen({"weights": ones | numbers}).title
    assert title == "All training rows have the same weight."


def test_weights_that_nobody_checked_are_said_to_be_so():
    assert screen(model(True), {"guard": None}).answers[0].short == "Not checked"
    assert screen(model(False), {"guard": None}).answers[0].short == "Not asked"
    assert screen(model(False), guard(0.0, 0.0, 0.0)).answers[0].short == "No"
    assert screen(model(True), guard(1.0, 0.2, 0.1)).answers[0].short == "Yes"


def test_the_plan_is_the_score_or_its_whole_interval():
    def plan(**more):
        steps = screen(shift(COVERED), model(False), headline(**more)).steps
        return next(to_text(s) for s in steps if "Plan" in to_text(s))

    assert "within the margin" in plan(value=1.02)
    assert "not with the" in plan(low=1.4, high=1.6, value=1.5)
    assert "between" in plan(low=0.1, high=9.0, value=5.0)


# -- sections --------------------------------------------------------------------------


def test_the_headline_is_that_of_labels_then_of_least_error_then_both_then_weights():
    estimates = {
        "higher_is_better": True,
        "source": {"value": 0.0},
        "labeled": {"value": 1.0},
        "direct": {"value": 1.5},
        "doubly_robust": {"value": 2.0},
        "weighted": {"value": 3.0},
        "leading": "direct",
    }
    for kind in ("labeled", "direct", "doubly_robust", "weighted"):
        found = headline_section({"metrics": {"m": estimates}, "level": 0.9})
        assert found["estimate"] == kind
        estimates[kind] = None
    assert headline_section({"metrics": {"m": estimates}}) is None


def test_a_difference_above_a_tenth_is_worth_a_look():
    import numpy as np

    from counterpoise.data.two_samples import TwoSamples
    from counterpoise.report.sections import SeenRows

    base = np.tile([-1.0, 1.0], 10)[:, None]
    for away, above in ((0.1001, 1), (0.0999, 0)):
        samples = TwoSamples.of(base, base + away)
        found = balance_section(SeenRows(samples, np.ones(20), ("x",)))
        assert found["above_before"] == above


def test_a_record_of_another_version_is_refused():
    assert Report.from_dict({"schema_version": 2, "a": 1}).sections == {"a": 1}
    for other in (0, 1, 3, True, "2"):
        with pytest.raises(ValueError, match="reads 2: run the command again"):
            Report.from_dict({"schema_version": other})
    with pytest.raises(ValueError, match="it has no schema_version"):
        Report.from_json("{}")


def test_a_number_that_json_cannot_write_is_none_with_its_reason():
    found = Report.from_dict({"a": {"b": float("inf"), "c": float("nan")}})
    assert found.at("a.b") is None
    assert found["undefined"] == {"a.b": "infinite", "a.c": "not a number"}


def test_a_class_of_fewer_than_five_rows_is_not_named():
    classes = [{"class": "a", "rows": 5}, {"class": "b", "rows": 4}]
    table = classes_table(Report.from_dict({"data": {"classes": classes}}))
    assert [str(row[0]) for row in table.rows] == ["a"]
    assert table.note.startswith("1 classes of fewer than 5 rows")


def test_what_is_not_all_or_not_nothing_does_not_look_like_it():
    def said(value):
        return str(share(value)).replace("\N{NO-BREAK SPACE}", " ")

    assert [said(v) for v in (0.0, 0.0009, 0.001)] == ["0 %", "< 0.1 %", "0.1 %"]
    assert [said(v) for v in (0.999, 0.9991, 1.0)] == ["99.9 %", "> 99.9 %", "100 %"]
    assert [said(v) for v in (-2.2e-16, 1 + 2.2e-16)] == ["0 %", "100 %"]
    assert [said(v) for v in (9.994, 9.9951, 12)] == ["999 %", "1,000 %", "1,200 %"]
    assert not any("e" in said(10.0**k) for k in range(-20, 6))
    assert not any("e" in said(-(10.0**k)) for k in range(-20, 6))
    assert str(chance(0.00009)).startswith("<")
    assert str(chance(0.0001)) == "0.0001"
    assert str(figures(99.96)) == "100"
    assert str(figures(100.0)) == "100"


def test_two_numbers_have_figures_enough_to_differ_or_no_difference_is_said():
    def said(a, b):
        both = distinct_figures((a, "a"), (b, "b"))
        return None if both is None else [str(one) for one in both]

    assert said(0.55, 0.56) == ["0.550", "0.560"]
    assert said(0.5512, 0.5511) == ["0.5512", "0.5511"]
    assert said(0.551231, 0.551232) == ["0.551231", "0.551232"]
    assert said(0.5512341, 0.5512342) is None
    assert said(3834.2, 3834.3) == ["3,834.2", "3,834.3"]
    one = {
        "exponents": [0.0, 1.0],
        "chosen": 1.0,
        "best": 1.0,
        "metric": "neg_log_loss",
    }
    one |= {"effective_rows": 99.0, "gain": 1e-9, "gain_error": 1e-9}
    guard = {"guard": one | {"values": [0.5512, 0.5509]}}
    (*_, answer) = screen(shift(COVERED), model(True), guard).answers
    assert "from 0.5512 to 0.5509" in to_text(answer.told)
    guard = {"guard": one | {"values": [0.551, 0.551]}}
    (*_, answer) = screen(shift(COVERED), model(True), guard).answers
    assert "makes no difference to its log-loss" in to_text(answer.told)
    (*_, answer) = screen(shift(COVERED), headline(value=1.0)).answers
    assert "expect no difference" in to_text(answer.told)


def test_a_part_is_told_by_its_open_ends():
    def said(low, high, kind="numbers"):
        return part_name({"part": "range", "low": low, "high": high}, kind)

    assert said(None, 5.0) == "below 5"
    assert said(5.0, None) == "5 or more"
    assert said(0.0, None, "dates") == "since 1970-01-01"
    assert said(None, None) == "all"


def test_weights_that_remove_less_than_a_twentieth_are_said_to_do_nothing():
    spectrum = {"before": [1.0], "after": [1.0], "direction": []}
    for removable, said in ((0.05, False), (0.0499, True)):
        told = spectrum_sentences(
            Report.from_dict(
                {"shift": {"spectrum": {**spectrum, "removable": removable}}}
            )
        )
        assert (
            any("do next to nothing" in str(part) for s in told for part in s) is said
        )


def test_candidates_without_a_score_are_not_drawn_unless_none_has_one():
    scored = {"score": 0.1, "chosen": False}
    untried = {"score": None, "chosen": False}
    assert drawn_candidates([scored, untried]) == [scored]
    assert drawn_candidates([untried]) == [untried]


def test_a_refusal_of_the_weighter_leads_and_names_the_way_on():
    sections = shift(THIN) | {"reproduce": {"command": "run"}}
    refusal = NoOverlapError(0.61, "unsupported_fraction")
    words = {"refused": refusal_finding(refusal).to_dict()}
    found = verdict_of(Report.from_dict(sections | words))
    assert (
        found.title
        == "No model was fitted: the weight estimator found too little overlap."
    )
    steps = " ".join(to_text(step) for step in found.steps).replace("\u00a0", " ")
    assert "refused: 61.0% of the new rows have no training rows within" in steps
    assert "counterpoise run" not in steps
    without = verdict_of(Report.from_dict(sections))
    assert "No model was fitted" not in without.title


def test_where_part_is_hardly_covered_the_interval_says_of_what_it_speaks():
    def sure(verdict, **more):
        sections = (
            shift(verdict, uncovered_fraction=0.4, auc_low=0.7, auc_high=0.7)
            | headline()
        )
        answers = verdict_of(Report.from_dict(sections | more)).answers
        return [to_text(one.sure).replace("\u00a0", " ") for one in answers]

    uncovered_fraction = sure(THIN)
    assert (
        "That is if the 40 % of the new rows that are hardly covered"
        in uncovered_fraction[-1]
    )
    assert "hardly covered" not in sure(COVERED)[-1]
    labeled = {"neg_log_loss": {"labeled": {"value": 0.6}}}
    with_labels = sure(THIN, performance={"metrics": labeled})
    assert "hardly covered" not in with_labels[-1]
    # Two ends that read alike are no interval.
    assert (
        uncovered_fraction[0]
        == "How sure: so it was for all pairs that were looked at."
    )


def test_what_weighting_leaves_of_a_difference_may_be_next_to_nothing():
    for left, said in ((0.001, "0.00100 after"), (0.000999, "next to nothing after")):
        spectrum = {"before": [1.0], "after": [left]}
        found = Report.from_dict({"shift": {"spectrum": spectrum}})
        (one,) = spectrum_sentences(found)
        assert said in to_text(one)


def test_equal_weights_have_no_bar_unless_they_are_chosen():
    equal, other = (
        {"score": score, "chosen": False, "candidate": "a"} for score in (1e-17, 0.1)
    )
    assert drawn_candidates([equal, other]) == [other]
    assert drawn_candidates([equal | {"chosen": True}, other])[0]["score"] == 1e-17
    assert drawn_candidates([equal]) == [equal]


def test_what_python_says_beside_the_verdict_is_said_on_the_screen():
    tests = (
        ShiftTest("classifier", 0.2, False),
        ShiftTest("kernel means", 0.001, True, ("the source",)),
    )
    findings = [
        other_tests_finding(tests),
        correlation_finding([CorrelationShift(("a", "b"), 0.01, 0.5, 0.001)]),
        Detectable(0.2, 1.2, 1.9, 0.1, 0.3).finding,
        rounding_finding(["age"]),
        spelling_finding([Spelling("c", "Yes", "yes", 0.5)]),
    ]
    section = shift(NO_SHIFT, findings=[one.to_dict() for one in findings])
    found = verdict_of(Report(section))
    answer = found.answers[0]
    assert "by another test" in to_text(answer.told)
    # A column's own name stays.
    assert "kernel means ('the source')" in to_text(answer.told)
    assert "'a' with 'b' (rank correlation +0.01 in the training data" in to_text(
        answer.told
    )
    assert "a hole in the training data that holds a share of 0.1 of the new data" in (
        to_text(answer.sure)
    )
    first, second, third = map(to_text, found.steps[:3])
    assert "The training data and the new data record 'age' to different" in first
    assert second.startswith("The new data seem to spell categories of the training")
    assert third.startswith("Nothing else needs to be done.")
    older = verdict_of(Report(shift(NO_SHIFT)))
    assert "another test" not in to_text(older.answers[0].told)
    assert to_text(older.steps[0]).startswith("Nothing needs to be done.")
