"""`counterpoise run`: the main job, from two tables to a verdict."""

import argparse
from typing import Any

from counterpoise.cli.fail_if import ALL_NUMBERS
from counterpoise.cli.options import add_command

RUN_OPTIONS = (
    "source",
    "label",
    "target",
    "out",
    "estimator",
    "metric",
    "weighter",
    "shift",
    "task",
    "drop",
    "categorical",
    "numeric",
    "id",
    "groups",
    "time",
    "weights",
    "cv",
    "calibration",
    "date",
    "target-labels",
    "precision",
    "level",
    "seed",
    "json",
    "text",
    "fail-if",
    "max-memory",
    "workers",
    "scheduler",
    "wait",
    "resume",
    "config",
    "force",
    "despite-no-overlap",
    "quiet",
)


def add_run(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "run",
        "do the main job: diagnose, weigh, fit, estimate the score on the target",
        RUN_OPTIONS,
        run_command,
        needs=("source", "label", "target", "out"),
        numbers=ALL_NUMBERS,
        epilog="writes report.html, report.json, weights.parquet, model.skops and "
        "timings.json into the folder --out;\nwhere the source does not cover the "
        "target (code 4), the report with the diagnosis alone.",
    )


def run_command(options: argparse.Namespace) -> int:
    """Do the main job."""
    from counterpoise.cli.job import do

    return do(options, estimates=True)
