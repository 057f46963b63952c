"""The report data: creation, reading and writing."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.report.sections import Section, sections_of

if TYPE_CHECKING:
    from counterpoise.performance.result import Performance
    from counterpoise.shift.diagnosis import Diagnosis

# -----------------------------------------------------------------------------
# Plain JSON for what a record may hold.
# -----------------------------------------------------------------------------


_NOT_A_NUMBER, _INFINITE = "not a number", "infinite"


def plain(value: object) -> tuple[Any, dict[str, str]]:
    """Return plain Python, and for every number that JSON cannot write the reason.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64(0.5), "b": [float("inf")]})
    ({'a': 0.5, 'b': [None]}, {'b.0': 'infinite'})
    """
    reasons: dict[str, str] = {}
    return _plain(value, (), reasons), reasons


def _plain(value: object, path: tuple[str, ...], reasons: dict[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {
            str(key): _plain(item, (*path, str(key)), reasons)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, str(k)), reasons) for k, item in enumerate(value)]
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), path, reasons)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        reasons[".".join(path)] = _NOT_A_NUMBER if math.isnan(value) else _INFINITE
        return None
    raise InvalidTypeError(
        f"a record holds numbers, strings, lists and dictionaries; "
        f"{'.'.join(path)} is a {type(value).__name__}"
    )


# -----------------------------------------------------------------------------
# What was found, chosen and proved, as one JSON document.
# -----------------------------------------------------------------------------


SCHEMA_VERSION = 2
_VERSION = "schema_version"
_UNDEFINED = "undefined"


@dataclass(frozen=True, eq=False)
class Report:
    """All that a report shows: one section a step, aggregates only.

    No row of data is in it, and no time, so that the same seed gives the same bytes;
    its size grows with the number of columns, not with that of rows. The schema is in
    `docs/record.md`.

    Attributes
    ----------
    sections : dict
        data, shift, weights, balance, overlap, solver, guard, model, path, performance,
        headline, guarantees, reproduce; monitor: those that are known.

    Examples
    --------
    >>> from counterpoise import KLIEP
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(random_state=0)
    >>> fitted = KLIEP(gamma=1.0).fit(shift.X, X_target=shift.X_target)
    >>> record = Report.from_estimator(fitted)
    >>> record["weights"]["chosen"], Report.from_json(record.to_json()) == record
    ('KLIEP', True)
    """

    sections: Mapping[str, Any] = field(repr=False)

    @classmethod
    def from_estimator(
        cls,
        fitted: object,
        performance: "Performance | None" = None,
        *,
        data: Section | None = None,
        reproduce: Section | None = None,
        diagnosis: "Diagnosis | None" = None,
        **more: object,
    ) -> "Report":
        """Return the record of a fitted object: the sections that it can fill.

        Parameters
        ----------
        fitted : Adapted, weight estimator, Diagnosis, SVMPath or ModelMonitor
        performance : Performance or None
            Of `estimate_performance`.
        data : mapping or None
            What else is known of the tables (files, hashes, classes); it is put over
            what the fitted object knows.
        reproduce : mapping or None
            How to make it again (command, options), put over versions and parameters.
        diagnosis : Diagnosis or None
            Of a weight estimator's two tables; an `Adapted` has its own.
        **more
            Sections of the caller's own, such as notices.
        """
        return cls.from_dict(
            sections_of(
                fitted,
                performance,
                data=data,
                reproduce=reproduce,
                diagnosis=diagnosis,
                more=more,
            )
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Report":
        """Return the record of a document: the inverse of `to_dict`."""
        if not isinstance(document, Mapping):
            raise InvalidTypeError(
                f"a record is an object, got {type(document).__name__}"
            )
        version = document.get(_VERSION, SCHEMA_VERSION)
        if version != SCHEMA_VERSION or isinstance(version, bool):
            raise InvalidInputError(
                f"the record has {_VERSION} {version!r}, and this version of "
                f"counterpoise reads {SCHEMA_VERSION}: run the command again"
            )
        before = dict(document.get(_UNDEFINED) or {})
        rest = {k: v for k, v in document.items() if k not in (_VERSION, _UNDEFINED)}
        sections, reasons = plain(rest)
        undefined = {**before, **reasons}
        return cls({**sections, **({_UNDEFINED: undefined} if undefined else {})})

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Return the record that is written in a JSON text."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidInputError(f"this is no record: {error}") from error
        except RecursionError as error:
            raise InvalidInputError(
                "this is no record: it is nested too deep"
            ) from error
        if not isinstance(document, dict) or _VERSION not in document:
            raise InvalidInputError(f"this is no record: it has no {_VERSION}")
        return cls.from_dict(document)

    @classmethod
    def load(cls, path: str | Path) -> "Report":
        """Return the record of a JSON file."""
        if Path(path).exists() and not Path(path).is_file():
            # A pipe would be waited for, and a device has no end.
            raise InvalidInputError(
                f"{path} is a folder, a pipe or a device, not a file"
            )
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def save(self, path: str | Path) -> None:
        """Write the record to a JSON file."""
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")

    def to_json(self) -> str:
        """Return the record as JSON that every reader takes, always the same bytes."""
        # A lone half of a surrogate pair has no UTF-8: it is written as an escape.
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
        return f"{safe}\n"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dictionaries."""
        return {_VERSION: SCHEMA_VERSION, **deepcopy(dict(self.sections))}

    def to_text(self) -> str:
        """Return the report as plain text: the verdict, the numbers and the tables."""
        from counterpoise.report.page import record_text

        return record_text(self)

    def to_html(self, path: str | Path, *, record_file: str | None = None) -> None:
        """Write the report as one HTML page.

        Parameters
        ----------
        path : str or Path
        record_file : str or None
            Name of the record's file in the same folder, to link to.
        """
        from counterpoise.report.page import render

        render(self, record_file=record_file).save(path)

    def metrics(self) -> dict[str, float]:
        """Return every number that stands alone, by its path, for trackers.

        Examples
        --------
        >>> Report.from_dict({"shift": {"auc": 0.5, "mmd": None}}).metrics()
        {'shift.auc': 0.5}
        """
        return dict(_numbers(self.sections, ()))

    def at(self, path: str, default: Any = None) -> Any:
        """Return what stands at a path such as ``"shift.auc"``, None if nothing."""
        found: Any = self.sections
        for key in path.split("."):
            if isinstance(found, list) and key.isdigit() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, Mapping) and key in found:
                found = found[key]
            else:
                return default
        return default if found is None else found

    @property
    def monitor(self) -> Any:
        """The section of a `ModelMonitor`: settings, history, alerts; None without."""
        return self.sections.get("monitor")

    def __getitem__(self, section: str) -> Any:
        return self.sections[section]

    def __contains__(self, section: object) -> bool:
        return self.sections.get(str(section)) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self.sections == other.sections

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Report({', '.join(self.sections)})"


def _numbers(
    value: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[str, float]]:
    for key, item in value.items():
        if isinstance(item, Mapping):
            # The values of a finding stand elsewhere too.
            if key != "finding":
                yield from _numbers(item, (*path, key))
        elif isinstance(item, bool | int | float):
            yield ".".join((*path, key)), float(item)


# -----------------------------------------------------------------------------
# Numbers of a record for other people's experiment trackers.
# -----------------------------------------------------------------------------


# What MLflow takes in the name of a metric, and how long it may be.
_REFUSED, _LONGEST = re.compile(r"[^\w\-./ ]", re.ASCII), 250


def log_to_mlflow(record: Report, *, prefix: str = "", artifact: bool = True) -> None:
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
    >>> from counterpoise import Report
    >>> from counterpoise.report import log_to_mlflow
    >>> record = Report.from_dict({"shift": {"auc": 0.7}})
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


def tracker_metrics(record: Report, prefix: str = "") -> dict[str, float]:
    """Return the numbers of a record by names that trackers take.

    Examples
    --------
    >>> tracker_metrics(Report.from_dict({"shift": {"a<b>": 1.0}}))
    {'shift.a_b_': 1.0}
    """
    found: dict[str, Any] = {}
    for name, value in record.metrics().items():
        safe = _REFUSED.sub("_", f"{prefix}{name}")[:_LONGEST]
        found.setdefault(safe, value)
    return found
