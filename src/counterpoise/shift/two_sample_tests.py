"""Two-sample tests: kernel means (MMD), cells of histograms, moments of ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import betainc, gammaincc, gammaln
from scipy.stats import norm
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from counterpoise.data.arrays import Matrix, check_moderate
from counterpoise.data.encoder import as_numbers
from counterpoise.data.labels_and_weights import weights_of_both
from counterpoise.data.parameters import as_seed, check_integer, check_number
from counterpoise.data.two_samples import (
    TwoSamples,
    canonical_order,
    effective_sample_size,
    pooled_scale,
    scale_columns,
    seed_of_rows,
)
from counterpoise.errors import InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel

# Each of the tests on which the verdict rests has this part of its level.
TEST_LEVEL = 0.01

# -----------------------------------------------------------------------------
# The width at the median distance: one rule for every Gaussian kernel.
# -----------------------------------------------------------------------------


# Distances are measured between at most so many rows to find their median.
ROWS_MEASURED = 1000


def median_gamma(rows: Matrix, share: Array | None = None) -> float:
    r"""Return :math:`1 / (2 \sigma^2)` at the median distance of two different rows.

    A pair counts the product of its shares, so that a row of weight two is the row
    twice; equal rows are no pair. Of more than 1000 rows 1000 are taken at equal steps
    of their share, in the order in which they come. One, where all rows are equal.

    Parameters
    ----------
    rows : matrix of shape (n, d)
    share : array of shape (n,) or None
        What a row counts; only ratios matter. None: all the same.

    Examples
    --------
    >>> float(median_gamma(np.array([[0.0], [1.0], [3.0]])))
    0.125
    """
    share = np.ones(rows.shape[0]) if share is None else share
    if share.size > ROWS_MEASURED:
        # One of weight two is taken twice as often.
        steps = (np.arange(ROWS_MEASURED) + 0.5) / ROWS_MEASURED
        ends = np.cumsum(share)
        places = np.searchsorted(ends, steps * ends[-1])
        rows, share = rows[np.minimum(places, share.size - 1)], np.ones(ROWS_MEASURED)
    squares, pairs = _pairs(rows, share)
    if squares.size == 0:
        return 1.0
    alike = bool((pairs == pairs[0]).all())
    # Where all pairs count the same there is no need to sort them all.
    order = None if alike else np.argsort(squares, kind="stable")
    counted = np.cumsum(pairs if order is None else pairs[order])
    # The mean of the two in the middle, if there are two.
    levels = 0.5 * counted[-1] * np.array([1 - 1e-12, 1 + 1e-12])
    places = np.minimum(np.searchsorted(counted, levels), squares.size - 1)
    middle = np.partition(squares, places) if order is None else squares[order]
    return 1.0 / float(sum(middle[places]))


def _pairs(rows: Matrix, share: Array) -> tuple[Array, Array]:
    """Return the squared distances of different rows, and what each pair counts."""
    if not sparse.issparse(rows):
        rows = rows - rows.mean(axis=0)
    norms = row_norms(rows, squared=True)
    i, j = np.triu_indices(share.size, k=1)
    squares = euclidean_distances(rows, squared=True)[i, j]
    # What rounding leaves of the distance of equal rows is no distance.
    apart = squares > 1e-13 * (norms[i] + norms[j])
    return squares[apart], (share[i] * share[j])[apart]


def stack_rows(source: Matrix, target: Matrix) -> Matrix:
    """Return the rows of the source, then those of the target."""
    if sparse.issparse(source):
        return sparse.vstack([source, target], format="csr")
    return np.vstack([source, target])


def pooled_gamma(samples: TwoSamples) -> float:
    r"""Return :math:`1 / (2 \sigma^2)` at the median distance of all rows together.

    Each sample counts half; the order of the rows does not matter.
    """
    rows = stack_rows(samples.source, samples.target)
    share = np.concatenate([samples.source_share, samples.target_share])
    order = canonical_order(rows, share)
    return median_gamma(rows[order], share[order])


# -----------------------------------------------------------------------------
# Distances between two samples.
# -----------------------------------------------------------------------------


# Numbers in a block of the kernel, and in the block of shares that it meets: 128 MB.
ENTRIES_AT_ONCE = 2**24


@dataclass(frozen=True)
class MMD:
    """The maximum mean discrepancy of two samples; ``float`` of it is `value`.

    Attributes
    ----------
    value : float
        The distance of the two kernel means, never negative. Its square is biased: it
        is about (1 - mean kernel) (1/n + 1/m) where nothing has shifted.
    unbiased_square : float or None
        An estimate of the squared distance of the two distributions that is right in
        expectation, and so often negative where nothing has shifted; None if a sample
        has one row.
    p_value : float or None
        Chance of a distance as large where nothing has shifted; None if no permutation
        was asked for.
    gamma : float
        Of the kernel.
    """

    value: float
    unbiased_square: float | None
    p_value: float | None
    gamma: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        chance = "" if self.p_value is None else f", p = {self.p_value:.3g}"
        return f"MMD {self.value:.4g} (gamma {self.gamma:.4g}{chance})"


def mmd(
    X: ArrayLike,
    X_target: ArrayLike,
    *,
    gamma: float | str = "median",
    n_permutations: int = 0,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> MMD:
    r"""Return the maximum mean discrepancy of the two samples.

    With shares :math:`p` of the source and :math:`q` of the target rows (1/n and 1/m
    without weights) and :math:`k(x, y) = \exp(-\gamma |x - y|^2)` it is

    .. math::

        \mathrm{MMD} = \Bigl(\sum_{ii'} p_i p_{i'} k(x_i, x_{i'})
        + \sum_{jj'} q_j q_{j'} k(t_j, t_{j'})
        - 2 \sum_{ij} p_i q_j k(x_i, t_j)\Bigr)^{1/2}.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)
        The source rows. A table with categories, dates or missing values is read by
        `TableEncoder`.
    X_target : the same of shape (m, d), or a tuple of such
        The target rows.
    gamma : float or "median"
        Of the kernel. "median": one half over the squared median of the distances
        between different rows of both samples together, each of which counts half.
    n_permutations : int
        How often the rows are divided anew, by chance, for the p-value; 0: none.
    standardize : bool
        Whether columns are divided by their pooled scale first.
    sample_weight, target_weight : array of shape (n,), (m,)
        What the rows count in every mean; only their ratios within a sample matter.
    random_state : int, RandomState or None
        Where the permutations come from; None: from what the rows hold, so that the
        same rows get the same answer.

    Returns
    -------
    MMD

    Notes
    -----
    The unbiased square leaves out the pairs of a row with itself: the first sum
    becomes :math:`\sum_{i \ne i'} p_i p_{i'} k(x_i, x_{i'}) / (1 - \sum_i p_i^2)`, and
    the second likewise. The p-value compares the biased distance with that of
    permuted samples, (1 + number as large) / (1 + `n_permutations`): it is exact
    without weights, and with them a row takes its weight along.

    The kernel is made by blocks; the time grows with
    :math:`(n + m)^2 (d + \text{n\_permutations})`.

    References
    ----------
    A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf and A. Smola, 2012.

    Examples
    --------
    >>> found = mmd([[0.0], [1.0]], [[0.0], [1.0]], gamma=1.0)
    >>> float(found), round(found.unbiased_square, 3)
    (0.0, -0.632)
    """
    check_number("gamma", gamma, low=0.0, closed="neither", options=("median",))
    check_integer("n_permutations", n_permutations, low=0)
    source, target = as_numbers(
        X, X_target, sample_weight=sample_weight, target_weight=target_weight
    )
    if sparse.issparse(source):
        raise InvalidTypeError(
            "mmd takes no sparse matrices: X and X_target must be dense"
        )
    check_moderate(source, "X", None)
    check_moderate(target, "X_target", None)
    weights = weights_of_both(
        sample_weight, target_weight, source.shape[0], target.shape[0]
    )
    samples = TwoSamples.of(source, target, *weights).ordered()
    if random_state is None:
        random_state = seed_of_rows([samples.source, samples.target])
    return measure_mmd(
        samples,
        None if gamma == "median" else float(gamma),
        n_permutations,
        random_state,
        standardize=standardize,
    )


def measure_mmd(
    samples: TwoSamples,
    gamma: float | None,
    n_permutations: int,
    random_state: int | np.integer[Any] | np.random.RandomState | None,
    *,
    standardize: bool,
) -> MMD:
    """Return what `mmd` does, of dense rows in their canonical order.

    `gamma`: None is the median distance.
    """
    if standardize:
        scale = pooled_scale(samples)
        samples = samples.with_rows(
            scale_columns(samples.source, scale), scale_columns(samples.target, scale)
        )
    gamma = pooled_gamma(samples) if gamma is None else gamma
    rows = np.vstack([samples.source, samples.target])
    p, q = samples.source_share, samples.target_share
    mass = np.concatenate([p * samples.source_mass, q * samples.target_mass])
    shares = np.zeros((mass.size, 3))
    shares[: p.size, 0], shares[p.size :, 1] = p, q
    shares[:, 2] = shares[:, 0] - shares[:, 1]
    rng = np.random.default_rng(as_seed(random_state))
    result, at_once = list[Array](), max(1, ENTRIES_AT_ONCE // mass.size)
    for done in range(0, max(n_permutations, 1), at_once):
        count = min(at_once, n_permutations - done)
        divided = [divided_shares(mass, p.size, rng) for _ in range(count)]
        result.append(_forms(rows, gamma, np.column_stack([shares, *divided])))
        shares = shares[:, :0]
    forms = np.concatenate(result)
    within, square = forms[:2], float(forms[2])
    # Rounding must not tell apart what is equal.
    as_large = 1 + int(np.count_nonzero(forms[3:] >= square - 1e-12))
    with_itself, unbiased = np.array([p @ p, q @ q]), None
    if (with_itself < 1).all():
        without = (within - with_itself) / (1 - with_itself)
        unbiased = float(without.sum() - within.sum() + square)
    return MMD(
        value=float(np.sqrt(max(square, 0.0))),
        unbiased_square=unbiased,
        p_value=None if n_permutations == 0 else as_large / (1 + n_permutations),
        gamma=gamma,
    )


def divided_shares(mass: Array, n: int, rng: np.random.Generator) -> Array:
    """Return shares of n rows drawn by chance, minus shares of the others."""
    chosen = np.zeros(mass.size, dtype=bool)
    chosen[rng.permutation(mass.size)[:n]] = True
    shares: Array = np.where(
        chosen, mass / mass[chosen].sum(), -mass / mass[~chosen].sum()
    )
    return shares


def _forms(rows: Array, gamma: float, columns: Array) -> Array:
    """Return a' K a of every column a, with the kernel K made by blocks of rows."""
    forms = np.zeros(columns.shape[1])
    size = max(1, ENTRIES_AT_ONCE // rows.shape[0])
    for first in range(0, rows.shape[0], size):
        block = slice(first, first + size)
        kernel = Kernel("rbf", gamma).matrix(rows[block], rows)
        forms += np.einsum("ij,ij->j", columns[block], kernel @ columns)
    return forms


# -----------------------------------------------------------------------------
# Columns and pairs of columns cut into cells, and how unlike two samples fill them.
# -----------------------------------------------------------------------------


# Columns of which pairs are looked at; of more, the first.
MOST_COLUMNS = 40
# A column of numbers with no more values than this is one of levels.
FEW_VALUES = 8
# Rows of both samples that a cell of a pair of columns of numbers should hold, and the
# finest and coarsest cuts; the second cut is coarser by a third.
ROWS_A_CELL, FINEST, COARSEST = 30, 12, 3
# A column by itself is cut as finely as this many rows a cell allow.
FINEST_ALONE = 64
# Cells of one pair whose logarithms of the chance reach these are taken together.
_STRIKING = 3.0, 6.0
# Cells in which fewer rows of a sample are expected are one in the sum over all cells;
# and of how many rows of worth what a row counts is known in a cell.
_EXPECTED = 5.0


@dataclass(frozen=True, eq=False)
class CutColumn:
    """A number, or a category in zeros and ones: columns that are cut as one.

    Attributes
    ----------
    columns : array of int
        Of the matrix.
    values : array
        Different values of a number; levels of a category.
    middles : array or None
        The ranks of the values among both samples, between 0 and 1; None for levels.
    tops : array or None
        The larger values of the columns of a category; None for numbers.
    place : array of shape (N,)
        Of the rows of both samples, as `at` says it.
    """

    columns: Indices
    values: Array
    middles: Array | None
    tops: Array | None
    place: Array

    @property
    def is_number(self) -> bool:
        """Whether it is cut by ranks; else every level is a cell."""
        return self.middles is not None

    @property
    def n_levels(self) -> int:
        """How many different values it has."""
        return int(self.values.size)

    def at(self, X: Array) -> Array:
        """Return ranks of numbers, whole numbers for levels, -1 for one not seen."""
        if self.tops is None:
            seen: Array = X[:, self.columns[0]]
        else:
            seen = _level(X[:, self.columns], self.tops)
        if self.middles is not None:
            return np.interp(seen, self.values, self.middles)
        place = np.searchsorted(self.values, seen).clip(0, self.values.size - 1)
        return np.where(self.values[place] == seen, place, -1.0)

    def cells(self, n_cells: int) -> Indices:
        """Return the cell of every row: a level, or one of so many equal parts."""
        if not self.is_number:
            return self.place.astype(np.intp)
        return np.minimum((self.place * n_cells).astype(np.intp), n_cells - 1)


def blocks_of(X: Array, most: int = MOST_COLUMNS) -> list[CutColumn]:
    """Return the columns of both samples together, levels of a category as one block.

    Neighboring columns of two values of which no row has two at their larger value are
    the levels of one category. Which rows are the target's plays no part. Of more than
    `most` blocks the first are returned, and one more.
    """
    result: list[CutColumn] = []
    run: list[int] = []
    taken = np.zeros(X.shape[0], dtype=bool)
    for j in range(X.shape[1]):
        if len(result) > most:
            return result
        column = X[:, j]
        low, high = column.min(), column.max()
        if low == high:
            continue
        is_high = column == high
        is_level = bool((is_high | (column == low)).all())
        if run and not (is_level and not (taken & is_high).any()):
            result.append(_levels(X, run))
            run, taken = [], np.zeros(X.shape[0], dtype=bool)
        if is_level:
            run.append(j)
            taken |= is_high
        else:
            result.append(_number(column, j))
    return [*result, _levels(X, run)] if run else result


class CellTest(NamedTuple):
    """How unlike two samples fill the cells of a column, or of a pair of columns.

    Attributes
    ----------
    blocks : tuple of int
        One or two numbers of blocks.
    p_value : float
        Of any cells that either sample fills less than by chance, and of all.
    p_depleted : float
        Of cells that the source fills less than by chance.
    among : int
        By how many both are to be corrected.
    """

    blocks: tuple[int, ...]
    p_value: float
    p_depleted: float
    among: int = 1


def cell_tests(
    blocks: list[CutColumn], n: int, share: Array, target_share: Array
) -> tuple[list[CellTest], list[CellTest]]:
    r"""Return the tests of the columns, and of their pairs; not corrected.

    Of c rows in a cell, s of the source and t of the target, s is binomial with the
    source's part :math:`\pi` of all rows where nothing has shifted. With
    :math:`x = -\log P(S \le s)` of each of the K cells of a column or pair, any r of
    them, all of which reach a and have the sum X, have

    .. math:: P(\text{any } r \text{ cells that reach } a \text{ and so large a sum})
        \le \binom{K}{r} e^{-a r} Q(r, X - a r)

    with Q the tail of the gamma distribution of shape r (Fisher), since the counts of
    cells are negatively associated. The test takes the cell with the largest x (a = 0),
    or all with x >= a = 3, or all with x >= a = 6, whichever has the smaller
    :math:`r (r + 1) \binom{K}{r} e^{-a r} Q(r, X - a r)`, in which the factor pays for
    the choice of r. The same for the target, and twice the smaller of both is one
    p-value. The other is Pearson's, for what is a little unlike in many cells,

    .. math:: \sum_k \frac{(s_k - \pi c_k)^2}{\pi (1 - \pi)\, c_k} \sim \chi^2_{K - 1}

    over the K cells in which five rows of either sample are expected, the others taken
    as one of them (left out if that one has fewer; then with K degrees of freedom; not
    asked where weights are unequal, which count more in some cells than in others).
    `p_value` is twice the smaller of both. Pairs with a number are cut twice, and the
    smaller p-value is doubled again.

    With weights, rows of the mass :math:`w_i` (shares times effective sizes) have the
    mean mass :math:`D = \sum w_i^2 / \sum w_i` in a cell, and s and t are the sums of
    masses over the larger D of both samples, or over one if that is more; in cells with
    fewer than five rows of worth, the largest D of all cells of the column or pair is
    taken. So a cell without a source row is no surprise where few heavy rows are.

    A p-value is one `among` those of its kind times the number of kinds that are there:
    columns are numbers or categories; pairs are of numbers, of categories, or of one of
    each. So the one pair of categories beside many numbers pays for three, not for all.

    Parameters
    ----------
    blocks : list of CutColumn
        Of all rows, those of the source first.
    n : int
        How many rows are the source's.
    share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.
    """
    sizes = 1 / float(share @ share), 1 / float(target_share @ target_share)
    mass = np.concatenate([sizes[0] * share, sizes[1] * target_share])
    part, total = sizes[0] / sum(sizes), sum(sizes)
    # What rounding makes of equal weights is equal.
    even = all(one.max() <= one.min() * (1 + 1e-9) for one in (share, target_share))
    cut = int(np.clip(total / ROWS_A_CELL, COARSEST, FINEST_ALONE))
    alone = _tests_of_columns(blocks, cut, mass, n, part, even)
    if len(blocks) < 2:
        return alone, []
    tried = [
        _tests_of_pairs(blocks, one, mass, n, part, even)
        for one in cuts_of_pairs(total)
    ]
    pairs = []
    for tests in zip(*tried, strict=True):
        # A pair of categories is cut but once.
        is_cut_anew = any(blocks[k].is_number for k in tests[0].blocks)
        times = len(tests) if is_cut_anew else 1
        p_value = min(1.0, times * min(test.p_value for test in tests))
        p_depleted = min(1.0, times * min(test.p_depleted for test in tests))
        pairs.append(CellTest(tests[0].blocks, p_value, p_depleted))
    return _by_kind(alone, blocks), _by_kind(pairs, blocks)


def cuts_of_pairs(total: float) -> list[int]:
    """Return into how many parts numbers of a pair are cut, given the rows of both.

    Examples
    --------
    >>> cuts_of_pairs(2000)
    [5, 8]
    """
    fine = int(np.clip(np.sqrt(total / ROWS_A_CELL), COARSEST, FINEST))
    return sorted({fine, max(COARSEST, round(fine * 2 / 3))})


def chance_of_cells(s: Array, t: Array, part: float) -> float:
    """Return the chance that the source fills one table of cells so little.

    Parameters
    ----------
    s, t : array of shape (K,)
        Rows of source and target in the cells.
    part : float
        The source's part of all rows.
    """
    first = np.zeros(1, dtype=np.intp)
    x, _ = _surprises(s[None], t[None], part)
    return float(_chance(x, first, first)[0, 0])


def _by_kind(tests: list[CellTest], blocks: list[CutColumn]) -> list[CellTest]:
    """Return tests that know among how many they are."""
    kinds = [sum(blocks[k].is_number for k in test.blocks) for test in tests]
    return [
        test._replace(among=len(set(kinds)) * kinds.count(kind))
        for test, kind in zip(tests, kinds, strict=True)
    ]


def rows_of_worth(
    masses: Sequence[Array], squares: Sequence[Array], firsts: Indices, second: Indices
) -> list[Array]:
    """Return masses of cells over what a row counts there, as `cell_tests` has it.

    Parameters
    ----------
    masses : two arrays
        Of source and target in the cells.
    squares : two arrays
        Sums of the squares of the rows' masses.
    firsts, second : array of int
        Where the cells of a column begin, in rows and columns of the arrays.

    Examples
    --------
    >>> masses, squares = np.array([[20.0, 1.0]]), np.array([[80.0, 1.0]])
    >>> first = np.zeros(1, dtype=int)
    >>> rows_of_worth([masses, masses], [squares, masses], first, first)
    [array([[5.  , 0.25]]), array([[5.  , 0.25]])]
    """
    mean = np.ones_like(masses[0])
    widths = [
        np.diff(np.append(starts, size))
        for starts, size in zip((firsts, second), mean.shape, strict=True)
    ]
    for own, of_squares in zip(masses, squares, strict=True):
        known = (own**2 >= _EXPECTED * of_squares) & (own > 0)
        each = np.divide(of_squares, own, out=np.zeros_like(own), where=own > 0)
        largest = _by_block(each, firsts, second, np.maximum)
        largest = np.repeat(np.repeat(largest, widths[0], axis=0), widths[1], axis=1)
        mean = np.maximum(mean, np.where(known, each, largest))
    return [own / mean for own in masses]


def _tests_of_columns(
    blocks: list[CutColumn], cut: int, mass: Array, n: int, part: float, even: bool
) -> list[CellTest]:
    """Return the tests of the columns, each cut into so many cells."""
    cells = [one.cells(cut) for one in blocks]
    widths = np.array([int(one.max()) + 1 for one in cells])
    first, second = np.zeros(1, dtype=np.intp), np.cumsum(widths) - widths

    def counted(values: Array) -> list[Array]:
        return [
            np.concatenate(
                [
                    np.bincount(one[rows], values[rows], width)
                    for one, width in zip(cells, widths, strict=True)
                ],
                dtype=float,
            )[None]
            for rows in (slice(n), slice(n, None))
        ]

    s, t = counted(mass)
    if not even:
        s, t = rows_of_worth((s, t), counted(mass**2), first, second)
    either, depleted = _p_values(s, t, part, even, first, second)
    return [
        CellTest((k,), float(either[0, k]), float(depleted[0, k]))
        for k in range(len(blocks))
    ]


def _tests_of_pairs(
    blocks: list[CutColumn], cut: int, mass: Array, n: int, part: float, even: bool
) -> list[CellTest]:
    """Return the tests of the pairs of columns, each cut into so many cells."""
    cells = [one.cells(cut) for one in blocks]
    widths = np.array([int(one.max()) + 1 for one in cells])
    firsts = np.cumsum(widths) - widths
    N = mass.size
    hot = np.zeros((N, int(widths.sum())), dtype=np.float32)
    for one, first in zip(cells, firsts, strict=True):
        hot[np.arange(N), first + one] = 1.0

    def counted(values: Array) -> list[Array]:
        weighted = hot * values[:, None].astype(np.float32)
        return [
            (hot[rows].T @ weighted[rows]).astype(np.float64)
            for rows in (slice(n), slice(n, None))
        ]

    s, t = counted(mass)
    if not even:
        s, t = rows_of_worth((s, t), counted(mass**2), firsts, firsts)
    # Each pair once: cells of a column with those of later ones.
    column = np.repeat(np.arange(len(blocks)), widths)
    s, t = (np.where(column[:, None] < column, one, 0.0) for one in (s, t))
    either, depleted = _p_values(s, t, part, even, firsts, firsts)
    return [
        CellTest((int(a), int(b)), float(either[a, b]), float(depleted[a, b]))
        for a, b in zip(*np.triu_indices(len(blocks), 1), strict=True)
    ]


def _p_values(
    s: Array, t: Array, part: float, even: bool, firsts: Indices, second: Indices
) -> tuple[Array, Array]:
    """Return p-values of any difference, and of a depleted source, by blocks."""
    x, y = _surprises(s, t, part)
    depleted = _chance(x, firsts, second)
    striking = 2 * np.minimum(depleted, _chance(y, firsts, second))
    if even:
        striking = np.minimum(striking, _chance_of_sum(s, t, part, firsts, second))
    return np.minimum(1.0, 2 * striking), depleted


def _surprises(s: Array, t: Array, part: float) -> tuple[Array, Array]:
    """Return -log of the chance of so few source rows, and of so few target rows."""
    tiny = np.finfo(float).tiny
    x, y = np.zeros_like(s), np.zeros_like(s)
    # What a sample has as much of as expected is no surprise: its chance is near 1/2.
    less = s < part * (s + t) - 1e-6
    more = s > part * (s + t) + 1e-6
    x[less] = -np.log(betainc(t[less], s[less] + 1.0, 1.0 - part) + tiny)
    y[more] = -np.log(betainc(s[more], t[more] + 1.0, part) + tiny)
    return x, y


def _chance_of_sum(
    s: Array, t: Array, part: float, firsts: Indices, second: Indices
) -> Array:
    """Return Pearson's p-value of all cells, by blocks of rows and columns."""

    def by_block(values: Array) -> Array:
        return _by_block(values, firsts, second, np.add)

    both, apart = s + t, s - part * (s + t)
    fewest = _EXPECTED / min(part, 1 - part)
    large = both >= fewest
    terms = np.divide(apart**2, both, out=np.zeros_like(both), where=large)
    rest, rest_apart = by_block(both * ~large), by_block(apart * ~large)
    is_cell = rest >= fewest
    summed = by_block(terms)
    summed += np.divide(rest_apart**2, rest, out=np.zeros_like(rest), where=is_cell)
    left_out = (rest > 0) & ~is_cell
    freedom = by_block(large.astype(np.float64)) + is_cell - ~left_out
    chance: Array = gammaincc(
        np.maximum(freedom, 1) / 2, summed / (2 * part * (1 - part))
    )
    return np.where(freedom > 0, chance, 1.0)


def _by_block(
    values: Array, firsts: Indices, second: Indices, reduce: np.ufunc
) -> Array:
    result: Array = reduce.reduceat(
        reduce.reduceat(values, firsts, axis=0), second, axis=1
    )
    return result


def _chance(x: Array, firsts: Indices, second: Indices) -> Array:
    """Return the least of r (r + 1) C(K, r) exp(-a r) Q(r, X - a r), by blocks.

    K is the number of cells of a block, and r of them reach a with the sum X: the
    largest alone (a = 0), or all that reach one of two values.
    """
    k = _by_block(np.ones_like(x), firsts, second, np.add)
    largest = _by_block(x, firsts, second, np.maximum)
    selections = [(0.0, np.ones_like(largest), largest)]
    for at in _STRIKING:
        counts = _by_block((x >= at).astype(np.float64), firsts, second, np.add)
        sums = _by_block(np.where(x >= at, x, 0.0), firsts, second, np.add)
        selections.append((at, counts, sums))
    least = np.ones_like(largest)
    for at, counts, sums in selections:
        r = np.maximum(counts, 1.0)
        ways = gammaln(k + 1.0) - gammaln(r + 1.0) - gammaln(k - r + 1.0)
        beyond = gammaincc(r, np.maximum(sums - at * r, 0.0))
        tail = np.log(beyond + np.finfo(float).tiny) - at * r
        chance = np.exp(np.minimum(np.log(r * (r + 1)) + ways + tail, 0.0))
        least = np.minimum(least, np.where(counts > 0, chance, 1.0))
    return least


def _number(column: Array, j: int) -> CutColumn:
    values, place = np.unique(column, return_inverse=True)
    if values.size <= FEW_VALUES:
        return CutColumn(np.array([j]), values, None, None, place.astype(np.float64))
    counts = np.bincount(place)
    middles = (np.cumsum(counts) - counts / 2) / column.size
    return CutColumn(np.array([j]), values, middles, None, middles[place])


def _levels(X: Array, run: list[int]) -> CutColumn:
    tops = X[:, run].max(axis=0)
    levels, place = np.unique(_level(X[:, run], tops), return_inverse=True)
    return CutColumn(np.array(run), levels, None, tops, place.astype(np.float64))


def _level(part: Array, tops: Array) -> Array:
    """Return which column is at its larger value, counted from one; 0 for none."""
    is_high = part == tops
    return np.where(is_high.any(axis=1), is_high.argmax(axis=1) + 1.0, 0.0)


# -----------------------------------------------------------------------------
# Whether ranks of columns lie, spread or go together otherwise in the two samples.
# -----------------------------------------------------------------------------


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
        result: Array = (self.ranks**2).sum(axis=1, keepdims=True)
        return result

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


def means_p_value(
    apart: Array, variance: Array, variance_target: Array, n: float, m: float
) -> Array:
    """Return the chance of means as far apart in two samples drawn alike.

    By the normal distribution, with the variance of both samples together.
    """
    together = (n * variance + m * variance_target) / (n + m)
    together = together + n * m / (n + m) ** 2 * apart**2
    error = np.sqrt(np.maximum(together, 0.0) * (1 / n + 1 / m))
    z = np.divide(np.abs(apart), error, out=np.zeros_like(error), where=error > 0)
    p_values: Array = 2 * norm.sf(z)
    return p_values


def _of_means(values: Array, p: Array, q: Array) -> Array:
    """Return the chance of means as unlike over the two samples, of each column."""
    means, variances = [], []
    n, m = effective_sample_size(p), effective_sample_size(q)
    for share, size, u in ((p, n, values[: p.size]), (q, m, values[p.size :])):
        means.append(share @ u)
        variances.append(size * (share**2 @ (u - means[-1]) ** 2))
    return means_p_value(means[1] - means[0], variances[0], variances[1], n, m)


def chance_of_products(values: Array, p: Array, q: Array) -> Array:
    """Return the chance of mean products as unlike, of each pair of columns.

    `values`: of the source rows, then of the target's; `p`, `q`: what they count.
    """
    means, variances = [], []
    n, m = effective_sample_size(p), effective_sample_size(q)
    for share, size, u in ((p, n, values[: p.size]), (q, m, values[p.size :])):
        mean = (u * share[:, None]).T @ u
        cross = (u * share[:, None] ** 2).T @ u
        squares = (u**2 * share[:, None] ** 2).T @ u**2
        error = squares - 2 * mean * cross + mean**2 * float(share @ share)
        means.append(mean)
        variances.append(size * error)
    return means_p_value(means[1] - means[0], variances[0], variances[1], n, m)
