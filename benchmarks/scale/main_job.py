"""What does `counterpoise run` cost on folders of 10^6 and 10^7 rows a side?

The default weight estimator, a linear model by passes, --max-memory 2GB, one process.
CPU and peak memory are those of that process, the imports included.
"""

import json
import os
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
from large_tables import folder_of, size_of
from measuring import measured
from reporting import bar, table

MOST_MEGABYTES, MOST_GROWTH = 2000, 12


def run(quick: bool) -> dict:
    asked = os.environ.get("SCALE_ROWS", "1000000,10000000")
    sizes = [30_000, 100_000] if quick else [int(k) for k in asked.split(",")]
    rows, bars, curves = [], [], []
    for n in sizes:
        found = measure(n)
        rows.append(
            [n, found["cpu"], found["wall"], found["megabytes"], found["passes_cpu"],
             found["passes_cpu"] / (2 * n) * 1e6, found["bytes_a_row"]]
        )  # fmt: skip
        curves.append(found)
        bars += [
            bar(f"{n:,} rows: exit code", found["code"], 0),
            bar(f"{n:,} rows: peak MB", found["megabytes"], MOST_MEGABYTES),
            bar(f"{n:,} rows: weights written", found["weights"], n, n),
        ]
        print(json.dumps(found["steps"], indent=1), flush=True)
    told = table(
        "run --estimator linear --max-memory 2GB",
        "rows a side | CPU s | wall s | peak MB | CPU s of passes | "
        "microseconds a row | bytes a row on disk",
        rows,
    )
    for one, other in pairwise(curves):
        tenfold = 10 * one["rows"] / other["rows"]
        growth = other["cpu"] / one["cpu"] * tenfold
        bars.append(
            bar(f"CPU from {one['rows']:,} to {other['rows']:,} rows, to ten times",
                growth, MOST_GROWTH)
        )  # fmt: skip
    drawn = [{k: v for k, v in one.items() if k != "said"} for one in curves]
    return {"bars": bars, "tables": [told], "curves": {"main_job": drawn}}


def measure(n: int) -> dict:
    folder = folder_of(n)
    out = Path(tempfile.mkdtemp(prefix="counterpoise-scale-"))
    try:
        found = measured(
            ["-m", "counterpoise", "run", "--source", f"{folder}/source",
             "--target", f"{folder}/target/part-*.parquet", "--label", "y",
             "--id", "id", "--estimator", "linear", "--max-memory", "2GB",
             "--out", str(out / "out")]
        )  # fmt: skip
        if found["code"]:
            print(found["said"])
        written = out / "out" / "weights.parquet"
        weights = pq.read_metadata(written).num_rows if written.exists() else 0
        steps = {}
        if (out / "out" / "timings.json").exists():
            steps = json.loads((out / "out" / "timings.json").read_text())
        steps = steps.get("cpu_seconds", {})
    finally:
        shutil.rmtree(out)
    of_rows = ("every row", "reading the tables")
    passes = sum(v for k, v in steps.items() if any(one in k for one in of_rows))
    return {
        **found,
        "rows": n,
        "weights": weights,
        "steps": steps,
        "passes_cpu": passes,
        "bytes_a_row": size_of(folder) / (2 * n),
    }
