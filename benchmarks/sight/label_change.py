"""Is a change of p(y | x) seen from a few labels, and none where there is none?

Level: the four drawn covariate shifts of `benchmarks/adaptation/drawn_shifts.py` at
two strengths, three classes in other places, a skewed table, boosting and linear
models; labels drawn again and again from one target. Power: two normal classes .5 ->
.08 with 80 labels; slope +1 of a regression with 60, where four in five are asked for;
slope +1 of log-odds along the prediction and along a column, with 60 and 120. Of these
60 labels say too little for any test (`_most_seen`): the most powerful of level 0.05,
the likelihood ratio of both p(y | x) known to the last digit, sees the change in .81;
if it must not know its sign, in .69. So classes have no bar there, and stand beside
these figures. Before: label shift seen in 1 of 6, false alarms 5 of 42. The bars are
what the shares promised reach in all but one of a hundred runs of as many draws of
labels (`chance`).
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from chance import share_at_least, share_at_most
from reporting import bar, table
from sizes import first_and_draws
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from counterpoise import AutoWeights
from counterpoise.adaptation.performance_estimation import cross_val_predictions
from counterpoise.performance.metrics import Predictions, as_metric
from counterpoise.performance.result import (
    MetricEvaluator,
    Rows,
    label_changes,
    label_check,
)

sys.path.append(str(Path(__file__).parents[1] / "adaptation"))
from drawn_shifts import PROBLEMS

ROWS, LABELS_OF_LEVEL = 1000, 80
LABELS = (60, 120)
LEARNERS = ("linear", "boosting")
# How often the labels of one target are drawn.
LABELS_DRAWN = 4


@dataclass(frozen=True)
class World:
    """A labeled source, a target without labels, and how its labels are drawn."""

    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    labels: Callable[[np.random.Generator], tuple]


Draw = Callable[[np.random.Generator], World]


def run(quick: bool) -> dict:
    """Measure level and power."""
    first, draws = first_and_draws(quick, 1, 8)
    rows, bars, unchanged = [], [], []
    worlds = list(_unchanged().items())
    for name, draw in worlds[::2] if quick else worlds:
        said = [_said(draw, first + k) for k in range(draws)]
        unchanged += said
        rows += _told(name, said)
    rows += _told("all", unchanged)
    for learner in LEARNERS:
        alerts = _share(unchanged, learner, 0)
        most = share_at_most(0.05, LABELS_DRAWN * len(unchanged))
        bars.append(bar(f"false alarms, {learner}", alerts, most))
    for name, draw, least in _changed():
        said = [_said(draw, first + k) for k in range(draws)]
        rows += _told(name, said)
        for learner in LEARNERS if least else ():
            seen = _share(said, learner, 0)
            fewest = share_at_least(least, LABELS_DRAWN * len(said))
            bars.append(bar(f"{name}, {learner}: seen", seen, least=fewest))
    rows += _most_seen(np.random.default_rng(first), 2000 if quick else 20_000)
    told = table(
        "Changes of p(y | x) that are said",
        "world | learner | labels drawn | said | by the mean loss alone",
        rows,
    )
    return {"tables": [told], "bars": bars}


def _told(name: str, said: list[dict]) -> list[list]:
    return [
        [
            name,
            learner,
            sum(len(one[learner]) for one in said),
            *(_share(said, learner, k) for k in (0, 1)),
        ]
        for learner in LEARNERS
    ]


def _share(said: list[dict], learner: str, which: int) -> float:
    p_values = [pair[which] for one in said for pair in one[learner]]
    return float(np.mean(np.less(p_values, 0.05)))


def _said(draw: Draw, seed: int) -> dict[str, list[tuple[float, float]]]:
    """Return p-values of the check and of the mean loss, for labels drawn anew.

    The steps of `estimate_performance`, of which all but the labels are done once.
    """
    rng = np.random.default_rng(70_000 + seed)
    world = draw(rng)
    n, m = len(world.X), len(world.T)
    ratio = AutoWeights(random_state=seed).fit(world.X, X_target=world.T).weights_
    classes = world.y.dtype.kind == "i"
    found: dict[str, list] = {}
    for learner in LEARNERS:
        model = _model(learner, classes).fit(world.X, world.y)
        metric = as_metric(None, model, world.y)
        ones = np.ones(n)
        answers = cross_val_predictions(
            model, world.X, world.y, ones, 5, None, classifier=classes, seed=seed
        )
        answers_target = Predictions.of(model, [world.T], classes)
        found[learner] = []
        for _ in range(LABELS_DRAWN):
            X_lab, y_lab = world.labels(rng)
            labeled = Predictions.of(model, [X_lab], classes), y_lab
            rows = Rows(
                answers,
                world.y,
                ones,
                answers_target,
                labeled,
                world.X,
                world.T,
                X_lab,
            )
            every = np.arange(n)
            changes = label_changes(rows, ratio, every, seed)
            judge = MetricEvaluator(rows, metric, ratio, 0.95, seed, changes)
            evidence = judge.loss_model(every)
            check = label_check(
                judge.evidence(evidence).take(every, np.arange(m)),
                *evidence.labeled,
                metric,
                changes,
            )
            loss = next(one for one in check.directions if one.kind == "loss")
            found[learner].append((check.p_value, loss.p_value))
    return found


def _model(learner: str, classes: bool) -> Any:
    if learner == "linear":
        return LogisticRegression(max_iter=500) if classes else Ridge()
    if classes:
        return HistGradientBoostingClassifier(random_state=0)
    return HistGradientBoostingRegressor(random_state=0)


def _unchanged() -> dict[str, Any]:
    def of(problem, kept):
        def draw(rng):
            X, y = problem.draw(rng, ROWS, None)
            T, _ = problem.draw(rng, ROWS, kept)
            return World(X, y, T, lambda rng: problem.draw(rng, LABELS_OF_LEVEL, kept))

        return draw

    found = {
        f"{problem.name}, ESS/n {kept}": of(problem, kept)
        for problem in PROBLEMS
        for kept in (0.3, 0.6)
    }
    return {**found, "three classes": _three_classes, "skewed": _skewed}


def _three_classes(rng) -> World:
    """Three classes by angle, inputs moved by 0.7."""

    def rows(rng, n, move):
        X = rng.standard_normal((n, 4))
        X[:, 0] += move
        scores = X[:, :2] @ np.array([[1.5, -0.7, -0.7], [0.0, 1.3, -1.3]])
        scores += rng.gumbel(size=scores.shape)
        return X, scores.argmax(axis=1)

    X, y = rows(rng, ROWS, 0.0)
    return World(
        X, y, rows(rng, ROWS, 0.7)[0], lambda rng: rows(rng, LABELS_OF_LEVEL, 0.7)
    )


def _skewed(rng) -> World:
    """Lognormal columns, noise that grows with them, a target tilted to their tail."""

    def rows(rng, n, tilt):
        X = rng.standard_normal((n, 6))
        X[:, :2] += tilt
        X = np.exp(0.6 * X)
        mean = X[:, 0] + np.log(X[:, 1]) * X[:, 2]
        return X, mean + 0.5 * X[:, 0] * rng.standard_normal(n)

    X, y = rows(rng, ROWS, 0.0)
    return World(
        X, y, rows(rng, ROWS, 0.5)[0], lambda rng: rows(rng, LABELS_OF_LEVEL, 0.5)
    )


def _changed() -> tuple:
    along, column = "slope +1 along the prediction", "slope +1 of a column"
    return (
        ("label shift .5 -> .08, 80 labels", _label_shift, 0.95),
        *((f"{along}, {k} labels", _of_log_odds(k, 2.0, 0.0), None) for k in LABELS),
        *((f"{column}, {k} labels", _of_log_odds(k, 1.0, 1.0), None) for k in LABELS),
        ("slope +1 of a regression, 60 labels", _regression, 0.8),
    )


def _most_seen(rng, draws: int) -> list[list]:
    """Return how often the likelihood ratio of the two p(y | x) sees the change.

    No test of the level sees it more often (Neyman and Pearson, 1933); one that has
    half of the level for changes of either sign sees it as the second row says.
    """
    found = []
    for name, slope, extra in (("along the prediction", 2, 0), ("of a column", 1, 1)):
        for k in LABELS:
            X = rng.standard_normal((draws, k, 5))
            X[..., 0] += 0.5
            old = X[..., 0] - X[..., 1]
            new = slope * old + extra * X[..., 0]
            p, q = (1 / (1 + np.exp(-z)) for z in (old, new))
            ratios = []
            for chance in (p, q):
                y = rng.random(p.shape) < chance
                ratio = np.where(y, np.log(q / p), np.log((1 - q) / (1 - p)))
                ratios.append(ratio.sum(axis=1))
            for level, knows in ((0.05, "sign known"), (0.025, "sign not known")):
                seen = (ratios[1] > np.quantile(ratios[0], 1 - level)).mean()
                world = f"slope +1 {name}, {k} labels, both laws known"
                found.append([world, knows, draws, float(seen), None])
    return found


def _label_shift(rng) -> World:
    def rows(rng, n, share):
        y = (rng.random(n) < share).astype(int)
        X = rng.standard_normal((n, 5))
        X[:, :2] += y[:, None]
        return X, y

    X, y = rows(rng, ROWS, 0.5)
    return World(X, y, rows(rng, ROWS, 0.08)[0], lambda rng: rows(rng, 80, 0.08))


def _logistic(rng, n, move, slope, extra=0.0):
    X = rng.standard_normal((n, 5))
    X[:, 0] += move
    z = slope * (X[:, 0] - X[:, 1]) + extra * X[:, 0]
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


def _of_log_odds(k, slope, extra) -> Draw:
    def draw(rng):
        X, y = _logistic(rng, ROWS, 0.0, 1.0)
        T, _ = _logistic(rng, ROWS, 0.5, 1.0)
        return World(X, y, T, lambda rng: _logistic(rng, k, 0.5, slope, extra))

    return draw


def _regression(rng) -> World:
    def rows(rng, n, move, more):
        X = rng.standard_normal((n, 5))
        X[:, 0] += move
        mean = (1.0 + more) * X[:, 0] - X[:, 1] + 0.5 * X[:, 2] ** 2
        return X, mean + rng.standard_normal(n)

    X, y = rows(rng, ROWS, 0.0, 0.0)
    return World(
        X, y, rows(rng, ROWS, 0.5, 0.0)[0], lambda rng: rows(rng, 60, 0.5, 1.0)
    )
