"""Weighted conformal prediction intervals and sets."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterpoise.data.labels_and_weights import as_weights
from counterpoise.data.parameters import check_number
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, finite_array, quantiles_below_infinity


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""How far off a model was at rows that it was not fitted to.

    With scores :math:`r_i` of labeled source rows and the density ratio
    :math:`w(x_i)` of target and source there, a target row :math:`x` gets the
    `level` quantile of

    .. math:: \sum_i p_i \delta_{r_i} + p \, \delta_\infty, \qquad
        p_i = \frac{w(x_i)}{\sum_l w(x_l) + w(x)}, \quad
        p = \frac{w(x)}{\sum_l w(x_l) + w(x)},

    and its label's score is no larger with a chance of at least `level`.

    Attributes
    ----------
    scores : array of shape (n,)
        In ascending order.
    weights : array of shape (n,)
        The density ratio at the rows that they belong to, in the same order.

    Notes
    -----
    The promise is on the average over target rows and calibration rows, and needs the
    true ratio and an unchanged p(y | x); with an estimated ratio it holds as nearly as
    the ratio does. Where the weight of a row alone exceeds what the calibration rows
    can outweigh, its radius is infinite: nothing is known there. Equal weights make it
    ordinary split conformal prediction.

    References
    ----------
    R. Tibshirani, R. Foygel Barber, E. Candes and A. Ramdas, 2019.

    Examples
    --------
    >>> calibration = Calibration.of([0.3, 0.1, 0.2], [1.0, 1.0, 1.0])
    >>> calibration.radius([1.0, 5.0], level=0.5)
    array([0.2, inf])
    """

    scores: Array = field(repr=False)
    weights: Array = field(repr=False)

    @classmethod
    def of(cls, scores: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Return the calibration by scores in any order.

        Parameters
        ----------
        scores : array of shape (n,)
            Large where the model is far off; `absolute_scores` or `adaptive_scores`.
        weights : array of shape (n,)
            The density ratio at the same rows. None: nothing is shifted.
        """
        scores = finite_array("scores", scores, 1)
        weights = as_weights(weights, scores.size, name="weights", of="scores")
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], weights[order])

    def radius(self, test_weight: ArrayLike, level: float = 0.9) -> Array:
        """Return how large the score of each row's label can be, infinite or not.

        Parameters
        ----------
        test_weight : number or array of shape (k,)
            The density ratio at the rows to predict, on the scale of `weights`.
        level : float
            The share of labels to be held.

        Returns
        -------
        array of shape (k,)
        """
        check_number("level", level, low=0.0, high=1.0, closed="neither")
        atoms = np.atleast_1d(np.asarray(test_weight, dtype=float))
        if not (np.isfinite(atoms) & (atoms >= 0)).all():
            raise InvalidInputError("test_weight must be finite and not negative")
        return quantiles_below_infinity(self.scores, self.weights, atoms, level)


def absolute_scores(y: ArrayLike, predicted: ArrayLike) -> Array:
    """Return :math:`|y - f(x)|`; of several outputs the largest.

    Examples
    --------
    >>> absolute_scores([1.0, 2.0], [1.5, 0.0])
    array([0.5, 2. ])
    """
    away = np.abs(np.asarray(y, dtype=float) - np.asarray(predicted, dtype=float))
    return away if away.ndim == 1 else away.max(axis=1)


def intervals_of(predicted: ArrayLike, radius: Array) -> Array:
    """Return the lower and the upper end of every row's interval, infinite or not.

    Returns
    -------
    array of shape (k, 2), or (k, n_outputs, 2)

    Examples
    --------
    >>> intervals_of([1.0, 2.0], np.array([0.5, np.inf]))
    array([[ 0.5,  1.5],
           [-inf,  inf]])
    """
    predicted = np.asarray(predicted, dtype=float)
    reach = radius if predicted.ndim == 1 else radius[:, None]
    return np.stack([predicted - reach, predicted + reach], axis=-1)


def adaptive_scores(probabilities: ArrayLike, labels: ArrayLike) -> Array:
    r"""Return the probability of all classes more probable than the label.

    .. math:: r(x, y) = \sum_k p_k(x) \, [p_k(x) > p_y(x)]

    so that a set of all classes with a score up to a bound goes from the most probable
    class down, as far as needed to reach the bound and one class further. Nothing is
    drawn by chance.

    Parameters
    ----------
    probabilities : array of shape (n, n_classes)
    labels : array of shape (n,)
        The column of each row's label; -1 for a class that the model does not know,
        which has the score 2, beyond that of every class.

    Notes
    -----
    Romano, Sesia and Candes count the label's own probability too, or a share of it
    drawn by chance. Counted in full it makes the less probable of two classes score
    one, whatever the row, and all sets full as soon as the model is wrong more often
    than the level allows.

    References
    ----------
    Y. Romano, M. Sesia and E. Candes, 2020.

    Examples
    --------
    >>> adaptive_scores([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1]], [0, 1])
    array([0. , 0.7])
    """
    scores = class_scores(probabilities)
    labels = np.asarray(labels)
    own = np.take_along_axis(scores, np.maximum(labels, 0)[:, None], axis=1)[:, 0]
    return np.where(labels < 0, 2.0, own)


def class_scores(probabilities: ArrayLike) -> Array:
    """Return the score that each class would have as the label."""
    p = np.asarray(probabilities, dtype=float)
    order = np.argsort(-p, axis=1, kind="stable")
    descending = np.take_along_axis(p, order, axis=1)
    before = np.zeros_like(p)
    before[:, 1:] = np.cumsum(descending, axis=1)[:, :-1]
    # Of classes that are equally probable each has the score of the first.
    for k in range(1, p.shape[1]):
        tied = descending[:, k] == descending[:, k - 1]
        before[tied, k] = before[tied, k - 1]
    scores = np.empty_like(p)
    np.put_along_axis(scores, order, before, axis=1)
    return scores


def sets_of(probabilities: ArrayLike, radius: Array) -> NDArray[np.bool_]:
    """Return which classes belong to every row's set; all where the radius is infinite.

    The most probable class has the score zero and always belongs.

    Returns
    -------
    boolean array of shape (k, n_classes)

    Examples
    --------
    >>> sets_of([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1]], np.array([0.8, np.inf]))
    array([[ True,  True, False],
           [ True,  True,  True]])
    """
    held: NDArray[np.bool_] = class_scores(probabilities) <= radius[:, None]
    return held


def interval_sizes(
    intervals: ArrayLike, labels: ArrayLike, level: float
) -> dict[str, Any]:
    """Return how wide intervals are, beside the spread of labels without a model.

    Parameters
    ----------
    intervals : array of shape (k, 2), or (k, n_outputs, 2)
        Of `intervals_of`.
    labels : array of shape (n,), or (n, n_outputs)
        Of source rows. The middle `level` of them has the width `labels_width`, of
        several outputs the widest.
    level : float
        What the intervals promise.

    Returns
    -------
    dict
        `kind` ("intervals"), `level`, `rows`, `infinite` (the share of rows about which
        nothing is known), `mean_width` and `median_width` of the others, None where
        there are none, and `labels_width`.

    Examples
    --------
    >>> sizes = interval_sizes([[0.0, 1.0], [-np.inf, np.inf]], [0.0, 4.0, 8.0], 0.5)
    >>> sizes["infinite"], sizes["mean_width"], sizes["labels_width"]
    (0.5, 1.0, 4.0)
    """
    ends = np.asarray(intervals, dtype=float)
    # The ends of an infinite one have no difference.
    known = np.isfinite(ends).reshape(len(ends), -1).all(axis=1)
    widths = ends[known][..., 1] - ends[known][..., 0]
    low, high = np.quantile(
        np.asarray(labels, dtype=float), [(1 - level) / 2, (1 + level) / 2], axis=0
    )
    return {
        "kind": "intervals",
        "level": level,
        "rows": len(ends),
        "infinite": float(1 - known.mean()),
        "mean_width": float(widths.mean()) if widths.size else None,
        "median_width": float(np.median(widths)) if widths.size else None,
        "labels_width": float(np.max(high - low)),
    }


def set_sizes(sets: ArrayLike, level: float) -> dict[str, Any]:
    """Return how many classes sets have.

    Parameters
    ----------
    sets : boolean array of shape (k, n_classes)
        Of `sets_of`.
    level : float
        What the sets promise.

    Returns
    -------
    dict
        `kind` ("sets"), `level`, `rows`, `classes`, `mean_size`, `single` (the share of
        rows with one class) and `infinite` (with all of them: nothing is known).

    Examples
    --------
    >>> sizes = set_sizes([[True, False, False], [True, True, True]], 0.9)
    >>> sizes["mean_size"], sizes["single"], sizes["infinite"]
    (2.0, 0.5, 0.5)
    """
    held = np.asarray(sets, dtype=bool)
    sizes, classes = held.sum(axis=1), held.shape[1]
    return {
        "kind": "sets",
        "level": level,
        "rows": len(held),
        "classes": classes,
        "mean_size": float(sizes.mean()),
        "single": float((sizes == 1).mean()),
        "infinite": float((sizes == classes).mean()),
    }
