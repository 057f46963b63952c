"""A row that comes again is not counted again."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from counterpoise import InvalidInputError, ModelMonitor
from counterpoise.monitor import state as state_module
from counterpoise.monitor.state import keys_of_ids, keys_of_rows


def _draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = ((X[:, 0] > 0) ^ (rng.random(n) < 0.15)).astype(int)
    return pd.DataFrame(X, columns=list("abc")), y


@pytest.fixture
def monitor():
    model = LogisticRegression().fit(*_draw(500, 1))
    X, y = _draw(600, 2)
    return ModelMonitor(model, X=X, y=y, scoring="error_rate", random_state=0)


def test_rows_with_ids_that_have_been_are_not_counted_again(monitor):
    X, y = _draw(120, 3)
    ids = np.array([f"row {k}" for k in range(120)])
    early = np.arange(120) % 3 != 0
    monitor.update(X[early], time="w1", ids=ids[early])
    look = monitor.update(X, y=y, time="w1", ids=ids)
    assert look.n_rows == 40
    assert "80 rows have been before and are not counted again" in look.notes
    assert "80 labels of them are new and were counted" in look.notes
    assert [row["n_rows"] for row in monitor.history_] == [80, 40]
    assert [row["n_labeled"] for row in monitor.history_] == [80, 40]
    again = monitor.update(X, y=y, time="w1", ids=ids)
    assert (again.number, again.notes) == (
        0,
        ("120 rows have been before and are not counted again",),
    )


def test_labels_of_rows_that_come_again_are_those_of_their_places(monitor):
    X, y = _draw(90, 3)
    ids = np.arange(90)
    monitor.update(X, time=1, ids=ids)
    order = np.random.default_rng(0).permutation(90)[:50]
    monitor.update(X.iloc[order], y=y[order], time=2, ids=ids[order])
    truth = (monitor.model.predict(X.iloc[order]) != y[order]).mean()
    assert monitor.history_[0]["realized"] == pytest.approx(truth)
    assert monitor.n_chunks_ == 1


def test_an_id_that_comes_twice_in_a_chunk_is_counted_once(monitor):
    X, y = _draw(60, 3)
    look = monitor.update(X, y=y, time=1, ids=np.arange(60) // 2)
    assert look.n_rows == 30


def test_a_label_at_the_second_row_of_an_id_is_the_first_ones(monitor):
    X, y = _draw(100, 3)
    ids = np.arange(100) % 60
    labels = np.array(y, dtype=object)
    # The rows that are counted have no label; of three the copies have one.
    labels[:60] = None
    labels[63:] = None
    look = monitor.update(X, y=labels, time=1, ids=ids)
    assert look.n_rows == 60
    assert {one["n"] for one in look.realized.values()} == {3}
    assert look.notes[0] == (
        "40 rows have the id of another row: the first of each is counted"
    )


def test_equal_rows_with_other_ids_are_others(monitor):
    X, _ = _draw(40, 3)
    monitor.update(X, time=1, ids=np.arange(40))
    assert monitor.update(X, time=2, ids=np.arange(40, 80)).number == 2


def test_ids_are_forgotten_beyond_a_limit_and_chunks_are_not(monitor, monkeypatch):
    monkeypatch.setattr(state_module, "_BYTES_OF_KEYS", 100 * 8)
    for k in range(3):
        X, _ = _draw(60, 10 + k)
        monitor.update(X, time=k, ids=np.arange(60 * k, 60 * k + 60))
    assert [chunk.keys is None for chunk in monitor._state.chunks] == [
        True,
        True,
        False,
    ]
    X, _ = _draw(60, 10)
    assert "duplicate" in monitor.update(X, time=0, ids=np.arange(60)).notes[0]


def test_labels_that_come_too_late_are_said(monitor, monkeypatch):
    monkeypatch.setattr(state_module, "_BYTES_WAITING", 0)
    X, y = _draw(60, 3)
    monitor.update(X[:40], y=y[:40], time=1, ids=np.arange(40))
    monitor.update(X[40:], time=2, ids=np.arange(40, 60))
    # What was counted in time is not told to be late.
    assert len(monitor.update(X[:40], y=y[:40], ids=np.arange(40)).notes) == 1
    notes = monitor.update(X[40:], y=y[40:], ids=np.arange(40, 60)).notes
    assert notes[1].startswith("20 labels came too late to be counted")
    assert (
        monitor.update(X[40:], y=y[40:]).notes[1].startswith("20 labels came too late")
    )


def test_saved_and_loaded_it_knows_its_rows(monitor, tmp_path):
    X, _ = _draw(60, 3)
    monitor.id_column("order")
    monitor.update(X, time=1, ids=np.arange(60))
    monitor.save(tmp_path / "w.skops")
    other = ModelMonitor.load(tmp_path / "w.skops")
    assert not other.is_new(np.arange(60)).any()
    assert other.is_new(np.arange(60, 70)).all()
    with pytest.raises(InvalidInputError, match="by 'order', not by 'their time'"):
        other.id_column("their time")


def test_a_rows_key_is_its_time_its_values_and_which_of_equal_ones_it_is():
    numbers = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [-0.0, 1.0]])
    when = ["a", "a", "a", "b"]
    keys = keys_of_rows(numbers, when)
    assert len(set(keys.tolist())) == 4
    assert keys_of_rows(numbers[:1], when[:1])[0] == keys[0]
    assert keys_of_rows(-numbers[3:], ["b"])[0] != keys[3]
    assert keys_of_rows(numbers[3:] * [-1.0, 1.0], ["b"])[0] == keys[3]
    # The k-th of equal rows keeps its key where rows stand between.
    assert (keys_of_rows(numbers[[0, 2]], ["a", "a"]) == keys[[0, 2]]).all()
    assert keys_of_rows(np.empty((0, 2)), []).size == 0


def test_ids_are_as_many_as_rows():
    with pytest.raises(InvalidInputError, match=r"shape \(2,\), and X has 3 rows"):
        keys_of_ids(["a", "b"], 3)
    keys = keys_of_rows(np.arange(2.0)[:, None], [1, 1])
    assert np.array_equal(keys_of_ids(keys, 2), keys)


def test_ids_are_told_apart_by_how_they_are_written_and_none_is_missing():
    numbers = [np.arange(3), np.arange(3, dtype=np.uint64), np.arange(3.0)]
    found = [keys_of_ids(ids, 3) for ids in (*numbers, ["0", "1", "2"])]
    assert all(np.array_equal(one, found[0]) for one in found)
    for missing in (None, np.nan):
        with pytest.raises(InvalidInputError, match="row 1 has none"):
            keys_of_ids(np.array(["a", missing], dtype=object), 2)
