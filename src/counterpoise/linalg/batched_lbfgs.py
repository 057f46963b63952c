"""L-BFGS for many small problems at once."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.linalg.arrays import Array, Indices

# Values and gradients of some of the problems, at one point each.
Function = Callable[[Array, Indices], tuple[Array, Array]]

MEMORY = 8  # pairs of steps and changes of the gradient that a problem keeps
FIRST_STEP = 0.1  # in units of the radius
ARMIJO = 1e-4
SHRINK = 0.3
# Steps grow by this where the function does not curve upwards, the radius permitting.
STRETCH, MOST_STRETCH = 4.0, 1e6
MOST_TRIALS = 20
# A decrease below this share of the value is rounding: the gradient then decides.
VALUE_ROUNDING = 1e-10


class Minima(NamedTuple):
    """Where the problems ended.

    Attributes
    ----------
    x : array of shape (m, d)
    value : array of shape (m,)
    residual : array of shape (m,)
        Norm of the gradient times the radius, in units of max(1, |value|); infinite
        where the start had no value or no gradient.
    n_iter : array of shape (m,)
        Steps of each problem.
    """

    x: Array
    value: Array
    residual: Array
    n_iter: Indices


def minimize_together(
    function: Function,
    start: Array,
    *,
    radius: float,
    tol: float,
    max_iter: int = 200,
) -> Minima:
    r"""Return a local minimum of every problem, found by L-BFGS with capped steps.

    Each problem has its own history, step and end: it stops when

    .. math:: |\nabla f(x)| \cdot \text{radius} \le \text{tol} \cdot \max(1, |f(x)|)

    or when no step along its direction decreases the value. Problems that have stopped
    leave, so that a step costs one evaluation of those still moving (a few where the
    step must be shortened), and O(m d) beside it.

    Parameters
    ----------
    function : callable
        Takes points (a, d) and the numbers of the problems they belong to, returns
        values (a,) and gradients (a, d). A point whose value or gradient is not finite
        is not entered.
    start : array of shape (m, d)
    radius : float
        The longest step, and the unit of length: beyond it a quadratic model of the
        function says nothing.
    tol : float
        Gradient at which a problem ends.
    max_iter : int
        Largest number of steps of a problem.

    Examples
    --------
    >>> import numpy as np
    >>> goals = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> def squares(x, which):
    ...     away = x - goals[which]
    ...     return (away**2).sum(axis=1), 2.0 * away
    >>> minimize_together(squares, np.zeros((2, 2)), radius=1.0, tol=1e-9).x.round(6)
    array([[ 1.,  2.],
           [ 3., -1.]])
    """
    x = np.array(start, dtype=float)
    m, d = x.shape
    every = np.arange(m)
    value, gradient = function(x, every)
    residual = _residual(value, gradient, radius)
    history = _History(m, d)
    n_iter = np.zeros(m, dtype=np.intp)
    active = every[np.isfinite(residual) & (residual > tol)]
    for _ in range(max_iter):
        if not active.size:
            break
        step = history.direction(active, gradient[active], radius)
        step *= history.stretch[active, None]
        moved = _search(function, x, value, gradient, active, step, radius)
        new_x, new_value, new_gradient, progressed = moved
        history.append(active, new_x - x[active], new_gradient - gradient[active])
        x[active], value[active], gradient[active] = new_x, new_value, new_gradient
        residual[active] = _residual(new_value, new_gradient, radius)
        n_iter[active] += 1
        # A direction that leads nowhere may be the history's fault, once.
        again = ~progressed & history.forget(active[~progressed], active)
        going = (progressed | again) & (residual[active] > tol)
        active = active[going]
    return Minima(x, value, residual, n_iter)


def _residual(value: Array, gradient: Array, radius: float) -> Array:
    out: Array = np.linalg.norm(gradient, axis=1) * radius
    out = out / np.maximum(1.0, np.abs(value))
    return np.where(np.isfinite(value) & np.isfinite(out), out, np.inf)


def _search(
    function: Function,
    x: Array,
    value: Array,
    gradient: Array,
    active: Indices,
    step: Array,
    radius: float,
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Return where the active problems are after a step, and which moved at all."""
    here, f, g = x[active], value[active], gradient[active]
    slope = np.einsum("ij,ij->i", step, g)
    steepness = np.linalg.norm(g, axis=1)
    length = np.linalg.norm(step, axis=1)
    share = np.minimum(1.0, radius / np.maximum(length, 1e-300))
    out_x, out_f, out_g = here.copy(), f.copy(), g.copy()
    progressed = np.zeros(active.size, dtype=bool)
    todo = np.arange(active.size)
    for _ in range(MOST_TRIALS):
        trial = here[todo] + share[todo, None] * step[todo]
        trial_f, trial_g = function(trial, active[todo])
        lower = trial_f <= f[todo] + ARMIJO * share[todo] * slope[todo]
        level = trial_f <= f[todo] + VALUE_ROUNDING * np.maximum(1.0, np.abs(f[todo]))
        steep = np.linalg.norm(trial_g, axis=1)
        flatter = steep < 0.999 * steepness[todo]
        number = np.isfinite(trial_f) & np.isfinite(steep)
        good = number & (lower | (level & flatter))
        done = todo[good]
        out_x[done], out_f[done], out_g[done] = (
            trial[good],
            trial_f[good],
            trial_g[good],
        )
        progressed[done] = True
        todo = todo[~good]
        if not todo.size:
            break
        share[todo] *= SHRINK
    return out_x, out_f, out_g, progressed


class _History:
    """The last steps of every problem and how its gradient changed along them."""

    def __init__(self, m: int, d: int) -> None:
        self.steps = np.zeros((MEMORY, m, d))
        self.changes = np.zeros((MEMORY, m, d))
        self.inverse = np.zeros((MEMORY, m))  # zero where a pair is not used
        self.scale = np.zeros(m)  # zero: no pair yet
        self.stretch = np.ones(m)  # by how much steps are longer than the model's
        self.count = 0

    def direction(self, active: Indices, gradient: Array, radius: float) -> Array:
        """Return the quasi-Newton step of the active problems."""
        kept = min(self.count, MEMORY)
        places = [(self.count - 1 - j) % MEMORY for j in range(kept)]
        q = gradient.copy()
        alphas = np.zeros((MEMORY, active.size))
        for k in places:
            inverse = self.inverse[k, active]
            alphas[k] = inverse * np.einsum("ij,ij->i", self.steps[k, active], q)
            q -= alphas[k][:, None] * self.changes[k, active]
        norm = np.linalg.norm(gradient, axis=1)
        first = FIRST_STEP * radius / np.maximum(norm, 1e-300)
        scale = self.scale[active]
        q *= np.where(scale > 0.0, scale, first)[:, None]
        for k in reversed(places):
            inverse = self.inverse[k, active]
            beta = inverse * np.einsum("ij,ij->i", self.changes[k, active], q)
            q += (alphas[k] - beta)[:, None] * self.steps[k, active]
        uphill = ~(np.einsum("ij,ij->i", q, gradient) > 0.0)
        q[uphill] = gradient[uphill] * first[uphill, None]
        out: Array = -q
        return out

    def append(self, active: Indices, step: Array, change: Array) -> None:
        """Keep a pair where the function curves upwards along the step."""
        along = np.einsum("ij,ij->i", step, change)
        squares = np.einsum("ij,ij->i", change, change)
        least = 1e-12 * np.sqrt(squares) * np.linalg.norm(step, axis=1)
        used = (along > least) & (along > 0.0)
        # Where the function curves downwards no pair tells how far to go.
        longer = np.minimum(STRETCH * self.stretch[active], MOST_STRETCH)
        self.stretch[active] = np.where(used, 1.0, longer)
        k = self.count % MEMORY
        self.steps[k], self.changes[k], self.inverse[k] = 0.0, 0.0, 0.0
        rows = active[used]
        self.steps[k, rows], self.changes[k, rows] = step[used], change[used]
        self.inverse[k, rows] = 1.0 / along[used]
        self.scale[rows] = along[used] / squares[used]
        self.count += 1

    def forget(self, rows: Indices, active: Indices) -> NDArray[np.bool_]:
        """Drop the history of problems, and tell which of the active ones had any."""
        had: NDArray[np.bool_] = self.scale[active] > 0.0
        self.inverse[:, rows] = 0.0
        self.scale[rows] = 0.0
        self.stretch[rows] = 1.0
        return had
