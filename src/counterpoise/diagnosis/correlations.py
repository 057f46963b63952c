"""Pairs of columns that go together otherwise in the two samples."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterpoise.diagnosis.rank_moments import (
    RankScores,
    chance_of_products,
    middle_ranks,
)
from counterpoise.numerics.arrays import Array
from counterpoise.samples.domain_scores import TEST_LEVEL
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD

# Pairs that are kept, those whose correlation has moved most.
_KEPT = 20


@dataclass(frozen=True)
class CorrelationShift:
    """Two columns whose rank correlation is another in the target.

    Attributes
    ----------
    columns : tuple of two str
    source, target : float
        Spearman's correlation within either sample.
    p_value : float
        The chance of a difference as large, corrected for the number of pairs.
    """

    columns: tuple[str, str]
    source: float
    target: float
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {**asdict(self), "columns": list(self.columns)}

    @classmethod
    def of_dict(cls, told: dict[str, Any]) -> "CorrelationShift":
        """Return what `to_dict` told."""
        first, second = told["columns"]
        pair = str(first), str(second)
        return cls(pair, *(float(told[key]) for key in ("source", "target", "p_value")))


def correlation_shifts(
    samples: TwoSamples, names: Sequence[str], pair: Sequence[str] = ()
) -> tuple[CorrelationShift, ...]:
    r"""Return the pairs whose rank correlation has moved, those that moved most first.

    With :math:`u_j` the middle ranks of column j *within* a sample, scaled to mean zero
    and variance one there, :math:`\rho = \sum_i p_i u_{ij} u_{ik}` is Spearman's
    correlation of that sample: where columns lie and how they spread, each by itself,
    leaves it alone, while `moment_test` ranks both samples together. Of K pairs those
    are returned for which

    .. math:: K\, p \le 0.01

    with p the chance of a difference of the two :math:`\rho` as large, by the normal
    distribution and the errors of `moment_test`. K counts the pairs of those columns of
    `moment_test` that vary within either sample (`varies_within`): of a constant there
    is no correlation. It names what moved and is no test of the verdict.

    Parameters
    ----------
    samples : TwoSamples
        Dense.
    names : sequence of str
        Of the columns of the matrices, by the columns of the table.
    pair : two names, or none
        Where rows are no evidence each by itself, the pair that a test of units found:
        it alone may be returned, its p-value that of rows.
    """
    shares = samples.source_share, samples.target_share
    both_samples = list(zip((samples.source, samples.target), shares, strict=True))
    looked_at = [
        j
        for j in RankScores.of(samples).in_pairs
        if all(varies_within(X[:, j], share) for X, share in both_samples)
    ]
    if len(looked_at) < 2:
        return ()
    columns = np.array(looked_at)
    ranks = [_within(X[:, columns], share) for X, share in both_samples]
    first, second = np.triu_indices(columns.size, 1)
    chance = chance_of_products(np.vstack(ranks), *shares)[first, second]
    chance = np.minimum(1.0, chance.size * chance)
    before, after = (
        ((share[:, None] * u).T @ u)[first, second]
        for share, u in zip(shares, ranks, strict=True)
    )
    found: dict[tuple[str, str], CorrelationShift] = {}
    for k in np.argsort(-np.abs(after - before), kind="stable"):
        both = names[int(columns[first[k]])], names[int(columns[second[k]])]
        if both[0] == both[1] or both in found:
            # Columns that one column of the table was made into.
            continue
        asked_for = not pair or set(both) == set(pair)
        if asked_for and chance[k] <= TEST_LEVEL:
            told = float(before[k]), float(after[k]), float(chance[k])
            found[both] = CorrelationShift(both, *told)
    return tuple(found.values())[:_KEPT]


def varies_within(column: Array, share: Array) -> bool:
    r"""Return whether five rows of a sample or more differ from its commonest value.

    Rows count as in :math:`\min\bigl(o\, n(p),\; n(p_o)\bigr) \ge 5` with n the
    effective size, :math:`p_o` the shares of the rows that differ and o their sum: one
    heavy row is no five, nor are five that hardly count.

    Examples
    --------
    >>> column = np.repeat([0.0, 1.0, 2.0], [90, 5, 5])
    >>> varies_within(column, np.full(100, 0.01))
    True
    >>> varies_within(column[:94], np.full(94, 1 / 94))
    False
    """
    _, place = np.unique(column, return_inverse=True)
    mass = np.bincount(place, share)
    other = share[place != np.argmax(mass)]
    if not other.size:
        return False
    rows = min(
        float(other.sum()) * effective_sample_size(share), effective_sample_size(other)
    )
    # Rounding must not decide.
    return rows >= (1 - 1e-9) * FEWEST_ROWS_TOLD


def _within(X: Array, share: Array) -> Array:
    """Return the ranks within one sample, of mean zero and variance one."""
    u = np.column_stack([middle_ranks(X[:, j], share) for j in range(X.shape[1])])
    u -= share @ u
    spread = np.sqrt(share @ u**2)
    scaled: Array = np.divide(u, spread, out=np.zeros_like(u), where=spread > 0)
    return scaled
