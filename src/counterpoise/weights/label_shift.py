"""Importance weights under label shift."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import Matrix, estimator_matrix, n_rows
from counterpoise.data.blocks import Blocks
from counterpoise.data.labels_and_weights import as_responses
from counterpoise.data.parallel import current_budget, one_thread
from counterpoise.data.parameters import Integer, Number, Rule
from counterpoise.data.samples import Samples, counted_places
from counterpoise.data.two_samples import (
    TwoSamples,
    canonical_order,
    effective_sample_size,
    folds,
    pooled_scale,
    rows_scaled,
)
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim.loop import Solution, solve
from counterpoise.optim.problems import MixtureLikelihood
from counterpoise.optim.solvers.corrective import Corrective
from counterpoise.shift.two_sample_tests import median_gamma
from counterpoise.weights.base import Callback, RandomState, WeightEstimator
from counterpoise.weights.search import Deadline, isolated_share

# -----------------------------------------------------------------------------
# Densities of inputs that go with bumps over the labels, at target rows.
# -----------------------------------------------------------------------------


LIKELIHOOD_FOLDS = 3
# A width is judged by solutions that are not proved further than this.
ROUGH_TOL = 1e-3
SMALLEST_DENSITY = 1e-300


class LabeledRows(NamedTuple):
    """Source rows with their labels and weights, and target rows with their shares."""

    X: Array
    y: Array
    weight: Array
    target: Array
    share: Array


def offered(
    gamma: float | str, middle: float, widths: tuple[float, ...]
) -> list[float]:
    """Return the widths to choose from, the narrowest first."""
    if isinstance(gamma, str):
        return [middle / width**2 for width in widths]
    return [float(gamma)]


def densities(
    rows: LabeledRows, gamma: float, shares: list[Array]
) -> list[tuple[Array, Array]]:
    """Return, for every set of bumps, their densities at the target rows.

    Rows are divided by what their nearest source row alone would give, whose logarithm,
    the Gaussian's normalizer included, comes beside: proportions do not notice, and
    nothing underflows.
    """
    m, d = rows.target.shape
    out = [np.empty((m, Q.shape[1])) for Q in shares]
    logs = np.empty(m)
    size = max(1, int(current_budget() // (32 * len(rows.X))))
    for first in range(0, m, size):
        some = slice(first, first + size)
        exponent = _exponents(rows.target[some], rows.X, gamma)
        top = exponent.max(axis=1)
        kernel = np.exp(exponent - top[:, None])
        logs[some] = top + 0.5 * d * np.log(gamma)
        for A, Q in zip(out, shares, strict=True):
            A[some] = np.maximum(kernel @ Q, SMALLEST_DENSITY)
    return [(A, logs) for A in out]


def _exponents(target: Array, X: Array, gamma: float) -> Array:
    middle = X.mean(axis=0)
    target, X = target - middle, X - middle
    out = 2.0 * (target @ X.T)
    out -= (target * target).sum(axis=1)[:, None]
    out -= (X * X).sum(axis=1)
    out *= gamma
    return np.minimum(out, 0.0)


def held_out_likelihood(A: Array, logs: Array, share: Array, part: Indices) -> float:
    """Return the mean log likelihood of target rows that were not fitted to."""
    total = 0.0
    for fold in range(LIKELIHOOD_FOLDS):
        held = part == fold
        if not held.any() or held.all():
            continue
        kept = share[~held] / share[~held].sum()
        x = solve(MixtureLikelihood(A[~held], kept), Corrective(), tol=ROUGH_TOL).x
        likelihood = np.log(np.maximum(A[held] @ x, SMALLEST_DENSITY)) + logs[held]
        total += float(share[held] @ likelihood)
    return total


# -----------------------------------------------------------------------------
# Weights as a function of the label, from target rows without labels.
# -----------------------------------------------------------------------------


# Widths to choose from, in units of the median distance between rows.
WIDTHS_X = (0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
WIDTHS_Y = (0.1, 0.2, 0.35, 0.6, 1.0)
# Fewer target rows than this leave nothing to hold out.
FEWEST_HELD_OUT = 10


@dataclass(kw_only=True, eq=False, repr=False)
class LabelShiftWeights(WeightEstimator):
    r"""Density ratio of labels, where p(y) has moved and p(x given y) has not.

    Target inputs are a mixture of the inputs that go with bumps over the labels,

    .. math:: \max_\mu \frac1m \sum_j \log \sum_l \mu_l \sum_i Q_{il}
        N(t_j; x_i, h^2 I), \quad
        Q_{il} = \frac{s_i k(y_i, c_l)}{\sum_i s_i k(y_i, c_l)}

    over the simplex, with sample weights s: the likelihood of `KLIEP`, its solver and
    its certificate. The weights are :math:`w(y) = \sum_i s_i \sum_l \mu_l k(y, c_l) /
    \sum_i s_i k(y_i, c_l)`, of mean one. Time O(m N (d + L)) a width of x, and a
    product of m L an iteration.

    Where labels decide the inputs (an illness its symptoms, a pose its silhouette) and
    their shares have moved, the ratio of inputs is the wrong one.

    The weights are a function of y, so those of target rows, whose labels nobody
    knows, are unknown: `predict_weights` takes labels, and `score` refuses. A weighted
    conformal set needs the weight of the row it is made for, hence **no conformal
    guarantee** holds at target rows; the weight of a predicted label in its place gives
    none.

    Parameters
    ----------
    gamma : "cv", float
        Width of the density of inputs: exp(-gamma * dist**2). "cv": of 0.05 to 0.3
        median distances, by the likelihood of held-out target rows.
    gamma_y : "cv", float
        Width of the bumps over the labels. "cv": of 0.1 to 1 median distances.
    n_centers : int
        Number of bumps.
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
        Power to which the weights are raised; 0 makes them uniform. One half is the
        advice for twin Gaussian processes.
    allow_no_overlap : bool
        Whether to go on where most of the target has no source rows near.
    random_state : int, RandomState or None
        Seed of folds and bumps.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Estimated ratio of label densities target/source, of mean one.
    solution_ : Solution
        The mixture proportions with their certificate and history.
    centers_, coef_ : arrays of shape (L, k), (L,)
        Bumps and what each counts in the weights.
    gamma_, gamma_y_ : float
        Widths in use.
    cv_results_ : dict of arrays
        Held-out likelihoods of all widths.
    unsupported_fraction_ : float
        Share of target rows further from all source rows than those are from one
        another.
    effective_sample_size_ : float

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, y_target = rng.normal(size=300), rng.normal(0.8, 0.6, size=200)
    >>> X, X_target = (v[:, None] + 0.1 * rng.normal(size=(len(v), 1))
    ...                for v in (y, y_target))
    >>> model = LabelShiftWeights(random_state=0).fit(X, y, X_target=X_target)
    >>> round(float(np.average(y, weights=model.weights_)), 1)
    0.8
    """

    needs_labels = True
    _rules: ClassVar[Mapping[str, Rule]] = {
        "gamma": Number(0.0, closed="neither", options=("cv",)),
        "gamma_y": Number(0.0, closed="neither", options=("cv",)),
        "n_centers": Integer(1),
    }

    gamma: float | str = "cv"
    gamma_y: float | str = "cv"
    n_centers: int = 200
    standardize: bool = True
    tol: float = 1e-6
    max_iter: int = 10_000
    max_time: float | None = None
    callback: Callback = None
    exponent: float = 1.0
    allow_no_overlap: bool = False
    random_state: RandomState = None

    def fit(  # type: ignore[override]
        self,
        X: ArrayLike | Blocks,
        y: object,
        *,
        X_target: ArrayLike | Blocks | tuple[ArrayLike, ...] | None = None,
        sample_weight: ArrayLike | None = None,
        target_weight: ArrayLike | None = None,
    ) -> Self:
        """Weigh the source rows so that their labels stand for the target's.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            The source rows.
        y : array-like of shape (n,) or (n, k)
            Their labels, numbers of one unit.
        X_target : the same of shape (m, d), or a tuple of such
            The target rows. None: weights of one and a `NoTargetWarning`.
        sample_weight, target_weight : array of shape (n,), (m,)
            What the rows count in every mean.

        Returns
        -------
        self
        """
        return super().fit(
            X,
            y,
            X_target=X_target,
            sample_weight=sample_weight,
            target_weight=target_weight,
        )

    def _fit_samples(self, samples: Samples, y: object = None) -> Self:
        self._check_parameters()
        labels = self._check_labels(y, samples.source.shape[0])
        weight = samples.source_weight
        self._remember_columns(samples)
        self.has_target_ = True
        # Rows of inputs say nothing here: `predict_weights` takes labels.
        self._samples_ = self._range_ = None
        with one_thread():
            rows = self._ordered(samples, labels)
            self._pose(rows, self._seed())
            self._set_solution(self._solution(rows))
            ratio = self._predict_weights(labels)
        used = weight > 0
        self._set_mean_ratio(ratio[used], 1.0, weight[used] / weight[used].sum())
        self.weights_ = self._normalized(ratio)
        self.effective_sample_size_ = effective_sample_size(self.weights_ * weight)
        return self

    def _check_labels(self, y: object, n: int) -> Array:
        labels = as_responses(y, n, multi_output=True).reshape(n, -1)
        self.n_outputs_ = labels.shape[1]
        return labels

    def predict_weights(self, y: ArrayLike) -> Array:  # type: ignore[override]
        """Return the weights of labels, on the scale of `weights_`.

        Parameters
        ----------
        y : array-like of shape (k,) or (k, n_outputs)

        Returns
        -------
        array of shape (k,)
        """
        check_is_fitted(self, "weights_")
        labels = as_responses(y, n_rows(y), multi_output=True).reshape(n_rows(y), -1)
        if labels.shape[1] != self.n_outputs_:
            raise InvalidInputError(
                f"y has {labels.shape[1]} columns, fit had {self.n_outputs_}"
            )
        if not self.has_target_:
            return np.ones(len(labels))
        return self._normalized(self._predict_weights(labels))

    def is_extrapolation(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Refuse: the ratio is a function of y, and inputs tell nothing of it.

        Without a target all weights are one, and known at every row.
        """
        check_is_fitted(self, "weights_")
        rows = estimator_matrix(self, X, reset=False)
        if not self.has_target_:
            return np.zeros(rows.shape[0], dtype=bool)
        raise InvalidInputError(
            "LabelShiftWeights cannot tell at which rows its ratio is not known: its "
            "weights are a function of y, not of the inputs"
        )

    def score(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        X_target: ArrayLike | tuple[ArrayLike, ...] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Refuse: weights of target rows need their labels, which nobody knows.

        Without a target all weights are one, and score zero.
        """
        check_is_fitted(self, "weights_")
        estimator_matrix(self, X, reset=False)
        if not self.has_target_:
            return 0.0
        raise InvalidInputError(
            "LabelShiftWeights has no score: its weights are a function of y, which "
            "target rows do not have; cv_results_ holds the likelihoods of held-out "
            "target rows"
        )

    def _ordered(self, samples: Samples, labels: Array) -> LabeledRows:
        """Return the rows that count, scaled, in an order by inputs and labels."""
        weight, target_weight = samples.source_weight, samples.target_weight
        used = np.flatnonzero(weight)
        whole = np.hstack([samples.source[used], labels[used]])
        used = used[canonical_order(whole, weight[used])]
        counted = counted_places(samples.target, target_weight)
        two = TwoSamples.of(
            samples.source[used],
            samples.target[counted],
            weight[used],
            target_weight[counted],
        )
        self.column_scale_ = None
        if self.standardize:
            self.column_scale_ = pooled_scale(two, samples.matrix_names)
            two = rows_scaled(two, self.column_scale_)
        self._judge_overlap(isolated_share(two), "unsupported_fraction", None, None)
        return LabeledRows(
            two.source, labels[used], weight[used], two.target, two.target_share
        )

    def _pose(self, rows: LabeledRows, seed: int) -> None:
        """Choose bumps and widths."""
        rng = np.random.default_rng(seed)
        different = np.unique(rows.y, axis=0)
        count = min(self.n_centers, len(different))
        self.centers_ = different[np.sort(rng.permutation(len(different))[:count])]
        middle_x = median_gamma(rows.X, rows.weight)
        middle_y = median_gamma(rows.y, rows.weight)
        gammas = offered(self.gamma, middle_x, WIDTHS_X)
        bumps = offered(self.gamma_y, middle_y, WIDTHS_Y)
        if len(gammas) * len(bumps) == 1:
            self.gamma_, self.gamma_y_ = gammas[0], bumps[0]
            return
        if len(rows.target) < FEWEST_HELD_OUT:
            self.gamma_, self.gamma_y_ = gammas[-1], bumps[-1]
            return
        part = folds(rows.target, LIKELIHOOD_FOLDS, seed)
        tried = list(product(gammas, bumps))
        shares = [self._shares(rows, one) for one in bumps]
        scores = []
        for gamma in gammas:
            for A, logs in densities(rows, gamma, shares):
                scores.append(held_out_likelihood(A, logs, rows.share, part))
        best = int(np.argmax(scores))
        self.gamma_, self.gamma_y_ = tried[best]
        self.cv_results_ = {
            "gamma": np.array([one for one, _ in tried]),
            "gamma_y": np.array([one for _, one in tried]),
            "score": np.array(scores),
        }

    def _shares(self, rows: LabeledRows, gamma_y: float) -> Array:
        """Return Q, the shares of the rows in every bump."""
        Q = Kernel("rbf", gamma_y).matrix(rows.y, self.centers_)
        Q *= rows.weight[:, None]
        Q /= Q.sum(axis=0)
        return Q

    def _solution(self, rows: LabeledRows) -> Solution:
        Q = self._shares(rows, self.gamma_y_)
        ((A, _),) = densities(rows, self.gamma_, [Q])
        solution = self._solve(
            MixtureLikelihood(A, rows.share),
            Corrective(),
            deadline=Deadline(self.max_time),
        )
        total = (
            Kernel("rbf", self.gamma_y_).matrix(rows.y, self.centers_).T @ rows.weight
        )
        self.coef_ = solution.x / total * rows.weight.sum()
        return solution

    def _predict_weights(self, X: Matrix) -> Array:
        """Return the ratio at labels, up to a factor."""
        used = np.flatnonzero(self.coef_)
        kernel = Kernel("rbf", self.gamma_y_).matrix(X, self.centers_[used])
        out: Array = kernel @ self.coef_[used]
        return out

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
