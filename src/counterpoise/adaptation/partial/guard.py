"""Whether the classes that were left out may be left out."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array

# A classifier whose mean entropy exceeds this share of log K knows nothing.
WEAK_ENTROPY = 0.9
# One class with more than this share of the target is no selection of classes.
ONE_CLASS_ABOVE = 0.9
# Below this share of rows whose label is still the classifier's, a warning is due: the
# labels can lose no more than the rest, so no more than ten points go without one.
AGREED_FROM = 0.9


@dataclass(frozen=True)
class PartialGuard:
    """Whether the selection of classes is used, and why.

    Attributes
    ----------
    chosen : int
        1: it is. 0: rows stay unweighted, and labels are the classifier's own.
    reason : str
    entropy : float
        Mean entropy of the classifier's probabilities, in units of log K.
    confidence : float
        Mean of its largest probabilities.
    n_effective_before, n_effective : float
        Effective number of classes, exp(H), by the classifier's labels and by the
        shares that were estimated.
    agreement : float
        Share of the target rows whose label is still the classifier's.
    n_absent : int
        Classes judged absent.
    kind : str
    """

    chosen: int
    reason: str
    entropy: float
    confidence: float
    n_effective_before: float
    n_effective: float
    agreement: float
    n_absent: int
    kind: str = "partial"

    @property
    def doubtful(self) -> bool:
        """Whether the classifier was overruled on more than a tenth of the rows."""
        return self.agreement < AGREED_FROM

    def __str__(self) -> str:
        return self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return asdict(self)


def judge_selection(
    probabilities: Array, labels: Any, shares: Array, present: Any, guarded: bool
) -> PartialGuard:
    r"""Return whether a selection of classes is to be used.

    Not where the classifier knows nothing of the target,
    :math:`\frac1m \sum_i H(p_i) > 0.9 \log K`, nor where one class is left, with more
    than 0.9 of the target: that is how a classifier looks that has collapsed. Where the
    selection overrules the classifier on more than a tenth of the rows, it is used and
    a warning says so. (Accuracies of labels differ by the share of labels that differ
    at most: without a warning no more than ten points are lost.)

    Parameters
    ----------
    probabilities : array of shape (m, K)
        The classifier's, of the target rows.
    labels : array of shape (m,)
        Places of the classes that the selection gives the rows.
    shares : array of shape (K,)
        Of the target, by the selection.
    present : array of bool of shape (K,)
    guarded : bool
        Whether to judge at all.
    """
    m, k = probabilities.shape
    entropy = relative_entropy(probabilities)
    own = probabilities.argmax(axis=1)
    chosen, absent = 1, int(np.count_nonzero(~present))
    reason = f"{absent} of {k} classes are left out" if absent else "no class is absent"
    if guarded and entropy > WEAK_ENTROPY:
        chosen = 0
        reason = (
            f"the classifier is too weak to tell classes apart: mean entropy "
            f"{entropy:.2f} of log K, more than {WEAK_ENTROPY:g}"
        )
    elif guarded and shares.max() > ONE_CLASS_ABOVE:
        chosen = 0
        reason = (
            f"the classes collapsed: one holds {shares.max():.0%} of the target, more "
            f"than {ONE_CLASS_ABOVE:.0%}"
        )
    return PartialGuard(
        chosen=chosen,
        reason=reason,
        entropy=entropy,
        confidence=float(probabilities.max(axis=1).mean()),
        n_effective_before=_effective(np.bincount(own, minlength=k) / m),
        n_effective=_effective(shares),
        agreement=float(np.mean(own == labels)),
        n_absent=absent if chosen else 0,
    )


def relative_entropy(probabilities: Array) -> float:
    """Return the mean entropy of rows of probabilities, in units of log K."""
    safe = np.maximum(probabilities, np.finfo(float).tiny)
    entropies = -(probabilities * np.log(safe)).sum(axis=1)
    return float(entropies.mean() / np.log(probabilities.shape[1]))


def _effective(shares: Array) -> float:
    some = shares[shares > 0.0]
    return float(np.exp(-(some * np.log(some)).sum()))
