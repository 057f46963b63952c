"""`counterpoise diagnose`: what has shifted between two tables, and what is covered."""

import argparse
from typing import Any

from counterpoise.cli.fail_if import SHIFT_NUMBERS
from counterpoise.cli.options import add_command

_OPTIONS = (
    "source",
    "target",
    "label",
    "drop",
    "categorical",
    "numeric",
    "id",
    "groups",
    "time",
    "seed",
    "json",
    "text",
    "fail-if",
    "max-memory",
    "workers",
    "scheduler",
    "wait",
    "config",
    "force",
    "quiet",
)

_READING, _DIAGNOSING = _PLAN = "reading the tables", "diagnosing the shift"


def add_diagnose(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "diagnose",
        "say what has shifted between two tables, and what is covered",
        _OPTIONS,
        diagnose_command,
        needs=("source", "target"),
        numbers=SHIFT_NUMBERS,
    )


def diagnose_command(options: argparse.Namespace) -> int:
    """Diagnose the shift and say it."""
    from counterpoise.cli.ending import (
        exit_code,
        memory_limit,
        prepare_outputs,
        print_findings,
    )
    from counterpoise.cli.findings import of_end, of_record
    from counterpoise.cli.in_blocks.large_pair import (
        LargePair,
        data_card,
        working_on_blocks,
    )
    from counterpoise.cli.notices import of_dependence
    from counterpoise.cli.progress import followed
    from counterpoise.cli.reading.pair import read_pair
    from counterpoise.cli.record import reproduced_by
    from counterpoise.diagnosis import diagnose
    from counterpoise.report.record import Record
    from counterpoise.samples.overlap_verdict import NO_OVERLAP

    conditions = prepare_outputs(options, SHIFT_NUMBERS)
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
        for rests_on in [] if large is None else large.told(pair):
            steps.notice(rests_on)
        steps.begin(_DIAGNOSING)
        diagnosis = diagnose(
            pair.table,
            pair.table_target,
            **pair.belonging,
            random_state=options.seed,
        )
        for told in of_dependence(diagnosis):
            steps.notice(told)
        record = Record.of(
            diagnosis,
            data=data_card(pair, large),
            reproduce=reproduced_by(options),
            notices=list(steps.notices),
        )
    refused = diagnosis.verdict == NO_OVERLAP
    code, reasons = exit_code(record, conditions, refused=refused)
    print_findings(options, record, [*of_record(record), *of_end(reasons)])
    return code
