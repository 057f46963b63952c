"""A pair of numeric samples: order, folds, scaling, effective sample size."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from counterpoise.data.arrays import Matrix, SparseMatrix
from counterpoise.data.columns import column_limits
from counterpoise.data.labels_and_weights import as_counts
from counterpoise.data.parameters import check_number
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array, Indices, row_keys
from counterpoise.messages import WARNING, Finding, FindingText

Rows: TypeAlias = Indices | NDArray[np.bool_] | slice

# -----------------------------------------------------------------------------
# Folds in which a copy of a row is never held out from the row itself.
# -----------------------------------------------------------------------------


N_FOLDS = 5
# Fewer different rows than this are dealt out one by one, copies or not.
FEWEST_DIFFERENT = 50


def folds(rows: Matrix, n_folds: int, seed: int) -> Indices:
    """Return the fold of each row, by chance, equal neighbors in one fold.

    A copy of a row in another fold would not be held out. Where there are hardly any
    different rows, copies are dealt out all the same.
    """
    n = rows.shape[0]
    group = np.arange(n)
    if n > 1:
        if sparse.issparse(rows):
            differs = np.diff(content(rows)) != 0
        else:
            differs = (rows[1:] != rows[:-1]).any(axis=1)
        if np.count_nonzero(differs) + 1 >= FEWEST_DIFFERENT:
            group = np.concatenate([[0], np.cumsum(differs)])
    dealt = np.random.default_rng(seed).permutation(group[-1] + 1) % n_folds
    return dealt[group]


def content(X: Matrix) -> Indices:
    """Return a number for every row: equal rows have one, in an order by content.

    The order is that of the rows' bytes from the highest, so that sign and size of the
    entries decide, and the scale of a column does not.

    Examples
    --------
    >>> content(np.array([[2.0], [1.0], [2.0], [-1.0]]))
    array([1, 0, 1, 2])
    """
    keys = row_keys(X, ">")
    rank = {key: k for k, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], dtype=np.intp)


def dealt_by_sample(
    units: Indices, labels: Array, seed: int, n_folds: int = N_FOLDS
) -> tuple[Indices, int]:
    """Return a fold for every row of two samples, and how many folds there are.

    Rows of a unit share a fold. Units of source rows (label 0) alone come first, then
    those of both samples, then those of target rows alone, each shuffled, and the folds
    are dealt out in turn: every fold has its part of either sample.
    """
    names, unit = np.unique(units, return_inverse=True)
    has = [np.bincount(unit, labels == side, names.size) > 0 for side in (0, 1)]
    n_folds = min(n_folds, int(has[0].sum()), int(has[1].sum()))
    if n_folds < 2:
        raise InvalidInputError(
            "at least 2 rows of each sample are needed to hold some out, got "
            f"{int(has[0].sum())} and {int(has[1].sum())}"
        )
    kind = np.where(has[0] & has[1], 1, np.where(has[0], 0, 2))
    chance = np.random.default_rng(seed).permutation(names.size)
    turn = np.empty(names.size, dtype=np.intp)
    turn[np.lexsort((chance, kind))] = np.arange(names.size) % n_folds
    return turn[unit], n_folds


# -----------------------------------------------------------------------------
# An order of rows that depends on what they hold, not on where they stand.
# -----------------------------------------------------------------------------


# Where no more than this share of the rows is alike in the first columns, the others
# are not looked at again.
FEW_TIED = 0.2
# scikit-learn takes seeds below this.
_SEEDS_END = 2**32


def canonical_order(X: Matrix, weights: Array) -> Indices:
    """Return an order in which permuted rows come out alike.

    Rows are sorted by their columns from the first on, as many as it takes to tell
    them apart, and equal rows by their weights. Multiplying a column by a positive
    number changes nothing. With it, folds, subsamples and k-means starts are the same
    whatever order the rows came in. Sparse rows are sorted by a sum of their entries.
    """
    if sparse.issparse(X):
        keys = np.asarray(X @ np.sin(np.arange(1.0, X.shape[1] + 1.0))).ravel()
        return np.lexsort((weights, keys))
    columns = X.shape[1]
    used = 1
    while True:
        order = np.lexsort((weights, *X[:, :used].T[::-1]))
        if used == columns:
            return order
        ordered = X[order, :used]
        same = (ordered[1:] == ordered[:-1]).all(axis=1)
        if not same.any():
            return order
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        if tied.size <= FEW_TIED * order.size:
            # Few are left to be told apart: they keep the places that they share.
            few = np.sort(order[tied])
            order[tied] = few[np.lexsort((weights[few], *X[few].T[::-1]))]
            return order
        used = min(4 * used, columns)


def seed_of_rows(samples: Sequence[Matrix], words: Sequence[str] = ()) -> int:
    """Return a seed by what the rows of samples hold, in whatever order they came.

    It is made of the first eight bytes of SHA-256 over the sorted keys of each sample's
    rows (`row_keys`, missing values alike), the samples in turn: the same rows always
    draw the same, and a row more draws anew. Such a number knows nothing of how far
    samples are apart: a p-value by its draw is as valid as by any other.

    Parameters
    ----------
    samples : sequence of arrays or sparse matrices
    words : sequence of str
        What numbers in the rows stand for, as the names of categories.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> seed_of_rows([X, X]) == seed_of_rows([X[::-1], X])
    True
    >>> seed_of_rows([X, X]) == seed_of_rows([X, X[:1]])
    False
    """
    seen = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass"))
    for rows in samples:
        if not sparse.issparse(rows):
            rows = np.where(np.isnan(rows), np.nan, rows)
        keys = sorted(row_keys(rows, ">"))
        seen.update(f"{rows.shape}".encode())
        for key in keys:
            # A key says how long it is: no two lists of them read alike.
            seen.update(len(key).to_bytes(8, "big") + key)
    return int.from_bytes(seen.digest()[:8], "big") % _SEEDS_END


def spaced_places(n: int, most: int) -> Indices:
    """Return the places of at most so many of n rows, at equal intervals."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)


def some_rows(rows: Array, most: int) -> Array:
    """Return at most so many rows, at equal intervals."""
    return rows[spaced_places(rows.shape[0], most)]


# -----------------------------------------------------------------------------
# What weights are worth, and how to make them less extreme.
# -----------------------------------------------------------------------------


def effective_sample_size(w: ArrayLike) -> float:
    r"""Return :math:`(\sum w)^2 / \sum w^2`, the number of equally weighted rows.

    It says how much averaging the weights leave, and nothing about overlap: disjoint
    samples can show n of n.

    Examples
    --------
    >>> effective_sample_size([1.0, 1.0, 0.0, 0.0])
    2.0
    """
    w = _checked(w)
    peak = float(w.max())
    if peak == 0:
        return 0.0
    # The square of a large weight overflows.
    scaled = w / peak
    return float(scaled.sum()) ** 2 / float(scaled @ scaled)


def powers(weights: Array, exponents: Sequence[float]) -> list[Array]:
    """Return the weights to several powers, each scaled to mean one."""
    base = _of_mean_one(_checked(weights))
    return [_of_mean_one(base**exponent) for exponent in exponents]


def flatten_weights(weights: ArrayLike, exponent: float) -> Array:
    """Return the weights to a power, scaled to mean one.

    Exponent 1 leaves them, 0 makes them uniform, 1/2 is a good compromise.

    Examples
    --------
    >>> flatten_weights([1.0, 4.0], 0.5).round(3)
    array([0.667, 1.333])
    """
    check_number("exponent", exponent, low=0.0, high=1.0)
    return _of_mean_one(_of_mean_one(_checked(weights)) ** exponent)


def clip_weights(weights: ArrayLike, max_weight: float) -> Array:
    """Return weights of mean one, none above `max_weight`, in the same order.

    The largest weights are cut at the level at which, after scaling to mean one, the
    largest is `max_weight`. Where too few weights are positive for that, those become
    `max_weight`, and the rows of weight zero share what is left.

    Examples
    --------
    >>> clip_weights([0.5, 0.5, 0.5, 2.5], 1.6)
    array([0.8, 0.8, 0.8, 1.6])
    """
    check_number("max_weight", max_weight, low=1.0)
    w = _of_mean_one(_checked(weights))
    if w.max() <= max_weight:
        return w
    n, n_positive = w.size, int(np.count_nonzero(w))
    if max_weight * n_positive <= n:
        rest = (n - max_weight * n_positive) / max(n - n_positive, 1)
        return np.where(w > 0, max_weight, rest)
    cut = np.minimum(w, _level(w, max_weight))
    return np.minimum(_of_mean_one(cut), max_weight)


def _level(w: Array, bound: float) -> float:
    """Return the level c at which c over the mean of min(w, c) is the bound."""
    n = w.size
    ascending = np.sort(w)
    # With the k largest cut at c the mean is (sum of the others + k c) / n, and c over
    # that rises with c, so the smallest k whose c reaches the next weight is right.
    k = np.arange(1, n)
    others = np.cumsum(ascending)[:-1][::-1]
    room = n - bound * k
    reaches = bound * others >= room * ascending[:-1][::-1]
    first = int(np.argmax(reaches)) if reaches.any() else n - 2
    # Rounding alone brings the search to where there is no room.
    level = bound * others[first] / room[first] if room[first] > 0 else np.inf
    return float(min(level, ascending[n - 1 - first]))


def _of_mean_one(w: Array) -> Array:
    peak = float(w.max())
    if peak == 0:
        raise InvalidInputError(
            f"all {w.size} weights are zero: they have no mean of one"
        )
    # The sum of weights near the largest float overflows.
    w = w / peak
    return w / w.mean()


def _checked(weights: ArrayLike) -> Array:
    w = np.asarray(weights, dtype=float)
    if w.ndim != 1 or w.size == 0:
        raise InvalidInputError(
            f"weights must be a non-empty vector, got shape {w.shape}"
        )
    if not (np.isfinite(w).all() and (w >= 0).all()):
        row = int(np.argmax(~(np.isfinite(w) & (w >= 0))))
        raise InvalidInputError(
            f"weights must be finite and at least 0, got {w[row]} in row {row}"
        )
    return w


# -----------------------------------------------------------------------------
# Two samples and how much each of their rows counts.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """Source and target rows with their shares.

    Attributes
    ----------
    source, target : matrix of shape (n, d), (m, d)
        Rows that count; those of weight zero are not among them.
    source_share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; positive, sum one.
    source_mass, target_mass : float
        How many rows the samples stand for: a row of weight two is two rows.
    """

    source: Any
    target: Any
    source_share: Array
    target_share: Array
    source_mass: float
    target_mass: float

    @classmethod
    def of(
        cls,
        source: Matrix,
        target: Matrix,
        source_weight: Array | None = None,
        target_weight: Array | None = None,
    ) -> "TwoSamples":
        """Return the samples without their rows of weight zero."""
        sides = []
        for rows, weight in ((source, source_weight), (target, target_weight)):
            counts = np.ones(rows.shape[0]) if weight is None else weight
            if not counts.all():
                rows, counts = rows[counts > 0], counts[counts > 0]
            sides.append((rows, counts, float(counts.sum())))
        (source, counts, mass), (target, counts_target, mass_target) = sides
        return cls(
            source,
            target,
            counts / mass,
            counts_target / mass_target,
            mass,
            mass_target,
        )

    @property
    def both(self) -> list[tuple[Any, Array]]:
        """Rows and shares of the source, then of the target."""
        return [(self.source, self.source_share), (self.target, self.target_share)]

    @property
    def limits(self) -> tuple[Array, Array]:
        """Ends of every column beyond which rows are far outside the bulk."""
        return column_limits(self.both)

    def ordered(self) -> "TwoSamples":
        """Return the rows in their canonical order, whatever order they came in."""
        return self.take(
            canonical_order(self.source, self.source_share),
            canonical_order(self.target, self.target_share),
        )

    def take(self, source_rows: Rows, target_rows: Rows) -> "TwoSamples":
        """Return some rows of each sample, with shares that sum to one again."""
        return TwoSamples.of(
            self.source[source_rows],
            self.target[target_rows],
            self.source_share[source_rows] * self.source_mass,
            self.target_share[target_rows] * self.target_mass,
        )

    def recounted(self, source_rows: Rows, target_rows: Rows) -> "TwoSamples":
        """Return some rows of each sample, what they count worked out by themselves.

        A part of fractional weights is worth what it is worth, not its part of what
        all are worth.
        """
        part = self.take(source_rows, target_rows)
        return TwoSamples.of(
            part.source,
            part.target,
            as_counts(part.source_share * part.source_mass),
            as_counts(part.target_share * part.target_mass),
        )

    def with_rows(self, source: Matrix, target: Matrix) -> "TwoSamples":
        """Return the same shares with other columns."""
        return replace(self, source=source, target=target)


# -----------------------------------------------------------------------------
# One scale a column, from both samples.
# -----------------------------------------------------------------------------


# A source column whose variance is below this share of the target's says little.
NEARLY_CONSTANT = 1e-6
# Squares of numbers below this one may vanish: columns of such are looked at in a unit.
_TINY = 1e-100
_SMALLEST_WITH_INVERSE = 1e-307
# Sparse rows of more columns than these are taken as text is.
FEW_COLUMNS = 100


def pooled_scale(samples: TwoSamples, names: tuple[str, ...] | None = None) -> Array:
    r"""Return :math:`\sqrt{(var_{source} + var_{target}) / 2}` of every column.

    Rows far outside the bulk count as if they lay at `column_limits`, so that a single
    one does not make all others look alike. Never the source's scale alone: a column
    that hardly varies there would swamp all others. Zero for a column that is constant
    over both samples; a column that is constant in each, at two values, gets a
    thousandth of their distance, so that no row of one sample is near the other.

    Sparse rows of more than 100 columns, as text is, have one scale for all columns
    that vary (`common_scale`): rare words, each divided by its own, would be as large
    as all that tells the samples apart.

    Columns of numbers below 1e-100, whose squares may vanish, are looked at in a power
    of two near their largest number, so that any such multiple has the same scale.

    Warns, with the names, where the source hardly varies and the target does.
    """
    exponents = _exponents(samples)
    if exponents.any():
        lifted = samples.with_rows(
            np.ldexp(samples.source, exponents), np.ldexp(samples.target, exponents)
        )
        return np.ldexp(pooled_scale(lifted, names), -exponents)
    both = samples.both
    (mean, variance), (mean_target, variance_target) = [
        _moments(rows, share) for rows, share in both
    ]
    if not sparse.issparse(samples.source):
        low, high = samples.limits
        far = np.zeros(low.size, dtype=bool)
        for rows, _ in both:
            far |= (rows.min(axis=0) < low) | (rows.max(axis=0) > high)
        if far.any():
            cut = [
                _moments(np.clip(rows[:, far], low[far], high[far]), share)
                for rows, share in both
            ]
            (mean[far], variance[far]), (mean_target[far], variance_target[far]) = cut
    if is_wide_and_sparse(samples.source):
        return common_scale(np.sqrt(0.5 * (variance + variance_target)), both)
    return scale_of_moments(
        (mean, variance),
        (mean_target, variance_target),
        names,
        # A word that one sample lacks is no accident of its column.
        warns=not sparse.issparse(samples.source),
    )


def scale_of_moments(
    moments: tuple[Array, Array],
    moments_target: tuple[Array, Array],
    names: tuple[str, ...] | None = None,
    *,
    warns: bool = True,
) -> Array:
    """Return the pooled scale, given the means and variances of both samples."""
    (mean, variance), (mean_target, variance_target) = moments, moments_target
    scale = np.sqrt(0.5 * (variance + variance_target))
    apart = np.abs(mean - mean_target)
    # What rounding makes of the variance of a constant is not a scale.
    noise = 1e-13 * np.maximum(np.abs(mean), np.abs(mean_target))
    constant = scale <= noise
    scale = np.where(constant, np.where(apart > 10 * noise, 1e-3 * apart, 0.0), scale)
    flat = (variance < NEARLY_CONSTANT * variance_target) & ~constant
    if flat.any() and warns:
        some = np.flatnonzero(flat)
        listed = [names[k] if names else f"column {k}" for k in some[:10]]
        if some.size > 10:
            listed.append(f"and {some.size - 10} more")
        values = {"columns": listed}
        warn_user(FindingText(Finding("flat_in_source", WARNING, values)))
    return scale


def is_wide_and_sparse(X: Matrix) -> bool:
    """Return whether rows are sparse and have more than 100 columns."""
    return sparse.issparse(X) and X.shape[1] > FEW_COLUMNS


def common_scale(scale: Array, both: list[tuple[Any, Array]]) -> Array:
    r"""Return one scale for all columns, zero for those that are constant.

    It is the median of the columns' own scales, a column counting by how many entries
    it has that are not zero: half of the entries stand in columns of a smaller one.
    """
    mass = np.zeros(scale.size)
    for rows, share in both:
        found = rows.tocsr().copy()
        found.data = (found.data != 0.0).astype(float)
        mass += np.asarray(share @ found).ravel()
    mass[scale <= 0.0] = 0.0
    order = np.argsort(scale, kind="stable")
    below = np.cumsum(mass[order])
    if below[-1] <= 0.0:
        return np.zeros_like(scale)
    middle = scale[order[np.searchsorted(below, 0.5 * below[-1])]]
    return np.where(scale > 0.0, middle, 0.0)


def far_rows(samples: TwoSamples) -> NDArray[np.bool_]:
    """Return which target rows are far outside the bulk in some column."""
    low, high = samples.limits
    return ((samples.target < low) | (samples.target > high)).any(axis=1)


def rows_scaled(samples: TwoSamples, scale: Array) -> TwoSamples:
    """Return both samples with their columns divided by a scale."""
    return samples.with_rows(
        scale_columns(samples.source, scale), scale_columns(samples.target, scale)
    )


def scale_columns(X: Matrix, scale: Array) -> Matrix:
    """Return the columns divided by their scale; constant ones become zero.

    A scale so small that its inverse is no float divides by itself (in sparse rows: by
    the smallest whose inverse is one).
    """
    small = (scale > 0) & (scale < _SMALLEST_WITH_INVERSE)
    safe = np.maximum(scale, _SMALLEST_WITH_INVERSE) if small.any() else scale
    factor = np.divide(1.0, safe, out=np.zeros_like(scale), where=scale > 0)
    if sparse.issparse(X):
        return (X @ sparse.diags_array(factor)).tocsr()
    scaled = X * factor
    if small.any():
        scaled[:, small] = X[:, small] / scale[small]
    return scaled


def unit_exponents(largest: Array) -> Indices:
    """Return powers of two by which columns of tiny numbers become of size one.

    Zero for columns whose largest number is zero, or 1e-100 or more.

    Examples
    --------
    >>> unit_exponents(np.array([0.0, 2.0**-400, 3.0])).tolist()
    [0, 399, 0]
    """
    tiny = (largest > 0.0) & (largest < _TINY)
    return np.where(tiny, -np.frexp(largest)[1], 0)


def _exponents(samples: TwoSamples) -> Indices:
    if sparse.issparse(samples.source):
        return np.zeros(samples.source.shape[1], dtype=int)
    both = (np.abs(rows).max(axis=0) for rows in (samples.source, samples.target))
    return unit_exponents(np.maximum(*both))


def _moments(X: Matrix, share: Array) -> tuple[Array, Array]:
    """Return the weighted means and variances of the columns."""
    if sparse.issparse(X):
        return sparse_moments(X, share)
    mean = share @ X
    centered = X - mean
    return mean, share @ (centered * centered)


def sparse_moments(X: SparseMatrix, share: Array) -> tuple[Array, Array]:
    """Return the weighted means and variances of the columns of a sparse matrix."""
    entries = X.tocsr().copy()
    mean = np.asarray(share @ entries).ravel()
    # Mean square minus squared mean would leave of a large constant its rounding.
    entries.data = (entries.data - mean[entries.indices]) ** 2
    variance = np.asarray(share @ entries).ravel()
    entries.data = np.ones_like(entries.data)
    stored = np.asarray(share @ entries).ravel()
    full = np.bincount(entries.indices, minlength=X.shape[1]) == X.shape[0]
    zeros = np.where(full, 0.0, np.maximum(1.0 - stored, 0.0))
    return mean, variance + zeros * mean**2


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """How many rows, their means and their summed squares about them."""

    n: int
    mean: Array
    squares: Array

    @property
    def variance(self) -> Array:
        """The variance of every column."""
        return self.squares / self.n

    def __add__(self, later: "ColumnMoments") -> "ColumnMoments":
        """Return the moments of both, by Chan's formula, which loses no digits."""
        n = self.n + later.n
        apart = later.mean - self.mean
        return ColumnMoments(
            n,
            self.mean + apart * (later.n / n),
            self.squares + later.squares + apart**2 * (self.n * later.n / n),
        )


def moments_of_block(
    limits: tuple[Array, Array], rows: Array, first: int
) -> ColumnMoments:
    """Return the moments of a block's rows, those far out put at the limits."""
    cut = np.clip(rows, *limits)
    mean = cut.mean(axis=0)
    return ColumnMoments(len(cut), mean, ((cut - mean) ** 2).sum(axis=0))
