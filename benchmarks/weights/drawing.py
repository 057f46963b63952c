"""Figures: gap against iteration and against time."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot as plt


def draw(name: str, curves: dict, folder: Path) -> list[Path]:
    """Write a figure for each abscissa and return the paths."""
    paths = []
    for axis, label in (("steps", "step"), ("seconds", "seconds")):
        figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
        # A solver without points in one figure does not change the others' colors.
        for k, (solver, curve) in enumerate(curves.items()):
            points = [
                (x, gap)
                for x, gap in zip(curve[axis], curve["gap"], strict=True)
                if x > 0 and 0 < gap < float("inf")
            ]
            if points:
                shown = {"color": f"C{k}", "label": solver, "linewidth": 1.2}
                axes.loglog(*zip(*points, strict=True), **shown)
        axes.set(xlabel=label, ylabel="certified gap, nats", ylim=(1e-9, None))
        axes.legend(fontsize=8)
        path = folder / f"{name}_gap_by_{axis}.svg"
        figure.savefig(path)
        plt.close(figure)
        paths.append(path)
    return paths
