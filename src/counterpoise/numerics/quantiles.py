"""Quantiles of weighted values with an atom at infinity."""

import numpy as np

from counterpoise.numerics.arrays import Array


def quantiles_below_infinity(
    values: Array, weights: Array, atoms: Array, level: float
) -> Array:
    r"""Return the `level` quantile of weighted values and an atom at infinity.

    For every atom :math:`a` the smallest :math:`q` with

    .. math:: \sum_{i:\, v_i \le q} w_i \ge \text{level} \Bigl(\sum_i w_i + a\Bigr)

    which is infinite where all values together do not reach that.

    Parameters
    ----------
    values : array of shape (n,)
        In ascending order.
    weights : array of shape (n,)
        Not negative.
    atoms : array of shape (k,)
        Weights of the atom, in the units of `weights`; they may be infinite.
    level : float
        Between 0 and 1.

    Returns
    -------
    array of shape (k,)

    Examples
    --------
    >>> values, ones = np.array([1.0, 2.0, 3.0]), np.ones(3)
    >>> quantiles_below_infinity(values, ones, np.array([0.0, 1.0, 9.0]), 0.7)
    array([ 3.,  3., inf])
    """
    below = np.cumsum(weights)
    needed = level * (below[-1] + np.asarray(atoms, dtype=float))
    # Weights that should add up to what is needed may miss it by rounding.
    place = np.searchsorted(below, needed * (1 - 1e-12), side="left")
    return np.concatenate([values, [np.inf]])[place]
