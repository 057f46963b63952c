"""The quadratics of density-ratio fitting: non-negative, or with a ridge."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.objectives import Quadratic
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class NonnegativeQuadratic:
    r"""Minimise :math:`x'Hx/2 - c'x` over :math:`x \ge 0`, H without negative entries.

    The dual is to maximise :math:`-y'Hy/2` over :math:`Hy \ge c`. As H has no negative
    entry, two dual points can be made of any :math:`x \ge 0`: the multiple sx with
    :math:`s = \max_l c_l / (Hx)_l`, and x raised by
    :math:`\max(c - Hx, 0)_l / H_{ll}` in every entry l. The better one bounds the
    optimum from below; both are tight at the solution. Where c has no positive entry
    the solution is zero. Cost: two products with H.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric, positive semidefinite, no negative entries, a positive diagonal.
    c : array of shape (n,)
        Linear term, with a minus sign in the objective.
    scale : float
        The unit of the gap.

    Examples
    --------
    >>> import numpy as np
    >>> problem = NonnegativeQuadratic(np.eye(2), np.array([1.0, -1.0]))
    >>> problem.certify(np.array([1.0, 0.0])).gap
    0.0
    """

    H: Array
    c: Array
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.H.min() >= 0.0:
            raise ValueError(f"H must be non-negative, got {self.H.min()}")
        if not self.H.diagonal().min() > 0.0:
            raise ValueError("H must have a positive diagonal")
        if not self.scale > 0.0:
            raise ValueError(f"scale must be positive, got {self.scale}")

    @cached_property
    def objective(self) -> Quadratic:
        """The quadratic, without its constraint."""
        return Quadratic(self.H, -self.c)

    def start(self) -> Array:
        """Return zero."""
        return np.zeros(len(self.c))

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        image = self.H @ x
        return self.judge(x, self.objective.value_at(x, image), image - self.c)

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        if not math.isfinite(value):
            return Certificate("duality gap", math.inf, scale=self.scale)
        inside, image = np.maximum(x, 0.0), gradient + self.c
        if (x < 0.0).any():
            image = self.H @ inside
        bound = self._lower_bound(inside, image)
        return Certificate(
            kind="duality gap",
            objective=value,
            bound=bound,
            gap=max(value - bound, 0.0),
            scale=self.scale,
            infeasibility=float(max(-x.min(), 0.0)),
        )

    def _lower_bound(self, x: Array, image: Array) -> float:
        """Return the better of two dual values, given Hx; x has no negative entry."""
        wanted = self.c > 0.0
        if not wanted.any():
            return 0.0
        raised = x + np.maximum(self.c - image, 0.0) / self.H.diagonal()
        bound = -0.5 * float(raised @ (self.H @ raised))
        if (image[wanted] > 0.0).all():
            multiple = float((self.c[wanted] / image[wanted]).max())
            bound = max(bound, -0.5 * multiple**2 * float(x @ image))
        return bound


@dataclass(frozen=True, eq=False)
class RidgeQuadratic:
    r"""Minimise :math:`x'Hx/2 - h'x + \lambda |x|^2 / 2`.

    With the residual :math:`r = (H + \lambda I) x - h` the excess of x is
    :math:`r'(H + \lambda I)^{-1} r / 2 \le |r|^2 / (2 \lambda)`. It is the excess of x
    as it stands: what a method makes of the solution afterwards (negative entries
    put to zero) is no part of the proof, and the certificate's kind says so.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric, positive semidefinite.
    h : array of shape (n,)
        Linear term, with a minus sign in the objective.
    ridge : float
        :math:`\lambda`, positive.
    scale : float
        The unit of the gap.

    Examples
    --------
    >>> import numpy as np
    >>> problem = RidgeQuadratic(np.eye(2), np.array([1.0, -1.0]), ridge=1.0)
    >>> problem.certify(np.array([0.5, -0.5])).gap
    0.0
    """

    H: Array
    h: Array
    ridge: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("ridge", self.ridge), ("scale", self.scale)):
            if not value > 0.0:
                raise ValueError(f"{name} must be positive, got {value}")

    @cached_property
    def objective(self) -> Quadratic:
        """The whole quadratic, ridge included."""
        return Quadratic(self.H + self.ridge * np.eye(len(self.h)), -self.h)

    def start(self) -> Array:
        """Return zero."""
        return np.zeros(len(self.h))

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        image = self.H @ x + self.ridge * x
        value = float(0.5 * (x @ image) - self.h @ x)
        return self.judge(x, value, image - self.h)

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        gap = math.inf
        if math.isfinite(value):
            gap = float(gradient @ gradient) / (2.0 * self.ridge)
        return Certificate(
            kind="closed form, then clipped",
            objective=value,
            bound=value - gap if math.isfinite(gap) else -math.inf,
            gap=gap,
            scale=self.scale,
        )
