"""Pictures: for a page as SVG, for anybody as functions that return an Axes."""

from counterpoise.report.figures.balance import balance_drawing, plot_balance
from counterpoise.report.figures.columns import worst_columns_drawing
from counterpoise.report.figures.drawing import DataTable, Drawing
from counterpoise.report.figures.overlap import overlap_drawing, plot_overlap
from counterpoise.report.figures.path import path_drawing, plot_path
from counterpoise.report.figures.performance import (
    calibration_drawing,
    performance_drawing,
    plot_performance,
)
from counterpoise.report.figures.selection import plot_selection, validation_drawing
from counterpoise.report.figures.shift import (
    plot_spectrum,
    roc_drawing,
    spectrum_drawing,
)
from counterpoise.report.figures.slices import slices_drawing
from counterpoise.report.figures.solver import convergence_drawing, plot_convergence
from counterpoise.report.figures.weights import (
    clipping_drawing,
    plot_weights,
    weights_drawing,
)

__all__ = [
    "DataTable",
    "Drawing",
    "balance_drawing",
    "calibration_drawing",
    "clipping_drawing",
    "convergence_drawing",
    "overlap_drawing",
    "path_drawing",
    "performance_drawing",
    "plot_balance",
    "plot_convergence",
    "plot_overlap",
    "plot_path",
    "plot_performance",
    "plot_selection",
    "plot_spectrum",
    "plot_weights",
    "roc_drawing",
    "slices_drawing",
    "spectrum_drawing",
    "validation_drawing",
    "weights_drawing",
    "worst_columns_drawing",
]
