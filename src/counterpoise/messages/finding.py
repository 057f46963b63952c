"""A finding: a code, its severity and its values; its text by surface."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from counterpoise.messages.numbers import in_quotes, percentage
from counterpoise.messages.texts import NOUNS, TEXTS

# Severities, from a fact to a reason not to go on.
INFO, HINT, WARNING, PROBLEM = "info", "hint", "warning", "problem"
# Names in a list that are written out; the others are counted.
NAMES_LISTED = 3


@dataclass(frozen=True)
class Finding:
    """A fact worth reporting.

    Attributes
    ----------
    code : str
        Key of the catalogue of texts.
    severity : {"info", "hint", "warning", "problem"}
    values : dict
        Numbers, names, findings and lists of these, which its text needs.

    Examples
    --------
    >>> found = Finding("assumes_source")
    >>> print(found)
    the target is distributed like the source
    >>> found.text("page")
    'the new data are distributed like the training data'
    """

    code: str
    severity: str = INFO
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text()

    def text(self, surface: str = "python") -> str:
        """Return the text for "python", "terminal", "page" or "monitor".

        A surface that leaves the finding out has the empty text.
        """
        template = TEXTS[self.code]
        if not isinstance(template, str):
            surfaces = (
                surface,
                "terminal" if surface == "page" else "python",
                "python",
            )
            template = next(template[one] for one in surfaces if one in template)
        values = {**NOUNS[surface], **self.values}
        return _Formatter(surface).vformat(template, (), values)

    def to_dict(self) -> dict[str, Any]:
        """Return code, severity and values as plain data."""
        return {
            "code": self.code,
            "severity": self.severity,
            "values": {key: _plain(value) for key, value in self.values.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Finding":
        """Return the finding that `to_dict` described."""
        values = {key: _finding(value) for key, value in data["values"].items()}
        return cls(str(data["code"]), str(data["severity"]), values)


class FindingText(str):
    """The text of a finding, as a warning has it, with the finding."""

    finding: Finding

    def __new__(cls, finding: Finding) -> Self:
        """Return the text in the words of the API."""
        text = super().__new__(cls, str(finding))
        text.finding = finding
        return text


def message(found: object, surface: str) -> str:
    """Return the text of a finding, of its dictionary, or a text as it is."""
    found = _finding(found)
    return found.text(surface) if isinstance(found, Finding) else str(found)


def _plain(value: object) -> object:
    if isinstance(value, Finding):
        return value.to_dict()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _finding(value: object) -> object:
    if isinstance(value, Mapping) and "code" in value:
        return Finding.from_dict(value)
    return [_finding(one) for one in value] if isinstance(value, list) else value


class _Formatter(string.Formatter):
    """Format values: `name`, `names`, `pair`, `percent`, `p`, `signed`, `more`, `join`

    Anything else is a format specification of Python.
    """

    def __init__(self, surface: str) -> None:
        self._surface = surface

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Finding):
            return value.text(self._surface)
        if format_spec.startswith("join"):
            return format_spec[4:].join(message(one, self._surface) for one in value)
        if format_spec == "p" and self._surface != "python" and value < 0.0001:
            return "< 0.0001"
        if format_spec in _FORMATS:
            return str(_FORMATS[format_spec](value))
        return str(format(value, format_spec))


def _names(names: Sequence[str]) -> str:
    listed = ", ".join(map(in_quotes, names[:NAMES_LISTED]))
    return f"{listed}{_more(len(names) - NAMES_LISTED)}"


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _signed(number: float) -> str:
    """Return two decimals with a sign, which zero has not."""
    rounded = f"{number:+.2f}"
    return rounded if float(rounded) else rounded[1:]


_FORMATS: Mapping[str, Any] = {
    "name": in_quotes,
    "names": _names,
    "pair": lambda names: " with ".join(map(in_quotes, names)),
    "percent": percentage,
    "p": "= {:.2g}".format,
    "signed": _signed,
    "more": _more,
}
