"""Covariate shift, label shift and concept drift: diagnose, weight, adapt, monitor.

Public names are imported when they are first used. The method collection is reached
through its submodules, such as `counterpoise.svm`.
"""

from importlib import import_module

from counterpoise.weights.registry import WEIGHT_ESTIMATORS

__version__ = "0.1.0"

# Module: the public names that it offers at the top level.
_PUBLIC = {
    "adaptation.adapted": (
        "Adapted CutTargetWarning FarTargetWarning TimeOrderWarning "
        "TrainingRowsWarning adapt"
    ),
    "adaptation.labeling": "select_rows_to_label",
    "adaptation.model_io": "load_model",
    "adaptation.partial": "PartialWeights",
    "adaptation.performance_estimation": "estimate_performance target_scorer",
    "data.two_samples": "clip_weights effective_sample_size flatten_weights",
    "errors": (
        "InvalidInputError InvalidTypeError NoOverlapError NoTargetWarning "
        "PartialOverlapWarning WeakClassifierWarning"
    ),
    "monitor.monitor": "ModelMonitor",
    "monitor.results": "Alert ChunkResult",
    "performance.result": "Performance",
    "report.comparison": "compare",
    "report.report": "Report",
    "shift.diagnosis": "Diagnosis diagnose",
    "shift.discrepancy_distance": "discrepancy",
    "shift.domain_classifier": "domain_auc",
    "shift.support": "overlap",
    "shift.two_sample_tests": "mmd",
}
_SUBMODULES = (
    "bounds",
    "data",
    "datasets",
    "models",
    "networks",
    "optim",
    "plot",
    "report",
    "selection",
    "shift",
    "subspaces",
    "svm",
    "testing",
    "twin_gp",
)
# A submodule that needs an extra: `from counterpoise import *` does not import it.
_OPTIONAL = ("deep",)
_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}
_HOME |= {entry.name: f"weights.{entry.module}" for entry in WEIGHT_ESTIMATORS}

__all__ = ["__version__", *_SUBMODULES, *_HOME]


def __getattr__(name: str) -> object:
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
