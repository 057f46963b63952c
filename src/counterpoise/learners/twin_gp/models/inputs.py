"""The Gaussian of the inputs, and test rows by their similarities to it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from counterpoise.learners.twin_gp.models.factors import (
    Factor,
    squares,
    weighted_kernel,
)
from counterpoise.learners.twin_gp.models.problems import UNEXPLAINED, TwinProblems
from counterpoise.learners.twin_gp.models.rows import Settings, TwinRows
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import Kernel


@dataclass(frozen=True, eq=False)
class InputPart:
    """The Gaussian of the inputs: S_x by its factor, and the weighted GPR on it.

    Attributes
    ----------
    rows : TwinRows
    settings : Settings
    factor : Factor
        Of S_x.
    dual : array of shape (N, d_y)
        :math:`S_x^{-1} D (Y - m)`, m the weighted mean of Y.
    """

    rows: TwinRows
    settings: Settings
    factor: Factor
    dual: Array

    @classmethod
    def of(cls, rows: TwinRows, settings: Settings, S: Array) -> "InputPart":
        """Factorise S_x, whose memory is used."""
        factor = Factor.of(S)
        right = rows.root[:, None] * (rows.Y - rows.mean)
        return cls(rows, settings, factor, factor.solve(right.T).T)

    def similarities(self, X: Array) -> Array:
        """Return s_x of test rows, (m, N)."""
        s = Kernel("rbf", self.settings.gamma_x).matrix(X, self.rows.X)
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


def input_kernel(rows: TwinRows, settings: Settings) -> Array:
    """Return S_x."""
    return weighted_kernel(rows.X, settings.gamma_x, rows.root, settings.ridge_x)


def output_kernel(rows: TwinRows, settings: Settings) -> Array:
    """Return S_y."""
    return weighted_kernel(rows.Y, settings.gamma_y, rows.root, settings.ridge_y)


def factored(
    rows: TwinRows, settings: Settings, often: bool
) -> tuple[InputPart, Factor | None]:
    """Return the inputs' Gaussian and, where the loss mixes the two, the factor of S_t.

    :math:`S_t = (1 - t) S_x + t S_y`: a factor of :math:`N^3/3` flops, or two; `often`
    says whether that of S_t is needed in every evaluation.
    """
    S_x = input_kernel(rows, settings)
    mixture = None
    if settings.loss.mixed == "mixture":
        t, S_t = settings.theta, output_kernel(rows, settings)
        S_t *= t
        for first in range(0, len(S_x), 256):
            some = slice(first, first + 256)
            S_t[some] += (1.0 - t) * S_x[some]
        mixture = Factor.of(S_t, often=often)
    return InputPart.of(rows, settings, S_x), mixture


class HasInputs(Protocol):
    """A model of all rows."""

    @property
    def settings(self) -> Settings:
        """The numbers of the model."""
        ...

    @property
    def inputs(self) -> InputPart:
        """The Gaussian of the inputs."""
        ...


class SeenByInputs(TwinProblems):
    """Test rows by their similarities to all training rows, (m, N)."""

    model: HasInputs
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
    def e_x(self) -> Array:
        """Schur complement of the inputs."""
        return self.model.inputs.schur(self.h)

    @cached_property
    def lost(self) -> NDArray[np.bool_]:
        """Which inputs are like no training input.

        What one training row alone explains is a bound of what all explain, and saves
        the solve with S_x for all inputs but strange ones.
        """
        part, ridge = self.model.inputs, self.settings.ridge_x
        alone = (self.s_x**2 / (part.rows.weight + ridge)).max(axis=1)
        out: NDArray[np.bool_] = alone < UNEXPLAINED
        strange = np.flatnonzero(out)
        if strange.size:
            e_x = part.schur(part.factor.forward(self.s_x[strange]))
            out[strange] = e_x > 1.0 + ridge - UNEXPLAINED
        return out

    @property
    def directions(self) -> Array | None:
        """Orthonormal columns that answers may differ by; None: all directions."""
        return self.model.inputs.rows.directions

    def mean(self) -> Array:
        """Return the weighted GPR mean."""
        return self.model.inputs.mean(self.s_x)

    def likest(self) -> Array:
        """Return the outputs of the most similar training inputs."""
        rows = self.model.inputs.rows
        return rows.Y[(self.s_x / rows.root).argmax(axis=1)]


def output_gradient(by_kernel: Array, kernel: Array, Y: Array, at: Array) -> Array:
    """Return dL/dy from dL/dk(y_i, y), without the factor 2 gamma_y.

    `by_kernel` is overwritten.
    """
    by_kernel *= kernel
    out: Array = by_kernel @ Y
    out -= by_kernel.sum(axis=1)[:, None] * at
    return out
