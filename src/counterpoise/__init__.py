"""Learning where training data and deployment data differ, with proof.

Public names are imported when they are first used, room by room.
"""

from importlib import import_module
from typing import Any

from counterpoise.weights.registry import WEIGHTERS as _WEIGHTERS

__version__ = "0.1.0"

# Room -> the names that it offers at the top.
_ROOMS: dict[str, tuple[str, ...]] = {
    "adaptation": (
        "Adapted",
        "CutTargetWarning",
        "FarTargetWarning",
        "PartialWeights",
        "TimeOrderWarning",
        "TrainingRowsWarning",
        "TransductiveSVC",
        "adapt",
        "estimate_performance",
        "load",
        "target_scorer",
        "which_rows_to_label",
    ),
    "diagnosis": ("Diagnosis", "diagnose"),
    "engine": ("BlockFailedError", "ClusterUnavailableError"),
    "evaluation": ("bounds", "consensus"),
    "learners": (
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
    ),
    "report": (
        "NewerRecordError",
        "Page",
        "Record",
        "compare",
        "log_to_mlflow",
        "plot_balance",
        "plot_classes",
        "plot_convergence",
        "plot_overlap",
        "plot_path",
        "plot_performance",
        "plot_segments",
        "plot_selection",
        "plot_spectrum",
        "plot_trade_off",
        "plot_watch",
        "plot_weights",
        "render",
    ),
    "selection": (
        "ClassSelection",
        "Prototypes",
        "Segmentation",
        "SegmentationScores",
        "SelectionPath",
        "SubsetSelector",
        "segment",
        "segmentation_scores",
        "select_classes",
        "select_prototypes",
        "select_rows",
    ),
    "subspaces": (
        "MaxMinDistanceAnalysis",
        "OrthogonalGraphClustering",
        "OrthogonalProblem",
        "SharedSubspace",
        "solve_orthogonal",
    ),
    "weights": tuple(entry.name for entry in _WEIGHTERS),
    "samples": (
        "clip",
        "discrepancy",
        "discrepancy_spectrum",
        "domain_auc",
        "effective_sample_size",
        "flatten",
        "mmd",
        "overlap",
    ),
    "validation": (
        "InvalidInput",
        "InvalidType",
        "NoOverlapError",
        "NoTargetWarning",
        "PartialOverlapWarning",
        "WeakClassifierWarning",
    ),
    "watching": ("Alarm", "Look", "Watch"),
}
_SUBMODULES = (
    "adaptation",
    "convex",
    "datasets",
    "diagnosis",
    "engine",
    "evaluation",
    "learners",
    "numerics",
    "report",
    "samples",
    "selection",
    "subspaces",
    "testing",
    "validation",
    "watching",
    "weights",
)
# A room that needs an extra: `from counterpoise import *` leaves it alone.
_OPTIONAL = ("deep",)
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *_SUBMODULES, *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in (*_SUBMODULES, *_OPTIONAL):
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
