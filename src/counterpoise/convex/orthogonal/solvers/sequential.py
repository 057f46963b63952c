"""Rounds of a penalised relaxation, each followed by the nearest frame."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.convex.certificate import FEASIBLE
from counterpoise.convex.loop import State
from counterpoise.convex.orthogonal.polish import polished, restored
from counterpoise.convex.orthogonal.relaxations.eliminated import (
    EliminatedRound,
    can_eliminate,
)
from counterpoise.convex.orthogonal.relaxations.frame_cones import Relaxation
from counterpoise.convex.orthogonal.relaxations.lifted import LiftedRound
from counterpoise.convex.orthogonal.solvers.accepting import FrameRequirements
from counterpoise.convex.orthogonal.supports import labels_of, on_supports
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import polar

# The first penalty is just above the slope of the objective, where rounds without
# constraints are exact.
ABOVE_THE_SLOPE = 1.01
# A penalty this many times the first ends the search for a feasible frame.
LARGEST_GROWTH = 1e6
# The least penalty, in units of the slope.
LEAST_PENALTY = 1e-4
# The rising penalty of non-negative frames, in units of the slope, and its factor.
LEAST_RISING, MOST_RISING, RISE_OF_PENALTY = 3e-3, 3.0, 3.0
# So many rounds without a better frame end the search.
IDLE_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class _SequentialMemory:
    """Where the rounds are."""

    round: Any
    penalty: float
    feasible: bool
    # Whether the penalty may fall: not again where a lower one has just failed.
    may_fall: bool = True
    idle: int = 0
    # Where the next round of a non-negative frame begins, whose best candidate is x.
    center: Array | None = None


@dataclass(frozen=True)
class SequentialRelaxation:
    r"""Sequential penalised relaxation (SPR) with a penalty that finds itself.

    A round minimises the relaxed objective less :math:`\mu \langle P_c, P\rangle` from
    the frame :math:`P_c` and projects onto the frames by the polar factor. Where the
    round is exact (:math:`X = PP'`) it is the proximal step
    :math:`\arg\min f + \frac{\mu}{2}|P - P_c|^2` over the feasible frames, so that

    .. math:: f(P_c) - f(P) \ge \frac{\mu}{2} |P - P_c|^2 .

    The penalty starts at 1.01 times the problem's `slope`, is doubled in every round
    until a frame is feasible to 1e-6, and then halved as long as rounds stay feasible
    and the objective falls; a round that fails is taken back and the penalty doubled.
    So the objective never rises after the first feasible round. At 1e6 times the first
    penalty the search for a feasible frame ends.

    With P >= 0 no theorem makes a round exact, and every set of labels with its best
    columns is stationary: there the penalty rises from 0.003 to 3 times the slope, by a
    factor of three a round, each round's labels are a candidate, and the best is kept.

    Valid for every problem. A round costs one conic programme: of order n + m ("sdp",
    2 s at n = 50) or of second-order cones ("parabolic", cheaper for small m and
    matrices with few entries); without X, by `EliminatedRound`, where no constraint or
    maximum sees it.

    Parameters
    ----------
    relaxation : {"sdp", "parabolic"}
    penalty : float, optional
        Keep this penalty in all rounds; None: by the rule above.
    polish : bool
        Whether Newton steps follow a feasible round.

    References
    ----------
    Zohrizadeh (2019), chapter 3, with the penalty by the exactness rule.
    """

    relaxation: Relaxation = "sdp"
    penalty: float | None = None
    polish: bool = True

    @property
    def accepts(self) -> FrameRequirements:
        """Every problem over frames."""
        return FrameRequirements()

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at the frame nearest to x."""
        P = polar(problem.start() if x is None else x)
        relax = EliminatedRound if can_eliminate(problem) else LiftedRound
        mu = self.penalty or ABOVE_THE_SLOPE * problem.slope
        feasible = problem.infeasibility(P) <= FEASIBLE
        memory = _SequentialMemory(relax(problem, self.relaxation), mu, feasible)
        if problem.nonnegative:
            mu = self.penalty or LEAST_RISING * problem.slope
            memory = replace(memory, penalty=mu, center=P)
            return State(P, problem.unproved(P), memory)
        return State(P, problem.claim(P), memory)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        memory: _SequentialMemory = state.memory
        if memory.center is not None:
            return self._signed(problem, state, memory.center)
        answer = memory.round.solve(state.x, memory.penalty)
        if not np.isfinite(answer.P).all():
            return self._doubled(problem, state, None)
        P = restored(problem, polar(answer.P))
        inside = problem.infeasibility(P) <= FEASIBLE
        if not memory.feasible:
            if not inside:
                return self._doubled(problem, state, polar(answer.P))
            return self._accepted(problem, state, P)
        noise = 1e-12 * max(problem.slope, abs(state.claim.objective))
        if inside and problem.value(P) <= state.claim.objective + noise:
            return self._accepted(problem, state, P)
        return self._doubled(problem, state, None)

    def _signed(self, problem: Any, state: State, center: Array) -> State:
        """Return the state after a round of a non-negative frame."""
        memory: _SequentialMemory = state.memory
        answer = memory.round.solve(center, memory.penalty)
        there, x, claim = center, state.x, state.claim
        if np.isfinite(answer.P).all():
            there = polar(np.maximum(answer.P, 0.0) + 1e-9)
            candidate = on_supports(problem, labels_of(answer.P))
            if self.polish:
                candidate = polished(problem, candidate)
            fresh = problem.claim(candidate)
            outside, before = (max(c.infeasibility, FEASIBLE) for c in (fresh, claim))
            if (outside, fresh.objective) < (before, claim.objective):
                x, claim = candidate, replace(fresh, residual=np.inf)
        still = float(np.linalg.norm(there - center)) < 1e-3
        last = still if self.penalty else memory.penalty >= MOST_RISING * problem.slope
        mu = memory.penalty * (1.0 if self.penalty else RISE_OF_PENALTY)
        memory = replace(memory, penalty=mu, center=there)
        if last:
            return State(x, problem.claim(x), memory, stalled=True)
        return State(x, claim, memory)

    def _accepted(self, problem: Any, state: State, P: Array) -> State:
        """Return the state at a better frame, or at the first feasible one."""
        memory: _SequentialMemory = state.memory
        moved = float(np.linalg.norm(P - state.x))
        # Newton's method goes to the nearest stationary frame: rounds come first.
        near = memory.penalty * moved <= 0.03 * problem.slope
        if self.polish and memory.feasible and near:
            P = polished(problem, P)
        claim = problem.claim(P)
        gain = state.claim.objective - claim.objective
        idle = memory.idle + 1 if memory.feasible and gain <= 1e-12 else 0
        mu = memory.penalty
        if self.penalty is None and memory.may_fall:
            mu = max(mu / 2.0, LEAST_PENALTY * problem.slope)
        stalled = idle >= IDLE_ROUNDS
        memory = replace(memory, penalty=mu, feasible=True, idle=idle)
        return State(P, claim, memory, stalled=stalled)

    def _doubled(self, problem: Any, state: State, P: Array | None) -> State:
        """Return the state with twice the penalty, at P where that is given."""
        memory: _SequentialMemory = state.memory
        mu = memory.penalty if self.penalty else 2.0 * memory.penalty
        idle = memory.idle + 1 if memory.feasible else 0
        largest = LARGEST_GROWTH * ABOVE_THE_SLOPE * problem.slope
        stalled = idle >= IDLE_ROUNDS or mu > largest
        memory = replace(memory, penalty=mu, may_fall=False, idle=idle)
        if P is None and self.polish and memory.feasible and idle == 1:
            # Where rounds fail, Newton's method may still improve the frame.
            better = polished(problem, state.x)
            return State(better, problem.claim(better), memory, stalled=stalled)
        if P is None:
            return replace(state, memory=memory, stalled=stalled)
        return State(P, problem.claim(P), memory, stalled=stalled)
