"""`counterpoise demo`: the main job on bundled data, with the truth beside it."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.cli.commands.run import RUN_OPTIONS
from counterpoise.cli.exits import FINE
from counterpoise.cli.options import add_command, completed

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


def add_demo(commands: Any) -> None:
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


def demo_command(options: argparse.Namespace) -> int:
    """Write two tables, do the main job on them, and tell the truth."""
    from counterpoise.cli.job import FILES, do
    from counterpoise.cli.writing import check_folder

    tables = options.out / "tables"
    again = _has_tables(tables)
    if not again:
        remedy = "no demo made it, take another folder"
        for folder, names in ((options.out, FILES), (tables, _DEMO_TABLES)):
            check_folder(folder, names, force=False, remedy=remedy)
    n, m = write_tables(tables, force=again)
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
    more = {"force": again, "quiet": options.quiet}
    code = do(completed("run", RUN_OPTIONS, {**chosen, **more}), estimates=True)
    if code == FINE:
        _tell_truth(options.out, tables)
    return code


def write_tables(folder: Path, *, force: bool) -> tuple[int, int]:
    """Write the trial's and the clinic's tables and, apart, the clinic's labels.

    The rows are those of `load_diabetes_shift`; sex is a category, and some values are
    taken out by chance.

    Parameters
    ----------
    folder : Path
    force : bool
        Whether tables that are there may be overwritten.

    Returns
    -------
    rows of the trial, rows of the clinic
    """
    from counterpoise.cli.writing import write_columns, write_folder
    from counterpoise.datasets import load_diabetes_shift

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
    write_folder(folder, files, force=force)
    return len(shift.X), len(shift.X_target)


def _has_tables(folder: Path) -> bool:
    """Return whether a folder has the tables of the demo, which mark it as its own."""
    import filecmp
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as made:
        write_tables(Path(made), force=False)
        same, _, _ = filecmp.cmpfiles(made, folder, _DEMO_TABLES, shallow=False)
    return len(same) == len(_DEMO_TABLES)


def _tell_truth(out: Path, tables: Path) -> None:
    """Compare the estimate with the score that the clinic's labels give."""
    import json

    from counterpoise.cli.commands.predict import (
        frame_for_model,
        read_for_model,
        read_model,
    )
    from counterpoise.cli.reading.files import read_file

    model = read_model(out / "model.skops")
    X = frame_for_model(model, read_for_model(model, tables / _TARGET))
    y = read_file(tables / _TRUTH).columns["progress"].to_numpy()
    loss = float(np.mean((model.predict(X) - y) ** 2))
    told = json.loads((out / "report.json").read_text(encoding="utf-8"))["headline"]
    inside = "inside" if told["low"] <= loss <= told["high"] else "outside"
    print(
        f"\nThe truth: in this demo the clinic's labels are known. The squared error "
        f"there is\n{loss:.0f}, {inside} the interval ({told['low']:.0f} to "
        f"{told['high']:.0f}) that was estimated without them; the trial's\nown rows "
        f"would have promised {told['source']:.0f}."
    )
