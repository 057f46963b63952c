"""What a fitted weighter does: weigh rows, score itself, say what drives it."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from counterpoise.engine import Blocks, map_write
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.folds import N_FOLDS
from counterpoise.samples.scaling import scale_columns, scaled_like
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    Matrix,
    as_seed,
    estimator_matrix,
    estimator_samples,
    row_counts,
)
from counterpoise.validation.warning import held_back
from counterpoise.weights.by_blocks import WeightsOfRows, lean, ratio_at
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.search import (
    SMALLEST_LOGGED,
    HeldOut,
    out_of_fold,
    two_sided_score,
)


class FittedWeighter(BaseEstimator):
    """A density ratio at rows, from what `fit` has found.

    Subclasses set `weights_`, `has_target_`, `mean_ratio_`, `column_scale_`,
    `_samples_` and `_range_` in `fit`, and have the parameters `exponent` and
    `random_state`.
    """

    _accepts_sparse = False
    # What holds where a method has no such parameter.
    exponent: float = 1.0
    random_state: Any = None
    # What a target row of no weight counts in the score.
    _least_scored = SMALLEST_LOGGED

    def weigh(self, X: Any) -> Array:
        """Return the weights of rows, on the scale of `weights_`.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or `engine.Blocks` of shape (k, d)

        Returns
        -------
        array of shape (k,)
        """
        check_is_fitted(self, "weights_")
        if isinstance(X, Blocks):
            return self._weigh_blocks(X)
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        if not self.has_target_:
            return np.ones(X.shape[0])
        return self._weigh_rows(X)

    def write_weights(self, X: Any, path: Any, *, column: str = "weight") -> None:
        """Write the weights of rows to a Parquet file, in their order.

        Nothing but a block of rows is held in memory; the file appears when it is
        complete.

        Parameters
        ----------
        X : `engine.Blocks`, array-like or frame of shape (k, d)
        path : str or Path
        column : str
            What the column of weights is called.
        """
        check_is_fitted(self, "weights_")
        blocks = self._checked_blocks(Blocks.of(X))
        map_write(blocks, WeightsOfRows(lean(self), column), path)

    def _weigh_blocks(self, blocks: Blocks) -> Array:
        blocks = self._checked_blocks(blocks)
        if not self.has_target_:
            return np.ones(blocks.n_rows)
        return ratio_at(self, blocks, normalized=True)

    def _checked_blocks(self, blocks: Blocks) -> Blocks:
        """Return blocks as numbers; refuse other columns than those of `fit`."""
        names = getattr(self, "feature_names_in_", None)
        labels = blocks.labels
        if names is not None and labels is not None and list(names) != list(labels):
            raise InvalidInput(
                f"the blocks have the columns {list(labels)}, in fit they were "
                f"{list(names)}"
            )
        return blocks.numbers()

    def beyond(self, X: Any) -> NDArray[np.bool_]:
        """Return at which rows the ratio is not known.

        Those where it would exceed that of every target row of the fit, at which a
        method that does not extrapolate cuts it; and those where a column lies outside
        the range of both samples by more than a tenth of it (dense rows only).

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (k, d)

        Returns
        -------
        boolean array of shape (k,)
        """
        check_is_fitted(self, "weights_")
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        if not self.has_target_:
            return np.zeros(X.shape[0], dtype=bool)
        return self._beyond_rows(X)

    def _beyond_rows(self, X: Matrix) -> NDArray[np.bool_]:
        """Return at which rows that have passed a door the ratio is not known."""
        found = self._beyond(self._scaled(X))
        if self._range_ is not None:
            low, high = self._range_
            found |= ((low > X) | (high < X)).any(axis=1)
        return found

    def _beyond(self, X: Matrix) -> NDArray[np.bool_]:
        return np.zeros(X.shape[0], dtype=bool)

    def score(
        self, X: Any, y: Any = None, *, X_target: Any = None, sample_weight: Any = None
    ) -> float:
        r"""Return the two-sided score of the weights on held-out rows.

        .. math:: \mathrm{mean}_j \log w(t_j) - \log \mathrm{mean}_i w(x_i)

        Uniform weights score zero, and in expectation nothing scores more than the
        Kullback-Leibler divergence of the two distributions.

        Parameters
        ----------
        X : array-like or frame of shape (k, d)
            Source rows that were not fitted to.
        y : ignored
        X_target : the same of shape (l, d), or a tuple of such
            Target rows that were not fitted to. None: those of `fit`, each scored by a
            fit without it, with the parameters that were chosen.
        sample_weight : array of shape (k,)
            What the source rows count.
        """
        check_is_fitted(self, "weights_")
        if X_target is not None:
            X, X_target = estimator_samples(
                self, X, X_target, reset=False, accept_sparse=self._accepts_sparse
            )
            held_out = TwoSamples.of(
                X, X_target, row_counts(sample_weight, X.shape[0]), None
            )
            if not self.has_target_:
                return 0.0
            return two_sided_score(
                self._weigh_rows(held_out.target),
                self._weigh_rows(held_out.source),
                held_out.target_share,
                held_out.source_share,
                self._least_scored,
            )
        X = estimator_matrix(self, X, reset=False, accept_sparse=self._accepts_sparse)
        if not self.has_target_:
            return 0.0
        samples = self._kept_rows("score without X_target")
        share = row_counts(sample_weight, X.shape[0])
        return out_of_fold(
            self._refit,
            samples,
            X,
            share / share.sum(),
            self._seed(),
            self._least_scored,
        )

    def extreme_rows(self, k: int = 5) -> tuple[Indices, Indices]:
        """Return the places of the k most and the k least weighted source rows.

        Examples
        --------
        >>> from counterpoise import KLIEP
        >>> from counterpoise.datasets import make_sinc_shift
        >>> shift = make_sinc_shift(mean=0.5, random_state=0)
        >>> kliep = KLIEP(gamma=1.0).fit(shift.X, X_target=shift.X_target)
        >>> most, least = kliep.extreme_rows(3)
        >>> bool(shift.X[most].mean() < shift.X[least].mean())
        True
        """
        check_is_fitted(self, "weights_")
        order = np.argsort(-self.weights_, kind="stable")
        return order[:k], order[::-1][:k]

    def driving_columns(self, max_rows: int = 500) -> Array:
        r"""Return how much each column moves the log weight, in a standard deviation.

        The mean over source rows, at most `max_rows` of them at equal intervals, of
        :math:`|\log w(x + s_j e_j) - \log w(x - s_j e_j)| / 2`, with :math:`s_j` half
        the column's standard deviation: the larger, the more of the shift the column
        carries. Zero for constant columns; in the order of the columns.
        """
        check_is_fitted(self, "weights_")
        d = self.n_features_in_
        if not self.has_target_:
            return np.zeros(d)
        rows = self._kept_rows("driving_columns").source
        some = np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], max_rows))
        rows = rows[some.astype(int)]
        if sparse.issparse(rows):
            raise InvalidType(
                "driving_columns needs dense rows; MixtureKLIEP's coef_ says it of text"
            )
        out = np.zeros(d)
        for j, step in enumerate(0.5 * rows.std(axis=0)):
            if step > 0.0:
                moved = np.zeros(d)
                moved[j] = step
                high, low = (
                    self._weigh(self._scaled(rows + sign * moved)) for sign in (1, -1)
                )
                floor = 1e-4 * self.mean_ratio_
                logs = np.log(np.maximum(high, floor)) - np.log(np.maximum(low, floor))
                out[j] = float(np.abs(logs).mean())
        return out

    @property
    def rows_of_fit(self) -> TwoSamples | None:
        """Both samples of `fit`, rows that count, in an order of their own.

        None before `fit`, without a target, and after `without_rows`.
        """
        found: TwoSamples | None = getattr(self, "_samples_", None)
        return found

    def without_rows(self) -> Self:
        """Return a copy that weighs as before and has forgotten the rows of the fit.

        Kernel methods keep their centres, which are rows of the target or near them.
        """
        check_is_fitted(self, "weights_")
        out = copy(self)
        out._samples_ = None
        inner = getattr(self, "weighter_", None)
        if inner is not None:
            out.weighter_ = inner.without_rows()
        return out

    @abstractmethod
    def _weigh(self, X: Matrix) -> Array:
        """Return the density ratio at rows on scaled columns, up to `_fit`'s factor."""

    @abstractmethod
    def _fit_counted(self, samples: TwoSamples) -> Self:
        """Fit to some of the rows that another fit counts, in their order."""

    @abstractmethod
    def _fit_ratio(
        self, samples: TwoSamples, deadline: Deadline
    ) -> tuple[Array, float]:
        """Fit to two samples on scaled columns, no further than `_weigh` needs.

        It is asked for where rows are held out. Returns the ratio at the source rows,
        and the mean that its weights are to have.
        """

    def _scales_columns(self) -> bool:
        return bool(getattr(self, "standardize", False))

    def _forced(self) -> dict[str, Any]:
        """Return the parameter that makes a fit go on without overlap, if any."""
        return {"force": True} if "force" in self.get_params(deep=False) else {}

    def _chosen(self) -> dict[str, Any]:
        """Return parameters that, put in place of rules, repeat the fit."""
        return {}

    def _kept_rows(self, what: str) -> TwoSamples:
        if self._samples_ is None:
            raise InvalidInput(f"{what} needs the rows of fit, which were not kept")
        return self._samples_

    def _refit(self, samples: TwoSamples) -> Callable[[Matrix], Array]:
        """Return how the same method weighs, fitted to others of the rows of `fit`.

        Nothing is chosen anew.
        """
        again: Self = clone(self).set_params(**self._forced(), **self._chosen())
        with held_back():
            again._fit_counted(samples)
        return again._weigh_rows

    def _held_out(
        self, samples: TwoSamples, parts: tuple[Indices, Indices], deadline: Deadline
    ) -> HeldOut:
        """Return the weights at the rows of both samples, each held out once.

        The rows are some of those that another fit counts, in their order; `parts` are
        their folds.
        """
        again: Self = clone(self)
        source, target = (np.empty(part.size) for part in parts)
        with held_back():
            for k in range(N_FOLDS):
                out, out_target = (part == k for part in parts)
                all_rows = again._fit_fold(samples, ~out, ~out_target, deadline)
                source[out] = again._normalized(again._weigh(all_rows.source[out]))
                target[out_target] = again._normalized(
                    again._weigh(all_rows.target[out_target])
                )
        return HeldOut(target, source)

    def _fit_fold(
        self, samples: TwoSamples, rows: Any, aims: Any, deadline: Deadline
    ) -> TwoSamples:
        """Fit to some of the rows that another fit counts, so far that it weighs.

        Nothing is read, checked or put in order, and nothing is said. What the rows
        count is worked out anew: a part of fractional weights is worth what it is
        worth by itself. Returns all rows on the columns' scale of the part.
        """
        counted = samples.recounted(rows, aims)
        self._samples_: TwoSamples | None = counted
        self.n_features_in_ = counted.source.shape[1]
        self.column_scale_: Array | None = None
        scaled = counted
        if self._scales_columns():
            self.column_scale_, samples = scaled_like(counted, samples)
            scaled = replace(
                counted, source=samples.source[rows], target=samples.target[aims]
            )
        ratio, mean = self._fit_ratio(scaled, deadline)
        self._set_mean_ratio(ratio, mean, counted.source_share)
        return samples

    def _seed(self) -> int:
        """Return a seed from `random_state`, the same at every call for an integer."""
        return as_seed(self.random_state)

    def _scaled(self, X: Matrix) -> Matrix:
        scale = self.column_scale_
        return X if scale is None else scale_columns(X, scale)

    def _weigh_rows(self, X: Matrix) -> Array:
        """Return the weights of rows that have passed a door."""
        return self._normalized(self._weigh(self._scaled(X)))

    def _set_mean_ratio(self, ratio: Array, mean: float, share: Array) -> None:
        """Set what a ratio is divided by, from its values at the source rows."""
        self._set_mean(float(share @ ratio**self.exponent) / mean**self.exponent)

    def _set_mean(self, mean_ratio: float) -> None:
        # Without overlap the ratio underflows at every source row.
        known = 1e-100 < mean_ratio < np.inf
        self.mean_ratio_ = mean_ratio if known else np.nan

    def _as_weights(self, ratio: Array, mean: float, share: Array) -> Array:
        """Return the ratio at the source rows as weights, and set what divides it."""
        self._set_mean_ratio(ratio, mean, share)
        return self._normalized(ratio)

    def _normalized(self, ratio: Array) -> Array:
        if np.isnan(self.mean_ratio_):
            return np.ones_like(ratio)
        return ratio**self.exponent / self.mean_ratio_
