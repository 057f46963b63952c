"""Frank-Wolfe methods: classic, away-step and pairwise."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.linalg.arrays import Array, one_zero
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.solvers.first_order import (
    Point,
    armijo_step,
    evaluate,
    exact_step,
    few_atoms,
    gradient_of,
    image_of,
)

# -----------------------------------------------------------------------------
# The atoms of a point: vertices and their shares.
# -----------------------------------------------------------------------------


class Coordinates:
    """The atoms of a point of the unit simplex: its non-zero entries."""

    def __init__(self, x: Array) -> None:
        self.x = x

    def worst(self, gradient: Array) -> int:
        """Return the atom with the largest gradient'atom."""
        support = np.flatnonzero(self.x)
        return int(support[np.argmax(gradient[support])])

    def share(self, atom: int) -> float:
        """Return the share of an atom."""
        return float(self.x[atom])

    def vector(self, atom: int) -> Array:
        """Return an atom as a point."""
        out = np.zeros(self.x.size)
        out[atom] = 1.0
        return out

    def find(self, vertex: Array) -> int:
        """Return the atom that is this vertex, whether active or not."""
        return int(np.argmax(vertex))

    def holds(self, atom: int) -> bool:
        """Tell whether an atom is active."""
        return bool(self.x[atom] > 0.0)

    def copy(self) -> "Coordinates":
        """Return atoms that can be moved while these stay."""
        return Coordinates(self.x)

    def move(self, scale: float, gains: dict[int, float], drop: int | None) -> None:
        """Multiply all shares by `scale`, add the gains, and empty `drop`."""
        x = scale * self.x
        for atom, gain in gains.items():
            x[atom] += gain
        if drop is not None:
            x[drop] = 0.0
        np.maximum(x, 0.0, out=x)
        self.x = x / x.sum()


class Vertices:
    """The atoms of a point of any set: vertices met so far, and the start."""

    def __init__(self, x: Array) -> None:
        self._atoms: list[Array] = []
        self._index: dict[bytes, int] = {}
        self._shares = np.zeros(0)
        self.move(0.0, {self.find(x): 1.0}, None)

    def worst(self, gradient: Array) -> int:
        """Return the atom with the largest gradient'atom."""
        active = np.flatnonzero(self._shares)
        scores = [float(gradient @ self._atoms[k]) for k in active]
        return int(active[int(np.argmax(scores))])

    def share(self, atom: int) -> float:
        """Return the share of an atom."""
        return float(self._shares[atom])

    def vector(self, atom: int) -> Array:
        """Return an atom as a point."""
        return self._atoms[atom]

    def find(self, vertex: Array) -> int:
        """Return the atom that is this vertex, known from now on."""
        key = one_zero(vertex).tobytes()
        if key not in self._index:
            self._index[key] = len(self._atoms)
            self._atoms.append(vertex.copy())
            self._shares = np.append(self._shares, 0.0)
        return self._index[key]

    def holds(self, atom: int) -> bool:
        """Tell whether an atom is active."""
        return bool(self._shares[atom] > 0.0)

    def copy(self) -> "Vertices":
        """Return atoms that can be moved while these stay."""
        out = object.__new__(Vertices)
        out._atoms, out._index = list(self._atoms), dict(self._index)
        out._shares, out.x = self._shares, self.x
        return out

    def move(self, scale: float, gains: dict[int, float], drop: int | None) -> None:
        """Multiply all shares by `scale`, add the gains, and empty `drop`."""
        shares = scale * self._shares
        for atom, gain in gains.items():
            shares[atom] += gain
        if drop is not None:
            shares[drop] = 0.0
        np.maximum(shares, 0.0, out=shares)
        self._shares = shares / shares.sum()
        if len(self._atoms) > 2 * np.count_nonzero(self._shares) + 50:
            self._forget()
        active = np.flatnonzero(self._shares)
        self.x = self._shares[active] @ np.array([self._atoms[k] for k in active])

    def _forget(self) -> None:
        """Drop the vertices that have no share."""
        active = np.flatnonzero(self._shares)
        self._atoms = [self._atoms[k] for k in active]
        self._shares = self._shares[active]
        self._index = {one_zero(a).tobytes(): k for k, a in enumerate(self._atoms)}


ActiveSet = Coordinates | Vertices


def atoms_of(domain: Any, x: Array) -> ActiveSet:
    """Return the atoms of x: its coordinates on the simplex, else x itself."""
    return Coordinates(x) if getattr(domain, "coordinates", False) else Vertices(x)


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

    point: Point
    gradient: Array
    atoms: ActiveSet
    peak: Array | None = None
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class FrankWolfe:
    r"""Frank-Wolfe, plain, with away steps, or pairwise.

    With g the gradient, s the vertex that minimises g's and a the active atom that
    maximises g'a, the direction d and its longest step are

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
        "exact" minimises along the line (the objective needs `along`); "armijo" halves
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
        needed = ("value", "gradient", "along") if exact else ("value", "gradient")
        return Requirements(
            objective=needed,
            domain=("vertex",),
            hint="line_search='armijo' needs no `along`" if exact else "",
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        if x is None:
            plain = self.variant == "plain"
            x = problem.start() if plain else few_atoms(problem)
        point = evaluate(problem.objective, x)
        atoms = atoms_of(problem.domain, x)
        return self._state(problem, point, atoms, None, Counter())

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one step."""
        memory: _FrankWolfeMemory = state.memory
        move = self._move(problem, memory)
        if move.slope <= 0.0:
            return State(
                state.x, state.claim, memory, counts=state.counts, stalled=True
            )
        length = self._length(problem.objective, memory, move)
        if length <= 0.0:
            return self._refresh_or_stall(problem, state)
        point, atoms, peak = self._advance(problem.objective, memory, move, length)
        if self.line_search == "exact" and _rises(memory.point, point):
            # The exact search saw an image that had cancelled.
            length = self._backtrack(problem.objective, memory, move)
            if length <= 0.0:
                return self._refresh_or_stall(problem, state)
            point, atoms, peak = self._advance(problem.objective, memory, move, length)
        if self.line_search != "open" and _rises(memory.point, point):
            return self._refresh_or_stall(problem, state)
        counts = memory.counts + Counter({move.kind: 1})
        if length >= move.limit and move.kind != "towards":
            new = not memory.atoms.holds(move.best)
            counts["swap" if move.kind == "pairwise" and new else "drop"] += 1
        return self._state(problem, point, atoms, peak, counts)

    def _refresh_or_stall(self, problem: Any, state: State) -> State:
        """Return the same point with a fresh image, or as stalled if it has one."""
        memory: _FrankWolfeMemory = state.memory
        if memory.peak is None:
            return State(
                state.x, state.claim, memory, counts=state.counts, stalled=True
            )
        point = evaluate(problem.objective, memory.atoms.x)
        return self._state(problem, point, memory.atoms, None, memory.counts)

    def _advance(
        self,
        objective: Any,
        memory: _FrankWolfeMemory,
        move: _FrankWolfeMove,
        length: float,
    ) -> tuple[Point, ActiveSet, Array | None]:
        """Return the point after a step, its atoms, and the peak of its image."""
        atoms = _moved_atoms(memory.atoms, move, length)
        image, peak = _running_image(memory, move, length)
        steps = 1 + sum(memory.counts[kind] for kind in KINDS)
        if steps % REFRESH_STEPS == 0:
            image = peak = None
        return evaluate(objective, atoms.x, image), atoms, peak

    def _state(
        self,
        problem: Any,
        point: Point,
        atoms: ActiveSet,
        peak: Array | None,
        counts: Counter[str],
    ) -> State:
        gradient = gradient_of(problem.objective, point)
        claim = problem.judge(point.x, point.value, gradient)
        return State(
            point.x,
            claim,
            _FrankWolfeMemory(point, gradient, atoms, peak, counts),
            counts=dict(counts),
        )

    def _move(self, problem: Any, memory: _FrankWolfeMemory) -> _FrankWolfeMove:
        objective, atoms = problem.objective, memory.atoms
        gradient, point = memory.gradient, memory.point
        vertex = problem.domain.vertex(gradient)
        best, worst = atoms.find(vertex), atoms.worst(gradient)
        towards = float(gradient @ (point.x - vertex))
        share, bad = atoms.share(worst), atoms.vector(worst)
        if self.variant == "pairwise":
            image = _difference(image_of(objective, vertex), image_of(objective, bad))
            direction = vertex - bad
            slope = 0.0 if best == worst else -float(gradient @ direction)
            return _FrankWolfeMove(
                "pairwise", direction, image, share, slope, best, worst
            )
        away = float(gradient @ (bad - point.x))
        if self.variant == "plain" or towards >= away or share >= 1.0:
            image = _difference(image_of(objective, vertex), point.image)
            return _FrankWolfeMove(
                "towards", vertex - point.x, image, 1.0, towards, best, worst
            )
        image = _difference(point.image, image_of(objective, bad))
        limit = share / (1.0 - share)
        return _FrankWolfeMove("away", point.x - bad, image, limit, away, best, worst)

    def _length(
        self, objective: Any, memory: _FrankWolfeMemory, move: _FrankWolfeMove
    ) -> float:
        if self.line_search == "exact":
            return exact_step(
                objective, memory.point, move.direction, move.image, move.limit
            )
        if self.line_search == "open":
            return 2.0 / (max(memory.counts["towards"], 2) + 2.0)
        return self._backtrack(objective, memory, move)

    @staticmethod
    def _backtrack(
        objective: Any, memory: _FrankWolfeMemory, move: _FrankWolfeMove
    ) -> float:
        """Return Armijo's step, each trial judged by an image that has its digits.

        At the edge of where the objective is defined the gradient predicts a fall that
        no step has. The trial of least value is taken there, if it lies lower.
        """
        least, at = memory.point.value, 0.0

        def value_after(length: float) -> float:
            nonlocal least, at
            image, peak = _running_image(memory, move, length)
            x = memory.point.x + length * move.direction
            if image is None and peak is None and memory.point.image is not None:
                # Fresh, and of the atoms: the sum leaves rounding of a dropped one.
                x = _moved_atoms(memory.atoms, move, length).x
            value = evaluate(objective, x, image).value
            if value < least:
                least, at = value, length
            return value

        value = memory.point.value
        length = armijo_step(value_after, value, move.limit, move.slope)
        if length > 0.0:
            return length
        return at if least < value - ROUNDING * max(1.0, abs(value)) else 0.0


def _moved_atoms(atoms: ActiveSet, move: _FrankWolfeMove, length: float) -> ActiveSet:
    """Return the atoms after a step; those before it stay."""
    out, full = atoms.copy(), length >= move.limit
    if move.kind == "towards":
        out.move(0.0 if full else 1.0 - length, {move.best: length}, None)
    elif move.kind == "away":
        drop = move.worst if full else None
        out.move(1.0 + length, {move.worst: -length}, drop)
    else:
        gains = {move.best: length, move.worst: -length}
        out.move(1.0, gains, move.worst if full else None)
    return out


def _running_image(
    memory: _FrankWolfeMemory, move: _FrankWolfeMove, length: float
) -> tuple[Array | None, Array | None]:
    """Return the image after a step with its peak; None where it has cancelled."""
    before, change = memory.point.image, move.image
    if before is None or change is None:
        return None, None
    image = before + length * change
    peak = np.abs(before) + length * np.abs(change)
    if memory.peak is not None:
        np.maximum(peak, memory.peak, out=peak)
    if (peak > CANCELLED * np.abs(image)).any():
        return None, None
    return image, peak


def _rises(before: Point, after: Point) -> bool:
    """Tell whether the value has risen, by more than rounding."""
    return not after.value <= before.value + ROUNDING * max(1.0, abs(before.value))


def _difference(a: Array | None, b: Array | None) -> Array | None:
    return None if a is None or b is None else a - b
