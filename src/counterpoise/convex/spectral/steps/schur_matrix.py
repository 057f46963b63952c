r"""The Newton system of rank-one interior points: its matrix factored, and its borders.

The matrix is :math:`\sum (XYX') \circ (XPX') + D`, products entry by entry.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs

from counterpoise.numerics.arrays import Array

Pairs = Sequence[tuple[Array, Array]]
# Products of pairs of columns are used where they are at most this share of the rows
# and no more than these columns' pairs.
FEW_PAIRS, PAIRED_COLUMNS = 0.4, 16
# A dense factor of fewer rows costs nothing, and has more digits.
CHEAP_ROWS = 200
# Rows from which on the factor has single precision, and shares by which its diagonal
# is raised until it exists.
SINGLE_ROWS = 1200
JITTERS = (1e-6, 1e-5, 1e-4, 1e-3)
# Conjugate gradient steps that a factor in single precision may need.
MOST_REFINEMENTS = 25


@dataclass(frozen=True, eq=False)
class Schur:
    """A solver of the matrix; `exact` is false where it is a preconditioner only."""

    solve: Callable[[Array], Array]
    multiply: Callable[[Array], Array]
    exact: bool = True


def schur_of(rows: Array, factors: Pairs, matrices: Pairs, diagonal: Array) -> Schur:
    """Return the solver, for one or more right-hand sides.

    `matrices` holds the pairs (Y, P), `factors` pairs of matrices F with Y = F F' and
    P = F F'. Where the pairs of columns are fewer than the rows, by Woodbury's formula
    on those, O(m N^4 / 4); else by one dense Cholesky factor, O(m^2 N + m^3 / 3), of
    many rows in single precision. `multiply` costs O(m N^2).
    """
    m, N = rows.shape

    def multiply(v: Array) -> Array:
        moment = (rows * v[:, None]).T @ rows
        seen = sum(Y @ moment @ P for Y, P in matrices)
        out: Array = np.einsum("ij,ij->i", rows @ seen, rows) + diagonal * v
        return out

    few = min(PAIRED_COLUMNS, int(np.sqrt(2.0 * FEW_PAIRS * m)))
    if few > N and m >= CHEAP_ROWS:
        return Schur(_by_pairs(rows, matrices, diagonal), multiply, exact=False)
    if m < SINGLE_ROWS:
        try:
            return Schur(_double(rows, factors, diagonal), multiply)
        except np.linalg.LinAlgError:
            # Near a norm of zero the diagonal is lost beside the rest; Woodbury's
            # formula keeps it.
            if N <= PAIRED_COLUMNS:
                return Schur(_by_pairs(rows, matrices, diagonal), multiply, exact=False)
    return Schur(_single(rows, factors, diagonal), multiply, exact=False)


class BorderedSystem:
    r"""The Newton matrix H with a border for t and one for the sum of the weights.

    .. math:: H dz + c\, dt + 1\, dl = r, \quad c'dz + k\, dt = s, \quad 1'dz = q

    with c the `coupling` and k the `corner`.
    """

    def __init__(self, schur: Schur, coupling: Array, corner: float) -> None:
        self.schur, self.coupling, self.corner = schur, coupling, corner
        self.sides = schur.solve(np.stack([coupling, np.ones(coupling.size)], axis=1))

    @classmethod
    def of(
        cls,
        rows: Array,
        factors: Pairs,
        matrices: Pairs,
        diagonal: Array,
        coupling: Array,
        corner: float,
    ) -> "BorderedSystem":
        """Return the system whose matrix is that of `schur_of`."""
        return cls(schur_of(rows, factors, matrices, diagonal), coupling, corner)

    def solve(
        self,
        right: Array,
        corner: float,
        lacking: float,
        weights: Array,
        enough: float,
    ) -> tuple[Array, float, float]:
        """Return dz, dt and dl for r, s and q.

        Where H has no exact factor, until the residual of the first equation, in units
        of the reciprocal `weights`, is at most `enough`.
        """
        z, t, level = self._saddle(right, corner, lacking)
        if self.schur.exact:
            return z, t, level
        return self._refined(z, t, level, right, corner, weights, enough)

    def _saddle(
        self, right: Array, corner: float, lacking: float
    ) -> tuple[Array, float, float]:
        """Return dz, dt and dl from the factor that there is."""
        free = self.schur.solve(right)
        coupling, sides = self.coupling, self.sides
        system = np.array(
            [
                [self.corner - coupling @ sides[:, 0], -(coupling @ sides[:, 1])],
                [-sides[:, 0].sum(), -sides[:, 1].sum()],
            ]
        )
        off = np.array([corner - coupling @ free, lacking - free.sum()])
        t, level = np.linalg.solve(system, off)
        return free - sides @ np.array([t, level]), float(t), float(level)

    def _refined(
        self,
        z: Array,
        t: float,
        level: float,
        right: Array,
        corner: float,
        weights: Array,
        enough: float,
    ) -> tuple[Array, float, float]:
        """Return the same by conjugate gradients on dz and dt, the sum of dz fixed."""
        multiply, coupling = self.schur.multiply, self.coupling
        off = right - multiply(z) - coupling * t - level
        corner_off = corner - float(coupling @ z) - self.corner * t
        y, y_t, y_level = self._saddle(off, corner_off, 0.0)
        size = float(off @ y) + corner_off * y_t
        way, way_t = y, y_t
        for _ in range(MOST_REFINEMENTS):
            rest = float(np.max(np.abs(off - y_level) * weights))
            if (rest <= enough and abs(corner_off) <= 0.01) or not size > 0.0:
                break
            image = multiply(way) + coupling * way_t
            image_t = float(coupling @ way) + self.corner * way_t
            bend = float(way @ image) + way_t * image_t
            if not bend > 0.0:
                break
            length = size / bend
            z, t = z + length * way, t + length * way_t
            off, corner_off = off - length * image, corner_off - length * image_t
            y, y_t, y_level = self._saddle(off, corner_off, 0.0)
            after = float(off @ y) + corner_off * y_t
            way, way_t = y + (after / size) * way, y_t + (after / size) * way_t
            size = after
        return z, t, level + y_level


def _double(rows: Array, factors: Pairs, diagonal: Array) -> Callable[[Array], Array]:
    H: Array | None = None
    for first, second in factors:
        part = dsyrk(1.0, (rows @ first).T, trans=1, lower=1)
        part *= dsyrk(1.0, (rows @ second).T, trans=1, lower=1)
        H = part if H is None else np.add(H, part, out=H)
    assert H is not None
    H[np.diag_indices_from(H)] += diagonal
    factor, failed = dpotrf(H, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the Newton matrix has lost its definiteness")

    def solver(right: Array) -> Array:
        out: Array = dpotrs(factor, right, lower=1)[0]
        return out

    return solver


def _single(rows: Array, factors: Pairs, diagonal: Array) -> Callable[[Array], Array]:
    few = rows.astype(np.float32)
    H: Array | None = None
    for first, second in factors:
        part = ssyrk(1.0, (few @ first.astype(np.float32)).T, trans=1, lower=1)
        part *= ssyrk(1.0, (few @ second.astype(np.float32)).T, trans=1, lower=1)
        H = part if H is None else np.add(H, part, out=H)
    assert H is not None
    places = np.diag_indices_from(H)
    whole = H[places] + diagonal
    # Scaled to a unit diagonal, so that nothing overflows and the jitter is even.
    root = (1.0 / np.sqrt(whole)).astype(np.float32)
    H *= root
    H *= root[:, None]
    for jitter in JITTERS:
        H[places] = 1.0 + jitter
        factor, failed = spotrf(H, lower=1, clean=0, overwrite_a=0)
        if not failed:
            break
    else:
        raise np.linalg.LinAlgError("the Newton matrix has lost its definiteness")
    del H

    def solver(right: Array) -> Array:
        scaled = (right.T * root).T.astype(np.float32)
        out: Array = spotrs(factor, scaled, lower=1)[0].astype(float)
        return (out.T * root).T

    return solver


def _by_pairs(
    rows: Array, matrices: Pairs, diagonal: Array
) -> Callable[[Array], Array]:
    i, j = np.triu_indices(rows.shape[1])
    pairs = rows[:, i] * rows[:, j]
    pairs[:, i != j] *= np.sqrt(2.0)
    size = np.where(i == j, 0.5, np.sqrt(0.5))
    inner = np.zeros((i.size, i.size))
    for Y, P in matrices:
        inner += Y[i][:, i] * P[j][:, j] + Y[i][:, j] * P[j][:, i]
        inner += Y[j][:, i] * P[i][:, j] + Y[j][:, j] * P[i][:, i]
    inner *= size[:, None] * size
    seen = pairs @ np.linalg.cholesky(inner)
    scaled = seen / diagonal[:, None]
    small = seen.T @ scaled
    small[np.diag_indices_from(small)] += 1.0
    factor = cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

    def solver(right: Array) -> Array:
        first = (right.T / diagonal).T
        out: Array = first - scaled @ cho_solve(
            factor, seen.T @ first, check_finite=False
        )
        return out

    return solver
