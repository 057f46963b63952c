"""
Is there a shift?
=================

A classifier is asked which rows are new. Where it cannot tell, nothing has shifted;
where it can, the picture shows how much of the new data looks like the old. Five tests
stand behind the verdict, and what could have been missed is told.
"""

import matplotlib.pyplot as plt

from counterpoise import diagnose
from counterpoise.datasets import load_diabetes_shift

shift = load_diabetes_shift()
half = len(shift.X) // 2
pairs = {
    "two halves of one sample": (shift.X[:half], shift.X[half:]),
    "trial and clinic": (shift.X, shift.X_target),
}

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, (X, X_target)) in zip(axes, pairs.items(), strict=True):
    found = diagnose(X, X_target, random_state=0)
    print(f"{name}: {found.verdict}; AUC {found.auc_low:.2f} to {found.auc_high:.2f}")
    for one in found.tests:
        print(f"   {one.name}: p = {one.p_value:.3g}")
    for scores, told in (
        (found.overlap.scores, "training rows"),
        (found.overlap.scores_target, "new rows"),
    ):
        ax.hist(scores, bins=25, range=(0, 1), density=True, alpha=0.6, label=told)
    ax.set(title=f"{name}:\n{found.verdict}", xlabel="how much a row looks new")
axes[0].legend()
plt.show()
