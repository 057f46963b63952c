"""Class means seen in units of the spread within classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput, warn_user

# Directions whose spread within classes is below this share of the largest have none.
NO_SPREAD = 1e-10
# Means that are nearer than this share of the furthest pair coincide.
COINCIDE = 1e-12


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Means of classes after whitening by the covariance within classes.

    Attributes
    ----------
    classes : array of shape (c,)
    shares : array of shape (c,)
        Of the rows.
    mean : array of shape (d,)
        Of all rows.
    whitener : array of shape (d, r)
        W with W' S_w W = I, on the directions that have spread.
    means : array of shape (c, r)
        Class means after whitening.
    """

    classes: NDArray[Any]
    shares: Array
    mean: Array
    whitener: Array
    means: Array

    @property
    def pairs(self) -> tuple[Any, Any]:
        """The pairs of classes, each once."""
        return np.triu_indices(len(self.classes), 1)

    @property
    def differences(self) -> Array:
        """Differences of the means of every pair."""
        first, second = self.pairs
        return self.means[first] - self.means[second]

    @property
    def between(self) -> Array:
        """The covariance between classes, after whitening."""
        centered = self.means - self.shares @ self.means
        return (centered.T * self.shares) @ centered

    def span(self) -> Array:
        """Return an orthonormal basis of what the means differ in, largest first."""
        _, values, right = np.linalg.svd(self.differences, full_matrices=False)
        rank = int((values > 1e-9 * max(float(values[0]), 1e-300)).sum())
        return right[:rank].T


def class_means(
    X: Array, y: NDArray[Any], shrinkage: float, who: str, least: int
) -> ClassMeans:
    """Return the class means of a sample, or refuse one that has no spread.

    Parameters
    ----------
    X, y : arrays
        Rows and their classes.
    shrinkage : float
        What is added to the covariance within classes, as a multiple of its mean
        variance.
    who : str
        What warnings call the estimator.
    least : int
        The number of directions that must have spread.
    """
    classes, at = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInput(
            f"y has 1 class, {classes[0]!r}: two are needed to separate them"
        )
    n, d = X.shape
    counts = np.bincount(at)
    means = np.zeros((len(classes), d))
    np.add.at(means, at, X)
    means /= counts[:, None]
    rest = X - means[at]
    within = rest.T @ rest / n
    within.flat[:: d + 1] += shrinkage * float(np.trace(within)) / d
    values, vectors = np.linalg.eigh(within)
    kept = values > NO_SPREAD * max(float(values[-1]), 1e-300)
    if not values[-1] > 0.0 or kept.sum() < least:
        raise InvalidInput(
            f"{who} needs {least} directions in which rows of one class differ, X has "
            f"{int(kept.sum()) if values[-1] > 0.0 else 0}: give more rows, or a "
            "shrinkage"
        )
    if not kept.all():
        warn_user(
            f"{who}: {int((~kept).sum())} of {d} directions have no spread within "
            "classes and are left out; a shrinkage keeps them"
        )
    whitener = vectors[:, kept] / np.sqrt(values[kept])
    center = X.mean(axis=0)
    return ClassMeans(
        classes, counts / n, center, whitener, (means - center) @ whitener
    )


def coinciding(means: ClassMeans, who: str) -> NDArray[np.bool_]:
    """Return which pairs of classes have the same mean, and warn of them by name."""
    squares = (means.differences**2).sum(axis=1)
    same = squares <= COINCIDE * max(float(squares.max()), 1e-300)
    if same.any():
        first, second = (part[same][0] for part in means.pairs)
        warn_user(
            f"{who}: the classes {means.classes[first]!r} and "
            f"{means.classes[second]!r} have the same mean; no subspace separates "
            "them, and the others are separated without regard to them"
        )
    return same
