"""A target of which a known share lies where the source has no rows."""

import numpy as np

from counterpoise.datasets.make.gaussian import curved_response
from counterpoise.datasets.make.normals import (
    diagonal,
    log_mixture,
    log_normals,
    ratio_of,
)
from counterpoise.datasets.parameters import (
    Seed,
    check_count,
    check_finite,
    check_positive,
    check_share,
    generator,
)
from counterpoise.datasets.shift import Shift
from counterpoise.numerics.arrays import Array


def make_uncovered_cluster(
    q: float = 0.15,
    n: int = 500,
    m: int = 500,
    d: int = 5,
    *,
    shift: float = 0.5,
    distance: float = 8.0,
    spread: float = 0.5,
    random_state: Seed = None,
) -> Shift:
    r"""Regression with a share `q` of the target in a cluster that the source misses.

    .. math::

        p_{\text{source}} = N(0, I), \quad
        p_{\text{target}} = (1 - q)\, N(\mu, I)
        + q\, N(\text{distance} \cdot e_1, \text{spread}^2 I), \quad
        \mu_j = \text{shift} / \sqrt{d},

    and in both, with :math:`u = \sum_j x_j / \sqrt{d}`,

    .. math:: y = u + u^2 / 2 + N(0, 0.1^2).

    Each target row is in the cluster with probability `q`, independently.

    Parameters
    ----------
    q : float
        Probability that a target row is in the cluster.
    n : int
        Number of source rows.
    m : int
        Number of target rows.
    d : int
        Number of columns.
    shift : float
        Length of the vector from the source's mean to that of the covered part of
        the target, which points along the diagonal; at 0 the covered part is
        distributed as the source.
    distance : float
        First coordinate of the cluster's centre, in standard deviations of the source.
    spread : float
        Standard deviation of every column of the cluster.
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        Its ratio is the exact ratio of the two densities. Its expectation over the
        source is one, but all of the cluster's part of it comes from rows that a sample
        does not hold: where the cluster is far, the mean over the source rows is near
        1 - `q`. At the cluster's own rows it is astronomically large; a value beyond
        the largest float is that float. The record's `covered` is False at the rows
        drawn from the cluster.

    Examples
    --------
    >>> from counterpoise.datasets import make_uncovered_cluster
    >>> shift = make_uncovered_cluster(random_state=0)
    >>> bool(shift.X_target[~shift.covered, 0].min() > shift.X[:, 0].max())
    True
    """
    check_share("q", q)
    check_count("n", n)
    check_count("m", m)
    check_count("d", d)
    check_finite("shift", shift)
    check_finite("distance", distance)
    check_positive("spread", spread)
    rng = generator(random_state)
    mean = diagonal(shift, d)
    center = np.zeros(d)
    center[0] = distance
    X = rng.standard_normal((n, d))
    X_target = mean + rng.standard_normal((m, d))
    covered = rng.random(m) >= q
    n_cluster = int((~covered).sum())
    X_target[~covered] = center + spread * rng.standard_normal((n_cluster, d))
    return Shift(
        X=X,
        y=curved_response(X, rng),
        X_target=X_target,
        y_target=curved_response(X_target, rng),
        ratio=_ratio(X, q, mean, center, spread),
        ratio_target=_ratio(X_target, q, mean, center, spread),
        covered=covered,
    )


def _ratio(X: Array, q: float, mean: Array, center: Array, spread: float) -> Array:
    parts = np.hstack([log_normals(X, mean), log_normals(X, center, spread)])
    source = log_normals(X, np.zeros_like(mean))[:, 0]
    return ratio_of(log_mixture(parts, [1 - q, q]), source)
