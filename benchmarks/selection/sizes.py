"""Large problems: n = 3,000 items and 50 words to a certified gap of 1e-4."""

from instances import image_like
from reporting import bar, table, timed

from counterpoise.optim import ProximalADMM, solve
from counterpoise.optim.assignment.problem import SparseAssignment, one_word_penalty


def run(quick):
    rows, bars = [], []
    for n, words, share in ((1000, 20, 0.2), (3000, 50, 0.1), (3000, 50, 0.3)):
        if quick and n > 1000:
            continue
        one = image_like(n, words, 3)
        penalty = share * one_word_penalty(one.costs).low
        problem = SparseAssignment(one.costs, penalty, one.L, 1e-3)
        solve(problem, ProximalADMM(), tol=1e-4, max_iter=1)
        seconds, found = timed(
            lambda: solve(problem, ProximalADMM(), tol=1e-4),  # noqa: B023
            calls=1,
        )
        gap = found.certificate.gap / found.certificate.scale
        iterations = found.history[-1].counts["iterations"]
        rows.append([n, words, share, seconds, iterations, gap])
        if n == 3000:
            bars.append(bar(f"n = 3000, l = 50, sparsity {share}: s", seconds, most=30))
        assert found.converged
    header = "n | l | sparsity | s | iterations | gap"
    return {"table": table("Large problems", header, rows), "bars": bars}
