"""A followed path: linear pieces, the free entries in each, and the events."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.quadratic_path.layout import UPPER, Line, Variables
from counterpoise.convex.quadratic_path.problem import BoxQuadratic
from counterpoise.convex.quadratic_path.rows import KernelRows
from counterpoise.convex.quadratic_path.setting import setting_at
from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class ParametricPath:
    """The solution for every theta in [0, 1], linear between breakpoints.

    What is kept grows with the number of free entries in the pieces, not with the
    number of variables.

    Attributes
    ----------
    starts : array of shape (n_pieces,)
        Where the pieces begin; they have a length, and their labels are constant.
    first : array of shape (n_pieces + 1,)
        Where the entries of a piece begin in `free`, `values` and `rates`.
    residuals : array of shape (n_pieces,)
        How far the margin was from its equations where the piece began, as the running
        sums tell; `certify` tells it from scratch.
    event_thetas, event_variables, event_from, event_to : arrays of shape (n_events,)
        The changes of label: 0 lower bound, 1 upper bound, 2 margin.
    """

    rows: KernelRows
    variables: Variables
    line: Line
    labels: Indices
    starts: Array
    biases: Array
    bias_rates: Array
    first: Indices
    events_before: Indices
    residuals: Array
    free: Indices
    values: Array
    rates: Array
    event_thetas: Array
    event_variables: Indices
    event_from: Indices
    event_to: Indices
    end: Array
    end_bias: float

    @cached_property
    def thetas(self) -> Array:
        """The breakpoints, both ends among them."""
        return np.append(self.starts, 1.0) if self.starts.size else np.array([0.0, 1.0])

    @property
    def n_events(self) -> int:
        """The number of changes of label."""
        return int(self.event_thetas.size)

    def piece(self, theta: float) -> int:
        """Return which piece holds at theta; at a breakpoint the one that begins."""
        if not 0.0 <= theta <= 1.0:
            raise ValueError(f"theta must be between 0 and 1, got {theta:g}")
        return max(int(np.searchsorted(self.starts, theta, side="right")) - 1, 0)

    def at(self, theta: float) -> Array:
        """Return the variables at theta; where they jump, the limit from above."""
        if theta == 1.0 or not self.starts.size:
            return self.end.copy()
        k = self.piece(theta)
        labels = self.labels_in(k)
        line = self.line
        bound = np.where(labels == UPPER, line.upper, line.lower)
        rate = np.where(labels == UPPER, line.dupper, line.dlower)
        out: Array = bound + theta * rate
        entries = slice(self.first[k], self.first[k + 1])
        moved = (theta - self.starts[k]) * self.rates[entries]
        out[self.free[entries]] = self.values[entries] + moved
        return out

    def bias(self, theta: float) -> float:
        """Return the multiplier of the equality at theta.

        Where no variable is free it is one of an interval: the one the path came with.
        """
        if theta == 1.0 or not self.starts.size:
            return self.end_bias
        k = self.piece(theta)
        return float(self.biases[k] + (theta - self.starts[k]) * self.bias_rates[k])

    def labels_in(self, k: int) -> Indices:
        """Return the label of every variable in piece k."""
        n_before = self.events_before[k]
        labels = self.labels.copy()
        # Of several changes of one variable the last is the one that stays.
        labels[self.event_variables[:n_before]] = self.event_to[:n_before]
        return labels

    def margin_sizes(self) -> Indices:
        """Return the number of free variables in every piece."""
        return np.diff(self.first)

    def problem(self, theta: float) -> BoxQuadratic:
        """Return the problem at one theta."""
        return setting_at(self.line, theta).problem(self.rows, self.variables)

    def certify(self, theta: float) -> Certificate:
        """Prove the solution at theta from scratch."""
        return self.problem(theta).certify(self.at(theta), hint=self.bias(theta))

    def jumps(self) -> Array:
        """Return the thetas at which the bias jumps."""
        if not self.starts.size:
            return np.empty(0)
        lengths = np.diff(self.thetas)
        ends = self.biases + lengths * self.bias_rates
        following = np.append(self.biases[1:], self.end_bias)
        large = np.abs(following - ends) > 1e-9 * (1.0 + np.abs(ends))
        out: Array = self.thetas[1:][large]
        return out
