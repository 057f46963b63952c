"""
Between what and what will the answer be?
=========================================

Intervals calibrated on the source promise 90 % and keep less where errors are larger.
Weighted ones take each row's own density ratio into account, keep the promise, and are
infinite where the source can say nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from counterpoise import Adapted

rng = np.random.default_rng(0)


def draw(n, low, high):
    X = rng.beta(low, high, size=(n, 1)) * 4
    return X, np.sin(X[:, 0]) + rng.normal(size=n) * (0.1 + 0.3 * X[:, 0] / 4)


(X, y), (X_target, y_target) = draw(2000, 1.2, 1.8), draw(1000, 1.8, 1.2)
kinds = {"calibrated on the source": None, "weighted": "auto"}
order = np.argsort(X_target[:, 0])

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, weight_estimator) in zip(axes, kinds.items(), strict=True):
    model = Adapted(
        LinearRegression(),
        weight_estimator=weight_estimator,
        calibration_fraction=0.4,
        random_state=0,
    ).fit(X, y, X_target=X_target)
    low, high = model.predict_interval(X_target, 0.9).T
    held = np.mean((low <= y_target) & (y_target <= high))
    print(f"{name}: {held:.1%} of 90 %, infinite {np.mean(np.isinf(high)):.1%}")
    ax.scatter(X_target[:, 0], y_target, s=4, color="0.6")
    ax.fill_between(X_target[order, 0], low[order], high[order], alpha=0.4)
    ax.set(title=f"{name}: {held:.1%} inside", xlabel="x", ylim=(-2.5, 3))
plt.show()
