"""Automatic choice of a weight estimator."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline

from counterpoise.data.arrays import Matrix
from counterpoise.data.parameters import as_seed
from counterpoise.data.progress import advance
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import (
    N_FOLDS,
    TwoSamples,
    far_rows,
    is_wide_and_sparse,
    pooled_scale,
    rows_scaled,
)
from counterpoise.errors import NoOverlapError, suppress_warnings, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.loop import Solution
from counterpoise.shift.domain_classifier import (
    COLUMNS_FACTORED,
    boosted,
    linear_classifiers,
    logistic,
    product_logistic,
    squared_logistic,
    two_gaussians,
)
from counterpoise.shift.support import (
    NO_OVERLAP_ABOVE,
    RELATIVE_FROM,
    as_share,
    find_coverage_gaps,
    is_outside_support,
    uncovered_interval,
)
from counterpoise.shift.two_sample_tests import median_gamma
from counterpoise.weights.base import (
    Callback,
    FitResult,
    RandomState,
    UniformWeights,
    WeightEstimator,
    largest_weight,
    weight_sums,
)
from counterpoise.weights.discriminator import ClassifierTrials, DiscriminatorWeights
from counterpoise.weights.kliep import KLIEP, held_out_kliep
from counterpoise.weights.log_linear import (
    LogLinearKLIEP,
    ScaledFold,
    held_out_log_linear,
)
from counterpoise.weights.registry import with_parameters
from counterpoise.weights.search import (
    FEWEST_TO_CHOOSE,
    LARGEST_UNCOVERED_RELATIVE,
    WIDTH_FACTORS,
    Deadline,
    HeldOut,
    choose,
    thinned,
    unsupported_share,
    untried,
)

Classifiers: TypeAlias = Mapping[str, ClassifierMixin | Pipeline]

# -----------------------------------------------------------------------------
# Target rows that belong to those which no source row stands for.
# -----------------------------------------------------------------------------


# How many of the nearest rows are looked at.
N_NEAREST = 10


def spread_to_neighbors(
    lost: NDArray[np.bool_], samples: TwoSamples, rows: Indices, target_rows: Indices
) -> NDArray[np.bool_]:
    """Return which target rows are lost, those among them included.

    A target row joins the lost if of the ten rows of both samples that are nearest to
    it none is a source row and at least half are lost: the rim of a cluster that the
    source does not reach, whose rows a classifier may place below an odd source row.
    That is repeated until none joins. `rows` and `target_rows` are the places of
    the rows of either sample that are looked at as neighbors; a row is not its own.
    """
    if lost.all():
        return lost
    # The door has said it, by the names of the columns.
    with suppress_warnings(UserWarning, message="hardly varies"):
        scaled = rows_scaled(samples, pooled_scale(samples))
    known = np.vstack([scaled.source[rows], scaled.target[target_rows]])
    # The place of each neighbor among the target rows; -1 for a source row.
    place = np.concatenate([np.full(rows.size, -1), target_rows])
    count = min(N_NEAREST, place.size - 1)
    asked = np.flatnonzero(~lost)
    finder = NearestNeighbors(n_neighbors=count + 1).fit(known)
    near = place[finder.kneighbors(scaled.target[asked], return_distance=False)]
    own = near == asked[:, None]
    # Where it is not among its own neighbors, the furthest of them is one too many.
    own[~own.any(axis=1), -1] = True
    near = near[~own].reshape(asked.size, count)
    alone = (near >= 0).all(axis=1)
    lost = lost.copy()
    while True:
        joins = alone & ~lost[asked] & (2 * lost[near].sum(axis=1) >= count)
        if not joins.any():
            return lost
        lost[asked[joins]] = True


# -----------------------------------------------------------------------------
# How large a weight held-out rows support.
# -----------------------------------------------------------------------------


# How many of the source rows of the largest weights are looked at, together.
TOP_ROWS = (10, 30, 90)
# They stand for no more than the target rows of such ratios and this many errors.
ERRORS_ABOVE = 2.0


def supported_weight(held_out: HeldOut, samples: TwoSamples) -> float:
    r"""Return the largest weight that held-out rows support; infinity where all are.

    A density ratio w has, at every level c,

    .. math:: E_{source}[w\,1(w \ge c)] = P_{target}(w \ge c) = \pi_c .

    With c the weight that ten source rows reach (that thirty, that ninety reach), all
    of them held out, the left side may exceed the right by two standard errors of the
    difference,

    .. math:: se^2 = \max(\pi_c (1 - \pi_c), 1 / m) / m
        + \mathrm{mean}_i(w_i^2\,1(w_i \ge c)) / n .

    Where it exceeds that, weights are cut to where it does not, never below one: a few
    source rows would stand for more of the target than there is like them. A number of
    rows is passed over where it is more than half of the source rows.
    """
    mean = float(samples.source_share @ held_out.source)
    if not 0.0 < mean < math.inf:
        return math.inf
    source, target = held_out.source / mean, held_out.target / mean
    order = np.argsort(-source, kind="stable")
    ordered, share = source[order], samples.source_share[order]
    # In ten million parts of a row, so that rounding moves no row.
    rows = np.round(np.cumsum(share) * samples.source_mass, 7)
    limit = math.inf
    for count in TOP_ROWS:
        if 2 * count > samples.source_mass:
            continue
        level = ordered[np.searchsorted(rows, count)]
        above = ordered >= level
        there = float(samples.target_share[target >= level].sum())
        n, m = samples.source_mass, samples.target_mass
        variance = max(there * (1.0 - there), 1.0 / m) / m
        variance += float(share[above] @ ordered[above] ** 2) / n
        most = there + ERRORS_ABOVE * math.sqrt(variance)
        if float(share[above] @ ordered[above]) > most:
            limit = min(limit, _cut(ordered[above], share[above], most))
    return max(limit, 1.0)


def cut_at(held_out: HeldOut, limit: float, samples: TwoSamples) -> HeldOut:
    """Return held-out weights of mean one with none above a limit."""
    if math.isinf(limit):
        return held_out
    mean = float(samples.source_share @ held_out.source)
    return replace(
        held_out,
        target=np.minimum(held_out.target / mean, limit),
        source=np.minimum(held_out.source / mean, limit),
    )


def _cut(weights: Array, share: Array, most: float) -> float:
    """Return where to cut descending weights so that their mass is `most`."""
    # Cut at the k-th weight, the first k rows have that weight each.
    first = np.cumsum(share)
    rest = np.concatenate([np.cumsum((share * weights)[::-1])[::-1][1:], [0.0]])
    mass = first * weights + rest
    k = int(np.flatnonzero(mass <= most)[0]) if (mass <= most).any() else mass.size
    k = max(k, 1)
    return float((most - rest[k - 1]) / first[k - 1])


# -----------------------------------------------------------------------------
# What `AutoWeights` chooses from, in order of simplicity, and how each is tried.
# -----------------------------------------------------------------------------


# What kernels get of the target in the denominator where some of it is uncovered.
TARGET_SHARE = 0.05
# Beside the ridge that log-quadratic ratios have by default; and one over the ridges of
# logistic regression on products, the strong one first.
STRONG_RIDGE, PRODUCT_CS = 0.1, (0.01, 0.1)
# A classifier with no more parameters than this share of the rows is asked about rows
# that it was fitted to.
FEW_PARAMETERS = 0.1
# Candidates with a simpler one's place in the order: of squares and Gaussians neither
# is the safer guess, as squares are wrong by much where columns are skewed.
EQUALS = {
    "logistic on squares": "log-ratio diag",
    "two Gaussians": "log-ratio diag",
    "two Gaussians of ranks": "log-ratio diag",
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A weight estimator, and a way to see how it fares on rows that it has not seen.

    `try_out` is None where there is no need: the weight estimator is never taken.
    `by_heart` says that a classifier learns its rows by heart: more than a tenth as
    many parameters as rows, or trees. The weights of these are then out of fold; one of
    few parameters is the surer the more rows it has, and weighs them by its fit to all.
    `as_simple_as` names a candidate before it that has the same place in the order.
    """

    name: str
    weight_estimator: WeightEstimator
    try_out: Callable[[], HeldOut] | None
    by_heart: bool = False
    as_simple_as: str | None = None


@dataclass(frozen=True, eq=False)
class Trials:
    """The rows that candidates are tried on, and what is found of them once for all.

    Attributes
    ----------
    samples : TwoSamples
        Some of the rows that a fit counts, in their order.
    seed : int
        Of folds and classifiers.
    deadline : Deadline
    """

    samples: TwoSamples
    seed: int
    deadline: Deadline

    @property
    def are_enough(self) -> bool:
        """Whether there are rows enough to hold some out."""
        sizes = self.samples.source.shape[0], self.samples.target.shape[0]
        return min(sizes) >= FEWEST_TO_CHOOSE

    def held_out(self, classifiers: Classifiers) -> HeldOut:
        """Return the density ratios of all rows, out of fold, by the best of some.

        One name stands for one classifier.
        """
        with suppress_warnings():
            best = self.classifiers.best(classifiers)
        return self.classifiers.held_out(best)

    def fitted(
        self, weight_estimator: DiscriminatorWeights, classifiers: Classifiers
    ) -> DiscriminatorWeights:
        """Return an estimator by such classifiers fitted to the rows, none twice."""
        weight_estimator._shared_trials = self.classifiers, classifiers
        with suppress_warnings():
            return weight_estimator._fit_samples(self._read)

    @cached_property
    def classifiers(self) -> ClassifierTrials:
        """Out-of-fold odds of the rows, by every classifier that was asked for."""
        return ClassifierTrials.of(self._read.counted, as_seed(self.seed))

    @cached_property
    def parts(self) -> tuple[Indices, Indices]:
        """The folds of the rows of both samples, those of the classifiers.

        How rows are divided moves a score by as much as candidates are apart: all are
        scored on one division, so that it is no part of their difference.
        """
        pool, n = self.classifiers.pool, self.samples.source.shape[0]
        fold = pool.fold[pool.place]
        return fold[:n], fold[n:]

    @cached_property
    def scaled_parts(self) -> list[ScaledFold]:
        """The rows outside and inside of each fold, on the scale of the former."""
        fold, fold_target = self.parts
        with suppress_warnings():
            return [
                ScaledFold.of(self.samples, fold == k, fold_target == k)
                for k in range(N_FOLDS)
            ]

    @cached_property
    def _read(self) -> Samples:
        return Samples.of_ordered(self.samples)


def ranks(candidates: list[Candidate]) -> list[int]:
    """Return the order of simplicity, in which equals are equal."""
    names = [candidate.name for candidate in candidates]
    return [
        names.index(one.as_simple_as if one.as_simple_as in names else one.name)
        for one in candidates
    ]


def candidates(trials: Trials, common: dict[str, Any]) -> list[Candidate]:
    """Return all candidates, simplest first; `common` are parameters of all."""
    return list(_candidates(trials, common))


def _candidates(trials: Trials, common: dict[str, Any]) -> Iterator[Candidate]:
    n, d = trials.samples.source.shape
    m = trials.samples.target.shape[0]
    ones = HeldOut(np.ones(m), np.ones(n), 0.0)
    yield Candidate("uniform", UniformWeights(), lambda: ones)
    if not trials.are_enough:
        warn_user(
            f"{n} source and {m} target rows are too few to choose weights by "
            "cross-validation: all weights are one"
        )
        return
    is_sparse = sparse.issparse(trials.samples.source)
    if is_sparse:
        rows = trials.samples.source
        linear = {name: (one, d) for name, one in linear_classifiers(rows).items()}
        yield from _by_odds(linear, trials, common)
        # Of text a log-linear ratio has every word: the classifiers have its ridge too.
        if not is_wide_and_sparse(rows):
            yield _family("linear", trials, common)
        return
    # How many products of columns there are, themselves included; one has no others.
    products = d * (d + 3) / 2 if d > 1 else np.inf
    # Two estimates of one ratio: the likelihood's is the surer, whatever their scores.
    yield from _by_odds({"logistic": (logistic(False, d), d)}, trials, common)
    yield _family("linear", trials, common)
    yield _family("diag", trials, common)
    classifiers: dict[str, tuple[Any, float]]
    classifiers = {"logistic on squares": (squared_logistic(d), 2 * d)}
    if d <= COLUMNS_FACTORED:
        gaussians = {
            "two Gaussians": (two_gaussians(by_ranks=False), d * (d + 3)),
            "two Gaussians of ranks": (two_gaussians(by_ranks=True), d * (d + 3)),
        }
        yield from _by_odds(gaussians, trials, common)
    if products <= min(n / 2, m / 2, COLUMNS_FACTORED):
        # The stronger ridge is the simpler of two, and bears more products.
        strong = {**common, "alpha": STRONG_RIDGE}
        yield _family("full", trials, strong, f", ridge {STRONG_RIDGE:g}")
        classifiers |= {
            f"logistic on products, C = {C:g}": (product_logistic(d, C), products)
            for C in PRODUCT_CS
        }
    if products <= n / 10:
        yield _family("full", trials, common)
    yield from _kernels(trials, common)
    classifiers |= {"boosted": (boosted(), np.inf)}
    yield from _by_odds(classifiers, trials, common)


def _family(
    name: str, trials: Trials, parameters: dict[str, Any], note: str = ""
) -> Candidate:
    """Return a ratio whose logarithm is linear in statistics of this name."""
    weight_estimator = LogLinearKLIEP(statistics=name, **parameters)

    def try_out() -> HeldOut:
        parts = trials.scaled_parts
        return held_out_log_linear(weight_estimator, parts, trials.deadline)

    return Candidate(f"log-ratio {name}{note}", weight_estimator, try_out)


def _by_odds(
    classifiers: dict[str, tuple[ClassifierMixin | Pipeline, float]],
    trials: Trials,
    common: dict[str, Any],
) -> Iterator[Candidate]:
    """Yield weights by the odds of classifiers, each with its number of parameters."""
    n_rows = trials.samples.source.shape[0] + trials.samples.target.shape[0]
    for name, (classifier, n_parameters) in classifiers.items():
        weight_estimator = with_parameters(
            DiscriminatorWeights, estimator=classifier, **common
        )
        try_out = partial(trials.held_out, {name: classifier})
        by_heart = n_parameters > FEW_PARAMETERS * n_rows
        yield Candidate(name, weight_estimator, try_out, by_heart, EQUALS.get(name))


def _kernels(trials: Trials, common: dict[str, Any]) -> Iterator[Candidate]:
    """Yield KLIEP at every width; those that cannot be taken need no trial."""
    # A warning has named the columns before.
    with suppress_warnings(UserWarning, message="hardly varies"):
        scaled = rows_scaled(trials.samples, pooled_scale(trials.samples))
    tried = list[HeldOut]()
    middle = median_gamma(scaled.target, scaled.target_share)
    for factor in WIDTH_FACTORS:
        gamma = middle / factor**2
        uncovered = unsupported_share(scaled, gamma)
        relative = TARGET_SHARE if uncovered > RELATIVE_FROM else 0.0
        weight_estimator = KLIEP(gamma=gamma, relative=relative, **common)
        try_out = None
        if uncovered <= LARGEST_UNCOVERED_RELATIVE:
            try_out = partial(_try_kernel, gamma, relative, scaled, trials.parts, tried)
        yield Candidate(f"kernel {factor:g} median", weight_estimator, try_out)


def _try_kernel(
    gamma: float,
    relative: float,
    scaled: TwoSamples,
    parts: tuple[Indices, Indices],
    tried: list[HeldOut],
) -> HeldOut:
    """Return KLIEP's held-out weights; add them to those tried if admissible."""
    rival = tried[choose(tried, scaled).best] if tried else None
    held_out = held_out_kliep(scaled, gamma, relative, parts, rival)
    if held_out.admissible:
        tried.append(held_out)
    return held_out


# -----------------------------------------------------------------------------
# The weights to begin with: families, widths and classifiers ranked together.
# -----------------------------------------------------------------------------


# Target rows that score above every source row are left out if they are more than this
# share: no weight makes the source stand for them.
HOLE = 0.05
# A classifier is fitted to no more rows of each sample than this, and asked about all:
# it would take long over more and hardly learn from them.
ROWS_TAUGHT = 10_000
# No weight below this; a weight of zero would lose a row.
SMALLEST_WEIGHT = 1e-4


@dataclass(kw_only=True, eq=False, repr=False)
class AutoWeights(WeightEstimator):
    r"""The simplest weights that are as good as the best by their held-out score.

    Candidates, in order of simplicity: uniform weights; `DiscriminatorWeights` by
    logistic regression; `LogLinearKLIEP` with linear and squared statistics; two
    Gaussians with shrunk covariances, of columns as they are and made normal by their
    ranks; `LogLinearKLIEP` with all products, of two ridges; `KLIEP` at eight widths;
    `DiscriminatorWeights` by logistic regression on squares, on all products of columns
    made normal (of two ridges), and by boosting. Each is scored by how much likelier
    than weights of one it makes it which sample a row is of,

    .. math:: G(w) = \mathrm{mean}_j \log \frac{2 w(t_j)}{1 + w(t_j)}
        + \mathrm{mean}_i \log \frac{2}{1 + w(x_i)}

    in nats, on rows of both samples that it was not fitted to (five folds, the same for
    all), and the first candidate that falls short of the best by no more than four
    tenths of the standard error of the best's own score is fitted to all rows: the same
    for all, so that a noisy candidate is not excused by its noise. (Logistic regression
    and the log-linear ratio are two estimates of one ratio, whose scores differ by
    chance alone: the first comes first, as no other estimate of it has a smaller error
    where rows are many. Logistic regression on squares, and two Gaussians, are as
    simple as squared statistics: of equals the one of the highest score is taken.) Its
    weights of the source rows are by that fit; those of boosted trees, and of a
    classifier with more than a tenth as many parameters as rows, are out of fold. A
    width at which more than 10 % of the target rows have less than one expected source
    neighbor is not taken; from 2 % on the ratio is a relative one. A ratio is not
    extrapolated: no weight exceeds the largest at a target row of the fit (rows far
    outside the bulk of both samples aside), and none is below 1e-4. Where the ten,
    thirty or ninety source rows of the largest held-out weights would stand for more of
    the target than the target rows of such ratios and two standard errors, weights are
    cut to that. Target rows that a classifier places beyond every source row, or that
    lie in holes among the source rows (`overlap`), are left out where they are more
    than 5 %, and with them those that have only target rows near, half of them left
    out: the weights then speak for the others, and a warning says so;
    `is_extrapolation` knows the holes. Where a sample has more than 2000 rows, the
    choice is made on 2000, and a classifier is fitted to no more than 10,000 and asked
    about the others. Tables in blocks: all of this on 10,000 rows of each; a log-linear
    ratio, a kernel one and logistic regression are then fitted to all rows, where no
    target rows were left out.

    Parameters
    ----------
    tol : float
        Gap to reach, in units of the chosen method.
    max_iter : int
        Largest number of steps.
    max_time : float or None
        Seconds after which no further step begins. After half of them no further
        candidate is tried, and a warning says how many were.
    callback : callable or None
        Called with the progress after every step; True ends the search.
    exponent : float
        Power to which the weights are raised; 0 makes them uniform.
    allow_no_overlap : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of folds, subsamples and classifiers.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Estimated density ratio target/source at the source rows, of mean one.
    weight_estimator_ : WeightEstimator
        The one that was chosen, fitted to all rows.
    cv_results_ : dict of arrays
        Names, scores, allowed deficits and admissibility of all candidates; the score
        is NaN where one was not tried.
    solution_ : Solution
        That of `weight_estimator_`.
    unsupported_fraction_ : float or None
        Share of the target rows that live where only the outermost 0.5 % of the source
        rows are, by the scores of the better classifier, or in holes among them.
    largest_weight_ : float
        The cap.
    effective_sample_size_ : float

    References
    ----------
    Sugiyama, Krauledat and Mueller (2007), on importance-weighted selection. Qin
    (1998), on the likelihood of two samples whose log-ratio is linear.

    Examples
    --------
    >>> from counterpoise import AutoWeights
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(2, n=300, m=300, random_state=0)
    >>> auto = AutoWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
    >>> type(auto.weight_estimator_).__name__
    'LogLinearKLIEP'
    """

    _accepts_sparse = True

    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callback = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None

    def _check_samples(self, samples: Samples) -> None:
        if not samples.is_sparse:
            # Warns of columns that hardly vary, by their names.
            _ = samples.scale

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        seed = self._seed()
        rows, target_rows = thinned(samples, seed)
        trials = Trials(samples.take(rows, target_rows), seed, deadline)
        unsupported_fraction, low = None, None
        reached = np.ones(samples.target.shape[0], dtype=bool)
        if trials.are_enough:
            unsupported_fraction, low, reached = self._find_reached(
                samples, rows, target_rows, trials
            )
        if not reached.all():
            some = samples.take(rows, target_rows[reached[target_rows]])
            trials = Trials(some, seed, deadline)
        self._left_out_ = not reached.all()
        samples = samples.take(np.arange(samples.source.shape[0]), reached)
        common = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "callback": self.callback,
            "allow_no_overlap": True,
            "random_state": seed,
        }
        chosen, supported = self._choose(candidates(trials, common), trials)
        weights = self._take(chosen, supported, samples, trials)
        assert self.weight_estimator_.solution_ is not None
        return FitResult(
            replace(self.weight_estimator_.solution_, tol=self.tol),
            weights,
            unsupported_fraction,
            "uncovered_fraction",
            unsupported_fraction_low=low,
        )

    def _take(
        self,
        chosen: Candidate,
        supported: float,
        samples: TwoSamples,
        trials: Trials,
    ) -> Array:
        """Set `weight_estimator_` and the cap; return weights of the source rows."""
        weights = self._fit_chosen(chosen, samples, trials)
        at_target = self.weight_estimator_._weigh_rows(samples.target)
        if not sparse.issparse(samples.target):
            near = ~far_rows(samples)
            at_target = at_target[near] if near.any() else at_target
        self._supported_ = supported
        self._set_limit(float(at_target.max()))
        return self._bounded(weights)

    def _set_limit(self, reached: float) -> None:
        """Set the largest weight, given that of a target row."""
        self._reached_ = max(reached, 1.0)
        self.largest_weight_ = min(self._reached_, self._supported_)

    def _fit_blocks(self, samples: Samples) -> Solution | None:
        """Fit what was chosen to all rows, if it can be; the largest weight with it.

        Where target rows were left out, the sample's fit stands: which of all rows are
        to be left out nobody has looked at.
        """
        if self._left_out_:
            return None
        inner = self.weight_estimator_
        solution = inner._fit_blocks(samples)
        if solution is None:
            return None
        inner.solution_ = solution
        sums = weight_sums(inner, samples)
        inner._set_mean(sums.total / sums.n)
        self._set_limit(largest_weight(inner, samples))
        return replace(solution, tol=self.tol)

    def _find_reached(
        self, samples: TwoSamples, rows: Indices, target_rows: Indices, trials: Trials
    ) -> tuple[float, float, NDArray[np.bool_]]:
        """Return the uncovered fraction, its lower end, and which target rows remain.

        Left out are rows that the better classifier places beyond every source row, and
        rows in holes, if they are many.
        """
        reached = np.ones(samples.target.shape[0], dtype=bool)
        guard = DiscriminatorWeights(allow_no_overlap=True, random_state=trials.seed)
        some = trials.samples
        classifiers = guard._candidates(some)
        held_out = trials.held_out(classifiers)
        uncovered_fraction = is_outside_support(
            np.log(held_out.source), np.log(held_out.target), some.source_share
        )
        # Some of the source rows that were not looked at may lie in a hole.
        holes = find_coverage_gaps(some, trials.seed).without(samples.source)
        in_hole = holes.hold(some.target)
        unsupported_fraction = as_share(some.target_share[uncovered_fraction | in_hole])
        low, _ = uncovered_interval(
            held_out.source,
            held_out.target,
            some.source_share,
            some.target_share,
            in_hole,
        )
        if low > NO_OVERLAP_ABOVE and not self.allow_no_overlap:
            raise NoOverlapError(unsupported_fraction, "uncovered_fraction")
        self._holes_ = holes
        beyond = (held_out.target > held_out.source.max()) | in_hole
        if float(some.target_share[beyond].sum()) > HOLE:
            guard = trials.fitted(guard, classifiers)
            # Some of the source rows that were not looked at may lie there.
            source = _with_others(guard, held_out.source, rows, samples.source)
            target = _with_others(guard, held_out.target, target_rows, samples.target)
            beyond = (target > source.max()) | holes.hold(samples.target)
            hole = float(samples.target_share[beyond].sum()) > HOLE
            if hole and not sparse.issparse(samples.target):
                beyond = spread_to_neighbors(beyond, samples, rows, target_rows)
            if hole and np.count_nonzero(~beyond[target_rows]) >= FEWEST_TO_CHOOSE:
                reached = ~beyond
        return unsupported_fraction, low, reached

    def _predict_weights(self, X: Matrix) -> Array:
        return self._bounded(self.weight_estimator_._weigh_rows(X))

    def _is_extrapolation(self, X: Matrix) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.weight_estimator_._extrapolation_rows(X) | (
            self.weight_estimator_._weigh_rows(X) > self._reached_
        )
        # Fits to few rows look for none.
        holes = getattr(self, "_holes_", None)
        return found if holes is None else found | holes.hold(X)

    def _bounded(self, weights: Array) -> Array:
        return np.clip(weights, SMALLEST_WEIGHT, self.largest_weight_)

    def _fit_chosen(
        self, chosen: Candidate, samples: TwoSamples, trials: Trials
    ) -> Array:
        """Set `weight_estimator_`, and return its weights at the source rows."""
        again = clone(chosen.weight_estimator)
        if "max_time" in again.get_params(deep=False):
            again.set_params(max_time=trials.deadline.left())
        if not isinstance(again, DiscriminatorWeights):
            with suppress_warnings():
                fitted = again._fit_samples(Samples.of_ordered(samples))
            self.weight_estimator_ = fitted
            return fitted.weights_
        rows, target_rows = thinned(samples, trials.seed, ROWS_TAUGHT)
        part, tried = samples.take(rows, target_rows), trials.samples
        # The rows of the trials, counted alike: nothing is fitted twice.
        if np.array_equal(part.source_share, tried.source_share) and np.array_equal(
            part.target_share, tried.target_share
        ):
            fitted = trials.fitted(again, {chosen.name: again.estimator})
        else:
            with suppress_warnings():
                fitted = again._fit_samples(Samples.of_ordered(part))
        self.weight_estimator_ = fitted
        if not chosen.by_heart:
            return fitted._weigh_rows(samples.source)
        return _with_others(fitted, fitted.held_out_.source, rows, samples.source)

    def _choose(
        self, candidates: list[Candidate], trials: Trials
    ) -> tuple[Candidate, float]:
        """Return the candidate to take and its largest weight; write down the others'.

        Each is judged with its largest weights cut to what held-out rows support.
        """
        held_out = [untried(trials.samples)] * len(candidates)
        supported = np.full(len(candidates), np.inf)
        tried = np.zeros(len(candidates), dtype=bool)
        asked = 0
        for k, candidate in enumerate(candidates):
            advance(k, len(candidates))
            if candidate.try_out is None:
                continue
            asked += 1
            if not (tried.any() and trials.deadline.half_is_over()):
                found = candidate.try_out()
                supported[k] = supported_weight(found, trials.samples)
                held_out[k] = cut_at(found, float(supported[k]), trials.samples)
                tried[k] = True
        trials.deadline.warn_untried(int(tried.sum()), asked, "candidates")
        choice = choose(held_out, trials.samples, ranks(candidates))
        able = np.array([one.admissible for one in held_out])
        self.cv_results_ = {
            "candidate": np.array([candidate.name for candidate in candidates]),
            "score": np.where(able, choice.scores, np.nan),
            "standard_error": np.full(len(candidates), choice.allowed),
            "admissible": able,
            "chosen": np.arange(len(candidates)) == choice.chosen,
        }
        return candidates[choice.chosen], float(supported[choice.chosen])


def _with_others(
    fitted: DiscriminatorWeights, known: Array, seen: Indices, X: Matrix
) -> Array:
    """Return the weights of all rows: `known` those seen, the others out of sample."""
    out = np.empty(X.shape[0])
    others = np.ones(X.shape[0], dtype=bool)
    others[seen] = False
    out[seen] = known / fitted.mean_ratio_
    if others.any():
        out[others] = fitted._weigh_rows(X[others])
    return out
