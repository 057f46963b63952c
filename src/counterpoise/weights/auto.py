"""The weights to begin with: families, widths and classifiers ranked together."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from counterpoise.convex import Solution
from counterpoise.engine import advance, map_reduce
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.coverage.thin_by_chance import as_share
from counterpoise.samples.holes import find_holes
from counterpoise.samples.overlap_verdict import (
    NO_OVERLAP_ABOVE,
    is_thin,
    thin_interval,
)
from counterpoise.samples.scaling import far_rows
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix, NoOverlapError
from counterpoise.validation.warning import held_back
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.by_blocks import (
    SumsOfRows,
    TwoBlocks,
    largest_weight,
    lean,
)
from counterpoise.weights.candidates import Candidate, Trials, candidates, ranks
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.discriminator import DiscriminatorWeights
from counterpoise.weights.kernel_widths import FEWEST_TO_CHOOSE, thinned
from counterpoise.weights.left_out import with_neighbours
from counterpoise.weights.search import choose, untried
from counterpoise.weights.supported import cut_at, supported_weight

# Target rows that score above every source row are left out if they are more than this
# share: no weight makes the source stand for them.
HOLE = 0.05
# A classifier is fitted to no more rows of each sample than this, and asked about all:
# it would take long over more and hardly learn from them.
ROWS_TAUGHT = 10_000
# No weight below this; a weight of zero would lose a row.
SMALLEST_WEIGHT = 1e-4


class AutoWeights(WeightEstimator):
    r"""The simplest weights that are as good as the best by their held-out score.

    Candidates, in order of simplicity: uniform weights; `DiscriminatorWeights` by
    logistic regression; `MixtureKLIEP` with linear and squared statistics; two
    Gaussians with shrunk covariances, of columns as they are and made normal by their
    ranks; `MixtureKLIEP` with all products, of two ridges; `KLIEP` at eight widths;
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
    neighbour is not taken; from 2 % on the ratio is a relative one. A ratio is not
    extrapolated: no weight exceeds the largest at a target row of the fit (rows far
    outside the bulk of both samples aside), and none is below 1e-4. Where the ten,
    thirty or ninety source rows of the largest held-out weights would stand for more of
    the target than the target rows of such ratios and two standard errors, weights are
    cut to that. Target rows that a classifier places beyond every source row, or that
    lie in holes among the source rows (`overlap`), are left out where they are more
    than 5 %, and with them those that have only target rows near, half of them left
    out: the weights then speak for the others, and a warning says so; `beyond` knows
    the holes. Where a sample has more than 2000 rows, the choice is made on 2000, and a
    classifier is fitted to no more than 10,000 and asked about the others. Tables in
    blocks: all of this on 10,000 rows of each; a log-linear ratio, a kernel one and
    logistic regression are then fitted to all rows, where no target rows were left out.

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
    force : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of folds, subsamples and classifiers.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Estimated density ratio target/source at the source rows, of mean one.
    weighter_ : WeightEstimator
        The one that was chosen, fitted to all rows.
    cv_results_ : dict of arrays
        Names, scores, allowed deficits and admissibility of all candidates; the score
        is NaN where one was not tried.
    solution_ : Solution
        That of `weighter_`.
    uncovered_ : float or None
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
    >>> type(auto.weighter_).__name__
    'MixtureKLIEP'
    """

    _accepts_sparse = True

    def __init__(
        self,
        *,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        max_time: float | None = None,
        callback: Callable[..., Any] | None = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.exponent = exponent
        self.force = force
        self.random_state = random_state

    def _check_samples(self, samples: SamplesAsRead) -> None:
        super()._check_samples(samples)
        if not samples.is_sparse:
            # Warns of columns that hardly vary, by their names.
            _ = samples.scale

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        seed = self._seed()
        rows, aims = thinned(samples, seed)
        trials = Trials(samples.take(rows, aims), seed, deadline)
        uncovered, low = None, None
        reached = np.ones(samples.target.shape[0], dtype=bool)
        if trials.are_enough:
            uncovered, low, reached = self._look(samples, rows, aims, trials)
        if not reached.all():
            some = samples.take(rows, aims[reached[aims]])
            trials = Trials(some, seed, deadline)
        self._left_out_ = not reached.all()
        samples = samples.take(np.arange(samples.source.shape[0]), reached)
        chosen, supported = self._choose(candidates(trials, self._common(seed)), trials)
        weights = self._take(chosen, supported, samples, trials)
        assert self.weighter_.solution_ is not None
        return Fitted(
            replace(self.weighter_.solution_, tol=self.tol),
            weights,
            uncovered,
            "thin",
            uncovered_low=low,
        )

    def _take(
        self,
        chosen: Candidate,
        supported: float,
        samples: TwoSamples,
        trials: Trials,
    ) -> Array:
        """Set `weighter_` and the cap, and return the weights of the source rows."""
        weights = self._fit_chosen(chosen, samples, trials)
        at_target = self.weighter_._weigh_rows(samples.target)
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

    def _fit_blocks(self, both: TwoBlocks) -> Solution | None:
        """Fit what was chosen to all rows, if it can be; the largest weight with it.

        Where target rows were left out, the sample's fit stands: which of all rows are
        to be left out nobody has looked at.
        """
        if self._left_out_:
            return None
        inner = self.weighter_
        solution = inner._fit_blocks(both)
        if solution is None:
            return None
        inner.solution_ = solution
        sums = map_reduce(both.source, SumsOfRows(lean(inner)))
        inner._set_mean(sums.total / sums.n)
        self._set_limit(largest_weight(inner, both))
        return replace(solution, tol=self.tol)

    def _look(
        self, samples: TwoSamples, rows: Indices, aims: Indices, trials: Trials
    ) -> tuple[float, float, NDArray[np.bool_]]:
        """Return how much of the target is thinly covered, and which rows are not lost.

        Between them the lower end of the share's interval.

        Lost are rows that the better classifier places beyond every source row, and
        rows in holes, if they are many.
        """
        reached = np.ones(samples.target.shape[0], dtype=bool)
        guard = DiscriminatorWeights(force=True, random_state=trials.seed)
        some = trials.samples
        classifiers = guard._candidates(some)
        told = trials.told(classifiers)
        thin = is_thin(np.log(told.source), np.log(told.target), some.source_share)
        # Some of the source rows that were not looked at may lie in a hole.
        holes = find_holes(some, trials.seed).without(samples.source)
        in_hole = holes.hold(some.target)
        uncovered = as_share(some.target_share[thin | in_hole])
        low, _ = thin_interval(
            told.source, told.target, some.source_share, some.target_share, in_hole
        )
        if low > NO_OVERLAP_ABOVE and not self.force:
            raise NoOverlapError(uncovered, "thin")
        self._holes_ = holes
        beyond = (told.target > told.source.max()) | in_hole
        if float(some.target_share[beyond].sum()) > HOLE:
            guard = trials.fitted(guard, classifiers)
            # Some of the source rows that were not looked at may lie there.
            source = _with_others(guard, told.source, rows, samples.source)
            target = _with_others(guard, told.target, aims, samples.target)
            beyond = (target > source.max()) | holes.hold(samples.target)
            hole = float(samples.target_share[beyond].sum()) > HOLE
            if hole and not sparse.issparse(samples.target):
                beyond = with_neighbours(beyond, samples, rows, aims)
            if hole and np.count_nonzero(~beyond[aims]) >= FEWEST_TO_CHOOSE:
                reached = ~beyond
        return uncovered, low, reached

    def _weigh(self, X: Matrix) -> Array:
        return self._bounded(self.weighter_._weigh_rows(X))

    def _beyond(self, X: Matrix) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.weighter_._beyond_rows(X) | (
            self.weighter_._weigh_rows(X)
            > getattr(self, "_reached_", self.largest_weight_)
        )
        # Models of before holes were looked for, and of few rows, have none.
        holes = getattr(self, "_holes_", None)
        return found if holes is None else found | holes.hold(X)

    def _bounded(self, weights: Array) -> Array:
        return np.clip(weights, SMALLEST_WEIGHT, self.largest_weight_)

    def _fit_chosen(
        self, chosen: Candidate, samples: TwoSamples, trials: Trials
    ) -> Array:
        """Set `weighter_`, and return its weights at the source rows."""
        again = clone(chosen.weighter)
        if "max_time" in again.get_params(deep=False):
            again.set_params(max_time=trials.deadline.left())
        if not isinstance(again, DiscriminatorWeights):
            with held_back():
                self.weighter_ = again._fit_counted(samples)
            return self.weighter_.weights_
        rows, aims = thinned(samples, trials.seed, ROWS_TAUGHT)
        part = samples.take(rows, aims)
        if trials.are_of(part):
            fitted = trials.fitted(again, {chosen.name: again.estimator})
        else:
            with held_back():
                fitted = again._fit_counted(part)
        self.weighter_ = fitted
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
            if not (tried.any() and trials.deadline.choose_no_more()):
                found = candidate.try_out()
                supported[k] = supported_weight(found, trials.samples)
                held_out[k] = cut_at(found, float(supported[k]), trials.samples)
                tried[k] = True
        trials.deadline.say_untried(int(tried.sum()), asked, "candidates")
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

    def _common(self, seed: int) -> dict[str, Any]:
        """Return what all candidates are told."""
        return {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "callback": self.callback,
            "force": True,
            "random_state": seed,
        }


def _with_others(
    fitted: DiscriminatorWeights, told: Array, seen: Indices, X: Matrix
) -> Array:
    """Return the weights of all rows: `told` those seen, the others out of sample."""
    out = np.empty(X.shape[0])
    others = np.ones(X.shape[0], dtype=bool)
    others[seen] = False
    out[seen] = told / fitted.mean_ratio_
    if others.any():
        out[others] = fitted._weigh_rows(X[others])
    return out
