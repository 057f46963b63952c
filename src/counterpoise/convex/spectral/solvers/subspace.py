"""A growing subspace of the features: few directions decide."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh, qr

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.discrepancy import Discrepancy, DualMatrix
from counterpoise.convex.spectral.solvers.first_rows import first_rows
from counterpoise.convex.spectral.solvers.incumbent import Incumbent, of_moments
from counterpoise.convex.spectral.solvers.interior_point import no_choice
from counterpoise.convex.spectral.solvers.working_set import WorkingSet
from counterpoise.numerics.arrays import Array

# Rows from which on more directions join at once, and how many then.
MANY_ROWS, MANY_DIRECTIONS = 600, 20
# Gap of the first subspace's problem, as a share of the value at the start.
FIRST_ACCURACY = 0.1


@dataclass(frozen=True, eq=False)
class _FeatureSubspaceMemory:
    basis: Array
    work: WorkingSet
    target: float
    incumbent: Incumbent
    rounds: int = 0


@dataclass(frozen=True)
class FeatureSubspace:
    r"""Solve on a subspace, look at the whole matrix, let its extremes join.

    For orthonormal V the problem :math:`\min_z \|V'M(z)V\|` is a lower bound of the
    whole one, and its dual matrix lifts to :math:`VYV'` with the same value. At the
    optimum few eigenvalues are extreme, so a few directions suffice. A step is one
    interior-point step on the subspace of r directions and the w rows in use there,
    :math:`O(w^2r + w^3/3 + mr^2)`. Once its gap is a share of the present one, the
    eigenvectors of M(z) at the new point and half way to the best one are computed,
    :math:`O(mN^2 + N^3)`; those of largest modulus join, and the search goes on warm.

    Parameters
    ----------
    joining : int
        Directions that join for each of the two points (more where rows are many).
    accuracy : float
        Gap of the subspace's problem, as a share of the present gap.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import Discrepancy, solve
    >>> rows = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> problem = Discrepancy.of(rows, np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> solve(problem, FeatureSubspace(), tol=1e-3).converged
    True
    """

    joining: int = 8
    accuracy: float = 0.3

    @property
    def accepts(self) -> Requirements:
        """A discrepancy in features."""
        return of_moments()

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the first state."""
        incumbent = Incumbent.at(problem, x)
        if no_choice(problem):
            return incumbent.state(problem, None, stalled=True)
        values, vectors = eigh(problem.operator(incumbent.z), check_finite=False)
        first = self._count(problem) * (2 if problem.size > MANY_ROWS else 1)
        basis = vectors[:, np.argsort(-np.abs(values), kind="stable")[:first]]
        part = _part(problem, basis)
        columns, z = first_rows(part, x)
        work = WorkingSet.of(part, columns, z)
        target = FIRST_ACCURACY * incumbent.value
        return incumbent.state(
            problem, _FeatureSubspaceMemory(basis, work, target, incumbent)
        )

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after one step."""
        memory: _FeatureSubspaceMemory = state.memory
        work = memory.work.advanced(memory.target)
        incumbent = memory.incumbent
        inner = work.incumbent
        if isinstance(inner.dual, DualMatrix) and inner.bound > incumbent.bound:
            lifted = DualMatrix(memory.basis @ inner.dual.directions, inner.dual.values)
            incumbent = incumbent.or_bounded(lifted, inner.bound)
        memory = replace(memory, work=work, incumbent=incumbent)
        stalled = False
        if work.gap <= memory.target or work.spent:
            memory, stalled = self._looked(problem, memory)
        return memory.incumbent.state(
            problem, memory, stalled, {"directions": memory.basis.shape[1]}
        )

    def _looked(
        self, problem: Discrepancy, memory: _FeatureSubspaceMemory
    ) -> tuple[_FeatureSubspaceMemory, bool]:
        """Return the next subspace, and whether the search is at its end."""
        V, work, incumbent = memory.basis, memory.work, memory.incumbent
        points = [work.incumbent.z]
        if memory.rounds:
            points.append(0.5 * (points[0] + incumbent.z))
        fresh = []
        for z in points:
            values, vectors = eigh(problem.operator(z), check_finite=False)
            value = max(float(values[-1]), -float(values[0]))
            incumbent = incumbent.or_valued(z, value + problem.spread_term(z))
            order = np.argsort(-np.abs(values), kind="stable")
            fresh.append(vectors[:, order[: self._count(problem)]])
        basis = _enlarged(V, np.concatenate(fresh, axis=1))
        gap = incumbent.value - max(incumbent.bound, 0.0)
        target = self.accuracy * gap
        stuck = target >= 0.99 * memory.target and memory.rounds > 0
        stalled = work.spent and (stuck or basis.shape[1] == V.shape[1])
        if basis.shape[1] > V.shape[1]:
            work = work.widened(_part(problem, basis))
        return _FeatureSubspaceMemory(
            basis, work, target, incumbent, memory.rounds + 1
        ), stalled

    def _count(self, problem: Discrepancy) -> int:
        return MANY_DIRECTIONS if problem.size > MANY_ROWS else self.joining


def _part(problem: Discrepancy, V: Array) -> Discrepancy:
    """Return the subspace's problem."""
    return Discrepancy(
        problem.rows @ V,
        V.T @ problem.target_moment @ V,
        problem.cap,
        problem.spread,
        problem.uniform_value,
    )


def _enlarged(V: Array, fresh: Array) -> Array:
    """Return an orthonormal basis of both, the old one first."""
    for _ in range(2):
        fresh = fresh - V @ (V.T @ fresh)
    Q, R, _ = qr(fresh, mode="economic", pivoting=True, check_finite=False)
    return np.concatenate([V, Q[:, np.abs(np.diag(R)) > 1e-8]], axis=1)
