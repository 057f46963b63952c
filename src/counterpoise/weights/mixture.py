"""Density ratios whose logarithm is linear in simple statistics, and their mixtures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from counterpoise.convex import Solution
from counterpoise.convex.objectives.tilted_likelihood import log_mean
from counterpoise.convex.problems.log_linear import LogLinearMixture, LogLinearRatio
from counterpoise.convex.solvers.newton import ExpectationMaximization, Newton
from counterpoise.engine import Blocks, announce, map_reduce
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.folds import N_FOLDS, folds
from counterpoise.samples.overlap_verdict import thin_share
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import InvalidInput, Matrix
from counterpoise.validation.parameters import Choice, Integer, Number, Rule
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.blocked_statistics import (
    BlockedStatistics,
    MeanOfPowers,
    MeanStatistics,
)
from counterpoise.weights.by_blocks import TwoBlocks
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.mixture_statistics import Standardization

# A log-quadratic ratio grows without bound outside the source.
LARGEST_LOG = 50.0
# With more statistics than this share of the rows, the fit's own log ratios of its rows
# tell the samples apart where nothing has shifted.
FEW_STATISTICS = 0.1
STATISTICS = ("full", "diag", "linear")


class MixtureKLIEP(WeightEstimator):
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
        maximisation steps are convex.
    statistics : {"auto", "full", "diag", "linear"}
        s(x): the columns and all their products ("full"), the columns and their
        squares ("diag"), the columns ("linear"), of columns divided by their pooled
        scale and centred, standardised once more; entries far outside the bulk of
        their column (some eight standard deviations) are put at its end. "auto":
        full while their number d(d + 3)/2 is at most a tenth of the source rows, else
        diag; linear for sparse rows, which are not centred and stay sparse.
    ridge : float
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
    force : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of the folds of `score` and of `uncovered_`; the weights need no chance.

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
    uncovered_ : float
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
    maximises :math:`\eta'\bar s_k - \log \mathrm{mean}_i \exp(\eta's(x_i))`, concave,
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
    >>> fitted = MixtureKLIEP().fit(data.X, X_target=data.X_target)
    >>> round(float((fitted.weights_ * data.X[:, 0]).mean()), 1)
    0.5
    """

    # Read by the base: columns come divided by their pooled scale.
    standardize = True
    _accepts_sparse = True
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "statistics": Choice(("auto", *STATISTICS)),
        "ridge": Number(0.0, closed="neither"),
    }

    def __init__(
        self,
        *,
        n_components: int = 1,
        statistics: str = "auto",
        ridge: float = 1e-2,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        max_time: float | None = None,
        callback: Callable[..., object] | None = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.statistics = statistics
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.exponent = exponent
        self.force = force
        self.random_state = random_state

    def _chosen(self) -> dict[str, Any]:
        return {"statistics": self.statistics_}

    def _fit_ratio(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Array, float]:
        self._find(samples, deadline)
        return self._weigh(samples.source), 1.0

    def _find(self, samples: TwoSamples, deadline: Deadline) -> Solution:
        """Set what the ratio is made of, and return how it was found."""
        self.statistics_ = self._family(samples)
        self._standardization_ = Standardization.of(samples, self.statistics_)
        self._ratio_, solution = self._ratio_of(samples, self.tol, deadline)
        return solution

    def _check_samples(self, samples: SamplesAsRead) -> None:
        """Refuse one row, of which nothing can be held out."""
        n = samples.counted.source.shape[0]
        if n < self._least_rows:
            raise InvalidInput(
                f"X has {n} row that counts, MixtureKLIEP needs {self._least_rows}"
            )

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        solution = self._find(samples, deadline)
        self.coef_, self.proportions_ = self._ratio_.slopes, self._ratio_.proportions
        self.statistic_names_ = self._names(samples.source.shape[1])
        logs, logs_target = self._own_logs(samples)
        few = FEW_STATISTICS * min(samples.source.shape[0], samples.target.shape[0])
        ratio = np.exp(np.minimum(logs, LARGEST_LOG))
        if _is_one_row(samples.target):
            # Nothing can be held out; the base looks how far the row is from others.
            return Fitted(solution, ratio, 0.0)
        told = (logs, logs_target)
        if self.coef_.shape[1] > few:
            told = self._logs_out_of_fold(samples, deadline)
        thin = thin_share(*told, samples.source_share, samples.target_share)
        return Fitted(solution, ratio, thin, "thin")

    def _fit_blocks(self, both: TwoBlocks) -> Solution | None:
        if self.n_components > 1:
            return None
        n, d = both.source.n_rows, self.n_features_in_
        self.statistics_ = self._family_of(n, d)
        rows, aims = self._rows_in_blocks(both)
        self._standardization_ = _standardized(both, rows, aims, self.statistics_)
        statistics = self._standardization_.statistics
        announce("reading every row: mean statistics of the target")
        mean = map_reduce(aims, MeanStatistics(statistics, aims.n_rows))
        S = BlockedStatistics(rows, statistics, mean.size)
        shares = np.full(n, 1.0 / n)
        problem = LogLinearRatio(S, mean, shares, self.ridge)
        solution = self._solve(problem, Newton(), deadline=Deadline(self.max_time))
        norm = log_mean(np.asarray(S @ solution.x), shares)
        self.coef_, self.proportions_ = solution.x[None, :], np.ones(1)
        self._ratio_ = MixedRatio(self.proportions_, self.coef_, np.array([norm]))
        self.statistic_names_ = self._names(d)
        return solution

    def _weigh(self, X: Matrix) -> Array:
        logs = self._ratio_.logarithm(self._standardization_.statistics(X))
        return np.exp(np.minimum(logs, LARGEST_LOG))

    def _family(self, samples: TwoSamples) -> str:
        n, d = samples.source.shape
        if sparse.issparse(samples.source):
            if self.statistics not in ("auto", "linear"):
                raise InvalidInput(
                    "sparse rows need statistics='auto' or 'linear', "
                    f"got {self.statistics!r}"
                )
            return "linear"
        return self._family_of(n, d)

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
            solution = self._solve(
                LogLinearRatio(S, mean, shares, self.ridge),
                Newton(),
                tol=tol,
                deadline=deadline,
            )
            proportions, slopes = np.ones(1), solution.x[None, :]
        else:
            problem = LogLinearMixture(
                S, T, shares, shares_target, self.n_components, self.ridge
            )
            solution = self._solve(
                problem, ExpectationMaximization(), tol=tol, deadline=deadline
            )
            proportions, slopes = problem.objective.split(solution.x)
        norms = np.array([log_mean(S @ eta, shares) for eta in slopes])
        return MixedRatio(proportions, slopes, norms), solution

    def _own_logs(self, samples: TwoSamples) -> tuple[Array, Array]:
        S, T = (
            self._standardization_.statistics(X)
            for X in (samples.source, samples.target)
        )
        return self._ratio_.logarithm(S), self._ratio_.logarithm(T)

    def _logs_out_of_fold(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Array, Array]:
        """Return the log ratios of all rows, each from a fit without it."""
        n, m = samples.source.shape[0], samples.target.shape[0]
        k = min(N_FOLDS, n, m)
        seed = self._seed()
        fold, fold_target = (
            folds(samples.source, k, seed),
            folds(samples.target, k, seed + 1),
        )
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

    def _names(self, d: int) -> Any:
        columns = getattr(self, "feature_names_in_", [f"x{k}" for k in range(d)])
        names = [str(name) for name in columns]
        if self.statistics_ == "diag":
            names += [f"{name}^2" for name in columns]
        elif self.statistics_ == "full":
            names += [
                f"{columns[i]}^2" if i == j else f"{columns[i]} {columns[j]}"
                for i, j in zip(*np.triu_indices(d), strict=True)
            ]
        return np.array(names, dtype=object)


@dataclass(frozen=True, eq=False)
class MixedRatio:
    """A mixture of log-linear ratios, each of source mean one."""

    proportions: Array
    slopes: Array
    norms: Array

    def logarithm(self, statistics: Any) -> Array:
        """Return the log ratio of rows, given their statistics."""
        parts = np.column_stack([statistics @ eta for eta in self.slopes])
        return np.asarray(logsumexp(parts - self.norms, axis=1, b=self.proportions))


def _standardized(
    both: TwoBlocks, rows: Blocks, aims: Blocks, family: str
) -> Standardization:
    """Return the standardisation by all rows, cut where a sample says."""
    scale = both.scale
    limits = tuple(
        np.divide(end, scale, out=np.zeros_like(end), where=scale > 0)
        for end in both.limits
    )
    means = [
        np.divide(one.mean, scale, out=np.zeros_like(scale), where=scale > 0)
        for one in both.moments
    ]
    announce("reading every row: moments of the statistics")
    return Standardization.by_means(
        family,
        (limits[0], limits[1]),
        0.5 * (means[0] + means[1]),
        lambda raw: [
            map_reduce(blocks, MeanOfPowers(raw, blocks.n_rows))
            for blocks in (rows, aims)
        ],
    )


def _is_one_row(rows: Matrix) -> bool:
    """Return whether all rows are equal."""
    if rows.shape[0] == 1:
        return True
    return not sparse.issparse(rows) and bool((rows == rows[0]).all())
