"""Subspace solvers of the linear and the kernel discrepancy."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

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
    NEEDS_MOMENTS,
    Incumbent,
    WorkingSet,
    first_rows,
    no_choice,
)


@dataclass(frozen=True, eq=False)
class _SubspaceMemory:
    """A subspace, the search on it, and the best of the whole problem.

    `basis` holds its directions, or their coefficients on all rows of a kernel;
    `images` are a kernel's products with these, `start` where its next run begins.
    """

    basis: Array
    images: Array
    work: WorkingSet
    target: float
    incumbent: Incumbent
    start: Array | None = None
    rounds: int = 0

    def advanced(self) -> "_SubspaceMemory":
        """Return the memory after one interior-point step on the subspace."""
        work, incumbent = self.work.advanced(self.target), self.incumbent
        dual, bound = work.incumbent.dual, work.incumbent.bound
        if isinstance(dual, DualMatrix) and bound > incumbent.bound:
            lifted = DualMatrix(self.basis @ dual.directions, dual.values)
            incumbent = incumbent.or_bounded(lifted, bound)
        return replace(self, work=work, incumbent=incumbent)

    @property
    def is_solved(self) -> bool:
        """Whether the subspace's problem is solved as far as it is worth."""
        return self.work.gap <= self.target or self.work.spent

    def is_final(self, target: float, n_joined: int) -> bool:
        """Tell whether no other subspace will help where rounding leaves no step."""
        stuck = target >= 0.99 * self.target and self.rounds > 0
        return self.work.spent and (stuck or not n_joined)


# What solvers need of a discrepancy that is seen through a kernel.
NEEDS_KERNEL = Requirements(
    objective=("value",),
    domain=("project",),
    problem=("kernel", "target_share", "reduced", "claim"),
    hint="a KernelDiscrepancy is needed",
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

    accepts: ClassVar[Requirements] = NEEDS_KERNEL

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

    accepts: ClassVar[Requirements] = NEEDS_KERNEL

    def begin(self, problem: KernelDiscrepancy, x: Array | None) -> State:
        """Return the first state."""
        first = problem.start() if x is None else problem.inside(x)
        value = problem.uniform_value if x is None else problem.value(first)
        incumbent = Incumbent(first, value)
        if problem.size == 1 or not problem.uniform_value > problem.floor:
            # One point only, or nothing to gain: the problem proves it from z alone.
            return State(first, problem.certify(first), None, stalled=True)
        basis, images = self._first_basis(problem)
        part = problem.reduced(images)
        work = WorkingSet.of(part, *first_rows(part, x))
        target = FIRST_KERNEL_GAP * problem.uniform_value
        return _state(problem, _SubspaceMemory(basis, images, work, target, incumbent))

    def step(self, problem: KernelDiscrepancy, state: State) -> State:
        """Return the state after one step."""
        memory: _SubspaceMemory = state.memory.advanced()
        if memory.is_solved:
            return self._enlarged(problem, memory)
        return _state(problem, memory)

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

    def _enlarged(self, problem: KernelDiscrepancy, memory: _SubspaceMemory) -> State:
        """Return the state with the next subspace."""
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
        work, basis, images = memory.work, memory.basis, memory.images
        keep = max(self.largest - int(some.sum()), 1)
        if images.shape[1] > keep:
            # Room for those that join.
            _, turn = np.linalg.eigh(work.inside.above + work.inside.below)
            turn = turn[:, -keep:]
            basis, images, work = basis @ turn, images @ turn, work.turned(turn)
        fresh, fresh_images = orthonormal(
            pairs.coefficients[:, some],
            pairs.images[:, some],
            problem.kernel.cut,
            (basis, images),
            problem.kernel.product if problem.kernel.cut > EXACT_CUT else None,
        )
        images = np.concatenate([images, fresh_images], axis=1)
        target = self.accuracy * (incumbent.value - max(incumbent.bound, 0.0))
        stalled = memory.is_final(target, fresh.size)
        if fresh.size:
            work = work.widened(problem.reduced(images))
        after = _SubspaceMemory(
            np.concatenate([basis, fresh], axis=1),
            images,
            work,
            target,
            incumbent,
            pairs.coefficients[:, self._ends(pairs.values.size)],
            memory.rounds + 1,
        )
        return _state(problem, after, stalled)

    def _pairs(
        self, problem: KernelDiscrepancy, memory: _SubspaceMemory, z: Array
    ) -> RitzPairs:
        """Return the extreme pairs at z, begun at the last ones."""
        weights = np.concatenate([-z, problem.target_share])
        start = memory.start
        if start is None:
            _, turn = np.linalg.eigh(memory.work.problem.operator(z))
            start = memory.basis @ turn[:, self._ends(turn.shape[1])]
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


def _state(
    problem: KernelDiscrepancy, memory: _SubspaceMemory, stalled: bool = False
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

    accepts: ClassVar[Requirements] = NEEDS_MOMENTS

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the first state."""
        incumbent = Incumbent.at(problem, x)
        if no_choice(problem):
            return incumbent.state(problem, None, stalled=True)
        values, vectors = eigh(problem.operator(incumbent.z), check_finite=False)
        first = self._count(problem) * (2 if problem.size > MANY_SUBSPACE_ROWS else 1)
        basis = vectors[:, np.argsort(-np.abs(values), kind="stable")[:first]]
        part = _part(problem, basis)
        work = WorkingSet.of(part, *first_rows(part, x))
        target = FIRST_FEATURE_GAP * incumbent.value
        memory = _SubspaceMemory(basis, basis, work, target, incumbent)
        return incumbent.state(problem, memory)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after one step."""
        memory: _SubspaceMemory = state.memory.advanced()
        stalled = False
        if memory.is_solved:
            memory, stalled = self._enlarged(problem, memory)
        counts = {"directions": memory.basis.shape[1]}
        return memory.incumbent.state(problem, memory, stalled, counts)

    def _enlarged(
        self, problem: Discrepancy, memory: _SubspaceMemory
    ) -> tuple[_SubspaceMemory, bool]:
        """Return the next subspace, and whether the search is at its end."""
        V, work, incumbent = memory.basis, memory.work, memory.incumbent
        points = [work.incumbent.z]
        if memory.rounds:
            points.append(0.5 * (points[0] + incumbent.z))
        joining = []
        for z in points:
            values, vectors = eigh(problem.operator(z), check_finite=False)
            value = max(float(values[-1]), -float(values[0]))
            incumbent = incumbent.or_valued(z, value + problem.spread_term(z))
            order = np.argsort(-np.abs(values), kind="stable")
            joining.append(vectors[:, order[: self._count(problem)]])
        fresh = np.concatenate(joining, axis=1)
        for _ in range(2):
            fresh = fresh - V @ (V.T @ fresh)
        Q, R, _ = qr(fresh, mode="economic", pivoting=True, check_finite=False)
        basis = np.concatenate([V, Q[:, np.abs(np.diag(R)) > 1e-8]], axis=1)
        target = self.accuracy * (incumbent.value - max(incumbent.bound, 0.0))
        n_joined = basis.shape[1] - V.shape[1]
        if n_joined:
            work = work.widened(_part(problem, basis))
        rounds = memory.rounds + 1
        after = _SubspaceMemory(basis, basis, work, target, incumbent, rounds=rounds)
        return after, memory.is_final(target, n_joined)

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
