"""Passes that were made are read back, and nothing else is."""

import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterpoise.data import Blocks, map_reduce, sample
from counterpoise.data.parallel import _read, fingerprint, kept_passes, whole_vector
from counterpoise.errors import InvalidInputError

X = np.random.default_rng(0).normal(size=(50, 3))
BLOCKS = Blocks.from_arrays(X, rows=7)


class Counting:
    """Adds rows up and counts how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, rows, first):
        self.asked += 1
        return rows.sum(axis=0)


class EndedError(Exception):
    pass


def passes(work, *, end_after=None):
    """Three passes over the blocks, the run ended after some of them."""
    found = []
    for k in range(3):
        if k == end_after:
            raise EndedError
        found.append(map_reduce(BLOCKS, work))
    return [*found, sample(BLOCKS, 5, seed=1).rows, whole_vector(BLOCKS, _first)]


def _first(rows, first):
    return rows[:, 0]


def test_a_run_that_was_ended_makes_no_pass_twice(tmp_path):
    folder, work = tmp_path / "passes", Counting()
    clean = passes(Counting())
    with pytest.raises(EndedError), kept_passes(folder, {"a": 1}, resume=False):
        passes(work, end_after=2)
    assert work.asked == 2 * BLOCKS.n_blocks
    with kept_passes(folder, {"a": 1}, resume=True) as kept:
        found = passes(work)
    assert kept.found_again == [0, 1]
    assert kept.made == 5
    assert work.asked == 3 * BLOCKS.n_blocks
    for one, other in zip(found, clean, strict=True):
        np.testing.assert_array_equal(one, other)
    # What is done needs no passes any more.
    assert not folder.exists()


def test_without_resuming_passes_are_made_anew(tmp_path):
    folder, work = tmp_path / "passes", Counting()
    with pytest.raises(EndedError), kept_passes(folder, {}, resume=False):
        passes(work, end_after=2)
    with kept_passes(folder, {}, resume=False) as kept:
        passes(work)
    assert kept.found_again == []


def test_passes_over_other_inputs_are_refused(tmp_path):
    with pytest.raises(EndedError), kept_passes(tmp_path / "p", {"n": 1}, resume=False):
        passes(Counting(), end_after=1)
    with (
        pytest.raises(InvalidInputError, match='"n": 1 then, "n": 2 now'),
        kept_passes(tmp_path / "p", {"n": 2}, resume=True),
    ):
        pass


def test_tables_of_mixed_columns_are_read_back(tmp_path):
    columns = pa.table({"a": [1.0, None, 3.0], "b": ["x", "y", None]})
    pq.write_table(columns, tmp_path / "t.parquet")
    blocks = Blocks.from_parquet(tmp_path / "t.parquet")
    clean = []

    def drawn_and_ended():
        clean.append(sample(blocks, 2).rows)
        raise EndedError

    with pytest.raises(EndedError), kept_passes(tmp_path / "p", {}, resume=False):
        drawn_and_ended()
    with kept_passes(tmp_path / "p", {}, resume=True) as kept:
        again = sample(blocks, 2).rows
    assert kept.found_again == [0]
    for one, other in zip(clean[0].columns, again.columns, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
        assert one.categories == other.categories


def test_a_kept_pass_runs_nothing(tmp_path):
    class Runs:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/ran",)

    with pytest.raises(EndedError), kept_passes(tmp_path / "p", {}, resume=False):
        passes(Counting(), end_after=1)
    (path,) = (tmp_path / "p").glob("pass-*")
    path.write_bytes(pickle.dumps(Runs()))
    with (
        pytest.raises(InvalidInputError, match="system"),
        kept_passes(tmp_path / "p", {}, resume=True),
    ):
        passes(Counting())
    assert not (tmp_path / "ran").exists()


def test_a_pass_that_was_cut_off_is_said_to_be(tmp_path):
    with pytest.raises(EndedError), kept_passes(tmp_path / "p", {}, resume=False):
        passes(Counting(), end_after=1)
    (path,) = (tmp_path / "p").glob("pass-*")
    path.write_bytes(path.read_bytes()[:20])
    with (
        pytest.raises(InvalidInputError, match="cannot be read back"),
        kept_passes(tmp_path / "p", {}, resume=True),
    ):
        passes(Counting())


KILLED = """
import os, signal, sys
import numpy as np
from counterpoise.data import Blocks, map_reduce
from counterpoise.data.parallel import kept_passes
blocks = Blocks.from_arrays(np.arange(60.0).reshape(20, 3), rows=3)
with kept_passes(sys.argv[1], {}, resume=True) as kept:
    print(map_reduce(blocks, lambda rows, first: rows.sum(axis=0)), flush=True)
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print(kept.found_again, flush=True)
"""


def test_a_driver_that_is_killed_after_a_pass_does_not_repeat_it(tmp_path):
    def run(what):
        command = [sys.executable, "-c", KILLED, str(tmp_path / "p"), what]
        return subprocess.run(command, capture_output=True, text=True)

    killed = run("kill")
    assert killed.returncode == -signal.SIGKILL
    again = run("go on")
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines() == [killed.stdout.strip(), "[0]"]


def test_a_fingerprint_is_name_size_and_footer(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0]}), path)
    before = fingerprint(path)
    assert before["file"] == "t.parquet"
    assert before["size"] == path.stat().st_size
    pq.write_table(pa.table({"b": [1.0, 2.0]}), path)
    assert fingerprint(path)["footer"] != before["footer"]


def test_a_kept_pass_calls_nothing_of_ours(tmp_path):
    """Functions would be called, with whatever a file says."""
    from counterpoise.data.files import read_csv

    class Calling:
        def __reduce__(self):
            return read_csv, (tmp_path / "t.csv",)

    path = tmp_path / "pass.bin"
    path.write_bytes(pickle.dumps(Calling()))
    with pytest.raises(InvalidInputError, match="read_csv, which no pass"):
        _read(path)
