"""Quadratic programmes over boxes whose data move along a line: exact paths.

>>> import numpy as np
>>> y = np.array([1.0, 1.0, -1.0, -1.0])
>>> x = np.array([2.0, 1.0, 0.5, -1.0])
>>> follower = Follower(DenseRows(np.outer(x, x)), y)
>>> one = np.ones(4)
>>> path = from_zero(follower, one, 0 * one, 5 * one, taped=True)
>>> path.certify(0.3).holds(1e-12)
True
"""

from counterpoise.convex.quadratic_path.follower import (
    Follower,
    WorkSpentError,
)
from counterpoise.convex.quadratic_path.pieces import ParametricPath
from counterpoise.convex.quadratic_path.resize import carried_over, centre_bias
from counterpoise.convex.quadratic_path.rows import (
    DenseRows,
    KernelRows,
    RowsOnDemand,
)
from counterpoise.convex.quadratic_path.setting import Setting
from counterpoise.convex.quadratic_path.starts import (
    crossover,
    from_prices,
    from_zero,
)

__all__ = [
    "DenseRows",
    "Follower",
    "KernelRows",
    "ParametricPath",
    "RowsOnDemand",
    "Setting",
    "WorkSpentError",
    "carried_over",
    "centre_bias",
    "crossover",
    "from_prices",
    "from_zero",
]
