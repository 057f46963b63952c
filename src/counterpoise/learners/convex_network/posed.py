"""Constraints on rows at hand: limits of the convex room, and what users are told."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpoise.convex.network import (
    ErrorBound,
    MeanWithin,
    Network,
    OutputLimit,
    RisingRows,
    SignedWeights,
)
from counterpoise.learners.convex_network.asked import Asked, AskedMean
from counterpoise.learners.convex_network.training_rows import NetworkRows
from counterpoise.learners.convex_network.units import Units
from counterpoise.numerics.arrays import Array


class Spreads(NamedTuple):
    """Weighted spreads of the training rows, in the user's units.

    Attributes
    ----------
    y : float
        In which one number is met.
    columns : array of shape (d,)
        By which rows are moved where outputs have to rise.
    """

    y: float
    columns: Array


@dataclass(frozen=True, eq=False)
class Posed:
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


def posed(
    asked: Asked,
    rows: NetworkRows,
    truth: Array,
    target: Array | None,
    target_share: Array | None,
    units: Units,
    spreads: Spreads,
) -> Posed:
    """Return the limits that constraints put on rows.

    Parameters
    ----------
    asked : Asked
    rows : NetworkRows
        In the user's units.
    truth : array of shape (n, n_outputs)
        What the outputs should be, in the units of training.
    target, target_share : arrays or None
        Unlabelled rows in the user's units, and what they count.
    units : Units
    spreads : Spreads
    """
    blocks = [rows.X]
    limits: list[OutputLimit] = []
    exact: list[bool] = []
    for code, bound in asked.class_bounds.items():
        own = np.flatnonzero(rows.y == code)
        if own.size:
            share = rows.weights[own] / rows.weights[own].sum()
            name = asked.names["class_error_bound", code]
            limits.append(
                ErrorBound(name, own, share, truth[own], bound / units.y_spread)
            )
            exact.append(False)
    for code, ends in asked.group_means.items():
        own = np.flatnonzero(rows.groups == code)
        if own.size:
            share = rows.weights[own] / rows.weights[own].sum()
            name = asked.names["group_means", code]
            limits.append(_mean(name, own, share, ends, units, spreads.y))
            exact.append(ends.exact)
    if asked.target_mean is not None and target is not None:
        assert target_share is not None
        first = sum(map(len, blocks))
        blocks.append(target)
        own = np.arange(first, first + len(target))
        limits.append(
            _mean("target_mean", own, target_share, asked.target_mean, units, spreads.y)
        )
        exact.append(asked.target_mean.exact)
    for column, sign in asked.on_rows.items():
        first = sum(map(len, blocks))
        further = blocks[0].copy()
        further[:, column] += spreads.columns[column]
        blocks.append(further)
        here, there = np.arange(len(rows)), np.arange(first, first + len(rows))
        low, up = (here, there) if sign > 0 else (there, here)
        limits.append(RisingRows(asked.names["monotonic_on_rows", column], low, up))
        exact.append(False)
    given = np.vstack(blocks)
    return Posed(units.columns(given), limits, exact, units.y_spread, given)


def signed_weights(asked: Asked, network: Network) -> SignedWeights | None:
    """Return the signs that make a network monotone everywhere.

    The first layer's weights of a column have its sign; all weights of later layers are
    not negative. Activations rise, so the outputs do.
    """
    if not asked.everywhere:
        return None
    places, signs = [], []
    for column, sign in asked.everywhere.items():
        own = first_weights(network, column)
        places.append(own)
        signs.append(np.full(own.size, float(sign)))
    later = np.flatnonzero(network.is_weight)
    later = later[later >= network.starts[1]]
    places.append(later)
    signs.append(np.ones(later.size))
    return SignedWeights("monotonic_cst", np.concatenate(places), np.concatenate(signs))


def first_weights(network: Network, column: int) -> np.ndarray:
    """Return where the first layer's weights of a column are."""
    units = network.sizes[1]
    return np.arange(column * units, (column + 1) * units)


def sign_prices(
    asked: Asked, network: Network, multipliers: Array, spreads: Array
) -> dict[str, float]:
    """Return what the sign of each column costs, summed over its first weights.

    Per unit of the user's coefficients, those of column k being 1 / spread_k of the
    ones in training.
    """
    out, first = {}, 0
    for column in asked.everywhere:
        size = network.sizes[1]
        price = float(multipliers[first : first + size].sum()) * float(spreads[column])
        out[asked.names["monotonic_cst", column]] = price
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


def _mean(
    name: str,
    rows: np.ndarray,
    share: Array,
    ends: AskedMean,
    units: Units,
    y_spread: float,
) -> MeanWithin:
    low, high = ends.ends(y_spread)
    scaled = units.responses(np.array([low, high]))
    return MeanWithin(name, rows, share, float(scaled[0]), float(scaled[1]))
