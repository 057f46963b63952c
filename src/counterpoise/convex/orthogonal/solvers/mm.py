"""A maximum of quadratics by rounds without a penalty."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.orthogonal.polish import polished
from counterpoise.convex.orthogonal.relaxations.conic_rows import ConicRows
from counterpoise.convex.orthogonal.solvers.accepting import FrameRequirements
from counterpoise.convex.orthogonal.solvers.softmin import mean_start
from counterpoise.convex.orthogonal.spectrum import dense
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import polar

# Cutting planes of one round, at most.
MOST_CUTS = 60


@dataclass(frozen=True)
class MajorizeMinimize:
    r"""Replace every quadratic by its tangent at the frame, minimise, project.

    With :math:`A_k \preceq 0` (a multiple of the identity is taken off all, which only
    adds a constant over frames) each :math:`\langle A_k, PP'\rangle` lies below its
    tangent, so

    .. math:: \min_{\|P\|_2 \le 1} \max_k\ 2 \langle A_k P_c, P\rangle
              - \langle A_k, P_c P_c'\rangle

    lies above the maximum and touches it at :math:`P_c`; the polar factor lowers every
    quadratic again, since :math:`PP' \preceq` its own. Monotone and without a penalty.
    The inner problem is solved by cutting planes on the K weights, a polar factor and a
    small linear programme each.

    Valid with a maximum (and a quadratic term, which joins every form), without linear
    terms, absolute values, constraints and P >= 0.

    Parameters
    ----------
    polish : bool
        Whether Newton steps follow once a round moves little.
    """

    polish: bool = True

    @property
    def accepts(self) -> FrameRequirements:
        """A maximum of quadratics."""
        return FrameRequirements(
            linear=False,
            l1=False,
            constraints=False,
            nonnegative=False,
            needs_maximum=True,
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at the frame nearest to x."""
        P = polar(mean_start(problem) if x is None else x)
        return State(P, problem.unproved(P), _shift(problem))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        P = _round(problem, state.x, state.memory)
        value = state.claim.objective
        if problem.value(P) > value:
            P = state.x
        slow = value - problem.value(P) <= 1e-4 * problem.slope
        if self.polish and slow:
            P = polished(problem, P)
        idle = value - problem.value(P) <= 1e-9 * problem.slope
        return State(P, problem.claim(P), state.memory, stalled=idle)


def _shift(problem: Any) -> float:
    """Return the largest eigenvalue of all forms, with the quadratic term in each."""
    return float(problem.forms.ranges()[1].max()) + problem.quadratic_range[1]


def _round(problem: Any, Pc: Array, shift: float) -> Array:
    """Return the frame after one round, by cutting planes."""
    forms, count = problem.forms, problem.forms.count
    fixed = -shift * Pc
    if problem.quadratic is not None:
        fixed = fixed + dense(problem.quadratic) @ Pc
    at_center = forms.values(Pc) + float(np.sum(fixed * Pc))

    def tangents(Q: Array) -> Array:
        # <A_k Pc, Q> without the images of all forms: by polarisation.
        inner = (forms.values(Pc + Q) - forms.values(Pc - Q)) / 4.0
        return 2.0 * (inner + float(np.sum(fixed * Q))) - at_center

    weights = np.full(count, 1.0 / count)
    cuts, values = [Pc], [tangents(Pc)]
    highest = -np.inf
    mix = np.ones(1)
    for _ in range(MOST_CUTS):
        G = forms.pull(weights, Pc) + fixed
        Q = polar(-G)
        highest = max(highest, 2.0 * float(np.sum(G * Q)) - float(weights @ at_center))
        cuts.append(Q)
        values.append(tangents(Q))
        found = _master(np.stack(values), problem.slope)
        if found is None:
            break
        weights, mix, top = found
        if top - highest <= 1e-7 * problem.slope:
            break
    return polar(np.tensordot(mix, np.stack(cuts[: len(mix)]), 1))


def _master(values: Array, unit: float) -> tuple[Array, Array, float] | None:
    """Return the weights w of largest min over cuts of values @ w, the cuts' shares."""
    cuts, count = values.shape
    rows = ConicRows(count + 1)
    rows.cone("zero", np.append(np.ones(count), 0.0)[None], -np.ones(1))
    rows.cone("nonnegative", np.eye(count, count + 1), np.zeros(count))
    below = np.hstack([values / unit, -np.ones((cuts, 1))])
    rows.cone("nonnegative", below, np.zeros(cuts))
    answer = rows.solve(np.append(np.zeros(count), -1.0))
    weights = np.maximum(answer.x[:count], 0.0)
    mix = np.maximum(answer.multipliers[2], 0.0)
    if not np.isfinite(answer.x).all() or not weights.sum() > 0 or not mix.sum() > 0:
        return None
    return weights / weights.sum(), mix / mix.sum(), float(answer.x[-1]) * unit
