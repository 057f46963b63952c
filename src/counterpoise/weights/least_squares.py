"""Least-squares importance fitting: LSIF, uLSIF, RuLSIF."""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from counterpoise.data.arrays import Matrix
from counterpoise.data.parallel import current_budget
from counterpoise.data.parameters import Integer, Number, Rule
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import TwoSamples
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim.loop import Solution, certified
from counterpoise.optim.path import Breakpoint, PathError, SolutionPath, follow
from counterpoise.optim.problems import RidgeQuadratic
from counterpoise.shift.support import RELATIVE_FROM
from counterpoise.shift.two_sample_tests import median_gamma
from counterpoise.weights.base import (
    Callback,
    FitResult,
    RandomState,
    WeightEstimator,
)
from counterpoise.weights.kernel_design import centers_of_blocks, choose_centers
from counterpoise.weights.least_squares_search import (
    Curve,
    Moments,
    PenaltyPath,
    count_admissible,
    held_out_folds,
    leave_one_out,
    search,
    spread_rows,
)
from counterpoise.weights.search import (
    FEWEST_TO_CHOOSE,
    WIDTH_FACTORS,
    Deadline,
    unsupported_share,
)

# -----------------------------------------------------------------------------
# What LSIF, uLSIF and RuLSIF share: centers, width, penalty, a sum of Gaussians.
# -----------------------------------------------------------------------------


Rows: TypeAlias = tuple[Indices, Indices]

# A ratio that underflows is taken here, so that its mean can be divided by.
SMALLEST_RATIO = 1e-300


class LeastSquaresWeights(WeightEstimator):
    """What the three methods share: centers, width, penalty, and the sum of Gaussians.

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

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        self.__dict__.pop("cv_results_", None)
        distinct = _without_repeats(samples)
        seed = self._seed()
        self.centers_ = choose_centers(distinct, self.n_centers, seed)
        _plan(len(self.centers_))
        self._choose(distinct, seed, deadline)
        solution, self.coef_ = self._solve_at(distinct, deadline)
        return FitResult(
            solution,
            self._predict_weights(samples.source),
            unsupported_share(distinct, self.gamma_),
        )

    def _predict_weights(self, X: Matrix) -> Array:
        used = np.flatnonzero(self.coef_)
        ratio = Kernel("rbf", self.gamma_).push(
            X, self.centers_[used], self.coef_[used]
        )
        return np.maximum(ratio, SMALLEST_RATIO)

    def _chosen(self) -> dict[str, object]:
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
    """Refuse more centers than their moments have memory for."""
    needed = 8 * n_centers**2
    if needed > current_budget():
        raise InvalidInputError(
            f"the moments of {n_centers} centers take {needed / 2**30:.1f} GiB, above "
            f"the memory budget of {current_budget() / 2**30:.1f} GiB: give fewer, "
            "such as n_centers=100, or raise the budget "
            "(counterpoise.data.memory_budget)"
        )


def _without_repeats(samples: TwoSamples) -> TwoSamples:
    """Return the samples with equal rows made one, of their weights' sum.

    Equal rows stand beside one another in the order in which samples come. A row twice
    is then the row of weight two in centers, folds and left-out rows alike.
    """
    source, source_share = _merged(samples.source, samples.source_share)
    target, target_share = _merged(samples.target, samples.target_share)
    return replace(
        samples,
        source=source,
        target=target,
        source_share=source_share,
        target_share=target_share,
    )


def _merged(rows: Array, share: Array) -> tuple[Array, Array]:
    new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    if new.all():
        return rows, share
    return rows[new], np.add.reduceat(share, np.flatnonzero(new))


# -----------------------------------------------------------------------------
# LSIF: density ratios as sums of few Gaussians, by least squares, with their path.
# -----------------------------------------------------------------------------


# Penalties to choose from, the largest first, and the one taken where nothing can be
# held out, in units of the penalty from which on the solution is zero.
PENALTY_FRACTIONS = np.logspace(-0.5, -4.5, 9)
USUAL_FRACTION = 0.1


@dataclass(kw_only=True, eq=False, repr=False)
class LSIF(LeastSquaresWeights):
    r"""Weights by least squares without negative coefficients: LSIF, with its path.

    With H, h and the kernel as in `ULSIF`, it minimizes

    .. math::
        \tfrac12 \alpha' (H + \rho I) \alpha - h'\alpha + \lambda \sum_l \alpha_l
        \quad\text{over}\quad \alpha \ge 0

    and gives a row the weight :math:`w(x) = \sum_l \alpha_l k_l(x)`, scaled to mean one
    over the source rows. The solution is sparse, and piecewise linear in
    :math:`\lambda`: the whole path from :math:`\max h`, where it is zero, to 0 is
    followed exactly. :math:`\rho` is 1e-10 of the mean diagonal entry of H; the
    published path, without it, is lost in rounding where basis functions nearly
    coincide.

    Parameters
    ----------
    gamma : float, "cv" or "median"
        Width of the kernel, on scaled columns. "cv": the smoothest of eight widths (2
        to 0.18 times the median distance between target rows) as good as the
        best on held-out rows of both samples; "median": that distance.
    regularization : float or "cv"
        Penalty :math:`\lambda`, below :math:`\max h`. "cv": chosen with the width,
        among nine from 0.3 to 3e-5 times :math:`\max h`.
    n_centers : int or None
        Number of k-means centers of the target; None, or no fewer than there are
        distinct target rows: all of them.
    standardize : bool
        Whether columns are divided by their pooled scale, the root of the mean of the
        two variances.
    tol : float
        Gap to reach, in units of one: weights of one have the value -1/2.
    max_iter : int
        Largest number of steps: of linear pieces of the path.
    max_time : float or None
        Seconds after which no further step begins; after half of them no further width
        is tried, and a warning says how many were.
    callback : callable or None
        Called with every breakpoint of the path; True ends it.
    exponent : float
        Power to which the weights are raised; 0 makes them uniform.
    allow_no_overlap : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of the k-means centers and the folds.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Weights of the source rows, of mean one.
    solution_ : Solution
        The solution at `regularization_` and its proof.
    coef_ : array of shape (b,)
        Coefficients of the Gaussians, few of them positive.
    centers_ : array of shape (b, d)
        Centers of the Gaussians, on scaled columns.
    gamma_, regularization_ : float
        What was given or chosen.
    mean_ratio_ : float
        Mean over the source of the ratio as fitted (to the power `exponent`), which
        `weights_` are divided by.
    unsupported_fraction_ : float
        Share of the target rows with less than one source row within the kernel.
    effective_sample_size_ : float
        Of the weights, times the user's.
    cv_results_ : dict of arrays
        Where something was chosen, all that was tried: `gamma`, `width`,
        `regularization`, `score` (two-sided), `standard_error` (by which a candidate
        may fall short), `least_squares_score` (the textbook criterion, not used),
        `admissible`, `chosen`.
    path_ : SolutionPath or None
        The solutions for all penalties: `path_.at(penalty)`, `path_.certify(penalty)`.
        None where a budget ended it early.

    Notes
    -----
    The certificate is a duality gap, from the solution alone: a dual point is made of
    it, which is possible because no entry of H is negative. It holds for any
    coefficients without negative entries, whoever found them, in units of one: weights
    of one have the value -1/2.

    Width and penalty are chosen by the two-sided score on rows held out in five folds
    of both samples (of no more than 5000 rows each), along the path of each fold. The
    textbook criterion, the held-out loss, has no lower bound: a fit with a huge bump
    where no held-out source row lies wins by millions. With fewer than twenty distinct
    rows in a sample the median distance and a penalty of :math:`0.1 \max h` are taken,
    and a warning says so.

    References
    ----------
    Kanamori, Hido and Sugiyama (2009), "A least-squares approach to direct importance
    estimation".

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=500, m=300, shift=1.0, random_state=0)
    >>> weight_estimator = LSIF(random_state=0).fit(shift.X, X_target=shift.X_target)
    >>> weight_estimator.path_.certify(0.01).holds(1e-9)
    True
    """

    gamma: float | str = "cv"
    regularization: float | str = "cv"
    n_centers: int | None = 100
    standardize: bool = True
    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callback = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None

    def _solve_at(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Solution, Array]:
        moments = Moments.of(samples, self.centers_, self.gamma_)
        program = PenaltyPath(moments.source, moments.mean)
        penalty = self.regularization_
        if penalty >= program.start:
            raise InvalidInputError(
                f"regularization must be below {program.start:.6g}, from which on "
                f"every coefficient is zero, got {penalty}"
            )
        watch = _Monitor(self.callback, deadline)
        began = time.perf_counter()
        self.path_: SolutionPath | None = None
        ended = "proved"
        try:
            self.path_ = follow(program, max_events=self.max_iter, callback=watch)
            x, n_iter = self.path_.at(penalty), self.path_.n_events
        except PathError as error:
            # The loop counts a piece before it is seen.
            if not watch.why and len(watch.seen) >= self.max_iter:
                watch.why = f"max_iter = {self.max_iter} reached"
            ended = watch.why or str(error)
            x, n_iter = watch.nearest(program, penalty), watch.n_events
        solution = certified(
            program.problem(penalty),
            x,
            self.tol,
            n_iter=n_iter,
            seconds=time.perf_counter() - began,
            ended=ended,
        )
        return solution, x

    def _curve(self, samples: TwoSamples, rows: Rows, gamma: float, seed: int) -> Curve:
        return held_out_folds(
            samples.take(*rows),
            self.centers_,
            gamma,
            self._penalties(PENALTY_FRACTIONS),
            fractions=self.regularization == "cv",
            seed=seed,
        )

    def _fallback(self, samples: TwoSamples, gamma: float) -> float:
        mean = Kernel("rbf", gamma).pull(
            samples.target_share, samples.target, self.centers_
        )
        return USUAL_FRACTION * float(mean.max())


class _Monitor:
    """Sees every breakpoint: the user's callback, the clock, and the last ones."""

    def __init__(
        self, callback: Callable[[Any], object] | None, deadline: Deadline
    ) -> None:
        self.callback, self.deadline = callback, deadline
        self.seen: list[Breakpoint] = []
        self.why = ""

    def __call__(self, here: Breakpoint) -> bool:
        self.seen.append(here)
        if self.deadline.left() == 0.0:
            self.why = f"max_time = {self.deadline.seconds:g} s reached"
        elif self.callback is not None and self.callback(here) is True:
            self.why = "ended by the callback"
        return bool(self.why)

    @property
    def n_events(self) -> int:
        """The number of linear pieces seen."""
        return len(self.seen) - 1

    def nearest(self, program: PenaltyPath, penalty: float) -> Array:
        """Return the solution at the penalty, or the last one if it was not reached."""
        part = SolutionPath(
            program,
            np.array([here.theta for here in self.seen]),
            np.array([here.x for here in self.seen]),
        )
        return part.at(max(penalty, float(part.thetas[-1])))


# -----------------------------------------------------------------------------
# uLSIF and RuLSIF: density ratios as sums of Gaussians, by least squares.
# -----------------------------------------------------------------------------


# Penalties to choose from, the largest first, and the one taken where nothing can be
# held out.
PENALTIES = np.logspace(1.0, -3.0, 9)
USUAL_PENALTY = 0.1


class _Ridge(LeastSquaresWeights):
    """uLSIF and RuLSIF: a linear equation, then negative coefficients put to zero."""

    def _solve_at(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Solution, Array]:
        return self._solve_moments(Moments.of(samples, self.centers_, self.gamma_))

    def _fit_blocks(self, samples: Samples) -> Solution:
        if self.n_centers is None:
            raise InvalidInputError(
                "n_centers=None makes a center of every target row, which blocks are "
                "too many for: give a number"
            )
        source, target = self._scaled_blocks(samples)
        self.centers_ = centers_of_blocks(target, int(self.n_centers), self._seed())
        solution, self.coef_ = self._solve_moments(
            Moments.of_blocks(source, target, self.centers_, self.gamma_)
        )
        return solution

    def _solve_moments(self, moments: Moments) -> tuple[Solution, Array]:
        mixed = moments.mixed(self._share_of_target())
        ridge = self.regularization_
        factor = cho_factor(mixed + ridge * np.eye(len(mixed)), lower=True)
        problem = RidgeQuadratic(mixed, moments.mean, ridge)
        solution = certified(problem, cho_solve(factor, moments.mean), self.tol)
        return solution, np.maximum(solution.x, 0.0)

    def _curve(self, samples: TwoSamples, rows: Rows, gamma: float, seed: int) -> Curve:
        return leave_one_out(
            samples,
            rows,
            self.centers_,
            gamma,
            self._penalties(PENALTIES),
            self._share_of_target(),
        )

    def _fallback(self, samples: TwoSamples, gamma: float) -> float:
        return USUAL_PENALTY


@dataclass(kw_only=True, eq=False, repr=False)
class ULSIF(_Ridge):
    r"""Weights by least squares in closed form: uLSIF.

    With n source rows x, m target rows t, centers c and the kernel
    :math:`k_l(x) = \exp(-\gamma |x - c_l|^2)` on columns divided by their pooled scale,
    :math:`H = \mathrm{mean}_i k(x_i) k(x_i)'` and :math:`h = \mathrm{mean}_j k(t_j)`,
    it minimizes

    .. math:: \tfrac12 \alpha' H \alpha - h'\alpha + \tfrac{\lambda}{2} |\alpha|^2

    by :math:`\alpha = (H + \lambda I)^{-1} h`, puts negative coefficients to zero and
    gives a row the weight :math:`w(x) = \sum_l \alpha_l k_l(x)`, scaled to mean one
    over the source rows. Means are weighted by the user's weights.

    Parameters
    ----------
    gamma : float, "cv" or "median"
        Width of the kernel, on scaled columns. "cv": the smoothest of eight widths (2
        to 0.18 times the median distance between target rows) as good as the
        best on held-out rows of both samples; "median": that distance.
    regularization : float or "cv"
        Penalty :math:`\lambda`. "cv": chosen with the width, among nine from 10 to
        1e-3.
    n_centers : int or None
        Number of k-means centers of the target; None, or no fewer than there are
        distinct target rows: all of them.
    standardize : bool
        Whether columns are divided by their pooled scale, the root of the mean of the
        two variances.
    tol : float
        Gap to reach, in units of one: weights of one have the value -1/2.
    max_time : float or None
        Seconds after which no further step begins; after half of them no further width
        is tried, and a warning says how many were.
    exponent : float
        Power to which the weights are raised; 0 makes them uniform.
    allow_no_overlap : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of the k-means centers.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Weights of the source rows, of mean one.
    solution_ : Solution
        The solution of the linear equation and its proof.
    coef_ : array of shape (b,)
        Coefficients of the Gaussians: the solution, negative entries put to zero.
    centers_ : array of shape (b, d)
        Centers of the Gaussians, on scaled columns.
    gamma_, regularization_ : float
        What was given or chosen.
    mean_ratio_ : float
        Mean over the source of the ratio as fitted (to the power `exponent`), which
        `weights_` are divided by.
    unsupported_fraction_ : float
        Share of the target rows with less than one source row within the kernel.
    effective_sample_size_ : float
        Of the weights, times the user's.
    cv_results_ : dict of arrays
        Where something was chosen, all that was tried: `gamma`, `width`,
        `regularization`, `score` (two-sided), `standard_error` (by which a candidate
        may fall short), `least_squares_score` (the textbook criterion, not used),
        `admissible`, `chosen`.

    Notes
    -----
    With :math:`r = (H + \lambda I) \alpha - h` the certificate bounds the excess of the
    solution before clipping by :math:`|r|^2 / (2 \lambda)`; nothing is proved about the
    clipped coefficients, which is why its kind is "closed form, then clipped". A gap of
    the objective is in units of one: weights of one have the value -1/2.

    The choice of width and penalty rests on exact leave-one-out ratios, all rows of one
    width and all penalties from one eigendecomposition of H. The published rule leaves
    out source row i and target row i together, so that its score depends on the order
    of the rows and on min(n, m) of them only; here each row of either sample is left
    out alone. It also takes the smallest held-out loss, which has no lower bound, so
    that a fit with a huge bump where no held-out source row lies can win; here the
    two-sided score decides. Samples of more than 5000 rows are scored at 5000 of them,
    at equal intervals, and fitted to all. With fewer than twenty distinct rows in a
    sample the median distance and a penalty of 0.1 are taken, and a warning says so.

    References
    ----------
    Kanamori, Hido and Sugiyama (2009), "A least-squares approach to direct importance
    estimation".

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=500, m=300, shift=1.0, random_state=0)
    >>> weight_estimator = ULSIF(random_state=0).fit(shift.X, X_target=shift.X_target)
    >>> bool((weight_estimator.weights_ * shift.X[:, 0]).mean() > 0.7)
    True
    """

    gamma: float | str = "cv"
    regularization: float | str = "cv"
    n_centers: int | None = 100
    standardize: bool = True
    tol: float = 1e-6
    max_time: float | None = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None


@dataclass(kw_only=True, eq=False, repr=False)
class RULSIF(_Ridge):
    r"""Weights by least squares, relative to a mixture of both samples: RuLSIF.

    With a = `relative`, :math:`H = (1-a)\, \mathrm{mean}_i k(x_i) k(x_i)' +
    a\, \mathrm{mean}_j k(t_j) k(t_j)'` and otherwise as in `ULSIF`, it minimizes

    .. math:: \tfrac12 \alpha' H \alpha - h'\alpha + \tfrac{\lambda}{2} |\alpha|^2

    by :math:`\alpha = (H + \lambda I)^{-1} h` and puts negative coefficients to zero.
    :math:`r(x) = \sum_l \alpha_l k_l(x)` estimates the relative ratio
    :math:`r = w / (a w + 1 - a)`, which never exceeds 1/a; `weights_` are r scaled to
    mean one over the source rows. They are flatter than the density ratio w.

    Parameters
    ----------
    relative : float
        Share of the target in the denominator of the ratio: a, in [0, 1); 0 is
        `ULSIF`.
    gamma : float, "cv" or "median"
        Width of the kernel, on scaled columns. "cv": that of eight widths (2 to 0.18
        times the median distance between target rows) with the best two-sided score on
        held-out rows, among those at which 98 % of the target rows have a source row
        near (none: as `ULSIF`); "median": that distance.
    regularization : float or "cv"
        Penalty :math:`\lambda`. "cv": chosen with the width, among nine from 10 to
        1e-3.
    n_centers : int or None
        Number of k-means centers of the target; None, or no fewer than there are
        distinct target rows: all of them.
    standardize : bool
        Whether columns are divided by their pooled scale, the root of the mean of the
        two variances.
    tol : float
        Gap to reach, in units of one: weights of one have the value -1/2.
    max_time : float or None
        Seconds after which no further step begins; after half of them no further width
        is tried, and a warning says how many were.
    exponent : float
        Power to which the weights are raised; 0 makes them uniform.
    allow_no_overlap : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of the k-means centers.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Weights of the source rows, of mean one.
    solution_ : Solution
        The solution of the linear equation and its proof.
    coef_ : array of shape (b,)
        Coefficients of the Gaussians: the solution, negative entries put to zero.
    centers_ : array of shape (b, d)
        Centers of the Gaussians, on scaled columns.
    gamma_, regularization_ : float
        What was given or chosen.
    mean_ratio_ : float
        Mean over the source of the ratio as fitted (to the power `exponent`), which
        `weights_` are divided by.
    unsupported_fraction_ : float
        Share of the target rows with less than one source row within the kernel.
    effective_sample_size_ : float
        Of the weights, times the user's.
    cv_results_ : dict of arrays
        Where something was chosen, all that was tried: `gamma`, `width`,
        `regularization`, `score` (two-sided), `standard_error` (by which a candidate
        may fall short), `least_squares_score` (the textbook criterion, not used),
        `admissible`, `chosen`.

    Notes
    -----
    The way back to the density ratio, with `exponent` one, is
    ``r = weights_ * mean_ratio_`` and :math:`w = (1-a) r / (1 - a r)` where
    :math:`a r < 1`; where it is not, the fit says no more than that w is large.

    The certificate, leave-one-out and the choice of width and penalty are as in
    `ULSIF`, but the best candidate is taken and not the smoothest near it, which would
    flatten the flat ratio once more; the mean in the two-sided score is over the
    mixture of both samples. It takes two eigendecompositions a width (one for the rows
    of each sample), and with user weights below one a generalized one for each penalty.

    References
    ----------
    Yamada, Suzuki, Kanamori, Hachiya and Sugiyama (2013), "Relative density-ratio
    estimation for robust distribution comparison".

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=500, m=300, shift=1.0, random_state=0)
    >>> weight_estimator = RULSIF(random_state=0).fit(shift.X, X_target=shift.X_target)
    >>> bool((weight_estimator.weights_ * weight_estimator.mean_ratio_).max() < 1 / 0.1)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **_Ridge._rules,
        "relative": Number(0.0, 1.0, closed="left"),
    }

    relative: float = 0.1
    gamma: float | str = "cv"
    regularization: float | str = "cv"
    n_centers: int | None = 100
    standardize: bool = True
    tol: float = 1e-6
    max_time: float | None = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None
