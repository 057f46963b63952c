"""Twin Gaussian processes on all rows, O(N^2) an evaluation and test row."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.learners.twin_gp.factors import (
    Factor,
    products,
    squares,
    weighted_kernel,
)
from counterpoise.learners.twin_gp.problems import TwinProblems, output_gradient
from counterpoise.learners.twin_gp.rows import Rows, Settings
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernels import rbf


@dataclass(frozen=True, eq=False)
class InputPart:
    """The Gaussian of the inputs: S_x by its factor, and the weighted GPR on it.

    Attributes
    ----------
    rows : Rows
    settings : Settings
    factor : Factor
        Of S_x.
    dual : array of shape (N, d_y)
        :math:`S_x^{-1} D (Y - m)`, m the weighted mean of Y.
    """

    rows: Rows
    settings: Settings
    factor: Factor
    dual: Array

    @classmethod
    def of(cls, rows: Rows, settings: Settings, S: Array) -> "InputPart":
        """Factorise S_x, whose memory is used."""
        factor = Factor.of(S)
        right = rows.root[:, None] * (rows.Y - rows.mean)
        return cls(rows, settings, factor, factor.solve(right.T).T)

    def similarities(self, X: Array) -> Array:
        """Return s_x of test rows, (m, N)."""
        s = rbf(X, self.rows.X, self.settings.gamma_x)
        s *= self.rows.root
        return s

    def mean(self, s: Array) -> Array:
        """Return the GPR mean at test rows."""
        out: Array = s @ self.dual + self.rows.mean
        return out

    def schur(self, h: Array) -> Array:
        """Return e_x from L_x^-1 s_x; it is at least the ridge."""
        ridge = self.settings.ridge_x
        return np.maximum(1.0 + ridge - squares(h), ridge)


def input_kernel(rows: Rows, settings: Settings) -> Array:
    """Return S_x."""
    return weighted_kernel(rows.X, settings.gamma_x, rows.root, settings.ridge_x)


def output_kernel(rows: Rows, settings: Settings) -> Array:
    """Return S_y."""
    return weighted_kernel(rows.Y, settings.gamma_y, rows.root, settings.ridge_y)


def mix(S_x: Array, S_y: Array, theta: float) -> Array:
    """Return S_t = (1 - t) S_x + t S_y, in the memory of S_y."""
    S_y *= theta
    for first in range(0, len(S_x), 256):
        some = slice(first, first + 256)
        S_y[some] += (1.0 - theta) * S_x[some]
    return S_y


@dataclass(frozen=True, eq=False)
class ExactModel:
    """All factors: two of N^3 / 3 flops, three for Sharma-Mittal."""

    rows: Rows
    settings: Settings
    inputs: InputPart
    outputs: Factor
    mixture: Factor | None

    @classmethod
    def of(cls, rows: Rows, settings: Settings) -> "ExactModel":
        """Fit to rows."""
        S_x = input_kernel(rows, settings)
        mixture = None
        if settings.loss.mixed == "mixture":
            S_y = output_kernel(rows, settings)
            mixture = Factor.of(mix(S_x, S_y, settings.theta))
        inputs = InputPart.of(rows, settings, S_x)
        return cls(rows, settings, inputs, cls.factor_outputs(rows, settings), mixture)

    @staticmethod
    def factor_outputs(rows: Rows, settings: Settings) -> Factor:
        """Return the factor of S_y."""
        return Factor.of(output_kernel(rows, settings))

    def pose(self, X: Array) -> "ExactProblems":
        """Return the problems of test rows."""
        return ExactProblems(self, self.inputs.similarities(X))

    def row_bytes(self) -> int:
        """Return the memory that a test row takes."""
        return 64 * len(self.rows)


@dataclass(frozen=True, eq=False)
class ExactProblems(TwinProblems):
    """Test rows by their similarities to the training rows."""

    model: ExactModel
    s_x: Array

    @property
    def settings(self) -> Settings:
        """The numbers of the model."""
        return self.model.settings

    @cached_property
    def h(self) -> Array:
        """L_x^-1 s_x."""
        return self.model.inputs.factor.forward(self.s_x)

    @cached_property
    def u(self) -> Array:
        """S_x^-1 s_x."""
        return self.model.inputs.factor.backward(self.h)

    @cached_property
    def e_x(self) -> Array:
        """Schur complement of the inputs."""
        return self.model.inputs.schur(self.h)

    def start(self) -> Array:
        """Return the weighted GPR mean."""
        return self.model.inputs.mean(self.s_x)

    def complements(self, Y: Array, which: Indices) -> tuple[Array, Array]:
        """Return e_y and the mixed term of some test rows."""
        _, _, e_y, mixed, _ = self._terms(Y, which)
        return e_y, mixed

    def evaluate(self, Y: Array, which: Indices) -> tuple[Array, Array]:
        """Return losses and gradients: two triangular solves for KL, four, six."""
        loss, gamma = self.settings.loss, self.settings.gamma_y
        s_y, v, e_y, mixed, by_s = self._terms(Y, which)
        # Only Sharma and Mittal's loss does without e_x.
        e_x = mixed if loss.mixed == "mixture" else self.e_x[which]
        by_mixed, by_e_y = loss.slopes(mixed, e_y, e_x)
        by_s *= by_mixed[:, None]
        v *= (-2.0 * by_e_y)[:, None]
        by_s += v
        gradient = output_gradient(by_s, s_y, self.model.rows.Y, Y)
        gradient *= 2.0 * gamma
        return loss.value(mixed, e_y, e_x), gradient

    def bounds(self) -> Array:
        """Return what no y goes below."""
        loss = self.settings.loss
        spread = np.zeros(len(self.s_x))
        if loss.mixed == "linear":
            spread = squares(self.model.outputs.transposed_times(self.u))
        return loss.bound(self.e_x, spread)

    def _terms(
        self, Y: Array, which: Indices
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Return s_y, S_y^-1 s_y, e_y, the mixed term and its slope by s_y."""
        model, ridge = self.model, self.settings.ridge_y
        s_y = rbf(Y, model.rows.Y, self.settings.gamma_y)
        s_y *= model.rows.root
        h = model.outputs.forward(s_y)
        e_y = np.maximum(1.0 + ridge - squares(h), ridge)
        v = model.outputs.backward(h)
        mixed, by_s = self._mixed(s_y, v, which)
        return s_y, v, e_y, mixed, by_s

    def _mixed(self, s_y: Array, v: Array, which: Indices) -> tuple[Array, Array]:
        kind = self.settings.loss.mixed
        if kind == "linear":
            u = self.u[which]
            return products(u, s_y), u
        if kind == "quadratic":
            # r = e_x + |L_x'v - h|^2, which cancels nothing.
            factor = self.model.inputs.factor
            away = factor.transposed_times(v) - self.h[which]
            by_s = self.model.outputs.solve(factor.times(away))
            by_s *= 2.0
            return self.e_x[which] + squares(away), by_s
        mixture, t = self.model.mixture, self.settings.theta
        assert mixture is not None
        s_t = self.s_x[which]
        s_t *= 1.0 - t
        s_t += t * s_y
        h = mixture.forward(s_t)
        ridge = (1.0 - t) * self.settings.ridge_x + t * self.settings.ridge_y
        by_s = mixture.backward(h)
        by_s *= -2.0 * t
        return np.maximum(1.0 + ridge - squares(h), ridge), by_s
