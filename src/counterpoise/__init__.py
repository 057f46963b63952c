"""Covariate shift, label shift and concept drift: diagnose, weight, adapt, monitor.

Public names are imported when they are first used.
"""

from importlib import import_module
from typing import Any

from counterpoise.weights.registry import WEIGHT_ESTIMATORS

__version__ = "0.1.0"

# Module -> the names of it that are public at the top level.
_PUBLIC: dict[str, tuple[str, ...]] = {
    "adaptation.adapted": (
        "Adapted",
        "CutTargetWarning",
        "FarTargetWarning",
        "TimeOrderWarning",
        "TrainingRowsWarning",
        "adapt",
    ),
    "adaptation.labeling": ("select_rows_to_label",),
    "adaptation.model_io": ("load_model",),
    "adaptation.partial": ("PartialWeights",),
    "adaptation.performance_estimation": (
        "estimate_performance",
        "target_scorer",
    ),
    "data.parallel": (
        "BlockFailedError",
        "ClusterUnavailableError",
    ),
    "data.two_samples": (
        "clip_weights",
        "effective_sample_size",
        "flatten_weights",
    ),
    "errors": (
        "InvalidInputError",
        "InvalidTypeError",
        "NoOverlapError",
        "NoTargetWarning",
        "PartialOverlapWarning",
        "WeakClassifierWarning",
    ),
    "models.kernel_ridge": ("WeightedKernelRidge",),
    "monitor.monitor": ("ModelMonitor",),
    "monitor.results": (
        "Alert",
        "ChunkResult",
    ),
    "networks.constraints": ("InfeasibleConstraintError",),
    "networks.estimators": (
        "ConvexNetworkClassifier",
        "ConvexNetworkRegressor",
        "TradeOff",
    ),
    "optim.stiefel.problem": ("OrthogonalProblem",),
    "plot": (
        "plot_balance",
        "plot_classes",
        "plot_convergence",
        "plot_monitor",
        "plot_overlap",
        "plot_path",
        "plot_performance",
        "plot_segments",
        "plot_selection",
        "plot_spectrum",
        "plot_trade_off",
        "plot_weights",
    ),
    "report.comparison": ("compare",),
    "report.page": (
        "Page",
        "render",
    ),
    "report.report": (
        "Report",
        "log_to_mlflow",
    ),
    "selection.classes": ("select_classes",),
    "selection.prototypes": (
        "Prototypes",
        "select_prototypes",
        "select_representatives",
    ),
    "selection.segmentation": (
        "Segmentation",
        "SegmentationScores",
        "segment",
        "segmentation_scores",
    ),
    "selection.subset_selector": (
        "SelectionPath",
        "SubsetSelector",
    ),
    "shift.diagnosis": (
        "Diagnosis",
        "diagnose",
    ),
    "shift.discrepancy_distance": (
        "discrepancy",
        "discrepancy_spectrum",
    ),
    "shift.domain_classifier": ("domain_auc",),
    "shift.two_sample_tests": ("mmd",),
    "shift.support": ("overlap",),
    "subspaces.clustering": ("OrthogonalGraphClustering",),
    "subspaces.discriminant": ("MaxMinDistanceAnalysis",),
    "subspaces.orthogonal": ("solve_orthogonal",),
    "subspaces.shared_subspace": ("SharedSubspace",),
    "svm.classification": (
        "OneClassSVMPath",
        "WeightedSVC",
    ),
    "svm.path": ("SVMPath",),
    "svm.ranking": ("RankingSVM",),
    "svm.regression": (
        "HeteroscedasticSVR",
        "KernelQuantileRegressor",
        "WeightedSVR",
    ),
    "svm.transductive": ("TransductiveSVC",),
    "svm.window": ("SlidingWindowSVC",),
    "twin_gp.annotators": ("consensus",),
    "twin_gp.baselines": (
        "WeightedGPR",
        "WeightedKNN",
    ),
    "twin_gp.estimators": (
        "DirectTwinGP",
        "TwinGP",
    ),
    "weights.partial": ("ClassSelection",),
}
for _entry in WEIGHT_ESTIMATORS:
    _module = f"weights.{_entry.module}"
    _PUBLIC[_module] = (*_PUBLIC.get(_module, ()), _entry.name)
_SUBMODULES = (
    "bounds",
    "data",
    "datasets",
    "models",
    "networks",
    "optim",
    "report",
    "selection",
    "subspaces",
    "svm",
    "testing",
    "twin_gp",
)
# A submodule that needs an extra: `from counterpoise import *` leaves it alone.
_OPTIONAL = ("deep",)
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

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
