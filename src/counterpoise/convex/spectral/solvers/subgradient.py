"""Subgradient steps on the spectral norm itself."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.solvers.incumbent import Incumbent, of_moments
from counterpoise.numerics.arrays import Array

# Up to this order all eigenvectors cost less than Lanczos.
DENSE = 60
# Lanczos ends at this error of its eigenvalue, in units of it.
LANCZOS = 1e-3
# No weight falls below this, so that none is lost for good.
LEAST_WEIGHT = 1e-300


@dataclass(frozen=True, eq=False)
class _Averages:
    """Sums of the dual matrices and of the points, weighted by the steps' lengths."""

    duals: Array
    points: Array
    weight: float = 0.0
    count: int = 0

    @classmethod
    def empty(cls, problem: Any) -> "_Averages":
        return cls(np.zeros_like(problem.target_moment), np.zeros(problem.size))

    def with_step(self, dual: Array, z: Array, length: float) -> "_Averages":
        return _Averages(
            self.duals + length * dual,
            self.points + length * z,
            self.weight + length,
            self.count + 1,
        )


@dataclass(frozen=True, eq=False)
class _Walk:
    """A point by its logarithms as well, the last eigenvector, the averages."""

    k: int
    z: Array
    log_z: Array
    vector: Array
    value: float
    averages: _Averages


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
    >>> from counterpoise.convex import solve
    >>> from counterpoise.convex.spectral import Discrepancy
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

    @property
    def accepts(self) -> Requirements:
        """Second moments of rows."""
        return of_moments()

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        best = Incumbent.at(problem, x)
        width = len(problem.target_moment)
        walk = _Walk(
            0,
            best.z,
            _logarithms(best.z),
            np.full(width, 1.0 / math.sqrt(width)),
            best.value,
            _Averages.empty(problem),
        )
        return best.state(problem, (walk, best), stalled=problem.size == 1)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after `every` subgradient steps."""
        walk, best = state.memory
        if walk.averages.count >= self.memory:
            walk = replace(walk, averages=_Averages.empty(problem))
        lowest = walk
        for _ in range(self.every):
            before = walk
            walk = self._walked(problem, walk, max(best.bound, 0.0))
            # The walk knows the value of the point that it has left.
            if walk.value < lowest.value:
                lowest = replace(before, value=walk.value)
        averages = walk.averages
        best = best.or_point(problem, lowest.z)
        best = best.or_point(problem, averages.points / averages.weight)
        best = best.or_dual(problem, averages.duals)
        return best.state(problem, (walk, best))

    def _walked(self, problem: Any, walk: _Walk, bound: float) -> _Walk:
        """Return the walk after one subgradient step."""
        z = walk.z
        eigenvalue, v = _extreme(problem, z, walk.vector)
        sign = 1.0 if eigenvalue >= 0.0 else -1.0
        value = abs(eigenvalue) + problem.spread_term(z)
        dual = sign * np.outer(v, v)
        slopes = _spread_slopes(problem, z) - sign * (problem.rows @ v) ** 2
        apart = float(np.ptp(slopes))
        k, log_z = walk.k + 1, walk.log_z
        if apart == 0.0:
            # No row is better than another: z and this dual matrix prove each other.
            averages = _Averages.empty(problem).with_step(dual, z, 1.0)
            return _Walk(k, z, log_z, v, value, averages)
        if self.kind == "entropic":
            length = 2.0 * math.sqrt(2.0 * math.log(problem.size) / k) / apart
            log_z = log_z - length * slopes
            z = _within_the_cap(np.exp(log_z - log_z.max()), problem.cap)
            log_z = _logarithms(z)
        else:
            centred = slopes - slopes.mean()
            length = max(value - bound, 0.0) / float(centred @ centred)
            z = problem.domain.project(z - length * slopes)
        averages = walk.averages.with_step(dual, walk.z, length)
        return _Walk(k, z, log_z, v, value, averages)


def _extreme(problem: Any, z: Array, near: Array) -> tuple[float, Array]:
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


def _spread_slopes(problem: Any, z: Array) -> Array | float:
    """Return the gradient of the spread's term."""
    if problem.spread == 0.0:
        return 0.0
    out: Array = (2.0 * problem.bend) * z
    return out


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
