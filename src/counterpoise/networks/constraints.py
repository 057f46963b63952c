"""Hard constraints of convexified networks."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from counterpoise.data.parameters import check_number
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices, positive_zero
from counterpoise.optim.dc_network.constrained_training import ConstrainedTraining
from counterpoise.optim.dc_network.constraints import (
    BestOfAll,
    ErrorBound,
    MeanWithin,
    OutputLimit,
    RisingRows,
    SignedWeights,
    best_of_all,
)
from counterpoise.optim.dc_network.network import Layer, Network

# -----------------------------------------------------------------------------
# Rows that count: equal ones merged, in an order of their own, some held out.
# -----------------------------------------------------------------------------


NO_GROUP = -1


@dataclass(frozen=True, eq=False)
class NetworkRows:
    """Distinct rows with labels, groups and what they count.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Responses, or codes of classes.
    weights : array of shape (n,)
        Positive.
    groups : array of int of shape (n,)
        Codes of groups; -1: in none that matters.
    """

    X: Array
    y: Array
    weights: Array
    groups: Indices

    @classmethod
    def merged(
        cls, X: Array, y: Array, weights: Array, groups: Indices
    ) -> "NetworkRows":
        """Return distinct rows of positive weight, sorted by what they hold.

        So a weight of two is the row twice and a weight of zero its absence, to the
        bit, and the order in which rows came does not matter.
        """
        counted = weights > 0.0
        table = positive_zero(np.column_stack([X, y, groups])[counted])
        distinct, which = np.unique(table, axis=0, return_inverse=True)
        total = np.bincount(which.ravel(), weights[counted], minlength=len(distinct))
        return cls(
            np.ascontiguousarray(distinct[:, :-2]),
            distinct[:, -2].copy(),
            np.asarray(total, dtype=float),
            distinct[:, -1].astype(np.intp),
        )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def share(self) -> Array:
        """Weights of sum one."""
        return self.weights / self.weights.sum()

    def take(self, rows: Indices) -> "NetworkRows":
        """Return some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            weights=self.weights[rows],
            groups=self.groups[rows],
        )

    def divided(
        self, fraction: float, stratify: bool, random: np.random.RandomState
    ) -> tuple["NetworkRows", "NetworkRows | None"]:
        """Return rows to train on, and a fraction of the rows held out.

        With `stratify` the fraction is of every class, rounded down, and each keeps a
        row to train on; without, of all rows.
        """
        if fraction == 0.0:
            return self, None
        strata = np.unique(self.y) if stratify else [None]
        held = np.zeros(len(self), dtype=bool)
        for one in strata:
            own = np.arange(len(self)) if one is None else np.flatnonzero(self.y == one)
            held[random.permutation(own)[: int(fraction * own.size)]] = True
        if not held.any():
            return self, None
        return self.take(np.flatnonzero(~held)), self.take(np.flatnonzero(held))


# -----------------------------------------------------------------------------
# Constraints, read from the parameters.
# -----------------------------------------------------------------------------


# A mean, or its lower and upper end.
Interval: TypeAlias = float | tuple[float, float]
# A mean given as one number holds to this share of the spread of y.
EQUAL_MEANS = 1e-6


@dataclass(frozen=True)
class MeanInterval:
    """Where a mean has to lie, in the user's units.

    Attributes
    ----------
    low, high : float
    exact : bool
        Whether one number was given: its price has a sign.
    """

    low: float
    high: float
    exact: bool = False

    def ends(self, spread: float) -> tuple[float, float]:
        """Return both ends; one number is met to a millionth of the spread of y."""
        give = EQUAL_MEANS * spread if self.exact else 0.0
        return self.low - give, self.high + give


@dataclass(frozen=True)
class Constraints:
    """All constraints of a network by what they speak of, with their names.

    Attributes
    ----------
    class_bounds : dict of int to float
        By the code of the class.
    group_means : dict of int to MeanInterval
        By the code of the group.
    target_mean : MeanInterval or None
    everywhere, on_rows : dict of int to int
        Sign by column: monotone everywhere, or between rows and rows one spread away.
    names : dict
        Of (parameter, key) to the name that users see.
    """

    class_bounds: Mapping[int, float] = field(default_factory=dict)
    group_means: Mapping[int, MeanInterval] = field(default_factory=dict)
    target_mean: MeanInterval | None = None
    everywhere: Mapping[int, int] = field(default_factory=dict)
    on_rows: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[tuple[str, int], str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        some = self.class_bounds or self.group_means or self.everywhere or self.on_rows
        return bool(some) or self.target_mean is not None


def constraint_name(parameter: str, key: Hashable) -> str:
    """Return the name of one constraint of several: ``group_means['north']``."""
    return f"{parameter}[{plain(key)!r}]"


def plain(label: Hashable) -> Hashable:
    """Return a label without numpy around it."""
    return label.item() if isinstance(label, np.generic) else label


def read_class_bounds(
    given: float | Mapping[Any, float] | None, classes: Sequence[Hashable]
) -> dict[int, float]:
    """Return the bound of every class that has one, by its code.

    Parameters
    ----------
    given : None, float or dict of class to float
    classes : sequence
    """
    if given is None:
        return {}
    known = [plain(one) for one in classes]
    if isinstance(given, Mapping) and not given:
        raise InvalidInputError(
            "class_error_bound is empty: name a class, or give None"
        )
    if not isinstance(given, Mapping):
        bound = check_number("class_error_bound", given, low=0.0)
        return dict.fromkeys(range(len(known)), bound)
    out = {}
    for label, bound in given.items():
        if plain(label) not in known:
            raise InvalidInputError(
                f"class_error_bound names {plain(label)!r}, classes are {known}"
            )
        name = constraint_name("class_error_bound", label)
        out[known.index(plain(label))] = check_number(name, bound, low=0.0)
    return out


def read_interval(name: str, given: Interval) -> MeanInterval:
    """Return a mean or a pair of ends, checked."""
    if isinstance(given, tuple | list | np.ndarray):
        if len(given) != 2:
            raise InvalidInputError(
                f"{name} must be a mean or a pair (low, high), got {len(given)} numbers"
            )
        low = check_number(f"{name}[0]", given[0], low=-math.inf, high=math.inf)
        high = check_number(f"{name}[1]", given[1], low=-math.inf, high=math.inf)
        if not low <= high or not (math.isfinite(low) or math.isfinite(high)):
            raise InvalidInputError(
                f"{name} must be a pair (low, high) with low <= high, not both "
                f"infinite, got ({low:g}, {high:g})"
            )
        return MeanInterval(low, high)
    mean = check_number(name, given)
    return MeanInterval(mean, mean, exact=True)


def read_group_intervals(
    given: Mapping[Any, Interval], labels: Sequence[Hashable]
) -> dict[int, MeanInterval]:
    """Return the interval of every group that has one, by its code among `labels`."""
    if isinstance(given, Mapping) and not given:
        raise InvalidInputError("group_means is empty: name a group, or give None")
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            "group_means must be a dict of group to mean or (low, high), got "
            f"{type(given).__name__}"
        )
    known = [plain(one) for one in labels]
    out = {}
    for group, mean in given.items():
        if plain(group) not in known:
            raise InvalidInputError(
                f"group_means names {plain(group)!r}, which no row of positive weight "
                "has in `groups`"
            )
        out[known.index(plain(group))] = read_interval(
            constraint_name("group_means", group), mean
        )
    return out


def read_column_signs(
    parameter: str,
    given: Mapping[Any, int] | Sequence[int] | None,
    n_columns: int,
    names: Sequence[str] | None,
) -> dict[int, int]:
    """Return 1 or -1 by column, as scikit-learn's `monotonic_cst` gives them.

    Parameters
    ----------
    parameter : str
    given : None, dict of column to 1, 0 or -1, or sequence of n_columns of these
        Columns by name, or by number where they have none.
    n_columns : int
    names : sequence of str or None
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        known: list[Hashable] = list(range(n_columns)) if names is None else list(names)
        pairs = []
        for column, sign in given.items():
            if plain(column) not in known:
                raise InvalidInputError(
                    f"{parameter} names {plain(column)!r}, columns are {known}"
                )
            pairs.append((known.index(plain(column)), sign))
    else:
        signs = np.atleast_1d(np.asarray(given, dtype=object)).tolist()
        if len(signs) != n_columns or np.ndim(given) != 1:
            raise InvalidInputError(
                f"{parameter} must be a dict, or have one entry a column: X has "
                f"{n_columns} columns, got {len(signs)} entries"
            )
        pairs = list(enumerate(signs))
    for column, sign in pairs:
        if plain(sign) not in (-1, 0, 1):
            label = column if names is None else names[column]
            raise InvalidInputError(
                f"{constraint_name(parameter, label)} must be 1, 0 or -1, "
                f"got {plain(sign)!r}"
            )
    return {column: int(sign) for column, sign in pairs if sign != 0}


# -----------------------------------------------------------------------------
# Columns and responses on a common scale, and layers between the two units.
# -----------------------------------------------------------------------------


# Columns that vary less have coefficients that are no floats.
_SMALLEST_SPREAD = 1e-304


@dataclass(frozen=True, eq=False)
class Units:
    """How a user's columns and responses become those that are trained on.

    Attributes
    ----------
    mean, spread : arrays of shape (d,)
        Taken off columns, and what they are divided by; a constant column has spread
        one.
    y_mean, y_spread : float
        The same of responses.
    """

    mean: Array
    spread: Array
    y_mean: float = 0.0
    y_spread: float = 1.0

    @classmethod
    def of(cls, X: Array, y: Array | None, share: Array, standardize: bool) -> "Units":
        """Return weighted means and spreads; zeros and ones unless `standardize`.

        A spread below 1e-304, whose inverse is next to no float, is refused.
        """
        if not standardize:
            return cls.none(X.shape[1])
        mean, spread = share @ X, column_spreads(X, share)
        small = np.flatnonzero(spread < _SMALLEST_SPREAD)
        if small.size:
            raise InvalidInputError(
                f"column {small[0]} (counted from 0) varies by {spread[small[0]]:.3g}: "
                "coefficients of so small numbers are beyond floats; multiply the "
                "column"
            )
        if y is None:
            return cls(mean, spread)
        y_spread = column_spreads(y[:, None], share)[0]
        return cls(mean, spread, float(share @ y), float(y_spread))

    @classmethod
    def none(cls, n_columns: int) -> "Units":
        """Return the user's own."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    def columns(self, X: Array) -> Array:
        """Return rows in the units of training."""
        return (X - self.mean) / self.spread

    def responses(self, y: Array) -> Array:
        """Return responses in the units of training."""
        return (y - self.y_mean) / self.y_spread

    def to_user(self, layers: Sequence[Layer]) -> list[Layer]:
        """Return layers of training as layers of the user's units."""
        (w, b), *rest = layers
        scaled = w / self.spread[:, None]
        out = [Layer(scaled, b - self.mean @ scaled), *rest]
        w, b = out[-1]
        out[-1] = Layer(w * self.y_spread, b * self.y_spread + self.y_mean)
        return out

    def to_training(self, layers: Sequence[Layer]) -> list[Layer]:
        """Return layers of the user's units as layers of training."""
        out = list(layers)
        w, b = out[-1]
        out[-1] = Layer(w / self.y_spread, (b - self.y_mean) / self.y_spread)
        w, b = out[0]
        out[0] = Layer(w * self.spread[:, None], b + self.mean @ w)
        return out


def column_spreads(X: Array, share: Array) -> Array:
    """Return weighted standard deviations; one for a constant column.

    Examples
    --------
    >>> column_spreads(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([0.5, 0.5]))
    array([1., 1.])
    """
    mean = share @ X
    apart = X - mean
    # Squares of numbers near one neither vanish nor overflow.
    largest = np.abs(apart).max(axis=0)
    largest = np.where(largest > 0.0, largest, 1.0)
    spread = largest * np.sqrt(share @ (apart / largest) ** 2)
    # What rounding makes of the spread of a constant is not one.
    constant = spread <= 1e-13 * np.abs(mean)
    return np.where(constant, 1.0, spread)


# -----------------------------------------------------------------------------
# Constraints on rows at hand: limits of the convex room, and what users are told.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OutputLimits:
    """Limits on the outputs at some rows, in the units of training.

    Attributes
    ----------
    rows : array
        All rows that limits speak of, those with labels first.
    limits : list of limits
    exact : list of bool
        Whether a mean was given as one number.
    y_spread : float
        The user's unit of an output in that of training.
    given : array
        The rows in the user's units.
    """

    rows: Array
    limits: list[OutputLimit]
    exact: list[bool]
    y_spread: float
    given: Array

    def excesses(self, z: Array) -> dict[str, float]:
        """Return the amount by which each bound is exceeded, in the user's units."""
        return {limit.name: self.y_spread * limit.violation(z) for limit in self.limits}

    def prices(self, below: Array, above: Array) -> dict[str, float]:
        """Return what each bound costs, per unit of the user's.

        Of a mean given as one number: minus the slope of the objective by that number,
        with its sign.
        """
        signs = np.where(self.exact, -1.0, 1.0)
        total = (above + signs * below) / self.y_spread
        return {
            limit.name: float(price)
            for limit, price in zip(self.limits, total, strict=True)
        }


def limits_on_rows(
    constraints: Constraints,
    rows: NetworkRows,
    truth: Array,
    target: Array | None,
    target_share: Array | None,
    units: Units,
    y_spread: float,
    column_spread: Array,
) -> OutputLimits:
    """Return the limits that constraints put on rows.

    Parameters
    ----------
    constraints : Constraints
    rows : NetworkRows
        In the user's units.
    truth : array of shape (n, n_outputs)
        What the outputs should be, in the units of training.
    target, target_share : arrays or None
        Unlabeled rows in the user's units, and what they count.
    units : Units
    y_spread : float
        Weighted spread of the training labels, the unit of means given as one number.
    column_spread : array of shape (d,)
        By which rows are moved where outputs have to rise.
    """
    blocks = [rows.X]
    limits: list[OutputLimit] = []
    exact: list[bool] = []

    def mean_within(
        name: str, own: Indices, share: Array, ends: MeanInterval
    ) -> MeanWithin:
        low, high = units.responses(np.array(ends.ends(y_spread)))
        return MeanWithin(name, own, share, float(low), float(high))

    for code, bound in constraints.class_bounds.items():
        own = np.flatnonzero(rows.y == code)
        if own.size:
            share = rows.weights[own] / rows.weights[own].sum()
            name = constraints.names["class_error_bound", code]
            limits.append(
                ErrorBound(name, own, share, truth[own], bound / units.y_spread)
            )
            exact.append(False)
    for code, ends in constraints.group_means.items():
        own = np.flatnonzero(rows.groups == code)
        if own.size:
            share = rows.weights[own] / rows.weights[own].sum()
            name = constraints.names["group_means", code]
            limits.append(mean_within(name, own, share, ends))
            exact.append(ends.exact)
    if constraints.target_mean is not None and target is not None:
        assert target_share is not None
        first = sum(map(len, blocks))
        blocks.append(target)
        own = np.arange(first, first + len(target))
        ends = constraints.target_mean
        limits.append(mean_within("target_mean", own, target_share, ends))
        exact.append(constraints.target_mean.exact)
    for column, sign in constraints.on_rows.items():
        first = sum(map(len, blocks))
        further = blocks[0].copy()
        further[:, column] += column_spread[column]
        blocks.append(further)
        here, there = np.arange(len(rows)), np.arange(first, first + len(rows))
        low, up = (here, there) if sign > 0 else (there, here)
        limits.append(
            RisingRows(constraints.names["monotonic_on_rows", column], low, up)
        )
        exact.append(False)
    given = np.vstack(blocks)
    return OutputLimits(units.columns(given), limits, exact, units.y_spread, given)


def signed_weights(constraints: Constraints, network: Network) -> SignedWeights | None:
    """Return the signs that make a network monotone everywhere.

    The first layer's weights of a column have its sign; all weights of later layers are
    not negative. Activations rise, so the outputs do.
    """
    if not constraints.everywhere:
        return None
    places, signs, n_units = [], [], network.sizes[1]
    for column, sign in constraints.everywhere.items():
        own = np.arange(column * n_units, (column + 1) * n_units)
        places.append(own)
        signs.append(np.full(own.size, float(sign)))
    later = np.flatnonzero(network.is_weight)
    later = later[later >= network.starts[1]]
    places.append(later)
    signs.append(np.ones(later.size))
    return SignedWeights("monotonic_cst", np.concatenate(places), np.concatenate(signs))


def sign_prices(
    constraints: Constraints, network: Network, multipliers: Array, spreads: Array
) -> dict[str, float]:
    """Return what the sign of each column costs, summed over its first weights.

    Per unit of the user's coefficients, those of column k being 1 / spread_k of the
    ones in training.
    """
    out, first = {}, 0
    for column in constraints.everywhere:
        size = network.sizes[1]
        price = float(multipliers[first : first + size].sum()) * float(spreads[column])
        out[constraints.names["monotonic_cst", column]] = price
        first += size
    return out


def worst_in_words(
    limit: OutputLimit, excess: float, z: Array, units: Units
) -> tuple[float, float]:
    """Return the bound that is exceeded and what is reached, in the user's units."""
    if isinstance(limit, ErrorBound):
        bound = limit.bound * units.y_spread
        return bound, bound + excess * units.y_spread
    if isinstance(limit, MeanWithin):
        low = limit.value(z) < limit.low
        end = limit.low if low else limit.high
        reached = end - excess if low else end + excess
        return (
            end * units.y_spread + units.y_mean,
            reached * units.y_spread + units.y_mean,
        )
    return 0.0, -excess * units.y_spread


# -----------------------------------------------------------------------------
# A constraint that cannot be met: the error that names it, and its proof.
# -----------------------------------------------------------------------------


InfeasibleProof: TypeAlias = Literal[
    "every function", "these hidden layers", "max_iter"
]

_PROVED = {
    "every function": "no function of these inputs meets it",
    "these hidden layers": "proved for these hidden layers: no output layer meets it",
    "max_iter": "not proved: not reached in max_iter, max_time or by the callback",
}
# An excess of the linear program below this share of its largest number is its
# rounding.
EXCESS_IS_ROUNDING = 1e-7


class InfeasibleConstraintError(InvalidInputError):
    """A hard constraint of a network cannot be met, or was not.

    Parameters
    ----------
    constraint : str
        Its name, as in `multipliers_`: ``class_error_bound['MIT']``.
    bound : float
        What was asked for.
    reached : float
        What the point of least violation reaches.
    proof : {"every function", "these hidden layers", "max_iter"}
        The strongest that is known: no function of these inputs meets it (some rows are
        equal, or constraints contradict each other); no output layer does over the
        hidden layers that were reached; or the budget ended before it was met.

    Examples
    --------
    >>> error = InfeasibleConstraintError(
    ...     "class_error_bound['MIT']", 0.05, 0.11, "these hidden layers"
    ... )
    >>> print(error)
    class_error_bound['MIT'] = 0.05 cannot be met: 0.11 is reached (these hidden \
layers: proved for these hidden layers: no output layer meets it)
    """

    def __init__(
        self, constraint: str, bound: float, reached: float, proof: InfeasibleProof
    ) -> None:
        # The arguments themselves go up, so that the error survives pickling.
        super().__init__(constraint, bound, reached, proof)
        self.constraint = constraint
        self.bound = bound
        self.reached = reached
        self.proof = proof

    def __str__(self) -> str:
        can = "was not met" if self.proof == "max_iter" else "cannot be met"
        return (
            f"{self.constraint} = {self.bound:g} {can}: {self.reached:.6g} is reached "
            f"({self.proof}: {_PROVED[self.proof]})"
        )


def excess_of_every_function(training: ConstrainedTraining) -> BestOfAll | None:
    """Return the best of all functions if it exceeds a limit, else None."""
    n_outputs = training.objective.Y.shape[1]
    best = best_of_all(training.rows, n_outputs, training.limits)
    if best is None or not best.excess.max() > EXCESS_IS_ROUNDING * best.unit:
        return None
    return best


def strongest_proof(
    training: ConstrainedTraining, x: Array
) -> tuple[InfeasibleProof, BestOfAll]:
    """Return what is proved at a point that exceeds a limit, and all excesses.

    The strongest that applies: no function of the inputs keeps all limits; no output
    layer over the hidden layers of x does; nothing. Excesses and outputs are those of
    the best of all functions, or of x.
    """
    free = excess_of_every_function(training)
    if free is not None:
        return "every function", free
    outputs = training.objective.network.outputs(x, training.rows)
    own = BestOfAll(training.violations(x), outputs)
    proved = training.output_layer(x).impossible()
    return "these hidden layers" if proved else "max_iter", own
