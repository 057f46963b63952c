"""Networks with hard constraints, trained by convex rounds."""

from counterpoise.learners.convex_network.classifier import ConvexNetworkClassifier
from counterpoise.learners.convex_network.infeasible import InfeasibleConstraintError
from counterpoise.learners.convex_network.regressor import ConvexNetworkRegressor
from counterpoise.learners.convex_network.trade_off import TradeOff

__all__ = [
    "ConvexNetworkClassifier",
    "ConvexNetworkRegressor",
    "InfeasibleConstraintError",
    "TradeOff",
]
