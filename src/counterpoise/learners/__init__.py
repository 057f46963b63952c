"""Predictors that take a weight a row."""

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
    "DirectTwinGP",
    "HeteroscedasticSVR",
    "KernelQuantileRegressor",
    "OneClassSVMPath",
    "RankingSVM",
    "SVMPath",
    "SlidingWindowSVC",
    "TwinGP",
    "WeightedGPR",
    "WeightedKNN",
    "WeightedKernelRidge",
    "WeightedSVC",
    "WeightedSVR",
]
