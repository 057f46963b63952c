"""The data of a problem at one point, and the line from one point to another."""

from typing import NamedTuple

import numpy as np

from counterpoise.convex.quadratic_path.layout import Line, Variables
from counterpoise.convex.quadratic_path.problem import BoxQuadratic
from counterpoise.convex.quadratic_path.rows import KernelRows
from counterpoise.numerics.arrays import Array


class Setting(NamedTuple):
    """The data of the problem at one point."""

    p: Array
    lower: Array
    upper: Array
    d: float

    def changed(
        self,
        p: Array | None,
        lower: Array | None,
        upper: Array | None,
        d: float | None,
    ) -> "Setting":
        """Return the setting with what is given in its place."""
        return Setting(
            self.p if p is None else np.asarray(p, dtype=float),
            self.lower if lower is None else np.asarray(lower, dtype=float),
            self.upper if upper is None else np.asarray(upper, dtype=float),
            self.d if d is None else float(d),
        )

    def problem(self, rows: KernelRows, variables: Variables) -> BoxQuadratic:
        """Return the problem with these data, which proves its solutions."""
        return BoxQuadratic(
            rows.product,
            variables.sign,
            variables.row,
            self.p,
            self.lower,
            self.upper,
            self.d if variables.bias else None,
        )


def line_between(old: Setting, new: Setting) -> Line:
    """Return the straight line from one setting to another."""
    return Line(
        old.p,
        new.p - old.p,
        old.lower,
        new.lower - old.lower,
        old.upper,
        new.upper - old.upper,
        old.d,
        new.d - old.d,
    )


def setting_at(line: Line, theta: float) -> Setting:
    """Return the setting at one theta of a line."""
    return Setting(
        line.p + theta * line.dp,
        line.lower + theta * line.dlower,
        line.upper + theta * line.dupper,
        line.d + theta * line.dd,
    )
