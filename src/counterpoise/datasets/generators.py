"""Generated data with a known density ratio."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from counterpoise.datasets.loaders import (
    Seed,
    Shift,
    check_count,
    check_finite,
    check_nonnegative,
    check_positive,
    check_share,
    generator,
)
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# Densities of Gaussians and their mixtures, by logarithms.
# -----------------------------------------------------------------------------


_LARGEST_EXPONENT = float(np.log(np.finfo(np.float64).max))


def log_normals(X: Array, means: Array, scale: float = 1.0) -> Array:
    r"""Log densities of Gaussians at the rows of `X`, less the constant of N(0, I).

    .. math::

        \log N(x;\, \mu_k, s^2 I) + \tfrac{d}{2} \log 2 \pi
        = -\frac{|x - \mu_k|^2}{2 s^2} - d \log s

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    means : array of shape (k, d) or (d,)
        One mean a row.
    scale : float
        The standard deviation s of every column.

    Returns
    -------
    array of shape (n, k)
    """
    distances = cdist(X, np.atleast_2d(means))
    # A square beyond the largest float is a density of zero, not a mistake.
    with np.errstate(over="ignore"):
        logs: Array = -((distances / scale) ** 2) / 2 - X.shape[1] * np.log(scale)
    return logs


def log_mixture(logs: Array, shares: ArrayLike) -> Array:
    """Log density of the mixture of the columns of `logs`; shares may be zero."""
    mixed: Array = logsumexp(logs, b=np.asarray(shares, dtype=float), axis=1)
    return mixed


def ratio_of(log_target: Array, log_source: Array) -> Array:
    """Ratio of two densities, at most the largest float instead of infinite."""
    return np.exp(np.minimum(log_target - log_source, _LARGEST_EXPONENT))


def ratio_to_standard(X: Array, mean: Array, scale: float) -> Array:
    """Ratio of N(mean, scale**2 I) to N(0, I) at the rows of `X`."""
    target = log_normals(X, mean, scale)
    return ratio_of(target, log_normals(X, np.zeros_like(mean)))[:, 0]


def diagonal(length: float, d: int) -> Array:
    """Return the vector of `d` equal entries whose signed length is `length`."""
    return np.full(d, length / np.sqrt(d))


# -----------------------------------------------------------------------------
# Gaussian classes, of which the target has only some.
# -----------------------------------------------------------------------------


def make_class_subset(
    n_classes: int = 6,
    n_target_classes: int = 3,
    n: int = 600,
    m: int = 300,
    d: int = 10,
    *,
    separation: float = 4.0,
    random_state: Seed = None,
) -> Shift:
    r"""Classification whose target lacks some of the source's classes.

    With K classes in the source and T of them in the target,

    .. math::

        p_{\text{source}} = \frac{1}{K} \sum_{k=0}^{K-1} N(\mu_k, I), \quad
        p_{\text{target}} = \frac{1}{T} \sum_{k=0}^{T-1} N(\mu_k, I), \quad
        \mu_k \sim N\Bigl(0, \frac{\text{separation}^2}{2 d} I\Bigr),

    where k is the label. The target has the classes 0 to T - 1; the means are drawn
    anew for every `random_state`, so that no class is special.

    Parameters
    ----------
    n_classes : int
        Number K of classes in the source.
    n_target_classes : int
        Number T of classes in the target.
    n : int
        Number of source rows.
    m : int
        Number of target rows.
    d : int
        Number of columns.
    separation : float
        Root mean square distance between the means of two classes.
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        Its ratio is the exact ratio of the two densities of x given the means, of
        expectation one over the source, and at most K / T.

    Notes
    -----
    The classes' frequencies change and the classes themselves do not, so this is target
    shift: where classes overlap, p(y given x) differs between the two. The ratio for a
    mean over pairs (x, y) is therefore that of the labels, K / T where y < T and 0
    elsewhere; the ratio returned is its expectation given x, and is right for functions
    of x alone.

    Examples
    --------
    >>> from counterpoise.datasets import make_class_subset
    >>> shift = make_class_subset(random_state=0)
    >>> set(shift.y.tolist()) - set(shift.y_target.tolist())
    {3, 4, 5}
    """
    check_count("n_classes", n_classes)
    check_count("n_target_classes", n_target_classes)
    if n_target_classes > n_classes:
        raise InvalidInputError(
            f"n_target_classes must be at most n_classes, {n_classes}, "
            f"got {n_target_classes}"
        )
    check_count("n", n)
    check_count("m", m)
    check_count("d", d)
    check_nonnegative("separation", separation)
    rng = generator(random_state)
    means = separation / np.sqrt(2 * d) * rng.standard_normal((n_classes, d))
    y = rng.integers(0, n_classes, n)
    y_target = rng.integers(0, n_target_classes, m)
    X = means[y] + rng.standard_normal((n, d))
    X_target = means[y_target] + rng.standard_normal((m, d))
    return Shift(
        X=X,
        y=y,
        X_target=X_target,
        y_target=y_target,
        ratio=_class_subset_ratio(X, means, n_target_classes),
        ratio_target=_class_subset_ratio(X_target, means, n_target_classes),
    )


def _class_subset_ratio(X: Array, means: Array, n_target_classes: int) -> Array:
    logs = log_normals(X, means)
    classes = np.arange(len(means))
    target = log_mixture(logs, (classes < n_target_classes) / n_target_classes)
    source = log_mixture(logs, np.full(len(means), 1 / len(means)))
    return ratio_of(target, source)


# -----------------------------------------------------------------------------
# Two Gaussians of any dimension, apart by a known length and width.
# -----------------------------------------------------------------------------


_NOISE = 0.1


def make_gaussian_shift(
    d: int = 1,
    n: int = 500,
    m: int = 500,
    *,
    shift: float = 0.5,
    scale: float = 0.9,
    random_state: Seed = None,
) -> Shift:
    r"""Regression in `d` dimensions, source and target Gaussian.

    .. math::

        x_{\text{source}} \sim N(0, I), \quad
        x_{\text{target}} \sim N(\mu, \text{scale}^2 I), \quad
        \mu_j = \text{shift} / \sqrt{d}

    and in both, with :math:`u = \sum_j x_j / \sqrt{d}` the coordinate along the shift,

    .. math:: y = u + u^2 / 2 + N(0, 0.1^2),

    so the mean of y is 1/2 in the source and
    :math:`\text{shift} + (\text{shift}^2 + \text{scale}^2) / 2` in the target, and a
    straight line fitted to the source is not the best one for the target.

    Parameters
    ----------
    d : int
        Number of columns.
    n : int
        Number of source rows.
    m : int
        Number of target rows.
    shift : float
        Length of the vector from the source's mean to the target's, which points
        along the diagonal (against it if negative).
    scale : float
        Standard deviation of every column of the target.
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        Its ratio is the exact ratio of the two densities, of expectation one over the
        source. It is bounded where `scale` < 1, and has a finite variance where
        `scale` < sqrt(2). A value beyond the largest float is that float.

    Examples
    --------
    One column, the target one standard deviation to the right, where y has mean 2:

    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=100_000, shift=1, scale=1, random_state=0)
    >>> round(float((shift.ratio * shift.y).mean()), 1)
    2.0
    """
    check_count("d", d)
    check_count("n", n)
    check_count("m", m)
    check_finite("shift", shift)
    check_positive("scale", scale)
    rng = generator(random_state)
    mean = diagonal(shift, d)
    X = rng.standard_normal((n, d))
    X_target = mean + scale * rng.standard_normal((m, d))
    return Shift(
        X=X,
        y=curved_response(X, rng),
        X_target=X_target,
        y_target=curved_response(X_target, rng),
        ratio=ratio_to_standard(X, mean, scale),
        ratio_target=ratio_to_standard(X_target, mean, scale),
    )


def curved_response(X: Array, rng: np.random.Generator) -> Array:
    """Labels u + u**2 / 2 plus noise of sd 0.1, u the coordinate on the diagonal."""
    u = X @ diagonal(1.0, X.shape[1])
    y: Array = u + u**2 / 2 + _NOISE * rng.standard_normal(len(u))
    return y


# -----------------------------------------------------------------------------
# The artificial domains of the literature on discrepancy.
# -----------------------------------------------------------------------------


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
        ratio=_mixture_ratio(X, means, share),
        ratio_target=_mixture_ratio(X_target, means, share),
    )


def _mixture_ratio(X: Array, means: Array, share: float) -> Array:
    """Ratio of the first Gaussian to the mixture of them all."""
    logs = log_normals(X, means)
    d = len(means) - 1
    source = log_mixture(logs, [share] + d * [(1 - share) / d])
    return ratio_of(logs[:, 0], source)


# -----------------------------------------------------------------------------
# The one-dimensional regression that the literature on density ratios starts from.
# -----------------------------------------------------------------------------


_SOURCE_SCALE = 0.5
_TARGET_SCALE = 0.3


def make_sinc_shift(
    n: int = 500, m: int = 300, *, mean: float = 0.0, random_state: Seed = None
) -> Shift:
    r"""Regression in one dimension, its target narrower than its source.

    .. math::

        x_{\text{source}} \sim N(\text{mean}, 0.5^2), \quad
        x_{\text{target}} \sim N(0, 0.3^2), \quad
        y = -2 x^3 + 3 \frac{\sin \pi x}{\pi x} + 1 + N(0, 0.1^2)

    Parameters
    ----------
    n : int
        Number of source rows.
    m : int
        Number of target rows.
    mean : float
        Mean of the source; at 0 the two differ in width alone, at 0.5 in place too.
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        Its ratio is the exact ratio of the two densities, of expectation one over the
        source, and is bounded.

    Examples
    --------
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(random_state=0)
    >>> bool(shift.ratio.max() <= 0.5 / 0.3)
    True
    """
    check_count("n", n)
    check_count("m", m)
    check_finite("mean", mean)
    rng = generator(random_state)
    X = mean + _SOURCE_SCALE * rng.standard_normal((n, 1))
    X_target = _TARGET_SCALE * rng.standard_normal((m, 1))
    return Shift(
        X=X,
        y=_respond(X, rng),
        X_target=X_target,
        y_target=_respond(X_target, rng),
        ratio=_sinc_ratio(X, mean),
        ratio_target=_sinc_ratio(X_target, mean),
    )


def _sinc_ratio(X: Array, mean: float) -> Array:
    target = log_normals(X, np.zeros(1), _TARGET_SCALE)
    source = log_normals(X, np.full(1, mean), _SOURCE_SCALE)
    return ratio_of(target, source)[:, 0]


def _respond(X: Array, rng: np.random.Generator) -> Array:
    x = X[:, 0]
    noise = _NOISE * rng.standard_normal(len(x))
    y: Array = -2 * x**3 + 3 * np.sinc(x) + 1 + noise
    return y


# -----------------------------------------------------------------------------
# A target of which a known share lies where the source has no rows.
# -----------------------------------------------------------------------------


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
        First coordinate of the cluster's center, in standard deviations of the source.
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
        ratio=_uncovered_cluster_ratio(X, q, mean, center, spread),
        ratio_target=_uncovered_cluster_ratio(X_target, q, mean, center, spread),
        covered=covered,
    )


def _uncovered_cluster_ratio(
    X: Array, q: float, mean: Array, center: Array, spread: float
) -> Array:
    parts = np.hstack([log_normals(X, mean), log_normals(X, center, spread)])
    source = log_normals(X, np.zeros_like(mean))[:, 0]
    return ratio_of(log_mixture(parts, [1 - q, q]), source)
