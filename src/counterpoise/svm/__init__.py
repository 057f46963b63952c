"""Weighted support vector machines with exact solution paths."""

from counterpoise.svm.base import LeaveOneOut
from counterpoise.svm.classification import OneClassSVMPath, WeightedSVC
from counterpoise.svm.path import SVMPath, ValidationCurve
from counterpoise.svm.ranking import RankingSVM
from counterpoise.svm.regression import (
    Crossing,
    HeteroscedasticSVR,
    KernelQuantileRegressor,
    WeightedSVR,
)
from counterpoise.svm.transductive import TransductiveSVC
from counterpoise.svm.window import SlidingWindowSVC

__all__ = [
    "Crossing",
    "HeteroscedasticSVR",
    "KernelQuantileRegressor",
    "LeaveOneOut",
    "OneClassSVMPath",
    "RankingSVM",
    "SVMPath",
    "SlidingWindowSVC",
    "TransductiveSVC",
    "ValidationCurve",
    "WeightedSVC",
    "WeightedSVR",
]
