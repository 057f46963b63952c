"""Rounds by L-BFGS, each proved to be solved to its global minimum."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from counterpoise.convex.loop import State
from counterpoise.convex.network.proximal_round import (
    Penalties,
    ProximalRound,
    RoundProof,
    adapted,
    relaxed,
)
from counterpoise.convex.network.training import HARDLY_HELD, UNPROVED_ETA
from counterpoise.convex.requirements import Requirements
from counterpoise.numerics.arrays import Array

_COUNTED = ("tries", "extrapolations")
# Tries in a round; every one doubles the penalties whose condition is broken.
MOST_TRIES = 60


@dataclass(frozen=True)
class Round:
    """What is known of one round.

    Attributes
    ----------
    objective : float
        After the round; the merit where there are constraints.
    exactness : float
        The largest ratio of a signal to its bound: at most one proves that the round
        was solved to its global minimum. NaN for rounds with constraints.
    gap : float
        The round's value is proved within this of its minimum; infinite without proof,
        NaN for rounds with constraints.
    gradient : float
        Largest entry of the gradient of the round's objective; NaN with constraints.
    violation : float
        Largest amount by which a constraint is exceeded, zero where all hold.
    eta : float
        The largest penalty of the round.
    """

    objective: float
    exactness: float = math.nan
    gap: float = math.nan
    gradient: float = math.nan
    violation: float = 0.0
    eta: float = math.nan


def not_told(one: Round) -> None:
    """Hear of a round and do nothing."""


@dataclass(frozen=True)
class _Pace:
    """The penalties, the point before the present one, and rounds since a restart."""

    penalties: Penalties
    before: Array
    count: int = 1


@dataclass(frozen=True)
class DirectRounds:
    r"""Rounds that minimise F by L-BFGS and prove it by one backward pass.

    A proved round begins with the penalties of the last one, doubles those whose
    condition is broken until all hold, and divides by 1.5 those whose ratio is below
    0.6 afterwards; all begin at one, the first layer's and the biases' are 1e-3
    throughout.

    The k-th round since a restart is centred at :math:`x + \frac{k - 1}{k + 2} (x -
    x_{before})` if the objective is no higher there than at x, else at x, and k begins
    anew. So the objective never rises, proved or not.

    Parameters
    ----------
    proved : bool
        Whether every round is proved; else one penalty of 0.01 serves all.
    tell : callable
        Hears the `Round` after each.

    Notes
    -----
    A step costs some hundred forward and backward passes, O(m P) each for m rows and P
    parameters. Theorem 4.1 of Zohrizadeh (2019) asks for one penalty that is large
    enough; a penalty for each condition of each layer takes far longer steps.

    References
    ----------
    Zohrizadeh (2019), chapter 4; Nesterov (1983), on the extrapolation.
    """

    proved: bool = True
    tell: Callable[[Round], object] = not_told

    @property
    def accepts(self) -> Requirements:
        """The training of a network without constraints."""
        return Requirements(
            objective=("value", "gradient", "network"), problem=("first", "proved")
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        depth, unit = problem.objective.network.depth, problem.objective.unit
        if self.proved:
            fewer, free = (unit,) * (depth - 1), HARDLY_HELD * unit
            penalties = Penalties((free, *fewer), (free,) * depth, fewer, fewer)
            last, bias = unit**0.5, HARDLY_HELD
        else:
            penalties = Penalties.equal(depth, UNPROVED_ETA * unit)
            last = bias = UNPROVED_ETA
        # The last layer grows with the outputs, and the objective with their square.
        penalties = replace(
            penalties,
            weights=(*penalties.weights[:-1], last if depth > 1 else bias),
            biases=(*penalties.biases[:-1], bias),
        )
        pace = _Pace(penalties, x)
        return State(x, problem.certify(x), pace, counts=dict.fromkeys(_COUNTED, 0))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        pace: _Pace = state.memory
        centre, count = self._centre(problem, state, pace)
        x, proof, penalties, tries = self._solved(problem, centre, pace.penalties)
        further = int(count > 1)
        counts = {
            "tries": state.counts["tries"] + tries,
            "extrapolations": state.counts["extrapolations"] + further,
        }
        value = problem.objective.value(x)
        if not value < state.claim.objective:
            pace = _Pace(penalties, state.x)
            # A round from the point itself may still do what one from ahead did not.
            return State(state.x, state.claim, pace, None, counts, stalled=not further)
        numbers = (*penalties.weights, *penalties.hidden, *penalties.bregman)
        self.tell(
            Round(value, proof.exactness, proof.gap, proof.gradient, eta=max(numbers))
        )
        if self.proved:
            penalties = relaxed(penalties, proof)
        pace = _Pace(penalties, state.x, count + 1)
        return State(x, problem.certify(x), pace, counts=counts)

    @staticmethod
    def _centre(problem: Any, state: State, pace: _Pace) -> tuple[Array, int]:
        """Return where the next round is centred, and its number since a restart."""
        if pace.count > 1:
            share = (pace.count - 1.0) / (pace.count + 2.0)
            ahead = state.x + share * (state.x - pace.before)
            if problem.objective.value(ahead) <= state.claim.objective:
                return ahead, pace.count
        return state.x, 1

    def _solved(
        self, problem: Any, old: Array, penalties: Penalties
    ) -> tuple[Array, RoundProof, Penalties, int]:
        """Return the round's minimum, its proof and penalties, and the tries."""
        x = old
        for tries in range(1, MOST_TRIES + 1):
            around = ProximalRound(problem.objective, old, penalties)
            x = around.minimized(x)
            proof = around.prove(x)
            if not self.proved or proof.exactness <= 1.0:
                return x, proof, penalties, tries
            penalties = adapted(penalties, proof)
        return old, proof, penalties, tries
