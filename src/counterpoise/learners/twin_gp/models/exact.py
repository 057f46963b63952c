"""Twin Gaussian processes on all rows, O(N^2) an evaluation and test row."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.learners.twin_gp.models.factors import Factor, products, squares
from counterpoise.learners.twin_gp.models.inputs import (
    InputPart,
    SeenByInputs,
    factored,
    output_gradient,
    output_kernel,
)
from counterpoise.learners.twin_gp.models.problems import Outputs
from counterpoise.learners.twin_gp.models.rows import Settings, TwinRows
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel


@dataclass(frozen=True, eq=False)
class ExactModel:
    """All factors: two of N^3 / 3 flops, three for Sharma-Mittal."""

    rows: TwinRows
    settings: Settings
    inputs: InputPart
    outputs: Factor
    mixture: Factor | None

    @classmethod
    def of(cls, rows: TwinRows, settings: Settings) -> "ExactModel":
        """Fit to rows."""
        inputs, mixture = factored(rows, settings, often=True)
        return cls(rows, settings, inputs, cls.factor_outputs(rows, settings), mixture)

    @staticmethod
    def factor_outputs(rows: TwinRows, settings: Settings) -> Factor:
        """Return the factor of S_y."""
        return Factor.of(output_kernel(rows, settings), often=True)

    def pose(self, X: Array) -> "ExactProblems":
        """Return the problems of test rows."""
        return ExactProblems(self, self.inputs.similarities(X))

    def row_bytes(self) -> int:
        """Return the memory that a test row takes."""
        return 64 * len(self.rows)


@dataclass(frozen=True, eq=False)
class ExactProblems(SeenByInputs):
    """Two triangular solves an evaluation for KL, four for Sharma-Mittal, or six."""

    model: ExactModel
    s_x: Array

    @cached_property
    def u(self) -> Array:
        """S_x^-1 s_x."""
        return self.model.inputs.factor.backward(self.h)

    @cached_property
    def input_share(self) -> Array:
        """(1 - t) s_x."""
        return (1.0 - self.settings.theta) * self.s_x

    def outputs(self, Y: Array, which: Indices) -> Outputs:
        """Return outputs by their similarities to all rows."""
        model, ridge = self.model, self.settings.ridge_y
        s_y = Kernel("rbf", self.settings.gamma_y).matrix(Y, model.rows.Y)
        s_y *= model.rows.root
        h = model.outputs.forward(s_y)
        e_y = np.maximum(1.0 + ridge - squares(h), ridge)
        v = model.outputs.backward(h)
        return Outputs(s_y, s_y, v, e_y, v)

    def mixed(self, at: Outputs, which: Indices) -> tuple[Array, Array]:
        """Return the mixed term and its slope by s_y."""
        kind, settings = self.settings.loss.mixed, self.settings
        if kind == "linear":
            u = self.u[which]
            return products(u, at.features), u
        if kind == "quadratic":
            # r = e_x + |L_x'v - h|^2, which cancels nothing.
            factor = self.model.inputs.factor
            away = factor.transposed_times(at.solved) - self.h[which]
            slope = self.model.outputs.solve(factor.times(away))
            slope *= 2.0
            return self.e_x[which] + squares(away), slope
        mixture, t = self.model.mixture, settings.theta
        assert mixture is not None
        s_t = t * at.features
        s_t += self.input_share[which]
        h = mixture.forward(s_t)
        slope = mixture.backward(h)
        slope *= -2.0 * t
        ridge = settings.ridge_t
        return np.maximum(1.0 + ridge - squares(h), ridge), slope

    def pulled_back(self, slope: Array, at: Outputs, Y: Array, which: Indices) -> Array:
        """Return slopes by y, without the factor 2 gamma_y."""
        return output_gradient(slope, at.kernel, self.model.rows.Y, Y)

    def spread(self) -> Array:
        """Return u'S_y u."""
        return squares(self.model.outputs.transposed_times(self.u))
