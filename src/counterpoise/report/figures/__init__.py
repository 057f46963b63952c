"""Figures of the report."""

from counterpoise.report.figures.canvas import DataTable, Drawing
from counterpoise.report.figures.methods import (
    plot_classes,
    plot_convergence,
    plot_path,
    plot_segments,
    plot_selection,
    plot_spectrum,
    plot_trade_off,
)
from counterpoise.report.figures.monitor import plot_monitor
from counterpoise.report.figures.performance import plot_performance
from counterpoise.report.figures.weights import plot_balance, plot_overlap, plot_weights

__all__ = [
    "DataTable",
    "Drawing",
    "plot_balance",
    "plot_classes",
    "plot_convergence",
    "plot_monitor",
    "plot_overlap",
    "plot_path",
    "plot_performance",
    "plot_segments",
    "plot_selection",
    "plot_spectrum",
    "plot_trade_off",
    "plot_weights",
]
