"""Reports: data, HTML page, text, drawings and comparisons."""

from counterpoise.report.comparison import Comparison, compare
from counterpoise.report.page import Page, fragment, render
from counterpoise.report.report import Report, log_to_mlflow

__all__ = [
    "Comparison",
    "Page",
    "Report",
    "compare",
    "fragment",
    "log_to_mlflow",
    "render",
]
