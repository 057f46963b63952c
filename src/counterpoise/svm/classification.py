"""Weighted and one-class support vector machines."""

from copy import copy

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin
from sklearn.metrics import accuracy_score

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.labels_and_weights import as_classes, as_weights
from counterpoise.data.parameters import check_choice, check_number
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.quadratic_path.follower import center_bias, from_prices
from counterpoise.svm.base import (
    ClassifierSVM,
    ClassWeight,
    KernelParameter,
    Layout,
    LeaveOneOut,
    PathSVM,
    Target,
    has_validation_rows,
    sensitivity,
    solve_first,
    two_numbers,
)
from counterpoise.svm.path import ClassifierCurves, Segment, SVMPath

# -----------------------------------------------------------------------------
# A support vector classifier that follows its solution.
# -----------------------------------------------------------------------------


class WeightedSVC(ClassifierSVM):
    r"""Support vector classifier with exact solutions and paths in its weights.

    .. math:: \min_{f, b} \|f\|^2 / 2
              + C \sum_i v_{y_i} w_i \max(0, 1 - y_i (f(x_i) + b))

    with sample weights w and class weights v, as `sklearn.svm.SVC`. More than two
    classes: one against one.

    Parameters
    ----------
    C : float
        Weight of the loss against the norm.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Must be positive semidefinite.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gamma : "scale", "auto" or float
        Kernel width: exp(-gamma * dist**2). "scale" uses the weighted variance.
    tol : float
        Of the first approximate solution, where one is used; the result is exact.
    class_weight : dict, "balanced" or None
        Factors of the classes; "balanced" counts weights.
    cache_size : float
        Megabytes that a Gram matrix may take; above, its rows are computed on demand.
    decision_function_shape : {"ovr", "ovo"}
    break_ties : bool
        Whether `predict` breaks ties by the decision function.
    max_iter : int
        Most events on a path, more are an error; -1: 50 a row and 2000.

    Attributes
    ----------
    classes_ : array
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
    A weight of two is the row twice, a weight of zero its absence. Where no row is on
    the margin the bias is the middle of its interval. Dual coefficients are not unique
    where rows depend on one another; the decision function is.

    References
    ----------
    Karasuyama, Harada, Sugiyama and Takeuchi (2012).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = WeightedSVC(kernel="linear").fit(X, [0, 0, 1, 1])
    >>> path = model.path(sample_weight=[1.0, 0.0, 1.0, 1.0])
    >>> path.at(0.5).decision_function([[1.5]]).round(3), path.certify().holds(1e-9)
    (array([0.5]), True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        cache_size: float = 200.0,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        max_iter: int = -1,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.max_iter = max_iter

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "WeightedSVC":
        """Fit the machines.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) if precomputed
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C, not negative.
        """
        check_choice(
            "decision_function_shape", self.decision_function_shape, ["ovr", "ovo"]
        )
        X, weights = self._set_rows(X, sample_weight)
        self._know_classes(as_classes(y, len(X)))
        self.class_weight_ = self._class_weights(
            self._class_masses(self.codes_, weights, "has")
        )
        machines = self._unsolved()
        c = self._bounds(weights)
        for machine in machines:
            own = self.kernel_.part(X, machine.rows)
            solve_first(machine, self.kernel_, own, c, self.tol)
        self._keep(machines)
        return self

    def path(
        self,
        sample_weight: ArrayLike | None = None,
        *,
        C: tuple[float, float] | None = None,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> SVMPath:
        """Return all models between the present one and another.

        Parameters
        ----------
        sample_weight : array of shape (n,), optional
            The weights at theta = 1; theta = 0 is the fitted model.
        C : pair of float, optional
            The range of the regularization path instead; theta is then C.
        X_val, y_val, sample_weight_val : arrays, optional
            Validation rows, for exact curves of the error.

        Raises
        ------
        PathError
            If the path cannot be followed to its end, with the theta reached.
        """
        ways = {
            "sample_weight": (self._weight_path, sample_weight),
            "C": (self._c_path, C),
        }
        return self._follow(ways, self._curves(X_val, y_val, sample_weight_val))

    def update(
        self,
        sample_weight: ArrayLike | None = None,
        *,
        X_add: ArrayLike | None = None,
        y_add: ArrayLike | None = None,
        sample_weight_add: ArrayLike | None = None,
        remove: ArrayLike | None = None,
    ) -> "WeightedSVC":
        """Move the fitted solution exactly: other weights, rows added, rows removed.

        Parameters
        ----------
        sample_weight : array, optional
            New weights of the rows that are there.
        X_add, y_add, sample_weight_add : arrays, optional
            Rows to add, of the known classes.
        remove : array of int or bool, optional
            Rows to remove, counted as they are now.

        Notes
        -----
        The kernel stays as fitted, a `gamma` of "scale" included, and so do the factors
        of `class_weight`.
        """
        self._live()
        X, weights, stays = self._moved_rows(
            sample_weight, X_add, y_add, sample_weight_add, remove
        )
        codes = self.codes_
        if X_add is not None:
            more = self._codes(y_add, len(X) - len(codes), name="y_add")
            codes = np.concatenate([codes, more])
        self._class_masses(codes, weights, "would have")
        machines, self.codes_ = self._move_rows(X, codes, weights, stays)
        self._keep(machines)
        return self

    def leave_one_out(self) -> LeaveOneOut:
        """Return what the model without each row says about it, exactly."""
        machines = self._live()
        c = self._bounds(self.sample_weight_)
        n = len(self.X_fit_)
        pairwise = np.empty((n, len(machines)))
        for k, machine in enumerate(machines):
            others = np.setdiff1d(np.arange(n), machine.rows)
            if others.size:
                beta = machine.layout.coefficients(machine.follower.a)
                support = np.flatnonzero(beta)
                K = self.kernel_.cross(
                    self.X_fit_[others], self.X_fit_, machine.rows[support]
                )
                pairwise[others, k] = K @ beta[support] + machine.follower.bias
            pairwise[machine.rows, k] = machine.left_out(c)
        predictions = self._answers(pairwise)
        truth = self.classes_[self.codes_]
        right = accuracy_score(truth, predictions, sample_weight=self.sample_weight_)
        return LeaveOneOut(self._shaped(pairwise), predictions, 1.0 - float(right))

    def sensitivity(self, X: ArrayLike | None = None) -> Array:
        """Return the derivative of the decision function by the sample weights.

        Parameters
        ----------
        X : array of shape (m, d), optional
            Where; by default at the training rows.

        Returns
        -------
        array of shape (m, n), or (n_pairs, m, n) for more than two classes
        """
        machines = self._live()
        X = self.X_fit_ if X is None else estimator_matrix(self, X, reset=False)
        unit = self.C * self.class_weight_[self.codes_]
        out = np.zeros((len(machines), len(X), len(self.X_fit_)))
        for k, machine in enumerate(machines):
            cross = self.kernel_.cross(X, self.X_fit_, machine.rows)
            out[k][:, machine.rows] = sensitivity(machine, cross) * unit[machine.rows]
        return out[0] if len(machines) == 1 else out

    def _class_masses(self, codes: Indices, weights: Array, has: str) -> Array:
        """Return the sum of the weights of every class, none of them zero."""
        mass = np.bincount(codes, weights=weights, minlength=len(self.classes_))
        if not mass.all():
            label = self.classes_.tolist()[int(np.argmin(mass))]
            raise InvalidInputError(f"class {label!r} {has} no row of positive weight")
        return np.asarray(mass, dtype=float)

    def _curves(
        self,
        X_val: ArrayLike | None,
        y_val: ArrayLike | None,
        sample_weight_val: ArrayLike | None,
    ) -> ClassifierCurves | None:
        if not has_validation_rows(X_val, y_val, sample_weight_val):
            return None
        if self.break_ties and len(self.classes_) > 2:
            raise InvalidInputError(
                "break_ties must be False for the exact curve of more than two classes"
            )
        cross = self._cross(X_val)
        codes = self._codes(y_val, cross[0].shape[1], name="y_val")
        weights = as_weights(sample_weight_val, codes.size, name="sample_weight_val")
        return ClassifierCurves(cross, codes, weights, len(self.classes_))


# -----------------------------------------------------------------------------
# A one-class machine for every nu at once.
# -----------------------------------------------------------------------------


# A decision value so close to zero, in units of the offset, is on the edge.
EDGE_ROUNDING = 1e-10


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
        kernel: KernelParameter = "rbf",
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
        self,
        X: ArrayLike,
        y: None = None,
        sample_weight: ArrayLike | None = None,
        *,
        nu: tuple[float, float] = (0.01, 0.5),
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
        for end in (first, last):
            check_number("nu", end, low=0, high=1, closed="right")
        X, weights = self._set_rows(X, sample_weight)
        self.nu_ = last
        (machine,) = self._unsolved()
        follower, mass = machine.follower, float(weights.sum())
        p = machine.layout.p
        from_prices(follower, p, 0.0 * weights, weights, first * mass)
        center_bias(follower)
        path = follower.move(d=last * mass)
        center_bias(follower)
        self._keep([machine])
        # The path keeps a copy of the machine, which must not keep an older path.
        self.__dict__.pop("path_", None)
        segments = (Segment(first, last, (path,)),)
        self.path_ = SVMPath("nu", copy(self), segments)
        self.path_.estimator.path_ = self.path_
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return how far inside the rows are at `nu_`; negative is outside.

        Rows on the edge differ from zero by rounding only, and get zero.
        """
        return self._rounded(self._functions(X))

    def score_samples(self, X: ArrayLike) -> Array:
        """Return the decision function without its offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: ArrayLike) -> Indices:
        """Return 1 for rows inside or on the edge and -1 for rows outside."""
        return self._answers(self._functions(X))

    def _answers(self, functions: Array) -> Indices:
        return np.where(self._rounded(functions) >= 0.0, 1, -1)

    def _rounded(self, functions: Array) -> Array:
        values: Array = functions[:, 0].copy()
        values[np.abs(values) <= EDGE_ROUNDING * max(1.0, abs(self.offset_))] = 0.0
        return values

    def _check(self) -> None:
        check_number("cache_size", self.cache_size, low=0, closed="neither")

    @property
    def _target(self) -> Target:
        # Every row is alike; the length is what counts.
        return self.sample_weight_

    def _layouts(self, target: Target) -> list[Layout]:
        n = len(target)
        d = self.nu_ * float(self.sample_weight_.sum())
        return [Layout(np.arange(n), np.ones(n), np.zeros(n), d=d)]

    def _report(self) -> None:
        self.intercept_ = self._report_support()
        self.offset_ = -float(self.intercept_[0])
