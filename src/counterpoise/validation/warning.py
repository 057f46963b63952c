"""Warnings that point at the user's own line."""

import sys
import warnings

# Calls pass through these packages on their way here (what is worked out when it is
# first asked for, through functools); no line of theirs is the user's.
_NOT_THE_USER = ("counterpoise", "sklearn", "joblib", "functools")


class OwnWords(str):
    """The words of a warning of ours, which tell it from those of other packages."""

    __slots__ = ()


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called into the library, however deep the finding.

    Lines of scikit-learn are passed over too: a fit inside its cross-validation is
    warned about where the cross-validation was called.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _package(frame.f_globals) in _NOT_THE_USER:
        level, frame = level + 1, frame.f_back
    warnings.warn(OwnWords(message), category, stacklevel=level)


def is_own(warning: Warning | str) -> bool:
    """Return whether a warning was given by `warn_user`."""
    words = warning.args[0] if isinstance(warning, Warning) and warning.args else None
    return isinstance(words, OwnWords)


def _package(module: dict[str, object]) -> str:
    return str(module.get("__name__", "")).partition(".")[0]
