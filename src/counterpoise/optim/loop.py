"""The solver loop: states, solutions, progress and capability checks."""

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from counterpoise.linalg.arrays import Array, finite_array
from counterpoise.optim.certificate import FEASIBLE, Certificate, Problem

# -----------------------------------------------------------------------------
# What a solver needs of a problem, said in advance and checked by name.
# -----------------------------------------------------------------------------


PARTS = ("objective", "domain", "penalty")


class SolverMismatchError(TypeError):
    """A solver was given a problem that it does not accept."""

    def __init__(self, solver: str, problem: object, lacking: list[str]) -> None:
        super().__init__(
            f"{solver} does not accept this {type(problem).__name__}: "
            + "; ".join(lacking)
        )
        self.lacking = lacking


class Acceptance(Protocol):
    """Whatever tells which problems a solver accepts."""

    def lacking(self, problem: object) -> list[str]:
        """Return what stands against the problem, in words; nothing if accepted."""
        ...


@dataclass(frozen=True)
class Requirements:
    """The parts a problem may have, and the capabilities each must offer.

    Parameters
    ----------
    objective, domain, penalty : tuple of str or None
        What that part of the problem must have; None: a problem with such a part is
        not accepted.
    problem : tuple of str
        What the problem itself must have.
    hint : str
        What helps where something is missing.
    """

    objective: tuple[str, ...] | None = ("evaluate",)
    domain: tuple[str, ...] | None = None
    penalty: tuple[str, ...] | None = None
    problem: tuple[str, ...] = ()
    hint: str = ""

    def lacking(self, problem: object) -> list[str]:
        """Return what the problem lacks, in words; nothing if it is accepted."""
        out = []
        parts = {part: getattr(problem, part, None) for part in PARTS}
        for part, owner in parts.items():
            wanted = getattr(self, part)
            if owner is None:
                continue
            if wanted is None:
                out.append(f"it takes no problem with a {part}")
            else:
                out += [
                    f"the {part} {type(owner).__name__} has no `{name}`"
                    for name in wanted
                    if getattr(owner, name, False) is False
                ]
        bounded = [part for part in PARTS[1:] if getattr(self, part) is not None]
        unbounded = all(parts[part] is None for part in bounded)
        if bounded and unbounded and not out:
            out.append(f"a {type(problem).__name__} has no {' and no '.join(bounded)}")
        out += [
            f"a {type(problem).__name__} has no `{name}`"
            for name in self.problem
            if not hasattr(problem, name)
        ]
        if not any(hasattr(problem, part) for part in PARTS):
            out.append(
                "it has neither objective, domain nor penalty; a problem is needed, "
                "such as Constrained(objective, domain)"
            )
        return [*out, self.hint] if out and self.hint else out


# -----------------------------------------------------------------------------
# The one loop: budgets, clock, progress, history and the last proof.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class State:
    """Where a solver is.

    `claim` is what its own running sums say about `x`; the loop goes on by it and
    believes only `certify`. `memory` is the solver's own; `hint` goes to `certify`.
    A solver that cannot improve `x` any more says so by `stalled`.
    """

    x: Array
    claim: Certificate
    memory: Any = None
    hint: object = None
    counts: Mapping[str, int] = field(default_factory=dict)
    stalled: bool = False


class Solver(Protocol):
    """Hyper-parameters and a step; it neither loops nor stops."""

    @property
    def accepts(self) -> Acceptance:
        """What a problem must be and have."""
        ...

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at x or at a start of the solver's choice."""
        ...

    def step(self, problem: Any, state: State) -> State:
        """Return the next state."""
        ...


@dataclass(frozen=True)
class Progress:
    """What was known after `n_iter` steps.

    `support` counts the non-zero entries of the point, `counts` the kinds of steps so
    far. `x` is the point itself; callbacks see it, a history does not keep it.
    """

    n_iter: int
    seconds: float
    objective: float
    gap: float
    support: int
    counts: Mapping[str, int]
    x: Array | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Solution:
    """A point, what the problem proves about it, and how it was found.

    Made by `solve`, `certified`, `attested` and `placed`, and by nobody else.

    `ended` says in words what ended the search.
    """

    x: Array
    certificate: Certificate
    tol: float
    n_iter: int = 0
    seconds: float = 0.0
    history: tuple[Progress, ...] = ()
    ended: str = "proved"

    @property
    def converged(self) -> bool:
        """Whether the certificate holds at the tolerance that was asked for."""
        return self.certificate.holds(self.tol)

    def __str__(self) -> str:
        verdict = "converged" if self.converged else f"NOT converged ({self.ended})"
        steps = "1 step" if self.n_iter == 1 else f"{self.n_iter} steps"
        return (
            f"{verdict} at tol {self.tol:g} after {steps}, {self.seconds:.2g} s; "
            f"{self.certificate}"
        )


class Provable(Protocol):
    """The half of a problem that proves."""

    @property
    def certify(self) -> Callable[..., Certificate]:
        """Bound how far a point is from optimal, whoever found it."""
        ...


def certified(
    problem: Provable,
    x: Array,
    tol: float = 1e-9,
    *,
    n_iter: int = 0,
    seconds: float = 0.0,
    ended: str = "proved",
    hint: object = None,
) -> Solution:
    """Return the solution that a closed form or a path gave: same proof, no loop.

    A `hint` goes to the problem's `certify`.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Constrained, Quadratic, Simplex
    >>> from counterpoise.optim import certified
    >>> problem = Constrained(Quadratic(np.eye(3), np.zeros(3)), Simplex(3))
    >>> certified(problem, np.full(3, 1 / 3)).converged
    True
    >>> certified(problem, np.array([1.0, 0.0, 0.0])).converged
    False
    """
    proof = problem.certify(x) if hint is None else problem.certify(x, hint)
    return Solution(x, proof, tol, n_iter, seconds, ended=ended)


def placed(solution: Solution, x: Array) -> Solution:
    """Return a solution with its point in the coordinates of a larger problem.

    For a problem whose other coordinates are known to be idle at an optimum: what is
    proved of the smaller one is then proved of the larger one too.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Constrained, Quadratic, Simplex
    >>> from counterpoise.optim import placed, solve
    >>> problem = Constrained(Quadratic(np.eye(3), np.zeros(3)), Simplex(3))
    >>> placed(solve(problem), np.append(solve(problem).x, 0.0)).x.shape
    (4,)
    """
    return replace(solution, x=x)


def attested(
    x: Array,
    certificate: Certificate,
    tol: float,
    *,
    n_iter: int = 0,
    seconds: float = 0.0,
    ended: str = "proved",
) -> Solution:
    """Return the solution of a point that comes with its certificate.

    For answers of many small problems that were proved together, and for points of
    which nothing is to be proved (kind "none").

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Constrained, Quadratic, Simplex
    >>> from counterpoise.optim import attested
    >>> problem = Constrained(Quadratic(np.eye(3), np.zeros(3)), Simplex(3))
    >>> x = np.full(3, 1 / 3)
    >>> attested(x, problem.certify(x), tol=1e-9).converged
    True
    """
    return Solution(x, certificate, tol, n_iter, seconds, ended=ended)


def solve(
    problem: Problem,
    solver: Solver | None = None,
    x: Array | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    max_time: float | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> Solution:
    """Return a point of the problem with a proof of how far it is from optimal.

    Parameters
    ----------
    problem : Problem
    solver : Solver, optional
        By default `default_solver(problem)`.
    x : array, optional
        Where to begin; a point of the domain.
    tol : float
        The gap to reach, in units of the certificate's scale.
    max_iter : int
        Largest number of steps.
    max_time : float, optional
        Seconds after which no further step begins.
    callback : callable, optional
        Called with the `Progress` at the start and after every step; True ends the
        search.

    Returns
    -------
    Solution
        Its `certificate` is computed by the problem from `x` alone, after the last
        step. Where the search ended early, `x` is the best point it has seen and
        `converged` is false.

    Raises
    ------
    SolverMismatchError
        If the solver does not accept the problem; the message names what is missing.
    BaseException
        Whatever interrupts the search is raised again with the best certified point
        attached as `.solution`.

    Notes
    -----
    A proof is as true as the objective is convex; `testing.check_objective` looks.
    Compiled parts are made at their first use, which takes some seconds once.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Constrained, Quadratic, Simplex
    >>> problem = Constrained(Quadratic(np.eye(3), np.zeros(3)), Simplex(3))
    >>> solve(problem).x.round(3)
    array([0.333, 0.333, 0.333])
    """
    if not tol > 0.0:
        raise ValueError(f"tol must be positive, got {tol}")
    if max_iter < 0 or (max_time is not None and max_time < 0):
        raise ValueError(
            f"max_iter and max_time must not be negative, got {max_iter} and {max_time}"
        )
    solver = _accepted_solver(problem, solver)
    if x is not None:
        x = _checked_start(problem, x)
    started = time.perf_counter()
    history: list[Progress] = []
    best: State | None = None
    proof: Certificate | None = None
    ended, restarted_at = "interrupted", -1
    try:
        state = best = solver.begin(problem, x)
        while True:
            seconds = time.perf_counter() - started
            n_iter = len(history)
            history.append(_progress(n_iter, seconds, state))
            if callback is not None:
                answer = callback(replace(history[-1], x=state.x))
                if isinstance(answer, bool | np.bool_) and answer:
                    ended = "ended by the callback"
                    break
            while state.claim.holds(tol):
                proof = problem.certify(state.x, state.hint)
                if proof.holds(tol) or restarted_at == n_iter:
                    best, ended = state, "proved"
                    break
                # The solver's running sums have drifted from its point: begin anew.
                proof, restarted_at = None, n_iter
                state = solver.begin(problem, state.x)
                best = _better(state, best)
            if ended == "proved":
                break
            if state.stalled:
                ended = "stalled: no step improves the point"
            elif n_iter >= max_iter:
                ended = f"max_iter = {max_iter} reached"
            elif max_time is not None and time.perf_counter() - started >= max_time:
                ended = f"max_time = {max_time:g} s reached"
            if ended != "interrupted":
                break
            state = solver.step(problem, state)
            best = _better(state, best)
    except BaseException as error:
        if best is not None:
            with contextlib.suppress(BaseException):  # the proof may be broken as well
                found = _solution(problem, best, None, tol, started, history, ended)
                error.solution = found  # type: ignore[attr-defined]
                error.add_note(
                    "the best point so far, with its proof, is in error.solution"
                )
        raise
    return _solution(problem, best, proof, tol, started, history, ended)


def _accepted_solver(problem: Problem, solver: Solver | None) -> Solver:
    """Return the solver, the default one for None; refuse one that does not fit."""
    if solver is None:
        from counterpoise.optim.registry import default_solver

        solver = default_solver(problem)
    accepts = getattr(solver, "accepts", None)
    if isinstance(solver, type) or accepts is None:
        raise TypeError(
            f"solver must be an instance such as FrankWolfe('away'), got {solver!r}"
        )
    lacking = accepts.lacking(problem)
    if lacking:
        raise SolverMismatchError(type(solver).__name__, problem, lacking)
    return solver


def _progress(n_iter: int, seconds: float, state: State) -> Progress:
    claim = state.claim
    gap = claim.gap
    if not math.isfinite(gap) and claim.residual is not None:
        gap = claim.residual
    support = int(np.count_nonzero(state.x))
    return Progress(n_iter, seconds, claim.objective, gap, support, state.counts)


def _solution(
    problem: Problem,
    best: State,
    proof: Certificate | None,
    tol: float,
    started: float,
    history: list[Progress],
    ended: str,
) -> Solution:
    """Return the best point with the problem's own proof."""
    proof = proof or problem.certify(best.x, best.hint)
    seconds = time.perf_counter() - started
    n_iter = max(len(history) - 1, 0)
    return Solution(best.x, proof, tol, n_iter, seconds, tuple(history), ended)


def _checked_start(problem: Problem, x: Array) -> Array:
    """Return a copy of a start that lies in the problem's set and has a value."""
    x = finite_array("x", x, getattr(problem, "point_dimensions", 1)).copy()
    part = getattr(problem, "domain", None) or getattr(problem, "penalty", None)
    if part is not None and x.shape != (part.size,):
        raise ValueError(f"x must have shape ({part.size},), got {x.shape}")
    domain = getattr(problem, "domain", None)
    if domain is not None and domain.infeasibility(x) > 0.0:
        outside = domain.infeasibility(x)
        if outside > FEASIBLE:
            raise ValueError(f"x is outside the domain by {outside:.2g}")
        x = domain.project(x)
    objective = getattr(problem, "objective", None)
    if objective is not None and not math.isfinite(objective.value(x)):
        raise ValueError("the objective has no finite value at x")
    return x


def _better(new: State, old: State) -> State:
    """Return the better state: inside, then lower, then of the smaller gap.

    Of two points outside, the nearer one is better.
    """
    a, b = new.claim, old.claim
    inside, was_inside = a.infeasibility <= FEASIBLE, b.infeasibility <= FEASIBLE
    if inside != was_inside:
        is_better = inside
    elif not inside:
        is_better = a.infeasibility < b.infeasibility
    elif abs(a.objective - b.objective) <= 1e-14 * max(1.0, abs(b.objective)):
        is_better = a.gap <= b.gap
    else:
        is_better = a.objective < b.objective
    return new if is_better else old
