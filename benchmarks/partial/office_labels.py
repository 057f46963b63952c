"""31 -> 10 classes without a network: are the classes found, and the rows labeled?

EfficientNet-Lite2 features of Office-31, frozen, beside the published figures of
fine-tuned ResNet-50. The selection draws nothing: one seed.
"""

import numpy as np
from domains import OFFICE_TASKS, OFFICE_TEN, PUBLISHED, QUICK_TASKS, office_task
from reporting import bar, table
from scoring import classifier, means, measured, percent
from sklearn.metrics import roc_auc_score

from counterpoise import Adapted, PartialWeights


def run(quick: bool) -> dict:
    rows, spare, aucs, seconds = [], [], [], []
    for task in QUICK_TASKS[:1] if quick else OFFICE_TASKS:
        X, y, X_target, y_target = office_task(task)
        source = percent(classifier().fit(X, y).predict(X_target), y_target)

        def adapted(weight_estimator, rows=(X, y, X_target)):
            model = Adapted(
                classifier(), weight_estimator=weight_estimator, random_state=0
            )
            return model.fit(*rows[:2], X_target=rows[2])

        model, _, _ = measured(lambda fit=adapted: fit("partial"))
        lean, _, _ = measured(
            lambda fit=adapted: fit(PartialWeights(with_target=False))
        )
        em, _, _ = measured(lambda fit=adapted: fit(PartialWeights("em")))
        alone, took, _ = measured(
            lambda rows=(X, y, X_target): PartialWeights(random_state=0).fit(
                *rows[:2], X_target=rows[2]
            )
        )
        present = np.isin(model.classes_, OFFICE_TEN)
        aucs.append(roc_auc_score(present, model.class_prior_))
        seconds.append(took)
        refit = percent(model.predict(X_target), y_target)
        spare.append(refit - source)
        rows.append(
            [
                task,
                source,
                percent(model.target_labels_, y_target),
                refit,
                percent(lean.predict(X_target), y_target),
                percent(em.target_labels_, y_target),
                percent(alone.labels_, y_target),
                aucs[-1],
                len(model.absent_classes_),
                took,
                PUBLISHED[task]["ResNet-50"],
                PUBLISHED[task]["PADA"],
                PUBLISHED[task]["SSPDA"],
            ]
        )
    average = means(rows, slice(1, 7))
    worst = min(row[2] - row[1] for row in rows)
    header = (
        "task | source only | labels | refit | refit, source rows only | EM labels | "
        "PartialWeights alone | class AUC | absent | CPU s | ResNet-50 published | "
        "PADA published | SSPDA published"
    )
    rows.append(["mean", *average, float(np.mean(aucs)), *[None] * 5])
    return {
        "tables": [table("Office-31, 31 -> 10, EfficientNet-Lite2", header, rows)],
        "bars": [
            bar("target_labels_, mean %", average[1], least=97.0),
            bar("target_labels_ above source only, worst task", worst, least=0.0),
            bar("refitted estimator, mean %", average[2], least=94.5),
            bar("refitted above source only, worst task", min(spare), least=-1.0),
            bar("class AUC, worst task", min(aucs), least=0.99),
            bar("PartialWeights, CPU s, slowest task", max(seconds), 1.0),
        ],
    }
