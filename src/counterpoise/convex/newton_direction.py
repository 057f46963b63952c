"""Where Newton's method goes, for solvers that step and problems that measure."""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from counterpoise.numerics.arrays import Array

# Up to so many coordinates a Hessian is written out and factored.
DIRECT = 500


def newton_direction(
    objective: Any, x: Array, gradient: Array, rtol: float, direct: int = DIRECT
) -> Array:
    """Return :math:`-H^{-1} g`, to a relative residual where H is not written out.

    An objective may have a `direction` of its own.
    """
    if hasattr(objective, "direction"):
        own: Array = objective.direction(x, gradient)
        return own
    if gradient.size <= direct or not hasattr(objective, "hessian_operator"):
        factor = cho_factor(objective.hessian(x), lower=True)
        return -cho_solve(factor, gradient)
    size = gradient.size
    operator = LinearOperator((size, size), matvec=objective.hessian_operator(x))
    direction, _ = cg(operator, -gradient, rtol=max(rtol, 1e-12), maxiter=1000)
    return np.asarray(direction)
