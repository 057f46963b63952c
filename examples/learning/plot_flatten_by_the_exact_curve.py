"""
How much of the weights should my classifier get?
=================================================

And does it gain?
Brain signals of one session, used in another (BCI Competition III, data set V: left
against right hand). The exact path from equal to full weights tells the validation
error at every share of the weights, not on a grid. The folder that COUNTERPOISE_DATA
names must hold bci3_mental_imagery/bci3_dataset5_psd.npz; without it, drawn rows with
a shift of the same kind stand in.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from counterpoise import ULSIF, effective_sample_size
from counterpoise.datasets import make_gaussian_shift
from counterpoise.plot import plot_path
from counterpoise.svm import WeightedSVC

N_TRAIN, N_TARGET, N_AXES = 727, 273, 4


def sessions(folder, subject, session):
    """Return a training session and session 4 on its first principal axes."""
    kept = np.load(folder / "bci3_mental_imagery" / "bci3_dataset5_psd.npz")
    hands = (kept["subject"] == subject) & np.isin(kept["y"], (2, 3))
    X, y = np.log(kept["X"][hands].astype(float)), kept["y"][hands]

    def every_kth(number, n_rows):
        rows = np.flatnonzero(kept["session"][hands] == number)
        return rows[np.unique(np.linspace(0, rows.size - 1, n_rows).astype(int))]

    train, target = every_kth(session, N_TRAIN), every_kth(4, N_TARGET)
    middle = X[train].mean(axis=0)
    axes = np.linalg.svd(X[train] - middle, full_matrices=False)[2][:N_AXES].T
    source, other = ((X[rows] - middle) @ axes for rows in (train, target))
    low, span = source.min(axis=0), np.ptp(source, axis=0)
    return (source - low) / span, y[train], (other - low) / span, y[target]


def drawn_rows(seed):
    """Return rows of two classes whose inputs shift."""
    shift = make_gaussian_shift(N_AXES, n=300, m=150, random_state=seed)
    cut = np.median(shift.y)
    return shift.X, shift.y > cut, shift.X_target, shift.y_target > cut


named = os.environ.get("COUNTERPOISE_DATA")
if named:
    tasks = {
        f"subject {subject}, session {session}": sessions(Path(named), subject, session)
        for subject, session in ((1, 1), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3))
    }
else:
    print("COUNTERPOISE_DATA is not set: drawn rows stand in for brain signals")
    tasks = {"drawn rows": drawn_rows(0)}

gains = []
for name, (X, y, X_target, y_target) in tasks.items():
    ulsif = ULSIF(random_state=0, allow_no_overlap=True)
    weights = ulsif.fit(X, X_target=X_target).weights_
    model = WeightedSVC(C=10.0, gamma=1.0 / N_AXES).fit(X, y)
    path = model.path(sample_weight=weights, X_val=X_target, y_val=y_target)
    curve = path.validation_error
    wrong = [round(len(y_target) * one) for one in (curve.at(0.0), curve.at(1.0))]
    least = round(len(y_target) * curve.minimum)
    gains.append(min(wrong) - least)
    low, high = path.best_interval
    print(
        f"{name}: weights worth {effective_sample_size(weights):.0f} of {len(y)} rows, "
        f"{path.n_events} events; wrong of {len(y_target)}: unweighted {wrong[0]}, "
        f"with all {wrong[1]}, at best {least} on {len(path.optimal_intervals)} "
        f"interval(s), the longest from {low:.3f} to {high:.3f}"
    )
    figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
    plot_path(path, ax=ax)
# The share is chosen on the rows it is judged by, so these gains are too large.
print(f"Fewer errors than the better end: {gains}")
plt.show()
