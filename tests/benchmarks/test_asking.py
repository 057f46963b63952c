"""Questions are found by themselves, kept while nothing changes, and judged."""

import ast
import json
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import asking  # noqa: E402
import summarizing  # noqa: E402

sys.path.remove(str(BENCHMARKS))

QUESTIONS = asking.questions()


def answer(one, **more):
    whole = {
        "name": one.full_name,
        "told": one.told,
        "status": asking.ANSWERED,
        "state": asking.state_of(one),
        "quick": True,
        "bars": [],
        "cpu": 1.0,
        "megabytes": 1.0,
        "peers": {},
        "data": [],
    }
    return whole | more


def bar(holds):
    return {"bar": "of a test", "measured": 1.0, "bound": "<= 2", "holds": holds}


def test_every_folder_that_can_be_run_has_questions():
    folders = {path.parent.name for path in BENCHMARKS.glob("*/run.py")}
    assert {one.topic for one in QUESTIONS} == folders
    assert len({one.full_name for one in QUESTIONS}) == len(QUESTIONS) >= 70


def test_every_question_says_what_it_asks_and_can_be_asked():
    for one in QUESTIONS:
        tree = ast.parse((BENCHMARKS / one.topic / f"{one.name}.py").read_text())
        assert ast.get_docstring(tree), one.full_name
        runs = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == "run"
        ]
        assert [len(node.args.args) for node in runs] == [1], one.full_name


def test_a_new_folder_joins_by_itself(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "run.py").write_text('QUESTIONS = ("first",)\n')
    (tmp_path / "new" / "first.py").write_text('"""What is new?"""\n')
    (found,) = asking.questions(tmp_path)
    assert (found.full_name, found.told) == ("new.first", "What is new?")


def test_an_answer_is_kept_only_while_nothing_has_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "OUT", tmp_path)
    one = QUESTIONS[0]
    assert asking.kept_answer(one, True) is None
    for more, kept in (
        ({}, True),
        ({"state": "older"}, False),
        ({"status": asking.FAILED}, False),
        ({"status": asking.NOT_ASKED}, False),
    ):
        one.answer_file(True).write_text(json.dumps(answer(one, **more)))
        assert (asking.kept_answer(one, True) is not None) is kept
    assert asking.kept_answer(one, False) is None


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"bars": [bar(True)]}, 0),
        ({"bars": [bar(True), bar(False)]}, 1),
        ({"status": asking.FAILED, "reason": "a fault"}, 1),
        ({"status": asking.NOT_ASKED, "reason": "no data"}, 0),
    ],
)
def test_a_bar_that_fails_fails_the_command_and_nothing_is_silent(more, code, capsys):
    one = QUESTIONS[0]
    assert asking._told([answer(one, **more)]) == code
    said = capsys.readouterr().out
    if code or "reason" in more:
        assert one.full_name in said


def test_a_summary_is_small_and_has_every_bar():
    one = QUESTIONS[0]
    rows = [[k, 1 / 3, float("inf")] for k in range(200)]
    told = {"title": "t", "header": ["a", "b", "c"], "rows": rows, "load": 1.0}
    short = summarizing.summary(answer(one, bars=[bar(False)], tables=[told]))
    assert short["bars"] == [bar(False)]
    (kept,) = short["tables"]
    assert (len(kept["rows"]), kept["more"]) == (60, 140)
    assert kept["rows"][0] == [0, 0.3333, "inf"]
    json.dumps(short, allow_nan=False)


def test_a_picture_of_growth_has_all_its_rows():
    rows = [["method", k, 10, 1.0, 1.0, None] for k in range(200)]
    told = {"title": "t", "header": ["a"] * 6, "rows": rows, "load": 1.0}
    one = next(one for one in QUESTIONS if one.topic == "growth")
    (kept,) = summarizing.summary(answer(one, tables=[told]))["tables"]
    assert (len(kept["rows"]), kept["more"]) == (200, 0)


def test_a_summary_forgets_questions_that_are_no_longer_there(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "OUT", tmp_path / "out")
    monkeypatch.setattr(summarizing, "ROOT", tmp_path)
    one, *others = [q for q in QUESTIONS if q.topic == "growth"]
    path = tmp_path / "growth.json"
    path.write_text(json.dumps({"gone": {}, others[0].name: {"kept": True}}))
    asking.OUT.mkdir()
    one.answer_file(True).write_text(json.dumps(answer(one)))
    summarizing.summarize([one], tmp_path)
    assert set(json.loads(path.read_text())) == {one.name, others[0].name}


def test_making_a_peer_is_told_apart_from_asking_it(capsys):
    one = QUESTIONS[0]
    asking._told([answer(one, cpu=60.0, made={"peer": 120.0})])
    assert "1.0 min CPU, 2.0 min more for the peers" in capsys.readouterr().out


def test_questions_side_by_side_are_told_whole_and_in_order(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(asking, "OUT", tmp_path)
    wanted = QUESTIONS[:3]

    def asked(one, quick, *, told_at_once):
        assert not told_at_once
        return answer(one, bars=[bar(one is not wanted[1])]), f"said {one.full_name}\n"

    monkeypatch.setattr(asking, "_asked_apart", asked)
    assert asking.ask_all(wanted, quick=True, beside=2) == 1
    said = capsys.readouterr().out
    for one in wanted:
        assert f"said {one.full_name}\n  {one.full_name}: " in said
    assert "3 questions in" in said
    assert said.count("falls short") == 1


def test_a_fault_of_the_frame_ends_the_command_and_asks_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "OUT", tmp_path)
    begun = []

    def asked(one, quick, *, told_at_once):
        begun.append(one)
        if len(begun) == 1:
            raise OSError("no more processes")
        time.sleep(0.05)
        return answer(one), ""

    monkeypatch.setattr(asking, "_asked_apart", asked)
    with pytest.raises(OSError, match="no more processes"):
        asking.ask_all(QUESTIONS, quick=True)
    assert len(begun) < len(QUESTIONS)
