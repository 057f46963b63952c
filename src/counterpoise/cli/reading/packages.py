"""Packages that reading needs, imported when a table is read."""

from typing import Any

from counterpoise.cli.exits import WrongUse


def import_pyarrow() -> Any:
    """Return pyarrow, or say what to install."""
    try:
        import pandas  # noqa: F401
        import pyarrow
        import pyarrow.types
    except ImportError as error:
        raise WrongUse(
            f"{error.name} is needed to read tables: pip install 'counterpoise[cli]'"
        ) from error
    return pyarrow


def import_calamine() -> Any:
    """Return python_calamine, or say what to install."""
    try:
        import python_calamine
    except ImportError as error:
        raise WrongUse(
            "python-calamine is needed to read workbooks: pip install "
            "'counterpoise[excel]'"
        ) from error
    return python_calamine
