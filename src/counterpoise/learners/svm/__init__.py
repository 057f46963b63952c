"""Support vector machines that follow the exact path of their solutions."""

from counterpoise.learners.svm.classifier import WeightedSVC
from counterpoise.learners.svm.curves.validation_curve import (
    ValidationCurve,
    average_curve,
)
from counterpoise.learners.svm.heteroscedastic import HeteroscedasticSVR
from counterpoise.learners.svm.leave_one_out import LeaveOneOut
from counterpoise.learners.svm.one_class import OneClassSVMPath
from counterpoise.learners.svm.path import SVMPath
from counterpoise.learners.svm.quantile import Crossing, KernelQuantileRegressor
from counterpoise.learners.svm.ranking import RankingSVM
from counterpoise.learners.svm.regressor import WeightedSVR
from counterpoise.learners.svm.window import SlidingWindowSVC

__all__ = [
    "Crossing",
    "HeteroscedasticSVR",
    "KernelQuantileRegressor",
    "LeaveOneOut",
    "OneClassSVMPath",
    "RankingSVM",
    "SVMPath",
    "SlidingWindowSVC",
    "ValidationCurve",
    "WeightedSVC",
    "WeightedSVR",
    "average_curve",
]
