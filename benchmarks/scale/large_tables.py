"""Folders of Parquet files with 20 mixed columns, of any number of rows."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_FILE, ROWS_A_GROUP = 250_000, 50_000
N_NUMBERS = 14


def columns(n: int, moved: bool, rng, first: int) -> pa.Table:
    """Return 20 columns and the rows' names; of a source the label, too.

    Three numbers of the target are moved by 0.4 standard deviations, a count and the
    shares of a category with them; the label depends on x alone.
    """
    out: dict = {}
    for k in range(N_NUMBERS):
        values = rng.normal(0.4 * (moved and k < 3), 1.0, n)
        out[f"number_{k}"] = values * (k + 1)
    out["count"] = rng.poisson(3 + 0.5 * moved, n)
    gaps = rng.random(n) < 0.05
    values = np.where(gaps, np.nan, rng.normal(size=n))
    out["with_gaps"] = pa.array(values, from_pandas=True)
    shares = [0.4, 0.35, 0.25] if moved else [0.5, 0.3, 0.2]
    out["color"] = rng.choice(["red", "green", "blue"], n, p=shares)
    out["city"] = rng.choice([f"city {k}" for k in range(12)], n)
    out["flag"] = rng.random(n) < 0.3
    seconds = rng.integers(0, 90 * 86_400, n)
    out["when"] = np.datetime64("2024-01-01", "us") + seconds.astype("m8[s]")
    out["id"] = np.arange(first, first + n)
    if not moved:
        z = out["number_0"]
        noise = 0.5 * rng.normal(size=n)
        out["y"] = z + 0.3 * z**2 + 0.5 * (out["color"] == "red") + noise
    return pa.table(out)


def folder_of(n: int) -> Path:
    """Return a folder with a source and a target of n rows, made if it is not there."""
    kept = os.environ.get("SCALE_FOLDER", tempfile.gettempdir())
    folder = Path(kept) / f"counterpoise-scale-{n}"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for name, moved in (("source", False), ("target", True)):
        (folder / name).mkdir(parents=True)
        rng = np.random.default_rng(int(moved) + 1)
        for k, first in enumerate(range(0, n, ROWS_A_FILE)):
            part = columns(min(ROWS_A_FILE, n - first), moved, rng, first)
            pq.write_table(
                part, folder / name / f"part-{k:04d}.parquet",
                row_group_size=ROWS_A_GROUP,
            )  # fmt: skip
    (folder / "complete").touch()
    return folder


def size_of(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def rows_of(n: int, d: int, moved: bool, path: Path) -> Path:
    """Write n normal rows of d columns to an .npy file, in pieces."""
    out = np.lib.format.open_memmap(path, "w+", np.float64, (n, d))
    rng = np.random.default_rng(7 + moved)
    for first in range(0, n, 100_000):
        k = min(100_000, n - first)
        part = rng.normal(size=(k, d))
        part[:, :3] += 0.4 * moved
        out[first : first + k] = part
    out.flush()
    return path
