"""The problems of many test rows: what to minimise over y, and what is proved."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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


class Outputs(NamedTuple):
    """Outputs of some test rows, one each, as a model sees them.

    Attributes
    ----------
    kernel : array of shape (a, r)
        Similarities to the rows, or landmarks, of the model.
    features : array of shape (a, r)
        What e_y and the mixed term are functions of: the kernel itself, or the
        landmarks' coordinates.
    solved : array of shape (a, r)
        The inverse of the features' covariance times them.
    e_y : array of shape (a,)
        Schur complement.
    fall : array of shape (a, r)
        Minus half of its slope by the features.
    """

    kernel: Array
    features: Array
    solved: Array
    e_y: Array
    fall: Array


class TwinProblems(ABC):
    """Test inputs, and for each the loss of every output y.

    A model says what an output looks like to it (`outputs`), what the mixed term of the
    loss is (`mixed`), and how a slope by features is one by y (`pulled_back`).
    """

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The numbers of the model."""

    @cached_property
    @abstractmethod
    def e_x(self) -> Array:
        """Schur complement of the inputs, (m,)."""

    @abstractmethod
    def start(self) -> Array:
        """Return the weighted GPR mean, (m, d)."""

    @abstractmethod
    def outputs(self, Y: Array, which: Indices) -> Outputs:
        """Return outputs of some test rows as the model sees them."""

    @abstractmethod
    def mixed(self, at: Outputs, which: Indices) -> tuple[Array, Array]:
        """Return the mixed term, and its slope by the features in an array of its own.

        See `losses` for what it is.
        """

    @abstractmethod
    def pulled_back(self, slope: Array, at: Outputs, Y: Array, which: Indices) -> Array:
        """Return slopes by y, without the factor 2 gamma_y; `slope` is overwritten."""

    @abstractmethod
    def spread(self) -> Array:
        """Return u'S_y u, which the bound of KL needs, (m,)."""

    def evaluate(self, Y: Array, which: Indices) -> tuple[Array, Array]:
        """Return the losses (a,) and gradients (a, d) of some test rows."""
        loss = self.settings.loss
        at = self.outputs(Y, which)
        mixed, slope = self.mixed(at, which)
        # Only Sharma and Mittal's loss does without e_x.
        e_x = mixed if loss.mixed == "mixture" else self.e_x[which]
        by_mixed, by_e_y = loss.slopes(mixed, at.e_y, e_x)
        slope *= by_mixed[:, None]
        fall = at.fall
        fall *= (2.0 * by_e_y)[:, None]
        slope -= fall
        gradient = self.pulled_back(slope, at, Y, which)
        gradient *= 2.0 * self.settings.gamma_y
        return loss.value(mixed, at.e_y, e_x), gradient

    def bounds(self) -> Array:
        """Return what no y goes below, (m,)."""
        loss, e_x = self.settings.loss, self.e_x
        spread = self.spread() if loss.mixed == "linear" else np.zeros_like(e_x)
        return loss.bound(e_x, spread)

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
