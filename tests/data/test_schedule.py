"""Sums over blocks are the same to the bit, whoever computes them."""

import operator
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from data.tables_on_disk import mixed_columns, write_parquet

from counterpoise.data import (
    BlockFailedError,
    Blocks,
    distribute,
    each_block,
    map_reduce,
    sample,
)
from counterpoise.data.blocks import keys_of_places
from counterpoise.data.parallel import map_write
from counterpoise.errors import InvalidInputError


def moments(rows, first):
    return rows.T @ (rows * np.cos(first + np.arange(len(rows)))[:, None])


def rows_of(n=2000, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * 10.0 ** np.arange(d)


@pytest.mark.parametrize("n_blocks", [1, 2, 5])
def test_parts_are_combined_in_order(n_blocks):
    blocks = Blocks.from_arrays(np.ones((n_blocks, 1)), rows=1)
    found = map_reduce(blocks, lambda rows, first: str(first), lambda a, b: a + b)
    assert found == "".join(map(str, range(n_blocks)))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_local_scheduler_gives_the_bits_of_the_plain_loop(scheduler):
    blocks = Blocks.from_arrays(rows_of(), rows=77)
    alone = map_reduce(blocks, moments)
    parts = list(each_block(blocks, moments, with_places=True))
    with distribute(scheduler):
        np.testing.assert_array_equal(map_reduce(blocks, moments), alone)
        for one, other in zip(
            each_block(blocks, moments, with_places=True), parts, strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_one_blocking_or_another_gives_the_same_up_to_rounding():
    X = rows_of()
    one, other = (map_reduce(Blocks.from_arrays(X, rows=k), moments) for k in (64, 501))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_sample_is_the_same_for_every_blocking():
    X = rows_of()
    drawn = [sample(Blocks.from_arrays(X, rows=k), 50, seed=3) for k in (9, 300, 5000)]
    for one in drawn:
        np.testing.assert_array_equal(one.places, drawn[0].places)
        np.testing.assert_array_equal(one.rows, X[drawn[0].places])
    assert (np.diff(drawn[0].places) > 0).all()
    other = sample(Blocks.from_arrays(X, rows=9), 50, seed=4)
    assert set(other.places) != set(drawn[0].places)


def test_a_sample_of_more_rows_than_there_are_is_all_of_them():
    X = rows_of(20)
    np.testing.assert_array_equal(sample(Blocks.from_arrays(X, rows=6), 99).rows, X)


def test_a_sample_of_a_mixed_table_keeps_its_columns(tmp_path):
    columns = mixed_columns(300)
    path = write_parquet(tmp_path / "rows.parquet", columns, rows=40)
    drawn = sample(Blocks.from_parquet(path), 120, seed=1)
    counts = columns["count"].to_numpy()[drawn.places]
    np.testing.assert_array_equal(drawn.rows.columns[2].values, counts)
    colors = np.array(drawn.rows.columns[1].categories)[drawn.rows.columns[1].values]
    expected = np.array(columns["color"].to_pylist())[drawn.places]
    np.testing.assert_array_equal(colors, expected)


def test_every_place_is_drawn_as_often_as_any_other():
    n, k, draws = 40, 10, 4000
    blocks = Blocks.from_arrays(np.zeros((n, 1)), rows=n)
    taken = np.zeros(n)
    for seed in range(draws):
        taken[np.argsort(keys_of_places(np.arange(n), seed))[:k]] += 1
    expected = draws * k / n
    chi = ((taken - expected) ** 2 / expected).sum() / (1 - k / n)
    # Chi squared of 39 degrees: beyond 80 once in ten thousand times.
    assert chi < 80
    np.testing.assert_array_equal(
        sample(blocks, k, seed=5).places,
        np.sort(np.argsort(keys_of_places(np.arange(n), 5))[:k]),
    )


def test_a_written_file_has_the_rows_in_their_order(tmp_path):
    X = rows_of(500)
    blocks = Blocks.from_arrays(X, rows=70)
    path = tmp_path / "weights.parquet"
    map_write(
        blocks,
        lambda rows, first: {"w": rows[:, 0], "row": first + np.arange(len(rows))},
        path,
    )
    written = pq.read_table(path)
    np.testing.assert_array_equal(written["w"].to_numpy(), X[:, 0])
    np.testing.assert_array_equal(written["row"].to_numpy(), np.arange(500))
    assert pq.read_metadata(path).num_row_groups == 8
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_could_not_be_finished_is_not_there(tmp_path):
    path = tmp_path / "weights.parquet"
    path.write_text("of the last time")

    def work(rows, first):
        if first >= 20:
            raise OSError("No space left on device")
        return {"w": rows[:, 0]}

    with pytest.raises(BlockFailedError, match="No space left"):
        map_write(Blocks.from_arrays(rows_of(50), rows=10), work, path)
    assert path.read_text() == "of the last time"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("who", [0, 2.5, None, True])
def test_who_computes_must_be_somebody(who):
    with pytest.raises(InvalidInputError, match="distribute"), distribute(who):
        pass


def test_the_sum_is_the_default_way_to_combine():
    blocks = Blocks.from_arrays(np.ones((7, 1)), rows=2)
    assert map_reduce(blocks, lambda rows, first: len(rows)) == 7
    assert map_reduce(blocks, lambda rows, first: first, max) == 6
    assert map_reduce(blocks, lambda rows, first: len(rows), operator.mul) == 8


QUIET = """
import sys
import numpy as np, psutil
from counterpoise import LogLinearKLIEP
from counterpoise.data import Blocks
X = np.random.default_rng(0).normal(size=(300, 2))
source, target = Blocks.from_arrays(X, rows=99), Blocks.from_arrays(X + 0.1)
LogLinearKLIEP().fit(source, X_target=target)
opened = psutil.Process().net_connections(kind="inet")
print(len(opened), [name for name in ("dask", "distributed") if name in sys.modules])
"""


def test_no_socket_is_opened_and_no_dask_loaded_without_distribute():
    found = subprocess.run(
        [sys.executable, "-c", QUIET], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "0 []"
