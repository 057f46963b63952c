"""Steps are heard where somebody listens, and logged everywhere."""

import logging
from concurrent.futures import ThreadPoolExecutor

from counterpoise.data.progress import announce, listening_to_progress


def test_the_innermost_listener_hears_and_the_outer_one_again_after_it():
    outer, inner = [], []
    with listening_to_progress(outer.append):
        with listening_to_progress(inner.append):
            announce("weighing")
        announce("fitting")
    assert (outer, inner) == (["fitting"], ["weighing"])


def test_a_step_is_logged_whether_heard_or_not(caplog):
    caplog.set_level(logging.INFO, "counterpoise")
    announce("weighing")
    with listening_to_progress(lambda step: None):
        announce("fitting")
    assert caplog.messages == ["weighing", "fitting"]


def test_nothing_is_printed_without_a_listener(capsys):
    announce("weighing")
    assert capsys.readouterr() == ("", "")


def test_a_listener_hears_its_own_thread_alone():
    heard = []
    with listening_to_progress(heard.append), ThreadPoolExecutor(1) as pool:
        pool.submit(announce, "elsewhere").result()
    assert heard == []
