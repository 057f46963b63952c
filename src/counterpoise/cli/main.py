"""`counterpoise`: one command, its sub-commands, its exit codes."""

import argparse
import sys

from counterpoise import __version__
from counterpoise.cli import demo

COMMANDS = (demo,)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="counterpoise",
        description="Learning where training and deployment data differ, with proof.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for command in COMMANDS:
        command.add(commands)
    chosen = parser.parse_args(arguments)
    code: int = chosen.run(chosen)
    return code


if __name__ == "__main__":
    sys.exit(main())
