"""Choosing by held-out rows of both samples."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.two_samples import TwoSamples

N_FOLDS = 5
# Fewer different rows than this are dealt out one by one, copies or not.
FEWEST_DIFFERENT = 50
# The logarithm of a weight that underflows is taken here.
SMALLEST = 1e-300


def two_sided_score(
    weights_target: Array,
    weights_source: Array,
    target_share: Array,
    source_share: Array,
) -> float:
    r"""Return :math:`\mathrm{mean}_j \log w(t_j) - \log \mathrm{mean}_i w(x_i)`.

    Both means are over rows that were not fitted to. Holding out target rows alone, as
    the textbook likelihood score does, lets an exact solver win with ever narrower
    kernels, because a centre with few source rows near costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> two_sided_score(np.ones(3), np.ones(2), np.full(3, 1 / 3), np.full(2, 1 / 2))
    0.0
    """
    logs = np.log(np.maximum(weights_target, SMALLEST))
    mean = max(float(source_share @ weights_source), SMALLEST)
    return float(target_share @ logs) - math.log(mean)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A candidate's weights at rows that it was not fitted to.

    `one_sided` is the textbook score: the mean log weight at the held-out target rows,
    the weights having mean one over the source rows that were fitted to.
    """

    target: Array
    source: Array
    one_sided: float = math.nan
    admissible: bool = True


@dataclass(frozen=True, eq=False)
class Choice:
    """Which candidate was taken, and the scores of all."""

    chosen: int
    best: int
    scores: Array
    allowed: Array


def choose(candidates: Sequence[HeldOut], samples: TwoSamples) -> Choice:
    r"""Return the first candidate within one standard error of the best.

    Candidates come in order of simplicity. With v = w / mean w the standard error of
    the difference of two scores is taken over rows,

    .. math::
        se^2 = var_j(\log w_a(t_j) - \log w_b(t_j)) / m + var_i(v_a(x_i) - v_b(x_i)) / n

    and a candidate may fall short of the best by the smaller of this error and the
    best's own (its error against uniform weights): a wild candidate is not excused by
    its own noise. Inadmissible candidates are never taken while others are there.
    """
    q, p = samples.target_share, samples.source_share
    logs = [np.log(np.maximum(c.target, SMALLEST)) for c in candidates]
    means = [max(float(p @ c.source), SMALLEST) for c in candidates]
    scores = np.array(
        [float(q @ log) - math.log(mean) for log, mean in zip(logs, means, strict=True)]
    )
    able = np.array([c.admissible for c in candidates])
    if not able.any():
        able[:] = True
    best = int(np.argmax(np.where(able, scores, -np.inf)))

    def error(k: int | None) -> float:
        log, v = (0.0, 1.0) if k is None else (logs[k], candidates[k].source / means[k])
        over_target = _variance(logs[best] - log, q) * float(q @ q)
        own = candidates[best].source / means[best]
        return math.sqrt(over_target + _variance(own - v, p) * float(p @ p))

    own = error(None)
    allowed = np.array([min(error(k), own) for k in range(len(candidates))])
    within = able & (scores[best] - scores <= allowed + 1e-12)
    return Choice(int(np.argmax(within)), best, scores, allowed)


def folds(rows: Any, n_folds: int, seed: int) -> Indices:
    """Return the fold of each row, by chance, equal neighbours in one fold.

    A copy of a row in another fold would not be held out. Where there are hardly any
    different rows, copies are dealt out all the same.
    """
    n = rows.shape[0]
    group = np.arange(n)
    if not sparse.issparse(rows) and n > 1:
        differs = (rows[1:] != rows[:-1]).any(axis=1)
        if np.count_nonzero(differs) + 1 >= FEWEST_DIFFERENT:
            group = np.concatenate([[0], np.cumsum(differs)])
    dealt = np.random.default_rng(seed).permutation(group[-1] + 1) % n_folds
    return dealt[group]


def out_of_fold(
    refit: Callable[[TwoSamples], Any],
    samples: TwoSamples,
    source: Any,
    source_share: Array,
    seed: int,
) -> float:
    """Return the two-sided score with every target row left out of its own fit.

    `source` are held-out source rows; the fits use the source of `samples`.
    """
    m = samples.target.shape[0]
    n_folds = min(N_FOLDS, m)
    if n_folds < 2:
        raise ValueError("one target row cannot be scored out of fold: give X_target")
    fold = folds(samples.target, n_folds, seed)
    everything = np.arange(samples.source.shape[0])
    total = 0.0
    for k in range(n_folds):
        fitted = refit(samples.take(everything, fold != k))
        share = samples.target_share[fold == k]
        part = two_sided_score(
            fitted.weigh(samples.target[fold == k]),
            fitted.weigh(source),
            share / share.sum(),
            source_share,
        )
        total += float(share.sum()) * part
    return total


def _variance(values: Array, share: Array) -> float:
    mean = float(share @ values)
    return float(share @ (values - mean) ** 2)
