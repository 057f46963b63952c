"""`counterpoise compare`: two records side by side."""

import argparse
import sys
from pathlib import Path
from typing import Any


def add_compare(commands: Any) -> None:
    """Add the command to the parser."""
    about = "show two records side by side: before and after, last month and this"
    parser = commands.add_parser("compare", help=about, description=about)
    parser.add_argument("first", type=Path, help="report.json of one run")
    parser.add_argument("second", type=Path, help="report.json of another")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="page to write; without it the comparison is printed to stdout",
    )
    parser.add_argument(
        "--text", action="store_true", help="print to stdout with --out too"
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite files that are there"
    )
    parser.set_defaults(complete=lambda given: given, run=compare_command)


def compare_command(options: argparse.Namespace) -> int:
    """Write the page, or print the text."""
    from counterpoise.cli.commands.report import read_record, shown
    from counterpoise.cli.exits import FINE
    from counterpoise.cli.writing import check_file, refuse_inputs, write_file
    from counterpoise.report import compare

    if options.out is not None:
        refuse_inputs([options.out], [options.first, options.second])
        check_file(options.out, force=options.force)
    paths = options.first, options.second
    names = (str(options.first), str(options.second))
    if options.first.name != options.second.name:
        names = (options.first.name, options.second.name)
    first, second = (read_record(path) for path in paths)
    with shown(*paths):
        found = compare(first, second, names=names)
        text = found.text()
    if options.text or options.out is None:
        sys.stdout.write(text)
    if options.out is not None:
        write_file(options.out, found.save, force=options.force)
        print(f"written: {options.out}", file=sys.stderr)
    return FINE
