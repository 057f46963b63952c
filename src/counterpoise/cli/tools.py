"""The commands report, compare, rerun, doctor and demo."""

import argparse
import filecmp
import hashlib
import json
import os
import re
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile, is_zipfile

import numpy as np

import counterpoise
from counterpoise.cli.files import read_file
from counterpoise.cli.fit import FILES, RECORD, RUN_OPTIONS, TIMINGS, run_command
from counterpoise.cli.options import OPTIONS, Commands, add_command, completed
from counterpoise.cli.outputs import (
    check_file,
    check_folder,
    check_json,
    refuse_inputs,
    write_columns,
    write_file,
    write_folder,
    write_record,
)
from counterpoise.cli.predict import frame_for_model, read_for_model, read_model
from counterpoise.cli.terminal import (
    BAD_DATA,
    CONDITION_HOLDS,
    FAULT,
    FINE,
    NOT_PROVED,
    WRONG_USE,
    Block,
    CliError,
    DataError,
    cells,
    one_line,
    show,
)
from counterpoise.report.comparison import compare
from counterpoise.report.page import render
from counterpoise.report.report import Report

# -----------------------------------------------------------------------------
# `counterpoise compare`: two records side by side.
# -----------------------------------------------------------------------------


def add_compare(commands: Commands) -> None:
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
        "--overwrite", action="store_true", help=OPTIONS["overwrite"].help
    )
    parser.set_defaults(complete=lambda given: given, run=compare_command)


def compare_command(options: Namespace) -> int:
    """Write the page, or print the text."""
    if options.out is not None:
        refuse_inputs([options.out], [options.first, options.second])
        check_file(options.out, overwrite=options.overwrite)
    paths = options.first, options.second
    names = (str(options.first), str(options.second))
    if options.first.name != options.second.name:
        names = (options.first.name, options.second.name)
    first, second = (read_record(path) for path in paths)
    with shown(*paths):
        comparison = compare(first, second, names=names)
        text = comparison.text()
    if options.text or options.out is None:
        sys.stdout.write(text)
    if options.out is not None:
        write_file(options.out, comparison.save, overwrite=options.overwrite)
        print(f"written: {options.out}", file=sys.stderr)
    return FINE


# -----------------------------------------------------------------------------
# `counterpoise report`: the page of a record, made again.
# -----------------------------------------------------------------------------


def add_report(commands: Commands) -> None:
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
        "--overwrite", action="store_true", help=OPTIONS["overwrite"].help
    )
    parser.set_defaults(complete=lambda given: given, run=report_command)


def report_command(options: Namespace) -> int:
    """Write the page, or print the text."""
    record = read_record(options.record)
    out = options.out
    if out is None and not options.text:
        out = options.record.with_suffix(".html")
    if out is not None:
        refuse_inputs([out], [options.record])
        check_file(out, overwrite=options.overwrite)
    beside = out is not None and out.resolve().parent == options.record.resolve().parent
    with shown(options.record):
        page = render(record, record_file=options.record.name if beside else None)
        text = page.text() if options.text else ""
    sys.stdout.write(text)
    if out is not None:
        write_file(out, page.save, overwrite=options.overwrite)
        print(f"written: {out}", file=sys.stderr)
    return FINE


def read_record(path: Path) -> Report:
    """Return the record of a file, or say why it is none."""
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file")
    try:
        return Report.load(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DataError(f"{path} cannot be read: {reason}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from error


@contextmanager
def shown(*paths: Path) -> Iterator[None]:
    """Say that a record cannot be shown, whatever is wrong inside it.

    Anybody can write a file that has the version of a record and not its contents.
    """
    try:
        yield
    except (CliError, ImportError, OSError, MemoryError):
        raise
    except Exception as error:
        which = " or ".join(map(str, paths))
        words = f"{type(error).__name__}: {error}"
        raise DataError(f"{which} is no record that can be shown: {words}") from error


# -----------------------------------------------------------------------------
# `counterpoise rerun`: an earlier run once more, and whether it comes out the same.
# -----------------------------------------------------------------------------


# Commands that write a folder with their record.
_COMMANDS = ("run", "fit")
# Options that say where things are, and what is shown: these are this command's own.
_OWN = frozenset({"out", "json", "text", "config", "overwrite", "quiet"})
# Places of a record that are told of, where many differ.
_MOST_TOLD = 10


def add_rerun(commands: Commands) -> None:
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


def rerun_command(options: Namespace) -> int:
    """Do the run again in a folder of its own, and compare the files."""
    from counterpoise.cli.main import main

    record = read_record(options.record)
    with shown(options.record):
        words = _words(record, options)
    with TemporaryDirectory() as folder:
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


def _words(record: Report, options: Namespace) -> list[str]:
    """Return the command of a record, its tables found by their hashes.

    A record is somebody's file: of its words only options that this library knows are
    taken, and of paths only names.
    """
    given = record.at("reproduce.command_line")
    if not isinstance(given, list) or len(given) < 2 or given[1] not in _COMMANDS:
        raise DataError(
            f"{options.record} does not say how it was made: records of "
            f"{' and '.join(_COMMANDS)} do"
        )
    words, left = [str(given[1])], [str(word) for word in given[2:]]
    while left:
        name, equals, value = left.pop(0).partition("=")
        option = OPTIONS.get(name.removeprefix("--"))
        if option is None or not name.startswith("--"):
            raise DataError(
                f"{options.record} has the word {name!r}, which is no option"
            )
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


def _table(record: Report, name: str, value: str, options: Namespace) -> Path:
    """Return where a table is that has the hash of the record."""
    if Path(value).name != value:
        raise DataError(f"{options.record} has --{name} {value!r}, which is no name")
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
        raise DataError(f"the table {value!r} is not there: --tables says where it is")
    raise DataError(
        f"{there[0]} is not the table that the record was made from: its hash is "
        "another"
    )


def _differences(record: Path, again: Path) -> list[str]:
    """Return in which files, and where in the record, two runs differ."""
    lines = []
    for name in FILES:
        old, new = record.with_name(name), again / name
        if name == RECORD:
            old = record
        if name == TIMINGS or not (old.exists() or new.exists()):
            continue
        if not (old.exists() and new.exists()):
            lines.append(f"{name} is there {'before' if old.exists() else 'now'} only")
        elif _content(old) != _content(new):
            lines.append(name)
            if name == RECORD:
                lines += _in_records(old, new)
    return lines


# The name of a part of a model, in its schema and as a file of the package.
_PART = re.compile(r'(?<="__id__": )\d+|\d+(?=\.np[yz])')


def _content(path: Path) -> object:
    """Return the bytes of a file; of a model its parts without their names.

    skops names the parts of a model by their addresses in the process that wrote it.
    """
    if path.suffix != ".skops" or not is_zipfile(path):
        return path.read_bytes()
    with ZipFile(path) as package:
        schema = package.read("schema.json").decode()
        numbers = {
            name: str(k) for k, name in enumerate(dict.fromkeys(_PART.findall(schema)))
        }
        parts = {
            _PART.sub(lambda match: numbers[match[0]], name): package.read(name)
            for name in package.namelist()
            if name != "schema.json"
        }
        return _PART.sub(lambda match: numbers[match[0]], schema), parts


def _in_records(old: Path, new: Path) -> list[str]:

    first, second = (_leaves(Report.load(path).to_dict()) for path in (old, new))
    paths = [key for key in {**first, **second} if first.get(key) != second.get(key)]
    lines = [f"  {key}: {first.get(key)!r}, now {second.get(key)!r}" for key in paths]
    if len(lines) > _MOST_TOLD:
        lines = [*lines[:_MOST_TOLD], f"  and {len(lines) - _MOST_TOLD} more"]
    return lines


def _leaves(part: object, path: str = "") -> dict[str, object]:
    items: Iterable[tuple[object, object]]
    if isinstance(part, dict):
        items = part.items()
    elif isinstance(part, list):
        items = enumerate(part)
    else:
        return {path: part}
    leaves = {}
    for key, one in items:
        leaves.update(_leaves(one, f"{path}.{key}" if path else str(key)))
    return leaves


# -----------------------------------------------------------------------------
# `counterpoise doctor`: what is installed, and whether it works.
# -----------------------------------------------------------------------------


CORE = ("numpy", "scipy", "scikit-learn", "numba", "clarabel")
EXTRAS = {
    "cli": ("pandas", "pyarrow", "rich", "skops"),
    "report": ("jinja2", "matplotlib"),
}


def add_doctor(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "doctor",
        "say what is installed, and test it",
        ("json", "overwrite"),
        doctor_command,
    )


def doctor_command(options: Namespace) -> int:
    """Say versions, extras and caches, and prove something small."""
    check_json(options.json, overwrite=options.overwrite)
    extras = {name: versions(packages) for name, packages in EXTRAS.items()}
    test = self_test()
    record = {
        "counterpoise": counterpoise.__version__,
        "python": sys.version.split()[0],
        "platform": sys.platform,
        "core": versions(CORE),
        "extras": extras,
        "numba_cache": numba_cache(),
        "self_test": test,
    }
    holds = all(part["holds"] for part in test)
    if options.json is None:
        show(_blocks(record, holds), sys.stdout)
    else:
        text = json.dumps(record, indent=1) + "\n"
        write_record(options.json, text, overwrite=options.overwrite)
    return FINE if holds else NOT_PROVED


def versions(packages: tuple[str, ...]) -> dict[str, str | None]:
    """Return the installed version of each package, None where there is none."""
    installed: dict[str, str | None] = {}
    for package in packages:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = None
    return installed


def numba_cache() -> dict[str, bool]:
    """Return where compiled code is kept, and whether it can be written there."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    own = Path(counterpoise.__file__).parent / "linalg"
    folder = Path(chosen) if chosen else own
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    writable = os.access(folder, os.W_OK)
    return {"writable": writable, "chosen_by_user": chosen is not None}


def self_test() -> list[dict[str, Any]]:
    """Weigh a small sample in three ways, and return what is proved of each."""
    from counterpoise.datasets.generators import make_gaussian_shift
    from counterpoise.weights.kliep import KLIEP
    from counterpoise.weights.kmm import KMM
    from counterpoise.weights.least_squares import ULSIF

    shift = make_gaussian_shift(2, n=200, m=200, random_state=0)
    results = []
    for weight_estimator in (
        KLIEP(random_state=0),
        ULSIF(random_state=0),
        KMM(random_state=0),
    ):
        since = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = weight_estimator.fit(shift.X, X_target=shift.X_target).solution_
        assert solution is not None
        results.append(
            {
                "weight_estimator": type(weight_estimator).__name__,
                "holds": bool(solution.converged),
                "certificate": str(solution.certificate),
                "seconds": round(time.perf_counter() - since, 3),
            }
        )
    return results


def _blocks(record: dict[str, Any], holds: bool) -> list[Block]:
    rows = [("counterpoise", record["counterpoise"]), ("python", record["python"])]
    rows += list(record["core"].items())
    blocks = [Block("Installed", rows=tuple(cells(*row) for row in rows))]
    for extra, packages in record["extras"].items():
        lacking = [name for name, version in packages.items() if version is None]
        status = (
            f"missing {', '.join(lacking)}: pip install 'counterpoise[{extra}]'"
            if lacking
            else "complete"
        )
        there = tuple(cells(*item) for item in packages.items() if item[1])
        blocks.append(Block(f"Extra {extra}: {status}", rows=there))
    writable = record["numba_cache"]["writable"]
    blocks.append(
        Block(
            "Compiled code",
            (
                "is kept: only the first run compiles."
                if writable
                else "cannot be kept, so that every run compiles for some seconds: set "
                "NUMBA_CACHE_DIR to a folder that can be written to",
            ),
        )
    )
    tests = tuple(
        f"{part['weight_estimator']}: {'proved' if part['holds'] else 'NOT PROVED'}, "
        f"{part['certificate']}, {part['seconds']:.1f} s"
        for part in record["self_test"]
    )
    blocks.append(Block(f"Self-test: {'passed' if holds else 'FAILED'}", tests))
    return blocks


# -----------------------------------------------------------------------------
# `counterpoise demo`: the main job on bundled data, with the truth beside it.
# -----------------------------------------------------------------------------


_SOURCE, _TARGET, _TRUTH = "trial.csv", "clinic.csv", "truth.csv"
_DEMO_TABLES = (_SOURCE, _TARGET, _TRUTH)
# A measurement that is not always taken, and how often not.
_GAPS = {"glucose": 0.1, "triglycerides": 0.05}
_NAMES = {
    "bp": "pressure",
    "s1": "cholesterol",
    "s2": "ldl",
    "s3": "hdl",
    "s4": "cholesterol_ratio",
    "s5": "triglycerides",
    "s6": "glucose",
}


def add_demo(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "demo",
        "do the main job on bundled data, and compare it with the truth",
        ("out", "estimator", "seed", "quiet"),
        demo_command,
        defaults={"out": "out", "estimator": "linear"},
        epilog="--out is the demo's own folder (default: out): what an earlier "
        "demo wrote there is\nmade anew, files of others are never overwritten.",
    )


def demo_command(options: Namespace) -> int:
    """Write two tables, do the main job on them, and tell the truth."""
    tables = options.out / "tables"
    again = _has_tables(tables)
    if not again:
        remedy = "no demo made it, take another folder"
        for folder, names in ((options.out, FILES), (tables, _DEMO_TABLES)):
            check_folder(folder, names, overwrite=False, remedy=remedy)
    n, m = write_tables(tables, overwrite=again)
    chosen = {
        "source": str(tables / _SOURCE),
        "label": "progress",
        "target": str(tables / _TARGET),
        "id": "patient",
        "categorical": "sex",
        "estimator": options.estimator,
        "seed": str(options.seed),
        "out": str(options.out),
    }
    command = " ".join(f"--{name} {value}" for name, value in chosen.items())
    print(
        f"Progress of diabetes is to be predicted. A trial has measured it in {n} "
        f"patients, mostly\nyounger and leaner ones; the model must work on the {m} "
        "that a clinic sees, whose progress\nis not known yet. Some glucose and "
        f"triglyceride values are missing.\n\n  counterpoise run {command}\n",
        flush=True,
    )
    more = {"overwrite": again, "quiet": options.quiet}
    code = run_command(completed("run", RUN_OPTIONS, {**chosen, **more}))
    if code == FINE:
        _tell_truth(options.out, tables)
    return code


def write_tables(folder: Path, *, overwrite: bool) -> tuple[int, int]:
    """Write the trial's and the clinic's tables and, apart, the clinic's labels.

    The rows are those of `load_diabetes_shift`; sex is a category, and some values are
    taken out by chance.

    Parameters
    ----------
    folder : Path
    overwrite : bool
        Whether tables that are there may be overwritten.

    Returns
    -------
    rows of the trial, rows of the clinic
    """
    from counterpoise.datasets.loaders import load_diabetes_shift

    shift = load_diabetes_shift()
    assert shift.feature_names is not None
    names = [_NAMES.get(name, name) for name in shift.feature_names]
    rng = np.random.default_rng(0)
    first = 1
    files = {}
    for file, X, label in (
        (_SOURCE, shift.X, {"progress": shift.y}),
        (_TARGET, shift.X_target, {}),
    ):
        columns: dict[str, Any] = {"patient": np.arange(first, first + len(X))}
        first += len(X)
        for name, values in zip(names, X.T, strict=True):
            gone = rng.random(len(X)) < _GAPS.get(name, 0.0)
            cells = values.astype(object)
            cells[gone] = None
            columns[name] = cells
        columns["sex"] = [f"sex {value:.0f}" for value in columns["sex"]]
        files[file] = write_columns({**columns, **label})
    files[_TRUTH] = write_columns({"progress": shift.y_target})
    write_folder(folder, files, overwrite=overwrite)
    return len(shift.X), len(shift.X_target)


def _has_tables(folder: Path) -> bool:
    """Return whether a folder has the tables of the demo, which mark it as its own."""
    with TemporaryDirectory() as made:
        write_tables(Path(made), overwrite=False)
        same, _, _ = filecmp.cmpfiles(made, folder, _DEMO_TABLES, shallow=False)
    return len(same) == len(_DEMO_TABLES)


def _tell_truth(out: Path, tables: Path) -> None:
    """Compare the estimate with the score that the clinic's labels give."""
    model = read_model(out / "model.skops")
    X = frame_for_model(model, read_for_model(model, tables / _TARGET))
    y = read_file(tables / _TRUTH).columns["progress"].to_numpy()
    loss = float(np.mean((model.predict(X) - y) ** 2))
    score = json.loads((out / "report.json").read_text(encoding="utf-8"))["headline"]
    inside = "inside" if score["low"] <= loss <= score["high"] else "outside"
    print(
        f"\nThe truth: in this demo the clinic's labels are known. The squared error "
        f"there is\n{loss:.0f}, {inside} the interval ({score['low']:.0f} to "
        f"{score['high']:.0f}) that was estimated without them; the trial's\nown rows "
        f"would have promised {score['source']:.0f}."
    )
