r"""Newton steps over dual matrices, where weights have a price of their own.

With a spread the weights of a dual matrix are unique, and

.. math:: L(Y) = \langle A_P, Y \rangle + \min_z \Bigl[b \bigl(|z|^2 - \tfrac1m\bigr)
    - \sum_i z_i x_i'Yx_i\Bigr], \qquad \|Y\|_* \le 1

is smooth: its gradient is :math:`A_P - \sum_i z_i x_i x_i'`, and while no row enters or
leaves its second derivative is the constant

.. math:: -\frac{1}{2b} \Bigl[\sum_{i \in F} \phi_i \phi_i'
    - \frac{1}{|F|} \Bigl(\sum_{i \in F} \phi_i\Bigr)
      \Bigl(\sum_{i \in F} \phi_i\Bigr)'\Bigr], \qquad \phi_i = vec(x_i x_i'),

over the rows F whose weight is free. A Newton step maximises that model over the ball.
"""

from dataclasses import dataclass

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.projections import project_simplex

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
    """Return the maximiser over the ball of the second-order model of L at a matrix.

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
