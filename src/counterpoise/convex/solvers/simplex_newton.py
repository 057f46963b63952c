"""Newton steps over the simplex of few atoms, and the quadratic programme of each."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.compiled import compiled
from counterpoise.numerics.factors import append_row, remove_row, solve_factored


@dataclass(frozen=True, eq=False)
class ActiveAtoms:
    """The columns of the objective's matrix that are in use.

    `active` are their places among `size`.
    """

    objective: Any
    active: Indices
    columns: Any
    size: int

    def corrected(
        self, shares: Array, gap: float, noise: float, most: int
    ) -> tuple[Array, int]:
        """Return better shares and the number of Newton steps that they took.

        A step solves the second-order model over the simplex and searches the line to
        its minimiser; `most` of them, or until one promises less than a fiftieth of
        `gap`. Where a step promises no more than `noise` it is taken in full: a line
        search would only see rounding.
        """
        columns, objective = self.columns, self.objective
        image, taken = columns @ shares, 0
        for _ in range(most):
            slopes, curvature = objective.model(self.active, columns, image)
            wanted = simplex_quadratic(
                np.ascontiguousarray(curvature),
                curvature @ shares - slopes,
                shares,
                1e-4 * gap,
                10 * self.active.size + 20,
            )
            direction = wanted - shares
            fall = -float(slopes @ direction)
            taken += 1
            length = self._length(shares, direction, image) if fall > noise else 1.0
            shares = _clean(shares + length * direction)
            if fall < 0.02 * gap:
                break
            image = columns @ shares
        return shares, taken

    def mixed_in(self, shares: Array, image: Array, n_old: int, steep: float) -> Array:
        """Return shares with every very promising newcomer mixed in by a line search.

        Those after the first `n_old` are newcomers, very promising ones have slopes
        `steep` times the mean one. Far from the optimum a Newton step only doubles
        what is tiny.
        """
        active, columns, objective = self.active, self.columns, self.objective
        for k in range(n_old, active.size):
            slopes = objective.model(active[[k]], columns[:, [k]], image)[0]
            level = shares @ objective.model(active, columns, image)[0]
            if not -slopes[0] > steep * abs(level):
                break
            direction = -shares
            direction[k] += 1.0
            length = self._length(shares, direction, image)
            shares = _clean(shares + length * direction)
            image = columns @ shares
        return shares

    def _length(self, shares: Array, direction: Array, image: Array) -> float:
        """Return the best step in [0, 1] along a direction of the shares."""
        return float(
            self.objective.along(
                _spread(self.active, shares, self.size),
                _spread(self.active, direction, self.size),
                1.0,
                (image, self.columns @ direction),
            )
        )


def _clean(shares: Array) -> Array:
    """Return shares with rounding noise set to zero and sum one."""
    out = np.where(shares > 1e-15, shares, 0.0)
    scaled: Array = out / out.sum()
    return scaled


def _spread(active: Indices, entries: Array, size: int) -> Array:
    """Return a vector of zeros but for the active entries."""
    out = np.zeros(size)
    out[active] = entries
    return out


def simplex_quadratic(
    curvature: Array, linear: Array, start: Array, tol: float, max_pivots: int
) -> Array:
    r"""Return the minimiser of :math:`u'Gu/2 - h'u` over the unit simplex.

    A primal active-set method, warm-started at `start`: a Newton step on the free
    entries, taken until an entry reaches zero (which is then fixed); once it is taken
    in full, the entry with the worst multiplier is freed. The factor of the free part
    of :math:`G + \tau 11'`, which is as good as G on the simplex, lives through added
    and removed rows: O(k^2) a pivot. Steps come from the slopes at the present point,
    so that a nearly singular G costs pivots and not digits.

    Parameters
    ----------
    curvature : array of shape (k, k)
        G, symmetric, positive semidefinite.
    linear : array of shape (k,)
        h.
    start : array of shape (k,)
        A point of the simplex.
    tol : float
        The search ends when no slope promises more than this.
    max_pivots : int
        Ends with the present point, which is never worse than `start`.
    """
    size = linear.size
    tau = float(np.trace(curvature)) / size
    if not (np.isfinite(tau) and np.isfinite(linear).all()):
        # Curvature beyond all floats: no step along it would be one.
        return start / start.sum()
    ridge = 1e-13 * max(tau, 1e-300)
    u = start / start.sum()
    order = np.argsort(u <= 0.0, kind="stable")
    k = int(np.count_nonzero(u))
    factor = np.zeros((size, size))
    some = order[:k]
    block = curvature[np.ix_(some, some)] + tau
    block[np.arange(k), np.arange(k)] += ridge
    try:
        factor[:k, :k] = np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        _factorize(block, factor, ridge)
    curvature = np.ascontiguousarray(curvature)
    return _pivot(curvature, linear, u, factor, order, k, tau, tol, max_pivots)


@compiled
def _factorize(block: Array, factor: Array, least: float) -> None:
    """Fill in the factor of a block that is singular, row by row."""
    for k in range(block.shape[0]):
        append_row(factor, k, block[k, :k].copy(), block[k, k], least)


@compiled
def _pivot(
    curvature: Array,
    linear: Array,
    u: Array,
    factor: Array,
    order: Indices,
    k: int,
    tau: float,
    tol: float,
    max_pivots: int,
) -> Array:
    """Return the minimiser; the first k of `order` are free, as the factor has them."""
    size = linear.size
    ridge = 1e-13 * max(tau, 1e-300)
    slopes = curvature @ u - linear
    free = u > 0.0
    row = np.empty(size)
    refined = 0
    for _ in range(max_pivots):
        step = _newton_step(factor, k, order, slopes, u)
        length = 1.0
        blocking = -1
        for i in range(k):
            if u[order[i]] + step[i] < 0.0:
                ratio = u[order[i]] / -step[i]
                if ratio < length or blocking < 0:
                    length, blocking = ratio, i
        for i in range(k):
            u[order[i]] = max(u[order[i]] + length * step[i], 0.0)
        if blocking >= 0:
            gone = order[blocking]
            u[gone] = 0.0
            free[gone] = False
            remove_row(factor, k, blocking)
            for i in range(blocking, k - 1):
                order[i] = order[i + 1]
            k -= 1
            slopes = curvature @ u - linear
            continue
        slopes = curvature @ u - linear
        level = u @ slopes
        best = -1
        promise = tol
        spread = 0.0
        for i in range(size):
            if free[i]:
                spread = max(spread, abs(slopes[i] - level))
            elif level - slopes[i] > promise:
                best, promise = i, level - slopes[i]
        if best >= 0:
            for j in range(k):
                row[j] = curvature[best, order[j]] + tau
            append_row(factor, k, row, curvature[best, best] + tau + ridge, ridge)
            order[k] = best
            free[best] = True
            k += 1
            refined = 0
        elif spread > tol and refined < 3:
            refined += 1
        else:
            break
    return u / u.sum()


@compiled
def _newton_step(
    factor: Array, k: int, order: Indices, slopes: Array, u: Array
) -> Array:
    """Return the step to the minimum over the free entries, their sum kept."""
    right = np.empty(k)
    for i in range(k):
        right[i] = slopes[order[i]]
    pull = solve_factored(factor, k, right)
    ones = solve_factored(factor, k, np.ones(k))
    step = (pull.sum() / ones.sum()) * ones - pull
    # What rounding leaves of the sum goes to the largest entry.
    largest = 0
    for i in range(k):
        if u[order[i]] > u[order[largest]]:
            largest = i
    step[largest] -= step.sum()
    return step
