"""The artificial domains of the literature on discrepancy."""

import numpy as np

from counterpoise.datasets.make.normals import log_mixture, log_normals, ratio_of
from counterpoise.datasets.parameters import Seed, check_count, check_share, generator
from counterpoise.datasets.shift import Shift
from counterpoise.numerics.arrays import Array


def make_mixture_shift(
    d: int = 200,
    n: int = 100,
    m: int = 400,
    *,
    share: float = 0.2,
    random_state: Seed = None,
) -> Shift:
    r"""Regression whose target is one Gaussian of the many that make the source.

    .. math::

        p_{\text{target}} = N(\mu_0, I), \quad
        p_{\text{source}} = \text{share} \cdot N(\mu_0, I)
        + \frac{1 - \text{share}}{d} \sum_{k=1}^{d} N(\mu_k, I), \quad
        y = \sum_j |x_j|,

    with means :math:`\mu_0, \dots, \mu_d` uniform in the cube :math:`[-1, 1]^d`, drawn
    anew for every `random_state`. The labels have no noise.

    Parameters
    ----------
    d : int
        Number of columns, and of Gaussians beside the target's.
    n : int
        Number of source rows.
    m : int
        Number of target rows.
    share : float
        Probability that a source row is drawn from the target.
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        Its ratio is the exact ratio of the two densities given the means, of
        expectation one over the source, and at most 1 / `share`. In high dimension it
        is nearly 1 / `share` at the rows that came from the target and nearly zero at
        the others, in very high dimension zero to the last bit. With `share` zero, a
        value beyond the largest float is that float.

    References
    ----------
    D. Alvarez Melis, 2013, for these domains, in a thesis on discrepancy.

    Examples
    --------
    >>> from counterpoise.datasets import make_mixture_shift
    >>> shift = make_mixture_shift(random_state=0)
    >>> sorted(set(shift.ratio.round(6).tolist()))
    [0.0, 5.0]
    """
    check_count("d", d)
    check_count("n", n)
    check_count("m", m)
    check_share("share", share)
    rng = generator(random_state)
    mean = rng.uniform(-1, 1, d)
    others = rng.uniform(-1, 1, (d, d))
    X_target = mean + rng.standard_normal((m, d))
    from_target = rng.random(n) < share
    centers = others[rng.integers(0, d, n)]
    centers[from_target] = mean
    X = centers + rng.standard_normal((n, d))
    means = np.vstack([mean, others])
    return Shift(
        X=X,
        y=np.abs(X).sum(axis=1),
        X_target=X_target,
        y_target=np.abs(X_target).sum(axis=1),
        ratio=_ratio(X, means, share),
        ratio_target=_ratio(X_target, means, share),
    )


def _ratio(X: Array, means: Array, share: float) -> Array:
    """Ratio of the first Gaussian to the mixture of them all."""
    logs = log_normals(X, means)
    d = len(means) - 1
    source = log_mixture(logs, [share] + d * [(1 - share) / d])
    return ratio_of(logs[:, 0], source)
