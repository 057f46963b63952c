"""`counterpoise watch`: a deployed model followed chunk after chunk."""

import argparse
from typing import Any

from counterpoise.cli.options import add_command

_OPTIONS = (
    "model",
    "reference",
    "label",
    "table",
    "time",
    "every",
    "id",
    "metric",
    "level",
    "alarm",
    "tolerance",
    "out",
    "seed",
    "json",
    "text",
    "fail-if",
    "max-memory",
    "config",
    "force",
    "quiet",
)
# Of all looks, of this run, and of the last chunk.
WATCH_NUMBERS = (
    "alarms",
    "new_alarms",
    "inputs",
    "risk",
    "estimate",
    "looks",
    "auc",
    "covered",
    "estimated",
    "realised",
)


def add_watch(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "watch",
        "watch a saved model: alarms that hold over all looks",
        _OPTIONS,
        watch_command,
        needs=("table", "time", "out"),
        numbers=WATCH_NUMBERS,
        epilog=(
            "The first run needs --model, --reference and --label and begins the watch "
            "in --out; every\nlater one goes on there with the rows of --table that it "
            "has not seen: rows are told\napart by --id, or by their time and all "
            "columns. --label is remembered: labels of\nrows that have been are "
            "counted when they come. --force begins anew."
        ),
    )


def watch_command(options: argparse.Namespace) -> int:
    """Go on with the watch in `--out`, or begin it there."""
    from counterpoise.cli.watching import do

    return do(options, WATCH_NUMBERS)
