"""Gaussian classes, of which the target has only some."""

import numpy as np

from counterpoise.datasets.make.normals import log_mixture, log_normals, ratio_of
from counterpoise.datasets.parameters import (
    Seed,
    check_count,
    check_nonnegative,
    generator,
)
from counterpoise.datasets.shift import Shift
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.refusals import InvalidInput


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
        raise InvalidInput(
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
        ratio=_ratio(X, means, n_target_classes),
        ratio_target=_ratio(X_target, means, n_target_classes),
    )


def _ratio(X: Array, means: Array, n_target_classes: int) -> Array:
    logs = log_normals(X, means)
    classes = np.arange(len(means))
    target = log_mixture(logs, (classes < n_target_classes) / n_target_classes)
    source = log_mixture(logs, np.full(len(means), 1 / len(means)))
    return ratio_of(target, source)
