"""How samples as read reach a weighter."""

from typing import Any

from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.weights.base import WeightEstimator


def fit_weighter(
    weighter: Any, samples: SamplesAsRead, y: Any = None, counts: Array | None = None
) -> Any:
    """Return the weighter, fitted: ours behind its door, others at theirs.

    Parameters
    ----------
    weighter : estimator with `weigh`
    samples : SamplesAsRead
    y : array of shape (n,)
        Labels of the source rows, for a weighter that looks at them.
    counts : array of shape (n,) or None
        The user's weights, for a weighter of somebody else's.
    """
    if type(weighter).fit is WeightEstimator.fit:
        return weighter._fit_samples(samples)
    given = samples.given if samples.encoder is None else None
    X, X_target = given or (samples.source, samples.target)
    return weighter.fit(X, y, X_target=X_target, sample_weight=counts)
