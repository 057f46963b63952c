"""Training under hard constraints: output layer and prox-linear rounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.dc_network.constraints import (
    Floors,
    LimitedProgram,
    OutputLimit,
    ProgramAnswer,
    SignedWeights,
    dual_constant,
    least_value,
)
from counterpoise.optim.dc_network.network import NetworkObjective
from counterpoise.optim.dc_network.training import Round, check_eta, ignore_round
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import Objective

# -----------------------------------------------------------------------------
# The last layer alone: constrained least squares, exact, with a duality gap.
# -----------------------------------------------------------------------------


# Limits are kept this share of the outputs' spread inside, and ten times as much where
# that was not enough: an interior-point method meets them up to its tolerance only.
MARGIN = 1e-8
MOST_MARGINS = 3
# Directions in which the quadratic is flat up to rounding, as a share of its largest.
_FLAT = 1e-13


@dataclass(frozen=True, eq=False)
class LayerObjective(Objective):
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

    def solved(self, price: float | None = None) -> tuple[Array, ProgramAnswer] | None:
        """Return the layer and its multipliers; None where none was found.

        Parameters
        ----------
        price : float or None
            Of loosening a limit by one; None: none is loosened.
        """
        margin = MARGIN * self.scale**0.5
        for _ in range(MOST_MARGINS):
            answer = self._program(margin).solved(price)
            if answer is None:
                return None
            x = answer.d if self.signs is None else self.signs.kept(answer.d)
            if price is not None or self.violation(x) == 0.0:
                return x, answer
            margin *= 10.0
        return None

    def impossible(self) -> bool:
        """Return whether it is proved that no layer keeps the limits as they are."""
        return self._program(0.0).impossible()

    def _program(self, margin: float) -> LimitedProgram:
        H, q, _ = self.objective.quadratic
        n_outputs = self.objective.Y.shape[1]
        J = np.einsum("if,kl->ikfl", self.inputs, np.eye(n_outputs))
        rows = len(self.inputs)
        floors = Floors()
        if self.signs is not None:
            places = self.signs.places
            floors = Floors(places, self.signs.signs, np.zeros(places.size))
        return LimitedProgram(
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
        bound = self._dual(hint if isinstance(hint, ProgramAnswer) else None)
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

    def _dual(self, answer: ProgramAnswer | None) -> float:
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
    """The whole last layer in one step: a quadratic program, by Clarabel."""

    accepts: ClassVar[Requirements] = Requirements(
        objective=("value", "gradient", "quadratic"), problem=("solved", "limits")
    )

    def begin(self, problem: OutputLayer, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        return State(x, problem.certify(x))

    def step(self, problem: OutputLayer, state: State) -> State:
        """Return the answer; there is no second step."""
        found = problem.solved()
        if found is None:
            return State(state.x, state.claim, stalled=True)
        x, answer = found
        return State(x, problem.certify(x, answer), hint=answer, stalled=True)


# -----------------------------------------------------------------------------
# Training a network under limits that hold: merit, model and certificate.
# -----------------------------------------------------------------------------


# What a violation by one spread of the outputs costs in the merit, in units of the best
# constant's loss.
VIOLATION_PRICE = 1e3
# The proximal weight of the model by which a point is judged.
JUDGED_ETA = 1e-2


class Model(NamedTuple):
    """The prox-linear program around a point, solved.

    Attributes
    ----------
    d : array
        The move of the parameters.
    promised : float
        By how much this move lowers the merit in the model.
    most : float
        By how much no move lowers it by more, by weak duality; zero at a stationary
        point, infinite where nothing was found.
    answer : ProgramAnswer
    """

    d: Array
    promised: float
    most: float
    answer: ProgramAnswer


@dataclass(frozen=True, eq=False)
class ConstrainedTraining:
    r"""Lower a network's objective f under limits on its outputs and weights.

    The merit is :math:`M = f + \rho \sum_k v_k`, :math:`v_k` the amount by which limit
    k is exceeded, :math:`\rho` a thousand times the root of the best constant's loss,
    or more: twice what a last layer that keeps the limits costs at the start, per unit
    of violation there.
    Around a point x the outputs are replaced by their linearization, while loss and
    limits stay:

    .. math::

        \min_d \sum_j o_j |z_j + J_j d - y_j|^2 + \tfrac{\alpha}{2} |w + d_w|^2
        + \eta |d|^2 \quad \text{with the limits on } z + Jd

    (with slacks of price :math:`\rho` where x exceeds a limit). What this convex
    program lowers the merit by at most, with :math:`\eta = 0.01`, is the residual of
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
        """Return the prox-linear program around x, solved."""
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
        program = LimitedProgram(H, q, z, J, limits, floors, f.scale**0.5)
        exceeded = float(self.violations(x).sum())
        answer = program.solved() if exceeded == 0.0 else None
        if answer is None:
            answer = program.solved(self.price)
        if answer is None:
            # Clarabel found neither a point nor a proof: nothing is known.
            none = np.zeros(len(self.limits))
            still = np.zeros(network.size)
            at = np.zeros(floors.places.size)
            answer = ProgramAnswer(still, none, none, none, np.zeros_like(z), at, none)
            return Model(still, 0.0, np.inf, answer)
        d = answer.d
        moved = z + J @ d
        left = sum(limit.violation(moved) for limit in self.limits)
        promised = self.price * (exceeded - left) - program.value(d)
        most = self.price * exceeded - least_value(program, answer)
        promised, most = max(float(promised), 0.0), float(most)
        return Model(d, promised, max(promised, most), answer)

    def output_layer(self, x: Array) -> OutputLayer:
        """Return the program of the last layer over the hidden layers of x."""
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


# -----------------------------------------------------------------------------
# Rounds under hard limits: a prox-linear step, then the last layer exactly.
# -----------------------------------------------------------------------------


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
    r"""Prox-linear rounds with the exact program of the output layer.

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
        Called with the `Round` after each.
    eta : float, optional
        The first eta. By default that of the certificate.

    Notes
    -----
    A round costs a quadratic program in all P parameters, whose dense rows are those
    whose residual may change sign, O(m P^2 + P^3), and small ones in the last layer.

    References
    ----------
    Drusvyatskiy and Paquette (2019), on prox-linear methods.
    """

    tell: Callable[[Round], object] = field(default=ignore_round, repr=False)
    eta: float | None = None
    accepts: ClassVar[Requirements] = Requirements(
        objective=("value", "gradient", "network"),
        problem=("model", "merit", "refitted"),
    )

    def __post_init__(self) -> None:
        check_eta(self.eta)

    def begin(self, problem: ConstrainedTraining, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else problem.kept(x)
        model = problem.model(x, problem.judged_eta)
        first = problem.judged_eta if self.eta is None else self.eta
        memory = _Memory(first, None)
        return State(x, problem.judged(x, model), memory, counts={"tries": 0})

    def step(self, problem: ConstrainedTraining, state: State) -> State:
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
        self.tell(Round(value, violation=problem.violation(new), eta=eta))
        eta = max(0.5 * eta, SMALLEST_ETA)
        model = problem.model(new, eta)
        return State(
            new, problem.judged(new, model), _Memory(eta, model), counts=counts
        )

    @staticmethod
    def _better(
        problem: ConstrainedTraining, x: Array, there: Array, merit: float
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
