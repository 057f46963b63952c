"""Negative mean logarithms of linear functions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.objectives.columns import slices
from counterpoise.convex.objectives.conic_form import ConicForm
from counterpoise.convex.objectives.design import (
    columns_of,
    image_under,
    pulled,
    similarity_of,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.line_search import log_line


@dataclass(frozen=True, eq=False)
class NegativeMeanLog:
    r"""The negative mean logarithm :math:`-\sum_j w_j \log (Ax)_j`.

    Infinite where a component of Ax with positive weight is not positive.

    Parameters
    ----------
    A : array or `Design` of shape (m, n)
    weights : array of shape (m,), optional
        Non-negative weights of the rows; scaled to sum one. All equal by default.

    Examples
    --------
    >>> import numpy as np
    >>> round(NegativeMeanLog(np.eye(2)).value(np.array([0.5, 0.5])), 6)
    0.693147
    """

    A: Any
    weights: Array | None = None

    def __post_init__(self) -> None:
        m = self.A.shape[0]
        if self.weights is None:
            share = np.full(m, 1.0 / m)
        else:
            share = np.asarray(self.weights, dtype=float)
            if share.shape != (m,):
                raise ValueError(f"weights must have shape ({m},), got {share.shape}")
            if not (share.min() >= 0.0 and 0.0 < share.sum() < math.inf):
                raise ValueError(
                    "weights must be non-negative, finite and not all zero"
                )
            share = share / share.sum()
        object.__setattr__(self, "weights", share)

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Ax, at the price of the non-zero entries of x."""
        return image_under(self.A, x)

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Ax."""
        counted = self._share > 0.0
        if not (image[counted] > 0.0).all():
            return math.inf
        return -float(self._share[counted] @ np.log(image[counted]))

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Ax."""
        return -pulled(self.A, self._pull(image))

    def along(
        self,
        x: Array,
        direction: Array,
        limit: float,
        images: tuple[Array, Array] | None = None,
    ) -> float:
        """Return the best step in [0, limit], by safeguarded Newton."""
        here, there = images or (self.image(x), self.image(direction))
        return log_line(here, there, self._share, limit)

    def columns(self, i: Indices) -> Array:
        """Return the columns i of A."""
        return columns_of(self.A, i)

    def model(self, i: Indices, columns: Array, image: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian in the coordinates i."""
        scaled = (
            columns
            * np.divide(
                np.sqrt(self._share),
                image,
                out=np.zeros_like(image),
                where=self._share > 0,
            )[:, None]
        )
        return -(self._pull(image) @ columns), scaled.T @ scaled

    def similarity(self, i: Indices) -> Array:
        """Return how alike the columns i of A are."""
        return similarity_of(self.A, i)

    def blocks(self, size: int) -> Iterator[tuple[float, "NegativeMeanLog"]]:
        """Yield pieces of `size` rows with their shares."""
        for rows in slices(self.A.shape[0], size):
            share = float(self._share[rows].sum())
            if share > 0.0:
                yield share, NegativeMeanLog(self.A[rows], self._share[rows])

    def conic(self) -> ConicForm:
        """Return the exponential cones t_j <= log (Ax)_j, as (t, 1, Ax)."""
        counted = np.flatnonzero(self._share > 0.0)
        A = self.A[counted]
        k, n = A.shape
        rows = sparse.lil_matrix((3 * k, n + k))
        rows[0::3, n:] = -sparse.identity(k)
        rows[2::3, :n] = -A
        b = np.zeros(3 * k)
        b[1::3] = 1.0
        return ConicForm(
            sparse.csc_matrix((n + k, n + k)),
            np.concatenate([np.zeros(n), -self._share[counted]]),
            sparse.csc_matrix(rows),
            b,
            (("exponential", 3),) * k,
        )

    @property
    def _share(self) -> Array:
        assert self.weights is not None
        return self.weights

    def _pull(self, image: Array) -> Array:
        return np.divide(
            self._share, image, out=np.zeros_like(image), where=self._share > 0.0
        )
