"""`counterpoise report`: the page of a record, made again."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def add_report(commands: Any) -> None:
    """Add the command to the parser."""
    about = "make the page of a record again"
    parser = commands.add_parser("report", help=about, description=about)
    parser.add_argument("record", type=Path, help="report.json of an earlier run")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="page to write (default: the record's name with .html)",
    )
    parser.add_argument(
        "--text",
        action="store_true",
        help="print the report to stdout as plain text; a page is written with --out "
        "alone",
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite files that are there"
    )
    parser.set_defaults(complete=lambda given: given, run=report_command)


def report_command(options: argparse.Namespace) -> int:
    """Write the page, or print the text."""
    from counterpoise.cli.exits import FINE
    from counterpoise.cli.writing import check_file, refuse_inputs, write_file
    from counterpoise.report import render

    record = read_record(options.record)
    out = options.out
    if out is None and not options.text:
        out = options.record.with_suffix(".html")
    if out is not None:
        refuse_inputs([out], [options.record])
        check_file(out, force=options.force)
    beside = out is not None and out.resolve().parent == options.record.resolve().parent
    with shown(options.record):
        page = render(record, record_file=options.record.name if beside else None)
        text = page.text() if options.text else ""
    sys.stdout.write(text)
    if out is not None:
        write_file(out, page.save, force=options.force)
        print(f"written: {out}", file=sys.stderr)
    return FINE


def read_record(path: Path) -> Any:
    """Return the record of a file, or say why it is none."""
    from counterpoise.cli.exits import BadData
    from counterpoise.report import Record

    if path.is_dir():
        raise BadData(f"{path} is a folder, not a file")
    try:
        return Record.load(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadData(f"{path} cannot be read: {reason}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise BadData(f"{path}: {error}") from error


@contextmanager
def shown(*paths: Path) -> Iterator[None]:
    """Say that a record cannot be shown, whatever is wrong inside it.

    Anybody can write a file that has the version of a record and not its contents.
    """
    from counterpoise.cli.exits import BadData, Stop

    try:
        yield
    except (Stop, ImportError, OSError, MemoryError):
        raise
    except Exception as error:
        which = " or ".join(map(str, paths))
        words = f"{type(error).__name__}: {error}"
        raise BadData(f"{which} is no record that can be shown: {words}") from error
