"""`counterpoise label`: rows of the target to be labelled, written to a table."""

import argparse
from typing import Any

from counterpoise.cli.options import add_command

_OPTIONS = (
    "target",
    "label",
    "k",
    "by",
    "out",
    "model",
    "source",
    "seed",
    "config",
    "force",
    "quiet",
)

_CHOOSING, _WRITING = _PLAN = "choosing the rows", "writing the rows"


def add_label(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "label",
        "write rows of the target to be labelled",
        _OPTIONS,
        label_command,
        needs=("target", "label", "out"),
        epilog="Fill in the label's column of --out, and give the file to run or "
        "evaluate: --target-labels FILE. Rows chosen --by gain need --model and "
        "--source; they are for fitting again, among the source rows, and are no "
        "sample of the target.",
    )


def label_command(options: argparse.Namespace) -> int:
    """Choose rows and write them, with an empty column for the label."""
    from counterpoise.cli.ending import inputs_of
    from counterpoise.cli.exits import FINE, BadData
    from counterpoise.cli.findings import of_end
    from counterpoise.cli.progress import followed
    from counterpoise.cli.reading.files import read_file
    from counterpoise.cli.reading.labelled_rows import ROW_BY_CHANCE, ROW_BY_GAIN
    from counterpoise.cli.terminal import show
    from counterpoise.cli.writing import (
        check_table,
        refuse_inputs,
        write_columns,
        write_file,
    )

    refuse_inputs([options.out], inputs_of(options))
    check_table(options.out, force=options.force)
    with followed(_PLAN, quiet=options.quiet) as steps:
        steps.begin(_CHOOSING)
        target = read_file(options.target)
        if not 1 <= options.k <= target.n_rows:
            raise BadData(
                f"--k must be from 1 to {target.n_rows}, the rows of {target.path}, "
                f"got {options.k}"
            )
        by_chance = options.by == "chance"
        rows = _by_chance(options, target.n_rows) if by_chance else _by_gain(options)
        steps.begin(_WRITING)
        key = ROW_BY_CHANCE if by_chance else ROW_BY_GAIN
        columns = {
            key: rows + 1,
            options.label: [""] * len(rows),
            **{
                name: target.columns[name].take(rows)
                for name in target.names
                if name not in (key, options.label)
            },
        }
        write_file(options.out, write_columns(columns), force=options.force)
    if not options.quiet:
        show([*of_end([], [options.out]), _next_step(options)])
    return FINE


def _next_step(options: argparse.Namespace) -> Any:
    """Return what to do with the file: rows by chance judge, others teach."""
    from counterpoise.cli.terminal import Block

    told = f"Fill in the column '{options.label}' of {options.out}, then "
    if options.by == "chance":
        told += f"run or evaluate with --target-labels {options.out}."
    else:
        told += "put its rows among the training rows and run again."
    return Block("What to do next", (told,))


def _by_chance(options: argparse.Namespace, m: int) -> Any:
    import numpy as np

    drawn = np.random.default_rng(options.seed).choice(m, options.k, replace=False)
    return np.sort(drawn)


def _by_gain(options: argparse.Namespace) -> Any:
    from counterpoise.adaptation.labelling import which_rows_to_label
    from counterpoise.cli.commands.evaluate import pair_of_model
    from counterpoise.cli.commands.predict import read_model
    from counterpoise.cli.exits import WrongUse

    if options.model is None or options.source is None:
        raise WrongUse("label --by gain needs --model and --source")
    model = read_model(options.model)
    pair = pair_of_model(model, options)
    return which_rows_to_label(
        model, pair.X, pair.X_target, options.k, random_state=options.seed
    )
