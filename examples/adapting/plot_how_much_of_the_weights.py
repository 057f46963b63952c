"""
How much of the weights can my model use?
=========================================

All of them is often too much. The guard fits the model with the weights to the power 0,
1/4, 1/2, 3/4 and 1, asks importance-weighted cross-validation what each is worth on the
target, and takes the smallest that is as good as the best. A line gains; boosting is
better left alone.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from counterpoise import Adapted
from counterpoise.datasets import make_sinc_shift

shift = make_sinc_shift(n=600, m=400, mean=0.5, random_state=0)
models = {
    "a straight line": Ridge(),
    "boosting": HistGradientBoostingRegressor(random_state=0),
}

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for ax, (name, estimator) in zip(axes, models.items(), strict=True):
    model = Adapted(estimator, random_state=0)
    model.fit(shift.X, shift.y, X_target=shift.X_target)
    guard = model.guard_
    print(f"{name}: {guard.reason}")
    ax.errorbar(guard.exponents, guard.values, guard.errors, fmt="o-", capsize=3)
    ax.axvline(guard.chosen, color="tab:red", linestyle=":", label="chosen")
    ax.set(title=name, xlabel="power of the weights", ylabel=guard.metric)
    ax.legend()
plt.show()
