"""One penalised round with P >= 0 by alternating directions, for large sparse M."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from counterpoise.convex.orthogonal.relaxations.eliminated import eigenvalue_shift
from counterpoise.convex.orthogonal.relaxations.frame_cones import Relaxation
from counterpoise.numerics.arrays import Array

# Over-relaxation of the splitting.
RELAXED = 1.6


@dataclass(frozen=True, eq=False)
class Splitting:
    """Where the splitting is: its copies of P and their scaled multipliers.

    Attributes
    ----------
    positive : array of shape (n, m)
        The copy that is not negative; the answer.
    lacking : float
        The larger residual when the steps ended.
    """

    positive: Array
    ball: Array
    pairs: Array
    duals: tuple[Array, Array, Array]
    rho: float
    steps: int = 0
    lacking: float = np.inf


@dataclass(frozen=True, eq=False)
class NonnegativeRound:
    r"""The round with X eliminated and P >= 0, by ADMM.

    .. math:: \min_{P \ge 0}\ \mathrm{tr} P'(M - dI)P + \langle N - \mu P_c, P\rangle

    with singular values at most one ("sdp") or columns in balls,
    :math:`|c_j| \le 1` and :math:`|c_i + c_j|^2 \le 2` ("parabolic"; the differences
    follow where P >= 0, and it takes m(m - 1)/2 more blocks). P has one copy that is
    not negative and one in the ball. A step costs one solve with
    :math:`2(M - dI) + 2\rho I`, whose sparse factor is kept for each of the few
    :math:`\rho`, and O(n m^2).

    Parameters
    ----------
    problem : OrthogonalProblem
        Smooth, without constraints but P >= 0.
    relaxation : {"sdp", "parabolic"}
    """

    problem: Any
    relaxation: Relaxation = "sdp"
    _factors: dict[float, Any] = field(default_factory=dict)

    @cached_property
    def shift(self) -> float:
        """d."""
        return eigenvalue_shift(self.problem, self.relaxation)

    @cached_property
    def _sums(self) -> Array:
        """The pairs of columns as a matrix, one row a pair."""
        m = self.problem.shape[1]
        i, j = np.triu_indices(m, 1)
        out = np.zeros((len(i), m))
        out[np.arange(len(i)), i] = out[np.arange(len(i)), j] = 1.0
        return out if self.relaxation == "parabolic" else out[:0]

    @cached_property
    def _modes(self) -> tuple[Array, Array]:
        return np.linalg.eigh(self._sums.T @ self._sums)

    def _solved(self, diagonal: float, right: Array) -> Array:
        """Return (2 (M - dI) + diagonal I)^-1 right."""
        M, n = self.problem.quadratic, self.problem.shape[0]
        if M is None:
            return right / diagonal
        if diagonal not in self._factors:
            if sparse.issparse(M):
                whole = 2.0 * M + (diagonal - 2.0 * self.shift) * sparse.eye_array(n)
                self._factors[diagonal] = splu(
                    sparse.csc_matrix(whole),
                    permc_spec="MMD_AT_PLUS_A",
                    options={"SymmetricMode": True},
                ).solve
            else:
                whole = 2.0 * M + (diagonal - 2.0 * self.shift) * np.eye(n)
                factor = cho_factor(whole)
                self._factors[diagonal] = lambda right: cho_solve(factor, right)
        return self._factors[diagonal](right)

    def begin(self, Pc: Array, penalty: float) -> Splitting:
        """Return the splitting at Pc."""
        positive = np.maximum(Pc, 0.0)
        none = np.zeros_like(positive)
        pairs = positive @ self._sums.T
        rho = 2.0 ** np.round(np.log2(penalty))
        duals = (none, none, np.zeros_like(pairs))
        return Splitting(positive, positive.copy(), pairs, duals, float(rho))

    def solve(
        self, Pc: Array, penalty: float, at: Splitting, tol: float, steps: int
    ) -> Splitting:
        """Return the splitting after the round from Pc."""
        N, Y, Z, rho = at.positive, at.ball, at.pairs, at.rho
        a, b, c = at.duals
        m = N.shape[1]
        pull = penalty * Pc
        if self.problem.linear is not None:
            pull = pull - self.problem.linear
        enough = tol * np.sqrt(m)
        worst = np.inf
        for k in range(1, steps + 1):
            P = self._center(pull, rho, N - a + Y - b, Z - c)
            to_N = RELAXED * P + (1.0 - RELAXED) * N
            to_Y = RELAXED * P + (1.0 - RELAXED) * Y
            old_N, old_Y = N, Y
            N = np.maximum(to_N + a, 0.0)
            a = a + to_N - N
            whole = to_Y + b
            Y = self._in_ball(whole)
            b = whole - Y
            if len(self._sums):
                whole = RELAXED * P @ self._sums.T + (1 - RELAXED) * Z + c
                length = np.linalg.norm(whole, axis=0) / np.sqrt(2.0)
                Z = whole / np.maximum(length, 1.0)
                c = whole - Z
            if k % 10:
                continue
            apart = float(np.hypot(np.linalg.norm(P - N), np.linalg.norm(P - Y)))
            change = float(
                np.hypot(np.linalg.norm(N - old_N), np.linalg.norm(Y - old_Y))
            )
            worst = max(apart, rho * change)
            if worst <= enough:
                break
            if k % 50 == 0 and k < steps // 2:
                factor = _balance(apart, rho * change)
                rho *= factor
                a, b, c = a / factor, b / factor, c / factor
        return Splitting(N, Y, Z, (a, b, c), rho, at.steps + k, worst)

    def _center(self, pull: Array, rho: float, copies: Array, pairs: Array) -> Array:
        if not len(self._sums):
            return self._solved(2.0 * rho, pull + rho * copies)
        values, turn = self._modes
        right = (pull + rho * (copies + pairs @ self._sums)) @ turn
        columns = [
            self._solved(float(rho * (2.0 + round(value, 9))), right[:, j])
            for j, value in enumerate(values)
        ]
        return np.column_stack(columns) @ turn.T

    def _in_ball(self, whole: Array) -> Array:
        if self.relaxation == "parabolic":
            return whole / np.maximum(np.linalg.norm(whole, axis=0), 1.0)
        # Singular values by the small Gram matrix: those above one are far from zero.
        squares, turn = np.linalg.eigh(whole.T @ whole)
        shrink = 1.0 / np.sqrt(np.maximum(squares, 1.0))
        return whole @ ((turn * shrink) @ turn.T)


def _balance(apart: float, change: float) -> float:
    """Return by what rho is multiplied: by two where copies are five times too far."""
    if apart > 5.0 * change:
        return 2.0
    return 0.5 if change > 5.0 * apart else 1.0
