"""Whether rows have moved within classes, once the classes' shares are made up for."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from counterpoise.adaptation.label_shift.class_shares import ClassShares
from counterpoise.diagnosis.distances import holm
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.domain_scores import score_domains

# Fewer source rows than this in the estimated shares tell nothing of what is left, and
# of more than this no more are looked at.
FEWEST_TO_TELL, MOST_TO_TELL = 100, 2_000


def rest_auc(
    found: ClassShares, samples: SamplesAsRead, labels: NDArray[np.object_], seed: int
) -> tuple[float, float, float] | None:
    """Return how well source rows in the estimated shares are told from the target's.

    Each row is kept with the chance :math:`(q_y / s_y) / \\max_k (q_k / s_k)`. The area
    under the curve with its interval; None where too few rows are left.
    """
    place = np.searchsorted(found.classes, labels[found.rows])
    ratio = found.em.shares / found.source_shares
    rng = np.random.default_rng(seed)
    kept = found.rows[rng.random(place.size) < (ratio / ratio.max())[place]]
    aims = found.rows_target
    if min(kept.size, aims.size) < FEWEST_TO_TELL:
        return None
    kept, aims = (
        rows
        if rows.size <= MOST_TO_TELL
        else np.sort(rng.choice(rows, MOST_TO_TELL, replace=False))
        for rows in (kept, aims)
    )
    left = SamplesAsRead.of_matrices(samples.source[kept], samples.target[aims])
    seen = score_domains(left, seed)
    return seen.auc, seen.auc_low, seen.auc_high


def rest_p_value(
    found: ClassShares, samples: SamplesAsRead, labels: NDArray[np.object_]
) -> float:
    r"""Return how often chance moves a mean within classes by more than is seen.

    Under a label shift the mean of any :math:`f(x)` over the target is
    :math:`M w`, with :math:`M_k = \mathrm{mean}_i f(x_i) 1[y_i = k]` and the ratios w
    of the black box, :math:`C w = \mathrm{mean}_j p(t_j)`. So with
    :math:`h = f - M C^{-1} p`

    .. math:: d = \mathrm{mean}_j\, h(t_j) - \mathrm{mean}_i\, w_{y_i} h(x_i), \qquad
        e^2 = \mathrm{var}_j\, h / m + \mathrm{var}_i (w_{y_i} h) / n

    is zero up to chance, what the ratios are not known for included. Two-sided normal
    tests of every column and its square, with Holm's correction; one of sparse rows.
    """
    X, T = samples.source[found.rows], samples.target[found.rows_target]
    if sparse.issparse(X):
        return 1.0
    f, f_target = _columns_and_squares(X, T)
    place = np.searchsorted(found.classes, labels[found.rows])
    n, m = len(X), len(T)
    hit = (place[:, None] == np.arange(found.classes.size)) / n
    inverse = np.linalg.pinv(found.source.T @ hit, rcond=1e-6)
    ratio = (inverse @ found.target.mean(axis=0))[place]
    onto = f.T @ hit @ inverse
    h = (f - found.source @ onto.T) * ratio[:, None]
    h_target = f_target - found.target @ onto.T
    difference = h_target.mean(axis=0) - h.mean(axis=0)
    error = np.sqrt(h_target.var(axis=0) / m + h.var(axis=0) / n)
    told = error > 0
    z = np.abs(difference[told]) / error[told]
    return float(holm(2 * stats.norm.sf(z)).min(initial=1.0))


def _columns_and_squares(X: Array, T: Array) -> tuple[Array, Array]:
    """Return the columns of both, of one scale and cut at its ends, and squares."""
    pooled = np.vstack([X, T])
    middle, spread = pooled.mean(axis=0), pooled.std(axis=0)
    used = spread > 1e-12 * np.maximum(np.abs(middle), 1.0)
    both = [
        np.clip((rows[:, used] - middle[used]) / spread[used], -4.0, 4.0)
        for rows in (X, T)
    ]
    return tuple(np.hstack([rows, rows**2]) for rows in both)  # type: ignore[return-value]
