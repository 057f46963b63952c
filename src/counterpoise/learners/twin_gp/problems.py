"""The problems of many test rows: what to minimise over y, and what is proved."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.learners.twin_gp.rows import Settings
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.batched_lbfgs import Minima, minimize_together


@dataclass(frozen=True, eq=False)
class Proof:
    """What is proved about the answers to some test rows, an entry each.

    Attributes
    ----------
    value : array of shape (m,)
        The loss: the divergence in nats, up to a constant free of y.
    bound : array of shape (m,)
        What no y goes below.
    residual : array of shape (m,)
        Scaled stationarity, :math:`|dL/dy| / \\sqrt{2 \\gamma_y} / \\max(1, |L|)`.
    """

    value: Array
    bound: Array
    residual: Array

    @property
    def gap(self) -> Array:
        """The divergence to its lower bound, in nats; rounding may not go below."""
        return np.maximum(self.value - self.bound, 0.0)

    def __getitem__(self, row: int) -> Certificate:
        gap = float(self.gap[row])
        return Certificate(
            kind="divergence",
            objective=float(self.value[row]),
            bound=float(self.value[row]) - gap,
            gap=gap,
            residual=float(self.residual[row]),
        )

    def certificates(self) -> list[Certificate]:
        """Return a certificate a test row."""
        return [self[row] for row in range(len(self.value))]

    def summary(self) -> Certificate:
        """Return one certificate of all: mean values, and the largest residual."""
        return Certificate(
            kind="divergence",
            objective=float(self.value.mean()),
            bound=float((self.value - self.gap).mean()),
            gap=float(self.gap.mean()),
            residual=float(self.residual.max()),
        )


class TwinProblems(ABC):
    """Test inputs, and for each the loss of every output y."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The numbers of the model."""

    @abstractmethod
    def start(self) -> Array:
        """Return the weighted GPR mean, (m, d)."""

    @abstractmethod
    def evaluate(self, Y: Array, which: Indices) -> tuple[Array, Array]:
        """Return the losses (a,) and gradients (a, d) of some test rows."""

    @abstractmethod
    def bounds(self) -> Array:
        """Return what no y goes below, (m,)."""

    def solve(
        self, tol: float, max_iter: int = 200, start: Array | None = None
    ) -> Minima:
        """Return a stationary point a test row, from the GPR mean or another start."""
        return minimize_together(
            self.evaluate,
            self.start() if start is None else start,
            radius=self.settings.radius,
            tol=tol,
            max_iter=max_iter,
        )

    def prove(self, Y: Array) -> Proof:
        """Judge answers, whoever found them."""
        value, gradient = self.evaluate(Y, np.arange(len(Y)))
        steep = np.linalg.norm(gradient, axis=1) * self.settings.radius
        return Proof(value, self.bounds(), steep / np.maximum(1.0, np.abs(value)))


def together(proofs: Sequence[Proof]) -> Proof:
    """Return the proofs of several blocks of test rows as one."""
    return Proof(
        np.concatenate([one.value for one in proofs]),
        np.concatenate([one.bound for one in proofs]),
        np.concatenate([one.residual for one in proofs]),
    )


def output_gradient(by_kernel: Array, kernel: Array, Y: Array, at: Array) -> Array:
    """Return dL/dy from dL/dk(y_i, y), without the factor 2 gamma_y.

    `by_kernel` is overwritten.
    """
    by_kernel *= kernel
    out: Array = by_kernel @ Y
    out -= by_kernel.sum(axis=1)[:, None] * at
    return out
