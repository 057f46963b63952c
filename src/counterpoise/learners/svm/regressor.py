"""A support vector regressor that follows its solution."""

from collections.abc import Callable
from typing import Any

import numpy as np

from counterpoise.convex.quadratic_path import Follower, centre_bias
from counterpoise.learners.svm.base import two_numbers
from counterpoise.learners.svm.gram import gram_rows
from counterpoise.learners.svm.leave_one_out import LeaveOneOut
from counterpoise.learners.svm.machine import Machine, sensitivity
from counterpoise.learners.svm.path import Segment, SVMPath
from counterpoise.learners.svm.responses import ResponseSVM
from counterpoise.learners.svm.starting import start
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import (
    InvalidInput,
    as_responses,
    check_number,
    estimator_matrix,
)


class WeightedSVR(ResponseSVM):
    r"""Support vector regressor with exact solutions and paths in its weights.

    .. math:: \min_{f, b} \|f\|^2 / 2
              + C \sum_i w_i \max(0, |y_i - f(x_i) - b| - \epsilon)

    with sample weights w, as `sklearn.svm.SVR`.

    Parameters
    ----------
    C : float
        Weight of the loss against the norm.
    epsilon : float
        Half the width of the tube in which errors do not count; zero is the absolute
        loss.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Must be positive semidefinite.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gamma : "scale", "auto" or float
        Kernel width: exp(-gamma * dist**2). "scale" uses the weighted variance.
    tol : float
        Of the first approximate solution, where one is used; the result is exact.
    cache_size : float
        Megabytes that a Gram matrix may take; above, its rows are computed on demand.
    max_iter : int
        Most events on a path, more are an error; -1: 50 a row and 2000.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_ : arrays
        As in scikit-learn.
    coef_ : array of shape (n_machines, d)
        The same for a linear kernel.
    kernel_ : Kernel
        With its numbers.
    n_iter_ : array
        Events of the last move of each machine.

    Notes
    -----
    A weight of two is the row twice, a weight of zero its absence. A path in
    epsilon needs positive values at both ends and in the model.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> model = WeightedSVR(kernel="linear", C=10.0).fit(X, 2.0 * X[:, 0])
    >>> path = model.path(epsilon=(0.1, 0.5))
    >>> path.at(0.5).predict([[3.0]]).round(3), path.certify().holds(1e-9)
    (array([5.9]), True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: str | Callable[[Array, Array], Array] = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 200.0,
        max_iter: int = -1,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "WeightedSVR":
        """Fit the machine.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) if precomputed
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C, not negative.
        """
        check_number("epsilon", self.epsilon, low=0)
        X, weights = self._remember_responses(X, y, sample_weight)
        ((machine, p),) = self._posed()
        target = self.y_fit_ - self.center_
        start(
            machine,
            self.kernel_,
            X,
            p,
            self.C * weights,
            self.tol,
            float(self.epsilon),
            target,
        )
        self._keep([machine])
        return self

    def path(
        self,
        sample_weight: Any = None,
        *,
        C: Any = None,
        epsilon: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> SVMPath:
        """Return all models between the present one and another.

        Parameters
        ----------
        sample_weight : array of shape (n,), optional
            The weights at theta = 1; theta = 0 is the fitted model.
        C : pair of float, optional
            The range of the regularisation path instead; theta is then C.
        epsilon : pair of float, optional
            The range of widths of the tube instead; theta is then epsilon.
        X_val, y_val, sample_weight_val : arrays, optional
            Validation rows, for exact curves of the error.

        Raises
        ------
        PathError
            If the path cannot be followed to its end, with the theta reached.
        """
        given = {"sample_weight": sample_weight, "C": C, "epsilon": epsilon}
        moved, segments = self._followed(given, {"epsilon": self._epsilon_path})
        losses = {
            "absolute": (1.0, 1.0, 0.0),
            "epsilon": (1.0, 1.0, float(self.epsilon)),
        }
        curves = self._curves(X_val, y_val, sample_weight_val, losses)
        return self._path(moved, segments, curves)

    def update(
        self,
        sample_weight: Any = None,
        *,
        X_add: Any = None,
        y_add: Any = None,
        sample_weight_add: Any = None,
        remove: Any = None,
    ) -> "WeightedSVR":
        """Move the fitted solution exactly: other weights, rows added, rows removed.

        Parameters
        ----------
        sample_weight : array, optional
            New weights of the rows that are there.
        X_add, y_add, sample_weight_add : arrays, optional
            Rows to add.
        remove : array of int or bool, optional
            Rows to remove, counted as they are now.

        Notes
        -----
        The kernel stays as fitted, a `gamma` of "scale" included.
        """
        (machine,) = self._live()
        X, weights, stays = self._moved_rows(
            sample_weight, X_add, y_add, sample_weight_add, remove
        )
        y = self.y_fit_
        if not weights.any():
            raise InvalidInput("no row of positive weight would be left")
        if X_add is not None:
            y = np.concatenate([y, as_responses(y_add, len(X) - len(y), name="y_add")])
        self._take_up_epsilon(machine)
        if X_add is not None:
            old = np.where(np.arange(len(X)) < len(self.X_fit_), np.arange(len(X)), -1)
            machine = self._on_rows(machine, X, y, old)
        machine.reweigh(self.C * weights)
        if stays.size < len(X):
            X, y, weights = self.kernel_.part(X, stays), y[stays], weights[stays]
            machine = self._on_rows(machine, X, y, stays)
        self.y_fit_ = y
        self._settle([machine], X, weights)
        return self

    def leave_one_out(self) -> LeaveOneOut:
        """Return what the model without each row says about it, exactly."""
        (machine,) = self._live()
        values = machine.left_out(self.C * self.sample_weight_) + self.center_
        share = self.sample_weight_ / self.sample_weight_.sum()
        error = float(share @ np.abs(values - self.y_fit_))
        return LeaveOneOut(values, values, error)

    def sensitivity(self, X: Any = None) -> Array:
        """Return the derivative of the prediction by the sample weights, (m, n).

        Parameters
        ----------
        X : array of shape (m, d), optional
            Where; by default at the training rows.
        """
        (machine,) = self._live()
        X = self.X_fit_ if X is None else estimator_matrix(self, X, reset=False)
        cross = self.kernel_.cross(X, self.X_fit_, machine.rows)
        out: Array = self.C * sensitivity(machine, cross)
        return out

    def _p(self, y: Array, epsilon: float) -> Array:
        target = y - self.center_
        if epsilon == 0.0:
            return target
        return np.concatenate([target - epsilon, -target - epsilon])

    def _places(self) -> list[tuple[Indices, Array, bool]]:
        n = len(self.X_fit_)
        return [(np.arange(n), np.ones(n), self.solutions_[0][0].size > n)]

    def _width(self) -> float:
        return 1.0 if self.epsilon > 0.0 else 2.0

    def _pose(self) -> list[tuple[Machine, Array]]:
        n = len(self.X_fit_)
        gram = gram_rows(self.kernel_, self.X_fit_, self._bytes)
        rows = np.arange(n)
        p = self._p(self.y_fit_, self.epsilon)
        if self.epsilon == 0.0:
            # With two variables a row both would be on the margin at once.
            return [(Machine(rows, Follower(gram, np.ones(n)), low=-1.0), p)]
        sign = np.repeat([1.0, -1.0], n)
        follower = Follower(gram, sign, np.concatenate([rows, rows]))
        return [(Machine(rows, follower, twice=True), p)]

    def _on_rows(self, machine: Machine, X: Array, y: Array, old: Indices) -> Machine:
        rows = np.arange(len(X))
        sign = np.repeat([1.0, -1.0], len(X)) if machine.twice else np.ones(len(X))
        p = self._p(y, self.epsilon)
        return machine.carried(self.kernel_, X, self._bytes, rows, old, sign, p)

    def _take_up_epsilon(self, machine: Machine) -> None:
        """Move to an epsilon that was set after the fit, as to such a C."""
        if machine.twice != (self.epsilon > 0.0):
            raise InvalidInput(
                f"epsilon was set to {self.epsilon:g} after the fit: to zero or from "
                "it takes a new fit"
            )
        p = self._p(self.y_fit_, self.epsilon)
        if not np.array_equal(p, machine.follower.setting.p):
            machine.follower.move(p=p, taped=False)

    def _epsilon_path(self, ends: Any) -> tuple[Segment, ...]:
        first, last = two_numbers("epsilon", ends)
        if first <= 0.0 or last <= 0.0 or self.epsilon == 0.0:
            raise InvalidInput(
                "epsilon must be positive in the model and on its path, got "
                f"{self.epsilon:g} and ({first:g}, {last:g})"
            )
        (machine,) = (one.copy() for one in self._live())
        machine.follower.move(p=self._p(self.y_fit_, first), taped=False)
        centre_bias(machine.follower)
        path = machine.follower.move(p=self._p(self.y_fit_, last))
        assert path is not None
        return (Segment(first, last, (path,)),)
