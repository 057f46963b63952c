"""The last layer alone: constrained least squares, exact, with a duality gap."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.loop import State
from counterpoise.convex.network.lagrangian import dual_constant
from counterpoise.convex.network.limits import OutputLimit, SignedWeights
from counterpoise.convex.network.programme import (
    Floors,
    LimitedProgramme,
    ProgrammeAnswer,
)
from counterpoise.convex.requirements import Requirements
from counterpoise.numerics.arrays import Array

# Limits are kept this share of the outputs' spread inside, and ten times as much where
# that was not enough: an interior-point method meets them up to its tolerance only.
MARGIN = 1e-8
MOST_MARGINS = 3
# Directions in which the quadratic is flat up to rounding, as a share of its largest.
_FLAT = 1e-13


@dataclass(frozen=True, eq=False)
class LayerObjective:
    r"""Weighted mean squares of a linear layer, and decay of all but its biases.

    .. math:: \sum_j o_j |A_j \theta - y_j|^2 + \frac{\alpha}{2} |w|^2

    where the last row of theta holds the biases and the last column of A ones.
    """

    A: Array
    Y: Array
    share: Array
    alpha: float

    @cached_property
    def quadratic(self) -> tuple[Array, Array, float]:
        """H, q and c of theta'H theta/2 + q'theta + c, theta as one vector."""
        n_outputs = self.Y.shape[1]
        gram = 2.0 * (self.A.T * self.share) @ self.A
        weights = np.arange(self.A.shape[1] - 1)
        gram[weights, weights] += self.alpha
        H = np.asarray(np.kron(gram, np.eye(n_outputs)), dtype=float)
        q = -2.0 * ((self.A.T * self.share) @ self.Y).ravel()
        return H, q, float(self.share @ (self.Y**2).sum(axis=1))

    def value(self, x: Array) -> float:
        """Return the objective."""
        theta = x.reshape(self.A.shape[1], -1)
        residual = self.A @ theta - self.Y
        decay = 0.5 * self.alpha * float((theta[:-1] ** 2).sum())
        return float(self.share @ (residual**2).sum(axis=1)) + decay

    def gradient(self, x: Array) -> Array:
        """Return its gradient."""
        H, q, _ = self.quadratic
        return H @ x + q


@dataclass(frozen=True, eq=False)
class OutputLayer:
    r"""Least squares in the last layer under limits on its outputs.

    Convex, so that its answer is exact and "there is none" a proof for these hidden
    layers. The certificate is a duality gap: with multipliers of the limits (the
    `hint`; without one, of none) the Lagrangian's minimum over theta is a bound.

    Parameters
    ----------
    objective : LayerObjective
    inputs : array of shape (rows, n)
        What feeds the layer at all rows of the limits, those of the objective first.
    limits : sequence of limits
    signs : SignedWeights or None
        By the place in theta.
    scale : float
        The unit of the gap.
    """

    objective: LayerObjective
    inputs: Array
    limits: Sequence[OutputLimit] = ()
    signs: SignedWeights | None = None
    scale: float = 1.0

    def start(self) -> Array:
        """Return zeros."""
        return np.zeros(self.inputs.shape[1] * self.objective.Y.shape[1])

    def outputs(self, x: Array) -> Array:
        """Return outputs at all rows."""
        return self.inputs @ x.reshape(self.inputs.shape[1], -1)

    def violation(self, x: Array) -> float:
        """Return the largest amount by which a limit is exceeded."""
        z = self.outputs(x)
        worst = max((limit.violation(z) for limit in self.limits), default=0.0)
        return max(worst, self.signs.violation(x) if self.signs else 0.0)

    def solved(
        self, price: float | None = None
    ) -> tuple[Array, ProgrammeAnswer] | None:
        """Return the layer and its multipliers; None where none was found.

        Parameters
        ----------
        price : float or None
            Of loosening a limit by one; None: none is loosened.
        """
        margin = MARGIN * self.scale**0.5
        for _ in range(MOST_MARGINS):
            answer = self._programme(margin).solved(price)
            if answer is None:
                return None
            x = answer.d if self.signs is None else self.signs.kept(answer.d)
            if price is not None or self.violation(x) == 0.0:
                return x, answer
            margin *= 10.0
        return None

    def impossible(self) -> bool:
        """Return whether it is proved that no layer keeps the limits as they are."""
        return self._programme(0.0).impossible()

    def _programme(self, margin: float) -> LimitedProgramme:
        H, q, _ = self.objective.quadratic
        n_outputs = self.objective.Y.shape[1]
        J = np.einsum("if,kl->ikfl", self.inputs, np.eye(n_outputs))
        rows = len(self.inputs)
        floors = Floors()
        if self.signs is not None:
            places = self.signs.places
            floors = Floors(places, self.signs.signs, np.zeros(places.size))
        return LimitedProgramme(
            H,
            q,
            np.zeros((rows, n_outputs)),
            J.reshape(rows, n_outputs, -1),
            [limit.tightened(margin) for limit in self.limits],
            floors,
            self.scale**0.5,
        )

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal."""
        value = self.objective.value(x)
        bound = self._dual(hint if isinstance(hint, ProgrammeAnswer) else None)
        return Certificate(
            kind="duality gap",
            objective=value,
            bound=float(min(bound, value)),
            gap=float(max(value - bound, 0.0)),
            scale=self.scale,
            infeasibility=self.violation(x),
        )

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient prove: no more than x alone."""
        return self.certify(x)

    def _dual(self, answer: ProgrammeAnswer | None) -> float:
        """Return the least value of the Lagrangian."""
        H, q, constant = self.objective.quadratic
        if answer is not None:
            signal = answer.signal
            q = q + (self.inputs.T @ signal).ravel()
            if self.signs is not None:
                q = q.copy()
                q[self.signs.places] -= self.signs.signs * answer.floors
            for k, limit in enumerate(self.limits):
                constant += dual_constant(limit, answer, k)
        values, vectors = np.linalg.eigh(H)
        turned = vectors.T @ q
        flat = values <= _FLAT * max(values[-1], 1e-300)
        # Along a flat direction a slope beyond rounding has no least value.
        if (np.abs(turned[flat]) > 1e-8 * (1.0 + np.abs(q).max())).any():
            return -np.inf
        return constant - 0.5 * float((turned[~flat] ** 2 / values[~flat]).sum())


@dataclass(frozen=True)
class ExactLayer:
    """The whole last layer in one step: a quadratic programme, by Clarabel."""

    @property
    def accepts(self) -> Requirements:
        """A last layer under limits."""
        return Requirements(
            objective=("value", "gradient", "quadratic"), problem=("solved", "limits")
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        return State(x, problem.certify(x))

    def step(self, problem: Any, state: State) -> State:
        """Return the answer; there is no second step."""
        found = problem.solved()
        if found is None:
            return State(state.x, state.claim, stalled=True)
        x, answer = found
        return State(x, problem.certify(x, answer), hint=answer, stalled=True)
