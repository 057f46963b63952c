"""Reports: data, HTML page, text, drawings and comparisons."""

from counterpoise.report.comparison import Comparison, compare
from counterpoise.report.page import Page, fragment, render
from counterpoise.report.report import Record, log_to_mlflow

__all__ = [
    "Comparison",
    "Page",
    "Record",
    "compare",
    "fragment",
    "log_to_mlflow",
    "render",
]
