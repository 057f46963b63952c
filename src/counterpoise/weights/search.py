"""Choosing by held-out rows of both samples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.two_samples import TwoSamples

N_FOLDS = 5
# The logarithm of a weight that underflows is taken here.
SMALLEST = 1e-300


def two_sided_score(
    weights_target: Array,
    weights_source: Array,
    target_share: Array,
    source_share: Array,
) -> float:
    r"""Return :math:`\mathrm{mean}_j \log w(t_j) - \log \mathrm{mean}_i w(x_i)`.

    Both means are over rows that were not fitted to. Holding out target rows alone, as
    the textbook likelihood score does, lets an exact solver win with ever narrower
    kernels, because a centre with few source rows near costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> two_sided_score(np.ones(3), np.ones(2), np.full(3, 1 / 3), np.full(2, 1 / 2))
    0.0
    """
    logs = np.log(np.maximum(weights_target, SMALLEST))
    mean = max(float(source_share @ weights_source), SMALLEST)
    return float(target_share @ logs) - float(np.log(mean))


def folds(n: int, n_folds: int, seed: int) -> Indices:
    """Return the fold of each of n rows, folds as equal as possible, by chance."""
    return np.random.default_rng(seed).permutation(n) % n_folds


def out_of_fold(
    refit: Callable[[TwoSamples], Any],
    samples: TwoSamples,
    source: Any,
    source_share: Array,
    seed: int,
) -> float:
    """Return the two-sided score with every target row left out of its own fit.

    `source` are held-out source rows; the fits use the source of `samples`.
    """
    m = samples.target.shape[0]
    n_folds = min(N_FOLDS, m)
    if n_folds < 2:
        raise ValueError("one target row cannot be scored out of fold: give X_target")
    fold = folds(m, n_folds, seed)
    everything = np.arange(samples.source.shape[0])
    total = 0.0
    for k in range(n_folds):
        fitted = refit(samples.take(everything, fold != k))
        share = samples.target_share[fold == k]
        part = two_sided_score(
            fitted.weigh(samples.target[fold == k]),
            fitted.weigh(source),
            share / share.sum(),
            source_share,
        )
        total += float(share.sum()) * part
    return total
