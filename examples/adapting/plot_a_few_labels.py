"""
What would a few labels tell?
=============================

No estimate from inputs can see that the same row has come to mean another label. Sixty
labeled rows of the target, drawn by chance, can: they sharpen the estimate while
nothing has changed, and contradict it once something has.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from counterpoise import estimate_performance

rng = np.random.default_rng(0)


def draw(n, center, slope):
    X = rng.normal(center, 1.0, size=(n, 2))
    return X, X[:, 0] + slope * X[:, 1] + 0.5 * rng.normal(size=n)


X, y = draw(1200, 0.0, slope=1.0)
model = Ridge().fit(X[:600], y[:600])
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharex=True, layout="constrained")
for ax, slope in zip(axes, (1.0, 1.6), strict=True):
    X_target, y_target = draw(800, 0.7, slope)
    some = rng.choice(800, 60, replace=False)
    told = estimate_performance(
        model,
        X[600:],
        y[600:],
        X_target,
        X_target_labeled=X_target[some],
        y_target_labeled=y_target[some],
        random_state=0,
    )
    truth = float(np.mean((model.predict(X_target) - y_target) ** 2))
    print(f"slope {slope}: {told.check.finding}")
    rows = {"source": told.source, "without labels": told.doubly_robust}
    rows["with 60 labels"] = told.labeled
    for place, one in enumerate(rows.values()):
        ax.plot([one.low, one.high], [place, place], "C0", lw=3)
        ax.plot(one.value, place, "C0o")
    ax.set(yticks=range(3), yticklabels=list(rows), xlabel="squared error")
    ax.axvline(truth, color="tab:red", linestyle=":")
    ax.set_title("labels mean the same" if slope == 1 else "labels have changed")
plt.show()
