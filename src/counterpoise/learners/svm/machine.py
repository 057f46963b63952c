"""One quadratic programme on some of the training rows."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from counterpoise.convex.quadratic_path import (
    DenseRows,
    Follower,
    KernelRows,
    ParametricPath,
    carried_over,
    centre_bias,
)
from counterpoise.learners.svm.gram import gram_rows
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel
from counterpoise.validation import InvalidInput


@dataclass(frozen=True, eq=False)
class Machine:
    """A follower, and which training rows its kernel rows are.

    `twice` says that a row has two variables, as in regression: above and below. A
    variable of a row with the weight bound c lies between `low * c` and `high * c`.
    Where `takes_part` is given, rows for which it is False have no weight here.
    """

    rows: Indices
    follower: Follower
    twice: bool = False
    low: float = 0.0
    high: float = 1.0
    takes_part: NDArray[np.bool_] | None = None

    @property
    def beta(self) -> Array:
        """The coefficient of every row of the machine."""
        return self.follower.combined(self.follower.a)

    @property
    def bias(self) -> float:
        """The constant of its function."""
        return self.follower.bias

    def box(self, c: Array) -> tuple[Array, Array]:
        """Return the bounds that the weight bounds of all training rows give."""
        own: Array = c[self.rows]
        if self.takes_part is not None:
            own = np.where(self.takes_part, own, 0.0)
        if self.twice:
            own = np.concatenate([own, own])
        return self.low * own, self.high * own

    def reweigh(self, c: Array, *, taped: bool = False) -> ParametricPath | None:
        """Move the weight bounds, those of all training rows given."""
        lower, upper = self.box(c)
        return self.follower.move(lower=lower, upper=upper, taped=taped)

    def copy(self) -> "Machine":
        """Return a machine at the same place that moves on its own."""
        return replace(self, follower=self.follower.copy())

    def left_out(self, c: Array) -> Array:
        """Return the function at every own row when that row is left out.

        Rows that take no part change nothing by going.
        """
        follower = self.follower
        n = self.rows.size
        out = follower.f.copy()
        lower, upper = self.box(c)
        taking_part = follower.a != 0.0
        if self.twice:
            taking_part = taking_part[:n] | taking_part[n:]
        for i in np.flatnonzero(taking_part):
            low, high = lower.copy(), upper.copy()
            low[i::n] = high[i::n] = 0.0
            other = follower.copy()
            other.move(lower=low, upper=high, taped=False)
            centre_bias(other)
            out[i] = other.place.f[i] + other.bias
        return out

    def carried(
        self,
        kernel: Kernel,
        X: Array,
        n_bytes: float,
        rows: Indices,
        old: Indices,
        sign: Array,
        p: Array,
    ) -> "Machine":
        """Return the machine on other training rows.

        Parameters
        ----------
        kernel : Kernel
        X : array
            All training rows as they are now.
        n_bytes : float
            What a Gram matrix may take.
        rows : array of int
            The machine's rows among them.
        old : array of int
            Which own row each was, -1 for a new one.
        sign, p : arrays
            Of its variables.
        """
        gram = self._gram(kernel, kernel.part(X, rows), n_bytes, old)
        source, row = old, None
        if self.twice:
            below = np.where(old >= 0, old + self.rows.size, -1)
            source = np.concatenate([old, below])
            row = np.concatenate([np.arange(rows.size)] * 2)
        follower = carried_over(self.follower, gram, sign, row, p, source, old)
        return replace(self, rows=rows, follower=follower)

    def _gram(
        self, kernel: Kernel, X: Array, n_bytes: float, old: Indices
    ) -> KernelRows:
        """Return the Gram matrix of other rows, what is known of it taken over."""
        known = old >= 0
        mine = self.follower.rows
        fits = 8.0 * old.size**2 <= n_bytes
        if kernel.kind == "precomputed" or not (fits and isinstance(mine, DenseRows)):
            return gram_rows(kernel, X, n_bytes)
        if known.all():
            return DenseRows(mine.block(old, old))
        K = np.empty((old.size, old.size))
        there, new = np.flatnonzero(known), np.flatnonzero(~known)
        K[np.ix_(there, there)] = mine.block(old[there], old[there])
        K[new] = kernel.matrix(X[new], X)
        K[:, new] = K[new].T
        K[np.ix_(new, new)] = 0.5 * (K[np.ix_(new, new)] + K[np.ix_(new, new)].T)
        return DenseRows(K)


def sensitivity(machine: Machine, cross: Array) -> Array:
    """Return the derivative of the function by the weight bound of every own row.

    Parameters
    ----------
    machine : Machine
    cross : array of shape (n_points, n_rows)
        Kernel of the points with the machine's rows.

    Notes
    -----
    Only rows at a bound that moves with their weight have an effect. They push along
    their own kernel row, and the free rows give way so that they stay on the margin.
    """
    follower = machine.follower
    sign, row = follower.variables.sign, follower.variables.row
    margin = follower.margin
    out = np.zeros((len(cross), machine.rows.size))
    status = follower.place.status
    # How far the bound that a variable sits on moves with its row's weight bound.
    rate = np.where(status == 1, machine.high, np.where(status == 0, machine.low, 0.0))
    pushing = np.flatnonzero(rate)
    if not pushing.size:
        return out
    if not margin.size:
        raise InvalidInput(
            "no row is on the margin: the bias jumps when a weight moves, and the "
            "sensitivity is not defined"
        )
    m = margin.size
    system = np.zeros((m + 1, m + 1))
    system[1:, 1:] = follower.rows.block(row[margin], row[margin])
    system[0, 1:] = system[1:, 0] = 1.0
    right = np.empty((m + 1, pushing.size))
    push = sign[pushing] * rate[pushing]
    right[0] = -push
    right[1:] = -follower.rows.block(row[margin], row[pushing]) * push
    answer = np.linalg.lstsq(system, right, rcond=1e-13)[0]
    effect = cross[:, row[pushing]] * push
    effect = effect + cross[:, row[margin]] @ answer[1:] + answer[0]
    np.add.at(out.T, row[pushing], effect.T)
    return out
