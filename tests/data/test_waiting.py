"""A cluster without workers is told of, and ends in a sentence after a limit."""

from contextlib import nullcontext

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

from counterpoise import ULSIF
from counterpoise.data import Blocks, ClusterUnavailableError, distribute, map_reduce
from counterpoise.data.parallel import kept_passes
from counterpoise.data.progress import listening_to_progress
from counterpoise.errors import InvalidInputError

X = np.random.default_rng(0).normal(size=(300, 2))
pytestmark = pytest.mark.timeout(120)


class HeardError(Exception):
    """Ends the work as soon as something is said."""


@pytest.fixture
def client():
    """A client of a cluster without workers; those that come are threads."""
    with (
        LocalCluster(
            n_workers=0,
            processes=False,
            threads_per_worker=1,
            protocol="tcp",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def blocks_of(rows=50):
    return Blocks.from_arrays(X, rows=rows)


def sums(rows, first):
    return rows.sum(axis=0)


def fitted():
    weight_estimator = ULSIF(gamma=0.5, n_centers=10, random_state=0)
    return weight_estimator.fit(
        blocks_of(), X_target=Blocks.from_arrays(X + 0.2, rows=60)
    )


@pytest.mark.timeout(30)
def test_it_is_said_within_seconds_that_there_is_no_worker(client):
    def hear(step):
        if "Dask" in step:
            raise HeardError(step)

    with (
        pytest.raises(HeardError, match="waiting for a Dask worker, 120 s at most"),
        listening_to_progress(hear),
        distribute(client),
    ):
        fitted()


def test_the_work_ends_after_the_limit_with_the_state_of_the_cluster(client):
    with (
        pytest.raises(ClusterUnavailableError) as found,
        distribute(client, wait=1.5),
    ):
        fitted()
    said = str(found.value)
    assert "no Dask worker has been available for 1.5" in said
    assert f"scheduler {client.scheduler.address}" in said
    assert "block 1 of 6 (the array, rows 0 to 49) is not done" in said
    assert "start workers, or raise `wait=`; nothing is kept" in said
    assert "--resume" not in said


def test_the_error_tells_of_resuming_where_passes_are_kept(client, tmp_path):
    def last(rows, first):
        return rows[-1]

    def two_passes(second):
        with kept_passes(tmp_path / "passes", {}, resume=True) as passes:
            map_reduce(blocks_of(), sums)
            with second:
                return map_reduce(blocks_of(), last), passes.found_again

    with pytest.raises(ClusterUnavailableError, match="`--resume` continues with this"):
        two_passes(distribute(client, wait=0.5))
    found, found_again = two_passes(nullcontext())
    assert found_again == [0]
    np.testing.assert_array_equal(found, X.reshape(6, 50, 2)[:, -1].sum(axis=0))


def test_workers_that_come_within_the_limit_let_the_work_go_on(client):
    alone = fitted().weights_
    said = []

    def hear(step):
        said.append(step)
        if "waiting for a Dask worker" in step:
            client.cluster.scale(1)

    with listening_to_progress(hear), distribute(client, wait=60.0):
        there = fitted().weights_
    assert there.tobytes() == alone.tobytes()
    told = [step for step in said if "Dask" in step]
    assert told == [
        "waiting for a Dask worker, 60 s at most",
        "going on: a Dask worker is available",
    ]


def test_workers_that_leave_in_the_middle_are_waited_for(client):
    client.cluster.scale(1)
    client.wait_for_workers(1, timeout=60)
    left = []

    def combine(earlier, later):
        if not left:
            left.append(True)
            client.cluster.scale(0)
        return earlier + later

    def hear(step):
        if "waiting for a Dask worker" in step:
            client.cluster.scale(1)

    blocks = blocks_of(rows=10)
    with listening_to_progress(hear), distribute(client, wait=60.0):
        found = map_reduce(blocks, sums, combine)
    np.testing.assert_array_equal(found, map_reduce(blocks, sums))
    assert left


def test_processes_that_dask_has_given_up_are_started_again():
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}),
        distribute(1) as client,
    ):
        (nanny,) = client.cluster.workers.values()
        client.cluster.sync(nanny.close)
        found = map_reduce(blocks_of(), sums)
    np.testing.assert_array_equal(found, map_reduce(blocks_of(), sums))


def test_processes_that_do_not_start_in_time_are_an_error():
    with (
        pytest.raises(ClusterUnavailableError, match="1 worker processes did not"),
        distribute(1, wait=0.01),
    ):
        pass


@pytest.mark.parametrize("wait", [0, -1.0, float("nan")])
def test_the_limit_must_be_above_zero(wait):
    with (
        pytest.raises(InvalidInputError, match="wait"),
        distribute("threads", wait=wait),
    ):
        pass
