"""The base class of convexified networks: inputs, start, rounds."""

import time
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix, estimator_samples
from counterpoise.data.frames import column_names
from counterpoise.data.labels_and_weights import as_classes, row_counts
from counterpoise.data.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    SolverChoice,
    as_random,
    check_choice,
    check_integer,
    check_parameters,
    resolve_solver,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError, warn_user
from counterpoise.linalg.arrays import Array
from counterpoise.networks.constraints import (
    NO_GROUP,
    Constraints,
    InfeasibleConstraintError,
    InfeasibleProof,
    Interval,
    MeanInterval,
    NetworkRows,
    OutputLimits,
    Units,
    column_spreads,
    constraint_name,
    excess_of_every_function,
    limits_on_rows,
    read_column_signs,
    read_group_intervals,
    read_interval,
    sign_prices,
    signed_weights,
    strongest_proof,
    worst_in_words,
)
from counterpoise.optim.dc_network.constrained_training import (
    ConstrainedTraining,
    ExactLayer,
    LayerObjective,
    OutputLayer,
    ProxLinear,
)
from counterpoise.optim.dc_network.constraints import BestOfAll, SignedWeights
from counterpoise.optim.dc_network.network import (
    ACTIVATIONS,
    Activation,
    Layer,
    Network,
    NetworkObjective,
    Softplus,
)
from counterpoise.optim.dc_network.published import ConeRounds
from counterpoise.optim.dc_network.training import (
    PROVED_ROUND,
    DirectRounds,
    NetworkTraining,
    Round,
)
from counterpoise.optim.loop import Solution, Solver, attested, solve

# -----------------------------------------------------------------------------
# Validation of parameters and data.
# -----------------------------------------------------------------------------


NETWORK_SOLVERS = ("auto", "direct", "cone-program", "prox-linear")
UNCONSTRAINED_SOLVERS = ("direct", "cone-program")
NETWORK_SOLVER_CHOICE = SolverChoice(
    NETWORK_SOLVERS, (ConeRounds, DirectRounds, ProxLinear)
)
# What parameters may be.
RULES: Mapping[str, Rule] = {
    "alpha": Number(0.0),
    "max_iter": Integer(1),
    "tol": Number(0.0, closed="neither"),
    "validation_fraction": Number(0.0, 1.0, "left"),
    "infeasible": Choice(("raise", "warn")),
    "solver": NETWORK_SOLVER_CHOICE,
    "max_time": Number(0.0, options=(None,)),
}


class FitInputs(NamedTuple):
    """Validated and merged rows, distinct target rows with shares, constraints."""

    rows: NetworkRows
    target: Array | None
    target_share: Array | None
    constraints: Constraints


def read_inputs(
    net: "ConvexNetwork",
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    X_target: object,
    groups: ArrayLike | None,
) -> FitInputs:
    """Validate the parameters and the data of `fit`."""
    check_parameters(net, RULES)
    for name in ("standardize", "warm_start", "certify_rounds"):
        if not isinstance(getattr(net, name), bool | np.bool_):
            value = getattr(net, name)
            raise InvalidTypeError(f"{name} must be True or False, got {value!r}")
    if not isinstance(net.hidden_layer_sizes, tuple | list):
        raise InvalidTypeError(
            "hidden_layer_sizes must be a tuple of numbers of units, such as (6, 6), "
            f"got {net.hidden_layer_sizes!r}"
        )
    for k, size in enumerate(net.hidden_layer_sizes):
        check_integer(f"hidden_layer_sizes[{k}]", size, low=1)
    if net.callback is not None and not callable(net.callback):
        raise InvalidTypeError(f"callback must be callable, got {net.callback!r}")
    if net.target_mean is not None and X_target is None:
        raise InvalidInputError("target_mean is about X_target: pass it to fit")
    if net.group_means is not None and groups is None:
        raise InvalidInputError("group_means is about groups: pass them to fit")
    if X_target is not None and net.target_mean is None:
        warn_user("X_target is not used: target_mean is None")
    if groups is not None and net.group_means is None:
        warn_user("groups are not used: group_means is None")
    names = column_names(X)
    matrix, target = estimator_samples(net, X, X_target, reset=True, min_rows=2)
    weights = row_counts(sample_weight, len(matrix))
    labels = net._labels(y, weights)
    codes = np.full(len(matrix), NO_GROUP)
    means: dict[int, MeanInterval] = {}
    group_names: list[Hashable] = []
    if net.group_means is not None:
        all_groups = as_classes(groups, len(matrix), name="groups")
        group_names = list(np.unique(all_groups[weights > 0.0]))
        means = read_group_intervals(net.group_means, group_names)
        for code in means:
            codes[all_groups == group_names[code]] = code
    constraints = _read_constraints(net, matrix.shape[1], names, means, group_names)
    rows = NetworkRows.merged(matrix, labels, weights, codes)
    if net.target_mean is None or target is None:
        return FitInputs(rows, None, None, constraints)
    distinct, counts = np.unique(target + 0.0, axis=0, return_counts=True)
    return FitInputs(rows, distinct, counts / counts.sum(), constraints)


def _read_constraints(
    net: "ConvexNetwork",
    n_columns: int,
    names: Sequence[str] | None,
    means: Mapping[int, MeanInterval],
    group_names: Sequence[Hashable],
) -> Constraints:
    """Return all constraints of a network, from its parameters."""
    signs, rises = (
        read_column_signs(name, getattr(net, name), n_columns, names)
        for name in ("monotonic_cst", "monotonic_on_rows")
    )
    target = None
    if net.target_mean is not None:
        target = read_interval("target_mean", net.target_mean)
    if not net._takes_means:
        for name, some in (
            ("group_means", means),
            ("target_mean", target),
            ("monotonic_cst", signs),
            ("monotonic_on_rows", rises),
        ):
            if some:
                raise InvalidInputError(f"{name} of a classifier is for two classes")
    columns: Sequence[Hashable] = range(n_columns) if names is None else names
    bounds = net._class_bounds()
    classes = getattr(net, "classes_", ())
    labels = (
        ("class_error_bound", bounds, classes),
        ("group_means", means, group_names),
        ("monotonic_cst", signs, columns),
        ("monotonic_on_rows", rises, columns),
    )
    return Constraints(
        class_bounds=bounds,
        group_means=means,
        target_mean=target,
        everywhere=signs,
        on_rows=rises,
        names={
            (parameter, k): constraint_name(parameter, keys[k])
            for parameter, codes, keys in labels
            for k in codes
        },
    )


# -----------------------------------------------------------------------------
# Where training begins: drawn, from a scikit-learn MLP, or from the last fit.
# -----------------------------------------------------------------------------


# The smooth ramp that stands for a rectifier.
SMOOTH_RECTIFIER = Softplus(tau=10.0)
_OF_MLP: dict[str, Activation] = {
    "logistic": ACTIVATIONS["sigmoid"],
    "tanh": ACTIVATIONS["tanh"],
    "relu": SMOOTH_RECTIFIER,
}


def select_activation(activation: str, init: object) -> Activation:
    """Return the activation of the initial MLP, else the one of this name.

    A rectifier becomes a softplus with tau 10.
    """
    check_choice("activation", activation, list(ACTIVATIONS))
    if isinstance(init, str):
        check_choice("init", init, ["he"])
        return ACTIVATIONS[activation]
    if not isinstance(init, MLPClassifier | MLPRegressor):
        raise InvalidTypeError(
            "init must be 'he' or a fitted scikit-learn MLPClassifier or MLPRegressor, "
            f"got {type(init).__name__}"
        )
    check_is_fitted(init, "coefs_")
    if init.activation not in _OF_MLP:
        known = ", ".join(map(repr, _OF_MLP))
        raise InvalidInputError(
            f"init has activation {init.activation!r}: {known} can be taken over"
        )
    return _OF_MLP[init.activation]


def warm_start_weights(
    mlp: MLPClassifier | MLPRegressor, objective: NetworkObjective, units: Units
) -> Array:
    """Return the parameters of a fitted MLP, in the units of training.

    A regressor's are taken whole. Of a classifier the hidden layers are, and the last
    layer is fitted to them: its own belongs to another loss.
    """
    network = objective.network
    own = tuple(w.shape[0] for w in mlp.coefs_)
    if own != network.sizes[:-1]:
        raise InvalidInputError(
            f"init has {own[0]} columns and hidden layers {own[1:]}; X has "
            f"{network.sizes[0]} columns and hidden_layer_sizes is "
            f"{network.sizes[1:-1]}"
        )
    layers = [
        Layer(np.asarray(w, dtype=float), np.asarray(b, dtype=float))
        for w, b in zip(mlp.coefs_, mlp.intercepts_, strict=True)
    ]
    # A regressor of counts has an exponential after its last layer.
    linear = isinstance(mlp, MLPRegressor) and mlp.out_activation_ == "identity"
    if linear and layers[-1].biases.size == network.sizes[-1]:
        return network.pack(units.to_training(layers))
    inputs, outputs = network.sizes[-2:]
    empty = Layer(np.zeros((inputs, outputs)), np.zeros(outputs))
    x = network.pack([*units.to_training([*layers[:-1], empty])[:-1], empty])
    last = network.last_inputs(x, objective.X)
    layer = LayerObjective(last, objective.Y, objective.share, objective.alpha)
    solved = OutputLayer(layer, last).solved()
    assert solved is not None
    return np.concatenate([x[: network.starts[-2]], solved[0]])


# -----------------------------------------------------------------------------
# Choice of the rounds.
# -----------------------------------------------------------------------------


def train(
    training: ConstrainedTraining,
    rounds: list[Round],
    *,
    solver: str | Solver,
    constrained: bool,
    proved: bool,
    max_iter: int,
    settings: dict[str, Any],
) -> Solution:
    """Return the solution of the solver loop, and add a record a round to `rounds`.

    Without hidden layers one exact program. By "auto", with constraints prox-linear
    rounds; else direct ones, proved or not.

    Parameters
    ----------
    training : ConstrainedTraining
    rounds : list
    solver : str or Solver
    constrained, proved : bool
    max_iter : int
    settings : dict
        tol, max_time and callback of the loop.
    """
    objective = training.objective
    if objective.network.depth == 1:
        return _one_layer(training, rounds, settings)

    def make(name: str) -> Solver:
        if name == "prox-linear" or (name == "auto" and constrained):
            return ProxLinear()
        return ConeRounds() if name == "cone-program" else DirectRounds(proved)

    if constrained and isinstance(solver, str) and solver in UNCONSTRAINED_SOLVERS:
        raise InvalidInputError(
            f"solver={solver!r} takes no constraints: take 'auto' or 'prox-linear'"
        )
    if not isinstance(solver, str):
        proved = bool(getattr(solver, "proved", proved))
    problem: ConstrainedTraining | NetworkTraining = training
    if not constrained:
        problem = NetworkTraining(objective, training.first, proved)
        candidate = make(solver) if isinstance(solver, str) else solver
        if candidate.accepts.lacking(problem):
            problem = training
    method = resolve_solver("solver", solver, NETWORK_SOLVER_CHOICE, make, problem)
    if isinstance(method, ConeRounds | DirectRounds | ProxLinear):
        listener = method.tell

        def tell(one: Round) -> None:
            rounds.append(one)
            listener(one)

        method = replace(method, tell=tell)
    return solve(problem, method, max_iter=max_iter, **settings)


def _one_layer(
    training: ConstrainedTraining, rounds: list[Round], settings: dict[str, Any]
) -> Solution:
    layer = training.output_layer(training.first)
    solution = solve(layer, ExactLayer(), training.start(), max_iter=1, **settings)
    if not solution.n_iter:
        return solution
    if layer.violation(solution.x) > 0.0:
        # No layer keeps the limits: the one that exceeds them least.
        loose = layer.solved(training.price)
        if loose is not None:
            x, ended = loose[0], solution.ended
            proof = layer.certify(x)
            solution = attested(x, proof, solution.tol, n_iter=1, ended=ended)
    proof = solution.certificate
    merit = training.merit(solution.x)
    rounds.append(
        Round(merit, exactness=0.0, gap=proof.gap, violation=proof.infeasibility)
    )
    return solution


def not_converged_message(solution: Solution) -> str:
    """Return what is told of rounds that ended before `tol` was reached."""
    proof, name = solution.certificate, solution.ended
    if proof.kind == "duality gap":
        return str(solution)
    left = proof.gap if proof.kind == PROVED_ROUND else proof.residual
    about = "at most" if proof.kind == PROVED_ROUND else "about"
    return (
        f"not converged ({name}): one more round may lower the objective "
        f"{proof.objective:.6g} by {about} {left:.2g}, where tol = {solution.tol:g} "
        f"asks for {solution.tol * proof.scale:.2g}; raise max_iter or tol"
    )


# -----------------------------------------------------------------------------
# The base class.
# -----------------------------------------------------------------------------


# What rounding may exceed a constraint by, in units of the outputs.
KEPT_TO = 1e-6


class ConvexNetwork(BaseEstimator):
    """Rows in, outputs out, trained by convex rounds under constraints that hold.

    A kind of network says what its labels are (`_labels`), what the outputs should be
    (`_truth`) and which constraints are its own (`_own_constraints`).
    """

    hidden_layer_sizes: Sequence[int]
    activation: str
    alpha: float
    standardize: bool
    init: str | MLPClassifier | MLPRegressor
    warm_start: bool
    certify_rounds: bool
    solver: str | Solver
    group_means: Mapping[Any, Interval] | None
    target_mean: Interval | None
    monotonic_cst: Mapping[Any, int] | Sequence[int] | None
    monotonic_on_rows: Mapping[Any, int] | Sequence[int] | None
    max_iter: int
    tol: float
    validation_fraction: float
    infeasible: str
    max_time: float | None
    callback: Callable[..., object] | None
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def _labels(self, y: ArrayLike, weights: Array) -> Array:
        """Return responses, or codes of classes that have a row of positive weight."""

    @abstractmethod
    def _truth(self, y: Array, units: Units) -> Array:
        """Return what outputs should be in the units of training, (n, n_outputs)."""

    def _class_bounds(self) -> dict[int, float]:
        """Return the bounds of a classifier on the errors of its classes, by code."""
        return {}

    @property
    @abstractmethod
    def _is_regression(self) -> bool:
        """Whether y is scaled and rows are held out without regard to it."""

    @property
    @abstractmethod
    def _takes_means(self) -> bool:
        """Whether there is one output, of which means and slopes can be constraints."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_target: object = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array of shape (n,), optional
            What the rows count; only their ratios matter.
        X_target : array-like, frame, or tuple of them, optional
            Unlabeled rows, which `target_mean` is about.
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
        inputs = read_inputs(self, X, y, sample_weight, X_target, groups)
        before = None
        if self.warm_start and hasattr(self, "coefs_"):
            before = list(map(Layer, self.coefs_, self.intercepts_))
        return self._fit(inputs, before)

    def outputs(self, X: ArrayLike) -> Array:
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

    # -- the fit -----------------------------------------------------------------------

    def _fit(self, inputs: FitInputs, before: list[Layer] | None) -> Self:
        """Train, from former layers in the user's units if there are some."""
        began = time.perf_counter()
        random = as_random(self.random_state)
        rows, held = inputs.rows.divided(
            float(self.validation_fraction), not self._is_regression, random
        )
        self._check_held_out(inputs.constraints, rows, held)
        y = rows.y if self._is_regression else None
        units = Units.of(rows.X, y, rows.share, bool(self.standardize))
        truth = self._truth(rows.y, units)
        activation = select_activation(self.activation, self.init)
        sizes = (rows.X.shape[1], *map(int, self.hidden_layer_sizes), truth.shape[1])
        network = Network(sizes, activation)
        X = units.columns(rows.X)
        objective = NetworkObjective(network, X, truth, rows.share, float(self.alpha))
        own = column_spreads(self._truth(rows.y, Units.none(1)), rows.share)[0]
        spreads = float(own), column_spreads(rows.X, rows.share)
        limits = limits_on_rows(
            inputs.constraints,
            rows,
            truth,
            inputs.target,
            inputs.target_share,
            units,
            *spreads,
        )
        signs = signed_weights(inputs.constraints, network)
        first = self._start(objective, units, before, random, signs)
        training = ConstrainedTraining(
            objective, limits.rows, limits.limits, signs, first
        )
        if self.infeasible == "raise" and limits.limits:
            self._refuse_the_impossible(training, limits, units)
        rounds: list[Round] = []
        left = self.max_time
        if left is not None:
            left = max(left - (time.perf_counter() - began), 0.0)
        solution = train(
            training,
            rounds,
            solver=self.solver,
            constrained=bool(inputs.constraints),
            proved=bool(self.certify_rounds),
            max_iter=int(self.max_iter),
            settings={"tol": self.tol, "max_time": left, "callback": self.callback},
        )
        self._refuse_or_warn(training, solution, limits, units)
        self._set_fitted(training, solution, rounds, units)
        self._set_feasibility(training, solution.x, limits, inputs.constraints, units)
        self._warn_of_rounding(training, solution.x, units)
        if held is not None:
            truth = self._truth(held.y, units)
            there = limits_on_rows(
                inputs.constraints, held, truth, None, None, units, *spreads
            )
            excesses = self._excesses(inputs.constraints, there, units)
            self.feasibility_["validation"] = excesses
        return self

    def _start(
        self,
        objective: NetworkObjective,
        units: Units,
        before: list[Layer] | None,
        random: np.random.RandomState,
        signs: SignedWeights | None,
    ) -> Array:
        """Return the first parameters: of the last fit, of an MLP, or drawn."""
        network = objective.network
        if before is not None:
            shapes = [layer.weights.shape for layer in before]
            if shapes == list(zip(network.sizes[:-1], network.sizes[1:], strict=True)):
                return network.pack(units.to_training(before))
            warn_user("warm_start: the last fit has other layers, so it is not used")
        if not isinstance(self.init, str):
            return warm_start_weights(self.init, objective, units)
        # He's rule: normal weights of variance 2 / inputs, and zero biases.
        layers = [
            (random.standard_normal((a, b)) * np.sqrt(2.0 / a), np.zeros(b))
            for a, b in zip(network.sizes[:-1], network.sizes[1:], strict=True)
        ]
        x = network.pack(layers)
        if signs is not None:
            x[signs.places] = signs.signs * np.abs(x[signs.places])
        return x

    # -- fitted attributes -------------------------------------------------------------

    def _set_fitted(
        self,
        training: ConstrainedTraining,
        solution: Solution,
        rounds: list[Round],
        units: Units,
    ) -> None:
        network = training.objective.network
        layers = units.to_user(network.unpack(solution.x))
        self.coefs_ = [layer.weights.copy() for layer in layers]
        self.intercepts_ = [layer.biases.copy() for layer in layers]
        self.activation_ = network.activation
        self.solution_ = solution
        self.rounds_ = tuple(rounds)
        history = [line.objective for line in solution.history]
        if not self.hidden_layer_sizes:
            history = [training.merit(training.start()), training.merit(solution.x)]
        self.objective_history_ = np.array(history)
        self.loss_ = training.objective.loss(solution.x)
        self.n_iter_ = solution.n_iter

    def _set_feasibility(
        self,
        training: ConstrainedTraining,
        x: Array,
        limits: OutputLimits,
        constraints: Constraints,
        units: Units,
    ) -> None:
        self.feasibility_ = {"train": self._excesses(constraints, limits, units)}
        self.multipliers_ = {}
        if not constraints:
            return
        found = training.prices(x)
        if found is None:
            names = self.feasibility_["train"]
            self.multipliers_ = dict.fromkeys(names, float("nan"))
            return
        below, above, weights = found
        network = training.objective.network
        self.multipliers_ = limits.prices(below, above) | sign_prices(
            constraints, network, weights, units.spread
        )

    def _excesses(
        self, constraints: Constraints, there: OutputLimits, units: Units
    ) -> dict[str, float]:
        """Return what bounds are exceeded by, of outputs as the user has them."""
        layers = list(map(Layer, self.coefs_, self.intercepts_))
        z = self._network.outputs(Network.pack(layers), there.given)
        signs = [constraints.names["monotonic_cst", k] for k in constraints.everywhere]
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
        self, constraints: Constraints, rows: NetworkRows, held: NetworkRows | None
    ) -> None:
        """Refuse to hold out all rows that a constraint is about."""
        for code in constraints.group_means:
            if not (rows.groups == code).any():
                raise InvalidInputError(
                    f"{constraints.names['group_means', code]}: validation_fraction = "
                    f"{self.validation_fraction:g} holds out all rows of the group"
                )
        if held is None and self.validation_fraction > 0.0:
            warn_user(
                f"validation_fraction = {self.validation_fraction:g} holds out no row "
                f"of {len(rows)}"
            )

    def _refuse_the_impossible(
        self, training: ConstrainedTraining, limits: OutputLimits, units: Units
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
        limits: OutputLimits,
        units: Units,
    ) -> None:
        if training.violations(solution.x).any():
            error = self._error(limits, units, *strongest_proof(training, solution.x))
            if self.infeasible == "raise":
                raise error
            warn_user(f"{type(self).__name__}: {error}", ConvergenceWarning)
        elif not solution.converged:
            warn_user(
                f"{type(self).__name__}: {not_converged_message(solution)}",
                ConvergenceWarning,
            )

    @staticmethod
    def _error(
        limits: OutputLimits, units: Units, proof: InfeasibleProof, found: BestOfAll
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

    def _copy_with(self, **changes: object) -> Self:
        """Return an unfitted copy with other parameters."""
        copy: Self = clone(self)
        return copy.set_params(**changes)
