"""The command line: parser, commands and errors."""

import argparse
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from counterpoise import __version__
from counterpoise.cli.fit import add_diagnose, add_fit, add_run, add_weights
from counterpoise.cli.monitor import add_monitor
from counterpoise.cli.options import Parser
from counterpoise.cli.predict import add_evaluate, add_label, add_predict
from counterpoise.cli.terminal import (
    FAULT,
    INTERRUPTED,
    MEANINGS,
    WRONG_USE,
    code_of,
    one_short_line,
    refusal,
)
from counterpoise.cli.tools import (
    add_compare,
    add_demo,
    add_doctor,
    add_report,
    add_rerun,
)

_EXAMPLE = """\
the main job, from two tables to a verdict:
  counterpoise run --source train.csv --label y --target live.csv --out out/

exit codes:
"""

# In the order of the help.
COMMANDS = (
    add_run,
    add_diagnose,
    add_weights,
    add_fit,
    add_predict,
    add_evaluate,
    add_label,
    add_monitor,
    add_report,
    add_compare,
    add_rerun,
    add_demo,
    add_doctor,
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = _parser()
    given, unknown = parser.parse_known_args(arguments)
    if unknown and hasattr(given, "unknown"):
        given.unknown(unknown)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        with _terminated_as_interrupted():
            code: int = given.run(given.complete(given))
    except BrokenPipeError:
        # Nobody reads any more: what is left to say is not said to stderr either.
        sys.stdout = None
        return WRONG_USE
    except (Exception, KeyboardInterrupt) as error:
        if given.traceback:
            traceback.print_exc()
        code = code_of(error)
        print(f"counterpoise: {one_short_line(_told(error, code))}", file=sys.stderr)
    return code


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Let the wish to terminate end a command as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> Parser:
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())
    parser = Parser(
        prog="counterpoise",
        description="Learning where training and deployment data differ, with proof.",
        epilog=f"{_EXAMPLE}{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        "--traceback", action="store_true", help="show where an error came from"
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    for add_command in COMMANDS:
        add_command(commands)
    return parser


def _told(error: BaseException, code: int) -> str:
    """Return what ended the command, in the words of the command line."""
    from counterpoise.data.parallel import ClusterUnavailableError
    from counterpoise.errors import NoOverlapError

    if code == INTERRUPTED:
        return MEANINGS[INTERRUPTED]
    if isinstance(error, NoOverlapError):
        return refusal(error).text("terminal")
    if code == FAULT:
        name = type(error).__name__
        return f"a fault of counterpoise, {name}: {error} (--traceback shows where)"
    if isinstance(error, ClusterUnavailableError):
        return str(error).replace("`wait=`", "--wait").replace("`", "")
    if isinstance(error, MemoryError):
        return f"not enough memory {error}"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
