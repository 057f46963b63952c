"""Predictors that take a weight a row."""

from counterpoise.learners.convex_network import (
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    InfeasibleConstraintError,
    TradeOff,
)
from counterpoise.learners.kernel_ridge import WeightedKernelRidge
from counterpoise.learners.svm import (
    HeteroscedasticSVR,
    KernelQuantileRegressor,
    OneClassSVMPath,
    RankingSVM,
    SlidingWindowSVC,
    SVMPath,
    WeightedSVC,
    WeightedSVR,
)
from counterpoise.learners.twin_gp import (
    DirectTwinGP,
    TwinGP,
    WeightedGPR,
    WeightedKNN,
)

__all__ = [
    "ConvexNetworkClassifier",
    "ConvexNetworkRegressor",
    "DirectTwinGP",
    "HeteroscedasticSVR",
    "InfeasibleConstraintError",
    "KernelQuantileRegressor",
    "OneClassSVMPath",
    "RankingSVM",
    "SVMPath",
    "SlidingWindowSVC",
    "TradeOff",
    "TwinGP",
    "WeightedGPR",
    "WeightedKNN",
    "WeightedKernelRidge",
    "WeightedSVC",
    "WeightedSVR",
]
