"""Pictures: for a page as SVG, for anybody as functions that return an Axes."""

from counterpoise.report.figures.balance import plot_balance
from counterpoise.report.figures.classes import plot_classes
from counterpoise.report.figures.drawing import DataTable, Drawing
from counterpoise.report.figures.overlap import plot_overlap
from counterpoise.report.figures.path import plot_path
from counterpoise.report.figures.performance import plot_performance
from counterpoise.report.figures.segments import plot_segments
from counterpoise.report.figures.selection import plot_selection
from counterpoise.report.figures.shift import plot_spectrum
from counterpoise.report.figures.solver import plot_convergence
from counterpoise.report.figures.trade_off import plot_trade_off
from counterpoise.report.figures.watch import plot_watch
from counterpoise.report.figures.weights import plot_weights

__all__ = [
    "DataTable",
    "Drawing",
    "plot_balance",
    "plot_classes",
    "plot_convergence",
    "plot_overlap",
    "plot_path",
    "plot_performance",
    "plot_segments",
    "plot_selection",
    "plot_spectrum",
    "plot_trade_off",
    "plot_watch",
    "plot_weights",
]
