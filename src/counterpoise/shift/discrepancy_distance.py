"""The discrepancy distance of two samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import eigh, eigvalsh

from counterpoise.data.arrays import Matrix, as_matrix, target_pieces, two_samples
from counterpoise.data.encoder import TableEncoder
from counterpoise.data.frames import column_names, sparse_part
from counterpoise.data.labels_and_weights import weights_of_both
from counterpoise.data.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    as_seed,
    check_integer,
    check_parameters,
)
from counterpoise.data.table import two_tables
from counterpoise.data.two_samples import (
    TwoSamples,
    canonical_order,
    pooled_scale,
    scale_columns,
    seed_of_rows,
)
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import (
    KERNELS,
    Kernel,
    KernelMatrix,
    StoredMatrix,
    check_definite,
    refuse_indefinite,
    store_kernel_matrix,
)
from counterpoise.optim.spectral.problem import (
    Discrepancy,
    KernelDiscrepancy,
    RitzPairs,
    kernel_ritz,
)
from counterpoise.shift.two_sample_tests import (
    divided_shares,
    pooled_gamma,
    stack_rows,
)

# -----------------------------------------------------------------------------
# The hypotheses that a discrepancy compares two samples by: a kernel, a constant.
# -----------------------------------------------------------------------------


# Sparse tables with no more columns than this are made dense: they are no text.
DENSE_COLUMNS = 500
# A kernel may differ from its transpose, and be indefinite, by this share of its size.
KERNEL_ASYMMETRY, KERNEL_INDEFINITE = 1e-8, 1e-9
# What the parameters of a kernel may be; `refuse_indefinite` looks at them together.
HYPOTHESES_RULES: Mapping[str, Rule] = {
    "kernel": Choice(KERNELS),
    "gamma": Number(0.0, closed="neither", options=("median",)),
    "degree": Integer(1),
    "coef0": Number(),
}


def hypotheses(
    samples: TwoSamples,
    kernel: str,
    gamma: float | str,
    degree: int,
    coef0: float,
    constant: bool,
) -> Kernel:
    r"""Return the kernel of a ball of functions :math:`\|h\|_K \le 1/2`.

    "median" is replaced by what it means for the two samples; `constant` adds one to
    the kernel, which adds a constant to the functions.
    """
    number = 1.0 if isinstance(gamma, str) else float(gamma)
    if gamma == "median" and kernel in ("rbf", "poly"):
        number = pooled_gamma(samples)
    return Kernel(kernel, number, int(degree), float(coef0), float(bool(constant)))


def kernel_matrix(
    kernel: Kernel, rows: Matrix | None, gram: Array | None = None
) -> KernelMatrix:
    """Return the kernel of all rows, stored as exactly as memory allows.

    `gram` is it where it was precomputed, the constant included.
    """
    return (
        StoredMatrix(gram)
        if gram is not None
        else store_kernel_matrix(kernel.entries(rows))
    )


def check_hypotheses(
    kernel: str, gamma: float | str, degree: int, coef0: float
) -> None:
    """Refuse a kernel that is none, or numbers that make it indefinite."""
    parameters = SimpleNamespace(kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
    check_parameters(parameters, HYPOTHESES_RULES)
    refuse_indefinite(kernel, coef0)


def precomputed_gram(source: Array, target: Array, constant: bool) -> Array:
    """Return the Gram matrix of source then target rows, once it is found to be one."""
    q = source.shape[0] + target.shape[0]
    if sparse.issparse(source) or source.shape[1] != q:
        raise InvalidInputError(
            "kernel 'precomputed' takes rows of the Gram matrix of all "
            f"{source.shape[0]} source and then all {target.shape[0]} target rows: X "
            f"and X_target must be dense and have {q} columns, got {source.shape[1]}"
        )
    gram = np.vstack([source, target])
    size = max(float(np.abs(gram).max()), 1e-300)
    apart = np.abs(gram - gram.T)
    if apart.max() > KERNEL_ASYMMETRY * size:
        i, j = np.unravel_index(int(np.argmax(apart)), gram.shape)
        raise InvalidInputError(
            f"a precomputed kernel must be symmetric, got {gram[i, j]:g} in row {i}, "
            f"column {j} and {gram[j, i]:g} in row {j}, column {i}, the target's rows "
            "counted after the source's"
        )
    gram = 0.5 * (gram + gram.T)
    check_definite(gram, KERNEL_INDEFINITE * q * size)
    return gram + 1.0 if constant else gram


# -----------------------------------------------------------------------------
# The problem of least discrepancy that two samples pose.
# -----------------------------------------------------------------------------


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

    problem: Discrepancy | KernelDiscrepancy
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
        result: Array = self.start * ((mass / self.group_share) ** exponent)[self.rows]
        return result / result.sum()


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
        Rows on scaled columns in canonical order, so that equal rows are neighbors.
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
    groups, first = _equal_neighbors(source)
    share: Array = np.bincount(groups, samples.source_share).astype(float)
    if cap is None and spread == 0.0:
        rows = np.arange(first.size)
    else:
        copies = _copies(samples)
        if copies is None:
            counts = samples.source_share * samples.source_mass
            raise InvalidInputError(
                "cap and spread need source rows that count the same, or small whole "
                f"numbers of times: sample_weight goes from {counts.min():g} to "
                f"{counts.max():g}"
            )
        rows = groups[np.repeat(np.arange(n), copies)]
    target_rows, first_aim = _equal_neighbors(target)
    aim_share: Array = np.bincount(target_rows, samples.target_share).astype(float)
    bound = None if cap is None else cap / rows.size
    chosen = source[first[rows]], target[first_aim]
    problem: Discrepancy | KernelDiscrepancy
    is_sparse = sparse.issparse(source)
    if hypotheses.kind == "linear" and not (
        is_sparse and source.shape[1] > DENSE_COLUMNS
    ):
        x, t = (rows.toarray() if is_sparse else rows for rows in chosen)
        if hypotheses.constant:
            x, t = (np.column_stack([rows, np.ones(len(rows))]) for rows in (x, t))
        problem = Discrepancy.of(x, t, aim_share, bound, spread)
    else:
        if gram is None:
            kernel = kernel_matrix(hypotheses, stack_rows(*chosen))
        else:
            places = np.concatenate([first[rows], n + first_aim])
            kernel = StoredMatrix(gram[np.ix_(places, places)])
        problem = KernelDiscrepancy(kernel, aim_share, bound, spread)
    posed = PosedDiscrepancy(problem, groups, rows, share)
    start = posed.start
    if np.ptp(start) > 1e-12 * start.max():
        # The gap is measured by the source as it is, not by its distinct rows.
        norm = problem.norm(start)
        posed = replace(posed, problem=replace(problem, reference=norm))
    return posed


def _equal_neighbors(rows: Matrix) -> tuple[Indices, Indices]:
    """Return the number of every row's group of equal rows, and each group's first."""
    if sparse.issparse(rows):
        apart = sparse.csr_array(rows[1:] - rows[:-1])
        apart.eliminate_zeros()
        differs = np.diff(apart.indptr) > 0
    else:
        differs = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.concatenate([[True], differs])
    return np.cumsum(starts) - 1, np.flatnonzero(starts)


def may_be_spread(samples: TwoSamples) -> bool:
    """Return whether rows count the same, or small whole numbers of times."""
    return _copies(samples) is not None


def _copies(samples: TwoSamples) -> Indices | None:
    """Return how often each source row is to be written out, None if too often."""
    counts = samples.source_share * samples.source_mass
    if np.ptp(counts) <= 1e-9 * counts.max():
        return np.ones(counts.size, dtype=np.intp)
    copies = np.rint(counts).astype(np.intp)
    is_whole = np.abs(counts - copies).max() <= 1e-9 * counts.max()
    return copies if is_whole and copies.sum() <= MOST_COPIES * counts.size else None


# -----------------------------------------------------------------------------
# The second moments of two samples as a class of hypotheses sees them.
# -----------------------------------------------------------------------------


# Eigenvalues below this share of the largest are rounding.
ROUNDED_EIGENVALUE = 1e-11
# Columns, and rows of a kernel, up to which all eigenvalues are computed.
EIGEN_COLUMNS, EIGEN_ROWS = 4_000, 1_500
# Columns and steps of a Lanczos run, and eigenvalues of each end that it gives.
LANCZOS_BLOCK, LANCZOS_RUN, LANCZOS_ENDS = 8, 20, 8
CONSTANT = "(constant)"


@dataclass(frozen=True, eq=False)
class DiscrepancySpectrum:
    """The difference of two second-moment operators by its eigenvalues.

    ``float`` of it is `value`.

    Attributes
    ----------
    eigenvalues : array
        All eigenvalues, the largest first; of a kernel those that are not zero, and of
        more than 1,500 rows (linear: and 4,000 columns) eight of each end.
    signed : tuple of float
        The largest and the smallest eigenvalue, zero where none has that sign. The
        first, positive, belongs to a direction in which the target varies more than the
        source: there a model extrapolates. The second, negative, to a direction in
        which the source has more than the target needs.
    value : float
        The largest absolute eigenvalue: the discrepancy.
    direction : array
        The worst direction, of norm one, its largest entry positive. Of the linear
        kernel an entry a column (of the encoded table, the constant last); of others
        the value of the function at every row, source rows first.
    ranking : tuple of (name or place, share)
        Linear: columns by their share of the squared direction, largest first; columns
        that encode one column of the table are taken together. Other kernels: places of
        rows, source rows first, by their share of the sum of squared values.
    p_value : float or None
        Chance of a discrepancy as large where nothing has shifted; None if no
        permutation was asked for.
    kernel, gamma : str, float
        The kernel, and the number used.
    """

    eigenvalues: Array = field(repr=False)
    signed: tuple[float, float]
    direction: Array = field(repr=False)
    ranking: tuple[tuple[str | int, float], ...] = field(repr=False)
    p_value: float | None
    kernel: str
    gamma: float

    @property
    def value(self) -> float:
        """The largest absolute eigenvalue."""
        return max(self.signed[0], -self.signed[1])

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        chance = "" if self.p_value is None else f", p = {self.p_value:.3g}"
        top = self.ranking[:3]
        worst = ", ".join(f"{name} {share:.0%}" for name, share in top)
        if self.kernel != "linear":
            worst = f"rows {', '.join(str(place) for place, _ in top)}"
        return (
            f"discrepancy {self.value:.4g} (eigenvalues {self.signed[1]:.4g} to "
            f"{self.signed[0]:.4g}{chance}; worst direction: {worst})"
        )


@dataclass(frozen=True, eq=False)
class MomentPair:
    """Rows of both samples, source rows first, and the operators they add up to.

    For shares d of all rows, negative for the source, the operator is
    :math:`\\sum_i d_i \\phi(x_i) \\phi(x_i)'`.

    Attributes
    ----------
    hypotheses : Kernel
    rows : matrix of shape (q, d)
        Of the linear kernel with its column of ones.
    names : tuple
        Of the columns of `rows`; several may come from one column of a table.
    gram : array of shape (q, q) or None
        A precomputed kernel.
    """

    hypotheses: Kernel
    rows: Matrix
    names: tuple[str, ...]
    gram: Array | None = None

    @classmethod
    def of(
        cls,
        hypotheses: Kernel,
        source: Matrix,
        target: Matrix,
        names: tuple[str, ...],
        gram: Array | None = None,
    ) -> "MomentPair":
        """Return the pair of two samples, on columns as they are to be compared."""
        rows = stack_rows(source, target)
        if hypotheses.kind == "linear" and hypotheses.constant:
            ones = np.ones((rows.shape[0], 1))
            if sparse.issparse(rows):
                rows = sparse.hstack([rows, ones]).tocsr()
            else:
                rows = np.hstack([rows, ones])
            names = (*names, CONSTANT)
        return cls(hypotheses, rows, names, gram)

    @property
    def by_columns(self) -> bool:
        """Whether the operator is a matrix of the columns."""
        if self.hypotheses.kind != "linear":
            return False
        most = DENSE_COLUMNS if sparse.issparse(self.rows) else EIGEN_COLUMNS
        return bool(self.rows.shape[1] <= min(self.rows.shape[0], most))

    @cached_property
    def kernel(self) -> KernelMatrix:
        """The kernel of all rows."""
        # A linear kernel has its constant in the rows already.
        linear = self.hypotheses.kind == "linear"
        kind = Kernel("linear") if linear else self.hypotheses
        return kernel_matrix(kind, self.rows, self.gram)

    @cached_property
    def factor(self) -> Array:
        """F with FF' the kernel of all rows, from its eigenvectors; O(q^3)."""
        K = self.kernel.block(slice(None), slice(None))
        values, vectors = eigh(K, check_finite=False)
        kept = values > ROUNDED_EIGENVALUE * max(float(values[-1]), 0.0)
        if not kept.any():
            return np.zeros((len(values), 1))
        return vectors[:, kept] * np.sqrt(values[kept])

    @cached_property
    def squares(self) -> Array:
        """The squared norm of every row."""
        if not self.by_columns:
            diagonal: Array = self.kernel.diagonal()
            return diagonal
        return np.asarray((self.rows * self.rows).sum(axis=1)).ravel()

    def norm(self, shares: Array) -> float:
        """Return the largest absolute eigenvalue; by Lanczos for many rows."""
        if not self._is_small:
            values = self._ritz(shares).values
        else:
            values = eigvalsh(self._operator(shares), check_finite=False)
        return float(max(values[-1], -values[0], 0.0))

    def spectrum(self, shares: Array) -> DiscrepancySpectrum:
        """Return eigenvalues, both ends and the worst direction."""
        if self._is_small:
            values, vectors = eigh(self._operator(shares), check_finite=False)
            worst = int(np.argmax(np.abs(values)))
            direction = self._seen(vectors[:, worst])
        else:
            ritz = self._ritz(shares)
            values = ritz.values
            worst = int(np.argmax(np.abs(values)))
            direction = ritz.images[:, worst]
            if self.hypotheses.kind == "linear":
                direction = self.rows.T @ ritz.coefficients[:, worst]
        signed = max(float(values[-1]), 0.0), min(float(values[0]), 0.0)
        if not self.by_columns:
            values = values[np.abs(values) > ROUNDED_EIGENVALUE * np.abs(values[worst])]
        sign = 1.0 if direction[np.argmax(np.abs(direction))] >= 0 else -1.0
        return DiscrepancySpectrum(
            eigenvalues=values[::-1].copy(),
            signed=signed,
            direction=sign * direction,
            ranking=self._ranking(direction),
            p_value=None,
            kernel=str(self.hypotheses.kind),
            gamma=self.hypotheses.gamma,
        )

    @property
    def _is_small(self) -> bool:
        return self.by_columns or bool(self.rows.shape[0] <= EIGEN_ROWS)

    def _operator(self, shares: Array) -> Array:
        rows = self.rows if self.by_columns else self.factor
        if sparse.issparse(rows):
            return (rows.T @ (sparse.diags_array(shares) @ rows)).toarray()
        return rows.T @ (rows * shares[:, None])

    def _ritz(self, shares: Array) -> RitzPairs:
        start = np.random.default_rng(0).standard_normal((shares.size, LANCZOS_BLOCK))
        return kernel_ritz(
            self.kernel.product,
            shares,
            shares[:, None] * start,
            LANCZOS_RUN,
            LANCZOS_ENDS,
            self.kernel.cut,
        )

    def _seen(self, vector: Array) -> Array:
        """Return a direction by columns, or its values at all rows."""
        if self.by_columns:
            return vector
        if self.hypotheses.kind != "linear":
            return self.factor @ vector
        # The coefficients a with u = sum a_i x_i: F'a is the vector, FF' the kernel.
        lengths = np.einsum("ij,ij->j", self.factor, self.factor)
        coefficients = self.factor @ (vector / np.where(lengths > 0, lengths, 1.0))
        return np.asarray(self.rows.T @ coefficients).ravel()

    def _ranking(self, direction: Array) -> tuple[tuple[str | int, float], ...]:
        squares = direction**2
        total = max(float(squares.sum()), float(np.finfo(float).tiny))
        by_name = self.hypotheses.kind == "linear"
        names: Sequence[str | int] = self.names if by_name else range(squares.size)
        result: dict[str | int, float] = {}
        for name, square in zip(names, squares.tolist(), strict=True):
            result[name] = result.get(name, 0.0) + square / total
        return tuple(sorted(result.items(), key=lambda item: -item[1]))


# -----------------------------------------------------------------------------
# The discrepancy of two samples: how far apart hypotheses of a class can see them.
# -----------------------------------------------------------------------------


def discrepancy(
    X: ArrayLike,
    X_target: ArrayLike,
    *,
    kernel: str = "linear",
    gamma: float | str = "median",
    degree: int = 3,
    coef0: float = 1.0,
    add_constant: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
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
    :math:`\Lambda = 1/2`), and `counterpoise.bounds` puts it in.

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
    check_hypotheses(kernel, gamma, degree, coef0)
    pair, mass, n = _moment_pair(
        (X, X_target, sample_weight, target_weight),
        (kernel, gamma, degree, coef0, add_constant),
        standardize,
    )
    return pair.norm(_signed_shares(mass, n))


def discrepancy_spectrum(
    X: ArrayLike,
    X_target: ArrayLike,
    *,
    kernel: str = "linear",
    gamma: float | str = "median",
    degree: int = 3,
    coef0: float = 1.0,
    add_constant: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
    n_permutations: int = 0,
    random_state: int | np.random.RandomState | None = None,
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
    check_hypotheses(kernel, gamma, degree, coef0)
    pair, mass, n = _moment_pair(
        (X, X_target, sample_weight, target_weight),
        (kernel, gamma, degree, coef0, add_constant),
        standardize,
    )
    shares = _signed_shares(mass, n)
    result = pair.spectrum(shares)
    if n_permutations == 0:
        return result
    # Rows that count, in an order that does not depend on theirs.
    counted = _canonical_places(pair, mass, n)
    n_counted = int(np.count_nonzero(mass[:n]))
    if random_state is None:
        rows = pair.rows[counted]
        if pair.gram is not None:
            # Its columns follow the order of the rows.
            rows = np.sort(pair.gram[np.ix_(counted, counted)], axis=1)
        random_state = seed_of_rows([rows[:n_counted], rows[n_counted:]])
    rng = np.random.default_rng(as_seed(random_state))
    # Rounding must not tell apart what is equal.
    limit = result.value - 1e-12 * float(np.abs(shares) @ pair.squares)
    as_large = 1
    for _ in range(n_permutations):
        divided = np.zeros(mass.size)
        divided[counted] = -divided_shares(mass[counted], n_counted, rng)
        as_large += pair.norm(divided) >= limit
    return replace(result, p_value=as_large / (1 + n_permutations))


def _moment_pair(
    samples: tuple[ArrayLike, ArrayLike, ArrayLike | None, ArrayLike | None],
    kernel: tuple[str, float | str, int, float, bool],
    standardize: bool,
) -> tuple[MomentPair, Array, int]:
    """Return the rows of both samples, what each counts, and the source's number."""
    X, X_target, sample_weight, target_weight = samples
    source, target, names = named_numbers(
        X, X_target, sample_weight=sample_weight, target_weight=target_weight
    )
    n, m = source.shape[0], target.shape[0]
    w, v = weights_of_both(sample_weight, target_weight, n, m)
    gram = None
    if kernel[0] == "precomputed":
        gram = precomputed_gram(source, target, kernel[-1])
    elif standardize:
        scale = pooled_scale(TwoSamples.of(source, target, w, v), names)
        source, target = (scale_columns(rows, scale) for rows in (source, target))
    seen = hypotheses(TwoSamples.of(source, target, w, v), *kernel)
    pair = MomentPair.of(seen, source, target, names, gram)
    return pair, np.concatenate([w, v]), n


def _signed_shares(mass: Array, n: int) -> Array:
    """Return source shares with a minus sign, then target shares."""
    return np.concatenate([-mass[:n] / mass[:n].sum(), mass[n:] / mass[n:].sum()])


def named_numbers(
    X: ArrayLike,
    X_target: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
) -> tuple[Matrix, Matrix, tuple[str, ...]]:
    """Return both samples as numbers, and which column each of theirs comes from.

    Tables of finite numbers, dense or sparse, leave as they are; those with categories,
    dates or missing values are encoded by `TableEncoder`. Columns without a name are
    called x0, x1 and so on.
    """
    if X_target is None:
        raise InvalidInputError("X_target is None: two samples are needed")
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


def _canonical_places(pair: MomentPair, mass: Array, n: int) -> Indices:
    """Return the rows of positive weight in an order that does not depend on theirs."""
    rows = pair.rows
    if pair.gram is not None:
        # The columns of a Gram matrix have the order of its rows: no key by themselves.
        rows = np.column_stack([pair.gram.sum(axis=1), pair.gram.diagonal()])
    parts = np.flatnonzero(mass[:n]), n + np.flatnonzero(mass[n:])
    ordered = [part[canonical_order(rows[part], mass[part])] for part in parts]
    return np.concatenate(ordered)
