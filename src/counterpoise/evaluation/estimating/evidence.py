"""What is known of a metric that is a mean over rows, and the estimates it gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.tables.quantiles import weighted_quantile
from counterpoise.validation import Matrix

# The weights of the correction are cut at this quantile, which steadies it.
CLIP_QUANTILE = 0.99
# From this quantile on losses are the worst.
WORST_QUANTILE = 0.99
# Rows farther beyond the source than so many times its own reach are taken to be there.
FARTHEST_BEYOND = 10.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of a metric that is a mean over rows, or as if it were one.

    Attributes
    ----------
    losses : array of shape (n,)
        The metric's value at source rows that the model was not fitted to.
    ratio : array of shape (n,)
        The density ratio target/source at these rows, up to a factor.
    counts : array of shape (n,)
        What the user lets the rows count.
    modelled, modelled_target : array of shape (n,), (m,)
        The loss as a regression on x and the prediction sees it: at source rows, each
        out of fold, and at target rows.
    groups : array of shape (n,) or None
        Numbers of groups of source rows that may be alike within.
    by_fold : array of shape (n_fits, m) or None
        What each fit of the regression says of the target rows.
    exact : mapping or None
        The estimates themselves, where the losses have them to the first order only.
    worth : float or None
        Of a metric of two classes: how many effective rows tell of it.
    least : float or None
        Of such a metric: the error is not taken to be less.
    beyond : array of shape (m,) or None
        Of target rows, see `rows_beyond`; None: not looked at.
    of_these_rows : bool
        Whether the mean is that of the target rows themselves, chance in their labels
        included, and not of where they come from.
    """

    losses: Array = field(repr=False)
    ratio: Array = field(repr=False)
    counts: Array = field(repr=False)
    modelled: Array = field(repr=False)
    modelled_target: Array = field(repr=False)
    groups: Indices | None = field(default=None, repr=False)
    by_fold: Array | None = field(default=None, repr=False)
    exact: Mapping[str, float] | None = None
    worth: float | None = None
    least: float | None = None
    beyond: Array | None = field(default=None, repr=False)
    of_these_rows: bool = False

    @property
    def cut_share(self) -> Array:
        """The shares of the rows in a mean with weights cut at their 99 % quantile.

        Rows that count nothing have no part in the quantile.
        """
        bound = weighted_quantile(self.ratio, self.counts, CLIP_QUANTILE)
        return share_of(self.counts * np.minimum(self.ratio, bound))

    @property
    def spread_of_rest(self) -> float:
        """The weighted standard deviation of what the model of the loss leaves."""
        share, rest = self.cut_share, self.losses - self.modelled
        return float(np.sqrt(share @ (rest - share @ rest) ** 2))

    def worst_beyond(self, side: float) -> float:
        r"""Return what losses of target rows beyond the source's range may add.

        .. math:: \beta\, |L_\pm - \hat R_w|

        with :math:`\beta` the mean of `beyond`, zero where it is less, :math:`L_+` the
        mean of the losses of source rows at or above the 99 % quantile and :math:`L_-`
        of those at or below the 1 % quantile, as `side` is 1 or -1: rows beyond may
        lose as the worst hundredth seen, and more the farther they are.
        """
        share = 0.0 if self.beyond is None else max(float(self.beyond.mean()), 0.0)
        if share == 0.0:
            return 0.0
        losses = side * self.losses
        worst = losses >= weighted_quantile(losses, self.counts, WORST_QUANTILE)
        extreme = np.average(losses[worst], weights=self.counts[worst])
        mean = share_of(self.counts * self.ratio) @ losses
        return share * max(float(extreme - mean), 0.0)

    def values(self) -> Mapping[str, float]:
        """Return the estimates: source, weighted, direct, doubly_robust."""
        if self.exact is not None:
            return self.exact
        direct = float(self.modelled_target.mean())
        rest = float(self.cut_share @ (self.losses - self.modelled))
        return {
            "source": float(share_of(self.counts) @ self.losses),
            "weighted": float(share_of(self.counts * self.ratio) @ self.losses),
            "direct": direct,
            "doubly_robust": direct + rest,
        }

    def take(self, rows: Any, target_rows: Any) -> "Evidence":
        """Return the evidence of some rows of both samples."""
        return Evidence(
            self.losses[rows],
            self.ratio[rows],
            self.counts[rows],
            self.modelled[rows],
            self.modelled_target[target_rows],
            None if self.groups is None else self.groups[rows],
            None if self.by_fold is None else self.by_fold[:, target_rows],
            beyond=None if self.beyond is None else self.beyond[target_rows],
        )


def rows_beyond(source: Matrix, target: Matrix) -> Array | None:
    r"""Return how far target rows lie beyond all source rows in a column, less chance.

    Zero for a row :math:`t` that lies within all columns, else the largest over the
    columns j that it lies beyond of

    .. math:: \max\Bigl(1, \frac{|t_j - c_j|}{\max(|b_j - c_j|, r_j / 2)}\Bigr)^2 ,

    with :math:`b` the end of the source's values on that side, :math:`c` their median
    and :math:`r` their range, and at most :math:`10^2`: a squared error grows like the
    square of the way where the model leaves a slope. Both less
    :math:`\min(1, 2 d / (n + 1))`, which is at least how often a row drawn like n
    others lies beyond them in one of d columns. None of sparse matrices and without
    source rows.

    Examples
    --------
    >>> rows_beyond(np.arange(5.0)[:, None], np.array([[1.5], [4.5], [8.0]])).round(2)
    array([-0.33,  1.23,  8.67])
    """
    n, d = source.shape
    if sparse.issparse(source) or sparse.issparse(target) or n == 0:
        return None
    # Halved: differences may be more than the largest number.
    source, target = source / 2, target / 2
    low, middle, high = (
        source.min(axis=0),
        np.median(source, axis=0),
        source.max(axis=0),
    )
    half = (high - low) / 2
    far = np.zeros(target.shape)
    for outside, reach in (
        (target < low, np.maximum(middle - low, half)),
        (target > high, np.maximum(high - middle, half)),
    ):
        way = np.abs(target - middle) / np.where(reach > 0, reach, np.inf)
        far = np.where(outside, np.clip(way, 1.0, FARTHEST_BEYOND), far)
    found: Array = far.max(axis=1, initial=0.0) ** 2 - min(2 * d / (n + 1), 1.0)
    return found


def share_of(weights: Array) -> Array:
    """Return weights that add up to one."""
    share: Array = weights / weights.sum()
    return share
