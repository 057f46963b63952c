"""What a person sees: the record, the page, figures and text."""

from counterpoise.report.comparison import Comparison, compare
from counterpoise.report.figures import (
    plot_balance,
    plot_classes,
    plot_convergence,
    plot_overlap,
    plot_path,
    plot_performance,
    plot_segments,
    plot_selection,
    plot_spectrum,
    plot_trade_off,
    plot_watch,
    plot_weights,
)
from counterpoise.report.page import Page, fragment, render
from counterpoise.report.record import NewerRecordError, Record
from counterpoise.report.tracking import log_to_mlflow

__all__ = [
    "Comparison",
    "NewerRecordError",
    "Page",
    "Record",
    "compare",
    "fragment",
    "log_to_mlflow",
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
    "render",
]
