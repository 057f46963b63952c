"""Anytime-valid evidence of shifted inputs and of a higher risk."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from counterpoise.linalg.arrays import Array
from counterpoise.performance.metrics import ERROR_RATE, Metric

# -----------------------------------------------------------------------------
# Evidence that the risk of a deployed model has risen above that of its reference.
#
# Losses lie in [0, 1]. The reference's :math:`L_1, \dots, L_n` have mean :math:`r`,
# which nobody knows; the stream's :math:`Z_1, Z_2, \dots` come in batches. The null
# hypothesis is that no stream loss has, given all before it, a mean above :math:`m(r)`,
# which is :math:`r + \text{tolerance}` in the units of the metric.
#
# For any number :math:`c` of which :math:`r` might be the value, two bets pay fairly at
# most. Against the reference, that :math:`r` is less than it is:
#
# .. math:: R(c) = \tfrac12 + \tfrac12 \prod_i \bigl(1 - \kappa_i (L_i - c)\bigr),
#
# with :math:`\kappa_i = 2.3 / (\hat\sigma_{i-1} \sqrt n)` from the losses before
# :math:`i`. Against the stream, that its mean lies above :math:`m(c)`, from one of the
# batches :math:`j` on, and by one of several amounts :math:`\lambda`:
#
# .. math:: W_t(c) = \sum_j w_j\, \mathrm{mean}_\lambda
#         \prod_{i \text{ from batch } j}^{t} \bigl(1 + \lambda (Z_i - m(c))\bigr),
#     \qquad
#         w_j = \frac{50}{(j + 49)(j + 50)}, \quad \sum_{j \ge 1} w_j = 1,
#
# the product being one for batches that have not come. Under the null hypothesis
# :math:`W_t(r)` is a nonnegative supermartingale that begins at one, whatever the
# reference was, and :math:`R(r)` has mean one: hence :math:`R(r) W_t(r)` exceeds
# :math:`1 / \alpha` at some time with probability at most :math:`\alpha` (Ville). The
# evidence is :math:`\inf_c R(c) W_t(c) \le R(r) W_t(r)`, so that the same holds for it:
# over all looks, with the reference counted as random.
#
# The infimum is over finitely many cells: :math:`R` is taken at the left end of a cell,
# :math:`m` at its right end, which is fair for every :math:`c` in the cell, since
# :math:`R` grows with :math:`c` and :math:`W_t` falls. In the last cell, up to one, the
# stream is not bet on. Since the bets :math:`\lambda` are fixed, a sum over all starts
# is one running number: a loss costs cells times bets, whatever has come before.
#
# References
# ----------
# Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by
# betting; Podkopaev and Ramdas (2022), Tracking the risk of a deployed model; Shin,
# Ramdas and Rinaldo (2024), E-detectors.
# -----------------------------------------------------------------------------


# The classes here are dataclasses because files of monitors hold no other records.

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


def weight_of_start(j: ArrayLike) -> Array:
    """Return what a change at the j-th place counts, j = 1, 2, ...; they sum to one.

    Examples
    --------
    >>> round(float(weight_of_start(np.arange(1, 51)).sum()), 12)
    0.5
    """
    after = np.asarray(j) + HALF_OF_STARTS
    return np.asarray(HALF_OF_STARTS / ((after - 1) * after))


@dataclass(init=False, eq=False, repr=False)
class RiskEvidence:
    """How much the stream's losses speak for a risk above the reference's.

    Parameters
    ----------
    losses : array of shape (n,)
        Of the reference, between 0 and 1.
    allowed : callable
        The mean that the null hypothesis allows the stream, of the reference's;
        increasing.

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

    def __init__(self, losses: Array, allowed: Callable[[Array], Array]) -> None:
        n = losses.size
        # No deviation is taken for less than that of one loss among all.
        deviation = np.sqrt(max(float(losses.var()), 1.0 / n))
        inner = losses.mean() + _CELLS * deviation / np.sqrt(n)
        inner = inner[(inner > 0.0) & (inner < 1.0)]
        left, right = np.concatenate([[0.0], inner]), np.concatenate([inner, [1.0]])
        self.log_reference = _log_reference(losses, left)
        self.means: Array = np.clip(allowed(right), right, 1.0)
        largest = _LARGEST_STAKE / np.maximum(self.means, 1e-12)
        self.bets: Array = np.minimum(_BETS[:, None] / deviation, largest)
        # Nothing is staked where a mean of one is allowed, as in the last cell.
        self.bets[:, self.means >= 1.0] = 0.0
        self.log_wealth = np.full(self.bets.shape, -np.inf)
        self.log_best = np.full(self.bets.shape, -np.inf)
        self.start = np.zeros(self.bets.shape, dtype=int)
        self.n_batches = self.n_losses = 0

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
        """Logarithm of the evidence: an alert at level a from log(1 / a) on."""
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


# -----------------------------------------------------------------------------
# Evidence that the rows of a stream no longer come from where the reference did.
#
# The reference is cut in two by chance: half of it teaches, the other half is bet with.
# A *process* that begins at some place of the stream takes its rows :math:`x_1, x_2,
# \dots` one after another, each together with a row :math:`r_i` of the betting half
# that this process has not used. If nothing has changed, the two are exchangeable given
# all that the process has seen before, so that for every score :math:`g_i` learned from
# the teaching half and :math:`x_1, \dots, x_{i-1}`
#
# .. math:: E_i = \frac{2\, e^{g_i(x_i)}}{e^{g_i(x_i)} + e^{g_i(r_i)}}
#
# has mean one: the products :math:`\prod_{i \le t} E_i` are nonnegative martingales,
# and so are their averages over several ways to score (experts). Such an average
# exceeds :math:`1 / (\alpha w_j)` at some time with probability at most :math:`\alpha
# w_j` (Ville). Process :math:`j` has the weight :math:`w_j` of `weight_of_start`; over
# all processes, and so over all times at which a change may begin, a false alarm has a
# probability of at most :math:`\sum_j \alpha w_j = \alpha`. No row of the reference is
# taken for the truth: each is used once in a process, and a process ends when the
# betting half is used up.
#
# With :math:`g` the logarithm of the density ratio the bet grows fastest. The experts,
# of which each column has one and two look at all columns together:
#
# =========  ======================================================================
# a column   two normal densities, of the teaching half and of the process's rows
# linear     Fisher's discriminant between the two
# kernel     the same on random Fourier features: any change of the joint distribution
# =========  ======================================================================
#
# Columns are ranked within the teaching half and brought to normal scores; estimates
# are shrunk by (the positive part of) one minus their expected noise over their square,
# so that next to nothing is staked where there is nothing. Each expert needs sums over
# the process's rows alone: no row is kept.
#
# References
# ----------
# Shekhar and Ramdas (2023), Nonparametric two-sample testing by betting; Pandeva et al.
# (2024), Deep anytime-valid hypothesis testing; Rahimi and Recht (2007), random
# features.
# -----------------------------------------------------------------------------


# Rows after which the scores are learned again.
_BLOCK = 25
# A process begins at a chunk when the youngest has used this share of its rows.
_SHARE_BETWEEN_STARTS = 1 / 8
_N_FEATURES = 48
# Scores beyond the teaching half's own rows are taken for these quantiles.
_FARTHEST = 3.5
# A row is not held to speak more against a change than this, in log-odds.
_LARGEST_GAIN = 30.0
_SMALLEST_VARIANCE, _LARGEST_VARIANCE = 0.1, 10.0
# What the covariance of columns gets added on its diagonal.
_RIDGE = 1e-2
# Arrays with an entry a process.
_OF_PROCESSES = "sums", "squares", "n_taken", "log_wealth", "number", "first_chunk"


@dataclass(init=False, eq=False, repr=False)
class InputsEvidence:
    """How much the stream's rows speak for a change of the inputs.

    Parameters
    ----------
    reference : array of shape (n, d)
        Finite numbers, n at least 4.
    seed : int
        Of the cut in two halves, and of the features.

    Attributes
    ----------
    sorted_columns : array of shape (n_teaching, d)
        The teaching half, column by column in ascending order.
    center, spread : array of shape (d,)
        Of the normal scores of the teaching half.
    betting : array of shape (n_betting, d + n_features)
        Scores and features of the rows that are bet with, in the order of their use.
    sums, squares, n_taken, log_wealth, number : arrays
        Of the processes that go on: over their rows, and how many these are; the
        logarithms of the experts' wealth (columns, linear, kernel); which process of
        all, counted from 1.
    n_started : int
        How many processes have begun.
    """

    def __init__(self, reference: Array, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n, d = reference.shape
        order = rng.permutation(n)
        teaching = reference[order[: n // 2]]
        self.sorted_columns = np.sort(teaching, axis=0)
        raw = _normal_scores(teaching, self.sorted_columns)
        self.center, spread = raw.mean(axis=0), raw.std(axis=0)
        self.spread = np.where(spread > 1e-12, spread, 1.0)
        scores = (raw - self.center) / self.spread
        # The median distance between rows, each with its neighbor in the order.
        distances = np.linalg.norm(scores[1:] - scores[:-1], axis=1)
        width = max(float(np.median(distances)), 1e-6)
        self.frequencies = rng.standard_normal((d, _N_FEATURES)) / width
        self.phases = rng.uniform(0.0, 2 * np.pi, _N_FEATURES)
        features = np.cos(scores @ self.frequencies + self.phases)
        self.feature_mean = features.mean(axis=0)
        covariance = np.cov(features.T, ddof=0)
        ridge = _RIDGE * np.trace(covariance) / _N_FEATURES * np.eye(_N_FEATURES)
        self.feature_precision = np.linalg.inv(covariance + ridge)
        self.feature_dimension = float(np.trace(self.feature_precision @ covariance))
        columns = (scores.T @ scores) / len(scores)
        self.precision = np.linalg.inv(columns + _RIDGE * np.eye(d))
        self.betting = self.described(reference[order[n // 2 :]])
        self.sums = np.zeros((0, d + _N_FEATURES))
        self.squares = np.zeros((0, d))
        self.log_wealth = np.zeros((0, d + 2))
        self.n_taken, self.number, self.first_chunk = np.zeros((3, 0), dtype=int)
        self.n_started = self.n_chunks = 0
        # Of the process that has spoken loudest so far, at that time.
        self.loudest, self.since, self.by_column = -np.inf, 0, np.zeros(d)

    @property
    def n_columns(self) -> int:
        """How many columns of numbers are looked at."""
        return self.center.size

    def described(self, rows: Array) -> Array:
        """Return rows as normal scores and features, shape (k, d + n_features)."""
        raw = _normal_scores(rows, self.sorted_columns)
        scores = (raw - self.center) / self.spread
        features = np.cos(scores @ self.frequencies + self.phases) - self.feature_mean
        # As they are kept, so that both sides of a bet are rounded alike.
        return np.hstack([scores, features]).astype(np.float32)

    def add(self, rows: Array) -> None:
        """Take the rows of the next chunk, at the start of which a change may be."""
        self.n_chunks += 1
        described = self.described(rows)
        self._begin(at_least=self.betting.shape[0] * _SHARE_BETWEEN_STARTS)
        for first in range(0, len(rows), _BLOCK):
            if self.n_taken.size == 0:
                # A long chunk has used up all that began with it.
                self._begin(at_least=0)
            block = described[first : first + _BLOCK]
            self._bet(block)
            self.sums += block.sum(axis=0)
            self.squares += (block[:, : self.n_columns] ** 2).sum(axis=0)
            self.n_taken += len(block)
            self._listen()
            # A process ends when the betting half has no rows for its next block.
            on = self.n_taken + _BLOCK <= self.betting.shape[0]
            for name in _OF_PROCESSES:
                setattr(self, name, getattr(self, name)[on])

    @property
    def log_e(self) -> float:
        """Logarithm of the evidence: an alert at level a from log(1 / a) on."""
        return self.loudest

    def _begin(self, at_least: float) -> None:
        """Let a process begin, unless the youngest has hardly begun."""
        if self.n_taken.size and self.n_taken[-1] < at_least:
            return
        self.n_started += 1
        self.sums, self.squares, self.log_wealth = (
            np.vstack([one, np.zeros(one.shape[1])])
            for one in (self.sums, self.squares, self.log_wealth)
        )
        self.n_taken = np.append(self.n_taken, 0)
        self.number = np.append(self.number, self.n_started)
        self.first_chunk = np.append(self.first_chunk, self.n_chunks)

    def _bet(self, block: Array) -> None:
        """Multiply the experts' wealth by what the block pays."""
        d = self.n_columns
        places = self.n_taken[:, None] + np.arange(len(block))
        # A row of the chunk minus the row that it is held against, by process.
        apart = block - self.betting[places]
        # As the difference of squares, which is where a normal density is curved.
        curved = apart[:, :, :d] * (2.0 * block[:, :d] - apart[:, :, :d])
        gain = np.empty((self.n_taken.size, len(block), d + 2))
        n = np.maximum(self.n_taken, 1)
        means = self.sums / n[:, None]
        # The variance of a mean over a process's rows and the teaching half.
        noise = 1.0 / n + 1.0 / len(self.sorted_columns)
        linear = _direction(means[:, :d], self.precision, d, noise)
        kernel = _direction(
            means[:, d:], self.feature_precision, self.feature_dimension, noise
        )
        mean = means[:, :d]
        variance = np.where(
            self.n_taken[:, None] > 1, self.squares / n[:, None] - mean**2, 1.0
        )
        excess = variance - 1.0
        variance = 1.0 + excess * _shrunk(2.0 * noise[:, None], excess**2)
        variance = np.clip(variance, _SMALLEST_VARIANCE, _LARGEST_VARIANCE)
        mean = mean * _shrunk(noise[:, None], mean**2)
        gain[:, :, :d] = apart[:, :, :d] * (mean / variance)[:, None]
        gain[:, :, :d] += curved * (0.5 - 0.5 / variance)[:, None]
        gain[:, :, d] = (apart[:, :, :d] @ linear[:, :, None])[:, :, 0]
        gain[:, :, d + 1] = (apart[:, :, d:] @ kernel[:, :, None])[:, :, 0]
        # The logarithm of 2 / (1 + exp(-gain)), which is at most 2.
        paid = np.log(2.0) - np.log1p(np.exp(-np.clip(gain, -_LARGEST_GAIN, None)))
        self.log_wealth += paid.sum(axis=1)

    def _listen(self) -> None:
        """Keep what the loudest process says, if it is louder than all before."""
        d = self.n_columns
        shares = np.concatenate([np.full(d, 0.5 / d), [0.25, 0.25]])
        wealth = np.logaddexp.reduce(self.log_wealth + np.log(shares), axis=1)
        heard = wealth + np.log(weight_of_start(self.number))
        loudest = int(heard.argmax())
        if heard[loudest] > self.loudest:
            self.loudest = float(heard[loudest])
            self.since = int(self.first_chunk[loudest])
            self.by_column = self.log_wealth[loudest, :d].copy()


def _direction(mean: Array, precision: Array, dimension: float, noise: Array) -> Array:
    """Return Fisher's directions, shrunk by the share of them that is noise."""
    direction = mean @ precision
    length = (direction * mean).sum(axis=1)
    return direction * _shrunk(dimension * noise, length)[:, None]


def _shrunk(noise: Array, square: Array) -> Array:
    """Return the positive part of one minus noise over square."""
    return np.maximum(0.0, 1.0 - noise / np.maximum(square, 1e-300))


def _normal_scores(rows: Array, sorted_columns: Array) -> Array:
    """Return normal quantiles of the ranks among sorted columns, ties in the middle."""
    n = len(sorted_columns)
    ranks = np.empty(rows.shape)
    for j in range(rows.shape[1]):
        low = np.searchsorted(sorted_columns[:, j], rows[:, j], side="left")
        high = np.searchsorted(sorted_columns[:, j], rows[:, j], side="right")
        ranks[:, j] = (low + high) / 2.0
    return np.clip(ndtri((ranks + 0.5) / (n + 1.0)), -_FARTHEST, _FARTHEST)


# -----------------------------------------------------------------------------
# Labeled rows of the stream, as bounded losses for the evidence of a higher risk.
# -----------------------------------------------------------------------------


# Losses without a bound are cut at this quantile of some of the reference's, which
# take no other part.
_BOUND_QUANTILE, _SHARE_FOR_BOUND = 0.99, 0.2


@dataclass(init=False, eq=False, repr=False)
class LabeledRisk:
    r"""The evidence that a metric has become worse, in the metric's own units.

    Parameters
    ----------
    metric : Metric
        With a value a row.
    values : array of shape (n,)
        At the reference's rows.
    tolerance : float
        How much worse it may become, in the units of the metric.
    seed : int
        Of the order of the rows.

    Attributes
    ----------
    name : str
        Of the metric.
    bound : float
        Losses are cut there and divided by it. Error rates and accuracies need no cut;
        of all others it is the 99 % quantile of a fifth of the reference's losses,
        drawn by chance, which the evidence does not count otherwise: what is watched is
        then the mean of :math:`\min(L, \text{bound})`.
    higher_is_better : bool
        Whether one minus the metric is the loss (accuracy).
    evidence : RiskEvidence
    """

    def __init__(
        self, metric: Metric, values: Array, tolerance: float, seed: int
    ) -> None:
        losses = 1.0 - values if metric.higher_is_better else values
        losses = losses[np.random.default_rng(seed).permutation(losses.size)]
        bound = 1.0
        if metric.name not in (ERROR_RATE, "accuracy"):
            k = max(int(_SHARE_FOR_BOUND * losses.size), 1)
            bound = float(np.quantile(losses[:k], _BOUND_QUANTILE))
            bound = bound if bound > 0 else max(float(losses.max()), 1.0)
            losses = losses[k:]
        losses = np.clip(losses / bound, 0.0, 1.0)

        def allowed(mean: Array) -> Array:
            if metric.root:
                return (np.sqrt(mean * bound) + tolerance) ** 2 / bound
            return mean + tolerance / bound

        self.name, self.bound = metric.name, bound
        self.higher_is_better = metric.higher_is_better
        self.evidence = RiskEvidence(losses, allowed)

    def add(self, values: Array) -> None:
        """Take the metric's values at the labeled rows of a batch."""
        losses = 1.0 - values if self.higher_is_better else values
        self.evidence.add(np.clip(losses / self.bound, 0.0, 1.0))
