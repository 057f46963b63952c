"""Steps are heard where somebody listens, and logged everywhere."""

import logging
from concurrent.futures import ThreadPoolExecutor

from counterpoise.data.progress import announce, heard_by


def test_the_innermost_listener_hears_and_the_outer_one_again_after_it():
    outer, inner = [], []
    with heard_by(outer.append):
        with heard_by(inner.append):
            announce("weighing")
        announce("fitting")
    assert (outer, inner) == (["fitting"], ["weighing"])


def test_a_step_is_logged_whether_heard_or_not(caplog):
    caplog.set_level(logging.INFO, "counterpoise")
    announce("weighing")
    with heard_by(lambda step: None):
        announce("fitting")
    assert caplog.messages == ["weighing", "fitting"]


def test_nothing_is_printed_without_a_listener(capsys):
    announce("weighing")
    assert capsys.readouterr() == ("", "")


def test_a_listener_hears_its_own_thread_alone():
    heard = []
    with heard_by(heard.append), ThreadPoolExecutor(1) as pool:
        pool.submit(announce, "elsewhere").result()
    assert heard == []
