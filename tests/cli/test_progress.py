"""Bars and tables on a terminal alone; plain lines elsewhere; nothing harmful ever."""

import io
import logging
import os
import warnings
from pathlib import Path

import pytest

from counterpoise.cli import fit as job
from counterpoise.cli.terminal import Block, Cell, Notice, Steps, followed, show
from counterpoise.data.progress import announce
from counterpoise.errors import warn_user

ESCAPE = "\x1b"


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(os.environ, "TERM", "xterm")


def stepped(stream):
    progress = Steps(("reading", "writing"), stream=stream)
    progress.begin("reading")
    progress.notice("odd")
    progress.notice("odd")
    progress.begin("writing")
    progress.stop()
    return progress


def test_steps_are_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    progress = stepped(stream)
    said = stream.getvalue()
    assert ESCAPE not in said
    assert [line.split(":")[0] for line in said.splitlines()] == [
        "note",
        "reading",
        "writing",
    ]
    assert set(progress.seconds) == set(progress.cpu_seconds) == {"reading", "writing"}


def test_steps_are_a_bar_on_a_terminal():
    stream = Terminal()
    stepped(stream)
    said = stream.getvalue()
    assert ESCAPE in said
    assert said.count("note: odd") == 1
    assert "reading" in said


def test_what_the_library_announces_is_a_step_and_what_it_warns_of_a_notice(capsys):
    logger = logging.getLogger("counterpoise")
    before = (logger.level, list(logger.handlers), warnings.showwarning)
    with followed(("weighing",)) as progress:
        announce("weighing")
        logger.info("no step")
        warnings.warn("too few rows", UserWarning, stacklevel=1)
        warnings.warn("for programmers", RuntimeWarning, stacklevel=1)
    err = capsys.readouterr().err
    assert "weighing: " in err
    assert set(progress.seconds) == {"weighing"}
    assert progress.notices == ("too few rows",)
    assert "programmers" not in err
    assert before == (logger.level, list(logger.handlers), warnings.showwarning)


def test_a_notice_is_recorded_without_path_and_value():
    stream = io.StringIO()
    progress = Steps(("reading",), stream=stream)
    for folder in ("2023", "2024"):
        path = Path(folder) / "live.csv"
        progress.notice(Notice(path, " holds ", Cell("Jane Doe")))
    assert f"note: {Path('2024') / 'live.csv'} holds 'Jane Doe'" in stream.getvalue()
    assert progress.notices == ("live.csv holds a value",)


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_names_from_files_cannot_move_the_cursor_nor_be_taken_for_markup(stream):
    hostile = "a\x1b[2J\x00\u202e[red]b\nc"
    show([Block(hostile, (hostile,), ("column",), ((hostile,),))], stream)
    said = stream.getvalue()
    assert "\x1b[2J" not in said
    assert "\x00" not in said
    assert "\u202e" not in said
    assert said.count("[red]b c") == 3


def test_the_plan_of_the_job_is_what_its_steps_were(run, tables, tmp_path, monkeypatch):
    plans = []
    plain_followed = job.followed
    monkeypatch.setattr(
        job,
        "followed",
        lambda plan, **k: plans.append(plan) or plain_followed(plan, **k),
    )
    for weight_estimator in ("uniform", "log-linear"):
        code, _, err = run(
            *("fit", "--source", tables[0], "--target", tables[1]),
            *("--label", "bought", "--estimator", "linear"),
            *(
                "--weight-estimator",
                weight_estimator,
                "--out",
                tmp_path / weight_estimator,
            ),
        )
        assert code == 0
        done = [line.split(": ")[0] for line in err.splitlines() if line.endswith(" s")]
        assert done == list(plans.pop())


def test_warnings_of_other_packages_are_told_in_their_own_words(capsys):
    theirs, ours = "the target y has one class", "the target has few rows"
    with followed(("weighing",)) as progress:
        warnings.warn(theirs, UserWarning, stacklevel=1)
        warn_user(ours)
    err = capsys.readouterr().err
    assert f"note: {theirs}\n" in err
    assert f"note: {ours}\n" in err
    assert progress.notices == (theirs, ours)
