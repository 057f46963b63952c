"""How long do a round, a whole search and a whole clustering take?"""

import time

import numpy as np
from random_frames import frame, symmetric
from real_sets import MissingDataError, shapes
from reporting import bar, left_out, table, timed
from separation import seven_classes
from sklearn.datasets import make_blobs, make_moons

from counterpoise.optim.stiefel.solvers import fista_round
from counterpoise.subspaces import (
    MaxMinDistanceAnalysis,
    OrthogonalGraphClustering,
    OrthogonalProblem,
)


def run(quick):
    rows, bars = [], []

    def told(what, seconds, most):
        rows.append([what, seconds, most])
        bars.append(bar(f"{what}, s", seconds, most=most))

    rng = np.random.default_rng(0)
    for m in (3, 10):
        n = 100
        problem = OrthogonalProblem(symmetric(rng, n), rng.standard_normal((n, m)))
        start, mu = frame(rng, n, m), 1.01 * problem.slope
        seconds, _ = timed(lambda: fista_round(problem, start, mu))  # noqa: B023
        told(f"FISTA round, n = 100, m = {m}", seconds, 0.01)
    spent = []
    for m in (2, 3, 4):
        own = []
        for seed in range(5):
            X, y, *_ = seven_classes(seed)
            seconds, _ = timed(
                lambda: MaxMinDistanceAnalysis(m).fit(X, y),  # noqa: B023
                3,
            )
            own.append(seconds)
        spent.append(np.mean(own))
        told(f"softmin + polar, n = 10, m = {m}, with its proof", spent[-1], 0.03)
    try:
        X, y = shapes("aggregation")
        seconds = _clock(lambda: OrthogonalGraphClustering(7, random_state=0).fit(X))
        told("clustering, n = 788, 7 clusters, 4 starts", seconds, 6.0)
    except MissingDataError as error:
        left_out(str(error))
    if not quick:
        X = moons_and_blobs(5000)
        seconds = _clock(lambda: OrthogonalGraphClustering(5, random_state=0).fit(X))
        told("clustering, n = 5000, 5 clusters, 4 starts", seconds, 30.0)
    shown = table("Seconds of one call", "what | s | at most", rows)
    return {"table": shown, "bars": bars}


def moons_and_blobs(n, seed=0):
    """Return two moons and three blobs."""
    moons, _ = make_moons(2 * n // 5, noise=0.08, random_state=seed)
    centers = np.array([[3.0, 0.0], [3.0, 2.0], [0.0, 3.0]])
    blobs, _ = make_blobs(
        3 * n // 5, centers=centers, cluster_std=0.4, random_state=seed
    )
    return np.vstack([moons, blobs])


def _clock(function):
    began = time.process_time()
    function()
    return time.process_time() - began
