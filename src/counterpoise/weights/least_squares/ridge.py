"""uLSIF and RuLSIF: density ratios as sums of Gaussians, by least squares."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from counterpoise.convex import Solution, certified
from counterpoise.convex.problems.least_squares import RidgeQuadratic
from counterpoise.numerics.arrays import Array
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import InvalidInput
from counterpoise.validation.parameters import Number, Rule
from counterpoise.weights.by_blocks import TwoBlocks
from counterpoise.weights.centers import centers_of_blocks
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.least_squares.base import LeastSquaresWeights, Rows
from counterpoise.weights.least_squares.search import Curve, Moments, leave_one_out

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

    def _fit_blocks(self, both: TwoBlocks) -> Solution:
        if self.n_centers is None:
            raise InvalidInput(
                "n_centers=None makes a centre of every target row, which blocks are "
                "too many for: give a number"
            )
        rows, aims = self._rows_in_blocks(both)
        self.centers_ = centers_of_blocks(aims, int(self.n_centers), self._seed())
        solution, self.coef_ = self._solve_moments(
            Moments.of_blocks(rows, aims, self.centers_, self.gamma_)
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


class ULSIF(_Ridge):
    r"""Weights by least squares in closed form: uLSIF.

    With n source rows x, m target rows t, centres c and the kernel
    :math:`k_l(x) = \exp(-\gamma |x - c_l|^2)` on columns divided by their pooled scale,
    :math:`H = \mathrm{mean}_i k(x_i) k(x_i)'` and :math:`h = \mathrm{mean}_j k(t_j)`,
    it minimises

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
        Number of k-means centres of the target; None, or no fewer than there are
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
    force : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of the k-means centres.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Weights of the source rows, of mean one.
    solution_ : Solution
        The solution of the linear equation and its proof.
    coef_ : array of shape (b,)
        Coefficients of the Gaussians: the solution, negative entries put to zero.
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
    >>> weighter = ULSIF(random_state=0).fit(shift.X, X_target=shift.X_target)
    >>> bool((weighter.weights_ * shift.X[:, 0]).mean() > 0.7)
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
        max_time: float | None = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.regularization = regularization
        self.n_centers = n_centers
        self.standardize = standardize
        self.tol = tol
        self.max_time = max_time
        self.exponent = exponent
        self.force = force
        self.random_state = random_state


class RULSIF(_Ridge):
    r"""Weights by least squares, relative to a mixture of both samples: RuLSIF.

    With a = `relative`, :math:`H = (1-a)\, \mathrm{mean}_i k(x_i) k(x_i)' +
    a\, \mathrm{mean}_j k(t_j) k(t_j)'` and otherwise as in `ULSIF`, it minimises

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
        Number of k-means centres of the target; None, or no fewer than there are
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
    force : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of the k-means centres.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Weights of the source rows, of mean one.
    solution_ : Solution
        The solution of the linear equation and its proof.
    coef_ : array of shape (b,)
        Coefficients of the Gaussians: the solution, negative entries put to zero.
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

    Notes
    -----
    The way back to the density ratio, with `exponent` one, is
    ``r = weights_ * mean_ratio_`` and :math:`w = (1-a) r / (1 - a r)` where
    :math:`a r < 1`; where it is not, the fit says no more than that w is large.

    The certificate, leave-one-out and the choice of width and penalty are as in
    `ULSIF`, but the best candidate is taken and not the smoothest near it, which would
    flatten the flat ratio once more; the mean in the two-sided score is over the
    mixture of both samples. It takes two eigendecompositions a width (one for the rows
    of each sample), and with user weights below one a generalised one for each penalty.

    References
    ----------
    Yamada, Suzuki, Kanamori, Hachiya and Sugiyama (2013), "Relative density-ratio
    estimation for robust distribution comparison".

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=500, m=300, shift=1.0, random_state=0)
    >>> weighter = RULSIF(random_state=0).fit(shift.X, X_target=shift.X_target)
    >>> bool((weighter.weights_ * weighter.mean_ratio_).max() < 1 / 0.1)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **_Ridge._rules,
        "relative": Number(0.0, 1.0, closed="left"),
    }

    def __init__(
        self,
        *,
        relative: float = 0.1,
        gamma: float | str = "cv",
        regularization: float | str = "cv",
        n_centers: int | None = 100,
        standardize: bool = True,
        tol: float = 1e-6,
        max_time: float | None = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.relative = relative
        self.gamma = gamma
        self.regularization = regularization
        self.n_centers = n_centers
        self.standardize = standardize
        self.tol = tol
        self.max_time = max_time
        self.exponent = exponent
        self.force = force
        self.random_state = random_state
