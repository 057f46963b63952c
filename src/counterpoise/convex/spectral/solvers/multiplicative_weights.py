"""Matrix multiplicative weights: a game between rows and density matrices."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.solvers.incumbent import (
    Incumbent,
    of_moments,
    refuse_spread,
)
from counterpoise.convex.spectral.steps.matrix_powers import hyperbolic_ratio
from counterpoise.numerics.arrays import Array, Indices

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

    @property
    def width(self) -> float:
        return float(self.norms[self.reach])

    def first(self, good: Any) -> int:
        """Return the place of the first row that will do."""
        return int(np.argmax(good[self.order]))

    def reaching(self, place: int) -> "_Oracle":
        """Return the oracle with a width that covers a place, and some more."""
        return replace(self, reach=min(max(place, 2 * self.reach), len(self.order) - 1))


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

    def after(self, problem: Any, answer: Array, update: str) -> "_Trial":
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


@dataclass(frozen=True, eq=False)
class _MultiplicativeWeightsMemory:
    oracle: _Oracle
    trial: _Trial | None
    best: Incumbent
    counts: dict[str, int]


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
    >>> from counterpoise.convex import solve
    >>> from counterpoise.convex.spectral import Discrepancy
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

    @property
    def accepts(self) -> Requirements:
        """Second moments of rows."""
        return of_moments()

    def begin(self, problem: Any, x: Array | None) -> State:
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
        trial = self._next(problem, best, oracle)
        counts = {"rounds": 0, "successes": 0, "failures": 0}
        return self._state(
            problem, _MultiplicativeWeightsMemory(oracle, trial, best, counts)
        )

    def step(self, problem: Any, state: State) -> State:
        """Return the state after `every` rounds, or at the end of a game."""
        memory: _MultiplicativeWeightsMemory = state.memory
        oracle, trial, best = memory.oracle, memory.trial, memory.best
        counts = dict(memory.counts)
        assert trial is not None
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
                place = oracle.first(trial.alpha + pulls >= target)
                if place > oracle.reach:
                    # The width must cover every row that is returned.
                    oracle = oracle.reaching(place)
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
            return self._state(
                problem,
                _MultiplicativeWeightsMemory(
                    oracle, self._next(problem, best, oracle), best, counts
                ),
            )
        return self._state(
            problem, _MultiplicativeWeightsMemory(oracle, trial, best, counts)
        )

    def _next(self, problem: Any, best: Incumbent, oracle: _Oracle) -> _Trial | None:
        """Return the next game, None where there is nothing left to win."""
        return self._trial(problem, best, oracle) if best.value > 0.0 else None

    def _trial(
        self,
        problem: Any,
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
        width = alpha + oracle.width
        return _Trial(alpha, delta, width, 0, np.zeros(problem.size), zero, zero)

    @staticmethod
    def _state(problem: Any, memory: _MultiplicativeWeightsMemory) -> State:
        best = memory.best
        spent = best.value - max(best.bound, 0.0) <= SPENT * best.value
        return best.state(problem, memory, stalled=spent, counts=memory.counts)


def most_rounds(rho: float, delta: float, alpha: float, width: int) -> int:
    r"""Return T, after which the answers' average is within :math:`(1 + \delta)\alpha`.

    `width` is N, the order of the matrices.
    """
    return math.ceil(8.0 * rho**2 * math.log(2 * width) / (delta * alpha) ** 2)


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
