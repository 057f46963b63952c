"""Convexified neural network classifier and regressor, and trade-off curves."""

import ast
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

from counterpoise.data.labels_and_weights import as_classes, as_responses
from counterpoise.data.parameters import check_choice, check_number
from counterpoise.errors import InvalidInputError, suppress_warnings, warn_user
from counterpoise.linalg.arrays import Array
from counterpoise.networks.base import ConvexNetwork, read_inputs
from counterpoise.networks.constraints import (
    InfeasibleConstraintError,
    Interval,
    Units,
    constraint_name,
    plain,
    read_class_bounds,
)
from counterpoise.optim.dc_network.network import Layer
from counterpoise.optim.loop import Solver

# -----------------------------------------------------------------------------
# Trade-off curves: fits for descending bounds, each from the last.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Fits of one network over descending bounds of one constraint.

    Attributes
    ----------
    constraint : str
        Its name.
    bounds : array of shape (k,)
        Descending.
    objective, loss : arrays of shape (k,)
        Of the fits; NaN where there is none.
    price : array of shape (k,)
        Minus the slope of the objective by the bound: the multiplier, summed over all
        classes where all have the bound.
    feasible : array of bool of shape (k,)
        Whether the bound was met.
    fitted : tuple
        The fitted estimators; None where the bound was not met.
    """

    constraint: str
    bounds: Array
    objective: Array
    loss: Array
    price: Array
    feasible: NDArray[np.bool_]
    fitted: tuple[ConvexNetwork | None, ...]

    def at(self, bound: float) -> ConvexNetwork:
        """Return the estimator that was fitted with a bound of the list."""
        places = np.flatnonzero(np.isclose(self.bounds, bound, rtol=1e-9, atol=0.0))
        if not places.size:
            raise InvalidInputError(
                f"bound must be one of {self.bounds.tolist()}, got {bound}"
            )
        found = self.fitted[int(places[0])]
        if found is None:
            raise InvalidInputError(
                f"{self.constraint} = {bound:g} was not met: there is no fit"
            )
        return found


class TradeOffMixin(ConvexNetwork):
    """A network that can be fitted for a list of descending bounds."""

    _constraint_names: tuple[str, ...] = ()

    def trade_off(
        self,
        X: ArrayLike,
        y: ArrayLike,
        bounds: Sequence[float],
        *,
        constraint: str = "class_error_bound",
        sample_weight: ArrayLike | None = None,
        X_target: object = None,
        groups: ArrayLike | None = None,
    ) -> TradeOff:
        """Return fits over descending bounds of one constraint, each from the last.

        Parameters
        ----------
        X, y, sample_weight, X_target, groups
            As of `fit`.
        bounds : sequence of float
            Values of the constraint; they are tried from the largest on.
        constraint : str
            "class_error_bound" (classifiers alone): the bound of every class; or the
            name of one constraint: "class_error_bound['MIT']",
            "group_means['north']", "target_mean" (one number: the mean).

        Returns
        -------
        TradeOff

        Notes
        -----
        Other constraints stay as they are. Networks are not convex: a tighter bound is
        met at a higher objective as a rule, and not by necessity.
        """
        parameter, key = self._parse_constraint(constraint)
        wanted = np.unique(
            [check_number(f"bounds[{k}]", one) for k, one in enumerate(bounds)]
        )[::-1]
        if not wanted.size:
            raise InvalidInputError("bounds is empty: at least one is needed")
        name = parameter if key is None else constraint_name(parameter, key)
        fitted: list[ConvexNetwork | None] = []
        before: list[Layer] | None = None
        unproved = 0
        others = getattr(self, parameter)
        if parameter == "class_error_bound" and isinstance(others, Real):
            # One number is the bound of every class; the others keep it.
            every = self._copy_with()
            read_inputs(every, X, y, sample_weight, X_target, groups)
            others = dict.fromkeys(map(plain, every.classes_), others)
        for bound in wanted:
            value: object = float(bound)
            if key is not None:
                value = {**(others if isinstance(others, Mapping) else {}), key: value}
            one = self._copy_with(**{parameter: value, "infeasible": "raise"})
            with suppress_warnings(ConvergenceWarning):
                inputs = read_inputs(one, X, y, sample_weight, X_target, groups)
                try:
                    one._fit(inputs, before)
                except InfeasibleConstraintError:
                    fitted.append(None)
                    continue
            unproved += not one.solution_.converged
            before = list(map(Layer, one.coefs_, one.intercepts_))
            fitted.append(one.set_params(infeasible=self.infeasible))
        if unproved:
            warn_user(
                f"trade_off: {unproved} of {len(fitted)} fits have not converged at "
                f"tol {self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
            )
        met = [one is not None for one in fitted]

        def each(number: Callable[[ConvexNetwork], float]) -> Array:
            return np.array([np.nan if f is None else number(f) for f in fitted])

        def price(net: ConvexNetwork) -> float:
            # All classes where all have the bound.
            own = [
                value
                for other, value in net.multipliers_.items()
                if other == name or other.startswith(f"{name}[")
            ]
            return float(sum(own))

        return TradeOff(
            name,
            wanted,
            each(lambda f: f.objective_history_[-1]),
            each(lambda f: f.loss_),
            each(price),
            np.array(met),
            tuple(fitted),
        )

    def _parse_constraint(self, constraint: str) -> tuple[str, Hashable]:
        """Return the parameter and the key of a constraint's name; None: no key."""
        parts = re.fullmatch(r"(\w+)\[(.*)\]", str(constraint))
        parameter = str(constraint) if parts is None else parts[1]
        check_choice("constraint", parameter, self._constraint_names)
        if parts is None:
            if parameter == "group_means":
                raise InvalidInputError(
                    "constraint must name the group: \"group_means['north']\""
                )
            return parameter, None
        given = getattr(self, parameter)
        for key in given if isinstance(given, Mapping) else ():
            if repr(plain(key)) == parts[2]:
                return parameter, plain(key)
        try:
            return parameter, ast.literal_eval(parts[2])
        except (ValueError, SyntaxError):
            return parameter, parts[2]


# -----------------------------------------------------------------------------
# The classifier.
# -----------------------------------------------------------------------------


class ConvexNetworkClassifier(ClassifierMixin, TradeOffMixin):
    r"""A small network classifier, trained by convex rounds, with hard constraints.

    .. math::

        \min_{w, b} \frac{\sum_i s_i |z(x_i) - y_i|^2}{\sum_i s_i}
        + \frac{\alpha}{2} \sum_l |w_l|^2

    subject to the constraints asked for. Two classes have one output, whose truth is 0
    or 1 in the order of `classes_`; more have one output each. Biases are free. A
    weight of two is the row twice, a weight of zero its absence.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        Units of the hidden layers. (): constrained least squares, one exact program.
    activation : {"sigmoid", "tanh", "softplus"}
        Of the hidden layers; an MLP given as `init` brings its own.
    alpha : float
        Weight decay, not negative.
    standardize : bool
        Whether columns are brought to weighted mean 0 and spread 1; `alpha` counts
        there. Columns of very different scales saturate a network.
    init : "he" or fitted MLPClassifier or MLPRegressor
        Where training begins: drawn by He's rule, or at the layers of an MLP (a
        classifier's hidden layers; logistic and tanh, and relu as a softplus with tau
        10).
    warm_start : bool
        Whether training begins at the last fit's layers.
    certify_rounds : bool
        Without constraints: whether every round is proved to reach its global minimum.
        False: rounds of eta 0.01, faster, monotone all the same.
    solver : str or Solver, default="auto"
        Rounds of networks with hidden layers. "auto": "prox-linear" under constraints,
        else "direct". "cone-program": the published rounds, for few rows. Or a solver
        object of `counterpoise.optim` with settings of its own, such as
        ``ConeRounds(eta=10.0)`` or ``DirectRounds(proved=False, eta=0.1)``, whose
        `proved` stands for `certify_rounds`.
    class_error_bound : float, dict of class to float, or None
        kappa: the weighted mean of abs(z - y) over the rows of each class, outputs
        summed, is at most that.
    group_means : dict of group to mean or (low, high), or None
        Of the weighted mean output of the rows of a group; two classes only. One number
        is met to 1e-6 of the spread of y.
    target_mean : float, (low, high), or None
        The same over the rows of `X_target`.
    monotonic_cst : dict of column to 1 or -1, sequence of 1, 0 and -1, or None
        The output rises (falls) with a column, everywhere, by signs of the weights; two
        classes only.
    monotonic_on_rows : the same
        Between the training rows and rows one spread further; no promise elsewhere.
    max_iter : int
        Largest number of rounds.
    tol : float
        What a further round may lower the objective by, in units of the loss of the
        best constant.
    validation_fraction : float
        Share of the rows of every class that is held out, for
        ``feasibility_["validation"]``.
    infeasible : {"raise", "warn"}
        What happens where a constraint cannot be met: an `InfeasibleConstraintError`,
        or a warning and the least violation.
    max_time : float or None
        Seconds after which no further round begins.
    callback : callable or None
        Called with the `Progress` at the start and after every round; True ends the
        search.
    random_state : None, int or RandomState
        Draws the start and the rows that are held out.

    Attributes
    ----------
    classes_ : array
    coefs_, intercepts_ : lists of arrays
        As scikit-learn's MLP, in the units of X: a plain forward pass gives `outputs`.
    objective_history_ : array
        The objective at the start and after every round; with constraints the merit,
        which adds a thousand times what bounds are exceeded by. It never rises.
    loss_ : float
        The first term of the objective.
    rounds_ : tuple of Round
        `objective`, `exactness` (at most one proves the round), `gap`, `gradient`,
        `violation`, `eta` of each.
    feasibility_ : dict
        "train" (and "validation"): name to the amount by which the bound is exceeded.
    multipliers_ : dict
        Name to price: minus the slope of the objective by the bound; zero where the
        bound does not matter, with a sign for a mean given as one number.
    activation_ : Activation
    n_iter_ : int
    solution_ : Solution
        The parameters in the units of training, with their certificate.

    Notes
    -----
    Certificates: "global minimum of the proximal round" proves how much another round
    around the point could do at most; "stationarity" (with constraints, or without
    proof) bounds nothing; without hidden layers a duality gap. None of them but the
    last speaks of the global minimum of the objective. Proved rounds are short: they
    cost some speed. The constraints hold on the rows of `fit`, to 1e-6, and
    ``feasibility_["validation"]`` tells how they fare on others.

    Rounds without constraints minimize the objective and a regularizer around a center
    by L-BFGS; a backward pass proves that no other point is lower. Rounds with
    constraints linearize the outputs, keep loss and constraints as they are, and solve
    the output layer exactly. Published rounds penalize biases as well; here they are
    free.

    A bound of 0.5, as published, asks for a mean misfit at the threshold of decision
    and no more. On imbalanced Yeast (1:5 to 1:20) it errs six to thirteen points more
    than balanced class weights do; one of 0.25 errs one to four points more, keeps its
    bound, and needs no weights (``benchmarks/convex_network``).

    References
    ----------
    Zohrizadeh (2019), chapter 4; Drusvyatskiy and Paquette (2019).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 1.2, "rare", "usual")
    >>> net = ConvexNetworkClassifier(class_error_bound={"rare": 0.25}, tol=1e-3)
    >>> net.set_params(random_state=0).fit(X, y).feasibility_["train"]
    {"class_error_bound['rare']": 0.0}
    """

    _constraint_names = (
        "class_error_bound",
        "group_means",
        "target_mean",
    )

    def __init__(
        self,
        *,
        hidden_layer_sizes: Sequence[int] = (6, 6),
        activation: str = "sigmoid",
        alpha: float = 1e-2,
        standardize: bool = True,
        init: str | MLPClassifier | MLPRegressor = "he",
        warm_start: bool = False,
        certify_rounds: bool = True,
        solver: str | Solver = "auto",
        class_error_bound: float | Mapping[Any, float] | None = None,
        group_means: Mapping[Any, Interval] | None = None,
        target_mean: Interval | None = None,
        monotonic_cst: Mapping[Any, int] | Sequence[int] | None = None,
        monotonic_on_rows: Mapping[Any, int] | Sequence[int] | None = None,
        max_iter: int = 40,
        tol: float = 1e-7,
        validation_fraction: float = 0.0,
        infeasible: str = "raise",
        max_time: float | None = None,
        callback: Callable[..., object] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.alpha = alpha
        self.standardize = standardize
        self.init = init
        self.warm_start = warm_start
        self.certify_rounds = certify_rounds
        self.solver = solver
        self.class_error_bound = class_error_bound
        self.group_means = group_means
        self.target_mean = target_mean
        self.monotonic_cst = monotonic_cst
        self.monotonic_on_rows = monotonic_on_rows
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.infeasible = infeasible
        self.max_time = max_time
        self.callback = callback
        self.random_state = random_state

    def decision_function(self, X: ArrayLike) -> Array:
        """Return outputs minus 0.5, (n,), of two classes; of more, the outputs."""
        z = self.outputs(X)
        return z[:, 0] - 0.5 if len(self.classes_) == 2 else z

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the classes.

        Of two the second where its output is above 0.5, of more the first of the
        largest.
        """
        z = self.outputs(X)
        if len(self.classes_) == 2:
            return self.classes_[(z[:, 0] > 0.5).astype(np.intp)]
        return self.classes_[np.argmax(z, axis=1)]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return outputs clipped to [0, 1] and normalized, a column a class.

        Of more than two classes the largest output has all where none is positive.
        """
        z = np.clip(self.outputs(X), 0.0, 1.0)
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - z[:, 0], z[:, 0]])
        empty = ~z.any(axis=1)
        if empty.any():
            largest = np.argmax(self.outputs(X)[empty], axis=1)
            z[np.flatnonzero(empty), largest] = 1.0
        return z / z.sum(axis=1, keepdims=True)

    def _labels(self, y: ArrayLike, weights: Array) -> Array:
        labels = as_classes(y, len(weights))
        counted = weights > 0.0
        self.classes_ = np.unique(labels[counted])
        if len(self.classes_) < 2:
            raise InvalidInputError(
                "The number of classes has to be greater than one; got "
                f"{len(self.classes_)} class"
            )
        places = np.searchsorted(self.classes_, labels)
        # Rows of weight zero may have a class of their own, and are left out.
        return np.minimum(places, len(self.classes_) - 1).astype(float)

    def _truth(self, y: Array, units: Units) -> Array:
        if len(self.classes_) == 2:
            return y[:, None].copy()
        return np.eye(len(self.classes_))[y.astype(np.intp)]

    def _class_bounds(self) -> dict[int, float]:
        return read_class_bounds(self.class_error_bound, list(self.classes_))

    @property
    def _is_regression(self) -> bool:
        return False

    @property
    def _takes_means(self) -> bool:
        return len(self.classes_) == 2


# -----------------------------------------------------------------------------
# The regressor.
# -----------------------------------------------------------------------------


class ConvexNetworkRegressor(RegressorMixin, TradeOffMixin):
    r"""A small network regressor, trained by convex rounds, with hard constraints.

    .. math::

        \min_{w, b} \frac{\sum_i s_i (z(x_i) - y_i)^2}{\sum_i s_i}
        + \frac{\alpha}{2} \sum_l |w_l|^2

    subject to the constraints asked for. Biases are free. A weight of two is the row
    twice, a weight of zero its absence.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        Units of the hidden layers. (): constrained least squares, one exact program.
    activation : {"sigmoid", "tanh", "softplus"}
        Of the hidden layers; an MLP given as `init` brings its own.
    alpha : float
        Weight decay, not negative.
    standardize : bool
        Whether columns and y are brought to weighted mean 0 and spread 1. The objective
        counts there, `alpha` with it; bounds are in the user's units all the same.
    init : "he" or fitted MLPRegressor or MLPClassifier
        Where training begins: drawn by He's rule, or at the layers of an MLP (a
        regressor's whole; logistic and tanh, and relu as a softplus with tau 10).
    warm_start : bool
        Whether training begins at the last fit's layers.
    certify_rounds : bool
        Without constraints: whether every round is proved to reach its global minimum.
        False: rounds of eta 0.01, faster, monotone all the same.
    solver : str or Solver, default="auto"
        Rounds of networks with hidden layers. "auto": "prox-linear" under constraints,
        else "direct". "cone-program": the published rounds, for few rows. Or a solver
        object of `counterpoise.optim` with settings of its own, such as
        ``ConeRounds(eta=10.0)`` or ``DirectRounds(proved=False, eta=0.1)``, whose
        `proved` stands for `certify_rounds`.
    group_means : dict of group to mean or (low, high), or None
        Of the weighted mean prediction of the rows of a group. One number is met to
        1e-6 of the spread of y.
    target_mean : float, (low, high), or None
        The same over the rows of `X_target`.
    monotonic_cst : dict of column to 1 or -1, sequence of 1, 0 and -1, or None
        Predictions rise (fall) with a column, everywhere, by signs of the weights.
    monotonic_on_rows : the same
        Between the training rows and rows one spread further; no promise elsewhere.
    max_iter : int
        Largest number of rounds.
    tol : float
        What a further round may lower the objective by, in units of the loss of the
        best constant.
    validation_fraction : float
        Share of the rows that is held out, for ``feasibility_["validation"]``.
    infeasible : {"raise", "warn"}
        What happens where a constraint cannot be met: an `InfeasibleConstraintError`,
        or a warning and the least violation.
    max_time : float or None
        Seconds after which no further round begins.
    callback : callable or None
        Called with the `Progress` at the start and after every round; True ends the
        search.
    random_state : None, int or RandomState
        Draws the start and the rows that are held out.

    Attributes
    ----------
    coefs_, intercepts_ : lists of arrays
        As scikit-learn's MLP, in the units of X and y: a plain forward pass gives the
        predictions.
    objective_history_ : array
        The objective at the start and after every round; with constraints the merit,
        which adds a thousand times what bounds are exceeded by. It never rises.
    loss_ : float
        The first term of the objective, in units of y's variance where standardized.
    rounds_, feasibility_, multipliers_, activation_, n_iter_, solution_
        As of `ConvexNetworkClassifier`.

    Notes
    -----
    As of `ConvexNetworkClassifier`.

    References
    ----------
    Zohrizadeh (2019), chapter 4; Drusvyatskiy and Paquette (2019).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> net = ConvexNetworkRegressor(target_mean=1.0, tol=1e-3, random_state=0)
    >>> _ = net.fit(X, np.sin(X[:, 0]), X_target=X + 1.0)
    >>> net.predict(X + 1.0).mean().round(4), net.multipliers_["target_mean"] < 0
    (np.float64(1.0), True)
    """

    _constraint_names = ("group_means", "target_mean")

    def __init__(
        self,
        *,
        hidden_layer_sizes: Sequence[int] = (6, 6),
        activation: str = "sigmoid",
        alpha: float = 1e-2,
        standardize: bool = True,
        init: str | MLPClassifier | MLPRegressor = "he",
        warm_start: bool = False,
        certify_rounds: bool = True,
        solver: str | Solver = "auto",
        group_means: Mapping[Any, Interval] | None = None,
        target_mean: Interval | None = None,
        monotonic_cst: Mapping[Any, int] | Sequence[int] | None = None,
        monotonic_on_rows: Mapping[Any, int] | Sequence[int] | None = None,
        max_iter: int = 40,
        tol: float = 1e-7,
        validation_fraction: float = 0.0,
        infeasible: str = "raise",
        max_time: float | None = None,
        callback: Callable[..., object] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.alpha = alpha
        self.standardize = standardize
        self.init = init
        self.warm_start = warm_start
        self.certify_rounds = certify_rounds
        self.solver = solver
        self.group_means = group_means
        self.target_mean = target_mean
        self.monotonic_cst = monotonic_cst
        self.monotonic_on_rows = monotonic_on_rows
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.infeasible = infeasible
        self.max_time = max_time
        self.callback = callback
        self.random_state = random_state

    def predict(self, X: ArrayLike) -> Array:
        """Return the predicted values, (n,)."""
        return self.outputs(X)[:, 0]

    def _labels(self, y: ArrayLike, weights: Array) -> Array:
        return as_responses(y, len(weights))

    def _truth(self, y: Array, units: Units) -> Array:
        return units.responses(y)[:, None]

    @property
    def _is_regression(self) -> bool:
        return True

    @property
    def _takes_means(self) -> bool:
        return True
