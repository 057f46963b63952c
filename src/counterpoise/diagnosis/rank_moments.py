"""Whether ranks of columns lie, spread or go together otherwise in the two samples."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.two_samples import TwoSamples

# Columns with fewer different values than this have no spread beside their shares.
_FEWEST_VALUES = 3
# Columns of which pairs are looked at; of more, the first.
MOST_IN_PAIRS = 200
# So many rows of either sample should differ from a column's commonest value: the mean
# over fewer is not normal.
_ROWS_THAT_VARY = 20.0


@dataclass(frozen=True)
class MomentTest:
    """How unlike two samples are in a column, in all, or in how two go together.

    Attributes
    ----------
    p_value : float
        Corrected for all that was looked at.
    columns : tuple of int
        One column or two; none: all together.
    """

    p_value: float
    columns: tuple[int, ...]


def moment_test(samples: TwoSamples) -> MomentTest:
    r"""Return the most striking difference of means, spreads and correlations of ranks.

    With r the rank of a row among both samples, between 0 and 1, samples counting by
    their effective sizes n and m and equal values in the middle of theirs, and
    :math:`u = \sqrt{12}\,(r - 1/2)`, the means over either sample are compared by the
    normal distribution of v =

    ===========  =====================================================================
    each column  :math:`u_j` (Wilcoxon): where it lies
    each column  :math:`u_j^2` (Mood): its spread
    all columns  :math:`\sum_j u_j^2`: many spreads that moved a little
    each pair    :math:`u_j u_k` (Spearman): how two go together, of 200 columns at most
    ===========  =====================================================================

    and the smallest of K p-values of a kind is multiplied by K and by the number of
    kinds that are there. Columns of fewer than three different values have no spread
    beside their shares and are left out; so are those whose commonest value leaves,
    with o the share of the others, less than 20 = o min(n, m) rows, and from pairs
    those with less than 20 = o^2 min(n, m). A scale of 1.25 shows where a
    Kolmogorov-Smirnov distance needs four times the rows, and a correlation of 0.3,
    which no column shows, in a thousand rows.

    With shares p and q of the rows and their means' difference :math:`\Delta`, its
    squared error is that of both samples together, as it is where they are alike:

    .. math:: \Bigl(\frac1n + \frac1m\Bigr) \Bigl(\frac{n^2 \sum_i p_i^2 (v_i - \bar
        v_s)^2 + m^2 \sum_j q_j^2 (v_j - \bar v_t)^2}{n + m} + \frac{n m \Delta^2}
        {(n + m)^2}\Bigr)

    Parameters
    ----------
    samples : TwoSamples
        Dense.

    References
    ----------
    F. Wilcoxon, 1945. A. Mood, 1954. C. Spearman, 1904.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(2, 500, 4))
    >>> T[:, 3] += 0.5 * T[:, 1]
    >>> found = moment_test(TwoSamples.of(X, T))
    >>> found.columns, bool(found.p_value < 1e-3)
    ((1, 3), True)
    """
    scores = RankScores.of(samples)
    shares = samples.source_share, samples.target_share
    kinds: list[tuple[float, tuple[int, ...]]] = []
    for values in (scores.ranks, scores.ranks**2) if scores.columns.size else ():
        each = _of_means(values, *shares)
        least = int(np.argmin(each))
        kinds.append((each.size * each[least], (int(scores.columns[least]),)))
    if scores.columns.size > 1:
        kinds.append((_of_means(scores.whole, *shares)[0], ()))
    if scores.in_pairs.size > 1:
        pairs = np.triu_indices(scores.in_pairs.size, 1)
        each = chance_of_products(scores.paired, *shares)[pairs]
        least = int(np.argmin(each))
        kinds.append((each.size * each[least], scores.pair(least)))
    p_value, columns = min(kinds, key=lambda one: one[0], default=(1.0, ()))
    return MomentTest(min(1.0, max(len(kinds), 1) * float(p_value)), columns)


@dataclass(frozen=True, eq=False)
class RankScores:
    """Ranks of the rows of the source and then of the target, from the middle.

    Attributes
    ----------
    columns, in_pairs : array of int
        The columns that have a spread, and those of which pairs are looked at.
    ranks, paired : array of shape (n + m, k), (n + m, l)
        Of either, of variance one where nothing is tied.
    """

    columns: Indices
    in_pairs: Indices
    ranks: Array
    paired: Array

    @classmethod
    def of(cls, samples: TwoSamples, most: int = MOST_IN_PAIRS) -> "RankScores":
        """Return the scores; pairs of `most` columns at most."""
        X = np.vstack([samples.source, samples.target])
        n, m = map(effective_sample_size, (samples.source_share, samples.target_share))
        # By rows: where the samples are alike, either has the same scores.
        share = np.concatenate([n * samples.source_share, m * samples.target_share])
        share /= n + m
        u, many = np.empty_like(X), np.empty(X.shape[1], dtype=bool)
        other = np.empty(X.shape[1])
        for j in range(X.shape[1]):
            u[:, j], mass = _ranked(X[:, j], share)
            many[j] = mass.size >= _FEWEST_VALUES
            other[j] = 1.0 - mass.max()
        # Rounding must not decide.
        fewest = (1 - 1e-9) * _ROWS_THAT_VARY / min(n, m)
        columns = np.flatnonzero(many & (other >= fewest))
        in_pairs = np.flatnonzero(many & (other**2 >= fewest))[:most]
        return cls(columns, in_pairs, u[:, columns], u[:, in_pairs])

    @property
    def whole(self) -> Array:
        """The sum of the squares over the columns, of shape (n + m, 1)."""
        found: Array = (self.ranks**2).sum(axis=1, keepdims=True)
        return found

    def pair(self, k: int) -> tuple[int, int]:
        """Return the columns of the k-th pair, in the order of `numpy.triu_indices`."""
        first, second = np.triu_indices(self.in_pairs.size, 1)
        return int(self.in_pairs[first[k]]), int(self.in_pairs[second[k]])


def middle_ranks(column: Array, share: Array) -> Array:
    """Return the ranks of a column between -sqrt(3) and sqrt(3), ties in the middle."""
    return _ranked(column, share)[0]


def _ranked(column: Array, share: Array) -> tuple[Array, Array]:
    """Return the same, and what every different value counts."""
    _, place = np.unique(column, return_inverse=True)
    mass: Array = np.bincount(place, share).astype(float, copy=False)
    ranks: Array = (np.sqrt(12) * (np.cumsum(mass) - mass / 2 - 0.5))[place]
    return ranks, mass


def _of_means(values: Array, p: Array, q: Array) -> Array:
    """Return the chance of means as unlike over the two samples, of each column."""
    both = (p, values[: p.size]), (q, values[p.size :])
    means = [share @ u for share, u in both]
    errors = [share**2 @ (u - share @ u) ** 2 for share, u in both]
    return _chance(means, errors, p, q)


def chance_of_products(values: Array, p: Array, q: Array) -> Array:
    """Return the chance of mean products as unlike, of each pair of columns.

    `values`: of the source rows, then of the target's; `p`, `q`: what they count.
    """
    means, errors = [], []
    for share, u in ((p, values[: p.size]), (q, values[p.size :])):
        mean = (u * share[:, None]).T @ u
        cross = (u * share[:, None] ** 2).T @ u
        squares = (u**2 * share[:, None] ** 2).T @ u**2
        means.append(mean)
        errors.append(squares - 2 * mean * cross + mean**2 * float(share @ share))
    return _chance(means, errors, p, q)


def _chance(means: list[Array], errors: list[Array], p: Array, q: Array) -> Array:
    """Return the chance of two means as unlike, given the squares of their errors."""
    n, m = effective_sample_size(p), effective_sample_size(q)
    apart = np.abs(means[1] - means[0])
    spread = (n**2 * errors[0] + m**2 * errors[1]) / (n + m)
    spread = spread + n * m / (n + m) ** 2 * apart**2
    error = np.sqrt(np.maximum(spread, 0.0) * (1 / n + 1 / m))
    z = np.divide(apart, error, out=np.zeros_like(error), where=error > 0)
    found: Array = 2 * norm.sf(z)
    return found
