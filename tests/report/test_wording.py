"""Words of records as a person reads them: of training and new data, in grammar."""

import ast
import re
from pathlib import Path

import pytest

import counterpoise
from counterpoise.report.formatting import for_a_person

# Rooms whose words get into records: verdicts, assumptions, checks, reasons, notices.
ROOMS = ("adaptation", "cli", "shift", "performance", "data")
LEFT = re.compile(r"\bthe (source|target)\b", re.IGNORECASE)
SINGULAR = re.compile(
    r"(?<![a-z'] of )\b[Tt]he (training|new) data (\w+ly )?(?!as\b)\w+s\b"
)


def words_of(room):
    """Return the sentences that are written in a room, numbers where gaps are."""
    for path in sorted((Path(counterpoise.__file__).parent / room).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        passed = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                passed |= {id(part) for part in node.values}
        for node in nodes:
            if id(node) in passed:
                continue
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "7"
                    for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


ALL = {words for room in ROOMS for words in words_of(room)}
SAID = sorted(words for words in ALL if " " in words and LEFT.search(words))


def test_the_words_are_found():
    assert len(SAID) > 40
    assert "the target is distributed like the source" in SAID
    assert "the source does not cover the target" in SAID


@pytest.mark.parametrize("words", SAID)
def test_a_person_reads_of_training_and_new_data_in_grammar(words):
    told = for_a_person(words)
    assert not LEFT.search(told)
    assert not SINGULAR.search(told)
    assert not re.search(r"\b(source|target) rows?\b", told, re.IGNORECASE)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "the source does not cover the target",
            "the training data do not cover the new data",
        ),
        (
            "the target's score and the source's own",
            "the new data's score and the training data's own",
        ),
        ("The source's rows", "The training data's rows"),
        ("Target rows were lost", "New rows were lost"),
        ("The target was read", "The new data were read"),
        ("a part of the target is lost", "a part of the new data is lost"),
        ("12% of the target lies apart", "12\u00a0% of the new data lie apart"),
        ("30 source and 20 target rows", "30 training and 20 new rows"),
        (
            "column 'the source' of the target has 'the target's'",
            "column 'the source' of the new data has 'the target's'",
        ),
        (
            'the rows\' share of "the target is" in the source',
            'the rows\' share of "the target is" in the training data',
        ),
    ],
)
def test_verbs_apostrophes_and_capitals_follow(words, told):
    assert for_a_person(words) == told
