"""Both samples in one table, for a classifier to tell them apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.classifiers import out_of_fold_log_odds
from counterpoise.samples.coverage.digits import off_grids
from counterpoise.samples.folds import (
    FEWEST_DIFFERENT,
    N_FOLDS,
    content,
    dealt_by_sample,
)
from counterpoise.samples.two_samples import TwoSamples


@dataclass(frozen=True, eq=False)
class Pool:
    """Both samples in one table, with folds that depend on what rows hold.

    Attributes
    ----------
    X : matrix
        Rows of both samples; equal rows of a sample are one row, unless there are fewer
        than fifty different ones, or fewer than five in a sample.
    labels, weights : array
        1 for target rows; how many rows a row stands for.
    fold : array of int
    n_folds : int
    place : array of int
        For every row of the source, then of the target, the row of `X` it is.
    group : array of int
        For every row of `X`, which rows are equal to it, in either sample.
    """

    X: Any
    labels: Array
    weights: Array
    fold: Indices
    n_folds: int
    place: Indices
    group: Indices

    @classmethod
    def of(cls, samples: TwoSamples, seed: int, units: Indices | None = None) -> "Pool":
        """Return the table of two samples in canonical order.

        A classifier is to tell what rows hold, not to how many digits (`off_grids`).
        Rows are equal as they came: what is put apart for the classifier still shares
        a fold.

        `units`: numbers of what rows belong to, the source's first. Rows of a unit are
        then held out together, and equal rows stay as many as they are.
        """
        as_they_came = _stacked(samples)
        samples = off_grids(samples)
        X = _stacked(samples)
        sizes = samples.source.shape[0], samples.target.shape[0]
        labels = np.repeat([0, 1], sizes)
        weights = np.concatenate(
            [
                samples.source_share * samples.source_mass,
                samples.target_share * samples.target_mass,
            ]
        )
        if units is not None:
            each = np.arange(labels.size)
            fold, n_folds = dealt_by_sample(units, labels, seed)
            return cls(X, labels, _whole(weights), fold, n_folds, each, each)
        # An order by content, equal rows side by side, source before target.
        number = content(as_they_came)
        order = np.lexsort((weights, labels, number))
        merged = 2 * number[order] + labels[order]
        first = np.flatnonzero(np.diff(merged, prepend=-1))
        of_target = int(np.count_nonzero(merged[first] % 2))
        copies = (
            first.size < FEWEST_DIFFERENT
            or min(of_target, first.size - of_target) < N_FOLDS
        )
        if copies:
            first = np.arange(merged.size)
        place = np.empty(merged.size, dtype=np.intp)
        place[order] = np.searchsorted(first, np.arange(merged.size), "right") - 1
        kept = order[first]
        group = number[kept]
        units = np.arange(kept.size) if copies else group
        fold, n_folds = dealt_by_sample(units, labels[kept], seed)
        return cls(
            X[kept],
            labels[kept],
            _whole(np.add.reduceat(weights[order], first)),
            fold,
            n_folds,
            place,
            group,
        )

    def out_of_fold(self, estimator: Any) -> Array:
        """Return the log odds of the rows of `X`, each by a classifier without it."""
        return out_of_fold_log_odds(
            estimator, self.X, self.labels, self.weights, self.fold, self.n_folds
        )

    def each_row(self, log_odds: Array) -> Array:
        """Return the log odds of the rows as they came; equal rows get their mean."""
        sums = np.bincount(self.group, self.weights * log_odds)
        means = sums / np.maximum(np.bincount(self.group, self.weights), 1e-300)
        return means[self.group][self.place]


def _stacked(samples: TwoSamples) -> Any:
    """Return the rows of the source, then those of the target."""
    both = [samples.source, samples.target]
    if sparse.issparse(samples.source):
        return sparse.vstack(both, format="csr")
    return np.vstack(both)


def _whole(weights: Array) -> Array:
    """Return weights as whole numbers where rounding alone keeps them from it."""
    nearest = np.rint(weights)
    near = np.abs(weights - nearest) <= 1e-9 * np.maximum(weights, 1.0)
    return np.where(near & (nearest > 0), nearest, weights)
