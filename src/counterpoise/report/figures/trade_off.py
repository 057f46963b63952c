"""What a tighter bound costs: the loss of a network against its bound."""

from typing import Any

import numpy as np

from counterpoise.learners.convex_network import TradeOff
from counterpoise.report.figures.canvas import BLUE, MUTED, ORANGE, axes
from counterpoise.validation import InvalidInput, InvalidType


def plot_trade_off(curve: TradeOff, *, ax: Any = None) -> Any:
    """Return an Axes with objective and loss against the bound, prices as slopes.

    The price of a bound is drawn as a short line through its point: what a little more
    or less of the bound would do to the objective. Bounds that were not met are marked
    along the axis.

    Parameters
    ----------
    curve : TradeOff
        Of `ConvexNetworkClassifier.trade_off` or `ConvexNetworkRegressor.trade_off`.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise import ConvexNetworkClassifier, plot_trade_off
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 2))
    >>> net = ConvexNetworkClassifier(hidden=(), random_state=0)
    >>> curve = net.trade_off(X, X[:, 0] > 0.5, [0.4, 0.35])
    >>> plot_trade_off(curve).get_xlabel()
    'class_error_bound'
    """
    if not isinstance(curve, TradeOff):
        raise InvalidType(
            f"plot_trade_off takes a TradeOff, got {type(curve).__name__}: it comes "
            "from the method trade_off of a network"
        )
    if not curve.feasible.any():
        raise InvalidInput(
            f"no bound of {curve.constraint} was met: there is nothing to draw"
        )
    ax = axes(ax)
    met = curve.feasible
    bounds, objective = curve.bounds[met], curve.objective[met]
    ax.plot(bounds, objective, "o", color=BLUE, label="objective")
    ax.plot(bounds, curve.loss[met], ".--", color=ORANGE, label="loss")
    half = 0.3 * _spacing(curve.bounds)
    label = "price"
    for bound, value, price in zip(bounds, objective, curve.price[met], strict=True):
        ends = np.array([-half, half])
        ax.plot(bound + ends, value - price * ends, color=BLUE, label=label)
        label = "_also"
    if not met.all():
        low = ax.get_ylim()[0]
        missed = curve.bounds[~met]
        ax.plot(missed, np.full(missed.size, low), "x", color=MUTED, label="not met")
    ax.set_xlabel(curve.constraint)
    ax.set_ylabel("objective and loss")
    ax.xaxis.label.set_parse_math(False)
    ax.legend()
    return ax


def _spacing(bounds: Any) -> float:
    """Return the least distance of two bounds; a tenth of a single one."""
    if bounds.size > 1:
        return float(np.abs(np.diff(bounds)).min())
    return 0.1 * max(abs(float(bounds[0])), 1.0)
