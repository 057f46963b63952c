"""What a solver must satisfy."""

import math
from typing import Any

from counterpoise.convex.loop import Solution, solve
from counterpoise.convex.requirements import SolverMismatchError
from counterpoise.numerics.arrays import Array


def check_solver(
    solver: Any,
    problem: Any,
    optimum: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    must_converge: bool = False,
    other_start: Array | None = None,
) -> Solution | None:
    """Check a solver on a problem, and return what it found.

    Every iterate is feasible and none is better than the optimum; what the solver
    claims about its point is what the problem proves; a solution that has converged
    agrees with the optimum to `tol`, and from another start too; one that has not says
    so. A problem that the solver does not accept must be refused with words, and gives
    None.

    Parameters
    ----------
    solver : Solver
    problem : Problem
    optimum : float
        The least value, from a closed form or somebody else's solver.
    tol, max_iter
        As for `solve`.
    must_converge : bool
        Whether an answer without a proof is a failure.
    other_start : array, optional
        Another feasible point to begin from.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import Constrained, Quadratic, Simplex
    >>> from counterpoise.convex import FrankWolfe
    >>> from counterpoise.testing import check_solver
    >>> problem = Constrained(Quadratic(np.eye(4), np.zeros(4)), Simplex(4))
    >>> check_solver(FrankWolfe("away"), problem, 0.125, must_converge=True).converged
    True
    """
    if solver.accepts.lacking(problem):
        _check_refusal(solver, problem)
        return None
    slack = 1e-7 * max(1.0, abs(optimum))

    def look(progress: Any) -> None:
        proof = problem.certify(progress.x)
        assert proof.infeasibility <= 1e-9, f"an iterate is outside: {proof}"
        assert proof.objective >= optimum - slack, f"better than the optimum: {proof}"
        if math.isfinite(progress.gap):
            claims = (progress.objective, progress.gap)
            truth = (proof.objective, proof.gap)
            for claimed, proved in zip(claims, truth, strict=True):
                assert abs(claimed - proved) <= slack + 1e-6 * abs(proved), (
                    f"the solver claims {claims}, the problem proves {truth}"
                )

    solution = solve(problem, solver, tol=tol, max_iter=max_iter, callback=look)
    _check_solution(solution, problem, optimum, tol, must_converge)
    if other_start is not None:
        again = solve(problem, solver, other_start, tol=tol, max_iter=max_iter)
        _check_solution(again, problem, optimum, tol, must_converge)
    return solution


def _check_refusal(solver: Any, problem: Any) -> None:
    try:
        solve(problem, solver)
    except SolverMismatchError:
        return
    raise AssertionError("a problem that is not accepted was not refused")


def _check_solution(
    solution: Solution, problem: Any, optimum: float, tol: float, must_converge: bool
) -> None:
    proof = problem.certify(solution.x)
    assert solution.converged == proof.holds(tol), (
        "the certificate is not the problem's"
    )
    excess = solution.certificate.objective - optimum
    assert excess <= solution.certificate.gap + 1e-7 * max(1.0, abs(optimum))
    if solution.converged:
        assert abs(excess) <= tol * max(1.0, abs(optimum), proof.scale), (
            f"converged {excess} from the optimum"
        )
    else:
        assert "NOT converged" in str(solution)
        assert not must_converge, f"must converge, but {solution}"
