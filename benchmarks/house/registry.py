"""Named answers, and how an answer becomes numbers, lines of text and a digest.

Whatever measures time is left out, so that two runs of one tree agree to the bit.
"""

import hashlib
import re
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

ANSWERS: dict[str, Callable[[], Any]] = {}

_TIMES = re.compile(r"(^|_)(seconds|timings?|fit_time|score_time)$")
_SECONDS = re.compile(r"\b\d[\d.]*(e[+-]?\d+)? (s|ms|seconds)\b")
_MOST = 2000


def answer(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Return a decorator that keeps a function as the answer of this name."""

    def keep(function: Callable[[], Any]) -> Callable[[], Any]:
        if name in ANSWERS:
            raise ValueError(f"two answers are called {name!r}")
        ANSWERS[name] = function
        return function

    return keep


def answers(group: str, cases: Mapping[str, Any] | Iterable[str]) -> Callable:
    """Return a decorator that keeps a function of a case once for every case."""
    named = cases if isinstance(cases, Mapping) else {case: case for case in cases}

    def keep(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for name, case in named.items():
            answer(f"{group}: {name}")(lambda case=case: function(case))
        return function

    return keep


def refused(call: Callable[[], Any]) -> str:
    """Return the type and the message of the error that a call raises."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def picked(thing: Any, *names: str) -> dict[str, Any]:
    """Return attributes by name, those that are there."""
    return {name: getattr(thing, name) for name in names if hasattr(thing, name)}


def kept(name: str) -> dict[str, Any]:
    """Return the entry of an answer: its digest, its numbers and its text."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = ANSWERS[name]()
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            found = f"FAILED {type(error).__name__}: {error} (in {last.name})"
    said = [f"{one.category.__name__}: {one.message}" for one in told]
    numbers, lines = _Numbers(), []
    for place, leaf in _leaves({"answer": found, "warnings": said}, ""):
        if isinstance(leaf, np.ndarray):
            lines.append(f"{place}: {leaf.dtype.kind}{list(leaf.shape)}")
            numbers.add(leaf)
        else:
            lines += [f"{place}: {line}" for line in timeless(leaf).split("\n")]
    text = "\n".join(lines)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    digest.update(numbers.bytes())
    return {
        "digest": digest.hexdigest(),
        "values": {"numbers": numbers.written(), "text": lines},
    }


def timeless(text: str) -> str:
    """Return a text without the seconds that it tells."""
    return _SECONDS.sub("<time>", text)


def without_times(document: Any) -> Any:
    """Return a document of plain dicts and lists without keys that hold times."""
    if isinstance(document, Mapping):
        return {
            key: without_times(value)
            for key, value in document.items()
            if not _TIMES.search(str(key))
        }
    if isinstance(document, list | tuple):
        return [without_times(value) for value in document]
    return document


class _Numbers:
    """All numbers of an answer, in their order."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []

    def add(self, array: np.ndarray) -> None:
        self.parts.append(np.asarray(array, dtype=np.float64).ravel())

    def bytes(self) -> bytes:
        return b"".join(part.tobytes() for part in self.parts)

    def written(self) -> list[str]:
        """Return numbers whose text reads back to the bit; of long arrays, a few."""
        out: list[str] = []
        for part in self.parts:
            few = part
            if len(part) > _MOST:
                few = part[np.linspace(0, len(part) - 1, _MOST).astype(int)]
            out += [repr(float(value)) for value in few]
        return out


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield (place, array or text) for everything inside a value."""
    if isinstance(value, pd.DataFrame | pd.Series):
        frame = value.to_frame() if isinstance(value, pd.Series) else value
        value = {str(name): frame[name].to_numpy() for name in frame.columns}
    elif hasattr(value, "to_dict"):
        value = value.to_dict()
    elif sp.issparse(value):
        value = value.toarray()
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        for key, inside in value.items():
            if not _TIMES.search(str(key)):
                yield from _leaves(inside, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        if value and all(_is_number(one) for one in value):
            yield place, np.asarray(value, dtype=np.float64)
            return
        yield place, f"{len(value)} items"
        for k, inside in enumerate(value):
            yield from _leaves(inside, f"{place}[{k}]")
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield place, value
    elif isinstance(value, np.ndarray):
        yield place, f"{value.dtype.kind}{list(value.shape)}"
        yield place, "\n".join(str(one) for one in value.ravel())
    elif isinstance(value, bytes):
        yield place, f"{len(value)} bytes {hashlib.sha256(value).hexdigest()}"
    elif _is_number(value):
        yield place, np.asarray([value], dtype=np.float64)
    else:
        yield place, str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)
