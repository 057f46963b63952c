"""What both networks share: the door, the rounds, and what is told of them."""

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from counterpoise.convex import Solution
from counterpoise.convex.network import (
    ConstrainedTraining,
    Layer,
    Network,
    NetworkObjective,
    Round,
)
from counterpoise.convex.network.free_values import BestOfAll
from counterpoise.learners.convex_network.starting import (
    activation_named,
    random_weights,
    start_with_signs,
    warm_start_weights,
)
from counterpoise.learners.convex_network.asked import Asked
from counterpoise.learners.convex_network.door import Given, read
from counterpoise.learners.convex_network.infeasible import (
    InfeasibleConstraintError,
    InfeasibleProof,
    excess_of_every_function,
    strongest_proof,
)
from counterpoise.learners.convex_network.posed import (
    Posed,
    Spreads,
    posed,
    sign_prices,
    signed_weights,
    worst_in_words,
)
from counterpoise.learners.convex_network.rounds import not_converged, trained
from counterpoise.learners.convex_network.training_rows import NetworkRows
from counterpoise.learners.convex_network.units import Units, column_spreads
from counterpoise.numerics.arrays import Array
from counterpoise.validation import (
    InvalidInput,
    as_random,
    estimator_matrix,
    warn_user,
)

# What rounding may exceed a constraint by, in units of the outputs.
KEPT_TO = 1e-6


class ConvexNetwork(BaseEstimator):
    """Rows in, outputs out, trained by convex rounds under constraints that hold.

    A kind of network says what its labels are (`_labels`), what the outputs should be
    (`_truth`) and which constraints are its own (`_own_constraints`).
    """

    hidden: Any
    activation: str
    alpha: float
    standardize: bool
    init: Any
    warm_start: bool
    certify_rounds: bool
    group_means: Any
    target_mean: Any
    monotonic_cst: Any
    monotonic_on_rows: Any
    max_rounds: int
    tol: float
    validation_fraction: float
    infeasible: str
    max_time: float | None
    callback: Callable[..., object] | None
    random_state: Any

    @abstractmethod
    def _labels(self, y: Any, weights: Array) -> Array:
        """Return responses, or codes of classes that have a row of positive weight."""

    @abstractmethod
    def _truth(self, y: Array, units: Units) -> Array:
        """Return what outputs should be in the units of training, (n, n_outputs)."""

    @abstractmethod
    def _own_constraints(self) -> dict[str, Any]:
        """Return the parts of `Asked` that this kind of network alone has."""

    @property
    @abstractmethod
    def _is_regression(self) -> bool:
        """Whether y is scaled and rows are held out without regard to it."""

    @property
    @abstractmethod
    def _takes_means(self) -> bool:
        """Whether there is one output, of which means and slopes can be asked."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_target: Any = None,
        groups: Any = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array of shape (n,), optional
            What the rows count; only their ratios matter.
        X_target : array-like, frame, or tuple of them, optional
            Unlabelled rows, which `target_mean` is about.
        groups : array of shape (n,), optional
            The group of every row, which `group_means` is about.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleConstraintError
            If a constraint cannot be met, unless `infeasible="warn"`.
        """
        given = read(self, X, y, sample_weight, X_target, groups)
        before = self._layers_of_last_fit()
        return self._fit(given, before)

    def outputs(self, X: Any) -> Array:
        """Return what the output layer gives, which constraints speak of.

        Parameters
        ----------
        X : array-like or frame of shape (k, d)

        Returns
        -------
        array of shape (k, n_outputs)
        """
        check_is_fitted(self, "coefs_")
        X = estimator_matrix(self, X, reset=False)
        layers = map(Layer, self.coefs_, self.intercepts_)
        return self._network.outputs(Network.pack(list(layers)), X)

    def _layers_of_last_fit(self) -> list[Layer] | None:
        if not self.warm_start or not hasattr(self, "coefs_"):
            return None
        return list(map(Layer, self.coefs_, self.intercepts_))

    # -- the fit -----------------------------------------------------------------------

    def _fit(self, given: Given, before: list[Layer] | None) -> Self:
        """Train from layers of the user's units, or from the start asked for."""
        began = time.perf_counter()
        random = as_random(self.random_state)
        rows, held = given.rows.divided(
            float(self.validation_fraction), not self._is_regression, random
        )
        self._check_held_out(given.asked, rows, held)
        y = rows.y if self._is_regression else None
        units = Units.of(rows.X, y, rows.share, bool(self.standardize))
        truth = self._truth(rows.y, units)
        activation = activation_named(self.activation, self.init)
        sizes = (rows.X.shape[1], *map(int, self.hidden), truth.shape[1])
        network = Network(sizes, activation)
        X = units.columns(rows.X)
        objective = NetworkObjective(network, X, truth, rows.share, float(self.alpha))
        own = column_spreads(self._truth(rows.y, Units.none(1)), rows.share)[0]
        spreads = Spreads(float(own), column_spreads(rows.X, rows.share))
        limits = posed(
            given.asked,
            rows,
            truth,
            given.target,
            given.target_share,
            units,
            spreads,
        )
        signs = signed_weights(given.asked, network)
        first = self._start(objective, units, before, random)
        if signs is not None and before is None and isinstance(self.init, str):
            first = signed_weights(first, signs.places, signs.signs)
        training = ConstrainedTraining(
            objective, limits.rows, limits.limits, signs, first
        )
        if self.infeasible == "raise" and limits.limits:
            self._refuse_the_impossible(training, limits, units)
        rounds: list[Round] = []
        left = self.max_time
        if left is not None:
            left = max(left - (time.perf_counter() - began), 0.0)
        solution = trained(
            training,
            rounds,
            constrained=bool(given.asked),
            proved=bool(self.certify_rounds),
            max_rounds=int(self.max_rounds),
            numbers={"tol": self.tol, "max_time": left, "callback": self.callback},
        )
        self._refuse_or_warn(training, solution, limits, units)
        self._tell(training, solution, rounds, units)
        self._tell_constraints(training, solution.x, limits, given.asked, units)
        self._warn_of_rounding(training, solution.x, units)
        if held is not None:
            self._tell_held_out(given.asked, held, units, spreads)
        return self

    def _start(
        self,
        objective: NetworkObjective,
        units: Units,
        before: list[Layer] | None,
        random: np.random.RandomState,
    ) -> Array:
        network = objective.network
        if before is not None:
            shapes = [layer.weights.shape for layer in before]
            if shapes == list(zip(network.sizes[:-1], network.sizes[1:], strict=True)):
                return network.pack(units.learned(before))
            warn_user("warm_start: the last fit has other layers, so it is not used")
        if isinstance(self.init, str):
            return random_weights(network, random)
        return warm_start_weights(self.init, objective, units)

    # -- what is told ------------------------------------------------------------------

    def _tell(
        self,
        training: ConstrainedTraining,
        solution: Solution,
        rounds: list[Round],
        units: Units,
    ) -> None:
        network = training.objective.network
        layers = units.told(network.unpack(solution.x))
        self.coefs_ = [layer.weights.copy() for layer in layers]
        self.intercepts_ = [layer.biases.copy() for layer in layers]
        self.activation_ = network.activation
        self.solution_ = solution
        self.rounds_ = tuple(rounds)
        history = [line.objective for line in solution.history]
        if not self.hidden:
            history = [training.merit(training.start()), training.merit(solution.x)]
        self.objective_history_ = np.array(history)
        self.loss_ = training.objective.loss(solution.x)
        self.n_iter_ = solution.n_iter

    def _tell_constraints(
        self,
        training: ConstrainedTraining,
        x: Array,
        limits: Posed,
        asked: Asked,
        units: Units,
    ) -> None:
        self.feasibility_ = {"train": self._excesses(asked, limits, units)}
        self.multipliers_ = {}
        if not asked:
            return
        found = training.prices(x)
        if found is None:
            names = self.feasibility_["train"]
            self.multipliers_ = dict.fromkeys(names, float("nan"))
            return
        below, above, weights = found
        network = training.objective.network
        self.multipliers_ = limits.prices(below, above) | sign_prices(
            asked, network, weights, units.spread
        )

    def _tell_held_out(
        self, asked: Asked, held: NetworkRows, units: Units, spreads: Spreads
    ) -> None:
        truth = self._truth(held.y, units)
        there = posed(asked, held, truth, None, None, units, spreads)
        self.feasibility_["validation"] = self._excesses(asked, there, units)

    def _excesses(self, asked: Asked, there: Posed, units: Units) -> dict[str, float]:
        """Return what bounds are exceeded by, of outputs as the user has them."""
        layers = list(map(Layer, self.coefs_, self.intercepts_))
        z = self._network.outputs(Network.pack(layers), there.given)
        signs = [asked.names["monotonic_cst", k] for k in asked.everywhere]
        return there.excesses(units.responses(z)) | dict.fromkeys(signs, 0.0)

    def _warn_of_rounding(
        self, training: ConstrainedTraining, x: Array, units: Units
    ) -> None:
        """Tell of bounds kept in training and exceeded in the user's units.

        By more than 1e-6 of the unit of outputs: columns far from zero, as against
        their spread, lose digits in a plain forward pass.
        """
        worst = max(self.feasibility_["train"].values(), default=0.0) / units.y_spread
        if worst > KEPT_TO and not training.violations(x).any():
            warn_user(
                f"{type(self).__name__}: rounding exceeds a constraint by {worst:.2g}: "
                "a column of X, or y, is too far from zero for its spread; subtract a "
                "constant",
                ConvergenceWarning,
            )

    def _check_held_out(
        self, asked: Asked, rows: NetworkRows, held: NetworkRows | None
    ) -> None:
        """Refuse to hold out all rows that a constraint is about."""
        for code in asked.group_means:
            if not (rows.groups == code).any():
                raise InvalidInput(
                    f"{asked.names['group_means', code]}: validation_fraction = "
                    f"{self.validation_fraction:g} holds out all rows of the group"
                )
        if held is None and self.validation_fraction > 0.0:
            warn_user(
                f"validation_fraction = {self.validation_fraction:g} holds out no row "
                f"of {len(rows)}"
            )

    def _refuse_the_impossible(
        self, training: ConstrainedTraining, limits: Posed, units: Units
    ) -> None:
        """Refuse what no function of the inputs can meet, before any round.

        Looked for where rows are equal, or several kinds of constraints speak of them.
        """
        kinds = {type(limit) for limit in limits.limits}
        if len(kinds) == 1 and len(np.unique(limits.rows, axis=0)) == len(limits.rows):
            return
        best = excess_of_every_function(training)
        if best is not None:
            raise self._error(limits, units, "every function", best)

    def _refuse_or_warn(
        self,
        training: ConstrainedTraining,
        solution: Solution,
        limits: Posed,
        units: Units,
    ) -> None:
        if training.violations(solution.x).any():
            error = self._error(limits, units, *strongest_proof(training, solution.x))
            if self.infeasible == "raise":
                raise error
            warn_user(f"{type(self).__name__}: {error}", ConvergenceWarning)
        elif not solution.converged:
            warn_user(
                f"{type(self).__name__}: {not_converged(solution)}", ConvergenceWarning
            )

    @staticmethod
    def _error(
        limits: Posed, units: Units, proof: InfeasibleProof, found: BestOfAll
    ) -> InfeasibleConstraintError:
        """Return the error about the constraint that is exceeded most."""
        worst = int(found.excess.argmax())
        limit, excess = limits.limits[worst], float(found.excess[worst])
        bound, reached = worst_in_words(limit, excess, found.outputs, units)
        return InfeasibleConstraintError(limit.name, bound, reached, proof)

    @property
    def _network(self) -> Network:
        """The network of the last fit."""
        sizes = (self.coefs_[0].shape[0], *(w.shape[1] for w in self.coefs_))
        return Network(sizes, self.activation_)

    def __sklearn_clone__(self) -> Self:
        # Cloning would forget what a fitted MLP has learned.
        bare = type(self)(**{**self.get_params(deep=False), "init": "he"})
        if hasattr(self, "_metadata_request"):
            bare._metadata_request = self._metadata_request
        copy: Self = super(ConvexNetwork, bare).__sklearn_clone__()
        copy.init = self.init
        return copy

    def _alike(self, **changes: Any) -> Self:
        """Return an unfitted copy with other parameters."""
        copy: Self = clone(self)
        return copy.set_params(**changes)
