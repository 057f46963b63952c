"""Convexified neural networks with hard constraints."""

from counterpoise.networks.constraints import InfeasibleConstraintError
from counterpoise.networks.estimators import (
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    TradeOff,
)

__all__ = [
    "ConvexNetworkClassifier",
    "ConvexNetworkRegressor",
    "InfeasibleConstraintError",
    "TradeOff",
]
