"""Tables that others made: payloads, encodings, shapes; a result or a named error."""

import csv
import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from counterpoise.cli.main import main

PAYLOADS = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "${7*7}{{7*7}}",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe\u2066",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "'; DROP TABLE x;--",
    "a\u2028b\u0085c",
)
# What a terminal or a reader takes for more than text.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
FORMULA = re.compile(r"^[=+\-@\t\r](?!\d*\.?\d+(e[+-]?\d+)?$)", re.IGNORECASE)


def write(path, columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def columns_of(rng, n, move, *, label):
    """Return a table whose names and cells are payloads."""
    kinds = [PAYLOADS[k] for k in rng.integers(len(PAYLOADS), size=n)]
    found = {
        "id": [f"={k}+1" for k in range(n)],
        "<b>size</b>": (rng.normal(size=n) + move).round(4).tolist(),
        "=1+1": rng.normal(size=n).round(4).tolist(),
        "\x1b[31mkind\u202e": kinds,
    }
    if label:
        found["label"] = [
            PAYLOADS[0] if one > 0 else PAYLOADS[5] for one in found["=1+1"]
        ]
    return found


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return everything that the commands said and wrote about hostile tables."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("payloads")
    rng = np.random.default_rng(0)
    source = write(folder / "train.csv", columns_of(rng, 150, 0.0, label=True))
    target = write(folder / "live.csv", columns_of(rng, 120, 0.4, label=False))
    both = ("--source", source, "--target", target)
    out = folder / "out"
    commands = [
        ("fit", *both, "--label", "label", "--id", "id", "--estimator", "logistic",
         "--weight-estimator", "uniform", "--out", out, "--text"),
        ("diagnose", *both, "--drop", "label", "--id", "id", "--text",
         "--json", folder / "d.json"),
        ("weights", *both, "--drop", "label", "--id", "id",
         "--weight-estimator", "uniform",
         "--out", folder / "w.csv"),
        ("predict", "--model", out / "model.skops", "--table", target, "--id", "id",
         "--probabilities", "--out", folder / "p.csv"),
        ("report", out / "report.json", "--text", "--out", folder / "again.html"),
        ("compare", out / "report.json", folder / "d.json"),
    ]  # fmt: skip
    said = {}
    for words in commands:
        with (
            contextlib.redirect_stdout(io.StringIO()) as first,
            contextlib.redirect_stderr(io.StringIO()) as second,
        ):
            code = main([str(word) for word in words])
        said[words[0]] = code, first.getvalue() + second.getvalue()
    return folder, said


def test_every_command_comes_to_an_end_that_it_names(told):
    _, said = told
    for name, (code, text) in said.items():
        assert code in (0, 4, 5), (name, text)


def test_the_terminal_shows_payloads_as_text(told):
    _, said = told
    for name, (_, text) in said.items():
        found = CONTROLS.search(text.replace("\r\n", "\n"))
        assert found is None, (name, found)


def test_the_page_holds_no_markup_of_a_table(told):
    folder, _ = told
    for path in (folder / "out" / "report.html", folder / "again.html"):
        page = path.read_text(encoding="utf-8")
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<b>size</b>" not in page
        assert "size" in page


def test_no_cell_or_name_of_a_csv_output_is_a_formula(told):
    folder, _ = told
    for name in ("w.csv", "p.csv"):
        with (folder / name).open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                assert not [cell for cell in row if FORMULA.match(cell)], (name, row)


def test_records_are_json_with_payloads_as_strings(told):
    folder, _ = told
    for path in (folder / "out" / "report.json", folder / "d.json"):
        assert isinstance(json.loads(path.read_text(encoding="utf-8")), dict)


def _gz(path):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("x,y\n" + "1.5,2\n" * 500_000)


SHAPES = {
    "empty": lambda path: path.write_bytes(b""),
    "a header alone": lambda path: path.write_text("x,y\n"),
    "one row": lambda path: path.write_text("x,y\n1,2\n"),
    "UTF-16": lambda path: path.write_text("x,y\n1,2\n", encoding="utf-16"),
    "Latin-1": lambda path: path.write_bytes("x,é\n1,2\n".encode("latin-1")),
    "bytes": lambda path: path.write_bytes(bytes(range(256)) * 40),
    "zeros": lambda path: path.write_bytes(bytes(10_000)),
    "quotes": lambda path: path.write_text('x,y\n"1,2\n' * 50),
    "commas": lambda path: path.write_text("," * 5_000 + "\n"),
    "ragged": lambda path: path.write_text("x,y\n1,2,3\n4\n"),
    "a long field": lambda path: path.write_text("x,y\n" + "a" * 2_000_000 + ",1\n"),
    "wide": lambda path: path.write_text(
        ",".join(f"c{k}" for k in range(3_000)) + "\n" + ("1," * 2_999 + "1\n") * 3
    ),
    "one name twice": lambda path: path.write_text("x,x\n1,2\n"),
    "numbers beyond floats": lambda path: path.write_text("x,y\n1e999,-1e999\n" * 3),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_of_any_shape_ends_with_a_result_or_a_sentence(shape, tmp_path, capsys):
    path = tmp_path / "t.csv"
    SHAPES[shape](path)
    code = main(["diagnose", "--source", str(path), "--target", str(path), "--quiet"])
    said = capsys.readouterr().err
    assert code in (0, 1, 2, 4), said
    assert code == 0 or said.startswith("counterpoise: ")


LYING = {
    "no file at all": lambda data: b"PAR1" + b"\0" * 100 + b"PAR1",
    "a footer of 4 GB": lambda data: data[:-8] + b"\xff\xff\xff\x7f" + b"PAR1",
    "a footer of nothing": lambda data: data[:-8] + b"\0\0\0\0" + b"PAR1",
    "half of it": lambda data: data[: len(data) // 2],
    "a page overwritten": lambda data: data[:10] + b"\xff" * 30 + data[40:],
}


@pytest.mark.parametrize("lie", LYING)
def test_a_parquet_file_that_lies_is_refused_in_a_sentence(lie, tmp_path, capsys):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"x": np.arange(50.0), "k": ["a"] * 50}), path)
    path.write_bytes(LYING[lie](path.read_bytes()))
    code = main(["diagnose", "--source", str(path), "--target", str(path), "--quiet"])
    said = capsys.readouterr().err
    assert code == 2, said
    assert str(path) in said


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["20,001 columns", "16 MB", "a class a row", "gz"])
def test_a_large_table_ends_within_a_minute_and_two_gigabytes(shape, tmp_path):
    import resource
    import subprocess
    import sys

    rng = np.random.default_rng(0)
    path = tmp_path / "t.csv"
    words = ["diagnose", "--drop", "y"]
    if shape == "20,001 columns":
        names = ",".join(f"c{k}" for k in range(20_001))
        path.write_text("\n".join([names, *[",".join(["1"] * 20_001)] * 5]))
        words = ["diagnose"]
    elif shape == "16 MB":
        path.write_text("x,y\n" + "".join(f"{'a' * 2**22},{k}\n" for k in range(4)))
    elif shape == "a class a row":
        write(path, {"x": rng.normal(size=2_000), "y": [f"k{k}" for k in range(2_000)]})
        words = ["fit", "--label", "y", "--out", str(tmp_path / "out")]
    else:
        path = Path(f"{path}.gz")
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
            for _ in range(100):
                file.write(("x,y\n" if file.tell() == 0 else "") + "1.5,2\n" * 100_000)
    done = subprocess.run(
        [sys.executable, "-m", "counterpoise", *words,
         "--source", str(path), "--target", str(path), "--quiet"],
        preexec_fn=lambda: (
            resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30,) * 2),
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60)),
        ),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1, 2, 4, 5), done.stderr
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 * 2**20


def hostile_columns(rng, n, move):
    """Return 28 columns that nobody would choose: magnitudes, payloads, names, gaps."""
    found = {
        f"<b>{k}</b>": (rng.normal(size=n) + move) * 10.0 ** (30 * k - 90)
        for k in range(7)
    }
    for k in range(7):
        found[f"=1+{k}"] = [PAYLOADS[i] for i in rng.integers(len(PAYLOADS), size=n)]
    for k in range(4):
        found[f"one a row {k}"] = [f"{PAYLOADS[k]}{i * 7919}" for i in range(n)]
    return found | {
        "equal": [1] * n,
        "almost empty": ["7", *[""] * (n - 1)],
        "mixed": [f"{i / 7}" if i % 3 else PAYLOADS[i % 9] for i in range(n)],
        "day": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)],
        "code": [f"{i:08d}" for i in range(n)],
        "beyond floats": [2**53 + 1 + i for i in range(n)],
        "gaps": [rng.normal() if rng.random() < 0.3 else "" for _ in range(n)],
        "rare": [int(i % 40 == 0) for i in range(n)],
        "heavy": np.exp(6 * rng.normal(size=n)),
        "\x1b[31mname\u202e": rng.integers(0, 5, n),
    }


@pytest.mark.slow
def test_120_rows_of_28_hostile_columns_go_through_run_in_30_seconds(tmp_path):
    import resource
    import subprocess
    import sys

    rng = np.random.default_rng(0)
    source, target = hostile_columns(rng, 120, 0.0), hostile_columns(rng, 120, 0.3)
    assert len(source) == 28
    source["label"] = ["yes" if one > 0 else "no" for one in source["<b>3</b>"]]
    paths = write(tmp_path / "a.csv", source), write(tmp_path / "b.csv", target)
    done = subprocess.run(
        [sys.executable, "-m", "counterpoise", "run", "--source", str(paths[0]),
         "--target", str(paths[1]), "--label", "label", "--quiet",
         "--out", str(tmp_path / "out")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (30, 30)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").exists()


def test_a_name_or_type_without_end_is_told_in_a_line_that_has_one(tmp_path, capsys):
    deep = tmp_path / "deep.jsonl"
    deep.write_text('{"a":' + "[" * 3000 + "]" * 3000 + "}\n")
    long = tmp_path / "long.csv"
    long.write_text("a," + "n" * 100_000 + "\n1,x\n2,y\n")
    for path in (deep, long):
        assert main(["diagnose", "--source", str(path), "--target", str(path)]) == 2
        said = capsys.readouterr().err
        assert len(said.splitlines()[-1]) < 2_100


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize(
    "words",
    [
        ("report", "X", "--text"),
        ("rerun", "X"),
        ("compare", "X", "X"),
        ("diagnose", "--config", "X"),
        ("predict", "--model", "X", "--table", "t.csv", "--out", "p.csv"),
    ],
)
def test_records_options_and_models_are_files(words, tmp_path, capsys):
    pipe, deep = tmp_path / "pipe", tmp_path / "deep"
    os.mkfifo(pipe)
    deep.write_text("a = " * ("--config" in words) + "[" * 200_000)
    for path in (pipe, deep, tmp_path / "a\0b", "/dev/zero"):
        code = main([str(path) if word == "X" else word for word in words])
        assert code in (1, 2), capsys.readouterr().err
