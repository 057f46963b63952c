"""How well a classifier tells the two samples apart, row by row."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.classifiers import (
    COLUMNS_FACTORED,
    boosted,
    linear_classifiers,
    plain_logistic,
    prepared,
)
from counterpoise.samples.dependent.auc_of_units import auc_of_units, share_below
from counterpoise.samples.pool import Pool
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import (
    InvalidInput,
    as_seed,
)

# Rows of each sample that the classifiers see; more would not change the verdict.
ROWS_OF_DOMAIN_SCORE = 5_000
AUC_LEVEL = 0.95
# Each of the tests on which the verdict rests has this part of its level.
TEST_LEVEL = 0.01

# To which logistic regression goes with more than 500 dense columns.
TOL_OF_MANY_COLUMNS = 1e-4

# A row counts in the choice of the model as if its odds were no longer than these.
_LONGEST_ODDS = np.log(1e4)
# The recalibrated log-odds keep the order of the rows, and expit keeps it to here.
_SMALLEST_SLOPE, _LARGEST_LOG_ODDS = 1e-3, 30.0


@dataclass(frozen=True, eq=False)
class DomainScore:
    """How well, and where, the target can be told from the source.

    Attributes
    ----------
    auc : float
        Chance that a target row has a higher score than a source row, ties counted
        half; one half where nothing can be told.
    auc_low, auc_high : float
        Its interval of level 0.95 (DeLong; down to one half near it, see Notes of
        `domain_score`).
    p_value : float
        Chance of an AUC as large where nothing has shifted; below 0.01 exactly where
        `auc_low` is above one half.
    model : str
        "logistic" or "boosted"; of text also logistic "on components", "on striking
        words", "on rare words" or "on telling words":
        The classifier with the smaller held-out log-loss.
    log_loss : float
        That loss, in nats a row, before the recalibration.
    scores, scores_target : array of shape (k,), (l,)
        P(target | x) of source and of target rows, out of fold and recalibrated; in
        the mixture in which the rows scored are `prior` target.
    rows, rows_target : array of shape (k,), (l,)
        Which rows were scored: all that count, or some drawn by chance.
    share, share_target : array of shape (k,), (l,)
        What these rows count in a mean over their sample; they sum to one.
    prior : float
        Share of the target among the rows scored. The odds of a score divided by the
        odds of the prior are a density ratio target/source.
    """

    auc: float
    auc_low: float
    auc_high: float
    p_value: float
    model: str
    log_loss: float
    scores: Array = field(repr=False)
    scores_target: Array = field(repr=False)
    rows: Indices = field(repr=False)
    rows_target: Indices = field(repr=False)
    share: Array = field(repr=False)
    share_target: Array = field(repr=False)
    prior: float = field(repr=False)

    def __str__(self) -> str:
        return (
            f"AUC of source against target {self.auc:.3f} "
            f"({self.auc_low:.3f} to {self.auc_high:.3f}, {self.model})"
        )


def domain_score(
    X: Any,
    X_target: Any,
    *,
    sample_weight: Any = None,
    target_weight: Any = None,
    random_state: Any = None,
) -> DomainScore:
    r"""Return P(target | x) of every row, out of fold, and how well it separates.

    Two classifiers, a logistic regression and boosted trees, are fitted to tell target
    from source on four fifths of the rows of each sample and asked about the last
    fifth, five times over. The one with the smaller log-loss is kept, and a line
    through its log-odds, fitted by maximum likelihood (Platt), makes its probabilities
    right on the average:

    .. math:: s(x) = 1 / (1 + \exp(-a f(x) - b)), \quad a > 0.

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
    DomainScore

    Notes
    -----
    The interval is DeLong's, and with weights
    :math:`\sum_j q_j^2 (V_j - A)^2 / (1 - \sum_j q_j^2)` takes the place of its
    variance over either sample, with :math:`q_j` a row's share and :math:`V_j` the
    chance that the row is on the right side of one of the other sample. That takes
    the classifiers for given. With nothing shifted an out-of-fold AUC varies more, by a
    factor of up to :math:`\sqrt 2`: of two folds each is held out from the classifier
    that the other teaches, so that what one says of the other counts twice. Therefore
    the interval reaches down to one half wherever the AUC is not above it by that
    factor times the reach of a test of level 0.01, this test's part in `overlap`'s
    verdict, with the larger of DeLong's error and that of Mann and Whitney for equal
    distributions: wherever

    .. math:: p = \Phi\Bigl(-\frac{A - 1/2}{\sqrt 2\, e}\Bigr) \ge 0.01 .

    Equal rows share a fold, so that no copy of a row helps to score it, and a row of
    weight two is the row twice; where there are fewer than fifty different rows, as
    with few categories, copies are dealt out over the folds and get the mean of their
    log-odds. The order of the rows does not matter. Columns that the samples record to
    different digits are compared as if they did not (`off_grids`).

    Sparse rows of more than 100 columns, as text is, are told apart by five logistic
    regressions in place of the two classifiers: on twelve components of tf-idf, on the
    columns whose means differ by more than chance, on tf-idf, on tf-idf times the log
    odds that a column speaks for, and on the rows as they are, each with a ridge chosen
    by held-out rows. No column is divided by its spread.

    Of more than 64 columns the trees look at the 64 that differ most between the
    samples, by the rows that they learn from. More than 500 dense columns are cut and
    scaled once, by the rows of both samples and not by those of each fold (no label is
    looked at), and the regression goes to a tolerance of 1e-4, not 1e-6.

    References
    ----------
    E. DeLong, D. DeLong and D. Clarke-Pearson, 1988. J. Platt, 1999.

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=400, m=300, d=2, random_state=0)
    >>> score = domain_score(shift.X, shift.X_target, random_state=0)
    >>> score.auc_low > 0.5, score.scores.shape, score.scores_target.shape
    (True, (400,), (300,))
    """
    samples = SamplesAsRead.read_encoded(X, X_target, sample_weight, target_weight)
    seed = as_seed(samples.seed(random_state))
    return score_domains(samples, seed)


def score_domains(samples: SamplesAsRead, seed: int) -> DomainScore:
    """Return what `domain_score` does, of samples as read; worked out once a seed."""
    key = score_domains, seed
    if key not in samples.found:
        samples.found[key] = _scored(samples, seed)
    found: DomainScore = samples.found[key]
    return found


def _scored(samples: SamplesAsRead, seed: int) -> DomainScore:
    source, target = samples.source, samples.target
    order, order_target = samples.order
    rows, weight = _some_rows(order, samples.source_weight, seed)
    rows_target, weight_target = _some_rows(order_target, samples.target_weight, seed)
    for name, chosen in (("X", rows), ("X_target", rows_target)):
        if chosen.size < 2:
            raise InvalidInput(
                f"{name} has {chosen.size} row that counts, at least 2 are needed to "
                "score rows by a fit without them"
            )
    scored = TwoSamples.of(source[rows], target[rows_target], weight, weight_target)
    units = samples.units
    pool = Pool.of(
        scored, seed, None if units is None else units.in_turn(rows, rows_target)
    )
    name, log_odds, loss = _better_model(pool)
    scores = expit(pool.each_row(_recalibrated(log_odds, pool.labels, pool.weights)))
    # Back to the order in which the rows came.
    n, back, back_target = rows.size, np.argsort(rows), np.argsort(rows_target)
    first, second = scores[:n][back], scores[n:][back_target]
    share, share_target = scored.source_share[back], scored.target_share[back_target]
    if units is None:
        auc, error = _auc(first, second, share, share_target)
        low, high, chance = _interval(auc, error, share, share_target)
    else:
        numbers = units.in_turn(rows[back], rows_target[back_target])
        auc, low, high, chance = auc_of_units(
            first, second, share, share_target, numbers, TEST_LEVEL, AUC_LEVEL
        )
    return DomainScore(
        auc=auc,
        auc_low=low,
        auc_high=high,
        p_value=chance,
        model=name,
        log_loss=loss,
        scores=first,
        scores_target=second,
        rows=rows[back],
        rows_target=rows_target[back_target],
        share=share,
        share_target=share_target,
        prior=scored.target_mass / (scored.source_mass + scored.target_mass),
    )


def _some_rows(order: Indices, weight: Array, seed: int) -> tuple[Indices, Array]:
    """Return rows that count, in an order of their own, and weights of mean one."""
    if order.size > ROWS_OF_DOMAIN_SCORE:
        # The same draw for both samples, so that equal samples stay equal.
        picked = np.random.default_rng(seed).permutation(order.size)[
            :ROWS_OF_DOMAIN_SCORE
        ]
        order = order[np.sort(picked)]
    weight = weight[order]
    return order, weight / weight.mean()


def _better_model(pool: Pool) -> tuple[str, Array, float]:
    """Return the name, the out-of-fold log-odds and the log-loss of the better."""
    is_sparse, d = sparse.issparse(pool.X), pool.X.shape[1]
    models = linear_classifiers(pool.X)
    if not is_sparse and d > COLUMNS_FACTORED:
        pool = replace(pool, X=prepared(pool.X, pool.weights))
        models = {"logistic": plain_logistic(d, TOL_OF_MANY_COLUMNS)}
    # Trees take no sparse matrix.
    if not is_sparse:
        models["boosted"] = boosted()
    found = []
    for name, model in models.items():
        log_odds = pool.out_of_fold(model)
        cautious = np.clip(log_odds, -_LONGEST_ODDS, _LONGEST_ODDS)
        losses = np.logaddexp(0.0, np.where(pool.labels == 1, -cautious, cautious))
        loss = float(pool.weights @ losses / pool.weights.sum())
        found.append((name, log_odds, loss))
    return min(found, key=lambda candidate: candidate[2])


def _recalibrated(log_odds: Array, label: Array, weight: Array) -> Array:
    """Return the log-odds on the increasing line that fits the labels best."""
    # Platt's targets: a separable pair of samples has no best line for labels 0 and 1.
    mass = float(weight @ label)
    mass_source = float(weight.sum()) - mass
    aim = np.where(label == 1, (mass + 1) / (mass + 2), 1 / (mass_source + 2))
    share = weight / weight.sum()
    scale = max(float(np.sqrt(share @ log_odds**2)), np.finfo(float).tiny)
    z = log_odds / scale

    def loss(line: Array) -> tuple[float, Array]:
        fitted = line[0] * z + line[1]
        wrong = share * (expit(fitted) - aim)
        value = float(share @ (np.logaddexp(0.0, fitted) - aim * fitted))
        return value, np.array([wrong @ z, wrong.sum()])

    line = minimize(
        loss,
        np.array([scale, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(_SMALLEST_SLOPE, None), (None, None)],
        options={"ftol": 0.0, "gtol": 1e-9},
    ).x
    return np.clip(line[0] * z + line[1], -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)


def _auc(
    scores: Array, scores_target: Array, share: Array, share_target: Array
) -> tuple[float, float]:
    """Return the AUC and its standard error by DeLong, with weights."""
    above_source = share_below(scores_target, scores, share)
    above_target = share_below(scores, scores_target, share_target)
    auc = min(float(share_target @ above_source), 1.0)
    error = _variance_of_mean(above_source, share_target)
    error += _variance_of_mean(above_target, share)
    return auc, float(np.sqrt(error))


def _interval(
    auc: float, error: float, share: Array, share_target: Array
) -> tuple[float, float, float]:
    """Return the ends of DeLong's interval, and the chance of such an AUC.

    The lower end is at most one half if chance explains the AUC.
    """
    quantile = float(norm.ppf(0.5 + AUC_LEVEL / 2))
    low, high = max(auc - quantile * error, 0.0), min(auc + quantile * error, 1.0)
    # The error of Mann and Whitney, which does not vanish with the errors of few rows.
    p, q = float(share @ share), float(share_target @ share_target)
    by_chance = max(error, np.sqrt((p + q + p * q) / 12))
    chance = float(norm.sf((auc - 0.5) / (np.sqrt(2) * by_chance)))
    if chance >= TEST_LEVEL:
        low = min(low, 0.5)
    return low, high, chance


def _variance_of_mean(values: Array, share: Array) -> float:
    centred = values - share @ values
    # One row that has all the weight leaves no more than rounding.
    left = max(1.0 - float(share @ share), float(np.finfo(float).eps))
    return float(share**2 @ centred**2) / left
