"""Problems with orthogonality constraints, solved and certified."""

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from counterpoise.data.parameters import (
    SolverChoice,
    as_random,
    check_choice,
    check_integer,
    check_number,
    check_solver,
    resolve_solver,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError, warn_user
from counterpoise.linalg.arrays import Array
from counterpoise.linalg.stiefel import orthonormality, polar
from counterpoise.optim.certificate import FEASIBLE
from counterpoise.optim.loop import Progress, Solution, Solver, solve
from counterpoise.optim.registry import solver_classes
from counterpoise.optim.stiefel.problem import OrthogonalProblem
from counterpoise.optim.stiefel.relaxations import Relaxation
from counterpoise.optim.stiefel.solvers import ORTHOGONAL_SOLVERS, orthogonal_solver

RELAXATIONS = ("sdp", "parabolic")
ORTHOGONAL_SOLVER_CHOICE = SolverChoice(
    ("auto", *ORTHOGONAL_SOLVERS), solver_classes("orthogonal")
)
# A penalty this many times the slope that leaves the start where it is: too large.
FAR_TOO_LARGE, AT_THE_START = 100.0, 1e-6


def solve_orthogonal(
    problem: OrthogonalProblem,
    *,
    relaxation: str = "sdp",
    penalty: float | str = "auto",
    start: ArrayLike | None = None,
    solver: str | Solver = "auto",
    polish: bool = True,
    tol: float = 1e-6,
    max_iter: int = 100,
    max_time: float | None = None,
    callback: Callable[[Progress], object] | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Solution:
    """Solve an `OrthogonalProblem` and certify the solution.

    Parameters
    ----------
    problem : OrthogonalProblem
    relaxation : {"sdp", "parabolic"}
        What a round relaxes to: semidefinite cones, or second-order cones.
    penalty : "auto" or float
        Weight of staying near the last point. "auto": just above the problem's `slope`,
        doubled in every round until feasible, then halved while that goes well (P >= 0
        alone: rising from a small one). A number is kept.
    start : array of shape (n, m), optional
        Where to begin, with orthonormal columns, feasible or not.
    solver : str or Solver, default="auto"
        "auto", "relaxation", "fista", "softmin", "mm" or "eigen", see
        `counterpoise.optim.stiefel.solvers.orthogonal_solver`; `relaxation`, `penalty`
        and `polish` are theirs. Or a solver object of `counterpoise.optim` with its own
        settings, such as ``SequentialRelaxation("parabolic", penalty=10.0)``.
    polish : bool
        Whether Newton steps on what is active follow the rounds.
    tol : float
        Residual of the optimality conditions to reach, in units of the `slope`.
    max_iter : int
        Most rounds.
    max_time : float, optional
        Seconds after which no further round begins.
    callback : callable, optional
        Called with the `Progress` at the start and after every round; its `x` is the
        round's point. True ends the search.
    random_state : None, int or RandomState
        Draws the start where none is given.

    Returns
    -------
    Solution
        `x` of shape (n, m), feasible to 1e-6 or with a `ConvergenceWarning` "no
        feasible point found"; the objective never rises after the first feasible round.
        Its certificate holds by stationarity; bound and gap are the global ones.

    Raises
    ------
    SolverMismatchError
        If the solver does not take the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.subspaces import OrthogonalProblem, solve_orthogonal
    >>> M = np.diag([3.0, 1.0, 2.0])
    >>> solution = solve_orthogonal(OrthogonalProblem(M, n_columns=1))
    >>> round(solution.certificate.objective, 6), solution.converged
    (1.0, True)
    """
    if not isinstance(problem, OrthogonalProblem):
        raise InvalidTypeError(
            f"problem must be an OrthogonalProblem, got {type(problem).__name__}"
        )
    mu = check_search_parameters(relaxation, penalty, tol, max_iter, max_time)
    check_solver("solver", solver, ORTHOGONAL_SOLVER_CHOICE)
    if solver == "fista" and relaxation != "sdp":
        raise InvalidInputError('solver="fista" is of relaxation="sdp" alone')
    n, m = problem.shape
    if problem.nonnegative and n == m:
        warn_user(
            f"P is square ({n}) and not negative: only permutations are feasible, "
            "which an assignment method finds better"
        )
    first = read_start(problem, start, random_state)
    method = resolve_solver(
        "solver",
        solver,
        ORTHOGONAL_SOLVER_CHOICE,
        lambda name: orthogonal_solver(
            problem, name, cast(Relaxation, relaxation), mu, polish
        ),
        problem,
    )
    solution = solve(
        problem,
        method,
        first,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        callback=callback,
    )
    stays = float(np.linalg.norm(solution.x - first)) < AT_THE_START
    if mu is not None and mu > FAR_TOO_LARGE * problem.slope and stays:
        warn_user(
            f"penalty = {mu:g} is {mu / problem.slope:.3g} times the slope of the "
            "objective: it keeps the start; a smaller one moves it"
        )
    else:
        warn_if_not_converged("solve_orthogonal", solution)
    return solution


def check_search_parameters(
    relaxation: object, penalty: object, tol: object, max_iter: object, max_time: object
) -> float | None:
    """Check the parameters of a search; return the penalty, None for "auto"."""
    check_choice("relaxation", relaxation, RELAXATIONS)
    mu = check_number("penalty", penalty, low=0.0, closed="neither", options=("auto",))
    check_number("tol", tol, low=0.0, closed="neither")
    check_integer("max_iter", max_iter, low=1)
    check_number("max_time", max_time, low=0.0, options=(None,))
    return None if isinstance(mu, str) else mu


def read_start(
    problem: OrthogonalProblem,
    start: ArrayLike | None,
    random_state: int | np.random.RandomState | None,
) -> Array:
    """Return the validated start, or one that is drawn."""
    if start is None:
        drawn = as_random(random_state).standard_normal(problem.shape)
        return polar(np.abs(drawn) if problem.nonnegative else drawn)
    first = problem.read_point("start", start)
    deviation = orthonormality(first)
    if deviation > FEASIBLE:
        raise InvalidInputError(
            "start must have orthonormal columns: an entry of |P'P - I| is "
            f"{deviation:.2g}"
        )
    return first


def warn_if_not_converged(name: str, solution: Solution) -> None:
    """Warn where a solution is not feasible or not stationary."""
    if solution.converged:
        return
    violation = solution.certificate.infeasibility
    if violation > FEASIBLE:
        words = f"no feasible point found: the least violation is {violation:.3g}"
        warn_user(f"{name}: {words} ({solution.ended})", ConvergenceWarning)
    else:
        warn_user(f"{name}: {solution}", ConvergenceWarning)
