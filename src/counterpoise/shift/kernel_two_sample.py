"""Maximum mean discrepancy (MMD) and the median kernel width."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from counterpoise.data.arrays import Matrix, check_moderate
from counterpoise.data.encoder import as_numbers
from counterpoise.data.labels_and_weights import weights_of_both
from counterpoise.data.parameters import as_seed, check_integer, check_number
from counterpoise.data.two_samples import (
    TwoSamples,
    canonical_order,
    pooled_scale,
    scale_columns,
    seed_of_rows,
)
from counterpoise.errors import InvalidTypeError
from counterpoise.linalg.arrays import Array
from counterpoise.linalg.kernels import Kernel

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
    found, at_once = list[Array](), max(1, ENTRIES_AT_ONCE // mass.size)
    for done in range(0, max(n_permutations, 1), at_once):
        count = min(at_once, n_permutations - done)
        divided = [divided_shares(mass, p.size, rng) for _ in range(count)]
        found.append(_forms(rows, gamma, np.column_stack([shares, *divided])))
        shares = shares[:, :0]
    forms = np.concatenate(found)
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
