"""Log-linear and Gaussian-mixture KLIEP."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone

from counterpoise.data.arrays import Matrix
from counterpoise.data.blocks import Blocks
from counterpoise.data.parallel import map_reduce, whole_vector
from counterpoise.data.parameters import Choice, Integer, Number, Rule
from counterpoise.data.progress import announce
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import (
    N_FOLDS,
    TwoSamples,
    folds,
    pooled_scale,
    rows_scaled,
)
from counterpoise.errors import InvalidInputError, suppress_warnings
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.likelihoods import log_mean
from counterpoise.optim.loop import Solution
from counterpoise.optim.problems import LogLinearMixture, LogLinearRatio
from counterpoise.optim.solvers.newton import ExpectationMaximization, Newton
from counterpoise.shift.support import uncovered_share_of
from counterpoise.weights.base import (
    Callback,
    FitResult,
    RandomState,
    WeightEstimator,
)
from counterpoise.weights.search import Deadline, HeldOut

# -----------------------------------------------------------------------------
# Statistics of rows for log-linear ratios: the columns, their squares, products.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Standardization:
    """Which statistics of a row there are, and how they are cut, centered and scaled.

    `limits` is None for sparse rows, which are left as they are.
    """

    family: str
    limits: tuple[Array, Array] | None
    center: Array
    offset: Array
    factor: Array

    @classmethod
    def of(cls, samples: TwoSamples, family: str) -> "Standardization":
        """Return the standardization by means and scales of both samples alike."""
        d = samples.source.shape[1]
        if sparse.issparse(samples.source):
            return cls(family, None, np.zeros(d), np.zeros(d), np.ones(d))
        both = samples.both
        limits = samples.limits
        center = np.asarray(0.5 * sum(q @ np.clip(X, *limits) for X, q in both))
        return cls.by_means(
            family, limits, center, lambda raw: [raw.raw_means(X, q) for X, q in both]
        )

    @classmethod
    def by_means(
        cls,
        family: str,
        limits: tuple[Array, Array],
        center: Array,
        means_of: Callable[["Standardization"], Sequence[Sequence[Array] | Array]],
    ) -> "Standardization":
        """Return the standardization, given how `raw_means` of both samples are had."""
        d = center.size
        if family == "linear":
            return cls(family, limits, center, np.zeros(d), np.ones(d))
        found = means_of(cls(family, limits, center, np.zeros(1), np.ones(1)))
        means, squares = ([np.asarray(one[k]) for one in found] for k in (0, 1))
        middle = 0.5 * (means[0] + means[1])
        return cls(family, limits, center, middle, _factor(means, squares))

    def statistics(self, X: Matrix) -> "Matrix | PairProducts":
        """Return the statistics of rows: an array, or something that acts like one."""
        if self.limits is None:
            return X
        Z = np.clip(X, *self.limits) - self.center
        if self.family == "full":
            return PairProducts(Z, self.offset, self.factor)
        if self.family == "diag":
            Z = np.hstack([Z, Z * Z])
        return (Z - self.offset) * self.factor

    def raw_means(self, X: Array, share: Array) -> tuple[Array, Array]:
        """Return the means of the unscaled statistics of rows, and of their squares."""
        assert self.limits is not None
        cut = np.clip(X, *self.limits)
        return self._raw_mean(cut, share, 1), self._raw_mean(cut, share, 2)

    def _raw_mean(self, X: Array, share: Array, power: int) -> Array:
        Z = (X - self.center) ** power
        if self.family == "diag":
            return np.concatenate([share @ Z, share @ (Z * Z)])
        p = Z.shape[1] * (Z.shape[1] + 3) // 2
        return share @ PairProducts(Z, np.zeros(p), np.ones(p))


class PairProducts:
    """The columns of Z and all products of two of them, standardized, unwritten.

    Products with a vector from either side cost O(n d^2) time and O(n d) memory.
    """

    # An array on the left leaves the product to this class.
    __array_ufunc__ = None

    def __init__(self, Z: Array, offset: Array, factor: Array) -> None:
        self.Z, self.offset, self.factor = Z, offset, factor
        n, d = Z.shape
        self.shape = (n, d * (d + 3) // 2)

    def __matmul__(self, v: Array) -> Array:
        d = self.Z.shape[1]
        scaled = v * self.factor
        products = np.zeros((d, d))
        products[np.triu_indices(d)] = scaled[d:]
        quadratic = np.einsum("ij,ij->i", self.Z @ products, self.Z)
        return self.Z @ scaled[:d] + quadratic - float(self.offset @ scaled)

    def __rmatmul__(self, q: Array) -> Array:
        d = self.Z.shape[1]
        moments = self.Z.T @ (q[:, None] * self.Z)
        raw = np.concatenate([q @ self.Z, moments[np.triu_indices(d)]])
        return (raw - q.sum() * self.offset) * self.factor

    def __getitem__(self, rows: slice | Indices) -> Array:
        Z = self.Z[rows]
        i, j = np.triu_indices(Z.shape[1])
        return (np.hstack([Z, Z[:, i] * Z[:, j]]) - self.offset) * self.factor


def _factor(means: list[Array], squares: list[Array]) -> Array:
    """Return one over the pooled scale of statistics, zero for what never varies."""
    size = np.sqrt(0.5 * sum(squares))
    variances = [s - m * m for s, m in zip(squares, means, strict=True)]
    scale = np.sqrt(np.maximum(0.5 * sum(variances), 0.0))
    apart = np.abs(means[0] - means[1])
    # What rounding makes of the variance of a constant is not a scale.
    constant = scale <= 1e-7 * size
    scale = np.where(constant, np.where(apart > 1e-6 * size, 1e-3 * apart, 0.0), scale)
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)


# -----------------------------------------------------------------------------
# Statistics of rows that are read block by block, as an objective uses them.
# -----------------------------------------------------------------------------


# Entries of a slice of statistics that is written out at a time.
SLICE_ENTRIES = 2**21


class BlockedStatistics:
    """A matrix of statistics, a row a source row, of which only blocks are ever there.

    It acts like the array in ``S @ v``, ``q @ S`` and `second_moment`; each is a pass
    over the blocks. Vectors of a number a row are kept in memory.

    Parameters
    ----------
    blocks : Blocks
        Rows on scaled columns.
    statistics : callable
        Makes the statistics of a block's rows; pickled.
    p : int
        How many statistics a row has.
    """

    # An array on the left leaves the product to this class.
    __array_ufunc__ = None

    def __init__(self, blocks: Blocks, statistics: "Statistics", p: int) -> None:
        self.blocks, self.statistics = blocks, statistics
        self.shape = (blocks.n_rows, p)

    def __matmul__(self, v: Array) -> Array:
        work = partial(_block_image, self.statistics, v)
        return np.asarray(whole_vector(self.blocks, work))

    def __rmatmul__(self, q: Array) -> Array:
        return map_reduce(self.blocks, partial(_block_pull, self.statistics, q))

    def second_moment(self, weights: Array, mean: Array) -> Array:
        """Return the weighted second moment about a mean, of shape (p, p)."""
        work = partial(_block_second_moment, self.statistics, weights, mean)
        return map_reduce(self.blocks, work)


Statistics: TypeAlias = Callable[[Array], "Array | PairProducts"]


def _block_image(statistics: Statistics, v: Array, rows: Array, first: int) -> Array:
    return np.asarray(statistics(rows) @ v)


def _block_pull(statistics: Statistics, q: Array, rows: Array, first: int) -> Array:
    return np.asarray(q[first : first + len(rows)] @ statistics(rows))


def _block_second_moment(
    statistics: Statistics, weights: Array, mean: Array, rows: Array, first: int
) -> Array:
    S = statistics(rows)
    root = np.sqrt(weights[first : first + len(rows)])[:, None]
    p = mean.size
    out = np.zeros((p, p))
    step = max(SLICE_ENTRIES // p, 1)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        spread = (S[part] - mean) * root[part]
        out += spread.T @ spread
    return out


def _block_mean(statistics: Statistics, n_rows: int, rows: Array, first: int) -> Array:
    return np.asarray(np.full(len(rows), 1.0 / n_rows) @ statistics(rows))


def _block_raw_means(
    standardization: Standardization, n_rows: int, rows: Array, first: int
) -> Array:
    share = np.full(len(rows), 1.0 / n_rows)
    return np.stack(standardization.raw_means(rows, share))


# -----------------------------------------------------------------------------
# Density ratios whose logarithm is linear in simple statistics, and their mixtures.
# -----------------------------------------------------------------------------


# A log-quadratic ratio grows without bound outside the source.
LARGEST_LOG = 50.0
# With more statistics than this share of the rows, the fit's own log ratios of its rows
# tell the samples apart where nothing has shifted.
FEW_STATISTICS = 0.1
STATISTICS = ("full", "diag", "linear")


@dataclass(kw_only=True, eq=False, repr=False)
class LogLinearKLIEP(WeightEstimator):
    r"""Weights from a log-linear or log-quadratic ratio, or a mixture of such.

    .. math::
        w(x) = \sum_k \pi_k a_k(x), \quad
        a_k(x) = \frac{\exp(\eta_k's(x))}{\mathrm{mean}_i \exp(\eta_k's(x_i))}

    .. math::
        \min_{\pi \in \Delta, \eta}\; -\mathrm{mean}_j \log w(t_j)
        + \frac{\mathrm{ridge}}{2} \sum_k |\eta_k|^2

    over the source rows :math:`x_i` and the target rows :math:`t_j`. A component is a
    Gaussian factor (or a tilt) divided by its source mean, so that the weights have
    mean one identically. One component is convex, and the exact family of two
    Gaussians.

    Parameters
    ----------
    n_components : int
        Number of components. One: convex, by Newton's method. More: EM whose
        maximization steps are convex.
    statistics : {"auto", "full", "diag", "linear"}
        s(x): the columns and all their products ("full"), the columns and their
        squares ("diag"), the columns ("linear"), of columns divided by their pooled
        scale and centered, standardized once more; entries far outside the bulk of
        their column (some eight standard deviations) are put at its end. "auto":
        full while their number d(d + 3)/2 is at most a tenth of the source rows, else
        diag; linear for sparse rows, which are not centered and stay sparse.
    alpha : float
        Weight of the squared slopes. Where there are more statistics than rows, as in
        text, 1e-2 fits them closely; `score` chooses.
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
        Seed of the folds of `score` and of `unsupported_fraction_`; the weights need no
        chance.

    Attributes
    ----------
    weights_ : array of shape (n,)
        The density ratio at the source rows, mean one.
    coef_ : array of shape (n_components, p)
        The slopes of each component, a column a statistic: in the linear family the
        change of the log ratio by one pooled standard deviation of a column, so that
        the largest drive the shift.
    statistic_names_ : array of shape (p,)
        What the statistics are: "age", "age^2", "age height".
    statistics_ : str
        The family that was taken.
    proportions_ : array of shape (n_components,)
        The shares of the components.
    solution_ : Solution
        The slopes (several components: the proportions, then the slopes) and their
        proof.
    unsupported_fraction_ : float
        Share of the target rows whose log ratio exceeds the 99.5 % quantile of those
        of the source rows; 0.005 where nothing has shifted. Out of fold where there
        are more statistics than a tenth of the rows. Of one target row: whether it is
        further from all source rows than those are from one another.
    effective_sample_size_ : float
        Number of equally weighted rows that average as well.

    Notes
    -----
    One component: the gap is :math:`|g|^2 / (2\,\mathrm{ridge})`, a bound of the excess
    over the optimum by strong convexity. Several: kind "stationarity", nothing is
    bounded, and the objective never rises from step to step.

    The fixed-point updates in the literature on Gaussian-mixture KLIEP divide by the
    sum of target minus the sum of source responsibilities, which is zero at every
    stationary point, and their covariances need not stay positive. Here an M-step
    maximizes :math:`\eta'\bar s_k - \log \mathrm{mean}_i \exp(\eta's(x_i))`, concave,
    less its ridge.

    Outside the source a log-quadratic ratio may grow without bound: log w is cut at 50.

    With more than 500 statistics Newton's steps are found by conjugate gradients and no
    matrix of statistics x statistics is made.

    References
    ----------
    Tsuboi, Kashima, Hido, Bickel and Sugiyama (2009); Yamada and Sugiyama (2009).

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(n=2000, m=2000, scale=0.8, random_state=0)
    >>> fitted = LogLinearKLIEP().fit(data.X, X_target=data.X_target)
    >>> round(float((fitted.weights_ * data.X[:, 0]).mean()), 1)
    0.5
    """

    # Read by the base: columns come divided by their pooled scale.
    standardize: ClassVar[bool] = True
    _accepts_sparse = True
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "statistics": Choice(("auto", *STATISTICS)),
        "alpha": Number(0.0, closed="neither"),
    }

    n_components: int = 1
    statistics: str = "auto"
    alpha: float = 1e-2
    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callback = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None

    def _chosen(self) -> dict[str, object]:
        return {"statistics": self.statistics_}

    def _check_samples(self, samples: Samples) -> None:
        """Refuse one row, of which nothing can be held out."""
        n = samples.counted.source.shape[0]
        if n < self._least_rows:
            raise InvalidInputError(
                f"X has {n} row that counts, LogLinearKLIEP needs {self._least_rows}"
            )

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> FitResult:
        solution = self._find(samples, deadline)
        source, target = samples.source, samples.target
        logs, logs_target = self._logs(source), self._logs(target)
        ratio = np.exp(np.minimum(logs, LARGEST_LOG))
        n, m = source.shape[0], target.shape[0]
        if m == 1 or (
            not sparse.issparse(target) and bool((target == target[0]).all())
        ):
            # Nothing can be held out; the base looks how far the row is from others.
            return FitResult(solution, ratio, 0.0)
        if self.coef_.shape[1] > FEW_STATISTICS * min(n, m):
            logs, logs_target = self._logs_out_of_fold(samples, deadline)
        uncovered_fraction = uncovered_share_of(
            logs, logs_target, samples.source_share, samples.target_share
        )
        return FitResult(solution, ratio, uncovered_fraction, "uncovered_fraction")

    def _find(self, samples: TwoSamples, deadline: Deadline) -> Solution:
        """Set what the ratio is made of, and return how it was found."""
        n, d = samples.source.shape
        self.statistics_ = self._family_of(n, d)
        if sparse.issparse(samples.source):
            if self.statistics not in ("auto", "linear"):
                raise InvalidInputError(
                    "sparse rows need statistics='auto' or 'linear', "
                    f"got {self.statistics!r}"
                )
            self.statistics_ = "linear"
        self._standardization_ = Standardization.of(samples, self.statistics_)
        ratio, solution = self._ratio_of(samples, self.tol, deadline)
        self._set_ratio(ratio, d)
        return solution

    def _fit_blocks(self, samples: Samples) -> Solution | None:
        if self.n_components > 1:
            return None
        source, target = self._scaled_blocks(samples)
        n, d = source.n_rows, self.n_features_in_
        self.statistics_ = self._family_of(n, d)
        self._standardization_ = _standardize_blocks(
            samples, source, target, self.statistics_
        )
        statistics = self._standardization_.statistics
        announce("reading every row: mean statistics of the target")
        mean = map_reduce(target, partial(_block_mean, statistics, target.n_rows))
        S = BlockedStatistics(source, statistics, mean.size)
        ratio, solution = self._one_component(
            S, mean, np.full(n, 1.0 / n), self.tol, Deadline(self.max_time)
        )
        self._set_ratio(ratio, d)
        return solution

    def _set_ratio(self, ratio: "MixedRatio", d: int) -> None:
        self._ratio_ = ratio
        self.coef_, self.proportions_ = ratio.slopes, ratio.proportions
        columns = getattr(self, "feature_names_in_", [f"x{k}" for k in range(d)])
        names = [str(name) for name in columns]
        if self.statistics_ == "diag":
            names += [f"{name}^2" for name in columns]
        elif self.statistics_ == "full":
            names += [
                f"{columns[i]}^2" if i == j else f"{columns[i]} {columns[j]}"
                for i, j in zip(*np.triu_indices(d), strict=True)
            ]
        self.statistic_names_ = np.array(names, dtype=object)

    def _logs(self, X: Matrix) -> Array:
        return self._ratio_.logarithm(self._standardization_.statistics(X))

    def _predict_weights(self, X: Matrix) -> Array:
        return np.exp(np.minimum(self._logs(X), LARGEST_LOG))

    def _family_of(self, n: int, d: int) -> str:
        if self.statistics != "auto":
            return self.statistics
        return "full" if d * (d + 3) / 2 <= n / 10 else "diag"

    def _ratio_of(
        self, samples: TwoSamples, tol: float, deadline: Deadline
    ) -> tuple["MixedRatio", Solution]:
        """Return the ratio fitted to two samples, and how it was found."""
        S = self._standardization_.statistics(samples.source)
        T = self._standardization_.statistics(samples.target)
        shares, shares_target = samples.source_share, samples.target_share
        if self.n_components == 1:
            mean = np.asarray(shares_target @ T)
            return self._one_component(S, mean, shares, tol, deadline)
        problem = LogLinearMixture(
            S, T, shares, shares_target, self.n_components, self.alpha
        )
        solution = self._solve(
            problem, ExpectationMaximization(), tol=tol, deadline=deadline
        )
        proportions, slopes = problem.objective.split(solution.x)
        return MixedRatio.of(proportions, slopes, S, shares), solution

    def _one_component(
        self,
        S: "Matrix | PairProducts | BlockedStatistics",
        mean: Array,
        shares: Array,
        tol: float,
        deadline: Deadline,
    ) -> tuple["MixedRatio", Solution]:
        problem = LogLinearRatio(S, mean, shares, self.alpha)
        solution = self._solve(problem, Newton(), tol=tol, deadline=deadline)
        return MixedRatio.of(np.ones(1), solution.x[None, :], S, shares), solution

    def _logs_out_of_fold(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Array, Array]:
        """Return the log ratios of all rows, each from a fit without it."""
        n, m = samples.source.shape[0], samples.target.shape[0]
        k = min(N_FOLDS, n, m)
        seed = self._seed()
        fold = folds(samples.source, k, seed)
        fold_target = folds(samples.target, k, seed + 1)
        logs, logs_target = np.empty(n), np.empty(m)
        for c in range(k):
            rest = samples.take(fold != c, fold_target != c)
            ratio, _ = self._ratio_of(rest, max(self.tol, 1e-3), deadline)
            for out, X, left in (
                (logs, samples.source, fold == c),
                (logs_target, samples.target, fold_target == c),
            ):
                out[left] = ratio.logarithm(self._standardization_.statistics(X[left]))
        return logs, logs_target


@dataclass(frozen=True, eq=False)
class MixedRatio:
    """A mixture of log-linear ratios, each of source mean one."""

    proportions: Array
    slopes: Array
    norms: Array

    @classmethod
    def of(
        cls,
        proportions: Array,
        slopes: Array,
        S: "Matrix | PairProducts | BlockedStatistics",
        shares: Array,
    ) -> "MixedRatio":
        """Return the mixture whose components have mean one over the source."""
        norms = [log_mean(np.asarray(S @ eta), shares) for eta in slopes]
        return cls(proportions, slopes, np.array(norms))

    def logarithm(self, statistics: "Matrix | PairProducts") -> Array:
        """Return the log ratio of rows, given their statistics."""
        parts = np.column_stack([statistics @ eta for eta in self.slopes])
        return np.asarray(logsumexp(parts - self.norms, axis=1, b=self.proportions))


def _standardize_blocks(
    samples: Samples, source: Blocks, target: Blocks, family: str
) -> Standardization:
    """Return the standardization by all scaled rows, cut where their sample says."""
    scale = samples.scale_of_blocks
    factor = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    low, high = (end * factor for end in samples.limits)
    moments, moments_target = samples.moments
    center = 0.5 * (moments.mean + moments_target.mean) * factor
    announce("reading every row: moments of the statistics")
    return Standardization.by_means(
        family,
        (low, high),
        center,
        lambda raw: [
            map_reduce(blocks, partial(_block_raw_means, raw, blocks.n_rows))
            for blocks in (source, target)
        ],
    )


@dataclass(frozen=True, eq=False)
class ScaledFold:
    """All rows, and those outside a fold, on the scale of the latter's columns.

    What the rows count is worked out anew: a part of fractional weights is worth what
    it is worth by itself.
    """

    out: NDArray[np.bool_]
    out_target: NDArray[np.bool_]
    rows: TwoSamples
    part: TwoSamples

    @classmethod
    def of(
        cls,
        samples: TwoSamples,
        out: NDArray[np.bool_],
        out_target: NDArray[np.bool_],
    ) -> "ScaledFold":
        """Return the fold of the rows `out` of the source and of the target."""
        part = samples.recounted(~out, ~out_target)
        rows = rows_scaled(samples, pooled_scale(part))
        part = part.with_rows(rows.source[~out], rows.target[~out_target])
        return cls(out, out_target, rows, part)


def held_out_log_linear(
    weight_estimator: LogLinearKLIEP, parts: Sequence[ScaledFold], deadline: Deadline
) -> HeldOut:
    """Return a log-linear ratio at the rows of both samples, each held out once."""
    again = clone(weight_estimator)
    source, target = (np.empty(one.size) for one in (parts[0].out, parts[0].out_target))
    for fold in parts:
        with suppress_warnings():
            again._find(fold.part, deadline)
        mean = fold.part.source_share @ again._predict_weights(fold.part.source)
        rows, out, out_target = fold.rows, fold.out, fold.out_target
        source[out] = again._predict_weights(rows.source[out]) / mean
        target[out_target] = again._predict_weights(rows.target[out_target]) / mean
    return HeldOut(target, source)
