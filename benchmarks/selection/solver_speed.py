"""To a certified gap of 1e-4: our solvers against Clarabel called directly."""

import numpy as np
from instances import image_like
from reporting import bar, table, timed

from counterpoise.optim import ProximalADMM, SlackADMM, solve
from counterpoise.optim.assignment.problem import SparseAssignment, one_word_penalty
from counterpoise.optim.assignment.solvers import clarabel_assignment
from counterpoise.selection import SubsetSelector

TOL, WORDS = 1e-4, 20
SIZES = (40, 120, 200, 300)
GAMMAS = (1e-3, 3e-2)


def run(quick):
    rows, given, inside = [], {}, {}
    sizes = SIZES[:3] if quick else SIZES
    draws = [(n, seed) for n in sizes for seed in range(1 if quick else 5)]
    for n, seed in draws:
        one = image_like(n, WORDS, seed)
        gamma = GAMMAS[seed % len(GAMMAS)]
        sparsity = (0.15, 0.2, 0.3)[seed % 3]
        penalty = sparsity * one_word_penalty(one.costs).low
        problem = SparseAssignment(one.costs, penalty, one.L, gamma)
        solve(problem, ProximalADMM(), tol=TOL, max_iter=2)
        ours, found = timed(lambda: solve(problem, ProximalADMM(), tol=TOL))  # noqa: B023
        theirs, answer = timed(lambda: clarabel_assignment(problem), calls=2)  # noqa: B023
        judged = problem.certify(problem.inside(answer[0].ravel()))
        slack, other = timed(
            lambda: solve(problem, SlackADMM(), tol=TOL, max_iter=1000),  # noqa: B023
            calls=1,
        )
        selector = SubsetSelector("precomputed", sparsity, n * gamma, tol=TOL)
        whole, fitted = timed(
            lambda: selector.fit(one.R, graph=one.W, sample_weight=one.mass)  # noqa: B023
        )
        assert found.converged
        assert fitted.solution_.converged
        assert found.certificate.bound <= judged.objective * (1 + 1e-7)
        excess = found.certificate.objective / judged.objective - 1.0
        given.setdefault(n, []).append(theirs / ours)
        inside.setdefault(n, []).append(theirs / whole)
        rows.append(
            [
                n,
                gamma,
                sparsity,
                1e3 * ours,
                found.history[-1].counts["iterations"],
                1e3 * whole,
                1e3 * slack if other.converged else None,
                1e3 * theirs,
                theirs / ours,
                theirs / whole,
                excess,
            ]
        )
    header = (
        "n | gamma | sparsity | ours ms | iterations | fit ms | slack ms | "
        "Clarabel ms | times | times, fit | excess"
    )
    large = [x for n in sizes if n >= 120 for x in given[n]]
    fits = [x for n in sizes if n >= 120 for x in inside[n]]
    return {
        "table": table("Certified gap 1e-4, l = 20", header, rows),
        "bars": [
            bar("n >= 120, median times faster", float(np.median(large)), least=20),
            bar("n = 40, median times faster", float(np.median(given[40])), least=2),
            bar("n >= 120, with lambda_max", float(np.median(fits)), least=5),
        ],
    }
