r"""Interior-point steps for the largest modulus of eigenvalues over weights.

The problem is, for rows :math:`x_i` and a symmetric A,

.. math:: \min_{z, t}\; t + \beta |z|^2, \quad
   -tI \preceq A - \sum_i z_i x_i x_i' \preceq tI, \quad
   \sum_i z_i = 1, \; 0 \le z \le cap.
"""

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.convex.spectral.steps.newton import (
    Inside,
    Move,
    SpectralNewton,
    plus,
    quadratic_forms,
    spectral_norm,
)
from counterpoise.numerics.arrays import Array

# The aim is never nearer to zero than this share of the present centre.
LEAST_AIM = 1e-6


@dataclass(frozen=True, eq=False)
class SpectralInterior:
    r"""Mehrotra's predictor and corrector in the HKM direction.

    As the rows enter by matrices of rank one, the Schur complement is entrywise

    .. math:: (XY_+X') \circ (XS_+^{-1}X') + (XY_-X') \circ (XS_-^{-1}X') + diag

    so that a step costs :math:`O(m^2N + m^3/3 + N^3)` and nothing has size
    :math:`N^2`. Every iterate has feasible z and Y, hence a proof.

    Parameters
    ----------
    rows : array of shape (m, N)
    target : array of shape (N, N)
        A.
    cap : float, optional
    bend : float
        :math:`\beta`.
    """

    rows: Array
    target: Array
    cap: float | None = None
    bend: float = 0.0

    def start(self, z: Array | None = None) -> Inside:
        """Return a first point, at z or at equal weights, with Y in the middle."""
        m, N = self.rows.shape
        z = np.full(m, 1.0 / m) if z is None else z
        half = np.eye(N) / (2.0 * N)
        M = self.operator(z)
        norm = spectral_norm(M)
        return self.resume(z, half, half, 0.2 * norm, 0.05 * norm, M)

    def resume(
        self,
        z: Array,
        above: Array,
        below: Array,
        room: float,
        slack: float,
        M: Array | None = None,
    ) -> Inside:
        """Return the point with these matrices, `room` and `slack` inside its bounds.

        t is `room` above the norm; the multipliers of z are at least `slack`.
        """
        M = self.operator(z) if M is None else M
        norm = spectral_norm(M)
        pulls = quadratic_forms(self.rows, above - below)
        level = float(pulls.max()) + slack
        low, high = level - pulls, None
        if self.cap is not None:
            # Products with the room below the cap as large as those with z.
            high = np.full(z.size, float(z @ low) / (self.cap * z.size - 1.0))
            level = level - float(high[0])
        low = low + 2.0 * self.bend * z
        return Inside(z, norm + room, above, below, low, high, level, M, norm, pulls)

    def mismatched(
        self, here: Inside, z: Array, low: Array, high: Array | None
    ) -> Inside:
        """Return the point with the matrices of another one, on these rows.

        The multipliers need not match the matrices.
        """
        M = self.operator(z)
        norm = spectral_norm(M)
        return replace(
            here,
            z=z,
            low=low,
            high=high,
            M=M,
            norm=norm,
            t=max(here.t, norm + 0.5 * (here.t - here.norm)),
            pulls=quadratic_forms(self.rows, here.Y),
            matched=False,
        )

    def operator(self, z: Array) -> Array:
        """Return M(z)."""
        return self.target - (self.rows * z[:, None]).T @ self.rows

    def advance(self, here: Inside) -> Inside:
        """Return the point after one predictor and one corrector.

        Raises `numpy.linalg.LinAlgError` where rounding leaves no step.
        """
        step = SpectralNewton(self, here)
        first = step.towards(0.0)
        primal, dual = step.lengths(first)
        primal, dual = min(1.0, primal), min(1.0, dual)
        ahead = step.complementarity(first, primal, dual) / step.gap
        aim = max(ahead, 1e-8) ** (2.0 if min(primal, dual) > 0.5 else 1.0)
        aim = min(max(aim, LEAST_AIM), 1.0)
        move = step.towards(aim, first)
        primal, dual = step.lengths(move)
        if min(primal, dual) < 0.1:
            # The second-order term misleads: a centred step without it.
            move = step.towards(max(aim, 0.3))
            primal, dual = step.lengths(move)
        share = 0.9 + 0.09 * min(1.0, primal, dual)
        return self._moved(here, move, min(1.0, share * primal), min(1.0, share * dual))

    def _moved(self, here: Inside, move: Move, primal: float, dual: float) -> Inside:
        if not max(primal, dual) > 1e-6:
            raise np.linalg.LinAlgError("no step is left")
        z = here.z + primal * move.z
        z = np.maximum(z, 1e-300)
        z = z / z.sum()
        M = self.operator(z)
        norm = spectral_norm(M)
        above = here.above + dual * move.above
        below = here.below + dual * move.below
        above, below = 0.5 * (above + above.T), 0.5 * (below + below.T)
        trace = float(np.trace(above) + np.trace(below))
        above, below = above / trace, below / trace
        pulls = quadratic_forms(self.rows, above - below)
        level = (here.level + dual * move.level) / trace
        out = replace(
            here,
            z=z,
            t=max(here.t + primal * move.t, norm * (1.0 + 1e-12)),
            above=above,
            below=below,
            M=M,
            norm=norm,
            pulls=pulls,
            level=level,
        )
        if self.cap is not None or self.bend > 0.0 or not here.matched:
            # The multipliers need not match exactly: proofs do not use them.
            high = plus(here.high, dual, move.high)
            low = here.low + dual * move.low
            return replace(out, low=low, high=high, matched=dual >= 1.0)
        low = level - pulls
        if not low.min() > 0.0:
            level = float(pulls.max()) + 1e-3 * float(np.abs(low).mean())
            low = level - pulls
        return replace(out, level=level, low=low)
