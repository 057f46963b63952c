"""Constraints on outputs and weights, and quadratic programs under them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import linprog

from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# Convex limits on outputs and weights of a network, with names.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ErrorBound:
    r"""The mean absolute error of some rows, outputs summed, is at most `bound`.

    .. math:: \sum_i \omega_i \sum_k |z_{ik} - y_{ik}| \le bound

    Parameters
    ----------
    name : str
    rows : array of int
    share : array
        What each of them counts; of sum one.
    truth : array of shape (n, n_outputs)
        y at these rows.
    bound : float
    """

    name: str
    rows: Indices
    share: Array
    truth: Array
    bound: float

    def value(self, z: Array) -> float:
        """Return the mean absolute error."""
        return float(self.share @ np.abs(z[self.rows] - self.truth).sum(axis=1))

    def violation(self, z: Array) -> float:
        """Return by how much the bound is exceeded."""
        return max(self.value(z) - self.bound, 0.0)

    def tightened(self, margin: float) -> "ErrorBound":
        """Return the limit with a smaller bound."""
        return replace(self, bound=self.bound - margin)


@dataclass(frozen=True, eq=False)
class MeanWithin:
    """The mean output of some rows is between `low` and `high`.

    Parameters
    ----------
    name : str
    rows : array of int
    share : array
        What each of them counts; of sum one.
    low, high : float
        May be infinite, not both.
    """

    name: str
    rows: Indices
    share: Array
    low: float
    high: float

    def value(self, z: Array) -> float:
        """Return the mean output."""
        return float(self.share @ z[self.rows, 0])

    def violation(self, z: Array) -> float:
        """Return by how much the nearer end is exceeded."""
        mean = self.value(z)
        return max(self.low - mean, mean - self.high, 0.0)

    def tightened(self, margin: float) -> "MeanWithin":
        """Return the limit with ends moved inwards, at most to a quarter of its width.

        An interval of no width stays.
        """
        margin = min(margin, 0.25 * (self.high - self.low))
        return replace(self, low=self.low + margin, high=self.high - margin)


@dataclass(frozen=True, eq=False)
class RisingRows:
    """The output at row `upper[i]` is no lower than at row `lower[i]`.

    Parameters
    ----------
    name : str
    lower, upper : arrays of int
    least : float
        What the rise is at least: zero, or a margin.
    """

    name: str
    lower: Indices
    upper: Indices
    least: float = 0.0

    def value(self, z: Array) -> float:
        """Return the largest fall; negative where all rise."""
        return -float(self.rises(z).min())

    def rises(self, z: Array) -> Array:
        """Return the rise of every pair."""
        return z[self.upper, 0] - z[self.lower, 0]

    def violation(self, z: Array) -> float:
        """Return the largest fall, zero where there is none."""
        return max(self.least + self.value(z), 0.0)

    def tightened(self, margin: float) -> "RisingRows":
        """Return the limit that asks for a rise."""
        return replace(self, least=self.least + margin)


@dataclass(frozen=True, eq=False)
class SignedWeights:
    """Some weights have a sign or are zero.

    Parameters
    ----------
    name : str
    places : array of int
        Where they are in the vector of parameters.
    signs : array
        1 or -1.
    """

    name: str
    places: Indices
    signs: Array

    def violation(self, x: Array) -> float:
        """Return the largest weight of the wrong sign."""
        return float(np.maximum(-self.signs * x[self.places], 0.0).max(initial=0.0))

    def kept(self, x: Array) -> Array:
        """Return parameters in which weights of the wrong sign are zero."""
        x = x.copy()
        here = x[self.places]
        x[self.places] = np.where(self.signs * here < 0.0, 0.0, here)
        return x


OutputLimit: TypeAlias = ErrorBound | MeanWithin | RisingRows


# -----------------------------------------------------------------------------
# Limits that no function of the inputs can keep: a linear program.
# -----------------------------------------------------------------------------


class BestOfAll(NamedTuple):
    """A function that exceeds limits least, of all functions.

    Attributes
    ----------
    excess : array of shape (n_limits,)
    outputs : array of shape (n, n_outputs)
        Its values at the rows.
    unit : float
        The largest number among bounds and truths, which rounding is relative to.
    """

    excess: Array
    outputs: Array
    unit: float = 1.0


def best_of_all(
    rows: Array, n_outputs: int, limits: Sequence[OutputLimit]
) -> BestOfAll | None:
    """Return the best of all functions, and by how much it exceeds each limit.

    Values are free at each distinct row and the same at equal ones; of all such
    functions one is taken whose excesses have the least sum. A positive sum proves that
    no function of these inputs keeps all limits.

    Parameters
    ----------
    rows : array of shape (n, d)
    n_outputs : int
    limits : sequence of limits

    Returns
    -------
    BestOfAll or None
        None where the linear program was not solved.

    Examples
    --------
    >>> same = np.zeros((2, 1))
    >>> truth = np.array([[0.0], [1.0]])
    >>> both = [
    ...     ErrorBound(str(k), np.array([k]), np.ones(1), truth[[k]], 0.25)
    ...     for k in (0, 1)
    ... ]
    >>> best_of_all(same, 1, both).excess.sum().round(6)
    np.float64(0.5)
    """
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    which = which.ravel()
    n_values = len(distinct) * n_outputs
    n_errors = [
        limit.truth.size if isinstance(limit, ErrorBound) else 0 for limit in limits
    ]
    n = n_values + sum(n_errors) + len(limits)
    blocks: list[sparse.coo_array] = []
    ends: list[Array] = []

    def add(entries: Array, lines: Indices, places: Indices, end: Array) -> None:
        shape = (end.size, n)
        blocks.append(sparse.coo_array((entries, (lines, places)), shape=shape))
        ends.append(end)

    first = n_values
    for k, limit in enumerate(limits):
        slack = n - len(limits) + k
        if isinstance(limit, ErrorBound):
            size = n_errors[k]
            line = np.arange(size)
            value = which[limit.rows][:, None] * n_outputs + np.arange(n_outputs)
            error = first + line
            one = np.ones(size)
            both = np.concatenate([line, line])
            places = np.concatenate([value.ravel(), error])
            truth = limit.truth.ravel()
            add(np.concatenate([one, -one]), both, places, truth)
            add(np.concatenate([-one, -one]), both, places, -truth)
            share = np.append(np.repeat(limit.share, n_outputs), -1.0)
            zero = np.zeros(size + 1, dtype=np.intp)
            add(share, zero, np.append(error, slack), np.array([limit.bound]))
            first += size
        elif isinstance(limit, MeanWithin):
            place = np.append(which[limit.rows] * n_outputs, slack)
            zero = np.zeros(place.size, dtype=np.intp)
            if np.isfinite(limit.high):
                add(np.append(limit.share, -1.0), zero, place, np.array([limit.high]))
            if np.isfinite(limit.low):
                add(np.append(-limit.share, -1.0), zero, place, np.array([-limit.low]))
        else:
            size = limit.lower.size
            line, one = np.arange(size), np.ones(size)
            low, up = which[limit.lower], which[limit.upper]
            places = np.concatenate(
                [low * n_outputs, up * n_outputs, np.full(size, slack)]
            )
            entries = np.concatenate([one, -one, -one])
            add(entries, np.tile(line, 3), places, np.full(size, -limit.least))
    cost = np.zeros(n)
    cost[n - len(limits) :] = 1.0
    bounds = [(None, None)] * n_values + [(0.0, None)] * (n - n_values)
    end = np.concatenate(ends)
    unit = float(np.abs(end).max(initial=0.0)) or 1.0
    found = linprog(
        cost,
        A_ub=sparse.csr_array(sparse.vstack(blocks)),
        b_ub=end / unit,
        bounds=bounds,
        method="highs",
    )
    if not found.success:
        return None
    x = unit * np.asarray(found.x, dtype=float)
    values = x[:n_values].reshape(len(distinct), n_outputs)
    return BestOfAll(x[n - len(limits) :], values[which], unit)


# -----------------------------------------------------------------------------
# Quadratic programs under limits on affine outputs, by Clarabel.
#
# .. math::
#
#         \min_{d, s \ge 0} \tfrac12 d'Hd + q'd + \rho \sum_k s_k \quad \text{with
#     limits on }
#         z + Jd \text{, the k-th loosened by } s_k
#
# (hard: without s). A mean absolute error over thousands of rows would bring as many
# dense rows into the program; those whose residual keeps its sign enter through one
# sum
# instead. Rows whose sign turns out to change join, and the program is solved
# again:
# what is left out makes a relaxation, so that an answer that keeps the limits is
# exact.
# -----------------------------------------------------------------------------


# Clarabel's own tolerance on gap and feasibility.
PROGRAM_ACCURACY = 1e-10
# A program with at most so many dense entries has all rows from the first.
SMALL_PROGRAM = 30_000
# Residuals below this share of the largest may change sign; their rows join at first.
LIKELY_TO_TURN = 0.05
# Solves of one program, rows joining; the last one has all of them.
MOST_SOLVES = 8


@dataclass(frozen=True)
class ProgramAnswer:
    """The solution of a program.

    Attributes
    ----------
    d : array
    slacks : array
        One a limit; zeros for a hard program.
    below, above : arrays
        Multipliers of the limits: of the lower end of a mean (zero for other limits),
        and of the bound itself (of all rows together, where rows have to rise).
    signal : array of shape (rows, n_outputs)
        Slope of the limits' share in the Lagrangian by the outputs.
    floors : array
        Multipliers of the floors of d.
    truths : array
        Of an error bound: its part of the signal times the truth, summed.
    """

    d: Array
    slacks: Array
    below: Array
    above: Array
    signal: Array
    floors: Array
    truths: Array


@dataclass(frozen=True, eq=False)
class Floors:
    """Entries of d that are bounded on one side: sign * d >= value.

    Parameters
    ----------
    places, signs, values : arrays
    """

    places: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    signs: Array = field(default_factory=lambda: np.zeros(0))
    values: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class LimitedProgram:
    """A quadratic function of d, outputs that are affine in d, and their limits.

    Parameters
    ----------
    H, q : arrays
        Of the function; H positive semidefinite.
    z : array of shape (rows, n_outputs)
        Outputs at d = 0.
    J : array of shape (rows, n_outputs, n)
        Their derivatives.
    limits : sequence of limits
    floors : Floors
    unit : float
        What outputs are measured in, at least: Clarabel's tolerances and its proof that
        there is no point are about numbers near one.
    """

    H: Array
    q: Array
    z: Array
    J: Array
    limits: Sequence[OutputLimit] = ()
    floors: Floors = field(default_factory=Floors)
    unit: float = 1.0

    def value(self, d: Array) -> float:
        """Return the quadratic function."""
        return float(0.5 * d @ (self.H @ d) + self.q @ d)

    def solved(self, price: float | None = None) -> ProgramAnswer | None:
        """Return the answer; None where Clarabel finds none.

        Parameters
        ----------
        price : float or None
            Of loosening a limit by one; None: no limit is loosened.
        """
        if not self.limits and not self.floors.places.size:
            d = -np.asarray(np.linalg.lstsq(self.H, self.q, rcond=1e-13)[0], float)
            none = np.zeros(0)
            return ProgramAnswer(d, none, none, none, np.zeros_like(self.z), none, none)
        taken = [self._first_rows(limit) for limit in self.limits]
        for attempt in range(MOST_SOLVES):
            built = _Rows(self, taken, price is not None)
            x, z, status = built.solve(price)
            if "Infeasible" in status or not np.isfinite(x).all():
                return None
            answer = built.answer(x, z)
            joining = [
                self._turned(limit, rows, answer.d, slack)
                for limit, rows, slack in zip(
                    self.limits, taken, answer.slacks, strict=True
                )
            ]
            if not any(one.any() for one in joining):
                return answer
            last = attempt == MOST_SOLVES - 2
            taken = [a | b | last for a, b in zip(taken, joining, strict=True)]
        return answer

    def impossible(self) -> bool:
        """Return whether Clarabel proves that no d keeps the limits."""
        if not self.limits:
            return False
        every = [np.ones_like(self._first_rows(limit)) for limit in self.limits]
        return _Rows(self, every, False).solve(None)[2] == "PrimalInfeasible"

    def _residuals(self, limit: ErrorBound) -> tuple[Array, Array, Array]:
        """Return residuals at d = 0, their derivatives and shares, an entry a line."""
        start = (self.z[limit.rows] - limit.truth).ravel()
        slopes = self.J[limit.rows].reshape(start.size, -1)
        return start, slopes, np.repeat(limit.share, self.z.shape[1])

    def _first_rows(self, limit: OutputLimit) -> NDArray[np.bool_]:
        if isinstance(limit, MeanWithin):
            return np.zeros(0, dtype=bool)
        if isinstance(limit, RisingRows):
            size, distance = limit.lower.size, limit.rises(self.z)
        else:
            distance = np.abs(self._residuals(limit)[0])
            size = distance.size
        if size * self.q.size <= SMALL_PROGRAM:
            return np.ones(size, dtype=bool)
        return distance <= LIKELY_TO_TURN * np.abs(distance).max()

    def _turned(
        self, limit: OutputLimit, taken: NDArray[np.bool_], d: Array, slack: float
    ) -> NDArray[np.bool_]:
        """Return which rows have to join."""
        if isinstance(limit, MeanWithin):
            return np.zeros(0, dtype=bool)
        if isinstance(limit, RisingRows):
            rises = limit.rises(self.z + self.J @ d)
            return (rises < limit.least - slack - PROGRAM_ACCURACY) & ~taken
        start, slopes, share = self._residuals(limit)
        now = start + slopes @ d
        if float(share @ np.abs(now)) <= limit.bound + slack:
            return np.zeros_like(taken)
        return (np.sign(start) * now < 0.0) & ~taken


class _Rows:
    """The rows of one call of Clarabel, and where its multipliers belong."""

    def __init__(
        self, program: LimitedProgram, taken: list[NDArray[np.bool_]], loose: bool
    ) -> None:
        self.program, self.taken, self.loose = program, taken, loose
        limits = program.limits
        self.n = program.q.size
        self.sizes = [
            int(rows.sum()) if isinstance(limit, ErrorBound) else 0
            for limit, rows in zip(limits, taken, strict=True)
        ]
        self.n_parts = sum(self.sizes)
        self.n_slacks = len(limits) if loose else 0
        self.equations: list[sparse.sparray] = []
        self.equation_ends: list[Array] = []
        self.rows: list[sparse.sparray] = []
        self.ends: list[Array] = []
        # Where the multipliers of a limit begin among the inequalities.
        self.places: list[int] = []
        first = 0
        for k, (limit, rows) in enumerate(zip(limits, taken, strict=True)):
            self.places.append(sum(end.size for end in self.ends))
            if isinstance(limit, ErrorBound):
                self._error(k, limit, rows, first)
                first += self.sizes[k]
            elif isinstance(limit, MeanWithin):
                c = limit.share @ program.J[limit.rows, 0]
                mean = limit.value(program.z)
                self.rows.append(self._row(np.vstack([c, -c]), k))
                self.ends.append(np.array([limit.high - mean, mean - limit.low]))
            else:
                up, low = limit.upper[rows], limit.lower[rows]
                fall = program.J[low, 0] - program.J[up, 0]
                self.rows.append(self._row(fall, k))
                self.ends.append(limit.rises(program.z)[rows] - limit.least)
        self.floor_place = sum(end.size for end in self.ends)
        self._floors()

    def _error(
        self, k: int, limit: ErrorBound, rows: NDArray[np.bool_], first: int
    ) -> None:
        start, slopes, share = self.program._residuals(limit)
        size, fixed = self.sizes[k], np.sign(start) * share * ~rows
        unit = sparse.eye_array(size, format="csc")
        self.equations.append(self._row(slopes[rows], None, first, (-unit, unit)))
        self.equation_ends.append(-start[rows])
        mean = sparse.csc_array(share[rows][None, :])
        self.rows.append(self._row((fixed @ slopes)[None, :], k, first, (mean, mean)))
        self.ends.append(np.array([limit.bound - float(fixed @ start)]))

    def _row(
        self,
        d: Array | sparse.sparray,
        k: int | None = None,
        first: int = 0,
        parts: tuple[sparse.sparray, sparse.sparray] | None = None,
    ) -> sparse.sparray:
        """Return rows over d, both parts of residuals and the slacks.

        `parts` are the coefficients of the parts from `first` on; limit k has its slack
        with -1.
        """
        count = d.shape[0]
        blocks = [sparse.csc_array(d)]
        for part in parts or (sparse.csc_array((count, 0)),) * 2:
            after = self.n_parts - first - part.shape[1]
            before = sparse.csc_array((count, first))
            blocks += [before, part, sparse.csc_array((count, after))]
        slack = np.zeros((count, self.n_slacks))
        if self.loose and k is not None:
            slack[:, k] = -1.0
        return sparse.hstack([*blocks, sparse.csc_array(slack)])

    def _floors(self) -> None:
        """Add floors of d, and that parts of residuals and slacks are nonnegative."""
        floors = self.program.floors
        count, others = floors.places.size, 2 * self.n_parts + self.n_slacks
        signs = sparse.csc_array(
            (-floors.signs, (np.arange(count), floors.places)), shape=(count, self.n)
        )
        self.rows.append(self._row(signs))
        self.ends.append(-floors.values)
        unit = sparse.eye_array(others, format="csc")
        self.rows.append(sparse.hstack([sparse.csc_array((others, self.n)), -unit]))
        self.ends.append(np.zeros(others))

    def solve(self, price: float | None) -> tuple[Array, Array, str]:
        """Return variables, multipliers, and what Clarabel says of them."""
        import clarabel

        one = self.program
        others = 2 * self.n_parts + self.n_slacks
        P = sparse.block_diag(
            [sparse.csc_array(np.triu(one.H)), sparse.csc_array((others, others))],
            format="csc",
        )
        q = np.concatenate(
            [one.q, np.zeros(2 * self.n_parts), np.full(self.n_slacks, price or 0.0)]
        )
        A = sparse.csc_matrix(sparse.vstack([*self.equations, *self.rows]))
        b = np.concatenate([*self.equation_ends, *self.ends])
        unit = max(one.unit, np.abs(b[np.isfinite(b)]).max(initial=0.0))
        n_equations = sum(end.size for end in self.equation_ends)
        cones = [clarabel.ZeroConeT(n_equations)] if n_equations else []
        cones.append(clarabel.NonnegativeConeT(b.size - n_equations))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = PROGRAM_ACCURACY
        settings.tol_feas = PROGRAM_ACCURACY
        found = clarabel.DefaultSolver(
            sparse.csc_matrix(P), q / unit, A, b / unit, cones, settings
        ).solve()
        x, z = (unit * np.asarray(part) for part in (found.x, found.z))
        return x, z, str(found.status)

    def answer(self, x: Array, z: Array) -> ProgramAnswer:
        """Return variables and multipliers by what they belong to."""
        one = self.program
        n_limits = len(one.limits)
        n_equations = sum(end.size for end in self.equation_ends)
        equal, z = z[:n_equations], np.maximum(z[n_equations:], 0.0)
        below, above, truths = np.zeros((3, n_limits))
        signal = np.zeros_like(one.z)
        first = 0
        for k, (limit, rows) in enumerate(zip(one.limits, self.taken, strict=True)):
            place = self.places[k]
            if isinstance(limit, ErrorBound):
                above[k] = z[place]
                start, _, share = one._residuals(limit)
                most = above[k] * share
                u = np.sign(start) * most
                u[rows] = equal[first : first + self.sizes[k]]
                u = np.clip(u, -most, most)
                first += self.sizes[k]
                own = u.reshape(-1, one.z.shape[1])
                signal[limit.rows] += own
                truths[k] = float((own * limit.truth).sum())
            elif isinstance(limit, MeanWithin):
                above[k], below[k] = z[place], z[place + 1]
                signal[limit.rows, 0] += (above[k] - below[k]) * limit.share
            else:
                multipliers = z[place : place + int(rows.sum())]
                above[k] = multipliers.sum()
                np.add.at(signal[:, 0], limit.lower[rows], multipliers)
                np.add.at(signal[:, 0], limit.upper[rows], -multipliers)
        slacks = x[self.n + 2 * self.n_parts :] if self.loose else np.zeros(n_limits)
        floors = z[self.floor_place : self.floor_place + one.floors.places.size]
        return ProgramAnswer(x[: self.n], slacks, below, above, signal, floors, truths)


# -----------------------------------------------------------------------------
# The Lagrangian of a program under limits: a bound that any multipliers prove.
# -----------------------------------------------------------------------------


def least_value(program: LimitedProgram, answer: ProgramAnswer) -> float:
    """Return the least value of the Lagrangian over d, for H positive definite.

    No d that keeps the limits has a lower value of the quadratic function, however
    good the multipliers are; minus infinity where H is singular.
    """
    q = program.q + np.tensordot(answer.signal, program.J, axes=2)
    floors = program.floors
    np.subtract.at(q, floors.places, floors.signs * answer.floors)
    constant = float((answer.signal * program.z).sum())
    constant += float(answer.floors @ floors.values)
    for k, limit in enumerate(program.limits):
        constant += dual_constant(limit, answer, k)
    try:
        return constant - 0.5 * float(q @ cho_solve(cho_factor(program.H), q))
    except LinAlgError:
        return -np.inf


def dual_constant(limit: OutputLimit, answer: ProgramAnswer, k: int) -> float:
    """Return what a limit adds to the Lagrangian beside its slope by the outputs."""
    if isinstance(limit, ErrorBound):
        return -float(answer.truths[k]) - answer.above[k] * limit.bound
    if isinstance(limit, MeanWithin):
        high = answer.above[k] * limit.high if answer.above[k] else 0.0
        low = answer.below[k] * limit.low if answer.below[k] else 0.0
        return low - high
    return answer.above[k] * limit.least
