"""What is proved, on which assumption, and what would break it."""

from collections.abc import Mapping
from typing import Any

SAME_LABELS = (
    "the label depends on the columns in the new data as it does in training data"
)


def guarantees_section(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the promises of the other sections: what, if what, unless what."""
    return [
        promise
        for promise in (
            _of_shift(found.get("shift")),
            _of_weights(found.get("weights")),
            _of_guard(found.get("guard")),
            _of_path(found.get("path")),
            _of_estimate(found.get("headline")),
        )
        if promise is not None
    ]


def _of_shift(shift: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if shift is None:
        return None
    return {
        "what": "The classifier that tells the samples apart is judged on rows that it "
        "was not fitted to; its interval has level 0.95.",
        "assumes": "rows are drawn independently",
        "breaks": "rows that repeat one another, as in a time series or several rows a "
        "person, make the interval too short",
    }


def _of_weights(weights: Mapping[str, Any] | None) -> dict[str, Any] | None:
    proof = None if weights is None else weights.get("certificate")
    if proof is None or proof.get("kind") in (None, "none"):
        return None
    if proof["holds"]:
        what = f"The weights are optimal for their objective: {proof['words']}."
    else:
        what = f"The weights are NOT proved optimal: {proof['words']}."
    return {
        "what": what,
        "assumes": "nothing; the proof is computed from the weights alone",
        "breaks": "it says how well the problem was solved, not that the problem was "
        "the right one",
    }


def _of_guard(guard: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if guard is None:
        return None
    return {
        "what": "The model is weighted only as far as its own loss, estimated for the "
        "new data, gains by it.",
        "assumes": f"{SAME_LABELS}, and the weights are right on the average",
        "breaks": "a change of how the label depends on the columns",
    }


def _of_path(path: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if path is None:
        return None
    return {
        "what": "Every model on the path is exact up to rounding: the optimality "
        f"conditions hold to {path['residual']:.1e} where they were proved from "
        f"scratch, and to {path['running_residual']:.1e} by the running sums.",
        "assumes": "nothing; the proof is computed from the models alone",
        "breaks": "the error on held-out rows is exact for these rows, and those of "
        "other rows may be least elsewhere",
    }


def _of_estimate(headline: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if headline is None:
        return None
    if headline["estimate"] == "labelled":
        assumes = "the labelled rows of the new data were drawn by chance"
    elif headline["estimate"] == "doubly_robust":
        assumes = f"{SAME_LABELS}, and the weights or the model of the loss are right"
    elif headline["estimate"] == "direct":
        assumes = f"{SAME_LABELS}, and the model of the loss is right"
    else:
        assumes = f"{SAME_LABELS}, and the weights are right"
    return {
        "what": "The interval of the score on the new data holds the true score as "
        "often as its level says.",
        "assumes": assumes,
        "breaks": "new data where there are no training data, and labels that have "
        "come to mean something else; a few labelled rows of the new data can tell",
    }
