"""Are classes in other shares recognized and made up for, and no other shift called so?

Label shifts: two normal classes in five columns, .5 -> .08; three classes; a ring
around a disc; logistic regression and boosting. Log-loss on target rows that nobody
saw, of the plain learner, of `Adapted` by inputs ("auto"), by labels, and by the rule
("either"). Shifts of inputs: those of `benchmarks/adaptation/drawn_shifts.py` with
classes, a mean that moves where classes are almost decided, three classes. Before:
log-loss .45 with no word of labels, where weights by labels have .20 to .25: of
logistic regression, so its bar is (boosting overfits 1,000 rows, by either weights).
Nine in ten are to be called so, and one in twenty shifts of inputs may be, as far as
the number of draws tells (`chance`).
"""

import sys
from pathlib import Path

import numpy as np
from chance import share_at_least, share_at_most
from reporting import bar, table
from sizes import first_and_draws
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from counterpoise import Adapted
from counterpoise.adaptation.label_shift import class_shares, recognize_label_shift
from counterpoise.data.samples import Samples
from counterpoise.performance.metrics import as_metric

sys.path.append(str(Path(__file__).parents[1] / "adaptation"))
from drawn_shifts import PROBLEMS

ROWS, TEST_ROWS = 1000, 4000
WAYS = ("auto", "labels", "either")


def run(quick: bool) -> dict:
    """Measure what is recognized, and what it brings."""
    first, draws = first_and_draws(quick, 1, 6)
    rows, bars, every = [], [], []
    for name, (draw, before, after) in LABEL_SHIFTS.items():
        # A quick run has boosting once.
        both = ("linear", "boosting") if not (quick and every) else ("linear",)
        for learner in both:
            found = np.array(
                [_losses(draw, before, after, learner, first + k) for k in range(draws)]
            )
            plain, inputs, labels, either, called = found.mean(axis=0)
            rows.append([name, learner, plain, inputs, labels, either, called])
            every.append(called)
            if name.startswith("two") and learner == "linear":
                bars.append(bar(f"{name}, {learner}: log-loss", either, most=0.25))
            least = share_at_least(0.9, draws)
            bars.append(bar(f"{name}, {learner}: called so", called, least=least))
    least = share_at_least(0.9, len(every) * draws)
    bars.append(bar("all label shifts: called so", np.mean(every), least=least))
    losses = table(
        "Label shifts: log-loss on the target",
        "shift | learner | plain | inputs | labels | either | called a label shift",
        rows,
    )
    rows, everywhere = [], []
    for name, draw in _shifts_of_inputs().items():
        called = [_called(draw, first + k) for k in range(3 * draws)]
        everywhere += called
        rows.append([name, len(called), float(np.mean(called))])
    most = share_at_most(0.05, len(everywhere))
    bars.append(bar("shifts of inputs called label shifts", np.mean(everywhere), most))
    told = table("Shifts of inputs", "shift | draws | called a label shift", rows)
    return {"tables": [losses, told], "bars": bars}


def _losses(draw, before, after, learner, seed):
    rng = np.random.default_rng(90_000 + seed)
    (X, y), (T, _) = draw(rng, ROWS, before), draw(rng, ROWS, after)
    test = draw(rng, TEST_ROWS, after)
    model = LogisticRegression(max_iter=500)
    if learner == "boosting":
        model = HistGradientBoostingClassifier(random_state=0)
    metric = as_metric("neg_log_loss", model, y)
    found = [metric.value(model.fit(X, y), *test)]
    for way in WAYS:
        fitted = Adapted(model, way, random_state=seed).fit(X, y, X_target=(T,))
        found.append(metric.value(fitted, *test))
    shift = fitted.label_shift_
    return (*found, float(shift is not None and shift.is_label_shift))


def _called(draw, seed) -> float:
    rng = np.random.default_rng(95_000 + seed)
    (X, y), (T, _) = draw(rng, False), draw(rng, True)
    samples = Samples.of_matrices(X, T)
    found = class_shares(samples, y, np.ones(len(y)), seed)
    return float(recognize_label_shift(found, samples, y, seed).is_label_shift)


def _two(rng, n, shares):
    y = rng.choice(2, n, p=shares)
    X = rng.standard_normal((n, 5))
    X[:, :2] += y[:, None]
    return X, y


def _three(rng, n, shares):
    y = rng.choice(3, n, p=shares)
    means = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    X = rng.standard_normal((n, 6))
    X[:, :2] += means[y]
    return X, y


def _ring(rng, n, shares):
    y = rng.choice(2, n, p=shares)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(y == 1, 2.0, 0.7)
    radius = radius + 0.5 * rng.standard_normal(n)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return np.column_stack([X, rng.standard_normal((n, 2))]), y


LABEL_SHIFTS = {
    "two classes .5 -> .08": (_two, [0.5, 0.5], [0.92, 0.08]),
    "three classes": (_three, [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]),
    "ring and disc .5 -> .15": (_ring, [0.5, 0.5], [0.85, 0.15]),
}


def _shifts_of_inputs():
    def drawn(problem, kept):
        return lambda rng, target: problem.draw(rng, ROWS, kept if target else None)

    found = {
        f"{problem.name}, ESS/n {kept}": drawn(problem, kept)
        for problem in PROBLEMS
        if problem.kind == "classification"
        for kept in (0.3, 0.6)
    }

    def decided(rng, target):
        X = rng.standard_normal((ROWS, 4))
        X[:, 0] += 0.8 * target
        return X, (rng.random(ROWS) < 1 / (1 + np.exp(-4 * X[:, 0]))).astype(int)

    def three(rng, target):
        X = rng.standard_normal((ROWS, 4))
        X[:, 0] += 0.7 * target
        scores = X[:, :2] @ np.array([[1.5, -0.7, -0.7], [0.0, 1.3, -1.3]])
        return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)

    return {**found, "almost decided": decided, "three classes": three}
