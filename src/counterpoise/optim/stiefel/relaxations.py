"""Convex relaxations of problems with orthogonality constraints (SPR, SPR-S, SPR-Q).

A penalized round relaxes P'P = I and X = PP' to semidefinite cones ("sdp") or to
second-order cones ("parabolic"): `ConicRound` solves it by Clarabel, with X as a
variable or eliminated, and `NonnegativeRound` by ADMM where P >= 0 and M is large.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import SymmetricMatrix, dense

if TYPE_CHECKING:
    from counterpoise.optim.stiefel.problem import (
        OrthogonalProblem,
        QuadraticFunction,
    )

Cone = Literal["zero", "nonnegative", "second-order", "semidefinite"]
Relaxation = Literal["sdp", "parabolic"]

# -----------------------------------------------------------------------------
# Conic programs, solved by Clarabel.
# -----------------------------------------------------------------------------


class ConicSolution(NamedTuple):
    """Variables, not finite where Clarabel failed, and the multipliers of each cone."""

    x: Array
    multipliers: list[Array]


class ConicProgram:
    """Minimize q'x + x'Qx / 2 where affine functions F x + g lie in cones.

    Only the objective may change between solves, so that the data are set up once.

    Parameters
    ----------
    size : int
        The number of variables.
    accuracy : float
        Clarabel's tolerance on gap and feasibility.
    """

    def __init__(self, size: int, accuracy: float = 1e-9) -> None:
        self.size, self.accuracy = size, accuracy
        self._rows: list[sparse.csc_matrix] = []
        self._constants: list[Array] = []
        self._cones: list[tuple[Cone, int, int]] = []
        self._solver: Any = None

    def add(
        self, kind: Cone, F: Array | sparse.sparray, g: Array, order: int = 0
    ) -> None:
        """Require that F x + g lies in a cone.

        A semidefinite one of an `order` takes the upper triangle, column after column,
        off-diagonal entries times the root of two.
        """
        if len(g):
            self._rows.append(-sparse.csc_matrix(F))
            self._constants.append(np.asarray(g, dtype=float))
            self._cones.append((kind, len(g), order or len(g)))

    def solve(self, q: Array, Q: Array | sparse.sparray | None = None) -> ConicSolution:
        """Return the minimizer, and the multipliers in the order of the cones."""
        import clarabel

        if self._solver is not None:
            changed = {} if Q is None else {"P": sparse.triu(Q, format="csc")}
            self._solver.update(q=q, **changed)
        else:
            cones = {
                "zero": clarabel.ZeroConeT,
                "nonnegative": clarabel.NonnegativeConeT,
                "second-order": clarabel.SecondOrderConeT,
                "semidefinite": clarabel.PSDTriangleConeT,
            }
            settings = clarabel.DefaultSettings()
            settings.verbose = False
            if hasattr(settings, "max_threads"):
                settings.max_threads = 1
            settings.tol_gap_abs = settings.tol_gap_rel = self.accuracy
            settings.tol_feas = self.accuracy
            settings.presolve_enable = False
            settings.chordal_decomposition_enable = False
            Q = sparse.csc_matrix((self.size, self.size)) if Q is None else Q
            self._solver = clarabel.DefaultSolver(
                sparse.triu(sparse.csc_matrix(Q), format="csc"),
                q,
                sparse.vstack(self._rows, format="csc"),
                np.concatenate(self._constants),
                [cones[kind](order) for kind, _, order in self._cones],
                settings,
            )
        answer = self._solver.solve()
        x, z = np.asarray(answer.x, dtype=float), np.asarray(answer.z, dtype=float)
        ends = np.cumsum([length for _, length, _ in self._cones])[:-1]
        return ConicSolution(x, np.split(z, ends))


def triangle(order: int) -> tuple[Indices, Indices, Array]:
    """Return rows, columns and factors of an upper triangle, column after column."""
    columns, rows = np.tril_indices(order)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


# -----------------------------------------------------------------------------
# The terms of a problem as linear functions of P and X = PP'.
# -----------------------------------------------------------------------------


class LiftedTerms:
    """Variables P (row after row), X (diagonal, then pairs), t, u; and linear terms.

    t is above the forms of the maximum and u above the absolute values.

    Parameters
    ----------
    problem : OrthogonalProblem
    every_pair : bool
        Whether all entries of X are variables; else those that occur in a term.
    with_P, with_X : bool
        Whether P and X are variables. P is not needed where a problem depends on PP'
        alone, X not where it is eliminated.
    """

    def __init__(
        self,
        problem: "OrthogonalProblem",
        *,
        every_pair: bool = True,
        with_P: bool = True,
        with_X: bool = True,
    ) -> None:
        n, m = problem.shape
        self.problem, self.with_P, self.with_X = problem, with_P, with_X
        above = np.stack(np.triu_indices(n, 1))
        if not with_X:
            above = above[:, :0]
        elif not every_pair:
            used = (problem.forms.matrices() != 0.0).any(axis=0)
            for function in (problem.smooth, *problem.constraints):
                used |= dense(function.quadratic) != 0.0
            above = np.stack(np.nonzero(np.triu(used, 1)))
        diagonal = np.arange(n if with_X else 0)
        self.rows, self.columns = (np.concatenate([diagonal, one]) for one in above)
        sizes = [
            n * m * with_P,
            len(self.rows),
            int(len(problem.forms) > 0),
            len(problem.l1[1]),
        ]
        ends = [0, *np.cumsum(sizes).tolist()]
        self.P, self.X, _, self.absolute = (slice(*pair) for pair in pairwise(ends))
        self.top, self.size = ends[2], ends[4]

    def places(self) -> Indices:
        """Return where the entries of X on and above the diagonal are, (n, n)."""
        n = self.problem.shape[0]
        out = np.zeros((n, n), dtype=np.intp)
        out[self.rows, self.columns] = self.X.start + np.arange(len(self.rows))
        return out

    def coefficients(self, function: "QuadraticFunction") -> Array:
        """Return the coefficients of <M, X> + <N, P>."""
        out = np.zeros(self.size)
        twice = np.where(self.rows == self.columns, 1.0, 2.0)
        if self.with_X:
            out[self.X] = twice * dense(function.quadratic)[self.rows, self.columns]
        if self.with_P:
            out[self.P] = function.linear.ravel()
        return out

    def objective(self) -> Array:
        """Return the coefficients of the relaxed objective."""
        out = self.coefficients(self.problem.smooth)
        out[self.top :] = 1.0
        return out

    def cones(self) -> dict[str, tuple[Cone, Array | sparse.sparray, Array]]:
        """Return the linear constraints by name, as arguments of `ConicProgram.add`.

        "trace", "weights" (forms below t), "signs" (absolute values below u, first the
        positive ones), "prices" (constraints) and "signs of P".
        """
        problem = self.problem
        out: dict[str, tuple[Cone, Array | sparse.sparray, Array]] = {}
        n, m = problem.shape
        if self.with_X:
            trace = np.zeros((1, self.size))
            trace[0, self.X.start : self.X.start + n] = 1.0
            out["trace"] = "zero", trace, np.array([-float(m)])
        if len(problem.forms):
            twice = np.where(self.rows == self.columns, 1.0, 2.0)
            F = np.zeros((len(problem.forms), self.size))
            F[:, self.X] = -problem.forms.matrices()[:, self.rows, self.columns] * twice
            F[:, self.top] = 1.0
            out["weights"] = "nonnegative", F, np.zeros(len(F))
        B, b = problem.l1
        if len(b):
            F, above = np.zeros((2, len(b), self.size))
            F[:, self.P] = B.reshape(len(b), -1)
            above[:, self.absolute] = np.eye(len(b))
            F = np.vstack([above - F, above + F])
            out["signs"] = "nonnegative", F, np.concatenate([-b, b])
        if problem.constraints:
            F = -np.stack([self.coefficients(one) for one in problem.constraints])
            constants = -np.array([one.constant for one in problem.constraints])
            out["prices"] = "nonnegative", F, constants
        if problem.nonnegative and self.with_P:
            F = sparse.eye_array(n * m, self.size)
            out["signs of P"] = "nonnegative", F, np.zeros(n * m)
        return out


# -----------------------------------------------------------------------------
# Cones of a relaxation that replace P'P = I and X = PP'.
# -----------------------------------------------------------------------------


def add_ball(program: ConicProgram, relaxation: Relaxation, n: int, m: int) -> None:
    r"""Require that I - P'P lies in the cone of the relaxation; P is first, row by row.

    "sdp": singular values at most one. "parabolic": columns with
    :math:`|c_j| \le 1` and :math:`|c_i \pm c_j|^2 \le 2`.
    """
    if relaxation == "sdp":
        r, c, factor = triangle(n + m)
        at = np.flatnonzero((r < n) & (c >= n))
        F = sparse.csr_array(
            (factor[at], (at, r[at] * m + (c[at] - n))), shape=(len(r), program.size)
        )
        program.add("semidefinite", F, (r == c).astype(float), n + m)
        return
    pairs = [(j, j, 0.0) for j in range(m)]
    pairs += [(i, j, s) for i in range(m) for j in range(i + 1, m) for s in (1.0, -1.0)]
    body = np.arange(n)
    for i, j, sign in pairs:
        at = np.concatenate([1 + body, 1 + body])
        columns = np.concatenate([body * m + i, body * m + j])
        entries = np.concatenate([np.ones(n), np.full(n, sign)])
        F = sparse.csr_array((entries, (at, columns)), shape=(n + 1, program.size))
        g = np.zeros(n + 1)
        g[0] = 1.0 if sign == 0.0 else np.sqrt(2.0)
        program.add("second-order", F, g)


def add_lifting(
    program: ConicProgram, relaxation: Relaxation, terms: LiftedTerms
) -> None:
    r"""Require that X - PP' lies in the cone of the relaxation.

    "parabolic" requires :math:`X_{ii} \ge |p_i|^2` and, of the pairs that are
    variables, :math:`X_{ii} + X_{jj} \pm 2 X_{ij} \ge |p_i \pm p_j|^2`; other pairs
    occur in no term and need no bound.
    """
    n, m = terms.problem.shape
    where = terms.places()
    if relaxation == "sdp":
        add_schur(program, where, m)
        return
    own = where.diagonal()
    for row in range(n):
        _add_paraboloid(program, [own[row]], [1.0], [row], [1.0], m)
    for a, b in zip(terms.rows[n:], terms.columns[n:], strict=True):
        for sign in (1.0, -1.0):
            places, factors = [own[a], own[b], where[a, b]], [1.0, 1.0, 2.0 * sign]
            _add_paraboloid(program, places, factors, [a, b], [1.0, sign], m)


def add_schur(program: ConicProgram, where: Indices, m: int) -> None:
    """Require [[X, P], [P', I]] >= 0, or X >= 0 where m is zero.

    `where` has the places of the entries of X on and above the diagonal.
    """
    n = len(where)
    r, c, factor = triangle(n + m)
    at = np.arange(len(r))
    inside = c < n
    across = (r < n) & ~inside
    columns = np.concatenate(
        [where[r[inside], c[inside]], r[across] * m + (c[across] - n)]
    )
    places = np.concatenate([at[inside], at[across]])
    F = sparse.csr_array(
        (factor[places], (places, columns)), shape=(len(r), program.size)
    )
    program.add("semidefinite", F, ((r == c) & (r >= n)).astype(float), n + m)


def _add_paraboloid(
    program: ConicProgram,
    places: list[int],
    factors: list[float],
    rows: list[int],
    signs: list[float],
    m: int,
) -> None:
    """Require t >= |p|^2, t a sum of entries of X and p a signed sum of rows of P.

    As a second-order cone, (t + 1, 2 p, t - 1).
    """
    at = [0] * len(places) + [m + 1] * len(places)
    columns, entries = places * 2, factors * 2
    for row, sign in zip(rows, signs, strict=True):
        at += range(1, m + 1)
        columns += range(row * m, row * m + m)
        entries += [2.0 * sign] * m
    F = sparse.csr_array((entries, (at, columns)), shape=(m + 2, program.size))
    g = np.zeros(m + 2)
    g[0], g[-1] = 1.0, -1.0
    program.add("second-order", F, g)


# -----------------------------------------------------------------------------
# Penalized rounds by Clarabel.
# -----------------------------------------------------------------------------


def can_eliminate(problem: "OrthogonalProblem") -> bool:
    """Return whether X occurs in the quadratic term alone."""
    return not len(problem.forms) and all(c.is_linear for c in problem.constraints)


def eigenvalue_shift(problem: "OrthogonalProblem", relaxation: Relaxation) -> float:
    """Return d such that the least <M, X> of the relaxation is <M - dI, PP'> + d m.

    "sdp": the smallest eigenvalue of M; "parabolic": the smallest M_ii less the
    absolute values beside it (Gershgorin). Both are zero for the Laplacian of a graph.
    """
    if relaxation == "sdp":
        return float(problem.quadratic_range[0])
    M = problem.quadratic
    own = M.diagonal()
    beside = np.asarray(abs(M).sum(axis=1)).ravel() - np.abs(own)
    return float((own - beside).min())


class ConicRound:
    r"""The penalized relaxation of any problem, by Clarabel.

    .. math:: \min_{P, X}\ \langle M, X\rangle + \langle N, P\rangle + \ldots
              - \mu \langle P_c, P\rangle,\quad
              I - P'P \in \mathcal{C},\ X - PP' \in \mathcal{D},\ \mathrm{tr} X = m

    with both cones the positive semidefinite matrices ("sdp": two cones of order
    n + m) or those H with :math:`H_{ii} + H_{jj} \ge 2 |H_{ij}|` ("parabolic":
    second-order cones, n + twice the pairs of rows that a term couples + m^2, of
    dimension m + 2). The objective is divided by mu, without which Clarabel fails
    where mu is large.

    Without maximum and quadratic constraints X can be eliminated: then
    :math:`\mathrm{tr} P'(M - dI)P + dm` with d of `eigenvalue_shift` replaces
    :math:`\langle M, X\rangle`, the value and P are the same, and nm variables remain.

    Parameters
    ----------
    problem : OrthogonalProblem
    relaxation : {"sdp", "parabolic"}
    eliminate : bool
        Whether X is eliminated.
    """

    def __init__(
        self,
        problem: "OrthogonalProblem",
        relaxation: Relaxation,
        *,
        eliminate: bool = False,
    ) -> None:
        if eliminate and not can_eliminate(problem):
            raise ValueError("X cannot be eliminated: a constraint or maximum has it")
        n, m = self.shape = problem.shape
        self.terms = LiftedTerms(
            problem, every_pair=relaxation == "sdp", with_X=not eliminate
        )
        self.program = ConicProgram(self.terms.size)
        cones = list(self.terms.cones().values())
        for cone in reversed(cones) if eliminate else cones:
            self.program.add(*cone)
        add_ball(self.program, relaxation, n, m)
        self.objective = self.terms.objective()
        self.constant, self.curvature = 0.0, None
        if eliminate:
            shift = eigenvalue_shift(problem, relaxation)
            B = 2.0 * (dense(problem.quadratic) - shift * np.eye(n))
            rest = self.terms.size - n * m
            blocks = [sparse.kron(sparse.csc_array(B), sparse.eye_array(m))]
            blocks += [sparse.csc_array((rest, rest))] if rest else []
            self.constant = shift * m
            self.curvature = sparse.block_diag(blocks, format="csc")
        else:
            add_lifting(self.program, relaxation, self.terms)

    def solve(self, Pc: Array, penalty: float) -> tuple[Array, float]:
        """Return the round's P, not finite where Clarabel failed, and its value.

        P is inside the ball of the relaxation, orthonormal where the round is exact.
        """
        q = self.objective.copy()
        q[self.terms.P] -= penalty * Pc.ravel()
        if self.curvature is None:
            x = self.program.solve(q / penalty).x
            value = float(q @ x)
        else:
            x = self.program.solve(q / penalty, self.curvature / penalty).x
            value = float(q @ x + 0.5 * x @ (self.curvature @ x)) + self.constant
        return x[self.terms.P].reshape(self.shape), value


# -----------------------------------------------------------------------------
# Penalized rounds with P >= 0 by ADMM, for large sparse M.
# -----------------------------------------------------------------------------


# Over-relaxation of the splitting.
OVER_RELAXATION = 1.6


@dataclass(frozen=True, eq=False)
class Splitting:
    """Copies of P, their scaled multipliers and the step of the ADMM.

    Attributes
    ----------
    positive : array of shape (n, m)
        The nonnegative copy; the answer.
    """

    positive: Array
    ball: Array
    pairs: Array
    duals: tuple[Array, Array, Array]
    rho: float


class NonnegativeRound:
    r"""The round with X eliminated and P >= 0, by ADMM.

    .. math:: \min_{P \ge 0}\ \mathrm{tr} P'(M - dI)P + \langle N - \mu P_c, P\rangle

    with singular values at most one ("sdp") or columns in balls,
    :math:`|c_j| \le 1` and :math:`|c_i + c_j|^2 \le 2` ("parabolic"; the differences
    follow where P >= 0, and it takes m(m - 1)/2 more blocks). P has one nonnegative
    copy and one in the ball. A step costs one solve with
    :math:`2(M - dI) + 2\rho I`, whose sparse factor is kept for each of the few
    :math:`\rho`, and O(n m^2).

    Parameters
    ----------
    problem : OrthogonalProblem
        Smooth, without constraints but P >= 0.
    relaxation : {"sdp", "parabolic"}
    """

    def __init__(
        self, problem: "OrthogonalProblem", relaxation: Relaxation = "sdp"
    ) -> None:
        self.problem, self.relaxation = problem, relaxation
        self.shift = eigenvalue_shift(problem, relaxation)
        m = problem.shape[1]
        i, j = np.triu_indices(m, 1)
        # One row for each pair of columns, whose sum it takes.
        sums = np.zeros((len(i), m))
        sums[np.arange(len(i)), i] = sums[np.arange(len(i)), j] = 1.0
        self._sums = sums if relaxation == "parabolic" else sums[:0]
        self._modes = np.linalg.eigh(self._sums.T @ self._sums)
        self._factors: dict[float, Any] = {}

    def begin(self, Pc: Array, penalty: float) -> Splitting:
        """Return the splitting at Pc."""
        positive = np.maximum(Pc, 0.0)
        none = np.zeros_like(positive)
        pairs = positive @ self._sums.T
        rho = 2.0 ** np.round(np.log2(penalty))
        duals = (none, none, np.zeros_like(pairs))
        return Splitting(positive, positive.copy(), pairs, duals, float(rho))

    def solve(
        self, Pc: Array, penalty: float, at: Splitting, tol: float, steps: int
    ) -> Splitting:
        """Return the splitting after the round from Pc."""
        N, Y, Z, rho = at.positive, at.ball, at.pairs, at.rho
        a, b, c = at.duals
        pull = penalty * Pc - self.problem.linear
        enough = tol * np.sqrt(N.shape[1])
        for k in range(1, steps + 1):
            P = self._center(pull, rho, N - a + Y - b, Z - c)
            to_N = OVER_RELAXATION * P + (1.0 - OVER_RELAXATION) * N
            to_Y = OVER_RELAXATION * P + (1.0 - OVER_RELAXATION) * Y
            old_N, old_Y = N, Y
            N = np.maximum(to_N + a, 0.0)
            a = a + to_N - N
            whole = to_Y + b
            Y = self._in_ball(whole)
            b = whole - Y
            if len(self._sums):
                whole = OVER_RELAXATION * P @ self._sums.T
                whole = whole + (1 - OVER_RELAXATION) * Z + c
                length = np.linalg.norm(whole, axis=0) / np.sqrt(2.0)
                Z = whole / np.maximum(length, 1.0)
                c = whole - Z
            if k % 10:
                continue
            primal = np.hypot(np.linalg.norm(P - N), np.linalg.norm(P - Y))
            dual = rho * np.hypot(np.linalg.norm(N - old_N), np.linalg.norm(Y - old_Y))
            if max(primal, dual) <= enough:
                break
            if k % 50 == 0 and k < steps // 2:
                # Residual balancing.
                factor = 2.0 if primal > 5.0 * dual else 1.0
                factor = 0.5 if dual > 5.0 * primal else factor
                rho *= factor
                a, b, c = a / factor, b / factor, c / factor
        return Splitting(N, Y, Z, (a, b, c), rho)

    def _center(self, pull: Array, rho: float, copies: Array, pairs: Array) -> Array:
        if not len(self._sums):
            return self._solved(2.0 * rho, pull + rho * copies)
        values, turn = self._modes
        right = (pull + rho * (copies + pairs @ self._sums)) @ turn
        columns = [
            self._solved(float(rho * (2.0 + round(value, 9))), right[:, j])
            for j, value in enumerate(values)
        ]
        return np.column_stack(columns) @ turn.T

    def _solved(self, diagonal: float, right: Array) -> Array:
        """Return (2 (M - dI) + diagonal I)^-1 right."""
        M: SymmetricMatrix = self.problem.quadratic
        if diagonal not in self._factors:
            n, more = self.problem.shape[0], diagonal - 2.0 * self.shift
            if sparse.issparse(M):
                self._factors[diagonal] = splu(
                    sparse.csc_matrix(2.0 * M + more * sparse.eye_array(n)),
                    permc_spec="MMD_AT_PLUS_A",
                    options={"SymmetricMode": True},
                ).solve
            else:
                factor = cho_factor(2.0 * M + more * np.eye(n))
                self._factors[diagonal] = lambda right: cho_solve(factor, right)
        return self._factors[diagonal](right)

    def _in_ball(self, whole: Array) -> Array:
        if self.relaxation == "parabolic":
            return whole / np.maximum(np.linalg.norm(whole, axis=0), 1.0)
        # Singular values by the small Gram matrix: those above one are far from zero.
        squares, turn = np.linalg.eigh(whole.T @ whole)
        shrink = 1.0 / np.sqrt(np.maximum(squares, 1.0))
        return whole @ ((turn * shrink) @ turn.T)
