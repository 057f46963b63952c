"""LSIF: density ratios as sums of few Gaussians, by least squares, with their path."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from counterpoise.convex import (
    Breakpoint,
    PathError,
    Solution,
    SolutionPath,
    certified,
    follow,
)
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import InvalidInput
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.least_squares.base import LeastSquaresWeights, Rows
from counterpoise.weights.least_squares.penalty_path import PenaltyPath
from counterpoise.weights.least_squares.search import Curve, Moments, held_out_folds

# Penalties to choose from, the largest first, and the one taken where nothing can be
# held out, in units of the penalty from which on the solution is zero.
PENALTY_FRACTIONS = np.logspace(-0.5, -4.5, 9)
USUAL_FRACTION = 0.1


class LSIF(LeastSquaresWeights):
    r"""Weights by least squares without negative coefficients: LSIF, with its path.

    With H, h and the kernel as in `ULSIF`, it minimises

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
        Number of k-means centres of the target; None, or no fewer than there are
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
    force : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of the k-means centres and the folds.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Weights of the source rows, of mean one.
    solution_ : Solution
        The solution at `regularization_` and its proof.
    coef_ : array of shape (b,)
        Coefficients of the Gaussians, few of them positive.
    centers_ : array of shape (b, d)
        Centres of the Gaussians, on scaled columns.
    gamma_, regularization_ : float
        What was given or chosen.
    mean_ratio_ : float
        Mean over the source of the ratio as fitted (to the power `exponent`), which
        `weights_` are divided by.
    uncovered_ : float
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
    >>> weighter = LSIF(random_state=0).fit(shift.X, X_target=shift.X_target)
    >>> weighter.path_.certify(0.01).holds(1e-9)
    True
    """

    def __init__(
        self,
        *,
        gamma: float | str = "cv",
        regularization: float | str = "cv",
        n_centers: int | None = 100,
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        max_time: float | None = None,
        callback: Callable[[Any], object] | None = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.regularization = regularization
        self.n_centers = n_centers
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.exponent = exponent
        self.force = force
        self.random_state = random_state

    def _solve_at(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Solution, Array]:
        moments = Moments.of(samples, self.centers_, self.gamma_)
        programme = PenaltyPath(moments.source, moments.mean)
        penalty = self.regularization_
        if penalty >= programme.start:
            raise InvalidInput(
                f"regularization must be below {programme.start:.6g}, from which on "
                f"every coefficient is zero, got {penalty}"
            )
        watch = _Watch(self.callback, deadline)
        began = time.perf_counter()
        self.path_: SolutionPath | None = None
        ended = "proved"
        try:
            self.path_ = follow(programme, max_events=self.max_iter, callback=watch)
            x, n_iter = self.path_.at(penalty), self.path_.n_events
        except PathError as error:
            # The loop counts a piece before it is seen.
            if not watch.why and len(watch.seen) >= self.max_iter:
                watch.why = f"max_iter = {self.max_iter} reached"
            ended = watch.why or str(error)
            x, n_iter = watch.nearest(programme, penalty), watch.n_events
        solution = certified(
            programme.problem(penalty),
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


class _Watch:
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

    def nearest(self, programme: PenaltyPath, penalty: float) -> Array:
        """Return the solution at the penalty, or the last one if it was not reached."""
        part = SolutionPath(
            programme,
            np.array([here.theta for here in self.seen]),
            np.array([here.x for here in self.seen]),
        )
        return part.at(max(penalty, float(part.thetas[-1])))
