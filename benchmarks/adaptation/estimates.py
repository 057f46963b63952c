"""How far is the estimated target loss from the true one, on real shifts?

For every shift and learner: 2,000 source rows to fit, 2,000 held out, 2,500 target rows
without labels (or what there is), the truth on other target rows. Squared error or
log-loss; beside NannyML on the same rows: squared error (DLE), error rate and AUC
(CBPE). The shifts of the bars overlap and have no known change of p(y | x). Draws are
kept (`kept_draws`).
"""

import os
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
from environments import environment
from kept_draws import kept_draw
from nannyml_peer import MissingPeerError, ask_all
from reporting import bar, left_out, table
from shifts import Shift, shifts
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise import estimate_performance
from counterpoise.performance.metrics import as_metric

HELD_OUT, TARGET_ROWS, TEST_ROWS = 2000, 2500, 4000
ESTIMATES = ("source", "weighted", "direct", "doubly_robust", "confidence")
JUDGED = (
    "employment young -> old (biased)",
    "weather cold -> warm (biased)",
    "abalone adult -> infant",
    "abalone infant -> adult",
    "California north -> south",
    "income CA -> FL",
    "employment 2015 -> 2018",
)


def run(quick: bool) -> dict:
    """Measure all shifts and judge the estimates."""
    resamplings = int(os.environ.get("DRAWS", "2" if quick else "5"))
    names = dict(enumerate(shift.name for shift in shifts()))
    if quick:
        names = {k: name for k, name in names.items() if name in JUDGED[2:5]}
    tasks = [(k, seed) for seed in range(resamplings) for k in names]
    with suppress(MissingPeerError):  # which every draw will say
        environment("nannyml")
    with ProcessPoolExecutor(max_workers=int(os.environ.get("WORKERS", "2"))) as pool:
        found = list(pool.map(_job, tasks))
    rows, peers, errors, single, ours, theirs = [], [], {}, {}, [], []
    for k, name in names.items():
        draws = [f for (index, _), f in zip(tasks, found, strict=True) if index == k]
        for learner in ("linear", "boosting"):
            own = [d[learner] for d in draws]
            cells = [_mean([d["loss"].get(e) for d in own]) for e in ESTIMATES]
            uncovered_fraction = float(np.mean([d["uncovered_fraction"] for d in own]))
            rows.append([name, learner, uncovered_fraction, *cells])
            beside = [
                _mean([d["peer"].get(key) for d in own])
                for key in ("ours", "NannyML", "our auc", "NannyML's auc")
            ]
            peers.append([name, learner, *beside])
            if name in JUDGED:
                for place, estimate in enumerate(ESTIMATES):
                    if cells[place] is not None:
                        errors.setdefault(estimate, []).append(abs(cells[place]))
                        single.setdefault(estimate, []).extend(
                            abs(d["loss"][estimate])
                            for d in own
                            if d["loss"].get(estimate) is not None
                        )
                if beside[1] is not None:
                    ours.append(abs(beside[0]))
                    theirs.append(abs(beside[1]))
    tables = [
        table(
            f"Relative error of the estimated target loss, %, mean of {resamplings}",
            "shift | learner | thin | source | weighted | direct | doubly robust | "
            "confidence",
            rows,
        ),
        table(
            "Relative error of squared error or error rate, %; error of the AUC, %",
            "shift | learner | ours | NannyML | our AUC | NannyML's AUC",
            peers,
        ),
    ]
    means = {name: float(np.mean(values)) for name, values in errors.items()}
    tables.append(
        table(
            "Absolute relative error, %, mean over the judged shifts and learners",
            " | ".join(["of", *means]),
            [
                ["the mean of the draws", *means.values()],
                ["a single draw", *(float(np.mean(single[e])) for e in means)],
            ],
        )
    )
    robust, source = means["doubly_robust"], means["source"]
    bars = [
        bar("mean absolute relative error, %, doubly robust", robust, most=8.0),
        bar("the same over that of the source's score", robust / source, most=1 / 3),
    ]
    if theirs:
        mine, other = float(np.mean(ours)), float(np.mean(theirs))
        bars.append(
            bar("the same on NannyML's metrics, ours minus its", mine - other, most=0.0)
        )
    missing = {
        d[name]["peer"]["missing"]
        for d in found
        for name in d
        if "missing" in d[name]["peer"]
    }
    for reason in missing:
        left_out(f"NannyML is missing: {reason}")
    return {"bars": bars, "tables": tables}


def learners(kind: str) -> dict[str, Any]:
    """Return a linear learner and boosting."""
    if kind == "regression":
        return {
            "linear": make_pipeline(StandardScaler(), Ridge()),
            "boosting": HistGradientBoostingRegressor(random_state=0),
        }
    return {
        "linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }


def one(shift: Shift, seed: int) -> dict[str, Any]:
    """Return the relative errors of one resampling, learner by learner."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(shift.X))[: 2 * HELD_OUT]
    fit, held_out = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    aims, m = rng.permutation(len(shift.X_target)), len(shift.X_target)
    open_rows, test = aims[: min(TARGET_ROWS, m // 2)], aims[m // 2 :][:TEST_ROWS]
    X, y = shift.X[held_out], shift.y[held_out]
    X_target = shift.X_target[open_rows]
    X_test, y_test = shift.X_target[test], shift.y_target[test]
    out, asked = {}, {}
    for name, learner in learners(shift.kind).items():
        model = learner.fit(shift.X[fit], shift.y[fit])
        wanted = (
            [None] if shift.kind == "regression" else [None, "error_rate", "roc_auc"]
        )
        got = estimate_performance(
            model, X, y, X_target, scoring=wanted, random_state=seed
        )
        truths = {
            key: as_metric(key, model, y).value(model, X_test, y_test)
            for key in got.metrics
        }
        first = next(iter(got.metrics.values()))
        truth = truths[first.metric]
        loss = {}
        for estimate in ESTIMATES:
            value = getattr(first, estimate)
            loss[estimate] = None if value is None else 100 * (value.value / truth - 1)
        out[name] = {
            "loss": loss,
            "uncovered_fraction": got.uncovered_fraction,
            "peer": {},
        }
        if got[_peers_metric(shift)].doubly_robust is not None:
            asked[name] = (_question(model, X, y, X_target), got, truths)
    return _beside_nannyml(shift, out, asked)


def _peers_metric(shift: Shift) -> str:
    regression = shift.kind == "regression"
    return "neg_mean_squared_error" if regression else "error_rate"


def _question(model: Any, X: Any, y: Any, X_target: Any) -> dict[str, Any]:
    """Return what NannyML is given of a model."""
    given = {
        "X": X,
        "y": y,
        "X_target": X_target,
        "predicted": model.predict(X),
        "predicted_target": model.predict(X_target),
    }
    if hasattr(model, "predict_proba"):
        given["probability"] = model.predict_proba(X)[:, 1]
        given["probability_target"] = model.predict_proba(X_target)[:, 1]
    return given


def _beside_nannyml(shift: Shift, out: dict, asked: dict) -> dict[str, Any]:
    """Return the draw with the errors of NannyML and ours on its metrics."""
    key = _peers_metric(shift)
    told = "squared error" if shift.kind == "regression" else "error rate"
    try:
        answers = ask_all([question for question, *_ in asked.values()])
    except MissingPeerError as error:
        answers = [{"missing": str(error)}] * len(asked)
    for (name, (_, got, truths)), found in zip(asked.items(), answers, strict=True):
        ours = got[key].doubly_robust.value
        peer = out[name]["peer"] = {"ours": 100 * (ours / truths[key] - 1)}
        if "missing" in found:
            peer["missing"] = found["missing"]
            continue
        peer["NannyML"] = 100 * (found[told] / truths[key] - 1)
        if "auc" in found:
            true_auc = truths["roc_auc"]
            peer["our auc"] = 100 * (got["roc_auc"].weighted.value - true_auc)
            peer["NannyML's auc"] = 100 * (found["auc"] - true_auc)
    return out


def _job(task: tuple[int, int]) -> dict[str, Any]:
    import warnings

    warnings.simplefilter("ignore")
    index, seed = task
    return kept_draw(
        "estimates", f"{index}-{seed}", lambda: one(list(shifts())[index], seed)
    )


def _mean(values: list) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if known else None
