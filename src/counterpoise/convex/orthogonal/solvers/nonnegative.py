"""Non-negative frames by rounds whose penalty rises: labels without k-means."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.orthogonal.relaxations.frame_cones import Relaxation
from counterpoise.convex.orthogonal.relaxations.nonnegative import (
    NonnegativeRound,
    Splitting,
)
from counterpoise.convex.orthogonal.solvers.accepting import FrameRequirements
from counterpoise.convex.orthogonal.spectrum import largest_eigenvalue
from counterpoise.convex.orthogonal.supports import labels_of, on_supports
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.frames import polar

# Penalties of the continuation where the largest eigenvalue of M - dI is 12, and rounds
# at each.
CONTINUED, USUAL_EIGENVALUE, ROUNDS_EACH = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), 12.0, 4
# A round that moves less is the last at its penalty.
LITTLE = 1e-3


@dataclass(frozen=True, eq=False)
class _ContinuedMemory:
    """Where the continuation is."""

    round: NonnegativeRound
    penalties: tuple[float, ...]
    level: int
    at_level: int
    Pc: Array
    splitting: Splitting | None
    labels: Indices


@dataclass(frozen=True)
class NonnegativeRounds:
    r"""SPR over non-negative frames, by ADMM rounds and continuation in the penalty.

    Valid for a quadratic and a linear term with P >= 0 and nothing else. No theorem of
    SPR applies: the constraint qualification that they need fails at every feasible
    point. A large penalty keeps the labels of the start (a proximal step of length 1/mu
    against curvatures of 10), so the penalty rises: 0.03, 0.1, 0.3, 1, 3, 10 (times the
    largest eigenvalue of M - dI over 12), up to 4 rounds each. After each penalty the
    largest entry of every row is its label and the best columns on these supports are
    a candidate: exactly feasible, and stationary. The best candidate is kept.

    Parameters
    ----------
    relaxation : {"sdp", "parabolic"}
    penalty : float, optional
        One penalty instead of the rising ones.
    accuracy : float
        Of the ADMM rounds.
    inner_steps : int
        Most steps of a round.
    """

    relaxation: Relaxation = "sdp"
    penalty: float | None = None
    accuracy: float = 1e-4
    inner_steps: int = 800

    @property
    def accepts(self) -> FrameRequirements:
        """Smooth terms with P >= 0."""
        return FrameRequirements(
            maximum=False, l1=False, constraints=False, needs_signs=True
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state: x, and the best frame on the supports of x."""
        Pc = problem.start() if x is None else x
        labels = labels_of(Pc)
        relaxed = NonnegativeRound(problem, self.relaxation)
        penalties: tuple[float, ...] = (self.penalty,) if self.penalty else ()
        if not penalties:
            top = largest_eigenvalue(problem.quadratic) - relaxed.shift
            unit = (top or problem.slope) / USUAL_EIGENVALUE
            penalties = tuple(unit * mu for mu in CONTINUED)
        memory = _ContinuedMemory(relaxed, penalties, 0, 0, polar(Pc), None, labels)
        P = on_supports(problem, labels)
        # Every candidate is stationary: the claim counts when the continuation is over.
        return State(P, problem.unproved(P), memory)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        memory: _ContinuedMemory = state.memory
        mu = memory.penalties[memory.level]
        at = memory.splitting or memory.round.begin(memory.Pc, mu)
        at = memory.round.solve(memory.Pc, mu, at, self.accuracy, self.inner_steps)
        Pc = polar(at.positive + 1e-9)
        moved = float(np.linalg.norm(Pc - memory.Pc))
        over = moved < LITTLE or memory.at_level + 1 >= ROUNDS_EACH
        memory = replace(memory, Pc=Pc, splitting=at, at_level=memory.at_level + 1)
        if not over:
            return replace(state, memory=memory)
        x, value = state.x, state.claim.objective
        labels = labels_of(at.positive)
        if not np.array_equal(labels, memory.labels):
            candidate = on_supports(problem, labels)
            if problem.value(candidate) < value:
                x, value = candidate, problem.value(candidate)
        last = memory.level + 1 == len(memory.penalties)
        memory = replace(
            memory,
            level=memory.level + (not last),
            at_level=0,
            splitting=None,
            labels=labels,
        )
        if last:
            return State(x, problem.claim(x), memory, stalled=True)
        claim = replace(state.claim, objective=value)
        return State(x, claim, memory)
