"""Do conformal balls hold as many poses as they promise, under shift?"""

import numpy as np
from reporting import bar, table
from scipy.stats import spearmanr
from scoring import joint_error

from counterpoise import TwinGP
from counterpoise.datasets import make_articulated_pose

SCENARIOS = ("none", "motion", "motion-far", "motion3", "motion-far3")
LEVEL = 0.9


def run(quick):
    rows, bars = [], []
    seeds = 3 if quick else 8
    for scenario in SCENARIOS:
        found = {"plain": [], "true ratio": []}
        certain = []
        for seed in range(seeds):
            shift = make_articulated_pose(
                scenario, 450, 500, noisy_target=True, random_state=seed
            )
            for how in found:
                model = TwinGP(
                    ridge_x=1e-2, ridge_y=1e-2, calibration=1 / 3, random_state=seed
                )
                ratio = None if how == "plain" else shift.ratio
                model.fit(shift.X, shift.y, ratio)
                answers, nats = model.predict(shift.X_target, return_uncertainty=True)
                far = np.linalg.norm(answers - shift.y_target, axis=1)
                own = np.ones(500) if ratio is None else shift.ratio_target
                radius = model.predict_set(shift.X_target, LEVEL, sample_weight=own)
                finite = np.isfinite(radius)
                middle = np.median(radius[finite]) if finite.any() else np.inf
                found[how].append([(far <= radius).mean(), middle, 1 - finite.mean()])
            error = joint_error(answers, shift.y_target)
            certain.append(spearmanr(nats, error).statistic)
        rank = float(np.mean(certain))
        for how, of_seed in found.items():
            coverage, middle, endless = np.mean(of_seed, axis=0)
            rows.append([scenario, how, coverage, middle, 100 * endless, rank])
        bars.append(
            bar(f"{scenario}: coverage with the true ratio", coverage, least=0.87)
        )
        if scenario in ("none", "motion-far3"):
            least = 0.2 if scenario == "none" else 0.3
            bars.append(
                bar(f"{scenario}: rank correlation with nats", rank, least=least)
            )
    header = (
        "scenario | weights | coverage | median finite radius, mm | infinite, %"
        " | rank correlation of nats and error"
    )
    title = f"SMTGP(.3), 300 + 150 rows, level {LEVEL}, noisy labels, {seeds} seeds"
    return {"table": table(title, header, rows), "bars": bars}
