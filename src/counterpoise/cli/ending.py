"""How a command ends: what it says, where, and with which code."""

from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from counterpoise.cli.exits import (
    CONDITION_HOLDS,
    FINE,
    NO_OVERLAP,
    NOT_PROVED,
    WrongUse,
)
from counterpoise.cli.fail_if import Condition, holding, read_conditions
from counterpoise.cli.record import flat_numbers, is_proved
from counterpoise.cli.terminal import Block, show
from counterpoise.cli.writing import STDOUT, check_json, refuse_inputs, write_record
from counterpoise.report.record import Record
from counterpoise.report.text import record_text

# Options that name files to read.
_READ = ("source", "target", "table", "model", "reference", "config", "target_labels")


def prepare_outputs(
    options: Namespace, names: Collection[str], files: Collection[Path] = ()
) -> list[Condition]:
    """Return the conditions of `--fail-if`; refuse what cannot be written.

    Parameters
    ----------
    options : those of the command
    names : strings
        Numbers that a condition may be about.
    files : paths
        What else the command writes, and `--json` must not.
    """
    check_json(options.json, force=options.force)
    if options.json not in (None, STDOUT):
        apart = {path.resolve() for path in files}
        if Path(options.json).resolve() in apart:
            raise WrongUse(f"--json {options.json} is a file that --out writes")
        files = [*files, Path(options.json)]
    refuse_inputs(files, inputs_of(options))
    return read_conditions(options.fail_if, names)


def inputs_of(options: Namespace) -> list[Path]:
    """Return the files that a command reads."""
    given = (getattr(options, name, None) for name in _READ)
    files = [path for path in given if isinstance(path, Path)]
    maybe = (getattr(options, name, None) for name in ("estimator", "weights"))
    return [*files, *(Path(one) for one in maybe if one and Path(one).is_file())]


@contextmanager
def memory_limit(options: Namespace) -> Iterator[None]:
    """Run what is inside with the memory budget of `--max-memory`."""
    if options.max_memory is None:
        yield
        return
    from counterpoise.engine import memory_budget

    with memory_budget(options.max_memory):
        yield


def exit_code(
    record: Record, conditions: Collection[Condition], *, refused: bool = False
) -> tuple[int, list[str]]:
    """Return the exit code, and in words why it is not zero.

    A missing overlap counts before a proof that fails, and that before a condition.

    Parameters
    ----------
    record : Record
    conditions : those of `--fail-if`
    refused : bool
        Whether the command stopped because the source does not cover the target.
    """
    numbers = flat_numbers(record, {condition.name for condition in conditions})
    held = holding(conditions, numbers)
    reasons = [f"--fail-if {text}" for text in held]
    if not is_proved(record):
        reasons.insert(0, "the certificate of the weights does not hold")
    code = CONDITION_HOLDS if held else FINE
    code = code if is_proved(record) else NOT_PROVED
    return NO_OVERLAP if refused else code, reasons


def print_findings(options: Namespace, record: Record, blocks: Iterable[Block]) -> None:
    """Write the findings where the options want them."""
    if options.text:
        print(record_text(record), end="")
    if not options.quiet:
        show(blocks)
    if options.json is not None:
        write_record(options.json, record.to_json(), force=options.force)
