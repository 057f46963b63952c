"""A million rows in 200 chunks: memory, time a chunk, size of the state, resuming."""

import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from reporting import bar, table
from sklearn.linear_model import LogisticRegression
from streams import rows

from counterpoise import Watch


def run(quick: bool) -> dict:
    """Return what a long stream costs."""
    n_chunks, size = (12, 1_000) if quick else (200, 5_000)
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(*rows(rng, 2_000))
    X, y = rows(rng, 5_000)
    watch = Watch(model, X=X, y=y, metrics="error_rate", random_state=0)
    other = None
    seconds, memory = [], []
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "watch.skops"
        for k in range(n_chunks):
            X, y = rows(rng, size)
            began = time.process_time()
            watch.update(X, y=y, time=k)
            seconds.append(time.process_time() - began)
            memory.append(tracemalloc.get_traced_memory()[0])
            if other is not None:
                other.update(X, y=y, time=k)
            if k == n_chunks - 3:
                watch.save(path)
                other = Watch.load(path)
        watch.save(path, overwrite=True)
        megabytes = path.stat().st_size / 1e6
    tracemalloc.stop()
    third = n_chunks // 3
    grown = np.mean(seconds[-third:]) / np.mean(seconds[:third])
    # After the answers that are kept have reached their limit.
    held = np.mean(memory[-third:]) / np.mean(memory[third:-third])
    same = other is not None and other.history_ == watch.history_
    bars = [
        bar("memory, last third against the middle", held, 1.05, 0.95),
        bar("CPU time a chunk, last third against the first", grown, 1.2, 0.8),
        bar("size of the state, MB", megabytes, 5.0),
        bar("resumed: the same history", float(same), None, 1.0),
    ]
    told = table(
        f"{n_chunks} chunks of {size} rows",
        "seconds a chunk | memory MB | state MB",
        [(np.mean(seconds), memory[-1] / 1e6, megabytes)],
    )
    return {"bars": bars, "table": told}
