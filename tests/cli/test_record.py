"""The command that is in a record does the same again."""

import shlex

import pytest

from counterpoise.cli.fit import add_run, add_weights
from counterpoise.cli.options import Parser
from counterpoise.cli.record import command_line, reproduced_by


def options(*arguments):
    parser = Parser()
    commands = parser.add_subparsers(required=True)
    for add in (add_run, add_weights):
        add(commands)
    given = parser.parse_args([str(argument) for argument in arguments])
    return given.complete(given)


RUN = ("run", "--source", "a/train.csv", "--label", "y", "--target", "b/new data.csv")


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--seed", "7", "--metric", "accuracy", "--level", "0.9"),
        ("--drop", "a,b c", "--categorical", "d", "--target-labels"),
        ("--fail-if", "auc > 0.9", "--fail-if", "ess < 10", "--max-memory", "2G"),
        ("--id=-odd", "--allow-no-overlap", "--estimator", "linear"),
    ],
)
def test_the_line_is_read_back_to_the_same_options(more):
    first = options(*RUN, "--out", "somewhere/out", *more)
    words = command_line(first)
    assert words[0] == "counterpoise"
    again = options(*shlex.split(shlex.join(words))[1:])
    places = {"source", "target", "out"}
    for key, value in vars(first).items():
        if key not in places:
            assert getattr(again, key) == value
    assert again.source.name == first.source.name
    assert "--seed" in words


def test_folders_and_what_is_shown_leave_no_trace():
    here = options(
        *RUN, "--out", "one", "--quiet", "--overwrite", "--text", "--json", "-"
    )
    there = options(*RUN, "--out", "/another/place", "--seed", "0")
    assert reproduced_by(here) == reproduced_by(there)
    assert "one" not in command_line(here)


def test_a_file_that_is_written_keeps_its_ending():
    words = command_line(
        options(
            "weights", "--source", "a.csv", "--target", "b.csv", "--out", "x/w.parquet"
        )
    )
    assert "again.parquet" in words
