"""Whether an error refuses what the user gave, or is a fault of the program."""

import dis

_RAISE = dis.opmap["RAISE_VARARGS"]
# What checks a user's data and parameters: this package, and what it fits with.
_CHECKING = ("counterpoise", "sklearn")
# Parts below the checks see only what has passed them, and the command line refuses
# with `Stop`: an error of these is a fault.
_NOT_CHECKING = (
    "counterpoise.cli",
    "counterpoise.convex",
    "counterpoise.numerics",
    "counterpoise.report",
)


def is_refusal(error: BaseException) -> bool:
    """Return whether an error was raised by a check of what the user gave.

    A check has a `raise` of its own, in a part that checks. An error that comes out of
    an operation there, or of another library, is nobody's message to the user.

    Examples
    --------
    >>> from counterpoise.validation import check_integer
    >>> try:
    ...     check_integer("n", -1, low=0)
    ... except ValueError as error:
    ...     is_refusal(error)
    True
    >>> try:
    ...     int("x")
    ... except ValueError as error:
    ...     is_refusal(error)
    False
    """
    last = error.__traceback__
    if last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    module = str(last.tb_frame.f_globals.get("__name__", ""))
    raised = last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE
    return raised and _within(module, _CHECKING) and not _within(module, _NOT_CHECKING)


def _within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in packages)
