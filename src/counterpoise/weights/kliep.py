"""Kullback-Leibler importance estimation procedure (KLIEP)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from counterpoise.data.arrays import Matrix
from counterpoise.data.parallel import current_budget
from counterpoise.data.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    SolverChoice,
    resolve_solver,
)
from counterpoise.data.progress import announce
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import N_FOLDS, TwoSamples
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel, nearest_row
from counterpoise.optim.loop import Requirements, Solution, Solver, State, solve
from counterpoise.optim.problems import MixtureLikelihood
from counterpoise.optim.solvers.corrective import Corrective, PartialPricing
from counterpoise.optim.solvers.first_order import ProjectedGradient, ProximalGradient
from counterpoise.optim.solvers.frank_wolfe import FrankWolfe
from counterpoise.shift.support import as_share
from counterpoise.shift.two_sample_tests import median_gamma
from counterpoise.weights.base import (
    Callback,
    FitResult,
    RandomState,
    WeightEstimator,
)
from counterpoise.weights.kernel_design import (
    CENTERS_AT_MOST,
    SMALLEST_SCALE,
    BlockedDesign,
    ComputedDesign,
    LowRankDesign,
    StoredDesign,
    centers_of_blocks,
    choose_centers,
    k_means_centers,
    means_of_blocks,
    source_means,
)
from counterpoise.weights.search import (
    FEWEST_TO_CHOOSE,
    LARGEST_UNCOVERED,
    LARGEST_UNCOVERED_RELATIVE,
    WIDTH_FACTORS,
    Deadline,
    HeldOut,
    choose,
    folds_of_both,
    is_clearly_worse,
    thinned,
    unsupported_share,
    untried,
)

# -----------------------------------------------------------------------------
# The loop of the first KLIEP publication, step by step.
# -----------------------------------------------------------------------------


STEP_LENGTHS = tuple(10.0**k for k in range(3, -4, -1))
TRIALS_A_LENGTH = 100


@dataclass(frozen=True)
class OriginalMemory:
    """The coefficients, and which length is tried how often."""

    alpha: Array
    length: int = 0
    trial: int = 0


@dataclass(frozen=True)
class OriginalKLIEP:
    """Projected gradient as published: fixed lengths, and a projection that is none.

    In the coefficients alpha = x / b: ascend by K'(1 / K alpha), move to the plane
    b'alpha = 1, cut negative entries, divide by b'alpha; keep the trial if the mean log
    rises, else go on with a tenth of the length, from 1000 down to 0.001, a hundred
    trials each. The three moves are not the Euclidean projection, and the loop ends
    where no length helps, which may be far from the optimum: the certificate says how
    far.

    Parameters
    ----------
    scale : array of shape (n,)
        b, the means of the kernels over the source rows.

    References
    ----------
    Sugiyama, Nakajima, Kashima, von Buenau and Kawanabe (2008).
    """

    scale: Array

    @property
    def accepts(self) -> Requirements:
        """A mixture over the simplex."""
        return Requirements(objective=("image", "columns"), domain=("coordinates",))

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state: all coefficients equal."""
        ones = np.ones_like(self.scale) if x is None else x / self.scale
        return self._state(problem, OriginalMemory(self._feasible(ones)))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one trial."""
        memory: OriginalMemory = state.memory
        if memory.length == len(STEP_LENGTHS):
            return State(state.x, state.claim, memory, stalled=True)
        gradient = problem.objective.gradient(state.x) * -self.scale
        # The published ascent sums over the target rows; ours is a mean.
        rise = STEP_LENGTHS[memory.length] * problem.objective.weights.size * gradient
        trial = self._feasible(memory.alpha + rise)
        value = problem.objective.value(trial * self.scale)
        if value < state.claim.objective:
            kept = memory.trial + 1
            following = (
                OriginalMemory(trial, memory.length + 1)
                if kept == TRIALS_A_LENGTH
                else OriginalMemory(trial, memory.length, kept)
            )
            return self._state(problem, following)
        return State(
            state.x,
            state.claim,
            OriginalMemory(memory.alpha, memory.length + 1),
            counts={},
        )

    def _state(self, problem: Any, memory: OriginalMemory) -> State:
        x = memory.alpha * self.scale
        x = x / x.sum()
        return State(x, problem.certify(x), memory)

    def _feasible(self, alpha: Array) -> Array:
        b = self.scale
        moved = alpha + (1.0 - b @ alpha) * b / (b @ b)
        cut = np.maximum(moved, 0.0)
        return cut / (b @ cut)


# -----------------------------------------------------------------------------
# Choosing the width of KLIEP's kernel by held-out rows of both samples.
# -----------------------------------------------------------------------------


def select_gamma(
    samples: TwoSamples,
    relative: float,
    one_sided: bool,
    seed: int,
    deadline: Deadline | None = None,
) -> tuple[float, dict[str, Array] | None]:
    """Return the chosen gamma and the whole curve behind the choice.

    Every width is scored on held-out rows of both samples (five folds); the smoothest
    width as good as the best is taken (`search.choose`). `one_sided` takes the best by
    the textbook score instead. With fewer than twenty rows in a sample there is nothing
    to hold out: the median distance is the width, and a warning says so. After half of
    the time until the deadline no further width is tried.
    """
    deadline = deadline or Deadline()
    n, m = samples.source.shape[0], samples.target.shape[0]
    middle = median_gamma(samples.target, samples.target_share)
    if min(n, m) < FEWEST_TO_CHOOSE:
        warn_user(
            f"{n} source and {m} target rows are too few to choose a width by "
            "cross-validation: the median distance is taken"
        )
        return middle, None
    samples = samples.take(*thinned(samples, seed))
    gammas = middle / np.array(WIDTH_FACTORS) ** 2
    bound = LARGEST_UNCOVERED_RELATIVE if relative > 0.0 else LARGEST_UNCOVERED
    able = np.array([unsupported_share(samples, g) <= bound for g in gammas])
    asked = able if able.any() and not one_sided else np.ones_like(able)
    tried = np.zeros_like(asked)
    candidates = [untried(samples)] * len(gammas)
    parts = folds_of_both(samples, seed)
    for k in np.flatnonzero(asked):
        if tried.any() and deadline.half_is_over():
            break
        candidates[k] = held_out_kliep(samples, gammas[k], relative, parts)
        tried[k] = True
    deadline.warn_untried(int(tried.sum()), int(asked.sum()), "widths")
    choice = choose(candidates, samples)
    taken = choice.chosen
    if one_sided:
        taken = int(np.nanargmax([c.one_sided for c in candidates]))
    elif taken == len(gammas) - 1:
        warn_user(
            "the smallest width of the grid was chosen: the ratio may be rougher than "
            "any width tried"
        )
    curve = {
        "gamma": gammas,
        "width": 1.0 / np.sqrt(2.0 * gammas),
        "score": np.where(tried, choice.scores, np.nan),
        "standard_error": np.full(len(gammas), choice.allowed),
        "one_sided_score": np.array([c.one_sided for c in candidates]),
        "admissible": np.array([c.admissible for c in candidates]),
        "chosen": np.arange(len(gammas)) == taken,
    }
    return float(gammas[taken]), curve


def held_out_kliep(
    samples: TwoSamples,
    gamma: float,
    relative: float,
    parts: tuple[Indices, Indices],
    rival: HeldOut | None = None,
) -> HeldOut:
    """Return KLIEP's weights at the rows of both samples, each held out once.

    `parts` are the folds of the rows.
    A width that is far behind a rival on the first fold is not tried on the others, and
    not to be taken: narrow kernels that win nothing cost most.
    """
    p, q = samples.source_share, samples.target_share
    kernel = Kernel("rbf", gamma)
    to_source = kernel.matrix(samples.source, samples.target)
    to_target = kernel.matrix(samples.target, samples.target)
    n, m = to_source.shape
    fold_source, fold_target = parts
    weights_source, weights_target = np.empty(n), np.empty(m)
    # The means of the kernels over the rows that each fold is fitted to.
    source_means = _shares_without(fold_source, p) @ to_source
    shares = _shares_without(fold_target, q)
    scales = (1.0 - relative) * source_means
    if relative > 0.0:
        scales += relative * (shares @ to_target)
    scales = np.maximum(scales, SMALLEST_SCALE)
    for k in range(N_FOLDS):
        out_source, out = fold_source == k, fold_target == k
        left = np.flatnonzero(~out)
        share, scale = shares[k][left], scales[k][left]
        source_mean = source_means[k][left]
        block = np.compress(~out, to_target[left], axis=1)
        block /= scale[:, None]
        centers = samples.target[left]
        design = StoredDesign(centers, centers, kernel, scale, block.T)
        found = solve(
            MixtureLikelihood(design, share), Corrective(), tol=1e-3, max_iter=200
        )
        support = np.flatnonzero(found.x)
        coef = found.x[support] / scale[support]
        # Mean one over the rows fitted to, so that folds can be pooled.
        coef /= max(float(source_mean[support] @ coef), SMALLEST_SCALE)
        weights_source[out_source] = to_source[np.ix_(out_source, left[support])] @ coef
        weights_target[out] = to_target[np.ix_(out, left[support])] @ coef
        if k == 0 and rival is not None:
            here = HeldOut(weights_target[out], weights_source[out_source])
            there = HeldOut(rival.target[out], rival.source[out_source])
            if is_clearly_worse(here, there, samples.take(out_source, out)):
                return untried(samples)
    covered = samples.source_mass * (p @ to_source) >= 1.0
    bound = LARGEST_UNCOVERED_RELATIVE if relative > 0.0 else LARGEST_UNCOVERED
    return HeldOut(
        weights_target,
        weights_source,
        one_sided=float(q @ np.log(np.maximum(weights_target, 1e-300))),
        admissible=float(q[~covered].sum()) <= bound,
    )


def _shares_without(fold: Indices, share: Array) -> Array:
    """Return the shares of the rows outside each fold, a row of sum one a fold."""
    kept = np.where(fold == np.arange(N_FOLDS)[:, None], 0.0, share)
    return kept / kept.sum(axis=1, keepdims=True)


# -----------------------------------------------------------------------------
# KLIEP: density ratios as mixtures of Gaussians, by maximum likelihood.
# -----------------------------------------------------------------------------


KLIEP_SOLVERS = (
    "auto",
    "projected-gradient",
    "original",
    "frank-wolfe",
    "away",
    "pairwise",
    "corrective",
)
KLIEP_SOLVER_CHOICE = SolverChoice(
    KLIEP_SOLVERS,
    (
        Corrective,
        FrankWolfe,
        PartialPricing,
        ProjectedGradient,
        ProximalGradient,
    ),
)
FRANK_WOLFE_SEARCHES = ("exact", "armijo", "open")
WIDTH_RULES = ("cv", "median", "cv-one-sided")
# From so many centers on, few of them are solved for before all are looked at.
MANY_CENTERS = 20 * CENTERS_AT_MOST
START_TOL = 1e-4


@dataclass(kw_only=True, eq=False, repr=False)
class KLIEP(WeightEstimator):
    r"""Weights by maximum likelihood: a mixture of Gaussians times the source density.

    With n source rows x, m target rows t, centers c, the kernel
    :math:`k(x, c) = \exp(-\gamma |x - c|^2)` on columns divided by their pooled scale
    and :math:`b_l = \mathrm{mean}_i k(x_i, c_l)`, it minimizes

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
        Centers: None is all target rows, a number that many k-means centers of the
        target, "auto" all target rows while their kernel is cheap, else 2000.
    relative : float
        Share of the target in the denominator of the ratio; a ratio against
        (1 - relative) source + relative target is bounded by about 1 / relative before
        it is scaled to mean one, which guards against target rows without source rows
        near.
    solver : str or Solver, default="auto"
        "corrective" (what "auto" takes): active-set Newton on the few Gaussians that
        are used. "frank-wolfe", "away", "pairwise": Frank-Wolfe steps.
        "projected-gradient": the spectral one. "original": the published loop. Or a
        solver object of `counterpoise.optim` with settings of its own, such as
        ``FrankWolfe("away", "armijo")`` or ``Corrective(n_join=30)``.
    line_search : {"exact", "armijo", "open"}
        Line search of the Frank-Wolfe steps that are chosen by name.
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
    allow_no_overlap : bool
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
        Centers, on scaled columns.
    coef_ : array of shape (k,)
        Coefficients :math:`\mu_l / b_l`, most of them zero.
    gamma_ : float
        Width in use.
    cv_results_ : dict of arrays
        Scores of all widths, both kinds, where a width was selected.
    unsupported_fraction_ : float
        Share of target rows with less than one expected source neighbor at this
        width, or further from all source rows than those are from one another.
    effective_sample_size_ : float

    Notes
    -----
    The certificate is :math:`f - f^* \le \log \max_l g_l` with
    :math:`g_l = \mathrm{mean}_j k(t_j, c_l) / (b_l w(t_j))`, which proves optimality
    over all centers whatever solver was used. Sparsity belongs to the optimum and the
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
        "solver": KLIEP_SOLVER_CHOICE,
        "line_search": Choice(FRANK_WOLFE_SEARCHES),
    }

    gamma: float | str = "cv"
    n_centers: int | str | None = "auto"
    relative: float = 0.0
    solver: str | Solver = "auto"
    line_search: str = "exact"
    standardize: bool = True
    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callback = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None

    def _chosen(self) -> dict[str, object]:
        return {"gamma": self.gamma_}

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        seed = self._seed()
        self.gamma_ = self._width(samples, seed, deadline)
        design = self._design(samples, seed)
        problem = MixtureLikelihood(design, samples.target_share)
        if not np.isfinite(problem.objective.value(problem.start())):
            raise InvalidInputError(
                f"gamma={self.gamma_:.6g} is so narrow that mixtures of its kernels "
                "are zero at target rows, and no likelihood is a number: give a "
                'smaller one, or gamma="cv"'
            )
        start = self._start(samples, design, seed, deadline)
        method = resolve_solver(
            "solver",
            self.solver,
            KLIEP_SOLVER_CHOICE,
            lambda name: self._method(name, design),
            problem,
        )
        solution = self._solve(problem, method, start, deadline=deadline)
        self.coef_ = solution.x / design.scale
        if self.centers_ is samples.target and self.relative == 0.0:
            lonely = samples.source_mass * design.scale < 1.0
            unsupported_fraction = as_share(samples.target_share[lonely])
        else:
            unsupported_fraction = unsupported_share(samples, self.gamma_)
        return FitResult(
            solution, self._predict_weights(samples.source), unsupported_fraction
        )

    def _fit_blocks(self, samples: Samples) -> Solution:
        if self.n_centers is None:
            raise InvalidInputError(
                "n_centers=None makes a center of every target row, which blocks are "
                "too many for: give a number"
            )
        if not self._is_corrective:
            raise InvalidInputError(
                f"solver={self.solver!r} needs all rows in memory: blocks are fitted "
                'by "corrective"'
            )
        source, target = self._scaled_blocks(samples)
        kernel, seed = Kernel("rbf", self.gamma_), self._seed()
        wanted = CENTERS_AT_MOST if self.n_centers == "auto" else int(self.n_centers)
        announce("reading every row: centers and means of the kernel")
        self.centers_ = centers_of_blocks(target, wanted, seed)
        scale = means_of_blocks(source, target, self.centers_, kernel, self.relative)
        drawn = self._scaled(samples.counted.target)
        announce("fitting the mixture to every row")
        design = BlockedDesign(target, self.centers_, kernel, scale)
        # The optimum over a sample of the target is near that over all.
        most = max(int(current_budget() // (8 * len(self.centers_))), 1)
        part = StoredDesign.of(drawn[:most], self.centers_, kernel, scale)
        near = solve(MixtureLikelihood(part), Corrective(n_join=30), tol=START_TOL).x
        start, share = design.covering(near)
        solution = self._solve(
            MixtureLikelihood(design, share),
            self._corrective(),
            start,
            deadline=Deadline(self.max_time),
        )
        self.coef_ = solution.x / scale
        return solution

    def _predict_weights(self, X: Matrix) -> Array:
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
        if self._is_corrective and self.n_centers in ("auto", None):
            design = LowRankDesign.of(samples, kernel, self.relative)
            if design is not None:
                self.centers_ = samples.target
                return design
        self.centers_ = choose_centers(samples, self.n_centers, seed)
        scale = source_means(samples, self.centers_, kernel, self.relative)
        size = 8 * samples.target.shape[0] * self.centers_.shape[0]
        kind = StoredDesign.of if size <= current_budget() else ComputedDesign
        return kind(samples.target, self.centers_, kernel, scale)

    def _start(
        self, samples: TwoSamples, design: Any, seed: int, deadline: Deadline
    ) -> Array | None:
        """Return where to begin, None where the solver knows best.

        A look at very many centers costs far more than a solution on few of them:
        begin at the optimum over the target rows nearest to k-means centers. What it
        lacks against all centers is the first gap of the history.
        """
        m = samples.target.shape[0]
        if (
            type(design) is not ComputedDesign
            or self.centers_ is not samples.target
            or m < MANY_CENTERS
            or not self._is_corrective
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

    @property
    def _is_corrective(self) -> bool:
        """Whether the active-set Newton method is used, by name or as an object."""
        if isinstance(self.solver, str):
            return self.solver in ("auto", "corrective")
        return isinstance(self.solver, Corrective)

    def _method(self, name: str, design: Any) -> Solver:
        """Return the solver of a name."""
        if name in ("auto", "corrective"):
            if type(design) is ComputedDesign:
                return _within_budget(design)
            return self._corrective()
        if name == "original":
            return OriginalKLIEP(design.scale)
        if name == "projected-gradient":
            return ProjectedGradient()
        variant = "plain" if name == "frank-wolfe" else name
        return FrankWolfe(variant, self.line_search)

    def _corrective(self) -> Corrective:
        if isinstance(self.solver, Corrective):
            return self.solver
        # In many dimensions promising centers lie apart: let more of them join.
        return Corrective(n_join=30 if self.n_features_in_ >= 10 else 10)


def _within_budget(design: ComputedDesign) -> PartialPricing:
    """Return the solver with as many columns in store as the memory budget allows."""
    columns = int(current_budget() // (8 * design.shape[0]))
    usual = PartialPricing()
    return PartialPricing(
        pool=min(usual.pool, max(columns // 3, 30)),
        refill=min(usual.refill, max(columns // 4, 30)),
    )
