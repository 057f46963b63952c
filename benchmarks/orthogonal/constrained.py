"""Do rounds find feasible frames, and does the objective then never rise?

Random problems, n = 8 to 20, m = 2, with 1 to 3 quadratic constraints; starts are
random frames, most of them infeasible.
"""

import itertools

import numpy as np
from random_frames import constrained
from reporting import bar, table

from counterpoise.subspaces import solve_orthogonal

FIRST_SEED = 10_000


def run(quick):
    rows, bars = [], []
    count = 10 if quick else 50
    for relaxation in ("sdp", "parabolic"):
        for slack in (0.1, 0.0):
            found = [_one(FIRST_SEED + k, relaxation, slack) for k in range(count)]
            soon, first, rises, below, proved, gaps, seconds = zip(*found, strict=True)
            rows.append(
                [
                    relaxation,
                    slack,
                    np.mean(soon),
                    np.max([k for k in first if k is not None]),
                    int(sum(rises)),
                    int(sum(below)),
                    np.mean(proved),
                    np.median(gaps),
                    np.mean(seconds),
                ]
            )
            what = f"{relaxation}, slack {slack:g}"
            bars += [
                bar(f"{what}: feasible within 20 rounds", np.mean(soon), least=0.95),
                bar(f"{what}: problems that rise once feasible", sum(rises), most=0),
                bar(f"{what}: problems below their bound", sum(below), most=0),
            ]
    shown = table(
        f"{count} random constrained problems each",
        "relaxation | slack | feasible in 20 rounds | last first feasible round | "
        "rise later | below bound | proved stationary | median global gap | s",
        rows,
    )
    return {"table": shown, "bars": bars}


def _one(seed, relaxation, slack):
    problem, start = constrained(seed, slack)
    seen = []

    def look(progress):
        seen.append((problem.infeasibility(progress.x), problem.value(progress.x)))

    solution = solve_orthogonal(
        problem, relaxation=relaxation, start=start, callback=look
    )
    first = next((k for k, one in enumerate(seen) if one[0] <= 1e-6), None)
    later = [value for _, value in seen[first:]] if first is not None else []
    rises = any(b > a + 1e-9 for a, b in itertools.pairwise(later))
    proof = solution.certificate
    below = first is not None and min(later) < proof.bound - 1e-9
    soon = first is not None and first <= 20 and proof.infeasibility <= 1e-6
    return (
        soon,
        first,
        rises,
        below,
        solution.converged,
        proof.gap / problem.slope,
        solution.seconds,
    )
