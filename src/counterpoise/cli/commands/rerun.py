"""`counterpoise rerun`: an earlier run once more, and whether it comes out the same."""

import argparse
from pathlib import Path
from typing import Any

# Commands that write a folder with their record.
_COMMANDS = ("run", "fit")
# Options that say where things are, and what is shown: these are this command's own.
_OWN = frozenset({"out", "json", "text", "config", "force", "quiet"})
# Places of a record that are told of, where many differ.
_MOST_TOLD = 10


def add_rerun(commands: Any) -> None:
    """Add the command to the parser."""
    about = "do an earlier run again: the same bytes, or what differs"
    parser = commands.add_parser(
        "rerun",
        help=about,
        description=about,
        epilog="tables are known by their hash; code 0: the same bytes, 2: a table is "
        "missing or has changed,\n3: something differs, which is told.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "record", type=Path, help="report.json of a run, beside its other files"
    )
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="FOLDER",
        help="where the tables are (default: here, beside the record, or above it)",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="say nothing but errors and differences"
    )
    parser.set_defaults(complete=lambda given: given, run=rerun_command)


def rerun_command(options: argparse.Namespace) -> int:
    """Do the run again in a folder of its own, and compare the files."""
    import tempfile

    from counterpoise.cli.commands.report import read_record, shown
    from counterpoise.cli.exits import BAD_DATA, CONDITION_HOLDS, FAULT, FINE, WRONG_USE
    from counterpoise.cli.main import main
    from counterpoise.cli.terminal import one_line

    record = read_record(options.record)
    with shown(options.record):
        words = _words(record, options)
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again"
        code = main([*words, "--out", str(again), "--quiet"])
        if code in (WRONG_USE, BAD_DATA, FAULT):
            return code
        different = _differences(options.record, again)
    for line in different:
        print(one_line(f"differs: {line}"))
    if not different and not options.quiet:
        print("the same bytes")
    return CONDITION_HOLDS if different else FINE


def _words(record: Any, options: argparse.Namespace) -> list[str]:
    """Return the command of a record, its tables found by their hashes.

    A record is somebody's file: of its words only options that this library knows are
    taken, and of paths only names.
    """
    from counterpoise.cli.exits import BadData
    from counterpoise.cli.options import OPTIONS

    given = record.at("reproduce.command_line")
    if not isinstance(given, list) or len(given) < 2 or given[1] not in _COMMANDS:
        raise BadData(
            f"{options.record} does not say how it was made: records of "
            f"{' and '.join(_COMMANDS)} do"
        )
    words, left = [str(given[1])], [str(word) for word in given[2:]]
    while left:
        name, equals, value = left.pop(0).partition("=")
        option = OPTIONS.get(name.removeprefix("--"))
        if option is None or not name.startswith("--"):
            raise BadData(f"{options.record} has the word {name!r}, which is no option")
        is_flag = option.kind == "flag"
        if not equals and not is_flag and left:
            value = left.pop(0)
        name = name.removeprefix("--")
        if name in _OWN:
            continue
        if option.kind == "path":
            value = str(_table(record, name, value, options))
        words.append(f"--{name}" if is_flag else f"--{name}={value}")
    return words


def _table(record: Any, name: str, value: str, options: argparse.Namespace) -> Path:
    """Return where a table is that has the hash of the record."""
    import hashlib

    from counterpoise.cli.exits import BadData

    if Path(value).name != value:
        raise BadData(f"{options.record} has --{name} {value!r}, which is no name")
    wanted = record.at(f"data.{name}.sha256")
    beside = options.record.resolve().parent
    places = [Path(), beside, beside.parent]
    if options.tables is not None:
        places = [options.tables]
    there = [place / value for place in places if (place / value).is_file()]
    for path in there:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == wanted:
                return path
    if not there:
        raise BadData(f"the table {value!r} is not there: --tables says where it is")
    raise BadData(
        f"{there[0]} is not the table that the record was made from: its hash is "
        "another"
    )


def _differences(record: Path, again: Path) -> list[str]:
    """Return in which files, and where in the record, two runs differ."""
    from counterpoise.cli.job import FILES, RECORD, TIMINGS

    told = []
    for name in FILES:
        old, new = record.with_name(name), again / name
        if name == RECORD:
            old = record
        if name == TIMINGS or not (old.exists() or new.exists()):
            continue
        if not (old.exists() and new.exists()):
            told.append(f"{name} is there {'before' if old.exists() else 'now'} only")
        elif old.read_bytes() != new.read_bytes():
            told.append(name)
            if name == RECORD:
                told += _in_records(old, new)
    return told


def _in_records(old: Path, new: Path) -> list[str]:
    from counterpoise.report.record import Record

    first, second = (_leaves(Record.load(path).to_dict()) for path in (old, new))
    paths = [key for key in {**first, **second} if first.get(key) != second.get(key)]
    told = [f"  {key}: {first.get(key)!r}, now {second.get(key)!r}" for key in paths]
    if len(told) > _MOST_TOLD:
        told = [*told[:_MOST_TOLD], f"  and {len(told) - _MOST_TOLD} more"]
    return told


def _leaves(part: Any, path: str = "") -> dict[str, Any]:
    items: Any = ()
    if isinstance(part, dict):
        items = part.items()
    elif isinstance(part, list):
        items = enumerate(part)
    else:
        return {path: part}
    found = {}
    for key, one in items:
        found.update(_leaves(one, f"{path}.{key}" if path else str(key)))
    return found
