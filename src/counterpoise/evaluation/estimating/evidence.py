"""What is known of a metric that is a mean over rows, and the estimates it gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.tables.quantiles import weighted_quantile

# The weights of the correction are cut at this quantile, which steadies it.
CLIP_QUANTILE = 0.99


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
        )


def share_of(weights: Array) -> Array:
    """Return weights that add up to one."""
    share: Array = weights / weights.sum()
    return share
