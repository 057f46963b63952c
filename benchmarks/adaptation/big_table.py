"""What does the main job cost on 100,000 x 30 mixed tables, from Parquet and from CSV?

The command runs in a process of its own, with one thread for linear algebra; CPU and
peak memory are those of that process, the imports included. `python big_table.py` runs
it alone.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reporting import bar, table

N_NUMBERS, N_COUNTS = 20, 4
# How many values each column of categories has.
CATEGORIES = (3, 5, 8, 12, 20)
MOST_SECONDS, MOST_MEGABYTES = 40, 2000


def make_table(n: int, moved: bool, seed: int) -> dict:
    """Return 30 columns, some with gaps, and the label of a source.

    The target's numbers are moved by up to half a standard deviation, its dates later
    in part, its categories in other shares; the label depends on x alone.
    """
    rng = np.random.default_rng(seed)
    columns: dict = {}
    signal = np.zeros(n)
    for k in range(N_NUMBERS):
        values = rng.normal(0.5 * moved / (1 + k), 1.0, n)
        signal += np.sin(values) / (1 + k)
        gaps = rng.random(n) < (0.05 if k % 4 == 0 else 0.0)
        columns[f"number_{k}"] = np.where(gaps, np.nan, values)
    for k in range(N_COUNTS):
        values = rng.poisson(3 + k + moved, n)
        signal += 0.05 * values
        columns[f"count_{k}"] = values
    for k, n_values in enumerate(CATEGORIES):
        shares = np.arange(n_values, 0, -1.0) ** (1.0 - 0.3 * moved)
        places = rng.choice(n_values, n, p=shares / shares.sum())
        signal += 0.1 * (places % 3)
        columns[f"category_{k}"] = np.array([f"value {p}" for p in range(n_values)])[
            places
        ]
    days = rng.integers(0, 730, n) + rng.integers(0, 2, n) * 90 * moved
    columns["day"] = np.datetime64("2022-01-01") + days.astype("m8[D]")
    if not moved:
        chance = 1 / (1 + np.exp(signal.mean() - signal))
        columns["label"] = np.where(rng.random(n) < chance, "yes", "no")
    return columns


def write(folder: Path, n: int) -> None:
    """Write the pair in both formats."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    for name, moved in (("source", False), ("target", True)):
        drawn = pa.Table.from_pydict(make_table(n, moved, seed=int(moved)))
        for column in drawn.column_names:
            values = drawn[column]
            if pa.types.is_floating(values.type):
                place = drawn.column_names.index(column)
                gaps = pa.array(values.to_numpy(), from_pandas=True)
                drawn = drawn.set_column(place, column, gaps)
        pa.parquet.write_table(drawn, folder / f"{name}.parquet")
        pa.csv.write_csv(drawn, folder / f"{name}.csv")


def measure(folder: Path, ending: str, estimator: str) -> dict:
    """Run the command on one format and return what it took."""
    out = folder / f"out-{ending}"
    words = [
        *(sys.executable, __file__, "--measured", "run"),
        *("--source", folder / f"source.{ending}", "--label", "label"),
        *("--target", folder / f"target.{ending}", "--out", out),
        *("--estimator", estimator),
    ]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    began = time.perf_counter()
    ended = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - began
    if ended.returncode:
        raise RuntimeError(f"code {ended.returncode}: {ended.stderr[-2000:]}")
    found = json.loads(ended.stdout.strip().splitlines()[-1])
    record = json.loads((out / "report.json").read_text())
    seconds = json.loads((out / "timings.json").read_text())["cpu_seconds"]
    return {**found, "wall": wall, "steps": seconds, "headline": record["headline"]}


def run(quick: bool) -> dict:
    """Write the pair, run the command on both formats, and judge."""
    n = 5_000 if quick else 100_000
    rows, bars, steps = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, n)
        for ending in ("parquet", "csv"):
            found = measure(folder, ending, "boosting")
            head = found["headline"]
            rows.append(
                [
                    ending,
                    n,
                    found["cpu"],
                    found["wall"],
                    found["megabytes"],
                    head["source"],
                    head["value"],
                ]
            )
            steps += [[ending, step, took] for step, took in found["steps"].items()]
            bars.append(bar(f"{ending}: CPU s", found["cpu"], MOST_SECONDS))
            bars.append(bar(f"{ending}: MB", found["megabytes"], MOST_MEGABYTES))
    header = "format | rows | CPU s | wall s | peak MB | source loss | target loss"
    tables = [
        table(f"counterpoise run, {n:,} x 30, gradient boosting", header, rows),
        table("Where the time goes", "format | step | CPU s", steps),
    ]
    return {"tables": tables, "bars": bars}


def _measured(arguments: list[str]) -> int:
    """Run the command line here, and print what this process took."""
    from counterpoise.cli.main import main

    code = main(arguments)
    used = resource.getrusage(resource.RUSAGE_SELF)
    # Linux counts kilobytes, macOS bytes.
    unit = 1e6 if sys.platform == "darwin" else 1e3
    took = {"cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / unit}
    print(json.dumps(took))
    return code


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measured"]:
        sys.exit(_measured(sys.argv[2:]))
    run(quick="--quick" in sys.argv)
