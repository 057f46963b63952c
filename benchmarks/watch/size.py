"""A million rows in 200 chunks: memory, time a chunk, size of the state, resuming."""

import pickle
import tempfile
import time
from pathlib import Path

import numpy as np
from reporting import bar, table
from sklearn.linear_model import LogisticRegression
from streams import rows

from counterpoise import ModelMonitor

LAST = 3


def run(quick: bool) -> dict:
    """Return what a long stream costs.

    Memory is that of the process (where /proc tells) and of all that the monitor holds.
    """
    n_chunks, size = (12, 1_000) if quick else (200, 5_000)
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(*rows(rng, 2_000))
    X, y = rows(rng, 5_000)
    monitor = ModelMonitor(model, X=X, y=y, scoring="error_rate", random_state=0)
    seconds, memory, held, late = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "watch.skops"
        # What reading and writing files loads is there before the first chunk.
        monitor.save(path)
        ModelMonitor.load(path)
        for k in range(n_chunks):
            X, y = rows(rng, size)
            began = time.process_time()
            monitor.update(X, y=y, time=k)
            seconds.append(time.process_time() - began)
            memory.append(_resident())
            held.append(len(pickle.dumps(monitor)))
            if k >= n_chunks - LAST:
                late.append((X, y, k))
            if k == n_chunks - LAST - 1:
                monitor.save(path, overwrite=True)
        again = ModelMonitor.load(path)
        for X, y, k in late:
            again.update(X, y=y, time=k)
        monitor.save(path, overwrite=True)
        megabytes = path.stat().st_size / 1e6
    third = n_chunks // 3
    grown = np.mean(seconds[-third:]) / np.mean(seconds[:third])
    # After the answers that are kept have reached their limit.
    ratios = {
        name: np.mean(values[-third:]) / np.mean(values[third:-third])
        for name, values in (("the process", memory), ("the monitor", held))
    }
    same = again.history_ == monitor.history_
    bars = [
        *(
            bar(f"memory of {name}, last third against the middle", one, 1.05, 0.95)
            for name, one in ratios.items()
            if np.isfinite(one)
        ),
        bar("CPU time a chunk, last third against the first", grown, 1.2, 0.8),
        bar("size of the state, MB", megabytes, 5.0),
        bar("resumed: the same history", float(same), None, 1.0),
    ]
    told = table(
        f"{n_chunks} chunks of {size} rows",
        "seconds a chunk | process MB | watch MB | file MB",
        [(np.mean(seconds), memory[-1] / 1e6, held[-1] / 1e6, megabytes)],
    )
    return {"bars": bars, "table": told}


def _resident() -> float:
    """Return the bytes that the process has in memory; NaN where nobody tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return 4096.0 * pages
