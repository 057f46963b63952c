"""Weighted Gaussian process and nearest-neighbor regression."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.parameters import RandomState, check_integer
from counterpoise.errors import warn_user
from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.loop import Solution, attested, certified
from counterpoise.twin_gp.approximations import Neighbors, check_factors_fit, in_blocks
from counterpoise.twin_gp.base import StructuredRegressor
from counterpoise.twin_gp.problem import (
    InputPart,
    Settings,
    TwinRows,
    input_kernel,
)

# -----------------------------------------------------------------------------
# Importance-weighted Gaussian process regression, the baseline of twin ones.
# -----------------------------------------------------------------------------


# What to do where the factors of all rows do not fit.
INSTEAD = "fit to fewer rows, use TwinGP with n_neighbors (local models)"


@dataclass(frozen=True, eq=False)
class RidgeSystem:
    r"""Minimize :math:`\tfrac12 a'Sa - b'a` for every column b of B.

    The weighted GPR's dual coefficients. S is at least the ridge times I, so that for
    any a, whoever found it, the excess is at most :math:`|b - Sa|^2 / (2\,ridge)`.
    """

    S: Array
    B: Array
    ridge: float

    def certify(self, A: Array) -> Certificate:
        """Bound how far the coefficients are from optimal."""
        away = self.B - self.S @ A
        value = -0.5 * float(np.sum(A * (self.B + away)))
        gap = 0.5 * float(np.sum(away * away)) / self.ridge
        return Certificate(
            kind="residual of the system",
            objective=value,
            bound=value - gap,
            gap=gap,
            scale=max(abs(value), 1e-300),
            residual=float(np.abs(away).max()),
        )


def certified_dual(inputs: InputPart, tol: float = 1e-9) -> Solution:
    """Return the dual coefficients with their proof; a product with S_x, O(N^2 d_y)."""
    rows, settings = inputs.rows, inputs.settings
    right = rows.root[:, None] * (rows.Y - rows.mean)
    S = input_kernel(rows, settings)
    return certified(RidgeSystem(S, right, settings.ridge_x), inputs.dual, tol)


def warn_unproved(name: str, solution: Solution, inputs: InputPart) -> None:
    """Warn where the dual coefficients are not proved to be right."""
    if solution.converged:
        return
    proof, mean = solution.certificate, float(inputs.rows.weight.mean())
    smaller = f", or divide the weights by their mean, {mean:.3g}" if mean > 2.0 else ""
    warn_user(
        f"{name}: {proof}, residual {proof.residual:.1e}: rounding may show in the "
        f"answers; raise ridge_x, {inputs.settings.ridge_x:g} here{smaller}",
        ConvergenceWarning,
    )


class WeightedGPR(StructuredRegressor):
    r"""Gaussian process regression whose rows have noise ridge / weight.

    .. math:: f(x) = m + s_x' S_x^{-1} D (Y - m), \qquad
        S_x = D K_x D + \text{ridge}\, I, \quad s_x = D k_x(X, x)

    with D the roots of the weights and m the weighted mean of Y: scikit-learn's
    `GaussianProcessRegressor` with ``alpha = ridge / weight``. Fit :math:`N^3/3`,
    predict N a row and output.

    Parameters
    ----------
    gamma_x : float or None
        Kernel width: exp(-gamma * dist**2). None: 1 / (4 sum of weighted variances).
    ridge_x : float
        Noise of a row of weight one, in units of the signal's variance.
    standardize_y : bool
        Whether outputs are divided by their standard deviations.
    search : {"holdout", "kfold", "groups"} or None
        How `gamma_x` (where None) and `ridge_x` are chosen.
    search_weights : bool
        Whether held-out rows count by their weights.
    calibration_fraction : float
        Share of the rows kept out of the fit for `predict_set`.
    random_state : int, RandomState or None
        Which rows are held out.

    Attributes
    ----------
    gamma_x_, ridge_x_ : float
        In use.
    solution_ : Solution
        Dual coefficients with their certificate.
    holdout_score_, cv_results_ : float, dict of arrays
        Mean held-out distance of the best candidate, and of all.
    effective_sample_size_ : float

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0.0, 3.0, 40)[:, None]
    >>> model = WeightedGPR(ridge_x=1e-4).fit(X, np.hstack([np.sin(X), np.cos(X)]))
    >>> model.predict([[1.0]]).round(2)
    array([[0.84, 0.54]])
    """

    _numbers = ("gamma_x", "ridge_x")

    def __init__(
        self,
        *,
        gamma_x: float | None = None,
        ridge_x: float = 1e-3,
        standardize_y: bool = False,
        search: str | None = None,
        search_weights: bool = False,
        calibration_fraction: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.gamma_x = gamma_x
        self.ridge_x = ridge_x
        self.standardize_y = standardize_y
        self.search = search
        self.search_weights = search_weights
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state

    def predict(
        self, X: ArrayLike, return_uncertainty: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the outputs at rows, and on request their variance e_x.

        The variance is relative to the signal's: one far from all rows, beside the
        ridge.
        """
        model = self._live()
        X = estimator_matrix(self, X, reset=False)
        out = self._out(self._answers(model, X, True))
        if not return_uncertainty:
            return out
        return out, in_blocks(
            lambda part: model.schur(model.factor.forward(model.similarities(part))),
            X,
            24 * len(model.rows),
        )

    def _build(
        self, rows: TwinRows, numbers: Mapping[str, float], final: bool
    ) -> InputPart:
        # The certificate makes the kernel a second time.
        check_factors_fit(len(rows), 2 if final else 1, INSTEAD)
        return build_gpr(rows, numbers)

    def _judge(self, model: InputPart) -> None:
        self.solution_ = certified_dual(model)
        warn_unproved("WeightedGPR", self.solution_, model)

    def _answers(self, model: InputPart, X: Array, final: bool) -> Array:
        return gpr_answers(model, X)


def build_gpr(rows: TwinRows, numbers: Mapping[str, float]) -> InputPart:
    """Return the weighted GPR of rows."""
    ridge = numbers["ridge_x"]
    rows = rows.heard(ridge)
    settings = Settings("kl", 0.0, numbers["gamma_x"], 1.0, ridge, 1.0)
    return InputPart.of(rows, settings, input_kernel(rows, settings))


def gpr_answers(model: InputPart, X: Array) -> Array:
    """Return the weighted GPR's mean at rows."""
    return in_blocks(
        lambda part: model.mean(model.similarities(part)), X, 16 * len(model.rows)
    )


# -----------------------------------------------------------------------------
# Weighted nearest neighbors, the simplest baseline.
# -----------------------------------------------------------------------------


# Keeps the weight of a row that is asked for finite.
NO_DISTANCE = 1e-9


class WeightedKNN(StructuredRegressor):
    r"""Mean of the nearest rows' outputs, by weight over distance.

    .. math:: f(x) = \sum_i a_i y_i / \sum_i a_i, \qquad
        a_i = w_i / (|x - x_i| + 10^{-9})

    over the nearest rows whose weights reach `n_neighbors`; of the last row's weight
    only what is left of the number is used. O(N d) a row.

    Parameters
    ----------
    n_neighbors : int
        How many rows, counted by their weights.
    standardize_y : bool
        Whether outputs are divided by their standard deviations.
    search : {"holdout", "kfold", "groups"} or None
        How `n_neighbors` is chosen.
    search_weights : bool
        Whether held-out rows count by their weights.
    calibration_fraction : float
        Share of the rows kept out of the fit for `predict_set`.
    random_state : int, RandomState or None
        Which rows are held out.

    Attributes
    ----------
    n_neighbors_ : float
        In use.
    solution_ : Solution
        Of kind "none": nothing is minimized.

    Examples
    --------
    >>> WeightedKNN(n_neighbors=2).fit([[0.0], [1.0], [9.0]], [0.0, 2.0, 5.0]).predict(
    ...     [[0.5]]
    ... )
    array([1.])
    """

    _numbers = ("n_neighbors",)

    def __init__(
        self,
        *,
        n_neighbors: int = 15,
        standardize_y: bool = False,
        search: str | None = None,
        search_weights: bool = False,
        calibration_fraction: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.standardize_y = standardize_y
        self.search = search
        self.search_weights = search_weights
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state

    def predict(
        self, X: ArrayLike, return_uncertainty: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the outputs at rows, and on request how far their neighbors spread.

        The root of the neighbors' mean squared distance from the answer, by the same
        weights.
        """
        model = self._live()
        X = estimator_matrix(self, X, reset=False)
        out = self._out(self._answers(model, X, True))
        if not return_uncertainty:
            return out
        return out, in_blocks(
            lambda part: _spread(model, part, self.y_scale_), X, _row_bytes(model)
        )

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, low=1)

    def _build(
        self, rows: TwinRows, numbers: Mapping[str, float], final: bool
    ) -> Neighbors:
        return Neighbors(rows, numbers["n_neighbors"])

    def _judge(self, model: Neighbors) -> None:
        self.solution_ = attested(np.empty(0), Certificate("none", 0.0), 1.0)
        complaint = model.complaint()
        if complaint is not None:
            warn_user(complaint)

    def _answers(self, model: Neighbors, X: Array, final: bool) -> Array:
        return in_blocks(lambda part: _shares(model, part)[1], X, _row_bytes(model))


def _shares(model: Neighbors, X: Array) -> tuple[Array, Array, Array]:
    """Return the neighbors' shares of the answer, the answer, and their outputs."""
    near, weight = model.of(X)
    away = model.rows.X[near]
    away -= X[:, None, :]
    distance = np.sqrt(np.einsum("mkd,mkd->mk", away, away))
    share = weight / (distance + NO_DISTANCE)
    share /= share.sum(axis=1)[:, None]
    outputs = model.rows.Y[near]
    return share, np.einsum("mk,mkd->md", share, outputs), outputs


def _spread(model: Neighbors, X: Array, scale: Array) -> Array:
    share, answer, outputs = _shares(model, X)
    outputs -= answer[:, None, :]
    outputs *= scale
    return np.sqrt(np.einsum("mk,mkd,mkd->m", share, outputs, outputs))


def _row_bytes(model: Neighbors) -> int:
    columns = model.rows.X.shape[1] + model.rows.Y.shape[1]
    return model.row_bytes() + 8 * model.width * columns
