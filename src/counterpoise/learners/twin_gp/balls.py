"""Conformal balls around the answers of a regressor of structured outputs."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from counterpoise.learners.twin_gp.models.rows import TwinRows
from counterpoise.learners.twin_gp.search import distances
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.quantiles import quantiles_below_infinity
from counterpoise.validation import (
    InvalidInput,
    as_weights,
    check_number,
    estimator_matrix,
    warn_user,
)


class ConformalBalls(ABC):
    """Rows kept out of the fit, and the radii that follow from them."""

    calibration: float
    weighted_: bool
    usual_weight_: float

    @abstractmethod
    def _answer_in_units(self, X: Array) -> Array:
        """Return the outputs at rows, in their own unit, a matrix."""

    def predict_set(
        self, X: Any, level: float = 0.9, *, sample_weight: Any = None
    ) -> Array:
        r"""Return the radii of balls around `predict(X)` that hold the outputs.

        The radius of a row of weight w is the `level` quantile of

        .. math:: \sum_i p_i \delta_{r_i} + p\,\delta_\infty, \qquad
            p_i \propto w_i,\; p \propto w,

        over the rows that `calibration` kept out of the fit and of the search, with
        :math:`r_i` their distances from their answers. With the density ratio as
        weights, the ball holds the output of a target row with a chance of at least
        `level`. Where the ratio is one of outputs (`TargetShiftWeights`) that of a row
        without a label is unknown, and nothing is promised.

        Parameters
        ----------
        X : array-like or frame of shape (m, d)
        level : float
            The share of outputs to be held.
        sample_weight : array of shape (m,), optional
            The rows' own weights, on the scale of those of `fit` (a weighter's
            `weigh(X)`); needed where those were not all equal.

        Returns
        -------
        array of shape (m,)
            Euclidean over all outputs, in their unit; infinite where the row's weight
            exceeds what the calibration rows can outweigh.
        """
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False)
        check_number("level", level, low=0.0, high=1.0, closed="neither")
        if not len(self.calibration_scores_):
            raise InvalidInput(
                "predict_set needs rows kept out of the fit: set calibration to their "
                "share, such as 0.25"
            )
        if sample_weight is None and self.weighted_:
            raise InvalidInput(
                "the model was fitted with weights: predict_set needs sample_weight, "
                "the weights of the rows of X on the same scale"
            )
        if sample_weight is None:
            sample_weight = self.usual_weight_
        weights = as_weights(sample_weight, len(X))
        radius = quantiles_below_infinity(
            self.calibration_scores_, self.calibration_weights_, weights, level
        )
        self._warn_of_endless(radius, weights, level)
        return radius

    def _warn_of_endless(self, radius: Array, weights: Array, level: float) -> None:
        endless = np.isinf(radius)
        if not endless.any():
            return
        total = float(self.calibration_weights_.sum())
        most = float(weights[endless].max())
        warn_user(
            f"{endless.mean():.1%} of the radii are infinite: beside the "
            f"{len(self.calibration_scores_)} calibration rows, of total weight "
            f"{total:.4g}, a row of weight {most:.4g} has no finite ball above level "
            f"{total / (total + most):.3g}, and {level:g} was asked for; raise "
            "calibration, or lower the level"
        )

    def _kept_apart(
        self, rows: TwinRows, seed: int
    ) -> tuple[TwinRows, TwinRows | None]:
        """Return the rows to fit to, and those to calibrate on."""
        if self.calibration == 0.0:
            return rows, None
        names, group = np.unique(rows.group, return_inverse=True)
        n_held = round(self.calibration * names.size)
        if not 0 < n_held < names.size:
            what = "sample" if names.size == 1 else "different samples or groups"
            raise InvalidInput(
                f"calibration = {self.calibration:g} of {names.size} {what} leaves "
                f"{n_held} to calibrate on and {names.size - n_held} to fit to"
            )
        chance = np.random.default_rng(seed).permutation(names.size)
        held = np.isin(group, chance[:n_held])
        return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))

    def _calibrate(self, held: TwinRows | None) -> None:
        self.calibration_scores_ = self.calibration_weights_ = np.empty(0)
        if held is None:
            return
        far = distances(held.Y, self._answer_in_units(held.X))
        order = np.argsort(far, kind="stable")
        self.calibration_scores_ = far[order]
        self.calibration_weights_ = held.weight[order]
