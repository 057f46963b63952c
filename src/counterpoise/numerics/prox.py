"""Proximal maps of norms: the point that trades distance for a smaller norm."""

import numpy as np

from counterpoise.numerics.arrays import Array


def soft_threshold(point: Array, level: float) -> Array:
    r"""Return the minimiser of :math:`\|x - v\|^2 / 2 + level \, \|x\|_1`.

    Examples
    --------
    >>> import numpy as np
    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
    array([ 2., -0., -1.])
    """
    return np.sign(point) * np.maximum(np.abs(point) - level, 0.0)


def row_threshold(rows: Array, level: float) -> Array:
    r"""Return the minimiser of :math:`\|X - V\|_F^2 / 2 + level \sum_i \|X_i\|_2`."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    keep = np.maximum(norms - level, 0.0)
    return rows * np.divide(keep, norms, out=np.zeros_like(norms), where=norms > 0)
