"""31 -> 31: what does it cost to expect absent classes where there are none?"""

import numpy as np
from domains import OFFICE_TASKS, QUICK_TASKS, office_task
from reporting import bar, table
from scoring import classifier, measured, percent

from counterpoise import Adapted
from counterpoise.deep import PartialDomainClassifier

NETWORKS = {
    "source": {"method": "source"},
    "SSPDA": {},
    "PADA": {"method": "pada"},
    "PADA unguarded": {"method": "pada", "guard": 0.0},
    "DANN": {"method": "dann", "schedule": "published"},
}


def run(quick: bool) -> dict:
    seeds, tasks = (1, QUICK_TASKS) if quick else (3, OFFICE_TASKS)
    # Those with a bar.
    ways = dict(list(NETWORKS.items())[: 2 if quick else None])
    rows = []
    for task in tasks:
        X, y, X_target, y_target = office_task(task, np.arange(31))
        own = percent(classifier().fit(X, y).predict(X_target), y_target)
        model, _, _ = measured(
            lambda rows=(X, y, X_target): Adapted(
                classifier(), weight_estimator="partial", random_state=0
            ).fit(*rows[:2], X_target=rows[2])
        )
        labels = percent(model.target_labels_, y_target)
        refit = percent(model.predict(X_target), y_target)
        networks = []
        for parameters in ways.values():
            scores = []
            for seed in range(seeds):
                network, _, _ = measured(
                    lambda given=parameters, seed=seed, rows=(X, y, X_target): (
                        PartialDomainClassifier(**given, random_state=seed).fit(
                            *rows[:2], X_target=rows[2]
                        )
                    )
                )
                scores.append(percent(network.predict(X_target), y_target))
            networks.append(float(np.mean(scores)))
        rows.append([task, own, labels, refit, *networks])
    average = np.mean([row[1:] for row in rows], axis=0).tolist()
    rows.append(["mean", *average])
    header = " | ".join(["task", "own", "labels", "refit", *ways])
    return {
        "tables": [table(f"Office-31, 31 -> 31, {seeds} seeds", header, rows)],
        "bars": [
            bar("labels above the classifier, mean", average[1] - average[0], None, -1),
            bar("refit above the classifier, mean", average[2] - average[0], None, -1),
            bar("SSPDA above source only, mean", average[4] - average[3], None, -1),
        ],
    }
