"""Kernel mean matching (KMM)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from counterpoise.data.arrays import Matrix
from counterpoise.data.parameters import Number, Rule, SolverChoice, resolve_solver
from counterpoise.data.two_samples import TwoSamples, spaced_places
from counterpoise.linalg.arrays import Array
from counterpoise.linalg.cholesky import pivoted_cholesky
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim.loop import Solution, Solver
from counterpoise.optim.objectives import FactoredDistance, KernelDistance
from counterpoise.optim.problems import MeanMatching
from counterpoise.optim.sets import CappedSimplex, Simplex
from counterpoise.optim.solvers.first_order import ProjectedGradient, ProximalGradient
from counterpoise.optim.solvers.frank_wolfe import FrankWolfe
from counterpoise.optim.solvers.interior_point import InteriorPoint
from counterpoise.shift.two_sample_tests import median_gamma
from counterpoise.weights.base import (
    Callback,
    FitResult,
    RandomState,
    WeightEstimator,
)
from counterpoise.weights.search import Deadline, unsupported_share

# -----------------------------------------------------------------------------
# The kernel means of two samples, and what follows from them for any row.
# -----------------------------------------------------------------------------


# A factor of this rank, with residuals this small, is cheap and as good as the kernel.
LARGEST_FACTOR_RANK, PIVOT_REST = 300, 1e-12
# What the factor may hide, as a share of the gap that is asked for.
HIDDEN_SHARE = 0.5
# Entries of the largest array, 1 GiB.
LARGEST_ARRAY = 2**27
# Target rows at most where the kernel has to be summed entry by entry.
TARGETS_SUMMED = 20_000
# The smallest ridge that is ever chosen; a regression never has less.
LEAST_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class KernelMeans:
    """The two kernel means, as far as fitting needs them.

    `distance` makes the objective from the ridges of the rows; `spread` is one less the
    mean kernel of two target rows, `scale` the unit of gaps, `unsupported_fraction` the
    share of target rows that the source does not reach. Where `distance` sees the span
    of the landmarks only, `point` is the target's mean there (None: it sees all),
    `residual` what it misses of the source rows, and `outside` of the target's mean.
    """

    distance: Callable[[Array], Any]
    spread: float
    scale: float
    target_mass: float
    unsupported_fraction: float
    landmarks: "SourceLandmarks"
    target: Array
    target_share: Array
    point: Array | None = None
    residual: Array | None = None
    outside: float = 0.0


@dataclass(frozen=True, eq=False)
class SourceLandmarks:
    """Rows in whose span others are expressed, and the source's coordinates there."""

    rows: Array
    triangle: Array
    source: Array


def kernel_means(samples: TwoSamples, gamma: float, tol: float) -> KernelMeans:
    """Return the kernel means of two samples, factored where that hides little."""
    n = samples.source.shape[0]
    rows = np.concatenate([samples.source, samples.target])
    factor, pivots, residual = pivoted_cholesky(
        rows, gamma, PIVOT_REST, LARGEST_FACTOR_RANK
    )
    source, target = factor[:, :n], factor[:, n:]
    landmarks = SourceLandmarks(rows[pivots], np.tril(factor[:, pivots].T), source)
    mean, point = source @ samples.source_share, target @ samples.target_share
    outside = float(np.sqrt(residual[n:]) @ samples.target_share)
    hidden = (float(np.sqrt(residual[:n]) @ samples.source_share) + outside) ** 2
    spread = _spread(
        1.0 - float(residual[n:] @ samples.target_share), float(point @ point), samples
    )
    scale = _scale(float((mean - point) @ (mean - point)), spread, samples)
    if hidden <= HIDDEN_SHARE * tol * scale:
        unsupported_fraction = _uncovered(samples, mean @ target, samples.target_share)
    elif n * n <= LARGEST_ARRAY:
        return _dense_means(samples, gamma, landmarks)
    else:
        unsupported_fraction = unsupported_share(samples, gamma)
    return KernelMeans(
        lambda ridge: FactoredDistance(source, point, ridge),
        spread,
        scale,
        samples.target_mass,
        unsupported_fraction,
        landmarks,
        samples.target,
        samples.target_share,
        point,
        residual[:n],
        outside,
    )


def _dense_means(
    samples: TwoSamples, gamma: float, landmarks: SourceLandmarks
) -> KernelMeans:
    """Return the kernel means with the kernel of the source stored."""
    if samples.target.shape[0] > TARGETS_SUMMED:
        samples = samples.take(
            slice(None), spaced_places(samples.target.shape[0], TARGETS_SUMMED)
        )
    X, T = samples.source, samples.target
    p, q = samples.source_share, samples.target_share
    K = Kernel("rbf", gamma).matrix(X, X)
    kappa = Kernel("rbf", gamma).push(X, T, q)
    constant = float(Kernel("rbf", gamma).pull(q, T, T) @ q)
    spread = _spread(1.0, constant, samples)
    uniform = float(p @ (K @ p)) - 2.0 * float(kappa @ p) + constant
    return KernelMeans(
        lambda ridge: KernelDistance(K, kappa, constant, ridge),
        spread,
        _scale(uniform, spread, samples),
        samples.target_mass,
        _uncovered(samples, Kernel("rbf", gamma).pull(p, X, T), q),
        landmarks,
        T,
        q,
    )


def _spread(diagonal: float, constant: float, samples: TwoSamples) -> float:
    """Return the mean of k(t, t) less that of k(t, t') over pairs of different rows."""
    mass = samples.target_mass
    pairs = mass / (mass - 1.0) if mass > 1.0 else 1.0
    return max(pairs * (diagonal - constant), 0.0)


def _scale(uniform: float, spread: float, samples: TwoSamples) -> float:
    """Return the squared MMD of weights of one, or of chance if that is larger."""
    chance = spread * (1.0 / samples.source_mass + 1.0 / samples.target_mass)
    # Where all is rounding, there is no unit.
    return max(uniform, chance, 1e-9)


def _uncovered(samples: TwoSamples, reach: Array, share: Array) -> float:
    """Return the share of rows with less than one expected source neighbor."""
    return float(share[samples.source_mass * reach < 1.0].sum() / share.sum())


@dataclass(frozen=True, eq=False)
class KernelSum:
    """A function of rows: kernels at centers, a constant, cut to [0, bound]."""

    centers: Array
    coef: Array
    constant: float
    gamma: float
    bound: float

    def at(self, X: Array) -> Array:
        """Return the function at rows."""
        sums = Kernel("rbf", self.gamma).push(X, self.centers, self.coef)
        return np.clip(sums + self.constant, 0.0, self.bound)


def extended(
    means: KernelMeans,
    samples: TwoSamples,
    v: Array,
    ridge: float,
    gamma: float,
    bound: float,
) -> KernelSum:
    r"""Return the weights of mean matching as a function of any row.

    At the optimum :math:`\rho w_i / N = \sum_j q_j k(t_j, x_i) - \sum_l v_l k(x_l, x_i)
    + \lambda` wherever :math:`0 < w_i < B`, and the cut of the right side elsewhere:
    read as a function of the row it gives the fitted weights at the rows of the fit.
    Where v is too far from the optimum for that, or there is no ridge, the kernel ridge
    regression of the weights does better, and is taken.
    """
    ratio = np.clip(v / samples.source_share, 0.0, bound)
    regression = _regression(means.landmarks, samples, ratio, ridge, gamma, bound)
    if ridge <= 0.0:
        return regression
    share, per_row = samples.source_share, samples.source_mass / ridge
    rises = -0.5 * per_row * means.distance(np.zeros_like(v)).gradient(v)
    constant = _constant(rises, share, float(v.sum()), bound)
    if means.point is None:
        used = v > 0.0
        centers = np.concatenate([means.target, samples.source[used]])
        coef = per_row * np.concatenate([means.target_share, -v[used]])
    else:
        centers = means.landmarks.rows
        inside = per_row * (means.point - means.landmarks.source @ v)
        coef = _at_landmarks(means.landmarks, inside)
    exact = KernelSum(centers, coef, constant, gamma, bound)
    errors = [
        float(share @ (one.at(samples.source) - ratio) ** 2)
        for one in (exact, regression)
    ]
    return exact if errors[0] <= errors[1] else regression


def _constant(rises: Array, share: Array, total: float, bound: float) -> float:
    """Return the constant at which the cut weights have the mean that they have."""
    low, high = -float(rises.max()), bound - float(rises.min())
    for _ in range(200):
        middle = 0.5 * (low + high)
        if float(share @ np.clip(rises + middle, 0.0, bound)) < total:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _regression(
    landmarks: SourceLandmarks,
    samples: TwoSamples,
    ratio: Array,
    ridge: float,
    gamma: float,
    bound: float,
) -> KernelSum:
    """Return the kernel ridge regression of weights, as a sum of landmarks' kernels."""
    A, counts = landmarks.source, samples.source_share * samples.source_mass
    inner = (A * counts) @ A.T
    inner[np.diag_indices_from(inner)] += max(ridge, LEAST_RIDGE)
    factor = cho_factor(inner, lower=True, check_finite=False)
    inside = cho_solve(factor, A @ (counts * ratio), check_finite=False)
    mean = float(counts @ (inside @ A))
    if mean > 0.0:
        inside *= float(counts @ ratio) / mean
    coef = _at_landmarks(landmarks, inside)
    return KernelSum(landmarks.rows, coef, 0.0, gamma, bound)


def _at_landmarks(landmarks: SourceLandmarks, inside: Array) -> Array:
    """Return coefficients of the landmarks' kernels from coordinates in their span."""
    coef: Array = solve_triangular(
        landmarks.triangle, inside, lower=True, trans="T", check_finite=False
    )
    return coef


# -----------------------------------------------------------------------------
# Kernel mean matching: weights that bring the source's kernel mean to the target's.
# -----------------------------------------------------------------------------


MATCHING_SOLVERS = ("auto", "frank-wolfe", "pairwise", "quadratic")
MATCHING_SOLVER_CHOICE = SolverChoice(
    MATCHING_SOLVERS,
    (FrankWolfe, InteriorPoint, ProjectedGradient, ProximalGradient),
)
# Ridges that "auto" tries, the largest first.
MATCHING_RIDGES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, LEAST_RIDGE)
# Up to here a dense Newton step is cheaper than the gradient steps it saves.
ROWS_BY_NEWTON = 1000


@dataclass(kw_only=True, eq=False, repr=False)
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
    max_weight : float
        B, the largest weight.
    slack : float or None
        :math:`\epsilon`, how far the weights' mean may be from one; None: 0. Huang et
        al. take :math:`1 - 1/\sqrt{n}`.
    alpha : float or "auto"
        :math:`\rho`. "auto": the largest of 10, 3, 1, ..., 0.001 at which the MMD is
        no larger than two samples of these effective sizes show by chance (the
        smallest if none is).
    solver : str or Solver, default="auto"
        "quadratic" (and "auto"): an interior point, or accelerated projected gradient
        for many rows with a kernel of full rank. The Frank-Wolfe variants
        "frank-wolfe" and "pairwise" converge slowly and are here for comparison. Or a
        solver object of `counterpoise.optim`, such as ``FrankWolfe("away")``. The ridge
        "auto" is chosen by "quadratic" in all cases.
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
    allow_no_overlap : bool
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
    effective_sample_size_, unsupported_fraction_ : float
        Of the weights; share of the target rows with less than one expected source
        neighbor at the width.

    Notes
    -----
    The published problem (:math:`\rho = 0`) has no usable solution: in low dimension
    its minimizer is far from unique, in high dimension it fits the sampling noise of
    the target. The ridge makes it unique, and the rule above stops it where the noise
    begins.

    The certificate bounds the excess of :math:`v` over the true optimum. Where the
    kernel has low rank the problem is solved on a pivoted Cholesky factor, and the gap
    includes all that the factor can hide. Where it has not, and rows are too many for
    their kernel to be stored within 1 GiB, the factor is kept, and a certificate that
    does not hold says by how much. With a stored kernel, target rows beyond 20,000 are
    represented by 20,000 at equal intervals.

    The published method defines no weights of other rows; `predict_weights` reads the
    conditions of the optimum as a function of the row. With :math:`\lambda` the
    multiplier of the sum,

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
        "max_weight": Number(1.0),
        "slack": Number(0.0, 1.0, closed="left", options=(None,)),
        "alpha": Number(0.0, options=("auto",)),
        "solver": MATCHING_SOLVER_CHOICE,
    }

    gamma: float | str = "median"
    max_weight: float = 1000.0
    slack: float | None = None
    alpha: float | str = "auto"
    solver: str | Solver = "auto"
    standardize: bool = True
    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callback = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None

    def _chosen(self) -> dict[str, object]:
        return {"gamma": self.gamma_, "alpha": self.ridge_}

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        if self.gamma == "median":
            self.gamma_ = median_gamma(samples.target, samples.target_share)
        else:
            self.gamma_ = float(self.gamma)
        means = kernel_means(samples, self.gamma_, self.tol)
        solution = self._match(means, samples, deadline)
        ratio = np.clip(solution.x / samples.source_share, 0.0, self.max_weight)
        self._extension_ = extended(
            means, samples, solution.x, self.ridge_, self.gamma_, self.max_weight
        )
        # With slack the mean is a result; scaled to one it could break the bound.
        mean = float(solution.x.sum()) if self.slack else 1.0
        return FitResult(solution, ratio, means.unsupported_fraction, mean=mean)

    def _predict_weights(self, X: Matrix) -> Array:
        return self._extension_.at(X)

    def _match(
        self, means: KernelMeans, samples: TwoSamples, deadline: Deadline
    ) -> Solution:
        """Solve at the ridge that is given or chosen, and say how well it matches."""
        share = samples.source_share
        domain = CappedSimplex(
            len(share), self.max_weight * share, 1.0, self.slack or 0.0
        )
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

        if self.alpha == "auto":
            self.ridge_, solution = _at_the_floor(quadratic, means, counts)
        else:
            self.ridge_ = float(self.alpha)
        if self.solver not in ("auto", "quadratic"):
            posed = problem(self.ridge_)
            if domain.slack == 0.0 and domain.caps.min() >= domain.total:
                # No cap is in reach: the vertices are single rows, and cheap.
                simplex = replace(posed, domain=Simplex(domain.size))
                if isinstance(self.solver, str) or not self.solver.accepts.lacking(
                    simplex
                ):
                    posed = simplex
            solver = resolve_solver(
                "solver",
                self.solver,
                MATCHING_SOLVER_CHOICE,
                lambda name: FrankWolfe("plain" if name == "frank-wolfe" else name),
                posed,
            )
            solution = self._search(posed, solver, deadline)
        elif self.alpha != "auto":
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
