"""The solver loop: states, solutions, progress and capability checks."""

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

    objective: tuple[str, ...] | None = ("value", "gradient")
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
    if x is not None:
        x = _checked_start(problem, x)
    search = _Bookkeeping(problem, solver, tol, time.perf_counter())
    try:
        search.begin(x)
        while not (_told(callback, search) or search.finished(max_iter, max_time)):
            search.advance()
    except BaseException as error:
        search.attach_to(error)
        raise
    return search.solution()


class _Bookkeeping:
    """The bookkeeping of one call of `solve`."""

    def __init__(
        self, problem: Problem, solver: Solver, tol: float, started: float
    ) -> None:
        self.problem, self.solver, self.tol = problem, solver, tol
        self.started = started
        self.history: list[Progress] = []
        self.state: State | None = None
        self.best: State | None = None
        self.proof: Certificate | None = None
        self.n_iter = 0
        self.ended = "interrupted"
        self._restarted_at = -1

    def begin(self, x: Array | None) -> None:
        """Take the first state and write it down."""
        self._enter(self.solver.begin(self.problem, x))
        self._record()

    def advance(self) -> None:
        """Take one step and write it down."""
        assert self.state is not None
        state = self.solver.step(self.problem, self.state)
        self.n_iter += 1
        self._enter(state)
        self._record()

    def finished(self, max_iter: int, max_time: float | None) -> bool:
        """Tell whether a proof is there or a budget used up."""
        assert self.state is not None
        if self.state.claim.holds(self.tol):
            proof = self.problem.certify(self.state.x, self.state.hint)
            if proof.holds(self.tol) or self._restarted_at == self.n_iter:
                self.best, self.proof = self.state, proof
                self.ended = "proved"
                return True
            # The solver's running sums have drifted from its point: begin there anew.
            self._restarted_at = self.n_iter
            self._enter(self.solver.begin(self.problem, self.state.x))
            return self.finished(max_iter, max_time)
        if self.state.stalled:
            self.ended = "stalled: no step improves the point"
        elif self.n_iter >= max_iter:
            self.ended = f"max_iter = {max_iter} reached"
        elif max_time is not None and self._clock() >= max_time:
            self.ended = f"max_time = {max_time:g} s reached"
        else:
            return False
        return True

    def attach_to(self, error: BaseException) -> None:
        """Give an exception the best point with its proof, if that can be had."""
        if self.best is None:
            return
        try:
            error.solution = self.solution()  # type: ignore[attr-defined]
        except BaseException:  # what broke the search may break the proof as well
            return
        error.add_note("the best point so far, with its proof, is in error.solution")

    def progress(self) -> Progress:
        """Return the last line of the history with its point."""
        assert self.state is not None
        return replace(self.history[-1], x=self.state.x)

    def solution(self) -> Solution:
        """Return the best point with the problem's own proof."""
        assert self.best is not None
        proof = self.proof or self.problem.certify(self.best.x, self.best.hint)
        return Solution(
            self.best.x,
            proof,
            self.tol,
            self.n_iter,
            self._clock(),
            tuple(self.history),
            self.ended,
        )

    def _enter(self, state: State) -> None:
        self.state = state
        if self.best is None or _better(state.claim, self.best.claim):
            self.best = state

    def _record(self) -> None:
        assert self.state is not None
        claim = self.state.claim
        gap = claim.gap
        if not math.isfinite(gap) and claim.residual is not None:
            gap = claim.residual
        self.history.append(
            Progress(
                self.n_iter,
                self._clock(),
                claim.objective,
                gap,
                int(np.count_nonzero(self.state.x)),
                self.state.counts,
            )
        )

    def _clock(self) -> float:
        return time.perf_counter() - self.started


def _told(callback: Callable[[Progress], object] | None, search: _Bookkeeping) -> bool:
    """Tell the callback how far the search is, and whether it says to end it."""
    if callback is None:
        return False
    answer = callback(search.progress())
    if isinstance(answer, bool | np.bool_) and answer:
        search.ended = "ended by the callback"
        return True
    return False


def _checked_start(problem: Any, x: Array) -> Array:
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


def _better(new: Certificate, old: Certificate) -> bool:
    """Tell whether a claim is better: inside, lower, or as low with a smaller gap.

    Of two points outside, the nearer one is better.
    """
    inside, was_inside = new.infeasibility <= FEASIBLE, old.infeasibility <= FEASIBLE
    if inside != was_inside:
        return inside
    if not inside:
        return new.infeasibility < old.infeasibility
    noise = 1e-14 * max(1.0, abs(old.objective))
    if abs(new.objective - old.objective) <= noise:
        return new.gap <= old.gap
    return new.objective < old.objective
