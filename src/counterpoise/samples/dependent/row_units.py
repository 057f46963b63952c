"""Rows that belong together: groups, or blocks of time."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import comb
from scipy.stats import rankdata

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.validation import InvalidInput, InvalidType
from counterpoise.validation.frames import is_missing

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
    def of_groups(cls, groups: Any, groups_target: Any, n: int, m: int) -> "RowUnits":
        """Return units by the names of groups; None: every row is a group of its own.

        A name that both samples have is one group.
        """
        numbers: dict[Any, int] = {}
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
        cls, time: Any, time_target: Any, source: Any, target: Any
    ) -> "RowUnits":
        r"""Return blocks of neighbours in time, in each sample by itself.

        A sample of n rows has :math:`n / (5 \tau)` blocks of about equal length, but no
        fewer than 6 and no more than 20, with :math:`\tau` the longest memory of a
        column in either sample (`memory`): the means of neighbouring blocks of an
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
                raise InvalidInput(
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

    def kept(self, rows: Any, aims: Any) -> "RowUnits":
        """Return the units of some rows of each sample."""
        return RowUnits(self.kind, self.source[rows], self.target[aims])

    def in_turn(self, rows: Indices, aims: Indices) -> Indices:
        """Return numbers for rows of the source, then of the target, as they appear.

        So what follows from them depends on the order of these rows and on nothing
        else, such as names.
        """
        both = np.concatenate([self.source[rows], self.target[aims]])
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
        centred = ranks - ranks.mean()
        power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
        covariance = np.fft.irfft(power)[: n // 2]
        if covariance[0] <= 0:
            continue
        sums = 2 * np.cumsum(covariance / covariance[0]) - 1
        enough = np.arange(sums.size) >= _WINDOW * sums
        at = int(np.argmax(enough)) if enough.any() else sums.size - 1
        longest = max(longest, float(sums[at]))
    return longest


def _numbered(
    groups: Any, n: int, name: str, numbers: dict[Any, int]
) -> Indices | None:
    if groups is None:
        return None
    names = np.asarray(groups)
    if names.ndim != 1:
        raise InvalidInput(f"{name} must be a column, got shape {names.shape}")
    _check_size(name, names.size, n)
    listed = names.tolist()
    for row, one in enumerate(listed):
        # Dates that are none differ from themselves.
        if is_missing(one) or one != one:
            raise InvalidInput(f"{name} has no name in row {row}")
    try:
        found = [numbers.setdefault(one, len(numbers)) for one in listed]
    except TypeError as error:
        raise InvalidType(f"{name} must hold numbers or texts: {error}") from None
    return np.array(found, dtype=np.intp)


def _check_size(name: str, size: int, n: int) -> None:
    if size != n:
        raise InvalidInput(f"{name} has {size} entries and its sample {n} rows")


def _times(time: Any, name: str) -> Any:
    found = np.asarray(time)
    if found.ndim != 1:
        raise InvalidInput(f"{name} must be a column, got shape {found.shape}")
    if found.dtype.kind not in "iufMO":
        raise InvalidType(f"{name} must hold numbers or dates, got {found.dtype}")
    absent = (
        [is_missing(one) or one != one for one in found.tolist()]
        if found.dtype.kind == "O"
        else np.isnat(found)
        if found.dtype.kind == "M"
        else ~np.isfinite(found)
    )
    if np.any(absent):
        raise InvalidInput(f"{name} has no time in row {int(np.argmax(absent))}")
    return found


def _order(time: Any) -> Indices:
    try:
        return np.argsort(time, kind="stable")
    except TypeError as error:
        raise InvalidType(f"time must hold numbers or dates: {error}") from None


def _blocks(time: Any, order: Indices, count: int) -> Indices:
    """Return the number of each row's block; equal times are in one."""
    n, ordered = time.size, time[order]
    new = np.ones(n, dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)[np.cumsum(new) - 1]
    found = np.empty(n, dtype=np.intp)
    found[order] = first * count // n
    return found
