"""`counterpoise`: one command, its sub-commands, its exit codes."""

import argparse
import sys
import traceback

from counterpoise import __version__
from counterpoise.cli.commands import COMMANDS
from counterpoise.cli.exits import (
    BAD_DATA,
    FAULT,
    INTERRUPTED,
    MEANINGS,
    NO_OVERLAP,
    WRONG_USE,
    Stop,
    one_line,
)
from counterpoise.cli.options import Parser
from counterpoise.cli.refusals import is_refusal

_EXAMPLE = """\
the main job, from two tables to a verdict:
  counterpoise run --source train.csv --label y --target live.csv --out out/

exit codes:
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        code: int = given.run(given.complete(given))
    except KeyboardInterrupt:
        return _ended(INTERRUPTED, MEANINGS[INTERRUPTED], given)
    except Stop as error:
        return _ended(error.code, error, given)
    except BrokenPipeError:
        # Nobody reads any more: what is left to say is not said to stderr either.
        sys.stdout = None
        return WRONG_USE
    except ImportError as error:
        return _ended(WRONG_USE, error, given)
    except OSError as error:
        return _ended(WRONG_USE, error, given)
    except MemoryError as error:
        return _ended(WRONG_USE, f"not enough memory {error}", given)
    except (ValueError, TypeError) as error:
        from counterpoise.validation import NoOverlapError

        if isinstance(error, NoOverlapError):
            told = str(error).replace("force=True", "--despite-no-overlap")
            return _ended(NO_OVERLAP, told, given)
        if is_refusal(error):
            return _ended(BAD_DATA, error, given)
        return _faulty(error, given)
    except Exception as error:
        return _faulty(error, given)
    return code


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
    for command in COMMANDS:
        command.add(commands)
    return parser


def _faulty(error: Exception, given: argparse.Namespace) -> int:
    told = f"a fault of counterpoise, {type(error).__name__}: {error}"
    return _ended(FAULT, f"{told} (--traceback shows where)", given)


def _ended(code: int, why: object, given: argparse.Namespace) -> int:
    if given.traceback:
        traceback.print_exc()
    print(f"counterpoise: {one_line(why)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
