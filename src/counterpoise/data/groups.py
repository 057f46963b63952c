"""Groups and dependent rows: detection and permutations of whole groups."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.stats import norm, rankdata
from scipy.stats import t as student

from counterpoise.data.samples import RowUnits, Samples
from counterpoise.data.table import CATEGORIES, TableColumn
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.messages import HINT, Finding

# -----------------------------------------------------------------------------
# How well scores tell two samples apart where rows belong together.
# -----------------------------------------------------------------------------


def auc_of_units(
    scores: Array,
    scores_target: Array,
    share: Array,
    share_target: Array,
    units: Indices,
    test_level: float,
    level: float,
) -> tuple[float, float, float, float]:
    r"""Return the AUC, the ends of its interval, and the chance of it.

    As in `domain_score`, with units in place of rows. The influence of a row on the
    AUC, :math:`q_j (V_j - A)`, is summed over the rows of its unit before it is squared
    (Obuchowski), and

    .. math:: e^2 = \sum_u \Bigl(\sqrt{\tfrac{G}{G - 1}} \sum_{i \in u} p_i (V_i - A)
        + \sqrt{\tfrac{H}{H - 1}} \sum_{j \in u} q_j (V_j - A)\Bigr)^2

    with G and H the numbers of units in source and target. The error for equal
    distributions is the same of :math:`r - 1/2`, r the rank of a row among both
    samples, instead of V - A. Quantiles are Student's, of min(G, H) - 1 degrees of
    freedom.

    Parameters
    ----------
    scores, scores_target : array of shape (n,), (m,)
    share, share_target : array of shape (n,), (m,)
        They sum to one.
    units : array of int of shape (n + m,)
        Numbers of the units of the source's rows, then of the target's.
    test_level : float
        Where the chance is not below it, the interval reaches down to one half.
    level : float
        Of the interval.

    References
    ----------
    N. Obuchowski, 1997.
    """
    n = scores.size
    above_source = share_below(scores_target, scores, share)
    above_target = share_below(scores, scores_target, share_target)
    auc = min(float(share_target @ above_source), 1.0)
    sizes = np.unique(units[:n]).size, np.unique(units[n:]).size
    error = _error(
        (1 - above_target - auc, above_source - auc), share, share_target, units, sizes
    )
    ranks = [
        (
            share_below(own, scores, share)
            + share_below(own, scores_target, share_target)
        )
        / 2
        for own in (scores, scores_target)
    ]
    by_chance = max(
        error,
        _error((0.5 - ranks[0], ranks[1] - 0.5), share, share_target, units, sizes),
    )
    df = max(min(sizes) - 1, 1)
    reach = float(student.ppf(0.5 + level / 2, df)) * error
    low, high = max(auc - reach, 0.0), min(auc + reach, 1.0)
    chance = float(student.sf((auc - 0.5) / (np.sqrt(2) * by_chance), df))
    if chance >= test_level:
        low = min(low, 0.5)
    return auc, low, high, chance


def share_below(values: Array, others: Array, share: Array) -> Array:
    """Return the share of the others below each value, ties counted half."""
    order = np.argsort(others)
    cumulative = np.concatenate([[0.0], np.cumsum(share[order])])
    below = cumulative[np.searchsorted(others, values, side="left", sorter=order)]
    up_to = cumulative[np.searchsorted(others, values, side="right", sorter=order)]
    return (below + up_to) / (2 * cumulative[-1])


def _error(
    influence: tuple[Array, Array],
    share: Array,
    share_target: Array,
    units: Indices,
    sizes: tuple[int, int],
) -> float:
    factors = [np.sqrt(size / max(size - 1, 1)) for size in sizes]
    parts = np.concatenate(
        [factors[0] * share * influence[0], factors[1] * share_target * influence[1]]
    )
    return float(np.sqrt((np.bincount(units, parts) ** 2).sum()))


# -----------------------------------------------------------------------------
# Samples as read, with what their rows belong to.
# -----------------------------------------------------------------------------


def with_units(
    samples: Samples,
    groups: ArrayLike | None = None,
    groups_target: ArrayLike | None = None,
    time: ArrayLike | None = None,
    time_target: ArrayLike | None = None,
) -> Samples:
    """Return samples with what their rows belong to, if it is said: groups or time."""
    by_group = groups is not None or groups_target is not None
    by_time = time is not None or time_target is not None
    if not (by_group or by_time):
        return samples
    if by_group and by_time:
        raise InvalidInputError(
            "rows have groups or a time, not both: give one of them"
        )
    sizes = samples.source_weight.size, samples.target_weight.size
    if by_group:
        units = RowUnits.of_groups(groups, groups_target, *sizes)
    else:
        if time is None:
            raise InvalidInputError("time_target was given, and no time of the source")
        units = RowUnits.of_time(time, time_target, samples.source, samples.target)
    found = replace(samples, units=units)
    # What was worked out of the rows holds still.
    for name in ("is_plain", "encoder", "_numbers"):
        if name in samples.__dict__:
            found.__dict__[name] = samples.__dict__[name]
    return found


# -----------------------------------------------------------------------------
# Whether rows look as if they belonged together though nothing was said of it.
# -----------------------------------------------------------------------------


# Rank correlation of neighbors from which on they are alike, if it is no chance at
# this level; and rows of a sample that are looked at, the first, and needed.
ALIKE, ALIKE_LEVEL, ROWS_SEEN, FEWEST_ROWS = 0.3, 0.001, 5_000, 50
# Different values, times that each is there on the average, and the share of the
# target rows with a value that the source has, below which values are names of groups.
FEWEST_VALUES, REPEATS, SHARED = 10, 3.0, 0.1


def dependence_question(samples: Samples, names: list[str]) -> Finding | None:
    r"""Return a hint where rows look dependent; else None.

    Neighbors are alike: in one of the samples, of at least 50 rows, the rank
    correlation r of a column's successive values, in the order in which the rows came,
    is at least 0.3 and :math:`r \sqrt n` above the normal quantile of
    :math:`1 - 0.001 / (2 d)` for d columns, by the first 5,000 rows. Columns in
    ascending or descending order are left out: a table may be sorted.

    Or a column has many repeats, as names or properties of groups have: 10 different
    values or more in each sample, each 3 times or more on the average, and less than
    10 % of the target rows have a value that the source has. Were rows drawn one by
    one, values that are so often repeated within a sample would be met in both.

    Rows drawn one by one are asked about once in a thousand times by the first rule.

    Parameters
    ----------
    samples : SamplesAsRead
        Of sparse matrices nothing is asked.
    names : list of str
        Of the columns of the matrices.
    """
    if samples.is_sparse:
        return None
    say = Finding("say_dependence", HINT)
    for sample, rows in (("source", samples.source), ("target", samples.target)):
        r, column = alike_neighbors(rows[:ROWS_SEEN])
        if column >= 0:
            values = {
                "sample": Finding(f"{sample}_sample"),
                "correlation": r,
                "column": names[column],
            }
            return Finding("dependent_neighbors", HINT, {**values, "say": say})
    if samples.tables is not None:
        for x, t in zip(*(table.columns for table in samples.tables), strict=True):
            if names_groups(_values(x), _values(t)):
                values = {"column": x.name, "say": say}
                return Finding("dependent_groups", HINT, values)
    return None


def alike_neighbors(X: Array) -> tuple[float, int]:
    """Return the largest rank correlation of neighbors, and its column; -1 for none.

    Examples
    --------
    >>> steps = np.random.default_rng(0).normal(size=(200, 2))
    >>> alike_neighbors(steps.cumsum(axis=0))[1] >= 0, alike_neighbors(steps)[1]
    (True, -1)
    """
    n, d = X.shape
    if n < FEWEST_ROWS:
        return 0.0, -1
    least = max(ALIKE, float(norm.isf(ALIKE_LEVEL / (2 * d))) / np.sqrt(n))
    best, at = 0.0, -1
    for j in range(d):
        steps = np.diff(X[:, j])
        if (steps >= 0).all() or (steps <= 0).all():
            continue
        ranks = rankdata(X[:, j])
        ranks -= ranks.mean()
        r = float(ranks[1:] @ ranks[:-1] / (ranks @ ranks))
        if r >= least and r > best:
            best, at = r, j
    return best, at


def names_groups(values: NDArray[Any], target: NDArray[Any]) -> bool:
    """Return whether values repeat within the samples and hardly meet in both.

    Examples
    --------
    >>> names_groups(np.repeat(np.arange(20), 5), np.repeat(np.arange(20, 40), 5))
    True
    """
    for one in (values, target):
        count = np.unique(one).size
        if count < FEWEST_VALUES or one.size < REPEATS * count:
            return False
    return bool(np.isin(target, values).mean() < SHARED)


def _values(column: TableColumn) -> NDArray[Any]:
    there = column.values[~column.missing]
    if column.kind != CATEGORIES:
        return there
    return np.array(column.categories, dtype=object)[there].astype(str)


# -----------------------------------------------------------------------------
# RowUnits of rows divided by chance, and what differs as much in such divisions.
# -----------------------------------------------------------------------------


# Divisions of units by chance, the smallest p-value of which is 0.001.
N_DIVISIONS = 999
# What rounding may make of equal numbers.
_ROUNDING = 1e-10
# Numbers of a block of products at once.
_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class Divisions:
    """Source and target as they are, and divided anew by chance, units whole.

    A unit with rows in one sample keeps them together; of the units that have rows in
    one alone as many go to either sample as there were. A unit with rows in both
    samples has two parts, which change places or do not.

    Attributes
    ----------
    part : array of int of shape (N,)
        For every row of the source, then of the target, its part of a unit.
    mass : array of shape (N,)
        What every row counts.
    is_target : array of shape (1 + B, C)
        Which parts are the target's, one or zero; the first row as they are.
    """

    part: Indices
    mass: Array
    is_target: Array

    @classmethod
    def of(
        cls,
        units: Indices,
        n: int,
        mass: Array,
        seed: int,
        count: int = N_DIVISIONS,
    ) -> "Divisions":
        """Return so many divisions by chance, after the one that is.

        `units`: numbers from zero, of the n rows of the source and then of the target.
        """
        side = np.repeat([0, 1], [n, units.size - n])
        pairs, part = np.unique(2 * units + side, return_inverse=True)
        unit, own = pairs // 2, pairs % 2
        in_both = np.bincount(unit, minlength=unit.max() + 1)[unit] == 2
        rng = np.random.default_rng(seed)
        is_target = np.tile(own.astype(np.float64), (count + 1, 1))
        alone, doubled = np.flatnonzero(~in_both), np.flatnonzero(in_both)
        for k in range(1, count + 1):
            is_target[k, alone] = own[alone][rng.permutation(alone.size)]
            turned = np.repeat(rng.integers(0, 2, doubled.size // 2), 2)
            is_target[k, doubled] = own[doubled] ^ turned
        return cls(part, mass, is_target)

    def differences(self, values: Array) -> Array:
        """Return target means minus source means of columns, in every division.

        Parameters
        ----------
        values : array of shape (N, k)
            Of the rows.

        Returns
        -------
        array of shape (1 + B, k)
        """
        return self._apart(np.asarray(self._parts @ values))

    def shares_apart(self, cells: Indices, n_cells: int) -> Array:
        """Return target minus source shares of cells, in every division."""
        C = self.is_target.shape[1]
        sums = np.bincount(self.part * n_cells + cells, self.mass, C * n_cells).reshape(
            C, n_cells
        )
        return self._apart(sums.astype(np.float64))

    def squares(self, kernel: Array) -> Array:
        """Return a'Ka of every division, a the shares of target minus source rows.

        `kernel`: of the parts, summed over their rows times what these count.
        """
        mass = self._masses
        target = self.is_target @ mass
        a = (
            self.is_target / target[:, None]
            - (1 - self.is_target) / (mass.sum() - target)[:, None]
        )
        found: Array = np.einsum("ij,ij->i", a @ kernel, a)
        return found

    def summed(self, matrix: Array) -> Array:
        """Return a matrix of rows by rows summed over parts, times what rows count."""
        half = np.asarray(self._parts @ matrix)
        return np.asarray(self._parts @ half.T)

    @property
    def _parts(self) -> sparse.csr_array:
        """What every row counts, a row a part."""
        N, C = self.part.size, self.is_target.shape[1]
        places = self.part, np.arange(N)
        return sparse.csr_array((self.mass, places), shape=(C, N))

    @property
    def _masses(self) -> Array:
        C = self.is_target.shape[1]
        return np.bincount(self.part, self.mass, C).astype(np.float64)

    def _apart(self, sums: Array) -> Array:
        mass = self._masses
        target = self.is_target @ mass
        source = mass.sum() - target
        whole = sums.sum(axis=0)
        found = np.empty((self.is_target.shape[0], sums.shape[1]))
        step = max(1, _AT_ONCE // max(self.is_target.shape[0], 1))
        for first in range(0, sums.shape[1], step):
            block = slice(first, first + step)
            part = self.is_target @ sums[:, block]
            found[:, block] = part / target[:, None]
            found[:, block] -= (whole[block] - part) / source[:, None]
        return found


class PermutationPValues(NamedTuple):
    """P-values of statistics: each by itself, and corrected for all of them."""

    alone: Array
    corrected: Array


def by_chance(statistics: Array) -> PermutationPValues:
    r"""Return the chance of statistics as large as those of the division that is.

    With :math:`T_k^{(b)}` the k-th statistic of the b-th of 1 + B divisions, b = 0 the
    one that is, its p-value is the share of divisions with
    :math:`T_k^{(b)} \ge T_k^{(0)}`. Corrected for all of them it is the share with
    :math:`\max_l z_l^{(b)} \ge z_k^{(0)}`, z the statistics minus their means over the
    standard deviations in all divisions (Westfall and Young): that allows for however
    the statistics go together, and holds exactly if units are exchangeable.

    Parameters
    ----------
    statistics : array of shape (1 + B, K)

    References
    ----------
    P. Westfall and S. Young, 1993.

    Examples
    --------
    >>> found = by_chance(np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0], [0.0, 4.0]]))
    >>> found.alone, found.corrected
    (array([0.25, 1.  ]), array([0.5, 1. ]))
    """
    spread = statistics.std(axis=0)
    varies = spread > _ROUNDING * np.maximum(np.abs(statistics).max(axis=0), 1e-300)
    z = np.zeros_like(statistics)
    centered = statistics[:, varies] - statistics[:, varies].mean(axis=0)
    z[:, varies] = centered / spread[varies]
    alone = (z >= z[0] - _ROUNDING).mean(axis=0)
    corrected = (z.max(axis=1)[:, None] >= z[0] - _ROUNDING).mean(axis=0)
    return PermutationPValues(alone, corrected)


class Divided(NamedTuple):
    """Rows of both samples in their canonical order, and their divisions."""

    rows: Indices
    aims: Indices
    divisions: Divisions


def divided(
    samples: Samples,
    rows: Indices,
    aims: Indices,
    seed: int,
    count: int = N_DIVISIONS,
) -> Divided:
    """Return some rows of samples with units, in canonical order, and divisions.

    They depend on what rows hold and which belong together, not on how they came.
    """
    assert samples.units is not None
    chosen = []
    for order, some in zip(samples.order, (rows, aims), strict=True):
        wanted = np.zeros(order.max() + 1, dtype=bool)
        wanted[some] = True
        chosen.append(order[wanted[order]])
    mass = np.concatenate(
        [
            weight[some] / weight[some].mean()
            for weight, some in zip(
                (samples.source_weight, samples.target_weight), chosen, strict=True
            )
        ]
    )
    units = samples.units.in_turn(chosen[0], chosen[1])
    found = Divisions.of(units, chosen[0].size, mass, seed, count)
    return Divided(chosen[0], chosen[1], found)
