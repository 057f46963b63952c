"""What labelled target rows say of an unchanged p(y | x), all directions together."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from counterpoise.evaluation.estimates import labelled_error
from counterpoise.evaluation.estimating.evidence import Evidence
from counterpoise.evaluation.intervals import effective_rows, weighted_mean_error
from counterpoise.evaluation.labels.label_change import LOSS, Direction
from counterpoise.evaluation.metrics import Metric
from counterpoise.evaluation.performance import LabelCheck, is_surprise
from counterpoise.numerics.arrays import Array

# No direction speaks more strongly than this for labels that mean the same: one in
# which nothing differs does not outweigh those in which much does.
MOST_ALIKE = 0.99


def label_check(
    evidence: Evidence,
    losses: Array,
    modelled: Array,
    metric: Metric | None = None,
    directions: tuple[Direction, ...] = (),
) -> LabelCheck:
    r"""Return whether labelled target rows contradict an unchanged p(y | x).

    .. math:: d = \mathrm{mean}_l (L_l - g(t_l)) - \sum \bar w (L - g) / \sum \bar w

    is zero up to chance if p(y | x) is the same in both samples, the weights being the
    ratio or the model of the loss right. It is what a change costs, and one direction
    among those of `residual_directions`; what all say together is `combined_p_value`.

    Parameters
    ----------
    evidence : Evidence
        Of the source rows.
    losses, modelled : array of shape (k,)
        Of labelled target rows.
    metric : Metric or None
        Of one between two ends labelled rows that are all alike are no certainty.
    directions : tuple of Direction
        What else is looked at.
    """
    share, groups = evidence.cut_share, evidence.groups
    rest, rest_source = losses - modelled, evidence.losses - evidence.modelled
    difference = float(rest.mean() - share @ rest_source)
    of_labelled = (
        float(rest.std(ddof=1) / np.sqrt(rest.size))
        if metric is None
        else labelled_error(metric, rest)
    )
    of_source = weighted_mean_error(rest_source, share, groups)
    error = float(np.hypot(of_labelled, of_source))
    freedom = max(min(rest.size, effective_rows(share, groups)) - 1, 1.0)
    # Equal losses leave no spread, and their difference is no less surprising for it.
    rounding = 1e-12 * max(np.abs(losses).max(), np.abs(evidence.losses).max())
    divisor = max(error, float(rounding))
    statistic = difference / divisor if divisor > 0 else 0.0
    p_value = float(2 * stats.t.sf(abs(statistic), freedom))
    loss = Direction(LOSS, None, None, difference, error, statistic, p_value)
    return check_of((loss, *directions), int(rest.size), loss)


def check_of(
    directions: tuple[Direction, ...], n_labelled: int, loss: Direction | None = None
) -> LabelCheck:
    """Return what all directions say together, and what the loss says of the cost."""
    p_value = combined_p_value([one.p_value for one in directions])
    strongest = min(directions, key=lambda one: one.p_value)
    told = f"{n_labelled} labelled target rows and what the source says of them: "
    told += (
        ""
        if loss is None
        else f"the loss differs by {loss.difference:+.3g} (standard error "
        f"{loss.error:.2g}); "
    )
    told += (
        f"of {len(directions)} directions the labels differ most {strongest} "
        f"({strongest.difference:+.3g}, standard error {strongest.error:.2g}), "
        f"p = {p_value:.2g} over all"
    )
    verdict = (
        "p(y | x) has changed, or the target is not where the source is: go by the "
        "labelled rows"
        if is_surprise(p_value)
        else "no change of p(y | x) is seen"
    )
    return LabelCheck(
        None if loss is None else loss.difference,
        None if loss is None else loss.error,
        None if loss is None else loss.statistic,
        p_value,
        n_labelled,
        f"{told}: {verdict}",
        directions,
    )


def combined_p_value(p_values: Sequence[float]) -> float:
    r"""Return the p-value of all directions together, one where there are none.

    .. math:: p = \tfrac12 - \tfrac1\pi \arctan \bar c, \qquad
        \bar c = \mathrm{mean}_k \cot(\pi \min(p_k, 0.99))

    A cotangent is Cauchy's by chance, and so is their mean, in its tail also where
    the directions are correlated. Directions that agree strengthen one another: of a
    steeper slope the prediction, its columns and the log-loss all tell, and the least
    p-value times their number would punish that.

    References
    ----------
    Y. Liu and J. Xie, 2020.

    Examples
    --------
    >>> [round(combined_p_value(p), 3) for p in ([0.5, 0.01, 0.2], [0.02, 0.02])]
    [0.029, 0.02]
    """
    if not len(p_values):
        return 1.0
    p = np.clip(p_values, np.finfo(float).tiny, MOST_ALIKE)
    # The arctangent of the reciprocal: small p-values are not lost to rounding.
    return float(np.arctan2(1.0, np.mean(1 / np.tan(np.pi * p))) / np.pi)
