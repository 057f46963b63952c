"""Published discrepancy solvers: SDP, smooth approximation, MMW, subgradients."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import ConicForm
from counterpoise.optim.solvers.conic import over_polyhedron, solve_conic
from counterpoise.optim.spectral.frobenius import MomentQuadratics, moment_quadratics
from counterpoise.optim.spectral.problem import (
    Discrepancy,
    DualMatrix,
    KernelDiscrepancy,
)
from counterpoise.optim.spectral.working_set import (
    NEEDS_MOMENTS,
    NEEDS_MOMENTS_OR_KERNEL,
    Incumbent,
    refuse_spread,
)

# -----------------------------------------------------------------------------
# Odd powers and hyperbolic functions of matrices, safe from overflow.
#
# With p = 59 or an exponent of several hundred the entries themselves leave the range
# of
# floating point: every function works on a matrix divided by its largest entry and
# keeps
# the logarithm of what was divided out.
# -----------------------------------------------------------------------------


# Terms of the exponential's series: 1 / 19! is below rounding at a norm of one.
TERMS = 18


def power_by_squaring(A: Array, k: int) -> tuple[Array, float]:
    r"""Return B and s with :math:`A^k = e^s B` and largest entry of B one.

    A need not be symmetric. :math:`O(\log k)` matrix products; :math:`k \ge 1`.

    Examples
    --------
    >>> import numpy as np
    >>> B, s = power_by_squaring(np.diag([1e200, 2e200]), 5)
    >>> float(B[0, 0]), bool(np.isclose(s, 5 * np.log(2e200)))
    (0.03125, True)
    """
    base, base_log = _divided(A, 0.0)
    out: Array | None = None
    out_log = 0.0
    while True:
        if k & 1:
            if out is None:
                out, out_log = base, base_log
            else:
                out, out_log = _divided(out @ base, out_log + base_log)
        k >>= 1
        if not k:
            break
        base, base_log = _divided(base @ base, 2.0 * base_log)
    assert out is not None
    return out, out_log


def odd_power(M: Array, p: int, by: str = "eigen") -> tuple[Array, float, float]:
    r"""Return B, s, t with :math:`M^{2p-1} = e^s B` and :math:`Tr M^{2p} = e^t`.

    M is symmetric. By one eigen-decomposition (`by="eigen"`, :math:`9N^3`) or by
    repeated squaring (`by="squaring"`, :math:`O(N^3 \log p)`); t is minus infinity
    where M is zero.
    """
    if by == "squaring":
        if not M.any():
            return np.zeros_like(M), 0.0, -math.inf
        B, s = power_by_squaring(M, 2 * p - 1)
        return B, s, s + math.log(float(np.sum(B * M)))
    values, vectors = eigh(M, check_finite=False)
    top = float(np.abs(values).max())
    if top == 0.0:
        return np.zeros_like(M), 0.0, -math.inf
    ratios = values / top
    B = (vectors * ratios ** (2 * p - 1)) @ vectors.T
    trace = float(np.sum(ratios ** (2 * p)))
    return B, (2 * p - 1) * math.log(top), 2 * p * math.log(top) + math.log(trace)


def hyperbolic_ratio(S: Array, by: str = "eigen") -> Array:
    r"""Return :math:`\sinh(S) / Tr \cosh(S)`, of nuclear norm at most one.

    By one eigen-decomposition of the symmetric S (`by="eigen"`) or by powers alone
    (`by="powering"`): the series of :math:`e^{S/2^k}`, squared k times, for S and -S,
    :math:`2 (18 + \log_2 \|S\|)` products of N x N matrices.

    Examples
    --------
    >>> import numpy as np
    >>> hyperbolic_ratio(np.diag([2000.0, -1000.0])).round(6) + 0.0
    array([[1., 0.],
           [0., 0.]])
    """
    if by == "powering":
        plus, plus_log = _exponential(S)
        minus, minus_log = _exponential(-S)
        top = max(plus_log, minus_log)
        plus *= math.exp(plus_log - top)
        minus *= math.exp(minus_log - top)
        ratio: Array = (plus - minus) / float(np.trace(plus) + np.trace(minus))
        return 0.5 * (ratio + ratio.T)
    values, vectors = eigh(S, check_finite=False, driver="evd")
    top = float(np.abs(values).max())
    up, down = np.exp(values - top), np.exp(-values - top)
    out: Array = (vectors * ((up - down) / float(np.sum(up + down)))) @ vectors.T
    return out


def _exponential(A: Array) -> tuple[Array, float]:
    """Return B and s with exp(A) = e^s B: a series of a small multiple, squared."""
    norm = float(np.abs(A).sum(axis=0).max())
    squarings = max(0, math.ceil(math.log2(norm))) if norm > 0.0 else 0
    small = A / 2.0**squarings
    eye = np.eye(len(A))
    out = eye
    for k in range(TERMS, 0, -1):
        out = eye + small @ out / k
    log = 0.0
    for _ in range(squarings):
        out, log = _divided(out @ out, 2.0 * log)
    return out, log


def _divided(A: Array, log: float) -> tuple[Array, float]:
    """Return A divided by its largest entry, and the logarithm with it."""
    size = float(np.abs(A).max())
    if size == 0.0:
        return A, log
    return A / size, log + math.log(size)


# -----------------------------------------------------------------------------
# Matrix multiplicative weights: a game between rows and density matrices.
# -----------------------------------------------------------------------------


# A bracket narrower than this, in units of its upper end, is rounding.
SPENT = 1e-12
# Halvings that leave nothing of an interval.
HALVINGS = 60


@dataclass(frozen=True, eq=False)
class _Oracle:
    """The rows in order of ||A_P - xx'||, these norms, and how far down rows may come.

    `reach` is the place in the order that the assumed width covers.
    """

    order: Indices
    norms: Array
    reach: int


@dataclass(frozen=True, eq=False)
class _Trial:
    """The game for one value alpha: rounds played, sums of them, the last dual."""

    alpha: float
    delta: float
    rho: float
    rounds: int
    answers: Array
    total: Array
    dual: Array

    def after(self, problem: Discrepancy, answer: Array, update: str) -> "_Trial":
        """Return the game after an answer of the oracle."""
        total = self.total + problem.operator(answer)
        rate = -math.log1p(-0.5 * self.delta * self.alpha / self.rho) / (2 * self.rho)
        return replace(
            self,
            rounds=self.rounds + 1,
            answers=self.answers + answer,
            total=total,
            dual=hyperbolic_ratio(rate * total, update),
        )


@dataclass(frozen=True)
class MultiplicativeWeights:
    r"""Alvarez Melis's MMW-DA: bisection on the value, a game for each.

    For a value :math:`\alpha` the rounds keep :math:`S = \sum_\tau M(z_\tau)` and play

    .. math:: Y = \sinh(eS) / Tr\cosh(eS), \qquad
              e = -\log(1 - \delta\alpha/2\rho) / 2\rho

    whose nuclear norm is at most one; the oracle answers with a row that
    :math:`\alpha + x_j'Yx_j \ge \langle A_P, Y\rangle`. Where there is none, Y proves
    that the optimum is at least :math:`\alpha`. After
    :math:`T = 8\rho^2 \log(2N)/(\delta\alpha)^2` rounds, or as soon as it is measured,
    the average of the answers has a norm of at most :math:`(1 + \delta)\alpha`. The
    width is :math:`\rho = \alpha + \max_j \|A_P - x_jx_j'\|` over the rows that the
    oracle may return, and T is why this method is slow: :math:`\rho/\alpha` is 5 to 17
    on the author's data. A round costs :math:`O(mN^2 + 9N^3)`.

    Parameters
    ----------
    oracle : {"best", "list"}
        "list" is the author's: the first row that will do, in order of
        :math:`\|A_P - x_jx_j'\|`. "best" takes the row of largest
        :math:`x_j'Yx_j`: wider, and better.
    update : {"eigen", "powering"}
        The exponential by an eigen-decomposition of S or by powers of it.
    delta : float
        Largest relative error of a success; less where the bracket is narrow.
    every : int
        Rounds in one step of the search; after each step there is a proof.

    References
    ----------
    Alvarez Melis (2013), chapters 4 and 5, with T, :math:`\epsilon'`, the width and the
    bisection put right: the bracket moves after a success or a failure only, by what
    was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim import Discrepancy
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy(rows, np.array([[0.75, 0.5], [0.5, 0.75]]))
    >>> solution = solve(problem, MultiplicativeWeights(), tol=0.5)
    >>> solution.converged
    True
    """

    oracle: Literal["best", "list"] = "best"
    update: Literal["eigen", "powering"] = "eigen"
    delta: float = 0.5
    every: int = 20

    def __post_init__(self) -> None:
        if self.oracle not in ("best", "list"):
            raise ValueError(f"oracle must be 'best' or 'list', got {self.oracle!r}")
        if self.update not in ("eigen", "powering"):
            raise ValueError(
                f"update must be 'eigen' or 'powering', got {self.update!r}"
            )
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"delta must be between 0 and 1, got {self.delta}")
        if self.every < 1:
            raise ValueError(f"every must be at least 1, got {self.every}")

    accepts: ClassVar[Requirements] = NEEDS_MOMENTS

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the first state."""
        refuse_spread(problem, "the multiplicative weights method")
        if problem.cap is not None and self.oracle == "list":
            raise ValueError(
                f"the oracle 'list' answers with single rows, got cap = "
                f"{problem.cap:g}; take the oracle 'best'"
            )
        best = Incumbent.at(problem, x)
        norms = vertex_norms(problem.rows, problem.target_moment)
        order = np.argsort(norms, kind="stable")
        reach = 0 if self.oracle == "list" else len(order) - 1
        oracle = _Oracle(order, norms[order], reach)
        counts = {"rounds": 0, "successes": 0, "failures": 0}
        return self._state(problem, oracle, None, best, counts)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after `every` rounds, or at the end of a game."""
        oracle, trial, best = state.memory
        counts = dict(state.counts)
        for _ in range(self.every):
            target = float(np.sum(problem.target_moment * trial.dual))
            pulls = problem.pull(trial.dual)
            bound = problem.bound(target, pulls)
            best = best.or_bounded(trial.dual, bound)
            if bound > trial.alpha:
                break
            counts["rounds"] += 1
            if self.oracle == "best":
                answer = problem.domain.vertex(-pulls)
            else:
                good = trial.alpha + pulls >= target
                place = int(np.argmax(good[oracle.order]))
                if place > oracle.reach:
                    # The width must cover every row that is returned.
                    reach = min(max(place, 2 * oracle.reach), problem.size - 1)
                    oracle = replace(oracle, reach=reach)
                    trial = self._trial(problem, best, oracle, trial.alpha)
                    continue
                answer = np.zeros(problem.size)
                answer[oracle.order[place]] = 1.0
            trial = trial.after(problem, answer, self.update)
        best = best.or_dual(problem, trial.dual)
        if trial.rounds > 0:
            best = best.or_point(problem, trial.answers / trial.rounds)
        failed = best.bound >= trial.alpha
        if failed or best.value <= (1.0 + trial.delta) * trial.alpha:
            counts["failures" if failed else "successes"] += 1
            trial = None
        return self._state(problem, oracle, trial, best, counts)

    def _trial(
        self,
        problem: Discrepancy,
        best: Incumbent,
        oracle: _Oracle,
        alpha: float | None = None,
    ) -> _Trial:
        """Return a game at its beginning, for alpha or the middle of the bracket."""
        low, high = max(best.bound, 0.0), best.value
        if alpha is None:
            alpha = 0.5 * (low + high)
        # A success proves the optimum below (1 + delta) alpha only: without a smaller
        # delta a narrow bracket would not shrink.
        delta = min(self.delta, max(0.5 * (high - low) / (high + low), SPENT))
        zero = np.zeros_like(problem.target_moment)
        rho = alpha + float(oracle.norms[oracle.reach])
        return _Trial(alpha, delta, rho, 0, np.zeros(problem.size), zero, zero)

    def _state(
        self,
        problem: Discrepancy,
        oracle: _Oracle,
        trial: _Trial | None,
        best: Incumbent,
        counts: dict[str, int],
    ) -> State:
        """Return the state, with a new game where there is none and much to win."""
        if trial is None and best.value > 0.0:
            trial = self._trial(problem, best, oracle)
        spent = best.value - max(best.bound, 0.0) <= SPENT * best.value
        return best.state(problem, (oracle, trial, best), spent, counts)


def vertex_norms(rows: Array, target_moment: Array) -> Array:
    r"""Return :math:`\|A_P - x x'\|_2` of every row.

    The extreme eigenvalues of a matrix less a rank-one part are roots of
    :math:`\sum_k u_k^2/(a_k - \lambda) = 1`, u the row in the eigenvectors of
    :math:`A_P`, a its eigenvalues: below all poles, and between the two largest. One
    eigen-decomposition and :math:`O(mN)` a halving, instead of m decompositions.
    """
    poles, vectors = eigh(target_moment, check_finite=False)
    weights = (rows @ vectors) ** 2
    lengths = weights.sum(axis=1)
    least = _root(poles, weights, poles[0] - lengths, np.full(len(rows), poles[0]))
    if len(poles) == 1:
        most = poles[0] - lengths
    else:
        between = np.full(len(rows), poles[-2]), np.full(len(rows), poles[-1])
        most = _root(poles, weights, *between)
    out: Array = np.maximum(most, -least)
    return out


def _root(poles: Array, weights: Array, low: Array, high: Array) -> Array:
    """Return where the sums of weights / (poles - root) pass one; they increase."""
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        apart = poles - middle[:, None]
        # A middle upon a pole is the end of an interval that has shrunk to nothing.
        sums = np.sum(weights / np.where(apart == 0.0, np.inf, apart), axis=1)
        low, high = (
            np.where(sums < 1.0, middle, low),
            np.where(sums < 1.0, high, middle),
        )
    return high


# -----------------------------------------------------------------------------
# The discrepancy as one semidefinite program, by Clarabel.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class DiscrepancySDP:
    r"""The reference: the whole problem as a semidefinite program, in one step.

    .. math:: \min_{z, t}\ t + s f_0 (m|z|^2 - 1) \quad\text{with}\quad
              -tI \preceq M(z) \preceq tI

    in two cones of order N, which is what a general solver does best. Its Newton
    systems are of order :math:`N(N+1)`, dense: it takes some :math:`30 N^4` bytes
    and :math:`N^6/3` operations an iteration. It serves small problems and as a judge
    of the others; above `largest` it refuses beforehand. The dual matrix is the
    difference of the two cones' multipliers.

    Parameters
    ----------
    accuracy : float
        Clarabel's own tolerance on gap and feasibility.
    max_seconds : float
        Clarabel's own time limit; no other budget can cut the one step short.
    largest : int
        Largest order N that is attempted.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim import Discrepancy
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy(rows, np.array([[0.75, 0.5], [0.5, 0.75]]))
    >>> solution = solve(problem, DiscrepancySDP(), tol=1e-6)
    >>> solution.x.round(3)
    array([0.25, 0.25, 0.5 ])
    """

    accuracy: float = 1e-9
    max_seconds: float = math.inf
    largest: int = 120

    accepts: ClassVar[Requirements] = NEEDS_MOMENTS

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the first state."""
        width = len(problem.target_moment)
        if width > self.largest:
            raise ValueError(
                f"the semidefinite program has order {width}, at most "
                f"{self.largest} is attempted: it would need some "
                f"{memory_needed(width) / 1e9:.2g} GB; the interior point solves the "
                "same problem without matrices of order N^2"
            )
        best = Incumbent.at(problem, x)
        return best.state(problem, best, stalled=best.value == 0.0)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the answer of Clarabel; there is no second step."""
        best: Incumbent = state.memory
        z, Y = _solved(problem, self.accuracy, self.max_seconds)
        if np.isfinite(z).all() and np.isfinite(Y).all():
            best = best.or_point(problem, problem.domain.project(z))
            best = best.or_dual(problem, Y)
        return best.state(problem, best, stalled=True)


def memory_needed(width: int) -> int:
    """Return the bytes that Clarabel takes for two cones of this order, as measured.

    A dense factor of order N(N + 1), and six times as much about it.
    """
    order = width * (width + 1)
    return 30 * order * order


def _solved(
    problem: Discrepancy, accuracy: float, max_seconds: float
) -> tuple[Array, Array]:
    """Return Clarabel's weights and dual matrix."""
    m, width = problem.rows.shape
    # In units of the value at equal weights, the tolerances mean what they say.
    unit = problem.uniform_value or 1.0
    # The upper triangle, column after column.
    columns, rows = np.tril_indices(width)
    factor = np.where(rows == columns, 1.0, math.sqrt(2.0))
    products = problem.rows[:, rows] * problem.rows[:, columns] * (factor / unit)
    moment = problem.target_moment[rows, columns] * (factor / unit)
    eye = (rows == columns).astype(float)[:, None]
    A = [np.hstack([-products.T, -eye]), np.hstack([products.T, -eye])]
    form = ConicForm(
        sparse.diags(np.append(np.full(m, 2.0 * problem.bend / unit), 0.0)),
        np.append(np.zeros(m), 1.0),
        sparse.csc_matrix(np.vstack(A)),
        np.concatenate([-moment, moment]),
        (("semidefinite", width),) * 2,
    )
    form = over_polyhedron(form, problem.domain.polyhedron())
    x, multipliers = solve_conic(form, accuracy, max_seconds, presolve=False)
    plus, minus = np.split(multipliers[-2 * moment.size :], 2)
    Y = np.zeros((width, width))
    Y[rows, columns] = Y[columns, rows] = (plus - minus) / factor
    return x[:m], Y


# -----------------------------------------------------------------------------
# The smooth norm :math:`G_p(z) = (Tr\,M(z)^{2p})^{1/p} / 2` of rows or a kernel.
# -----------------------------------------------------------------------------


# Eigenvalues of a dual matrix below this share of the largest are left out.
LEFT_OUT = 1e-4


def smooth_form(
    problem: Discrepancy | KernelDiscrepancy, by: str = "eigen"
) -> "FeatureForm | KernelForm":
    """Return the form of a Discrepancy or of a KernelDiscrepancy."""
    if isinstance(problem, KernelDiscrepancy):
        return KernelForm(problem)
    return FeatureForm(problem, by)


@dataclass(frozen=True, eq=False)
class FeatureForm:
    r"""Gradients from M itself.

    .. math:: \partial_i G_p = -x_i'M^{2p-1}x_i\,(Tr\,M^{2p})^{1/p-1}

    :math:`O(mN^2 + N^3)` a gradient, with `by="squaring"` :math:`O(mN^2 + N^3 \log p)`.
    """

    problem: Discrepancy
    by: str = "eigen"

    @property
    def rank(self) -> int:
        """The largest rank of M."""
        return len(self.problem.target_moment)

    def gradient(self, z: Array, p: int) -> tuple[Array, Array | None]:
        """Return the gradient and M^(2p-1) divided by its size, None where M = 0."""
        M = self.problem.operator(z)
        power, scale, trace = odd_power(M, p, self.by)
        if trace == -math.inf:
            return np.zeros(len(z)), None
        size = math.exp(scale + (1.0 / p - 1.0) * trace)
        return -self.problem.pull(power) * size, power / np.abs(power).max()

    def or_dual(self, best: Incumbent, dual: Array) -> Incumbent:
        """Return the incumbent with the better dual matrix; O(mN^2 + N^3)."""
        return best.or_dual(self.problem, dual)


@dataclass(frozen=True, eq=False)
class KernelForm:
    r"""Gradients from the Gram matrix of source and target rows.

    With :math:`D = diag(-z, P)` and :math:`C = (DK)^{2p-2} D`, which is symmetric,
    :math:`M^{2p-1} = \Phi'C\Phi` and

    .. math:: \partial_i G_p = -[KCK]_{ii}\,(Tr\,(DK)^{2p})^{1/p-1}, \quad i \le m

    :math:`O((m+n)^3 \log p)` a gradient.
    """

    problem: KernelDiscrepancy

    @property
    def rank(self) -> int:
        """The largest rank of M."""
        return int(self.problem.kernel.size)

    @cached_property
    def _gram(self) -> Array:
        everything = np.arange(self.problem.kernel.size)
        gram: Array = self.problem.kernel.block(everything, everything)
        return gram

    def gradient(self, z: Array, p: int) -> tuple[Array, Array | None]:
        """Return the gradient and C divided by its size, None where M = 0."""
        signed = np.concatenate([-z, self.problem.target_share])
        K, m = self._gram, len(z)
        DK = signed[:, None] * K
        if p == 1:
            power, scale = np.eye(len(K)), 0.0
        else:
            power, scale = power_by_squaring(DK, 2 * p - 2)
        C = power * signed
        C = 0.5 * (C + C.T)
        CK = C @ K
        trace = float(np.sum(CK * DK.T))
        if not trace > 0.0:
            return np.zeros(m), None
        size = math.exp(scale + (1.0 / p - 1.0) * (scale + math.log(trace)))
        diagonal = np.einsum("ij,ji->i", K[:m], CK[:, :m])
        return -diagonal * size, C / np.abs(C).max()

    def or_dual(self, best: Incumbent, dual: Array) -> Incumbent:
        """Return the incumbent with the better dual matrix; O((m + n)^3).

        An eigenvector u of Phi'C Phi to the value y is Phi'a with a = C Phi u / y.
        """
        root = self._root
        inner = root @ dual @ root
        values, vectors = eigh(0.5 * (inner + inner.T), check_finite=False)
        some = np.abs(values) > LEFT_OUT * np.abs(values).max()
        values, vectors = values[some], vectors[:, some]
        found = DualMatrix(dual @ (root @ vectors) / values, values)
        return best.or_bounded(found, self.problem.dual_value(found))

    @cached_property
    def _root(self) -> Array:
        """The symmetric root of the Gram matrix."""
        values, vectors = eigh(self._gram, check_finite=False)
        root: Array = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return root


# -----------------------------------------------------------------------------
# Subgradient steps on the spectral norm itself.
# -----------------------------------------------------------------------------


# Up to this order all eigenvectors cost less than Lanczos.
DENSE = 60
# Lanczos ends at this error of its eigenvalue, in units of it.
LANCZOS = 1e-3
# No weight falls below this, so that none is lost for good.
LEAST_WEIGHT = 1e-300


@dataclass(frozen=True, eq=False)
class _Walk:
    """A point by its logarithms as well, and the last eigenvector.

    `duals` and `points` are sums over the last `count` steps, weighted by the steps'
    lengths, of which `weight` is the sum.
    """

    k: int
    z: Array
    log_z: Array
    vector: Array
    value: float
    duals: Array
    points: Array
    weight: float = 0.0
    count: int = 0

    def restarted(self) -> "_Walk":
        """Return the walk with empty sums."""
        duals, points = np.zeros_like(self.duals), np.zeros_like(self.points)
        return replace(self, duals=duals, points=points, weight=0.0, count=0)


@dataclass(frozen=True)
class SpectralSubgradient:
    r"""Subgradient steps with averages: the simplest method, and it proves.

    With v the eigenvector of M(z) whose eigenvalue is largest in modulus and s its
    sign, :math:`g_i = -s (x_i'v)^2` is a subgradient of the norm (a spread adds its
    own). An entropic step is :math:`z_i \leftarrow z_i e^{-\eta_k g_i}` with
    :math:`\eta_k = \sqrt{2 \log m / k}` over half the range of g, scaled back into the
    simplex or, with a cap, the capped one; a Polyak step projects
    :math:`z - \eta g` with :math:`\eta = (f(z) - L)/|g - \bar g|^2`, L the best lower
    bound. Averages of :math:`s\,vv'` over the steps are dual matrices, those of z
    points. v by Lanczos from the last one: :math:`O((m + N) N)` a product; every
    `every` steps a proof, :math:`O(mN^2 + N^3)`.

    Parameters
    ----------
    kind : {"entropic", "polyak"}
    every : int
        Subgradient steps in one step of the search.
    memory : int
        The averages begin anew after this many subgradient steps.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim import Discrepancy
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy(rows, np.array([[0.75, 0.5], [0.5, 0.75]]))
    >>> solution = solve(problem, SpectralSubgradient(), tol=0.1)
    >>> solution.converged
    True
    """

    kind: Literal["entropic", "polyak"] = "entropic"
    every: int = 20
    memory: int = 1000

    def __post_init__(self) -> None:
        if self.kind not in ("entropic", "polyak"):
            raise ValueError(f"kind must be 'entropic' or 'polyak', got {self.kind!r}")
        if self.every < 1 or self.memory < 1:
            raise ValueError(
                f"every and memory must be at least 1, got {self.every} "
                f"and {self.memory}"
            )

    accepts: ClassVar[Requirements] = NEEDS_MOMENTS

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the first state."""
        best = Incumbent.at(problem, x)
        N = len(problem.target_moment)
        vector = np.full(N, 1.0 / math.sqrt(N))
        sums = np.zeros((N, N)), np.zeros(problem.size)
        walk = _Walk(0, best.z, _logarithms(best.z), vector, best.value, *sums)
        return best.state(problem, (walk, best), stalled=problem.size == 1)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after `every` subgradient steps."""
        walk, best = state.memory
        if walk.count >= self.memory:
            walk = walk.restarted()
        lowest, value = walk.z, walk.value
        for _ in range(self.every):
            before = walk.z
            walk = self._walk(problem, walk, max(best.bound, 0.0))
            # The walk knows the value of the point that it has left.
            if walk.value < value:
                lowest, value = before, walk.value
        best = best.or_point(problem, lowest)
        best = best.or_point(problem, walk.points / walk.weight)
        best = best.or_dual(problem, walk.duals)
        return best.state(problem, (walk, best))

    def _walk(self, problem: Discrepancy, walk: _Walk, bound: float) -> _Walk:
        """Return the walk after one subgradient step."""
        z, log_z, k = walk.z, walk.log_z, walk.k + 1
        eigenvalue, v = _extreme(problem, z, walk.vector)
        sign = 1.0 if eigenvalue >= 0.0 else -1.0
        value = abs(eigenvalue) + problem.spread_term(z)
        slopes = -sign * (problem.rows @ v) ** 2
        if problem.spread > 0.0:
            slopes = (2.0 * problem.bend) * z + slopes
        apart = float(np.ptp(slopes))
        if apart == 0.0:
            # No row is better than another: z and this dual matrix prove each other.
            length, walk = 1.0, walk.restarted()
        elif self.kind == "entropic":
            length = 2.0 * math.sqrt(2.0 * math.log(problem.size) / k) / apart
            log_z = log_z - length * slopes
            z = _within_the_cap(np.exp(log_z - log_z.max()), problem.cap)
            log_z = _logarithms(z)
        else:
            centered = slopes - slopes.mean()
            length = max(value - bound, 0.0) / float(centered @ centered)
            z = problem.domain.project(z - length * slopes)
        return _Walk(
            k,
            z,
            log_z,
            v,
            value,
            walk.duals + length * (sign * np.outer(v, v)),
            walk.points + length * walk.z,
            walk.weight + length,
            walk.count + 1,
        )


def _extreme(problem: Discrepancy, z: Array, near: Array) -> tuple[float, Array]:
    """Return the eigenvalue of M(z) of largest modulus, with its vector.

    By Lanczos it is an approximation: good enough to walk by, and never used in a
    proof.
    """
    width = len(near)
    if width > DENSE:
        rows, moment = problem.rows, problem.target_moment

        def product(v: Array) -> Array:
            out: Array = moment @ v - rows.T @ (z * (rows @ v))
            return out

        operator = LinearOperator((width, width), matvec=product, dtype=float)
        try:
            values, vectors = eigsh(
                operator, k=1, which="LM", v0=near, tol=LANCZOS, maxiter=300
            )
            return float(values[0]), vectors[:, 0]
        except ArpackError:
            pass
    values, vectors = eigh(problem.operator(z), check_finite=False)
    end = -1 if values[-1] >= -values[0] else 0
    return float(values[end]), vectors[:, end]


def _within_the_cap(y: Array, cap: float | None) -> Array:
    """Return the point nearest in entropy to y: min(c y, cap) with sum one."""
    z = y / y.sum()
    if cap is None:
        return z
    full = np.zeros(len(z), dtype=bool)
    while (z > cap).any():
        full |= z >= cap
        rest = float(y[~full].sum())
        left = 1.0 - cap * int(full.sum())
        if not (rest > 0.0 and left > 0.0):
            return np.full(len(z), 1.0 / len(z))
        z = np.where(full, cap, y * (left / rest))
    return z


def _logarithms(z: Array) -> Array:
    return np.log(np.maximum(z, LEAST_WEIGHT))


# -----------------------------------------------------------------------------
# Nesterov steps on a smooth stand-in for the spectral norm.
# -----------------------------------------------------------------------------


# A p beyond this changes nothing that floating point can see.
LARGEST_POWER = 100_000


@dataclass(frozen=True, eq=False)
class _SmoothingMemory:
    """Where Nesterov's scheme is: its three points, sum of gradients, J u_0."""

    k: int
    u: Array
    v: Array
    w: Array
    weighted_sum: Array
    image_of_first: Array
    dual_sum: Array | float
    programs: MomentQuadratics
    form: FeatureForm | KernelForm
    best: Incumbent


@dataclass(frozen=True)
class Smoothing:
    r"""Cortes and Mohri's second algorithm: Nesterov's scheme on a smooth norm.

    .. math:: G_p(z) = \tfrac12 \left(Tr\, M(z)^{2p}\right)^{1/p}, \qquad
              \tfrac12\|M\|_2^2 \le G_p \le \tfrac12 r^{1/p} \|M\|_2^2

    with r the rank of M. Its gradient is Lipschitz with constant :math:`2p - 1` in the
    norm of :math:`J_{ij} = (x_i'x_j)^2`. From :math:`u_0`, the minimizer of the
    Frobenius norm, step k takes

    .. math:: v_k &= \arg\min_v \nabla G_p(u_k)'v + \tfrac{2p-1}{2}\|v - u_k\|_J^2 \\
              w_k &= \arg\min_w \textstyle\sum_{i \le k} \tfrac{i+1}{2}
                     \nabla G_p(u_i)'w + \tfrac{2p-1}{2}\|w - u_0\|_J^2 \\
              u_{k+1} &= \tfrac{2}{k+3} w_k + \tfrac{k+1}{k+3} v_k

    Dual matrices are :math:`M^{2p-1}` and its running average, divided by their nuclear
    norms. A step costs :math:`O(mN^2 + N^3)` for the gradient, in the kernel form
    :math:`O((m+n)^3 \log p)`, and two quadratic programs of some fifteen factors of
    order m.

    Parameters
    ----------
    power : int, optional
        p; the authors ran 5 steps with 16. By default the least that keeps the smooth
        norm's factor within the accuracy, :math:`\log r / \log(1 + \epsilon)`.
    accuracy : float
        :math:`\epsilon`, used where `power` is None. It is guaranteed after
        :math:`4\sqrt{(1+\epsilon) r \log r} / \epsilon` steps (`steps_for`).
    by : {"eigen", "squaring"}
        How powers of M are found: from an eigen-decomposition or by repeated squaring,
        :math:`O(N^3 \log p)`. A kernel's are found by squaring.

    References
    ----------
    Cortes and Mohri (2011), algorithm 2, with the sign of (19), the 1/2 of (16) and the
    count of theorem 5 put right.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim import Discrepancy
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy(rows, np.array([[0.75, 0.5], [0.5, 0.75]]))
    >>> solution = solve(problem, Smoothing(power=16), tol=1e-3)
    >>> solution.converged
    True
    """

    power: int | None = None
    accuracy: float = 0.1
    by: Literal["eigen", "squaring"] = "eigen"

    def __post_init__(self) -> None:
        if self.power is not None and self.power < 1:
            raise ValueError(f"power must be at least 1, got {self.power}")
        if not self.accuracy > 0.0:
            raise ValueError(f"accuracy must be positive, got {self.accuracy}")
        if self.by not in ("eigen", "squaring"):
            raise ValueError(f"by must be 'eigen' or 'squaring', got {self.by!r}")

    accepts: ClassVar[Requirements] = NEEDS_MOMENTS_OR_KERNEL

    def power_for(self, rank: int) -> int:
        """Return p for a matrix of this rank."""
        if self.power is not None:
            return self.power
        least = math.log(max(rank, 2)) / math.log1p(self.accuracy)
        return min(math.ceil(least), LARGEST_POWER)

    def steps_for(self, rank: int) -> int:
        """Return the steps that guarantee the accuracy; far fewer are needed."""
        size = (1.0 + self.accuracy) * rank * math.log(max(rank, 2))
        return math.ceil(4.0 * math.sqrt(size) / self.accuracy)

    def begin(self, problem: Discrepancy | KernelDiscrepancy, x: Array | None) -> State:
        """Return the first state, at x or at the minimizer of the Frobenius norm."""
        refuse_spread(problem, "smoothing")
        form = smooth_form(problem, self.by)
        programs, pull = moment_quadratics(problem)
        first = programs.minimize(1.0, -pull) if x is None else problem.inside(x)
        best = Incumbent(first, problem.value(first))
        _, itself = form.gradient(first, 1)
        if itself is not None:
            best = form.or_dual(best, itself)
        image = programs.curvature.image(first)
        none = np.zeros(len(first))
        memory = _SmoothingMemory(
            0, first, first, first, none, image, 0.0, programs, form, best
        )
        return best.state(problem, memory, stalled=best.value == 0.0)

    def step(self, problem: Discrepancy | KernelDiscrepancy, state: State) -> State:
        """Return the state after one step of the scheme."""
        memory: _SmoothingMemory = state.memory
        programs, form = memory.programs, memory.form
        p, k, u = self.power_for(form.rank), memory.k, memory.u
        gradient, dual = form.gradient(u, p)
        if dual is None:
            return memory.best.or_valued(u, 0.0).state(problem, memory, stalled=True)
        bend = 2.0 * p - 1.0
        image = programs.curvature.image(u)
        v = programs.minimize(bend, gradient - bend * image, memory.v)
        total = memory.weighted_sum + 0.5 * (k + 1) * gradient
        w = programs.minimize(bend, total - bend * memory.image_of_first, memory.w)
        average = memory.dual_sum + (k + 1) * dual
        best = memory.best.or_point(problem, v)
        best = form.or_dual(form.or_dual(best, dual), average)
        there = replace(
            memory,
            k=k + 1,
            u=2.0 / (k + 3) * w + (k + 1.0) / (k + 3) * v,
            v=v,
            w=w,
            weighted_sum=total,
            dual_sum=average,
            best=best,
        )
        return best.state(problem, there)
