"""Target rows in holes: among source rows, yet with none near."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.special import betaln
from sklearn.neighbors import NearestNeighbors

from counterpoise.numerics.arrays import Array
from counterpoise.samples.cells import MOST_COLUMNS, CutColumn, blocks_of, cell_tests
from counterpoise.samples.coverage.digits import off_grids
from counterpoise.samples.domain_scores import TEST_LEVEL
from counterpoise.samples.two_samples import TwoSamples

# Rows of each sample whose neighbours in all columns are looked at, how many of them,
# and how many divisions by chance.
_ROWS, _NEIGHBOURS, _DIVISIONS = 1_000, 12, 499
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
class EmptyBalls:
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
        found = np.zeros(X.shape[0], dtype=bool)
        if X.shape[0] and self.reach.size:
            reach = wider * self.reach
            for rows in self._tree(X).query_ball_point(self.centers, reach):
                found[rows] = True
        return found

    def without(self, X: Array) -> "EmptyBalls":
        """Return the balls in which no row of a matrix lies."""
        empty = _rows_within(self._tree(X), self.centers, self.reach) == 0
        return EmptyBalls(self.blocks, self.centers[empty], self.reach[empty])

    def _tree(self, X: Array) -> cKDTree:
        return cKDTree(_places(self.blocks, [one.at(X) for one in self.blocks]))


@dataclass(frozen=True, eq=False)
class Holes:
    """Where the target has rows and the source, though there, has none.

    Attributes
    ----------
    p_value : float
        Chance that two samples drawn alike fill the cells of columns and pairs, or the
        neighbourhoods of rows, as unlike as these; corrected for all of them.
    most_unlike : tuple of int
        The columns of the matrix that `p_value` speaks of: one column or two (of a
        category several), or all.
    balls : tuple of EmptyBalls
        Where no source row lies, a set of columns each.
    """

    p_value: float
    most_unlike: tuple[int, ...] = ()
    balls: tuple[EmptyBalls, ...] = field(default=(), repr=False)

    @property
    def tells(self) -> bool:
        """Whether the samples differ, by this test's part of the level."""
        return self.p_value <= TEST_LEVEL

    def without(self, X: Any) -> "Holes":
        """Return the holes in which no row of a matrix lies."""
        balls = tuple(one.without(X) for one in self.balls)
        return replace(self, balls=tuple(one for one in balls if one.reach.size))

    def hold(self, X: Any, wider: float = 1.0) -> NDArray[np.bool_]:
        """Return which rows of a matrix lie in a hole, made wider by a factor."""
        found = np.zeros(X.shape[0], dtype=bool)
        for one in self.balls:
            found |= one.hold(X, wider)
        return found


def find_holes(samples: TwoSamples, seed: int) -> Holes:
    r"""Return which target rows lie in holes of the source, and the chance of it.

    Three families, each of which has a third of the level: every column cut into
    cells, every pair of the first 40 columns cut into cells (`cell_tests`, corrected
    for their number by kind), and neighbourhoods in all columns: the share of
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
    (`off_grids`). Numbers are compared by their ranks, and in columns
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
        return Holes(1.0)
    blocks = blocks_of(np.vstack([samples.source, samples.target]))
    if not blocks:
        return Holes(1.0)
    if any(block.is_number for block in blocks):
        as_they_came, samples = samples, off_grids(_without_copies(samples))
        if samples is not as_they_came:
            blocks = blocks_of(np.vstack([samples.source, samples.target]))
    shares = samples.source_share, samples.target_share
    few, n = blocks[:MOST_COLUMNS], samples.source.shape[0]
    families = [family for family in cell_tests(few, n, *shares) if family]
    among_all = _among_all(blocks, samples, seed)
    n_families = len(families) + (among_all is not None)
    unlike: list[tuple[float, tuple[int, ...]]] = []
    suspects: list[tuple[float, tuple[int, ...]]] = []
    for family in families:
        for one in family:
            times = n_families * one.among
            unlike.append((times * one.p_value, one.blocks))
            suspects.append((times * one.p_depleted, one.blocks))
    if among_all is not None:
        every = tuple(range(len(blocks)))
        unlike.append((n_families * among_all, every))
        suspects.append((n_families * among_all, every))
    p_value, most = min(unlike, key=lambda one: one[0])
    balls = []
    if p_value <= TEST_LEVEL:
        # In two columns the pair is all of them.
        emptier = dict.fromkeys(one for p, one in sorted(suspects) if p <= TEST_LEVEL)
        found = np.zeros(shares[1].size, dtype=bool)
        for chosen in list(emptier)[:_SETS]:
            ball = _empty_balls(
                [blocks[k] for k in chosen], *shares, found, min(len(emptier), _SETS)
            )
            if ball.reach.size:
                balls.append(ball)
                found = found | ball.hold(samples.target)
    return Holes(
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
    found: NDArray[np.bool_] = chance <= np.log(_BY_CHANCE / n_places)
    return found


def _among_all(blocks: list[CutColumn], samples: TwoSamples, seed: int) -> float | None:
    """Return the chance of so many neighbourhoods without a source row."""
    n, m = samples.source.shape[0], samples.target.shape[0]
    shares = samples.source_share, samples.target_share
    uneven = any(one.max() > one.min() * (1 + 1e-9) for one in shares)
    if uneven or not 1 < len(blocks) <= MOST_COLUMNS:
        return None
    rng = np.random.default_rng(seed)
    # The same draw for both samples, so that equal samples stay equal.
    rows, aims = (np.arange(size) for size in (n, m))
    if max(n, m) > _ROWS:
        rows, aims = (
            np.sort(rng.permutation(size)[:_ROWS]) if size > _ROWS else np.arange(size)
            for size in (n, m)
        )
    # Ties among neighbours must not go by the sample: the rows are shuffled first.
    shuffled = rng.permutation(np.concatenate([rows, n + aims]))
    place = _places(blocks, [one.place for one in blocks])[shuffled]
    N = place.shape[0]
    if N <= _NEIGHBOURS + 1:
        return None
    near = NearestNeighbors(n_neighbors=_NEIGHBOURS + 1, algorithm="brute").fit(place)
    neighbours = near.kneighbors(place, return_distance=False)
    graph = sparse.csr_array(
        (
            np.ones(neighbours.size, dtype=np.float32),
            neighbours.ravel(),
            np.arange(0, neighbours.size + 1, _NEIGHBOURS + 1),
        ),
        shape=(N, N),
    )
    is_target = np.zeros((N, _DIVISIONS + 1), dtype=np.float32)
    is_target[:, 0] = shuffled >= n
    for k in range(1, _DIVISIONS + 1):
        is_target[rng.permutation(N)[: aims.size], k] = 1.0
    empty = (graph @ is_target > _NEIGHBOURS + 0.5).sum(axis=0)
    as_many = int(np.count_nonzero(empty >= empty[0])) if empty[0] else _DIVISIONS + 1
    return as_many / (_DIVISIONS + 1)


def _empty_balls(
    blocks: list[CutColumn],
    share: Array,
    target_share: Array,
    found: NDArray[np.bool_],
    n_sets: int,
) -> EmptyBalls:
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
    enough = is_hole(inside, nobody, nobody, part, n_places) & (reach > 0) & ~found
    at, reach, inside = target[enough], reach[enough], inside[enough]
    around = _rows_within(trees[0], at, 2 * reach) - inside
    source_around = _rows_within(trees[1], at, 2 * reach)
    enough = is_hole(inside, around, source_around, part, n_places)
    at, reach = at[enough], reach[enough]
    near = trees[1].query_ball_point(at, 2 * reach)
    surrounded = np.array(
        [
            is_surrounded(source[rows], *ball)
            for rows, *ball in zip(near, at, reach, strict=True)
        ],
        dtype=bool,
    )
    kept = _reached_from(surrounded, at, reach)
    grown = reach if len(blocks) <= 2 else reach / 2
    return EmptyBalls(blocks, at[kept], grown[kept])


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


def _reached_from(chosen: NDArray[np.bool_], at: Array, reach: Array) -> Any:
    """Return the balls chosen, and those that are reached from one to the next."""
    reached = chosen.copy()
    if not chosen.any():
        return reached
    tree, open_balls = cKDTree(at), np.flatnonzero(chosen)
    while open_balls.size:
        near = tree.query_ball_point(at[open_balls], _TO_THE_NEXT * reach[open_balls])
        found = np.zeros(reached.size, dtype=bool)
        for rows in near:
            found[rows] = True
        open_balls = np.flatnonzero(found & ~reached)
        reached |= found
    return reached


def _rows_within(tree: cKDTree, at: Array, radius: Array) -> Array:
    found: Array = tree.query_ball_point(at, radius, return_length=True)
    return found


def _places(blocks: list[CutColumn], places: list[Array]) -> Array:
    """Return rows by the ranks of their numbers and the levels of their categories.

    In one column or two, levels are too far apart for a ball to hold several.
    """
    found = []
    for one, place in zip(blocks, places, strict=True):
        if one.is_number:
            found.append(place[:, None])
        elif len(blocks) <= 2:
            found.append(4 * _APART * place[:, None])
        else:
            hot = place[:, None] == np.arange(one.n_levels)
            found.append(_APART_AMONG_ALL * hot)
    return np.hstack(found)
