"""Who raised an error: by the innermost frame of its traceback."""

import dis
from types import TracebackType

_RAISE = dis.opmap["RAISE_VARARGS"]


def was_raised_by(error: BaseException, package: str) -> bool:
    """Return whether a `raise` in a package made the error.

    An error that comes out of an operation there, or out of another library that was
    called from there, was not raised by it.

    Examples
    --------
    >>> from counterpoise.validation import check_integer
    >>> try:
    ...     check_integer("n", -1, low=0)
    ... except ValueError as error:
    ...     was_raised_by(error, "counterpoise"), was_raised_by(error, "sklearn")
    (True, False)
    >>> try:
    ...     int("x")
    ... except ValueError as error:
    ...     was_raised_by(error, "counterpoise")
    False
    """
    last = error.__traceback__
    if last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    module = str(last.tb_frame.f_globals.get("__name__", ""))
    return _raises(last) and (module == package or module.startswith(f"{package}."))


def _raises(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_code[frame.tb_lasti] == _RAISE
