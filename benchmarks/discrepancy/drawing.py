"""The figure of growing cost."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot as plt


def draw(name: str, curves: dict, folder: Path) -> list[Path]:
    """Draw CPU seconds against rows and return the figure's path."""
    if name != "sizes":
        return []
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for label, curve in curves.items():
        axes.loglog(curve["rows"], curve["seconds"], "o-", label=label)
    axes.set(xlabel="source and target rows", ylabel="CPU s to a gap of 1e-3")
    axes.legend()
    path = folder / f"discrepancy_{name}.svg"
    figure.savefig(path)
    plt.close(figure)
    return [path]
