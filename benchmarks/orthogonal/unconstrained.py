"""Is a frame worse than pymanopt's from the same start?

Quadratics with linear terms (against trust regions with the exact Hessian) and the
least of 21 squared lengths (against softmins by conjugate gradients, the same taus).
"""

import time

import numpy as np
import pymanopt_peer
from random_frames import smooth, worst_of_many
from reporting import bar, left_out, table

from counterpoise.subspaces import solve_orthogonal

FIRST_SEED = 20_000


def run(quick):
    count = 10 if quick else 50
    rows, bars = [], []
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    cases = {"quadratic and linear": [], "least of 21": []}
    for seed in seeds:
        problem, start = smooth(seed)
        question = {"M": problem.quadratic, "N": problem.linear, "start": start}
        cases["quadratic and linear"].append((problem, question))
        problem, vectors, start = worst_of_many(seed)
        cases["least of 21"].append((problem, {"V": vectors, "start": start}))
    for name, own in cases.items():
        try:
            answers = pymanopt_peer.ask([question for _, question in own])
        except pymanopt_peer.MissingPeerError as error:
            return left_out(f"pymanopt is missing: {error}")
        margins, ours, theirs = [], [], []
        for (problem, question), (P, seconds) in zip(own, answers, strict=True):
            began = time.process_time()
            solution = solve_orthogonal(problem, start=question["start"])
            ours.append(time.process_time() - began)
            theirs.append(seconds)
            gain = problem.value(P) - solution.certificate.objective
            margins.append(gain / problem.slope)
        not_worse = float(np.mean(np.array(margins) >= -1e-7))
        better = float(np.mean(np.array(margins) > 1e-6))
        rows.append([name, count, not_worse, better, np.mean(ours), np.mean(theirs)])
        bars.append(bar(f"{name}: not worse than pymanopt", not_worse, least=0.95))
    shown = table(
        "From the same start; our seconds include the proof with its global bound",
        "problem | starts | not worse | better | our s | pymanopt s",
        rows,
    )
    return {"table": shown, "bars": bars}
