"""What a fit sees of the target: the shift, what is covered, and the weights."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from counterpoise.adaptation.asked import DIAGNOSING, WEIGHING
from counterpoise.adaptation.kept.weighings import diagnosed, weighed
from counterpoise.adaptation.label_shift.adapting import (
    EITHER,
    LABELS,
    explained,
    weighter_by_labels,
)
from counterpoise.adaptation.label_shift.recognising import LabelShift
from counterpoise.adaptation.odd_inputs import (
    row_marks,
    warn_if_cut,
    warn_if_far,
    warn_if_hardly_covered,
)
from counterpoise.adaptation.partial.adapting import (
    fit_partial_weights,
    partial_weighter,
)
from counterpoise.adaptation.target_rows import reference_rows
from counterpoise.adaptation.weighing import fit_weighter
from counterpoise.diagnosis.diagnosing import diagnose_samples
from counterpoise.diagnosis.diagnosis import Diagnosis
from counterpoise.engine.progress import announce
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.overlap_verdict import NO_OVERLAP
from counterpoise.tables.encoding import TableEncoder
from counterpoise.validation import NoOverlapError, n_rows
from counterpoise.validation.rows import readable
from counterpoise.weights.auto import AutoWeights

# Draws of a permutation test of the diagnosis, and target rows that are kept, to
# compare next week's with.
PERMUTATIONS, REFERENCE_ROWS = 200, 5_000


@dataclass(frozen=True, eq=False)
class TargetSeen:
    """What is known of the target after a look; nothing where there is none.

    Attributes
    ----------
    ratio : array of shape (n,)
        The density ratio at the source rows.
    encoder, row_marks, diagnosis, reference, weighter, label_shift
        What `Adapted` keeps under the same names.
    """

    ratio: Array
    encoder: TableEncoder | None = None
    row_marks: Any = None
    diagnosis: Diagnosis | None = None
    reference: Any = None
    weighter: Any = None
    label_shift: LabelShift | None = None


def read_both(X: Any, X_target: Any, counts: Array | None) -> SamplesAsRead:
    """Return both samples as read; those that were read before, as they are."""
    if isinstance(X_target, SamplesAsRead):
        X_target.check_rows(n_rows(X))
        return X_target if counts is None else replace(X_target, source_weight=counts)
    X_target = (
        tuple(map(readable, X_target))
        if isinstance(X_target, tuple)
        else readable(X_target)
    )
    warn_if_cut(X_target, n_rows(X))
    return SamplesAsRead.read(X, X_target, counts)


def as_dense(samples: SamplesAsRead, X: Any) -> Any:
    """Return the source as numbers; a frame of sparse columns as one of dense ones."""
    if samples.is_sparse and not sparse.issparse(X):
        return np.asarray(X, dtype=float)
    return samples.source


def see_target(
    model: Any,
    samples: SamplesAsRead,
    estimator: Any,
    X: Any,
    y: Any,
    counts: Array | None,
    seed: int,
) -> TargetSeen:
    """Diagnose the shift, refuse what does not overlap, and weigh the source rows.

    Parameters
    ----------
    model : Adapted
        Whose parameters say how.
    samples : SamplesAsRead
    estimator : the model's, or the default one
    X, y : the source as given, and its labels
    counts : array of shape (n,) or None
        The user's own weights.
    seed : int
    """
    samples.refuse_huge(by_label=True)
    warn_if_far(samples.source, samples.target)
    marks = row_marks(as_dense(samples, X))
    announce(DIAGNOSING)
    # By the user's own seed, as `diagnose` would: one quantity, one number.
    given = model.random_state
    drawn_by = given if isinstance(given, int | np.integer) else seed
    found = diagnosed(
        samples, lambda: diagnose_samples(samples, PERMUTATIONS, drawn_by)
    )
    partial = partial_weighter(model.weighter, model.guard, seed)
    goes_on = model.force or partial is not None
    if found.verdict == NO_OVERLAP and not goes_on:
        # Who catches the refusal can ask why.
        model.diagnosis_ = found
        columns = "" if found.separation is None else str(found.separation)
        raise NoOverlapError(found.thin, "thin", found.auc, columns)
    warn_if_hardly_covered(found)
    seen = TargetSeen(
        np.ones(samples.source_weight.size),
        encoder=samples.encoder,
        row_marks=marks,
        diagnosis=found,
        reference=reference_rows(samples, REFERENCE_ROWS, seed),
    )
    if model.weighter is None:
        return seen
    announce(WEIGHING)
    label_shift = None
    if partial is not None:
        weighter = fit_partial_weights(partial, samples, estimator, y, counts, seed)
    elif model._asks_for(LABELS):
        weighter, label_shift = weighter_by_labels(
            samples, estimator, y, counts, seed, force=model.force
        )
    else:
        weighter = _by_inputs(model, samples, y, counts, seed)
        if isinstance(model.weighter, str):
            label_shift, by_labels = explained(
                weighter, found.verdict, samples, estimator, y, counts, seed
            )
            # Rows that are held out for sets need weights by inputs.
            if model._asks_for(EITHER) and by_labels and not model.calibration:
                weighter = by_labels
    return replace(
        seen,
        ratio=np.asarray(weighter.weights_),
        weighter=weighter,
        label_shift=label_shift,
    )


def _by_inputs(
    model: Any, samples: SamplesAsRead, y: Any, counts: Array | None, seed: int
) -> Any:
    """Return the weighter that looks at the inputs, fitted."""
    if isinstance(model.weighter, str):
        # What is covered was decided by the diagnosis, once.
        weighter: Any = AutoWeights(force=True, random_state=seed)
    else:
        weighter = clone(model.weighter)
        if model.force and "force" in weighter.get_params():
            weighter.set_params(force=True)
    return weighed(
        samples, weighter, y, lambda: fit_weighter(weighter, samples, y, counts)
    )
