r"""Evidence that the risk of a deployed model has risen above that of its reference.

Losses lie in [0, 1]. The reference's :math:`L_1, \dots, L_n` have mean :math:`r`, which
nobody knows; the stream's :math:`Z_1, Z_2, \dots` come in batches. The null hypothesis
is that no stream loss has, given all before it, a mean above :math:`m(r)`, which is
:math:`r + \text{tolerance}` in the units of the metric.

For any number :math:`c` of which :math:`r` might be the value, two bets pay fairly at
most. Against the reference, that :math:`r` is less than it is:

.. math:: R(c) = \tfrac12 + \tfrac12 \prod_i \bigl(1 - \kappa_i (L_i - c)\bigr),

with :math:`\kappa_i = 2.3 / (\hat\sigma_{i-1} \sqrt n)` from the losses before
:math:`i`. Against the stream, that its mean lies above :math:`m(c)`, from one of the
batches :math:`j` on, and by one of several amounts :math:`\lambda`:

.. math:: W_t(c) = \sum_j w_j\, \mathrm{mean}_\lambda
    \prod_{i \text{ from batch } j}^{t} \bigl(1 + \lambda (Z_i - m(c))\bigr), \qquad
    w_j = \frac{50}{(j + 49)(j + 50)}, \quad \sum_{j \ge 1} w_j = 1,

the product being one for batches that have not come. Under the null hypothesis
:math:`W_t(r)` is a nonnegative supermartingale that begins at one, whatever the
reference was, and :math:`R(r)` has mean one: hence :math:`R(r) W_t(r)` exceeds
:math:`1 / \alpha` at some time with probability at most :math:`\alpha` (Ville). The
evidence is :math:`\inf_c R(c) W_t(c) \le R(r) W_t(r)`, so that the same holds for it:
over all looks, with the reference counted as random.

The infimum is over finitely many cells: :math:`R` is taken at the left end of a cell,
:math:`m` at its right end, which is fair for every :math:`c` in the cell, since
:math:`R` grows with :math:`c` and :math:`W_t` falls. In the last cell, up to one, the
stream is not bet on. Since the bets :math:`\lambda` are fixed, a sum over all starts is
one running number: a loss costs cells times bets, whatever has come before.

References
----------
Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting;
Podkopaev and Ramdas (2022), Tracking the risk of a deployed model; Shin, Ramdas and
Rinaldo (2024), E-detectors.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array

# After so many batches half of the weight of the starts is spent.
HALF_OF_STARTS = 50
# How far below the reference's mean a bet against it aims, in standard errors.
_AIM = 2.3
# The largest share of the wealth that a bet on one loss can cost.
_LARGEST_STAKE = 0.75
# Ends of the cells around the reference's mean, in standard errors: so far out that
# levels down to one in a thousand millions can be reached in the last cell.
_CELLS = np.concatenate([np.arange(-4.0, 6.5, 0.25), np.arange(6.5, 12.1, 0.5)])
# Amounts of the bets on the stream, in units of one over the reference's deviation.
_BETS = 0.05 * 2.0 ** (np.arange(11) / 2.0)


def weight_of_start(j: Any) -> Any:
    """Return what a change at the j-th place counts, j = 1, 2, ...; they sum to one.

    Examples
    --------
    >>> round(sum(weight_of_start(j) for j in range(1, 51)), 12)
    0.5
    """
    return HALF_OF_STARTS / ((j + HALF_OF_STARTS - 1) * (j + HALF_OF_STARTS))


@dataclass
class RiskEvidence:
    """How much the stream's losses speak for a risk above the reference's.

    Attributes
    ----------
    log_reference : array of shape (n_cells,)
        Logarithm of R at the left end of each cell.
    means : array of shape (n_cells,)
        The largest mean that the null hypothesis allows a loss, at its right end.
    bets : array of shape (n_bets, n_cells)
        Amounts staked, at most one over the mean.
    log_wealth : array of shape (n_bets, n_cells)
        Logarithm of the sum over the starts so far.
    log_best : array of shape (n_bets, n_cells)
        Logarithm of the largest term of that sum.
    start : integer array of shape (n_bets, n_cells)
        The batch at which that term begins.
    n_batches, n_losses : int
        How much has come.
    """

    log_reference: Array
    means: Array
    bets: Array
    log_wealth: Array = field(init=False)
    log_best: Array = field(init=False)
    start: Array = field(init=False)
    n_batches: int = 0
    n_losses: int = 0

    def __post_init__(self) -> None:
        self.log_wealth = np.full(self.bets.shape, -np.inf)
        self.log_best = np.full(self.bets.shape, -np.inf)
        self.start = np.zeros(self.bets.shape, dtype=int)

    @classmethod
    def against(
        cls, losses: Array, allowed: Callable[[Array], Array]
    ) -> "RiskEvidence":
        """Return the evidence before the stream, from the reference's losses.

        Parameters
        ----------
        losses : array of shape (n,)
            Between 0 and 1.
        allowed : callable
            The mean that the null hypothesis allows the stream, of the reference's;
            increasing.
        """
        n = losses.size
        # No deviation is taken for less than that of one loss among all.
        deviation = np.sqrt(max(float(losses.var()), 1.0 / n))
        inner = losses.mean() + _CELLS * deviation / np.sqrt(n)
        inner = inner[(inner > 0.0) & (inner < 1.0)]
        left, right = np.concatenate([[0.0], inner]), np.concatenate([inner, [1.0]])
        means = np.clip(allowed(right), right, 1.0)
        bets = np.minimum(
            _BETS[:, None] / deviation, _LARGEST_STAKE / np.maximum(means, 1e-12)
        )
        # Nothing is staked where a mean of one is allowed, as in the last cell.
        bets[:, means >= 1.0] = 0.0
        return cls(_log_reference(losses, left), means, bets)

    def add(self, losses: Array) -> None:
        """Take the losses of the next batch, at the start of which a change may be."""
        if losses.size == 0:
            return
        self.n_batches += 1
        self.n_losses += losses.size
        value, count = np.unique(losses, return_counts=True)
        grown = np.zeros(self.bets.shape)
        for first in range(0, value.size, 256):
            some = slice(first, first + 256)
            gain = self.bets * (value[some, None, None] - self.means)
            grown += np.tensordot(count[some], np.log1p(gain), axes=1)
        begun = np.log(weight_of_start(self.n_batches))
        self.log_wealth = np.logaddexp(self.log_wealth, begun) + grown
        fresh = self.log_best < begun
        self.start = np.where(fresh, self.n_batches, self.start)
        self.log_best = np.where(fresh, begun, self.log_best) + grown

    @property
    def log_e(self) -> float:
        """Logarithm of the evidence: an alarm at level a from log(1 / a) on."""
        return float(self._by_cell().min())

    @property
    def since(self) -> int:
        """The batch, counted from 1, from which the change speaks most; 0 for none."""
        if self.n_batches == 0:
            return 0
        staked = self.bets.any(axis=0)
        cell = int(np.where(staked, self._by_cell(), np.inf).argmin())
        return int(self.start[self.log_best[:, cell].argmax(), cell])

    def _by_cell(self) -> Array:
        n_bets = self.bets.shape[0]
        to_come = HALF_OF_STARTS / (HALF_OF_STARTS + self.n_batches)
        begun = np.logaddexp.reduce(self.log_wealth, axis=0) - np.log(n_bets)
        stream = np.logaddexp(begun, np.log(to_come))
        # Nothing was staked: the wealth is one, however the weights are rounded.
        stream[~self.bets.any(axis=0)] = 0.0
        return self.log_reference + stream


def _log_reference(losses: Array, ends: Array) -> Array:
    """Return the logarithm of R at the ends, deviations from the losses before."""
    n = losses.size
    past = np.arange(n)
    total = np.concatenate([[0.0], np.cumsum(losses)[:-1]])
    mean = (0.5 + total) / (1.0 + past)
    squares = np.concatenate([[0.0], np.cumsum((losses - mean) ** 2)[:-1]])
    deviation = np.sqrt((0.25 + squares) / (1.0 + past))
    stake = np.minimum(_AIM / (deviation * np.sqrt(n)), _LARGEST_STAKE)
    log_bet = np.array([np.log1p(-stake * (losses - end)).sum() for end in ends])
    return np.logaddexp(0.0, log_bet) - np.log(2.0)
