"""Numbers of a record for other people's experiment trackers."""

import re
from importlib import import_module
from typing import Any

from counterpoise.report.record import Record

# What MLflow takes in the name of a metric, and how long it may be.
_REFUSED, _LONGEST = re.compile(r"[^\w\-./ ]", re.ASCII), 250


def log_to_mlflow(record: Record, *, prefix: str = "", artifact: bool = True) -> None:
    """Log a record to the active MLflow run: its numbers, and itself as an artifact.

    Parameters
    ----------
    record : Record
    prefix : str
        Put before the name of every metric.
    artifact : bool
        Whether the record is attached as ``counterpoise/report.json``.

    Examples
    --------
    >>> from counterpoise import Record, log_to_mlflow
    >>> record = Record.from_dict({"shift": {"auc": 0.7}})
    >>> record.metrics()
    {'shift.auc': 0.7}
    >>> log_to_mlflow(record, prefix="week_7.")  # doctest: +SKIP
    """
    try:
        mlflow = import_module("mlflow")
    except ImportError as error:
        raise ImportError("log_to_mlflow needs mlflow: pip install mlflow") from error
    mlflow.log_metrics(tracker_metrics(record, prefix))
    if artifact:
        mlflow.log_text(record.to_json(), "counterpoise/report.json")


def tracker_metrics(record: Record, prefix: str = "") -> dict[str, float]:
    """Return the numbers of a record by names that trackers take.

    Examples
    --------
    >>> tracker_metrics(Record.from_dict({"shift": {"a<b>": 1.0}}))
    {'shift.a_b_': 1.0}
    """
    found: dict[str, Any] = {}
    for name, value in record.metrics().items():
        safe = _REFUSED.sub("_", f"{prefix}{name}")[:_LONGEST]
        found.setdefault(safe, value)
    return found
