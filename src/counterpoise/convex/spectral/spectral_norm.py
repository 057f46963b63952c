"""What the feature form and the kernel form of the discrepancy share."""

import abc
from functools import cached_property

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.domains import CappedSimplex, Simplex
from counterpoise.numerics.arrays import Array

# The least scale of the gap, as a share of the value at equal weights: the optimum is
# zero where the target's moment is a mixture of source rows.
LEAST_SCALE = 0.01


class SpectralNorm(abc.ABC):
    """A spectral norm over weights: the weights' set, the spread's term, the claim."""

    cap: float | None
    spread: float
    reference: float | None

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of weights."""

    @property
    @abc.abstractmethod
    def floor(self) -> float:
        """The absolute error that rounding alone may leave in a norm."""

    @abc.abstractmethod
    def norm(self, z: Array) -> float:
        """Return the spectral norm at z."""

    @cached_property
    def domain(self) -> Simplex | CappedSimplex:
        """The weights."""
        if self.cap is None:
            return Simplex(self.size)
        return CappedSimplex(self.size, min(self.cap, 1.0))

    @property
    def objective(self) -> "SpectralNorm":
        """The problem itself has `value`."""
        return self

    @cached_property
    def uniform_value(self) -> float:
        """The norm at equal weights, or what was given in its place."""
        if self.reference is not None:
            return self.reference
        return self.norm(np.full(self.size, 1.0 / self.size))

    def start(self) -> Array:
        """Return equal weights."""
        return np.full(self.size, 1.0 / self.size)

    def value(self, z: Array) -> float:
        """Return the norm and the spread's term."""
        return self.norm(z) + self.spread_term(z)

    def spread_term(self, z: Array) -> float:
        """Return what the spread adds to the norm."""
        if self.spread == 0.0:
            return 0.0
        return self.bend * (float(z @ z) - 1.0 / self.size)

    def bound(self, target: float, pulls: Array) -> float:
        """Return L(Y) from <A_P, Y> and x'Yx of every row."""
        if self.spread == 0.0 or self.bend == 0.0:
            if self.cap is None:
                return target - float(pulls.max())
            return target - float(pulls @ self.domain.vertex(-pulls))
        z = self.domain.project(pulls / (2.0 * self.bend))
        return target - float(pulls @ z) + self.spread_term(z)

    def claim(self, z: Array, value: float, bound: float) -> Certificate:
        """Say what a value and a lower bound prove."""
        bound = min(max(bound, 0.0), value)
        scale = max(bound, LEAST_SCALE * self.uniform_value)
        if self.uniform_value <= self.floor:
            # Equal samples: what is left is rounding.
            scale = 0.0
        return Certificate(
            kind="dual bound",
            objective=value,
            bound=bound,
            gap=value - bound,
            scale=scale if scale > 0.0 else 1.0,
            infeasibility=self.domain.infeasibility(z),
        )

    def inside(self, z: Array) -> Array:
        """Return z clipped and divided by its sum, and projected if a cap is broken."""
        out = np.maximum(z, 0.0)
        total = float(out.sum())
        if not total > 0.0:
            return self.start()
        out = out / total
        if self.cap is not None and out.max() > self.cap:
            out = self.domain.project(out)
        return out

    @cached_property
    def bend(self) -> float:
        """The factor of |z|^2."""
        return self.spread * self.uniform_value * self.size

    def _check_weights(self) -> None:
        if not 0.0 <= self.spread < np.inf:
            raise ValueError(f"spread must be non-negative, got {self.spread}")
        if self.cap is not None and not self.cap * self.size >= 1.0 - 1e-12:
            raise ValueError(
                f"cap must be at least 1 / {self.size}, the share of a row at equal "
                f"weights, got {self.cap}"
            )
