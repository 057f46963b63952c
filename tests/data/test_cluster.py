"""Work on processes beside this one: the same bits, and faults that end in a sentence.

A cluster of two processes on loopback is started once for the tests that leave it as it
is. A test that kills workers has a cluster of its own, and does not depend on how fast
workers are started again.
"""

import dask
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from counterpoise import KLIEP, Adapted, LogLinearKLIEP
from counterpoise.data import (
    BlockFailedError,
    Blocks,
    distribute,
    each_block,
    map_reduce,
    sample,
)
from counterpoise.errors import InvalidInputError

X = np.random.default_rng(0).normal(size=(3000, 4)) * [1.0, 1e3, 1e6, 1e-3]


@pytest.fixture(scope="module")
def client():
    with distribute(2) as client:
        yield client


def blocks_of(rows=100):
    return Blocks.from_arrays(X, rows=rows)


def test_two_processes_give_the_bits_of_the_plain_loop(client):
    def moments(rows, first):
        return rows.T @ (rows * np.cos(first + np.arange(len(rows)))[:, None])

    blocks = blocks_of()
    alone = map_reduce(blocks, moments)
    parts = list(each_block(blocks, moments, with_places=True))
    drawn = sample(blocks, 200, seed=1)
    with distribute(client):
        np.testing.assert_array_equal(map_reduce(blocks, moments), alone)
        there = each_block(blocks, moments, with_places=True)
        for one, other in zip(there, parts, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(sample(blocks, 200, seed=1).rows, drawn.rows)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_processes_give_the_weights_and_the_model_of_the_plain_loop(client, seed):
    rng = np.random.default_rng(seed)
    rows, aims = rng.normal(size=(3000, 3)), rng.normal(0.3, 0.9, (2500, 3))
    source = Blocks.from_arrays(rows, rows=500)
    target = Blocks.from_arrays(aims, rows=600)

    def fitted():
        kliep = KLIEP(gamma=0.3, n_centers=20, random_state=0)
        model = Adapted(Ridge(), LogLinearKLIEP(), random_state=0)
        return (
            kliep.fit(source, X_target=target).weights_,
            model.fit(source, rows[:, 0] ** 2, X_target=target).predict(target),
        )

    alone = fitted()
    with distribute(client):
        there = fitted()
    for one, other in zip(alone, there, strict=True):
        assert one.tobytes() == other.tobytes()


def test_the_cluster_listens_on_loopback_alone(client):
    import psutil

    here = psutil.Process()
    listening = [
        connection.laddr.ip
        for process in (here, *here.children(recursive=True))
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert set(listening) == {"127.0.0.1"}


def test_a_worker_that_is_killed_changes_no_bit(tmp_path):
    latch = str(tmp_path / "killed")

    def work(rows, first):
        import os
        import signal

        if first >= 1000 and not os.path.exists(latch):
            open(latch, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows.sum(axis=0)

    blocks = blocks_of()
    alone = map_reduce(blocks, lambda rows, first: rows.sum(axis=0))
    with distribute(2):
        np.testing.assert_array_equal(map_reduce(blocks, work), alone)
    assert (tmp_path / "killed").exists()


def test_a_block_that_kills_every_worker_is_named():
    def work(rows, first):
        import os
        import signal

        if first == 700:
            os.kill(os.getpid(), signal.SIGKILL)
        return rows.sum()

    with (
        # The second death is the proof, and there are two workers.
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distribute(2),
        pytest.raises(
            BlockFailedError, match=r"block 7 \(the array, rows 700 to 799\)"
        ),
    ):
        map_reduce(blocks_of(), work)


def test_an_error_in_a_block_comes_back_as_it_was(client):
    def work(rows, first):
        from counterpoise.errors import InvalidInputError

        if first == 300:
            raise InvalidInputError("the column 'age' is empty")
        return 1

    with distribute(client), pytest.raises(InvalidInputError, match="'age' is empty"):
        map_reduce(blocks_of(), work)


def test_another_cluster_may_run_beside(client):
    """Neither takes a port that the other has, which would be warned of."""
    with distribute(1) as beside:
        assert beside.scheduler.address != client.scheduler.address
        assert beside.cluster.scheduler.http_server.port != 8787
