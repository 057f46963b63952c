"""Maximum likelihood of mixture proportions."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.domains import Simplex
from counterpoise.convex.objectives import NegativeMeanLog
from counterpoise.convex.problems.problem import evaluate
from counterpoise.numerics.arrays import Array, Indices, finite_array


@dataclass(frozen=True, eq=False)
class MixtureLikelihood:
    r"""Minimise :math:`-\sum_j w_j \log (Ax)_j` over the unit simplex.

    With :math:`g = A'(w/(Ax))`, Jensen's inequality gives
    :math:`f(x) - f^* \le \log \max_l g_l`, which is tighter than the Frank-Wolfe gap
    :math:`\max_l g_l - 1` (kept as `residual`) at the same cost. The gap is measured in
    units of :math:`\max(|f|, 0.1)` nats: the optimum is zero where nothing has shifted.

    Parameters
    ----------
    A : array or `Design` of shape (m, n)
        Non-negative, no row all zero.
    weights : array of shape (m,), optional
        Weights of the rows.
    """

    A: Any
    weights: Array | None = None

    def __post_init__(self) -> None:
        if hasattr(self.A, "pull"):
            return
        object.__setattr__(self, "A", finite_array("A", self.A, 2))
        if not self.A.min() >= 0.0:
            raise ValueError(f"A must be non-negative, got {self.A.min()}")
        largest = self.A.max(axis=1)
        empty = ~(largest > 0.0)
        if self.weights is not None:
            empty &= np.asarray(self.weights) > 0.0
        if empty.any():
            raise ValueError(
                f"row {int(np.argmax(empty))} of A is zero: no mixture has a likelihood"
            )

    @cached_property
    def objective(self) -> NegativeMeanLog:
        """The negative mean log likelihood."""
        return NegativeMeanLog(self.A, self.weights)

    @cached_property
    def domain(self) -> Simplex:
        """The mixture proportions."""
        return Simplex(self.A.shape[1])

    def start(self) -> Array:
        """Return a mixture of few columns that covers every row.

        While a row has less than a thousandth of its best column's value, the best
        column of the worst such row joins, all with equal shares. A design that is
        not stored gives its own `start()`.
        """
        if not isinstance(self.A, np.ndarray):
            own: Array = self.A.start()
            return own
        A = self.A
        if self.weights is not None:
            A = A[np.asarray(self.weights) > 0.0]
        best = A.max(axis=1)
        chosen: list[int] = []
        cover = np.zeros_like(best)
        for _ in range(len(best)):
            share = cover / best
            worst = int(np.argmin(share))
            if share[worst] >= 1e-3:
                break
            column = int(np.argmax(A[worst]))
            chosen.append(column)
            np.maximum(cover, A[:, column], out=cover)
        x = np.zeros(self.A.shape[1])
        x[chosen] = 1.0 / len(chosen)
        return x

    def restricted(self, i: Indices) -> "MixtureLikelihood":
        """Return the same problem with the columns i alone, stored."""
        if isinstance(self.A, np.ndarray):
            return MixtureLikelihood(self.A[:, i], self.weights)
        return MixtureLikelihood(self.A.stored(i), self.weights)

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        return self.judge(x, *evaluate(self.objective, x))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        top = float(-gradient.min()) if math.isfinite(value) else math.inf
        gap = max(math.log(top), 0.0) if math.isfinite(top) else math.inf
        return Certificate(
            kind="log of the largest likelihood slope",
            objective=value,
            bound=value - gap if math.isfinite(gap) else -math.inf,
            gap=gap,
            scale=max(abs(value), 0.1) if math.isfinite(value) else 0.1,
            residual=max(top - 1.0, 0.0),
            infeasibility=self.domain.infeasibility(x),
        )
