"""Predictors that take a weight a row."""

from counterpoise.learners.svm import (
    KernelQuantileRegressor,
    OneClassSVMPath,
    RankingSVM,
    SVMPath,
    WeightedSVC,
    WeightedSVR,
)

__all__ = [
    "KernelQuantileRegressor",
    "OneClassSVMPath",
    "RankingSVM",
    "SVMPath",
    "WeightedSVC",
    "WeightedSVR",
]
