"""A fitted model's story in words."""

import math
from html import escape
from typing import Any

from counterpoise.adaptation.label_shift.weights import ClassShareWeights
from counterpoise.weights.target_shift.estimator import TargetShiftWeights

ASSUMPTION = (
    "All of this assumes that p(y | x), the label given the inputs, is the same in "
    "both samples; inputs alone cannot show otherwise."
)

ASSUMPTION_OF_CLASSES = (
    "All of this assumes that the target has no class that the source has not; inputs "
    "alone cannot show otherwise."
)

ASSUMPTION_OF_LABELS = (
    "All of this assumes that p(x | y), the inputs given the label, is the same in "
    "both samples, and only the shares of the labels have moved."
)
BY_LABELS = (ClassShareWeights, TargetShiftWeights)

# Absent classes that are named one by one.
MOST_NAMED = 10


def summary_of(model: Any) -> str:
    """Return what an `Adapted` found, chose and assumes, a line each."""
    name = type(model.estimator_).__name__
    if model.diagnosis_ is None:
        return f"{name}, fitted without a target: nothing is adapted."
    diagnosis = model.diagnosis_
    lines = [
        f"Shift: {diagnosis.verdict}. {diagnosis.thin:.1%} of the target is thinly "
        f"covered; AUC of source against target {diagnosis.auc:.3f} "
        f"({diagnosis.auc_low:.3f} to {diagnosis.auc_high:.3f}).",
        f"Weights: {_weights(model)}",
    ]
    if model.guard_ is not None:
        lines.append(f"Guard: {model.guard_.reason}.")
    by_class = getattr(model, "_every_class_", None) is not None
    shift = getattr(model, "label_shift_", None)
    if shift is not None and shift.moved:
        lines.append(f"Labels: {shift.words}{_advice(model, shift)}.")
    if by_class:
        lines.append(f"Classes: {_classes(model)}")
    n = model.weights_.size
    lines += [
        f"Model: {name}, fitted to "
        + (
            f"weighted rows worth {model.effective_sample_size_:.0f} of {n}"
            f"{_labelled(model)}."
            if model.adapted_
            else f"{n} rows without weights."
        ),
        ASSUMPTION_OF_CLASSES
        if by_class
        else ASSUMPTION_OF_LABELS
        if isinstance(model.weighter_, BY_LABELS)
        else ASSUMPTION,
    ]
    return "\n".join(lines)


def _advice(model: Any, shift: Any) -> str:
    """Return what to do where classes in other shares explain the shift."""
    if not shift.is_label_shift or isinstance(model.weighter_, BY_LABELS):
        return ""
    if shift.preferred == "labels":
        return ': weighter="labels" makes up for that'
    return (
        ': weighter="labels" would make up for that, weights by inputs explain more of '
        "it on held-out rows"
    )


def _labelled(model: Any) -> str:
    """Return what joined the source rows, if anything did."""
    joins = getattr(model.weighter_, "with_target", False)
    if not joins or model.resample or model.budget is not None:
        return ""
    return f", and to {model.target_labels_.size} target rows by `target_labels_`"


def html_of(model: Any) -> str:
    """Return the same as a fragment of HTML, with the shift folded in."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in summary_of(model).splitlines())
    if model.diagnosis_ is None:
        return f"<div>{lines}</div>"
    shift = model.diagnosis_._repr_html_()
    return f"<div>{lines}<details><summary>The shift</summary>{shift}</details></div>"


def _classes(model: Any) -> str:
    """Return which classes the target seems to have."""
    absent = [str(one) for one in model.absent_classes_]
    if not absent:
        return f"all {len(model.classes_)} of the source seem to be in the target."
    named = ", ".join(absent[:MOST_NAMED])
    more = f" and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else ""
    return (
        f"{len(absent)} of {len(model.classes_)} are judged absent from the target "
        f"({named}{more}); a class of one or two rows would be among them."
    )


def _weights(model: Any) -> str:
    weighter = model.weighter_
    if weighter is None:
        return "none were asked for."
    inner = getattr(weighter, "weighter_", weighter)
    told = type(inner).__name__
    if inner is not weighter:
        tried = (getattr(weighter, "cv_results_", None) or {}).get("candidate", ())
        told += (
            ", for there are too few rows to choose by cross-validation"
            if len(tried) == 1
            else ", the simplest that is as good as the best by its held-out score"
        )
    proof = _proof(weighter.solution_)
    if model.guard_ is not None and model.guard_.kind == "mixing":
        return f"{told}{proof}; {model.mixing_:.3g} of them used, beside equal weights."
    if getattr(model, "_every_class_", None) is not None:
        return f"{told}{proof}; by class, absent ones weigh nothing."
    return f"{told}{proof}; used to the power {model.exponent_:g}."


def _proof(solution: Any) -> str:
    """Return what is proved about the weights; no times, which differ by run."""
    if solution is None:
        return ""
    proof = solution.certificate
    if proof.kind == "none":
        return "; nothing is proved for this method"
    verdict = "proof holds" if solution.converged else "proof DOES NOT HOLD"
    reached = f"gap {proof.gap:.2e}"
    if not math.isfinite(proof.gap):
        reached = "no bound"
        if proof.residual is not None:
            reached += f", residual {proof.residual:.2e}"
    return (
        f"; {verdict} ({proof.kind}): {reached} at tol {solution.tol:g} times a scale "
        f"of {proof.scale:.3g}"
    )
