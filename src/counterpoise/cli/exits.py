"""What the command line ends with: a code, and one line that says why."""

from collections.abc import Iterable

FINE = 0
WRONG_USE = 1
BAD_DATA = 2
CONDITION_HOLDS = 3
NO_OVERLAP = 4
NOT_PROVED = 5
# Shells say it so: 128 and the number of the signal.
INTERRUPTED = 130
# A fault of the program itself, as sysexits.h has it.
FAULT = 70

MEANINGS = {
    FINE: "fine",
    WRONG_USE: "wrong use",
    BAD_DATA: "bad data",
    CONDITION_HOLDS: "a --fail-if condition holds",
    NO_OVERLAP: "the source does not cover the target",
    NOT_PROVED: "a certificate does not hold",
    FAULT: "a fault of counterpoise itself",
    INTERRUPTED: "interrupted; no file is half written",
}


class Stop(Exception):  # noqa: N818
    """End the command with a code and a message of one line."""

    code = FAULT


class WrongUse(Stop):
    """What was asked for makes no sense."""

    code = WRONG_USE


class BadData(Stop):
    """A table cannot be used as it is."""

    code = BAD_DATA


def code_of(error: BaseException) -> int:
    """Return the exit code of an error, by its type alone.

    Examples
    --------
    >>> from counterpoise.validation import NoOverlapError
    >>> code_of(NoOverlapError(0.9, "thin")), code_of(ValueError("x"))
    (4, 70)
    """
    if isinstance(error, Stop):
        return error.code
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, ImportError | OSError | MemoryError):
        return WRONG_USE
    from counterpoise.engine.failures import BlockFailedError
    from counterpoise.validation import InvalidInput, NoOverlapError

    if isinstance(error, NoOverlapError):
        return NO_OVERLAP
    # A block fails where its file cannot be read.
    return BAD_DATA if isinstance(error, InvalidInput | BlockFailedError) else FAULT


def listed(names: Iterable[object], most: int = 5) -> str:
    """Return names in quotes, the first few of many.

    Examples
    --------
    >>> listed("abc", most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [repr(name) for name in names]
    if len(quoted) <= most:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:most])} and {len(quoted) - most} more"
