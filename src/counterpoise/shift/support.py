"""Overlap: target rows outside the source support, and the verdict on it."""

from dataclasses import dataclass, field, replace
from itertools import combinations, count

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.special import betaln
from scipy.stats import binom, norm
from sklearn.neighbors import NearestNeighbors

from counterpoise.data.columns import weighted_quantile
from counterpoise.data.groups import by_chance, divided
from counterpoise.data.parameters import as_seed
from counterpoise.data.samples import RowUnits, Samples
from counterpoise.data.two_samples import TwoSamples, effective_sample_size
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.shift.columns import (
    spread_rounded_columns,
)
from counterpoise.shift.domain_classifier import DomainScore, score_domains
from counterpoise.shift.two_sample_tests import (
    MOST_COLUMNS,
    TEST_LEVEL,
    CutColumn,
    blocks_of,
    cell_tests,
)

# -----------------------------------------------------------------------------
# Which share of thinly covered rows chance explains, and how many rows tell more.
# -----------------------------------------------------------------------------


# A target row is thinly covered where only the outermost 0.5 % of the source rows are.
UNCOVERED_QUANTILE = 0.995
# Above this share of the target the samples overlap in part.
UNCOVERED_ABOVE = 0.05


def as_share(parts: Array) -> float:
    """Return the sum of shares of rows, between zero and one whatever the rounding.

    Examples
    --------
    >>> as_share(np.full(3, 1 / 3 + 1e-9)), as_share(np.array([]))
    (1.0, 0.0)
    """
    return float(np.clip(parts.sum(), 0.0, 1.0))


def uncovered_by_chance(n: float, m: float) -> float:
    """Return a bound of `uncovered_fraction` if n and m rows have one distribution.

    Above the threshold lie k of n source rows, k at most 0.5 %, so about (k + 1) / n of
    either distribution; the limit is three standard errors above that, one from each
    sample.

    Examples
    --------
    >>> round(uncovered_by_chance(1000, 1000), 3), round(uncovered_by_chance(20, 20), 3)
    (0.016, 0.25)
    """
    outermost = np.floor((1 - UNCOVERED_QUANTILE) * n + 1e-9) + 1
    expected = outermost / (n + 1)
    error = np.sqrt(outermost / (n + 1) ** 2 + expected * (1 - expected) / m)
    return float(expected + 3 * error)


def rows_that_tell() -> int:
    """Return how many rows of each sample tell a thin share from chance.

    The smallest n for which chance (`uncovered_by_chance`) explains no more than the 5
    % of thinly covered rows from which on the samples overlap in part.

    Examples
    --------
    >>> rows_that_tell()
    104
    """
    return next(n for n in count(2) if uncovered_by_chance(n, n) <= UNCOVERED_ABOVE)


# -----------------------------------------------------------------------------
# Target rows in holes: among source rows, yet with none near.
# -----------------------------------------------------------------------------


# Rows of each sample whose neighbors in all columns are looked at, how many of them,
# and how many divisions by chance.
_ROWS, _NEIGHBORS, _DIVISIONS = 1_000, 12, 499
# Chance that any empty ball of a set of columns is one by chance.
_BY_CHANCE = 0.05
# How far from a ball's center, in radii, the mean of the source rows around it may be.
_ON_ALL_SIDES = 0.5
# Sets of columns whose empty balls are looked for; those with the smallest p-values.
_SETS = 12
# Balls so much wider reach the next ball of a hole; and so much wider all of its rows,
# those of its rim too, and some beside it.
_TO_THE_NEXT, RIM = 1.35, 1.6
# How far apart levels of a category are, where the ranks of a number have room of one;
# in all columns together, where they should be near as numbers are.
_APART, _APART_AMONG_ALL = 10.0, 0.5


@dataclass(frozen=True, eq=False)
class EmptyRegions:
    """Balls around target rows in some columns, in which no source row lies.

    Attributes
    ----------
    blocks : list of CutColumn
        How the columns are read.
    centers, reach : array of shape (k, c), (k,)
        Middle and radius of the balls.
    """

    blocks: list[CutColumn] = field(repr=False)
    centers: Array = field(repr=False)
    reach: Array = field(repr=False)

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns of the matrix."""
        return tuple(int(j) for one in self.blocks for j in one.columns)

    def hold(self, X: Array, wider: float = 1.0) -> NDArray[np.bool_]:
        """Return which rows of a matrix lie in a ball, made wider by a factor."""
        result = np.zeros(X.shape[0], dtype=bool)
        if X.shape[0] and self.reach.size:
            reach = wider * self.reach
            near = self._tree(X).query_ball_point(self.centers, reach)
            result[np.concatenate(near).astype(np.intp)] = True
        return result

    def without(self, X: Array) -> "EmptyRegions":
        """Return the balls in which no row of a matrix lies."""
        empty = _rows_within(self._tree(X), self.centers, self.reach) == 0
        return EmptyRegions(self.blocks, self.centers[empty], self.reach[empty])

    def _tree(self, X: Array) -> cKDTree:
        return cKDTree(_places(self.blocks, [one.at(X) for one in self.blocks]))


@dataclass(frozen=True, eq=False)
class CoverageGaps:
    """Where the target has rows and the source, though there, has none.

    Attributes
    ----------
    p_value : float
        Chance that two samples drawn alike fill the cells of columns and pairs, or the
        neighborhoods of rows, as unlike as these; corrected for all of them.
    most_unlike : tuple of int
        The columns of the matrix that `p_value` speaks of: one column or two (of a
        category several), or all.
    balls : tuple of EmptyBalls
        Where no source row lies, a set of columns each.
    """

    p_value: float
    most_unlike: tuple[int, ...] = ()
    balls: tuple[EmptyRegions, ...] = field(default=(), repr=False)

    @property
    def tells(self) -> bool:
        """Whether the samples differ, by this test's part of the level."""
        return self.p_value <= TEST_LEVEL

    def without(self, X: Array) -> "CoverageGaps":
        """Return the holes in which no row of a matrix lies."""
        balls = tuple(one.without(X) for one in self.balls)
        return replace(self, balls=tuple(one for one in balls if one.reach.size))

    def hold(self, X: Array, wider: float = 1.0) -> NDArray[np.bool_]:
        """Return which rows of a matrix lie in a hole, made wider by a factor."""
        result = np.zeros(X.shape[0], dtype=bool)
        for one in self.balls:
            result |= one.hold(X, wider)
        return result


def find_coverage_gaps(samples: TwoSamples, seed: int) -> CoverageGaps:
    r"""Return which target rows lie in holes of the source, and the chance of it.

    Three families, each of which has a third of the level: every column cut into
    cells, every pair of the first 40 columns cut into cells (`cell_tests`, corrected
    for their number by kind), and neighborhoods in all columns: the share of
    the target rows whose 12 nearest rows are target rows, by 499 divisions of the rows
    by chance (of at most 1,000 rows a sample; not with more than 40 columns, nor where
    rows have unequal weights, which make divisions unequal). A category counts as one
    column. So

    .. math:: p = \min(1, 3 \min(k_{\text{column}}\, p_{\text{column}},
        k_{\text{pair}}\, p_{\text{pair}}, p_{\text{all}}))

    with k the number that a test is one `among`.

    Where p is at most 0.01, rows are looked for in the columns and pairs whose own
    corrected p-value for an emptier source is, and in all columns if theirs is: a
    target row is in a hole if it lies in a ball around a target row (in more than two
    columns: in its inner half) that reaches to the nearest source row, and the c target
    rows in it are no chance:

    .. math:: \log\max\Bigl(\Bigl(\frac{m}{n + m}\Bigr)^c,
        \frac{B(a + c, b)}{B(a, b)}\Bigr) \le \log\frac{0.05}{M}, \quad
        a = t + \frac{2 m}{n + m}, \; b = s + \frac{2 n}{n + m}

    with t and s the rows of either sample that the ball of twice the radius holds
    beside (the second term, what they make probable, where s is not zero), and M the
    number of different places of target rows in all sets searched. One ball at least
    must have source rows on all sides, those of the doubled ball having their mean
    within half a radius of its center (or none of them, as in a cell of categories);
    others count whose center lies in it, or at the rim of one that counts. So where the
    source grows thin by and by, towards its edge, a ball without a row is no hole: that
    is for a classifier to see.
    Where a column holds numbers, rows of a sample that are there several times count
    once: copies are no evidence. Nor is it one that a sample records fewer digits
    (`spread_rounded_columns`). Numbers are compared by their ranks, and in columns
    and pairs levels of a category are too far apart to share a ball. Around rows found
    in one set of columns no ball is looked for in another.

    Parameters
    ----------
    samples : TwoSamples
        In canonical order. Of sparse matrices nothing is told.
    seed : int
        Of the divisions.
    """
    if sparse.issparse(samples.source) or sparse.issparse(samples.target):
        return CoverageGaps(1.0)
    blocks = blocks_of(np.vstack([samples.source, samples.target]))
    if not blocks:
        return CoverageGaps(1.0)
    if any(block.is_number for block in blocks):
        as_they_came, samples = (
            samples,
            spread_rounded_columns(_without_copies(samples)),
        )
        if samples is not as_they_came:
            blocks = blocks_of(np.vstack([samples.source, samples.target]))
    shares = samples.source_share, samples.target_share
    few, n = blocks[:MOST_COLUMNS], samples.source.shape[0]
    families = [family for family in cell_tests(few, n, *shares) if family]
    among_all = _among_all(blocks, samples, seed)
    n_families = len(families) + (among_all is not None)
    unlike: list[tuple[float, tuple[int, ...]]] = []
    suspects: list[tuple[float, tuple[int, ...]]] = []
    for one in (test for family in families for test in family):
        unlike.append((n_families * one.among * one.p_value, one.blocks))
        suspects.append((n_families * one.among * one.p_depleted, one.blocks))
    if among_all is not None:
        every = tuple(range(len(blocks)))
        unlike.append((n_families * among_all, every))
        suspects.append((n_families * among_all, every))
    p_value, most = min(unlike, key=lambda one: one[0])
    balls = []
    if p_value <= TEST_LEVEL:
        # In two columns the pair is all of them.
        emptier = dict.fromkeys(one for p, one in sorted(suspects) if p <= TEST_LEVEL)
        result = np.zeros(shares[1].size, dtype=bool)
        for chosen in list(emptier)[:_SETS]:
            ball = _empty_balls(
                [blocks[k] for k in chosen], *shares, result, min(len(emptier), _SETS)
            )
            if ball.reach.size:
                balls.append(ball)
                result = result | ball.hold(samples.target)
    return CoverageGaps(
        min(1.0, p_value),
        tuple(int(j) for k in most for j in blocks[k].columns),
        tuple(balls),
    )


def _without_copies(samples: TwoSamples) -> TwoSamples:
    """Return the different rows of each sample, in their order; itself if all are."""
    kept = [
        np.sort(np.unique(rows, axis=0, return_index=True)[1])
        for rows in (samples.source, samples.target)
    ]
    sizes = samples.source.shape[0], samples.target.shape[0]
    if all(one.size == size for one, size in zip(kept, sizes, strict=True)):
        return samples
    return TwoSamples.of(samples.source[kept[0]], samples.target[kept[1]])


def is_hole(
    inside: Array, around: Array, source_around: Array, part: float, n_places: int
) -> NDArray[np.bool_]:
    """Return which balls without a source row are no chance.

    Parameters
    ----------
    inside : array of shape (k,)
        How many target rows a ball holds.
    around, source_around : array of shape (k,)
        How many target and source rows the ball of twice its radius holds beside.
    part : float
        The target's part of all rows.
    n_places : int
        At how many places of target rows the balls were looked for, in all sets of
        columns together.

    Examples
    --------
    >>> balls, around = np.array([14, 15, 40, 40]), np.array([0, 0, 30, 30])
    >>> is_hole(balls, around, np.array([0, 0, 30, 10]), part=0.5, n_places=1000)
    array([False,  True,  True, False])
    """
    a, b = around + 2 * part, source_around + 2 * (1 - part)
    by_rows_around = betaln(a + inside, b) - betaln(a, b)
    by_all = inside * np.log(part)
    # Around a cell of categories there is nothing.
    chance = np.where(source_around > 0, np.maximum(by_rows_around, by_all), by_all)
    result: NDArray[np.bool_] = chance <= np.log(_BY_CHANCE / n_places)
    return result


def _among_all(blocks: list[CutColumn], samples: TwoSamples, seed: int) -> float | None:
    """Return the chance of so many neighborhoods without a source row."""
    n, m = samples.source.shape[0], samples.target.shape[0]
    shares = samples.source_share, samples.target_share
    uneven = any(one.max() > one.min() * (1 + 1e-9) for one in shares)
    if uneven or not 1 < len(blocks) <= MOST_COLUMNS:
        return None
    rng = np.random.default_rng(seed)
    rows, target_rows = (
        np.sort(rng.permutation(size)[:_ROWS]) if size > _ROWS else np.arange(size)
        for size in (n, m)
    )
    # Ties among neighbors must not go by the sample: the rows are shuffled first.
    shuffled = rng.permutation(np.concatenate([rows, n + target_rows]))
    place = _places(blocks, [one.place for one in blocks])[shuffled]
    N = place.shape[0]
    if N <= _NEIGHBORS + 1:
        return None
    near = NearestNeighbors(n_neighbors=_NEIGHBORS + 1, algorithm="brute").fit(place)
    neighbors = near.kneighbors(place, return_distance=False)
    starts = np.arange(0, neighbors.size + 1, _NEIGHBORS + 1)
    ones = np.ones(neighbors.size, dtype=np.float32)
    graph = sparse.csr_array((ones, neighbors.ravel(), starts), shape=(N, N))
    is_target = np.zeros((N, _DIVISIONS + 1), dtype=np.float32)
    is_target[:, 0] = shuffled >= n
    for k in range(1, _DIVISIONS + 1):
        is_target[rng.permutation(N)[: target_rows.size], k] = 1.0
    empty = (graph @ is_target > _NEIGHBORS + 0.5).sum(axis=0)
    as_many = int(np.count_nonzero(empty >= empty[0])) if empty[0] else _DIVISIONS + 1
    return as_many / (_DIVISIONS + 1)


def _empty_balls(
    blocks: list[CutColumn],
    share: Array,
    target_share: Array,
    in_ball: NDArray[np.bool_],
    n_sets: int,
) -> EmptyRegions:
    """Return balls of enough target rows and no source row, around rows not found."""
    place = _places(blocks, [one.place for one in blocks])
    source, target = place[: share.size], place[share.size :]
    # Levels that the source does not have are as far as any.
    reach = np.minimum(cKDTree(source).query(target)[0], _APART) * (1 - 1e-9)
    trees = cKDTree(target), cKDTree(source)
    sizes = [1 / float(one @ one) for one in (share, target_share)]
    part = sizes[1] / sum(sizes)
    n_places = n_sets * np.unique(target, axis=0).shape[0]
    inside = _rows_within(trees[0], target, reach)
    nobody = np.zeros(target.shape[0])
    # A ball of no width holds source rows as well.
    enough = is_hole(inside, nobody, nobody, part, n_places) & (reach > 0) & ~in_ball
    at, reach, inside = target[enough], reach[enough], inside[enough]
    around = _rows_within(trees[0], at, 2 * reach) - inside
    source_around = _rows_within(trees[1], at, 2 * reach)
    enough = is_hole(inside, around, source_around, part, n_places)
    at, reach = at[enough], reach[enough]
    balls = zip(trees[1].query_ball_point(at, 2 * reach), at, reach, strict=True)
    surrounded = [is_surrounded(source[rows], *ball) for rows, *ball in balls]
    kept = _reached_from(np.array(surrounded, dtype=bool), at, reach)
    grown = reach if len(blocks) <= 2 else reach / 2
    return EmptyRegions(blocks, at[kept], grown[kept])


def is_surrounded(rows: Array, center: Array, reach: float) -> bool:
    """Return whether source rows lie on all sides of a ball, or on none.

    Examples
    --------
    >>> sides = np.array([[-1.0], [1.2]])
    >>> [is_surrounded(rows, np.zeros(1), reach=1.0) for rows in (sides, sides[1:])]
    [True, False]
    """
    if rows.shape[0] == 0:
        return True
    away = float(np.linalg.norm(rows.mean(axis=0) - center))
    return away <= _ON_ALL_SIDES * reach


def _reached_from(
    chosen: NDArray[np.bool_], at: Array, reach: Array
) -> NDArray[np.bool_]:
    """Return the balls chosen, and those that are reached from one to the next."""
    reached = chosen.copy()
    if not chosen.any():
        return reached
    tree, open_balls = cKDTree(at), np.flatnonzero(chosen)
    while open_balls.size:
        near = tree.query_ball_point(at[open_balls], _TO_THE_NEXT * reach[open_balls])
        result = np.unique(np.concatenate(near)).astype(np.intp)
        open_balls = result[~reached[result]]
        reached[result] = True
    return reached


def _rows_within(tree: cKDTree, at: Array, radius: Array) -> Array:
    result: Array = tree.query_ball_point(at, radius, return_length=True)
    return result


def _places(blocks: list[CutColumn], places: list[Array]) -> Array:
    """Return rows by the ranks of their numbers and the levels of their categories.

    In one column or two, levels are too far apart for a ball to hold several.
    """
    result = []
    for one, place in zip(blocks, places, strict=True):
        if one.is_number or len(blocks) <= 2:
            result.append((1.0 if one.is_number else 4 * _APART) * place[:, None])
        else:
            hot = place[:, None] == np.arange(one.n_levels)
            result.append(_APART_AMONG_ALL * hot)
    return np.hstack(result)


# -----------------------------------------------------------------------------
# How unlike two samples fill cells, by units that are divided by chance.
# -----------------------------------------------------------------------------


# Columns of which pairs are looked at, the first; and the finest cuts of a column by
# itself and in a pair: units are few, however many rows they have.
PAIRED, ALONE_CUT, PAIR_CUT = 20, 8, 4


def cells_by_units(
    samples: Samples, rows: Indices, target_rows: Indices, seed: int
) -> CoverageGaps:
    r"""Return how unlike samples with units fill the cells of columns and pairs.

    Of each column, cut into 8 cells of equal ranks, and of each pair of the first 20,
    cut into 4 by 4 (a category: by its levels), the statistic is

    .. math:: T^3 = \sum_c \frac{(t_c - s_c)^2}{t_c + s_c}

    with t and s the shares of the target and the source in a cell, and the p-value that
    of divisions of the units by chance, corrected for all of them (`by_chance`). Which
    rows lie in holes is not told: rows of a group are no evidence of their own.

    Parameters
    ----------
    samples : SamplesAsRead
        With units. Of sparse matrices nothing is told.
    rows, target_rows : array of int
        Rows of source and target that are looked at.
    seed : int
        Of the divisions.
    """
    if samples.is_sparse:
        return CoverageGaps(1.0)
    result = divided(samples, rows, target_rows, seed)
    blocks = blocks_of(
        np.vstack([samples.source[result.rows], samples.target[result.aims]])
    )
    if not blocks:
        return CoverageGaps(1.0)
    columns = [one.cells(ALONE_CUT) for one in blocks]
    sets: list[tuple[int, ...]] = [(k,) for k in range(len(blocks))]
    few = [one.cells(PAIR_CUT) for one in blocks[:PAIRED]]
    for a, b in combinations(range(len(few)), 2):
        sets.append((a, b))
        columns.append(few[a] * (int(few[b].max()) + 1) + few[b])
    statistics, mass = [], result.divisions.mass / result.divisions.mass.sum()
    for cells in columns:
        names, cells = np.unique(cells, return_inverse=True)
        apart = result.divisions.shares_apart(cells, names.size)
        whole = np.bincount(cells, mass, names.size)
        statistics.append(np.cbrt((apart**2 / whole).sum(axis=1)))
    chance = by_chance(np.column_stack(statistics)).corrected
    least = int(np.argmin(chance))
    most = tuple(int(j) for k in sets[least] for j in blocks[k].columns)
    return CoverageGaps(float(chance[least]), most)


# -----------------------------------------------------------------------------
# Whether the target lies where the source has rows: one rule for the library.
# -----------------------------------------------------------------------------


# Shares of the target: above the first the samples do not overlap; a ratio is made
# relative, and the user told, from the second.
NO_OVERLAP_ABOVE, RELATIVE_FROM = 0.5, 0.02
# The level of `uncovered_fraction`'s interval, and how much more it varies than its
# threshold does.
UNCOVERED_LEVEL, _SCORES_VARY = 0.95, 1.5
# A shift that a classifier sees less well than this is small.
SMALL_AUC = 0.6
# With fewer rows of worth in a sample nothing is told but that the samples are apart.
ROWS_OF_WORTH_TO_TELL = 30

NO_SHIFT = "no shift detected"
SMALL_SHIFT = "small shift"
COVERED = "shift, full overlap"
PARTIAL_OVERLAP = "shift, partial overlap"
NO_OVERLAP = "no overlap"
TOO_FEW = "too few rows"

_VERDICT_MEANING = {
    NO_SHIFT: "target rows cannot be told from source rows",
    SMALL_SHIFT: "the two samples differ little",
    COVERED: "the target lies where the source has rows",
    PARTIAL_OVERLAP: "weights and estimates speak for the covered part of the target",
    NO_OVERLAP: "no weights make the source stand for the target",
    TOO_FEW: "chance alone could make these numbers with or without a shift",
}


@dataclass(frozen=True, eq=False)
class Overlap(DomainScore):
    """Which part of the target the source covers, with the `DomainScore` behind it.

    Attributes
    ----------
    thin : float
        Share of the target whose domain score exceeds `threshold`, so that it lives
        where only the outermost 0.5 % of the source rows are, or that lies in a hole
        (`holes`), among source rows but with none near. Under no shift 0.005.
    uncovered_fraction_low, uncovered_fraction_high : float
        Its interval of level 0.95 (`uncovered_interval`).
    verdict : str
        "no shift detected", "small shift", "shift, full overlap", "shift, partial
        overlap", "no overlap" or "too few rows".
    threshold : float
        The 99.5 % quantile of the source scores.
    in_hole, near_hole : array of bool of shape (l,)
        Which of the target rows scored lie in a hole; in one or at its rim, up to 1.6
        times as far from its middle.
    holes : Holes
        Where the source has none, with the chance of that.
    units : tuple of float or None
        Effective numbers of groups, or of blocks of time, in source and target; None
        where every row stands for itself.
    enough : bool
        Whether there are so many units that a test of divisions can tell.
    """

    uncovered_fraction: float
    uncovered_fraction_low: float
    uncovered_fraction_high: float
    verdict: str
    threshold: float
    in_hole: NDArray[np.bool_] = field(repr=False)
    near_hole: NDArray[np.bool_] = field(repr=False)
    holes: CoverageGaps = field(repr=False)
    units: tuple[float, float] | None = None
    enough: bool = True

    @property
    def is_outside_support(self) -> NDArray[np.bool_]:
        """Which of the target rows scored are thinly covered."""
        return (self.scores_target > self.threshold) | self.in_hole

    @property
    def uncovered_rows(self) -> NDArray[np.intp]:
        """Target rows that are thinly covered, among those scored."""
        return self.rows_target[self.is_outside_support]

    def __str__(self) -> str:
        inside = f", {self.in_hole.mean():.1%} in holes" if self.holes.balls else ""
        return (
            f"{self.verdict}: {_VERDICT_MEANING[self.verdict]}.\n"
            f"{self.uncovered_fraction:.1%} of the target rows "
            f"({self.uncovered_fraction_low:.1%} to "
            f"{self.uncovered_fraction_high:.1%}) lie where only the outermost 0.5 % "
            f"of the source "
            f"rows are{inside}; AUC of source against target {self.auc:.3f} "
            f"({self.auc_low:.3f} to {self.auc_high:.3f})."
        )


def overlap(
    X: ArrayLike,
    X_target: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Overlap:
    """Return the share of the target that the source hardly covers, with a verdict.

    .. math::

        \\text{thin} = \\text{share of target rows with } s(t_j) > Q_{0.995}(s(x_i))
        \\text{ or in a hole}, \\quad s(x) = P(\\text{target} \\mid x)

    with the scores of `domain_score`. It measures thin coverage, not an empty region:
    N(0, 1) against N(2, 1) has 0.28 although no region is empty. Holes lie among the
    source rows, where no classifier need see them: balls in a column, a pair of columns
    or all of them that hold target rows and no source row, more than chance makes, with
    a p-value for all of them (`holes`).

    ==================== =========================================================
    verdict              when
    ==================== =========================================================
    no shift detected       no test tells the samples apart at a level of 0.01, and
                         `uncovered_fraction` is not beyond what chance does
    small shift          `uncovered_fraction` <= 0.05 and AUC < 0.6
    shift, full overlap       `uncovered_fraction` <= 0.05
    shift, partial overlap  the lower end of `uncovered_fraction`'s interval <= 0.5
    no overlap           that end > 0.5: the shares of two draws of one pair differ,
                         and a refusal should not depend on the draw
    too few rows a sample has less than 30 rows of worth (its effective size),
                         and not both the lower end of `uncovered_fraction`'s interval
                         is above 0.5 and `uncovered_fraction` beyond chance;
                         `rows_that_tell` would do
    ==================== =========================================================

    The tests here: the AUC (its interval is beyond one half) and the holes. `diagnose`
    has three more, each of level 0.01, so that all five raise a false alarm with a
    chance of 0.05 at most, and says which of them speaks.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n, d)
        The source rows. A table with categories, dates or missing values is read by
        `TableEncoder`.
    X_target : the same of shape (m, d), or a tuple of such
        The target rows.
    sample_weight, target_weight : array of shape (n,), (m,)
        What the rows count in every mean; only their ratios within a sample matter.
    random_state : int, RandomState or None
        Where the folds come from, and the 5,000 rows of a sample that has more; None:
        from what the rows hold, so that the same rows get the same answer.

    Returns
    -------
    Overlap

    Notes
    -----
    Overlap is a property of target rows. The effective size of weights does not tell:
    disjoint samples can show n of n.

    Examples
    --------
    >>> from counterpoise.datasets import make_uncovered_cluster
    >>> shift = make_uncovered_cluster(q=0.3, n=500, m=500, shift=0, random_state=0)
    >>> found = overlap(shift.X, shift.X_target, random_state=0)
    >>> found.verdict, bool(0.25 < found.uncovered_fraction < 0.35)
    ('shift, partial overlap', True)
    """
    samples = Samples.read(X, X_target, sample_weight, target_weight, form="encoded")
    return overlap_between(samples, as_seed(samples.seed(random_state)))


def overlap_between(samples: Samples, seed: int) -> Overlap:
    """Return what `overlap` does, of samples as read; worked out once a seed."""
    key = overlap_between, seed
    if key not in samples.found:
        score = score_domains(samples, seed)
        rows = samples.source[score.rows], samples.target[score.rows_target]
        if samples.units is None:
            scored = TwoSamples.of(*rows, score.share, score.share_target)
            holes = find_coverage_gaps(scored.ordered(), seed)
        else:
            holes = cells_by_units(samples, score.rows, score.rows_target, seed)
        inside, near = (holes.hold(rows[1], wider) for wider in (1.0, RIM))
        samples.found[key] = overlap_of(score, holes, inside, near, samples.units)
    result: Overlap = samples.found[key]
    return result


def known_uncovered_fraction(samples: Samples) -> float | None:
    """Return the thin share that was worked out of these samples, None if none was.

    Who speaks of them says the same number.
    """
    known = (v for k, v in samples.found.items() if k[0] is overlap_between)
    seen: Overlap | None = next(known, None)
    return None if seen is None else seen.uncovered_fraction


def overlap_of(
    score: DomainScore,
    holes: CoverageGaps,
    in_hole: NDArray[np.bool_],
    near_hole: NDArray[np.bool_],
    units: RowUnits | None = None,
) -> Overlap:
    """Return how much of the target is thinly covered, by scores and holes.

    `in_hole`, `near_hole`: which of the target rows scored lie in a hole, and at one.
    `units`: what all rows belong to; chance is then that of units.
    """
    shares = score.share, score.share_target
    sizes = effective_sample_size(shares[0]), effective_sample_size(shares[1])
    worth, enough = sizes, True
    if units is not None:
        units = units.kept(score.rows, score.rows_target)
        worth, enough = units.worth(*shares), units.are_enough(TEST_LEVEL)
    threshold = weighted_quantile(score.scores, score.share, UNCOVERED_QUANTILE)
    outside = (score.scores_target > threshold) | in_hole
    uncovered_fraction = as_share(score.share_target[outside])
    low, high = uncovered_interval(
        score.scores, score.scores_target, *shares, in_hole, worth
    )
    return Overlap(
        **vars(score),
        uncovered_fraction=uncovered_fraction,
        uncovered_fraction_low=low,
        uncovered_fraction_high=high,
        verdict=verdict(
            score.auc,
            score.auc_low,
            uncovered_fraction,
            uncovered_by_chance(*worth),
            min(sizes) if enough else 0.0,
            told=holes.tells,
            uncovered_fraction_low=low,
        ),
        threshold=threshold,
        in_hole=in_hole,
        near_hole=near_hole,
        holes=holes,
        units=None if units is None else worth,
        enough=enough,
    )


def uncovered_share_of(
    scores: Array, scores_target: Array, source_share: Array, target_share: Array
) -> float:
    """Return the share of the target that scores above 99.5 % of the source.

    Parameters
    ----------
    scores, scores_target : array of shape (n,), (m,)
        A domain score of source and target rows, or anything that rises with it: a
        density ratio target/source or its logarithm.
    source_share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.

    Examples
    --------
    >>> half = np.full(2, 0.5)
    >>> uncovered_share_of(np.array([0.1, 0.4]), np.array([0.3, 0.9]), half, half)
    0.5
    """
    return as_share(
        target_share[is_outside_support(scores, scores_target, source_share)]
    )


def is_outside_support(
    scores: Array, scores_target: Array, source_share: Array
) -> NDArray[np.bool_]:
    """Return which target rows score above 99.5 % of the source."""
    threshold = weighted_quantile(scores, source_share, UNCOVERED_QUANTILE)
    return np.asarray(scores_target > threshold)


def uncovered_interval(
    scores: Array,
    scores_target: Array,
    source_share: Array,
    target_share: Array,
    in_hole: NDArray[np.bool_] | None = None,
    worth: tuple[float, float] | None = None,
) -> tuple[float, float]:
    r"""Return the interval of level 0.95 of the share that is thinly covered.

    .. math:: \text{thin} \pm 1.96 \sqrt{\frac{\text{thin} (1 - \text{thin})}{m}
        + \Bigl(1.5\, \frac{\delta}{1.96}\Bigr)^2}, \quad
        \delta_{\text{above}} = \text{thin}_k - \text{thin}, \quad
        \delta_{\text{below}} = \max(\delta_{\text{above}},\;
        \text{thin} - \text{thin}_f)

    with :math:`\text{thin}_k` the share above the source score that k rows exceed, f
    and k the 2.5 % and 97.5 % quantiles of how many of n rows lie beyond the true
    99.5 % quantile (binomial), and 1.5 for the scores themselves, which vary with the
    rows of both samples. Below, what lies above the threshold tells: of few rows the
    outermost are far apart, and a threshold that is too low by chance has others near
    below it.
    With weights n and m are effective sizes.

    Of n rows none lies beyond the true quantile with a chance of 0.995**n: of 300 rows
    the lower end exceeds the true share in 8 % of draws of two normals 2.55 apart, of
    1,000 rows in 1 %.

    Parameters
    ----------
    scores, scores_target, source_share, target_share : array
        As `uncovered_share_of` has them.
    in_hole : array of bool of shape (m,) or None
        Target rows that count as thinly covered in any case.
    worth : tuple of float or None
        What stands for n and m, such as numbers of groups; None: the rows.

    Examples
    --------
    >>> even = np.full(1000, 1e-3)
    >>> scores = np.repeat([0.0, 1], 500)
    >>> low, high = uncovered_interval(np.zeros(1000), scores, even, even)
    >>> round(low, 3), round(high, 3)
    (0.469, 0.531)
    """
    n, m = worth or [effective_sample_size(s) for s in (source_share, target_share)]

    def share_above(quantile: float) -> float:
        threshold = weighted_quantile(scores, source_share, quantile)
        above = scores_target > threshold
        return as_share(target_share[above if in_hole is None else above | in_hole])

    fraction = share_above(UNCOVERED_QUANTILE)
    tails = 0.5 - UNCOVERED_LEVEL / 2, 0.5 + UNCOVERED_LEVEL / 2
    few, many = binom.ppf(tails, round(n), 1 - UNCOVERED_QUANTILE)
    lower = min(UNCOVERED_QUANTILE, max(1 - (many + 0.5) / n, 0.0))
    more = share_above(lower) - fraction
    less = fraction - share_above(max(UNCOVERED_QUANTILE, 1 - (few + 0.5) / n))
    of_target = norm.ppf(tails[1]) * np.sqrt(fraction * (1 - fraction) / m)
    below = float(np.hypot(of_target, _SCORES_VARY * max(more, less)))
    above = float(np.hypot(of_target, _SCORES_VARY * more))
    return max(fraction - below, 0.0), min(fraction + above, 1.0)


def lowest_share(share: float, target_share: Array) -> float:
    """Return the lower end of a share of target rows, by their effective number.

    Examples
    --------
    >>> round(lowest_share(0.5, np.full(100, 0.01)), 3)
    0.402
    """
    part = min(share, 1.0)
    error = np.sqrt(part * (1 - part) / effective_sample_size(target_share))
    return float(share - norm.ppf(0.5 + UNCOVERED_LEVEL / 2) * error)


def verdict(
    auc: float,
    auc_low: float,
    uncovered_fraction: float,
    chance: float,
    n_rows: float = np.inf,
    *,
    told: bool = False,
    uncovered_fraction_low: float | None = None,
) -> str:
    """Return what the numbers mean, in the words of `overlap`'s table.

    Parameters
    ----------
    auc, auc_low : float
        How well the samples can be told apart, and the lower end of its interval.
    thin : float
        Share of the target that is thinly covered.
    chance : float
        What `uncovered_fraction` can be by chance.
    n_rows : float
        Effective size of the smaller sample.
    told : bool
        Whether a test beside the AUC tells the samples apart.
    uncovered_fraction_low : float or None
        The lower end of `uncovered_fraction`'s interval; None: `uncovered_fraction`
        itself.

    Examples
    --------
    >>> verdict(0.66, 0.63, 0.31, 0.02)
    'shift, partial overlap'
    """
    low = uncovered_fraction_low
    if low is None:
        low = uncovered_fraction
    is_apart = low > NO_OVERLAP_ABOVE and uncovered_fraction > chance
    if n_rows < ROWS_OF_WORTH_TO_TELL - 1e-9 and not is_apart:
        return TOO_FEW
    # An AUC below one half tells nothing apart either: rows were left out of the fit.
    if (
        not told
        and auc_low <= 0.5
        and uncovered_fraction <= max(UNCOVERED_ABOVE, chance)
    ):
        return NO_SHIFT
    if low > NO_OVERLAP_ABOVE:
        return NO_OVERLAP
    if uncovered_fraction > UNCOVERED_ABOVE:
        return PARTIAL_OVERLAP
    return SMALL_SHIFT if auc < SMALL_AUC else COVERED
