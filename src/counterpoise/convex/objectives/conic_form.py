"""An objective as interior-point solvers see it."""

from dataclasses import dataclass
from typing import Any

from counterpoise.numerics.arrays import Array


@dataclass(frozen=True)
class ConicForm:
    """The least of v'Pv/2 + q'v over v = (x, more) with Av + s = b, s in `cones`.

    `cones` are pairs (name, size) of "zero", "nonnegative" and "exponential" (size 3);
    `constant` is added to the objective.
    """

    P: Any
    q: Array
    A: Any
    b: Array
    cones: tuple[tuple[str, int], ...]
    constant: float = 0.0
