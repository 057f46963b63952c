"""Weighted nearest neighbours, the simplest baseline."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterpoise.convex import attested
from counterpoise.convex.certificate import Certificate
from counterpoise.learners.twin_gp.base import StructuredRegressor
from counterpoise.learners.twin_gp.models.blocks import in_blocks
from counterpoise.learners.twin_gp.models.nearest import Neighbors
from counterpoise.learners.twin_gp.models.rows import TwinRows
from counterpoise.learners.twin_gp.search import Axis
from counterpoise.numerics.arrays import Array
from counterpoise.validation import check_integer, estimator_matrix, warn_user

# Keeps the weight of a row that is asked for finite.
NO_DISTANCE = 1e-9
COUNTS = (2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0)


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
    calibration : float
        Share of the rows kept out of the fit for `predict_set`.
    random_state : int, RandomState or None
        Which rows are held out.

    Attributes
    ----------
    n_neighbors_ : float
        In use.
    solution_ : Solution
        Of kind "none": nothing is minimised.

    Examples
    --------
    >>> WeightedKNN(n_neighbors=2).fit([[0.0], [1.0], [9.0]], [0.0, 2.0, 5.0]).predict(
    ...     [[0.5]]
    ... )
    array([1.])
    """

    def __init__(
        self,
        *,
        n_neighbors: int = 15,
        standardize_y: bool = False,
        search: str | None = None,
        search_weights: bool = False,
        calibration: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.standardize_y = standardize_y
        self.search = search
        self.search_weights = search_weights
        self.calibration = calibration
        self.random_state = random_state

    def predict(self, X: Any, return_uncertainty: bool = False) -> Any:
        """Return the outputs at rows, and on request how far their neighbours spread.

        The root of the neighbours' mean squared distance from the answer, by the same
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

    def _number_names(self) -> tuple[str, ...]:
        return ("n_neighbors",)

    def _given(self, rows: TwinRows) -> dict[str, float]:
        return {"n_neighbors": float(self.n_neighbors)}

    def _axes(self, rows: TwinRows) -> tuple[dict[str, Axis], dict[str, str]]:
        return {"n_neighbors": Axis(COUNTS, COUNTS)}, {}

    def _build(self, rows: TwinRows, numbers: Mapping[str, float], final: bool) -> Any:
        return Neighbors(rows, numbers["n_neighbors"])

    def _judge(self, model: Any) -> None:
        self.solution_ = attested(np.empty(0), Certificate("none", 0.0), 1.0)
        complaint = model.complaint()
        if complaint is not None:
            warn_user(complaint)

    def _answers(self, model: Any, X: Array, final: bool) -> Array:
        return in_blocks(lambda part: _shares(model, part)[1], X, _row_bytes(model))


def _shares(model: Neighbors, X: Array) -> tuple[Array, Array, Array]:
    """Return the neighbours' shares of the answer, the answer, and their outputs."""
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
