"""`counterpoise fit`: the main job without the estimate of the target's score."""

import argparse
from typing import Any

from counterpoise.cli.commands.run import RUN_OPTIONS
from counterpoise.cli.fail_if import FIT_NUMBERS
from counterpoise.cli.options import add_command

_ESTIMATES_ONLY = ("target-labels", "precision", "level")


def add_fit(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "fit",
        "weigh and fit, without an estimate of the score on the target",
        [name for name in RUN_OPTIONS if name not in _ESTIMATES_ONLY],
        fit_command,
        needs=("source", "label", "target", "out"),
        numbers=FIT_NUMBERS,
        epilog="writes report.html, report.json, weights.parquet, model.skops and "
        "timings.json into the folder --out.",
    )


def fit_command(options: argparse.Namespace) -> int:
    """Do the main job without estimates."""
    from counterpoise.cli.job import do

    return do(options, estimates=False)
