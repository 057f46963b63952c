"""Twin Gaussian processes in closed form: the target's kernel vector, then a mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.learners.twin_gp.base import StructuredRegressor
from counterpoise.learners.twin_gp.gpr import INSTEAD, certified_dual, warn_unproved
from counterpoise.learners.twin_gp.models.blocks import check_factors_fit, in_blocks
from counterpoise.learners.twin_gp.models.factors import products
from counterpoise.learners.twin_gp.models.inputs import (
    InputPart,
    input_kernel,
    output_kernel,
)
from counterpoise.learners.twin_gp.models.nearest import first_ones, lightest, too_light
from counterpoise.learners.twin_gp.models.rows import Settings, TwinRows
from counterpoise.learners.twin_gp.search import Axis
from counterpoise.learners.twin_gp.widths import check_widths, given_widths, twin_axes
from counterpoise.numerics.arrays import Array
from counterpoise.validation import check_integer, estimator_matrix, warn_user

# Similarities are kept inside these, so that their logarithms are finite.
LEAST, MOST = 1e-12, 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class _Direct:
    inputs: InputPart
    S_y: Array
    n_rows: int

    @property
    def rows(self) -> TwinRows:
        return self.inputs.rows

    @cached_property
    def most(self) -> int:
        """The most rows that can be needed to reach their number by weight."""
        return lightest(self.rows.weight, self.n_rows)


class DirectTwinGP(StructuredRegressor):
    r"""Mean of the rows whose similarities a twin Gaussian process would ask for.

    Minimising KL over the vector of output similarities instead of over y has a closed
    form,

    .. math:: k = m\, S_y u, \quad u = S_x^{-1} s_x, \quad
        m = \frac{-e_x + \sqrt{e_x^2 + 4 a c_y}}{2a}, \quad a = u'S_y u,

    divided by the roots of the weights. The answer is the mean of the rows with the
    largest similarities, by the shares :math:`-w_i/\log k_i` (weights over squared
    distances). Where an input is so far from all rows that it asks for none, it is the
    weighted mean of all outputs. Fit :math:`N^3/3`, predict :math:`2 N^2` a row.

    Parameters
    ----------
    gamma_x, gamma_y : float or None
        Kernel widths: exp(-gamma * dist**2). None: 1 / (4 sum of weighted variances).
    ridge_x, ridge_y : float
        Noise of a row of weight one, in units of the signal's variance.
    n_rows : int
        How many rows are averaged, counted by their weights; of the last one only what
        is left of the number is used.
    standardize_y : bool
        Whether outputs are divided by their standard deviations.
    search : {"holdout", "kfold", "groups"} or None
        How widths (where None) and ridges are chosen.
    search_weights : bool
        Whether held-out rows count by their weights.
    calibration : float
        Share of the rows kept out of the fit for `predict_set`.
    random_state : int, RandomState or None
        Which rows are held out.

    Attributes
    ----------
    gamma_x_, gamma_y_, ridge_x_, ridge_y_ : float
        In use.
    solution_ : Solution
        Dual coefficients of the inputs' GPR with their certificate.

    References
    ----------
    Yamada, Sigal and Raptis (2014).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0.0, 3.0, 40)[:, None]
    >>> model = DirectTwinGP(n_rows=5).fit(X, np.column_stack([np.sin(X), np.cos(X)]))
    >>> model.predict([[1.0]]).round(1)
    array([[0.8, 0.5]])
    """

    def __init__(
        self,
        *,
        gamma_x: float | None = None,
        gamma_y: float | None = None,
        ridge_x: float = 1e-3,
        ridge_y: float = 1e-3,
        n_rows: int = 25,
        standardize_y: bool = False,
        search: str | None = None,
        search_weights: bool = False,
        calibration: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.gamma_x = gamma_x
        self.gamma_y = gamma_y
        self.ridge_x = ridge_x
        self.ridge_y = ridge_y
        self.n_rows = n_rows
        self.standardize_y = standardize_y
        self.search = search
        self.search_weights = search_weights
        self.calibration = calibration
        self.random_state = random_state

    def predict(self, X: Any, return_uncertainty: bool = False) -> Any:
        """Return the outputs at rows, and on request the inputs' variance e_x."""
        model = self._live()
        X = estimator_matrix(self, X, reset=False)
        answers, lost = _solve(model, X)
        if lost.any():
            warn_user(
                f"{lost.mean():.1%} of the rows are like no training input (gamma_x = "
                f"{self.gamma_x_:.3g}): their answers are the mean of all outputs"
            )
        out = self._out(answers)
        if not return_uncertainty:
            return out
        part = model.inputs
        return out, in_blocks(
            lambda some: part.schur(part.factor.forward(part.similarities(some))),
            X,
            24 * len(part.rows),
        )

    def _check_parameters(self) -> None:
        check_widths(self, self._number_names())
        check_integer("n_rows", self.n_rows, low=1)

    def _number_names(self) -> tuple[str, ...]:
        return "gamma_x", "gamma_y", "ridge_x", "ridge_y"

    def _given(self, rows: TwinRows) -> dict[str, float]:
        return given_widths(self, rows)

    def _axes(self, rows: TwinRows) -> tuple[dict[str, Axis], dict[str, str]]:
        return twin_axes(self, rows)

    def _build(self, rows: TwinRows, numbers: Mapping[str, float], final: bool) -> Any:
        settings = Settings("kl", 0.0, **numbers)
        rows = rows.heard(min(settings.ridge_x, settings.ridge_y))
        # The certificate makes the kernel of the inputs a second time.
        check_factors_fit(len(rows), 3 if final else 2, INSTEAD)
        S_x, S_y = input_kernel(rows, settings), output_kernel(rows, settings)
        return _Direct(InputPart.of(rows, settings, S_x), S_y, self.n_rows)

    def _judge(self, model: Any) -> None:
        self.solution_ = certified_dual(model.inputs)
        warn_unproved("DirectTwinGP", self.solution_, model.inputs)
        light = too_light("n_rows", model.rows.weight, model.n_rows)
        if light is not None:
            warn_user(light)

    def _answers(self, model: Any, X: Array, final: bool) -> Array:
        return _solve(model, X)[0]


def _solve(model: _Direct, X: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the outputs at rows, and which rows are like no training input."""

    def answer(part: Array) -> Array:
        k = _similarities(model, part)
        out = _mean_of_first(model, k)
        # Otherwise the rows that happen to come first would be averaged.
        out[k.max(axis=1) <= LEAST] = np.nan
        return out

    out = in_blocks(answer, X, 64 * len(model.rows) + 64 * model.most)
    lost = np.isnan(out[:, 0])
    out[lost] = model.rows.mean
    return out, lost


def _similarities(model: _Direct, X: Array) -> Array:
    """Return which similarities to the training outputs the inputs ask for, (m, N)."""
    inputs = model.inputs
    h = inputs.factor.forward(inputs.similarities(X))
    e_x = inputs.schur(h)
    u = inputs.factor.backward(h)
    q = u @ model.S_y
    a = np.maximum(products(u, q), 1e-300)
    c_y = 1.0 + inputs.settings.ridge_y
    # The root in the form that does not cancel where a is small.
    m = 2.0 * c_y / (e_x + np.sqrt(e_x * e_x + 4.0 * a * c_y))
    q *= m[:, None]
    q /= inputs.rows.root
    return q


def _mean_of_first(model: _Direct, k: Array) -> Array:
    """Return the mean of the most similar rows' outputs."""
    weight = model.rows.weight
    first, used = first_ones(-k, weight, model.n_rows, model.most)
    like = np.clip(np.take_along_axis(k, first, axis=1), LEAST, MOST)
    share = np.zeros_like(k)
    np.put_along_axis(share, first, -used / np.log(like), axis=1)
    share /= share.sum(axis=1)[:, None]
    return share @ model.rows.Y
