"""Choosing by held-out rows of both samples."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.folds import N_FOLDS, folds
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import InvalidInput

# The logarithm of a weight that underflows is taken here.
SMALLEST_LOGGED = 1e-300
# A deficit of this many standard errors of the best's score is indifferent.
INDIFFERENT = 0.4


def two_sided_score(
    weights_target: Array,
    weights_source: Array,
    target_share: Array,
    source_share: Array,
    least: float = SMALLEST_LOGGED,
) -> float:
    r"""Return :math:`\mathrm{mean}_j \log w(t_j) - \log \mathrm{mean}_i w(x_i)`.

    Both means are over rows that were not fitted to. Holding out target rows alone, as
    the textbook likelihood score does, lets an exact solver win with ever narrower
    kernels, because a centre with few source rows near costs nothing. The logarithm of
    a weight below `least` is that of `least`.

    Examples
    --------
    >>> import numpy as np
    >>> two_sided_score(np.ones(3), np.ones(2), np.full(3, 1 / 3), np.full(2, 1 / 2))
    0.0
    """
    logs = np.log(np.maximum(weights_target, least))
    mean = max(float(source_share @ weights_source), SMALLEST_LOGGED)
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
class Chosen:
    """Which candidate was taken, the scores of all, and the deficit allowed to each."""

    chosen: int
    best: int
    scores: Array
    allowed: float


def choose(
    candidates: Sequence[HeldOut],
    samples: TwoSamples,
    ranks: Sequence[int] | None = None,
) -> Chosen:
    r"""Return the first candidate as good as the best, by what is indifferent alike.

    Candidates come in the order of what is lost if the choice is wrong, the simplest
    first, and are scored by how much likelier they make it which sample a held-out row
    is of, in nats over weights of one,

    .. math:: G(w) = \mathrm{mean}_j \log \frac{2 w(t_j)}{1 + w(t_j)}
        + \mathrm{mean}_i \log \frac{2}{1 + w(x_i)},

    w being of mean one over the held-out source rows. No candidate may fall short of
    the best by more than four tenths of the standard error of the best's own score,

    .. math:: se^2 = var_j(\log \tfrac{w}{1 + w}(t_j)) / m
        + var_i(\log \tfrac{1}{1 + w}(x_i)) / n,

    and that much is allowed to each of them alike: a noisy one is excused no more than
    a near copy of the best. Inadmissible candidates are never taken while others are
    there. Where `ranks` are given, the candidates of the lowest rank that has one as
    good as the best are equally simple, and the one of the highest score is taken.

    The score is bounded where the ratio is large, unlike the two-sided one of
    `two_sided_score`, whose error comes from a few rows of the largest weights: over
    families of known ratios the one chosen by it has the smaller error.
    """
    scores = np.array([_score(candidate, samples) for candidate in candidates])
    able = np.array([c.admissible for c in candidates])
    if not able.any():
        able[:] = True
    best = int(np.argmax(np.where(able, scores, -np.inf)))
    allowed = INDIFFERENT * _error(candidates[best], None, samples)
    within = able & (scores[best] - scores <= allowed + 1e-12)
    # Scores that are no numbers leave the first one that may be taken.
    within[best] = True
    rank = np.arange(scores.size) if ranks is None else np.asarray(ranks)
    simplest = within & (rank == rank[within].min())
    chosen = int(np.argmax(np.where(simplest, scores, -np.inf)))
    return Chosen(chosen, best, scores, allowed)


def untried(samples: TwoSamples) -> HeldOut:
    """Return what stands for a candidate that was not tried: it is never taken."""
    n, m = samples.source.shape[0], samples.target.shape[0]
    return HeldOut(np.ones(m), np.ones(n), np.nan, admissible=False)


def falls_short(candidate: HeldOut, rival: HeldOut, samples: TwoSamples) -> bool:
    """Return whether a candidate is behind a rival by three standard errors."""
    behind = _score(rival, samples) - _score(candidate, samples)
    return behind > 3.0 * _error(rival, candidate, samples)


def folds_of_both(samples: TwoSamples, seed: int) -> tuple[Indices, Indices]:
    """Return the fold of every row of both samples, five in all."""
    return (
        folds(samples.source, N_FOLDS, seed),
        folds(samples.target, N_FOLDS, seed + 1),
    )


def out_of_fold(
    refit: Callable[[TwoSamples], Callable[[Any], Array]],
    samples: TwoSamples,
    source: Any,
    source_share: Array,
    seed: int,
    least: float = SMALLEST_LOGGED,
) -> float:
    """Return the two-sided score with every target row left out of its own fit.

    `source` are held-out source rows; the fits use the source of `samples`, and `refit`
    returns how each of them weighs rows.
    """
    m = samples.target.shape[0]
    n_folds = min(N_FOLDS, m)
    if n_folds < 2:
        raise InvalidInput("one target row cannot be scored out of fold: give X_target")
    fold = folds(samples.target, n_folds, seed)
    everything = np.arange(samples.source.shape[0])
    total = 0.0
    for k in range(n_folds):
        weigh = refit(samples.take(everything, fold != k))
        share = samples.target_share[fold == k]
        part = two_sided_score(
            weigh(samples.target[fold == k]),
            weigh(source),
            share / share.sum(),
            source_share,
            least,
        )
        total += float(share.sum()) * part
    return total


def _score(candidate: HeldOut, samples: TwoSamples) -> float:
    target, source = _log_likelihoods(candidate, samples)
    return float(samples.target_share @ target + samples.source_share @ source)


def _error(one: HeldOut, other: HeldOut | None, samples: TwoSamples) -> float:
    """Return the standard error of the difference of two scores; None is uniform."""
    target, source = _log_likelihoods(one, samples)
    if other is not None:
        target_other, source_other = _log_likelihoods(other, samples)
        target, source = target - target_other, source - source_other
    q, p = samples.target_share, samples.source_share
    over_target = _variance(target, q) * float(q @ q)
    return math.sqrt(over_target + _variance(source, p) * float(p @ p))


def _log_likelihoods(candidate: HeldOut, samples: TwoSamples) -> tuple[Array, Array]:
    """Return the log chances that rows are of their own sample, to those of one half.

    Of the target rows, and of the source rows.
    """
    mean = max(float(samples.source_share @ candidate.source), SMALLEST_LOGGED)
    logs_target, logs = (
        np.log(np.maximum(weights, SMALLEST_LOGGED)) - math.log(mean)
        for weights in (candidate.target, candidate.source)
    )
    # As it is computed for a log weight of zero: weights of one score zero.
    half = np.logaddexp(0.0, 0.0)
    return half - np.logaddexp(0.0, -logs_target), half - np.logaddexp(0.0, logs)


def _variance(values: Array, share: Array) -> float:
    mean = float(share @ values)
    return float(share @ (values - mean) ** 2)
