"""A few accelerated steps on a smoothed spectral norm: a first idea of the weights."""

import numpy as np
from scipy.linalg import eigh

from counterpoise.convex.spectral.steps.interior import quadratic_forms
from counterpoise.numerics.arrays import Array


def smoothed_weights(rows: Array, target: Array, steps: int = 20) -> Array:
    r"""Return weights whose :math:`\|A - \sum z_i x_i x_i'\|_2` is well on its way.

    Accelerated gradient steps in the entropy's geometry on
    :math:`\mu \log \sum_k (e^{\lambda_k/\mu} + e^{-\lambda_k/\mu})`, the Lipschitz
    constant found by trial, the smoothing reduced as the value falls. A step costs
    :math:`O(mN^2 + N^3)` two or three times.
    """
    m, N = rows.shape

    def smooth(z: Array, width: float) -> tuple[float, float, Array]:
        M = target - (rows * z[:, None]).T @ rows
        values, vectors = eigh(M, check_finite=False, driver="evd")
        norm = max(float(values[-1]), -float(values[0]))
        up = np.exp((values - norm) / width)
        down = np.exp((-values - norm) / width)
        total = float(up.sum() + down.sum())
        Y = (vectors * ((up - down) / total)) @ vectors.T
        return norm, norm + width * float(np.log(total)), Y

    best = np.full(m, 1.0 / m)
    lowest, _, _ = smooth(best, 1.0)
    if not lowest > 0.0:
        return best
    error = np.log(2.0 * N)
    width, curve = 0.25 * lowest / error, 0.25 * lowest
    x = w = best
    share = 1.0
    for _ in range(steps):
        y = (1.0 - share) * x + share * w
        norm, value, Y = smooth(y, width)
        slope = -quadratic_forms(rows, Y)
        if norm < lowest:
            best, lowest = y, norm
        curve *= 0.7
        for _ in range(30):
            logs = np.log(np.maximum(w, 1e-300)) - (slope - slope.min()) / (
                curve * share
            )
            ahead = np.exp(logs - logs.max())
            ahead /= ahead.sum()
            there = (1.0 - share) * x + share * ahead
            norm, now, _ = smooth(there, width)
            off = there - y
            model = value + slope @ off + 0.5 * curve * np.abs(off).sum() ** 2
            if now <= model + 1e-12 * abs(value):
                break
            curve *= 2.0
        x, w = there, ahead
        if norm < lowest:
            best, lowest = x, norm
        share = 2.0 / (1.0 + np.sqrt(1.0 + 4.0 / share**2))
        if now < 2.0 * width * error:
            # The smoothing is what is left: less of it, from the best point on.
            width *= 0.6
            x = w = 0.999 * best + 0.001 / m
            share = 1.0
    return best
