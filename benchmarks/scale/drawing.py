"""Cost and memory against the number of rows."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def draw(name: str, curves: dict, folder: Path) -> list[Path]:
    """Draw CPU seconds and peak memory of the main job; return the files."""
    if "main_job" not in curves:
        return []
    found = curves["main_job"]
    rows = [one["rows"] for one in found]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.loglog(rows, [one["cpu"] for one in found], "o-", label="all")
    left.loglog(rows, [one["passes_cpu"] for one in found], "s--", label="passes")
    left.set(xlabel="rows a side", ylabel="CPU seconds")
    left.legend(frameon=False)
    right.semilogx(rows, [one["megabytes"] for one in found], "o-")
    right.axhline(2000, color="0.6", linestyle=":")
    right.set(xlabel="rows a side", ylabel="peak memory, MB", ylim=(0, 2200))
    path = folder / f"scale_{name}.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return [path]
