"""Training by convex rounds, each with a certificate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.dc_network.network import NetworkObjective, Together
from counterpoise.optim.loop import Requirements, State

# -----------------------------------------------------------------------------
# One round: the objective plus a regularizer around a point, and its global proof.
# -----------------------------------------------------------------------------


# L-BFGS ends at a gradient of this size; rounding leaves about a tenth of it.
ROUND_GRADIENT = 1e-8
# Corrections that L-BFGS keeps, and its most iterations in a round.
ROUND_MEMORY, ROUND_STEPS = 20, 500


@dataclass(frozen=True)
class Penalties:
    """What holds a round back, a number a layer, all positive.

    Attributes
    ----------
    weights, biases : tuple of float
        Of squared moves of the weights and the biases, layer 1 to L.
    hidden, bregman : tuple of float
        Of squared moves of what hidden layers give out, and of the Bregman distances of
        the parts of their activations, layer 1 to L - 1. Both are multiplied by the
        share of the row.
    """

    weights: tuple[float, ...]
    biases: tuple[float, ...]
    hidden: tuple[float, ...]
    bregman: tuple[float, ...]

    @classmethod
    def equal(cls, depth: int, eta: float) -> "Penalties":
        """Return the published choice: one number everywhere."""
        some, fewer = (eta,) * depth, (eta,) * (depth - 1)
        return cls(some, some, fewer, fewer)


class RoundProof(NamedTuple):
    """What a backward pass says of a point of a round.

    Attributes
    ----------
    value : float
        Of the round's objective F.
    units, rows, activations : tuple of float
        The largest ratio of each condition to its bound, layer by layer.
    gradient : float
        The largest entry of the gradient of F.
    gap : float
        No point has a value of F below `value - gap`; infinite where a ratio is above
        one.
    """

    value: float
    units: tuple[float, ...]
    rows: tuple[float, ...]
    activations: tuple[float, ...]
    gradient: float
    gap: float

    @property
    def exactness(self) -> float:
        """The largest ratio; at most one proves the round."""
        return max((*self.units, *self.rows, *self.activations), default=0.0)


class _Signals(NamedTuple):
    value: float
    deltas: list[Array]
    pulls: list[Array]
    gradient: list[tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class ProximalRound:
    r"""Minimize a network's objective f and a regularizer around an old point.

    .. math::

        F = f + \sum_l W_l |w_l - \hat w_l|^2 + B_l |b_l - \hat b_l|^2
        + \sum_{l<L} \sum_j o_j \Big( H_l |a_{lj} - \hat a_{lj}|^2
        + Q_l \sum_i (D_p + D_q)(z_{lji}, \hat z_{lji}) \Big)

    with Bregman distances :math:`D_p(z, \hat z) = p(z) - p(\hat z) - p'(\hat z)
    (z - \hat z)`. The regularizer is zero at the old point and nowhere negative: a
    point with F at most f(old) has f at most f(old).

    Parameters
    ----------
    objective : NetworkObjective
    old : array
        Where the round is centered.
    penalties : Penalties

    Notes
    -----
    Let :math:`\delta_l = dF/dz_l` and :math:`g_l = \delta_{l+1} w_{l+1}' + 2 H_l o
    (a_l - \hat a_l)` at a point. If in every layer

    .. math::

        \sum_j |\delta_{l,ji}| \le 2 W_l, \quad
        \sum_i |\delta_{l,ji}| \le 2 H_{l-1} o_j \quad (l \ge 2), \qquad
        |g_{l,ji}| \le Q_l o_j \quad (l \le L - 1),

    these signals are multipliers of a convex relaxation of the round (a cone program,
    `cone_program.py`), whose Lagrangian is convex. Its minimum over all variables,
    which is a bound below every F, has a closed form, since at the point itself only
    the slopes by weights and biases, :math:`G_l` and :math:`\gamma_l`, are not zero:

    .. math::

        gap = \frac{|G_1|^2}{2 (2 W_1 + \alpha)} + \sum_l \frac{|\gamma_l|^2}{4 B_l}
        + \sum_{l \ge 2} \tfrac12 tr(G_l S_l^{-1} G_l'), \quad
        S_l = (2 W_l + \alpha) I - \delta_l' diag(2 H_{l-1} o)^{-1} \delta_l.

    A stationary point with all ratios at most one is the global minimum of F and of the
    relaxation. The price is one backward pass.

    References
    ----------
    Zohrizadeh (2019), chapter 4, whose conditions lack a factor of two: the
    off-diagonal blocks of its multipliers count twice.
    """

    objective: NetworkObjective
    old: Array
    penalties: Penalties

    @cached_property
    def _was(self) -> tuple[list[Array], list[Array], list[Together]]:
        zs, activations = self.objective.network.forward(self.old, self.objective.X)
        there = [self.objective.network.activation.together(z) for z in zs[:-1]]
        return zs, activations, there

    def evaluate(self, x: Array) -> tuple[float, Array]:
        """Return F and its gradient."""
        signals = self._signals(x)
        return signals.value, self.objective.network.pack(signals.gradient)

    def minimized(self, x: Array) -> Array:
        """Return where L-BFGS ends that begins at x; the old point if that is no lower.

        The best of what it has seen within `ROUND_STEPS` iterations; the gradient aims
        at `ROUND_GRADIENT`.
        """
        found = minimize(
            self.evaluate,
            x,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": ROUND_STEPS,
                "maxfun": 2 * ROUND_STEPS,
                "maxcor": ROUND_MEMORY,
                "ftol": 0.0,
                "gtol": ROUND_GRADIENT * self.objective.unit**0.5,
            },
        )
        if found.fun <= self.objective.value(self.old):
            return np.asarray(found.x, dtype=float)
        return self.old

    def prove(self, x: Array) -> RoundProof:
        """Return the ratios at x, and what they prove."""
        signals = self._signals(x)
        share, network = self.objective.share, self.objective.network
        units, rows, activations = [], [], []
        for k in range(1, network.depth):
            size = np.abs(signals.deltas[k])
            pull = np.abs(signals.pulls[k - 1])
            pen, last = self.penalties, k - 1
            units.append(size.sum(axis=0) / (2.0 * pen.weights[k]))
            rows.append(size.sum(axis=1) / (2.0 * pen.hidden[last] * share))
            activations.append(pull / (pen.bregman[last] * share[:, None]))
        largest = [
            tuple(float(one.max()) for one in layers)
            for layers in (units, rows, activations)
        ]
        gradient = float(np.abs(network.pack(signals.gradient)).max())
        proof = RoundProof(
            signals.value, largest[0], largest[1], largest[2], gradient, np.inf
        )
        if proof.exactness <= 1.0:
            return proof._replace(gap=self._gap(signals))
        return proof

    def _signals(self, x: Array) -> _Signals:
        f, pen = self.objective, self.penalties
        network, share = f.network, f.share[:, None]
        zs_old, a_old, there = self._was
        layers, before = network.unpack(x), network.unpack(self.old)
        activations, nows, zs = [f.X], [], []
        for k, layer in enumerate(layers):
            zs.append(activations[-1] @ layer.weights + layer.biases)
            if k < network.depth - 1:
                nows.append(network.activation.together(zs[-1]))
                activations.append(nows[-1].value)
        residual = zs[-1] - f.Y
        value = float((share * residual * residual).sum())
        d = 2.0 * share * residual
        deltas: list[Array] = [d] * network.depth
        pulls: list[Array] = [d] * (network.depth - 1)
        gradient = [(d, d)] * network.depth
        for k in reversed(range(network.depth)):
            deltas[k] = d
            (w, b), (v, c) = layers[k], before[k]
            value += 0.5 * f.alpha * float((w * w).sum())
            value += pen.weights[k] * float(((w - v) ** 2).sum())
            value += pen.biases[k] * float(((b - c) ** 2).sum())
            gradient[k] = (
                activations[k].T @ d + 2.0 * pen.weights[k] * (w - v) + f.alpha * w,
                d.sum(axis=0) + 2.0 * pen.biases[k] * (b - c),
            )
            if k == 0:
                break
            now, was = nows[k - 1], there[k - 1]
            moved, turned = now.value - a_old[k], zs[k - 1] - zs_old[k - 1]
            apart = now.sum - was.sum - was.sum_slope * turned
            value += pen.hidden[k - 1] * float((share * moved * moved).sum())
            value += pen.bregman[k - 1] * float((share * apart).sum())
            pulls[k - 1] = d @ w.T + 2.0 * pen.hidden[k - 1] * share * moved
            d = pulls[k - 1] * now.slope + pen.bregman[k - 1] * share * (
                now.sum_slope - was.sum_slope
            )
        return _Signals(value, deltas, pulls, gradient)

    def _gap(self, signals: _Signals) -> float:
        f, pen = self.objective, self.penalties
        first = float((signals.gradient[0][0] ** 2).sum())
        gap = 0.5 * first / (2.0 * pen.weights[0] + f.alpha)
        for k, (slopes, bias_slopes) in enumerate(signals.gradient):
            gap += float((bias_slopes**2).sum()) / (4.0 * pen.biases[k])
            if k == 0:
                continue
            delta = signals.deltas[k]
            scaled = delta / (2.0 * pen.hidden[k - 1] * f.share[:, None])
            S = -delta.T @ scaled
            S.flat[:: len(S) + 1] += 2.0 * pen.weights[k] + f.alpha
            try:
                factor = cho_factor(S)
            except LinAlgError:
                return np.inf
            gap += 0.5 * float((slopes.T * cho_solve(factor, slopes.T)).sum())
        return gap


def rescaled(penalties: Penalties, proof: RoundProof, *, grow: bool) -> Penalties:
    """Return the penalties for another try, or for the next round.

    With `grow` doubled where a ratio is above one; without, divided by 1.5 where a
    ratio is below 0.6, but not to less than 1e-6.
    """

    def each(numbers: Sequence[float], ratios: Sequence[float]) -> tuple[float, ...]:
        if grow:
            pairs = zip(numbers, ratios, strict=True)
            return tuple(2.0 * p if ratio > 1.0 else p for p, ratio in pairs)
        pairs = zip(numbers, ratios, strict=True)
        return tuple(max(p / 1.5, 1e-6) if ratio < 0.6 else p for p, ratio in pairs)

    return replace(
        penalties,
        weights=(penalties.weights[0], *each(penalties.weights[1:], proof.units)),
        hidden=each(penalties.hidden, proof.rows),
        bregman=each(penalties.bregman, proof.activations),
    )


# -----------------------------------------------------------------------------
# Training a network without constraints: what can be proved of a point.
# -----------------------------------------------------------------------------


PROVED_ROUND = "global minimum of the proximal round"
# What holds back the first layer and the biases: no condition asks for more.
HARDLY_HELD = 1e-3
# The one penalty of rounds without a proof.
UNPROVED_ETA = 0.01


@dataclass(frozen=True, eq=False)
class NetworkTraining:
    r"""Lower a network's objective; nothing is said about its global minimum.

    The certificate of a point is about the round that is centered there
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
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim.dc_network.training import DirectRounds
    >>> from counterpoise.optim.dc_network.network import Network, Sigmoid
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
        # At the center of a round the signals do not depend on its penalties.
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


# -----------------------------------------------------------------------------
# Rounds by L-BFGS, each proved to be solved to its global minimum.
# -----------------------------------------------------------------------------


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


def ignore_round(one: Round) -> None:
    """Do nothing with the record of a round."""


@dataclass(frozen=True)
class _State:
    """The penalties, the point before the present one, and rounds since a restart."""

    penalties: Penalties
    before: Array
    count: int = 1


def check_eta(eta: float | None) -> None:
    """Refuse a penalty of rounds that is not a positive number."""
    if eta is not None and not 0.0 < eta < math.inf:
        raise ValueError(f"eta must be positive and finite, got {eta}")


# What solvers of the training of a network without constraints need.
ACCEPTS_TRAINING = Requirements(
    objective=("value", "gradient", "network"), problem=("first", "proved")
)


@dataclass(frozen=True)
class DirectRounds:
    r"""Rounds that minimize F by L-BFGS and prove it by one backward pass.

    A proved round begins with the penalties of the last one, doubles those whose
    condition is broken until all hold, and divides by 1.5 those whose ratio is below
    0.6 afterwards; all begin at one, the first layer's and the biases' are 1e-3
    throughout.

    The k-th round since a restart is centered at :math:`x + \frac{k - 1}{k + 2} (x -
    x_{before})` if the objective is no higher there than at x, else at x, and k begins
    anew. So the objective never rises, proved or not.

    Parameters
    ----------
    proved : bool
        Whether every round is proved; else one penalty of 0.01 serves all.
    tell : callable
        Called with the `Round` after each.
    eta : float, optional
        One penalty that all conditions of all layers begin with, as published; without
        `proved` it stays. By default each condition has its own, as above.

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
    tell: Callable[[Round], object] = field(default=ignore_round, repr=False)
    eta: float | None = None
    accepts: ClassVar[Requirements] = ACCEPTS_TRAINING

    def __post_init__(self) -> None:
        check_eta(self.eta)

    def begin(self, problem: NetworkTraining, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        counts = dict.fromkeys(_COUNTED, 0)
        depth, unit = problem.objective.network.depth, problem.objective.unit
        if self.eta is not None:
            memory = _State(Penalties.equal(depth, self.eta), x)
            return State(x, problem.certify(x), memory, counts=counts)
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
        memory = _State(penalties, x)
        return State(x, problem.certify(x), memory, counts=counts)

    def step(self, problem: NetworkTraining, state: State) -> State:
        """Return the state after one round."""
        memory: _State = state.memory
        center, count = self._center(problem, state, memory)
        x, proof, penalties, tries = self._solved(problem, center, memory.penalties)
        further = int(count > 1)
        counts = {
            "tries": state.counts["tries"] + tries,
            "extrapolations": state.counts["extrapolations"] + further,
        }
        value = problem.objective.value(x)
        if not value < state.claim.objective:
            memory = _State(penalties, state.x)
            # A round from the point itself may still do what one from ahead did not.
            return State(
                state.x, state.claim, memory, None, counts, stalled=not further
            )
        numbers = (*penalties.weights, *penalties.hidden, *penalties.bregman)
        self.tell(
            Round(value, proof.exactness, proof.gap, proof.gradient, eta=max(numbers))
        )
        if self.proved:
            penalties = rescaled(penalties, proof, grow=False)
        memory = _State(penalties, state.x, count + 1)
        return State(x, problem.certify(x), memory, counts=counts)

    @staticmethod
    def _center(
        problem: NetworkTraining, state: State, memory: _State
    ) -> tuple[Array, int]:
        """Return where the next round is centered, and its number since a restart."""
        if memory.count > 1:
            share = (memory.count - 1.0) / (memory.count + 2.0)
            ahead = state.x + share * (state.x - memory.before)
            if problem.objective.value(ahead) <= state.claim.objective:
                return ahead, memory.count
        return state.x, 1

    def _solved(
        self, problem: NetworkTraining, old: Array, penalties: Penalties
    ) -> tuple[Array, RoundProof, Penalties, int]:
        """Return the round's minimum, its proof and penalties, and the tries."""
        x = old
        for tries in range(1, MOST_TRIES + 1):
            around = ProximalRound(problem.objective, old, penalties)
            x = around.minimized(x)
            proof = around.prove(x)
            if not self.proved or proof.exactness <= 1.0:
                return x, proof, penalties, tries
            penalties = rescaled(penalties, proof, grow=True)
        return old, proof, penalties, tries
