"""The atoms of a point: vertices and their shares."""

from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.row_keys import one_zero


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
