"""Whether the target looks like the source's classes in other shares."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.adaptation.label_shift.class_shares import ClassShares
from counterpoise.adaptation.label_shift.within_classes import rest_auc, rest_p_value
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead

# Shares have moved from so many standard errors on; two estimates agree within so many
# and a little more.
ERRORS_MOVED, ERRORS_APART, SHARES_APART = 3.0, 2.0, 0.03
# What is left of the shift is told apart no better than this, nor more surprising.
FLAT_AUC, FLAT_P_VALUE = 0.55, 0.05


@dataclass(frozen=True)
class LabelShift:
    """Two explanations of a shift: classes in other shares, or other inputs.

    Attributes
    ----------
    classes : tuple
    source_shares, shares, black_box : tuple of float
        In the source; estimated for the target by EM, and by the black box.
    moved, agree : bool
        Whether the shares differ from the source's by more than chance, and the two
        estimates do not.
    rest_auc, rest_auc_low, rest_auc_high : float or None
        How well a classifier tells target rows from source rows that were drawn in the
        estimated shares: what is left within classes. None: not looked at.
    rest_p_value : float or None
        How often chance moves the mean of a column or its square within classes by as
        much (`within_classes.rest_p_value`).
    flat : bool
        Whether nothing is seen to be left.
    score, score_error : float
        Held-out two-sided score of the ratio by labels, in nats, and its error.
    score_inputs : float or None
        The same of the weights by inputs.
    is_label_shift : bool
        The rule: moved, agree and flat.
    preferred : {"labels", "inputs"}
        Which explanation is taken where both may be: labels, if they are a label shift
        and their score is no more than its error below that of the inputs.
    words : str
    """

    classes: tuple[Any, ...]
    source_shares: tuple[float, ...]
    shares: tuple[float, ...]
    black_box: tuple[float, ...]
    moved: bool
    agree: bool
    rest_auc: float | None
    rest_auc_low: float | None
    rest_auc_high: float | None
    rest_p_value: float | None
    flat: bool
    score: float
    score_error: float
    score_inputs: float | None
    is_label_shift: bool
    preferred: str
    words: str

    def __str__(self) -> str:
        return self.words

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        found = {
            name: list(one) if isinstance(one, tuple) else one
            for name, one in vars(self).items()
        }
        return {**found, "classes": [str(one) for one in self.classes]}


def recognised(
    found: ClassShares, samples: SamplesAsRead, labels: NDArray[Any], seed: int
) -> LabelShift:
    r"""Return whether the classes in other shares explain the shift.

    Three things, each with its threshold:

    - the shares have *moved*: :math:`|q_k - s_k|` is three standard errors of the black
      box or more, for some class;
    - EM and black box *agree*: nowhere further apart than 0.03 and two such errors;
    - what is left is *flat*: no column's mean or square within classes has moved
      (`rest_p_value` is 0.05 or more), and source rows, each kept with the chance
      :math:`(q_y / s_y) / \max_k (q_k / s_k)`, and target rows are not told apart by a
      classifier, the interval of its area under the curve reaching down to one half and
      the area not above 0.55; 2,000 rows of each at most, and 100 at least. The
      classifier is not asked where a mean has moved.

    If all hold it is called a label shift. A shift of inputs has other shares too, but
    moves rows within classes.

    Parameters
    ----------
    found : ClassShares
    samples : SamplesAsRead
    labels : array of shape (n,)
    seed : int
        Of the rows that are kept.
    """
    shares, before = found.em.shares, found.source_shares
    errors = np.maximum(found.errors, 1e-12)
    moved = bool((np.abs(found.black_box - before) >= ERRORS_MOVED * errors).any())
    apart = np.abs(found.black_box - shares)
    agree = bool((apart <= SHARES_APART + ERRORS_APART * errors).all())
    rest = p_value = None
    if moved and agree:
        p_value = rest_p_value(found, samples, labels)
    flat = p_value is not None and p_value >= FLAT_P_VALUE
    if flat:
        rest = rest_auc(found, samples, labels, seed)
    auc, low, high = rest or (None, None, None)
    flat = flat and rest is not None and rest[1] <= 0.5 and rest[0] <= FLAT_AUC
    score, error = _score(found)
    is_label_shift = moved and agree and flat
    return LabelShift(
        tuple(found.classes.tolist()),
        tuple(before.tolist()),
        tuple(shares.tolist()),
        tuple(found.black_box.tolist()),
        moved,
        agree,
        auc,
        low,
        high,
        p_value,
        flat,
        score,
        error,
        None,
        is_label_shift,
        "labels" if is_label_shift else "inputs",
        _words(found, is_label_shift, moved, agree, rest, p_value),
    )


def judged(found: LabelShift, score_inputs: float) -> LabelShift:
    """Return the same, judged beside weights by inputs on held-out rows."""
    better = found.score >= score_inputs - found.score_error
    labels = found.is_label_shift and better
    told = (
        f"{found.words}; on held-out rows the shares of classes score {found.score:.3f}"
        f" nats (standard error {found.score_error:.2g}), weights by inputs "
        f"{score_inputs:.3f}"
    )
    return replace(
        found,
        score_inputs=score_inputs,
        preferred="labels" if labels else "inputs",
        words=told,
    )


def _score(found: ClassShares) -> tuple[float, float]:
    """Return the two-sided score of the ratio by labels, and its error from rows."""
    ratio = found.em.shares / found.source_shares
    w, w_target = found.source @ ratio, found.target @ ratio
    v: Array = w / w.mean()
    logs = np.log(w_target)
    score = float(logs.mean() - np.log(w.mean()))
    return score, float(np.sqrt(logs.var() / logs.size + v.var() / v.size))


def _words(
    found: ClassShares,
    is_label_shift: bool,
    moved: bool,
    agree: bool,
    rest: tuple[float, float, float] | None,
    p_value: float | None,
) -> str:
    told = ", ".join(
        f"{one} {before:.1%} -> {after:.1%}"
        for one, before, after in sorted(
            zip(
                map(str, found.classes.tolist()),
                found.source_shares.tolist(),
                found.em.shares.tolist(),
                strict=True,
            ),
            key=lambda one: -abs(one[2] - one[1]),
        )[:5]
    )
    if not moved:
        return "the shares of the classes are not seen to differ in the target"
    if not agree:
        return (
            "no label shift: two estimates of the shares of the classes in the target "
            "contradict one another"
        )
    assert p_value is not None
    left = f"p = {p_value:.2g}"
    if rest is not None:
        left = f"AUC {rest[0]:.3f} ({rest[1]:.3f} to {rest[2]:.3f}), {left}"
    elif p_value >= FLAT_P_VALUE:
        return f"too few rows to tell a label shift ({told}) from one of inputs"
    if is_label_shift:
        return (
            f"the target rows look like the source's classes in other shares ({told}); "
            f"within classes nothing is seen to have moved ({left})"
        )
    return (
        f"no label shift alone: with the classes in other shares ({told}) the samples "
        f"are still told apart ({left})"
    )
