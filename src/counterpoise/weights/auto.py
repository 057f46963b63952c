"""The weights to begin with: families, widths and classifiers ranked together."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.overlap import thin_share
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix, NoOverlapError
from counterpoise.weights.base import REFUSED, Fitted, WeightEstimator
from counterpoise.weights.classifiers import boosted, logistic, squared_logistic
from counterpoise.weights.discriminator import DiscriminatorWeights
from counterpoise.weights.kernel_widths import (
    FACTORS,
    FEWEST_ROWS,
    held_out_kliep,
    median_gamma,
    scaled_samples,
    thinned,
    uncovered_share,
)
from counterpoise.weights.kliep import KLIEP
from counterpoise.weights.mixture import MixtureKLIEP
from counterpoise.weights.search import N_FOLDS, HeldOut, choose, folds
from counterpoise.weights.uniform import UniformWeights

# From this share of uncovered target rows on, kernels get the relative guard.
GUARD_FROM, GUARD = 0.02, 0.05
# Target rows that score above every source row are left out if they are more than this
# share: no weight makes the source stand for them.
HOLE = 0.05
# No weight below this; a weight of zero would lose a row.
SMALLEST_WEIGHT = 1e-4


@dataclass(frozen=True, eq=False)
class Candidate:
    """A weighter to try, and how it fares on rows that it has not seen."""

    name: str
    weighter: WeightEstimator
    held_out: HeldOut


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
    extrapolated: no weight exceeds the largest at a target row of the fit, and none is
    below 1e-4. Target rows that a classifier places beyond every source row are left
    out where they are more than 5 %: the weights then speak for the others, and a
    warning says so. Where a sample has more than 2000 rows, the choice is made on 2000.

    Parameters
    ----------
    tol : float
        Gap to reach, in units of the chosen method.
    max_iter : int
        Largest number of steps.
    max_time : float or None
        Seconds after which no further step begins.
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
        Names, scores, allowed deficits and admissibility of all candidates.
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
        logs = self._domain_logs(samples, rows, aims, seed) if enough else None
        uncovered = None if logs is None else _thin(*logs, samples)
        if uncovered is not None and uncovered > REFUSED and not self.force:
            raise NoOverlapError(uncovered, "thin")
        reached = np.ones(samples.target.shape[0], dtype=bool)
        if logs is not None:
            beyond = logs[1] > logs[0].max()
            left = int(np.count_nonzero(~beyond[aims]))
            if left >= FEWEST_ROWS and float(samples.target_share[beyond].sum()) > HOLE:
                reached = ~beyond
        aims = aims[reached[aims]]
        some = samples.take(rows, aims)
        samples = samples.take(np.arange(samples.source.shape[0]), reached)
        candidates = self._candidates(some, seed)
        choice = choose([c.held_out for c in candidates], some)
        self.cv_results_ = {
            "candidate": np.array([c.name for c in candidates]),
            "score": choice.scores,
            "standard_error": choice.allowed,
            "admissible": np.array([c.held_out.admissible for c in candidates]),
            "chosen": np.arange(len(candidates)) == choice.chosen,
        }
        self.weighter_ = self._fitted_to(samples, candidates[choice.chosen].weighter)
        at_target = self.weighter_.weigh(samples.target)
        self.largest_weight_ = max(float(at_target.max()), 1.0)
        assert self.weighter_.solution_ is not None
        return Fitted(
            self.weighter_.solution_,
            self._bounded(self.weighter_.weights_),
            uncovered,
            "thin",
        )

    def _weigh(self, X: Matrix) -> Array:
        return self._bounded(self.weighter_.weigh(X))

    def _bounded(self, weights: Array) -> Array:
        return np.clip(weights, SMALLEST_WEIGHT, self.largest_weight_)

    def _domain_logs(
        self, samples: TwoSamples, rows: Indices, aims: Indices, seed: int
    ) -> tuple[Array, Array]:
        """Return a log ratio of all rows, each scored without it."""
        some = samples.take(rows, aims)
        guard = self._fitted_to(
            some, DiscriminatorWeights(force=True, random_state=seed)
        )
        logs = []
        for X, seen, told in (
            (samples.source, rows, guard.held_out_.source),
            (samples.target, aims, guard.held_out_.target),
        ):
            out = np.empty(X.shape[0])
            others = np.ones(X.shape[0], dtype=bool)
            others[seen] = False
            out[seen] = np.log(told) - np.log(guard.mean_ratio_)
            if others.any():
                out[others] = np.log(guard.weigh(X[others]))
            logs.append(out)
        return logs[0], logs[1]

    def _candidates(self, samples: TwoSamples, seed: int) -> list[Candidate]:
        """Return all candidates with their held-out weights, simplest first."""
        common: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "max_time": self.max_time,
            "callback": self.callback,
            "force": True,
            "random_state": seed,
        }
        n, m = samples.source.shape[0], samples.target.shape[0]
        ones = HeldOut(np.ones(m), np.ones(n), 0.0)
        out = [Candidate("uniform", UniformWeights(**common), ones)]
        if min(n, m) < FEWEST_ROWS:
            warnings.warn(
                f"{n} source and {m} target rows are too few to choose weights by "
                "cross-validation: all weights are one",
                UserWarning,
                stacklevel=5,
            )
            return out
        is_sparse = sparse.issparse(samples.source)
        families = ["linear"] if is_sparse else ["linear", "diag"]
        d = samples.source.shape[1]
        if not is_sparse and d > 1 and d * (d + 3) / 2 <= n / 10:
            families.append("full")
        for family in families:
            weighter = MixtureKLIEP(statistics=family, **common)
            held_out = _held_out(weighter, samples, seed)
            out.append(Candidate(f"log-ratio {family}", weighter, held_out))
        if not is_sparse:
            out += _kernels(samples, common, seed)
        for name, classifier in _classifiers(is_sparse, d).items():
            weighter = self._fitted_to(
                samples, DiscriminatorWeights(estimator=classifier, **common)
            )
            out.append(Candidate(name, weighter, weighter.held_out_))
        return out

    @staticmethod
    def _fitted_to(samples: TwoSamples, weighter: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(weighter).fit(
                samples.source,
                X_target=samples.target,
                sample_weight=samples.source_share * samples.source_mass,
                target_weight=samples.target_share * samples.target_mass,
            )


def _kernels(samples: TwoSamples, common: dict[str, Any], seed: int) -> list[Candidate]:
    """Return KLIEP at every width."""
    scaled = scaled_samples(samples)
    middle = median_gamma(scaled.target)
    out = []
    for factor in FACTORS:
        gamma = middle / factor**2
        lonely = uncovered_share(scaled, gamma)
        relative = GUARD if lonely > GUARD_FROM else 0.0
        weighter = KLIEP(gamma=gamma, relative=relative, **common)
        held_out = held_out_kliep(scaled, gamma, relative, seed)
        out.append(Candidate(f"kernel {factor:g} median", weighter, held_out))
    return out


def _classifiers(is_sparse: bool, d: int) -> dict[str, Any]:
    linear = {"logistic": logistic(is_sparse, d)}
    if is_sparse:
        return linear
    return {**linear, "logistic on squares": squared_logistic(d), "boosted": boosted()}


def _held_out(weighter: Any, samples: TwoSamples, seed: int) -> HeldOut:
    """Return a weighter's weights at the rows of both samples, each held out once."""
    n, m = samples.source.shape[0], samples.target.shape[0]
    fold = folds(samples.source, N_FOLDS, seed)
    aim_fold = folds(samples.target, N_FOLDS, seed + 1)
    source, target = np.empty(n), np.empty(m)
    for k in range(N_FOLDS):
        kept = samples.take(fold != k, aim_fold != k)
        fitted = AutoWeights._fitted_to(kept, weighter)
        source[fold == k] = fitted.weigh(samples.source[fold == k])
        target[aim_fold == k] = fitted.weigh(samples.target[aim_fold == k])
    return HeldOut(target, source)


def _thin(source: Array, target: Array, samples: TwoSamples) -> float:
    """Return the share of thinly covered target rows."""
    return thin_share(source, target, samples.source_share, samples.target_share)
