"""A maximum of quadratics by smooth stand-ins, descended along the frames."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.orthogonal.polish import polished
from counterpoise.convex.orthogonal.solvers.accepting import FrameRequirements
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import polar, tangent

# Sharpness of the stand-ins, one a step of the loop.
SHARPNESS = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
# Most steps along the frames at each, and pairs of steps and gradients kept.
INNER_STEPS, KEPT_PAIRS = 60, 6
# Frames that are drawn beside a given start.
OTHER_STARTS = 3


@dataclass(frozen=True, eq=False)
class _SoftminMemory:
    """Which stand-in comes next, from where."""

    stage: int
    P: Array
    unit: float
    further: tuple[Array, ...]


@dataclass(frozen=True)
class SoftminPolar:
    r"""Softmin and polar factors: sharper and sharper stand-ins for the maximum.

    .. math:: \min_{P'P = I}\ g(P) + \frac{s}{\tau} \log\sum_k e^{\tau a_k(P) / s},
              \qquad \tau = 1, 4, \ldots, 1024

    g is the quadratic and linear part, :math:`a_k = \langle A_k, PP'\rangle`, s the
    mean absolute :math:`a_k` at the start. Quasi-Newton directions along the frames
    (L-BFGS, pairs carried along by projection), steps shortened until Armijo's
    condition holds, the polar factor back onto the frames; the frame of the best true
    maximum is kept. Without a start it begins at the eigenvectors of the forms' mean.
    After a given start it is run from there too and from three frames drawn with a
    fixed seed, and the best end is kept. Where that does not prove enough, Newton steps
    on the forms that attain the maximum follow (`polish`).

    Valid with a maximum and without absolute values, constraints and P >= 0. One step
    of the loop is one tau: O(Knm + nm^2) an inner step for forms of rank one.

    Parameters
    ----------
    polish : bool
        Whether Newton steps follow the last tau.
    """

    polish: bool = True

    @property
    def accepts(self) -> FrameRequirements:
        """A maximum of quadratics beside smooth terms."""
        return FrameRequirements(
            l1=False, constraints=False, nonnegative=False, needs_maximum=True
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at the frame nearest to x."""
        P = polar(mean_start(problem) if x is None else x)
        further = () if x is None else other_frames(problem)
        memory = _SoftminMemory(0, P, _unit(problem, P), further)
        # The claim counts at the end, when all stand-ins have been seen.
        return State(P, problem.unproved(P), memory)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one tau, or after Newton's method at the end."""
        memory: _SoftminMemory = state.memory
        if memory.stage == len(SHARPNESS):
            P = polished(problem, state.x) if self.polish else state.x
            return State(P, problem.claim(P), memory, stalled=True)
        tau = SHARPNESS[memory.stage] / memory.unit
        last = memory.stage + 1 == len(SHARPNESS)
        P, best = _descended(problem, memory.P, tau, 1e-10 if last else 1e-7)
        x, value = state.x, state.claim.objective
        if problem.value(best) < value:
            x, value = best, problem.value(best)
        memory = replace(memory, stage=memory.stage + 1, P=P)
        if memory.stage < len(SHARPNESS):
            return State(x, replace(state.claim, objective=value), memory)
        if memory.further:
            again, *rest = memory.further
            memory = _SoftminMemory(0, again, _unit(problem, again), tuple(rest))
            return State(x, replace(state.claim, objective=value), memory)
        # Where this proves enough, Newton's method has nothing to add.
        return State(x, problem.claim(x), memory)


def other_frames(problem: Any) -> tuple[Array, ...]:
    """Return frames from which the search may end better than from a given one."""
    draw = np.random.default_rng(0)
    drawn = [polar(draw.standard_normal(problem.shape)) for _ in range(OTHER_STARTS)]
    return (mean_start(problem), *drawn)


def mean_start(problem: Any) -> Array:
    """Return the eigenvectors of the smallest eigenvalues of M and the forms' mean."""
    weights = np.full(problem.forms.count, 1.0 / problem.forms.count)
    mean = problem.forms.combined(weights)
    if problem.quadratic is not None:
        mean = mean + problem.quadratic
    return np.ascontiguousarray(np.linalg.eigh(mean)[1][:, : problem.shape[1]])


def _unit(problem: Any, P: Array) -> float:
    return max(float(np.abs(problem.forms.values(P)).mean()), 1e-12 * problem.slope)


def _descended(
    problem: Any, P: Array, tau: float, enough: float
) -> tuple[Array, Array]:
    """Return the end of a descent of one stand-in, and the best frame on its way.

    A step that gains less than `enough` of the value is the last.
    """
    smooth = problem.quadratic is not None or problem.linear is not None
    # What multiples of the identity add is the same at all frames.

    def value_of(P: Array) -> tuple[float, Array, float]:
        a = problem.forms.values(P)
        top = float(a.max())
        e = np.exp(tau * (a - top))
        total = float(e.sum())
        rest = 0.0
        if problem.quadratic is not None:
            rest += float(np.sum(P * (problem.quadratic @ P)))
        if problem.linear is not None:
            rest += float(np.vdot(problem.linear, P))
        return rest + top + float(np.log(total)) / tau, e / total, rest + top

    def gradient_of(P: Array, weights: Array) -> Array:
        G = 2.0 * problem.forms.pull(weights, P)
        if smooth:
            G = G + problem.smooth_gradient(P)
        return tangent(P, G)

    value, weights, true = value_of(P)
    g = gradient_of(P, weights)
    best, least = P, true
    pairs: list[tuple[Array, Array, float]] = []
    for _ in range(INNER_STEPS):
        square = float(np.vdot(g, g))
        if square <= (1e-9 * problem.slope) ** 2:
            break
        direction = -_two_loops(pairs, g)
        slope = float(np.vdot(direction, g))
        if slope > -1e-10 * square:
            direction, slope, pairs = -g, -square, []
        step = 1.0 if pairs else min(1.0, 0.3 / np.sqrt(square))
        for _ in range(30):
            there = polar(P + step * direction)
            then, weights, true = value_of(there)
            if then <= value + 1e-4 * step * slope:
                break
            step *= 0.4
        else:
            break
        after = gradient_of(there, weights)
        if true < least:
            best, least = there, true
        # Pairs belong to the frame they were found at; their part along the new one
        # stands for them there.
        s = tangent(there, there - P)
        y = after - tangent(there, g)
        bend = float(np.vdot(s, y))
        pairs = pairs[-(KEPT_PAIRS - 1) :]
        if bend > 1e-12 * float(np.sqrt(np.vdot(s, s) * np.vdot(y, y))):
            pairs.append((s, y, 1.0 / bend))
        done = value - then <= enough * abs(value)
        P, value, g = there, then, after
        if done:
            break
    return P, best


def _two_loops(pairs: list[tuple[Array, Array, float]], g: Array) -> Array:
    """Return the L-BFGS product of the inverse Hessian with the gradient."""
    if not pairs:
        return g
    out = g.copy()
    kept = []
    for s, y, inverse in reversed(pairs):
        share = inverse * float(np.vdot(s, out))
        out = out - share * y
        kept.append(share)
    _, y, inverse = pairs[-1]
    out = out / (inverse * float(np.vdot(y, y)))
    for (s, y, inverse), share in zip(pairs, reversed(kept), strict=True):
        out = out + (share - inverse * float(np.vdot(y, out))) * s
    return out
