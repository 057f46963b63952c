"""KLIEP: density ratios as mixtures of Gaussians, by maximum likelihood."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from counterpoise.convex import (
    Corrective,
    FrankWolfe,
    MixtureLikelihood,
    PartialPricing,
    ProjectedGradient,
    Solution,
    Solver,
    solve,
)
from counterpoise.engine import announce, current_budget
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.distances import nearest_row
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.coverage.thin_by_chance import as_share
from counterpoise.samples.median_width import median_gamma
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import InvalidInput, Matrix
from counterpoise.validation.parameters import Choice, Integer, Number, Rule
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.by_blocks import TwoBlocks
from counterpoise.weights.centers import (
    CENTERS_AT_MOST,
    all_or_few,
    centers_of_blocks,
    k_means_centers,
)
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.kernel_widths import (
    uncovered_share,
)
from counterpoise.weights.kliep.blocked_design import BlockedDesign, means_by_passes
from counterpoise.weights.kliep.designs import (
    ComputedDesign,
    StoredDesign,
    source_means,
)
from counterpoise.weights.kliep.low_rank_design import LowRankDesign
from counterpoise.weights.kliep.original import OriginalKLIEP
from counterpoise.weights.kliep.widths import select_gamma

KLIEP_SOLVERS = (
    "auto",
    "projected-gradient",
    "original",
    "frank-wolfe",
    "away",
    "pairwise",
    "corrective",
)
FRANK_WOLFE_SEARCHES = ("exact", "armijo", "open")
WIDTH_RULES = ("cv", "median", "cv-one-sided")
# From so many centres on, few of them are solved for before all are looked at.
MANY_CENTERS = 20 * CENTERS_AT_MOST
START_TOL = 1e-4


class KLIEP(WeightEstimator):
    r"""Weights by maximum likelihood: a mixture of Gaussians times the source density.

    With n source rows x, m target rows t, centres c, the kernel
    :math:`k(x, c) = \exp(-\gamma |x - c|^2)` on columns divided by their pooled scale
    and :math:`b_l = \mathrm{mean}_i k(x_i, c_l)`, it minimises

    .. math::
        f(\mu) = -\mathrm{mean}_j \log \sum_l \frac{\mu_l}{b_l} k(t_j, c_l)
        \quad\text{over}\quad \mu \ge 0, \sum_l \mu_l = 1

    and gives a row the weight :math:`w(x) = \sum_l \mu_l k(x, c_l) / b_l`, which has
    mean one over the source rows identically. The optimum -f estimates the
    Kullback-Leibler divergence of target from source.

    Parameters
    ----------
    gamma : float or {"cv", "median", "cv-one-sided"}
        Width of the kernel. "cv" takes the smoothest of eight widths whose
        held-out score is as good as the best; "median" the median
        distance between target rows; "cv-one-sided" the best textbook likelihood
        score, which an exact solver drives to ever narrower kernels.
    n_centers : int, None or "auto"
        Centres: None is all target rows, a number that many k-means centres of the
        target, "auto" all target rows while their kernel is cheap, else 2000.
    relative : float
        Share of the target in the denominator of the ratio; a ratio against
        (1 - relative) source + relative target is bounded by about 1 / relative before
        it is scaled to mean one, which guards against target rows without source rows
        near.
    solver : str
        "corrective" (what "auto" takes): active-set Newton on the few Gaussians that
        are used. "frank-wolfe", "away", "pairwise": Frank-Wolfe steps.
        "projected-gradient": the spectral one. "original": the published loop.
    line_search : {"exact", "armijo", "open"}
        Line search of the Frank-Wolfe steps.
    standardize : bool
        Whether columns are divided by their pooled scale, the root of the mean of the
        two variances.
    tol : float
        Gap to reach, in units of max(|f|, 0.1) nats.
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
        Seed of folds and k-means.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Estimated density ratio target/source at the source rows, of mean one.
    solution_ : Solution
        The mixture proportions with their certificate and history.
    centers_ : array of shape (k, d)
        Centres, on scaled columns.
    coef_ : array of shape (k,)
        Coefficients :math:`\mu_l / b_l`, most of them zero.
    gamma_ : float
        Width in use.
    cv_results_ : dict of arrays
        Scores of all widths, both kinds, where a width was selected.
    uncovered_ : float
        Share of target rows with less than one expected source neighbour at this
        width, or further from all source rows than those are from one another.
    effective_sample_size_ : float

    Notes
    -----
    The certificate is :math:`f - f^* \le \log \max_l g_l` with
    :math:`g_l = \mathrm{mean}_j k(t_j, c_l) / (b_l w(t_j))`, which proves optimality
    over all centres whatever solver was used. Sparsity belongs to the optimum and the
    width, not to the solver: counts of early-stopped iterates say nothing.

    References
    ----------
    Sugiyama, Nakajima, Kashima, von Buenau and Kawanabe (2008). Wen, Greiner and
    Schuurmans (2015). Chapaneri and Jayaswal (2019).

    Examples
    --------
    >>> from counterpoise import KLIEP
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(random_state=0)
    >>> kliep = KLIEP(gamma="median").fit(shift.X, X_target=shift.X_target)
    >>> kliep.solution_.converged, bool(abs(kliep.weights_.mean() - 1) < 1e-9)
    (True, True)
    """

    _accepts_sparse = True
    _rules: ClassVar[Mapping[str, Rule]] = {
        "gamma": Number(0.0, closed="neither", options=WIDTH_RULES),
        "n_centers": Integer(1, options=("auto", None)),
        "relative": Number(0.0, 1.0, closed="left"),
        "solver": Choice(KLIEP_SOLVERS),
        "line_search": Choice(FRANK_WOLFE_SEARCHES),
    }

    def __init__(
        self,
        *,
        gamma: float | str = "cv",
        n_centers: int | str | None = "auto",
        relative: float = 0.0,
        solver: str = "auto",
        line_search: str = "exact",
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        max_time: float | None = None,
        callback: Callable[..., Any] | None = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_centers = n_centers
        self.relative = relative
        self.solver = solver
        self.line_search = line_search
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.exponent = exponent
        self.force = force
        self.random_state = random_state

    def _chosen(self) -> dict[str, Any]:
        return {"gamma": self.gamma_}

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        seed = self._seed()
        self.gamma_ = self._width(samples, seed, deadline)
        design = self._design(samples, seed)
        problem = MixtureLikelihood(design, samples.target_share)
        if not np.isfinite(problem.objective.value(problem.start())):
            raise InvalidInput(
                f"gamma={self.gamma_:.6g} is so narrow that mixtures of its kernels "
                "are zero at target rows, and no likelihood is a number: give a "
                'smaller one, or gamma="cv"'
            )
        start = self._start(samples, design, seed, deadline)
        solution = self._solve(problem, self._method(design), start, deadline=deadline)
        self.coef_ = solution.x / design.scale
        if self.centers_ is samples.target and self.relative == 0.0:
            lonely = samples.source_mass * design.scale < 1.0
            uncovered = as_share(samples.target_share[lonely])
        else:
            uncovered = uncovered_share(samples, self.gamma_)
        return Fitted(solution, self._weigh(samples.source), uncovered)

    def _fit_blocks(self, both: TwoBlocks) -> Solution:
        if self.n_centers is None:
            raise InvalidInput(
                "n_centers=None makes a centre of every target row, which blocks are "
                "too many for: give a number"
            )
        if self.solver not in ("auto", "corrective"):
            raise InvalidInput(
                f"solver={self.solver!r} needs all rows in memory: blocks are fitted "
                'by "corrective"'
            )
        rows, aims = self._rows_in_blocks(both)
        kernel, seed = Kernel("rbf", self.gamma_), self._seed()
        wanted = CENTERS_AT_MOST if self.n_centers == "auto" else int(self.n_centers)
        announce("reading every row: centres and means of the kernel")
        self.centers_ = centers_of_blocks(aims, wanted, seed)
        scale = means_by_passes(rows, aims, self.centers_, kernel, self.relative)
        drawn = self._scaled(both.drawn.counted.target)
        announce("fitting the mixture to every row")
        design = BlockedDesign(aims, self.centers_, kernel, scale)
        start, share = design.covering(self._found_by_sample(drawn, kernel, scale))
        solution = self._solve(
            MixtureLikelihood(design, share),
            self._corrective(),
            start,
            deadline=Deadline(self.max_time),
        )
        self.coef_ = solution.x / scale
        return solution

    def _found_by_sample(self, rows: Array, kernel: Kernel, scale: Array) -> Array:
        """Return the optimum over a sample of the target, near that over all."""
        most = max(int(current_budget() // (8 * len(self.centers_))), 1)
        design = StoredDesign.of(rows[:most], self.centers_, kernel, scale)
        part = MixtureLikelihood(design)
        return solve(part, Corrective(n_join=30), tol=START_TOL).x

    def _weigh(self, X: Matrix) -> Array:
        used = np.flatnonzero(self.coef_)
        return Kernel("rbf", self.gamma_).push(X, self.centers_[used], self.coef_[used])

    def _width(self, samples: TwoSamples, seed: int, deadline: Deadline) -> float:
        if self.gamma == "median":
            return median_gamma(samples.target, samples.target_share)
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        one_sided = self.gamma == "cv-one-sided"
        gamma, curve = select_gamma(samples, self.relative, one_sided, seed, deadline)
        if curve is not None:
            self.cv_results_ = curve
        return gamma

    def _design(self, samples: TwoSamples, seed: int) -> Any:
        """Return the matrix of the problem in the cheapest form that there is."""
        kernel = Kernel("rbf", self.gamma_)
        newton = self.solver in ("auto", "corrective")
        if newton and self.n_centers in ("auto", None):
            design = LowRankDesign.of(samples, kernel, self.relative)
            if design is not None:
                self.centers_ = samples.target
                return design
        self.centers_ = all_or_few(samples, self.n_centers, seed)
        scale = source_means(samples, self.centers_, kernel, self.relative)
        size = 8 * samples.target.shape[0] * self.centers_.shape[0]
        kind = StoredDesign.of if size <= current_budget() else ComputedDesign
        return kind(samples.target, self.centers_, kernel, scale)

    def _start(
        self, samples: TwoSamples, design: Any, seed: int, deadline: Deadline
    ) -> Array | None:
        """Return where to begin, None where the solver knows best.

        A look at very many centres costs far more than a solution on few of them:
        begin at the optimum over the target rows nearest to k-means centres. What it
        lacks against all centres is the first gap of the history.
        """
        m = samples.target.shape[0]
        if (
            type(design) is not ComputedDesign
            or self.centers_ is not samples.target
            or m < MANY_CENTERS
            or self.solver not in ("auto", "corrective")
            or sparse.issparse(samples.target)
        ):
            return None
        means = k_means_centers(samples, CENTERS_AT_MOST, seed)
        few = np.unique(nearest_row(means, samples.target))
        part = MixtureLikelihood(design.computed(few), samples.target_share)
        found = solve(
            part,
            _within_budget(part.A),
            tol=max(self.tol, START_TOL),
            max_time=deadline.left(),
        )
        x = np.zeros(m)
        x[few] = found.x
        return x

    def _method(self, design: Any) -> Solver:
        if self.solver in ("auto", "corrective"):
            if type(design) is ComputedDesign:
                return _within_budget(design)
            return self._corrective()
        if self.solver == "original":
            return OriginalKLIEP(design.scale)
        if self.solver == "projected-gradient":
            return ProjectedGradient()
        variant = "plain" if self.solver == "frank-wolfe" else self.solver
        return FrankWolfe(variant, self.line_search)

    def _corrective(self) -> Corrective:
        # In many dimensions promising centres lie apart: let more of them join.
        return Corrective(n_join=30 if self.n_features_in_ >= 10 else 10)


def _within_budget(design: ComputedDesign) -> PartialPricing:
    """Return the solver with as many columns in store as the memory budget allows."""
    columns = int(current_budget() // (8 * design.shape[0]))
    usual = PartialPricing()
    return PartialPricing(
        pool=min(usual.pool, max(columns // 3, 30)),
        refill=min(usual.refill, max(columns // 4, 30)),
    )
