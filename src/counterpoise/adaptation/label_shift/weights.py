"""Weights by class, for a target that has the classes in other shares."""

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterpoise.adaptation.label_shift.class_shares import (
    ClassShares,
    class_shares,
)
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.validation import as_classes


class ClassShareWeights(BaseEstimator):
    r"""The ratio of class shares, where those have moved and p(x given y) has not.

    A source row of class k weighs :math:`q_k / s_k`, with the source's shares s and the
    target's q by EM (`class_shares`). That is the ratio of both samples' laws of row
    and label; of rows alone the ratio is :math:`\sum_k q_k p(k \mid x) / s_k`, which is
    what `weigh` gives, for target rows too. For classes what `TargetShiftWeights` is
    for numbers.

    Parameters
    ----------
    random_state : int
        Seed of folds and subsamples.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Of mean one, by label.
    classes_, class_prior_, class_weight_ : array of shape (K,)
        The classes, their estimated shares in the target, what a row of each weighs.
    shares_ : ClassShares
    solution_ : Solution
        Of EM, with its certificate.
    effective_sample_size_ : float
    uncovered_ : None
        It cannot tell which target rows lie far from the source's.
    """

    # Of row and label together: weighted means over labelled rows are the target's.
    weights_are_a_ratio = True
    needs_labels = False
    uncovered_ = None

    def __init__(self, *, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, X_target: Any, sample_weight: Any = None) -> Self:
        """Estimate the shares and weigh the source rows by their classes.

        Parameters
        ----------
        X, X_target : table of shape (n, d), (m, d)
        y : array of shape (n,)
            Classes of the source rows.
        sample_weight : array of shape (n,)
            What the source rows count.
        """
        samples = SamplesAsRead.read(X, X_target, sample_weight)
        counts = samples.source_weight
        labels = as_classes(y, counts.size)
        found = class_shares(samples, labels, counts, self.random_state)
        return self.fit_shares(found, labels, counts)

    def fit_shares(
        self, found: ClassShares, labels: NDArray[Any], counts: Array
    ) -> Self:
        """Weigh the source rows by shares that were found."""
        self.shares_ = found
        self.classes_ = found.classes
        self.class_prior_ = found.em.shares
        self.class_weight_ = found.em.shares / found.source_shares
        self.solution_ = found.em.solution
        ratio = self.weights_of(labels)
        self.weights_ = ratio * (counts.sum() / (counts @ ratio))
        self.effective_sample_size_ = effective_sample_size(self.weights_ * counts)
        return self

    def weights_of(self, labels: NDArray[Any]) -> Array:
        """Return what rows of these classes weigh, before the mean of one.

        A class that was drawn into no subsample weighs as in the source.
        """
        place = np.searchsorted(self.classes_, labels)
        known = np.minimum(place, self.classes_.size - 1)
        same = self.classes_[known] == labels
        return np.where(same, self.class_weight_[known], 1.0)

    def weigh(self, X: Any) -> Array:
        """Return the density ratio of rows without labels.

        Parameters
        ----------
        X : matrix of shape (k, d)
            As numbers, encoded as the samples of the fit were.
        """
        check_is_fitted(self, "weights_")
        weights: Array = self.shares_.probabilities(X) @ self.class_weight_
        return weights

    def without_rows(self) -> "ClassShareWeights":
        """Return a copy that holds nothing of single rows."""
        lean = copy(self)
        none = np.zeros((0, self.classes_.size))
        nowhere = np.zeros(0, dtype=np.intp)
        lean.shares_ = replace(
            self.shares_,
            em=replace(self.shares_.em, posterior=none),
            source=none,
            target=none,
            rows=nowhere,
            rows_target=nowhere,
        )
        return lean
