"""What it takes to make the same again."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "clarabel",
    "pandas",
    "pyarrow",
    "matplotlib",
    "jinja2",
)


def reproduce_section(fitted: Any) -> dict[str, Any]:
    """Return versions, the platform, and the parameters of what was fitted."""
    from counterpoise import __version__

    found: dict[str, Any] = {
        "versions": {
            "counterpoise": __version__,
            "python": ".".join(map(str, sys.version_info[:3])),
            **{name: _version(name) for name in _PACKAGES},
        },
        "platform": " ".join(filter(None, (platform.system(), platform.machine()))),
    }
    if hasattr(fitted, "get_params"):
        found["parameters"] = {
            "class": type(fitted).__name__,
            **{
                key: _told(value)
                for key, value in sorted(fitted.get_params(deep=False).items())
            },
        }
    return found


def _told(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    # Others by their names: a repr may hold data, or an address.
    return getattr(value, "__name__", type(value).__name__)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
