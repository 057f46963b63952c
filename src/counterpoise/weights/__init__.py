"""Two samples in, a weight a source row out.

The weighters of the registry are imported when they are first used.
"""

from typing import Any

from counterpoise.weights.registry import WEIGHTERS as _WEIGHTERS

_REGISTERED = {entry.name: entry for entry in _WEIGHTERS}

__all__ = list(_REGISTERED)


def __getattr__(name: str) -> Any:
    if name not in _REGISTERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _REGISTERED[name].load()
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
