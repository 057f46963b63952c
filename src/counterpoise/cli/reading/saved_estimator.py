"""A model that somebody saved with skops, to be fitted here."""

from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData, WrongUse
from counterpoise.cli.reading.labels import CLASSIFICATION

ENDING = ".skops"


def is_saved(name: str) -> bool:
    """Return whether `--estimator` names a file, and none of the models on offer."""
    return name.casefold().endswith(ENDING)


def saved_estimator(path: Path, task: str) -> Any:
    """Return the model of a file as it was before any fit.

    Of an `Adapted` the estimator inside. Nothing in the file is run: types that are
    not known to be harmless are refused by name.
    """
    from sklearn.base import clone, is_classifier, is_regressor

    from counterpoise.adaptation import Adapted
    from counterpoise.cli.commands.predict import read_model

    found = read_model(path)
    if isinstance(found, Adapted):
        found = found.estimator_
    if not (hasattr(found, "fit") and hasattr(found, "predict")):
        raise BadData(f"{path} holds {type(found).__name__}, which does not predict")
    classes = task == CLASSIFICATION
    if is_regressor(found) if classes else is_classifier(found):
        wanted = "numbers" if classes else "classes"
        raise WrongUse(f"--estimator {path} predicts {wanted}: the label is for {task}")
    return clone(found)
