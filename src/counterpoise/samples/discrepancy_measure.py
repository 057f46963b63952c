"""The discrepancy of two samples: how far apart hypotheses of a class can see them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.hypotheses import (
    check_hypotheses,
    hypotheses,
    precomputed_gram,
)
from counterpoise.samples.moment_pair import DiscrepancySpectrum, MomentPair
from counterpoise.samples.ordering import canonical_order, seed_of_rows
from counterpoise.samples.scaling import pooled_scale, scale_columns
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.columns import two_tables
from counterpoise.tables.encoding import TableEncoder
from counterpoise.validation import (
    InvalidInput,
    Matrix,
    as_matrix,
    as_seed,
    check_integer,
    column_names,
    target_pieces,
    two_samples,
    weights_of_both,
)
from counterpoise.validation.frames import sparse_part


def discrepancy(
    X: Any,
    X_target: Any,
    *,
    kernel: str = "linear",
    gamma: float | str = "median",
    degree: int = 3,
    coef0: float = 1.0,
    add_constant: bool = False,
    standardize: bool = False,
    sample_weight: Any = None,
    target_weight: Any = None,
) -> float:
    r"""Return the discrepancy of two samples for the squared loss.

    With shares :math:`p` of the source and :math:`q` of the target rows (1/n and 1/m
    without weights) and the features :math:`\phi` of the kernel,

    .. math::

        \Bigl\| \sum_j q_j \phi(t_j) \phi(t_j)' - \sum_i p_i \phi(x_i) \phi(x_i)'
        \Bigr\|_2,

    the largest absolute eigenvalue. Over hypotheses with
    :math:`\|h\|_K \le \Lambda` the largest difference between the mean squared
    disagreements of two of them on target and source is :math:`4 \Lambda^2` times that
    number: the factor is **not** in it (it is the discrepancy for
    :math:`\Lambda = 1/2`), and `counterpoise.evaluation.bounds` puts it in.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n, d)
        The source rows. A table with categories, dates or missing values is read by
        `TableEncoder`. Precomputed: the rows of the Gram matrix of all source and then
        all target rows that belong to the source, (n, n + m).
    X_target : the same of shape (m, d), or a tuple of such
        The target rows. Precomputed: the other rows, (m, n + m).
    kernel : {"linear", "rbf", "poly", "precomputed"}
        :math:`x'y`, :math:`\exp(-\gamma |x - y|^2)` or
        :math:`(\gamma x'y + c_0)^{degree}`.
    gamma : float or "median"
        Of the kernel. "median": one half over the squared median of the distances
        between different rows of both samples together, each of which counts half.
    degree, coef0 : int, float
        Of the polynomial kernel.
    add_constant : bool
        Whether hypotheses have a constant: the kernel plus one. Without it a shift of
        the mean is seen through second moments alone.
    standardize : bool
        Whether columns are divided by their pooled scale first. Without it the column
        with the largest numbers decides. A precomputed kernel is taken as it is.
    sample_weight, target_weight : array of shape (n,), (m,)
        What the rows count in every mean; only their ratios within a sample matter.

    Returns
    -------
    float

    Notes
    -----
    With a universal kernel, such as "rbf", the discrepancy of two distributions on a
    compact set is zero if and only if they are equal; with "linear" if and only if
    their second moments are.

    Linear: :math:`O((n + m) d^2 + d^3)`. Other kernels, and more columns than rows:
    :math:`O((n + m)^3)` from the Gram matrix, in which sparse rows stay sparse. Of more
    than 1,500 rows it is that of a block Lanczos run from a fixed start, twenty
    products with the kernel, which is stored in single precision or computed anew where
    memory asks for it; it may then be too low in the last digits.

    References
    ----------
    Y. Mansour, M. Mohri and A. Rostamizadeh, 2009. C. Cortes and M. Mohri, 2011.

    Examples
    --------
    >>> discrepancy([[1.0], [3.0]], [[2.0], [4.0]])
    5.0
    """
    samples = _Samples.of(
        X, X_target, sample_weight, target_weight, kernel, gamma, degree, coef0,
        add_constant, standardize,
    )  # fmt: skip
    return samples.pair.norm(samples.shares)


def discrepancy_spectrum(
    X: Any,
    X_target: Any,
    *,
    kernel: str = "linear",
    gamma: float | str = "median",
    degree: int = 3,
    coef0: float = 1.0,
    add_constant: bool = False,
    standardize: bool = False,
    sample_weight: Any = None,
    target_weight: Any = None,
    n_permutations: int = 0,
    random_state: Any = None,
) -> DiscrepancySpectrum:
    """Return the spectrum behind the discrepancy: how far apart, and in what.

    All parameters of `discrepancy`, and two more.

    Parameters
    ----------
    X, X_target : array-like, frame or sparse matrix of shape (n, d), (m, d)
        The source and the target rows, as in `discrepancy`.
    kernel, gamma, degree, coef0, add_constant, standardize : as in `discrepancy`
        The hypotheses.
    sample_weight, target_weight : array of shape (n,), (m,)
        What the rows count in every mean; only their ratios within a sample matter.
    n_permutations : int
        How often the rows are divided anew, by chance, for the p-value; 0: none.
    random_state : int, RandomState or None
        Where the permutations come from; None: from what the rows hold, so that the
        same rows get the same answer.

    Returns
    -------
    DiscrepancySpectrum

    Notes
    -----
    The p-value compares the discrepancy with that of permuted samples, (1 + number as
    large) / (1 + `n_permutations`): it is exact without weights, and with them a row
    takes its weight along. A permutation costs what the discrepancy itself costs, but
    for the Gram matrix and its factor.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(2, 200, 3))
    >>> X_target[:, 1] *= 3
    >>> found = discrepancy_spectrum(X, X_target, n_permutations=99, random_state=0)
    >>> found.ranking[0][0], found.signed[0] > -found.signed[1], found.p_value
    ('x1', True, 0.01)
    """
    check_integer("n_permutations", n_permutations, low=0)
    samples = _Samples.of(
        X, X_target, sample_weight, target_weight, kernel, gamma, degree, coef0,
        add_constant, standardize,
    )  # fmt: skip
    found = samples.pair.spectrum(samples.shares)
    if n_permutations == 0:
        return found
    seed = as_seed(samples.own_seed if random_state is None else random_state)
    return replace(found, p_value=_p_value(samples, found.value, n_permutations, seed))


@dataclass(frozen=True, eq=False)
class _Samples:
    """Two samples in the order in which they came, with what their rows count."""

    pair: MomentPair
    mass: Array
    n: int

    @classmethod
    def of(
        cls,
        X: Any,
        X_target: Any,
        sample_weight: Any,
        target_weight: Any,
        kernel: str,
        gamma: float | str,
        degree: int,
        coef0: float,
        add_constant: bool,
        standardize: bool,
    ) -> "_Samples":
        check_hypotheses(kernel, gamma, degree, coef0)
        source, target, names = named_numbers(
            X, X_target, sample_weight=sample_weight, target_weight=target_weight
        )
        n, m = source.shape[0], target.shape[0]
        w, v = weights_of_both(sample_weight, target_weight, n, m)
        gram = None
        if kernel == "precomputed":
            gram = precomputed_gram(source, target, add_constant)
        elif standardize:
            scale = pooled_scale(TwoSamples.of(source, target, w, v), names)
            source, target = (scale_columns(rows, scale) for rows in (source, target))
        counted = TwoSamples.of(source, target, w, v)
        seen = hypotheses(counted, kernel, gamma, degree, coef0, add_constant)
        pair = MomentPair.of(seen, source, target, names, gram)
        return cls(pair, np.concatenate([w, v]), n)

    @property
    def own_seed(self) -> int:
        """A seed by what the rows that count hold (`seed_of_rows`).

        Of a precomputed kernel by the sorted values of each of them with all: its
        columns follow the order of the rows.
        """
        counts = np.flatnonzero(self.mass > 0.0)
        rows = self.pair.rows[counts]
        if self.pair.gram is not None:
            rows = np.sort(self.pair.gram[np.ix_(counts, counts)], axis=1)
        n = int(np.count_nonzero(self.mass[: self.n]))
        return seed_of_rows([rows[:n], rows[n:]])

    @property
    def shares(self) -> Array:
        """Source shares with a minus sign, then target shares."""
        w, v = self.mass[: self.n], self.mass[self.n :]
        return np.concatenate([-w / w.sum(), v / v.sum()])


def named_numbers(
    X: Any, X_target: Any, *, sample_weight: Any = None, target_weight: Any = None
) -> tuple[Matrix, Matrix, tuple[str, ...]]:
    """Return both samples as numbers, and which column each of theirs comes from.

    Tables of finite numbers, dense or sparse, leave as they are; those with categories,
    dates or missing values are encoded by `TableEncoder`. Columns without a name are
    called x0, x1 and so on.
    """
    if X_target is None:
        raise InvalidInput("X_target is None: two samples are needed")
    parts = [X, *target_pieces(X_target).values()]
    if any(sparse.issparse(sparse_part(part)) for part in parts):
        source, target = two_samples(X, X_target, accept_sparse=True)
        assert target is not None
        names = column_names(X) or tuple(f"x{j}" for j in range(source.shape[1]))
        return source, target, names
    tables = two_tables(X, X_target)
    labels = {column.label: column.name for column in tables[0].columns}
    if all(table.is_plain for table in tables):
        source, target = (
            as_matrix(table.matrix(), name=name)
            for table, name in zip(tables, ("X", "X_target"), strict=True)
        )
        return source, target, tuple(labels.values())
    encoder = TableEncoder()
    source, target = encoder.fit_transform(
        *tables, sample_weight=sample_weight, target_weight=target_weight
    )
    return source, target, tuple(labels[label] for label in encoder.columns_)


def _p_value(samples: _Samples, value: float, n_permutations: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    counted = _counted(samples)
    n = int(np.count_nonzero(samples.mass[: samples.n]))
    mass = samples.mass[counted]
    # Rounding must not tell apart what is equal.
    limit = value - 1e-12 * float(np.abs(samples.shares) @ samples.pair.squares)
    as_large = 0
    for _ in range(n_permutations):
        chosen = np.zeros(counted.size, dtype=bool)
        chosen[rng.permutation(counted.size)[:n]] = True
        shares = np.zeros(samples.mass.size)
        shares[counted] = np.where(
            chosen, -mass / mass[chosen].sum(), mass / mass[~chosen].sum()
        )
        as_large += samples.pair.norm(shares) >= limit
    return (1 + as_large) / (1 + n_permutations)


def _counted(samples: _Samples) -> Indices:
    """Return the rows of positive weight in an order that does not depend on theirs."""
    rows, mass, gram = samples.pair.rows, samples.mass, samples.pair.gram
    if gram is not None:
        # The columns of a Gram matrix have the order of its rows: no key by themselves.
        rows = np.column_stack([gram.sum(axis=1), gram.diagonal()])
    found = []
    for part in (slice(0, samples.n), slice(samples.n, None)):
        places = np.arange(mass.size)[part][mass[part] > 0]
        found.append(places[canonical_order(rows[places], mass[places])])
    return np.concatenate(found)
