"""How far each estimate of a mean may be off: by chance and by what it misses."""

from dataclasses import dataclass

import numpy as np

from counterpoise.evaluation.estimating.evidence import Evidence, share_of
from counterpoise.evaluation.intervals import effective_rows, weighted_mean_error
from counterpoise.numerics.arrays import Array

# No model of the loss makes rows worth more than so many times as many.
MOST_GAINED = 4.0
# The weighted estimate leads where its error is less than this share of the first's.
CLEARLY = 0.5
# The direct one leads where the first's error has less freedom: one square has three.
OF_ONE_ROW = 4.5
JUDGED = ("doubly_robust", "weighted", "direct")


@dataclass(frozen=True)
class Errors:
    """Errors of the estimates of a mean, and how well they are known.

    Attributes
    ----------
    weighted, direct, doubly_robust : float
        The root of the mean squared error of each.
    freedom : float
        Of how many equal squares the chance part of the doubly robust error is worth.
    gain : float
        How many times as many rows the model of the loss makes of the weighted ones,
        from one to four; one where they are all alike.
    """

    weighted: float
    direct: float
    doubly_robust: float
    freedom: float
    gain: float

    @property
    def least(self) -> str:
        """The name of the estimate to go by.

        The doubly robust one, unless the weighted one's error is less than half of its
        own, or else the direct one's is less and its own has a freedom below 4.5: then
        one row makes nearly all of the correction, and is no better known than what it
        corrects. Elsewhere a direct estimate with a smaller error is no closer: fits
        that are drawn to one mean agree, and a bias is seen only beyond the noise of
        the correction.
        """
        if self.weighted < CLEARLY * self.doubly_robust:
            return "weighted"
        if self.freedom < OF_ONE_ROW and self.direct < self.doubly_robust:
            return "direct"
        return "doubly_robust"


def errors_of(evidence: Evidence) -> Errors:
    r"""Return the errors of the estimates, each by itself.

    With shares :math:`p` of the weights, :math:`\bar p` of the cut ones, and the
    differences :math:`D` of the weighted from the doubly robust estimate and :math:`C`
    of the doubly robust from the direct one,

    .. math::

        e_d^2 &= \sum \bar p^2 (L - g - c)^2 + \mathrm{var}_j\, g / m \\
        e_w^2 &= \sum p^2 (L - \hat R_w)^2 + \mathrm{var}_j\, g / m
            + \bigl(D^2 - \mathrm{var}\, D\bigr)_+ \\
        e_g^2 &= \tfrac34 \sum_k (\hat R_k - \hat R_g)^2 + \mathrm{var}_j\, g / m
            + \bigl(C^2 - \mathrm{var}\, C\bigr)_+

    and :math:`e_d^2` is at least a quarter of :math:`\sum p^2 (L - \hat R_w)^2`: no
    model of the loss makes rows worth more than four times as many, for it was learned
    from these rows.
    The doubly robust estimate is right if either is, so that what chance does not
    explain of its difference from another is the other's bias. Of the direct estimate
    the chance is that of the four fits :math:`\hat R_k`, each without a quarter of the
    rows (the jackknife of groups); where they are not known, that of the doubly robust.
    Where the mean is that of the target rows themselves,
    :math:`\mathrm{var}_j\, g / m` is at least the variance of :math:`L - g` over m.
    The freedom is :math:`3 (\sum a)^2 / \sum a^2` of the squares that :math:`e_d^2` is
    the sum of: as many as there are rows where they are normal and alike, few where
    some of them rule.

    References
    ----------
    F. Satterthwaite, 1946; M. Quenouille, 1956.
    """
    values = evidence.values()
    losses, g, g_target = (
        evidence.losses,
        evidence.modelled,
        evidence.modelled_target,
    )
    groups, share = evidence.groups, share_of(evidence.counts * evidence.ratio)
    cut = evidence.cut_share
    of_rows = _parts(cut * ((losses - g) - cut @ (losses - g)), evidence)
    of_target = (g_target - g_target.mean()) / g_target.size
    rest = weighted_mean_error(losses - g, cut, groups) ** 2
    target = float(of_target @ of_target)
    if evidence.of_these_rows:
        target = max(target, evidence.spread_of_rest**2 / g_target.size)
    apart = values["weighted"] - values["doubly_robust"]
    by_chance = weighted_mean_error(g, share, groups) ** 2 + target
    missed = values["doubly_robust"] - values["direct"]
    alone = weighted_mean_error(losses, share, groups) ** 2
    weighted = alone + target
    direct = rest if evidence.by_fold is None else _of_fits(evidence.by_fold)
    parts = np.concatenate([of_rows, of_target])
    squares = parts @ parts
    scaled = parts / np.sqrt(squares) if squares > 0 else parts
    effective = effective_rows(cut, groups)
    few = effective / max(effective - 1.0, 1.0)
    return Errors(
        weighted=float(np.sqrt(weighted + max(apart**2 - by_chance, 0.0))),
        direct=float(np.sqrt(direct + target + max(missed**2 - rest, 0.0))),
        doubly_robust=float(np.sqrt(max(few * rest + target, alone / MOST_GAINED))),
        freedom=float(3.0 / (scaled**4).sum()) if squares > 0 else effective,
        gain=float(np.clip(alone / rest, 1.0, MOST_GAINED)) if rest > 0 else 1.0,
    )


def leading_estimate(evidence: Evidence) -> str:
    """Return which of doubly robust, weighted and direct to go by.

    `Errors.least`; but of metrics that are a mean to the first order only (AUC, F1) the
    direct one does not lead: chances that a regression has drawn towards their mean
    make areas too small, which its fits, drawn alike, do not show.
    """
    least = errors_of(evidence).least
    shrunken = evidence.exact is not None and least == "direct"
    return JUDGED[0] if shrunken else least


def _parts(centred: Array, evidence: Evidence) -> Array:
    """Return what each row adds to the error, rows of a group together."""
    if evidence.groups is None:
        return centred
    return np.bincount(evidence.groups, centred).astype(float)


def _of_fits(by_fold: Array) -> float:
    """Return the variance of the mean of the fits, each without one group of rows."""
    means = by_fold.mean(axis=1)
    k = means.size
    return float((k - 1) / k * ((means - means.mean()) ** 2).sum())
