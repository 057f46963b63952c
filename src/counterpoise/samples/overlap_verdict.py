"""Whether the target lies where the source has rows: one rule for the library."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.domain_scores import DomainScore, score_domains
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.holes import RIM, Holes, find_holes
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.quantiles import weighted_quantile
from counterpoise.validation import as_seed

# A target row is thinly covered where only the outermost 0.5 % of the source rows are.
THIN_QUANTILE = 0.995
# Shares of the target: above the first the samples overlap in part, above the second
# they do not; a ratio is made relative, and the user told, from the third.
THIN_ABOVE, NO_OVERLAP_ABOVE, RELATIVE_FROM = 0.05, 0.5, 0.02
# The level of `thin`'s interval, and how much more it varies than its threshold does.
THIN_LEVEL, _SCORES_VARY = 0.95, 1.5
# A shift that a classifier sees less well than this is small.
SMALL_AUC = 0.6
# With fewer rows of worth in a sample only a glaring shift can be told.
ROWS_OF_WORTH_TO_TELL = 20

NO_SHIFT = "no shift found"
SMALL_SHIFT = "small shift"
COVERED = "shift, covered"
THIN_IN_PART = "shift, thin in part"
NO_OVERLAP = "no overlap"
TOO_FEW = "too few rows to tell"

_VERDICT_MEANING = {
    NO_SHIFT: "target rows cannot be told from source rows",
    SMALL_SHIFT: "the two samples differ little",
    COVERED: "the target lies where the source has rows",
    THIN_IN_PART: "weights and estimates speak for the covered part of the target",
    NO_OVERLAP: "no weights make the source stand for the target",
    TOO_FEW: "chance alone could make these numbers with or without a shift",
}


@dataclass(frozen=True, eq=False)
class Overlap:
    """Which part of the target the source covers.

    Attributes
    ----------
    thin : float
        Share of the target whose domain score exceeds `threshold`, so that it lives
        where only the outermost 0.5 % of the source rows are, or that lies in a hole
        (`holes`), among source rows but with none near. Under no shift 0.005.
    thin_low, thin_high : float
        Its interval of level 0.95 (`thin_interval`).
    verdict : str
        "no shift found", "small shift", "shift, covered", "shift, thin in part",
        "no overlap" or "too few rows to tell".
    auc, auc_low, auc_high : float
        How well a classifier tells the samples apart, with its interval of level 0.95.
    threshold : float
        The 99.5 % quantile of the source scores.
    auc_p_value : float
        Chance of an AUC as large where nothing has shifted.
    scores, scores_target : array of shape (k,), (l,)
        P(target | x) of source and of target rows, out of fold.
    rows, rows_target : array of shape (k,), (l,)
        Which rows were scored: all that count, or some drawn by chance.
    in_hole, near_hole : array of bool of shape (l,)
        Which of the target rows scored lie in a hole; in one or at its rim, a third of
        its radius further out.
    holes : Holes
        Where the source has none, with the chance of that.
    """

    thin: float
    thin_low: float
    thin_high: float
    verdict: str
    auc: float
    auc_low: float
    auc_high: float
    auc_p_value: float
    threshold: float
    scores: Array = field(repr=False)
    scores_target: Array = field(repr=False)
    rows: Indices = field(repr=False)
    rows_target: Indices = field(repr=False)
    in_hole: NDArray[np.bool_] = field(repr=False)
    near_hole: NDArray[np.bool_] = field(repr=False)
    holes: Holes = field(repr=False)

    @property
    def is_thin(self) -> NDArray[np.bool_]:
        """Which of the target rows scored are thinly covered."""
        return (self.scores_target > self.threshold) | self.in_hole

    @property
    def thin_rows(self) -> NDArray[np.intp]:
        """Target rows that are thinly covered, among those scored."""
        return self.rows_target[self.is_thin]

    def __str__(self) -> str:
        inside = f", {self.in_hole.mean():.1%} in holes" if self.holes.balls else ""
        return (
            f"{self.verdict}: {_VERDICT_MEANING[self.verdict]}.\n"
            f"{self.thin:.1%} of the target rows ({self.thin_low:.1%} to "
            f"{self.thin_high:.1%}) lie where only the outermost 0.5 % of the source "
            f"rows are{inside}; AUC of source against target {self.auc:.3f} "
            f"({self.auc_low:.3f} to {self.auc_high:.3f})."
        )


def overlap(
    X: Any,
    X_target: Any,
    *,
    sample_weight: Any = None,
    target_weight: Any = None,
    random_state: Any = None,
) -> Overlap:
    """Return the share of the target that the source hardly covers, with a verdict.

    .. math::

        \\text{thin} = \\text{share of target rows with } s(t_j) > Q_{0.995}(s(x_i))
        \\text{ or in a hole}, \\quad s(x) = P(\\text{target} \\mid x)

    with the scores of `domain_score`. It measures thin coverage, not an empty region:
    N(0, 1) against N(2, 1) has 0.28 although no region is empty. Holes lie among the
    source rows, where no classifier need see them: balls in a column, a pair of columns
    or all of them that hold target rows and no source row, more than chance makes, with
    a p-value for all of them (`holes`).

    ==================== =========================================================
    verdict              when
    ==================== =========================================================
    no shift found       no test tells the samples apart at a level of 0.01, and
                         `thin` is not beyond what chance does
    small shift          `thin` <= 0.05 and AUC < 0.6
    shift, covered       `thin` <= 0.05
    shift, thin in part  the lower end of `thin`'s interval <= 0.5
    no overlap           that end > 0.5: the shares of two draws of one pair differ,
                         and a refusal should not depend on the draw
    too few rows to tell a sample has less than 20 rows of worth (its effective size),
                         and not both the AUC is beyond one half and `thin` beyond
                         chance
    ==================== =========================================================

    The tests here: the AUC (its interval is beyond one half) and the holes. `diagnose`
    has three more, each of level 0.01, so that all five raise a false alarm with a
    chance of 0.05 at most, and says which of them speaks.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n, d)
        The source rows. A table with categories, dates or missing values is read by
        `TableEncoder`.
    X_target : the same of shape (m, d), or a tuple of such
        The target rows.
    sample_weight, target_weight : array of shape (n,), (m,)
        What the rows count in every mean; only their ratios within a sample matter.
    random_state : int, RandomState or None
        Where the folds come from, and the 5,000 rows of a sample that has more.

    Returns
    -------
    Overlap

    Notes
    -----
    Overlap is a property of target rows. The effective size of weights does not tell:
    disjoint samples can show n of n.

    Examples
    --------
    >>> from counterpoise.datasets import make_uncovered_cluster
    >>> shift = make_uncovered_cluster(q=0.3, n=500, m=500, shift=0, random_state=0)
    >>> found = overlap(shift.X, shift.X_target, random_state=0)
    >>> found.verdict, bool(0.25 < found.thin < 0.35)
    ('shift, thin in part', True)
    """
    samples = SamplesAsRead.read_encoded(X, X_target, sample_weight, target_weight)
    return overlap_between(samples, as_seed(random_state))


def overlap_between(samples: SamplesAsRead, seed: int) -> Overlap:
    """Return what `overlap` does, of samples as read; worked out once a seed."""
    key = overlap_between, seed
    if key not in samples.found:
        score = score_domains(samples, seed)
        rows = samples.source[score.rows], samples.target[score.rows_target]
        scored = TwoSamples.of(*rows, score.share, score.share_target)
        holes = find_holes(scored.ordered(), seed)
        inside, near = (holes.hold(rows[1], wider) for wider in (1.0, RIM))
        samples.found[key] = overlap_of(score, holes, inside, near)
    found: Overlap = samples.found[key]
    return found


def overlap_of(
    score: DomainScore,
    holes: Holes,
    in_hole: NDArray[np.bool_],
    near_hole: NDArray[np.bool_],
) -> Overlap:
    """Return how much of the target is thinly covered, by scores and holes.

    `in_hole`, `near_hole`: which of the target rows scored lie in a hole, and at one.
    """
    threshold = weighted_quantile(score.scores, score.share, THIN_QUANTILE)
    thin = float(score.share_target[(score.scores_target > threshold) | in_hole].sum())
    sizes = [effective_sample_size(s) for s in (score.share, score.share_target)]
    chance = thin_by_chance(*sizes)
    low, high = thin_interval(
        score.scores, score.scores_target, score.share, score.share_target, in_hole
    )
    return Overlap(
        thin=thin,
        thin_low=low,
        thin_high=high,
        verdict=verdict(
            score.auc,
            score.auc_low,
            thin,
            chance,
            min(sizes),
            told=holes.tells,
            thin_low=low,
        ),
        auc=score.auc,
        auc_low=score.auc_low,
        auc_high=score.auc_high,
        auc_p_value=score.p_value,
        threshold=threshold,
        scores=score.scores,
        scores_target=score.scores_target,
        rows=score.rows,
        rows_target=score.rows_target,
        in_hole=in_hole,
        near_hole=near_hole,
        holes=holes,
    )


def thin_share(
    scores: Array, scores_target: Array, source_share: Array, target_share: Array
) -> float:
    """Return the share of the target that scores above 99.5 % of the source.

    Parameters
    ----------
    scores, scores_target : array of shape (n,), (m,)
        A domain score of source and target rows, or anything that rises with it: a
        density ratio target/source or its logarithm.
    source_share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.

    Examples
    --------
    >>> half = np.full(2, 0.5)
    >>> thin_share(np.array([0.1, 0.4]), np.array([0.3, 0.9]), half, half)
    0.5
    """
    return float(target_share[is_thin(scores, scores_target, source_share)].sum())


def is_thin(
    scores: Array, scores_target: Array, source_share: Array
) -> NDArray[np.bool_]:
    """Return which target rows score above 99.5 % of the source."""
    found: NDArray[np.bool_] = scores_target > weighted_quantile(
        scores, source_share, THIN_QUANTILE
    )
    return found


def thin_interval(
    scores: Array,
    scores_target: Array,
    source_share: Array,
    target_share: Array,
    in_hole: NDArray[np.bool_] | None = None,
) -> tuple[float, float]:
    r"""Return the interval of level 0.95 of the share that is thinly covered.

    .. math:: \text{thin} \pm 1.96 \sqrt{\frac{\text{thin} (1 - \text{thin})}{m}
        + \Bigl(1.5\, \frac{\text{thin}_k - \text{thin}}{1.96}\Bigr)^2}

    with :math:`\text{thin}_k` the share above the source score that k rows exceed, k
    the 97.5 % quantile of how many of n rows lie beyond the true 99.5 % quantile
    (binomial), and 1.5 for the scores themselves, which vary with the rows of both
    samples. With weights n and m are effective sizes.

    Parameters
    ----------
    scores, scores_target, source_share, target_share : array
        As `thin_share` has them.
    in_hole : array of bool of shape (m,) or None
        Target rows that count as thinly covered in any case.

    Examples
    --------
    >>> even = np.full(1000, 1e-3)
    >>> low, high = thin_interval(np.zeros(1000), np.repeat([0.0, 1], 500), even, even)
    >>> round(low, 3), round(high, 3)
    (0.469, 0.531)
    """
    n, m = (effective_sample_size(share) for share in (source_share, target_share))

    def share_above(quantile: float) -> float:
        threshold = weighted_quantile(scores, source_share, quantile)
        above = scores_target > threshold
        return float(target_share[above if in_hole is None else above | in_hole].sum())

    thin = share_above(THIN_QUANTILE)
    beyond = float(binom.ppf(0.5 + THIN_LEVEL / 2, round(n), 1 - THIN_QUANTILE))
    reach = float(norm.ppf(0.5 + THIN_LEVEL / 2))
    lower = share_above(min(THIN_QUANTILE, max(1 - (beyond + 0.5) / n, 0.0)))
    error = np.hypot(
        np.sqrt(thin * (1 - min(thin, 1.0)) / m), _SCORES_VARY * (lower - thin) / reach
    )
    return max(thin - reach * float(error), 0.0), min(thin + reach * float(error), 1.0)


def lowest_share(share: float, target_share: Array) -> float:
    """Return the lower end of a share of target rows, by their effective number.

    Examples
    --------
    >>> round(lowest_share(0.5, np.full(100, 0.01)), 3)
    0.402
    """
    part = min(share, 1.0)
    error = np.sqrt(part * (1 - part) / effective_sample_size(target_share))
    return float(share - norm.ppf(0.5 + THIN_LEVEL / 2) * error)


def thin_by_chance(n: float, m: float) -> float:
    """Return a share that `thin` hardly exceeds if n and m rows are drawn alike.

    Above the threshold lie k of n source rows, k at most 0.5 %, so about (k + 1) / n of
    either distribution; the limit is three standard errors above that, one from each
    sample.

    Examples
    --------
    >>> round(thin_by_chance(1000, 1000), 3), round(thin_by_chance(20, 20), 3)
    (0.016, 0.25)
    """
    outermost = np.floor((1 - THIN_QUANTILE) * n + 1e-9) + 1
    expected = outermost / (n + 1)
    error = np.sqrt(outermost / (n + 1) ** 2 + expected * (1 - expected) / m)
    return float(expected + 3 * error)


def verdict(
    auc: float,
    auc_low: float,
    thin: float,
    chance: float,
    n_rows: float = np.inf,
    *,
    told: bool = False,
    thin_low: float | None = None,
) -> str:
    """Return what the numbers mean, in the words of `overlap`'s table.

    Parameters
    ----------
    auc, auc_low : float
        How well the samples can be told apart, and the lower end of its interval.
    thin : float
        Share of the target that is thinly covered.
    chance : float
        What `thin` can be by chance.
    n_rows : float
        Effective size of the smaller sample.
    told : bool
        Whether a test beside the AUC tells the samples apart.
    thin_low : float or None
        The lower end of `thin`'s interval; None: `thin` itself.

    Examples
    --------
    >>> verdict(0.66, 0.63, 0.31, 0.02)
    'shift, thin in part'
    """
    if n_rows < ROWS_OF_WORTH_TO_TELL - 1e-9 and not (auc_low > 0.5 and thin > chance):
        return TOO_FEW
    # An AUC below one half tells nothing apart either: rows were left out of the fit.
    if not told and auc_low <= 0.5 and thin <= max(THIN_ABOVE, chance):
        return NO_SHIFT
    if (thin if thin_low is None else thin_low) > NO_OVERLAP_ABOVE:
        return NO_OVERLAP
    if thin > THIN_ABOVE:
        return THIN_IN_PART
    return SMALL_SHIFT if auc < SMALL_AUC else COVERED
