"""Newton's method on the dual of regularized discrepancy minimization."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from counterpoise.linalg.arrays import Array
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.sets import project_simplex
from counterpoise.optim.spectral.problem import Discrepancy, DualMatrix
from counterpoise.optim.spectral.working_set import NEEDS_MOMENTS, Incumbent, no_choice

# -----------------------------------------------------------------------------
# Newton steps over dual matrices, where weights have a price of their own.
#
# With a spread the weights of a dual matrix are unique, and
#
# .. math:: L(Y) = \langle A_P, Y \rangle + \min_z \Bigl[b \bigl(|z|^2 -
# \tfrac1m\bigr)
#         - \sum_i z_i x_i'Yx_i\Bigr], \qquad \|Y\|_* \le 1
#
# is smooth: its gradient is :math:`A_P - \sum_i z_i x_i x_i'`, and while no row
# enters or
# leaves its second derivative is the constant
#
# .. math:: -\frac{1}{2b} \Bigl[\sum_{i \in F} \phi_i \phi_i'
#         - \frac{1}{|F|} \Bigl(\sum_{i \in F} \phi_i\Bigr)
#             \Bigl(\sum_{i \in F} \phi_i\Bigr)'\Bigr], \qquad \phi_i = vec(x_i x_i'),
#
# over the rows F whose weight is free. A Newton step maximizes that model over the
# ball.
# -----------------------------------------------------------------------------


# Steps of the accelerated gradient on the model of a Newton step, and the move, in
# units of the ball's radius, at which they end.
MODEL_STEPS, LEAST_MOVE = 3000, 1e-14
# Numbers of products that are written out at a time.
PRODUCTS_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class FreeRows:
    """Sums of the products of rows whose weight is free: of pairs, of one, how many."""

    products: Array
    total: Array
    count: int

    @classmethod
    def of(cls, rows: Array) -> "FreeRows":
        """Return the sums over rows; O(m N^4)."""
        N = rows.shape[1]
        i, j = np.triu_indices(N)
        twice = _unit(N)
        products, total = np.zeros((i.size, i.size)), np.zeros(i.size)
        step = max(PRODUCTS_AT_ONCE // i.size, 1)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            pairs = some[:, i] * some[:, j] * twice
            products += pairs.T @ pairs
            total += pairs.sum(axis=0)
        return cls(products, total, len(rows))

    def curvature(self, bend: float) -> Array:
        """Return minus the second derivative of L on vectors of `to_vector`."""
        mean = np.outer(self.total, self.total) / max(self.count, 1)
        out: Array = (self.products - mean) / (2.0 * bend)
        return out


def newton_point(form: Array, gradient: Array, curvature: Array) -> Array:
    """Return the maximizer over the ball of the second-order model of L at a matrix.

    Accelerated gradient steps, begun anew where they point back.
    """
    N = len(form)
    slope = to_vector(gradient)
    steepest = float(np.linalg.eigvalsh(curvature)[-1])
    if steepest <= 0.0:
        return project_nuclear(form + gradient)
    start = to_vector(form)
    x = y = start
    pace = 1.0
    for _ in range(MODEL_STEPS):
        up = slope - curvature @ (y - start)
        new = to_vector(project_nuclear(to_matrix(y + up / steepest, N)))
        if float((y - new) @ (new - x)) > 0.0:
            # It points back: without momentum from here.
            pace, y = 1.0, x
            continue
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace**2))
        y = new + (pace - 1.0) / faster * (new - x)
        moved = float(np.abs(new - x).max())
        x, pace = new, faster
        if moved <= LEAST_MOVE:
            break
    return to_matrix(x, N)


def project_nuclear(form: Array) -> Array:
    """Return the nearest symmetric matrix of nuclear norm at most one.

    Examples
    --------
    >>> project_nuclear(np.diag([2.0, 0.5]))
    array([[1., 0.],
           [0., 0.]])
    """
    values, vectors = np.linalg.eigh(form)
    if np.abs(values).sum() <= 1.0:
        return form
    inside = np.sign(values) * project_simplex(np.abs(values))
    out: Array = (vectors * inside) @ vectors.T
    return out


def worst_direction(difference: Array) -> Array:
    """Return the dual matrix of a difference: its extreme eigenvector, signed.

    Examples
    --------
    >>> worst_direction(np.diag([1.0, -3.0]))
    array([[-0., -0.],
           [-0., -1.]])
    """
    values, vectors = np.linalg.eigh(difference)
    last = int(np.argmax(np.abs(values)))
    worst = vectors[:, last]
    out: Array = np.sign(values[last]) * np.outer(worst, worst)
    return out


def to_vector(form: Array) -> Array:
    """Return a symmetric matrix as a vector of the same inner products.

    Examples
    --------
    >>> to_vector(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3)
    array([1.   , 2.828, 3.   ])
    """
    N = len(form)
    out: Array = form[np.triu_indices(N)] * _unit(N)
    return out


def to_matrix(vector: Array, N: int) -> Array:
    """Return the symmetric matrix of a vector that `to_vector` made."""
    i, j = np.triu_indices(N)
    out = np.zeros((N, N))
    out[i, j] = vector / _unit(N)
    out[j, i] = out[i, j]
    return out


def _unit(N: int) -> Array:
    """Return by how much entries of the upper triangle count in an inner product."""
    i, j = np.triu_indices(N)
    return np.where(i == j, 1.0, np.sqrt(2.0))


# -----------------------------------------------------------------------------
# Newton's method on the dual matrix, for problems with a spread.
# -----------------------------------------------------------------------------


# A Newton step is halved at most so often, and taken if it brings this share of what
# its slope promises.
STEP_HALVINGS, ENOUGH = 20, 1e-4


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A dual matrix, its bound, its weights, and the moment that they leave."""

    form: Array
    bound: float
    z: Array
    gradient: Array

    @classmethod
    def at(cls, problem: Discrepancy, form: Array) -> "DualPoint":
        """Return the point; O(m N^2 + m log m)."""
        pulls = problem.pull(form)
        z = problem.domain.project(pulls / (2.0 * problem.smooth_dual))
        bound = float(np.sum(problem.target_moment * form)) - float(pulls @ z)
        bound += problem.spread_term(z)
        return cls(form, bound, z, problem.operator(z))


@dataclass(frozen=True)
class DualNewton:
    r"""Newton steps on the dual of a discrepancy with a spread.

    Maximizes over symmetric Y of nuclear norm at most one the smooth

    .. math:: L(Y) = \langle A_P, Y \rangle + \min_z \Bigl[s f_0 (m |z|^2 - 1)
        - \sum_i z_i x_i'Yx_i\Bigr],

    by its second-order model over the ball (`steps/dual_newton.py`), halved until L
    rises as its slope promises. The weights of Y are the projection of
    :math:`x_i'Yx_i / 2 s f_0 m` onto the simplex: every row may carry weight, as
    it does where a spread counts, and nothing of the order m x m is stored. A step
    costs :math:`O(m N^4 / 4 + N^6 / 6)` for the model and its largest curvature,
    :math:`O(N^4 / 4)` a step on it (3,000 at most) and :math:`O(m N^2)` a value of L,
    so it is the method of many rows and few columns; above `largest` it refuses. With a
    spread near its default three to ten steps reach a gap of 1e-3;
    with a small one the model is ill conditioned, and L hardly rises.

    Parameters
    ----------
    largest : int
        Columns that are taken at most.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim import Discrepancy
    >>> rows = np.random.default_rng(0).normal(size=(2000, 3))
    >>> problem = Discrepancy.of(rows, rows[:500] + 0.2, spread=0.01)
    >>> solve(problem, DualNewton(), tol=1e-8).converged
    True
    """

    largest: int = 60

    accepts: ClassVar[Requirements] = replace(
        NEEDS_MOMENTS,
        problem=(*NEEDS_MOMENTS.problem, "smooth_dual"),
        hint="a Discrepancy with a spread above zero is needed",
    )

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the state at the worst direction of x or of equal weights."""
        N = problem.rows.shape[1]
        if self.largest < N:
            raise ValueError(
                f"the dual's Newton method takes {self.largest} columns at most, got "
                f"{N}: it stores a matrix of {N * (N + 1) // 2} by {N * (N + 1) // 2}"
            )
        incumbent = Incumbent.at(problem, x)
        if no_choice(problem):
            return incumbent.state(problem, None, stalled=True)
        first = worst_direction(problem.operator(incumbent.z))
        return _state_at(problem, DualPoint.at(problem, first), incumbent, False)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after one Newton step."""
        here, incumbent = state.memory
        highest = 1.0 if problem.cap is None else problem.cap
        is_free = (here.z > 0.0) & (here.z < highest)
        free = FreeRows.of(problem.rows[is_free])
        goal = newton_point(
            here.form, here.gradient, free.curvature(problem.smooth_dual)
        )
        move = goal - here.form
        slope = float(np.sum(here.gradient * move))
        length = 1.0
        for _ in range(STEP_HALVINGS):
            there = DualPoint.at(problem, here.form + length * move)
            if there.bound >= here.bound + ENOUGH * length * slope:
                return _state_at(problem, there, incumbent, False)
            length *= 0.5
        return _state_at(problem, here, incumbent, True)


def _state_at(
    problem: Discrepancy, point: DualPoint, incumbent: Incumbent, stalled: bool
) -> State:
    """Return the state with the better of a point and the incumbent."""
    z = problem.inside(point.z)
    incumbent = incumbent.or_point(problem, z)
    values, vectors = eigh(point.form, check_finite=False)
    used = np.abs(values) > 0.0
    dual = DualMatrix(vectors[:, used], values[used])
    incumbent = incumbent.or_bounded(dual, point.bound)
    return incumbent.state(
        problem, (point, incumbent), stalled, {"rows in use": int(np.sum(z > 0.0))}
    )
