"""What happens when workers die, files are corrupt, the driver is killed, a disk fills?

On a cluster of two processes that is started and stopped here.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from reporting import bar, table

from counterpoise.data import BlockFailedError, Blocks, distribute, map_reduce

N_BLOCKS, ROWS = 60, 4_000


def run(quick: bool) -> dict:
    # Products of a block: the work is long beside the start of a process.
    times = 1_000 if quick else 2_000
    rows, bars = [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        path = folder / "table.parquet"
        rng = np.random.default_rng(0)
        numbers = rng.normal(size=(N_BLOCKS * ROWS, 6))
        columns = {f"x{k}": numbers[:, k] for k in range(6)}
        pq.write_table(pa.table(columns), path, row_group_size=ROWS)
        blocks = Blocks.from_parquet(path).numbers()
        alone = map_reduce(blocks, work_of(folder, times, 0, "none"))
        with distribute(2) as client:
            map_reduce(blocks, work_of(folder, 1, 0, "warm"))
            clean, same = timed(blocks, work_of(folder, times, 0, "clean"), alone)
            rows.append(["clean", clean, 1.0, same])
            for kills in (1, 2):
                work = work_of(folder, times, kills, f"killed{kills}")
                seconds, same = timed(blocks, work, alone)
                rows.append([f"killed {kills} x", seconds, seconds / clean, same])
                bars.append(bar(f"killed {kills} x: other digest", float(not same), 0))
                if kills == 1:
                    # Half a second to start a process again is not the work's.
                    bars.append(
                        bar("killed once: times the clean", seconds / clean, 2.5)
                    )
            began = time.perf_counter()
            named = 0.0
            try:
                map_reduce(blocks, always_kills)
            except BlockFailedError as error:
                named = float("row group 7" in str(error) and path.name in str(error))
            seconds = time.perf_counter() - began
            rows.append(["a block that kills", seconds, None, bool(named)])
            bars += [
                bar("a block that kills: named", named, None, 1),
                bar("a block that kills: seconds", seconds, 60),
            ]
            assert client is not None
        bars += [corrupt(path), full_disk(folder, path), killed_driver(folder)]
    told = table("faults", "fault | wall s | times clean | as it should", rows)
    return {"bars": bars, "tables": [told]}


class work_of:  # noqa: N801
    """A block's moments after some work; kills its process at a third, so often."""

    def __init__(self, folder: Path, times: int, kills: int, name: str) -> None:
        self.folder, self.times = str(folder), times
        self.kills, self.name = kills, name

    def __call__(self, rows, first):
        for k in range(self.kills):
            latch = f"{self.folder}/{self.name}-{k}"
            if first >= (k + 1) * N_BLOCKS * ROWS // 3 and not os.path.exists(latch):
                with open(latch, "w"):
                    pass
                os.kill(os.getpid(), signal.SIGKILL)
        for _ in range(self.times):
            out = rows.T @ rows
        return out


def always_kills(rows, first):
    if first == 7 * ROWS:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows.sum()


def timed(blocks, work, alone) -> tuple[float, bool]:
    began = time.perf_counter()
    found = map_reduce(blocks, work)
    return time.perf_counter() - began, found.tobytes() == alone.tobytes()


def corrupt(path: Path):
    """A page of row group 5 overwritten: the error names file and row group."""
    broken = path.with_name("broken.parquet")
    content = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(5).column(2).data_page_offset
    content[at : at + 64] = b"\xff" * 64
    broken.write_bytes(content)
    named = 0.0
    try:
        map_reduce(
            Blocks.from_parquet(broken).numbers(), lambda rows, first: rows.sum()
        )
    except BlockFailedError as error:
        named = float("broken.parquet, row group 5" in str(error))
    return bar("a corrupt page: file and row group named", named, None, 1)


FULL = """
import resource, sys
from counterpoise.data import Blocks, map_write
blocks = Blocks.from_parquet(sys.argv[1]).numbers()
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    map_write(blocks, lambda rows, first: {"x": rows[:, 0]}, sys.argv[2])
except OSError:
    sys.exit(7)
"""


def full_disk(folder: Path, path: Path):
    """A file that may not grow: an error, and nothing of it is left."""
    out = folder / "full"
    out.mkdir()
    asked = [sys.executable, "-c", FULL, str(path), str(out / "weights.parquet")]
    code = subprocess.run(asked).returncode
    fine = float(code == 7 and not list(out.iterdir()))
    return bar("a disk that fills up: an error, nothing partial", fine, None, 1)


KILLED = """
import os, signal, sys
from counterpoise.data import parallel as checkpoints
before = checkpoints._Passes.once
def once(self, name, compute):
    if self.made == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return before(self, name, compute)
checkpoints._Passes.once = once
from counterpoise.cli.main import main
main(sys.argv[2:])
"""


def killed_driver(folder: Path):
    """The driver killed after pass 1 and resumed: the same bytes, none made twice."""
    from large_tables import columns

    for name, moved in (("source", False), ("target", True)):
        (folder / name).mkdir()
        part = columns(12_000, moved, np.random.default_rng(3 + moved), 0)
        pq.write_table(part, folder / name / "a.parquet", row_group_size=2_000)
    asked = ["weights", "--source", f"{folder}/source", "--target", f"{folder}/target",
             "--drop", "y,id", "--weight-estimator", "log-linear",
             "--quiet"]  # fmt: skip
    clean, cut = folder / "clean.parquet", folder / "cut.parquet"
    module = [sys.executable, "-m", "counterpoise", *asked]
    subprocess.run([*module, "--out", str(clean)], check=True)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "2", *asked, "--out", str(cut)]
    ).returncode
    kept = sorted((folder / ".cut.parquet.passes").glob("pass-*"))
    stamps = [path.stat().st_mtime_ns for path in kept]
    fine = killed == -signal.SIGKILL and len(kept) == 2 and not cut.exists()
    again = subprocess.run(
        [sys.executable, "-c", KILLED, "5", *asked, "--out", str(cut), "--resume"]
    ).returncode
    later = sorted((folder / ".cut.parquet.passes").glob("pass-*"))
    fine &= again == -signal.SIGKILL and len(later) == 5
    fine &= [path.stat().st_mtime_ns for path in later[:2]] == stamps
    subprocess.run([*module, "--out", str(cut), "--resume"], check=True)
    fine &= clean.read_bytes() == cut.read_bytes()
    return bar("driver killed twice and resumed: as it should", float(fine), None, 1)
