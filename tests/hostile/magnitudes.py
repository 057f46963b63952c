"""Samples of any magnitude, and what must come of them: finite or an error of ours."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

import counterpoise as cp
from counterpoise.models import WeightedKernelRidge
from counterpoise.optim import PathError
from counterpoise.selection import select_prototypes, select_representatives
from counterpoise.shift import discrepancy_spectrum
from counterpoise.subspaces import MaxMinDistanceAnalysis, SharedSubspace
from counterpoise.weights.registry import WEIGHT_ESTIMATORS, with_parameters

Case = dict[str, Any]


def drawn(seed: int) -> Case:
    """Return two samples with magnitudes from 1e-300 to 1e300 here or there.

    Some have columns of numbers so small that their inverses are none.
    """
    rng = np.random.default_rng([seed, 22])
    n, m, d = (
        int(rng.integers(6, 40)),
        int(rng.integers(5, 30)),
        int(rng.integers(1, 4)),
    )
    X, X_target = rng.normal(size=(n, d)), rng.normal(0.3, 1.0, size=(m, d))
    y = X[:, 0] + 0.3 * rng.normal(size=n)
    reach = float(rng.choice([3.0, 20.0, 100.0, 150.0, 300.0]))

    def magnitude() -> float:
        return 10.0 ** float(rng.uniform(-reach, reach))

    kind = int(rng.integers(8))
    if kind == 0:
        scale = np.array([magnitude() for _ in range(d)])
        X, X_target = X * scale, X_target * scale
    elif kind == 1:
        factor = magnitude()
        X, X_target = X * factor, X_target * factor
    elif kind == 2:
        X[rng.integers(n)] *= magnitude()
    elif kind == 3:
        X_target[rng.integers(m)] *= magnitude()
    elif kind == 4:
        offset = magnitude()
        X, X_target = X + offset, X_target + offset
    elif kind == 5:
        X[:, 0] = magnitude()
        X_target[:, 0] = X[0, 0] if rng.random() < 0.5 else magnitude()
    elif kind == 6:
        X[: n // 2] = X[0]
        X_target *= magnitude()
    elif kind == 7 and rng.random() < 0.5:
        small = 10.0 ** float(rng.uniform(-322.0, -300.0))
        X[:, -1], X_target[:, -1] = X[:, -1] * small, X_target[:, -1] * small
    y = y * (magnitude() if rng.random() < 0.5 else 1.0)
    w = np.ones(n)
    if rng.random() < 0.2:
        w = 10.0 ** rng.uniform(-reach, reach, n)
    return {"X": X, "X_target": X_target, "y": y, "w": w, "kind": kind, "reach": reach}


def _classes(case: Case) -> Any:
    n = len(case["y"])
    return (np.argsort(np.argsort(case["y"])) * 2 >= n).astype(int)


def _weighter(weight_estimator: Any) -> Callable[[Case], list[Any]]:
    def ask(case: Case) -> list[Any]:
        one = clone(weight_estimator)
        y = case["y"] if one.needs_labels else None
        one.fit(case["X"], y, X_target=case["X_target"], sample_weight=case["w"])
        out = [one.weights_, one.effective_sample_size_]
        if one.weights_are_a_ratio and not one.needs_labels:
            out.append(one.predict_weights(case["X_target"]))
        return out

    return ask


def _learner(model: Any, *, classes: bool = False, weights: bool = True) -> Any:
    def ask(case: Case) -> list[Any]:
        y = _classes(case) if classes else case["y"]
        given = {"sample_weight": case["w"]} if weights else {}
        one = clone(model).fit(case["X"], y, **given)
        return [one.predict(case["X_target"])]

    return ask


def _measure(function: Any, *parts: str, **given: Any) -> Any:
    def ask(case: Case) -> list[Any]:
        found = function(case["X"], case["X_target"], sample_weight=case["w"], **given)
        return [getattr(found, part) for part in parts] if parts else [found]

    return ask


def _adapted(case: Case) -> list[Any]:
    one = cp.Adapted(
        LinearRegression(), cp.ULSIF(allow_no_overlap=True), random_state=0
    )
    # What an estimator of the user's own makes of huge responses is its own affair.
    y = np.arctan(case["y"])
    # So are coefficients of columns whose inverses are no floats.
    case = case | {
        name: np.where(np.abs(case[name]) < 1e-290, 0.0, case[name])
        for name in ("X", "X_target")
    }
    one.fit(case["X"], y, X_target=case["X_target"], sample_weight=case["w"])
    return [one.weights_, one.predict(case["X_target"])]


def _performance(case: Case) -> list[Any]:
    labels = _classes(case)
    model = LogisticRegression().fit(np.arctan(case["X"]), labels)
    found = cp.estimate_performance(
        model,
        np.arctan(case["X"]),
        labels,
        np.arctan(case["X_target"]),
        sample_weight=case["w"],
        weight_estimator=cp.ULSIF(allow_no_overlap=True),
        random_state=0,
    )
    return [found.weighted.value if found.weighted else None]


def _subspace(model: Any, *, target: bool) -> Any:
    def ask(case: Case) -> list[Any]:
        given = {"X_target": case["X_target"]} if target else {}
        one = clone(model).fit(case["X"], _classes(case), **given)
        return [one.components_, one.transform(case["X_target"])]

    return ask


def _prototypes(case: Case) -> list[Any]:
    found = select_prototypes(case["X"], 2, sample_weight=case["w"])
    return [
        found.indices,
        found.cost,
        select_representatives(case["X"], 2),
    ]


def _selector(case: Case) -> list[Any]:
    found = cp.selection.SubsetSelector(sparsity=0.3, max_iter=300).fit(
        case["X"], sample_weight=case["w"]
    )
    return [found.assignment_, found.selected_]


def _worth(case: Case) -> list[Any]:
    w = case["w"]
    return [
        cp.effective_sample_size(w),
        cp.flatten_weights(w, 0.5),
        cp.clip_weights(w, 3.0),
    ]


def _partial(case: Case) -> list[Any]:
    one = cp.PartialWeights("em", random_state=0).fit(
        case["X"], _classes(case), X_target=case["X_target"], sample_weight=case["w"]
    )
    return [one.weights_, one.class_prior_]


def _clusters(case: Case) -> list[Any]:
    one = cp.subspaces.OrthogonalGraphClustering(2, n_neighbors=3, n_init=1, max_iter=5)
    return [one.fit(case["X"]).labels_, one.indicator_]


def _one_class(case: Case) -> list[Any]:
    one = cp.svm.OneClassSVMPath().fit(case["X"], sample_weight=case["w"])
    return [one.decision_function(case["X_target"])]


SUBJECTS: dict[str, Callable[[Case], list[Any]]] = {
    **{
        f"{entry.name}{k or ''}": _weighter(
            with_parameters(
                entry.load(), random_state=0, allow_no_overlap=True, **parameters
            )
        )
        for entry in WEIGHT_ESTIMATORS
        for k, parameters in enumerate(entry.laws)
        if entry.name != "AutoWeights"
    },
    "AutoWeights": _weighter(cp.AutoWeights(random_state=0, allow_no_overlap=True)),
    "Adapted": _adapted,
    "estimate_performance": _performance,
    "PartialWeights": _partial,
    "WeightedKernelRidge": _learner(WeightedKernelRidge()),
    "WeightedKernelRidge linear": _learner(WeightedKernelRidge(kernel="linear")),
    "WeightedKernelRidge poly": _learner(WeightedKernelRidge(kernel="poly")),
    "WeightedKernelRidge of rank 5": _learner(WeightedKernelRidge(rank=5)),
    "WeightedSVC": _learner(cp.svm.WeightedSVC(), classes=True),
    "WeightedSVR": _learner(cp.svm.WeightedSVR()),
    "KernelQuantileRegressor": _learner(cp.svm.KernelQuantileRegressor()),
    "OneClassSVMPath": _one_class,
    "TwinGP": _learner(cp.twin_gp.TwinGP()),
    "WeightedGPR": _learner(cp.twin_gp.WeightedGPR()),
    "WeightedKNN": _learner(cp.twin_gp.WeightedKNN()),
    "ConvexNetworkRegressor": _learner(
        cp.networks.ConvexNetworkRegressor(
            hidden_layer_sizes=(2,), max_iter=2, random_state=0
        )
    ),
    "ConvexNetworkClassifier": _learner(
        cp.networks.ConvexNetworkClassifier(
            hidden_layer_sizes=(2,), max_iter=2, random_state=0
        ),
        classes=True,
    ),
    "mmd": _measure(cp.mmd, "value", "unbiased_square", "gamma"),
    "discrepancy": _measure(cp.discrepancy),
    "discrepancy_spectrum": _measure(discrepancy_spectrum, "eigenvalues", "value"),
    "domain_auc": _measure(cp.domain_auc, random_state=0),
    "overlap": _measure(cp.overlap, "auc", "uncovered_fraction", random_state=0),
    "diagnose": _measure(cp.diagnose, "auc", "mmd", n_permutations=9, random_state=0),
    "effective_sample_size, flatten, clip": _worth,
    "select_prototypes, select_representatives": _prototypes,
    "SubsetSelector": _selector,
    "MaxMinDistanceAnalysis": _subspace(
        MaxMinDistanceAnalysis(1, random_state=0), target=False
    ),
    "SharedSubspace": _subspace(SharedSubspace(1, random_state=0), target=True),
    "OrthogonalGraphClustering": _clusters,
}
# What costs more than a few hundredths of a second a case.
SLOW = frozenset(
    {
        "AutoWeights",
        "RULSIF",
        "diagnose",
        "overlap",
        "domain_auc",
        "DiscriminatorWeights",
        "DiscrepancyWeights1",
        "estimate_performance",
        "Adapted",
        "LabelShiftWeights",
        "SharedSubspace",
        "ConvexNetworkRegressor",
        "ConvexNetworkClassifier",
        "SubsetSelector",
        "TwinGP",
        "OrthogonalGraphClustering",
    }
)


def fault(name: str, seed: int) -> str | None:
    """Return what is wrong with the answer to a drawn case, None if nothing is."""
    return fault_of(SUBJECTS[name], drawn(seed))


def fault_of(ask: Callable[[Case], list[Any]], case: Case) -> str | None:
    """Return what is wrong with an answer, None if it is finite or an error of ours.

    A warning of numpy's is a fault: somebody else would see it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = ask(case)
        except (
            cp.InvalidInputError,
            cp.InvalidTypeError,
            cp.NoOverlapError,
            PathError,
        ):
            return None
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    for one in found:
        if one is not None and not np.isfinite(np.asarray(one, dtype=float)).all():
            return "an answer that is not finite"
    return None
