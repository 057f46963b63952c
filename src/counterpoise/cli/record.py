"""What the command line knows beside the library, and numbers by short names."""

from argparse import Namespace
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.cli.fail_if import SHORT_NAMES
from counterpoise.cli.options import OPTIONS
from counterpoise.cli.reading.files import TableFile
from counterpoise.cli.reading.pair import Pair
from counterpoise.cli.writing import TABLE_ENDINGS
from counterpoise.report.record import Record

# Where files are, and what is shown, does not change what is found.
_NOT_RECORDED = (
    "command",
    "source",
    "target",
    "model",
    "reference",
    "table",
    "out",
    "json",
    "text",
    "config",
    "force",
    "quiet",
    "workers",
    "scheduler",
    "wait",
    "resume",
)


# What is shown, and how, is asked for anew.
_NOT_REPEATED = (
    "json",
    "text",
    "config",
    "force",
    "quiet",
    "workers",
    "scheduler",
    "wait",
    "resume",
)


# A name on offer, or that of a file.
_MAYBE_A_FILE = ("estimator", "weights")


def data_of(pair: Pair) -> dict[str, Any]:
    """Return what was read: files, columns, gaps, classes; never a row."""
    columns = [
        {
            "name": name,
            "kind": kind,
            "missing_source": float(source.missing.mean()),
            "missing_target": float(target.missing.mean()),
        }
        for (name, kind), source, target in zip(
            pair.kinds.items(),
            pair.table.columns,
            pair.table_target.columns,
            strict=True,
        )
    ]
    found: dict[str, Any] = {
        "source": {**_file(pair.source), "rows": len(pair.table)},
        "target": {**_file(pair.target), "rows": len(pair.table_target)},
        "columns": columns,
        "task": pair.task,
    }
    if pair.task == "classification" and pair.y is not None:
        values, counts = np.unique(pair.y, return_counts=True)
        found["classes"] = [
            {"class": value, "rows": int(count)}
            for value, count in zip(values.tolist(), counts.tolist(), strict=True)
        ]
    return found


def reproduced_by(options: Namespace) -> dict[str, Any]:
    """Return the command and its options, but for where files are."""
    return {
        "command": options.command,
        "command_line": command_line(options),
        "options": {
            key: _recorded(key, value)
            for key, value in sorted(vars(options).items())
            if key not in _NOT_RECORDED
        },
    }


def _recorded(key: str, value: Any) -> Any:
    """Return an option's value without the folders of files."""
    if isinstance(value, Path) or (key in _MAYBE_A_FILE and isinstance(value, str)):
        return Path(value).name
    return list(value) if isinstance(value, tuple) else value


def command_line(options: Namespace) -> list[str]:
    """Return the words that do the same again, in the folder of the tables.

    Of files the names, and `again` for what is written, so that the folders that
    somebody chose leave no trace; options at their defaults are left out, but for the
    seed.

    Examples
    --------
    >>> options = Namespace(command="weigh", source=Path("a/b.csv"), seed=0, id=None)
    >>> command_line(options)
    ['counterpoise', 'weigh', '--source', 'b.csv', '--seed', '0']
    """
    words = ["counterpoise", options.command]
    for name, option in OPTIONS.items():
        value = vars(options).get(name.replace("-", "_"))
        if value is None or name in _NOT_REPEATED:
            continue
        if name != "seed" and value == option.default:
            continue
        if name == "out":
            suffix = Path(value).suffix
            value = f"again{suffix if suffix in TABLE_ENDINGS else ''}"
        elif option.kind == "path" or isinstance(value, Path) or name in _MAYBE_A_FILE:
            value = Path(value).name
        elif option.kind == "names":
            value = ",".join(value)
        for one in value if option.kind == "texts" else (value,):
            words += [f"--{name}"] if one is True else _said(name, str(one))
    return words


def _said(name: str, value: str) -> list[str]:
    # What begins like an option is taken for one.
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]


def flat_numbers(record: Record, names: Collection[str]) -> dict[str, float | None]:
    """Return numbers of the record by their short names, None where undefined.

    Examples
    --------
    >>> flat_numbers(Record.from_dict({"shift": {"auc": 0.7}}), ["auc", "ess"])
    {'auc': 0.7, 'ess': None}
    """
    found = {name: record.at(SHORT_NAMES[name]) for name in names}
    return {name: None if v is None else float(v) for name, v in found.items()}


def is_proved(record: Record) -> bool:
    """Return whether the certificate of the weights holds, where there is one."""
    return bool(record.at("weights.certificate.holds", True))


def _file(table: TableFile) -> dict[str, Any]:
    return {"file": table.path.name, "sha256": table.sha256}
