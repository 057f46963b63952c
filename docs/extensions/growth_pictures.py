"""Pictures of the answers about growth: CPU seconds and memory by rows and columns.

A method looks the same in every panel of every picture, whichever of them have points
of it, and the legend names every method, also one that came to no point.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

# The cells of a row: method, rows, columns, CPU seconds, megabytes.
METHOD, ROWS, COLUMNS, SECONDS, MEGABYTES = range(5)
# Smaller numbers are noise, and zero has no place on a logarithmic axis.
LEAST = {SECONDS: 1e-3, MEGABYTES: 0.1}
N_COLORS = 10
# Said in the legend of a method that was stopped before it had any.
NO_POINT = " (no point)"
STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"))


class ChunkResult(NamedTuple):
    """How the line of a method is drawn."""

    color: str
    marker: str
    linestyle: str


def looks(methods: Iterable[str]) -> dict[str, ChunkResult]:
    """Return the look of every method: colors first, then other lines and markers."""
    found = {}
    for k, method in enumerate(dict.fromkeys(methods)):
        marker, linestyle = STYLES[k // N_COLORS % len(STYLES)]
        found[method] = ChunkResult(f"C{k % N_COLORS}", marker, linestyle)
    return found


def rows_of(answer: dict) -> list[Sequence]:
    """Return the rows of all tables of an answer."""
    return [row for told in answer["tables"] for row in told["rows"]]


def growth_figure(rows: Sequence[Sequence], look_of: dict[str, ChunkResult]) -> Figure:
    """Return the picture of one answer.

    Parameters
    ----------
    rows : sequence of rows
    look_of : dict
        The look of every method, one for all pictures.
    """
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2, sharey="row")
    for line, column in enumerate((SECONDS, MEGABYTES)):
        by_rows = [row for row in rows if row[COLUMNS] == 10]
        by_columns = [row for row in rows if row[ROWS] == 1_000]
        _draw_lines(axes[line, 0], by_rows, ROWS, column, look_of)
        _draw_lines(axes[line, 1], by_columns, COLUMNS, column, look_of)
        axes[line, 0].set_ylabel(("CPU seconds", "megabytes")[line])
    axes[1, 0].set_xlabel("rows of each sample, 10 columns")
    axes[1, 1].set_xlabel("columns, 1,000 rows")
    drawn = {one.get_label() for ax in axes.flat for one in ax.lines}
    handles = []
    for method in dict.fromkeys(row[METHOD] for row in rows):
        told = method if method in drawn else f"{method}{NO_POINT}"
        look = look_of[method]._asdict()
        handles.append(Line2D([], [], ms=4, label=told, **look))
    figure.legend(handles=handles, loc="outside right upper", fontsize=8)
    return figure


def _draw_lines(
    ax,
    rows: Sequence[Sequence],
    moves: int,
    column: int,
    look_of: dict[str, ChunkResult],
) -> None:
    """Draw one number of every method against rows or columns."""
    for method in dict.fromkeys(row[METHOD] for row in rows):
        points = sorted(
            (row[moves], max(row[column], LEAST[column]))
            for row in rows
            if row[METHOD] == method and row[column] is not None
        )
        if points:
            look = look_of[method]._asdict()
            ax.loglog(*zip(*points, strict=True), ms=4, label=method, **look)
    ax.grid(alpha=0.3)
