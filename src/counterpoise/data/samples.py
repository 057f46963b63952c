"""Source and target, validated once, with weights and groups."""

import operator
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import comb
from scipy.stats import rankdata

from counterpoise.data.arrays import Matrix, check_moderate, target_pieces, two_samples
from counterpoise.data.blocks import Blocks, sample_to_decide_on
from counterpoise.data.encoder import TableEncoder, as_numbers, encoded_rows, encoder_of
from counterpoise.data.frames import (
    column_labels,
    column_names,
    is_missing,
    sparse_part,
    string_names,
)
from counterpoise.data.labels_and_weights import as_counts, weights_of_both
from counterpoise.data.parallel import map_reduce
from counterpoise.data.progress import announce
from counterpoise.data.table import Table, two_tables
from counterpoise.data.two_samples import (
    ColumnMoments,
    Rows,
    TwoSamples,
    canonical_order,
    effective_sample_size,
    moments_of_block,
    pooled_scale,
    scale_of_moments,
    seed_of_rows,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# Rows that belong together: groups, or blocks of time.
# -----------------------------------------------------------------------------


GROUPS, BLOCKS = "groups", "blocks of time"
# Blocks of a sample: at most, at least, and how many times as long as the memory of the
# slowest column they should be.
MOST_BLOCKS, FEWEST_BLOCKS, BLOCK_IN_MEMORIES = 20, 6, 5.0
# With fewer units of a sample nothing can be told.
FEWEST_UNITS = 5
# A sum of autocorrelations ends at so many times its own value (Sokal).
_WINDOW = 5.0


@dataclass(frozen=True, eq=False)
class RowUnits:
    """Which rows of two samples belong together.

    Attributes
    ----------
    kind : str
        "groups" or "blocks of time".
    source, target : array of int of shape (n,), (m,)
        The number of the unit that each row belongs to, in the user's order of rows; a
        number that both have is one unit with rows in either sample.
    """

    kind: str
    source: Indices = field(repr=False)
    target: Indices = field(repr=False)

    @classmethod
    def of_groups(
        cls, groups: object, groups_target: object, n: int, m: int
    ) -> "RowUnits":
        """Return units by the names of groups; None: every row is a group of its own.

        A name that both samples have is one group.
        """
        numbers: dict[Hashable, int] = {}
        source = _numbered(groups, n, "groups", numbers)
        target = _numbered(groups_target, m, "groups_target", numbers)
        alone = np.arange(len(numbers), len(numbers) + n + m)
        return cls(
            GROUPS,
            alone[:n] if source is None else source,
            alone[n:] if target is None else target,
        )

    @classmethod
    def of_time(
        cls, time: object, time_target: object, source: Matrix, target: Matrix
    ) -> "RowUnits":
        r"""Return blocks of neighbors in time, in each sample by itself.

        A sample of n rows has :math:`n / (5 \tau)` blocks of about equal length, but no
        fewer than 6 and no more than 20, with :math:`\tau` the longest memory of a
        column in either sample (`memory`): the means of neighboring blocks of an
        autoregression have a correlation of 0.06 then. Rows of one time are in one
        block.

        Parameters
        ----------
        time, time_target : array-like of shape (n,), (m,)
            Numbers or dates, to be put in order. `time` alone may have n + m: one
            sequence, the source's first.
        source, target : array of shape (n, d), (m, d)
            The rows as numbers.
        """
        n, m = source.shape[0], target.shape[0]
        whole = _times(time, "time")
        if time_target is None:
            if whole.size != n + m:
                raise InvalidInputError(
                    f"time has {whole.size} entries: give the {n} of the source and "
                    f"time_target with the {m} of the target, or all {n + m} as one"
                )
            both = [whole[:n], whole[n:]]
        else:
            both = [whole, _times(time_target, "time_target")]
            for name, one, size in zip(
                ("time", "time_target"), both, (n, m), strict=True
            ):
                _check_size(name, one.size, size)
        orders = [_order(one) for one in both]
        longest = max(
            memory(rows[order])
            for rows, order in zip((source, target), orders, strict=True)
        )
        numbers = [
            _blocks(one, order, n_blocks(one.size, longest))
            for one, order in zip(both, orders, strict=True)
        ]
        return cls(BLOCKS, numbers[0], numbers[1] + numbers[0].max() + 1)

    def kept(self, rows: Rows, target_rows: Rows) -> "RowUnits":
        """Return the units of some rows of each sample."""
        return RowUnits(self.kind, self.source[rows], self.target[target_rows])

    def in_turn(self, rows: Indices, target_rows: Indices) -> Indices:
        """Return numbers for rows of the source, then of the target, as they appear.

        So what follows from them depends on the order of these rows and on nothing
        else, such as names.
        """
        both = np.concatenate([self.source[rows], self.target[target_rows]])
        _, first, place = np.unique(both, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[place]

    @property
    def sizes(self) -> tuple[int, int]:
        """How many units have rows in the source, and in the target."""
        return np.unique(self.source).size, np.unique(self.target).size

    def worth(self, share: Array, target_share: Array) -> tuple[float, float]:
        """Return how many units of equal shares average as well, of either sample."""
        found = [
            effective_sample_size(
                np.bincount(np.unique(unit, return_inverse=True)[1], one)
            )
            for unit, one in ((self.source, share), (self.target, target_share))
        ]
        return found[0], found[1]

    def are_enough(self, level: float) -> bool:
        """Return whether so many units can tell at a level: five of each sample, too.

        Five and five can be divided in 126 ways, the first number that one in a hundred
        can be told by.
        """
        return min(self.sizes) >= FEWEST_UNITS and self.smallest_p <= level

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that a division of the units can reach."""
        return smallest_p(self.source, self.target)


def smallest_p(source: Indices, target: Indices) -> float:
    r"""Return the smallest p-value that a division of units by chance can reach.

    RowUnits with rows in one sample alone can be divided in
    :math:`\binom{G + H}{G}` ways, and those with rows in both turned round; two ways
    that differ by the samples' names alone count as one where G = H.

    Examples
    --------
    >>> round(1 / smallest_p(np.arange(5), np.arange(5, 10)))
    126
    """
    of_both = np.intersect1d(source, target).size
    alone = [np.unique(one).size - of_both for one in (source, target)]
    ways = float(comb(sum(alone), alone[0])) * 2.0**of_both
    return min(1.0, (2.0 if alone[0] == alone[1] else 1.0) / ways)


def n_blocks(n: int, longest: float) -> int:
    """Return how many blocks n rows of such a memory have.

    Examples
    --------
    >>> n_blocks(1000, 1.0), n_blocks(1000, 18.0), n_blocks(1000, 100.0)
    (20, 11, 6)
    """
    wanted = int(n / (BLOCK_IN_MEMORIES * max(longest, 1.0)))
    return max(1, min(max(wanted, FEWEST_BLOCKS), MOST_BLOCKS, n))


def memory(X: Array) -> float:
    r"""Return the longest memory of a column, in rows.

    .. math:: \tau = 1 + 2 \sum_{k=1}^{w} r_k, \quad
        w \text{ the first with } w \ge 5 \tau

    with :math:`r_k` the autocorrelations of the column's ranks; one for independent
    rows, and :math:`(1 + \rho) / (1 - \rho)` for an autoregression.

    References
    ----------
    A. Sokal, 1997.
    """
    n = X.shape[0]
    if n < 4:
        return 1.0
    longest = 1.0
    for column in X.T:
        ranks = rankdata(column)
        centered = ranks - ranks.mean()
        power = np.abs(np.fft.rfft(centered, 2 * n)) ** 2
        covariance = np.fft.irfft(power)[: n // 2]
        if covariance[0] <= 0:
            continue
        sums = 2 * np.cumsum(covariance / covariance[0]) - 1
        enough = np.arange(sums.size) >= _WINDOW * sums
        at = int(np.argmax(enough)) if enough.any() else sums.size - 1
        longest = max(longest, float(sums[at]))
    return longest


def _numbered(
    groups: object, n: int, name: str, numbers: dict[Hashable, int]
) -> Indices | None:
    if groups is None:
        return None
    names = np.asarray(groups)
    if names.ndim != 1:
        raise InvalidInputError(f"{name} must be a column, got shape {names.shape}")
    _check_size(name, names.size, n)
    listed = names.tolist()
    for row, one in enumerate(listed):
        # Dates that are none differ from themselves.
        if is_missing(one) or one != one:
            raise InvalidInputError(f"{name} has no name in row {row}")
    try:
        found = [numbers.setdefault(one, len(numbers)) for one in listed]
    except TypeError as error:
        raise InvalidTypeError(f"{name} must hold numbers or texts: {error}") from None
    return np.array(found, dtype=np.intp)


def _check_size(name: str, size: int, n: int) -> None:
    if size != n:
        raise InvalidInputError(f"{name} has {size} entries and its sample {n} rows")


def _times(time: object, name: str) -> NDArray[Any]:
    found = np.asarray(time)
    if found.ndim != 1:
        raise InvalidInputError(f"{name} must be a column, got shape {found.shape}")
    if found.dtype.kind not in "iufMO":
        raise InvalidTypeError(f"{name} must hold numbers or dates, got {found.dtype}")
    absent = (
        [is_missing(one) or one != one for one in found.tolist()]
        if found.dtype.kind == "O"
        else np.isnat(found)
        if found.dtype.kind == "M"
        else ~np.isfinite(found)
    )
    if np.any(absent):
        raise InvalidInputError(f"{name} has no time in row {int(np.argmax(absent))}")
    return found


def _order(time: NDArray[Any]) -> Indices:
    try:
        return np.argsort(time, kind="stable")
    except TypeError as error:
        raise InvalidTypeError(f"time must hold numbers or dates: {error}") from None


def _blocks(time: NDArray[Any], order: Indices, count: int) -> Indices:
    """Return the number of each row's block; equal times are in one."""
    n, ordered = time.size, time[order]
    new = np.ones(n, dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)[np.cumsum(new) - 1]
    found = np.empty(n, dtype=np.intp)
    found[order] = first * count // n
    return found


# -----------------------------------------------------------------------------
# Validated source and target, made once by a public function and handed down.
# -----------------------------------------------------------------------------


# A row is outside both samples from this share of a column's range on.
BEYOND_RANGE = 0.1


@dataclass(frozen=True, eq=False)
class Samples:
    """Validated source and target samples, and quantities that follow from them.

    A public function validates its tables once; nothing else reads, checks, encodes or
    orders rows again. Expensive quantities are computed on first use and cached.

    Attributes
    ----------
    source_weight, target_weight : array of shape (n,), (m,)
        How many rows each row stands for by the user's weights, whose scale does not
        matter (`row_counts`); ones without weights.
    names : tuple of str or None
        Names of the source's columns, if they have some.
    tables : pair of Table or None
        Both samples column by column; None where they came as matrices of numbers.
    matrices : pair of matrices or None
        Both samples as matrices of finite numbers, where they came as such.
    given : pair or None
        Source and target as the user passed them, for the user's own estimator.
    labels : tuple or None
        Labels of the columns of the source's frame, strings or not.
    units : RowUnits or None
        Which rows belong together; None: each stands for itself.
    all_rows : pair of Blocks or None
        Both tables in blocks of numbers, of which these rows were drawn; None: these
        rows are all.
    found : dict
        Cache of results that other modules computed from these rows, by their keys.
    is_ordered : bool
        Whether the rows are in canonical order and all have a positive weight.
    """

    source_weight: Array
    target_weight: Array
    names: tuple[str, ...] | None = None
    tables: tuple[Table, Table] | None = None
    matrices: tuple[Matrix, Matrix] | None = None
    is_ordered: bool = False
    given: tuple[object, object] | None = None
    labels: tuple[Hashable, ...] | None = None
    units: RowUnits | None = None
    all_rows: tuple[Blocks, Blocks] | None = None
    found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def read(
        cls,
        X: object,
        X_target: object,
        sample_weight: ArrayLike | None = None,
        target_weight: ArrayLike | None = None,
        *,
        form: Literal["tables", "numbers", "encoded"] = "tables",
        min_rows: int = 1,
        accept_sparse: bool = True,
    ) -> "Samples":
        """Return validated source and target samples (no-op if already validated).

        Parameters
        ----------
        X, X_target : array-like, frame or sparse matrix; the second or a tuple of such
        sample_weight, target_weight : array of shape (n,), (m,)
        form : {"tables", "numbers", "encoded"}, default="tables"
            "tables": of any kind, read column by column, sparse matrices as they are.
            "numbers": finite numbers, others are refused. "encoded": of any kind, as
            matrices, encoded by how much the rows count.
        min_rows : int, default=1
            The smallest number of source rows (of numbers).
        accept_sparse : bool, default=True
            Whether sparse matrices are accepted (as numbers).
        """
        weights = sample_weight, target_weight
        if isinstance(X, Samples):
            if any(one is not None for one in weights):
                raise InvalidInputError(
                    "samples that were read have their weights: give none"
                )
            return X
        if X_target is None and form == "tables":
            raise InvalidInputError("X_target is None: two samples are needed")
        if form == "tables" and not has_sparse(X, X_target):
            tables = two_tables(X, X_target)
            return cls(
                *weights_of_both(*weights, *map(len, tables)),
                names=column_names(X),
                tables=tables,
                given=(X, X_target),
                labels=tables[0].labels,
            )
        if form == "encoded":
            source, target = as_numbers(
                X, X_target, sample_weight=sample_weight, target_weight=target_weight
            )
            check_moderate(source, "X", None)
            check_moderate(target, "X_target", None)
            counts = weights_of_both(*weights, source.shape[0], target.shape[0])
            return cls(*counts, matrices=(source, target))
        source, target = two_samples(
            X, X_target, min_rows=min_rows, accept_sparse=accept_sparse
        )
        assert target is not None
        labels = column_labels(X)
        return cls(
            *weights_of_both(*weights, source.shape[0], target.shape[0]),
            names=None if labels is None else string_names(labels),
            matrices=(source, target),
            given=(X, X_target),
            labels=labels,
        )

    @classmethod
    def read_blocks(
        cls,
        X: object,
        X_target: object,
        seed: int,
        sample_weight: ArrayLike | None = None,
        target_weight: ArrayLike | None = None,
    ) -> "Samples":
        """Return 10,000 rows drawn of two tables, of which one at least is in blocks.

        `blocks` gives all rows; each of them counts once.
        """
        if X_target is None:
            raise InvalidInputError(
                "X comes in blocks and X_target is None: both are needed"
            )
        if sample_weight is not None or target_weight is not None:
            raise InvalidInputError(
                "sample_weight and target_weight are not taken beside blocks: every "
                "row counts once"
            )
        source, target = Blocks.of(X).numbers(), Blocks.of(X_target).numbers()
        labels = source.labels, target.labels
        if None not in labels and labels[0] != labels[1]:
            raise InvalidInputError(
                f"X_target must have the columns of X, {list(labels[0] or ())}, got "
                f"{list(labels[1] or ())}"
            )
        rows, target_rows = (
            sample_to_decide_on(blocks, seed) for blocks in (source, target)
        )
        if rows.shape[1] != target_rows.shape[1]:
            raise InvalidInputError(
                f"X has {rows.shape[1]} columns, X_target has {target_rows.shape[1]}"
            )
        names = None if labels[0] is None else tuple(map(str, labels[0]))
        return cls.of_matrices(rows, target_rows, names=names).in_blocks(source, target)

    @classmethod
    def of_tables(
        cls, source: Table, target: Table, given: tuple[object, object] | None = None
    ) -> "Samples":
        """Return tables with the same columns of the same kinds, every row counting.

        `given`: the same as frames, for a model of the user's own.
        """
        labels = source.labels
        named = labels is not None and all(isinstance(k, str) for k in labels)
        return cls(
            np.ones(len(source)),
            np.ones(len(target)),
            names=tuple(map(str, labels or ())) if named else None,
            tables=(source, target),
            given=given,
            labels=labels,
        )

    @classmethod
    def of_matrices(
        cls,
        source: Matrix,
        target: Matrix,
        source_weight: Array | None = None,
        target_weight: Array | None = None,
        names: tuple[str, ...] | None = None,
    ) -> "Samples":
        """Return validated matrices and weights without checks."""
        n, m = source.shape[0], target.shape[0]
        return cls(
            np.ones(n) if source_weight is None else source_weight,
            np.ones(m) if target_weight is None else target_weight,
            names=names,
            matrices=(source, target),
        )

    @classmethod
    def of_ordered(
        cls, samples: TwoSamples, names: tuple[str, ...] | None = None
    ) -> "Samples":
        """Return rows that stand in their canonical order, such as some of `counted`.

        For folds and candidates: any rows of `counted`, in ascending places, are in
        their canonical order again.
        """
        return cls(
            samples.source_share * samples.source_mass,
            samples.target_share * samples.target_mass,
            names=names,
            matrices=(samples.source, samples.target),
            is_ordered=True,
        )

    @property
    def source(self) -> Any:
        """The source as finite numbers, in the user's order of rows."""
        return self._numbers[0]

    @property
    def target(self) -> Any:
        """The target as finite numbers, in the user's order of rows."""
        return self._numbers[1]

    @property
    def is_sparse(self) -> bool:
        """Whether both are sparse matrices."""
        return self.tables is None and sparse.issparse(self.source)

    @cached_property
    def is_plain(self) -> bool:
        """Whether both came as finite numbers and nothing else."""
        return self.tables is None or all(table.is_plain for table in self.tables)

    @cached_property
    def encoder(self) -> TableEncoder | None:
        """How both become numbers, every row counting once; None where they are."""
        if self.is_plain:
            return None
        assert self.tables is not None
        return encoder_of(*self.tables)

    @property
    def matrix_names(self) -> tuple[str, ...] | None:
        """Names of the columns of the matrices: those read, if nothing was encoded."""
        return self.names if self.is_plain else None

    @property
    def display_names(self) -> tuple[str, ...] | None:
        """What a user calls the columns of the matrices: of which column each is."""
        if self.is_plain or self.encoder is None:
            return self.names
        return self.encoder.display_names

    @cached_property
    def counts(self) -> tuple[Array, Array]:
        """How many rows each row stands for, in the user's order (`as_counts`)."""
        return as_counts(self.source_weight), as_counts(self.target_weight)

    @cached_property
    def places(self) -> tuple[Indices, Indices]:
        """Where the rows of `counted` stand in the user's order."""
        if self.is_ordered:
            return np.arange(self.counts[0].size), np.arange(self.counts[1].size)
        return (
            counted_places(self.source, self.counts[0]),
            counted_places(self.target, self.counts[1]),
        )

    @cached_property
    def order(self) -> tuple[Indices, Indices]:
        """As `places`, equal rows in the order of their weights as given."""
        weights = self.source_weight, self.target_weight
        if all(map(operator.is_, weights, self.counts)):
            return self.places
        return (
            counted_places(self.source, weights[0]),
            counted_places(self.target, weights[1]),
        )

    @cached_property
    def counted(self) -> TwoSamples:
        """The rows that count, in their canonical order, with their counts."""
        rows, target_rows = self.places
        if self.is_ordered:
            return TwoSamples.of(self.source, self.target, *self.counts)
        return TwoSamples.of(
            self.source[rows],
            self.target[target_rows],
            self.counts[0][rows],
            self.counts[1][target_rows],
        )

    @cached_property
    def own_seed(self) -> int:
        """A seed by what the rows that count hold (`seed_of_rows`)."""
        counting = self.without_zeros()
        if counting.tables is None:
            return seed_of_rows([counting.source, counting.target])
        words = [
            word
            for table in counting.tables
            for column in table.columns
            for word in (*column.categories, "")
        ]
        return seed_of_rows([table.matrix() for table in counting.tables], words)

    def seed(
        self, random_state: int | np.random.RandomState | None
    ) -> int | np.random.RandomState | None:
        """Return a `random_state`; in place of None the rows' own seed."""
        return self.own_seed if random_state is None else random_state

    @cached_property
    def scale(self) -> Array:
        """The pooled scale of every column; warns of those that hardly vary."""
        return pooled_scale(self.counted, self.display_names)

    @cached_property
    def range(self) -> tuple[Array, Array] | None:
        """The ends of every column over both samples, a tenth further out.

        None for sparse matrices.
        """
        samples = self.counted
        if sparse.issparse(samples.source) or sparse.issparse(samples.target):
            return None
        low = np.minimum(samples.source.min(axis=0), samples.target.min(axis=0))
        high = np.maximum(samples.source.max(axis=0), samples.target.max(axis=0))
        room = BEYOND_RANGE * (high - low)
        return low - room, high + room

    def in_blocks(self, source: Blocks, target: Blocks) -> "Samples":
        """Return these rows, as numbers, as a sample of two tables in blocks."""
        return Samples(
            self.source_weight,
            self.target_weight,
            names=self.matrix_names,
            matrices=(self.source, self.target),
            all_rows=(source, target),
        )

    def blocks(self) -> tuple[Blocks, Blocks]:
        """Return all rows of both samples; data in memory are one block each."""
        if self.all_rows is not None:
            return self.all_rows
        return Blocks.of(self.source), Blocks.of(self.target)

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Ends of every column beyond which rows are far outside the bulk."""
        return self.counted.limits

    @cached_property
    def moments(self) -> tuple[ColumnMoments, ColumnMoments]:
        """Moments of the columns over all rows, those far out put at the limits."""
        announce("reading every row: means and scales of the columns")
        work = partial(moments_of_block, self.limits)
        source, target = self.blocks()
        return map_reduce(source, work), map_reduce(target, work)

    @cached_property
    def scale_of_blocks(self) -> Array:
        """The pooled scale of every column over all rows (`pooled_scale`)."""
        source, target = self.moments
        return scale_of_moments(
            (source.mean, source.variance), (target.mean, target.variance), self.names
        )

    def check_rows(self, n: int) -> None:
        """Refuse to stand beside a source of another number of rows."""
        if self.source_weight.size != n:
            raise InvalidInputError(
                f"X has {n} rows, and the source that was read has "
                f"{self.source_weight.size}"
            )

    def without_zeros(self) -> "Samples":
        """Return the rows of a weight above zero, tables read by columns as such."""
        rows, target_rows = self.source_weight > 0, self.target_weight > 0
        if rows.all() and target_rows.all():
            return self
        tables, matrices = self.tables, self.matrices
        if tables is not None:
            source, target = tables
            tables = (
                source if rows.all() else source.take(rows),
                target if target_rows.all() else target.take(target_rows),
            )
        if matrices is not None:
            matrices = matrices[0][rows], matrices[1][target_rows]
        return replace(
            self,
            source_weight=self.source_weight[rows],
            target_weight=self.target_weight[target_rows],
            tables=tables,
            matrices=matrices,
            given=None,
            units=None if self.units is None else self.units.kept(rows, target_rows),
        )

    def refuse_huge(self, *, by_label: bool = False) -> None:
        """Refuse numbers whose squares are not finite, by row and column.

        `by_label`: a column of a frame of numbers is called by its label.
        """
        if self.tables is not None:
            labels = self.labels if by_label and self.is_plain else None
            check_moderate(self.source, "X", labels)
            check_moderate(self.target, "X_target", labels)

    def take(self, rows: Indices, target_rows: Indices) -> "Samples":
        """Return some rows of each as numbers, encoded as all of them are."""
        return Samples.of_matrices(
            self.source[rows],
            self.target[target_rows],
            self.source_weight[rows],
            self.target_weight[target_rows],
            self.matrix_names,
        )

    @cached_property
    def _numbers(self) -> tuple[Any, Any]:
        if self.matrices is not None:
            return self.matrices
        assert self.tables is not None
        source, target = self.tables
        encoder = self.encoder
        if encoder is None:
            return source.matrix(), target.matrix()
        return encoded_rows(encoder, source), encoded_rows(encoder, target)


def has_sparse(X: object, X_target: object) -> bool:
    """Return whether one of the tables is sparse, or a frame of sparse columns."""
    parts = (X, *target_pieces(X_target).values())
    return any(sparse.issparse(sparse_part(part)) for part in parts)


def counted_places(X: Matrix, weights: Array) -> Indices:
    """Return the places of rows of positive weight, in their canonical order."""
    rows = np.flatnonzero(weights)
    return rows[canonical_order(X[rows], weights[rows])]
