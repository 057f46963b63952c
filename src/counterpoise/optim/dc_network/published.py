r"""The published round as a cone program.

It lifts, in every layer l >= 2, :math:`|w_{*i}|^2` to :math:`V_i`, :math:`|a_{j*}|^2`
to :math:`T_j` and p + q to u, and relaxes

.. math::

    V_i + T_j \pm 2 (z_{ji} - b_i) \ge |w_{*i} \pm a_{j*}|^2, \quad V_i \ge |w_{*i}|^2,
    \quad T_j \ge |a_{j*}|^2, \quad \tfrac12 (u + a) \ge p(z), \quad
    \tfrac12 (u - a) \ge q(z)

Layer 1 is linear in its weights and not relaxed. p and q are no functions of cones:
tangents stand for them, and more are laid where they are left.

All variables are moves from the old point here (:math:`\omega, \beta, \zeta, \alpha` of
w, b, z, a; V and T stand for :math:`|\omega|^2` and :math:`|\alpha|^2`, u for the sum
of Bregman distances), which changes nothing but the digits that cancel:

.. math::

    V_i + T_j \pm 2 (\zeta_{ji} - \beta_i - \langle \hat w_{*i}, \alpha_{j*} \rangle
    - \langle \hat a_{j*}, \omega_{*i} \rangle) \ge |\omega_{*i} \pm \alpha_{j*}|^2
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from counterpoise.linalg.arrays import Array
from counterpoise.optim.dc_network.network import Activation, Layer
from counterpoise.optim.dc_network.training import (
    ACCEPTS_TRAINING,
    NetworkTraining,
    Penalties,
    ProximalRound,
    Round,
    check_eta,
    ignore_round,
)
from counterpoise.optim.loop import Requirements, State

# Tangents are laid at the old point and these distances from it, and on a grid.
_NEAR = (0.0, -0.3, 0.3, -1.0, 1.0)
_GRID = (-8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0)
# What Clarabel is asked for.
_ACCURACY = 1e-8
# Solves, each with tangents where the last one left p or q by more than this.
MOST_CONE_CUTS, LEFT_BY = 8, 1e-8


class RelaxedRound(NamedTuple):
    """The answer of the cone program.

    Attributes
    ----------
    x : array
        Weights and biases.
    value : float
        Of the program: a lower bound of the round's F.
    gap : float
        Largest difference of an argument z from that of the network of these weights.
    left_by : float
        Largest amount by which p or q is left by its tangents.
    """

    x: Array
    value: float
    gap: float
    left_by: float


@dataclass(frozen=True)
class ConeRounds:
    r"""The published rounds: a cone program with one fixed penalty, by Clarabel.

    A round minimizes the relaxation around x, with :math:`\eta` as the penalty of every
    condition of every layer, and moves to the weights of its solution if the objective
    is lower there. With a large :math:`\eta` the relaxation is exact; where the
    objective does not fall, the search ends.

    Parameters
    ----------
    eta : float, default=1.0
        The penalty.
    tell : callable
        Called with the `Round` after each.

    Notes
    -----
    A round costs cones of the order of the rows times the units, 2 units a row in every
    layer: some seconds for 300 rows. `DirectRounds` finds the same solutions wherever
    its proof holds, hundreds of times faster.

    References
    ----------
    Zohrizadeh (2019), chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import ConeRounds, solve
    >>> from counterpoise.optim.dc_network.network import (
    ...     Network,
    ...     NetworkObjective,
    ...     Sigmoid,
    ... )
    >>> from counterpoise.optim.dc_network.training import NetworkTraining
    >>> X = np.linspace(-1.0, 1.0, 9)[:, None]
    >>> f = NetworkObjective(
    ...     Network((1, 2, 1), Sigmoid()), X, X**2, np.full(9, 1 / 9), 1e-2
    ... )
    >>> problem = NetworkTraining(f, np.full(f.network.size, 0.1))
    >>> solution = solve(problem, ConeRounds(eta=1.0), max_iter=2)
    >>> bool(solution.certificate.objective < f.value(problem.first))
    True
    """

    eta: float = 1.0
    tell: Callable[[Round], object] = field(default=ignore_round, repr=False)

    accepts: ClassVar[Requirements] = ACCEPTS_TRAINING

    def __post_init__(self) -> None:
        check_eta(self.eta)

    def begin(self, problem: NetworkTraining, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        return State(x, problem.certify(x))

    def step(self, problem: NetworkTraining, state: State) -> State:
        """Return the state after one round."""
        penalties = Penalties.equal(problem.objective.network.depth, self.eta)
        around = ProximalRound(problem.objective, state.x, penalties)
        x = relaxed_round(around).x
        value = problem.objective.value(x)
        if not value < state.claim.objective:
            return State(state.x, state.claim, stalled=True)
        proof = around.prove(x)
        self.tell(
            Round(value, proof.exactness, proof.gap, proof.gradient, eta=self.eta)
        )
        return State(x, problem.certify(x))


class _Places:
    """Where each block of variables stands in one vector."""

    def __init__(self) -> None:
        self.size = 0

    def new(self, *shape: int) -> np.ndarray:
        count = int(np.prod(shape))
        out = np.arange(self.size, self.size + count).reshape(shape)
        self.size += count
        return out


def relaxed_round(around: ProximalRound) -> RelaxedRound:
    """Return the solution of the regularized relaxation of a round, by Clarabel."""
    f, pen = around.objective, around.penalties
    network, m = f.network, len(f.X)
    zs, activations = network.forward(around.old, f.X)
    old = network.unpack(around.old)
    depth = network.depth
    at = _Places()
    w = [at.new(*layer.weights.shape) for layer in old]
    b = [at.new(layer.biases.size) for layer in old]
    z = [at.new(*one.shape) for one in zs]
    a = [at.new(*one.shape) for one in activations[1:]]
    u = [at.new(*one.shape) for one in activations[1:]]
    V = [at.new(n) for n in network.sizes[2:]]
    T = [at.new(m) for _ in network.sizes[2:]]
    quadratic, linear = np.zeros(at.size), np.zeros(at.size)
    share = f.share[:, None]
    residual = zs[-1] - f.Y
    constant = float((share * residual**2).sum()) + f.decay(around.old)
    quadratic[z[-1]] += np.broadcast_to(2.0 * share, residual.shape)
    linear[z[-1]] += 2.0 * share * residual
    for k, layer in enumerate(old):
        quadratic[w[k]] += f.alpha
        linear[w[k]] += f.alpha * layer.weights
        quadratic[b[k]] += 2.0 * pen.biases[k]
        if k == 0:
            quadratic[w[0]] += 2.0 * pen.weights[0]
            continue
        linear[V[k - 1]] += pen.weights[k]
        linear[T[k - 1]] += pen.hidden[k - 1] * f.share
        linear[u[k - 1]] += np.broadcast_to(pen.bregman[k - 1] * share, u[k - 1].shape)
    first = _first_layer(f.X, w[0], b[0], z[0], at.size)
    cones = _squares((w, b, z, a, V, T), old, activations, at.size)
    points = [
        [zs[k] + d for d in _NEAR] + [np.full(zs[k].shape, t) for t in _GRID]
        for k in range(depth - 1)
    ]
    for _ in range(MOST_CONE_CUTS):
        tangents = [
            _tangents(network.activation, zs[k], at_z, (z[k], a[k], u[k]), at.size)
            for k in range(depth - 1)
            for at_z in points[k]
        ]
        v = _solve(quadratic, linear, first, tangents, cones)
        left_by = 0.0
        for k in range(depth - 1):
            now = zs[k] + v[z[k]]
            slope = sum(network.activation.part_slopes(zs[k]))
            grown = v[u[k]] + slope * v[z[k]]
            p, q = network.activation.parts(now)
            p_old, q_old = network.activation.parts(zs[k])
            left_by = max(
                left_by,
                float((p - p_old - 0.5 * (grown + v[a[k]])).max()),
                float((q - q_old - 0.5 * (grown - v[a[k]])).max()),
            )
            points[k].append(now)
        if left_by <= LEFT_BY:
            break
    moved = network.pack([(v[w[k]], v[b[k]]) for k in range(depth)])
    there = network.forward(around.old + moved, f.X)[0]
    gap = max(float(np.abs(zs[k] + v[z[k]] - there[k]).max()) for k in range(depth))
    value = float(0.5 * quadratic @ v**2 + linear @ v) + constant
    return RelaxedRound(around.old + moved, value, gap, left_by)


def _first_layer(
    X: Array, w: np.ndarray, b: np.ndarray, z: np.ndarray, size: int
) -> sparse.csc_array:
    """Return rows of z - Xw - b = 0."""
    m, n = z.shape
    lines = np.arange(m * n).reshape(m, n)
    d = X.shape[1]
    rows = [lines.ravel(), lines.ravel(), np.repeat(lines.ravel(), d)]
    columns = [z.ravel(), np.tile(b, m), np.tile(w.T, (m, 1, 1)).ravel()]
    entries = [np.ones(m * n), -np.ones(m * n), -np.repeat(X, n, axis=0).ravel()]
    return sparse.csc_array(
        (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))),
        shape=(m * n, size),
    )


def _squares(
    places: tuple[list[np.ndarray], ...],
    old: list[Layer],
    activations: list[Array],
    size: int,
) -> tuple[sparse.csc_array, Array, list[int]]:
    """Return rows and right sides of cones t >= |v|^2, and the size of each.

    As (t + 1, t - 1, 2v) in a second-order cone.
    """
    w, b, z, a, V, T = places
    lines: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    ends: list[float] = []
    sizes: list[int] = []

    def add(t: list[tuple[int, float]], v: list[list[tuple[int, float]]]) -> None:
        row = len(ends)
        for shift, end in ((0, 1.0), (1, -1.0)):
            for place, factor in t:
                lines.append(row + shift)
                columns.append(place)
                entries.append(-factor)
            ends.append(end)
        for k, parts in enumerate(v):
            for place, factor in parts:
                lines.append(row + 2 + k)
                columns.append(place)
                entries.append(-2.0 * factor)
            ends.append(0.0)
        sizes.append(2 + len(v))

    for k in range(1, len(w)):
        units, rows = w[k].shape[1], z[k].shape[0]
        for i in range(units):
            add([(V[k - 1][i], 1.0)], [[(p, 1.0)] for p in w[k][:, i]])
        for j in range(rows):
            add([(T[k - 1][j], 1.0)], [[(p, 1.0)] for p in a[k - 1][j]])
        for i in range(units):
            for j in range(rows):
                pairs = list(zip(w[k][:, i], a[k - 1][j], strict=True))
                slopes = list(zip(w[k][:, i], activations[k][j], strict=True))
                slopes += zip(a[k - 1][j], old[k].weights[:, i], strict=True)
                for s in (1.0, -1.0):
                    add(
                        [
                            (V[k - 1][i], 1.0),
                            (T[k - 1][j], 1.0),
                            (z[k][j, i], 2.0 * s),
                            (b[k][i], -2.0 * s),
                            *((place, -2.0 * s * c) for place, c in slopes),
                        ],
                        [[(p, 1.0), (q, s)] for p, q in pairs],
                    )
    matrix = sparse.csc_array((entries, (lines, columns)), shape=(len(ends), size))
    return matrix, np.array(ends), sizes


def _tangents(
    activation: Activation,
    center: Array,
    at: Array,
    places: tuple[np.ndarray, ...],
    size: int,
) -> tuple[sparse.csc_array, Array]:
    """Return rows and ends of (u + slope z +- a) / 2 >= p or q at a tangent."""
    z, a, u = places
    grown = 0.5 * sum(activation.part_slopes(center))
    n = z.size
    blocks, ends = [], []
    three = zip(
        (1.0, -1.0),
        activation.parts(at),
        activation.part_slopes(at),
        activation.parts(center),
        strict=True,
    )
    for sign, part, slope, was in three:
        line = np.tile(np.arange(n), 3)
        columns = np.concatenate([z.ravel(), u.ravel(), a.ravel()])
        half = np.full(n, -0.5)
        entries = np.concatenate([(slope - grown).ravel(), half, sign * half])
        blocks.append(sparse.csc_array((entries, (line, columns)), shape=(n, size)))
        ends.append((was - part + slope * (at - center)).ravel())
    return sparse.vstack(blocks), np.concatenate(ends)


def _solve(
    quadratic: Array,
    linear: Array,
    first: sparse.csc_array,
    tangents: list[tuple[sparse.csc_array, Array]],
    cones: tuple[sparse.csc_array, Array, list[int]],
) -> Array:
    import clarabel

    squares, ends, sizes = cones
    cut = np.concatenate([end for _, end in tangents])
    A = sparse.csc_matrix(sparse.vstack([first, *(T for T, _ in tangents), squares]))
    b = np.concatenate([np.zeros(first.shape[0]), cut, ends])
    kinds = [
        clarabel.ZeroConeT(first.shape[0]),
        clarabel.NonnegativeConeT(cut.size),
        *(clarabel.SecondOrderConeT(size) for size in sizes),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURACY
    P = sparse.csc_matrix(sparse.diags_array(quadratic))
    answer = clarabel.DefaultSolver(P, linear, A, b, kinds, settings).solve()
    return np.asarray(answer.x, dtype=float)
