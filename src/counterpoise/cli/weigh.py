"""`counterpoise weigh`: weights that make the source rows stand for the target."""

import argparse
from typing import Any

from counterpoise.cli.fail_if import WEIGHT_NUMBERS
from counterpoise.cli.options import add_command

_OPTIONS = (
    "source",
    "target",
    "out",
    "label",
    "weighter",
    "drop",
    "categorical",
    "numeric",
    "id",
    "seed",
    "json",
    "text",
    "fail-if",
    "max-memory",
    "config",
    "force",
    "despite-no-overlap",
    "quiet",
)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "weigh",
        "weigh the rows of one table so that they stand for another's",
        _OPTIONS,
        run,
        needs=("source", "target", "out"),
        numbers=WEIGHT_NUMBERS,
        epilog="--out is a .parquet or .csv file: a row a source row, with its weight "
        "(the density ratio target/source, of mean one).",
    )


def run(options: argparse.Namespace) -> int:
    """Weigh the source rows and write the weights."""
    from counterpoise.cli import ending, weighters
    from counterpoise.cli.findings import of_end, of_record
    from counterpoise.cli.pair import read_pair
    from counterpoise.cli.progress import followed
    from counterpoise.cli.record import data_of, reproduced_by
    from counterpoise.cli.writing import check_table, write_columns, write_file
    from counterpoise.report.record import Record
    from counterpoise.tables.encoding import as_numbers

    conditions = ending.prepare(options, WEIGHT_NUMBERS, [options.out])
    check_table(options.out, force=options.force)
    with followed(3, quiet=options.quiet) as progress, ending.memory_limit(options):
        progress.step("reading the tables")
        pair = read_pair(options)
        for notice in pair.notices:
            progress.notice(notice)
        progress.step("weighing the source rows")
        X, X_target = as_numbers(pair.X, pair.X_target)
        weighter = weighters.build(
            options.weighter, force=options.despite_no_overlap, seed=options.seed
        )
        weighter.fit(X, X_target=X_target)
        record = Record.of(
            weighter,
            data=data_of(pair),
            reproduce=reproduced_by(options),
            notices=list(progress.notices),
        )
        progress.step("writing the weights")
        columns = pair.by_row(options.id, {"weight": weighter.weights_})
        write_file(options.out, write_columns(columns), force=options.force)
    code, reasons = ending.judged(record, conditions)
    ending.say(options, record, [*of_record(record), *of_end(reasons, [options.out])])
    return code
