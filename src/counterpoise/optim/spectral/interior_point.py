"""Interior-point steps for spectral-norm minimization."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigvalsh, solve_triangular
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import dpotrf, dtrtri, get_lapack_funcs

from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# The Newton system of rank-one interior points: its matrix factored, and its borders.
#
# The matrix is :math:`\sum (XYX') \circ (XPX') + D`, products entry by entry.
# -----------------------------------------------------------------------------


Pairs = Sequence[tuple[Array, Array]]
# Products of pairs of columns are used where they are at most this share of the rows
# and no more than these columns' pairs.
FEW_PAIRS, PAIRED_COLUMNS = 0.4, 16
# A dense factor of fewer rows costs nothing, and has more digits.
CHEAP_ROWS = 200
# Rows from which on the factor has single precision, and shares by which its diagonal
# is raised until it exists.
SINGLE_ROWS = 1200
JITTERS: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3)
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
            return Schur(_dense(rows, factors, diagonal, np.float64), multiply)
        except np.linalg.LinAlgError:
            # Near a norm of zero the diagonal is lost beside the rest; Woodbury's
            # formula keeps it.
            if N <= PAIRED_COLUMNS:
                return Schur(_by_pairs(rows, matrices, diagonal), multiply, exact=False)
    solver = _dense(rows, factors, diagonal, np.float32)
    return Schur(solver, multiply, exact=False)


class BorderedSystem:
    r"""The Newton matrix H with a border for t and one for the sum of the weights.

    .. math:: H dz + c\, dt + 1\, dl = r, \quad c'dz + k\, dt = s, \quad 1'dz = q

    with c the `coupling` and k the `corner`.
    """

    def __init__(self, schur: Schur, coupling: Array, corner: float) -> None:
        self.schur, self.coupling, self.corner = schur, coupling, corner
        self.sides = schur.solve(np.stack([coupling, np.ones(coupling.size)], axis=1))

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


def _dense(
    rows: Array, factors: Pairs, diagonal: Array, dtype: type
) -> Callable[[Array], Array]:
    """Return the solver by one dense factor in double or single precision."""
    syrk, potrf, potrs = get_blas_funcs(["syrk"], dtype=dtype) + get_lapack_funcs(
        ["potrf", "potrs"], dtype=dtype
    )
    X: Array = rows.astype(dtype, copy=False)
    H: Array | None = None
    for first, second in factors:
        part = syrk(1.0, (X @ first.astype(dtype)).T, trans=1, lower=1)
        part *= syrk(1.0, (X @ second.astype(dtype)).T, trans=1, lower=1)
        H = part if H is None else np.add(H, part, out=H)
    assert H is not None
    places = np.diag_indices_from(H)
    whole = H[places] + diagonal
    root = np.ones(len(H))
    jitters: tuple[float, ...] = (0.0,)
    if dtype is np.float32:
        # Scaled to a unit diagonal, so that nothing overflows and the jitter is even.
        root, jitters = (1.0 / np.sqrt(whole)).astype(dtype), JITTERS
        H *= root
        H *= root[:, None]
        whole = np.ones(len(H))
    for jitter in jitters:
        H[places] = whole + jitter
        factor, failed = potrf(H, lower=1, clean=0, overwrite_a=0)
        if not failed:
            break
    else:
        raise np.linalg.LinAlgError("the Newton matrix has lost its definiteness")
    del H

    def solver(right: Array) -> Array:
        scaled: Array = (right.T * root).T.astype(dtype)
        out: Array = potrs(factor, scaled, lower=1)[0].astype(float)
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


# -----------------------------------------------------------------------------
# Cholesky factors of large matrices, half the memory of a square.
# -----------------------------------------------------------------------------


# Rows of a panel.
PANEL = 500


class PanelCholesky:
    """The lower factor of a symmetric matrix that is read panel by panel.

    `panel(first, last)` returns rows first..last and columns 0..last. Raises
    `numpy.linalg.LinAlgError` where the matrix is not positive definite. Takes n^3 / 3
    operations and 4 n^2 bytes.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> PanelCholesky(2, lambda i, j: A[i:j, :j]).forward(np.eye(2))
    array([[ 0.5 ,  0.  ],
           [-0.25,  0.5 ]])
    """

    def __init__(self, size: int, panel: Callable[[int, int], Array]) -> None:
        self.size = size
        self.panels: list[Array] = []
        for first in range(0, size, PANEL):
            last = min(size, first + PANEL)
            rows = panel(first, last)
            self._eliminate(rows, first)
            own = rows[:, first:]
            own -= rows[:, :first] @ rows[:, :first].T
            factor, failed = dpotrf(own, lower=1, clean=1)
            if failed:
                raise np.linalg.LinAlgError(f"not positive definite at row {first}")
            rows[:, first:] = factor
            self.panels.append(rows)

    def forward(self, right: Array) -> Array:
        """Return the inverse of the lower factor times `right`, a fresh array."""
        out = np.array(right, dtype=float)
        for rows in self.panels:
            last = rows.shape[1]
            first = last - rows.shape[0]
            out[first:last] -= rows[:, :first] @ out[:first]
            out[first:last] = solve_triangular(
                rows[:, first:], out[first:last], lower=True, check_finite=False
            )
        return out

    def _eliminate(self, rows: Array, first: int) -> None:
        """Turn columns 0..first of a new panel into the factor's."""
        for above in self.panels:
            end = above.shape[1]
            begin = end - above.shape[0]
            rows[:, begin:end] -= rows[:, :begin] @ above[:, :begin].T
            rows[:, begin:end] = solve_triangular(
                above[:, begin:], rows[:, begin:end].T, lower=True, check_finite=False
            ).T


# -----------------------------------------------------------------------------
# Interior-point steps for the largest modulus of eigenvalues over weights.
#
# The problem is, for rows :math:`x_i` and a symmetric A,
#
# .. math:: \min_{z, t}\; t + \beta |z|^2, \quad
#       -tI \preceq A - \sum_i z_i x_i x_i' \preceq tI, \quad
#       \sum_i z_i = 1, \; 0 \le z \le cap.
# -----------------------------------------------------------------------------


# The aim is never nearer to zero than this share of the present center.
LEAST_AIM = 1e-6


@dataclass(frozen=True, eq=False)
class Iterate:
    """A strictly feasible point with its multipliers.

    `above` and `below` are the matrices of :math:`M \\preceq tI` and
    :math:`-tI \\preceq M`, of joint trace one; `low` and `high` belong to the bounds of
    z (`high` is zero without a cap), `level` to the sum. Y = above - below is the dual
    matrix; `M`, `norm` and `pulls` (x'Yx of every row) are what they say. `matched`:
    the multipliers of z are what Y and the level make them; without it Newton's steps
    mend them.
    """

    z: Array
    t: float
    above: Array
    below: Array
    low: Array
    high: Array
    level: float
    M: Array
    norm: float
    pulls: Array
    matched: bool = True
    Y: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "Y", self.above - self.below)

    @property
    def multipliers(self) -> tuple[Array, ...]:
        """The multipliers of all slacks."""
        return self.above, self.below, self.low, self.high

    def center(self, bounds: int) -> float:
        """Return the mean of the products of slacks and multipliers."""
        out = self.t * float(np.trace(self.above) + np.trace(self.below))
        out -= float(np.vdot(self.M, self.Y)) - float(self.z @ self.low)
        return out / (2 * len(self.M) + bounds)


@dataclass(frozen=True, eq=False)
class _Move:
    """A direction: of z, t and the level, of the slacks and of their multipliers."""

    z: Array
    t: float
    level: float
    slacks: tuple[Array, ...]
    multipliers: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class SpectralInterior:
    r"""Mehrotra's predictor and corrector in the HKM direction.

    As the rows enter by matrices of rank one, the Schur complement is entrywise

    .. math:: (XY_+X') \circ (XS_+^{-1}X') + (XY_-X') \circ (XS_-^{-1}X') + diag

    so that a step costs :math:`O(m^2N + m^3/3 + N^3)` and nothing has size
    :math:`N^2`. Every iterate has feasible z and Y, hence a proof.

    Parameters
    ----------
    rows : array of shape (m, N)
    target : array of shape (N, N)
        A.
    cap : float, optional
    bend : float
        :math:`\beta`.
    """

    rows: Array
    target: Array
    cap: float | None = None
    bend: float = 0.0

    def start(self, z: Array | None = None) -> Iterate:
        """Return a first point, at z or at equal weights, with Y in the middle."""
        m, N = self.rows.shape
        z = np.full(m, 1.0 / m) if z is None else z
        half = np.eye(N) / (2.0 * N)
        M = self.operator(z)
        norm = spectral_norm(M)
        level, high = 0.05 * norm, np.zeros(m)
        low = np.full(m, level)
        if self.cap is not None:
            # Products with the room below the cap as large as those with z.
            high = np.full(m, float(z @ low) / (self.cap * m - 1.0))
            level = level - float(high[0])
        low = low + 2.0 * self.bend * z
        t, pulls = norm + 0.2 * norm, np.zeros(m)
        return Iterate(z, t, half, half, low, high, level, M, norm, pulls)

    def mismatched(self, here: Iterate, z: Array, low: Array, high: Array) -> Iterate:
        """Return the point with the matrices of another one, on these rows.

        The multipliers need not match the matrices.
        """
        M = self.operator(z)
        norm = spectral_norm(M)
        return replace(
            here,
            z=z,
            low=low,
            high=high,
            M=M,
            norm=norm,
            t=max(here.t, norm + 0.5 * (here.t - here.norm)),
            pulls=quadratic_forms(self.rows, here.Y),
            matched=False,
        )

    def operator(self, z: Array) -> Array:
        """Return M(z)."""
        return self.target - (self.rows * z[:, None]).T @ self.rows

    def advance(self, here: Iterate) -> Iterate:
        """Return the point after one predictor and one corrector.

        Raises `numpy.linalg.LinAlgError` where rounding leaves no step.
        """
        step = _NewtonAt(self, here)
        first = step.towards(0.0)
        primal, dual = step.lengths(first)
        primal, dual = min(1.0, primal), min(1.0, dual)
        ahead = step.complementarity(first, primal, dual) / step.gap
        aim = max(ahead, 1e-8) ** (2.0 if min(primal, dual) > 0.5 else 1.0)
        aim = min(max(aim, LEAST_AIM), 1.0)
        move = step.towards(aim, first)
        primal, dual = step.lengths(move)
        if min(primal, dual) < 0.1:
            # The second-order term misleads: a centered step without it.
            move = step.towards(max(aim, 0.3))
            primal, dual = step.lengths(move)
        share = 0.9 + 0.09 * min(1.0, primal, dual)
        return self._moved(here, move, min(1.0, share * primal), min(1.0, share * dual))

    def _moved(self, here: Iterate, move: _Move, primal: float, dual: float) -> Iterate:
        if not max(primal, dual) > 1e-6:
            raise np.linalg.LinAlgError("no step is left")
        z = here.z + primal * move.z
        z = np.maximum(z, 1e-300)
        z = z / z.sum()
        M = self.operator(z)
        norm = spectral_norm(M)
        above, below, low, high = (
            y + dual * step
            for y, step in zip(here.multipliers, move.multipliers, strict=True)
        )
        above, below = _symmetric(above), _symmetric(below)
        trace = float(np.trace(above) + np.trace(below))
        above, below = above / trace, below / trace
        pulls = quadratic_forms(self.rows, above - below)
        level = (here.level + dual * move.level) / trace
        out = replace(
            here,
            z=z,
            t=max(here.t + primal * move.t, norm * (1.0 + 1e-12)),
            above=above,
            below=below,
            M=M,
            norm=norm,
            pulls=pulls,
            level=level,
        )
        if self.cap is not None or self.bend > 0.0 or not here.matched:
            # The multipliers need not match exactly: proofs do not use them.
            return replace(out, low=low, high=high, matched=dual >= 1.0)
        low = level - pulls
        if not low.min() > 0.0:
            level = float(pulls.max()) + 1e-3 * float(np.abs(low).mean())
            low = level - pulls
        return replace(out, level=level, low=low)


class _NewtonAt:
    """The linear systems at one point.

    Slacks and multipliers come in pairs: of both matrix bounds, of z and of the room
    below the cap, which without a cap is infinite and no pair.
    """

    def __init__(self, problem: SpectralInterior, here: Iterate) -> None:
        self.problem, self.here = problem, here
        rows, z = problem.rows, here.z
        m, N = rows.shape
        shift = here.t * np.eye(N)
        self.slacks: list[Array] = [shift - here.M, shift + here.M, z]
        room = np.full(m, np.inf)
        if problem.cap is not None:
            # Rounding may put an entry on its cap.
            room = np.maximum(problem.cap - z, 1e-17 * problem.cap)
            self.slacks.append(room)
        self.room = room
        _, self.over_inverse = _factors(self.slacks[0])
        _, self.under_inverse = _factors(self.slacks[1])
        above, self.above_inverse = _factors(here.above)
        below, self.below_inverse = _factors(here.below)
        self.gap = _products(self.slacks, here.multipliers)
        bounds = m if problem.cap is None else 2 * m
        self.center = self.gap / (2 * N + bounds)
        self.P = self.over_inverse.T @ self.over_inverse
        self.Q = self.under_inverse.T @ self.under_inverse
        schur = schur_of(
            rows,
            ((above, self.over_inverse.T), (below, self.under_inverse.T)),
            ((here.above, self.P), (here.below, self.Q)),
            here.low / z + 2.0 * problem.bend + here.high / room,
        )
        self.system = BorderedSystem(
            schur,
            quadratic_forms(rows, here.above @ self.P - here.below @ self.Q),
            float(np.sum(here.above * self.P) + np.sum(here.below * self.Q)),
        )
        self.apart = quadratic_forms(rows, self.P - self.Q)
        self.trace = float(np.trace(self.P) + np.trace(self.Q))

    def towards(self, aim: float, first: _Move | None = None) -> _Move:
        """Return the direction to `aim` times the center, corrected by a first one."""
        problem, here, room = self.problem, self.here, self.room
        rows = problem.rows
        goal = aim * self.center
        right = goal / here.z - here.level + goal * self.apart
        right -= 2.0 * problem.bend * here.z + goal / room
        corner = goal * self.trace - 1.0
        bent: tuple[Array | float, ...] = (0.0, 0.0, 0.0, 0.0)
        if first is not None:
            over, under = first.slacks[:2]
            above, below, low, high = first.multipliers
            bent_above = _symmetric(above @ over @ self.P)
            bent_below = _symmetric(below @ under @ self.Q)
            bent = (
                bent_above,
                bent_below,
                first.z * low / here.z,
                -first.z * high / room,
            )
            right -= quadratic_forms(rows, bent_above - bent_below)
            right -= bent[2] - bent[3]
            corner -= float(np.trace(bent_above) + np.trace(bent_below))
        # What is left over spoils only how even the products z low are; both sides
        # stay feasible. So the residual is measured in those products.
        enough = 0.1 * max(goal, 0.1 * self.center)
        lacking = 1.0 - float(here.z.sum())
        z, t, level = self.system.solve(right, corner, lacking, here.z, enough)
        moment = (rows * z[:, None]).T @ rows
        shift = t * np.eye(len(moment))
        over, under = shift + moment, shift - moment
        multipliers = (
            goal * self.P - here.above - _symmetric(here.above @ over @ self.P),
            goal * self.Q - here.below - _symmetric(here.below @ under @ self.Q),
            goal / here.z - here.low * (1.0 + z / here.z),
            goal / room - here.high * (1.0 - z / room),
        )
        corrected = tuple(y - c for y, c in zip(multipliers, bent, strict=True))
        return _Move(z, t, level, (over, under, z, -z), corrected)

    def lengths(self, move: _Move) -> tuple[float, float]:
        """Return the longest steps of z and t, and of the multipliers."""
        here, (over, under, z, room) = self.here, move.slacks
        above, below, low, high = move.multipliers
        primal = min(
            _reach(here.z, z),
            _reach(self.room, room),
            _matrix_reach(self.over_inverse, over),
            _matrix_reach(self.under_inverse, under),
        )
        dual = min(
            _reach(here.low, low),
            _reach(here.high, high),
            _matrix_reach(self.above_inverse, above),
            _matrix_reach(self.below_inverse, below),
        )
        return primal, dual

    def complementarity(self, move: _Move, primal: float, dual: float) -> float:
        """Return the sum of all products after a step."""
        slacks = zip(self.slacks, move.slacks, strict=False)
        multipliers = zip(self.here.multipliers, move.multipliers, strict=True)
        return _products(
            [slack + primal * step for slack, step in slacks],
            [y + dual * step for y, step in multipliers],
        )


def _products(slacks: Sequence[Array], multipliers: Sequence[Array]) -> float:
    pairs = zip(slacks, multipliers, strict=False)
    return sum(float(np.vdot(slack, y)) for slack, y in pairs)


def quadratic_forms(rows: Array, Y: Array) -> Array:
    """Return x'Yx of every row, O(m N^2)."""
    out: Array = np.einsum("ij,ij->i", rows @ Y, rows)
    return out


def spectral_norm(M: Array) -> float:
    """Return the largest modulus of an eigenvalue of a symmetric matrix."""
    ends = eigvalsh(M, check_finite=False)
    return float(max(ends[-1], -ends[0], 0.0))


def _factors(S: Array) -> tuple[Array, Array]:
    """Return the lower Cholesky factor and its inverse."""
    factor, failed = dpotrf(S, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("a slack has lost its definiteness")
    inverse, failed = dtrtri(factor, lower=1)
    if failed:
        raise np.linalg.LinAlgError("a slack has lost its definiteness")
    return factor, inverse


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def _reach(values: Array, pace: Array) -> float:
    """Return how far the values stay positive."""
    falling = pace < 0.0
    if not falling.any():
        return np.inf
    return float(np.min(values[falling] / -pace[falling]))


def _matrix_reach(inverse: Array, pace: Array) -> float:
    """Return how far a matrix stays positive definite, from its inverse factor."""
    seen = inverse @ pace @ inverse.T
    lowest = float(
        eigvalsh(_symmetric(seen), subset_by_index=[0, 0], check_finite=False)[0]
    )
    return np.inf if lowest >= 0.0 else -1.0 / lowest
