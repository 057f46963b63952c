"""Weighted kernel ridge regression, and what the residual of its equations proves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class KernelRidge:
    r"""Minimise :math:`\sum_i p_i (y_i - h(x_i) - b)^2 / 2 + \lambda \|h\|_K^2 / 2`.

    With :math:`S = \mathrm{diag}(\sqrt{p})` and :math:`h = \sum_i (Sv)_i k(x_i, .)` the
    equations are :math:`(SKS + \lambda I) v = S(y - b)`, and for *any* v, with r what
    they leave,

    .. math:: \text{objective at } v - \text{dual value at } v = |r|^2 / 2

    exactly, so that half the squared residual bounds the excess over the optimum. With
    an intercept b is the best one for v, and v is first made orthogonal to
    :math:`s = \sqrt{p}`, which the dual asks for. Several responses are several such
    problems: values and gaps are added up. Cost: two products with K.

    Parameters
    ----------
    product : callable
        `product(c)` returns Kc; c has a column a response.
    responses : array of shape (n, k)
        y.
    share : array of shape (n,)
        p, which sums to one.
    ridge : float
        :math:`\lambda`, positive.
    intercept : bool
        Whether there is a b.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[1.0], [3.0]])
    >>> problem = KernelRidge(np.eye(2).dot, y, np.full(2, 0.5), 1.0, False)
    >>> problem.certify(np.sqrt(0.5) * y / 1.5).gap < 1e-30
    True
    """

    product: Callable[[Array], Array]
    responses: Array
    share: Array
    ridge: float
    intercept: bool = True

    def __post_init__(self) -> None:
        if not self.ridge > 0.0:
            raise ValueError(f"ridge must be positive, got {self.ridge}")

    @property
    def objective(self) -> Any:
        """The problem itself has `value`."""
        return self

    @cached_property
    def roots(self) -> Array:
        """The square roots s of the shares, as a column."""
        return np.sqrt(self.share)[:, None]

    @cached_property
    def scale(self) -> float:
        """The value of the best constant (zero without an intercept), or one if zero.

        What rounding leaves of equal responses is no unit: at least 1e-12 of their
        squares.
        """
        moved = self.responses
        if self.intercept:
            moved = moved - self.share @ moved
        value = 0.5 * float((self.share @ (moved * moved)).sum())
        least = 0.5e-12 * float((self.share @ self.responses**2).sum())
        return max(value, least) or 1.0

    def start(self) -> Array:
        """Return zero."""
        return np.zeros_like(self.responses)

    def intercepts(self, v: Array) -> Array:
        """Return the best b for v, one a response; zeros without an intercept."""
        if not self.intercept:
            return np.zeros(self.responses.shape[1])
        v = self._inside(v)
        return self.share @ (self.responses - self.product(self.roots * v))

    def value(self, v: Array) -> float:
        """Return the objective at v and its best b."""
        return self._value_and_gap(v)[0]

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        value, gap = self._value_and_gap(x)
        off = float(np.abs(x - self._inside(x)).max(initial=0.0))
        return Certificate(
            kind="duality gap",
            objective=value,
            bound=value - gap,
            gap=gap,
            scale=self.scale,
            residual=float(np.sqrt(2.0 * gap)),
            infeasibility=off / max(1.0, float(np.abs(x).max(initial=0.0))),
        )

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Return the same; there is no cheaper way."""
        return self.certify(x)

    def _inside(self, v: Array) -> Array:
        if not self.intercept:
            return v
        return v - self.roots * (self.roots.T @ v)

    def _value_and_gap(self, v: Array) -> tuple[float, float]:
        v = self._inside(v)
        image = self.product(self.roots * v)
        left = self.responses - image
        if self.intercept:
            left = left - self.share @ left
        left = self.roots * left
        norm = float(np.sum(self.roots * v * image))
        value = 0.5 * float(np.sum(left * left)) + 0.5 * self.ridge * norm
        rest = left - self.ridge * v
        return value, 0.5 * float(np.sum(rest * rest))
