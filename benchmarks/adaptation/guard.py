"""Does "auto" help where it can, and do no harm elsewhere?

Real shifts x three learners x resamplings: target loss of the plain learner, of
`Adapted` with its guard, of the same weights unguarded, of every single weight
estimator, and of an oracle that is trained on labeled target rows. Differences are
paired over resamplings; Holm's correction is over all pairs that the overlap check lets
through. Rows keep the order of their table; recordings have `cv="blocks"`, and once
more folds drawn by chance, as a user would have them who does not know ("auto, by
chance"). Draws are kept (`kept_draws`).
"""

import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Self

import numpy as np
from kept_draws import kept_draw
from reporting import bar, table
from scipy.stats import ttest_1samp
from shifts import Shift, shifts
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from counterpoise import (
    KLIEP,
    KMM,
    RULSIF,
    ULSIF,
    Adapted,
    DiscriminatorWeights,
    LogLinearKLIEP,
    NoOverlapError,
)
from counterpoise.adaptation.routing import fit_weighted
from counterpoise.models.boosting import QuantileBins
from counterpoise.performance.metrics import as_metric

ROWS, TEST_ROWS = 2500, 4000
# A quick run: some shifts, fewer rows.
QUICK_SHIFTS, QUICK_ROWS = (0, 1, 3, 11), 600
SINGLE = {
    "KLIEP": KLIEP,
    "uLSIF": ULSIF,
    "RuLSIF": RULSIF,
    "KMM": KMM,
    "mixture": LogLinearKLIEP,
    "discriminator": DiscriminatorWeights,
}
METHODS = ("auto", "auto, by chance", "auto, e = 1", *SINGLE, "oracle")


def learners(kind: str, n_columns: int) -> dict[str, Any]:
    """Return a linear learner, one with a kernel, and boosting.

    Boosting gets its numbers in bins: with weights, scikit-learn would take longer to
    find them than to grow the trees.
    """
    if kind == "regression":
        return {
            "linear": make_pipeline(StandardScaler(), Ridge()),
            "kernel": make_pipeline(
                StandardScaler(), KernelRidge(kernel="rbf", gamma=1 / n_columns)
            ),
            "boosting": make_pipeline(
                QuantileBins(), HistGradientBoostingRegressor(random_state=0)
            ),
        }
    return {
        "linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        "kernel": make_pipeline(StandardScaler(), SVC()),
        "boosting": make_pipeline(
            QuantileBins(), HistGradientBoostingClassifier(random_state=0)
        ),
    }


class Known(BaseEstimator):
    """The weights of a fitted weight estimator, so that they are made once for all "
    "learners."""

    def __init__(self, fitted: Any) -> None:
        self.fitted = fitted

    def __sklearn_clone__(self) -> Self:
        return self

    def fit(self, X: Any, y: Any = None, **more: Any) -> Self:
        self.weights_, self.solution_ = self.fitted.weights_, self.fitted.solution_
        return self

    def predict_weights(self, X: Any) -> Any:
        return self.fitted.predict_weights(X)


def one(shift: Shift, seed: int, most: int = ROWS) -> dict[str, Any]:
    """Return the losses of one resampling of a shift, learner by learner."""
    rng = np.random.default_rng(seed)
    X, y, T, ty = shift.X, shift.y, shift.X_target, shift.y_target
    rows = np.sort(rng.permutation(len(X))[: min(most, int(0.7 * len(X)))])
    aims = rng.permutation(len(T))
    unlabeled = aims[: min(most, len(T) // 2)]
    test = aims[len(T) // 2 :][:TEST_ROWS]
    X, y, T, ty, T_test, ty_test = (
        X[rows],
        y[rows],
        T[unlabeled],
        ty[unlabeled],
        T[test],
        ty[test],
    )
    weights = {}
    for name, weight_estimator in SINGLE.items():
        weights[name] = (
            weight_estimator(allow_no_overlap=True).fit(X, X_target=T).weights_
        )
    out: dict[str, Any] = {"refused": False, "learners": {}}
    weight_estimator: Any = "auto"
    for name, learner in learners(shift.kind, X.shape[1]).items():
        metric = as_metric(None, learner, y)

        def loss(model: Any, metric: Any = metric) -> float:
            return metric.value(model, T_test, ty_test)

        plain = loss(fit_weighted(learner, X, y, None))
        losses = {"plain": plain}
        try:
            cv = "blocks" if shift.in_time_order else None
            auto = Adapted(
                learner, weight_estimator, cv=cv, guard=True, random_state=seed
            )
            auto.fit(X, y, X_target=(T,))
            losses["auto"] = losses["auto, by chance"] = loss(auto)
            full = auto.weight_estimator_.weights_
            if isinstance(weight_estimator, str):
                weight_estimator = Known(auto.weight_estimator_)
            losses["auto, e = 1"] = loss(fit_weighted(learner, X, y, full))
            if cv is not None:
                other = clone(auto).set_params(
                    cv=None, weight_estimator=weight_estimator
                )
                losses["auto, by chance"] = loss(other.fit(X, y, X_target=(T,)))
            out["auc"], out["uncovered_fraction"] = (
                auto.diagnosis_.auc,
                auto.diagnosis_.uncovered_fraction,
            )
            losses["exponent"] = auto.exponent_
        except NoOverlapError as error:
            out["refused"], out["uncovered_fraction"], out["auc"] = (
                True,
                error.share,
                error.auc,
            )
            losses.update(dict.fromkeys(METHODS[:3], plain))
        for other, weight in weights.items():
            losses[other] = loss(fit_weighted(learner, X, y, weight))
        k = min(len(T), len(X))
        losses["oracle"] = loss(fit_weighted(learner, T[:k], ty[:k], None))
        out["learners"][name] = losses
    return out


def _job(task: tuple[int, int, int]) -> dict[str, Any]:
    import warnings

    warnings.simplefilter("ignore")
    index, seed, most = task
    return kept_draw(
        "guard",
        f"{index}-{seed}-{most}",
        lambda: one(list(shifts())[index], seed, most),
    )


def run(quick: bool) -> dict:
    """Measure all shifts and judge the guard."""
    resamplings, most = (2, QUICK_ROWS) if quick else (10, ROWS)
    names = dict(enumerate(shift.name for shift in shifts()))
    if quick:
        names = {k: names[k] for k in QUICK_SHIFTS}
    tasks = [(k, seed, most) for seed in range(resamplings) for k in names]
    with ProcessPoolExecutor(max_workers=int(os.environ.get("WORKERS", "2"))) as pool:
        found = list(pool.map(_job, tasks))
    rows, pairs = [], []
    for k, name in names.items():
        draws = [f for (index, *_), f in zip(tasks, found, strict=True) if index == k]
        refused = sum(draw["refused"] for draw in draws)
        for learner in draws[0]["learners"]:
            losses = [draw["learners"][learner] for draw in draws]
            change = {
                method: np.array([100 * (d[method] / d["plain"] - 1) for d in losses])
                for method in METHODS
            }
            p_value = _worse(change["auto"])
            rows.append(
                [
                    name,
                    learner,
                    f"{np.mean([d['auc'] for d in draws]):.2f}",
                    f"{np.mean([d['uncovered_fraction'] for d in draws]):.2f}",
                    f"{refused}/{len(draws)}",
                    f"{np.mean([d['plain'] for d in losses]):.4f}",
                    *[f"{change[method].mean():+.1f}" for method in METHODS],
                    f"{p_value:.3f}",
                ]
            )
            if refused < len(draws):
                pairs.append((name, learner, change["auto"], p_value))
    header = " | ".join(
        [
            "shift",
            "learner",
            "AUC",
            "uncovered_fraction",
            "refused",
            "loss",
            *METHODS,
            "p worse",
        ]
    )
    data = table("Change of the target loss against unweighted, %", header, rows)
    return {"tables": [data], "bars": _bars(pairs, quick), "draws": found}


def _worse(change: np.ndarray) -> float:
    """Return the p-value of being worse than unweighted, one-sided and paired."""
    if np.allclose(change, 0):
        return 1.0
    return float(ttest_1samp(change, 0, alternative="greater").pvalue)


def _bars(pairs: list, quick: bool) -> list[dict]:
    ordered = sorted(p for *_, p in pairs)
    holm = min(p * (len(ordered) - k) for k, p in enumerate(ordered))
    worst = max(pairs, key=lambda pair: pair[2].mean())
    better = [
        name
        for name, learner, change, _ in pairs
        if learner == "linear" and change.mean() <= -10
    ]
    print(f"  linear at least 10 % better on: {', '.join(better)}")
    print(f"  worst mean: {worst[0]}, {worst[1]}")
    bars = [
        bar("smallest Holm-corrected p of being worse", holm, least=0.05),
        bar("worst mean change, %", float(worst[2].mean()), most=5.0),
    ]
    if not quick:  # of all shifts, at their full size
        gained = float(len(better))
        bars.append(bar("shifts where linear gains 10 %", gained, least=3.0))
    return bars
