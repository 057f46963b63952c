"""The weights to begin with: families, widths and classifiers ranked together."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.classifiers import boosted, logistic, squared_logistic
from counterpoise.samples.folds import N_FOLDS, folds
from counterpoise.samples.median_width import median_gamma
from counterpoise.samples.overlap import NONE, RELATIVE_FROM, thin_share
from counterpoise.samples.scaling import far_rows
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix, NoOverlapError, warn_user
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.discriminator import DiscriminatorWeights
from counterpoise.weights.kernel_widths import (
    FACTORS,
    FEWEST_ROWS,
    MOST_UNCOVERED_RELATIVE,
    held_out_kliep,
    scaled_samples,
    thinned,
    uncovered_share,
    untried,
)
from counterpoise.weights.kliep import KLIEP
from counterpoise.weights.mixture import MixtureKLIEP
from counterpoise.weights.search import HeldOut, choose
from counterpoise.weights.uniform import UniformWeights

# What kernels get of the target in the denominator where some of it is uncovered.
GUARD = 0.05
# Target rows that score above every source row are left out if they are more than this
# share: no weight makes the source stand for them.
HOLE = 0.05
# A classifier is fitted to no more rows of each sample than this, and asked about all:
# it would take long over more and hardly learn from them.
MOST_TAUGHT = 10_000
# No weight below this; a weight of zero would lose a row.
SMALLEST_WEIGHT = 1e-4


@dataclass(frozen=True, eq=False)
class Candidate:
    """A weighter, and a way to see how it fares on rows that it has not seen.

    `try_out` is None where there is no need: the weighter is never taken.
    """

    name: str
    weighter: WeightEstimator
    try_out: Callable[[], HeldOut] | None


class AutoWeights(WeightEstimator):
    r"""The simplest weights within one standard error of the best held-out score.

    Candidates, in order of simplicity: uniform weights; `MixtureKLIEP` with linear,
    squared and full statistics; `KLIEP` at eight widths; `DiscriminatorWeights` by
    logistic regression, the same on squares too, and boosting. Each is scored by

    .. math:: \mathrm{mean}_j \log w(t_j) - \log \mathrm{mean}_i w(x_i)

    on rows of both samples that it was not fitted to (five folds), and the first
    candidate within one standard error of the best is fitted to all rows. A width at
    which more than 10 % of the target rows have less than one expected source
    neighbour is not taken; from 2 % on the ratio is a relative one. A ratio is not
    extrapolated: no weight exceeds the largest at a target row of the fit (rows far
    outside the bulk of both samples aside), and none is below 1e-4. Target rows that a
    classifier places beyond every source row are left out where they are more than 5 %:
    the weights then speak for the others, and a warning says so. Where a sample has
    more than 2000 rows, the choice is made on 2000, and a classifier is fitted to no
    more than 20,000 and asked about the others.

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
        rows are, by the scores of the better classifier.
    largest_weight_ : float
        The cap.
    effective_sample_size_ : float

    References
    ----------
    Sugiyama, Krauledat and Mueller (2007), on importance-weighted selection.

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

    def _check_parameters(self) -> None:
        pass

    def _fit(self, samples: TwoSamples) -> Fitted:
        seed = self._seed()
        rows, aims = thinned(samples, seed)
        enough = min(len(rows), len(aims)) >= FEWEST_ROWS
        some = samples.take(rows, aims)
        uncovered, reached = None, np.ones(samples.target.shape[0], dtype=bool)
        if enough:
            guard = self._fitted_to(
                some, DiscriminatorWeights(force=True, random_state=seed)
            )
            told = guard.held_out_
            uncovered = _thin(np.log(told.source), np.log(told.target), some)
            if uncovered > NONE and not self.force:
                raise NoOverlapError(uncovered, "thin")
            beyond = told.target > told.source.max()
            if float(some.target_share[beyond].sum()) > HOLE:
                # Some of the source rows that were not looked at may lie there.
                source = _with_others(guard, told.source, rows, samples.source)
                target = _with_others(guard, told.target, aims, samples.target)
                beyond = target > source.max()
                hole = float(samples.target_share[beyond].sum()) > HOLE
                if hole and np.count_nonzero(~beyond[aims]) >= FEWEST_ROWS:
                    reached = ~beyond
        aims = aims[reached[aims]]
        some = samples.take(rows, aims)
        samples = samples.take(np.arange(samples.source.shape[0]), reached)
        candidates = list(self._candidates(some, seed))
        weighter = self._choose(candidates, some)
        weights = self._fit_chosen(weighter, samples, seed)
        at_target = self.weighter_.weigh(samples.target)
        if not sparse.issparse(samples.target):
            near = ~far_rows(samples)
            at_target = at_target[near] if near.any() else at_target
        self.largest_weight_ = max(float(at_target.max()), 1.0)
        assert self.weighter_.solution_ is not None
        return Fitted(
            self.weighter_.solution_,
            self._bounded(weights),
            uncovered,
            "thin",
        )

    def _weigh(self, X: Matrix) -> Array:
        return self._bounded(self.weighter_.weigh(X))

    def _beyond(self, X: Matrix) -> NDArray[np.bool_]:
        return self.weighter_.beyond(X) | (
            self.weighter_.weigh(X) > self.largest_weight_
        )

    def _bounded(self, weights: Array) -> Array:
        return np.clip(weights, SMALLEST_WEIGHT, self.largest_weight_)

    def _fit_chosen(
        self, weighter: WeightEstimator, samples: TwoSamples, seed: int
    ) -> Array:
        """Set `weighter_`, and return its weights at the source rows."""
        if not isinstance(weighter, DiscriminatorWeights):
            self.weighter_ = self._fitted_to(samples, weighter)
            return self.weighter_.weights_
        rows, aims = thinned(samples, seed, MOST_TAUGHT)
        fitted = self._fitted_to(samples.take(rows, aims), weighter)
        self.weighter_ = fitted
        return _with_others(fitted, fitted.held_out_.source, rows, samples.source)

    def _choose(
        self, candidates: list[Candidate], samples: TwoSamples
    ) -> WeightEstimator:
        """Return the weighter to take, and write down what was found of all."""
        held_out = [untried(samples)] * len(candidates)
        tried = np.zeros(len(candidates), dtype=bool)
        asked = 0
        for k, candidate in enumerate(candidates):
            if candidate.try_out is None:
                continue
            asked += 1
            if not (tried.any() and self._deadline_.choose_no_more()):
                held_out[k] = candidate.try_out()
                tried[k] = True
        self._deadline_.say_untried(int(tried.sum()), asked, "candidates")
        choice = choose(held_out, samples)
        able = np.array([one.admissible for one in held_out])
        self.cv_results_ = {
            "candidate": np.array([candidate.name for candidate in candidates]),
            "score": np.where(able, choice.scores, np.nan),
            "standard_error": choice.allowed,
            "admissible": able,
            "chosen": np.arange(len(candidates)) == choice.chosen,
        }
        return candidates[choice.chosen].weighter

    def _candidates(self, samples: TwoSamples, seed: int) -> Iterator[Candidate]:
        """Yield all candidates, simplest first."""
        common: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "callback": self.callback,
            "force": True,
            "random_state": seed,
        }
        n, d = samples.source.shape
        m = samples.target.shape[0]
        uniform = UniformWeights(**common)
        ones = HeldOut(np.ones(m), np.ones(n), 0.0)
        yield Candidate("uniform", uniform, lambda: ones)
        if min(n, m) < FEWEST_ROWS:
            warn_user(
                f"{n} source and {m} target rows are too few to choose weights by "
                "cross-validation: all weights are one"
            )
            return
        is_sparse = sparse.issparse(samples.source)
        families = ["linear"] if is_sparse else ["linear", "diag"]
        if not is_sparse and d > 1 and d * (d + 3) / 2 <= n / 10:
            families.append("full")
        for family in families:
            yield self._family(family, samples, common, seed)
        if not is_sparse:
            yield from _kernels(samples, common, seed)
        for name, classifier in _classifiers(is_sparse, d).items():
            weighter = DiscriminatorWeights(estimator=classifier, **common)
            yield self._classifier(name, weighter, samples)

    def _family(
        self, family: str, samples: TwoSamples, common: dict[str, Any], seed: int
    ) -> Candidate:
        weighter = MixtureKLIEP(statistics=family, **common)

        return Candidate(
            f"log-ratio {family}",
            weighter,
            lambda: self._held_out(weighter, samples, seed),
        )

    def _classifier(
        self, name: str, weighter: DiscriminatorWeights, samples: TwoSamples
    ) -> Candidate:
        return Candidate(
            name, weighter, lambda: self._fitted_to(samples, weighter).held_out_
        )

    def _held_out(self, weighter: Any, samples: TwoSamples, seed: int) -> HeldOut:
        """Return a weighter's weights at the rows of both samples, each held out."""
        n, m = samples.source.shape[0], samples.target.shape[0]
        fold = folds(samples.source, N_FOLDS, seed)
        aim_fold = folds(samples.target, N_FOLDS, seed + 1)
        source, target = np.empty(n), np.empty(m)
        for k in range(N_FOLDS):
            kept = samples.take(fold != k, aim_fold != k)
            fitted = self._fitted_to(kept, weighter)
            source[fold == k] = fitted.weigh(samples.source[fold == k])
            target[aim_fold == k] = fitted.weigh(samples.target[aim_fold == k])
        return HeldOut(target, source)

    def _fitted_to(self, samples: TwoSamples, weighter: Any) -> Any:
        again = clone(weighter).set_params(max_time=self._deadline_.left())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return again.fit(
                samples.source,
                X_target=samples.target,
                sample_weight=samples.source_share * samples.source_mass,
                target_weight=samples.target_share * samples.target_mass,
            )


def _kernels(
    samples: TwoSamples, common: dict[str, Any], seed: int
) -> Iterator[Candidate]:
    """Yield KLIEP at every width; those that cannot be taken need no trial."""
    scaled, tried = scaled_samples(samples), list[HeldOut]()
    middle = median_gamma(scaled.target, scaled.target_share)
    for factor in FACTORS:
        gamma = middle / factor**2
        lonely = uncovered_share(scaled, gamma)
        relative = GUARD if lonely > RELATIVE_FROM else 0.0
        weighter = KLIEP(gamma=gamma, relative=relative, **common)
        able = lonely <= MOST_UNCOVERED_RELATIVE
        yield Candidate(
            f"kernel {factor:g} median",
            weighter,
            _kernel_trial(weighter, scaled, seed, tried) if able else None,
        )


def _kernel_trial(
    weighter: KLIEP, scaled: TwoSamples, seed: int, tried: list[HeldOut]
) -> Callable[[], HeldOut]:
    def try_out() -> HeldOut:
        rival = tried[choose(tried, scaled).best] if tried else None
        held_out = held_out_kliep(
            scaled, float(weighter.gamma), weighter.relative, seed, rival
        )
        if held_out.admissible:
            tried.append(held_out)
        return held_out

    return try_out


def _classifiers(is_sparse: bool, d: int) -> dict[str, Any]:
    linear = {"logistic": logistic(is_sparse, d)}
    if is_sparse:
        return linear
    return {**linear, "logistic on squares": squared_logistic(d), "boosted": boosted()}


def _with_others(
    fitted: DiscriminatorWeights, told: Array, seen: Indices, X: Matrix
) -> Array:
    """Return the weights of all rows: `told` those seen, the others out of sample."""
    out = np.empty(X.shape[0])
    others = np.ones(X.shape[0], dtype=bool)
    others[seen] = False
    out[seen] = told / fitted.mean_ratio_
    if others.any():
        out[others] = fitted.weigh(X[others])
    return out


def _thin(source: Array, target: Array, samples: TwoSamples) -> float:
    """Return the share of thinly covered target rows."""
    return thin_share(source, target, samples.source_share, samples.target_share)
