"""Training a network under limits that hold: merit, model and certificate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.network.lagrangian import least_value
from counterpoise.convex.network.limits import OutputLimit, SignedWeights
from counterpoise.convex.network.objective import NetworkObjective
from counterpoise.convex.network.output_layer import (
    MARGIN,
    LayerObjective,
    OutputLayer,
)
from counterpoise.convex.network.programme import (
    Floors,
    LimitedProgramme,
    ProgrammeAnswer,
)
from counterpoise.numerics.arrays import Array

# What a violation by one spread of the outputs costs in the merit, in units of the best
# constant's loss.
VIOLATION_PRICE = 1e3
# The proximal weight of the model by which a point is judged.
JUDGED_ETA = 1e-2


class Model(NamedTuple):
    """The prox-linear programme around a point, solved.

    Attributes
    ----------
    d : array
        The move of the parameters.
    promised : float
        By how much this move lowers the merit in the model.
    most : float
        By how much no move lowers it by more, by weak duality; zero at a stationary
        point, infinite where nothing was found.
    answer : ProgrammeAnswer
    """

    d: Array
    promised: float
    most: float
    answer: ProgrammeAnswer


@dataclass(frozen=True, eq=False)
class ConstrainedTraining:
    r"""Lower a network's objective f under limits on its outputs and weights.

    The merit is :math:`M = f + \rho \sum_k v_k`, :math:`v_k` the amount by which limit
    k is exceeded, :math:`\rho` a thousand times the root of the best constant's loss,
    or more: twice what a last layer that keeps the limits costs at the start, per unit
    of violation there.
    Around a point x the outputs are replaced by their linearisation, while loss and
    limits stay:

    .. math::

        \min_d \sum_j o_j |z_j + J_j d - y_j|^2 + \tfrac{\alpha}{2} |w + d_w|^2
        + \eta |d|^2 \quad \text{with the limits on } z + Jd

    (with slacks of price :math:`\rho` where x exceeds a limit). What this convex
    programme lowers the merit by at most, with :math:`\eta = 0.01`, is the residual of
    the certificate: zero at a stationary point, by its dual, so that a poor answer of
    the solver cannot pass for one. Nothing else is bounded.

    Parameters
    ----------
    objective : NetworkObjective
    rows : array of shape (n, d)
        All rows that limits speak of; those of the objective first.
    limits : sequence of limits
        On the outputs at `rows`.
    signs : SignedWeights or None
    first : array
        Where training begins; weights of a wrong sign are set to zero.
    """

    objective: NetworkObjective
    rows: Array
    limits: Sequence[OutputLimit]
    signs: SignedWeights | None
    first: Array

    @cached_property
    def price(self) -> float:
        """What a unit of violation costs."""
        least = VIOLATION_PRICE * self.objective.scale**0.5
        x = self.start()
        exceeded = float(self.violations(x).sum())
        kept = self.refitted(x) if exceeded > 0.0 else None
        if kept is None:
            return least
        dearer = self.objective.value(kept) - self.objective.value(x)
        return max(least, 2.0 * dearer / exceeded)

    @property
    def judged_eta(self) -> float:
        """The proximal weight by which a point is judged."""
        return JUDGED_ETA * self.objective.unit

    def start(self) -> Array:
        """Return the point to begin with."""
        return self.kept(self.first)

    def kept(self, x: Array) -> Array:
        """Return parameters whose weights have the signs they must have."""
        return x.copy() if self.signs is None else self.signs.kept(x)

    def violations(self, x: Array) -> Array:
        """Return the amount by which each limit on outputs is exceeded."""
        z = self.objective.network.outputs(x, self.rows)
        return np.array([limit.violation(z) for limit in self.limits])

    def violation(self, x: Array) -> float:
        """Return the largest amount by which a limit is exceeded."""
        worst = float(self.violations(x).max(initial=0.0))
        return max(worst, self.signs.violation(x) if self.signs else 0.0)

    def merit(self, x: Array) -> float:
        """Return M; infinite where a sign is wrong."""
        if self.signs is not None and self.signs.violation(x) > 0.0:
            return np.inf
        total = float(self.violations(x).sum())
        return self.objective.value(x) + self.price * total

    def model(self, x: Array, eta: float) -> Model:
        """Return the prox-linear programme around x, solved."""
        f = self.objective
        network = f.network
        J, z = network.jacobian(x, self.rows)
        m = len(f.X)
        flat = J[:m].reshape(-1, network.size)
        weighted = np.repeat(f.share, f.Y.shape[1])[:, None] * flat
        weights = np.where(network.is_weight, f.alpha, 0.0)
        H = 2.0 * weighted.T @ flat
        H.flat[:: len(H) + 1] += weights + 2.0 * eta
        q = 2.0 * weighted.T @ (z[:m] - f.Y).ravel() + weights * x
        floors = Floors()
        if self.signs is not None:
            places, signs = self.signs.places, self.signs.signs
            floors = Floors(places, signs, -signs * x[places])
        margin = MARGIN * f.scale**0.5
        limits = [limit.tightened(margin) for limit in self.limits]
        programme = LimitedProgramme(H, q, z, J, limits, floors, f.scale**0.5)
        exceeded = float(self.violations(x).sum())
        answer = programme.solved() if exceeded == 0.0 else None
        if answer is None:
            answer = programme.solved(self.price)
        if answer is None:
            # Clarabel found neither a point nor a proof: nothing is known.
            none = np.zeros(len(self.limits))
            still = np.zeros(network.size)
            at = np.zeros(floors.places.size)
            answer = ProgrammeAnswer(
                still, none, none, none, np.zeros_like(z), at, none
            )
            return Model(still, 0.0, np.inf, answer)
        d = answer.d
        moved = z + J @ d
        left = sum(limit.violation(moved) for limit in self.limits)
        promised = self.price * (exceeded - left) - programme.value(d)
        most = self.price * exceeded - least_value(programme, answer)
        promised, most = max(float(promised), 0.0), float(most)
        return Model(d, promised, max(promised, most), answer)

    def output_layer(self, x: Array) -> OutputLayer:
        """Return the programme of the last layer over the hidden layers of x."""
        f = self.objective
        inputs = f.network.last_inputs(x, self.rows)
        return OutputLayer(
            LayerObjective(inputs[: len(f.X)], f.Y, f.share, f.alpha),
            inputs,
            self.limits,
            self._last_signs,
            f.scale,
        )

    @cached_property
    def _last_signs(self) -> SignedWeights | None:
        if self.signs is None:
            return None
        first = self.objective.network.starts[-2]
        own = self.signs.places >= first
        return SignedWeights(
            self.signs.name, self.signs.places[own] - first, self.signs.signs[own]
        )

    def refitted(self, x: Array, price: float | None = None) -> Array | None:
        """Return x with its last layer solved exactly; None where that cannot be."""
        found = self.output_layer(x).solved(price)
        if found is None:
            return None
        first = self.objective.network.starts[-2]
        return np.concatenate([x[:first], found[0]])

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Say how far x is from a stationary point."""
        return self.judged(x, self.model(x, self.judged_eta))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient prove: no more than x alone."""
        return self.certify(x)

    def judged(self, x: Array, model: Model) -> Certificate:
        """Say what a model around x promises."""
        return Certificate(
            kind="stationarity",
            objective=self.merit(x),
            scale=self.objective.scale,
            residual=model.most,
            infeasibility=self.violation(x),
        )

    def prices(self, x: Array) -> tuple[Array, Array, Array] | None:
        """Return what the limits cost at x: minus the slope of the objective by them.

        Returns
        -------
        below, above, signs : arrays, or None
            Multipliers of the limits' lower ends, of their bounds, and of the signed
            weights, in the model around x, which are those of the training problem at
            a stationary point. None where x exceeds a limit.
        """
        if self.violation(x) > 0.0:
            return None
        answer = self.model(x, self.judged_eta).answer
        return answer.below, answer.above, answer.floors
