"""Cholesky factors: updates and pivoted low-rank factors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import solve_triangular

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.compiled import compiled, reordered, unchecked
from counterpoise.linalg.kernels import Kernel

# -----------------------------------------------------------------------------
# Cholesky factors under added and removed rows, inside compiled loops.
#
# A factor is a square array of which the first k rows and columns hold the lower
# triangle L of LL' = M; the functions change it in place.
# -----------------------------------------------------------------------------


@compiled
def append_row(
    factor: Array, k: int, row: Array, diagonal: float, least: float
) -> None:
    """Make the factor of M bordered by `row` (length k) and `diagonal`. O(k^2).

    `least` is the smallest value that the new squared pivot may take, so that a row
    that depends on the others leaves a factor that can be solved with.
    """
    for i in range(k):
        total = row[i]
        for j in range(i):
            total -= factor[i, j] * factor[k, j]
        factor[k, i] = total / factor[i, i]
    rest = diagonal
    for i in range(k):
        rest -= factor[k, i] * factor[k, i]
    factor[k, k] = np.sqrt(max(rest, least))


@unchecked
def remove_row_using(factor: Array, k: int, position: int, c: Array, s: Array) -> None:
    """Make the factor of M without one of its k rows, by plane rotations. O(k^2).

    Row by row: a row takes all rotations of the rows above it, makes its own and moves
    up by one, so that memory is read in its order.
    """
    for i in range(position + 1, k):
        row, above = factor[i], factor[i - 1]
        carried = row[position]
        for j in range(position, i - 1):
            following = row[j + 1]
            above[j] = c[j] * carried + s[j] * following
            carried = c[j] * following - s[j] * carried
        for j in range(position):
            above[j] = row[j]
        length = np.hypot(carried, row[i])
        if length > 0.0:
            c[i - 1], s[i - 1] = carried / length, row[i] / length
        else:
            c[i - 1], s[i - 1] = 1.0, 0.0
        above[i - 1] = length


@compiled
def remove_row(factor: Array, k: int, position: int) -> None:
    """Make the factor of M without one of its k rows, by plane rotations. O(k^2)."""
    remove_row_using(factor, k, position, np.empty(k), np.empty(k))


@compiled
def solve_factored(factor: Array, k: int, right: Array) -> Array:
    """Return the solution of LL'x = right. O(k^2)."""
    x = right[:k].copy()
    for i in range(k):
        total = x[i]
        for j in range(i):
            total -= factor[i, j] * x[j]
        x[i] = total / factor[i, i]
    for i in range(k - 1, -1, -1):
        value = x[i] / factor[i, i]
        x[i] = value
        for j in range(i):
            x[j] -= factor[i, j] * value
    return x


@reordered
def forward(factor: Array, k: int, x: Array) -> None:
    """Replace the first k entries of x by the solution y of Ly = x. O(k^2)."""
    for i in range(k):
        row = factor[i]
        total = 0.0
        for j in range(i):
            total += row[j] * x[j]
        x[i] = (x[i] - total) / row[i]


@reordered
def backward(factor: Array, k: int, x: Array) -> None:
    """Replace the first k entries of x by the solution y of L'y = x. O(k^2)."""
    for i in range(k - 1, -1, -1):
        row = factor[i]
        value = x[i] / row[i]
        x[i] = value
        for j in range(i):
            x[j] -= value * row[j]


@reordered
def solve_two(factor: Array, k: int, x: Array, y: Array) -> None:
    """Solve LL'z = x and LL'z = y in place, in one pass over the factor. O(k^2)."""
    for i in range(k):
        row = factor[i]
        of_x, of_y = 0.0, 0.0
        for j in range(i):
            of_x += row[j] * x[j]
            of_y += row[j] * y[j]
        x[i] = (x[i] - of_x) / row[i]
        y[i] = (y[i] - of_y) / row[i]
    for i in range(k - 1, -1, -1):
        row = factor[i]
        at_x, at_y = x[i] / row[i], y[i] / row[i]
        x[i], y[i] = at_x, at_y
        for j in range(i):
            x[j] -= at_x * row[j]
            y[j] -= at_y * row[j]


# -----------------------------------------------------------------------------
# Pivoted Cholesky factors of kernel matrices, each with what it leaves out.
#
# The row of which most is left is the next pivot. There are two ways to the factor,
# because they read the kernel differently. `pivoted_cholesky` has the rows of a
# Gaussian
# kernel: it looks for pivots in pools, so that n rows may be millions.
# `column_cholesky`
# knows any kernel by single columns: it sees all rows at every pivot and needs
# nothing
# but the diagonal.
# -----------------------------------------------------------------------------


# Rows among which pivots are looked for at a time; the others wait for their turn.
POOL_ROWS = 2048
# Rows at a time in passes over all rows.
SOLVED_ROWS = 4096
# What is left of a row is rounding below this share of the longest row.
ROUNDED_AWAY = 1e-12
# After so many pivots so much may be left where a small rank is still in sight.
EARLY_PIVOTS, EARLY_SHARE = 100, 1e-3


@dataclass(frozen=True, eq=False)
class ColumnFactor:
    """A factor F with F F' near K, and what it leaves.

    Attributes
    ----------
    factor : array of shape (q, r)
        F; `factor[pivots]` is lower triangular.
    pivots : array of shape (r,)
        Rows whose kernel columns F F' reproduces.
    residual : array of shape (q,)
        The diagonal of K - F F'.
    """

    factor: Array
    pivots: Indices
    residual: Array


def column_cholesky(
    column: Callable[[int], Array],
    diagonal: Array,
    max_rank: int,
    *,
    give_up: Callable[[int, float], bool] | None = None,
    order: Literal["C", "F"] = "C",
) -> ColumnFactor:
    """Return a factor of a kernel that is known by its columns; O(q r) a pivot.

    Parameters
    ----------
    column : callable
        The column of a row, of shape (q,).
    diagonal : array of shape (q,)
    max_rank : int
        Largest number of pivots.
    give_up : callable, optional
        Is told the number of pivots and what is left of the next one; True ends the
        search.
    order : {"C", "F"}
        How the factor lies in memory.

    Examples
    --------
    >>> rows = np.arange(12.0).reshape(6, 2)
    >>> K = rows @ rows.T
    >>> found = column_cholesky(lambda i: K[:, i], K.diagonal(), 6)
    >>> found.factor.shape, bool(found.residual.max() < 1e-9)
    ((6, 2), True)
    """
    left = diagonal.astype(float)
    longest = float(left.max())
    factor = np.zeros((left.size, min(max_rank, left.size)), order=order)
    pivots: list[int] = []
    while len(pivots) < factor.shape[1]:
        i, k = int(np.argmax(left)), len(pivots)
        if left[i] <= ROUNDED_AWAY * longest:
            break
        if give_up is not None and give_up(k, float(left[i])):
            break
        new = (column(i) - factor[:, :k] @ factor[i, :k]) / np.sqrt(left[i])
        # A pivot's own row is exact: nothing is left of it.
        new[pivots] = 0.0
        factor[:, k] = new
        left = np.maximum(left - new**2, 0.0)
        left[i] = 0.0
        pivots.append(i)
    return ColumnFactor(factor[:, : len(pivots)], np.array(pivots, np.intp), left)


def small_rank_factor(kernel: Any, largest: int) -> ColumnFactor | None:
    """Return a factor of at most so many columns; None where the rank is larger.

    It gives up early where the lengths fall slowly.

    Parameters
    ----------
    kernel : KernelEntries or KernelMatrix
    largest : int

    Examples
    --------
    >>> from counterpoise.linalg.kernels import StoredMatrix
    >>> rows = np.arange(12.0).reshape(6, 2)
    >>> small_rank_factor(StoredMatrix(rows @ rows.T), 3).factor.shape
    (6, 2)
    >>> small_rank_factor(StoredMatrix(np.eye(6)), 3) is None
    True
    """
    diagonal = kernel.diagonal()

    longest = float(diagonal.max())

    def hopeless(k: int, left: float) -> bool:
        slow = k == EARLY_PIVOTS and left > EARLY_SHARE * longest
        return slow and diagonal.size > largest

    found = column_cholesky(
        lambda i: kernel.block(slice(None), slice(i, i + 1))[:, 0],
        diagonal,
        largest,
        give_up=hopeless,
        order="F",
    )
    if found.residual.max() > ROUNDED_AWAY * longest:
        return None
    return ColumnFactor(
        np.ascontiguousarray(found.factor), found.pivots, found.residual
    )


def pivoted_cholesky(
    rows: Array, gamma: float, tol: float, max_rank: int
) -> tuple[Array, Indices, Array]:
    r"""Return a factor of the Gaussian kernel matrix of rows, and what it leaves out.

    :math:`K = L'L + R` with R positive semidefinite, so that
    :math:`0 \le R_{ii}` and :math:`|R_{ij}| \le \sqrt{R_{ii} R_{jj}}`. K is never
    formed: time O(n r (r + d)), memory that of L.

    Pivots are the rows with the largest residual, looked for in pools: first in rows at
    equal intervals, then, while a row is left above `tol`, in those with the largest
    residuals. The other rows follow by one triangular solve a pool. The first pivot is
    the row nearest the middle of the range, so that neither the order of the rows nor
    copies of them matter while all fit in one pool.

    Parameters
    ----------
    rows : array of shape (n, d)
    gamma : float
        The kernel is :math:`\exp(-\gamma |x - x'|^2)`.
    tol : float
        Largest residual :math:`R_{ii}` to leave, but for what rounding of distances
        makes of it; K has ones on its diagonal.
    max_rank : int
        Largest number of pivots.

    Returns
    -------
    factor : array of shape (r, n)
        L; its columns at the pivots are upper triangular.
    pivots : array of shape (r,)
        Rows whose kernel columns L'L reproduces.
    residual : array of shape (n,)
        The diagonal of R; above `tol` somewhere if `max_rank` was reached.

    References
    ----------
    Fine and Scheinberg (2001). Harbrecht, Peters and Schneider (2012).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.linspace(0.0, 1.0, 1000)[:, None]
    >>> factor, pivots, residual = pivoted_cholesky(rows, 0.5, 1e-10, 100)
    >>> len(pivots) < 12, bool(residual.max() <= 1e-10)
    (True, True)
    """
    n = rows.shape[0]
    max_rank = min(max_rank, n)
    factor = np.empty((0, n))
    residual = np.ones(n)
    pivots = np.empty(0, np.intp)
    pool = _first_pool(rows)
    tol = max(tol, _rounding(rows, gamma))
    while len(pivots) < max_rank:
        known = len(pivots)
        new, triangle = _pivots(
            rows[pool], gamma, tol, max_rank, factor[:known, pool], residual[pool]
        )
        pivots = np.concatenate([pivots, pool[new]])
        factor = _with_room(factor, len(pivots))
        _extend(rows, gamma, factor, pivots, triangle, residual)
        if residual.max() <= tol:
            break
        pool = _worst(residual)
    return factor[: len(pivots)], pivots, residual


def nystrom_map(X: Array, landmarks: Array, triangle: Array, gamma: float) -> Array:
    r"""Return the coordinates :math:`T^{-1} k(landmarks, x)` of rows, (r, k).

    Inner products of coordinates are the kernel's projection on the landmarks:
    :math:`k(x, x') = \phi(x)'\phi(x') + R(x, x')` with
    :math:`R(x, x) = 1 - |\phi(x)|^2`. At the rows of `pivoted_cholesky` they are the
    columns of its factor.

    Parameters
    ----------
    X : array of shape (k, d)
    landmarks : array of shape (r, d)
        The pivot rows.
    triangle : array of shape (r, r)
        T, lower triangular with TT' the kernel of the landmarks:
        `factor[:, pivots].T`.
    gamma : float

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [1.0], [3.0]])
    >>> factor, pivots, _ = pivoted_cholesky(rows, 0.5, 1e-10, 3)
    >>> same = nystrom_map(rows, rows[pivots], factor[:, pivots].T, 0.5)
    >>> bool(np.allclose(same, factor))
    True
    """
    out = np.empty((landmarks.shape[0], X.shape[0]))
    for first in range(0, X.shape[0], SOLVED_ROWS):
        kernel = Kernel("rbf", gamma).matrix(X[first : first + SOLVED_ROWS], landmarks)
        out[:, first : first + SOLVED_ROWS] = _forward(triangle, kernel)
    return out


def _first_pool(rows: Array) -> Indices:
    """Return rows at equal intervals, beginning with the middle of the range.

    The ends of the range are among them: no row is far from all others unseen.
    """
    n = rows.shape[0]
    spread = np.linspace(0, n - 1, min(n, POOL_ROWS)).astype(np.intp)
    pool = np.unique(np.concatenate([spread, rows.argmin(axis=0), rows.argmax(axis=0)]))
    middle = 0.5 * (rows.min(axis=0) + rows.max(axis=0))
    centered = rows[pool] - middle
    nearest = int(np.argmin(np.einsum("ij,ij->i", centered, centered)))
    return np.concatenate([pool[nearest:], pool[:nearest]])


def _worst(residual: Array) -> Indices:
    """Return the rows with the largest residuals, the largest first."""
    count = min(residual.size, POOL_ROWS)
    some = np.argpartition(residual, residual.size - count)[-count:]
    return some[np.argsort(-residual[some], kind="stable")]


def _rounding(rows: Array, gamma: float) -> float:
    """Return the error that rounding may make in an entry of the kernel."""
    middle = 0.5 * (rows.min(axis=0) + rows.max(axis=0))
    reach = np.maximum(rows.max(axis=0) - middle, middle - rows.min(axis=0))
    return 16.0 * float(np.finfo(float).eps) * gamma * float(reach @ reach)


def _pivots(
    rows: Array,
    gamma: float,
    tol: float,
    max_rank: int,
    known: Array,
    residual: Array,
) -> tuple[list[int], Array]:
    """Return pivots within a pool, greedily, until its residuals are below `tol`.

    Beside them the triangle of their new coordinates.
    """
    first = known.shape[0]
    rest = residual.copy()
    factor = known
    pivots: list[int] = []
    for r in range(first, max_rank):
        i = int(np.argmax(rest))
        if rest[i] <= tol:
            break
        factor = _with_room(factor, r + 1)
        apart = rows - rows[i]
        column = np.exp(-gamma * np.einsum("ij,ij->i", apart, apart))
        column -= factor[:r, i] @ factor[:r]
        column /= np.sqrt(rest[i])
        column[pivots] = 0.0
        column[i] = np.sqrt(rest[i])
        factor[r] = column
        rest -= column * column
        np.maximum(rest, 0.0, out=rest)
        rest[i] = 0.0
        pivots.append(i)
    return pivots, factor[first : first + len(pivots), pivots].T.copy()


def _extend(
    rows: Array,
    gamma: float,
    factor: Array,
    pivots: Indices,
    triangle: Array,
    residual: Array,
) -> None:
    """Write the coordinates along the new pivots, those of the triangle."""
    r = len(pivots)
    known = r - len(triangle)
    new = pivots[known:]
    across = factor[:known, new].copy()
    for start in range(0, rows.shape[0], SOLVED_ROWS):
        part = slice(start, start + SOLVED_ROWS)
        kernel = Kernel("rbf", gamma).matrix(rows[part], rows[new])
        if known:
            kernel -= factor[:known, part].T @ across
        coordinates = _forward(triangle, kernel)
        factor[known:r, part] = coordinates
        residual[part] -= np.einsum("ij,ij->j", coordinates, coordinates)
    np.maximum(residual, 0.0, out=residual)
    residual[pivots] = 0.0


def _forward(triangle: Array, kernel: Array) -> Array:
    """Return the solution of triangle @ out = kernel'."""
    out: Array = solve_triangular(
        triangle, kernel.T, lower=True, overwrite_b=True, check_finite=False
    )
    return out


def _with_room(factor: Array, rank: int) -> Array:
    """Return the factor with room for `rank` rows, for twice as many if it grows."""
    if rank <= factor.shape[0]:
        return factor
    # Rows that nobody writes to take no memory.
    larger = np.empty((2 * rank + 8, factor.shape[1]))
    larger[: factor.shape[0]] = factor
    return larger
