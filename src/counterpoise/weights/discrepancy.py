"""Importance weights that minimize the discrepancy distance."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import Matrix
from counterpoise.data.parameters import Number, Rule, SolverChoice, resolve_solver
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import TwoSamples
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array, Indices, row_keys
from counterpoise.linalg.kernels import Kernel, refuse_indefinite
from counterpoise.messages import WARNING, Finding, FindingText
from counterpoise.optim.loop import Solution, Solver, certified
from counterpoise.optim.registry import solver_classes
from counterpoise.optim.spectral.choice import best_solver
from counterpoise.optim.spectral.dual_newton import (
    DualNewton,
)
from counterpoise.optim.spectral.frobenius import Frobenius
from counterpoise.optim.spectral.problem import Discrepancy
from counterpoise.optim.spectral.published import (
    DiscrepancySDP,
    MultiplicativeWeights,
    Smoothing,
    SpectralSubgradient,
)
from counterpoise.optim.spectral.subspace import (
    FeatureSubspace,
    KernelFactor,
    KernelSubspace,
)
from counterpoise.optim.spectral.working_set import (
    ColumnGeneration,
    RankOneInteriorPoint,
)
from counterpoise.shift.discrepancy_distance import (
    HYPOTHESES_RULES,
    DiscrepancySpectrum,
    MomentPair,
    PosedDiscrepancy,
    hypotheses,
    may_be_spread,
    pose_discrepancy,
    precomputed_gram,
)
from counterpoise.weights.base import (
    Callback,
    FitResult,
    WeightEstimator,
)
from counterpoise.weights.search import Deadline

# -----------------------------------------------------------------------------
# How much an effective sample size is worth, from the noise of second moments.
# -----------------------------------------------------------------------------


# Rows by which the noise is known well enough.
ROWS_LOOKED_AT = 400
# Where the samples differ by no more than their noise, weights are nearly equal.
LARGEST_SPREAD = 10.0
# Kernels beyond this power of two, or below its inverse, are looked at in its unit.
_LARGEST_EXPONENT = 300


def default_spread(
    samples: TwoSamples, kernel: Kernel, gram: Array | None, uniform: float
) -> float:
    r"""Return the spread at which the objective is what it can know of the target.

    A weighted moment of n source rows is off by about

    .. math:: \nu \sqrt{(1 + \chi^2) / n} \approx \frac{\nu}{\sqrt n}
        + \frac{\nu}{2 \sqrt n} \chi^2, \qquad \chi^2 = \sum_i z_i^2 / p_i - 1,

    in the spectral norm, with :math:`\nu^2` the largest eigenvalue of
    :math:`\sum_i p_i k(x_i, x_i) \phi(x_i) \phi(x_i)' - M^2` and :math:`M` the source's
    moment, and so is the discrepancy that a bound has beside the weighted loss:
    :math:`s f_0 = \nu / (2 \sqrt n)`, s at most 10. Of more than 400 rows 400 are
    looked at, at equal shares.
    """
    if uniform <= 0.0:
        return 0.0
    n = samples.source.shape[0]
    rows, share = np.arange(n), samples.source_share
    if n > ROWS_LOOKED_AT:
        levels = (np.arange(ROWS_LOOKED_AT) + 0.5) / ROWS_LOOKED_AT
        rows = np.minimum(np.searchsorted(np.cumsum(share), levels), n - 1)
        share = np.full(ROWS_LOOKED_AT, 1.0 / ROWS_LOOKED_AT)
    if gram is None:
        K = np.asarray(kernel.matrix(samples.source[rows], samples.source[rows]))
    else:
        K = gram[np.ix_(rows, rows)]
    # The noise is of the kernel's size, and its squares must be floats.
    exponent = int(np.frexp(np.abs(K).max())[1])
    exponent = exponent if abs(exponent) > _LARGEST_EXPONENT else 0
    K = np.ldexp(K, -exponent)
    values, vectors = eigh(0.5 * (K + K.T))
    # Rows whose products are the kernel.
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    weighed = share[:, None] * features
    moment = features.T @ weighed
    variance = (features * K.diagonal()[:, None]).T @ weighed - moment @ moment
    largest = float(np.linalg.eigvalsh(0.5 * (variance + variance.T))[-1])
    noise = math.sqrt(max(largest, 0.0) / samples.source_mass)
    return min(0.5 * math.ldexp(noise, exponent) / uniform, LARGEST_SPREAD)


# -----------------------------------------------------------------------------
# Samples in which one column or one row decides what a discrepancy is.
# -----------------------------------------------------------------------------


# Scales of columns further apart than this, or means further from zero, decide alone.
UNEVEN = 100.0
# One of fewer target rows may well have most of their squared norm.
FEW_TARGETS = 5


def warn_of_scales(samples: TwoSamples, standardized: bool, kernel: str) -> None:
    """Warn where one column decides, by its scale or by its level.

    How often a word occurs is no unit of measurement: sparse rows are not looked at.
    """
    if sparse.issparse(samples.source):
        return
    mean, spread = _moments(samples)
    varies = spread > 0
    if not varies.any():
        return
    scales = spread[varies]
    if not standardized and scales.max() > UNEVEN * scales.min():
        ends = {"smallest": float(scales.min()), "largest": float(scales.max())}
        warn_user(FindingText(Finding("uneven_scales", WARNING, ends)))
    far = np.flatnonzero(varies & (np.abs(mean) > UNEVEN * spread))
    if standardized and kernel != "rbf" and far.size:
        j = int(far[np.argmax(np.abs(mean[far]) / spread[far])])
        warn_user(
            f"column {j} lies {abs(mean[j]) / spread[j]:.0f} times its scale away from "
            "zero: its level decides; subtract a typical value"
        )


def warn_of_one_row(masses: Array, norm: float, places: Indices) -> None:
    """Warn where one target row has most of the target's second moment.

    Parameters
    ----------
    masses : array of shape (m,)
        Share times squared norm of every target row.
    norm : float
        The discrepancy of the source as it is.
    places : array of shape (m,)
        Where the rows stand in X_target.
    """
    worst, total = int(np.argmax(masses)), float(masses.sum())
    dominates = masses[worst] > 0.5 * total and masses[worst] > 0.5 * norm
    if masses.size >= FEW_TARGETS and dominates:
        values = {
            "row": int(places[worst]),
            "share": float(masses[worst] / total),
        }
        warn_user(FindingText(Finding("heavy_row", WARNING, values)))


def _moments(samples: TwoSamples) -> tuple[Array, Array]:
    """Return means and scales of the columns, each sample counting half."""
    means, variances = [], []
    for rows, share in (
        (samples.source, samples.source_share),
        (samples.target, samples.target_share),
    ):
        mean = share @ rows
        means.append(mean)
        variances.append(share @ (rows - mean) ** 2)
    return 0.5 * (means[0] + means[1]), np.sqrt(0.5 * (variances[0] + variances[1]))


# -----------------------------------------------------------------------------
# Weights of least discrepancy: what hypotheses of a class see of the two samples.
# -----------------------------------------------------------------------------


DISCREPANCY_SOLVERS: dict[str, Callable[[Any, float], Solver]] = {
    "auto": lambda problem, tol: best_solver(problem, tol),
    "interior-point": lambda problem, tol: RankOneInteriorPoint(),
    "column-generation": lambda problem, tol: ColumnGeneration(),
    "subspace": lambda problem, tol: (
        FeatureSubspace() if isinstance(problem, Discrepancy) else KernelSubspace()
    ),
    "dual-newton": lambda problem, tol: DualNewton(),
    "smoothing": lambda problem, tol: Smoothing(),
    "multiplicative-weights": lambda problem, tol: MultiplicativeWeights(),
    "sdp": lambda problem, tol: DiscrepancySDP(),
    "subgradient": lambda problem, tol: SpectralSubgradient(),
    "frobenius": lambda problem, tol: Frobenius(),
}
# A `KernelFactor` holds the factor of one kernel, and is made by "auto" alone.
DISCREPANCY_SOLVER_CHOICE = SolverChoice(
    tuple(DISCREPANCY_SOLVERS),
    tuple(kind for kind in solver_classes("spectral") if kind is not KernelFactor),
)
# Solvers that minimize the norm without a spread, by name and by class.
NORM_ALONE_NAMES = ("smoothing", "multiplicative-weights", "frobenius")
NORM_ALONE_CLASSES = (Smoothing, MultiplicativeWeights, Frobenius)


@dataclass(kw_only=True, eq=False, repr=False)
class DiscrepancyWeights(WeightEstimator):
    r"""Weights of least discrepancy to the target, for the squared loss.

    Over distinct source rows with the features :math:`\phi` of a kernel and shares
    :math:`q_j` of the target rows (1/m unless weights are given)

    .. math::

        \min_z \Bigl\| \sum_j q_j \phi(t_j) \phi(t_j)' - \sum_i z_i \phi(x_i)
        \phi(x_i)' \Bigr\|_2 + s f_0 \Bigl(\sum_i \frac{z_i^2}{p_i} - 1\Bigr),
        \qquad z \ge 0, \quad \sum_i z_i = 1,

    with :math:`p_i` the shares of the source rows, :math:`f_0` the norm at z = p and s
    the `spread`; `weights_` are :math:`z_i / p_i`, equal for equal rows. The norm times
    :math:`4 \Lambda^2` is the discrepancy: the largest difference, over two hypotheses
    of norm at most :math:`\Lambda`, between their mean squared disagreements on target
    and weighted source. The factor is in none of the attributes;
    `counterpoise.bounds` puts it in.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "precomputed"}
        :math:`x'y`, :math:`\exp(-\gamma |x - y|^2)` or
        :math:`(\gamma x'y + c_0)^{degree}` on scaled columns. Precomputed: X are the
        rows of the Gram matrix of all source and then all target rows that belong to
        the source, (n, n + m), and X_target the others.
    gamma : float or "median"
        Of the kernel. "median": one half over the squared median of the distances
        between different rows of both samples together, each of which counts half.
    degree, coef0 : int, float
        Of the polynomial kernel.
    add_constant : bool
        Whether hypotheses have a constant: the kernel plus one. Without it a shift of
        the mean is seen through second moments alone.
    standardize : bool
        Whether columns are divided by their pooled scale, the root of the mean of the
        two variances. Without it the column with the largest numbers decides. A
        precomputed kernel is taken as it is.
    max_weight : float or None
        Largest weight of a row, at least one.
    spread : float or "auto"
        s: how much an effective sample size counts against the norm. "auto": by the
        noise of the source's moment, :math:`s f_0 = \nu / (2 \sqrt n)` (see Notes), at
        most 10, and 0 where `sample_weight` has other than small whole numbers or the
        solver minimizes the norm alone ("smoothing", "multiplicative-weights",
        "frobenius"); 0 is the published objective.
    solver : str or Solver, default="auto"
        "auto": the fastest that has a proof. Or "interior-point", "column-generation",
        "subspace", "dual-newton" (many rows, few columns, a spread above zero), "sdp"
        (Clarabel, up to 120 columns), "smoothing" (Cortes and Mohri),
        "multiplicative-weights" (Alvarez Melis), "subgradient", or "frobenius", which
        minimizes the Frobenius norm in place of the spectral one. A solver object of
        `counterpoise.optim` has settings of its own: ``Smoothing(power=16)`` and
        ``MultiplicativeWeights("list", "powering")`` are the published ones,
        ``SpectralSubgradient("polyak")`` takes Polyak steps.
    tol : float
        Gap to reach, relative to the larger of the lower bound and a hundredth of the
        norm at weights of one: the least discrepancy may be zero.
    max_iter : int
        Largest number of steps.
    max_time : float or None
        Seconds after which no further step begins.
    callback : callable or None
        Called with the progress after every step; True ends the search.
    exponent : float
        Power to which the weights are raised; 0 makes them uniform.

    Attributes
    ----------
    weights_ : array of shape (n,)
        z over the shares of the source rows, to the power of `exponent`; mean one. No
        density ratio: zero at most rows, as a rule. Rows of weight zero in
        `sample_weight` have that of an equal row, or zero.
    solution_ : Solution
        z over distinct source rows, with its certificate: an upper bound by the norm
        itself, a lower bound by a dual matrix.
    discrepancy_, discrepancy_uniform_ : float
        The norm at the weights, as proved, and at weights of one.
    spread_ : float
        The spread that was used.
    lower_bound_ : float
        What no weights go below: of the norm, or with a `spread` of the objective.
    spectrum_, spectrum_uniform_ : DiscrepancySpectrum
        The signed eigenvalues and the worst direction at the weights and at weights of
        one: what is left is the direction that no weights match. Values at rows that do
        not count are zero. Computed when first asked for.
    hypotheses_ : Kernel
        The kernel with the numbers used.
    effective_sample_size_ : float
        Of the weights; often small. A `spread` or an `exponent` below one raises it, at
        the price of a larger discrepancy.
    unsupported_fraction_ : None
        The method cannot tell.

    Notes
    -----
    Where the target's moments are a mixture of those of source rows, the least
    discrepancy is zero and many weights have it; without a `spread` those found are
    near the analytic center of all (interior point), follow the noise of both samples,
    and leave few effective rows. The default is the `spread` at which an effective row
    counts as much as the discrepancy that its loss leaves unknown: a weighted moment of
    n source rows is off by about :math:`\nu \sqrt{\sum_i z_i^2 / p_i} / \sqrt n`, with
    :math:`\nu^2` the largest eigenvalue of the variance of
    :math:`\phi(x) \phi(x)'` over the source.

    `predict_weights` knows the source rows of `fit` alone and refuses others: the
    method defines no weights there. So `score` and what holds rows out
    (`target_scorer`, prediction sets of new rows) need another weight estimator.

    A learner profits if it uses the same kernel on the same columns, the constant
    included: `WeightedKernelRidge`, whose `alpha` is the :math:`\lambda` of the bounds.

    References
    ----------
    Y. Mansour, M. Mohri and A. Rostamizadeh, 2009. C. Cortes and M. Mohri, 2011.
    D. Alvarez Melis, 2013.

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=300, m=300, d=2, random_state=0)
    >>> fitted = DiscrepancyWeights().fit(shift.X, X_target=shift.X_target)
    >>> fitted.discrepancy_ < 0.5 * fitted.discrepancy_uniform_
    True
    """

    _accepts_sparse = True
    _least_rows = 1
    weights_are_a_ratio = False
    _rules: ClassVar[Mapping[str, Rule]] = {
        "max_weight": Number(1.0, options=(None,)),
        "spread": Number(0.0, options=("auto",)),
        "solver": DISCREPANCY_SOLVER_CHOICE,
        **HYPOTHESES_RULES,
    }

    kernel: str = "linear"
    gamma: float | str = "median"
    degree: int = 3
    coef0: float = 1.0
    add_constant: bool = True
    standardize: bool = True
    max_weight: float | None = None
    spread: float | str = "auto"
    solver: str | Solver = "auto"
    tol: float = 1e-3
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callback = None
    exponent: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        refuse_indefinite(self.kernel, self.coef0)

    def _check_samples(self, samples: Samples) -> None:
        if self.kernel == "precomputed":
            precomputed_gram(samples.source, samples.target, self.add_constant)
        n, m = samples.source_weight.size, samples.target_weight.size
        self._sizes_ = n, m
        rows, target_rows = samples.places
        # Places among all rows, source rows first: the columns of a Gram matrix.
        self._among_all_ = np.concatenate([rows, n + target_rows])

    def _scales_columns(self) -> bool:
        return self.standardize and self.kernel != "precomputed"

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        self.hypotheses_ = hypotheses(
            samples,
            self.kernel,
            self.gamma,
            self.degree,
            self.coef0,
            self.add_constant,
        )
        if self.kernel != "precomputed":
            warn_of_scales(samples, self.standardize, self.kernel)
        gram = self._gram(samples)
        posed = self._posed(samples, gram)
        problem = posed.problem
        self.discrepancy_uniform_ = float(problem.uniform_value)
        self.spread_ = float(problem.spread)
        m = samples.target_share.size
        if gram is None:
            # The constant left out.
            kind = replace(self.hypotheses_, constant=0.0)
            squares = kind.diagonal(samples.target)
        else:
            squares = gram.diagonal()[-m:]
        warn_of_one_row(
            samples.target_share * squares,
            self.discrepancy_uniform_,
            self._among_all_[-m:] - self._sizes_[0],
        )
        solution = self._least(posed, deadline)
        z = problem.inside(solution.x)
        proof = solution.certificate
        self.lower_bound_ = proof.bound
        self._found_ = posed.ratio(z)
        if self.exponent < 1.0:
            z = posed.flattened(z, self.exponent)
            proof = certified(problem, z, self.tol).certificate
        self.discrepancy_ = max(proof.objective - problem.spread_term(z), 0.0)
        self._spectra_: dict[str, DiscrepancySpectrum] = {}
        return FitResult(solution, self._found_, None)

    def _posed(self, samples: TwoSamples, gram: Array | None) -> PosedDiscrepancy:
        """Return the problem with its spread."""

        def posed(spread: float) -> PosedDiscrepancy:
            return pose_discrepancy(
                samples, self.hypotheses_, gram=gram, cap=self.max_weight, spread=spread
            )

        if not isinstance(self.spread, str):
            return posed(self.spread)
        if isinstance(self.solver, str):
            is_norm_alone = self.solver in NORM_ALONE_NAMES
        else:
            is_norm_alone = isinstance(self.solver, NORM_ALONE_CLASSES)
        if is_norm_alone or not may_be_spread(samples):
            return posed(0.0)
        found = posed(1.0)
        uniform = float(found.problem.uniform_value)
        spread = default_spread(samples, self.hypotheses_, gram, uniform)
        return replace(found, problem=replace(found.problem, spread=spread))

    def _least(self, posed: PosedDiscrepancy, deadline: Deadline) -> Solution:
        """Return the weights of least discrepancy of the distinct source rows."""
        problem = posed.problem
        # The absolute error that rounding alone may leave in a norm.
        floor = problem.floor
        if not isinstance(problem, Discrepancy):
            floor = 1e-14 * float(problem.kernel.diagonal().max())
        if problem.uniform_value <= problem.floor:
            # What is left is rounding, and no scale.
            problem = replace(problem, reference=0.0)
        if posed.rows.size == 1 or problem.uniform_value == 0.0:
            # One row has all weight; without a discrepancy there is nothing to do.
            return certified(problem, posed.start, self.tol)
        if self.tol * problem.uniform_value < floor:
            raise InvalidInputError(
                f"tol = {self.tol:g} is below what double precision can prove here: "
                f"at least {floor / problem.uniform_value:.1e} is needed"
            )
        problem, solver = self._resolve_solver(problem)
        if isinstance(solver, DualNewton):
            if not problem.spread > 0.0:
                raise InvalidInputError(
                    f"solver={self.solver!r} needs a spread above zero, got a spread "
                    f'of {problem.spread:g}; solver="auto" takes any'
                )
            width = problem.rows.shape[1]
            if width > solver.largest:
                raise InvalidInputError(
                    f"solver={self.solver!r} takes {solver.largest} columns at most, "
                    f'or a kernel of that rank, got {width}; solver="auto" takes any'
                )
        return self._solve(problem, solver, deadline=deadline)

    def _resolve_solver(self, problem: Any) -> tuple[Any, Solver]:
        """Return the solver, and the problem in the form that it accepts.

        A solver that does not accept a kernel gets its factor.
        """
        if isinstance(self.solver, str):
            solver = DISCREPANCY_SOLVERS[self.solver](problem, self.tol)
        else:
            solver = self.solver
        if not isinstance(problem, Discrepancy) and solver.accepts.lacking(problem):
            problem = problem.features()
        return problem, resolve_solver(
            "solver",
            self.solver,
            DISCREPANCY_SOLVER_CHOICE,
            lambda name: solver,
            problem,
        )

    def _gram(self, samples: TwoSamples) -> Array | None:
        """Return a precomputed kernel of the rows that count, in their order."""
        if self.kernel != "precomputed":
            return None
        both = np.vstack([samples.source, samples.target])[:, self._among_all_]
        return 0.5 * (both + both.T) + (1.0 if self.add_constant else 0.0)

    def _predict_weights(self, X: Matrix) -> Array:
        known = self._known()
        found = np.empty(X.shape[0])
        for i, key in enumerate(row_keys(X)):
            if key not in known:
                raise InvalidInputError(
                    "DiscrepancyWeights knows the weights of the source rows of fit "
                    f"alone, and row {i} of X is none of them: what needs weights of "
                    "other rows (score, target_scorer, prediction sets) needs another "
                    "weight_estimator, such as KLIEP or KMM"
                )
            found[i] = known[key]
        return found

    def _weigh_absent(self, X: Matrix) -> Array:
        known = self._known()
        return np.array([known.get(key, 0.0) for key in row_keys(X)])

    def _known(self) -> dict[bytes, float]:
        rows = self._scaled(self._kept_rows("predict_weights").source)
        return dict(zip(row_keys(rows), self._found_.tolist(), strict=True))

    @property
    def spectrum_(self) -> DiscrepancySpectrum | None:
        """The spectrum at the weights; None without a target."""
        return self._spectrum("after")

    @property
    def spectrum_uniform_(self) -> DiscrepancySpectrum | None:
        """The spectrum at weights of one; None without a target."""
        return self._spectrum("before")

    def _spectrum(self, when: str) -> DiscrepancySpectrum | None:
        check_is_fitted(self, "weights_")
        if not self.has_target_:
            return None
        if when not in self._spectra_:
            samples = self._kept_rows("the spectrum")
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                names = [f"x{j}" for j in range(self.n_features_in_)]
            pair = MomentPair.of(
                self.hypotheses_,
                self._scaled(samples.source),
                self._scaled(samples.target),
                tuple(names),
                self._gram(samples),
            )
            share = samples.source_share
            if when == "after":
                share = share * self._found_**self.exponent
            shares = np.concatenate([-share / share.sum(), samples.target_share])
            found = pair.spectrum(shares)
            if self.kernel != "linear":
                # Rows in the order in which they came.
                places = self._among_all_
                direction = np.zeros(sum(self._sizes_))
                direction[places] = found.direction
                ranking = tuple((int(places[k]), one) for k, one in found.ranking)
                found = replace(found, direction=direction, ranking=ranking)
            self._spectra_[when] = found
        return self._spectra_[when]
