"""What both networks share: the door, the rounds, and what is told of them."""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from counterpoise.convex import Solution, attested, solve
from counterpoise.convex.network import (
    ConstrainedTraining,
    DirectRounds,
    ExactLayer,
    Layer,
    Network,
    NetworkObjective,
    NetworkTraining,
    ProxLinear,
    Round,
)
from counterpoise.learners.convex_network import asked as asking
from counterpoise.learners.convex_network import starting
from counterpoise.learners.convex_network.asked import Asked
from counterpoise.learners.convex_network.infeasible import (
    InfeasibleConstraintError,
    strongest_proof,
)
from counterpoise.learners.convex_network.posed import (
    Posed,
    posed,
    sign_prices,
    signed_weights,
    worst_in_words,
)
from counterpoise.learners.convex_network.training_rows import NO_GROUP, TrainingRows
from counterpoise.learners.convex_network.units import Units, column_spreads
from counterpoise.numerics.arrays import Array
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    as_classes,
    as_random,
    as_weights,
    check_choice,
    check_integer,
    column_names,
    estimator_matrix,
    estimator_samples,
    warn_user,
)
from counterpoise.validation.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    check_parameters,
)


class Given(NamedTuple):
    """What came through the door of `fit`."""

    rows: TrainingRows
    target: Array | None
    target_share: Array | None
    asked: Asked


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

    _rules: ClassVar[Mapping[str, Rule]] = {
        "alpha": Number(0.0),
        "max_rounds": Integer(1),
        "tol": Number(0.0, closed="neither"),
        "validation_fraction": Number(0.0, 1.0, "left"),
        "infeasible": Choice(("raise", "warn")),
        "max_time": Number(0.0, options=(None,)),
    }

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
        given = self._door(X, y, sample_weight, X_target, groups)
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

    # -- the door ----------------------------------------------------------------------

    def _check(self) -> None:
        check_parameters(self, self._rules)
        for name in ("standardize", "warm_start", "certify_rounds"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                value = getattr(self, name)
                raise InvalidType(f"{name} must be True or False, got {value!r}")
        if not isinstance(self.hidden, tuple | list):
            raise InvalidType(
                "hidden must be a tuple of numbers of units, such as (6, 6), got "
                f"{self.hidden!r}"
            )
        for k, size in enumerate(self.hidden):
            check_integer(f"hidden[{k}]", size, low=1)
        if self.callback is not None and not callable(self.callback):
            raise InvalidType(f"callback must be callable, got {self.callback!r}")

    def _door(
        self, X: Any, y: Any, sample_weight: Any, X_target: Any, groups: Any
    ) -> Given:
        self._check()
        if self.target_mean is not None and X_target is None:
            raise InvalidInput("target_mean is about X_target: pass it to fit")
        if self.group_means is not None and groups is None:
            raise InvalidInput("group_means is about groups: pass them to fit")
        if X_target is not None and self.target_mean is None:
            warn_user("X_target is not used: target_mean is None")
        if groups is not None and self.group_means is None:
            warn_user("groups are not used: group_means is None")
        names = column_names(X)
        matrix, target = estimator_samples(self, X, X_target, reset=True, min_rows=2)
        weights = as_weights(sample_weight, len(matrix))
        labels = self._labels(y, weights)
        counted = weights > 0.0
        codes = np.full(len(matrix), NO_GROUP)
        means: dict[int, Any] = {}
        group_names: list[Any] = []
        if self.group_means is not None:
            all_groups = as_classes(groups, len(matrix), name="groups")
            group_names = list(np.unique(all_groups[counted]))
            means = asking.group_intervals(self.group_means, group_names)
            for code in means:
                codes[all_groups == group_names[code]] = code
        asked = self._asked(matrix.shape[1], names, means, group_names)
        rows = TrainingRows.merged(matrix, labels, weights, codes)
        if self.target_mean is None or target is None:
            return Given(rows, None, None, asked)
        distinct, counts = np.unique(target + 0.0, axis=0, return_counts=True)
        return Given(rows, distinct, counts / counts.sum(), asked)

    def _asked(
        self,
        n_columns: int,
        names: Sequence[str] | None,
        means: Mapping[int, Any],
        group_names: Sequence[Any],
    ) -> Asked:
        signs, rises = (
            asking.column_signs(name, getattr(self, name), n_columns, names)
            for name in ("monotonic_cst", "monotonic_on_rows")
        )
        target = None
        if self.target_mean is not None:
            target = asking.interval("target_mean", self.target_mean)
        if not self._takes_means:
            for name, some in (
                ("group_means", means),
                ("target_mean", target),
                ("monotonic_cst", signs),
                ("monotonic_on_rows", rises),
            ):
                if some:
                    raise InvalidInput(f"{name} of a classifier is for two classes")
        labels: Sequence[Any] = range(n_columns) if names is None else names
        told = {
            **{
                ("group_means", k): asking.told("group_means", group_names[k])
                for k in means
            },
            **{
                ("monotonic_cst", k): asking.told("monotonic_cst", labels[k])
                for k in signs
            },
            **{
                ("monotonic_on_rows", k): asking.told("monotonic_on_rows", labels[k])
                for k in rises
            },
        }
        own = self._own_constraints()
        told |= own.pop("names", {})
        return Asked(
            group_means=means,
            target_mean=target,
            everywhere=signs,
            on_rows=rises,
            names=told,
            **own,
        )

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
        y = rows.y if self._is_regression else None
        units = Units.of(rows.X, y, rows.share, bool(self.standardize))
        truth = self._truth(rows.y, units)
        activation = starting.activation_of(self.activation, self.init)
        sizes = (rows.X.shape[1], *map(int, self.hidden), truth.shape[1])
        network = Network(sizes, activation)
        X = units.columns(rows.X)
        objective = NetworkObjective(network, X, truth, rows.share, float(self.alpha))
        y_spread = column_spreads(self._truth(rows.y, Units.none(1)), rows.share)[0]
        limits = posed(
            given.asked,
            rows,
            truth,
            given.target,
            given.target_share,
            units,
            float(y_spread),
        )
        signs = signed_weights(given.asked, network)
        first = self._start(objective, units, before, random)
        if signs is not None and before is None and isinstance(self.init, str):
            first = starting.with_signs(first, signs.places, signs.signs)
        training = ConstrainedTraining(
            objective, limits.rows, limits.limits, signs, first
        )
        rounds: list[Round] = []
        solution = self._solved(training, bool(given.asked), rounds, began)
        self._refuse_or_warn(training, solution, limits, units)
        self._tell(training, solution, rounds, units)
        self._tell_constraints(training, solution.x, limits, given.asked, units)
        if held is not None:
            self._tell_held_out(given.asked, held, units, float(y_spread))
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
            return starting.drawn(network, random)
        return starting.taken_over(self.init, objective, units)

    def _solved(
        self,
        training: ConstrainedTraining,
        constrained: bool,
        rounds: list[Round],
        began: float,
    ) -> Solution:
        """Return the solution of the one loop; of one programme without hidden layers."""
        left = self.max_time
        if left is not None:
            left = max(left - (time.perf_counter() - began), 0.0)
        numbers: dict[str, Any] = {
            "tol": self.tol,
            "max_time": left,
            "callback": self.callback,
        }
        if not self.hidden:
            return self._solved_layer(training, rounds, numbers)
        numbers["max_iter"] = int(self.max_rounds)
        if constrained:
            return solve(training, ProxLinear(rounds.append), **numbers)
        proved = bool(self.certify_rounds)
        return solve(
            NetworkTraining(training.objective, training.first, proved),
            DirectRounds(proved, rounds.append),
            **numbers,
        )

    @staticmethod
    def _solved_layer(
        training: ConstrainedTraining, rounds: list[Round], numbers: dict[str, Any]
    ) -> Solution:
        layer = training.output_layer(training.first)
        first = layer.signs.kept(training.first) if layer.signs else training.first
        solution = solve(layer, ExactLayer(), first, max_iter=1, **numbers)
        if layer.violation(solution.x) > 0.0 and solution.n_iter:
            # No layer keeps the limits: the one that exceeds them least.
            loose = layer.solved(training.price)
            if loose is not None:
                x = loose[0]
                solution = attested(
                    x, layer.certify(x), solution.tol, n_iter=1, ended=solution.ended
                )
        if solution.n_iter:
            proof = solution.certificate
            rounds.append(
                Round(
                    training.merit(solution.x),
                    exactness=0.0,
                    gap=proof.gap,
                    violation=proof.infeasibility,
                )
            )
        return solution

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
        z = training.objective.network.outputs(x, limits.rows)
        signs = [asked.names["monotonic_cst", k] for k in asked.everywhere]
        self.feasibility_ = {"train": limits.excesses(z) | dict.fromkeys(signs, 0.0)}
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
        self, asked: Asked, held: TrainingRows, units: Units, y_spread: float
    ) -> None:
        truth = self._truth(held.y, units)
        there = posed(asked, held, truth, None, None, units, y_spread)
        z = self._network.outputs(self.solution_.x, there.rows)
        self.feasibility_["validation"] = there.excesses(z)

    def _refuse_or_warn(
        self,
        training: ConstrainedTraining,
        solution: Solution,
        limits: Posed,
        units: Units,
    ) -> None:
        exceeded = training.violations(solution.x)
        if exceeded.any():
            proof, worst, excess = strongest_proof(training, solution.x)
            z = training.objective.network.outputs(solution.x, limits.rows)
            limit = limits.limits[worst]
            bound, reached = worst_in_words(limit, float(excess[worst]), z, units)
            error = InfeasibleConstraintError(limit.name, bound, reached, proof)
            if self.infeasible == "raise":
                raise error
            warn_user(f"{type(self).__name__}: {error}", ConvergenceWarning)
        elif not solution.converged:
            warn_user(
                f"{type(self).__name__}: {solution}; raise max_rounds or tol",
                ConvergenceWarning,
            )

    @property
    def _network(self) -> Network:
        """The network of the last fit."""
        sizes = (self.coefs_[0].shape[0], *(w.shape[1] for w in self.coefs_))
        return Network(sizes, self.activation_)

    def _alike(self, **changes: Any) -> Self:
        """Return an unfitted copy with other parameters."""
        copy: Self = clone(self)
        return copy.set_params(**changes)

