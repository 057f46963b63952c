"""What a selector is given, as arrays: dissimilarities, a graph, words by number."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.engine import current_budget
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    as_matrix,
    as_weights,
    check_same_columns,
    refusals_of_estimators,
    warn_user,
)
from counterpoise.validation.tables import as_column

# Arrays of items by words that a fit holds at once.
ARRAYS_HELD = 8
# Entries that mirror each other may differ by this share of the largest.
SYMMETRIC = 1e-10

Dissimilarity = str | Callable[[Array, Array], float]


def dissimilarities(X: Array, words: Array, dissimilarity: Dissimilarity) -> Array:
    """Return how unlike items and words are, of shape (n, l)."""
    from sklearn.metrics import pairwise_distances

    check_size(len(X), len(words))
    # Another array, or scikit-learn takes a function to be symmetric.
    words = words.copy()
    if callable(dissimilarity):
        R = np.asarray(pairwise_distances(X, words, metric=dissimilarity), dtype=float)
    else:
        try:
            with refusals_of_estimators():
                R = np.asarray(pairwise_distances(X, words, metric=dissimilarity))
        except (InvalidInput, InvalidType) as error:
            raise type(error)(f"dissimilarity={dissimilarity!r}: {error}") from error
    return checked_dissimilarities(R, "the dissimilarity")


def checked_dissimilarities(R: Array, name: str) -> Array:
    """Return dissimilarities, finite; negative ones with a warning."""
    R = np.ascontiguousarray(R, dtype=float)
    wrong = ~np.isfinite(R)
    if wrong.any():
        i, j = (int(k[0]) for k in np.nonzero(wrong))
        raise InvalidInput(
            f"{name} of item {i} and word {j} is {R[i, j]}: it must be a finite number"
        )
    negative = R < 0.0
    if negative.any():
        i, j = (int(k[0]) for k in np.nonzero(negative))
        warn_user(
            f"{name} of item {i} and word {j} is {R[i, j]:g}, below zero: are these "
            "similarities? The least dissimilar word is taken as the best"
        )
    return R


def check_size(n: int, words: int) -> None:
    """Refuse more items by words than the memory budget holds."""
    needed = 8 * ARRAYS_HELD * n * words
    if needed > current_budget():
        raise InvalidInput(
            f"{n} items by {words} words take {needed / 2**30:.1f} GiB, above the "
            f"budget of {current_budget() / 2**30:.1f} GiB: give fewer candidates as "
            "`words`, or raise counterpoise.engine.memory_budget"
        )


def as_laplacian(graph: Any, n: int) -> Any:
    """Return the Laplacian diag(W 1) - W of a graph's weights W, or None.

    Parameters
    ----------
    graph : matrix of shape (n, n), dense or sparse, or None
        Symmetric, not negative, zero on the diagonal.
    n : int
        The number of items.
    """
    if graph is None:
        return None
    W = sparse.csr_array(as_matrix(graph, name="graph", accept_sparse=True))
    if W.shape != (n, n):
        raise InvalidInput(f"graph must have shape ({n}, {n}), got {W.shape}")
    W.eliminate_zeros()
    entries = W.tocoo()
    beside = entries.row != entries.col
    negative = (entries.data < 0.0) & beside
    if negative.any():
        k = int(np.flatnonzero(negative)[0])
        i, j = int(entries.row[k]), int(entries.col[k])
        is_laplacian = abs(W.sum(axis=1)).max() <= 1e-8 * abs(entries.data).max()
        told = ": this looks like a Laplacian, give the weights" if is_laplacian else ""
        raise InvalidInput(
            "graph must be symmetric with non-negative weights, got "
            f"{entries.data[k]:g} in row {i}, column {j}{told}"
        )
    if not beside.all():
        k = int(np.flatnonzero(~beside)[0])
        raise InvalidInput(
            f"graph must have a zero diagonal, got {entries.data[k]:g} in row "
            f"{int(entries.row[k])}"
        )
    apart = (W - W.T).tocoo()
    largest = float(entries.data.max()) if entries.nnz else 0.0
    if apart.nnz and abs(apart.data).max() > SYMMETRIC * largest:
        k = int(abs(apart.data).argmax())
        i, j = int(apart.row[k]), int(apart.col[k])
        raise InvalidInput(
            "graph must be symmetric with non-negative weights, got "
            f"{W[i, j]:g} in row {i}, column {j} and {W[j, i]:g} in row {j}, column {i}"
        )
    W = 0.5 * (W + W.T)
    return sparse.csc_array(sparse.diags_array(W.sum(axis=1)) - W)


def as_shares(weights: Array) -> Array:
    """Return weights divided by their sum, which may be beyond the largest number."""
    weights = weights / weights.max()
    return weights / weights.sum()


def as_word_numbers(given: Any, n_words: int, name: str) -> Indices:
    """Return numbers of words, each once, ascending; none where None is given."""
    if given is None:
        return np.zeros(0, dtype=np.intp)
    values = np.atleast_1d(np.asarray(given))
    if values.size == 0:
        return np.zeros(0, dtype=np.intp)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise InvalidType(
            f"{name} must be indices of words, got an array of {values.dtype} and "
            f"shape {values.shape}"
        )
    outside = (values < 0) | (values >= n_words)
    if outside.any():
        raise InvalidInput(
            f"{name} must be indices from 0 to {n_words - 1}, got {values[outside][0]}"
        )
    return np.unique(values).astype(np.intp)


def as_word_costs(given: Any, n_words: int) -> Array:
    """Return what words cost, not negative; ones where None is given."""
    if given is None:
        return np.ones(n_words)
    if np.ndim(given) == 0:
        raise InvalidType(f"word_costs must have one entry a word, got {given!r}")
    values = as_column(given, name="word_costs")
    if values.shape == (n_words,) and not values.any():
        return values
    return as_weights(values, n_words, name="word_costs", of="the list of words")


def as_words(words: Any, X: Any, items: Array, name: str = "words") -> Array:
    """Return the candidates as a matrix with the columns of the items."""
    read = as_matrix(words, name=name)
    check_same_columns(X, words, name=name)
    if read.shape[1] != items.shape[1]:
        raise InvalidInput(
            f"{name} has {read.shape[1]} columns, X has {items.shape[1]}"
        )
    return read


def twins(R: Array, penalties: Array) -> NDArray[np.intp]:
    """Return for every word the one that stands for it: the cheapest of equal columns.

    Without a graph, moving shares from a word to one of equal dissimilarities and no
    larger penalty never costs anything. The first of equally cheap ones stands.
    """
    _, group = np.unique(R, axis=1, return_inverse=True)
    group = group.ravel()
    order = np.lexsort((np.arange(len(group)), penalties, group))
    first = np.ones(len(order), dtype=bool)
    first[1:] = group[order][1:] != group[order][:-1]
    stands = np.empty(group.max() + 1, dtype=np.intp)
    stands[group[order][first]] = order[first]
    return stands[group]
