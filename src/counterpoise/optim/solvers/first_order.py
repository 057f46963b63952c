"""Projected and proximal gradient methods and ADMM."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import DomainProblem
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import Evaluation
from counterpoise.optim.problems import Penalized

# -----------------------------------------------------------------------------
# What several methods share: line search, start, prox or projection.
# -----------------------------------------------------------------------------


def armijo_step(
    after: Callable[[float], Evaluation], ceiling: float, limit: float, slope: float
) -> tuple[float, Evaluation | None]:
    """Return the first of limit, limit/2, ... that lowers the value enough.

    Enough is a ten-thousandth of `step * slope`, the fall that the gradient predicts,
    below `ceiling` (the value at the point), up to rounding of that value. 0 and None
    if no step does so. `after` evaluates the objective after a step.
    """
    ceiling += 2e-16 * max(1.0, abs(ceiling))
    step = limit
    while step > 1e-16 * limit:
        there = after(step)
        if math.isfinite(there.value) and there.value <= ceiling - 1e-4 * step * slope:
            return step, there
        step *= 0.5
    return 0.0, None


def few_atoms(problem: DomainProblem) -> Array:
    """Return a start that is a single vertex if the objective allows it.

    A problem's own start may be a mixture of all atoms; a method that keeps the
    atoms of its point wants few of them. A vertex whose gap is far larger than that
    of the start lies at the edge of where the objective is defined, and is not taken.
    """
    start = problem.start()
    if np.count_nonzero(start) < 0.5 * start.size:
        return start
    vertex = problem.domain.vertex(problem.objective.gradient(start))
    there, here = problem.certify(vertex), problem.certify(start)
    # A gap in nats hides how steep a point is; its residual does not.
    far, near = there.residual or there.gap, here.residual or here.gap
    return vertex if far <= 1e3 * near else start


def prox_or_projection(
    problem: DomainProblem | Penalized, v: Array, step: float
) -> Array:
    """Return the prox of the penalty at v, or the projection on the domain."""
    if isinstance(problem, Penalized):
        return problem.penalty.prox(v, step)
    return problem.domain.project(v)


# -----------------------------------------------------------------------------
# Spectral projected gradient steps.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _ProjectedGradientMemory:
    here: Evaluation
    length: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class ProjectedGradient:
    r"""Spectral projected gradient with a non-monotone line search.

    The direction is :math:`P(x - t g) - x` with the Barzilai-Borwein length
    :math:`t = |s|^2 / s'y`; the step along it is halved until the value falls enough
    below the worst of the last `memory` values. A step costs one gradient, one
    projection and one image.

    References
    ----------
    Birgin, Martinez and Raydan (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import MixtureLikelihood, ProjectedGradient, solve
    >>> problem = MixtureLikelihood(np.random.default_rng(0).random((20, 4)) + 0.1)
    >>> solve(problem, ProjectedGradient(), tol=1e-6).converged
    True
    """

    memory: int = 10

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise ValueError(f"memory must be at least 1, got {self.memory}")

    accepts: ClassVar[Requirements] = Requirements(domain=("project",))

    def begin(self, problem: DomainProblem, x: Array | None) -> State:
        """Return the first state."""
        here = problem.objective.evaluate(problem.start() if x is None else x)
        length = 1.0 / max(float(np.abs(here.gradient).max()), 1e-10)
        claim = problem.judge(here.x, here.value, here.gradient)
        memory = _ProjectedGradientMemory(here, length, (here.value,))
        return State(here.x, claim, memory)

    def step(self, problem: DomainProblem, state: State) -> State:
        """Return the state after one step."""
        memory: _ProjectedGradientMemory = state.memory
        objective, here = problem.objective, memory.here
        direction = problem.domain.project(here.x - memory.length * here.gradient)
        direction -= here.x
        slope = -float(here.gradient @ direction)
        if slope <= 0.0:
            return replace(state, stalled=True)
        image = objective.image(direction)
        after = partial(objective.after_step, here, direction, image)
        _, there = armijo_step(after, max(memory.values), 1.0, slope)
        if there is None:
            return replace(state, stalled=True)
        # Rounding may leave the set by an ulp: the projection of a point this near is
        # cheap, and keeps the iterates inside.
        if problem.domain.infeasibility(there.x) > 0.0:
            there = objective.evaluate(problem.domain.project(there.x))
        moved, turned = there.x - here.x, there.gradient - here.gradient
        bend = float(moved @ turned)
        length = float(moved @ moved) / bend if bend > 0.0 else 1e10
        length = min(max(length, 1e-10), 1e10)
        values = (*memory.values, there.value)[-self.memory :]
        claim = problem.judge(there.x, there.value, there.gradient)
        return State(there.x, claim, _ProjectedGradientMemory(there, length, values))


# -----------------------------------------------------------------------------
# Accelerated proximal gradient steps.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _ProximalGradientMemory:
    here: Evaluation
    ahead: Evaluation
    momentum: float
    length: float


@dataclass(frozen=True)
class ProximalGradient:
    r"""Accelerated proximal gradient with backtracking and restarts.

    :math:`x^+ = \mathrm{prox}(y - t \nabla f(y))`, with y ahead of x by Nesterov's
    momentum; over a domain the prox is the projection. The length t is halved until f
    lies below its quadratic model at y, and grows again slowly; the momentum restarts
    where it points uphill, or where y leaves the region in which f is defined. A step
    costs two gradients (one for the proof) and one prox or projection.

    Parameters
    ----------
    growth : float
        What the length is multiplied with before a step.

    References
    ----------
    Beck and Teboulle (2009). O'Donoghue and Candes (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import L1, LeastSquares, Penalized
    >>> from counterpoise.optim import ProximalGradient, solve
    >>> A = np.random.default_rng(0).standard_normal((20, 4))
    >>> problem = Penalized(LeastSquares(A, A[:, 0]), L1(4, 0.1))
    >>> solve(problem, ProximalGradient(), tol=1e-6).converged
    True
    """

    growth: float = 1.1

    def __post_init__(self) -> None:
        if not self.growth >= 1.0:
            raise ValueError(f"growth must be at least 1, got {self.growth}")

    accepts: ClassVar[Requirements] = Requirements(
        domain=("project",), penalty=("prox",)
    )

    def begin(self, problem: DomainProblem | Penalized, x: Array | None) -> State:
        """Return the first state."""
        here = problem.objective.evaluate(problem.start() if x is None else x)
        size = max(float(np.linalg.norm(here.gradient)), 1e-10)
        length = max(float(np.linalg.norm(here.x)), 1.0) / size
        claim = problem.judge(here.x, here.value, here.gradient)
        return State(here.x, claim, _ProximalGradientMemory(here, here, 1.0, length))

    def step(self, problem: DomainProblem | Penalized, state: State) -> State:
        """Return the state after one step."""
        memory: _ProximalGradientMemory = state.memory
        objective = problem.objective
        here, ahead, momentum = memory.here, memory.ahead, memory.momentum
        if not math.isfinite(ahead.value):
            ahead, momentum = here, 1.0
        slope = ahead.gradient
        length = self.growth * memory.length
        for _ in range(200):
            near = prox_or_projection(problem, ahead.x - length * slope, length)
            there = objective.evaluate(near)
            moved = there.x - ahead.x
            model = float(slope @ moved) + float(moved @ moved) / (2.0 * length)
            # Below rounding of the value the comparison says nothing any more.
            noise = 1e-15 * max(abs(ahead.value), 1.0)
            if there.value <= ahead.value + model + noise:
                break
            length *= 0.5
        else:
            return replace(state, stalled=True)
        progress = there.x - here.x
        if float((ahead.x - there.x) @ progress) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        change = None
        if there.image is not None and here.image is not None:
            change = there.image - here.image
        push = (momentum - 1.0) / following
        ahead = objective.after_step(there, progress, change, push)
        claim = problem.judge(there.x, there.value, there.gradient)
        memory = _ProximalGradientMemory(there, ahead, following, length)
        return State(there.x, claim, memory)


# -----------------------------------------------------------------------------
# The alternating direction method of multipliers.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _ADMMMemory:
    z: Array
    u: Array
    step: float


@dataclass(frozen=True)
class ADMM:
    r"""ADMM on the splitting f(x) + h(z), x = z, h a penalty or a set.

    .. math::

        x = \mathrm{prox}_{t f}(z - u), \quad
        z^+ = \mathrm{prox}_{t h}(a x + (1 - a) z + u), \quad
        u^+ = u + a x + (1 - a) z - z^+

    with relaxation a. The point is z, which is feasible always. The step t is doubled
    or halved while one of the two residuals is ten times the other, less and less
    often, so that the method converges. A step costs one prox of f, one of h, and a
    gradient for the proof.

    Parameters
    ----------
    relaxation : float
        Between 1 and 2.
    step_size : float
        The first t, in units of the inverse curvature of f at the start.

    References
    ----------
    Boyd, Parikh, Chu, Peleato and Eckstein (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import L1, LeastSquares, Penalized, ADMM, solve
    >>> A = np.random.default_rng(0).standard_normal((20, 4))
    >>> problem = Penalized(LeastSquares(A, A[:, 0]), L1(4, 0.1))
    >>> solve(problem, ADMM(), tol=1e-6).converged
    True
    """

    relaxation: float = 1.6
    step_size: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.relaxation < 2.0:
            raise ValueError(f"relaxation must be in (0, 2), got {self.relaxation}")
        if not self.step_size > 0.0:
            raise ValueError(f"step_size must be positive, got {self.step_size}")

    accepts: ClassVar[Requirements] = Requirements(
        objective=("evaluate", "prox"),
        domain=("project",),
        penalty=("prox",),
    )

    def begin(self, problem: DomainProblem | Penalized, x: Array | None) -> State:
        """Return the first state."""
        here = problem.objective.evaluate(problem.start() if x is None else x)
        there = problem.objective.evaluate(here.x - 1e-3 * here.gradient)
        turned = float(np.linalg.norm(there.gradient - here.gradient))
        bend = turned / max(1e-3 * float(np.linalg.norm(here.gradient)), 1e-300)
        step = self.step_size / bend if bend > 1e-10 else self.step_size
        memory = _ADMMMemory(here.x, np.zeros_like(here.x), step)
        return State(here.x, problem.certify(here.x), memory, counts={"rounds": 0})

    def step(self, problem: DomainProblem | Penalized, state: State) -> State:
        """Return the state after one round."""
        memory: _ADMMMemory = state.memory
        z, u, step = memory.z, memory.u, memory.step
        x = problem.objective.prox(z - u, step)
        v = self.relaxation * x + (1.0 - self.relaxation) * z + u
        following = prox_or_projection(problem, v, step)
        u = v - following
        apart = float(np.linalg.norm(x - following))
        moved = float(np.linalg.norm(following - z))
        rounds = state.counts["rounds"] + 1
        # Powers of two as round numbers: ever rarer changes keep the proof of
        # convergence.
        if rounds & (rounds - 1) == 0 or (rounds < 200 and rounds % 10 == 0):
            if apart > 10.0 * moved:
                step, u = 0.5 * step, 0.5 * u
            elif moved > 10.0 * apart:
                step, u = 2.0 * step, 2.0 * u
        claim = problem.certify(following)
        memory = _ADMMMemory(following, u, step)
        return State(following, claim, memory, counts={"rounds": rounds})
