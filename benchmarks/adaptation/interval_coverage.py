"""Do the intervals hold the true target score, and the conformal sets the labels?

Simulated shifts, 1000 source and 1000 target rows, weights by `AutoWeights`: how often
the interval of level 0.95 around the doubly robust estimate holds the true mean loss of
20,000 target rows, and how wide it is relative to that; the same of the estimate to go
by (`best`), all problems alike: before errors were estimate by estimate it held in
0.990 of 96 such draws (seeds 9000 and 9001) with a median width of 0.468. Conformal
sets of level 0.9 on the same shifts, with the true ratio and with estimated weights.
Draws are kept (`kept_draws`); SEED says where they begin.

The bars go by the number of draws: the coverage that intervals of level 0.95 reach in
all but one of a hundred runs (`chance`; learners of one draw err together, so draws are
counted, not intervals). The coverage of sets of level 0.9 that were calibrated on e
rows of worth varies by sqrt(0.09 / e) from draw to draw, with weights by up to 1.8
times that: their bar is 0.9 - 3 * 1.8 * sqrt(0.09 / (e k)) for k draws. A quick run has
one draw of each problem, and sets where the weights are most unequal.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from chance import share_at_least
from drawn_shifts import PROBLEMS
from kept_draws import kept_draw
from reporting import bar, table
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from counterpoise import AutoWeights, estimate_performance
from counterpoise.performance.conformal import (
    Calibration,
    absolute_scores,
    adaptive_scores,
    class_scores,
)
from counterpoise.performance.metrics import as_metric

ROWS, TEST_ROWS = 1000, 20_000
# ESS/n that the true ratio leaves.
KEPT = (1.0, 0.7, 0.4, 0.2, 0.1, 0.05)
LEARNERS = ("linear", "boosting")
INTERVAL_LEVEL, CONFORMAL_LEVEL, VARIES = 0.95, 0.9, 1.8


def run(quick: bool) -> dict:
    """Measure coverage and width, and judge them."""
    draws = int(os.environ.get("DRAWS", "1" if quick else "200"))
    places = range(2, 3) if quick else range(len(KEPT))
    # The first problem in full, the others with a quarter of the draws.
    first = int(os.environ.get("SEED", "0"))
    tasks = [
        (p, k, first + seed)
        for seed in range(draws)
        for p in range(len(PROBLEMS))
        for k in places
        if p == 0 or seed % 4 == 0
    ]
    with ProcessPoolExecutor(max_workers=int(os.environ.get("WORKERS", "2"))) as pool:
        found = list(pool.map(_job, tasks, chunksize=1))
    bars, tables = [], []
    for p, problem in enumerate(PROBLEMS):
        rows = []
        for k in places:
            kept = KEPT[k]
            own = [f for t, f in zip(tasks, found, strict=True) if t[:2] == (p, k)]
            for learner in LEARNERS:
                rows.append([kept, learner, *_summary([f[learner] for f in own])])
                if p == 0 and not quick:
                    what = f"{problem.name}, ESS/n {kept:g}, {learner}: coverage"
                    least = share_at_least(INTERVAL_LEVEL, len(own))
                    bars.append(bar(what, rows[-1][4], least=least))
        tables.append(
            table(
                problem.name,
                "ESS/n | learner | draws | estimated ESS/n | doubly robust | width | "
                "weighted | width | source",
                rows,
            )
        )
    for k in places:
        kept = KEPT[k]
        own = [f for t, f in zip(tasks, found, strict=True) if t[1] == k]
        share = np.mean([f[learner]["held"] for f in own for learner in LEARNERS])
        least = share_at_least(INTERVAL_LEVEL, len(own))
        bars.append(bar(f"all problems, ESS/n {kept:g}: coverage", share, least=least))
    alike = [
        f[name]
        for t, f in zip(tasks, found, strict=True)
        for name in LEARNERS
        if (t[2] - first) % 4 == 0
    ]
    asked = [d for d in alike if "best" in d]
    held = float(np.mean([d.get("best", False) for d in alike]))
    width = float(np.median([d["best width"] for d in asked]))
    tables.append(
        table(
            "The estimate to go by, all problems and ESS/n alike",
            "draws | holds | median width",
            [[len(alike), held, width]],
        )
    )
    least = share_at_least(INTERVAL_LEVEL, len(alike) // len(LEARNERS))
    bars.append(bar("the estimate to go by: coverage", held, least=least))
    bars += _conformal(4 if quick else 100, (0.1,) if quick else (0.4, 0.1), tables)
    return {"bars": bars, "tables": tables}


def one(p: int, k: int, seed: int) -> dict[str, Any]:
    """Return what the intervals of one draw hold, learner by learner."""
    problem, kept = PROBLEMS[p], KEPT[k]
    rng = np.random.default_rng([p, k, seed])
    X_fit, y_fit = problem.draw(rng, ROWS, None)
    X, y = problem.draw(rng, ROWS, None)
    X_target, _ = problem.draw(rng, ROWS, kept)
    X_test, y_test = problem.draw(rng, TEST_ROWS, kept)
    out = {}
    for name, learner in learners(problem.kind).items():
        model = learner.fit(X_fit, y_fit)
        truth = as_metric(None, model, y).value(model, X_test, y_test)
        got = estimate_performance(model, X, y, X_target, random_state=seed)
        robust, weighted = got.doubly_robust, got.weighted
        if robust is None or weighted is None:
            out[name] = {"held": False, "kept": np.nan, "refused": True}
            continue
        best = got.best
        out[name] = {
            "best": best.low <= truth <= best.high,
            "best width": (best.high - best.low) / truth,
            "held": robust.low <= truth <= robust.high,
            "width": (robust.high - robust.low) / truth,
            "weighted": weighted.low <= truth <= weighted.high,
            "weighted width": (weighted.high - weighted.low) / truth,
            "source": got.source.low <= truth <= got.source.high,
            "kept": got.effective_rows / ROWS,
            "error": robust.value / truth - 1,
        }
    return out


def learners(kind: str) -> dict[str, Any]:
    """Return a linear learner, which these problems do not suit, and boosting."""
    options: dict[str, Any] = {
        "max_iter": 60,
        "max_leaf_nodes": 8,
        "learning_rate": 0.05,
        "random_state": 0,
    }
    if kind == "regression":
        return dict(
            zip(
                LEARNERS,
                (Ridge(), HistGradientBoostingRegressor(**options)),
                strict=True,
            )
        )
    return dict(
        zip(
            LEARNERS,
            (LogisticRegression(), HistGradientBoostingClassifier(**options)),
            strict=True,
        )
    )


def _job(task: tuple[int, int, int]) -> dict[str, Any]:
    import warnings

    warnings.simplefilter("ignore")
    return kept_draw("interval_coverage", "-".join(map(str, task)), lambda: one(*task))


def _summary(draws: list[dict]) -> list[Any]:
    def mean(name: str) -> float:
        return float(np.mean([d.get(name, 0.0) for d in draws]))

    def middle(name: str) -> float:
        return float(np.median([d.get(name, np.inf) for d in draws]))

    return [
        len(draws),
        middle("kept"),
        mean("held"),
        middle("width"),
        mean("weighted"),
        middle("weighted width"),
        mean("source"),
    ]


def _conformal(
    draws: int, shares_kept: tuple[float, ...], tables: list[dict]
) -> list[dict]:
    """Measure how many labels the sets hold, and how many sets are endless."""
    bars, rows = [], []
    for problem in (PROBLEMS[0], PROBLEMS[1]):
        # The squared length of the move along its direction, and the log ratio.
        direction = np.zeros(5)
        direction[:2] = (1.0, 0.5) if problem is PROBLEMS[0] else (1.0, 1.0)
        for kept in shares_kept:
            move = direction * np.sqrt(-np.log(kept) / (direction @ direction))
            held: dict[str, list] = {"known": [], "estimated": []}
            endless: dict[str, list] = {"known": [], "estimated": []}
            for seed in range(draws):
                rng = np.random.default_rng([9, seed])
                X_fit, y_fit = problem.draw(rng, ROWS, None)
                X, y = problem.draw(rng, ROWS, None)
                X_target, _ = problem.draw(rng, ROWS, kept)
                X_test, y_test = problem.draw(rng, 2000, kept)
                model = learners(problem.kind)["linear"].fit(X_fit, y_fit)
                auto = AutoWeights(random_state=seed, allow_no_overlap=True)
                auto.fit(X, X_target=X_target)
                ratios = {
                    "known": (np.exp(X @ move), np.exp(X_test @ move)),
                    "estimated": (auto.weights_, auto.predict_weights(X_test)),
                }
                for name, (w, w_test) in ratios.items():
                    share, none = _held(
                        problem.kind, model, X, y, w, X_test, y_test, w_test
                    )
                    held[name].append(share)
                    endless[name].append(none)
            for name, shares in held.items():
                error = np.std(shares, ddof=1) / np.sqrt(len(shares))
                rows.append(
                    [
                        problem.name,
                        kept,
                        name,
                        np.mean(shares),
                        error,
                        np.mean(endless[name]),
                    ]
                )
                what = f"conformal, {problem.name}, ESS/n {kept:g}, {name} ratio"
                varies = VARIES * np.sqrt(0.09 / (kept * ROWS * draws))
                least = CONFORMAL_LEVEL - 3 * varies
                bars.append(bar(what, np.mean(shares), least=least))
    tables.append(
        table(
            f"Conformal sets of level {CONFORMAL_LEVEL:g}",
            "problem | ESS/n | ratio | coverage | standard error | endless",
            rows,
        )
    )
    return bars


def _held(
    kind: str, model: Any, X: Any, y: Any, w: Any, X_test: Any, y_test: Any, w_test: Any
) -> tuple[float, float]:
    if kind == "regression":
        scores = absolute_scores(y, model.predict(X))
        test = absolute_scores(y_test, model.predict(X_test))
    else:
        scores = adaptive_scores(model.predict_proba(X), y)
        every = class_scores(model.predict_proba(X_test))
        test = every[np.arange(len(y_test)), y_test]
    radius = Calibration.of(scores, w).radius(w_test, CONFORMAL_LEVEL)
    return float(np.mean(test <= radius)), float(np.mean(np.isinf(radius)))
