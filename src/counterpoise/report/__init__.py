"""What a person sees: figures."""

from counterpoise.report.figures import (
    plot_convergence,
    plot_selection,
    plot_weights,
)

__all__ = ["plot_convergence", "plot_selection", "plot_weights"]
