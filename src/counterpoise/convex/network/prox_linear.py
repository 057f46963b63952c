"""Rounds under hard limits: a prox-linear step, then the last layer exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.network.constrained_training import Model
from counterpoise.convex.network.direct_rounds import Round, not_told
from counterpoise.convex.requirements import Requirements
from counterpoise.numerics.arrays import Array

# A step is taken if the merit falls by this share of what the model promised.
KEPT_PROMISE = 0.1
# Eta beyond which no step is tried, and below which it does not go.
LARGEST_ETA, SMALLEST_ETA = 1e8, 1e-8


@dataclass(frozen=True)
class _Memory:
    eta: float
    model: Model | None


@dataclass(frozen=True)
class ProxLinear:
    r"""Prox-linear rounds with the exact programme of the output layer.

    A round solves the convex model of `ConstrainedTraining` around x, moves there, and
    solves the last layer exactly under the limits, which restores them to the digit.
    It is taken if the merit falls by at least a tenth of what the model promised; else
    eta, at first that of the certificate, is multiplied by four and the round tried
    again. After a round eta is halved.

    Once all limits hold they always do: where they hold at x, a step after which the
    last layer cannot keep them is not taken. As eta grows the hidden layers stay, and
    for these the last layer of x itself keeps them. So the merit never rises.

    Parameters
    ----------
    tell : callable
        Hears the `Round` after each.

    Notes
    -----
    A round costs a quadratic programme in all P parameters, whose dense rows are those
    whose residual may change sign, O(m P^2 + P^3), and small ones in the last layer.

    References
    ----------
    Drusvyatskiy and Paquette (2019), on prox-linear methods.
    """

    tell: Callable[[Round], object] = not_told

    @property
    def accepts(self) -> Requirements:
        """The training of a network under limits."""
        return Requirements(
            objective=("value", "gradient", "network"),
            problem=("model", "merit", "refitted"),
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else problem.kept(x)
        model = problem.model(x, problem.judged_eta)
        memory = _Memory(problem.judged_eta, None)
        return State(x, problem.judged(x, model), memory, counts={"tries": 0})

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        x, merit = state.x, state.claim.objective
        eta, model = state.memory.eta, state.memory.model
        if model is None:
            # Hidden layers as they come deserve the last layer that is best for them.
            x, merit = self._better(problem, x, x, merit)
            model = problem.model(x, eta)
        tries = 0
        while True:
            tries += 1
            there = problem.kept(x + model.d)
            new, value = self._better(problem, x, there, merit)
            if value <= merit - KEPT_PROMISE * model.promised and value < merit:
                break
            if eta >= LARGEST_ETA:
                break
            eta *= 4.0
            model = problem.model(x, eta)
        counts = {"tries": state.counts["tries"] + tries}
        if not value < state.claim.objective:
            return State(state.x, state.claim, state.memory, None, counts, stalled=True)
        self.tell(self._round(problem, new, value, eta))
        eta = max(0.5 * eta, SMALLEST_ETA)
        model = problem.model(new, eta)
        return State(
            new, problem.judged(new, model), _Memory(eta, model), counts=counts
        )

    @staticmethod
    def _better(
        problem: Any, x: Array, there: Array, merit: float
    ) -> tuple[Array, float]:
        """Return the best last layer over the hidden layers of `there`, and its merit.

        x itself where limits that hold at x could not be kept.
        """
        kept = problem.refitted(there)
        if kept is not None:
            return kept, problem.merit(kept)
        if problem.violation(x) == 0.0:
            return x, merit
        loose = problem.refitted(there, problem.price)
        tries = [there] if loose is None else [there, loose]
        values = [problem.merit(one) for one in tries]
        best = int(np.argmin(values))
        return tries[best], values[best]

    @staticmethod
    def _round(problem: Any, x: Array, merit: float, eta: float) -> Round:
        return Round(merit, violation=problem.violation(x), eta=eta)
