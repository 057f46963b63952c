"""Five of ten classes, by three seeds: digits, and Office-Caltech by three features.

Every task is shown; a loss of more than ten points must have come with a warning.
"""

import numpy as np
from domains import half_task, half_tasks
from reporting import bar, table
from scoring import classifier, measured, percent

from counterpoise import Adapted
from counterpoise.deep import PartialDomainClassifier

# What is said where a classifier is weak on the target, or a training collapses.
WEAK, COLLAPSED = "WeakClassifierWarning", "ConvergenceWarning"


def run(quick: bool) -> dict:
    seeds = 1 if quick else 3
    rows, silent = [], 0
    for kind, source, target in half_tasks(quick):
        found = []
        warned = set()
        for seed in range(seeds):
            X, y, X_target, y_target = half_task(kind, source, target, seed)

            def network(method, rows=(X, y, X_target), seed=seed):
                model = PartialDomainClassifier(method, random_state=seed)
                return model.fit(*rows[:2], X_target=rows[2])

            own = percent(classifier().fit(X, y).predict(X_target), y_target)
            model, _, told = measured(
                lambda rows=(X, y, X_target): Adapted(
                    classifier(), weight_estimator="partial", random_state=0
                ).fit(*rows[:2], X_target=rows[2])
            )
            alone, _, _ = measured(lambda fit=network: fit("source"))
            deep, _, deep_told = measured(lambda fit=network: fit("sspda"))
            one = [
                own,
                percent(model.target_labels_, y_target),
                percent(model.predict(X_target), y_target),
                percent(alone.predict(X_target), y_target),
                percent(deep.predict(X_target), y_target),
            ]
            found.append(one)
            silent += own - min(one[1:3]) > 10.0 and WEAK not in told
            silent += one[3] - one[4] > 10.0 and not {WEAK, COLLAPSED} & {*deep_told}
            warned |= {*told, *deep_told}
        rows.append(
            [f"{kind} {source}>{target}", *np.mean(found, axis=0).tolist(), len(warned)]
        )
    bars = [bar("losses above 10 points without a warning", float(silent), 0.0)]
    for name, some in (("mnist_usps", "digits"), ("office_caltech10", "")):
        chosen = [
            row[1:6]
            for row in rows
            if row[0].startswith("digits") == (some == "digits")
        ]
        if chosen:
            own, labels, refit, alone, deep = np.mean(chosen, axis=0).tolist()
            bars += [
                bar(f"{name}: labels above source only", labels - own, None, -2.0),
                bar(f"{name}: refit above source only", refit - own, None, -2.0),
                bar(f"{name}: SSPDA above source only", deep - alone, None, -2.0),
            ]
    header = "task | own | labels | refit | network alone | SSPDA | kinds of warnings"
    return {
        "tables": [table(f"5 of 10 classes, {seeds} seeds", header, rows)],
        "bars": bars,
    }
