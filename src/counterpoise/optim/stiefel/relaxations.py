"""Convex relaxations of problems with orthogonality constraints."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import dense

# -----------------------------------------------------------------------------
# A conic programme put together cone by cone, solved by Clarabel.
# -----------------------------------------------------------------------------


Cone = Literal["zero", "nonnegative", "second-order", "semidefinite"]


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """What Clarabel found.

    Attributes
    ----------
    x : array
        The variables; not finite where it gave up.
    multipliers : list of arrays
        One a cone, in the order in which they were added.
    """

    x: Array
    multipliers: list[Array]


@dataclass(eq=False)
class ConicRows:
    """Cones that hold affine functions of the variables, F x + g.

    Parameters
    ----------
    size : int
        The number of variables.
    accuracy : float
        Clarabel's tolerance on gap and feasibility.

    Notes
    -----
    Only the objective changes between solves (`again`), so that the data are set up and
    the pattern of the factor is found once.
    """

    size: int
    accuracy: float = 1e-9
    _rows: list[Any] = field(default_factory=list)
    _right: list[Array] = field(default_factory=list)
    _cones: list[tuple[Cone, int, int]] = field(default_factory=list)
    _solver: Any = None

    def cone(self, kind: Cone, F: Any, g: Array, order: int = 0) -> None:
        """Ask that F x + g lies in a cone.

        A semidefinite one of an `order` takes the upper triangle, column after column,
        entries beside the diagonal times the root of two.
        """
        if len(g) == 0:
            return
        self._rows.append(-sparse.csc_matrix(F))
        self._right.append(np.asarray(g, dtype=float))
        self._cones.append((kind, len(g), order or len(g)))

    def solve(self, q: Array, Q: Any = None) -> ConicAnswer:
        """Minimise q'x + x'Qx / 2."""
        import clarabel

        make = {
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
            np.concatenate(self._right),
            [make[kind](order) for kind, _, order in self._cones],
            settings,
        )
        return self._answer()

    def again(self, q: Array, Q: Any = None) -> ConicAnswer:
        """Minimise another objective over the same cones."""
        if self._solver is None:
            return self.solve(q, Q)
        if Q is None:
            self._solver.update(q=q)
        else:
            self._solver.update(q=q, P=sparse.triu(sparse.csc_matrix(Q), format="csc"))
        return self._answer()

    def _answer(self) -> ConicAnswer:
        answer = self._solver.solve()
        x, z = np.asarray(answer.x, dtype=float), np.asarray(answer.z, dtype=float)
        ends = np.cumsum([count for _, count, _ in self._cones])[:-1]
        return ConicAnswer(x, np.split(z, ends))


def triangle(order: int) -> tuple[Any, Any, Array]:
    """Return rows, columns and factors of an upper triangle, column after column."""
    columns, rows = np.tril_indices(order)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


# -----------------------------------------------------------------------------
# What a relaxation asks of P in place of P'P = I, and of X in place of X = PP'.
# -----------------------------------------------------------------------------


Relaxation = Literal["sdp", "parabolic"]


def add_ball(rows: ConicRows, relaxation: Relaxation, n: int, m: int) -> None:
    r"""Ask that I - P'P lies in the cone of the relaxation; P comes first, row by row.

    "sdp": singular values at most one. "parabolic": columns with
    :math:`|c_j| \le 1` and :math:`|c_i \pm c_j|^2 \le 2`.
    """
    if relaxation == "sdp":
        r, c, factor = triangle(n + m)
        at = np.flatnonzero((r < n) & (c >= n))
        F = sparse.csr_array(
            (factor[at], (at, r[at] * m + (c[at] - n))), shape=(len(r), rows.size)
        )
        rows.cone("semidefinite", F, (r == c).astype(float), n + m)
        return
    pairs = [(j, j, 0.0) for j in range(m)]
    pairs += [(i, j, s) for i in range(m) for j in range(i + 1, m) for s in (1.0, -1.0)]
    body = np.arange(n)
    for i, j, sign in pairs:
        at = np.concatenate([1 + body, 1 + body])
        columns = np.concatenate([body * m + i, body * m + j])
        entries = np.concatenate([np.ones(n), np.full(n, sign)])
        F = sparse.csr_array((entries, (at, columns)), shape=(n + 1, rows.size))
        g = np.zeros(n + 1)
        g[0] = 1.0 if sign == 0.0 else np.sqrt(2.0)
        rows.cone("second-order", F, g)


def add_lifting(
    rows: ConicRows, relaxation: Relaxation, shape: tuple[int, int], X: Any
) -> None:
    r"""Ask that X - PP' lies in the cone of the relaxation.

    Parameters
    ----------
    X : triple of arrays
        Rows, columns (not below them) and places of the entries that are variables,
        the diagonal first. "sdp" needs all of them. "parabolic" asks
        :math:`X_{ii} \ge |p_i|^2` and, of the pairs that are variables,
        :math:`X_{ii} + X_{jj} \pm 2 X_{ij} \ge |p_i \pm p_j|^2`; of other pairs
        nothing is lost, since no term sees them.
    """
    n, m = shape
    i, j, place = X
    if relaxation == "sdp":
        where = np.zeros((n, n), dtype=np.intp)
        where[i, j] = place
        add_schur(rows, where, m)
        return
    own = place[:n]
    # X_ii >= |p_i|^2 is the cone (X_ii + 1, 2 p_i, X_ii - 1).
    for row in range(n):
        _add_paraboloid(rows, [(own[row], 1.0)], [(row, 1.0)], m)
    for a, b, at in zip(i[n:], j[n:], place[n:], strict=True):
        for sign in (1.0, -1.0):
            _add_paraboloid(
                rows,
                [(own[a], 1.0), (own[b], 1.0), (at, 2.0 * sign)],
                [(int(a), 1.0), (int(b), sign)],
                m,
            )


def add_schur(rows: ConicRows, where: Indices, m: int) -> None:
    """Ask for [[X, P], [P', I]] >= 0, or for X >= 0 where m is zero.

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
    F = sparse.csr_array((factor[places], (places, columns)), shape=(len(r), rows.size))
    rows.cone("semidefinite", F, ((r == c) & (r >= n)).astype(float), n + m)


def _add_paraboloid(
    rows: ConicRows,
    above: list[tuple[int, float]],
    frame_rows: list[tuple[int, float]],
    m: int,
) -> None:
    """Ask that a sum of entries of X is at least the square of a sum of rows of P."""
    at, columns, entries = [], [], []
    for place, factor in above:
        at += [0, m + 1]
        columns += [place, place]
        entries += [factor, factor]
    for row, factor in frame_rows:
        at += range(1, m + 1)
        columns += range(row * m, row * m + m)
        entries += [2.0 * factor] * m
    F = sparse.csr_array((entries, (at, columns)), shape=(m + 2, rows.size))
    g = np.zeros(m + 2)
    g[0], g[-1] = 1.0, -1.0
    rows.cone("second-order", F, g)


# -----------------------------------------------------------------------------
# A problem's terms as linear functions of P, X = PP', and two epigraphs.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LiftedTerms:
    """Variables P (row after row), X (diagonal, then some pairs), t, u; and the terms.

    Parameters
    ----------
    problem : OrthogonalProblem
    every_pair : bool
        Whether all entries of X are variables; else those that a term names.
    with_frame : bool
        Whether P is a variable; not needed where it enters through PP' alone.
    """

    problem: Any
    every_pair: bool = True
    with_frame: bool = True

    @property
    def frame(self) -> slice:
        """Where P stands."""
        n, m = self.problem.shape
        return slice(0, n * m if self.with_frame else 0)

    @property
    def lifted(self) -> slice:
        """Where X stands."""
        first = self.frame.stop
        return slice(first, first + len(self.rows))

    @property
    def top(self) -> int:
        """Where t stands, if there is one."""
        return self.lifted.stop

    @property
    def sizes(self) -> slice:
        """Where the absolute values stand."""
        first = self.top + (self.problem.forms is not None)
        count = 0 if self.problem.l1 is None else len(self.problem.l1[1])
        return slice(first, first + count)

    @property
    def size(self) -> int:
        """The number of variables."""
        return self.sizes.stop

    @cached_property
    def rows(self) -> Indices:
        """Rows of the entries of X; those of the diagonal come first."""
        return self._entries[0]

    @cached_property
    def columns(self) -> Indices:
        """Columns of the entries of X, never below their rows."""
        return self._entries[1]

    @cached_property
    def _entries(self) -> tuple[Indices, Indices]:
        n = self.problem.shape[0]
        upper = np.triu_indices(n, 1)
        if not self.every_pair:
            used = np.zeros((n, n), dtype=bool)
            for M in self._matrices():
                used |= dense(M) != 0.0
            if self.problem.forms is not None:
                used |= (self.problem.forms.matrices() != 0.0).any(axis=0)
            above, beside = np.nonzero(np.triu(used, 1))
            upper = above, beside
        own = np.arange(n)
        return np.concatenate([own, upper[0]]), np.concatenate([own, upper[1]])

    def _matrices(self) -> list[Any]:
        own = [self.problem.quadratic]
        own += [one.quadratic for one in self.problem.constraints]
        return [M for M in own if M is not None]

    def of_lifted(self, M: Any) -> Array:
        """Return the coefficients of <M, X> on the entries of X."""
        if M is None:
            return np.zeros(len(self.rows))
        twice = np.where(self.rows == self.columns, 1.0, 2.0)
        return twice * np.asarray(dense(M)[self.rows, self.columns])

    def affine(self, M: Any, N: Array | None) -> Array:
        """Return the coefficients of <M, X> + <N, P>."""
        out = np.zeros(self.size)
        out[self.lifted] = self.of_lifted(M)
        if N is not None:
            out[self.frame] = N.ravel()
        return out

    def objective(self) -> Array:
        """Return the coefficients of the relaxed objective."""
        out = self.affine(self.problem.quadratic, self.problem.linear)
        if self.problem.forms is not None:
            out[self.top] = 1.0
        out[self.sizes] = 1.0
        return out

    def add_terms(self, rows: ConicRows) -> list[str]:
        """Add what the terms ask, and return the names of the cones in order.

        "trace", "weights" (forms below t), "signs" (absolute values below u, first the
        plain ones), "prices" (constraints), "signs of P".
        """
        problem, n = self.problem, self.problem.shape[0]
        names = ["trace"]
        trace = np.zeros((1, self.size))
        trace[0, self.lifted.start : self.lifted.start + n] = 1.0
        rows.cone("zero", trace, np.array([-float(problem.shape[1])]))
        if problem.forms is not None:
            twice = np.where(self.rows == self.columns, 1.0, 2.0)
            stack = problem.forms.matrices()[:, self.rows, self.columns] * twice
            F = np.zeros((len(stack), self.size))
            F[:, self.lifted] = -stack
            F[:, self.top] = 1.0
            rows.cone("nonnegative", F, np.zeros(len(stack)))
            names.append("weights")
        if problem.l1 is not None:
            B, b = problem.l1
            F = np.zeros((len(b), self.size))
            F[:, self.frame] = B.reshape(len(b), -1)
            above = np.zeros_like(F)
            above[:, self.sizes] = np.eye(len(b))
            rows.cone(
                "nonnegative",
                np.vstack([above - F, above + F]),
                np.concatenate([-b, b]),
            )
            names.append("signs")
        if problem.constraints:
            parts = [self.affine(c.quadratic, c.linear) for c in problem.constraints]
            constants = np.array([one.constant for one in problem.constraints])
            rows.cone("nonnegative", -np.stack(parts), -constants)
            names.append("prices")
        if problem.nonnegative and self.with_frame:
            count = self.frame.stop
            F = sparse.eye_array(count, self.size)
            rows.cone("nonnegative", F, np.zeros(count))
            names.append("signs of P")
        return names


# -----------------------------------------------------------------------------
# One penalised round with P and X = PP' as variables.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RoundAnswer:
    """What a round found.

    Attributes
    ----------
    P : array of shape (n, m)
        Inside the ball of the relaxation, on a frame where the round was exact; not
        finite where the conic solver gave up.
    value : float
        The least value of the penalised relaxation; it bounds nothing globally.
    lack : float
        tr(X - PP'), zero where the round was exact.
    """

    P: Array
    value: float
    lack: float


@dataclass(frozen=True, eq=False)
class LiftedRound:
    r"""The penalised relaxation of any problem, by Clarabel.

    .. math:: \min_{P, X}\ \langle M, X\rangle + \langle N, P\rangle + \ldots
              - \mu \langle P_c, P\rangle,\quad
              I - P'P \in \mathcal{C},\ X - PP' \in \mathcal{D},\ \mathrm{tr} X = m

    with both cones the positive semidefinite matrices ("sdp": two cones of order
    n + m) or those H with :math:`H_{ii} + H_{jj} \ge 2 |H_{ij}|` ("parabolic":
    second-order cones, n + twice the pairs of rows that a term couples + m^2, of
    dimension m + 2). The objective is divided by mu, without which Clarabel gives up
    where mu is large; between rounds it alone changes.

    Parameters
    ----------
    problem : OrthogonalProblem
    relaxation : {"sdp", "parabolic"}
    """

    problem: Any
    relaxation: Relaxation

    @cached_property
    def terms(self) -> LiftedTerms:
        """The variables and the terms."""
        return LiftedTerms(self.problem, every_pair=self.relaxation == "sdp")

    @cached_property
    def _rows(self) -> ConicRows:
        terms, shape = self.terms, self.problem.shape
        rows = ConicRows(terms.size)
        terms.add_terms(rows)
        add_ball(rows, self.relaxation, *shape)
        places = terms.lifted.start + np.arange(len(terms.rows))
        add_lifting(rows, self.relaxation, shape, (terms.rows, terms.columns, places))
        return rows

    @cached_property
    def _objective(self) -> Array:
        return self.terms.objective()

    def solve(self, Pc: Array, penalty: float) -> RoundAnswer:
        """Return the solution of the round from Pc."""
        q = self._objective.copy()
        q[self.terms.frame] -= penalty * Pc.ravel()
        unit = penalty or self.problem.slope
        x = self._rows.again(q / unit).x
        n, m = self.problem.shape
        P = x[self.terms.frame].reshape(n, m)
        trace = x[self.terms.lifted][:n].sum()
        return RoundAnswer(P, float(q @ x), float(trace - np.sum(P * P)))


# -----------------------------------------------------------------------------
# One penalised round without X, which is eliminated in closed form.
# -----------------------------------------------------------------------------


def eigenvalue_shift(problem: Any, relaxation: Relaxation) -> float:
    """Return d such that the least <M, X> of the relaxation is <M - dI, PP'> + d m.

    "sdp": the least eigenvalue of M; "parabolic": the least of M_ii less the absolute
    values beside it (Gershgorin). Both are zero for the Laplacian of a graph.
    """
    M = problem.quadratic
    if M is None:
        return 0.0
    if relaxation == "sdp":
        return float(problem.quadratic_range[0])
    own = M.diagonal()
    beside = np.asarray(abs(M).sum(axis=1)).ravel() - np.abs(own)
    return float((own - beside).min())


@dataclass(frozen=True, eq=False)
class EliminatedRound:
    r"""The penalised relaxation of a problem without maximum and quadratic constraints.

    .. math:: \min_P\ \mathrm{tr} P'(M - dI)P + dm + \langle N - \mu P_c, P\rangle
              + \sum_i |\langle B_i, P\rangle + b_i|,\quad I - P'P \in \mathcal{C}

    with d of `eigenvalue_shift`: the same value and the same P as `LiftedRound`, with
    nm variables. With quadratic constraints or a maximum the shift would depend on
    their multipliers, so these are refused.

    Parameters
    ----------
    problem : OrthogonalProblem
    relaxation : {"sdp", "parabolic"}
    """

    problem: Any
    relaxation: Relaxation

    def __post_init__(self) -> None:
        if not can_eliminate(self.problem):
            raise ValueError("X cannot be eliminated: a constraint or maximum sees it")

    @cached_property
    def shift(self) -> float:
        """d."""
        return eigenvalue_shift(self.problem, self.relaxation)

    @cached_property
    def _curvature(self) -> Any:
        n, m = self.problem.shape
        extra = self._size - n * m
        blocks = [sparse.csc_array((extra, extra))] if extra else []
        if self.problem.quadratic is None:
            return sparse.csc_array((self._size, self._size))
        B = 2.0 * (dense(self.problem.quadratic) - self.shift * np.eye(n))
        whole = sparse.kron(sparse.csc_array(B), sparse.eye_array(m))
        return sparse.block_diag([whole, *blocks], format="csc")

    @property
    def _size(self) -> int:
        n, m = self.problem.shape
        return n * m + (0 if self.problem.l1 is None else len(self.problem.l1[1]))

    @cached_property
    def _rows(self) -> ConicRows:
        problem, (n, m) = self.problem, self.problem.shape
        rows = ConicRows(self._size)
        frame = sparse.eye_array(n * m, self._size)
        if problem.nonnegative:
            rows.cone("nonnegative", frame, np.zeros(n * m))
        if problem.constraints:
            F = np.stack([one.linear.ravel() for one in problem.constraints])
            c = np.array([one.constant for one in problem.constraints])
            rows.cone("nonnegative", -(sparse.csr_array(F) @ frame), -c)
        if problem.l1 is not None:
            B, b = problem.l1
            F = sparse.csr_array(B.reshape(len(b), -1)) @ frame
            above = sparse.eye_array(len(b), self._size, k=n * m)
            rows.cone(
                "nonnegative",
                sparse.vstack([above - F, above + F]),
                np.concatenate([-b, b]),
            )
        add_ball(rows, self.relaxation, n, m)
        return rows

    def solve(self, Pc: Array, penalty: float) -> RoundAnswer:
        """Return the solution of the round from Pc."""
        n, m = self.problem.shape
        q = np.zeros(self._size)
        q[n * m :] = 1.0
        q[: n * m] = -penalty * Pc.ravel()
        if self.problem.linear is not None:
            q[: n * m] += self.problem.linear.ravel()
        unit = penalty or self.problem.slope
        x = self._rows.again(q / unit, self._curvature / unit).x
        P = x[: n * m].reshape(n, m)
        value = float(q @ x + 0.5 * x @ (self._curvature @ x)) + self.shift * m
        return RoundAnswer(P, value, float(m - np.sum(P * P)))


def can_eliminate(problem: Any) -> bool:
    """Return whether X stands in the quadratic term alone."""
    return problem.forms is None and all(
        one.quadratic is None for one in problem.constraints
    )


# -----------------------------------------------------------------------------
# One penalised round with P >= 0 by alternating directions, for large sparse M.
# -----------------------------------------------------------------------------


# Over-relaxation of the splitting.
RELAXED = 1.6


@dataclass(frozen=True, eq=False)
class Splitting:
    """Where the splitting is: its copies of P and their scaled multipliers.

    Attributes
    ----------
    positive : array of shape (n, m)
        The copy that is not negative; the answer.
    lacking : float
        The larger residual when the steps ended.
    """

    positive: Array
    ball: Array
    pairs: Array
    duals: tuple[Array, Array, Array]
    rho: float
    steps: int = 0
    lacking: float = np.inf


@dataclass(frozen=True, eq=False)
class NonnegativeRound:
    r"""The round with X eliminated and P >= 0, by ADMM.

    .. math:: \min_{P \ge 0}\ \mathrm{tr} P'(M - dI)P + \langle N - \mu P_c, P\rangle

    with singular values at most one ("sdp") or columns in balls,
    :math:`|c_j| \le 1` and :math:`|c_i + c_j|^2 \le 2` ("parabolic"; the differences
    follow where P >= 0, and it takes m(m - 1)/2 more blocks). P has one copy that is
    not negative and one in the ball. A step costs one solve with
    :math:`2(M - dI) + 2\rho I`, whose sparse factor is kept for each of the few
    :math:`\rho`, and O(n m^2).

    Parameters
    ----------
    problem : OrthogonalProblem
        Smooth, without constraints but P >= 0.
    relaxation : {"sdp", "parabolic"}
    """

    problem: Any
    relaxation: Relaxation = "sdp"
    _factors: dict[float, Any] = field(default_factory=dict)

    @cached_property
    def shift(self) -> float:
        """d."""
        return eigenvalue_shift(self.problem, self.relaxation)

    @cached_property
    def _sums(self) -> Array:
        """The pairs of columns as a matrix, one row a pair."""
        m = self.problem.shape[1]
        i, j = np.triu_indices(m, 1)
        out = np.zeros((len(i), m))
        out[np.arange(len(i)), i] = out[np.arange(len(i)), j] = 1.0
        return out if self.relaxation == "parabolic" else out[:0]

    @cached_property
    def _modes(self) -> tuple[Array, Array]:
        return np.linalg.eigh(self._sums.T @ self._sums)

    def _solved(self, diagonal: float, right: Array) -> Array:
        """Return (2 (M - dI) + diagonal I)^-1 right."""
        M, n = self.problem.quadratic, self.problem.shape[0]
        if M is None:
            return right / diagonal
        if diagonal not in self._factors:
            if sparse.issparse(M):
                whole = 2.0 * M + (diagonal - 2.0 * self.shift) * sparse.eye_array(n)
                self._factors[diagonal] = splu(
                    sparse.csc_matrix(whole),
                    permc_spec="MMD_AT_PLUS_A",
                    options={"SymmetricMode": True},
                ).solve
            else:
                whole = 2.0 * M + (diagonal - 2.0 * self.shift) * np.eye(n)
                factor = cho_factor(whole)
                self._factors[diagonal] = lambda right: cho_solve(factor, right)
        return self._factors[diagonal](right)

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
        m = N.shape[1]
        pull = penalty * Pc
        if self.problem.linear is not None:
            pull = pull - self.problem.linear
        enough = tol * np.sqrt(m)
        worst = np.inf
        for k in range(1, steps + 1):
            P = self._center(pull, rho, N - a + Y - b, Z - c)
            to_N = RELAXED * P + (1.0 - RELAXED) * N
            to_Y = RELAXED * P + (1.0 - RELAXED) * Y
            old_N, old_Y = N, Y
            N = np.maximum(to_N + a, 0.0)
            a = a + to_N - N
            whole = to_Y + b
            Y = self._in_ball(whole)
            b = whole - Y
            if len(self._sums):
                whole = RELAXED * P @ self._sums.T + (1 - RELAXED) * Z + c
                length = np.linalg.norm(whole, axis=0) / np.sqrt(2.0)
                Z = whole / np.maximum(length, 1.0)
                c = whole - Z
            if k % 10:
                continue
            apart = float(np.hypot(np.linalg.norm(P - N), np.linalg.norm(P - Y)))
            change = float(
                np.hypot(np.linalg.norm(N - old_N), np.linalg.norm(Y - old_Y))
            )
            worst = max(apart, rho * change)
            if worst <= enough:
                break
            if k % 50 == 0 and k < steps // 2:
                factor = _balance(apart, rho * change)
                rho *= factor
                a, b, c = a / factor, b / factor, c / factor
        return Splitting(N, Y, Z, (a, b, c), rho, at.steps + k, worst)

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

    def _in_ball(self, whole: Array) -> Array:
        if self.relaxation == "parabolic":
            return whole / np.maximum(np.linalg.norm(whole, axis=0), 1.0)
        # Singular values by the small Gram matrix: those above one are far from zero.
        squares, turn = np.linalg.eigh(whole.T @ whole)
        shrink = 1.0 / np.sqrt(np.maximum(squares, 1.0))
        return whole @ ((turn * shrink) @ turn.T)


def _balance(apart: float, change: float) -> float:
    """Return by what rho is multiplied: by two where copies are five times too far."""
    if apart > 5.0 * change:
        return 2.0
    return 0.5 if change > 5.0 * apart else 1.0
