"""Frank-Wolfe methods: classic, away-step and pairwise."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from counterpoise.linalg.arrays import Array, positive_zero
from counterpoise.optim.certificate import DomainProblem
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import Evaluation
from counterpoise.optim.solvers.first_order import armijo_step, few_atoms

# -----------------------------------------------------------------------------
# The atoms of a point: vertices and their shares.
# -----------------------------------------------------------------------------


class _Shares:
    """The shares of a point's atoms."""

    shares: Array

    def share(self, atom: int) -> float:
        """Return the share of an atom."""
        return float(self.shares[atom])

    def _moved_shares(
        self, scale: float, gains: dict[int, float], drop: int | None
    ) -> Array:
        out = scale * self.shares
        for atom, gain in gains.items():
            out[atom] += gain
        if drop is not None:
            out[drop] = 0.0
        np.maximum(out, 0.0, out=out)
        return np.asarray(out / out.sum())


class Coordinates(_Shares):
    """The atoms of a point of the unit simplex: its non-zero entries."""

    def __init__(self, x: Array) -> None:
        self.x = self.shares = x

    def worst(self, gradient: Array) -> int:
        """Return the atom with the largest gradient'atom."""
        support = np.flatnonzero(self.x)
        return int(support[np.argmax(gradient[support])])

    def vector(self, atom: int) -> Array:
        """Return an atom as a point."""
        out = np.zeros(self.x.size)
        out[atom] = 1.0
        return out

    def find(self, vertex: Array) -> int:
        """Return the atom that is this vertex, whether active or not."""
        return int(np.argmax(vertex))

    def moved(
        self, scale: float, gains: dict[int, float], drop: int | None
    ) -> "Coordinates":
        """Return these with shares times `scale`, plus the gains, `drop` emptied."""
        return Coordinates(self._moved_shares(scale, gains, drop))


class Vertices(_Shares):
    """The atoms of a point of any set: vertices met so far, and the start."""

    def __init__(self, x: Array, atoms: list[Array], shares: Array) -> None:
        self.x, self.shares, self._atoms = x, shares, atoms
        self._index = {positive_zero(a).tobytes(): k for k, a in enumerate(atoms)}

    def worst(self, gradient: Array) -> int:
        """Return the atom with the largest gradient'atom."""
        active = np.flatnonzero(self.shares)
        scores = [float(gradient @ self._atoms[k]) for k in active]
        return int(active[int(np.argmax(scores))])

    def vector(self, atom: int) -> Array:
        """Return an atom as a point."""
        return self._atoms[atom]

    def find(self, vertex: Array) -> int:
        """Return the atom that is this vertex, known from now on."""
        key = positive_zero(vertex).tobytes()
        if key not in self._index:
            self._index[key] = len(self._atoms)
            self._atoms.append(vertex.copy())
            self.shares = np.append(self.shares, 0.0)
        return self._index[key]

    def moved(
        self, scale: float, gains: dict[int, float], drop: int | None
    ) -> "Vertices":
        """Return these with shares times `scale`, plus the gains, `drop` emptied."""
        shares = self._moved_shares(scale, gains, drop)
        active = np.flatnonzero(shares)
        used = [self._atoms[k] for k in active]
        x = shares[active] @ np.array(used)
        # Vertices that have no share are dropped now and then.
        if len(self._atoms) > 2 * active.size + 50:
            return Vertices(x, used, shares[active])
        return Vertices(x, list(self._atoms), shares)


ActiveSet = Coordinates | Vertices


# -----------------------------------------------------------------------------
# Frank-Wolfe steps: towards a vertex, away from one, or from one to another.
# -----------------------------------------------------------------------------


VARIANTS = ("plain", "away", "pairwise")
LINE_SEARCHES = ("exact", "armijo", "open")
KINDS = ("towards", "away", "pairwise")
# How often the running image is computed afresh from the atoms.
REFRESH_STEPS = 50
# It is computed afresh as well where an entry is so many times smaller than the terms
# it was summed from: by then it has lost three digits, and a row that only a dropped
# atom covers would keep rounding in place of its true, smaller value.
CANCELLED = 1e3
# A value may rise by this much, relative to its size, from rounding alone.
ROUNDING = 1e-12


@dataclass(frozen=True)
class _FrankWolfeMove:
    """A direction with its longest step and what it does to the atoms."""

    kind: str
    direction: Array
    image: Array | None
    limit: float
    slope: float
    best: int
    worst: int


@dataclass(frozen=True)
class _FrankWolfeMemory:
    """A point with its atoms.

    `peak` holds the largest terms that the entries of the running image were summed
    from since the image was computed afresh; None right after that.
    """

    here: Evaluation
    atoms: ActiveSet
    peak: Array | None = None
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class FrankWolfe:
    r"""Frank-Wolfe, plain, with away steps, or pairwise.

    With g the gradient, s the vertex that minimizes g's and a the active atom that
    maximizes g'a, the direction d and its longest step are

    ============  =========  ==================================
    towards       s - x      1
    away          x - a      share(a) / (1 - share(a))
    pairwise      s - a      share(a)
    ============  =========  ==================================

    "away" takes the steeper of the first two (the first if x is a single atom). A full
    away step drops the atom a; a full pairwise step drops it if s was active before
    and swaps it for s otherwise; a full step towards s leaves s as the only atom.
    A step costs one gradient, two images of atoms, and the line search. The image of
    the point is updated by a sum; where that cancels, and every 50 steps, it is
    computed afresh by one product with the active atoms, and a step is judged by it.

    Parameters
    ----------
    variant : {"plain", "away", "pairwise"}
    line_search : {"exact", "armijo", "open"}
        "exact" minimizes along the line (the objective needs `along`); "armijo" halves
        the longest step until the value falls enough; "open" takes 2/(k+2) at step k,
        plain steps only.

    Notes
    -----
    `counts` of the history holds towards, away, pairwise, drop and swap steps. The
    published forms of the away and pairwise variants (Chapaneri and Jayaswal, 2019,
    algorithms 4 and 5) add and remove the wrong atoms; the indices here are those of
    their text. Plain steps converge like 1/k where the optimum lies on the boundary.

    References
    ----------
    Frank and Wolfe (1956). Lacoste-Julien and Jaggi (2015). Chapaneri and Jayaswal
    (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import MixtureLikelihood, FrankWolfe, solve
    >>> problem = MixtureLikelihood(np.random.default_rng(0).random((20, 4)) + 0.1)
    >>> solve(problem, FrankWolfe(), tol=1e-6).converged
    True
    """

    variant: str = "pairwise"
    line_search: str = "exact"

    def __post_init__(self) -> None:
        for name, options in (("variant", VARIANTS), ("line_search", LINE_SEARCHES)):
            value = getattr(self, name)
            if value not in options:
                raise ValueError(f"{name} must be one of {options}, got {value!r}")
        if self.line_search == "open" and self.variant != "plain":
            raise ValueError(
                f"line_search='open' goes with variant='plain', got {self.variant!r}"
            )

    @property
    def accepts(self) -> Requirements:
        """A domain with vertices; `along` for the exact line search."""
        exact = self.line_search == "exact"
        return Requirements(
            objective=("evaluate", "along") if exact else ("evaluate",),
            domain=("vertex",),
            hint="line_search='armijo' needs no `along`" if exact else "",
        )

    def begin(self, problem: DomainProblem, x: Array | None) -> State:
        """Return the first state."""
        if x is None:
            plain = self.variant == "plain"
            x = problem.start() if plain else few_atoms(problem)
        on_simplex = getattr(problem.domain, "coordinates", False)
        atoms = Coordinates(x) if on_simplex else Vertices(x, [x.copy()], np.ones(1))
        memory = _FrankWolfeMemory(problem.objective.evaluate(x), atoms)
        return _state(problem, memory)

    def step(self, problem: DomainProblem, state: State) -> State:
        """Return the state after one step."""
        objective = problem.objective
        memory: _FrankWolfeMemory = state.memory
        move = self._move(problem, memory)
        if move.slope <= 0.0:
            return replace(state, stalled=True)
        if self.line_search == "exact":
            images = None if move.image is None else (memory.here.image, move.image)
            length = objective.along(memory.here.x, move.direction, move.limit, images)
        elif self.line_search == "open":
            length = 2.0 / (max(memory.counts["towards"], 2) + 2.0)
        else:
            length = _backtrack(problem, memory, move)
        after = _after(problem, memory, move, length) if length > 0.0 else memory
        if self.line_search == "exact" and _rises(memory.here, after.here):
            # The exact search saw an image that had cancelled.
            length = _backtrack(problem, memory, move)
            after = _after(problem, memory, move, length) if length > 0.0 else memory
        rises = self.line_search != "open" and _rises(memory.here, after.here)
        if length <= 0.0 or rises:
            # The same point with a fresh image, unless it has one.
            if memory.peak is None:
                return replace(state, stalled=True)
            here = objective.evaluate(memory.atoms.x)
            return _state(problem, replace(memory, here=here, peak=None))
        counts = memory.counts + Counter({move.kind: 1})
        if length >= move.limit and move.kind != "towards":
            new = not memory.atoms.share(move.best) > 0.0
            counts["swap" if move.kind == "pairwise" and new else "drop"] += 1
        return _state(problem, replace(after, counts=counts))

    def _move(
        self, problem: DomainProblem, memory: _FrankWolfeMemory
    ) -> _FrankWolfeMove:
        objective, atoms, here = problem.objective, memory.atoms, memory.here
        gradient = here.gradient
        vertex = problem.domain.vertex(gradient)
        best, worst = atoms.find(vertex), atoms.worst(gradient)
        towards = float(gradient @ (here.x - vertex))
        share, bad = atoms.share(worst), atoms.vector(worst)
        if self.variant == "pairwise":
            image = _difference(objective.image(vertex), objective.image(bad))
            direction = vertex - bad
            slope = 0.0 if best == worst else -float(gradient @ direction)
            return _FrankWolfeMove(
                "pairwise", direction, image, share, slope, best, worst
            )
        away = float(gradient @ (bad - here.x))
        if self.variant == "plain" or towards >= away or share >= 1.0:
            image = _difference(objective.image(vertex), here.image)
            return _FrankWolfeMove(
                "towards", vertex - here.x, image, 1.0, towards, best, worst
            )
        image = _difference(here.image, objective.image(bad))
        limit = share / (1.0 - share)
        return _FrankWolfeMove("away", here.x - bad, image, limit, away, best, worst)


def _state(problem: DomainProblem, memory: _FrankWolfeMemory) -> State:
    here = memory.here
    claim = problem.judge(here.x, here.value, here.gradient)
    return State(here.x, claim, memory, counts=dict(memory.counts))


def _after(
    problem: DomainProblem,
    memory: _FrankWolfeMemory,
    move: _FrankWolfeMove,
    length: float,
) -> _FrankWolfeMemory:
    """Return the point after a step, its atoms, and the peak of its image."""
    atoms = _moved_atoms(memory.atoms, move, length)
    image, peak = _running_image(memory, move, length)
    steps = 1 + sum(memory.counts[kind] for kind in KINDS)
    if steps % REFRESH_STEPS == 0:
        image = peak = None
    here = problem.objective.evaluate(atoms.x, image)
    return replace(memory, here=here, atoms=atoms, peak=peak)


def _backtrack(
    problem: DomainProblem, memory: _FrankWolfeMemory, move: _FrankWolfeMove
) -> float:
    """Return Armijo's step, each trial judged by an image that has its digits.

    At the edge of where the objective is defined the gradient predicts a fall that
    no step has. The trial of least value is taken there, if it lies lower.
    """
    here = memory.here
    least, at = here.value, 0.0

    def after(length: float) -> Evaluation:
        nonlocal least, at
        image, peak = _running_image(memory, move, length)
        x = here.x + length * move.direction
        if image is None and peak is None and here.image is not None:
            # Fresh, and of the atoms: the sum leaves rounding of a dropped one.
            x = _moved_atoms(memory.atoms, move, length).x
        there: Evaluation = problem.objective.evaluate(x, image)
        if there.value < least:
            least, at = there.value, length
        return there

    length, _ = armijo_step(after, here.value, move.limit, move.slope)
    if length > 0.0:
        return length
    return at if least < here.value - ROUNDING * max(1.0, abs(here.value)) else 0.0


def _moved_atoms(atoms: ActiveSet, move: _FrankWolfeMove, length: float) -> ActiveSet:
    """Return the atoms after a step; those before it stay."""
    full = length >= move.limit
    if move.kind == "towards":
        return atoms.moved(0.0 if full else 1.0 - length, {move.best: length}, None)
    drop = move.worst if full else None
    if move.kind == "away":
        return atoms.moved(1.0 + length, {move.worst: -length}, drop)
    return atoms.moved(1.0, {move.best: length, move.worst: -length}, drop)


def _running_image(
    memory: _FrankWolfeMemory, move: _FrankWolfeMove, length: float
) -> tuple[Array | None, Array | None]:
    """Return the image after a step with its peak; None where it has cancelled."""
    before, change = memory.here.image, move.image
    if before is None or change is None:
        return None, None
    image = before + length * change
    peak = np.abs(before) + length * np.abs(change)
    if memory.peak is not None:
        np.maximum(peak, memory.peak, out=peak)
    if (peak > CANCELLED * np.abs(image)).any():
        return None, None
    return image, peak


def _rises(before: Evaluation, after: Evaluation) -> bool:
    """Tell whether the value has risen, by more than rounding."""
    return not after.value <= before.value + ROUNDING * max(1.0, abs(before.value))


def _difference(a: Array | None, b: Array | None) -> Array | None:
    return None if a is None or b is None else a - b
