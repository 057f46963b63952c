"""The problem of least discrepancy that two samples pose."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.spectral.discrepancy import Discrepancy
from counterpoise.convex.spectral.kernel_discrepancy import KernelDiscrepancy
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.hypotheses import DENSE_COLUMNS, kernel_matrix
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import InvalidInput

# Counts are written out as rows up to so many times the rows that there are.
MOST_COPIES = 10


@dataclass(frozen=True, eq=False)
class PosedDiscrepancy:
    """A problem over weights of distinct source rows, and which row each is.

    Attributes
    ----------
    problem : Discrepancy or KernelDiscrepancy
        Equal source rows are one row of it, unless a cap or a spread asks for all.
    groups : array of shape (n,)
        For each source row the number of its group of equal rows.
    rows : array
        For each row of the problem the group that it stands for.
    group_share : array
        What each group counts in the source as it is.
    """

    problem: Any
    groups: Indices
    rows: Indices
    group_share: Array

    @property
    def start(self) -> Array:
        """The weights of the problem at which the source stays as it is."""
        copies = np.bincount(self.rows, minlength=self.group_share.size)
        return self.group_share[self.rows] / copies[self.rows]

    def ratio(self, z: Array) -> Array:
        """Return the weight of every source row, of weighted mean one.

        Equal rows have equal weights: each its share of what they have together.
        """
        mass = np.bincount(self.rows, weights=z, minlength=self.group_share.size)
        return (mass / self.group_share)[self.groups]

    def flattened(self, z: Array, exponent: float) -> Array:
        """Return the weights of the problem whose ratios are those of z to a power."""
        mass = np.bincount(self.rows, weights=z, minlength=self.group_share.size)
        found = self.start * ((mass / self.group_share) ** exponent)[self.rows]
        return found / found.sum()


def pose_discrepancy(
    samples: TwoSamples,
    hypotheses: Kernel,
    *,
    gram: Array | None = None,
    cap: float | None = None,
    spread: float = 0.0,
) -> PosedDiscrepancy:
    r"""Return the problem of the weights of least discrepancy.

    .. math::

        \min_z \Bigl\| \sum_j q_j \phi(t_j) \phi(t_j)' - \sum_i z_i \phi(x_i)
        \phi(x_i)' \Bigr\|_2, \qquad z \ge 0, \; \sum_i z_i = 1

    over the distinct source rows. With a `cap` no weight :math:`z_i / p_i` exceeds it,
    p the shares of the source rows; with a `spread` s the objective has
    :math:`s f_0 (\sum_i z_i^2 / p_i - 1)` added, :math:`f_0` the norm at :math:`z = p`.
    Rows that count several times are then written out, as these terms ask for.

    Parameters
    ----------
    samples : TwoSamples
        Rows on scaled columns in canonical order, so that equal rows are neighbours.
    hypotheses : Kernel
        Of the functions that are to see no difference.
    gram : array of shape (n + m, n + m) or None
        A precomputed kernel of the source rows and then the target rows, as they stand
        in `samples`.
    cap : float or None
        Largest weight of a row, at least one.
    spread : float
    """
    source, target = samples.source, samples.target
    n = source.shape[0]
    groups, first = _equal_neighbours(source)
    share: Array = np.bincount(groups, samples.source_share).astype(float)
    if cap is None and spread == 0.0:
        rows = np.arange(first.size)
    else:
        rows = groups[np.repeat(np.arange(n), _counts(samples))]
    aims, first_aim = _equal_neighbours(target)
    aim_share: Array = np.bincount(aims, samples.target_share).astype(float)
    bound = None if cap is None else cap / rows.size
    chosen, aimed = first[rows], first_aim
    problem: Any
    if _by_columns(hypotheses, samples):
        problem = Discrepancy.of(
            _features(hypotheses, source[chosen]),
            _features(hypotheses, target[aimed]),
            aim_share,
            bound,
            spread,
        )
    else:
        kernel = _kernel(hypotheses, source[chosen], target[aimed])
        if gram is not None:
            places = np.concatenate([chosen, n + aimed])
            kernel = kernel_matrix(hypotheses, None, gram[np.ix_(places, places)])
        problem = KernelDiscrepancy(kernel, aim_share, bound, spread)
    posed = PosedDiscrepancy(problem, groups, rows, share)
    start = posed.start
    if np.ptp(start) > 1e-12 * start.max():
        # The gap is measured by the source as it is, not by its distinct rows.
        norm = problem.norm(start)
        posed = replace(posed, problem=replace(problem, reference=norm))
    return posed


def _by_columns(kernel: Kernel, samples: TwoSamples) -> bool:
    """Tell whether rows are best described by their columns, not by a kernel."""
    if kernel.kind != "linear":
        return False
    return not sparse.issparse(samples.source) or (
        samples.source.shape[1] <= DENSE_COLUMNS
    )


def _features(kernel: Kernel, rows: Any) -> Array:
    """Return the rows of a linear kernel, dense, a column of ones added."""
    dense = rows.toarray() if sparse.issparse(rows) else rows
    if not kernel.constant:
        return dense
    return np.column_stack([dense, np.ones(dense.shape[0])])


def _kernel(hypotheses: Kernel, source: Any, target: Any) -> Any:
    if hypotheses.kind == "precomputed":
        return None
    both = [source, target]
    rows = sparse.vstack(both) if sparse.issparse(source) else np.vstack(both)
    return kernel_matrix(hypotheses, rows)


def _equal_neighbours(rows: Any) -> tuple[Indices, Indices]:
    """Return the number of every row's group of equal rows, and each group's first."""
    if sparse.issparse(rows):
        apart = rows[1:] - rows[:-1]
        apart.eliminate_zeros()
        differs = np.diff(apart.tocsr().indptr) > 0
    else:
        differs = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.concatenate([[True], differs])
    return np.cumsum(starts) - 1, np.flatnonzero(starts)


def may_be_spread(samples: TwoSamples) -> bool:
    """Return whether rows count the same, or small whole numbers of times."""
    counts = samples.source_share * samples.source_mass
    if np.ptp(counts) <= 1e-9 * counts.max():
        return True
    whole = np.rint(counts)
    return bool(
        np.abs(counts - whole).max() <= 1e-9 * counts.max()
        and whole.sum() <= MOST_COPIES * counts.size
    )


def _counts(samples: TwoSamples) -> Indices:
    """Return how often each source row is to be written out."""
    counts = samples.source_share * samples.source_mass
    if np.ptp(counts) <= 1e-9 * counts.max():
        return np.ones(counts.size, dtype=np.intp)
    if not may_be_spread(samples):
        raise InvalidInput(
            "cap and spread need source rows that count the same, or small whole "
            f"numbers of times: sample_weight goes from {counts.min():g} to "
            f"{counts.max():g}"
        )
    return np.rint(counts).astype(np.intp)
