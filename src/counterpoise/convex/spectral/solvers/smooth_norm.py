r"""The smooth norm :math:`G_p(z) = (Tr\,M(z)^{2p})^{1/p} / 2` of rows or a kernel."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh

from counterpoise.convex.spectral.discrepancy import DualMatrix
from counterpoise.convex.spectral.solvers.incumbent import Incumbent
from counterpoise.convex.spectral.steps.matrix_powers import (
    odd_power,
    power_by_squaring,
)
from counterpoise.numerics.arrays import Array

# Eigenvalues of a dual matrix below this share of the largest are left out.
SMALL = 1e-4


def smooth_form(problem: Any, by: str = "eigen") -> "FeatureForm | KernelForm":
    """Return the form of a Discrepancy or of a KernelDiscrepancy."""
    if hasattr(problem, "rows"):
        return FeatureForm(problem, by)
    return KernelForm(problem)


@dataclass(frozen=True, eq=False)
class FeatureForm:
    r"""Gradients from M itself.

    .. math:: \partial_i G_p = -x_i'M^{2p-1}x_i\,(Tr\,M^{2p})^{1/p-1}

    :math:`O(mN^2 + N^3)` a gradient, with `by="squaring"` :math:`O(mN^2 + N^3 \log p)`.
    """

    problem: Any
    by: str = "eigen"

    @property
    def rank(self) -> int:
        """The largest rank of M."""
        return len(self.problem.target_moment)

    def gradient(self, z: Array, p: int) -> tuple[Array, Array | None]:
        """Return the gradient and M^(2p-1) divided by its size, None where M = 0."""
        M = self.problem.operator(z)
        power, scale, trace = odd_power(M, p, self.by)
        if trace == -math.inf:
            return np.zeros(len(z)), None
        size = math.exp(scale + (1.0 / p - 1.0) * trace)
        return -self.problem.pull(power) * size, power / np.abs(power).max()

    def or_dual(self, best: Incumbent, dual: Array) -> Incumbent:
        """Return the incumbent with the better dual matrix; O(mN^2 + N^3)."""
        return best.or_dual(self.problem, dual)


@dataclass(frozen=True, eq=False)
class KernelForm:
    r"""Gradients from the Gram matrix of source and target rows.

    With :math:`D = diag(-z, P)` and :math:`C = (DK)^{2p-2} D`, which is symmetric,
    :math:`M^{2p-1} = \Phi'C\Phi` and

    .. math:: \partial_i G_p = -[KCK]_{ii}\,(Tr\,(DK)^{2p})^{1/p-1}, \quad i \le m

    :math:`O((m+n)^3 \log p)` a gradient.
    """

    problem: Any

    @property
    def rank(self) -> int:
        """The largest rank of M."""
        return int(self.problem.kernel.size)

    @cached_property
    def _gram(self) -> Array:
        everything = np.arange(self.problem.kernel.size)
        gram: Array = self.problem.kernel.block(everything, everything)
        return gram

    def gradient(self, z: Array, p: int) -> tuple[Array, Array | None]:
        """Return the gradient and C divided by its size, None where M = 0."""
        signed = np.concatenate([-z, self.problem.target_share])
        K, m = self._gram, len(z)
        DK = signed[:, None] * K
        if p == 1:
            power, scale = np.eye(len(K)), 0.0
        else:
            power, scale = power_by_squaring(DK, 2 * p - 2)
        C = power * signed
        C = 0.5 * (C + C.T)
        CK = C @ K
        trace = float(np.sum(CK * DK.T))
        if not trace > 0.0:
            return np.zeros(m), None
        size = math.exp(scale + (1.0 / p - 1.0) * (scale + math.log(trace)))
        diagonal = np.einsum("ij,ji->i", K[:m], CK[:, :m])
        return -diagonal * size, C / np.abs(C).max()

    def or_dual(self, best: Incumbent, dual: Array) -> Incumbent:
        """Return the incumbent with the better dual matrix; O((m + n)^3).

        An eigenvector u of Phi'C Phi to the value y is Phi'a with a = C Phi u / y.
        """
        root = self._root
        inner = root @ dual @ root
        values, vectors = eigh(0.5 * (inner + inner.T), check_finite=False)
        some = np.abs(values) > SMALL * np.abs(values).max()
        values, vectors = values[some], vectors[:, some]
        found = DualMatrix(dual @ (root @ vectors) / values, values)
        return best.or_bounded(found, self.problem.dual_value(found))

    @cached_property
    def _root(self) -> Array:
        """The symmetric root of the Gram matrix."""
        values, vectors = eigh(self._gram, check_finite=False)
        root: Array = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return root
