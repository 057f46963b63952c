"""What a saved model knows of each row that it predicts: coverage, weight, interval."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise.cli.exits import BadData
from counterpoise.diagnosis.percentages import percentage
from counterpoise.samples.coverage.thin_by_chance import THIN_ABOVE
from counterpoise.validation import refusals_of_estimators


def interval_columns(model: Any, X: Any, level: float, path: Path) -> dict[str, Any]:
    """Return the columns of the intervals, or of the sets, that hold the label.

    An interval is infinite, and a set has all classes, where the source says too little
    about a row.
    """
    if getattr(model, "calibration_", None) is None:
        raise BadData(
            f"{path} holds a model without rows held out for --intervals: fit it with "
            "run --calibration 0.2"
        )
    with refusals_of_estimators():
        if not is_classifier(model.estimator_):
            ends = model.predict_interval(X, level)
            return {"lower": ends[:, 0], "upper": ends[:, 1]}
        held = model.predict_set(X, level)
    names = model.classes_
    columns = {f"set has {name}": held[:, k] for k, name in enumerate(names)}
    return {**columns, "set size": held.sum(axis=1)}


def coverage_columns(
    model: Any,
    X: Any,
    path: Path,
    *,
    asked: bool,
    notice: Callable[[str], None],
) -> dict[str, Any]:
    """Return weight and coverage of the rows if asked for; say how many have none.

    Uncovered is a row about whose density ratio the fit knows nothing: in a hole among
    the source rows, outside the range of both samples, of a larger ratio than any
    target row of the fit, or with a category that neither sample had. Thin is one whose
    weight exceeds that of 99.5 % of the source rows of the fit: few are like it, which
    is said where more than `THIN_ABOVE` of the rows are.
    """
    weighter = getattr(model, "weighter_", None)
    by_rows = weighter is not None and not getattr(weighter, "needs_labels", False)
    if not by_rows or not hasattr(weighter, "beyond"):
        if asked:
            raise BadData(
                f"{path} holds a model that weighs no rows by their columns: "
                "--coverage is not known"
            )
        return {}
    with refusals_of_estimators():
        covered = ~model.uncovered_rows(X)
    lost = int(np.count_nonzero(~covered))
    if lost:
        notice(
            f"{lost:,} of {covered.size:,} rows ({percentage(lost / covered.size)}) "
            "lie where the source has no rows at all: do not rely on their predictions"
            + ("" if asked else " (--coverage says which)")
        )
    with refusals_of_estimators():
        thin = model.thin_rows(X)
    few = int(np.count_nonzero(thin))
    if few > THIN_ABOVE * thin.size:
        notice(
            f"{few:,} of {thin.size:,} rows ({percentage(few / thin.size)}) are thinly "
            "covered, for the source has few rows like them: do not trust their "
            "predictions without labels" + ("" if asked else " (--coverage says which)")
        )
    if not asked:
        return {}
    return {"covered": covered, "thin": thin, "weight": model.weigh(X)}
