"""How much an effective sample size is worth, from the noise of second moments."""

import math

import numpy as np
from scipy.linalg import eigh

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.two_samples import TwoSamples

# Rows by which the noise is known well enough.
ROWS_LOOKED_AT = 400
# Where the samples differ by no more than their noise, weights are nearly equal.
LARGEST_SPREAD = 10.0
# Kernels beyond this power of two, or below its inverse, are looked at in its unit.
_LARGEST_EXPONENT = 300


def default_spread(
    samples: TwoSamples, kernel: Kernel, gram: Array | None, uniform: float
) -> float:
    r"""Return the spread at which the objective is what it can know of the target.

    A weighted moment of n source rows is off by about

    .. math:: \nu \sqrt{(1 + \chi^2) / n} \approx \frac{\nu}{\sqrt n}
        + \frac{\nu}{2 \sqrt n} \chi^2, \qquad \chi^2 = \sum_i z_i^2 / p_i - 1,

    in the spectral norm, with :math:`\nu^2` the largest eigenvalue of
    :math:`\sum_i p_i k(x_i, x_i) \phi(x_i) \phi(x_i)' - M^2` and :math:`M` the source's
    moment, and so is the discrepancy that a bound has beside the weighted loss:
    :math:`s f_0 = \nu / (2 \sqrt n)`, s at most 10. Of more than 400 rows 400 are
    looked at, at equal shares.
    """
    if uniform <= 0.0:
        return 0.0
    n = samples.source.shape[0]
    rows, share = np.arange(n), samples.source_share
    if n > ROWS_LOOKED_AT:
        levels = (np.arange(ROWS_LOOKED_AT) + 0.5) / ROWS_LOOKED_AT
        rows = np.minimum(np.searchsorted(np.cumsum(share), levels), n - 1)
        share = np.full(ROWS_LOOKED_AT, 1.0 / ROWS_LOOKED_AT)
    if gram is None:
        K = np.asarray(kernel.matrix(samples.source[rows], samples.source[rows]))
    else:
        K = gram[np.ix_(rows, rows)]
    # The noise is of the kernel's size, and its squares must be floats.
    exponent = int(np.frexp(np.abs(K).max())[1])
    exponent = exponent if abs(exponent) > _LARGEST_EXPONENT else 0
    K = np.ldexp(K, -exponent)
    values, vectors = eigh(0.5 * (K + K.T))
    # Rows whose products are the kernel.
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    weighed = share[:, None] * features
    moment = features.T @ weighed
    variance = (features * K.diagonal()[:, None]).T @ weighed - moment @ moment
    largest = float(np.linalg.eigvalsh(0.5 * (variance + variance.T))[-1])
    noise = math.sqrt(max(largest, 0.0) / samples.source_mass)
    return min(0.5 * math.ldexp(noise, exponent) / uniform, LARGEST_SPREAD)
