"""A growing subspace of a kernel's feature space, by products with the kernel only."""

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.discrepancy import DualMatrix
from counterpoise.convex.spectral.kernel_discrepancy import KernelDiscrepancy
from counterpoise.convex.spectral.solvers.first_rows import first_rows
from counterpoise.convex.spectral.solvers.incumbent import Incumbent
from counterpoise.convex.spectral.solvers.working_set import WorkingSet
from counterpoise.convex.spectral.steps.lanczos import (
    RitzPairs,
    kernel_ritz,
    orthonormal,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel_matrices import EXACT_CUT

# Gap of the first subspace's problem, as a share of the value at equal weights.
FIRST_ACCURACY = 0.01
# Weights below this share of the mean are dropped before a look at the whole.
NO_WEIGHT = 1e-3
# Ritz values above this share of the value join, beside a few of each end.
JOINING = 0.3
# What a claim in single precision gives away, so that its proof will hold.
CAUTION = 0.02


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
            FIRST_ACCURACY * problem.uniform_value,
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
    share = CAUTION if cautious else 1e-6
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
