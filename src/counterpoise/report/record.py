"""What was found, chosen and proved, as one JSON document."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterpoise.report.plain import plain
from counterpoise.report.sections import sections_of
from counterpoise.report.upgrades import upgraded
from counterpoise.validation import InvalidInput, InvalidType

SCHEMA_VERSION = 1
_VERSION = "schema_version"
_UNDEFINED = "undefined"


class NewerRecordError(InvalidInput):
    """A record was written by a later version of the library."""


@dataclass(frozen=True, eq=False)
class Record:
    """All that a report shows: one section a step, aggregates only.

    No row of data is in it, and no time, so that the same seed gives the same bytes;
    its size grows with the number of columns, not with that of rows. The schema is in
    `docs/record.md`.

    Attributes
    ----------
    sections : dict
        data, shift, weights, balance, overlap, solver, guard, model, path, performance,
        headline, guarantees, reproduce; watch: those that are known.

    Examples
    --------
    >>> from counterpoise import KLIEP
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(random_state=0)
    >>> fitted = KLIEP(gamma=1.0).fit(shift.X, X_target=shift.X_target)
    >>> record = Record.of(fitted)
    >>> record["weights"]["chosen"], Record.from_json(record.to_json()) == record
    ('KLIEP', True)
    """

    sections: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(
        cls,
        fitted: Any,
        performance: Any = None,
        *,
        data: Mapping[str, Any] | None = None,
        reproduce: Mapping[str, Any] | None = None,
        diagnosis: Any = None,
        **more: Any,
    ) -> "Record":
        """Return the record of a fitted object: the sections that it can fill.

        Parameters
        ----------
        fitted : Adapted, weighter, Diagnosis, SVMPath or Watch
        performance : Performance or None
            Of `estimate_performance`.
        data : mapping or None
            What else is known of the tables (files, hashes, classes); it is put over
            what the fitted object knows.
        reproduce : mapping or None
            How to make it again (command, options), put over versions and parameters.
        diagnosis : Diagnosis or None
            Of a weighter's two tables; an `Adapted` has its own.
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
    def from_dict(cls, document: Mapping[str, Any]) -> "Record":
        """Return the record of a document: of `to_dict`, of any version so far."""
        if not isinstance(document, Mapping):
            raise InvalidType(f"a record is an object, got {type(document).__name__}")
        version = document.get(_VERSION, SCHEMA_VERSION)
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise InvalidInput(f"{_VERSION} must be a whole number, got {version!r}")
        if version > SCHEMA_VERSION:
            raise NewerRecordError(
                f"the record has {_VERSION} {version}, and this version of "
                f"counterpoise reads up to {SCHEMA_VERSION}: install a later one"
            )
        before = dict(document.get(_UNDEFINED) or {})
        rest = {k: v for k, v in document.items() if k not in (_VERSION, _UNDEFINED)}
        sections, reasons = plain(upgraded(rest, version))
        undefined = {**before, **reasons}
        return cls({**sections, **({_UNDEFINED: undefined} if undefined else {})})

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """Return the record that is written in a JSON text."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidInput(f"this is no record: {error}") from error
        except RecursionError as error:
            raise InvalidInput("this is no record: it is nested too deep") from error
        if not isinstance(document, dict) or _VERSION not in document:
            raise InvalidInput(f"this is no record: it has no {_VERSION}")
        return cls.from_dict(document)

    @classmethod
    def load(cls, path: str | Path) -> "Record":
        """Return the record of a JSON file."""
        if Path(path).exists() and not Path(path).is_file():
            # A pipe would be waited for, and a device has no end.
            raise InvalidInput(f"{path} is a folder, a pipe or a device, not a file")
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

    def metrics(self) -> dict[str, float]:
        """Return every number that stands alone, by its path, for trackers.

        Examples
        --------
        >>> Record.from_dict({"shift": {"auc": 0.5, "mmd": None}}).metrics()
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
    def watch(self) -> Any:
        """The section of a `Watch`: settings, history, alarms; None without one."""
        return self.sections.get("watch")

    def __getitem__(self, section: str) -> Any:
        return self.sections[section]

    def __contains__(self, section: object) -> bool:
        return self.sections.get(str(section)) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.sections == other.sections

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Record({', '.join(self.sections)})"


def _numbers(
    value: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[str, float]]:
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _numbers(item, (*path, key))
        elif isinstance(item, bool | int | float):
            yield ".".join((*path, key)), float(item)
