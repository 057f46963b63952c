"""Subspace solvers of the linear and the kernel discrepancy."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, qr, solve_triangular

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.cholesky import ColumnFactor
from counterpoise.linalg.kernels import EXACT_CUT
from counterpoise.optim.loop import Requirements, Solver, State
from counterpoise.optim.spectral.problem import (
    EXACT_NORM_ROWS,
    MARGINS,
    Discrepancy,
    DualMatrix,
    KernelDiscrepancy,
    RitzPairs,
    kernel_ritz,
    orthonormal,
)
from counterpoise.optim.spectral.working_set import (
    Incumbent,
    WorkingSet,
    first_rows,
    no_choice,
    of_moments,
)

# -----------------------------------------------------------------------------
# A kernel whose numerical rank is small, solved in the coordinates of its factor.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelFactor:
    r"""Solve the feature form on :math:`K \approx FF'` of full numerical rank.

    Pivots p of a Cholesky factor give :math:`F = K_{\cdot p} L^{-T}`, the features of
    all rows in the orthonormal basis :math:`\Phi_p L^{-T}`: what the basis leaves of a
    row has a squared length below 1e-12 of the longest. So the reduced problem is the
    whole one but for rounding, its dual matrix bounds the whole problem below with no
    error term, and the problem proves the norm of the whole operator. Making F costs
    :math:`O(q r^2)`; a step is one of `inner`.

    Parameters
    ----------
    pivots : ColumnFactor
        Of the problem's kernel.
    inner : Solver
        For the feature form.
    """

    pivots: ColumnFactor
    inner: Solver

    @property
    def accepts(self) -> Requirements:
        """A discrepancy seen through a kernel."""
        return Requirements(
            objective=("value",),
            domain=("project",),
            problem=("kernel", "target_share", "reduced", "claim"),
            hint="a KernelDiscrepancy is needed",
        )

    def begin(self, problem: KernelDiscrepancy, x: Array | None) -> State:
        """Return the first state."""
        part = problem.reduced(self.pivots.factor)
        return self._lifted(problem, part, self.inner.begin(part, x))

    def step(self, problem: KernelDiscrepancy, state: State) -> State:
        """Return the state after one step of the inner method."""
        part, within = state.memory
        return self._lifted(problem, part, self.inner.step(part, within))

    def _lifted(self, problem: KernelDiscrepancy, part: Any, within: State) -> State:
        """Return the whole problem's state: the dual matrix by coefficients on rows."""
        hint = within.hint
        if isinstance(hint, np.ndarray):
            values, vectors = np.linalg.eigh(0.5 * (hint + hint.T))
            hint = DualMatrix(vectors, values)
        if isinstance(hint, DualMatrix):
            hint = DualMatrix(self._coefficients(hint.directions), hint.values)
        # The proof of the norm needs a margin where it is no eigenvalue.
        margin = MARGINS[0] if problem.kernel.size > EXACT_NORM_ROWS else 0.0
        claim = problem.claim(
            within.x, within.claim.objective * (1.0 + margin), within.claim.bound
        )
        return State(
            within.x, claim, (part, within), hint, within.counts, within.stalled
        )

    def _coefficients(self, directions: Array) -> Array:
        """Return directions of the basis as coefficients on all rows."""
        places = self.pivots.pivots
        triangle = self.pivots.factor[places]
        out = np.zeros((len(self.pivots.factor), directions.shape[1]))
        out[places] = solve_triangular(
            triangle, directions, lower=True, trans=1, check_finite=False
        )
        return out


# -----------------------------------------------------------------------------
# A growing subspace of a kernel's feature space, by products with the kernel only.
# -----------------------------------------------------------------------------


# Gap of the first subspace's problem, as a share of the value at equal weights.
FIRST_KERNEL_GAP = 0.01
# Weights below this share of the mean are dropped before a look at the whole.
NO_WEIGHT = 1e-3
# Ritz values above this share of the value join, beside a few of each end.
JOINING = 0.3
# What a claim in single precision gives away, so that its proof will hold.
SINGLE_CAUTION = 0.02


@dataclass(frozen=True, eq=False)
class _KernelSubspaceMemory:
    coefficients: Array
    images: Array
    work: WorkingSet
    target: float
    incumbent: Incumbent
    start: Array | None = None
    rounds: int = 0


@dataclass(frozen=True)
class KernelSubspace:
    r"""Solve on a subspace of the feature space, look at the whole operator, enlarge.

    The basis :math:`\Phi C` with :math:`C'KC = I` turns rows into features KC; the
    reduced problem's dual matrix bounds the whole problem with no error term. A step is
    one interior-point step on r directions and the w rows in use,
    :math:`O(w^2r + w^3/3 + mr^2)`. Once its gap is a share of the present one, block
    Lanczos at the point half way to the best one gives the norm and the Ritz vectors
    that join (`steps` products of K with `block` columns). The Newton matrix of many
    rows has single precision, mended by conjugate gradients.

    Only products with K are needed. The claims of a kernel in single precision are
    cautious; the problem proves in double precision.

    Parameters
    ----------
    first : int
        Directions at the start, those of largest :math:`A_P + A_{1/m}`.
    fewest, most : int
        Ritz vectors of each end that join, at least and at most.
    block, steps : int
        Columns and steps of a Lanczos run.
    largest : int
        Directions kept at most; those that carry the least dual matrix go.
    accuracy : float
        Gap of the subspace's problem, as a share of the present gap.
    """

    first: int = 100
    fewest: int = 8
    most: int = 24
    block: int = 16
    steps: int = 6
    largest: int = 400
    accuracy: float = 0.5

    @property
    def accepts(self) -> Requirements:
        """A discrepancy seen through a kernel."""
        return Requirements(
            objective=("value",),
            domain=("project",),
            problem=("kernel", "target_share", "reduced", "claim"),
            hint="a KernelDiscrepancy is needed",
        )

    def begin(self, problem: KernelDiscrepancy, x: Array | None) -> State:
        """Return the first state."""
        first = problem.start() if x is None else problem.inside(x)
        value = problem.uniform_value if x is None else problem.value(first)
        incumbent = Incumbent(first, value)
        if problem.size == 1 or not problem.uniform_value > problem.floor:
            # One point only, or nothing to gain: the problem proves it from z alone.
            return State(first, problem.certify(first), None, stalled=True)
        coefficients, images = self._first_basis(problem)
        part = problem.reduced(images)
        columns, z = first_rows(part, x)
        work = WorkingSet.of(part, columns, z)
        memory = _KernelSubspaceMemory(
            coefficients,
            images,
            work,
            FIRST_KERNEL_GAP * problem.uniform_value,
            incumbent,
        )
        return _state(problem, memory)

    def step(self, problem: KernelDiscrepancy, state: State) -> State:
        """Return the state after one step."""
        memory: _KernelSubspaceMemory = state.memory
        work = memory.work.advanced(memory.target)
        incumbent, inner = memory.incumbent, work.incumbent
        if isinstance(inner.dual, DualMatrix) and inner.bound > incumbent.bound:
            lifted = DualMatrix(
                memory.coefficients @ inner.dual.directions, inner.dual.values
            )
            incumbent = incumbent.or_bounded(lifted, inner.bound)
        memory = replace(memory, work=work, incumbent=incumbent)
        stalled = False
        if work.gap <= memory.target or work.spent:
            memory, stalled = self._looked(problem, memory)
        return _state(problem, memory, stalled)

    def _first_basis(self, problem: KernelDiscrepancy) -> tuple[Array, Array]:
        """Return the leading directions of the moments' sum, and their images."""
        weights = np.concatenate([problem.start(), problem.target_share])
        columns = min(max(20, self.first // 2), len(weights))
        start = np.random.default_rng(0).standard_normal((len(weights), columns))
        kernel = problem.kernel
        pairs = kernel_ritz(
            kernel.product,
            weights,
            weights[:, None] * start,
            3,
            self.first,
            kernel.cut,
        )
        top = np.argsort(-pairs.values, kind="stable")[: self.first]
        return pairs.coefficients[:, top], pairs.images[:, top]

    def _looked(
        self, problem: KernelDiscrepancy, memory: _KernelSubspaceMemory
    ) -> tuple[_KernelSubspaceMemory, bool]:
        """Return the next subspace, and whether the search is at its end."""
        incumbent = memory.incumbent
        z = memory.work.incumbent.z
        if memory.rounds:
            z = 0.5 * (z + incumbent.z)
        z = problem.inside(np.where(z > NO_WEIGHT / problem.size, z, 0.0))
        pairs = self._pairs(problem, memory, z)
        incumbent = incumbent.or_valued(z, pairs.norm + problem.spread_term(z))
        level = max(memory.work.inside.norm, JOINING * incumbent.value)
        some = np.abs(pairs.values) > JOINING * level
        some[: self.fewest] = some[-self.fewest :] = True
        memory, work = self._narrowed(memory, int(some.sum()))
        fresh = orthonormal(
            pairs.coefficients[:, some],
            pairs.images[:, some],
            problem.kernel.cut,
            (memory.coefficients, memory.images),
            problem.kernel.product if problem.kernel.cut > EXACT_CUT else None,
        )
        coefficients = np.concatenate([memory.coefficients, fresh[0]], axis=1)
        images = np.concatenate([memory.images, fresh[1]], axis=1)
        gap = incumbent.value - max(incumbent.bound, 0.0)
        stuck = self.accuracy * gap >= 0.99 * memory.target and memory.rounds > 0
        stalled = memory.work.spent and (stuck or not fresh[0].size)
        if fresh[0].size:
            work = work.widened(problem.reduced(images))
        ends = self._ends(pairs.values.size)
        return (
            _KernelSubspaceMemory(
                coefficients,
                images,
                work,
                self.accuracy * gap,
                incumbent,
                pairs.coefficients[:, ends],
                memory.rounds + 1,
            ),
            stalled,
        )

    def _pairs(
        self, problem: KernelDiscrepancy, memory: _KernelSubspaceMemory, z: Array
    ) -> RitzPairs:
        """Return the extreme pairs at z, begun at the last ones."""
        weights = np.concatenate([-z, problem.target_share])
        start = memory.start
        if start is None:
            half = self.block // 2 - 1
            part = memory.work.problem
            _, turn = np.linalg.eigh(part.operator(z))
            ends = np.r_[:half, turn.shape[1] - half : turn.shape[1]]
            start = (
                memory.coefficients
                @ turn[:, np.unique(ends.clip(0, turn.shape[1] - 1))]
            )
        random = np.random.default_rng(memory.rounds + 1)
        other = weights[:, None] * random.standard_normal((len(weights), 2))
        return kernel_ritz(
            problem.kernel.product,
            weights,
            np.concatenate([start, other], axis=1),
            self.steps,
            self.most,
            problem.kernel.cut,
        )

    def _ends(self, count: int) -> Indices:
        """Return the places of the pairs that the next Lanczos run begins at."""
        half = self.block // 2 - 1
        places = np.r_[:half, count - half : count]
        out: Indices = np.unique(places.clip(0, count - 1))
        return out

    def _narrowed(
        self, memory: _KernelSubspaceMemory, joining: int
    ) -> tuple[_KernelSubspaceMemory, WorkingSet]:
        """Return the basis with room for those that join."""
        keep = max(self.largest - joining, 1)
        work = memory.work
        if memory.images.shape[1] <= keep:
            return memory, work
        _, turn = np.linalg.eigh(work.inside.above + work.inside.below)
        turn = turn[:, -keep:]
        narrowed = replace(
            memory,
            coefficients=memory.coefficients @ turn,
            images=memory.images @ turn,
        )
        return narrowed, work.turned(turn)


def _state(
    problem: KernelDiscrepancy, memory: _KernelSubspaceMemory, stalled: bool = False
) -> State:
    best, cautious = memory.incumbent, problem.kernel.cut > EXACT_CUT
    share = SINGLE_CAUTION if cautious else 1e-6
    claim = problem.claim(
        best.z,
        best.value * (1.0 + 0.1 * share),
        max(best.bound, 0.0) * (1.0 - share if cautious else 1.0),
    )
    counts = {
        "directions": memory.images.shape[1],
        "rows in use": memory.work.columns.size,
        "rounds": memory.rounds,
    }
    return State(best.z, claim, memory, best.dual, counts, stalled)


# -----------------------------------------------------------------------------
# A growing subspace of the features: few directions decide.
# -----------------------------------------------------------------------------


# Rows from which on more directions join at once, and how many then.
MANY_SUBSPACE_ROWS, MANY_DIRECTIONS = 600, 20
# Gap of the first subspace's problem, as a share of the value at the start.
FIRST_FEATURE_GAP = 0.1


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
    >>> from counterpoise.optim import Discrepancy, solve
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
        first = self._count(problem) * (2 if problem.size > MANY_SUBSPACE_ROWS else 1)
        basis = vectors[:, np.argsort(-np.abs(values), kind="stable")[:first]]
        part = _part(problem, basis)
        columns, z = first_rows(part, x)
        work = WorkingSet.of(part, columns, z)
        target = FIRST_FEATURE_GAP * incumbent.value
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
        return MANY_DIRECTIONS if problem.size > MANY_SUBSPACE_ROWS else self.joining


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
