"""Which sections a fitted object can fill."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from counterpoise.adaptation import Adapted, PartialWeights
from counterpoise.diagnosis import Diagnosis
from counterpoise.learners import SVMPath
from counterpoise.report.sections.balance import balance_section
from counterpoise.report.sections.classes import classes_section
from counterpoise.report.sections.data import data_section, with_what_is_told
from counterpoise.report.sections.guarantees import guarantees_section
from counterpoise.report.sections.overlap import overlap_section
from counterpoise.report.sections.path import path_section
from counterpoise.report.sections.performance import headline_section
from counterpoise.report.sections.reproduce import reproduce_section
from counterpoise.report.sections.rows import SeenRows
from counterpoise.report.sections.solver import solver_section
from counterpoise.report.sections.spectrum import spectrum_section
from counterpoise.report.sections.weights import weights_section
from counterpoise.validation import InvalidType
from counterpoise.watching import Watch


def sections_of(
    fitted: Any,
    performance: Any = None,
    *,
    data: Mapping[str, Any] | None = None,
    reproduce: Mapping[str, Any] | None = None,
    diagnosis: Diagnosis | None = None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the sections of a record, in the order of the report.

    `diagnosis`: that of a weighter's two tables, which it does not know itself.
    """
    if isinstance(fitted, Watch):
        made = {**reproduce_section(fitted), **(reproduce or {})}
        return {"watch": fitted.to_dict(), "reproduce": made, **(more or {})}
    if isinstance(fitted, Diagnosis):
        found = _of_diagnosis(fitted)
    elif isinstance(fitted, Adapted):
        check_is_fitted(fitted)
        found = _of_model(fitted)
    elif isinstance(fitted, SVMPath):
        found = _of_path(fitted)
    elif hasattr(fitted, "weigh"):
        check_is_fitted(fitted, "weights_")
        found = _of_weighter(fitted, diagnosis)
    else:
        raise InvalidType(
            "a record is of an Adapted, a weighter, a Diagnosis, an SVMPath or a "
            f"Watch, got {type(fitted).__name__}"
        )
    if performance is not None:
        found["performance"] = performance.to_dict() | _of_both(found)
        found["headline"] = headline_section(found["performance"])
    if data is not None:
        found["data"] = with_what_is_told(found.get("data", {}), data)
    found["guarantees"] = guarantees_section(found)
    made_by = fitted.estimator if isinstance(fitted, SVMPath) else fitted
    found["reproduce"] = {**reproduce_section(made_by), **(reproduce or {})}
    return {**found, **(more or {})}


def _of_both(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the two tables already: one quantity, one number."""
    shift = found.get("shift") or {}
    return {key: shift[key] for key in ("thin", "verdict") if key in shift}


def _of_diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    found: dict[str, Any] = {
        "data": data_section(diagnosis),
        "shift": _shift(diagnosis),
    }
    return found | _scores(diagnosis)


def _scores(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the scores of the rows, where the diagnosis has kept them."""
    seen = getattr(diagnosis, "overlap", None)
    return {} if seen is None else {"overlap": overlap_section(seen, None)}


def _of_weighter(weighter: Any, diagnosis: Diagnosis | None) -> dict[str, Any]:
    rows = SeenRows.of(weighter, None)
    found: dict[str, Any] = {
        "data": {
            "source": {"rows": int(weighter.weights_.size)},
            **({} if rows is None else {"target": {"rows": rows.n_target}}),
        },
        "weights": weights_section(weighter, weighter.weights_),
    }
    if isinstance(weighter, PartialWeights):
        found["classes"] = classes_section(weighter)
    spectrum = spectrum_section(weighter)
    if diagnosis is not None:
        found["shift"] = _shift(diagnosis)
    if spectrum is not None:
        found["shift"] = {**found.get("shift", {}), "spectrum": spectrum}
    return _with_rows(found, weighter, rows, diagnosis, weighter.random_state)


def _of_path(path: SVMPath) -> dict[str, Any]:
    return {
        "data": {"source": {"rows": len(path.estimator.X_fit_)}},
        "path": path_section(path),
    }


def _of_model(model: Adapted) -> dict[str, Any]:
    diagnosis, weighter = model.diagnosis_, model.weighter_
    found: dict[str, Any] = {}
    if diagnosis is not None:
        found["data"] = data_section(diagnosis)
        found["shift"] = _shift(diagnosis)
    else:
        found["data"] = {"source": {"rows": int(model.weights_.size)}}
    ratio = np.ones(model.weights_.size) if weighter is None else weighter.weights_
    found["weights"] = weights_section(weighter, ratio)
    if weighter is not None:
        rows = SeenRows.of(weighter, model.encoder_)
        found = _with_rows(found, weighter, rows, diagnosis, _seed(model))
    elif diagnosis is not None:
        found |= _scores(diagnosis)
    found["guard"] = None if model.guard_ is None else model.guard_.to_dict()
    if isinstance(weighter, PartialWeights):
        # Its guard tries nothing by cross-validation, and stands with the classes.
        found["classes"], found["guard"] = classes_section(weighter), None
    explained = getattr(model, "label_shift_", None)
    if explained is not None:
        found["label_shift"] = explained.to_dict()
    found["model"] = {
        "type": type(_last(model.estimator_)).__name__,
        "adapted": bool(model.adapted_),
        "exponent": float(model.exponent_),
        "mixing": float(model.mixing_),
        "effective_size": float(model.effective_sample_size_),
        "rows": int(model.weights_.size),
    }
    return found


def _with_rows(
    found: dict[str, Any],
    weighter: Any,
    rows: SeenRows | None,
    diagnosis: Diagnosis | None,
    seed: Any,
) -> dict[str, Any]:
    if rows is not None:
        found["balance"] = balance_section(rows)
        found["overlap"] = _overlap(weighter, rows, diagnosis, seed)
    found["solver"] = solver_section(weighter)
    return found


def _overlap(
    weighter: Any, rows: SeenRows, diagnosis: Diagnosis | None, seed: Any
) -> dict[str, Any]:
    """Return the scores of the diagnosis, or those of the weighter's own rows."""
    seen = getattr(diagnosis, "overlap", None)
    n = None if diagnosis is None else diagnosis.n_source
    # The diagnosis leaves out rows of weight zero, and counts places without them.
    if seen is not None and n == weighter.weights_.size:
        return overlap_section(seen, weighter.weights_)
    return overlap_section(rows.overlap(seed), rows.weights)


def _seed(model: Adapted) -> int | None:
    """Return what the diagnosis drew its folds by; None where nobody knows."""
    return model.random_state if isinstance(model.random_state, int) else None


def _shift(diagnosis: Diagnosis) -> dict[str, Any]:
    return {**diagnosis.to_dict(), "covered": 1.0 - float(diagnosis.thin)}


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
