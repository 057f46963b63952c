"""What `AutoWeights` chooses from, in order of simplicity, and how each is tried."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.classifiers import (
    COLUMNS_FACTORED,
    boosted,
    linear_classifiers,
    logistic,
    product_logistic,
    squared_logistic,
    two_gaussians,
)
from counterpoise.samples.median_width import median_gamma
from counterpoise.samples.overlap_verdict import RELATIVE_FROM
from counterpoise.samples.scaling import (
    is_wide_and_sparse,
    pooled_scale,
    rows_scaled,
)
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import warn_user
from counterpoise.validation.warning import held_back
from counterpoise.weights.base import WeightEstimator
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.discriminator import (
    ClassifierTrials,
    DiscriminatorWeights,
    HeldOutOdds,
)
from counterpoise.weights.kernel_widths import (
    FEWEST_TO_CHOOSE,
    LARGEST_UNCOVERED_RELATIVE,
    WIDTH_FACTORS,
    uncovered_share,
)
from counterpoise.weights.kliep import KLIEP
from counterpoise.weights.kliep.widths import held_out_kliep
from counterpoise.weights.mixture import MixtureKLIEP
from counterpoise.weights.registry import with_parameters
from counterpoise.weights.search import HeldOut, choose
from counterpoise.weights.uniform import UniformWeights

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
    """A weighter, and a way to see how it fares on rows that it has not seen.

    `try_out` is None where there is no need: the weighter is never taken. `by_heart`
    says that a classifier learns its rows by heart: more than a tenth as many
    parameters as rows, or trees. The weights of these are then out of fold; one of few
    parameters is the surer the more rows it has, and weighs them by its fit to all.
    `as_simple_as` names a candidate before it that has the same place in the order.
    """

    name: str
    weighter: WeightEstimator
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

    def told(self, classifiers: dict[str, Any]) -> HeldOut:
        """Return the density ratios of all rows, out of fold, by the best of some.

        The classifiers go by their names: one name, one classifier.
        """
        best = min(self._asked(classifiers), key=lambda odds: odds.log_loss)
        return self._classifiers.held_out(best)

    def fitted(
        self, weighter: DiscriminatorWeights, classifiers: dict[str, Any]
    ) -> DiscriminatorWeights:
        """Return a weighter by such classifiers fitted to the rows, none twice."""
        tried = self._asked(classifiers)
        with held_back():
            return weighter._fit_trials(self._read, self._classifiers, tried)

    def are_of(self, samples: TwoSamples) -> bool:
        """Return whether samples of these rows have the same rows, counted alike."""
        read = SamplesAsRead.of_ordered(samples)
        return np.array_equal(
            read.source_weight, self._read.source_weight
        ) and np.array_equal(read.target_weight, self._read.target_weight)

    def _asked(self, classifiers: dict[str, Any]) -> list[HeldOutOdds]:
        """Return what classifiers say of the rows, out of fold."""
        with held_back():
            return [self._classifiers.odds(*one) for one in classifiers.items()]

    @cached_property
    def _classifiers(self) -> ClassifierTrials:
        seed = DiscriminatorWeights(random_state=self.seed)._seed()
        return ClassifierTrials.of(self._read.counted, seed)

    @cached_property
    def parts(self) -> tuple[Indices, Indices]:
        """The folds of the rows of both samples, those of the classifiers.

        How rows are divided moves a score by as much as candidates are apart: all are
        scored on one division, so that it is no part of their difference.
        """
        pool, n = self._classifiers.pool, self.samples.source.shape[0]
        fold = pool.fold[pool.place]
        return fold[:n], fold[n:]

    @cached_property
    def _read(self) -> SamplesAsRead:
        return SamplesAsRead.of_ordered(self.samples)


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
        told = {name: (one, d) for name, one in linear_classifiers(rows).items()}
        yield from _by_odds(told, trials, common)
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
        strong = {**common, "ridge": STRONG_RIDGE}
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
    name: str, trials: Trials, parameters: dict[str, Any], told: str = ""
) -> Candidate:
    """Return a ratio whose logarithm is linear in statistics of this name."""
    weighter = MixtureKLIEP(statistics=name, **parameters)
    return Candidate(
        f"log-ratio {name}{told}",
        weighter,
        lambda: weighter._held_out(trials.samples, trials.parts, trials.deadline),
    )


def _by_odds(
    classifiers: dict[str, tuple[Any, float]],
    trials: Trials,
    common: dict[str, Any],
) -> Iterator[Candidate]:
    """Yield weights by the odds of classifiers, each with its number of parameters."""
    n_rows = trials.samples.source.shape[0] + trials.samples.target.shape[0]
    for name, (classifier, n_parameters) in classifiers.items():
        weighter = with_parameters(DiscriminatorWeights, estimator=classifier, **common)
        try_out = _classifier({name: classifier}, trials)
        by_heart = n_parameters > FEW_PARAMETERS * n_rows
        yield Candidate(name, weighter, try_out, by_heart, EQUALS.get(name))


def _classifier(classifier: dict[str, Any], trials: Trials) -> Callable[[], HeldOut]:
    return lambda: trials.told(classifier)


def _kernels(trials: Trials, common: dict[str, Any]) -> Iterator[Candidate]:
    """Yield KLIEP at every width; those that cannot be taken need no trial."""
    # The door has said it, by the names of the columns.
    with held_back(UserWarning, message="hardly varies"):
        scaled = rows_scaled(trials.samples, pooled_scale(trials.samples))
    parts, tried = trials.parts, list[HeldOut]()
    middle = median_gamma(scaled.target, scaled.target_share)
    for factor in WIDTH_FACTORS:
        gamma = middle / factor**2
        lonely = uncovered_share(scaled, gamma)
        relative = TARGET_SHARE if lonely > RELATIVE_FROM else 0.0
        weighter = KLIEP(gamma=gamma, relative=relative, **common)
        able = lonely <= LARGEST_UNCOVERED_RELATIVE
        yield Candidate(
            f"kernel {factor:g} median",
            weighter,
            _kernel_trial(weighter, scaled, parts, tried) if able else None,
        )


def _kernel_trial(
    weighter: KLIEP,
    scaled: TwoSamples,
    parts: tuple[Indices, Indices],
    tried: list[HeldOut],
) -> Callable[[], HeldOut]:
    def try_out() -> HeldOut:
        rival = tried[choose(tried, scaled).best] if tried else None
        held_out = held_out_kliep(
            scaled, float(weighter.gamma), weighter.relative, parts, rival
        )
        if held_out.admissible:
            tried.append(held_out)
        return held_out

    return try_out
