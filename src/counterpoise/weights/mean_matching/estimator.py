"""Kernel mean matching: weights that bring the source's kernel mean to the target's."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from counterpoise.convex import (
    CappedSimplex,
    FrankWolfe,
    ProximalGradient,
    Simplex,
    Solution,
    Solver,
)
from counterpoise.convex.problems.mean_matching import MeanMatching
from counterpoise.convex.solvers.interior_point import InteriorPoint
from counterpoise.numerics.arrays import Array
from counterpoise.samples.median_width import median_gamma
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix
from counterpoise.validation.parameters import Choice, Number, Rule
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.mean_matching.kernel_means import (
    HIDDEN_SHARE,
    LARGEST_ARRAY,
    LEAST_RIDGE,
    KernelMeans,
    extended,
    kernel_means,
)

MATCHING_SOLVERS = ("auto", "frank-wolfe", "pairwise", "quadratic")
# Ridges that "auto" tries, the largest first.
MATCHING_RIDGES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, LEAST_RIDGE)
# Up to here a dense Newton step is cheaper than the gradient steps it saves.
ROWS_BY_NEWTON = 1000


class KMM(WeightEstimator):
    r"""Weights that bring the source's kernel mean to the target's.

    With shares :math:`p_i` of the source rows and :math:`q_j` of the target rows (1/n
    and 1/m unless weights are given), N the number of rows that the source stands for
    and :math:`v_i = p_i w_i`,

    .. math::

        \min_w \Big\| \sum_i v_i \, k(x_i, \cdot) - \sum_j q_j \, k(t_j, \cdot)
        \Big\|^2 + \rho \sum_i \frac{v_i^2}{N p_i}, \qquad
        0 \le w_i \le B, \quad \Big| \sum_i v_i - 1 \Big| \le \epsilon

    The first term is the squared maximum mean discrepancy (MMD). The second is
    :math:`\rho / N` times the weighted mean of :math:`w^2`, :math:`\rho |v|^2` for
    equal shares, so that a row of weight two is the row twice; it is :math:`\rho`
    over the effective sample size.

    Parameters
    ----------
    gamma : float or "median"
        Width of the Gaussian kernel :math:`\exp(-\gamma |x - x'|^2)` on scaled columns;
        "median": :math:`1/(2\sigma^2)`, :math:`\sigma` the median distance of two
        target rows.
    bound : float
        B, the largest weight.
    slack : float or None
        :math:`\epsilon`, how far the weights' mean may be from one; None: 0. Huang et
        al. take :math:`1 - 1/\sqrt{n}`.
    ridge : float or "auto"
        :math:`\rho`. "auto": the largest of 10, 3, 1, ..., 0.001 at which the MMD is
        no larger than two samples of these effective sizes show by chance (the
        smallest if none is).
    solver : {"auto", "frank-wolfe", "pairwise", "quadratic"}
        "quadratic" (and "auto"): an interior point, or accelerated projected gradient
        for many rows with a kernel of full rank. The Frank-Wolfe variants converge
        slowly and are here for comparison.
    standardize : bool
        Whether columns are divided by their pooled scale, the root of the mean of the
        two variances.
    tol : float
        Gap to reach, relative to the squared MMD of weights of one (or, if larger, to
        the squared MMD that two such samples show by chance).
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
        Seed of the folds of `score`.

    Attributes
    ----------
    weights_ : array of shape (n,)
        The density ratio target/source at the source rows; mean one (within `slack`).
    solution_ : Solution
        :math:`v` with its certificate; rows are sorted, and without those of weight
        zero.
    gamma_, ridge_ : float
        The values used.
    mmd_ : float
        The MMD (not squared) between weighted source and target.
    noise_floor_ : float
        The MMD (not squared) that two samples of the weights' effective size and the
        target's size show by chance:
        :math:`\sqrt{(1 - \bar k)(1/ESS + 1/m)}`, :math:`\bar k` the mean kernel of two
        target rows.
    effective_sample_size_, uncovered_ : float
        Of the weights; share of the target rows with less than one expected source
        neighbour at the width.

    Notes
    -----
    The published problem (:math:`\rho = 0`) has no usable solution: in low dimension
    its minimiser is far from unique, in high dimension it fits the sampling noise of
    the target. The ridge makes it unique, and the rule above stops it where the noise
    begins.

    The certificate bounds the excess of :math:`v` over the true optimum. Where the
    kernel has low rank the problem is solved on a pivoted Cholesky factor, and the gap
    includes all that the factor can hide. Where it has not, and rows are too many for
    their kernel to be stored within 1 GiB, the factor is kept, and a certificate that
    does not hold says by how much. With a stored kernel, target rows beyond 20,000 are
    represented by 20,000 at equal intervals.

    The published method defines no weights of other rows; `weigh` reads the conditions
    of the optimum as a function of the row. With :math:`\lambda` the multiplier of the
    sum,

    .. math::
        w(x) = \frac{N}{\rho} \Big( \sum_j q_j k(t_j, x) - \sum_i v_i k(x_i, x)
        + \lambda \Big), \quad\text{cut to } [0, B],

    which at the rows of the fit is `weights_`, as nearly as the optimum was reached.
    Without a ridge, or far from the optimum (the Frank-Wolfe solvers), it is the kernel
    ridge regression of `weights_` on at most 300 landmarks, scaled to mean one over the
    source and cut to [0, bound], which is near `weights_` only. In `score` a weight of
    zero at a target row counts as 1e-4.

    References
    ----------
    Huang, Smola, Gretton, Borgwardt and Schoelkopf (2007). Gretton et al. (2009).

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=300, m=300, d=1, random_state=0)
    >>> kmm = KMM().fit(shift.X, X_target=shift.X_target)
    >>> kmm.solution_.converged, kmm.mmd_ <= kmm.noise_floor_
    (True, True)
    """

    # Weights of exactly zero are no accident here, and have no logarithm.
    _least_scored = 1e-4
    _rules: ClassVar[Mapping[str, Rule]] = {
        "gamma": Number(0.0, closed="neither", options=("median",)),
        "bound": Number(1.0),
        "slack": Number(0.0, 1.0, closed="left", options=(None,)),
        "ridge": Number(0.0, options=("auto",)),
        "solver": Choice(MATCHING_SOLVERS),
    }

    def __init__(
        self,
        *,
        gamma: float | str = "median",
        bound: float = 1000.0,
        slack: float | None = None,
        ridge: float | str = "auto",
        solver: str = "auto",
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        max_time: float | None = None,
        callback: Any = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.bound = bound
        self.slack = slack
        self.ridge = ridge
        self.solver = solver
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.exponent = exponent
        self.force = force
        self.random_state = random_state

    def _chosen(self) -> dict[str, Any]:
        return {"gamma": self.gamma_, "ridge": self.ridge_}

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        if self.gamma == "median":
            self.gamma_ = median_gamma(samples.target, samples.target_share)
        else:
            self.gamma_ = float(self.gamma)
        means = kernel_means(samples, self.gamma_, self.tol)
        solution = self._match(means, samples, deadline)
        ratio = np.clip(solution.x / samples.source_share, 0.0, self.bound)
        self._extension_ = extended(
            means, samples, solution.x, self.ridge_, self.gamma_, self.bound
        )
        # With slack the mean is a result; scaled to one it could break the bound.
        mean = float(solution.x.sum()) if self.slack else 1.0
        return Fitted(solution, ratio, means.uncovered, mean=mean)

    def _weigh(self, X: Matrix) -> Array:
        return self._extension_.at(X)

    def _match(
        self, means: KernelMeans, samples: TwoSamples, deadline: Deadline
    ) -> Solution:
        """Solve at the ridge that is given or chosen, and say how well it matches."""
        share = samples.source_share
        domain = CappedSimplex(len(share), self.bound * share, 1.0, self.slack or 0.0)
        counts = share * samples.source_mass

        def problem(ridge: float) -> MeanMatching:
            return MeanMatching(
                means.distance(ridge / counts),
                domain,
                means.scale,
                means.residual,
                means.outside,
            )

        def quadratic(ridge: float, x: Array | None = None) -> Solution:
            solver = _quadratic_solver(means, len(share), ridge)
            return self._search(problem(ridge), solver, deadline, x)

        if self.ridge == "auto":
            self.ridge_, solution = _at_the_floor(quadratic, means, counts)
        else:
            self.ridge_ = float(self.ridge)
        if self.solver in ("frank-wolfe", "pairwise"):
            solution = self._search(
                *_by_vertices(problem(self.ridge_), self.solver), deadline
            )
        elif self.ridge != "auto":
            solution = quadratic(self.ridge_)
        squared, floor = _noise(means, counts, solution.x)
        self.mmd_ = float(np.sqrt(max(squared, 0.0)))
        self.noise_floor_ = float(np.sqrt(floor))
        return solution

    def _search(
        self,
        problem: MeanMatching,
        solver: Solver,
        deadline: Deadline,
        x: Array | None = None,
    ) -> Solution:
        """Solve a problem whose certificate may be out of reach."""
        if problem.error(problem.start()) <= HIDDEN_SHARE * self.tol * problem.scale:
            return self._solve(problem, solver, x, deadline=deadline)
        # What a factor hides no step can find: search without, and prove with it.
        visible = replace(problem, residual=None, outside=0.0)
        found = self._solve(visible, solver, x, deadline=deadline)
        return replace(found, certificate=problem.certify(found.x))


def _at_the_floor(
    match: Callable[[float, Array | None], Solution], means: KernelMeans, counts: Array
) -> tuple[float, Solution]:
    """Return the largest ridge at which the MMD is no more than chance, or the last."""
    x = None
    for ridge in MATCHING_RIDGES:
        solution = match(ridge, x)
        x = solution.x
        squared, floor = _noise(means, counts, x)
        if squared <= floor:
            break
    return ridge, solution


def _noise(means: KernelMeans, counts: Array, v: Array) -> tuple[float, float]:
    """Return the squared MMD of weights, and what chance alone would make of it."""
    squared = float(means.distance(np.zeros_like(v)).value(v))
    share = float((v * v / counts).sum()) / float(v.sum()) ** 2
    return squared, means.spread * (share + 1.0 / means.target_mass)


def _quadratic_solver(means: KernelMeans, n: int, ridge: float) -> Solver:
    """Return the solver that is fastest for a kernel and a ridge."""
    # Two arrays of n x n are needed; above this ridge gradient steps are few.
    dense = means.residual is None
    if dense and (2 * n * n > LARGEST_ARRAY or (n > ROWS_BY_NEWTON and ridge >= 0.3)):
        return ProximalGradient()
    return InteriorPoint()


def _by_vertices(problem: MeanMatching, solver: str) -> tuple[MeanMatching, Solver]:
    """Return the problem and the Frank-Wolfe variant for it."""
    domain = problem.domain
    if domain.slack == 0.0 and domain.caps.min() >= domain.total:
        # No cap is in reach: the vertices are single rows, and cheap.
        problem = replace(problem, domain=Simplex(domain.size))
    return problem, FrankWolfe("plain" if solver == "frank-wolfe" else "pairwise")
