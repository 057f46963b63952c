"""Quadratic problems over matrices with orthonormal columns, and their proof."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.orthogonal.bounds import global_bound
from counterpoise.convex.orthogonal.forms import Forms
from counterpoise.convex.orthogonal.reading import (
    Constraint,
    read_constraint,
    read_l1,
    read_linear,
    read_maximum,
    read_quadratic,
    read_shape,
)
from counterpoise.convex.orthogonal.spectrum import extreme_eigenvalues
from counterpoise.convex.orthogonal.stationarity import Stationarity, stationarity
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import orthonormality, polar
from counterpoise.numerics.refusals import InvalidInput


@dataclass(frozen=True, eq=False, init=False)
class OrthogonalProblem:
    r"""Minimise a quadratic, linear and piecewise function of a frame.

    .. math::

        \min_{P'P = I}\ \langle M, PP'\rangle + \langle N, P\rangle
        + \max_k \langle A_k, PP'\rangle + \sum_i |\langle B_i, P\rangle + b_i|

    over P of shape (n, m), subject to
    :math:`\langle M_k, PP'\rangle + \langle N_k, P\rangle + c_k \le 0` and, if asked
    for, :math:`P \ge 0`. No matrix need be definite; all are made symmetric, since only
    that part counts.

    Parameters
    ----------
    quadratic : matrix of shape (n, n), dense or sparse, or None
        M.
    linear : matrix of shape (n, m) or None
        N.
    n_columns : int, optional
        m, where nothing else says it.
    maximum : array of shape (K, n, n) or None
        The matrices A_k.
    l1 : pair (B, b) or None
        Of shapes (q, n, m) and (q,).
    constraints : sequence of triples (M_k, N_k, c_k)
        None in place of a matrix: zero.
    nonnegative : bool
        Whether P >= 0 as well.

    Notes
    -----
    The problem is not convex, so a certificate is of kind "stationarity": it holds by
    its residual, the least over multipliers of

    .. math::

        \|\mathrm{grad}\, \mathcal{L}\|_F + \sum_k w_k (\max_l a_l - a_k)
        + \sum_i (|r_i| - s_i r_i) + \sum_k \lambda_k |f_k| + \langle \nu, |P|\rangle

    (the Lagrangian's gradient along the frames, and what complementarity lacks), in
    units of `slope`. Multipliers come from a small conic programme; any that are found
    bound the least. `bound` and `gap` are the global ones, of the Fantope relaxation

    .. math:: \langle M, X\rangle + \langle N, P\rangle + \ldots,\quad
              PP' \preceq X \preceq I,\ \mathrm{tr} X = m

    while n + m <= 60 (3 GB at n = 100), and beyond that of the terms. They are
    evaluated at a dual point, so that no rounding of a solver makes them untrue. With
    P >= 0 every frame whose columns are optimal on their supports is stationary: rows
    change columns by a jump only.

    References
    ----------
    Zohrizadeh (2019), chapter 3. Overton and Womersley (1992): the Fantope.

    Examples
    --------
    >>> import numpy as np
    >>> problem = OrthogonalProblem(np.diag([3.0, 1.0, 2.0]), n_columns=2)
    >>> round(problem.bound(), 9), problem.value(np.eye(3)[:, 1:])
    (3.0, 3.0)
    """

    quadratic: Any
    linear: Array | None
    n_columns: int
    maximum: Forms | None
    l1: tuple[Array, Array] | None
    constraints: tuple[Constraint, ...]
    nonnegative: bool
    shape: tuple[int, int]
    # Of a point, for the loop's check of a start.
    point_dimensions: ClassVar[int] = 2

    def __init__(
        self,
        quadratic: Any = None,
        linear: Any = None,
        *,
        n_columns: int | None = None,
        maximum: Any = None,
        l1: Any = None,
        constraints: Sequence[Any] = (),
        nonnegative: bool = False,
    ) -> None:
        given = list(constraints)
        n, m = read_shape(quadratic, linear, n_columns, maximum, l1, given)
        put = {
            "quadratic": read_quadratic("quadratic", quadratic, n),
            "linear": read_linear("linear", linear, n, m),
            "n_columns": m,
            "maximum": read_maximum(maximum, n),
            "l1": read_l1(l1, n, m),
            "constraints": tuple(
                read_constraint(k, one, n, m) for k, one in enumerate(given)
            ),
            "nonnegative": bool(nonnegative),
            "shape": (n, m),
        }
        for name, value in put.items():
            object.__setattr__(self, name, value)

    # -- what the problem is -----------------------------------------------------------

    @property
    def objective(self) -> "OrthogonalProblem":
        """The problem itself: its value and one of its gradients."""
        return self

    @property
    def forms(self) -> Forms | None:
        """The forms under the maximum."""
        return self.maximum

    @property
    def is_smooth(self) -> bool:
        """Whether there is neither a maximum nor a sum of absolute values."""
        return self.maximum is None and self.l1 is None

    @property
    def is_free(self) -> bool:
        """Whether nothing but P'P = I is asked of P."""
        return not self.constraints and not self.nonnegative

    @property
    def sees_only_the_span(self) -> bool:
        """Whether P enters through PP' alone."""
        return (
            self.linear is None
            and self.l1 is None
            and not self.nonnegative
            and all(one.linear is None for one in self.constraints)
        )

    @property
    def has_one_term(self) -> bool:
        """Whether only one of the quadratic and the linear term varies over frames."""
        low, high = self.quadratic_range
        constant = high - low <= 1e-12 * max(abs(low), abs(high))
        return self.linear is None or not self.linear.any() or constant

    @cached_property
    def quadratic_range(self) -> tuple[float, float]:
        """The least and the largest eigenvalue of M, zero without one."""
        if self.quadratic is None:
            return 0.0, 0.0
        return extreme_eigenvalues(self.quadratic)

    @cached_property
    def slope(self) -> float:
        r"""The largest gradient of the objective, or one where it is constant.

        .. math:: 2\|M - dI\|_2 + \|N\|_2 + \sum_i \|B_i\|_2
                  + 2 \max_k \|A_k - d_k I\|_2

        with d the least eigenvalues: multiples of the identity count for nothing over
        the frames. The unit of the residual, and the penalty above which rounds of
        `relaxation="sdp"` without constraints end on a frame.
        """
        low, high = self.quadratic_range
        out = 2.0 * (high - low)
        if self.linear is not None:
            out += float(np.linalg.norm(self.linear, 2))
        if self.l1 is not None:
            out += sum(float(np.linalg.norm(one, 2)) for one in self.l1[0])
        if self.forms is not None:
            least, largest = self.forms.ranges()
            out += 2.0 * float((largest - least).max())
        return out or 1.0

    # -- values ------------------------------------------------------------------------

    def read_frame(self, name: str, P: Any) -> Array:
        """Return P as an array of the problem's shape, or refuse it by name."""
        out = np.asarray(P, dtype=float)
        if out.shape != self.shape:
            raise InvalidInput(f"{name} must have shape {self.shape}, got {out.shape}")
        if not np.isfinite(out).all():
            row, column = (int(k) for k in np.argwhere(~np.isfinite(out))[0])
            raise InvalidInput(
                f"{name} must be finite, got {out[row, column]} at row {row}, "
                f"column {column}"
            )
        return out

    def value(self, P: Array) -> float:
        """Return the objective at P."""
        P = self.read_frame("P", P)
        out = 0.0
        if self.quadratic is not None:
            out += float(np.sum(P * (self.quadratic @ P)))
        if self.linear is not None:
            out += float(np.sum(self.linear * P))
        if self.forms is not None:
            out += float(self.forms.values(P).max())
        if self.l1 is not None:
            out += float(np.abs(self.residuals(P)).sum())
        return out

    def gradient(self, P: Array) -> Array:
        """Return a gradient of the objective: of the first form that attains the max.

        Where a term under the absolute value is zero, its gradient is left out.
        """
        out = self.smooth_gradient(P)
        if self.forms is not None:
            largest = np.array([int(np.argmax(self.forms.values(P)))])
            out = out + 2.0 * self.forms.images(P, largest)[0]
        if self.l1 is not None:
            out = out + np.tensordot(np.sign(self.residuals(P)), self.l1[0], 1)
        return out

    def smooth_gradient(self, P: Array) -> Array:
        """Return 2 M P + N."""
        out = np.zeros_like(P)
        if self.quadratic is not None:
            out = out + 2.0 * np.asarray(self.quadratic @ P)
        return out if self.linear is None else out + self.linear

    def residuals(self, P: Array) -> Array:
        """Return <B_i, P> + b_i, what stands under the absolute values."""
        assert self.l1 is not None
        return np.tensordot(self.l1[0], P, 2) + self.l1[1]

    def constraint_values(self, P: Array) -> Array:
        """Return f_k(P), at most zero where P is feasible."""
        return np.array([one.value(P) for one in self.constraints])

    def infeasibility(self, P: Array) -> float:
        """Return the largest of |P'P - I|, what exceeds a constraint, and -P."""
        P = self.read_frame("P", P)
        found = [orthonormality(P)]
        if self.constraints:
            found.append(float(self.constraint_values(P).max()))
        if self.nonnegative:
            found.append(-float(P.min()))
        return max(*found, 0.0)

    # -- proofs ------------------------------------------------------------------------

    def bound(self) -> float:
        """Return a number that is never above the value of any feasible P."""
        return self._bound

    @cached_property
    def _bound(self) -> float:
        return global_bound(self)

    def start(self) -> Array:
        """Return a frame, feasible or not: that of the smallest eigenvalues of M."""
        n, m = self.shape
        if self.quadratic is None and self.linear is not None:
            return polar(-self.linear)
        first = np.random.default_rng(0).standard_normal((n, m))
        return polar(np.abs(first) if self.nonnegative else first)

    def stationarity(self, P: Array) -> Stationarity:
        """Return multipliers at P and what the optimality conditions lack by them.

        The last answer is kept: a claim and its proof are about one frame.
        """
        key = P.tobytes()
        if key not in self._last:
            found = stationarity(self, P)
            self._last.clear()
            self._last[key] = found
        return self._last[key]

    @cached_property
    def _last(self) -> dict[bytes, Stationarity]:
        return {}

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Say how far x is from stationary, and bound how far from optimal."""
        P = self.read_frame("P", x)
        residual = self.stationarity(P).residual
        return self._proof(P, self.value(P), residual, self.bound())

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient of the Lagrangian along the frames prove.

        The global bound is left out, which may take long.
        """
        return self._proof(x, value, float(np.linalg.norm(gradient)), -math.inf)

    def unproved(self, P: Array) -> Certificate:
        """Return a certificate that never holds, of a frame that is not the end."""
        return self._proof(P, self.value(P), math.inf, -math.inf)

    def claim(self, P: Array) -> Certificate:
        """Return the certificate without its global bound."""
        return self._proof(P, self.value(P), self.stationarity(P).residual, -math.inf)

    def _proof(
        self, P: Array, value: float, residual: float, bound: float
    ) -> Certificate:
        return Certificate(
            kind="stationarity",
            objective=value,
            bound=bound,
            gap=max(value - bound, 0.0),
            scale=self.slope,
            residual=residual,
            infeasibility=self.infeasibility(P),
        )
