"""Plain JSON for what a record may hold."""

import math
from collections.abc import Mapping
from typing import Any

from counterpoise.validation import InvalidType

_NOT_A_NUMBER, _INFINITE = "not a number", "infinite"


def plain(value: Any) -> tuple[Any, dict[str, str]]:
    """Return plain Python, and for every number that JSON cannot write the reason.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64(0.5), "b": [float("inf")]})
    ({'a': 0.5, 'b': [None]}, {'b.0': 'infinite'})
    """
    reasons: dict[str, str] = {}
    return _plain(value, (), reasons), reasons


def _plain(value: Any, path: tuple[str, ...], reasons: dict[str, str]) -> Any:
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
    raise InvalidType(
        f"a record holds numbers, strings, lists and dictionaries; "
        f"{'.'.join(path)} is a {type(value).__name__}"
    )
