"""Reports: data, HTML page, text, figures and comparisons."""

from counterpoise.report.comparison import Comparison, compare
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
from counterpoise.report.page import Page, fragment, render
from counterpoise.report.report import Record, log_to_mlflow

__all__ = [
    "Comparison",
    "Page",
    "Record",
    "compare",
    "fragment",
    "log_to_mlflow",
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
    "render",
]
