"""A regressor whose means, slopes and totals keep their bounds."""

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import RegressorMixin

from counterpoise.learners.convex_network.base import ConvexNetwork
from counterpoise.learners.convex_network.trade_off import WithTradeOff
from counterpoise.learners.convex_network.units import Units
from counterpoise.numerics.arrays import Array
from counterpoise.validation import as_responses


class ConvexNetworkRegressor(RegressorMixin, WithTradeOff, ConvexNetwork):
    r"""A small network regressor, trained by convex rounds, with hard constraints.

    .. math::

        \min_{w, b} \frac{\sum_i s_i (z(x_i) - y_i)^2}{\sum_i s_i}
        + \frac{\alpha}{2} \sum_l |w_l|^2

    subject to the constraints asked for. Biases are free. A weight of two is the row
    twice, a weight of zero its absence.

    Parameters
    ----------
    hidden : tuple of int
        Units of the hidden layers. (): constrained least squares, one exact programme.
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
    group_means : dict of group to mean or (low, high), or None
        Of the weighted mean prediction of the rows of a group. One number is met to
        1e-6 of the spread of y.
    target_mean : float, (low, high), or None
        The same over the rows of `X_target`.
    monotonic_cst : dict of column to 1 or -1, sequence of 1, 0 and -1, or None
        Predictions rise (fall) with a column, everywhere, by signs of the weights.
    monotonic_on_rows : the same
        Between the training rows and rows one spread further; no promise elsewhere.
    max_rounds : int
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
        The first term of the objective, in units of y's variance where standardised.
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
        hidden: Sequence[int] = (6, 6),
        activation: str = "sigmoid",
        alpha: float = 1e-2,
        standardize: bool = True,
        init: Any = "he",
        warm_start: bool = False,
        certify_rounds: bool = True,
        group_means: Any = None,
        target_mean: Any = None,
        monotonic_cst: Any = None,
        monotonic_on_rows: Any = None,
        max_rounds: int = 40,
        tol: float = 1e-7,
        validation_fraction: float = 0.0,
        infeasible: str = "raise",
        max_time: float | None = None,
        callback: Callable[..., object] | None = None,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.alpha = alpha
        self.standardize = standardize
        self.init = init
        self.warm_start = warm_start
        self.certify_rounds = certify_rounds
        self.group_means = group_means
        self.target_mean = target_mean
        self.monotonic_cst = monotonic_cst
        self.monotonic_on_rows = monotonic_on_rows
        self.max_rounds = max_rounds
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.infeasible = infeasible
        self.max_time = max_time
        self.callback = callback
        self.random_state = random_state

    def predict(self, X: Any) -> Array:
        """Return the predicted values, (n,)."""
        return self.outputs(X)[:, 0]

    def _labels(self, y: Any, weights: Array) -> Array:
        return as_responses(y, len(weights))

    def _truth(self, y: Array, units: Units) -> Array:
        return units.responses(y)[:, None]

    def _own_constraints(self) -> dict[str, Any]:
        return {}

    @property
    def _is_regression(self) -> bool:
        return True

    @property
    def _takes_means(self) -> bool:
        return True
