"""Selection of kernel widths and penalties by cross-validation, within a deadline."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from counterpoise.data.two_samples import (
    N_FOLDS,
    TwoSamples,
    folds,
    some_rows,
    spaced_places,
)
from counterpoise.errors import warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel, nearest_distance

# -----------------------------------------------------------------------------
# One clock for a whole fit.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Deadline:
    """When a fit has to end.

    Attributes
    ----------
    seconds : float or None
        What the user allows; None: all the time in the world.
    began : float
        When the fit began, by `time.perf_counter`.
    """

    seconds: float | None = None
    began: float = field(default_factory=time.perf_counter)

    def left(self) -> float | None:
        """Return the seconds that are left, None without a limit."""
        if self.seconds is None:
            return None
        return max(self.seconds - (time.perf_counter() - self.began), 0.0)

    def half_is_over(self) -> bool:
        """Return whether half of the time is over: the rest is for the fit itself."""
        left = self.left()
        return left is not None and left <= 0.5 * (self.seconds or 0.0)

    def warn_untried(self, tried: int, asked: int, what: str) -> None:
        """Warn that the choice was made among fewer candidates than there are."""
        if tried < asked:
            warn_user(
                f"max_time = {self.seconds:g} s: {tried} of {asked} {what} were tried "
                "in the first half of it, and the best of these is taken"
            )


# -----------------------------------------------------------------------------
# Choosing the width of a Gaussian kernel.
# -----------------------------------------------------------------------------


# Widths in units of the median distance between target rows, the smoothest first.
WIDTH_FACTORS = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18)
# Rows of each sample that a search looks at, and the fewest that it can work with.
ROWS_SEARCHED, FEWEST_TO_CHOOSE = 2000, 20
# A width at which more target rows than this have no source neighbor is not taken;
# the relative ratio stands more of them.
LARGEST_UNCOVERED, LARGEST_UNCOVERED_RELATIVE = 0.1, 0.3


def unsupported_share(samples: TwoSamples, gamma: float) -> float:
    """Return the share of target rows with less than one expected source neighbor.

    The expectation is n times the mean of the kernel over the source; it is computed
    at no more than 2000 target rows, taken at equal intervals.
    """
    some = spaced_places(samples.target.shape[0], ROWS_SEARCHED)
    reach = Kernel("rbf", gamma).pull(
        samples.source_share, samples.source, samples.target[some]
    )
    share = samples.target_share[some]
    return float(share[samples.source_mass * reach < 1.0].sum() / share.sum())


def isolated_share(samples: TwoSamples) -> float:
    """Return the share of target rows that are far from all source rows.

    A target row is isolated if its nearest source row is further away than the nearest
    other row is from all but one of the source rows. No width is involved: a wide
    kernel reaches across a hole. At most 500 rows are asked and 20,000 source rows
    looked at, at equal intervals; 0 for sparse rows and for few different ones.
    """
    if sparse.issparse(samples.source):
        return 0.0
    source = np.unique(some_rows(samples.source, 20_000), axis=0)
    if len(source) < FEWEST_TO_CHOOSE:
        return 0.0
    asked = some_rows(source, 500)
    target_rows = spaced_places(samples.target.shape[0], 500)
    own = np.sort(nearest_distance(asked, source, own=True))
    far = nearest_distance(samples.target[target_rows], source) > own[-2]
    share = samples.target_share[target_rows]
    return float(share[far].sum() / share.sum())


def thinned(
    samples: TwoSamples, seed: int, most: int = ROWS_SEARCHED
) -> tuple[Indices, Indices]:
    """Return the places of at most so many rows of each sample, by chance."""
    rng = np.random.default_rng(seed)
    sizes = samples.source.shape[0], samples.target.shape[0]
    source, target = (np.sort(rng.permutation(k)[:most]) for k in sizes)
    return source, target


# -----------------------------------------------------------------------------
# Choosing by held-out rows of both samples.
# -----------------------------------------------------------------------------


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
    kernels, because a center with few source rows near costs nothing. The logarithm of
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


def is_clearly_worse(candidate: HeldOut, rival: HeldOut, samples: TwoSamples) -> bool:
    """Return whether a candidate is behind a rival by three standard errors."""
    behind = _score(rival, samples) - _score(candidate, samples)
    return behind > 3.0 * _error(rival, candidate, samples)


def folds_of_both(samples: TwoSamples, seed: int) -> tuple[Indices, Indices]:
    """Return the fold of every row of both samples, five in all."""
    return (
        folds(samples.source, N_FOLDS, seed),
        folds(samples.target, N_FOLDS, seed + 1),
    )


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
