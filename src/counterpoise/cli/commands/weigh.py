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
    "workers",
    "scheduler",
    "wait",
    "resume",
    "config",
    "force",
    "despite-no-overlap",
    "quiet",
)

_READING, _WEIGHING, _WRITING = _PLAN = (
    "reading the tables",
    "weighing the source rows",
    "writing the weights",
)


def add_weigh(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "weigh",
        "weigh the rows of one table so that they stand for another's",
        _OPTIONS,
        weigh_command,
        needs=("source", "target", "out"),
        numbers=WEIGHT_NUMBERS,
        epilog="--out is a .parquet or .csv file: a row a source row, with its weight "
        "(the density ratio target/source, of mean one).",
    )


def weigh_command(options: argparse.Namespace) -> int:
    """Weigh the source rows and write the weights."""
    from counterpoise.adaptation.weighing import fit_weighter
    from counterpoise.cli.weighters import build_weighter
    from counterpoise.cli.ending import (
        exit_code,
        memory_limit,
        prepare_outputs,
        print_findings,
    )
    from counterpoise.cli.findings import of_end, of_record
    from counterpoise.cli.in_blocks.fitting import WEIGHTS_FILE, weigh_every_row
    from counterpoise.cli.in_blocks.large_pair import (
        LargePair,
        data_card,
        working_on_blocks,
    )
    from counterpoise.cli.progress import followed
    from counterpoise.cli.reading.pair import read_pair
    from counterpoise.cli.record import reproduced_by
    from counterpoise.cli.writing import check_table, write_columns, write_file
    from counterpoise.diagnosis import diagnose
    from counterpoise.report.record import Record
    from counterpoise.samples.as_read import SamplesAsRead
    from counterpoise.samples.overlap_verdict import NO_OVERLAP
    from counterpoise.validation import NoOverlapError

    conditions = prepare_outputs(options, WEIGHT_NUMBERS, [options.out])
    check_table(options.out, force=options.force)
    large = LargePair.of(options)
    with (
        followed(_PLAN, quiet=options.quiet) as steps,
        memory_limit(options),
        working_on_blocks(options, large),
    ):
        steps.begin(_READING)
        pair = read_pair(options, None if large is None else large.drawn())
        for notice in pair.notices:
            steps.notice(notice)
        steps.begin(_WEIGHING)
        # What is covered is decided by the diagnosis, once.
        decided = options.despite_no_overlap or options.weighter == "auto"
        weighter = build_weighter(options.weighter, force=decided, seed=options.seed)
        samples = SamplesAsRead.of_tables(pair.table, pair.table_target)
        found = diagnose(samples, None, random_state=options.seed)
        if found.verdict == NO_OVERLAP and not options.despite_no_overlap:
            why = "" if found.separation is None else str(found.separation)
            raise NoOverlapError(found.thin, "thin", found.auc, why)
        fit_weighter(weighter, samples)
        every_row = weigh_every_row(weighter, samples, large, pair, options, steps)
        record = Record.of(
            weighter,
            diagnosis=found,
            data=data_card(pair, large),
            reproduce=reproduced_by(options),
            notices=list(steps.notices),
            **every_row.sections,
        )
        steps.begin(_WRITING)
        columns = pair.by_row(options.id, {"weight": weighter.weights_})
        write = every_row.files.get(WEIGHTS_FILE, write_columns(columns))
        write_file(options.out, write, force=options.force)
    code, reasons = exit_code(record, conditions)
    print_findings(
        options, record, [*of_record(record), *of_end(reasons, [options.out])]
    )
    return code
