"""A metric of two classes as if it were a mean over rows, to the first order."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.estimating.evidence import Evidence, share_of
from counterpoise.evaluation.estimating.functionals import Functional, Influence, Law
from counterpoise.evaluation.intervals import effective_rows
from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class Chances:
    """The chance that a row is positive, as a cross-fitted regression sees it.

    Attributes
    ----------
    rows, target : array of shape (n,), (m,)
        Of source rows, each out of fold, and of target rows.
    by_fold : array of shape (n_folds, m) or None
        Of target rows, by each fit.
    """

    rows: Array = field(repr=False)
    target: Array = field(repr=False)
    by_fold: Array | None = field(default=None, repr=False)

    @classmethod
    def of(cls, rows: Array, target: Array, by_fold: Array | None) -> "Chances":
        """Return chances, which are not beyond one, wherever a regression ends up."""
        return cls(
            np.clip(rows, 0.0, 1.0),
            np.clip(target, 0.0, 1.0),
            None if by_fold is None else np.clip(by_fold, 0.0, 1.0),
        )

    def take(self, rows: Any, target_rows: Any) -> "Chances":
        """Return the chances of some rows of both samples."""
        return Chances(
            self.rows[rows],
            self.target[target_rows],
            None if self.by_fold is None else self.by_fold[:, target_rows],
        )


def linearised(
    functional: Functional,
    answers: Answers,
    labels: NDArray[Any],
    counts: Array,
    ratio: Array,
    chances: Chances,
    answers_target: Answers,
    groups: Indices | None = None,
) -> Evidence | None:
    r"""Return the evidence of a metric that is no mean, as that of a mean.

    A row's value is :math:`\theta + k(s_i, y_i)` and what is modelled of it
    :math:`\theta + \eta_i k_1(s_i) + (1 - \eta_i) k_0(s_i)`, with the influence
    :math:`k` at the doubly robust law (`functionals`). The estimates themselves are the
    metric of their laws: of weighted source rows, of target rows with the chances
    :math:`\eta`, and of both, the weights of the correction cut as ever. None where one
    of these laws has a single class.

    Parameters
    ----------
    functional : Functional
    answers, answers_target : Answers
    labels : array of shape (n,)
    counts, ratio : array of shape (n,)
    chances : Chances
    groups : array of shape (n,) or None
    """
    points, points_target = (functional.points(a) for a in (answers, answers_target))
    y = (labels == functional.positive).astype(float)
    bare = Evidence(y, ratio, counts, chances.rows, chances.target, groups)
    direct = Law.of_chances(points_target, chances.target)
    rest = bare.cut_share * (y - chances.rows)

    def of_rows(share: Array) -> Influence | None:
        return functional.influence(Law(points, share * y, share * (1 - y)))

    share = share_of(counts * ratio)
    found = {
        "source": of_rows(share_of(counts)),
        "weighted": of_rows(share),
        "direct": functional.influence(direct),
        "doubly_robust": functional.influence(direct.and_rest(points, rest)),
    }
    exact = {name: one.value for name, one in found.items() if one is not None}
    both = found["doubly_robust"]
    if both is None or len(exact) < len(found):
        return None

    def modelled(points: Array, chance: Array) -> Array:
        return both.value + (
            chance * both.positive(points) + (1 - chance) * both.negative(points)
        )

    told = functional.told_by(points, y, share)
    worth = effective_rows(told, groups) if told.any() else 0.0
    return Evidence(
        modelled(points, y),
        ratio,
        counts,
        modelled(points, chances.rows),
        modelled(points_target, chances.target),
        groups,
        by_fold=None
        if chances.by_fold is None
        else np.array([modelled(points_target, one) for one in chances.by_fold]),
        exact=exact,
        worth=worth,
        least=functional.least_error(both.value, worth),
    )
