"""Hostile cases without end: ``python3 dev.py fuzz --minutes 10 [--seed 0]``.

Every case is made from its number alone and run in a process of its own kind, so that a
crash or a hang is a finding like any other. Counts are printed by kind; what failed is
written to `out/fuzz/`, with the line that makes it again.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from hostile.magnitudes import SUBJECTS, fault
from hostile.test_model_files import ESTIMATORS, crafted, rows
from hostile.test_records import spoiled

from counterpoise import (
    Adapted,
    InvalidInputError,
    InvalidTypeError,
    UniformWeights,
    load_model,
)
from counterpoise.cli.files import read_file
from counterpoise.cli.main import main
from counterpoise.cli.options import read_config
from counterpoise.cli.terminal import CliError

# A case that takes longer hangs; one that takes more memory floods.
LONGEST_SECONDS = 60
MOST_MEMORY = 6 * 2**30
# Cases of one process: a leak of one is not blamed on another for long.
CASES_OF_A_PROCESS = 50
FINE = (0, 1, 2, 3, 4, 5)
CELLS = (
    "", "1", "-1.5", "1e309", "nan", "inf", "NULL", "=1+1", "00012", "1,5", "1.234,5",
    "a", "é", "\u202e", "\x1b[31m", "<script>", "'", '"', '""', "\0", "2024-02-30",
    "2024-01-01", "12:61", "9007199254740993", "true", "\ufeff", "a\nb", "𝔘", "\ud7ff",
)  # fmt: skip
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-32")


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes cut, doubled or changed in some places."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        if not out:
            break
        place, kind = int(rng.integers(len(out))), int(rng.integers(4))
        if kind == 0:
            out[place] = int(rng.integers(256))
        elif kind == 1:
            del out[place : place + int(rng.integers(1, 50))]
        elif kind == 2:
            out[place:place] = out[place : place + int(rng.integers(1, 50))]
        else:
            del out[place:]
    return bytes(out)


def table_read(path: Path) -> str | None:
    """Return what is wrong with how a table is read."""
    try:
        read_file(path)
    except (CliError, InvalidInputError):
        return None
    return None


def csv_case(rng: np.random.Generator, folder: Path) -> str | None:
    """Read a CSV file of any shape and encoding."""
    n, d = int(rng.integers(0, 30)), int(rng.integers(1, 8))
    split = str(rng.choice([",", ";", "\t", "|", " "]))
    end = str(rng.choice(["\n", "\r\n", "\r"]))
    ragged = rng.random() < 0.2
    lines = []
    for _ in range(n + 1):
        width = max(1, d + int(rng.integers(-1, 2))) if ragged else d
        cells = [CELLS[rng.integers(len(CELLS))] for _ in range(width)]
        if rng.random() < 0.5:
            cells = ['"' + cell.replace('"', '""') + '"' for cell in cells]
        lines.append(split.join(cells))
    encoding = ENCODINGS[rng.integers(len(ENCODINGS))]
    data = end.join(lines).encode(encoding, "ignore")
    if rng.random() < 0.3:
        data = mutated(data, rng)
    name = "t.csv"
    if rng.random() < 0.2:
        name, data = "t.csv.gz", gzip.compress(data, mtime=0)
        data = mutated(data, rng) if rng.random() < 0.5 else data
    (folder / name).write_bytes(data)
    return table_read(folder / name)


def _column(rng: np.random.Generator, n: int) -> Any:
    makers: tuple[Callable[[], Any], ...] = (
        lambda: pa.array(rng.normal(size=n)),
        lambda: pa.array(rng.integers(-(2**62), 2**62, n)),
        lambda: pa.array([CELLS[k] for k in rng.integers(len(CELLS), size=n)]),
        lambda: pa.array(list("ab" * n)[:n]).dictionary_encode(),
        lambda: pa.array(rng.integers(0, 2**40, n), pa.timestamp("us", "Nowhere/None")),
        lambda: pa.array(rng.integers(0, 2**30, n), pa.timestamp("s")),
        lambda: pa.array(rng.integers(0, 2**15, n), pa.int32()).cast(pa.date32()),
        lambda: pa.array(rng.random(n) < 0.5),
        lambda: pa.nulls(n),
        lambda: pa.array([[1.0]] * n),
        lambda: pa.array([{"a": 1}] * n),
        lambda: pa.array([b"\xff\xfe"] * n),
        lambda: pa.array(rng.integers(0, 2**40, n), pa.duration("ns")),
        lambda: pa.array(rng.normal(size=n).astype(np.float16)),
    )
    return makers[rng.integers(len(makers))]()


def parquet_case(rng: np.random.Generator, folder: Path) -> str | None:
    """Read a Parquet file of any types, broken or not."""
    n = int(rng.integers(0, 20))
    columns = {f"c{k}": _column(rng, n) for k in range(int(rng.integers(1, 5)))}
    path = folder / "t.parquet"
    with contextlib.suppress(pa.ArrowException):
        parquet.write_table(pa.table(columns), path)
        if rng.random() < 0.6:
            path.write_bytes(mutated(path.read_bytes(), rng))
        return table_read(path)
    return None


TOML = """source = "a.csv"\ntarget = "b.csv"\nlabel = "y"\nseed = 3\ndrop = ["x"]
max-memory = "2G"\noverwrite = true\nlevel = 0.9\nfail-if = ["auc>0.6"]\n"""


def toml_case(rng: np.random.Generator, folder: Path) -> str | None:
    """Read a file of options."""
    path = folder / "run.toml"
    path.write_bytes(mutated(TOML.encode(), rng))
    kinds = {
        "source": "path", "target": "path", "label": "text", "seed": "whole",
        "drop": "names", "max-memory": "size", "overwrite": "flag", "level": "share",
        "fail-if": "texts",
    }  # fmt: skip
    with contextlib.suppress(CliError):
        read_config(path, kinds)
    return None


def record_case(rng: np.random.Generator, folder: Path) -> str | None:
    """Show a record of wrong types."""
    path = folder / "report.json"
    data = json.dumps(spoiled(rng, int(rng.integers(1, 6)))).encode()
    path.write_bytes(mutated(data, rng) if rng.random() < 0.3 else data)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(["report", str(path), "--text"])
    return None if code in FINE else said.getvalue()


def model_case(rng: np.random.Generator, folder: Path) -> str | None:
    """Load a crafted model and ask it."""
    kind = sorted(ESTIMATORS)[rng.integers(len(ESTIMATORS))]
    base, path = MODELS / f"{kind}.skops", folder / "made.skops"
    how = rng.random()

    def arrays(array: Any) -> Any:
        if rng.random() > 0.3 or not array.size:
            return None
        if array.dtype.names:
            field = array.dtype.names[rng.integers(len(array.dtype.names))]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = rng.choice([0, 1, -1, 5, 2**31, np.nan, 1e308])
                array[field][rng.integers(len(array))] = np.array(value).astype(
                    array.dtype[field]
                )
            return array
        choice = int(rng.integers(4))
        if choice == 0 and array.ndim:
            return array[:-1]
        if choice == 1:
            return array.astype(np.float32)
        if choice == 2 and array.dtype.kind == "f":
            array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, 1e300])
        elif array.dtype.kind in "iu":
            array.flat[rng.integers(array.size)] = rng.integers(100)
        return array

    if how < 0.5:
        crafted(base, path, arrays)
    elif how < 0.8:
        crafted(base, path, None, lambda text: _schema(text, rng))
    else:
        path.write_bytes(mutated(base.read_bytes(), rng))
    try:
        model = load_model(path)
    except (InvalidInputError, InvalidTypeError):
        return None
    # A model of the right types that is none may raise anything in Python; it may not
    # crash or hang, which the parent sees.
    with contextlib.suppress(Exception):
        model.predict(rows()[2])
    return None


def _schema(text: str, rng: np.random.Generator) -> str:
    whole = json.loads(text)
    places: list[tuple[Any, Any]] = []
    waiting = [whole]
    while waiting:
        one = waiting.pop()
        items = one.items() if isinstance(one, dict) else enumerate(one)
        for key, value in items:
            places.append((one, key))
            if isinstance(value, dict | list):
                waiting.append(value)
    values = (None, 0, -1, 10**9, "0", "[]", "x", [], {}, "numpy", "os", "system", True)
    for _ in range(int(rng.integers(1, 4))):
        holder, key = places[rng.integers(len(places))]
        holder[key] = values[rng.integers(len(values))]
    return json.dumps(whole)


def estimator_case(rng: np.random.Generator, folder: Path) -> str | None:
    """Ask an estimator or a function about samples of any magnitude."""
    name = sorted(SUBJECTS)[rng.integers(len(SUBJECTS))]
    found = fault(name, int(rng.integers(10_000, 10_000_000)))
    return None if found is None else f"{name}: {found}"


KINDS: dict[str, Callable[[np.random.Generator, Path], str | None]] = {
    "csv": csv_case,
    "parquet": parquet_case,
    "toml": toml_case,
    "record": record_case,
    "skops": model_case,
    "estimator": estimator_case,
}
MODELS = Path()


def one_case(kind: str, number: int) -> str | None:
    """Return what is wrong with a case, None if nothing is."""
    rng = np.random.default_rng([number, sorted(KINDS).index(kind)])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return KINDS[kind](rng, Path(folder))
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def _child(kind: str, numbers: range, pipe: int) -> None:
    """Run cases in this process, and tell of each before and after."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(pipe, "w") as out:
        for number in numbers:
            print(json.dumps([number, "begun"]), file=out, flush=True)
            print(json.dumps([number, one_case(kind, number)]), file=out, flush=True)


def _cases_of(kind: str, numbers: range) -> dict[int, str | None]:
    """Return what was wrong with cases run in a process of their own."""
    inside, outside = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(inside)
        with contextlib.suppress(BaseException):
            _child(kind, numbers, outside)
        os._exit(0)
    os.close(outside)
    found: dict[int, str | None] = {}
    begun, buffer, before = None, b"", 0.0
    while True:
        ready, _, _ = select.select([inside], [], [], LONGEST_SECONDS)
        if not ready and _processor_seconds(child) - before < LONGEST_SECONDS:
            # A machine with much else to do is no hang.
            continue
        part = os.read(inside, 65536) if ready else b""
        buffer += part
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            number, what = json.loads(line)
            begun = number if what == "begun" else None
            before = _processor_seconds(child)
            if what != "begun":
                found[number] = what
        if not ready:
            os.kill(child, signal.SIGKILL)
            if begun is not None:
                found[begun] = f"took longer than {LONGEST_SECONDS} s"
            break
        if not part:
            break
    os.close(inside)
    _, status = os.waitpid(child, 0)
    if begun is not None and begun not in found:
        found[begun] = f"ended the process (status {status})"
    return found


def _processor_seconds(child: int) -> float:
    """Return how long a process has worked; without /proc, for ever."""
    try:
        words = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("inf")
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _models(folder: Path) -> None:
    X, y, X_target = rows()
    for name, estimator in ESTIMATORS.items():
        model = Adapted(estimator, UniformWeights(), random_state=0)
        model.fit(X, y, X_target=X_target).save(folder / f"{name}.skops")
    for path in folder.iterdir():
        ZipFile(path).close()


def run(words: list[str] | None = None) -> int:
    """Make cases for so many minutes, and tell what came of them."""
    global MODELS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(KINDS), action="append")
    parser.add_argument("--case", type=int, help="one case, in this process")
    given = parser.parse_args(words)
    kinds = given.kind or sorted(KINDS)
    out = Path("out") / "fuzz"
    with tempfile.TemporaryDirectory() as folder:
        MODELS = Path(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _models(MODELS)
        if given.case is not None:
            found = one_case(kinds[0], given.case)
            print(found or "nothing is wrong")
            return int(found is not None)
        until = time.monotonic() + 60.0 * given.minutes
        tried: Counter[str] = Counter()
        failed: Counter[str] = Counter()
        first = given.seed * 10_000_000
        while time.monotonic() < until:
            for kind in kinds:
                start = first + tried[kind]
                cases = _cases_of(kind, range(start, start + CASES_OF_A_PROCESS))
                # What a crash left undone is done by the next process.
                tried[kind] += max(len(cases), 1)
                for number, what in cases.items():
                    if what is None:
                        continue
                    failed[kind] += 1
                    out.mkdir(parents=True, exist_ok=True)
                    again = f"python3 dev.py fuzz --kind {kind} --case {number}"
                    text = f"{again}\n{what}\n"
                    (out / f"{kind}-{number}.txt").write_text(text, encoding="utf-8")
                    print(f"FAILED {kind} {number}: {what[:200]}", flush=True)
                if time.monotonic() >= until:
                    break
        for kind in kinds:
            print(f"{kind:<10} {tried[kind]:>8} cases  {failed[kind]:>4} failed")
        print(f"{'together':<10} {tried.total():>8} cases  {failed.total():>4} failed")
    return int(failed.total() > 0)


if __name__ == "__main__":
    sys.exit(run())
