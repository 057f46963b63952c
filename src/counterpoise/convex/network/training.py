"""Training a network without constraints: what can be proved of a point."""

from dataclasses import dataclass

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.network.objective import NetworkObjective
from counterpoise.convex.network.proximal_round import Penalties, ProximalRound
from counterpoise.numerics.arrays import Array

PROVED_ROUND = "global minimum of the proximal round"
# What holds back the first layer and the biases: no condition asks for more.
HARDLY_HELD = 1e-3
# The one penalty of rounds without a proof.
UNPROVED_ETA = 0.01


@dataclass(frozen=True, eq=False)
class NetworkTraining:
    r"""Lower a network's objective; nothing is said about its global minimum.

    The certificate of a point is about the round that is centred there
    (`ProximalRound`, the old point being the point itself).

    * With `proved`: its penalties are twice what the three conditions ask for (first
      layer and biases: 1e-3), so that they hold with a ratio of one half, and `bound`
      is below every value of that round: one more proved round can lower the objective
      by at most `gap`. The kind is "global minimum of the proximal round".
    * Without: the kind is "stationarity", and the residual
      :math:`|\nabla f|^2 / (4 \eta)`, :math:`\eta = 0.01`, is what the round promises
      to first order.

    Both are in units of the objective, and the unit of `holds` is the loss of the best
    constant; where that is above one, fixed penalties are multiplied by it, but those
    of the last layer, whose weights and biases grow with the outputs.

    Parameters
    ----------
    objective : NetworkObjective
    first : array
        Where training begins.
    proved : bool
        Which certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import solve
    >>> from counterpoise.convex.network import DirectRounds, Network, Sigmoid
    >>> X = np.linspace(-1.0, 1.0, 9)[:, None]
    >>> f = NetworkObjective(
    ...     Network((1, 2, 1), Sigmoid()), X, X**2, np.full(9, 1 / 9), 1e-2
    ... )
    >>> training = NetworkTraining(f, np.linspace(-1.0, 1.0, 7))
    >>> solve(training, DirectRounds(), tol=1e-6, max_iter=200).certificate.kind
    'global minimum of the proximal round'
    """

    objective: NetworkObjective
    first: Array
    proved: bool = True

    def start(self) -> Array:
        """Return the point to begin with."""
        return self.first.copy()

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Say how much another round around x could do."""
        if self.proved:
            return self._proof(x)
        return self.judge(x, self.objective.value(x), self.objective.gradient(x))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        if self.proved:
            return self._proof(x)
        return Certificate(
            kind="stationarity",
            objective=value,
            scale=self.objective.scale,
            residual=float((gradient**2 / self._held_back).sum()) / 4.0,
        )

    @property
    def _held_back(self) -> Array:
        eta = np.full(self.objective.network.size, UNPROVED_ETA * self.objective.unit)
        eta[self.objective.network.starts[-2] :] = UNPROVED_ETA
        return eta

    def _proof(self, x: Array) -> Certificate:
        depth = self.objective.network.depth
        # At the centre of a round the signals do not depend on its penalties.
        asked = ProximalRound(self.objective, x, Penalties.equal(depth, 1.0)).prove(x)

        free, last = HARDLY_HELD * self.objective.unit, HARDLY_HELD

        def twice(ratios: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(max(2.0 * ratio, last) for ratio in ratios)

        penalties = Penalties(
            (free, *twice(asked.units)),
            (*(free,) * (depth - 1), last),
            twice(asked.rows),
            twice(asked.activations),
        )
        proof = ProximalRound(self.objective, x, penalties).prove(x)
        value = self.objective.value(x)
        return Certificate(
            kind=PROVED_ROUND,
            objective=value,
            bound=value - proof.gap,
            gap=proof.gap,
            scale=self.objective.scale,
            residual=proof.gradient,
        )
