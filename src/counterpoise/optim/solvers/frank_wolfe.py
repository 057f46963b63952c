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
    shifted,
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
# How often the running image is computed again from the atoms.
REFRESH_STEPS = 50
# An entry that has become so many times smaller in a step is computed again as well.
CANCELLED = 1e3


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
    point: Point
    gradient: Array
    atoms: ActiveSet
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
    A step costs one gradient, two images of atoms, and the line search.

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
        return self._state(problem, point, atoms_of(problem.domain, x), Counter())

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
            return State(
                state.x, state.claim, memory, counts=state.counts, stalled=True
            )
        counts = memory.counts + Counter({move.kind: 1})
        new = not memory.atoms.holds(move.best)
        full = length >= move.limit
        self._update(memory.atoms, move, length, full)
        if full and move.kind != "towards":
            counts["swap" if move.kind == "pairwise" and new else "drop"] += 1
        image = None
        if sum(counts.values()) % REFRESH_STEPS and memory.point.image is not None:
            moved = shifted(
                problem.objective, memory.point, move.direction, move.image, length
            )
            image = moved.image
            if _cancelled(memory.point.image, image):
                image = None
        point = evaluate(problem.objective, memory.atoms.x, image)
        return self._state(problem, point, memory.atoms, counts)

    def _state(
        self, problem: Any, point: Point, atoms: ActiveSet, counts: Counter[str]
    ) -> State:
        gradient = gradient_of(problem.objective, point)
        claim = problem.judge(point.x, point.value, gradient)
        return State(
            point.x,
            claim,
            _FrankWolfeMemory(point, gradient, atoms, counts),
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
        return armijo_step(
            objective, memory.point, move.direction, move.image, move.limit, move.slope
        )

    @staticmethod
    def _update(
        atoms: ActiveSet, move: _FrankWolfeMove, length: float, full: bool
    ) -> None:
        if move.kind == "towards":
            atoms.move(0.0 if full else 1.0 - length, {move.best: length}, None)
        elif move.kind == "away":
            drop = move.worst if full else None
            atoms.move(1.0 + length, {move.worst: -length}, drop)
        else:
            gains = {move.best: length, move.worst: -length}
            atoms.move(1.0, gains, move.worst if full else None)


def _cancelled(before: Array | None, after: Array | None) -> bool:
    """Tell whether an entry of a running image has lost most of its digits."""
    if before is None or after is None:
        return False
    return bool((np.abs(before) > CANCELLED * np.abs(after)).any())


def _difference(a: Array | None, b: Array | None) -> Array | None:
    return None if a is None or b is None else a - b
