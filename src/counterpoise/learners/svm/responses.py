"""What machines share that answer with a number: the regressor, and the quantile."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from counterpoise.learners.svm.base import PathSVM, rows_for_curves
from counterpoise.learners.svm.curves.validation_curve import RegressorCurves
from counterpoise.numerics.arrays import Array
from counterpoise.validation import as_responses, as_weights


class ResponseSVM(RegressorMixin, PathSVM):
    """A machine whose function, moved back by `center_`, is its answer."""

    def predict(self, X: Any) -> Array:
        """Return the predicted values, or quantiles.

        Parameters
        ----------
        X : array of shape (m, d), or (m, n) if precomputed
        """
        return self._answers(self._functions(X))

    def _remember_responses(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Array, Array]:
        """Take rows, responses and weights through the door."""
        X, weights = self._remember(X, sample_weight)
        self.y_fit_ = as_responses(y, len(X)).copy()
        # The bias takes any constant up; without it digits are lost far from zero.
        self.center_ = float((weights / weights.sum()) @ self.y_fit_)
        return X, weights

    def _answers(self, functions: Array) -> Array:
        out: Array = functions[:, 0] + self.center_
        return out

    def _report(self) -> None:
        self.intercept_ = self._report_support() + self.center_
        self.n_support_ = np.array([self.support_.size])

    def _curves(
        self,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
        losses: dict[str, tuple[float, float, float]],
    ) -> RegressorCurves | None:
        """Return the curves of losses at validation rows; None without rows.

        A loss is its slopes above and below the tube, and half the tube's width.
        """
        if not rows_for_curves(X_val, y_val, sample_weight_val):
            return None
        (cross,) = self._cross(X_val)
        y = as_responses(y_val, cross.shape[1], name="y_val") - self.center_
        weights = as_weights(sample_weight_val, y.size, name="sample_weight_val")
        return RegressorCurves(cross, y, weights, losses)
