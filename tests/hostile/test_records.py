"""Records of wrong types: a sentence and code 2, through commands that read one."""

import json
from copy import deepcopy
from functools import cache

import numpy as np
import pytest

from counterpoise import Report, diagnose
from counterpoise.cli.main import main
from counterpoise.datasets import make_gaussian_shift

WRONG = (
    None,
    True,
    -1,
    1e308,
    "x",
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    "<script>",
    "\x1b[2J",
)


@cache
def document():
    """Return a record as it is written, to be spoiled."""
    shift = make_gaussian_shift(2, n=80, m=60, random_state=0)
    found = diagnose(shift.X, shift.X_target, random_state=0)
    return Report.from_estimator(found).to_json()


def places(part, path=()):
    """Return the paths of all values below."""
    yield path
    items = part.items() if isinstance(part, dict) else ()
    if isinstance(part, list):
        items = enumerate(part)
    for key, one in items:
        yield from places(one, (*path, key))


def spoiled(rng, n_places):
    """Return the record with values of other types in some places."""
    whole = json.loads(document())
    everywhere = [path for path in places(whole) if path]
    for _ in range(n_places):
        path = everywhere[rng.integers(len(everywhere))]
        holder = whole
        try:
            for key in path[:-1]:
                holder = holder[key]
            # A copy: what is put into it later stays out of other records.
            holder[path[-1]] = deepcopy(WRONG[rng.integers(len(WRONG))])
        except (KeyError, IndexError, TypeError):
            continue
    return whole


@pytest.mark.parametrize("seed", range(25))
def test_a_spoiled_record_is_shown_or_refused_in_a_sentence(seed, tmp_path, capsys):
    rng = np.random.default_rng(seed)
    path, good = tmp_path / "report.json", tmp_path / "good.json"
    path.write_text(json.dumps(spoiled(rng, 1 + seed % 4)), encoding="utf-8")
    good.write_text(document(), encoding="utf-8")
    for command in (("report", path, "--text"), ("compare", path, good)):
        code = main([str(word) for word in command])
        told = capsys.readouterr().err
        assert code in (0, 2), told
        assert "Traceback" not in told
        assert "\x1b" not in told


def test_a_record_that_is_nested_without_end_is_refused(tmp_path, capsys):
    path = tmp_path / "report.json"
    path.write_text('{"schema_version": 2, "a": ' + "[" * 100_000, encoding="utf-8")
    assert main(["report", str(path), "--text"]) == 2
    assert str(path) in capsys.readouterr().err


def test_what_spoils_one_record_stays_out_of_the_next():
    rng = np.random.default_rng(0)
    before = json.dumps(WRONG)
    for _ in range(300):
        json.dumps(spoiled(rng, 5))
    assert json.dumps(WRONG) == before
