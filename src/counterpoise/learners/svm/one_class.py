"""A one-class machine for every nu at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from counterpoise.convex.quadratic_path import Follower, centre_bias, from_prices
from counterpoise.learners.svm.base import PathSVM, two_numbers
from counterpoise.learners.svm.gram import gram_rows
from counterpoise.learners.svm.machine import Machine
from counterpoise.learners.svm.path import Segment
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import check_number

# A decision value so close to zero, in units of the offset, is on the edge.
ROUNDING = 1e-10


class OneClassSVMPath(OutlierMixin, PathSVM):
    r"""One-class support vector machines for all nu of a range, exactly.

    .. math:: \min_a a'Ka/2 \quad \text{s.t. } 0 \le a_i \le w_i,\
              \sum_i a_i = \nu \sum_i w_i

    with sample weights w; the decision function is :math:`K a - \rho`, on the scale of
    `sklearn.svm.OneClassSVM`.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Must be positive semidefinite.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gamma : "scale", "auto" or float
        Kernel width: exp(-gamma * dist**2). "scale" uses the weighted variance.
    cache_size : float
        Megabytes that a Gram matrix may take; above, its rows are computed on demand.

    Attributes
    ----------
    path_ : SVMPath
        In nu; `path_.at(nu)` is the machine at one nu.
    nu_ : float
        Where `predict` and `decision_function` stand; after `fit` the end of the range.
    support_, dual_coef_, intercept_, offset_ : arrays and float
        As in scikit-learn, at `nu_`.

    Notes
    -----
    At most a weighted share nu of the training rows is outside, and at least that share
    are support vectors. Where nu times the weights is met without a row on the margin,
    rho is the middle of its interval in the fitted machine.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0]])
    >>> machine = OneClassSVMPath(gamma=1.0).fit(X, nu=(0.1, 0.5))
    >>> machine.path_.at(0.45).decision_function(X[[1, 4]]).round(3)
    array([ 0.023, -0.196])
    """

    C = 1.0

    def __init__(
        self,
        *,
        kernel: str | Callable[[Array, Array], Array] = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        cache_size: float = 200.0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, nu: Any = (0.01, 0.5)
    ) -> "OneClassSVMPath":
        """Follow the machine over a range of nu.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) if precomputed
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
        nu : pair of float
            In (0, 1]: where the path begins and ends.
        """
        first, last = two_numbers("nu", nu)
        for one in (first, last):
            check_number("nu", one, low=0, high=1, closed="right")
        X, weights = self._remember(X, sample_weight)
        self.nu_ = last
        ((machine, p),) = self._pose()
        follower, mass = machine.follower, float(weights.sum())
        from_prices(follower, p, 0.0 * weights, weights, first * mass)
        centre_bias(follower)
        path = follower.move(d=last * mass)
        assert path is not None
        centre_bias(follower)
        self._keep([machine])
        # The path keeps a copy of the machine, which must not keep an older path.
        self.__dict__.pop("path_", None)
        self.path_ = self._path("nu", (Segment(first, last, (path,)),), None)
        self.path_.estimator.path_ = self.path_
        return self

    def decision_function(self, X: Any) -> Array:
        """Return how far inside the rows are at `nu_`; negative is outside.

        Rows on the edge differ from zero by rounding only, and get zero.
        """
        return self._rounded(self._functions(X))

    def score_samples(self, X: Any) -> Array:
        """Return the decision function without its offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Indices:
        """Return 1 for rows inside or on the edge and -1 for rows outside."""
        return self._answers(self._functions(X))

    def _answers(self, functions: Array) -> Indices:
        return np.where(self._rounded(functions) >= 0.0, 1, -1)

    def _rounded(self, functions: Array) -> Array:
        values: Array = functions[:, 0].copy()
        values[np.abs(values) <= ROUNDING * max(1.0, abs(self.offset_))] = 0.0
        return values

    def _check(self) -> None:
        check_number("cache_size", self.cache_size, low=0, closed="neither")

    def _total(self) -> float:
        return self.nu_ * float(self.sample_weight_.sum())

    def _places(self) -> list[tuple[Indices, Array, bool]]:
        n = len(self.X_fit_)
        return [(np.arange(n), np.ones(n), False)]

    def _pose(self) -> list[tuple[Machine, Array]]:
        n = len(self.X_fit_)
        gram = gram_rows(self.kernel_, self.X_fit_, self._bytes)
        machine = Machine(np.arange(n), Follower(gram, np.ones(n)))
        return [(machine, np.zeros(n))]

    def _report(self) -> None:
        self.intercept_ = self._report_support()
        self.offset_ = -float(self.intercept_[0])
