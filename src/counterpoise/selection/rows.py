"""Which rows to label when k labels can be paid for."""

from typing import Any

import numpy as np

from counterpoise.convex.assignment.swaps import greedy_order, improved_set
from counterpoise.numerics.arrays import Indices
from counterpoise.selection.prototypes import candidate_costs
from counterpoise.selection.reading import Dissimilarity, as_word_numbers
from counterpoise.validation import InvalidInput, check_integer


def select_rows(
    X: Any,
    k: int,
    *,
    labelled: Any = None,
    dissimilarity: Dissimilarity = "sqeuclidean",
    sample_weight: Any = None,
) -> Indices:
    r"""Return the k rows that stand best for all, beside those with a label.

    .. math:: \min_{|S| = k} \sum_i p_i \min_{j \in S \cup S_0} R_{ij}

    with :math:`S_0` the labelled rows, by exchanges from a greedy choice until none
    gains; no model is asked (`which_rows_to_label` asks one). The order is that in
    which each row lowers the cost most, so that the first of them are worth most.

    Parameters
    ----------
    X : array-like or frame of shape (n, d), or (n, n) if precomputed
    k : int
        At most the number of rows of positive weight without a label.
    labelled : array of int, optional
        Rows that already stand for their neighbours; none of them is returned.
    dissimilarity : str or callable
        As of `SubsetSelector`.
    sample_weight : array of shape (n,), optional
        What the rows count; rows of weight zero are not chosen.

    Returns
    -------
    array of shape (k,)
        Rows of X, the best first.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]])
    >>> select_rows(X, 2, labelled=[1])
    array([4, 5])
    """
    k = check_integer("k", k, low=1)
    costs, numbers = candidate_costs(X, dissimilarity, None, sample_weight)
    given = as_word_numbers(labelled, len(costs), "labelled")
    given_costs = isinstance(dissimilarity, str) and dissimilarity == "precomputed"
    if given_costs and costs.shape[0] != costs.shape[1]:
        raise InvalidInput(
            f"X must be square where dissimilarities are given, got {costs.shape}"
        )
    if np.setdiff1d(given, numbers).size:
        row = int(np.setdiff1d(given, numbers)[0])
        raise InvalidInput(f"labelled has row {row}, whose sample_weight is zero")
    there = np.searchsorted(numbers, given)
    most = len(numbers) - len(there)
    if k > most:
        raise InvalidInput(
            f"k must be at most {most}, the number of rows without a label, got {k}"
        )
    first = greedy_order(costs, there, k)
    chosen = improved_set(
        costs,
        np.concatenate([there, first]),
        np.zeros(costs.shape[1]),
        fixed=there,
        is_sized=True,
    )
    ordered = greedy_order(costs, there, k, among=np.setdiff1d(chosen, there))
    return numbers[ordered]
