"""
Does adapting help my model?
============================

And how good will it be on the target?
A straight line through a curve is the textbook case: it is wrong everywhere a little,
and weights decide where it is wrong. Boosting follows the curve and needs no weights.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from counterpoise import Adapted, estimate_performance
from counterpoise.datasets import make_sinc_shift

shift = make_sinc_shift(n=600, m=400, random_state=0)
fresh = make_sinc_shift(n=600, m=400, random_state=1)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
estimators = (LinearRegression(), HistGradientBoostingRegressor(random_state=0))
for ax, estimator in zip(axes, estimators, strict=True):
    model = Adapted(estimator, random_state=0)
    model.fit(shift.X, shift.y, X_target=shift.X_target)
    plain = estimator.fit(shift.X, shift.y)
    before, after = (
        float(np.mean((one.predict(fresh.X_target) - fresh.y_target) ** 2))
        for one in (plain, model)
    )
    # Labeled source rows that the model has not seen stand for the target.
    told = estimate_performance(model, fresh.X, fresh.y, shift.X_target, random_state=0)
    print(model.summary())
    print(f"True squared error on the target: plain {before:.4f}, adapted {after:.4f}")
    print(told, end="\n\n")
    grid = np.linspace(*np.quantile(shift.X, [0.01, 0.99]), 200)[:, None]
    ax.scatter(shift.X[:, 0], shift.y, s=4, color="0.75", label="source")
    ax.scatter(shift.X_target[:, 0], shift.y_target, s=4, label="target, labels unseen")
    ax.plot(grid, plain.predict(grid), color="black", ls=":", label="plain")
    ax.plot(grid, model.predict(grid), color="tab:red", label="adapted")
    ax.set(title=type(estimator).__name__, xlabel="x", ylabel="y")
axes[0].legend()
plt.show()
