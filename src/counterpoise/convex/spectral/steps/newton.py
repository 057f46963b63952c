"""The linear systems of an interior-point step over a spectral norm."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpotrf, dtrtri

from counterpoise.convex.spectral.steps.schur_matrix import Schur, schur_of
from counterpoise.numerics.arrays import Array

# Conjugate gradient steps that a factor in single precision may need.
MOST_REFINEMENTS = 25


@dataclass(frozen=True, eq=False)
class Inside:
    """A strictly feasible point with its multipliers.

    `above` and `below` are the matrices of :math:`M \\preceq tI` and
    :math:`-tI \\preceq M`, of joint trace one; `low` and `high` belong to the bounds of
    z (`high` is None without a cap), `level` to the sum. `M`, `norm` and `pulls`
    (x'Yx of every row, Y = above - below) are what they say. `matched`: the multipliers
    of z are what Y and the level make them; without it Newton's steps mend them.
    """

    z: Array
    t: float
    above: Array
    below: Array
    low: Array
    high: Array | None
    level: float
    M: Array
    norm: float
    pulls: Array
    matched: bool = True

    @property
    def Y(self) -> Array:
        """The dual matrix."""
        return self.above - self.below

    def centre(self, bounds: int) -> float:
        """Return the mean of the products of slacks and multipliers."""
        out = self.t * float(np.trace(self.above) + np.trace(self.below))
        out -= float(np.vdot(self.M, self.Y)) - float(self.z @ self.low)
        return out / (2 * len(self.M) + bounds)


@dataclass(frozen=True, eq=False)
class Move:
    """A direction: of z, t and the level, of the slacks and of the multipliers."""

    z: Array
    t: float
    level: float
    over: Array
    under: Array
    above: Array
    below: Array
    low: Array
    high: Array | None


class SpectralNewton:
    """The linear systems at one point."""

    def __init__(self, problem: Any, here: Inside) -> None:
        self.problem, self.here = problem, here
        rows, z = problem.rows, here.z
        m, N = rows.shape
        eye = np.eye(N)
        self.over, self.under = here.t * eye - here.M, here.t * eye + here.M
        _, self.over_inverse = _factors(self.over)
        _, self.under_inverse = _factors(self.under)
        above, self.above_inverse = _factors(here.above)
        below, self.below_inverse = _factors(here.below)
        self.room = None
        if problem.cap is not None:
            # Rounding may put an entry on its cap.
            self.room = np.maximum(problem.cap - z, 1e-17 * problem.cap)
        self.gap = self._products(
            self.over,
            here.above,
            self.under,
            here.below,
            z,
            here.low,
            self.room,
            here.high,
        )
        bounds = m if self.room is None else 2 * m
        self.centre = self.gap / (2 * N + bounds)
        self.P = self.over_inverse.T @ self.over_inverse
        self.Q = self.under_inverse.T @ self.under_inverse
        diagonal = here.low / z + 2.0 * problem.bend
        if self.room is not None and here.high is not None:
            diagonal = diagonal + here.high / self.room
        self.schur: Schur = schur_of(
            rows,
            ((above, self.over_inverse.T), (below, self.under_inverse.T)),
            ((here.above, self.P), (here.below, self.Q)),
            diagonal,
        )
        self.coupling = quadratic_forms(rows, here.above @ self.P - here.below @ self.Q)
        self.corner = float(np.sum(here.above * self.P) + np.sum(here.below * self.Q))
        self.apart = quadratic_forms(rows, self.P - self.Q)
        self.trace = float(np.trace(self.P) + np.trace(self.Q))
        self.sides = self.schur.solve(np.stack([self.coupling, np.ones(m)], axis=1))

    def towards(self, aim: float, first: Move | None = None) -> Move:
        """Return the direction to `aim` times the centre, corrected by a first one."""
        problem, here, rows = self.problem, self.here, self.problem.rows
        goal = aim * self.centre
        right = goal / here.z - here.level + goal * self.apart
        right -= 2.0 * problem.bend * here.z
        if self.room is not None:
            right -= goal / self.room
        corner = goal * self.trace - 1.0
        bent_above = bent_below = np.zeros(0)
        if first is not None:
            bent_above = _symmetric(first.above @ first.over @ self.P)
            bent_below = _symmetric(first.below @ first.under @ self.Q)
            right -= quadratic_forms(rows, bent_above - bent_below)
            right -= first.z * first.low / here.z
            if self.room is not None and first.high is not None:
                right -= first.z * first.high / self.room
            corner -= float(np.trace(bent_above) + np.trace(bent_below))
        z, t, level = self._saddle(right, corner, 1.0 - float(here.z.sum()))
        if not self.schur.exact:
            z, t, level = self._refined(z, t, level, right, corner, goal)
        moment = (rows * z[:, None]).T @ rows
        shift = t * np.eye(len(moment))
        over, under = shift + moment, shift - moment
        above = goal * self.P - here.above - _symmetric(here.above @ over @ self.P)
        below = goal * self.Q - here.below - _symmetric(here.below @ under @ self.Q)
        low = goal / here.z - here.low * (1.0 + z / here.z)
        high = None
        if self.room is not None and here.high is not None:
            high = goal / self.room - here.high * (1.0 - z / self.room)
        if first is not None:
            above, below = above - bent_above, below - bent_below
            low = low - first.z * first.low / here.z
            if self.room is not None and high is not None and first.high is not None:
                high = high + first.z * first.high / self.room
        return Move(z, t, level, over, under, above, below, low, high)

    def _saddle(
        self, right: Array, corner: float, lacking: float
    ) -> tuple[Array, float, float]:
        """Return dz, dt and dlevel of the bordered system."""
        free = self.schur.solve(right)
        coupling, sides = self.coupling, self.sides
        system = np.array(
            [
                [self.corner - coupling @ sides[:, 0], -(coupling @ sides[:, 1])],
                [-sides[:, 0].sum(), -sides[:, 1].sum()],
            ]
        )
        off = np.array([corner - coupling @ free, lacking - free.sum()])
        t, level = np.linalg.solve(system, off)
        return free - sides @ np.array([t, level]), float(t), float(level)

    def _refined(
        self,
        z: Array,
        t: float,
        level: float,
        right: Array,
        corner: float,
        goal: float,
    ) -> tuple[Array, float, float]:
        """Return the same by conjugate gradients on dz and dt, the sum of dz fixed.

        What is left over spoils only how even the products z low are; both sides stay
        feasible. So the residual is measured in those products.
        """
        enough = 0.1 * max(goal, 0.1 * self.centre)
        multiply, coupling = self.schur.multiply, self.coupling
        off = right - multiply(z) - coupling * t - level
        corner_off = corner - float(coupling @ z) - self.corner * t
        y, y_t, y_level = self._saddle(off, corner_off, 0.0)
        size = float(off @ y) + corner_off * y_t
        way, way_t = y, y_t
        for _ in range(MOST_REFINEMENTS):
            rest = float(np.max(np.abs(off - y_level) * self.here.z))
            if (rest <= enough and abs(corner_off) <= 0.01) or not size > 0.0:
                break
            image = multiply(way) + coupling * way_t
            image_t = float(coupling @ way) + self.corner * way_t
            bend = float(way @ image) + way_t * image_t
            if not bend > 0.0:
                break
            length = size / bend
            z, t = z + length * way, t + length * way_t
            off, corner_off = off - length * image, corner_off - length * image_t
            y, y_t, y_level = self._saddle(off, corner_off, 0.0)
            after = float(off @ y) + corner_off * y_t
            way, way_t = y + (after / size) * way, y_t + (after / size) * way_t
            size = after
        return z, t, level + y_level

    def lengths(self, move: Move) -> tuple[float, float]:
        """Return the longest steps of z and t, and of the multipliers."""
        here = self.here
        primal = min(
            _reach(here.z, move.z),
            _matrix_reach(self.over_inverse, move.over),
            _matrix_reach(self.under_inverse, move.under),
        )
        dual = min(
            _reach(here.low, move.low),
            _matrix_reach(self.above_inverse, move.above),
            _matrix_reach(self.below_inverse, move.below),
        )
        if self.room is not None and here.high is not None and move.high is not None:
            primal = min(primal, _reach(self.room, -move.z))
            dual = min(dual, _reach(here.high, move.high))
        return primal, dual

    def complementarity(self, move: Move, primal: float, dual: float) -> float:
        """Return the sum of all products after a step."""
        here = self.here
        room = None if self.room is None else self.room - primal * move.z
        high = plus(here.high, dual, move.high)
        return self._products(
            self.over + primal * move.over,
            here.above + dual * move.above,
            self.under + primal * move.under,
            here.below + dual * move.below,
            here.z + primal * move.z,
            here.low + dual * move.low,
            room,
            high,
        )

    @staticmethod
    def _products(
        over: Array,
        above: Array,
        under: Array,
        below: Array,
        z: Array,
        low: Array,
        room: Array | None,
        high: Array | None,
    ) -> float:
        out = float(np.vdot(over, above) + np.vdot(under, below) + z @ low)
        if room is not None and high is not None:
            out += float(room @ high)
        return out


def quadratic_forms(rows: Array, Y: Array) -> Array:
    """Return x'Yx of every row, O(m N^2)."""
    out: Array = np.einsum("ij,ij->i", rows @ Y, rows)
    return out


def spectral_norm(M: Array) -> float:
    """Return the largest modulus of an eigenvalue of a symmetric matrix."""
    ends = eigvalsh(M, check_finite=False)
    return float(max(ends[-1], -ends[0], 0.0))


def _factors(S: Array) -> tuple[Array, Array]:
    """Return the lower Cholesky factor and its inverse."""
    factor, failed = dpotrf(S, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("a slack has lost its definiteness")
    inverse, failed = dtrtri(factor, lower=1)
    if failed:
        raise np.linalg.LinAlgError("a slack has lost its definiteness")
    return factor, inverse


def plus(values: Array | None, length: float, move: Array | None) -> Array | None:
    """Return the values after a step, None where there are none."""
    return None if values is None or move is None else values + length * move


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def _reach(values: Array, pace: Array) -> float:
    """Return how far the values stay positive."""
    falling = pace < 0.0
    if not falling.any():
        return np.inf
    return float(np.min(values[falling] / -pace[falling]))


def _matrix_reach(inverse: Array, pace: Array) -> float:
    """Return how far a matrix stays positive definite, from its inverse factor."""
    seen = inverse @ pace @ inverse.T
    lowest = float(
        eigvalsh(_symmetric(seen), subset_by_index=[0, 0], check_finite=False)[0]
    )
    return np.inf if lowest >= 0.0 else -1.0 / lowest
