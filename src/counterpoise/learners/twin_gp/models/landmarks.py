r"""Twin Gaussian processes through output landmarks: an evaluation is free of N.

Pivoted Cholesky of the output kernel gives r rows m with
:math:`k_y(Y, y) \approx \Phi c(y)`, :math:`c(y) = T^{-1} k_y(Y_m, y)`. With
:math:`P = D \Phi` and :math:`M = (P'P + l_y I)^{-1}`

.. math:: e_y = (1 - |c|^2) + l_y (1 + c'Mc)

in which every term is positive, and after one pass over the training rows the mixed
terms need r numbers a test row. The bounds of `losses` hold for the landmark problem as
they stand: it is a twin Gaussian process whose outputs have the kernel
:math:`\Phi\Phi'`, or a larger one in :math:`S_t`, which makes :math:`e_t` larger.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.learners.twin_gp.models.exact import ExactModel
from counterpoise.learners.twin_gp.models.factors import Factor, products, squares
from counterpoise.learners.twin_gp.models.inputs import (
    InputPart,
    SeenByInputs,
    factored,
    output_gradient,
)
from counterpoise.learners.twin_gp.models.problems import Outputs
from counterpoise.learners.twin_gp.models.rows import Settings, TwinRows
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel
from counterpoise.numerics.pivoted_cholesky import pivoted_cholesky

# Pivoting stops when no row's kernel is off by more than this share of the ridge.
SHARE_OF_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class OutputLandmarks:
    """Rows that stand for the output kernel.

    Attributes
    ----------
    Y : array of shape (r, d_y)
    triangle : Factor
        T, of the landmarks' kernel.
    coordinates : array of shape (r, N)
        P', the coordinates of the training rows times the roots of their weights.
    inner : Factor
        Of P'P + ridge I.
    residual : float
        The most by which a row's kernel is off.
    """

    Y: Array
    triangle: Factor
    coordinates: Array
    inner: Factor
    residual: float

    @classmethod
    def of(cls, rows: TwinRows, settings: Settings, most: int) -> "OutputLandmarks":
        """Choose at most so many: time O(N r (r + d_y))."""
        tol = SHARE_OF_RIDGE * settings.ridge_y
        factor, pivots, residual = pivoted_cholesky(rows.Y, settings.gamma_y, tol, most)
        triangle = np.asfortranarray(factor[:, pivots].T)
        factor *= rows.root
        inner = factor @ factor.T
        inner[np.diag_indices_from(inner)] += settings.ridge_y
        return cls(
            rows.Y[pivots],
            Factor.by_triangle(triangle),
            factor,
            Factor.of(inner, often=True),
            float(residual.max()),
        )


@dataclass(frozen=True, eq=False)
class LandmarkModel:
    """What is left of the training rows, a pass over them done.

    Attributes
    ----------
    basis, triangle : arrays of shape (N, r), (r, r), or None
        QR of :math:`L_t^{-1} P` (Sharma-Mittal), of :math:`L_x'P` (inverse KL);
        for KL `basis` is :math:`S_x^{-1} P`.
    """

    rows: TwinRows
    settings: Settings
    landmarks: OutputLandmarks
    inputs: InputPart
    mixture: Factor | None
    basis: Array
    triangle: Factor | None

    @classmethod
    def of(
        cls, rows: TwinRows, settings: Settings, landmarks: OutputLandmarks
    ) -> "LandmarkModel":
        """Fit to rows: N^3 / 3 flops, twice that for Sharma-Mittal, and N^2 r."""
        inputs, mixture = factored(rows, settings, often=False)
        triangle = None
        if settings.loss.mixed == "linear":
            basis = inputs.factor.solve(landmarks.coordinates).T
        else:
            tall = (
                mixture.forward(landmarks.coordinates)
                if mixture is not None
                else inputs.factor.transposed_times(landmarks.coordinates)
            )
            basis, upper = np.linalg.qr(tall.T)
            triangle = Factor(np.asfortranarray(upper.T))
        return cls(rows, settings, landmarks, inputs, mixture, basis, triangle)

    def exact(self) -> ExactModel:
        """Return the model without landmarks: N^3 / 3 flops more."""
        outputs = ExactModel.factor_outputs(self.rows, self.settings)
        return ExactModel(self.rows, self.settings, self.inputs, outputs, self.mixture)

    def pose(self, X: Array) -> "LandmarkProblems":
        """Return the problems of test rows: N^2 flops each."""
        return LandmarkProblems(self, self.inputs.similarities(X))

    def row_bytes(self) -> int:
        """Return the memory that a test row takes."""
        return 32 * len(self.rows) + 128 * len(self.landmarks.Y)


@dataclass(frozen=True, eq=False)
class LandmarkProblems(SeenByInputs):
    """An evaluation is O(r^2 + r d_y) a test row."""

    model: LandmarkModel
    s_x: Array

    @cached_property
    def known(self) -> tuple[Array, Array]:
        """What the mixed term needs of the inputs: r numbers a test row, and one.

        KL: :math:`P'u` and nothing. Inverse KL: :math:`q = Q'h` and
        :math:`e_x + |h|^2 - |q|^2`. Sharma-Mittal, with :math:`h = L_t^{-1} s_x`:
        :math:`(1-t) q` and :math:`c_t - (1-t)^2 (|h|^2 - |q|^2)`.
        """
        model, kind = self.model, self.settings.loss.mixed
        if kind == "linear":
            return self.s_x @ model.basis, np.zeros(len(self.s_x))
        if kind == "quadratic":
            q = self.h @ model.basis
            return q, self.e_x + np.maximum(squares(self.h) - squares(q), 0.0)
        assert model.mixture is not None
        left = 1.0 - self.settings.theta
        h = model.mixture.forward(self.s_x)
        q = h @ model.basis
        beside = np.maximum(squares(h) - squares(q), 0.0)
        return left * q, 1.0 + self.settings.ridge_t - left * left * beside

    def outputs(self, Y: Array, which: Indices) -> Outputs:
        """Return outputs by their coordinates among the landmarks."""
        marks, ridge = self.model.landmarks, self.settings.ridge_y
        kernel = Kernel("rbf", self.settings.gamma_y).matrix(Y, marks.Y)
        c = marks.triangle.forward(kernel)
        v = marks.inner.forward(c)
        e_y = np.maximum(1.0 - squares(c), 0.0) + ridge * (1.0 + squares(v))
        Mc = marks.inner.backward(v)
        return Outputs(kernel, c, Mc, e_y, c - ridge * Mc)

    def mixed(self, at: Outputs, which: Indices) -> tuple[Array, Array]:
        """Return the mixed term and its slope by the coordinates."""
        kind, triangle = self.settings.loss.mixed, self.model.triangle
        vector, number = self.known[0][which], self.known[1][which]
        if kind == "linear":
            return products(vector, at.features), vector
        assert triangle is not None
        if kind == "quadratic":
            away = triangle.transposed_times(at.solved) - vector
            slope = self.model.landmarks.inner.solve(triangle.times(away))
            slope *= 2.0
            return number + squares(away), slope
        t = self.settings.theta
        vector += t * triangle.transposed_times(at.features)
        slope = triangle.times(vector)
        slope *= -2.0 * t
        return np.maximum(number - squares(vector), self.settings.ridge_t), slope

    def pulled_back(self, slope: Array, at: Outputs, Y: Array, which: Indices) -> Array:
        """Return slopes by y, without the factor 2 gamma_y."""
        marks = self.model.landmarks
        by_kernel = marks.triangle.backward(slope)
        return output_gradient(by_kernel, at.kernel, marks.Y, Y)

    def spread(self) -> Array:
        """Return u'S_y u."""
        u = self.model.inputs.factor.backward(self.h)
        return squares(self.known[0]) + self.settings.ridge_y * squares(u)
