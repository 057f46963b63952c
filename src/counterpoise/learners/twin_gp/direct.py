"""Twin Gaussian processes in closed form: the target's kernel vector, then a mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.learners.twin_gp.base import StructuredRegressor
from counterpoise.learners.twin_gp.blocks import in_blocks
from counterpoise.learners.twin_gp.factors import products
from counterpoise.learners.twin_gp.gpr import RHO as RHO_X
from counterpoise.learners.twin_gp.gpr import RIDGE, certified_dual, gamma_axis
from counterpoise.learners.twin_gp.inputs import (
    InputPart,
    input_kernel,
    output_kernel,
)
from counterpoise.learners.twin_gp.rows import Rows, Settings, width_rule
from counterpoise.learners.twin_gp.search import Axis
from counterpoise.numerics.arrays import Array
from counterpoise.validation import check_integer, check_number, estimator_matrix

RHO_Y = (0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.7, 3.0, 5.5, 10.0)
# Similarities are kept inside these, so that their logarithms are finite.
LEAST, MOST = 1e-12, 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class _Direct:
    inputs: InputPart
    S_y: Array


class DirectTwinGP(StructuredRegressor):
    r"""Mean of the rows whose similarities a twin Gaussian process would ask for.

    Minimising KL over the vector of output similarities instead of over y has a closed
    form,

    .. math:: k = m\, S_y u, \quad u = S_x^{-1} s_x, \quad
        m = \frac{-e_x + \sqrt{e_x^2 + 4 a c_y}}{2a}, \quad a = u'S_y u,

    divided by the roots of the weights. The answer is the mean of the rows with the
    largest similarities, by the shares :math:`-1/\log k_i` (the inverse of their
    squared distances). Fit :math:`N^3/3`, predict :math:`2 N^2` a row.

    Parameters
    ----------
    gamma_x, gamma_y : float or None
        Kernel widths: exp(-gamma * dist**2). None: 1 / (4 sum of weighted variances).
    ridge_x, ridge_y : float
        Noise of a row of weight one, in units of the signal's variance.
    n_rows : int
        How many rows are averaged.
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
        out = self._out(self._answers(model, X, True))
        if not return_uncertainty:
            return out
        part = model.inputs
        return out, in_blocks(
            lambda some: part.schur(part.factor.forward(part.similarities(some))),
            X,
            24 * len(part.rows),
        )

    def _check_parameters(self) -> None:
        for name in ("gamma_x", "gamma_y"):
            value = getattr(self, name)
            check_number(name, value, low=0.0, closed="neither", options=[None])
        for name in ("ridge_x", "ridge_y"):
            check_number(name, getattr(self, name), low=0.0, closed="neither")
        check_integer("n_rows", self.n_rows, low=1)

    def _number_names(self) -> tuple[str, ...]:
        return "gamma_x", "gamma_y", "ridge_x", "ridge_y"

    def _given(self, rows: Rows) -> dict[str, float]:
        return given_widths(self, rows)

    def _axes(self, rows: Rows) -> tuple[dict[str, Axis], dict[str, str]]:
        return twin_axes(self, rows)

    def _build(self, rows: Rows, numbers: Mapping[str, float], final: bool) -> Any:
        settings = Settings("kl", 0.0, **numbers)
        rows = rows.heard(min(settings.ridge_x, settings.ridge_y))
        S_x, S_y = input_kernel(rows, settings), output_kernel(rows, settings)
        model = _Direct(InputPart.of(rows, settings, S_x), S_y)
        if final:
            self.solution_ = certified_dual(model.inputs)
        return model

    def _answers(self, model: Any, X: Array, final: bool) -> Array:
        count = min(self.n_rows, len(model.inputs.rows))
        return in_blocks(
            lambda part: _answer(model, part, count), X, 64 * len(model.inputs.rows)
        )


def _answer(model: _Direct, X: Array, count: int) -> Array:
    inputs, rows = model.inputs, model.inputs.rows
    h = inputs.factor.forward(inputs.similarities(X))
    e_x = inputs.schur(h)
    u = inputs.factor.backward(h)
    q = u @ model.S_y
    a = np.maximum(products(u, q), 1e-300)
    c_y = 1.0 + inputs.settings.ridge_y
    # The root in the form that does not cancel where a is small.
    m = 2.0 * c_y / (e_x + np.sqrt(e_x * e_x + 4.0 * a * c_y))
    k = np.clip(m[:, None] * q / rows.root, LEAST, MOST)
    share = -1.0 / np.log(k)
    near = np.argsort(-share, axis=1, kind="stable")[:, :count]
    share = np.take_along_axis(share, near, axis=1)
    share /= share.sum(axis=1)[:, None]
    return np.einsum("mk,mkd->md", share, rows.Y[near])


def given_widths(model: Any, rows: Rows) -> dict[str, float]:
    """Return widths and ridges that the parameters say, rules applied."""
    gamma_x, gamma_y = model.gamma_x, model.gamma_y
    if gamma_x is None:
        gamma_x = width_rule(rows.X, rows.weight)
    if gamma_y is None:
        gamma_y = width_rule(rows.Y, rows.weight)
    return {
        "gamma_x": float(gamma_x),
        "gamma_y": float(gamma_y),
        "ridge_x": float(model.ridge_x),
        "ridge_y": float(model.ridge_y),
    }


def twin_axes(model: Any, rows: Rows) -> tuple[dict[str, Axis], dict[str, str]]:
    """Return widths, where none are given, and ridges to choose from."""
    axes: dict[str, Axis] = {}
    if model.gamma_x is None:
        first = (0.5, 1.0, 2.0, 3.0)
        axes["gamma_x"] = gamma_axis(rows.X, rows.weight, RHO_X, first)
    if model.gamma_y is None:
        first = (0.35, 0.5, 1.0, 3.0)
        axes["gamma_y"] = gamma_axis(rows.Y, rows.weight, RHO_Y, first)
    axes["ridge_x"] = Axis(RIDGE, (1e-4, 1e-3, 1e-2, 1e-1))
    axes["ridge_y"] = axes["ridge_x"]
    return axes, {"ridge_y": "ridge_x"}
