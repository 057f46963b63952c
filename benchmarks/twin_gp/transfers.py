"""The published kinds of transfer on the simulated chain, weighted and not.

Published rows are means over the three subjects of HumanEva: other people and cameras
than ours, so that only their changes can be compared. Nothing is judged here.
"""

import numpy as np
from published import POSES
from reporting import table
from scoring import change, joint_error, seeds

from counterpoise import KLIEP, flatten_weights
from counterpoise.datasets import make_articulated_pose
from counterpoise.twin_gp import TwinGP, WeightedGPR

SCENARIOS = ("none", "selection", "selection3", "subject", "motion3", "camera", "blur")
METHODS = {
    "GPR": lambda: WeightedGPR(search="holdout", random_state=0),
    "KLTGP": lambda: TwinGP(
        divergence="kl", search="holdout", tol=1e-5, random_state=0
    ),
    "SMTGP": lambda: TwinGP(search="holdout", tol=1e-5, random_state=0),
}


def run(quick):
    rows = []
    draws = 1 if quick else 8
    for scenario in SCENARIOS[:2] if quick else SCENARIOS:
        errors, sizes = _measure(scenario, draws)
        for (name, kind), of_seed in errors.items():
            base = errors["GPR" if kind == "none" else name, "none"]
            percent, p = change(of_seed, base)
            size, mean = np.mean(sizes[kind]), np.mean(of_seed)
            rows.append([scenario, name, kind, size, mean, percent, p])
        rows += _published(scenario)
    header = (
        "scenario | method | weights | effective size, % | joint error, mm"
        " | against GPR or unweighted, % | p"
    )
    title = f"N = 300, tuned by a held-out quarter, {draws} draws"
    return {"table": table(title, header, rows), "bars": []}


def _published(scenario):
    if scenario not in POSES:
        return []
    plain, weighted = np.mean(POSES[scenario], axis=0)
    percent = 100.0 * (weighted / plain - 1.0)
    name = "published SMTGP"
    return [
        [scenario, name, "none", None, plain, None, None],
        [scenario, name, "KLIEP", None, weighted, percent, None],
    ]


def _measure(scenario, draws):
    errors, sizes = {}, {}
    for seed in seeds(draws):
        shift = make_articulated_pose(scenario, 300, 500, random_state=seed)
        weight_estimator = KLIEP(random_state=seed, allow_no_overlap=True)
        weight_estimator.fit(shift.X, X_target=shift.X_target)
        kinds = {
            "none": np.ones(len(shift.X)),
            "KLIEP": weight_estimator.weights_,
            "root": flatten_weights(weight_estimator.weights_, 0.5),
        }
        for kind, weights in kinds.items():
            size = weights.sum() ** 2 / (weights @ weights) / len(weights)
            sizes.setdefault(kind, []).append(100.0 * size)
            for name, make in METHODS.items():
                model = make().fit(shift.X, shift.y, weights)
                error = joint_error(model.predict(shift.X_target), shift.y_target)
                errors.setdefault((name, kind), []).append(error.mean())
    return errors, sizes
