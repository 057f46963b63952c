"""How machines of two classes decide among more."""

from itertools import combinations

import numpy as np

from counterpoise.numerics.arrays import Array, Indices


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of classes in scikit-learn's order."""
    return list(combinations(range(n_classes), 2))


def votes(pairwise: Array, n_classes: int) -> Array:
    """Return how many duels each class wins; a positive value is for the first."""
    out = np.zeros((len(pairwise), n_classes))
    for k, (i, j) in enumerate(pairs_of(n_classes)):
        first = pairwise[:, k] > 0.0
        out[first, i] += 1.0
        out[~first, j] += 1.0
    return out


def winners(pairwise: Array, n_classes: int) -> Indices:
    """Return the class with most votes, the first of equal ones."""
    if n_classes == 2:
        return (pairwise[:, 0] >= 0.0).astype(np.intp)
    return np.argmax(votes(pairwise, n_classes), axis=1)


def confidences(pairwise: Array, n_classes: int) -> Array:
    """Return votes, ties among them broken by the summed values, a class a column."""
    total = np.zeros((len(pairwise), n_classes))
    count = np.zeros((len(pairwise), n_classes))
    for k, (i, j) in enumerate(pairs_of(n_classes)):
        value = pairwise[:, k]
        total[:, i] += value
        total[:, j] -= value
        count[value >= 0.0, i] += 1.0
        count[value < 0.0, j] += 1.0
    out: Array = count + total / (3.0 * (np.abs(total) + 1.0))
    return out
