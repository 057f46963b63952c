"""Lines of text about what goes on: one a step, and never a long silence."""

import time

from sklearn.linear_model import Ridge

from counterpoise import Adapted
from counterpoise.data.progress import (
    LONGEST_SILENCE,
    TextProgress,
    advance,
    announce,
    heartbeat,
    listening_to_progress,
    told,
)
from counterpoise.datasets import make_gaussian_shift


def test_the_longest_silence_is_below_five_seconds():
    assert LONGEST_SILENCE < 5.0


def test_a_long_step_is_told_again_with_its_parts():
    said = []
    teller = TextProgress(said.append, longest_silence=0.02)
    with heartbeat(teller):
        teller.begin("weighing")
        teller.advance(3, 15)
        deadline = time.monotonic() + 10.0
        while len(said) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert said[0] == "weighing"
    assert said[1].startswith("weighing, 3 of 15 (")


def test_nothing_is_said_after_the_end():
    said = []
    teller = TextProgress(said.append, longest_silence=0.0)
    teller.begin("weighing")
    teller.end()
    teller.wait()
    assert said == ["weighing"]


def test_a_short_step_is_told_once():
    said = []
    teller = TextProgress(said.append)
    teller.begin("weighing")
    assert 0.0 < teller.wait() <= LONGEST_SILENCE
    assert said == ["weighing"]


def test_who_listened_before_hears_it_too():
    outer, parts, inner = [], [], []
    with (
        listening_to_progress(outer.append, lambda *k: parts.append(k)),
        told(0, _noted(inner)),
    ):
        announce("weighing")
        advance(1, 2)
    assert (outer, parts) == (["weighing"], [(1, 2)])
    assert inner == [("weighing", 0, 0), ("weighing", 1, 2)]


def test_a_fit_prints_its_steps_and_calls_back(capsys):
    shift = make_gaussian_shift(2, n=120, m=90, random_state=1)
    heard = []
    model = Adapted(Ridge(), random_state=0, verbose=1, callback=_noted(heard))
    model.fit(shift.X, shift.y, X_target=shift.X_target)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[counterpoise] diagnosing the shift"
    assert "[counterpoise] fitting the estimator" in lines
    assert ("choosing how much of the weights to use", 5, 5) in heard
    steps = [step for step, done, total in heard if (done, total) == (0, 0)]
    assert len(steps) == 4


def test_a_quiet_fit_prints_nothing(capsys):
    shift = make_gaussian_shift(2, n=60, m=50, random_state=1)
    model = Adapted(Ridge(), random_state=0)
    model.fit(shift.X, shift.y, X_target=shift.X_target)
    assert capsys.readouterr() == ("", "")


def _noted(heard):
    return lambda *said: heard.append(said)
