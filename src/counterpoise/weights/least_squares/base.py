"""What LSIF, uLSIF and RuLSIF share: centres, width, penalty, a sum of Gaussians."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np

from counterpoise.convex import Solution
from counterpoise.engine.memory import current_budget
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.median_width import median_gamma
from counterpoise.samples.overlap_verdict import RELATIVE_FROM
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import InvalidInput, Matrix, warn_user
from counterpoise.validation.parameters import Integer, Number, Rule
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.centers import all_or_few
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.kernel_widths import (
    FEWEST_TO_CHOOSE,
    WIDTH_FACTORS,
    uncovered_share,
)
from counterpoise.weights.least_squares.search import (
    Curve,
    count_admissible,
    search,
    spread_rows,
)

Rows: TypeAlias = tuple[Indices, Indices]

# A ratio that underflows is taken here, so that its mean can be divided by.
SMALLEST_RATIO = 1e-300


class LeastSquaresWeights(WeightEstimator):
    """What the three methods share: centres, width, penalty, and the sum of Gaussians.

    A method says how it fits at one width and penalty (`_solve_at`), how it scores
    held-out rows (`_curve`), and what it takes where there are too few (`_fallback`).
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "gamma": Number(0.0, closed="neither", options=("cv", "median")),
        "regularization": Number(0.0, closed="neither", options=("cv",)),
        "n_centers": Integer(1, options=(None,)),
    }

    @abstractmethod
    def _solve_at(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Solution, Array]:
        """Return the solution at `gamma_` and `regularization_`, and coefficients."""

    @abstractmethod
    def _curve(self, samples: TwoSamples, rows: Rows, gamma: float, seed: int) -> Curve:
        """Return the ratios at rows held out, for all penalties at one width."""

    @abstractmethod
    def _fallback(self, samples: TwoSamples, gamma: float) -> float:
        """Return a penalty for samples too small to hold anything out."""

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        self.__dict__.pop("cv_results_", None)
        distinct = _without_repeats(samples)
        seed = self._seed()
        self.centers_ = all_or_few(distinct, self.n_centers, seed)
        _plan(len(self.centers_))
        self._choose(distinct, seed, deadline)
        solution, self.coef_ = self._solve_at(distinct, deadline)
        return Fitted(
            solution,
            self._weigh(samples.source),
            uncovered_share(distinct, self.gamma_),
        )

    def _weigh(self, X: Matrix) -> Array:
        used = np.flatnonzero(self.coef_)
        ratio = Kernel("rbf", self.gamma_).push(
            X, self.centers_[used], self.coef_[used]
        )
        return np.maximum(ratio, SMALLEST_RATIO)

    def _chosen(self) -> dict[str, Any]:
        return {"gamma": self.gamma_, "regularization": self.regularization_}

    def _choose(self, samples: TwoSamples, seed: int, deadline: Deadline) -> None:
        """Set `gamma_` and `regularization_`, by held-out rows where asked to."""
        n, m = samples.source.shape[0], samples.target.shape[0]
        # One row has no distances; scaled columns have a width of one.
        middle = median_gamma(samples.target, samples.target_share) if m > 1 else 0.5
        gamma = middle if self.gamma in ("cv", "median") else float(self.gamma)
        asked = self.gamma == "cv" or self.regularization == "cv"
        if asked and min(n, m) < FEWEST_TO_CHOOSE:
            warn_user(
                f"{n} source and {m} target rows are too few to choose by "
                "cross-validation: the median distance is taken for the width and a "
                "fixed penalty"
            )
            asked = False
        if not asked:
            self.gamma_ = gamma
            self.regularization_ = (
                self._fallback(samples, self.gamma_)
                if self.regularization == "cv"
                else float(self.regularization)
            )
            return
        gammas = np.array([gamma])
        n_admissible, n_covering = 1, 0
        if self.gamma == "cv":
            gammas = middle / np.array(WIDTH_FACTORS) ** 2
            n_admissible = count_admissible(samples, gammas)
            if self._share_of_target() > 0.0:
                # A relative ratio is bounded and flatter than the density ratio: a
                # smoother fit than the best would flatten it twice.
                n_covering = count_admissible(samples, gammas, RELATIVE_FROM)
        rows = spread_rows(samples)
        self.gamma_, self.regularization_, self.cv_results_ = search(
            lambda gamma: self._curve(samples, rows, gamma, seed),
            samples.take(*rows),
            self._share_of_target(),
            gammas,
            n_admissible,
            deadline,
            n_covering,
        )

    def _share_of_target(self) -> float:
        """Return the share of the target in the denominator of the ratio."""
        share: float = getattr(self, "relative", 0.0)
        return share

    def _penalties(self, grid: Array) -> Array:
        """Return the penalties to try."""
        if self.regularization == "cv":
            return grid
        return np.array([float(self.regularization)])


def _plan(n_centers: int) -> None:
    """Refuse more centres than their moments have memory for."""
    needed = 8 * n_centers**2
    if needed > current_budget():
        raise InvalidInput(
            f"the moments of {n_centers} centres take {needed / 2**30:.1f} GiB, above "
            f"the memory budget of {current_budget() / 2**30:.1f} GiB: give fewer, "
            "such as n_centers=100, or raise the budget "
            "(counterpoise.engine.memory_budget)"
        )


def _without_repeats(samples: TwoSamples) -> TwoSamples:
    """Return the samples with equal rows made one, of their weights' sum.

    Equal rows stand beside one another in the order in which samples come. A row twice
    is then the row of weight two in centres, folds and left-out rows alike.
    """
    source, source_weight = _merged(samples.source, samples.source_share)
    target, target_weight = _merged(samples.target, samples.target_share)
    return TwoSamples(
        source,
        target,
        source_weight,
        target_weight,
        samples.source_mass,
        samples.target_mass,
    )


def _merged(rows: Array, share: Array) -> tuple[Array, Array]:
    new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    if new.all():
        return rows, share
    return rows[new], np.add.reduceat(share, np.flatnonzero(new))
