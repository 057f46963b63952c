"""Whether the target lies where the source has rows: one rule for the library."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.coverage.thin_by_chance import (
    THIN_ABOVE,
    THIN_QUANTILE,
    as_share,
    thin_by_chance,
)
from counterpoise.samples.dependent.cells_of_units import cells_by_units
from counterpoise.samples.dependent.row_units import RowUnits
from counterpoise.samples.domain_scores import TEST_LEVEL, DomainScore, score_domains
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.holes import RIM, Holes, find_holes
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.quantiles import weighted_quantile
from counterpoise.validation import as_seed

# Shares of the target: above the first the samples do not overlap; a ratio is made
# relative, and the user told, from the second.
NO_OVERLAP_ABOVE, RELATIVE_FROM = 0.5, 0.02
# The level of `thin`'s interval, and how much more it varies than its threshold does.
THIN_LEVEL, _SCORES_VARY = 0.95, 1.5
# A shift that a classifier sees less well than this is small.
SMALL_AUC = 0.6
# With fewer rows of worth in a sample nothing is told but that the samples are apart.
ROWS_OF_WORTH_TO_TELL = 30

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
        Which of the target rows scored lie in a hole; in one or at its rim, up to 1.6
        times as far from its middle.
    holes : Holes
        Where the source has none, with the chance of that.
    units : tuple of float or None
        Effective numbers of groups, or of blocks of time, in source and target; None
        where every row stands for itself.
    enough : bool
        Whether there are so many units that a test of divisions can tell.
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
    units: tuple[float, float] | None = None
    enough: bool = True

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
    too few rows to tell a sample has less than 30 rows of worth (its effective size),
                         and not both the lower end of `thin`'s interval is above
                         0.5 and `thin` beyond chance; `rows_that_tell` would do
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
        Where the folds come from, and the 5,000 rows of a sample that has more; None:
        from what the rows hold, so that the same rows get the same answer.

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
    return overlap_between(samples, as_seed(samples.seed(random_state)))


def overlap_between(samples: SamplesAsRead, seed: int) -> Overlap:
    """Return what `overlap` does, of samples as read; worked out once a seed."""
    key = overlap_between, seed
    if key not in samples.found:
        score = score_domains(samples, seed)
        rows = samples.source[score.rows], samples.target[score.rows_target]
        if samples.units is None:
            scored = TwoSamples.of(*rows, score.share, score.share_target)
            holes = find_holes(scored.ordered(), seed)
        else:
            holes = cells_by_units(samples, score.rows, score.rows_target, seed)
        inside, near = (holes.hold(rows[1], wider) for wider in (1.0, RIM))
        samples.found[key] = overlap_of(score, holes, inside, near, samples.units)
    found: Overlap = samples.found[key]
    return found


def thin_where_known(samples: SamplesAsRead) -> float | None:
    """Return the thin share that was worked out of these samples, None if none was.

    Who speaks of them says the same number.
    """
    known = (v for k, v in samples.found.items() if k[0] is overlap_between)
    seen: Overlap | None = next(known, None)
    return None if seen is None else seen.thin


def overlap_of(
    score: DomainScore,
    holes: Holes,
    in_hole: NDArray[np.bool_],
    near_hole: NDArray[np.bool_],
    units: RowUnits | None = None,
) -> Overlap:
    """Return how much of the target is thinly covered, by scores and holes.

    `in_hole`, `near_hole`: which of the target rows scored lie in a hole, and at one.
    `units`: what all rows belong to; chance is then that of units.
    """
    threshold = weighted_quantile(score.scores, score.share, THIN_QUANTILE)
    thin = as_share(score.share_target[(score.scores_target > threshold) | in_hole])
    sizes = [effective_sample_size(s) for s in (score.share, score.share_target)]
    n_rows, worth, enough = min(sizes), (sizes[0], sizes[1]), True
    if units is not None:
        units = units.kept(score.rows, score.rows_target)
        worth = units.worth(score.share, score.share_target)
        enough = units.are_enough(TEST_LEVEL)
    chance = thin_by_chance(*worth)
    low, high = thin_interval(
        score.scores,
        score.scores_target,
        score.share,
        score.share_target,
        in_hole,
        worth,
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
            n_rows if enough else 0.0,
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
        units=None if units is None else worth,
        enough=enough,
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
    return as_share(target_share[is_thin(scores, scores_target, source_share)])


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
    worth: tuple[float, float] | None = None,
) -> tuple[float, float]:
    r"""Return the interval of level 0.95 of the share that is thinly covered.

    .. math:: \text{thin} \pm 1.96 \sqrt{\frac{\text{thin} (1 - \text{thin})}{m}
        + \Bigl(1.5\, \frac{\delta}{1.96}\Bigr)^2}, \quad
        \delta_{\text{above}} = \text{thin}_k - \text{thin}, \quad
        \delta_{\text{below}} = \max(\delta_{\text{above}},\;
        \text{thin} - \text{thin}_f)

    with :math:`\text{thin}_k` the share above the source score that k rows exceed, f
    and k the 2.5 % and 97.5 % quantiles of how many of n rows lie beyond the true
    99.5 % quantile (binomial), and 1.5 for the scores themselves, which vary with the
    rows of both samples. Below, what lies above the threshold tells: of few rows the
    outermost are far apart, and a threshold that is too low by chance has others near
    below it.
    With weights n and m are effective sizes.

    Of n rows none lies beyond the true quantile with a chance of 0.995**n: of 300 rows
    the lower end exceeds the true share in 8 % of draws of two normals 2.55 apart, of
    1,000 rows in 1 %.

    Parameters
    ----------
    scores, scores_target, source_share, target_share : array
        As `thin_share` has them.
    in_hole : array of bool of shape (m,) or None
        Target rows that count as thinly covered in any case.
    worth : tuple of float or None
        What stands for n and m, such as numbers of groups; None: the rows.

    Examples
    --------
    >>> even = np.full(1000, 1e-3)
    >>> low, high = thin_interval(np.zeros(1000), np.repeat([0.0, 1], 500), even, even)
    >>> round(low, 3), round(high, 3)
    (0.469, 0.531)
    """
    n, m = worth or [effective_sample_size(s) for s in (source_share, target_share)]

    def share_above(quantile: float) -> float:
        threshold = weighted_quantile(scores, source_share, quantile)
        above = scores_target > threshold
        return as_share(target_share[above if in_hole is None else above | in_hole])

    thin = share_above(THIN_QUANTILE)
    both = 0.5 - THIN_LEVEL / 2, 0.5 + THIN_LEVEL / 2
    few, many = (float(binom.ppf(p, round(n), 1 - THIN_QUANTILE)) for p in both)
    more = share_above(min(THIN_QUANTILE, max(1 - (many + 0.5) / n, 0.0))) - thin
    less = thin - share_above(max(THIN_QUANTILE, 1 - (few + 0.5) / n))
    of_target = float(norm.ppf(both[1])) * np.sqrt(thin * (1 - thin) / m)
    below, above = (
        float(np.hypot(of_target, _SCORES_VARY * off))
        for off in (max(more, less), more)
    )
    return max(thin - below, 0.0), min(thin + above, 1.0)


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
    low = thin if thin_low is None else thin_low
    is_apart = low > NO_OVERLAP_ABOVE and thin > chance
    if n_rows < ROWS_OF_WORTH_TO_TELL - 1e-9 and not is_apart:
        return TOO_FEW
    # An AUC below one half tells nothing apart either: rows were left out of the fit.
    if not told and auc_low <= 0.5 and thin <= max(THIN_ABOVE, chance):
        return NO_SHIFT
    if low > NO_OVERLAP_ABOVE:
        return NO_OVERLAP
    if thin > THIN_ABOVE:
        return THIN_IN_PART
    return SMALL_SHIFT if auc < SMALL_AUC else COVERED
