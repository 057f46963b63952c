"""A smooth function without constraints, and what Newton's decrement says of it."""

from dataclasses import dataclass
from typing import Any

from counterpoise.convex.certificate import Certificate
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class Smooth:
    r"""Minimise a strictly convex function that has second derivatives.

    The residual is Newton's decrement :math:`g'H^{-1}g`, twice the excess over the
    optimum to second order; nothing is bounded (kind "Newton decrement").

    Parameters
    ----------
    objective : Objective
        With `hessian` and Newton's `direction`, which it keeps.
    first : array
        Where a search begins.
    scale : float
        The unit of the residual.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import Newton, solve
    >>> from counterpoise.convex.objectives.logistic import LogisticLoss
    >>> labels = np.array([0.0, 1.0, 1.0, 1.0])
    >>> loss = LogisticLoss(np.ones((4, 1)), labels, np.full(4, 0.25), 0.0)
    >>> found = solve(Smooth(loss, np.zeros(1)), Newton(), tol=1e-12)
    >>> found.converged, found.x.round(4)
    (True, array([1.0986]))
    """

    objective: Any
    first: Array
    scale: float = 1.0

    def start(self) -> Array:
        """Return the point to begin with."""
        return self.first.copy()

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Say how far x is from optimal, to second order."""
        return self.judge(x, self.objective.value(x), self.objective.gradient(x))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        direction = self.objective.direction(x, gradient)
        return Certificate(
            kind="Newton decrement",
            objective=value,
            scale=self.scale,
            residual=-float(gradient @ direction),
        )
