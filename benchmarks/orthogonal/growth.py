"""How does a round of every relaxation grow with the number of rows?

One round from a random frame at the penalty of the rule, set-up included, for a
quadratic with a linear term: lifted, with X eliminated, FISTA; and with P >= 0 on a
graph of neighbors: ADMM. A method is left out beyond the size at which it took more
than 20 s.
"""

import time

import numpy as np
from random_frames import frame, symmetric
from reporting import table
from scipy.sparse.csgraph import laplacian
from sklearn.neighbors import NearestNeighbors

from counterpoise.optim.stiefel.relaxations import (
    ConicRound,
    NonnegativeRound,
)
from counterpoise.optim.stiefel.solvers import fista_round
from counterpoise.subspaces import OrthogonalProblem
from counterpoise.subspaces.clustering import neighbor_graph

LONGEST = 20.0
# Beyond these n the lifted programs would not fit into memory.
LARGEST = {"lifted sdp": 60, "lifted parabolic": 100, "eliminated sdp": 120}


def run(quick):
    sizes = (10, 20, 50) if quick else (10, 20, 50, 100, 200, 400, 800)
    rows, over = [], set()
    for n in sizes:
        row = [n]
        for name, ask in _rounds(n).items():
            if name in over or n > LARGEST.get(name, 10_000):
                row.append(None)
                continue
            began = time.process_time()
            ask()
            seconds = time.process_time() - began
            row.append(seconds)
            if seconds > LONGEST:
                over.add(name)
        rows.append(row)
    header = " | ".join(["n", *_rounds(10)])
    return {"table": table("CPU s of one round, m = 3", header, rows), "bars": []}


def _rounds(n, m=3):
    rng = np.random.default_rng(n)
    problem = OrthogonalProblem(symmetric(rng, n), rng.standard_normal((n, m)))
    start, mu = frame(rng, n, m), 1.01 * problem.slope
    search = NearestNeighbors(n_neighbors=8).fit(rng.standard_normal((n, 2)))
    affinity, _ = neighbor_graph(search)
    signed = OrthogonalProblem(laplacian(affinity), n_columns=m, nonnegative=True)
    labels = np.arange(n) % m
    indicator = np.zeros((n, m))
    indicator[np.arange(n), labels] = 1.0 / np.sqrt(n / m)

    def split(relaxation):
        one = NonnegativeRound(signed, relaxation)
        return one.solve(indicator, 1.0, one.begin(indicator, 1.0), 1e-4, 800)

    def eliminated(relaxation):
        return ConicRound(problem, relaxation, eliminate=True)

    return {
        "lifted sdp": lambda: ConicRound(problem, "sdp").solve(start, mu),
        "lifted parabolic": lambda: ConicRound(problem, "parabolic").solve(start, mu),
        "eliminated sdp": lambda: eliminated("sdp").solve(start, mu),
        "eliminated parabolic": lambda: eliminated("parabolic").solve(start, mu),
        "FISTA": lambda: fista_round(problem, start, mu),
        "ADMM sdp, P >= 0": lambda: split("sdp"),
        "ADMM parabolic, P >= 0": lambda: split("parabolic"),
    }
