"""Projected and proximal gradient methods and ADMM."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.linalg.arrays import Array
from counterpoise.linalg.cholesky import DIRECT, newton_direction
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.loop import Requirements, State

# -----------------------------------------------------------------------------
# A point with all that a method knows there, and the steps that lead from it.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Point:
    """A feasible point, its value, and its image where the objective has one."""

    x: Array
    value: float
    image: Array | None


def evaluate(objective: Any, x: Array, image: Array | None = None) -> Point:
    """Return the point x with its value; an image at hand saves a product."""
    if not hasattr(objective, "image"):
        return Point(x, float(objective.value(x)), None)
    if image is None:
        image = objective.image(x)
    return Point(x, float(objective.value_at(x, image)), image)


def gradient_of(objective: Any, point: Point) -> Array:
    """Return the gradient at the point."""
    if point.image is None:
        out: Array = objective.gradient(point.x)
    else:
        out = objective.gradient_at(point.x, point.image)
    if math.isfinite(point.value) and not np.isfinite(out).all():
        k = int(np.argmax(~np.isfinite(out)))
        raise ValueError(
            f"the gradient of {type(objective).__name__} is {out[k]} at entry {k}, "
            f"where x is {point.x[k]:g} and the value finite: keep x off that edge, "
            "for example by Box(1e-9, ...)"
        )
    return out


def image_of(objective: Any, direction: Array) -> Array | None:
    """Return the image of a direction, if the objective has images."""
    return objective.image(direction) if hasattr(objective, "image") else None


def shifted(
    objective: Any, point: Point, direction: Array, image: Array | None, step: float
) -> Point:
    """Return the point after a step; `image` is that of the direction."""
    moved = None
    if point.image is not None and image is not None:
        moved = point.image + step * image
    return evaluate(objective, point.x + step * direction, moved)


def exact_step(
    objective: Any, point: Point, direction: Array, image: Array | None, limit: float
) -> float:
    """Return the best step in [0, limit]."""
    images = None if image is None else (point.image, image)
    return float(objective.along(point.x, direction, limit, images))


def armijo_step(
    value_after: Callable[[float], float], ceiling: float, limit: float, slope: float
) -> float:
    """Return the first of limit, limit/2, ... that lowers the value enough.

    Enough is a ten-thousandth of `step * slope`, the fall that the gradient predicts,
    below `ceiling` (the value at the point), up to rounding of that value. 0 if no step
    does so. `value_after` gives the value after a step.
    """
    ceiling += 2e-16 * max(1.0, abs(ceiling))
    step = limit
    while step > 1e-16 * limit:
        value = value_after(step)
        if math.isfinite(value) and value <= ceiling - 1e-4 * step * slope:
            return step
        step *= 0.5
    return 0.0


def descend(
    objective: Any, point: Point, gradient: Array, direct: int = DIRECT
) -> Point:
    """Return the point after one damped Newton step; itself if none goes down."""
    rtol = min(0.1, float(np.linalg.norm(gradient)))
    direction = newton_direction(objective, point.x, gradient, rtol, direct)
    slope = -float(gradient @ direction)
    if not slope > 0.0:
        return point
    length = 1.0
    # Below this a line search would only see rounding; Newton's step is right.
    if slope > 1e-10 * max(1.0, abs(point.value)):
        image = image_of(objective, direction)

        def value_after(step: float) -> float:
            return shifted(objective, point, direction, image, step).value

        length = armijo_step(value_after, point.value, 1.0, slope)
    if not length > 0.0:
        return point
    return evaluate(objective, point.x + length * direction)


def few_atoms(problem: Any) -> Array:
    """Return a start that is a single vertex if the objective allows it.

    A problem's own start may be a mixture of all atoms; a method that keeps the
    atoms of its point wants few of them. A vertex whose gap is far larger than that
    of the start lies at the edge of where the objective is defined, and is not taken.
    """
    start: Array = problem.start()
    if np.count_nonzero(start) < 0.5 * start.size:
        return start
    vertex: Array = problem.domain.vertex(problem.objective.gradient(start))
    there, here = problem.certify(vertex), problem.certify(start)
    # A gap in nats hides how steep a point is; its residual does not.
    far, near = there.residual or there.gap, here.residual or here.gap
    return vertex if far <= 1e3 * near else start


def claimed(problem: Any, x: Array) -> tuple[Point, Array, Certificate]:
    """Return the point x, its gradient, and what they prove."""
    point = evaluate(problem.objective, x)
    gradient = gradient_of(problem.objective, point)
    return point, gradient, problem.judge(x, point.value, gradient)


def near_point(problem: Any, v: Array, step: float) -> Array:
    """Return the prox of the penalty at v, or the projection on the domain."""
    out: Array
    if hasattr(problem, "penalty"):
        out = problem.penalty.prox(v, step)
    else:
        out = problem.domain.project(v)
    return out


# -----------------------------------------------------------------------------
# Spectral projected gradient steps.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _ProjectedGradientMemory:
    point: Point
    gradient: Array
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

    @property
    def accepts(self) -> Requirements:
        """A domain with a projection."""
        return Requirements(domain=("project",))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        point = evaluate(problem.objective, x)
        gradient = gradient_of(problem.objective, point)
        length = 1.0 / max(float(np.abs(gradient).max()), 1e-10)
        return self._state(problem, point, gradient, length, (point.value,))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one step."""
        memory: _ProjectedGradientMemory = state.memory
        objective, here = problem.objective, memory.point
        direction = problem.domain.project(here.x - memory.length * memory.gradient)
        direction -= here.x
        slope = -float(memory.gradient @ direction)
        stalled = State(state.x, state.claim, memory, stalled=True)
        if slope <= 0.0:
            return stalled
        image = image_of(objective, direction)

        def value_after(step: float) -> float:
            return shifted(objective, here, direction, image, step).value

        length = armijo_step(value_after, max(memory.values), 1.0, slope)
        if length <= 0.0:
            return stalled
        there = shifted(objective, here, direction, image, length)
        # Rounding may leave the set by an ulp: the projection of a point this near is
        # cheap, and keeps the iterates inside.
        if problem.domain.infeasibility(there.x) > 0.0:
            there = evaluate(objective, problem.domain.project(there.x))
        gradient = gradient_of(objective, there)
        moved, turned = there.x - here.x, gradient - memory.gradient
        bend = float(moved @ turned)
        spectral = float(moved @ moved) / bend if bend > 0.0 else 1e10
        values = (*memory.values, there.value)[-self.memory :]
        return self._state(
            problem, there, gradient, float(np.clip(spectral, 1e-10, 1e10)), values
        )

    @staticmethod
    def _state(
        problem: Any,
        point: Point,
        gradient: Array,
        length: float,
        values: tuple[float, ...],
    ) -> State:
        claim = problem.judge(point.x, point.value, gradient)
        return State(
            point.x, claim, _ProjectedGradientMemory(point, gradient, length, values)
        )


# -----------------------------------------------------------------------------
# Accelerated proximal gradient steps.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _ProximalGradientMemory:
    point: Point
    ahead: Point
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

    @property
    def accepts(self) -> Requirements:
        """A domain with a projection, or a penalty with a prox."""
        return Requirements(domain=("project",), penalty=("prox",))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        point = evaluate(problem.objective, x)
        size = float(np.linalg.norm(gradient_of(problem.objective, point)))
        length = max(float(np.linalg.norm(x)), 1.0) / max(size, 1e-10)
        return self._state(problem, point, point, 1.0, length)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one step."""
        memory: _ProximalGradientMemory = state.memory
        objective = problem.objective
        ahead, momentum = memory.ahead, memory.momentum
        if not math.isfinite(ahead.value):
            ahead, momentum = memory.point, 1.0
        slope = gradient_of(objective, ahead)
        length = self.growth * memory.length
        halvings = 0
        while True:
            near = near_point(problem, ahead.x - length * slope, length)
            there = evaluate(objective, near)
            moved = there.x - ahead.x
            model = float(slope @ moved) + float(moved @ moved) / (2.0 * length)
            # Below rounding of the value the comparison says nothing any more.
            noise = 1e-15 * max(abs(ahead.value), 1.0)
            if there.value <= ahead.value + model + noise:
                break
            length *= 0.5
            halvings += 1
            if halvings > 200:
                return State(state.x, state.claim, memory, stalled=True)
        progress = there.x - memory.point.x
        if float((ahead.x - there.x) @ progress) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        push = (momentum - 1.0) / following
        image = None
        if there.image is not None and memory.point.image is not None:
            image = there.image + push * (there.image - memory.point.image)
        ahead = evaluate(objective, there.x + push * progress, image)
        return self._state(problem, there, ahead, following, length)

    @staticmethod
    def _state(
        problem: Any, point: Point, ahead: Point, momentum: float, length: float
    ) -> State:
        gradient = gradient_of(problem.objective, point)
        claim = problem.judge(point.x, point.value, gradient)
        return State(
            point.x, claim, _ProximalGradientMemory(point, ahead, momentum, length)
        )


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

    @property
    def accepts(self) -> Requirements:
        """An objective with a prox; a domain with a projection or a penalty."""
        return Requirements(
            objective=("value", "gradient", "prox"),
            domain=("project",),
            penalty=("prox",),
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        gradient = problem.objective.gradient(x)
        trial = x - 1e-3 * gradient
        bend = float(
            np.linalg.norm(problem.objective.gradient(trial) - gradient)
        ) / max(1e-3 * float(np.linalg.norm(gradient)), 1e-300)
        step = self.step_size / bend if bend > 1e-10 else self.step_size
        return self._state(problem, x, np.zeros_like(x), step, 0)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        memory: _ADMMMemory = state.memory
        z, u, step = memory.z, memory.u, memory.step
        x = problem.objective.prox(z - u, step)
        mixed = self.relaxation * x + (1.0 - self.relaxation) * z
        v = mixed + u
        following = near_point(problem, v, step)
        u = v - following
        apart = float(np.linalg.norm(x - following))
        moved = float(np.linalg.norm(following - z))
        rounds = state.counts.get("rounds", 0) + 1
        # Powers of two as round numbers: ever rarer changes keep the proof of
        # convergence.
        if rounds & (rounds - 1) == 0 or (rounds < 200 and rounds % 10 == 0):
            if apart > 10.0 * moved:
                step, u = 0.5 * step, 0.5 * u
            elif moved > 10.0 * apart:
                step, u = 2.0 * step, 2.0 * u
        return self._state(problem, following, u, step, rounds)

    @staticmethod
    def _state(problem: Any, z: Array, u: Array, step: float, rounds: int) -> State:
        _, _, claim = claimed(problem, z)
        return State(z, claim, _ADMMMemory(z, u, step), counts={"rounds": rounds})
