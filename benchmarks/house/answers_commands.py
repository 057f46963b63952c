"""Answers of the command line: codes, what is printed, and the files' bytes."""

import contextlib
import io
import json
import os
import re
import tempfile
from functools import cache
from pathlib import Path

import pandas as pd
from registry import answers, without_times
from samples_at_hand import mixed, numbers

from counterpoise.cli.main import main

# The tables and what is written lie here until the process ends.
_FOLDER = tempfile.TemporaryDirectory()
_PAIR = ("--source", "train.csv", "--target", "live.csv")
_LABELED = (*_PAIR, "--label", "bought")


@cache
def _tables():
    """Write the tables and return their folder."""
    folder = Path(_FOLDER.name)
    pair, far = mixed(200, 140), mixed(200, 140, mean=9.0)
    source = pair.X.assign(bought=pair.y)
    source.to_csv(folder / "train.csv", index=False)
    source.to_parquet(folder / "train.parquet")
    pair.X_target.to_csv(folder / "live.csv", index=False)
    pair.X_target.to_parquet(folder / "live.parquet")
    pair.X_target.assign(bought=pair.y_target).to_csv(folder / "known.csv", index=False)
    far.X_target.to_csv(folder / "far.csv", index=False)
    plain = numbers()
    for name, rows, y in (
        ("rows", plain.X, plain.y),
        ("later", plain.X_target, plain.y_target),
    ):
        frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(y=y)
        frame["id"] = [f"r{k}" for k in range(len(frame))]
        frame.to_csv(folder / f"{name}.csv", index=False)
    (folder / "broken.csv").write_text("a,b\n1,2\n3\n")
    (folder / "run.toml").write_text('seed = 3\nestimator = "tree"\n')
    return folder


def _run(*arguments):
    """Return the code and what the command prints, in the folder of the tables."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(_tables()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = stopped.code
    said = out.getvalue()
    with contextlib.suppress(ValueError):
        said = without_times(json.loads(said))
    return {"code": code, "out": said, "err": _timeless(err.getvalue())}


def _timeless(text):
    # Progress is told by time: which lines appear depends on the machine's speed.
    lines = re.split(r"[\r\n]+", text)
    return "\n".join(re.sub(r"\d+(\.\d+)? ?m?s\b", "<time>", line) for line in lines)


def _written(*names):
    out = {}
    for name in names:
        path = _tables() / name
        if not path.exists():
            out[name] = "not there"
            continue
        out[name] = path.read_bytes()
        if name.endswith((".html", ".json", ".csv")):
            out[f"text of {name}"] = path.read_text()
        if name.endswith(".parquet"):
            out[f"table in {name}"] = pd.read_parquet(path)
    return out


def _files(folder):
    names = ("report.html", "report.json", "weights.parquet")
    listed = os.listdir(_tables() / folder) if (_tables() / folder).exists() else []
    return {"files": sorted(listed)} | _written(*(f"{folder}/{n}" for n in names))


@cache
def _main_job():
    return _run("run", *_LABELED, "--estimator", "logistic", "--out", "out")


@cache
def _second_job():
    return _run(
        *("run", "--source", "train.parquet", "--target", "live.parquet"),
        *("--label", "bought", "--estimator", "tree", "--out", "out2"),
        *("--json", "-", "--quiet"),
    )


def _after(*arguments):
    _main_job(), _second_job()
    return _run(*arguments)


COMMANDS = {
    "run": lambda: _main_job() | _files("out"),
    "run, parquet": lambda: _second_job() | _files("out2"),
    "run, response": lambda: (
        _run(
            *("run", "--source", "rows.csv", "--target", "later.csv", "--label", "y"),
            *("--estimator", "ridge", "--id", "id", "--target-labels"),
            *("--metric", "r2", "--out", "out3", "--text"),
        )
        | _files("out3")
    ),
    "run, no overlap": lambda: (
        _run(
            *("run", "--source", "train.csv", "--target", "far.csv"),
            *("--label", "bought", "--out", "out4"),
        )
        | _files("out4")
    ),
    "run, time and config": lambda: (
        _run(
            *("run", *_LABELED, "--time", "day", "--drop", "member"),
            *("--config", "run.toml", "--weight-estimator", "kliep", "--out", "out5"),
            *("--fail-if", "auc > 0.5"),
        )
        | _files("out5")
    ),
    "run again": lambda: _after("run", *_LABELED, "--out", "out"),
    "demo": lambda: _run("demo", "--out", "demo") | _files("demo"),
    "diagnose": lambda: _run("diagnose", *_LABELED, "--json", "-"),
    "diagnose, text": lambda: _run(
        "diagnose", *_LABELED, "--text", "--fail-if", "auc > 0.5"
    ),
    "diagnose, far": lambda: _run(
        *("diagnose", "--source", "train.csv", "--target", "far.csv", "--drop"),
        *("bought", "--json", "-"),
    ),
    "weights": lambda: (
        _run("weights", *_LABELED, "--out", "w.csv", "--json", "-") | _written("w.csv")
    ),
    "weigh, kliep": lambda: (
        _run("weights", *_LABELED, "--weight-estimator", "kliep", "--out", "w.parquet")
        | _written("w.parquet")
    ),
    "weigh, discrepancy": lambda: (
        _run(
            "weights",
            *_LABELED,
            "--weight-estimator",
            "discrepancy",
            "--out",
            "wd.parquet",
        )
        | _written("wd.parquet")
    ),
    "fit": lambda: _run(
        *("fit", *_LABELED, "--estimator", "svm", "--out", "svm.skops"),
        *("--json", "-"),
    ),
    "predict": lambda: (
        _after(
            *("predict", "--model", "out/model.skops", "--table", "live.csv"),
            *("--out", "p.csv", "--probabilities"),
        )
        | _written("p.csv")
    ),
    "evaluate": lambda: _after(
        *("evaluate", "--model", "out/model.skops", "--source", "known.csv"),
        *("--target", "live.csv", "--label", "bought", "--json", "-"),
    ),
    "report": lambda: (
        _after("report", "out/report.json", "--out", "page.html", "--text")
        | _written("page.html")
    ),
    "compare": lambda: (
        _after("compare", "out/report.json", "out2/report.json", "--out", "c.html")
        | _written("c.html")
    ),
    "compare, text": lambda: _after("compare", "out/report.json", "out2/report.json"),
    "help": lambda: _run("--help"),
    "help of run": lambda: _run("run", "--help"),
    "no such file": lambda: _run(
        "diagnose", "--source", "no.csv", "--target", "no.csv"
    ),
    "no such label": lambda: _run("run", *_PAIR, "--label", "sold", "--out", "out9"),
    "no such command": lambda: _run("walk"),
    "broken table": lambda: _run(
        "diagnose", "--source", "broken.csv", "--target", "broken.csv"
    ),
    "wrong condition": lambda: _run("diagnose", *_LABELED, "--fail-if", "x > 1"),
}


@answers("command", COMMANDS)
def _command(call):
    return call()
