"""Whether columns of numbers vary more in one sample than in the other, by ranks."""

import numpy as np
from numpy.typing import NDArray

from counterpoise.diagnosis.distances import means_p_value
from counterpoise.numerics.arrays import Array
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.two_samples import TwoSamples

# Columns with fewer different values than this have no spread beside their shares.
_FEWEST_VALUES = 3


def spread_p_values(samples: TwoSamples) -> Array:
    r"""Return for every column the chance of ranks as unevenly spread (Mood).

    With r the rank of a row among both samples, between 0 and 1 and by shares, equal
    values in the middle of theirs, the means of :math:`(r - 1/2)^2` over either sample
    are compared by the normal distribution. One where a column has fewer than three
    different values. A scale of 1.25 shows where a Kolmogorov-Smirnov distance needs
    four times the rows.

    Parameters
    ----------
    samples : TwoSamples
        Dense.

    References
    ----------
    A. Mood, 1954.
    """
    n = samples.source_share.size
    scores, many = rank_scores(samples)
    p, q = samples.source_share, samples.target_share
    mean, mean_target = p @ scores[:n], q @ scores[n:]
    found = means_p_value(
        mean_target - mean,
        p @ (scores[:n] - mean) ** 2,
        q @ (scores[n:] - mean_target) ** 2,
        effective_sample_size(p),
        effective_sample_size(q),
    )
    return np.where(many, found, 1.0)


def rank_scores(samples: TwoSamples) -> tuple[Array, NDArray[np.bool_]]:
    """Return squared ranks from the middle, and which columns have values enough.

    Of the rows of the source and then of the target, a column each.
    """
    X = np.vstack([samples.source, samples.target])
    share = np.concatenate([samples.source_share, samples.target_share]) / 2
    scores = np.empty_like(X)
    many = np.empty(X.shape[1], dtype=bool)
    for j in range(X.shape[1]):
        values, place = np.unique(X[:, j], return_inverse=True)
        mass = np.bincount(place, share)
        scores[:, j] = ((np.cumsum(mass) - mass / 2 - 0.5) ** 2)[place]
        many[j] = values.size >= _FEWEST_VALUES
    return scores, many
